//! HTTP/2 stream facts for the attribution: the positions of its frames, and the history that other streams
//! need.

use tcptrace_attribution::{Frames, Moment, Opening, Piece, StreamFrames};
use tcptrace_http2::Oldest;
use tcptrace_http_messages::{Frames as Read, StreamFacts, WindowKind};

use super::carried::Reader;
use super::messages::half_offset;
use super::Flow;

impl Flow {
    /// Return the frames of a stream that is explained now.
    pub(super) fn of_stream(&self, stream: StreamFacts) -> StreamFrames {
        let reader = self.carried.reader.as_ref();
        let open = reader.map_or_else(Oldest::default, Reader::oldest);
        let waiting = || self.unacknowledged.iter();
        let starts = waiting().filter_map(|it| it.row.request_time.or(it.row.response_first_time));
        let requests = waiting().filter_map(|it| it.request).map(|it| it.start);
        let responses = waiting().filter_map(|it| it.response).map(|it| it.start);
        StreamFrames {
            request: frames(&stream.request),
            response: frames(&stream.response),
            kept_ns: starts.chain(open.time_ns).min().unwrap_or(i64::MAX),
            kept: [
                requests.chain(open.client.map(half_offset)).min(),
                responses.chain(open.server.map(half_offset)).min(),
            ],
        }
    }
}

fn frames(read: &Read) -> Frames {
    let pieces = read.pieces.iter().map(|it| Piece {
        start: half_offset(it.start),
        end: half_offset(it.end),
        behind: (it.behind > 0).then_some(it.behind),
        behind_end: half_offset(it.behind_end),
    });
    let openings = read.openings.iter().map(|it| Opening {
        at: half_offset(it.at),
        filled: half_offset(it.filled),
        is_of_stream: it.window == WindowKind::Stream,
        by: Moment {
            time_ns: it.by.time_ns,
            frame: it.by.frame,
        },
    });
    Frames {
        pieces: pieces.collect(),
        openings: openings.collect(),
    }
}
