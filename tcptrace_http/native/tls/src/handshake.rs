//! What a handshake says in clear, and its phases.

use tcptrace_http_messages::Direction;
use trace_model::Mark;

use crate::cipher;
use crate::hello::TLS13;

/// What is known of a handshake. Bytes are those on the wire, headers of records included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    pub server_name: Option<Box<str>>,
    pub protocols_offered: Option<Box<str>>,
    pub protocol_chosen: Option<Box<str>>,
    pub version: Option<u16>,
    pub cipher: Option<u16>,
    pub resumed: Option<bool>,
    pub offers_early_data: bool,
    pub hello_retry: bool,
    pub client_hello_bytes: u64,
    pub server_flight_bytes: u64,
    /// Of a chain that is sent in clear.
    pub certificate_bytes: Option<u64>,
    /// What the client sends behind its ClientHello, up to Finished.
    pub client_flight_bytes: u64,
    pub client_hello: Option<Mark>,
    /// The end of the first ClientHello.
    pub client_hello_last: Option<Mark>,
    pub server_hello: Option<Mark>,
    pub server_flight_last: Option<Mark>,
    pub client_finished: Option<Mark>,
    pub server_finished: Option<Mark>,
    /// The client's first application data.
    pub first_application: Option<Mark>,
    /// What the server sends unasked before its first response: tickets (RFC 8446, section 4.6.1), SETTINGS of HTTP/2.
    pub unasked_bytes: u64,
    /// Its first byte, and its last one.
    pub unasked: Option<(Mark, Mark)>,
    /// How often the client waited for an answer of the server before it sent application data.
    pub round_trips: u32,
    /// Description of a fatal alert in clear.
    pub alert: Option<u8>,
    /// Who sent the first alert, which but for warnings ends the connection (RFC 8446, section 6).
    pub alerted_first: Option<Direction>,
}

impl Handshake {
    /// The suite's name, or its number.
    #[must_use]
    pub fn cipher_name(&self) -> Option<String> {
        self.cipher.map(cipher::name)
    }

    #[must_use]
    pub fn is_tls13(&self) -> bool {
        self.version == Some(TLS13)
    }

    /// When the client could send application data.
    #[must_use]
    pub fn done(&self) -> Option<Mark> {
        let client = self.client_finished?;
        if self.is_tls13() {
            return Some(client);
        }
        Some(client.later(self.server_finished?))
    }

    /// Memory that it takes.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let texts = [
            &self.server_name,
            &self.protocols_offered,
            &self.protocol_chosen,
        ];
        let texts = texts.into_iter().flatten().map(|it| it.len());
        texts.fold(size_of::<Self>(), usize::saturating_add) as u64
    }

    /// Whether the client offers HTTP, in which it speaks first (RFC 7301, section 6; RFC 9113, section 3.2).
    #[must_use]
    pub fn offers_http(&self) -> bool {
        let offered = self.protocols_offered.as_deref().unwrap_or_default();
        offered
            .split(',')
            .any(|it| it == "h2" || it.starts_with("http/"))
    }

    /// Bytes of a record that are no data.
    pub(crate) fn overhead(&self) -> u16 {
        let known = self.version.zip(self.cipher);
        known.map_or(0, |(version, suite)| cipher::overhead(version, suite))
    }

    /// Whether the connection may carry HTTP/2 (RFC 9113, section 3.2): where the choice is encrypted, by what was offered.
    pub(crate) fn may_be_http2(&self) -> bool {
        let is_hidden = self.is_tls13() || self.version.is_none();
        let named = match &self.protocol_chosen {
            None if is_hidden => &self.protocols_offered,
            chosen => chosen,
        };
        named
            .as_ref()
            .is_some_and(|names| names.split(',').any(|it| it == "h2"))
    }
}
