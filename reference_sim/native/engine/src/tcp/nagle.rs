//! When a segment below the MSS may go: Nagle's algorithm, and the sender's silly-window rule.

use crate::stack::Nagle;

/// What the decision depends on, in stream offsets.
#[derive(Clone, Copy, Debug)]
pub struct ShortSegment {
    pub payload: u64,
    /// It holds the last byte that was written.
    pub is_last: bool,
    /// The FIN rides on it or follows: nothing can be added to it, so nothing is waited for.
    pub has_fin: bool,
    /// Everything sent was acknowledged when this run of sending began.
    pub was_idle: bool,
    /// And is so still: nothing of this run went out either.
    pub is_idle: bool,
    /// The last segment below the MSS ended here; acknowledged up to `una`.
    pub last_short_end: u64,
    pub una: u64,
    /// The largest window that the peer has ever offered.
    pub largest_window: u64,
}

impl ShortSegment {
    /// Whether it may be sent (RFC 896; RFC 1122, section 4.2.3.4; draft-minshall-nagle-01).
    #[must_use]
    pub fn may_go(&self, nagle: Nagle) -> bool {
        // A peer whose whole buffer is small never has room for a full segment.
        if self.has_fin || self.payload >= (self.largest_window / 2).max(1) {
            return true;
        }
        self.is_last
            && match nagle {
                Nagle::Off => true,
                Nagle::Bsd => self.was_idle,
                Nagle::Strict => self.is_idle,
                Nagle::Minshall => self.last_short_end <= self.una,
            }
    }
}
