//! Connection state changes at the end of a frame.

use tcptrace_http_messages::{Direction, Interim, Output, Reset};
use trace_model::rows::{H2WindowEvent, H2WindowRow};
use trace_model::{AnomalyKind, Mark};

use crate::connection::Connection;
use crate::facts::Goaway;
use crate::fields::{urgency, Block};
use crate::frame::{flags, Kind, FRAME_BYTES, FRAME_BYTES_LIMIT};
use crate::reader::FrameStart;
use crate::side::OpenBlock;

/// Identifiers of settings (RFC 9113, section 6.5.2).
const HEADER_TABLE_SIZE: u16 = 1;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;

/// Anomaly of a header block that exceeds the limit.
const LONG_BLOCK: &str = "a header block is longer than 256 KiB";

impl Connection {
    pub(crate) fn finished(
        &mut self,
        direction: Direction,
        begun: &FrameStart,
        mark: Mark,
        out: &mut Output,
    ) {
        let header = &begun.header;
        match header.kind {
            Kind::Data => {
                if header.has(flags::END_STREAM) {
                    self.end_stream(direction, header.stream, mark, out);
                } else {
                    self.count(header.stream);
                }
            }
            Kind::Headers | Kind::PushPromise | Kind::Continuation => {
                if let Some(stream) = self.streams.get_mut(&header.stream) {
                    stream.touch(direction, mark);
                }
                self.block_part(direction, begun, mark, out);
            }
            Kind::RstStream => self.reset(direction, header.stream, mark, out),
            Kind::Settings => self.settings(direction, begun, mark, out),
            Kind::WindowUpdate => self.window_update(direction, begun, mark, out),
            Kind::Goaway => self.goaway(direction, mark),
            Kind::PriorityUpdate => self.priority_update(direction),
            Kind::Priority | Kind::Ping | Kind::Other => {}
        }
    }

    /// Take a complete HEADERS, PUSH_PROMISE or CONTINUATION frame, which may complete the header block.
    fn block_part(
        &mut self,
        direction: Direction,
        begun: &FrameStart,
        mark: Mark,
        out: &mut Output,
    ) {
        let header = begun.header;
        let side = self.side(direction);
        if header.kind != Kind::Continuation {
            let Some((fields, promised)) = block_of(&side.reader.payload, begun) else {
                return self.report_no_frame(
                    direction,
                    "a header block is shorter than its padding",
                    mark,
                    out,
                );
            };
            let end = fields.end;
            side.reader.payload.truncate(end);
            side.reader.payload.drain(..fields.start);
            side.block = Some(OpenBlock {
                stream: header.stream,
                promised,
                ends_stream: header.kind == Kind::Headers && header.has(flags::END_STREAM),
                is_reported: false,
            });
        }
        if !header.has(flags::END_HEADERS) {
            // A header block may continue without end (CVE-2024-27316).
            let is_cut = side.reader.is_cut;
            if let Some(block) = side.block.as_mut().filter(|it| is_cut && !it.is_reported) {
                block.is_reported = true;
                out.notice(AnomalyKind::MalformedHttp2, mark, LONG_BLOCK);
            }
            return;
        }
        let Some(block) = side.block.take().filter(|it| it.stream == header.stream) else {
            return;
        };
        self.take_block(direction, block, mark, out);
    }

    fn take_block(&mut self, direction: Direction, open: OpenBlock, mark: Mark, out: &mut Output) {
        let side = self.side(direction);
        let mut block = Block::default();
        let payload = std::mem::take(&mut side.reader.payload);
        let decoded = if side.reader.is_cut {
            Err(LONG_BLOCK.to_owned())
        } else {
            let decoded = side
                .hpack
                .decode(&payload, &mut |name, value| block.see(name, value));
            decoded.map_err(|error| error.to_string())
        };
        side.reader.payload = payload;
        side.reader.clear_payload();
        let unknown = match decoded {
            Ok(unknown) => unknown,
            Err(what) => {
                side.hpack.lose();
                if !open.is_reported {
                    out.notice(AnomalyKind::MalformedHttp2, mark, what);
                }
                1
            }
        };
        self.facts.unknown_fields = self.facts.unknown_fields.saturating_add(unknown as u64);
        match open.promised {
            Some(promised) => self.promise(promised, block, unknown > 0, mark, out),
            None => self.head(direction, open, block, unknown > 0, mark),
        }
        if open.ends_stream {
            self.end_stream(direction, open.stream, mark, out);
        } else {
            self.count(open.stream);
        }
    }

