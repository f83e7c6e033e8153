//! The retransmission timer (RFC 6298) and the tail-loss probe (RFC 8985, section 7).

/// Duplicate acknowledgments that start a fast retransmit (RFC 5681, section 3.2).
pub const DUPLICATE_ACKS: u32 = 3;
/// The least retransmission timeout in use (Linux, TCP_RTO_MIN).
pub const RTO_MIN_NS: i64 = 200_000_000;
/// The least time after which a tail-loss probe is sent, on a path of no length.
pub const PROBE_MIN_NS: i64 = 5_000_000;

/// How a sender learnt of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Duplicate or selective acknowledgments told of it.
    FastRecovery,
    /// The timer ran out although acknowledgments had told of it.
    RetransmissionTimeout,
    /// A timer ran out, and nothing else told of it.
    TailLoss,
}
