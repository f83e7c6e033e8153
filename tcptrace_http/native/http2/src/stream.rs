//! Open stream (RFC 9113, section 5.1).

use std::collections::VecDeque;

use tcptrace_http_messages::{
    Direction, Frames, Grpc, Interim, Message, Opening, Piece, Reset, StreamFacts, Transaction,
};
use trace_model::Mark;

use crate::grpc::Prefixes;
use crate::reader::FrameStart;
use crate::window::Window;

/// Direction of a stream.
#[derive(Debug, Default)]
pub(crate) struct Half {
    /// Offset of the direction at the start of the stream.
    pub(crate) begun: u64,
    pub(crate) message: Option<Box<Message>>,
    pub(crate) has_head: bool,
    pub(crate) frames: Frames,
    /// Flow-control window of the half's DATA.
    pub(crate) window: Window,
    pub(crate) has_ended: bool,
    /// True if frames may be missing.
    pub(crate) is_torn: bool,
    pub(crate) messages: Prefixes,
}

impl Half {
    /// Take the start of a frame behind a frame of stream `behind`.
    pub(crate) fn begin(
        &mut self,
        begun: &FrameStart,
        (behind, behind_end): (u32, u64),
    ) -> &mut Message {
        let end = begun.start.saturating_add(begun.header.frame_bytes());
        let is_first = self.frames.pieces.is_empty();
        self.frames.add(Piece {
            start: begun.start,
            end,
            behind,
            behind_end,
        });
        let message = self
            .message
            .get_or_insert_with(|| Message::of_frames(begun.start, begun.first));
        if is_first {
            // A promised or upgraded request has no bytes before this frame.
            message.start = begun.start;
            message.head_end = begun.start;
        }
        message.end = end;
        message.last = message.last.later(begun.first);
        message
    }

    /// Take the connection window openings of DATA from the start of the half to the end of its message.
    pub(crate) fn open(&mut self, openings: &VecDeque<Opening>) {
        let end = self.message.as_ref().map_or(0, |it| it.end);
        let first = openings.partition_point(|it| it.at < self.begun);
        let own = openings.iter().skip(first).take_while(|it| it.at < end);
        self.frames.openings.extend(own);
        self.frames.openings.sort_by_key(|it| it.at);
    }

    /// Cut the message at `next`: the rest of a frame that has begun is unknown.
    pub(crate) fn end_at(&mut self, next: u64) {
        self.frames.end_at(next);
        if let Some(message) = &mut self.message {
            message.end = message.end.min(next.max(message.start));
            message.head_end = message.head_end.min(message.end);
        }
    }

    /// Return the message so far; its direction is known up to `next`.
    fn finish(&mut self, next: u64) -> (Option<Box<Message>>, Frames) {
        self.end_at(next);
        let frames = std::mem::take(&mut self.frames);
        let mut message = self.message.take();
        if let Some(message) = &mut message {
            // A client may close a stream after all announced data (RFC 9113, section 8.1.1).
            let is_announced = message.body.content_length == Some(message.body.bytes);
            message.complete = is_announced || self.has_ended && !self.is_torn;
            message.body.wire_bytes = frames.bytes().saturating_sub(message.header_bytes);
        }
        (message, frames)
    }

    fn held_bytes(&self) -> u64 {
        let message = self.message.as_ref().map_or(0, |it| it.held_bytes());
        message
            .saturating_add(self.frames.held_bytes())
            .saturating_add(self.window.held_bytes())
    }
}

/// Start of the oldest open streams in both directions, as offsets and time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oldest {
    pub client: Option<u64>,
    pub server: Option<u64>,
    pub time_ns: Option<i64>,
}

impl Oldest {
    pub(crate) fn or_earlier(self, other: Oldest) -> Oldest {
        fn earlier<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
            [a, b].into_iter().flatten().min()
        }
        Oldest {
            client: earlier(self.client, other.client),
            server: earlier(self.server, other.server),
            time_ns: earlier(self.time_ns, other.time_ns),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) id: u32,
    pub(crate) request: Half,
    pub(crate) response: Half,
    pub(crate) interim: Option<Interim>,
    pub(crate) is_first: bool,
    pub(crate) is_pushed: bool,
    pub(crate) urgency: Option<u8>,
    pub(crate) has_trailers: bool,
    pub(crate) is_grpc: bool,
    pub(crate) grpc_status: Option<u16>,
    pub(crate) reset: Option<Reset>,
    /// Memory of the stream at the last count.
    pub(crate) counted_bytes: u64,
}

impl Stream {
    pub(crate) fn half(&mut self, direction: Direction) -> &mut Half {
        match direction {
            Direction::ClientToServer => &mut self.request,
            Direction::ServerToClient => &mut self.response,
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.reset.is_some() || self.request.has_ended && self.response.has_ended
    }

    pub(crate) fn has_no_frames(&self) -> bool {
        let halves = [&self.request, &self.response];
        halves.iter().all(|half| half.frames.pieces.is_empty())
    }

    pub(crate) fn held_bytes(&self) -> u64 {
        self.request
            .held_bytes()
            .saturating_add(self.response.held_bytes())
            .saturating_add(size_of::<Stream>() as u64)
    }

    /// Return the start offsets of the messages, and the time of the first message.
    pub(crate) fn oldest(&self) -> Oldest {
        let (request, response) = (&self.request.message, &self.response.message);
        Oldest {
            client: Some(self.request.begun),
            server: Some(self.response.begun),
            time_ns: request
                .as_ref()
                .or(response.as_ref())
                .map(|it| it.first.time_ns),
        }
    }

    /// Return the transaction of the stream; `None` without a message.
    ///
    /// The directions are known up to the offsets `client` and `server`.
    pub(crate) fn into_transaction(
        mut self,
        index: u64,
        (client, server): (u64, u64),
    ) -> Option<Transaction> {
        let grpc = self.is_grpc.then_some(Grpc {
            status: self.grpc_status,
            request_messages: self.request.messages.messages,
            response_messages: self.response.messages.messages,
        });
        let (request, request_frames) = self.request.finish(client);
        let (response, response_frames) = self.response.finish(server);
        if request.is_none() && response.is_none() {
            return None;
        }
        Some(Transaction {
            index,
            request,
            response,
            interim: self.interim,
            pipelined: false,
            paired_after_loss: false,
            opaque: None,
            stream: Some(Box::new(StreamFacts {
                id: self.id,
                is_first: self.is_first,
                is_pushed: self.is_pushed,
                urgency: self.urgency,
                has_trailers: self.has_trailers,
                reset: self.reset,
                grpc,
                request: request_frames,
                response: response_frames,
            })),
        })
    }

    /// Record that a byte of the message came in `mark`.
    pub(crate) fn touch(&mut self, direction: Direction, mark: Mark) {
        if let Some(message) = &mut self.half(direction).message {
            message.last = message.last.later(mark);
        }
    }
}
