//! How exactly the times of a capture tell what let a packet go.

/// Data follows the ACK that lets it go by the path, what it takes itself and no more than this: hosts schedule and
/// paths vary by less, and what comes as close does so by no chance.
pub const CLOSE_NS: i64 = 500_000;
