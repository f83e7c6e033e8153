//! What duplicate ACKs tell.

/// So many tell of a loss, and not of reordering (RFC 5681, section 3.2).
pub const DUPLICATE_ACKS: u32 = 3;
