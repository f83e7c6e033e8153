//! The phases of a handshake, from order, direction and size of the records.

use tcptrace_http_messages::Direction;
use tcptrace_tls_keys::SecurityParameters;
use trace_model::Mark;

use crate::cipher;
use crate::handshake::Handshake;
use crate::hello::{ClientHello, Random, ServerHello, TLS13};
use crate::messages::{Message, CERTIFICATE, CLIENT_HELLO, SERVER_HELLO, SERVER_HELLO_DONE};
use crate::record::{Begun, ContentType, Record};

/// Number of records with a client certificate and its proof, before Finished.
const CLIENT_TAIL: u8 = 3;
/// Size of the length field before the chain in a TLS 1.2 Certificate message (RFC 5246, section 7.4.2).
const CHAIN_LENGTH_BYTES: usize = 3;
const FATAL: u8 = 2;

/// The role of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Flight,
    Finished,
    /// A Finished after records that counted as application data.
    LateFinished,
    Application,
    /// Server data before the first response: tickets.
    Unasked,
    /// An alert or a key update.
    Other,
}

/// A follower of a handshake.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    pub(crate) handshake: Handshake,
    /// True after the client's ChangeCipherSpec.
    client_is_encrypted: bool,
    /// True after the server's ChangeCipherSpec.
    server_is_encrypted: bool,
    has_hello_done: bool,
    server_flight_is_over: bool,
    /// Encrypted client records without the length of Finished. The first of them can still be Finished.
    client_tail: u8,
    /// True once the client's Finished record is identified.
    is_settled: bool,
    turn: Option<Direction>,
    client_random: Option<Random>,
    server_random: Option<Random>,
    encrypts_then_macs: bool,
}

impl Phases {
    /// Return true if a hello was seen. Without a hello the capture started later.
    pub(crate) fn has_begun(&self) -> bool {
        self.handshake.client_hello.is_some() || self.handshake.server_hello.is_some()
    }

    pub(crate) fn client_random(&self) -> Option<&Random> {
        self.client_random.as_ref()
    }

    /// Return the negotiated parameters, once both hellos are known.
    pub(crate) fn parameters(&self) -> Option<SecurityParameters> {
        Some(SecurityParameters {
            version: self.handshake.version?,
            suite: self.handshake.cipher?,
            client_random: self.client_random?,
            server_random: self.server_random?,
            encrypt_then_mac: self.encrypts_then_macs,
        })
    }

    /// Return the role of a new record.
    pub(crate) fn role(&mut self, direction: Direction, begun: &Begun) -> Role {
        let is_encrypted = self.is_encrypted(direction);
        let role = match begun.header.content {
            ContentType::ChangeCipherSpec => Role::Flight,
            ContentType::Handshake if !is_encrypted => Role::Flight,
            // Later handshake records are a renegotiation and are encrypted too.
            ContentType::Handshake if self.finished(direction).is_none() => Role::Finished,
            ContentType::ApplicationData => match direction {
                Direction::ClientToServer => self.role_at_client(begun.header.length),
                Direction::ServerToClient => self.role_at_server(begun.header.length),
            },
            ContentType::Handshake | ContentType::Alert | ContentType::Heartbeat => Role::Other,
        };
        if matches!(role, Role::Flight | Role::Finished) {
            self.turn(direction, begun.first);
        }
        role
    }

    /// Return true after a ChangeCipherSpec, which starts encryption before TLS 1.3.
    fn is_encrypted(&self, direction: Direction) -> bool {
        let has_changed = match direction {
            Direction::ClientToServer => self.client_is_encrypted,
            Direction::ServerToClient => self.server_is_encrypted,
        };
        has_changed && self.handshake.version.is_some_and(|it| it < TLS13)
    }

    fn finished(&self, direction: Direction) -> Option<Mark> {
        match direction {
            Direction::ClientToServer => self.handshake.client_finished,
            Direction::ServerToClient => self.handshake.server_finished,
        }
    }

