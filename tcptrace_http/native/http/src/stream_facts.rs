//! HTTP/2 facts of a transaction beyond its messages: its stream, and the stream's frames among those of
//! other streams.

use super::{Direction, Mark};

/// Maximum number of pieces per message, and of openings. Beyond the limit, frames of other streams count as
/// the message's own.
const PIECES_MAX: usize = 1 << 14;

/// The stream of a transaction (RFC 9113, section 5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamFacts {
    pub id: u32,
    /// True for the first stream of the connection.
    pub is_first: bool,
    /// True if the server promised the stream (PUSH_PROMISE).
    pub is_pushed: bool,
    /// Urgency (RFC 9218, section 4.1).
    pub urgency: Option<u8>,
    pub has_trailers: bool,
    pub reset: Option<Reset>,
    pub grpc: Option<Grpc>,
    pub request: Frames,
    pub response: Frames,
}

impl StreamFacts {
    /// Return the memory of the facts.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let frames = self
            .request
            .held_bytes()
            .saturating_add(self.response.held_bytes());
        frames.saturating_add(size_of::<StreamFacts>() as u64)
    }
}

/// The reset of a stream (RST_STREAM; RFC 9113, section 6.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reset {
    pub by: Direction,
    pub code: u32,
    pub mark: Mark,
}

/// The gRPC facts from message prefixes and trailers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Grpc {
    pub status: Option<u16>,
    pub request_messages: u32,
    pub response_messages: u32,
}

/// The positions of a message's frames among the frames of all streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frames {
    /// The pieces in order. Adjacent frames form one piece.
    pub pieces: Vec<Piece>,
    /// The openings, in the order of the waiting frames.
    pub openings: Vec<Opening>,
}

/// A contiguous range of frames. Offsets count in the direction's stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    pub start: u64,
    /// Exclusive end.
    pub end: u64,
    /// The stream of the preceding frames, or 0 if none precede.
    pub behind: u32,
    /// End offset of the preceding frames.
    pub behind_end: u64,
}

/// A DATA frame that was released by a flow-control window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Offset of the frame.
    pub at: u64,
    /// End offset of the DATA that had exhausted the window.
    pub filled: u64,
    pub window: WindowKind,
    /// The packet with the WINDOW_UPDATE or SETTINGS that enlarged the window.
    pub by: Mark,
}

/// The kind of a flow-control window (RFC 9113, section 5.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowKind {
    Stream,
    Connection,
}

impl Frames {
    /// Add a frame of the message.
    pub fn add(&mut self, piece: Piece) {
        let is_full = self.pieces.len() >= PIECES_MAX;
        match self.pieces.last_mut() {
            Some(last) if last.end == piece.start || is_full => last.end = piece.end,
            _ => self.pieces.push(piece),
        }
    }

    /// Add an opening: a frame of the message, or of another stream in between, waited for a window.
    pub fn open(&mut self, opening: Opening) {
        if self.openings.len() < PIECES_MAX {
            self.openings.push(opening);
        }
    }

    /// Limit the known part of the message to offsets before `end`.
    pub fn end_at(&mut self, end: u64) {
        if let Some(last) = self.pieces.last_mut() {
            last.end = last.end.min(end).max(last.start);
        }
    }

    /// Return the total length of the frames.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let bytes = self.pieces.iter().map(|it| it.end.saturating_sub(it.start));
        bytes.fold(0, u64::saturating_add)
    }

    /// Return the memory of the frames.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let pieces = self.pieces.capacity().saturating_mul(size_of::<Piece>());
        let openings = self.openings.capacity();
        pieces.saturating_add(openings.saturating_mul(size_of::<Opening>())) as u64
    }
}
