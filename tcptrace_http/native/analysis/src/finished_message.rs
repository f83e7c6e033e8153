//! Message with its HTTP boundaries.

use trace_model::rows::Direction;

/// Message with its HTTP boundaries, complete or cut.
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