    /// Take the header block of a message, an interim response or trailers.
    fn head(
        &mut self,
        direction: Direction,
        open: OpenBlock,
        block: Block,
        is_unknown: bool,
        mark: Mark,
    ) {
        let Some(stream) = self.streams.get_mut(&open.stream) else {
            return;
        };
        let is_request = direction == Direction::ClientToServer;
        if is_request {
            stream.is_grpc |= block.is_grpc;
            stream.urgency = stream.urgency.or(block.urgency);
        } else {
            stream.grpc_status = block.grpc_status.or(stream.grpc_status);
            stream.is_grpc |= block.is_grpc;
        }
        let is_interim = block
            .status
            .is_some_and(|status| (100..=199).contains(&status));
        let half = stream.half(direction);
        let has_head = std::mem::replace(&mut half.has_head, !is_interim);
        let Some(message) = half.message.as_mut() else {
            return;
        };
        message.head_last = message.head_last.later(mark);
        if is_interim {
            let interim = Interim {
                count: 0,
                status: block.status.unwrap_or_default(),
                first: message.first,
                start: message.start,
            };
            half.message = None;
            half.frames = tcptrace_http_messages::Frames::default();
            half.has_head = has_head;
            let interim = stream.interim.get_or_insert(interim);
            interim.count = interim.count.saturating_add(1);
        } else if has_head {
            stream.has_trailers |= !is_request;
        } else {
            block.into_message(message, is_request, is_unknown);
        }
    }

    /// Take PUSH_PROMISE: it opens a stream without a request and contains the promised request.
    fn promise(&mut self, id: u32, block: Block, is_unknown: bool, mark: Mark, out: &mut Output) {
        let client_next = self.sides.client.reader.next;
        self.open(Direction::ServerToClient, id, out);
        if let Some(stream) = self.streams.get_mut(&id) {
            let mut message = tcptrace_http_messages::Message::of_frames(client_next, mark);
            block.into_message(&mut message, true, is_unknown);
            stream.is_pushed = true;
            stream.request.message = Some(message);
            stream.request.has_head = true;
            stream.request.has_ended = true;
        }
    }

