//! HTTP/2 on a server's connections: the windows of its clients, and how the server cuts and orders what it sends.

use serde::Deserialize;

use crate::scenario::{Browser, Origin, Scenario};

/// The window of a connection before any WINDOW_UPDATE (RFC 9113, section 6.9.2).
pub const FIRST_CONNECTION_WINDOW: u32 = 65_535;

/// The choices of a server and its clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Http2 {
    /// SETTINGS_INITIAL_WINDOW_SIZE of the client.
    pub stream_window: u32,
    /// The client raises the connection's window to this with its preface.
    pub connection_window: u32,
    /// The most payload of a DATA frame.
    pub frame_bytes: u32,
    pub order: WriteOrder,
    /// The client's requests wait for the server's SETTINGS.
    pub waits_for_settings: bool,
    /// The client gives more of a window when so much of it is used; none: half of it.
    pub update_bytes: Option<u32>,
}

/// Which stream's frame the server writes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteOrder {
    /// All of the response that was ready first.
    Sequential,
    /// A frame of each in turn.
    RoundRobin,
    /// The most urgent one's (RFC 9218, section 4.1), of these the request that came first.
    Priority,
}

impl Scenario {
    /// What a browser's connections speak beside HTTP/1.
    #[must_use]
    pub fn http2_of(&self, browser: &Browser) -> Option<Http2> {
        match browser.origin {
            Origin::Server(server) => self.servers.get(server as usize)?.http2,
            Origin::Proxy(_) => None,
        }
    }
}
