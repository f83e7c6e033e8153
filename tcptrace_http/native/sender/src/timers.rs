//! Retransmission timer (RFC 6298) and tail-loss probe (RFC 8985, section 7).

/// Duplicate ACKs that start a fast retransmit (RFC 5681, section 3.2).
pub const DUPLICATE_ACKS: u32 = 3;
/// Smallest RTO in use (Linux, TCP_RTO_MIN).
pub const RTO_MIN_NS: i64 = 200_000_000;
/// Minimum time before a tail-loss probe, for a round trip near zero.
pub const PROBE_MIN_NS: i64 = 5_000_000;

/// Evidence by which a sender detected a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repair {
    /// Duplicate or selective ACKs reported the loss.
    FastRecovery,
    /// The timer expired although ACKs had reported the loss.
    RetransmissionTimeout,
    /// A timer expired, and no ACK reported the loss.
    TailLoss,
}