    /// Return true if encrypted records can belong to the handshake (RFC 8446, section 2).
    fn is_handshake_hidden(&self) -> bool {
        self.handshake.is_tls13() && self.has_begun() && !self.is_settled
    }

    fn role_at_client(&mut self, length: u16) -> Role {
        if !self.is_handshake_hidden() {
            return self.role_after_handshake(length);
        }
        if length == self.finished_length() {
            self.is_settled = true;
            self.server_flight_is_over = true;
            return if self.client_tail > 1 {
                Role::LateFinished
            } else {
                Role::Finished
            };
        }
        let is_early = self.handshake.first_application.is_some() && self.client_tail == 0;
        if is_early && length != cipher::TLS13_END_OF_EARLY_DATA {
            return Role::Application;
        }
        self.server_flight_is_over = true;
        if is_early {
            return Role::Flight;
        }
        self.client_tail = self.client_tail.saturating_add(1);
        self.is_settled = self.client_tail > CLIENT_TAIL;
        if self.client_tail == 1 {
            Role::Flight
        } else {
            self.role_after_handshake(length)
        }
    }

    fn role_at_server(&mut self, length: u16) -> Role {
        if !self.is_handshake_hidden() || self.server_flight_is_over {
            // The server responds, so the client has finished.
            self.is_settled |= self.client_tail > 0;
            return self.role_after_handshake(length);
        }
        // Application data can follow before the client's Finished arrives.
        self.server_flight_is_over = length == self.finished_length();
        Role::Flight
    }

    /// Return true if a record is an alert, by its content type or its length.
    pub(crate) fn is_alert(&self, begun: &Begun) -> bool {
        match begun.header.content {
            ContentType::Alert => true,
            ContentType::ApplicationData => {
                self.may_be_tls13() && begun.header.length == cipher::TLS13_ALERT
            }
            _ => false,
        }
    }

    fn may_be_tls13(&self) -> bool {
        self.handshake.version.is_none_or(|it| it == TLS13)
    }

    fn role_after_handshake(&self, length: u16) -> Role {
        let is_control = matches!(length, cipher::TLS13_ALERT | cipher::TLS13_KEY_UPDATE);
        if self.may_be_tls13() && is_control {
            Role::Other
        } else {
            Role::Application
        }
    }

    fn finished_length(&self) -> u16 {
        self.handshake.cipher.map_or(0, cipher::finished_length)
    }

    /// Count round trips: each server answer to a client handshake record adds one.
    fn turn(&mut self, direction: Direction, first: Mark) {
        let handshake = &mut self.handshake;
        if direction == Direction::ServerToClient {
            handshake.server_hello.get_or_insert(first);
            let is_answer = self.turn == Some(Direction::ClientToServer);
            let is_awaited = handshake.first_application.is_none();
            if is_answer && is_awaited && !self.is_settled {
                handshake.round_trips = handshake.round_trips.saturating_add(1);
            }
        } else {
            handshake.client_hello.get_or_insert(first);
        }
        self.turn = Some(direction);
    }

    /// Record the start of the client's application data.
    pub(crate) fn begin_application(&mut self, first: Mark) {
        self.handshake.first_application.get_or_insert(first);
    }

    /// Record `bytes` bytes of unasked application data from the server, starting at `first`.
    pub(crate) fn begin_unasked(&mut self, bytes: u64, first: Mark) {
        let handshake = &mut self.handshake;
        handshake.unasked_bytes = handshake.unasked_bytes.saturating_add(bytes);
        handshake.unasked.get_or_insert((first, first));
    }

    /// Record the end of an unasked record.
    pub(crate) fn end_unasked(&mut self, end: Mark) {
        if let Some((_, last)) = &mut self.handshake.unasked {
            *last = end;
        }
    }

    /// Reassign `bytes` bytes of the client's application data to its handshake flight.
    pub(crate) fn reassign_application(&mut self, bytes: u64) {
        let handshake = &mut self.handshake;
        handshake.first_application = None;
        handshake.client_flight_bytes = handshake.client_flight_bytes.saturating_add(bytes);
    }

