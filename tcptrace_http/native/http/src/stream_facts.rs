//! What HTTP/2 tells of a transaction beyond its messages: its stream, and where that lies among the others.

use super::{Direction, Mark};

/// Pieces of a message that are told apart, and as many openings: beyond it what came of other streams in between counts
/// as its own.
const PIECES_MAX: usize = 1 << 14;

/// The stream of a transaction (RFC 9113, section 5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamFacts {
    pub id: u32,
    /// It began first of all of its connection.
    pub is_first: bool,
    /// The server promised it (PUSH_PROMISE).
    pub is_pushed: bool,
    /// RFC 9218, section 4.1.
    pub urgency: Option<u8>,
    pub has_trailers: bool,
    pub reset: Option<Reset>,
    pub grpc: Option<Grpc>,
    pub request: Frames,
    pub response: Frames,
}

impl StreamFacts {
    /// Memory that it takes.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let frames = self
            .request
            .held_bytes()
            .saturating_add(self.response.held_bytes());
        frames.saturating_add(size_of::<StreamFacts>() as u64)
    }
}

/// A stream was given up (RST_STREAM; RFC 9113, section 6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    pub by: Direction,
    pub code: u32,
    pub mark: Mark,
}

/// What gRPC tells by its message prefixes and trailers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grpc {
    pub status: Option<u16>,
    pub request_messages: u32,
    pub response_messages: u32,
}

/// The frames of a message among those of all streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// In their order; those that follow each other are one.
    pub pieces: Vec<Piece>,
    /// In the order of what waited.
    pub openings: Vec<Opening>,
}

/// Offsets in the stream of the direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub start: u64,
    /// Exclusive.
    pub end: u64,
    /// The stream whose frames came last before it; 0 if none did.
    pub behind: u32,
    /// Where these end.
    pub behind_end: u64,
}

/// A DATA frame that a flow-control window had not let go before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Offset of the frame.
    pub at: u64,
    /// Where the DATA ends that had used the window up.
    pub filled: u64,
    pub window: WindowKind,
    /// The packet with the WINDOW_UPDATE or SETTINGS that gave more.
    pub by: Mark,
}

/// RFC 9113, section 5.2.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowKind {
    Stream,
    Connection,
}

impl Frames {
    /// A frame of the message begins.
    pub fn add(&mut self, piece: Piece) {
        let is_full = self.pieces.len() >= PIECES_MAX;
        match self.pieces.last_mut() {
            Some(last) if last.end == piece.start || is_full => last.end = piece.end,
            _ => self.pieces.push(piece),
        }
    }

    /// A frame of the message, or of another stream meanwhile, had waited for a window.
    pub fn open(&mut self, opening: Opening) {
        if self.openings.len() < PIECES_MAX {
            self.openings.push(opening);
        }
    }

    /// All that is known of the message lies before `end`.
    pub fn end_at(&mut self, end: u64) {
        if let Some(last) = self.pieces.last_mut() {
            last.end = last.end.min(end).max(last.start);
        }
    }

    /// Bytes of the frames.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let bytes = self.pieces.iter().map(|it| it.end.saturating_sub(it.start));
        bytes.fold(0, u64::saturating_add)
    }

    /// Memory that it takes.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let pieces = self.pieces.capacity().saturating_mul(size_of::<Piece>());
        let openings = self.openings.capacity();
        pieces.saturating_add(openings.saturating_mul(size_of::<Opening>())) as u64
    }
}