    fn end_stream(&mut self, direction: Direction, id: u32, mark: Mark, out: &mut Output) {
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.touch(direction, mark);
            stream.half(direction).has_ended = true;
        }
        self.emit_if_complete(id, out);
    }

    fn reset(&mut self, direction: Direction, id: u32, mark: Mark, out: &mut Output) {
        let code = number(&self.side(direction).reader.payload);
        if let Some(stream) = self.streams.get_mut(&id) {
            stream.reset = Some(Reset {
                by: direction,
                code,
                mark,
            });
        }
        self.emit_if_complete(id, out);
    }

    fn goaway(&mut self, direction: Direction, mark: Mark) {
        let payload = &self.side(direction).reader.payload;
        let goaway = Goaway {
            by: direction,
            mark,
            last_stream: number(payload) & 0x7fff_ffff,
            code: number(payload.get(4..).unwrap_or_default()),
        };
        self.facts.goaway.get_or_insert(goaway);
    }

    fn priority_update(&mut self, direction: Direction) {
        let payload = &self.side(direction).reader.payload;
        let id = number(payload) & 0x7fff_ffff;
        let urgency = urgency(payload.get(4..).unwrap_or_default());
        match (self.streams.get_mut(&id), urgency) {
            (Some(stream), _) => stream.urgency = urgency,
            (None, Some(urgency)) => self.urgency_ahead = Some((id, urgency)),
            (None, None) => {}
        }
    }

    /// Take SETTINGS of the sender of `direction`, which limit its peer.
    fn settings(&mut self, direction: Direction, begun: &FrameStart, mark: Mark, out: &mut Output) {
        let bounded = direction.reverse();
        if begun.header.has(flags::ACK) {
            self.facts.of(bounded).settings_acked.get_or_insert(mark);
            return;
        }
        self.facts.of(direction).settings.get_or_insert(mark);
        let payload = std::mem::take(&mut self.side(direction).reader.payload);
        let mut initial_window = None;
        for setting in payload.chunks_exact(6) {
            let [i0, i1, v0, v1, v2, v3] = *setting else {
                continue;
            };
            let value = u32::from_be_bytes([v0, v1, v2, v3]);
            match u16::from_be_bytes([i0, i1]) {
                HEADER_TABLE_SIZE => self.side(bounded).hpack.set_max_size(value),
                MAX_CONCURRENT_STREAMS => {
                    self.facts.of(direction).max_concurrent_streams = Some(value);
                }
                INITIAL_WINDOW_SIZE => {
                    self.facts.of(direction).initial_window = Some(value);
                    // Repeated values in one frame update the streams only once.
                    initial_window = Some(value);
                }
                MAX_FRAME_SIZE => {
                    self.facts.of(direction).max_frame = Some(value);
                    let bytes = value.clamp(FRAME_BYTES, FRAME_BYTES_LIMIT);
                    self.side(bounded).reader.frame_bytes_max = bytes;
                }
                _ => {}
            }
        }
        if let Some(value) = initial_window {
            self.initial_window(bounded, value, mark, out);
        }
        self.side(direction).reader.payload = payload;
    }

    /// Change the windows of all streams (RFC 9113, section 6.9.2).
    fn initial_window(&mut self, direction: Direction, value: u32, mark: Mark, out: &mut Output) {
        let side = self.side(direction);
        let before = side.initial_window.replace(i64::from(value));
        let connection_window = side.window.left();
        let change = before.map(|before| i64::from(value).saturating_sub(before));
        for stream in self.streams.values_mut() {
            stream
                .half(direction)
                .window
                .give(change.unwrap_or(0), mark);
        }
        if let (Some(rows), Some(bytes)) = (&mut out.windows, change) {
            rows.push(H2WindowRow {
                flow: 0,
                direction,
                stream: 0,
                frame: mark.frame,
                time: mark.time_ns,
                event: H2WindowEvent::Settings,
                bytes,
                stream_window: Some(i64::from(value)),
                connection_window,
            });
        }
    }

    fn window_update(
        &mut self,
        direction: Direction,
        begun: &FrameStart,
        mark: Mark,
        out: &mut Output,
    ) {
        let given = i64::from(number(&self.side(direction).reader.payload) & 0x7fff_ffff);
        let (bounded, id) = (direction.reverse(), begun.header.stream);
        let mut stream_window = None;
        if id == 0 {
            self.side(bounded).window.give(given, mark);
        } else if let Some(stream) = self.streams.get_mut(&id) {
            let window = &mut stream.half(bounded).window;
            window.give(given, mark);
            stream_window = window.left();
        }
        let connection_window = self.side(bounded).window.left();
        if let Some(rows) = &mut out.windows {
            rows.push(H2WindowRow {
                flow: 0,
                direction: bounded,
                stream: id,
                frame: mark.frame,
                time: mark.time_ns,
                event: H2WindowEvent::WindowUpdate,
                bytes: given,
                stream_window,
                connection_window,
            });
        }
    }
}

/// Return the range of the header block in HEADERS or PUSH_PROMISE, and the promised stream.
///
/// RFC 9113, sections 6.2 and 6.6, define the payload.
fn block_of(payload: &[u8], begun: &FrameStart) -> Option<(std::ops::Range<usize>, Option<u32>)> {
    let header = &begun.header;
    let (mut start, mut padding) = (0_usize, 0_usize);
    if header.has(flags::PADDED) {
        padding = usize::from(*payload.first()?);
        start = 1;
    }
    let mut promised = None;
    if header.kind == Kind::PushPromise {
        promised = Some(number(payload.get(start..)?) & 0x7fff_ffff);
        start = start.checked_add(4)?;
    } else if header.has(flags::PRIORITY) {
        start = start.checked_add(5)?;
    }
    let end = payload.len().checked_sub(padding)?;
    (start <= end).then_some((start..end, promised))
}

/// Return the first four bytes as a number; 0 if there are fewer.
fn number(payload: &[u8]) -> u32 {
    match payload {
        [a, b, c, d, ..] => u32::from_be_bytes([*a, *b, *c, *d]),
        _ => 0,
    }
}
