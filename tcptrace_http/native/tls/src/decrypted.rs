//! What the secrets of a key log make of a connection: its plaintext goes to HTTP, as if it had come in clear.
//!
//! HTTP is given whole records, and counts bytes of plaintext; what it finds is placed in the stream again ([`Offsets`]).

use tcptrace_http_messages::{Connection as Http, Direction, End, Message, Output, Transaction};
use tcptrace_tls_keys::{KeyLog, OpenError, Opener, Record as Sealed};
use trace_model::{Anomaly, AnomalyKind, Mark};

use crate::handshake::{Phases, Role};
use crate::offsets::{Offsets, Placed};
use crate::record::{Begun, ContentType, Record, HEADER_BYTES};

/// The longest plaintext of a record (RFC 8446, section 5.1).
const PLAIN_BYTES: u64 = 1 << 14;
const HTTP2: &str = "h2";

/// The key log of a capture, for all its connections.
#[derive(Debug, Default)]
pub struct Keys {
    pub log: KeyLog,
    /// HTTP is to look at the bodies of responses.
    pub looks_at_bodies: bool,
    /// Of the record that was opened last.
    plain: Vec<u8>,
}

/// One direction.
#[derive(Debug, Default)]
struct Side {
    opener: Option<Opener>,
    /// Before TLS 1.3: its ChangeCipherSpec came by.
    has_changed: bool,
    /// Stream offset of the next record.
    next: u64,
    plain_next: u64,
    offsets: Offsets,
    has_opened: bool,
    /// Bytes that the latest record had around its data: padding is not known else.
    around: Option<u64>,
    /// Records that HTTP was told to be missing since one was opened.
    told: u64,
    /// Bytes are missing behind `next`.
    is_cut: bool,
    was_reported: bool,
    is_given_up: bool,
    /// Where the latest message begins: in the plaintext, and in the stream.
    start: Option<(u64, u64)>,
}

impl Side {
    /// Takes note of where HTTP says that its latest message begins.
    fn note_start(&mut self, plain: Option<u64>) {
        if self.start.map(|(start, _)| start) != plain {
            self.start = plain.map(|plain| (plain, self.offsets.start_of(plain)));
        }
    }
}

/// A record of early data, until its keys can be told.
#[derive(Debug)]
struct Early {
    begun: Begun,
    last: Mark,
    bytes: Vec<u8>,
}

#[derive(Debug, Default, PartialEq)]
enum State {
    /// For the ServerHello.
    #[default]
    Waiting,
    Opening,
    /// There is nothing to be opened.
    Closed,
}

#[derive(Debug, Default)]
pub(crate) struct Decrypted {
    state: State,
    client: Side,
    server: Side,
    /// From the first application data on.
    http: Option<Box<Http>>,
    /// A record stayed closed before that.
    begins_late: bool,
    early: Vec<Early>,
    /// The key log has secrets of the connection; else how many there were when it had none.
    has_secrets: bool,
    secrets_before: usize,
}

impl Decrypted {
    /// A connection whose next records begin at these offsets.
    pub(crate) fn beginning_at(client: u64, server: u64) -> Box<Self> {
        let mut this = Box::<Self>::default();
        this.client.next = client;
        this.server.next = server;
        this
    }

    /// Whether application data is wanted.
    pub(crate) fn wants(&mut self, log: &KeyLog, phases: &Phases) -> bool {
        if self.state == State::Closed {
            return false;
        }
        if !self.has_secrets && self.secrets_before != log.len() {
            if let Some(random) = phases.client_random() {
                self.secrets_before = log.len();
                self.has_secrets = log.has(random);
            }
        }
        self.has_secrets
    }

    /// Whether what was decrypted is HTTP.
    pub(crate) fn is_http(&self) -> bool {
        self.http.as_ref().is_some_and(|it| it.is_http())
    }

    pub(crate) fn is_opaque(&self, direction: Direction) -> bool {
        let http = self.http.as_ref().filter(|it| it.is_http());
        http.is_some_and(|it| it.is_opaque(direction))
    }

    /// Stream offset of the latest request.
    pub(crate) fn request_start(&self) -> Option<u64> {
        Some(self.client.start.filter(|_| self.is_http())?.1)
    }

    /// Stream offset of the latest response.
    pub(crate) fn response_start(&self) -> Option<u64> {
        Some(self.server.start.filter(|_| self.is_http())?.1)
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        let early = self.early.iter().map(|it| it.bytes.capacity() as u64);
        let parts = [
            size_of::<Self>() as u64,
            self.client.offsets.held_bytes(),
            self.server.offsets.held_bytes(),
            self.http.as_ref().map_or(0, |it| it.held_bytes()),
        ];
        parts.into_iter().chain(early).fold(0, u64::saturating_add)
    }

    pub(crate) fn give_up_held(&mut self, mark: Mark, out: &mut Output) {
        self.early = Vec::new();
        if let Some(http) = &mut self.http {
            http.give_up_held(mark, out);
        }
        self.client.offsets.give_up();
        self.server.offsets.give_up();
    }

