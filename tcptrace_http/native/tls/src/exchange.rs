//! Exchanges: a burst of client application data, and the server's response.

use tcptrace_http_messages::{
    Direction, Fields, FirstRecord, Framing, Message, MessageBody, Opaque, Transaction,
};
use trace_model::Mark;

use crate::phases::Phases;
use crate::record::{Begun, Record};

/// Length of the shortest HTTP/1.x request: `GET / HTTP/1.0` with two line ends. Shorter data is an HTTP/2
/// frame.
const REQUEST_BYTES_MIN: u16 = 18;
/// Lengths of tickets from common servers: below 1000 bytes in practice. All tickets of a connection have
/// equal length. OpenSSL and rustls send two.
const TICKET_LENGTHS: std::ops::RangeInclusive<u16> = 80..=1500;
/// Maximum number of tickets. rustls once sent four (rustls/rustls#2187). Later records of equal length are
/// no tickets.
const TICKETS_SENT: u8 = 4;

/// One side of an exchange, as far as known.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: u64,
    end: u64,
    first: Mark,
    last: Mark,
    /// Application data, without the known overhead of the suite.
    data_bytes: u64,
    missing_bytes: u64,
    first_record_bytes: u64,
    /// The packet that completed the first record.
    first_record: Option<Mark>,
}

impl Part {
    fn of(begun: &Begun, data_bytes: u16) -> Self {
        Part {
            start: begun.start,
            end: begun.start,
            first: begun.first,
            last: begun.first,
            data_bytes: u64::from(data_bytes),
            missing_bytes: 0,
            first_record_bytes: begun.header.record_bytes() as u64,
            first_record: None,
        }
    }

    fn add(&mut self, data_bytes: u16) {
        self.data_bytes = self.data_bytes.saturating_add(u64::from(data_bytes));
    }

    fn message(&self, is_whole: bool) -> Box<Message> {
        let wire_bytes = self.end.saturating_sub(self.start);
        let head_bytes = self.first_record_bytes.min(wire_bytes);
        Box::new(Message {
            start: self.start,
            end: self.end,
            head_end: self.start.saturating_add(head_bytes),
            first: self.first,
            last: self.last,
            head_last: self.first_record.unwrap_or(self.last),
            method: None,
            target: None,
            status: None,
            minor_version: 0,
            fields: Fields::default(),
            header_bytes: head_bytes,
            body: MessageBody {
                framing: Framing::Unknown,
                content_length: None,
                // A truncated record delivers fewer bytes than its header declares.
                bytes: self.data_bytes.min(wire_bytes),
                wire_bytes: wire_bytes.saturating_sub(head_bytes),
                first: None,
                kept: None,
            },
            complete: is_whole,
            missing_bytes: self.missing_bytes,
            keep_alive: true,
            has_close: false,
            has_keep_alive: false,
            links: None,
            first_record: Some(FirstRecord {
                last: self.first_record,
                bytes: self.first_record_bytes,
            }),
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Exchange {
    request: Option<Part>,
    response: Option<Part>,
    is_group: bool,
}

/// The state of the other direction at a record's start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// Offset of its next byte.
    pub(crate) next: u64,
    pub(crate) is_between_records: bool,
}

/// Per direction: true if the direction ends at a record's end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Whole {
    pub(crate) request: bool,
    pub(crate) response: bool,
}

impl Default for Whole {
    fn default() -> Self {
        Whole {
            request: true,
            response: true,
        }
    }
}

/// The exchanges of a connection, in sequence.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    current: Option<Exchange>,
    /// Number of output exchanges.
    count: u64,
    /// Length of the server's first record, a possible ticket (RFC 8446, section 4.6.1).
    ticket: Option<u16>,
    tickets: u8,
    /// True if no more tickets follow. Either a record was no ticket, or the server sent its tickets with its
    /// Finished.
    is_answered: bool,
    is_http2: bool,
    request_start: Option<u64>,
    response_start: Option<u64>,
}

impl Exchanges {
    pub(crate) fn request_start(&self) -> Option<u64> {
        self.request_start
    }

    pub(crate) fn response_start(&self) -> Option<u64> {
        self.response_start
    }

    /// Take the start of a client application record. If the current response is unfinished, the record joins
    /// its exchange. Otherwise return the finished exchange.
    pub(crate) fn client_record(
        &mut self,
        begun: &Begun,
        data_bytes: u16,
        may_be_http2: bool,
        server: Peer,
    ) -> Option<Transaction> {
        let is_frame = may_be_http2 && data_bytes < REQUEST_BYTES_MIN;
        let Some(current) = &mut self.current else {
            self.open(begun, data_bytes);
            return None;
        };
        if current.response.is_none() {
            match &mut current.request {
                Some(request) => request.add(data_bytes),
                None => self.open(begun, data_bytes),
            }
            return None;
        }
        self.is_http2 |= is_frame;
        let is_answered =
            server.is_between_records && begun.peer_acked.is_none_or(|acked| acked >= server.next);
        if is_frame || !is_answered {
            current.is_group = true;
            return None;
        }
        let finished = self.hand_out(Whole::default());
        self.open(begun, data_bytes);
        finished
    }

