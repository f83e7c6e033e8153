//! How messages were cut into segments, where that is notable: what their sender wrote shows in it.
//!
//! A sender that is handed a whole message fills every segment but the last. Short segments before that,
//! requests in several segments, and a short end that comes long after the full segments before it are
//! what writes in pieces, forgotten corks and small windows leave behind.

use trace_model::rows::{Direction, SegmentationRow};

use crate::pauses::FinishedMessage;

/// Segments of a response before its last that are not full: one is a head that was sent alone, which
/// other tables show.
const UNFILLED_MIN: u32 = 2;
/// Linux lets a corked segment go after 200 ms (tcp(7)), by a timer that may be late by a quarter of
/// that on a busy host. Measured: 208 to 267 ms.
const CORK_MIN_NS: i64 = 190_000_000;
const CORK_MAX_NS: i64 = 290_000_000;

/// Segments of a direction, so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    pub segments: u32,
    pub shorts: u32,
    /// Segments of the latest packet, of which offload may show several as one; and whether it ends in
    /// a short one.
    last_segments: u32,
    last_is_short: bool,
}

impl Counted {
    pub fn add(&mut self, bytes: u32, segment_bytes: u32, is_short: bool) {
        self.last_segments = match bytes.checked_div(segment_bytes) {
            Some(full) => full.saturating_add(u32::from(is_short)),
            None => 1,
        };
        self.last_is_short = is_short;
        self.segments = self.segments.saturating_add(self.last_segments);
        self.shorts = self.shorts.saturating_add(u32::from(is_short));
    }

    /// Without the latest packet.
    #[must_use]
    pub fn before_last(self) -> Self {
        Counted {
            segments: self.segments.saturating_sub(self.last_segments),
            shorts: self.shorts.saturating_sub(u32::from(self.last_is_short)),
            ..self
        }
    }

    #[must_use]
    pub fn since(self, earlier: Counted) -> Self {
        Counted {
            segments: self.segments.saturating_sub(earlier.segments),
            shorts: self.shorts.saturating_sub(earlier.shorts),
            ..self
        }
    }
}

/// A pause inside a message.
#[derive(Clone, Copy, Debug)]
pub struct Lull {
    pub start_ns: i64,
    pub length_ns: i64,
    pub previous_frame: u64,
    pub released_frame: u64,
    pub released_bytes: u32,
    /// Stream offset.
    pub released_start: u64,
    /// From the ACK of all that had been sent, less the path; none if something was outstanding.
    pub since_ack_ns: Option<i64>,
    pub segments_before: u32,
}

/// A message as it was cut into segments.
#[derive(Clone, Copy, Debug)]
pub struct Segmented {
    pub opening_frame: u64,
    pub opening_time_ns: i64,
    pub opening_bytes: u64,
    pub counted: Counted,
    pub lull: Option<Lull>,
    pub segment_bytes: u32,
}

impl Segmented {
    /// Segments before the last that are not full.
    fn unfilled(&self) -> u32 {
        let last = u32::from(self.counted.last_is_short);
        self.counted.shorts.saturating_sub(last)
    }

    #[must_use]
    pub fn is_notable(&self, message: &FinishedMessage) -> bool {
        match message.direction {
            Direction::ClientToServer => self.unfilled() > 0 || self.lull.is_some(),
            Direction::ServerToClient => {
                self.unfilled() >= UNFILLED_MIN || self.may_be_corked(message)
            }
        }
    }

    /// Whether the message's short end came so late, behind full segments alone.
    fn may_be_corked(&self, message: &FinishedMessage) -> bool {
        self.lull.is_some_and(|lull| {
            let before = lull.released_start.saturating_sub(message.start);
            (CORK_MIN_NS..=CORK_MAX_NS).contains(&lull.length_ns)
                && lull.released_bytes < self.segment_bytes
                && before > 0
                && before.checked_rem(u64::from(self.segment_bytes)) == Some(0)
        })
    }

    #[must_use]
    pub fn row(&self, message: &FinishedMessage) -> SegmentationRow {
        let lull = self.lull.filter(|lull| {
            (message.start.saturating_add(1)..message.end).contains(&lull.released_start)
        });
        SegmentationRow {
            flow: message.flow,
            transaction: message.transaction,
            direction: message.direction,
            first_frame: self.opening_frame,
            first_time: self.opening_time_ns,
            message_bytes: message.end.saturating_sub(message.start),
            head_bytes: message.head_bytes,
            segments: self.counted.segments,
            unfilled_segments: self.unfilled(),
            segment_bytes: self.segment_bytes,
            opening_bytes: u32::try_from(self.opening_bytes).unwrap_or(u32::MAX),
            pause: lull.map(|lull| lull.length_ns),
            pause_start: lull.map(|lull| lull.start_ns),
            pause_previous_frame: lull.map(|lull| lull.previous_frame),
            pause_released_frame: lull.map(|lull| lull.released_frame),
            pause_released_bytes: lull.map(|lull| lull.released_bytes),
            pause_offset: lull.map(|lull| lull.released_start.saturating_sub(message.start)),
            pause_segments_before: lull.map(|lull| lull.segments_before),
            pause_since_ack: lull.and_then(|lull| lull.since_ack_ns),
        }
    }
}
