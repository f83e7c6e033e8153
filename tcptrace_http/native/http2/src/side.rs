//! Side of a connection: the reader, the header table and the DATA window of one direction.

use std::collections::VecDeque;

use tcptrace_http_messages::{Direction, Opening};

use crate::hpack;
use crate::reader::{FrameStart, Reader};
use crate::window::{Window, INITIAL_BYTES};

/// Maximum number of changes between streams in memory; a loss repair takes one round trip.
const TURNS_MAX: usize = 4096;

/// State of one direction, and the limits of its DATA.
#[derive(Debug)]
pub(crate) struct Side {
    pub(crate) reader: Reader,
    pub(crate) hpack: hpack::Decoder,
    /// Header block that is being collected.
    pub(crate) block: Option<OpenBlock>,
    /// Flow-control window of the connection.
    pub(crate) window: Window,
    /// Initial flow-control window of a new stream.
    pub(crate) initial_window: Option<i64>,
    /// Stream of the latest message frame; 0 for none.
    pub(crate) last_stream: u32,
    pub(crate) last_stream_end: u64,
    /// Offsets at which frames of another stream begin, with the stream.
    turns: VecDeque<(u64, u32)>,
    /// Latest DATA frames that the connection's window had held.
    pub(crate) openings: VecDeque<Opening>,
    /// End of the latest DATA frame.
    pub(crate) data_end: u64,
    pub(crate) has_ended: bool,
    pub(crate) was_reported: bool,
}

/// Both directions of a connection.
#[derive(Debug)]
pub(crate) struct Sides {
    pub(crate) client: Side,
    pub(crate) server: Side,
}

impl Sides {
    /// Return the side that sends in this direction.
    pub(crate) fn of(&self, direction: Direction) -> &Side {
        match direction {
            Direction::ClientToServer => &self.client,
            Direction::ServerToClient => &self.server,
        }
    }

    pub(crate) fn of_mut(&mut self, direction: Direction) -> &mut Side {
        match direction {
            Direction::ClientToServer => &mut self.client,
            Direction::ServerToClient => &mut self.server,
        }
    }
}

/// Header block that has begun.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenBlock {
    pub(crate) stream: u32,
    /// Promised stream of PUSH_PROMISE.
    pub(crate) promised: Option<u32>,
    pub(crate) ends_stream: bool,
    /// True if the excessive length was reported.
    pub(crate) is_reported: bool,
}

impl Side {
    pub(crate) fn new(start: u64, has_preface: bool, is_whole: bool) -> Self {
        let limit = is_whole.then_some(INITIAL_BYTES);
        Side {
            reader: Reader::new(start, has_preface),
            hpack: hpack::Decoder::new(is_whole),
            block: None,
            window: Window::of(limit),
            initial_window: limit,
            last_stream: 0,
            last_stream_end: start,
            turns: VecDeque::new(),
            openings: VecDeque::new(),
            data_end: start,
            has_ended: false,
            was_reported: false,
        }
    }

    /// Take the start of a stream's frame, and return the previous stream and the end of its frames.
    ///
    /// The previous stream is 0 if the stream continues.
    pub(crate) fn follow(&mut self, stream: u32, begun: &FrameStart) -> (u32, u64) {
        let before = std::mem::replace(&mut self.last_stream, stream);
        let end = begun.start.saturating_add(begun.header.frame_bytes());
        let before_end = std::mem::replace(&mut self.last_stream_end, end);
        if before == stream {
            return (0, before_end);
        }
        if self.turns.len() >= TURNS_MAX {
            self.turns.pop_front();
        }
        self.turns.push_back((begun.start, stream));
        (before, before_end)
    }

    /// Return the stream of the last frame that begins at or before `offset`.
    pub(crate) fn stream_at(&self, offset: u64) -> Option<u32> {
        let behind = self.turns.partition_point(|(start, _)| *start <= offset);
        let turn = self.turns.get(behind.checked_sub(1)?)?;
        Some(turn.1)
    }

    /// Drop the unfinished frame or header block, and the positions of past frames.
    pub(crate) fn give_up(&mut self) {
        if self.reader.has_payload() {
            self.reader.search();
        }
        self.turns = VecDeque::new();
        self.openings = VecDeque::new();
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        let turns = self
            .turns
            .capacity()
            .saturating_mul(size_of::<(u64, u32)>());
        let openings = self
            .openings
            .capacity()
            .saturating_mul(size_of::<Opening>());
        (turns.saturating_add(openings) as u64)
            .saturating_add(self.hpack.held_bytes())
            .saturating_add(self.reader.held_bytes())
            .saturating_add(self.window.held_bytes())
    }
}