    /// Take a whole handshake record.
    pub(crate) fn record(&mut self, role: Role, record: &Record<'_>) {
        let is_change = record.begun.header.content == ContentType::ChangeCipherSpec;
        let bytes = record.begun.header.record_bytes() as u64;
        match record.direction {
            Direction::ClientToServer => {
                self.client_is_encrypted |= is_change;
                self.client_record(role, bytes, record.last);
                // Early data follows a ChangeCipherSpec.
                if self.handshake.server_hello.is_none() && !is_change {
                    self.handshake.client_hello_last = Some(record.last);
                }
            }
            Direction::ServerToClient => {
                self.server_record(role, bytes, record.last);
                self.server_changes(is_change);
            }
        }
    }

    fn client_record(&mut self, role: Role, bytes: u64, last: Mark) {
        let handshake = &mut self.handshake;
        let sum = if handshake.version.is_some() {
            &mut handshake.client_flight_bytes
        } else {
            &mut handshake.client_hello_bytes
        };
        *sum = sum.saturating_add(bytes);
        if role != Role::Flight || self.client_tail > 0 {
            handshake.client_finished = Some(last);
        }
    }

    fn server_record(&mut self, role: Role, bytes: u64, last: Mark) {
        let handshake = &mut self.handshake;
        // Server records after the client's flight belong to another flight.
        if handshake.client_flight_bytes == 0 {
            handshake.server_flight_bytes = handshake.server_flight_bytes.saturating_add(bytes);
            handshake.server_flight_last = Some(last);
        }
        if role == Role::Finished {
            handshake.server_finished = Some(last);
        }
    }

    /// Record the server's ChangeCipherSpec. Before TLS 1.3, an abbreviated handshake has no ServerHelloDone
    /// (RFC 5246, section 7.3).
    fn server_changes(&mut self, is_change: bool) {
        let is_clear = self.handshake.version.is_some_and(|it| it < TLS13);
        if is_change && is_clear && !self.server_is_encrypted {
            self.server_is_encrypted = true;
            self.handshake.resumed = Some(!self.has_hello_done);
        }
    }

    /// Take a clear-text handshake message.
    pub(crate) fn message(&mut self, direction: Direction, message: &Message<'_>) {
        match (direction, message.kind) {
            (Direction::ClientToServer, CLIENT_HELLO) => {
                if let Some(hello) = ClientHello::parse(message.body) {
                    self.client_hello(hello);
                }
            }
            (Direction::ServerToClient, SERVER_HELLO) => {
                if let Some(hello) = ServerHello::parse(message.body) {
                    self.server_hello(hello);
                }
            }
            (Direction::ServerToClient, CERTIFICATE) => {
                let chain = message.length.saturating_sub(CHAIN_LENGTH_BYTES);
                self.handshake.certificate_bytes = Some(chain as u64);
            }
            (Direction::ServerToClient, SERVER_HELLO_DONE) => self.has_hello_done = true,
            _ => {}
        }
    }

    fn client_hello(&mut self, hello: ClientHello) {
        self.client_random = Some(hello.random);
        let handshake = &mut self.handshake;
        handshake.server_name = hello.server_name;
        handshake.protocols_offered = hello.protocols;
        // The second ClientHello after a HelloRetryRequest no longer offers early data.
        handshake.offers_early_data |= hello.offers_early_data;
    }

    fn server_hello(&mut self, hello: ServerHello) {
        let handshake = &mut self.handshake;
        if hello.is_retry {
            handshake.hello_retry = true;
            return;
        }
        self.server_random = Some(hello.random);
        self.encrypts_then_macs = hello.encrypts_then_macs;
        handshake.version = Some(hello.version);
        handshake.cipher = Some(hello.cipher);
        handshake.protocol_chosen = hello.protocol;
        if handshake.is_tls13() {
            handshake.resumed = Some(hello.takes_key);
        }
    }

    /// Take an alert record. An alert in clear text has two bytes.
    pub(crate) fn alert(&mut self, bytes: &[u8]) {
        if let [FATAL, description] = bytes {
            self.handshake.alert.get_or_insert(*description);
        }
    }
}
