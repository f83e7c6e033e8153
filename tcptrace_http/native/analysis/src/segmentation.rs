//! Segmentation of messages: notable cases show the sender's writes.
//!
//! A sender with a whole message fills every segment but the last. Short segments before the last, requests
//! in several segments, and a late short end behind full segments have other causes. They come from piecewise
//! writes, forgotten corks and small windows.

mod tracker;

use trace_model::rows::{Direction, SegmentationRow};

pub use self::tracker::{SentData, Tracker};
use crate::finished_message::FinishedMessage;

/// Minimum number of short segments before a response's last one; a single one is a separate head, which
/// other tables show.
const UNFILLED_MIN: u32 = 2;
/// Shortest and longest wait for a cork's timer.
///
/// Linux sends a corked segment at the zero window probe timer. The timer runs for one RTO from the last ACK:
/// 200 ms plus the round trip (tcp(7), RFC 6298). The ACK itself may be delayed. Measured waits are 208 ms to
/// 440 ms, the latter on a path of 100 ms. Twice 100 ms is the round trip of a satellite link.
const CORK_MIN_NS: i64 = 190_000_000;
const CORK_MAX_NS: i64 = 1_000_000_000;

/// Segments of a direction so far.
#[derive(Clone, Copy, Debug, Default)]
struct SegmentCounts {
    segments: u32,
    shorts: u32,
    /// Segments of the latest packet, which may be a super-segment, and whether it ends in a short segment.
    last_segments: u32,
    last_is_short: bool,
}

impl SegmentCounts {
    fn add(&mut self, bytes: u32, segment_bytes: u32, is_short: bool) {
        self.last_segments = match bytes.checked_div(segment_bytes) {
            Some(full) => full.saturating_add(u32::from(is_short)),
            None => 1,
        };
        self.last_is_short = is_short;
        self.segments = self.segments.saturating_add(self.last_segments);
        self.shorts = self.shorts.saturating_add(u32::from(is_short));
    }

    /// Return the counts without the latest packet.
    fn before_last(self) -> Self {
        SegmentCounts {
            segments: self.segments.saturating_sub(self.last_segments),
            shorts: self.shorts.saturating_sub(u32::from(self.last_is_short)),
            ..self
        }
    }

    fn fulls(self) -> u32 {
        self.segments.saturating_sub(self.shorts)
    }

    fn since(self, earlier: SegmentCounts) -> Self {
        SegmentCounts {
            segments: self.segments.saturating_sub(earlier.segments),
            shorts: self.shorts.saturating_sub(earlier.shorts),
            ..self
        }
    }
}

/// Pause within a message.
#[derive(Clone, Copy, Debug)]
struct Lull {
    start_ns: i64,
    length_ns: i64,
    previous_frame: u64,
    released_frame: u64,
    released_bytes: u32,
    /// Stream offset.
    released_start: u64,
    /// Time from the ACK of all sent data, without the path; none if data was outstanding.
    since_ack_ns: Option<i64>,
    segments_before: u32,
}

/// Segmentation of a message.
#[derive(Clone, Copy, Debug)]
struct Segmentation {
    opening_frame: u64,
    opening_time_ns: i64,
    opening_bytes: u64,
    counted: SegmentCounts,
    lull: Option<Lull>,
    segment_bytes: u32,
    /// Number of full segments of its direction up to its end.
    fulls_by_end: u32,
}

impl Segmentation {
    /// Return the number of short segments before the last.
    fn unfilled(&self) -> u32 {
        let last = u32::from(self.counted.last_is_short);
        self.counted.shorts.saturating_sub(last)
    }

    fn is_notable(&self, message: &FinishedMessage) -> bool {
        match message.direction {
            Direction::ClientToServer => self.unfilled() > 0 || self.lull.is_some(),
            Direction::ServerToClient => {
                self.unfilled() >= UNFILLED_MIN || self.may_be_corked(message)
            }
        }
    }

    /// Return whether the message's short end was late, behind full segments only.
    fn may_be_corked(&self, message: &FinishedMessage) -> bool {
        self.lull.is_some_and(|lull| {
            let before = lull.released_start.saturating_sub(message.start);
            (CORK_MIN_NS..=CORK_MAX_NS).contains(&lull.length_ns)
                && lull.released_bytes < self.segment_bytes
                && before > 0
                && before.checked_rem(u64::from(self.segment_bytes)) == Some(0)
        })
    }

    fn row(&self, message: &FinishedMessage) -> SegmentationRow {
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
            full_segments_by_end: self.fulls_by_end,
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

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u32 = 1000;

    fn message(direction: Direction, end: u64) -> FinishedMessage {
        FinishedMessage {
            flow: 0,
            transaction: 0,
            direction,
            start: 0,
            end,
            head_bytes: 100,
        }
    }

    fn cut_into(payloads: &[u32], lull: Option<Lull>) -> Segmentation {
        let mut counted = SegmentCounts::default();
        for bytes in payloads {
            counted.add(*bytes, FULL, bytes % FULL != 0);
        }
        Segmentation {
            opening_frame: 1,
            opening_time_ns: 0,
            opening_bytes: u64::from(payloads.first().copied().unwrap_or(0)),
            counted,
            lull,
            segment_bytes: FULL,
            fulls_by_end: counted.fulls(),
        }
    }

    fn late_by(length_ns: i64, released_start: u64) -> Option<Lull> {
        Some(Lull {
            start_ns: 0,
            length_ns,
            previous_frame: 1,
            released_frame: 2,
            released_bytes: 300,
            released_start,
            since_ack_ns: Some(length_ns),
            segments_before: 1,
        })
    }

    #[test]
    fn response_with_only_a_short_last_segment_is_not_notable() {
        let response = message(Direction::ServerToClient, 2300);
        assert!(!cut_into(&[1000, 1000, 300], None).is_notable(&response));
        // A single additional short segment is a separate head.
        assert!(!cut_into(&[100, 1000, 1000, 200], None).is_notable(&response));
        assert!(cut_into(&[100, 500, 500, 1000, 200], None).is_notable(&response));
    }

    #[test]
    fn a_packet_merged_by_offload_counts_its_segments() {
        let merged = cut_into(&[2300], None);
        assert_eq!((merged.counted.segments, merged.unfilled()), (3, 0));
        assert_eq!(merged.fulls_by_end, 2);
    }

    #[test]
    fn a_short_end_that_comes_200_ms_after_full_segments_is_notable() {
        let response = message(Direction::ServerToClient, 1300);
        let late = |length_ns, start| cut_into(&[1000, 300], late_by(length_ns, start));
        assert!(late(210_000_000, 1000).is_notable(&response));
        assert!(!late(150_000_000, 1000).is_notable(&response));
        // Data flushed by an application ends at any offset.
        assert!(!late(210_000_000, 900).is_notable(&response));
    }

    #[test]
    fn a_request_in_one_flight_of_full_segments_is_not_notable() {
        let request = message(Direction::ClientToServer, 2300);
        assert!(!cut_into(&[1000, 1000, 300], None).is_notable(&request));
        assert!(cut_into(&[100, 1000], None).is_notable(&request));
        assert!(cut_into(&[1000, 300], late_by(30_000_000, 1000)).is_notable(&request));
    }
}