    fn open(&mut self, begun: &Begun, data_bytes: u16) {
        self.current = Some(Exchange {
            request: Some(Part::of(begun, data_bytes)),
            response: None,
            is_group: self.is_http2,
        });
        self.request_start = Some(begun.start);
    }

    /// Remove the first client application record, which was part of the handshake. Return its length.
    pub(crate) fn take_back(&mut self) -> u64 {
        self.request_start = None;
        let taken = self.current.take().and_then(|it| it.request);
        taken.map_or(0, |it| it.end.saturating_sub(it.start))
    }

    /// Take the start of a server application record. Return true if it belongs to a response, false if the
    /// server sent it unasked.
    pub(crate) fn server_record(
        &mut self,
        begun: &Begun,
        data_bytes: u16,
        phases: &mut Phases,
    ) -> bool {
        // Without the handshake, the request can be missing from the capture.
        if self.current.is_none() && !phases.has_begun() {
            self.current = Some(Exchange {
                request: None,
                response: None,
                is_group: false,
            });
        }
        let length = begun.header.length;
        let bytes = begun.header.record_bytes() as u64;
        let Some(current) = &mut self.current else {
            // The record was sent unasked. Further tickets have the same length.
            self.ticket = Some(length).filter(|it| TICKET_LENGTHS.contains(it));
            self.tickets = self.tickets.saturating_add(1);
            self.is_answered = phases.handshake.client_finished.is_none();
            phases.begin_unasked(bytes, begun.first);
            return false;
        };
        let asked = current.request.map_or(0, |it| it.start);
        let is_unasked =
            current.request.is_some() && begun.peer_acked.is_some_and(|acked| acked <= asked);
        let may_be_ticket = phases.handshake.is_tls13() && self.count == 0 && !self.is_answered;
        if may_be_ticket {
            let is_first = self.ticket.is_none() && TICKET_LENGTHS.contains(&length);
            let is_another = self.ticket == Some(length) && self.tickets < TICKETS_SENT;
            if is_another || (is_first && is_unasked) {
                self.ticket = Some(length);
                self.tickets = self.tickets.saturating_add(1);
                // The record before was a ticket too.
                let taken = current.response.take();
                let (start, first) =
                    taken.map_or((begun.start, begun.first), |it| (it.start, it.first));
                let before = begun.start.saturating_sub(start);
                phases.begin_unasked(before.saturating_add(bytes), first);
                return false;
            }
            self.ticket = Some(length);
            self.is_answered = !is_first;
        }
        match &mut current.response {
            Some(response) => response.add(data_bytes),
            None => {
                current.response = Some(Part::of(begun, data_bytes));
                // The previous response was still in flight.
                current.is_group |= is_unasked;
                self.response_start = Some(begun.start);
            }
        }
        true
    }

    /// Record bytes of the exchange's current record, up to offset `end`.
    pub(crate) fn carried(&mut self, direction: Direction, end: u64, mark: Mark) {
        let Some(part) = self.part(direction) else {
            return;
        };
        part.end = end;
        part.last = part.last.later(mark);
    }

    /// Take a whole record of the exchange.
    pub(crate) fn whole(&mut self, record: &Record<'_>) {
        if let Some(part) = self.part(record.direction) {
            part.first_record.get_or_insert(record.last);
        }
    }

    /// Record missing bytes in a direction.
    pub(crate) fn miss(&mut self, direction: Direction, bytes: u64) {
        if let Some(part) = self.part(direction) {
            part.missing_bytes = part.missing_bytes.saturating_add(bytes);
        }
    }

    /// Return the part that bytes of the direction belong to. Bytes of the client during the response belong
    /// to none.
    fn part(&mut self, direction: Direction) -> Option<&mut Part> {
        let current = self.current.as_mut()?;
        match direction {
            Direction::ClientToServer if current.response.is_some() => None,
            Direction::ClientToServer => current.request.as_mut(),
            Direction::ServerToClient => current.response.as_mut(),
        }
    }

    /// End the current exchange and return it.
    pub(crate) fn hand_out(&mut self, whole: Whole) -> Option<Transaction> {
        let ended = self.current.take()?;
        let index = self.count;
        self.count = index.saturating_add(1);
        let response = ended.response;
        Some(Transaction {
            index,
            request: (ended.request).map(|it| it.message(whole.request || response.is_some())),
            response: response.map(|it| it.message(whole.response)),
            interim: None,
            pipelined: false,
            paired_after_loss: false,
            stream: None,
            opaque: Some(Opaque {
                is_group: ended.is_group || self.is_http2,
            }),
        })
    }
}
