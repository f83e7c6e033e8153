//! Times that the timers of stacks in use keep to.

/// The least retransmission timeout, before which nothing is sent again and no idle sender restarts: Linux and the
/// BSDs wait 200 ms (`TCP_RTO_MIN`), Windows 300 ms; RFC 6298, section 2.4, asks for 1 s.
pub const TIMEOUT_MIN_NS: i64 = 200_000_000;
