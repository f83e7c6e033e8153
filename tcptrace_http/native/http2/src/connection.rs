//! HTTP/2 connection: both directions of a flow, their frames and their streams.

use std::collections::BTreeMap;

use tcptrace_http_messages::{Direction, Message, Output, Transaction};
use trace_model::{AnomalyKind, Mark};

use crate::ended::EndedStreams;
use crate::facts::Facts;
use crate::frame::{Header, Kind};
use crate::reader::{Event, FrameStart, SkippedBytes};
use crate::side::{OpenBlock, Side, Sides};
use crate::stream::{Oldest, Stream};
use crate::window::Window;

/// Maximum number of open streams: servers allow hundreds (RFC 9113, section 6.5.2, recommends at least 100).
const STREAMS_MAX: usize = 4096;

/// Reader of one flow's frames.
#[derive(Debug)]
pub struct Connection {
    pub(crate) sides: Sides,
    /// Open streams, boxed: a map leaf has room for eleven, and most connections have one open stream.
    pub(crate) streams: BTreeMap<u32, Box<Stream>>,
    /// Highest stream number of the client and of the server.
    pub(crate) last_streams: [u32; 2],
    ended: EndedStreams,
    /// True if the start of the connection was captured.
    pub(crate) is_whole: bool,
    next_index: u64,
    stream_bytes: u64,
    pub(crate) facts: Facts,
    /// Urgency that the client sent for a stream before opening it (RFC 9218, section 7.1).
    pub(crate) urgency_ahead: Option<(u32, u8)>,
}

impl Connection {
    /// Create a connection whose preface starts at stream offset `client`; the server's frames start at
    /// `server`.
    #[must_use]
    pub fn beginning_at(client: u64, server: u64) -> Self {
        Connection::new((client, server), true)
    }

    /// Create a connection whose start is not in the capture; frames start at these offsets.
    #[must_use]
    pub fn joined_at(client: u64, server: u64) -> Self {
        Connection::new((client, server), false)
    }

    /// Create a connection upgraded from HTTP/1.1; `request` is the last request, which stream 1 answers.
    #[must_use]
    pub fn upgraded_at((client, server): (u64, u64), request: Option<Box<Message>>) -> Self {
        let mut this = Connection::new((client, server), true);
        this.facts.is_upgrade = true;
        this.last_streams = [1, 0];
        let mut first = this.new_stream(1);
        first.request.has_head = request.is_some();
        first.request.message = request;
        first.request.has_ended = true;
        this.insert(first);
        this
    }

    fn new((client, server): (u64, u64), is_whole: bool) -> Self {
        Connection {
            sides: Sides {
                client: Side::new(client, is_whole, is_whole),
                server: Side::new(server, false, is_whole),
            },
            streams: BTreeMap::new(),
            last_streams: [0; 2],
            ended: EndedStreams::default(),
            is_whole,
            next_index: 0,
            stream_bytes: 0,
            facts: Facts::default(),
            urgency_ahead: None,
        }
    }

    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Return the offset of a direction's next byte.
    #[must_use]
    pub fn next(&self, direction: Direction) -> u64 {
        self.sides.of(direction).reader.next
    }

    pub(crate) fn side(&mut self, direction: Direction) -> &mut Side {
        self.sides.of_mut(direction)
    }

    /// Take the next bytes of a direction, as [`Messages::data`](crate::Messages::data) does.
    pub fn data(
        &mut self,
        direction: Direction,
        offset: u64,
        bytes: &[u8],
        mark: Mark,
        out: &mut Output,
    ) {
        let next = self.next(direction);
        if offset > next {
            self.gap(direction, next, offset.saturating_sub(next), mark, out);
        }
        let next = self.next(direction);
        let known = usize::try_from(next.saturating_sub(offset)).unwrap_or(usize::MAX);
        let mut rest = bytes.get(known..).unwrap_or_default();
        while !rest.is_empty() {
            if self.side(direction).reader.is_searching() {
                rest = self.find(direction, rest);
                continue;
            }
            let (used, event) = self.side(direction).reader.advance(rest, mark);
            rest = rest.get(used..).unwrap_or_default();
            self.react(direction, event, mark, out);
        }
        // A frame ends with its last byte, with or without bytes behind it.
        if self.side(direction).reader.is_at_end_of_frame() {
            let (_, event) = self.side(direction).reader.advance(&[], mark);
            self.react(direction, event, mark, out);
        }
    }

