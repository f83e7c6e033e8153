//! HTTP/2 on a server's connections: its clients' windows, and the server's framing and order.

use serde::Deserialize;

use crate::scenario::{Browser, Origin, Scenario};

/// Initial window of a connection, before any WINDOW_UPDATE (RFC 9113, section 6.9.2).
pub const FIRST_CONNECTION_WINDOW: u32 = 65_535;

/// The settings of a server and its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http2 {
    /// SETTINGS_INITIAL_WINDOW_SIZE of the client.
    pub stream_window: u32,
    /// Connection window that the client sets with its preface.
    pub connection_window: u32,
    /// Maximum payload of a DATA frame.
    pub frame_bytes: u32,
    pub order: WriteOrder,
    /// True if the client's requests wait for the server's SETTINGS.
    pub waits_for_settings: bool,
    /// Used window bytes after which the client sends a WINDOW_UPDATE. None means half the window.
    pub update_bytes: Option<u32>,
}

/// The rule that selects the stream of the next frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteOrder {
    /// The whole response that was ready first.
    Sequential,
    /// One frame per stream in turn.
    RoundRobin,
    /// The most urgent stream (RFC 9218, section 4.1), and among equals the earliest request.
    Priority,
}

impl Scenario {
    /// Return the HTTP/2 settings of a browser's connections, or None for HTTP/1.
    #[must_use]
    pub fn http2_of(&self, browser: &Browser) -> Option<Http2> {
        match browser.origin {
            Origin::Server(server) => self.servers.get(server as usize)?.http2,
            Origin::Proxy(_) => None,
        }
    }
}
