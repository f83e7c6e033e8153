//! Decryption of a connection with the secrets of a key log. The plaintext goes to HTTP like clear-text
//! bytes.
//!
//! HTTP takes whole records and counts plaintext bytes. [`Offsets`] converts HTTP's offsets back to stream
//! offsets.

mod to_http;

use tcptrace_http2::{Connection as Http2, Messages, Oldest};
use tcptrace_http_messages::{Direction, End, Output};
use tcptrace_tls_keys::{KeyLog, OpenError, Opener, Record as Sealed};
use trace_model::{Anomaly, AnomalyKind, Mark};

use self::to_http::data_bytes;
use crate::offsets::Offsets;
use crate::phases::{Phases, Role};
use crate::record::{Begun, ContentType, Record};
use crate::record_log::RecordLog;

const HTTP2: &str = "h2";

/// The key log of a capture, shared by all its connections.
#[derive(Debug, Default)]
pub struct Keys {
    pub log: KeyLog,
    /// True if HTTP inspects response bodies.
    pub looks_at_bodies: bool,
    /// The log of the records table, if the table is wanted.
    pub records: Option<RecordLog>,
    /// Plaintext of the last opened record.
    plain: Vec<u8>,
}

/// One direction.
#[derive(Debug, Default)]
struct Side {
    opener: Option<Opener>,
    /// Before TLS 1.3: true after this direction's ChangeCipherSpec.
    has_changed: bool,
    /// Stream offset of the next record.
    next: u64,
    plain_next: u64,
    offsets: Offsets,
    has_opened: bool,
    /// Overhead of the latest record. No other value reveals the padding.
    around: Option<u64>,
    /// Number of records reported missing to HTTP since the last opened record.
    told: u64,
    /// True if bytes are missing after `next`.
    is_cut: bool,
    was_reported: bool,
    is_given_up: bool,
    /// Start of the latest message, in the plaintext and in the stream.
    start: Option<(u64, u64)>,
    ended: Option<(End, Mark)>,
}

impl Side {
    /// Record the start of HTTP's latest message.
    fn note_start(&mut self, plain: Option<u64>) {
        if self.start.map(|(start, _)| start) != plain {
            self.start = plain.map(|plain| (plain, self.offsets.start_of(plain)));
        }
    }
}

/// A record of early data, kept until its keys are known.
#[derive(Debug)]
struct Early {
    begun: Begun,
    last: Mark,
    bytes: Vec<u8>,
}

#[derive(Debug, Default, PartialEq)]
enum State {
    /// Before the ServerHello.
    #[default]
    Waiting,
    Opening,
    /// No record can be opened.
    Closed,
}

#[derive(Debug, Default)]
pub(crate) struct Decrypted {
    state: State,
    client: Side,
    server: Side,
    /// Set from the first application data on.
    http: Option<Messages>,
    /// True if the hellos negotiated HTTP/2.
    is_http2: bool,
    /// True if a record stayed closed before the first application data.
    begins_late: bool,
    early: Vec<Early>,
    /// True if the key log has secrets of the connection.
    has_secrets: bool,
    /// Size of the key log at the last failed search.
    secrets_before: usize,
}

impl Decrypted {
    /// Create the state for first records at these offsets. Records before the key log's arrival count as
    /// missing.
    pub(crate) fn beginning_at((client, server): (u64, u64)) -> Box<Self> {
        let mut this = Box::<Self>::default();
        this.client.next = client;
        this.server.next = server;
        this
    }

    /// Return true if application data is wanted.
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

    /// Return true if the plaintext is HTTP.
    pub(crate) fn is_http(&self) -> bool {
        self.http.as_ref().is_some_and(|it| it.is_http())
    }

    pub(crate) fn is_opaque(&self, direction: Direction) -> bool {
        let http = self.http.as_ref().filter(|it| it.is_http());
        http.is_some_and(|it| it.is_opaque(direction))
    }

    /// Return the HTTP/2 connection, if the plaintext is HTTP/2.
    pub(crate) fn as_http2(&self) -> Option<&Http2> {
        self.http.as_ref()?.as_http2()
    }

    /// Return the HTTP/2 stream whose frame has the byte of a direction at stream offset `offset`.
    pub(crate) fn stream_at(&self, direction: Direction, offset: u64) -> Option<u32> {
        let side = match direction {
            Direction::ClientToServer => &self.client,
            Direction::ServerToClient => &self.server,
        };
        let plain = (side.offsets).plain_before(offset, side.next, side.plain_next);
        self.as_http2()?.stream_at(direction, plain)
    }

