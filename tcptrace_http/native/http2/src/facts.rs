//! Facts of an HTTP/2 connection besides its streams.

use trace_model::rows::Direction;
use trace_model::Mark;

use crate::frame::Kind;

/// Settings of one side, which limit its peer.
#[derive(Clone, Debug, Default)]
pub struct SideFacts {
    /// First SETTINGS, and their acknowledgment by the peer.
    pub settings: Option<Mark>,
    pub settings_acked: Option<Mark>,
    /// SETTINGS_INITIAL_WINDOW_SIZE, if sent.
    pub initial_window: Option<u32>,
    /// Connection window before the first DATA.
    pub connection_window: Option<i64>,
    pub max_frame: Option<u32>,
    pub max_concurrent_streams: Option<u32>,
}

/// GOAWAY frame (RFC 9113, section 6.8).
#[derive(Clone, Copy, Debug)]
pub struct Goaway {
    pub by: Direction,
    pub mark: Mark,
    pub code: u32,
    pub last_stream: u32,
}

/// Number of frames per type.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    pub data: u64,
    pub headers: u64,
    pub priority: u64,
    pub rst_stream: u64,
    pub settings: u64,
    pub push_promise: u64,
    pub ping: u64,
    pub goaway: u64,
    pub window_update: u64,
    pub continuation: u64,
    pub priority_update: u64,
    pub other: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, kind: Kind) {
        let count = match kind {
            Kind::Data => &mut self.data,
            Kind::Headers => &mut self.headers,
            Kind::Priority => &mut self.priority,
            Kind::RstStream => &mut self.rst_stream,
            Kind::Settings => &mut self.settings,
            Kind::PushPromise => &mut self.push_promise,
            Kind::Ping => &mut self.ping,
            Kind::Goaway => &mut self.goaway,
            Kind::WindowUpdate => &mut self.window_update,
            Kind::Continuation => &mut self.continuation,
            Kind::PriorityUpdate => &mut self.priority_update,
            Kind::Other => &mut self.other,
        };
        *count = count.saturating_add(1);
    }
}

#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub is_upgrade: bool,
    pub preface: Option<Mark>,
    pub client: SideFacts,
    pub server: SideFacts,
    pub streams: u32,
    pub frames: Counts,
    pub goaway: Option<Goaway>,
    pub unknown_fields: u64,
}

impl Facts {
    /// Return the settings of the side that sends in `direction`.
    pub(crate) fn of(&mut self, direction: Direction) -> &mut SideFacts {
        match direction {
            Direction::ClientToServer => &mut self.client,
            Direction::ServerToClient => &mut self.server,
        }
    }
}
