//! Binding constraint of a segment: the constraint released last, and its releasing frame.

use trace_model::rows::{Constraint, Direction};

/// Segment that is shorter than a full segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    pub frame: u64,
    /// Offsets in its stream.
    pub start: i64,
    pub end: i64,
}

/// Binding constraint of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    pub direction: Direction,
    pub constraint: Constraint,
    /// Frame of the releasing ACK.
    pub released_by: Option<u64>,
    /// Offsets of the segment in its stream.
    pub start: i64,
    pub end: i64,
    /// Latest short segment that was outstanding before the release.
    pub behind: Option<Short>,
    /// HTTP/2 stream whose bytes the segment carried, if it carried none of the waiting message.
    pub behind_stream: Option<u32>,
}