    /// Return the start offsets of the oldest open HTTP/2 streams.
    pub(crate) fn oldest(&self) -> Oldest {
        let oldest = self.as_http2().map_or_else(Oldest::default, Http2::oldest);
        Oldest {
            client: oldest
                .client
                .map(|plain| self.client.offsets.start_of(plain)),
            server: oldest
                .server
                .map(|plain| self.server.offsets.start_of(plain)),
            ..oldest
        }
    }

    /// Return the stream offset of the latest request.
    pub(crate) fn request_start(&self) -> Option<u64> {
        Some(self.client.start.filter(|_| self.is_http())?.1)
    }

    /// Return the stream offset of the latest response.
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

    /// Take a whole record, or its captured part.
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
            (State::Opening, _) => {
                let shown = self.protected((record, role), phases, keys, out);
                if let Some(records) = &mut keys.records {
                    records.on_opened(shown);
                }
            }
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

    /// Create the openers once both hellos are known.
    fn prepare(&mut self, mark: Mark, phases: &Phases, keys: &mut Keys, out: &mut Output) {
        let Some(parameters) = phases.parameters() else {
            return;
        };
        self.is_http2 = phases.handshake.protocol_chosen.as_deref() == Some(HTTP2);
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
                is_complete: true,
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

    /// Open a protected record. Return its content type if it opens.
    fn protected(
        &mut self,
        (record, role): (&Record<'_>, Role),
        phases: &Phases,
        keys: &mut Keys,
        out: &mut Output,
    ) -> Option<u8> {
        let begun = &record.begun;
        let side = self.side(record.direction);
        let usual = u64::from(phases.handshake.overhead());
        let overhead = side.around.unwrap_or(usual);
        let skipped = begun.start.saturating_sub(side.next);
        let opener = side.opener.as_mut()?;
        if skipped > 0 {
            opener.skip(skipped);
        }
        let Some(fragment) = record.bytes else {
            opener.skip(1);
            self.lose((record, role), skipped, overhead, out);
            return None;
        };
        let sealed = Sealed {
            content_type: begun.header.content as u8,
            version: begun.header.version,
            fragment,
        };
        let mut plain = std::mem::take(&mut keys.plain);
        let mut shown = None;
        match opener.open(&sealed, &keys.log, &mut plain) {
            Ok(opened) => {
                let missed = opener.missed().saturating_sub(side.told);
                side.told = 0;
                // Before TLS 1.3, the same keys protect Finished.
                let handshake = !phases.handshake.is_tls13() && !side.has_opened;
                let begins = side.plain_next == 0 && missed <= u64::from(handshake);
                side.has_opened = true;
                let is_first =
                    side.plain_next == 0 && is_first_response(&self.http, record, opened.bytes);
                if skipped > 0 && !begins && !is_first {
                    let data = data_bytes(skipped, missed, overhead);
                    self.gap(record.direction, data, record.last, out);
                }
                self.side(record.direction).pass(begun);
                shown = Some(opened.content_type);
                if opened.content_type == ContentType::ApplicationData as u8 {
                    self.deliver(record, opened.bytes, keys.looks_at_bodies, out);
                }
            }
            // The apparent record after a gap can be other data.
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
        self.close_if_unreadable();
        shown
    }

    /// Close the decryption if the plaintext is not HTTP, or if no key opens the records.
    fn close_if_unreadable(&mut self) {
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

    /// Record missing bytes in a direction.
    pub(crate) fn miss(&mut self, direction: Direction) {
        self.side(direction).is_cut = true;
    }

    fn side(&mut self, direction: Direction) -> &mut Side {
        match direction {
            Direction::ClientToServer => &mut self.client,
            Direction::ServerToClient => &mut self.server,
        }
    }
}

impl Side {
    /// Advance to the record after this one.
    fn pass(&mut self, begun: &Begun) {
        self.next = end_of(begun);
        self.is_cut = false;
    }
}

/// Return true if an opened record begins the response to the only request so far. The missing bytes before
/// it were then a ticket (RFC 8446, section 4.6.1).
fn is_first_response(http: &Option<Messages>, record: &Record<'_>, plain: &[u8]) -> bool {
    record.direction == Direction::ServerToClient
        && plain.starts_with(b"HTTP/1.")
        && http
            .as_ref()
            .is_some_and(|it| it.request_start() == Some(0))
}

fn end_of(begun: &Begun) -> u64 {
    begun
        .start
        .saturating_add(begun.header.record_bytes() as u64)
}

fn of_direction(direction: Direction, error: OpenError) -> String {
    let whose = match direction {
        Direction::ClientToServer => "client",
        Direction::ServerToClient => "server",
    };
    format!("record of the {whose}: {error}")
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
