//! Threshold of duplicate ACKs.

/// Number of duplicate ACKs that indicates a loss, not reordering (RFC 5681, section 3.2).
pub const DUPLICATE_ACKS: u32 = 3;
