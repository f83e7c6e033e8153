//! The clear-text content of a handshake, and its phases.

use tcptrace_http_messages::Direction;
use trace_model::Mark;

use crate::cipher;
use crate::hello::TLS13;

/// Facts of a handshake. Bytes are those on the wire, with record headers.
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
    /// Length of a certificate chain in clear text.
    pub certificate_bytes: Option<u64>,
    /// Length of the client's flight after its ClientHello, up to Finished.
    pub client_flight_bytes: u64,
    pub client_hello: Option<Mark>,
    /// The packet with the end of the first ClientHello.
    pub client_hello_last: Option<Mark>,
    pub server_hello: Option<Mark>,
    pub server_flight_last: Option<Mark>,
    pub client_finished: Option<Mark>,
    pub server_finished: Option<Mark>,
    /// The packet with the client's first application data.
    pub first_application: Option<Mark>,
    /// Bytes that the server sends unasked before its first response: tickets (RFC 8446, section 4.6.1) and
    /// HTTP/2 SETTINGS.
    pub unasked_bytes: u64,
    /// The packets with the first and the last of these bytes.
    pub unasked: Option<(Mark, Mark)>,
    /// Number of times the client waited for a server answer before it sent application data.
    pub round_trips: u32,
    /// Description of a fatal alert in clear text.
    pub alert: Option<u8>,
    /// The sender of the first alert. Except for a warning, an alert ends the connection (RFC 8446, section
    /// 6).
    pub alerted_first: Option<Direction>,
}

impl Handshake {
    /// Return the suite's name, or its number.
    #[must_use]
    pub fn cipher_name(&self) -> Option<String> {
        self.cipher.map(cipher::name)
    }

    #[must_use]
    pub fn is_tls13(&self) -> bool {
        self.version == Some(TLS13)
    }

    /// Return the packet after which the client could send application data.
    #[must_use]
    pub fn done(&self) -> Option<Mark> {
        let client = self.client_finished?;
        if self.is_tls13() {
            return Some(client);
        }
        Some(client.later(self.server_finished?))
    }

    /// Return the memory of the handshake.
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

    /// Return true if the client offers HTTP, a protocol in which the client speaks first (RFC 7301, section
    /// 6; RFC 9113, section 3.2).
    #[must_use]
    pub fn offers_http(&self) -> bool {
        let offered = self.protocols_offered.as_deref().unwrap_or_default();
        offered
            .split(',')
            .any(|it| it == "h2" || it.starts_with("http/"))
    }

    /// Return the overhead of a record in bytes.
    pub(crate) fn overhead(&self) -> u16 {
        let known = self.version.zip(self.cipher);
        known.map_or(0, |(version, suite)| cipher::overhead(version, suite))
    }

    /// Return true if the connection can carry HTTP/2 (RFC 9113, section 3.2). If the server's choice is
    /// encrypted, the client's offer decides.
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
