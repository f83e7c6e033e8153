//! Tracker of one direction's data, for the segmentation of its messages.

use std::collections::VecDeque;

use trace_model::rows::SegmentationTable;

use super::{Lull, SegmentCounts, Segmentation};
use crate::bounded::BoundedTable;
use crate::finished_message::FinishedMessage;

/// Shortest pause; shorter gaps come from the link and the scheduler.
const PAUSE_MIN_NS: i64 = 1_000_000;
/// Maximum difference of packet gaps on a link, as a divisor of the longer gap.
const EVEN_SHARE: i64 = 4;
/// Maximum number of open responses: pipelined requests, and interim responses of one of them.
const OPENINGS_MAX: usize = 2048;

/// Data segment with new bytes.
#[derive(Clone, Copy, Debug)]
pub struct SentData {
    pub frame: u64,
    pub time_ns: i64,
    /// Stream offsets: the flow's first byte is at 0.
    pub start: u64,
    pub end: u64,
    pub bytes: u32,
    /// Payload of a full segment; 0 if unknown.
    pub full_bytes: u32,
    /// True if data before the segment is missing.
    pub is_behind_gap: bool,
    /// Round trip from the capture point to the sender.
    pub sender_rtt_ns: i64,
}

impl SentData {
    /// Return whether the packet ends in a short segment; the last part of a super-segment decides.
    fn is_short(&self) -> bool {
        self.bytes
            .checked_rem(self.full_bytes)
            .is_some_and(|rest| rest != 0)
    }
}

/// Message that has begun.
#[derive(Clone, Copy, Debug)]
struct Opening {
    message_start: u64,
    /// End of its first segment.
    end: u64,
    frame: u64,
    time_ns: i64,
    counted: SegmentCounts,
    lull: Option<Lull>,
}

/// Tracker of one direction of a flow.
#[derive(Debug, Default)]
pub struct Tracker {
    previous: Option<SentData>,
    /// True if a retransmission has followed.
    was_disturbed: bool,
    /// Offset whose ACK ends the sender's recovery.
    recovery_end: u64,
    /// Offset of the last ACK, and its time.
    acked: (u64, i64),
    counted: SegmentCounts,
    openings: VecDeque<Opening>,
}

impl Tracker {
    /// Return whether data was sent before.
    pub fn has_data(&self) -> bool {
        self.previous.is_some()
    }

    /// Take new data.
    pub fn sent(&mut self, data: SentData) {
        let is_short = data.is_short();
        self.counted.add(data.bytes, data.full_bytes, is_short);
        if let Some(previous) = self.previous {
            self.note_lull(&previous, &data);
        }
        if data.is_behind_gap {
            self.recovery_end = data.end;
        }
        self.was_disturbed = false;
        self.previous = Some(data);
    }

    /// Take a retransmission, after all data up to `next` was sent.
    pub fn on_retransmission(&mut self, next: u64) {
        self.was_disturbed = true;
        self.recovery_end = next;
    }

    /// Take an ACK up to `acked`.
    pub fn acknowledged(&mut self, acked: u64, time_ns: i64) {
        self.acked = (acked, time_ns);
    }

    /// Record that a message starts at `message_start`, in the last segment.
    pub fn on_message_start(&mut self, message_start: u64) {
        let Some(data) = self.previous else { return };
        if self.openings.len() >= OPENINGS_MAX {
            self.openings.pop_front();
        }
        self.openings.push_back(Opening {
            message_start,
            end: data.end,
            frame: data.frame,
            time_ns: data.time_ns,
            counted: self.counted.before_last(),
            lull: None,
        });
    }

    /// Take a complete message: it becomes a row if it is notable.
    ///
    /// `full_ns` is the bottleneck's serialization time of a full segment, if known.
    pub fn on_message_end(
        &mut self,
        message: &FinishedMessage,
        full_ns: i64,
        to: &mut BoundedTable<SegmentationTable>,
    ) {
        let mut opening = None;
        while let Some(first) = self.openings.front().copied() {
            if first.message_start > message.start {
                break;
            }
            opening = (first.message_start == message.start).then_some(first);
            self.openings.pop_front();
        }
        let Some(opening) = opening else { return };
        // Later data belongs to the next messages.
        let counted = match self.openings.front() {
            Some(next) => next.counted,
            None => self.counted,
        };
        let full_bytes = self.previous.map_or(0, |it| it.full_bytes);
        let found = Segmentation {
            opening_frame: opening.frame,
            opening_time_ns: opening.time_ns,
            opening_bytes: opening.end.saturating_sub(opening.message_start),
            counted: counted.since(opening.counted),
            lull: opening
                .lull
                .filter(|it| !is_of_link(it, full_bytes, full_ns)),
            segment_bytes: full_bytes,
            fulls_by_end: counted.fulls(),
        };
        if found.is_notable(message) {
            to.push(&found.row(message));
        }
    }

    /// Keep the pause before `data` if it is the longest pause of the current message.
    fn note_lull(&mut self, previous: &SentData, data: &SentData) {
        let gap_ns = data.time_ns.saturating_sub(previous.time_ns);
        let is_recovering = self.acked.0 < self.recovery_end;
        if gap_ns < PAUSE_MIN_NS || self.was_disturbed || is_recovering {
            return;
        }
        let Some(opening) = self.openings.back_mut() else {
            return;
        };
        if opening.lull.is_some_and(|lull| gap_ns <= lull.length_ns) {
            return;
        }
        let (acked, acked_ns) = self.acked;
        opening.lull = Some(Lull {
            start_ns: previous.time_ns,
            length_ns: gap_ns,
            previous_frame: previous.frame,
            released_frame: data.frame,
            released_bytes: data.bytes,
            released_start: data.start,
            since_ack_ns: (acked >= previous.end).then(|| {
                let since_ns = data.time_ns.saturating_sub(acked_ns);
                since_ns.saturating_sub(data.sender_rtt_ns)
            }),
            segments_before: self.counted.before_last().since(opening.counted).segments,
        });
    }

    /// Release the memory of a finished flow, except for the counts.
    pub fn release(&mut self) {
        self.openings = VecDeque::new();
    }

    /// Return the memory of the open messages.
    #[inline]
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.openings.len().saturating_mul(size_of::<Opening>()) as u64
    }
}

/// Return whether the link's serialization time explains the pause: a sender with several full segments has
/// the next ready.
fn is_of_link(lull: &Lull, full_bytes: u32, full_ns: i64) -> bool {
    let most_ns = full_ns.saturating_add(lull.length_ns / EVEN_SHARE);
    lull.released_bytes == full_bytes && lull.length_ns <= most_ns
}
