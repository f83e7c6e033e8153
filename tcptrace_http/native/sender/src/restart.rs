//! Slow-start restart: an idle period of one RTO resets cwnd (RFC 5681, section 4.1).

use crate::timers::RTO_MIN_NS;

/// State of the congestion window before an idle period.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// Offset of the first byte sent after the idle period.
    pub start: i64,
    /// Offset up to which the previous window allowed the sender to send at once.
    pub edge: i64,
    /// Bytes in flight before the idle period.
    pub shown_bytes: i64,
}

/// Return whether a sender may restart after a period without data.
#[must_use]
pub fn may_restart(idle_ns: i64, round_trip_ns: i64) -> bool {
    idle_ns >= RTO_MIN_NS.max(round_trip_ns)
}
