//! Where a piece begins of what a server's application writes.

use trace_model::SeqNumber;

/// Where a piece begins, and when its first segment came, or would have if nothing had held it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BegunPiece {
    pub(super) start: SeqNumber,
    pub(super) came_ns: i64,
    pub(super) bytes: u32,
    /// By so much sooner it may have left, for it may have stood before the slowest link.
    pub(super) stood_ns: i64,
    /// It begins an answer, and left when an ACK came: it may have been written before.
    pub(super) may_be_held: bool,
}
