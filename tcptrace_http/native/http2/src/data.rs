//! Effect of DATA on a connection: it uses both flow-control windows.

use tcptrace_http_messages::{Direction, Opening, Output, WindowKind};
use trace_model::rows::{H2WindowEvent, H2WindowRow};
use trace_model::Mark;

use crate::connection::Connection;
use crate::reader::FrameStart;

/// Maximum number of connection window openings that are kept for streams.
const OPENINGS_MAX: usize = 4096;

impl Connection {
    /// Take missing bytes of a DATA frame.
    pub(crate) fn on_missing_data(&mut self, direction: Direction, begun: &FrameStart, bytes: u64) {
        if let Some(stream) = self.streams.get_mut(&begun.header.stream) {
            let half = stream.half(direction);
            half.messages.lose();
            if let Some(message) = &mut half.message {
                message.missing_bytes = message.missing_bytes.saturating_add(bytes);
                message.body.bytes = message.body.bytes.saturating_add(bytes);
            }
        }
    }

    /// Take the start of a DATA frame, which uses both windows.
    pub(crate) fn on_data_start(
        &mut self,
        direction: Direction,
        begun: &FrameStart,
        out: &mut Output,
    ) {
        let (length, id) = (begun.header.length, begun.header.stream);
        if !self.is_whole {
            self.open(direction, id, out);
        }
        let facts = self.facts.of(direction.reverse());
        let side = self.sides.of_mut(direction);
        facts.connection_window = facts.connection_window.or(side.window.limit());
        let end = begun.start.saturating_add(begun.header.frame_bytes());
        let filled = std::mem::replace(&mut side.data_end, end);
        let opened = side.window.take(length);
        let connection_window = side.window.left();
        if let Some(by) = opened {
            if side.openings.len() >= OPENINGS_MAX {
                side.openings.pop_front();
            }
            side.openings.push_back(Opening {
                at: begun.start,
                filled,
                window: WindowKind::Connection,
                by,
            });
        }
        let mut stream_window = None;
        let behind = self.side(direction).follow(id, begun);
        if let Some(stream) = self.streams.get_mut(&id) {
            let half = stream.half(direction);
            let own = half.message.as_ref().map_or(begun.start, |it| it.end);
            half.begin(begun, behind)
                .body
                .first
                .get_or_insert(begun.first);
            if let Some(by) = half.window.take(length) {
                let window = WindowKind::Stream;
                half.frames.open(Opening {
                    at: begun.start,
                    filled: own,
                    window,
                    by,
                });
            }
            stream_window = half.window.left();
        }
        if let Some(rows) = &mut out.windows {
            rows.push(H2WindowRow {
                flow: 0,
                direction,
                stream: id,
                frame: begun.first.frame,
                time: begun.first.time_ns,
                event: H2WindowEvent::Data,
                bytes: i64::from(length).saturating_neg(),
                stream_window,
                connection_window,
            });
        }
    }

    pub(crate) fn stream_data(
        &mut self,
        direction: Direction,
        begun: &FrameStart,
        bytes: &[u8],
        mark: Mark,
    ) {
        let Some(stream) = self.streams.get_mut(&begun.header.stream) else {
            return;
        };
        let is_grpc = stream.is_grpc;
        let half = stream.half(direction);
        if is_grpc {
            half.messages.data(bytes);
        }
        if let Some(message) = &mut half.message {
            message.body.bytes = message.body.bytes.saturating_add(bytes.len() as u64);
            message.last = message.last.later(mark);
        }
    }
}