    /// A record is whole, or what was captured of it.
    pub(crate) fn record(
        &mut self,
        (record, role): (&Record<'_>, Role),
        phases: &Phases,
        keys: &mut Keys,
        out: &mut Output,
    ) {
        if self.state == State::Waiting {
            self.prepare(record.last, phases, keys, out);
        }
        let content = record.begun.header.content;
        let is_tls13 = phases.handshake.is_tls13();
        let side = self.side(record.direction);
        let is_protected = match content {
            ContentType::ApplicationData => true,
            _ => !is_tls13 && side.has_changed,
        };
        if !is_protected {
            side.has_changed |= content == ContentType::ChangeCipherSpec;
            side.next = end_of(&record.begun);
            return;
        }
        match (&self.state, record.bytes) {
            (State::Opening, _) => self.protected((record, role), phases, keys, out),
            (State::Waiting, Some(bytes)) if record.direction == Direction::ClientToServer => {
                self.early.push(Early {
                    begun: record.begun,
                    last: record.last,
                    bytes: bytes.to_vec(),
                });
            }
            _ => {}
        }
    }

    /// Makes what opens the records, once both hellos came by.
    fn prepare(&mut self, mark: Mark, phases: &Phases, keys: &mut Keys, out: &mut Output) {
        let Some(parameters) = phases.parameters() else {
            return;
        };
        if phases.handshake.protocol_chosen.as_deref() == Some(HTTP2) {
            return self.close();
        }
        for direction in [Direction::ClientToServer, Direction::ServerToClient] {
            match Opener::new(&parameters, direction) {
                Ok(opener) => self.side(direction).opener = Some(opener),
                Err(reason) => {
                    if self.has_secrets {
                        notice(mark, reason.to_string(), out);
                    }
                    return self.close();
                }
            }
        }
        self.state = State::Opening;
        for early in std::mem::take(&mut self.early) {
            let record = Record {
                direction: Direction::ClientToServer,
                begun: early.begun,
                last: early.last,
                bytes: Some(&early.bytes),
            };
            self.protected((&record, Role::Application), phases, keys, out);
        }
    }

    fn close(&mut self) {
        *self = Decrypted {
            state: State::Closed,
            ..Decrypted::default()
        };
    }

    fn protected(
        &mut self,
        (record, role): (&Record<'_>, Role),
        phases: &Phases,
        keys: &mut Keys,
        out: &mut Output,
    ) {
        let begun = &record.begun;
        let side = self.side(record.direction);
        let usual = u64::from(phases.handshake.overhead());
        let overhead = side.around.unwrap_or(usual);
        let skipped = begun.start.saturating_sub(side.next);
        let Some(opener) = &mut side.opener else {
            return;
        };
        if skipped > 0 {
            opener.skip(skipped);
        }
        let Some(fragment) = record.bytes else {
            opener.skip(1);
            return self.lose((record, role), skipped, overhead, out);
        };
        let sealed = Sealed {
            content_type: begun.header.content as u8,
            version: begun.header.version,
            fragment,
        };
        let mut plain = std::mem::take(&mut keys.plain);
        match opener.open(&sealed, &keys.log, &mut plain) {
            Ok(opened) => {
                let missed = opener.missed().saturating_sub(side.told);
                side.told = 0;
                // Before TLS 1.3 the same keys protect Finished.
                let handshake = !phases.handshake.is_tls13() && !side.has_opened;
                let begins = side.plain_next == 0 && missed <= u64::from(handshake);
                side.has_opened = true;
                if skipped > 0 && !begins {
                    let data = data_bytes(skipped, missed, overhead);
                    self.gap(record.direction, data, record.last, out);
                }
                self.side(record.direction).pass(begun);
                if opened.content_type == ContentType::ApplicationData as u8 {
                    self.deliver(record, opened.bytes, keys.looks_at_bodies, out);
                }
            }
            // What looked like a record behind a gap may be none.
            Err(OpenError::WrongKey) if skipped > 0 => {}
            Err(error) => {
                side.is_given_up |= error == OpenError::GivenUp;
                let is_wrong = error == OpenError::WrongKey;
                if is_wrong && !std::mem::replace(&mut side.was_reported, true) {
                    notice(record.last, of_direction(record.direction, error), out);
                }
                self.lose((record, role), skipped, overhead, out);
            }
        }
        keys.plain = plain;
        self.close_if_in_vain();
    }

    /// Gives application data to HTTP.
    fn deliver(
        &mut self,
        record: &Record<'_>,
        bytes: &[u8],
        looks_at_bodies: bool,
        out: &mut Output,
    ) {
        if bytes.is_empty() {
            return;
        }
        let begins_late = self.begins_late;
        let http = self
            .http
            .get_or_insert_with(|| Box::new(new_http(begins_late, looks_at_bodies)));
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
        side.offsets.push(Placed {
            plain,
            plain_bytes: bytes.len() as u64,
            start: record.begun.start,
            end: end_of(&record.begun),
            first: record.begun.first,
        });
        side.plain_next = plain.saturating_add(bytes.len() as u64);
        http.data(record.direction, plain, bytes, record.last, acked, out);
        let starts = (http.request_start(), http.response_start());
        self.client.note_start(starts.0);
        self.server.note_start(starts.1);
    }

    /// A record stays closed, and `skipped` bytes before it are missing.
    fn lose(
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

    /// Tells HTTP that so much plaintext is missing.
    fn gap(&mut self, direction: Direction, bytes: u64, mark: Mark, out: &mut Output) {
        let Some(http) = &mut self.http else {
            self.begins_late = true;
            return;
        };
        let side = match direction {
            Direction::ClientToServer => &mut self.client,
            Direction::ServerToClient => &mut self.server,
        };
        http.gap(direction, side.plain_next, bytes, mark, out);
        side.plain_next = side.plain_next.saturating_add(bytes);
    }

    /// Gives up what is not HTTP/1, and what no key opens.
    fn close_if_in_vain(&mut self) {
        let is_in_vain = match &self.http {
            Some(http) => {
                let is_opaque = |direction| http.is_opaque(direction);
                !http.is_http()
                    && is_opaque(Direction::ClientToServer)
                    && is_opaque(Direction::ServerToClient)
            }
            None => self.client.is_given_up && self.server.is_given_up,
        };
        if is_in_vain {
            self.close();
        }
    }

    /// Bytes of a direction were not captured.
    pub(crate) fn miss(&mut self, direction: Direction) {
        self.side(direction).is_cut = true;
    }

    /// The direction ended, at stream offset `at`.
    pub(crate) fn end(
        &mut self,
        direction: Direction,
        at: u64,
        (end, mark): (End, Mark),
        out: &mut Output,
    ) {
        let side = self.side(direction);
        let rest = at.saturating_sub(side.next);
        if side.is_cut && rest > 0 {
            self.gap(direction, rest, mark, out);
        }
        if let Some(http) = &mut self.http {
            http.end(direction, end, mark, out);
        }
    }

    /// Places what HTTP found in the streams, and drops the exchanges that were made of the same records.
    pub(crate) fn place(&mut self, before: usize, out: &mut Output) {
        if out.transactions.len() <= before {
            return;
        }
        let is_http = self.is_http();
        for mut transaction in out.transactions.split_off(before) {
            if transaction.opaque.is_none() {
                self.place_one(&mut transaction);
            } else if is_http {
                continue;
            }
            out.transactions.push(transaction);
        }
    }

    fn place_one(&mut self, transaction: &mut Transaction) {
        if let Some(request) = &mut transaction.request {
            place_message(request, &mut self.client.offsets);
        }
        if let Some(interim) = &mut transaction.interim {
            let offsets = &self.server.offsets;
            interim.first = offsets.first_of(interim.start).unwrap_or(interim.first);
            interim.start = offsets.start_of(interim.start);
        }
        if let Some(response) = &mut transaction.response {
            place_message(response, &mut self.server.offsets);
        }
    }

    fn side(&mut self, direction: Direction) -> &mut Side {
        match direction {
            Direction::ClientToServer => &mut self.client,
            Direction::ServerToClient => &mut self.server,
        }
    }
}

impl Side {
    /// The next record is that behind this one.
    fn pass(&mut self, begun: &Begun) {
        self.next = end_of(begun);
        self.is_cut = false;
    }
}

/// From offsets in the plaintext to those in the stream. No message before this one is asked for any more.
fn place_message(message: &mut Message, offsets: &mut Offsets) {
    let end = message.end;
    message.first = offsets.first_of(message.start).unwrap_or(message.first);
    message.start = offsets.start_of(message.start);
    message.head_end = offsets.end_of(message.head_end);
    message.end = offsets.end_of(end);
    offsets.forget_before(end);
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

fn end_of(begun: &Begun) -> u64 {
    begun
        .start
        .saturating_add(begun.header.record_bytes() as u64)
}

/// The plaintext of so many bytes in so many records.
fn data_bytes(bytes: u64, records: u64, overhead: u64) -> u64 {
    let around = overhead.saturating_add(HEADER_BYTES as u64);
    bytes.saturating_sub(records.saturating_mul(around))
}

/// The least number of records that so many bytes are.
fn records_in(bytes: u64, overhead: u64) -> u64 {
    let longest = overhead
        .saturating_add(HEADER_BYTES as u64)
        .saturating_add(PLAIN_BYTES);
    bytes.div_ceil(longest)
}

fn of_direction(direction: Direction, error: OpenError) -> String {
    let whose = match direction {
        Direction::ClientToServer => "client",
        Direction::ServerToClient => "server",
    };
    format!("of a record of the {whose}: {error}")
}

fn notice(mark: Mark, detail: String, out: &mut Output) {
    out.anomalies.push(Anomaly {
        kind: AnomalyKind::UndecryptedTls,
        frame: Some(mark.frame),
        flow: None,
        offset: None,
        detail,
    });
}
