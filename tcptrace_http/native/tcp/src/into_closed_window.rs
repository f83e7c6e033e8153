//! A segment's payload that is put by until its receiver is known to have taken it.

use trace_model::Mark;

use crate::reassembly::Piece;

/// What a box of it costs besides its bytes.
const OVERHEAD_BYTES: u64 = 96;

/// A segment's payload that came while its receiver had no room.
#[derive(Debug)]
pub struct IntoClosedWindow {
    pub offset: i64,
    length: u32,
    bytes: Box<[u8]>,
    mark: Mark,
    peer_acked: Option<u64>,
    /// An ACK that did not cover it said so: a copy may come in its place.
    pub is_refused: bool,
}

impl IntoClosedWindow {
    /// Puts a piece by.
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

    /// The piece that was put by.
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

    /// Memory that it takes.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        OVERHEAD_BYTES.saturating_add(self.bytes.len() as u64)
    }
}
