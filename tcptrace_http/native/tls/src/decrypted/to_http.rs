//! The input of HTTP from a TLS connection, and the output of HTTP.

use tcptrace_http2::{Messages, Oldest};
use tcptrace_http_messages::{
    Connection as Http, Direction, End, FirstRecord, Frames, Message, Output, Transaction,
};
use trace_model::Mark;

use super::{end_of, Decrypted};
use crate::offsets::{Offsets, PlacedRecord};
use crate::phases::Role;
use crate::record::{Record, HEADER_BYTES};

/// The longest plaintext of a record (RFC 8446, section 5.1).
const PLAIN_BYTES: u64 = 1 << 14;

impl Decrypted {
    /// Pass application data to HTTP.
    pub(super) fn deliver(
        &mut self,
        record: &Record<'_>,
        bytes: &[u8],
        looks_at_bodies: bool,
        out: &mut Output,
    ) {
        if bytes.is_empty() {
            return;
        }
        let (begins_late, is_http2) = (self.begins_late, self.is_http2);
        let ended = [
            (Direction::ClientToServer, self.client.ended),
            (Direction::ServerToClient, self.server.ended),
        ];
        let http = self.http.get_or_insert_with(|| {
            let mut http = if is_http2 {
                Messages::http2(!begins_late)
            } else {
                Messages::new(new_http(begins_late, looks_at_bodies))
            };
            for (direction, ended) in ended {
                if let Some((end, mark)) = ended {
                    http.end(direction, end, mark, out);
                }
            }
            http
        });
        let (side, peer) = match record.direction {
            Direction::ClientToServer => (&mut self.client, &mut self.server),
            Direction::ServerToClient => (&mut self.server, &mut self.client),
        };
        let acked = record.begun.peer_acked;
        let acked =
            acked.map(|acked| (peer.offsets).plain_before(acked, peer.next, peer.plain_next));
        let plain = side.plain_next;
        let length = u64::from(record.begun.header.length);
        side.around = Some(length.saturating_sub(bytes.len() as u64));
        side.offsets.push(PlacedRecord {
            plain,
            plain_bytes: bytes.len() as u64,
            start: record.begun.start,
            end: end_of(&record.begun),
            first: record.begun.first,
            last: record.last,
        });
        side.plain_next = plain.saturating_add(bytes.len() as u64);
        let told = out.transactions.len();
        http.data(record.direction, plain, bytes, (record.last, acked), out);
        if http.roles_are_reversed() {
            // The hellos identify the client, so a request from the server is not HTTP.
            out.transactions.truncate(told);
            return self.close();
        }
        let starts = (http.request_start(), http.response_start());
        self.client.note_start(starts.0);
        self.server.note_start(starts.1);
    }

