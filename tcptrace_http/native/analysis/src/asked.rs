//! Requested segment: whether the capture has its frame, and its explanation.

use tcptrace_attribution::ExplainedSegment;
use trace_model::rows::NagleVariant;
use trace_model::Packet;

use crate::profile_row::nagle_word;

/// Requested frame in the capture.
#[derive(Debug, Default)]
pub struct RequestedFrame {
    frame: Option<u64>,
    pub is_captured: bool,
    /// Payload bytes of its segment, if it has a segment.
    pub payload_bytes: Option<u32>,
    /// Flow of the frame; none for a copy of an earlier packet.
    pub flow: Option<u32>,
    pub explained: Option<ExplainedRequest>,
}

/// Explained segment and its position in its transaction.
#[derive(Debug)]
pub struct ExplainedRequest {
    pub transaction: u32,
    /// Offset of the segment in its message.
    pub offset: i64,
    pub segment: Box<ExplainedSegment>,
}

impl ExplainedRequest {
    /// Return the remaining variant of Nagle's algorithm.
    #[must_use]
    pub fn nagle(&self) -> NagleVariant {
        nagle_word(self.segment.profile.nagle())
    }
}

impl RequestedFrame {
    #[must_use]
    pub fn new(frame: Option<u64>) -> Self {
        RequestedFrame {
            frame,
            ..RequestedFrame::default()
        }
    }

    /// Return whether `frame` is the requested frame.
    #[inline]
    #[must_use]
    pub(crate) fn is(&self, frame: u64) -> bool {
        self.frame == Some(frame)
    }

    /// Take the packet of the requested frame.
    pub(crate) fn on_packet(&mut self, packet: &Packet<'_>) {
        self.is_captured = true;
        self.payload_bytes = packet.segment.as_ref().map(|it| it.payload_bytes);
    }
}
