//! TLS of a server's connections: the settings that affect sizes and round trips.

use std::net::Ipv4Addr;

use serde::Deserialize;

use crate::scenario::{Browser, Origin, Scenario, Server};
use crate::stack::Nanoseconds;

/// Length of a record's type, version and length fields (RFC 8446, section 5.1).
const HEADER_BYTES: u64 = 5;

/// The settings of a server and its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    pub version: TlsVersion,
    /// True if every connection resumes an earlier session.
    pub resumed: bool,
    /// True if requests follow the ClientHello directly (RFC 8446, section 2.3).
    pub early_data: bool,
    /// Minimum length of the ClientHello on the wire, reached by padding (RFC 7685).
    pub hello_bytes: u32,
    /// Length of the certificate list in a full handshake.
    pub chain_bytes: u32,
    pub tickets: u32,
    pub ticket_bytes: u32,
    /// True if TLS 1.3 tickets are part of a response's first write, false if each is a separate write.
    pub tickets_with_response: bool,
    /// Maximum data of a record.
    pub record_bytes: u32,
    /// Delay from the end of the ClientHello to the server's flight.
    pub processing_ns: Nanoseconds,
    /// True if the inner protocol is HTTP/2.
    #[serde(skip)]
    pub has_http2: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum TlsVersion {
    #[serde(rename = "1.2")]
    Tls12,
    #[serde(rename = "1.3")]
    Tls13,
}

impl TlsVersion {
    /// Return the overhead of AES-GCM per record. The overhead is the tag, and the inner content type (RFC
    /// 8446, section 5.2) or the explicit nonce (RFC 5288, section 3).
    #[must_use]
    pub fn overhead(self) -> u64 {
        match self {
            TlsVersion::Tls12 => 8 + 16,
            TlsVersion::Tls13 => 1 + 16,
        }
    }
}

impl Tls {
    /// Return the protocol that the client offers and the server selects (RFC 7301).
    #[must_use]
    pub fn protocol(&self) -> &'static [u8] {
        if self.has_http2 {
            b"h2"
        } else {
            b"http/1.1"
        }
    }

    /// Return the stream bytes of `data` bytes in one write.
    #[must_use]
    pub fn stream_bytes(&self, data: u64) -> u64 {
        let records = data.div_ceil(u64::from(self.record_bytes.max(1)));
        data + records * (HEADER_BYTES + self.version.overhead())
    }
}

impl Server {
    /// Return the TLS settings of the server's connections.
    #[must_use]
    pub fn secured(&self) -> Option<Tls> {
        let has_http2 = self.http2.is_some();
        self.tls.map(|tls| Tls { has_http2, ..tls })
    }
}

impl Scenario {
    /// Return the TLS settings of a browser's connections.
    #[must_use]
    pub fn tls_of(&self, browser: &Browser) -> Option<Tls> {
        match browser.origin {
            Origin::Server(server) => self.servers.get(server as usize)?.secured(),
            Origin::Proxy(_) => None,
        }
    }

    /// Return the host of a browser's first page. The name is empty if the host is an address (RFC 6066,
    /// section 3).
    #[must_use]
    pub fn server_name_of(&self, browser: &Browser) -> &str {
        let visit = browser.visits.first();
        let page = visit.and_then(|visit| self.pages.get(visit.page as usize));
        let host = page.map_or("", |page| &page.host);
        let name = host.split_once(':').map_or(host, |(name, _)| name);
        if name.starts_with('[') || name.parse::<Ipv4Addr>().is_ok() {
            ""
        } else {
            name
        }
    }
}
