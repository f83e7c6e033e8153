//! One segment that was asked for, by its frame: whether the capture has it, and its explanation.

use tcptrace_attribution::ExplainedSegment;
use trace_model::rows::NagleVariant;
use trace_model::Packet;

use crate::profile_row::nagle_word;

/// What the capture has of the frame that was asked for.
#[derive(Debug, Default)]
pub struct Asked {
    frame: Option<u64>,
    pub is_captured: bool,
    /// Payload of its segment, if it has one.
    pub payload_bytes: Option<u32>,
    /// Its flow, unless the packet was captured before.
    pub flow: Option<u32>,
    pub explained: Option<Explained>,
}

/// A segment that is explained, and its place in its transaction.
#[derive(Debug)]
pub struct Explained {
    pub transaction: u32,
    /// Where it starts in its message.
    pub offset: i64,
    pub segment: Box<ExplainedSegment>,
}

impl Explained {
    /// The variant of Nagle's algorithm that was left.
    #[must_use]
    pub fn nagle(&self) -> NagleVariant {
        nagle_word(self.segment.profile.nagle())
    }
}

impl Asked {
    #[must_use]
    pub fn new(frame: Option<u64>) -> Self {
        Asked {
            frame,
            ..Asked::default()
        }
    }

    /// Whether `frame` is asked for.
    #[inline]
    #[must_use]
    pub(crate) fn is(&self, frame: u64) -> bool {
        self.frame == Some(frame)
    }

    /// The packet of the frame passes.
    pub(crate) fn on_packet(&mut self, packet: &Packet<'_>) {
        self.is_captured = true;
        self.payload_bytes = packet.segment.as_ref().map(|it| it.payload_bytes);
    }
}
