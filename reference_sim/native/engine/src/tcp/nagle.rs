//! Release of a segment below the MSS: Nagle's algorithm, and the sender's silly-window rule.

use crate::stack::Nagle;

/// The inputs of the decision, in stream offsets.
#[derive(Clone, Copy, Debug)]
pub struct ShortSegment {
    pub payload: u64,
    /// True if the segment holds the last written byte.
    pub is_last: bool,
    /// True if the FIN is on the segment or follows it. No data can be added, so the segment does not wait.
    pub has_fin: bool,
    /// True if all sent data was acknowledged at the start of this run of sending.
    pub was_idle: bool,
    /// True if all sent data is still acknowledged: this run has sent nothing either.
    pub is_idle: bool,
    /// End of the last segment below the MSS.
    pub last_short_end: u64,
    /// First unacknowledged offset.
    pub una: u64,
    /// The largest window that the peer has advertised.
    pub largest_window: u64,
}

impl ShortSegment {
    /// Return true if the segment can be sent (RFC 896; RFC 1122, section 4.2.3.4; draft-minshall-nagle-01).
    #[must_use]
    pub fn may_go(&self, nagle: Nagle) -> bool {
        // A peer with a small buffer never has room for a full segment.
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
