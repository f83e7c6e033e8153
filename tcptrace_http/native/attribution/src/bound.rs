//! What bound a segment: the constraint that was released last, and by what.

use trace_model::rows::{Constraint, Direction};

/// A segment that is less than a full one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    pub frame: u64,
    /// Offsets in its stream.
    pub start: i64,
    pub end: i64,
}

/// What a segment waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    pub direction: Direction,
    pub constraint: Constraint,
    /// The frame of the acknowledgment that released it.
    pub released_by: Option<u64>,
    /// Offsets of the segment in its stream.
    pub start: i64,
    pub end: i64,
    /// The latest short segment that was outstanding until then.
    pub behind: Option<Short>,
    /// The stream of HTTP/2 whose bytes it carried, if none were those of the message that waited.
    pub behind_stream: Option<u32>,
}
