//! What comes from the server without a pause.

use super::ack::Release;

/// What came from the server without a pause, on whichever connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) start_ns: i64,
    pub(super) last_ns: i64,
    pub(super) last_bytes: u32,
    pub(super) release: Release,
    /// The pause before it.
    pub(super) pause_ns: i64,
    /// It has told whether another connection's ACK let it go.
    pub(super) has_told: bool,
}

/// A segment of the server, as the flights see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coming {
    pub(super) time_ns: i64,
    pub(super) bytes: u32,
    pub(super) client_port: u16,
    /// How long its connection had been quiet.
    pub(super) quiet_ns: i64,
    /// The segment before it was not pushed.
    pub(super) had_more: bool,
    /// It begins an answer: its server may have worked until then.
    pub(super) begins: bool,
    /// ... whose question went by then, if nothing is missing between.
    pub(super) asked_ns: Option<i64>,
    /// It was sent before, maybe by a timer that no ACK has anything to do with.
    pub(super) tells_nothing: bool,
}
