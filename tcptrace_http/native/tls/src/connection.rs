//! One TLS connection: both directions of a flow and their exchanges.

use tcptrace_http2::{Connection as Http2, Oldest};
use tcptrace_http_messages::{Direction, End, Output};
use trace_model::{Anomaly, AnomalyKind, Mark};

use crate::decrypted::{Decrypted, Keys};
use crate::effects;
use crate::exchange::{Exchanges, Peer, Whole};
use crate::handshake::Handshake;
use crate::messages::Messages;
use crate::phases::{Phases, Role};
use crate::reader::{Event, Reader};

/// One direction.
#[derive(Debug)]
struct Side {
    reader: Reader,
    messages: Messages,
    /// Role of the current record.
    role: Role,
    /// Set at the end of the direction: true if the end coincides with a record's end.
    ended_whole: Option<bool>,
    was_reported: bool,
}

impl Side {
    fn new(direction: Direction, next: u64) -> Self {
        Side {
            reader: Reader::new(direction, next),
            messages: Messages::default(),
            role: Role::Other,
            ended_whole: None,
            was_reported: false,
        }
    }

    fn is_whole(&self) -> bool {
        let is_whole = || self.reader.is_between_records();
        self.ended_whole.unwrap_or_else(is_whole)
    }

    fn as_peer(&self) -> Peer {
        Peer {
            next: self.reader.next,
            is_between_records: self.reader.is_between_records(),
        }
    }
}

/// A reader that finds the records of one flow and forms exchanges from them.
#[derive(Debug)]
pub struct Connection {
    client: Side,
    server: Side,
    phases: Phases,
    exchanges: Exchanges,
    /// Set once a key log exists.
    decrypted: Option<Box<Decrypted>>,
    /// Start offsets of the first records of client and server.
    begin: (u64, u64),
}

impl Connection {
    /// Create a connection whose first bytes have these stream offsets for client and server. Another
    /// protocol can precede TLS (RFC 2817, RFC 3207).
    #[must_use]
    pub fn beginning_at(client: u64, server: u64) -> Self {
        Connection {
            client: Side::new(Direction::ClientToServer, client),
            server: Side::new(Direction::ServerToClient, server),
            phases: Phases::default(),
            exchanges: Exchanges::default(),
            decrypted: None,
            begin: (client, server),
        }
    }

