//! Effects of a record: on the handshake, the exchanges, the plaintext and the table of records.

use tcptrace_http_messages::{Direction, Output};

use crate::decrypted::{Decrypted, Keys};
use crate::exchange::{Exchanges, Peer};
use crate::messages::Messages;
use crate::phases::{Phases, Role};
use crate::record::{Begun, ContentType, Record};

/// Take the start of a record. Return its role once the exchanges know it.
pub(crate) fn begins(
    role: Role,
    direction: Direction,
    begun: &Begun,
    (phases, exchanges, peer): (&mut Phases, &mut Exchanges, Peer),
    out: &mut Output,
) -> Role {
    match (role, direction) {
        (Role::LateFinished, _) => {
            phases.reassign_application(exchanges.take_back());
        }
        (Role::Application, Direction::ClientToServer) => {
            let handshake = &phases.handshake;
            let data_bytes = begun.header.length.saturating_sub(handshake.overhead());
            let may_be_http2 = handshake.may_be_http2();
            let finished = exchanges.client_record(begun, data_bytes, may_be_http2, peer);
            out.transactions.extend(finished);
            phases.begin_application(begun.first);
        }
        (Role::Application, Direction::ServerToClient) => {
            let data_bytes = begun
                .header
                .length
                .saturating_sub(phases.handshake.overhead());
            if !exchanges.server_record(begun, data_bytes, phases) {
                return Role::Unasked;
            }
        }
        (Role::Other, _) if phases.is_alert(begun) => {
            phases.handshake.alerted_first.get_or_insert(direction);
        }
        _ => {}
    }
    role
}

/// Take a whole record, or its captured part.
pub(crate) fn whole(
    (role, messages): (Role, &mut Messages),
    record: &Record<'_>,
    (phases, exchanges): (&mut Phases, &mut Exchanges),
    decrypted: Option<&mut Decrypted>,
    keys: &mut Keys,
    out: &mut Output,
) {
    match role {
        Role::Application => exchanges.whole(record),
        Role::Flight | Role::Finished | Role::LateFinished => phases.record(role, record),
        Role::Unasked => phases.end_unasked(record.last),
        Role::Other => {}
    }
    match (record.begun.header.content, record.bytes) {
        (ContentType::Handshake, Some(fragment)) if role == Role::Flight => {
            messages.take(fragment, |message| {
                phases.message(record.direction, &message);
                if let Some(records) = &mut keys.records {
                    records.on_message(message.kind);
                }
            });
        }
        (ContentType::Handshake, None) if role == Role::Flight => messages.lose(),
        (ContentType::Alert, Some(bytes)) => phases.alert(bytes),
        _ => {}
    }
    if let Some(decrypted) = decrypted {
        decrypted.record((record, role), phases, keys, out);
    }
    if let Some(records) = &mut keys.records {
        records.on_record(record);
    }
}