    /// Return the bytes from the first frame that is found in a segment.
    fn find<'a>(&mut self, direction: Direction, bytes: &'a [u8]) -> &'a [u8] {
        let (streams, last) = (&self.streams, self.last_streams);
        let is_known = |header: &Header| is_known_stream(header, streams, last);
        let side = self.sides.of_mut(direction);
        let found = side.reader.find(bytes, is_known);
        let passed = found.unwrap_or(bytes.len());
        side.reader.next = side.reader.next.saturating_add(passed as u64);
        bytes.get(passed..).unwrap_or_default()
    }

    /// Take a gap: `length` bytes from `offset` on were never captured.
    pub fn gap(
        &mut self,
        direction: Direction,
        offset: u64,
        length: u64,
        mark: Mark,
        out: &mut Output,
    ) {
        let next = self.next(direction);
        let end = offset.saturating_add(length);
        let mut rest = end.saturating_sub(next);
        while rest > 0 {
            let (used, skipped) = self.side(direction).reader.skip(rest);
            rest = rest.saturating_sub(used);
            match skipped {
                SkippedBytes::Data(begun, bytes) => self.on_missing_data(direction, &begun, bytes),
                SkippedBytes::Finished(begun) => self.finished(direction, &begun, mark, out),
                SkippedBytes::Lost(bytes) => self.lose(direction, bytes, mark, out),
            }
        }
    }

    /// Take missing frames: header blocks and DATA may be among them.
    fn lose(&mut self, direction: Direction, bytes: u64, mark: Mark, out: &mut Output) {
        self.lose_track(direction);
        let side = self.side(direction);
        if !std::mem::replace(&mut side.was_reported, true) {
            let detail = format!("the capture lacks {bytes} bytes of frames: header fields that refer to them are unknown");
            out.notice(AnomalyKind::BrokenHpack, mark, detail);
        }
        for stream in self.streams.values_mut() {
            let half = stream.half(direction);
            if let Some(message) = half.message.as_mut().filter(|_| !half.has_ended) {
                message.missing_bytes = message.missing_bytes.saturating_add(bytes);
            }
        }
    }

    /// Report bytes that are no frame, and search for the next frame.
    pub(crate) fn report_no_frame(
        &mut self,
        direction: Direction,
        what: &str,
        mark: Mark,
        out: &mut Output,
    ) {
        self.lose_track(direction);
        let side = self.side(direction);
        side.reader.search();
        if !std::mem::replace(&mut side.was_reported, true) {
            out.notice(AnomalyKind::MalformedHttp2, mark, what);
        }
    }

    /// Mark the state of a direction as unknown from here on: header table, windows and messages.
    fn lose_track(&mut self, direction: Direction) {
        if direction == Direction::ClientToServer && !self.may_miss_streams() {
            self.ended.mark_known(self.last_streams);
        }
        let side = self.side(direction);
        side.hpack.lose();
        side.block = None;
        side.window.lose();
        let next = self.next(direction);
        for stream in self.streams.values_mut() {
            let half = stream.half(direction);
            half.end_at(next);
            half.window.lose();
            half.messages.lose();
            half.is_torn |= !half.has_ended;
        }
    }

    /// End a direction.
    pub fn end(&mut self, direction: Direction, out: &mut Output) {
        let side = self.side(direction);
        side.reader.end();
        side.has_ended = true;
        // A client may close its direction and wait for the rest.
        if self.sides.server.has_ended {
            self.emit_all(out);
        }
    }

    fn emit_all(&mut self, out: &mut Output) {
        while let Some((_, stream)) = self.streams.pop_first() {
            self.emit(*stream, out);
        }
        self.stream_bytes = 0;
    }

    fn react(&mut self, direction: Direction, event: Event<'_>, mark: Mark, out: &mut Output) {
        match event {
            Event::More => {}
            Event::Preface => self.facts.preface = Some(mark),
            Event::Begun(begun) => self.begun(direction, &begun, out),
            Event::Data(begun, bytes) => self.stream_data(direction, &begun, bytes, mark),
            Event::Finished(begun) => self.finished(direction, &begun, mark, out),
            Event::NoFrame(what) => self.report_no_frame(direction, what, mark, out),
        }
    }

    /// Take the header of a frame.
    fn begun(&mut self, direction: Direction, begun: &FrameStart, out: &mut Output) {
        let header = &begun.header;
        self.facts.frames.add(header.kind);
        let side = self.side(direction);
        if header.kind != Kind::Continuation && side.block.take().is_some() {
            // No frame may come between HEADERS and CONTINUATION (RFC 9113, section 4.3): the rest of the
            // block is lost.
            side.hpack.lose();
        }
        let stream = match header.kind {
            Kind::Data => return self.on_data_start(direction, begun, out),
            Kind::Headers => {
                self.open(direction, header.stream, out);
                header.stream
            }
            Kind::Continuation => match self.side(direction).block {
                Some(OpenBlock {
                    stream,
                    promised: None,
                    ..
                }) if stream == header.stream => stream,
                _ => return,
            },
            _ => return,
        };
        let behind = self.side(direction).follow(stream, begun);
        if let Some(stream) = self.streams.get_mut(&stream) {
            let half = stream.half(direction);
            let has_head = half.has_head;
            let message = half.begin(begun, behind);
            if !has_head {
                message.header_bytes = message.header_bytes.saturating_add(header.frame_bytes());
                message.head_end = message.end;
            }
        }
    }

    /// Open a stream that is not known yet, if it may begin.
    pub(crate) fn open(&mut self, direction: Direction, id: u32, out: &mut Output) {
        let last = match id % 2 {
            1 => &mut self.last_streams[0],
            _ => &mut self.last_streams[1],
        };
        let is_new = id > *last;
        *last = id.max(*last);
        let is_by_opener = (id % 2 == 1) == (direction == Direction::ClientToServer);
        let may_begin = is_new && is_by_opener || self.may_miss_streams() && !self.ended.has(id);
        if self.streams.contains_key(&id) || !may_begin {
            return;
        }
        if self.streams.len() >= STREAMS_MAX {
            if let Some((_, stream)) = self.streams.pop_first() {
                let detail =
                    "a connection has more than 4096 open streams: the oldest stream was ended";
                out.notice(AnomalyKind::LimitReached, Mark::default(), detail);
                self.emit(*stream, out);
            }
        }
        let stream = self.new_stream(id);
        self.insert(stream);
    }

    pub(crate) fn new_stream(&mut self, id: u32) -> Stream {
        let is_first = self.facts.streams == 0;
        self.facts.streams = self.facts.streams.saturating_add(1);
        let urgency = self.urgency_ahead.filter(|(ahead, _)| *ahead == id);
        let mut stream = Stream {
            id,
            is_first,
            urgency: urgency.map(|(_, urgency)| urgency),
            ..Stream::default()
        };
        stream.request.begun = self.sides.client.reader.next;
        stream.response.begun = self.sides.server.reader.next;
        stream.request.window = Window::of(self.sides.client.initial_window);
        stream.response.window = Window::of(self.sides.server.initial_window);
        stream
    }

    pub(crate) fn insert(&mut self, stream: Stream) {
        let id = stream.id;
        self.streams.insert(id, Box::new(stream));
        self.count(id);
    }

    /// Update the memory count of a stream.
    pub(crate) fn count(&mut self, id: u32) {
        if let Some(stream) = self.streams.get_mut(&id) {
            let bytes = stream.held_bytes();
            let before = std::mem::replace(&mut stream.counted_bytes, bytes);
            self.stream_bytes = self
                .stream_bytes
                .saturating_add(bytes)
                .saturating_sub(before);
        }
    }

    /// Emit a stream if it is complete.
    pub(crate) fn emit_if_complete(&mut self, id: u32, out: &mut Output) {
        self.count(id);
        if self.streams.get(&id).is_some_and(|it| it.is_over()) {
            if let Some(stream) = self.streams.remove(&id) {
                self.emit(*stream, out);
            }
        }
    }

    /// Return whether a stream may have begun without being seen.
    fn may_miss_streams(&self) -> bool {
        !self.is_whole || self.sides.client.window.limit().is_none()
    }

    fn emit(&mut self, stream: Stream, out: &mut Output) {
        if self.may_miss_streams() {
            self.ended.add(stream.id);
        }
        self.stream_bytes = self.stream_bytes.saturating_sub(stream.counted_bytes);
        // The transaction with the 101 already has the upgraded request, if no frame of the stream came.
        if self.facts.is_upgrade && stream.id == 1 && stream.has_no_frames() {
            return;
        }
        let mut stream = stream;
        stream.request.open(&self.sides.client.openings);
        stream.response.open(&self.sides.server.openings);
        let known = (self.sides.client.reader.next, self.sides.server.reader.next);
        let transaction: Option<Transaction> = stream.into_transaction(self.next_index, known);
        if let Some(transaction) = transaction {
            self.next_index = self.next_index.saturating_add(1);
            out.transactions.push(transaction);
        }
    }

    /// Return whether a direction is no longer read.
    #[must_use]
    pub fn is_opaque(&self, direction: Direction) -> bool {
        self.sides.of(direction).reader.is_over()
    }

    /// Return the start of the oldest open streams.
    #[must_use]
    pub fn oldest(&self) -> Oldest {
        let has_pushed = self.last_streams.get(1) != Some(&0);
        let mut streams = self.streams.values().map(|it| it.oldest());
        if has_pushed {
            streams.fold(Oldest::default(), Oldest::or_earlier)
        } else {
            // A client numbers its streams in ascending order.
            streams.next().unwrap_or_default()
        }
    }

    /// Return the stream of the frame with the byte at `offset` of a direction, if it is still in memory.
    #[must_use]
    pub fn stream_at(&self, direction: Direction, offset: u64) -> Option<u32> {
        self.sides.of(direction).stream_at(offset)
    }

    /// Return the number of open streams.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.streams.len()
    }

    /// Return the memory of open streams and header tables.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.stream_bytes
            .saturating_add(self.sides.client.held_bytes())
            .saturating_add(self.sides.server.held_bytes())
            .saturating_add(self.ended.held_bytes())
    }

    /// Emit the open streams and drop all data of both directions; later frames are still read.
    pub fn give_up_held(&mut self, out: &mut Output) {
        self.emit_all(out);
        for direction in [Direction::ClientToServer, Direction::ServerToClient] {
            self.lose_track(direction);
            self.side(direction).give_up();
        }
    }
}

/// Return whether a frame belongs to an open stream or to the next stream.
fn is_known_stream(header: &Header, streams: &BTreeMap<u32, Box<Stream>>, last: [u32; 2]) -> bool {
    /// Maximum number of streams that a client may have opened while bytes were missing.
    const AHEAD: u32 = 64;
    let id = header.stream;
    let [of_client, _] = last;
    let is_next = id % 2 == 1 && id > of_client && id <= of_client.saturating_add(AHEAD);
    streams.contains_key(&id) || is_next && header.kind == Kind::Headers
}
