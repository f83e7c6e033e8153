//! A message that HTTP framed.

use trace_model::rows::Direction;

/// A message that HTTP framed to its end, or as far as it came.
#[derive(Clone, Copy, Debug)]
pub struct FinishedMessage {
    pub flow: u32,
    pub transaction: u32,
    pub direction: Direction,
    /// Stream offsets.
    pub start: u64,
    pub end: u64,
    pub head_bytes: u64,
}