    /// Take the next bytes of a direction, as HTTP's `Connection::data` does. The bytes are the payload of a
    /// segment that acknowledges `peer_acked` bytes of the other direction.
    pub fn data(
        &mut self,
        direction: Direction,
        offset: u64,
        bytes: &[u8],
        (mark, peer_acked): (Mark, Option<u64>),
        keys: &mut Keys,
        out: &mut Output,
    ) {
        let next = self.side(direction).reader.next;
        if offset > next {
            self.gap(
                direction,
                next,
                offset.saturating_sub(next),
                mark,
                keys,
                out,
            );
        }
        if self.decrypted.is_none() && !keys.log.is_empty() {
            self.decrypted = Some(Decrypted::beginning_at(self.begin));
        }
        let known = usize::try_from(next.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut rest = bytes.get(known..).unwrap_or_default();
        while !rest.is_empty() {
            let before = out.transactions.len();
            let used = self.advance(direction, rest, (mark, peer_acked), keys, out);
            self.place(before, out);
            rest = rest.get(used..).unwrap_or_default();
        }
    }

    /// Consume bytes up to the next event, and return their number.
    fn advance(
        &mut self,
        direction: Direction,
        bytes: &[u8],
        (mark, peer_acked): (Mark, Option<u64>),
        keys: &mut Keys,
        out: &mut Output,
    ) -> usize {
        let Connection {
            client,
            server,
            phases,
            exchanges,
            decrypted,
            ..
        } = self;
        let (side, peer) = match direction {
            Direction::ClientToServer => (client, server),
            Direction::ServerToClient => (server, client),
        };
        let mut decrypted = decrypted.as_deref_mut();
        if let Some(decrypted) = &mut decrypted {
            side.reader.keeps_application = decrypted.wants(&keys.log, phases);
        }
        let (used, event) = side.reader.advance(bytes, mark, peer_acked);
        let is_of_record = match event {
            Event::More => None,
            Event::Begun(begun) => {
                let role = phases.role(direction, &begun);
                let of_flow = (phases, &mut *exchanges, peer.as_peer());
                side.role = effects::begins(role, direction, &begun, of_flow, out);
                Some(true)
            }
            Event::Whole(record) => {
                let of_side = (side.role, &mut side.messages);
                effects::whole(of_side, &record, (phases, exchanges), decrypted, keys, out);
                Some(true)
            }
            Event::NotARecord => {
                side.messages.lose();
                if !std::mem::replace(&mut side.was_reported, true) {
                    notice(mark, out);
                }
                Some(false)
            }
        };
        let is_of_record = is_of_record.unwrap_or_else(|| side.reader.is_within_record());
        if is_of_record && side.role == Role::Application {
            exchanges.carried(direction, side.reader.next, mark);
        }
        used
    }

    /// Take a gap: `length` bytes from `offset` were not captured. `mark` is the packet that revealed the
    /// gap.
    pub fn gap(
        &mut self,
        direction: Direction,
        offset: u64,
        length: u64,
        mark: Mark,
        keys: &mut Keys,
        out: &mut Output,
    ) {
        let before = out.transactions.len();
        let Connection {
            client,
            server,
            phases,
            exchanges,
            decrypted,
            ..
        } = self;
        let side = match direction {
            Direction::ClientToServer => client,
            Direction::ServerToClient => server,
        };
        let end = offset.saturating_add(length);
        let missing = end.saturating_sub(side.reader.next);
        if missing == 0 || side.reader.is_opaque() {
            return;
        }
        exchanges.miss(direction, missing);
        side.messages.lose();
        let mut decrypted = decrypted.as_deref_mut();
        if let Some(decrypted) = &mut decrypted {
            decrypted.miss(direction);
        }
        if let Some(record) = side.reader.skip(missing, mark) {
            let of_side = (side.role, &mut side.messages);
            effects::whole(of_side, &record, (phases, exchanges), decrypted, keys, out);
        }
        if side.role == Role::Application {
            exchanges.carried(direction, side.reader.next, mark);
        }
        self.place(before, out);
    }

    /// End a direction. No bytes of this direction follow.
    pub fn end(&mut self, direction: Direction, end: End, mark: Mark, out: &mut Output) {
        let before = out.transactions.len();
        let at = self.side(direction).reader.next;
        if let Some(decrypted) = &mut self.decrypted {
            decrypted.end(direction, at, (end, mark), out);
        }
        let is_over = match direction {
            Direction::ServerToClient => true,
            Direction::ClientToServer => self.server.ended_whole.is_some(),
        };
        if is_over {
            let whole = Whole {
                request: self.client.is_whole(),
                response: self.server.is_whole(),
            };
            out.transactions.extend(self.exchanges.hand_out(whole));
        }
        let side = self.side_mut(direction);
        side.ended_whole = Some(side.is_whole());
        side.reader.end();
        side.messages.lose();
        self.place(before, out);
    }

    /// Replace the exchanges with decrypted transactions, from the point where the plaintext is HTTP.
    fn place(&mut self, before: usize, out: &mut Output) {
        if let Some(decrypted) = &mut self.decrypted {
            decrypted.place(before, out);
        }
    }

    /// Return the handshake so far.
    #[must_use]
    pub fn handshake(&self) -> &Handshake {
        &self.phases.handshake
    }

    /// Return true if a direction is no longer read. If both directions are opaque, nothing can follow.
    #[must_use]
    pub fn is_opaque(&self, direction: Direction) -> bool {
        let decrypted = self.decrypted.as_ref();
        self.side(direction).reader.is_opaque()
            || decrypted.is_some_and(|it| it.is_opaque(direction))
    }

    /// Return the HTTP/2 connection, if the plaintext is HTTP/2.
    #[must_use]
    pub fn as_http2(&self) -> Option<&Http2> {
        self.decrypted.as_ref()?.as_http2()
    }

    /// Return the HTTP/2 stream whose frame has the byte of a direction at `offset`.
    #[must_use]
    pub fn stream_at(&self, direction: Direction, offset: u64) -> Option<u32> {
        self.decrypted.as_ref()?.stream_at(direction, offset)
    }

    /// Return the start offsets of the oldest open HTTP/2 streams.
    #[must_use]
    pub fn oldest(&self) -> Oldest {
        let decrypted = self.decrypted.as_ref();
        decrypted.map_or_else(Oldest::default, |it| it.oldest())
    }

    /// Return true if the plaintext is HTTP.
    #[must_use]
    pub fn is_http(&self) -> bool {
        self.decrypted.as_ref().is_some_and(|it| it.is_http())
    }

    /// Return true if the reader had to search for a record in a direction. The result of a search can depend
    /// on the cuts of the bytes.
    #[must_use]
    pub fn has_searched(&self, direction: Direction) -> bool {
        self.side(direction).reader.has_searched()
    }

    /// Return the start offset of the last delivered request.
    #[must_use]
    pub fn request_start(&self) -> Option<u64> {
        // The start of the record is known before its decryption.
        let decrypted = self.decrypted.as_ref();
        let start = decrypted.and_then(|it| it.request_start());
        self.exchanges.request_start().max(start)
    }

    /// Return the start offset of the last delivered response.
    #[must_use]
    pub fn response_start(&self) -> Option<u64> {
        let decrypted = self.decrypted.as_ref();
        let start = decrypted.and_then(|it| it.response_start());
        self.exchanges.response_start().max(start)
    }

    /// Return the memory of unfinished records and hellos.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let sides = [&self.client, &self.server];
        let bytes = sides.map(|it| {
            it.reader
                .held_bytes()
                .saturating_add(it.messages.held_bytes())
        });
        let handshake = self.phases.handshake.held_bytes();
        let decrypted = self.decrypted.as_ref().map_or(0, |it| it.held_bytes());
        let others = handshake.saturating_add(decrypted);
        bytes.into_iter().fold(others, u64::saturating_add)
    }

    /// Drop partial records and hellos, and hand out the known part of decrypted messages.
    pub fn give_up_held(&mut self, mark: Mark, out: &mut Output) {
        let before = out.transactions.len();
        if let Some(decrypted) = &mut self.decrypted {
            decrypted.give_up_held(mark, out);
        }
        self.place(before, out);
        for side in [&mut self.client, &mut self.server] {
            side.reader.give_up_held();
            if side.messages.held_bytes() > 0 {
                side.messages.lose();
            }
        }
    }

    fn side(&self, direction: Direction) -> &Side {
        match direction {
            Direction::ClientToServer => &self.client,
            Direction::ServerToClient => &self.server,
        }
    }

    fn side_mut(&mut self, direction: Direction) -> &mut Side {
        match direction {
            Direction::ClientToServer => &mut self.client,
            Direction::ServerToClient => &mut self.server,
        }
    }
}

fn notice(mark: Mark, out: &mut Output) {
    out.anomalies.push(Anomaly {
        kind: AnomalyKind::MalformedTls,
        frame: Some(mark.frame),
        flow: None,
        offset: None,
        detail: "the bytes at the expected start of a TLS record are no record".to_owned(),
    });
}
