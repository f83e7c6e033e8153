//! Slow-start restart: an idle period of a retransmission timeout throws the congestion window away (RFC 5681,
//! section 4.1).

use crate::timers::RTO_MIN_NS;

/// What the congestion window was before an idle period.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// Offset of the first byte sent after it.
    pub start: i64,
    /// How far the window of before had let the sender go at once.
    pub edge: i64,
    /// What had been in flight at once before.
    pub shown_bytes: i64,
}

/// Whether a period without data is one after which a sender may restart.
#[must_use]
pub fn may_restart(idle_ns: i64, round_trip_ns: i64) -> bool {
    idle_ns >= RTO_MIN_NS.max(round_trip_ns)
}