    /// Record a record that stays closed, and `skipped` missing bytes before it.
    pub(super) fn lose(
        &mut self,
        (record, role): (&Record<'_>, Role),
        skipped: u64,
        overhead: u64,
        out: &mut Output,
    ) {
        let before = records_in(skipped, overhead);
        let length = u64::from(record.begun.header.length);
        let data =
            data_bytes(skipped, before, overhead).saturating_add(length.saturating_sub(overhead));
        let side = self.side(record.direction);
        side.told = side.told.saturating_add(before).saturating_add(1);
        side.pass(&record.begun);
        if role == Role::Application {
            self.gap(record.direction, data, record.last, out);
        }
    }

    /// Report a gap of `bytes` plaintext bytes to HTTP.
    pub(super) fn gap(&mut self, direction: Direction, bytes: u64, mark: Mark, out: &mut Output) {
        let Some(http) = &mut self.http else {
            self.begins_late = true;
            return;
        };
        let side = match direction {
            Direction::ClientToServer => &mut self.client,
            Direction::ServerToClient => &mut self.server,
        };
        http.gap(direction, (side.plain_next, bytes), mark, out);
        side.plain_next = side.plain_next.saturating_add(bytes);
    }

    /// End a direction at stream offset `at`.
    pub(crate) fn end(
        &mut self,
        direction: Direction,
        at: u64,
        (end, mark): (End, Mark),
        out: &mut Output,
    ) {
        let side = self.side(direction);
        side.ended = Some((end, mark));
        let rest = at.saturating_sub(side.next);
        if side.is_cut && rest > 0 {
            self.gap(direction, rest, mark, out);
        }
        if let Some(http) = &mut self.http {
            http.end(direction, end, mark, out);
        }
    }

    /// Convert HTTP's offsets to stream offsets, and drop the exchanges of the same records.
    pub(crate) fn place(&mut self, before: usize, out: &mut Output) {
        if out.transactions.len() <= before {
            return;
        }
        let is_http = self.is_http();
        // A transaction that waited for its peer can follow a later one.
        let (mut client_end, mut server_end) = (0, 0);
        for mut transaction in out.transactions.split_off(before) {
            if transaction.opaque.is_none() {
                let (request, response) = self.place_one(&mut transaction);
                client_end = request.max(client_end);
                server_end = response.max(server_end);
            } else if is_http {
                continue;
            }
            out.transactions.push(transaction);
        }
        let oldest = (self.http.as_ref()).map_or_else(Oldest::default, Messages::oldest);
        if self.as_http2().is_some() {
            // HTTP/2 streams are not output in byte order.
            (client_end, server_end) = (self.client.plain_next, self.server.plain_next);
        }
        // Held messages began before this point.
        let until = |end: u64, held: Option<u64>| held.map_or(end, |held| held.min(end));
        let client_end = until(client_end, oldest.client);
        self.client.offsets.forget_before(client_end);
        let server_end = until(server_end, oldest.server);
        self.server.offsets.forget_before(server_end);
    }

    /// Convert a transaction's offsets. Return the plaintext ends of request and response, 0 for an absent
    /// message.
    fn place_one(&self, transaction: &mut Transaction) -> (u64, u64) {
        let request = transaction.request.as_deref_mut();
        let request = request.map_or(0, |it| place_message(it, &self.client.offsets));
        if let Some(interim) = &mut transaction.interim {
            let offsets = &self.server.offsets;
            interim.first = (offsets.record_of(interim.start)).map_or(interim.first, |it| it.first);
            interim.start = offsets.start_of(interim.start);
        }
        let response = transaction.response.as_deref_mut();
        let response = response.map_or(0, |it| place_message(it, &self.server.offsets));
        if let Some(stream) = &mut transaction.stream {
            place_frames(&mut stream.request, &self.client.offsets);
            place_frames(&mut stream.response, &self.server.offsets);
        }
        (request, response)
    }
}

/// Convert a message's offsets from the plaintext to the stream. Return its plaintext end.
fn place_message(message: &mut Message, offsets: &Offsets) -> u64 {
    let end = message.end;
    if let Some(record) = offsets.record_of(message.start) {
        message.first = record.first;
        message.first_record = Some(FirstRecord {
            last: Some(record.last),
            bytes: record.end.saturating_sub(record.start),
        });
    }
    message.start = offsets.start_of(message.start);
    // A promised request, and a request before an Upgrade, have no bytes here.
    message.head_end = offsets.end_of(message.head_end).max(message.start);
    message.end = offsets.end_of(end).max(message.start);
    end
}

/// Convert the offsets of a stream's frames from the plaintext to the stream.
fn place_frames(frames: &mut Frames, offsets: &Offsets) {
    for piece in &mut frames.pieces {
        piece.behind_end = offsets.end_of(piece.behind_end);
        piece.start = offsets.start_of(piece.start);
        piece.end = offsets.end_of(piece.end).max(piece.start);
    }
    for opening in &mut frames.openings {
        opening.at = offsets.start_of(opening.at);
        opening.filled = offsets.end_of(opening.filled);
    }
}

fn new_http(begins_late: bool, looks_at_bodies: bool) -> Http {
    let http = if begins_late {
        Http::new()
    } else {
        Http::from_its_beginning()
    };
    if looks_at_bodies {
        http.looking_at_bodies()
    } else {
        http
    }
}

/// Return the plaintext length of `bytes` bytes in `records` records.
pub(super) fn data_bytes(bytes: u64, records: u64, overhead: u64) -> u64 {
    let around = overhead.saturating_add(HEADER_BYTES as u64);
    bytes.saturating_sub(records.saturating_mul(around))
}

/// Return the minimum number of records that `bytes` bytes form.
fn records_in(bytes: u64, overhead: u64) -> u64 {
    let longest = overhead
        .saturating_add(HEADER_BYTES as u64)
        .saturating_add(PLAIN_BYTES);
    bytes.div_ceil(longest)
}
