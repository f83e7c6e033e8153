//! Figures that all who look for the slowest link share.

/// A byte at 28.8 kbit/s, the slowest modem that HTTP was measured over.
pub(crate) const SLOWEST_PS: i64 = 278_000_000;
/// Two bounds of what a byte takes agree that differ by no more than this share of them: each may be a little late.
pub(crate) const BOUNDS_AGREE_SHARE: i64 = 40;
/// As many bounds that agree show a link.
pub(crate) const BOUNDS_AGREEING_MIN: u32 = 3;
/// What stood before the link when a segment left is this share of all that went before, at least.
pub(crate) const QUEUED_SHARE: i64 = 8;
