//! Payload of a segment that arrived at a closed window, kept until an ACK shows that the receiver accepted
//! it.

use trace_model::Mark;

use crate::reassembly::Piece;

/// Memory of a kept payload besides its bytes.
const OVERHEAD_BYTES: u64 = 96;

/// Payload of a segment that arrived while the receive window was closed.
#[derive(Debug)]
pub struct IntoClosedWindow {
    pub offset: i64,
    length: u32,
    bytes: Box<[u8]>,
    mark: Mark,
    peer_acked: Option<u64>,
    /// True if an ACK did not cover the payload: a retransmission may replace it.
    pub is_refused: bool,
}

impl IntoClosedWindow {
    /// Keep a piece.
    #[must_use]
    pub fn of(piece: Piece<'_>) -> Self {
        IntoClosedWindow {
            offset: piece.offset,
            length: piece.length,
            bytes: piece.bytes.into(),
            mark: piece.mark,
            peer_acked: piece.peer_acked,
            is_refused: false,
        }
    }

    /// Return the kept piece.
    #[must_use]
    pub fn piece(&self) -> Piece<'_> {
        Piece {
            offset: self.offset,
            length: self.length,
            bytes: &self.bytes,
            mark: self.mark,
            peer_acked: self.peer_acked,
        }
    }

    /// Return its memory.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        OVERHEAD_BYTES.saturating_add(self.bytes.len() as u64)
    }
}
