//! The messages that a direction carries: where each one opens, and its rows once it is complete.

use trace_model::rows::{PausesTable, SegmentationTable};

use super::pause::Opening;
use super::{Path, PauseTracker, SentData};
use crate::bounded::Bounded;
use crate::finished_message::FinishedMessage;
use crate::segmentation::{Lull, Segmented};
use crate::waits::Waits;

/// Responses that were opened and are not complete: as many as requests wait for theirs, and the
/// interim responses of one of them.
const OPENINGS_MAX: usize = 2048;

impl PauseTracker {
    /// A message was found to start at `message_start`, in the segment just seen.
    pub fn message_opens(&mut self, message_start: u64) {
        let Some(data) = self.previous else { return };
        self.spacing_ns = 0;
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

    /// A message is complete: its pauses become rows. Of a response `waits` tell what the slowest link takes, if that
    /// is known by now.
    pub fn message_ends(
        &mut self,
        message: FinishedMessage,
        waits: Option<&Waits>,
        rows: &mut Bounded<PausesTable>,
        segmented: &mut Bounded<SegmentationTable>,
    ) {
        let FinishedMessage { start, end, .. } = message;
        self.decide(end, waits, waits.is_some());
        let mut opening = None;
        while let Some(first) = self.openings.front().copied() {
            if first.message_start > start {
                break;
            }
            opening = (first.message_start == start).then_some(first);
            self.openings.pop_front();
        }
        if let Some(opening) = opening {
            // What was sent since belongs to the messages after it.
            let counted = match self.openings.front() {
                Some(next) => next.counted,
                None => self.counted,
            };
            let found = Segmented {
                opening_frame: opening.frame,
                opening_time_ns: opening.time_ns,
                opening_bytes: opening.end.saturating_sub(opening.message_start),
                counted: counted.since(opening.counted),
                lull: opening.lull.filter(|it| !self.is_of_link(it)),
                segment_bytes: self.segment_bytes,
                fulls_by_end: counted.fulls(),
            };
            if found.is_notable(&message) {
                segmented.push(&found.row(&message));
            }
        }
        // They are told in order.
        if self.untold.is_empty() && !self.is_undecided(end) {
            self.tell(opening, message, waits, rows);
        } else if let Some(opening) = opening {
            self.untold.push_back((opening, message));
        }
        if self.untold.len() > OPENINGS_MAX {
            self.oldest_is_told(waits, rows);
        }
    }

    /// Nothing more is learnt of what the response that begins at `start` waited for: what of its pauses had to wait
    /// for the pace of the link becomes rows.
    pub fn message_is_told(
        &mut self,
        start: u64,
        waits: Option<&Waits>,
        rows: &mut Bounded<PausesTable>,
    ) {
        let of_it = |it: &&(Opening, FinishedMessage)| it.1.start <= start;
        while self.untold.front().filter(of_it).is_some() {
            self.oldest_is_told(waits, rows);
        }
    }

    fn oldest_is_told(&mut self, waits: Option<&Waits>, rows: &mut Bounded<PausesTable>) {
        if let Some((opening, message)) = self.untold.pop_front() {
            self.decide(message.end, waits, false);
            self.tell(Some(opening), message, waits, rows);
        }
    }

    /// The pauses of a message that is complete become rows, if it was seen to open.
    fn tell(
        &mut self,
        opening: Option<Opening>,
        message: FinishedMessage,
        waits: Option<&Waits>,
        rows: &mut Bounded<PausesTable>,
    ) {
        let FinishedMessage { start, end, .. } = message;
        for pause in self.open.extract_if(.., |pause| pause.released_start < end) {
            let Some(opening) = opening else { continue };
            // The time before a message is not a pause inside it.
            if pause.released_start <= start || (pause.is_behind_full && self.full_disproofs > 0) {
                continue;
            }
            let written_ns = waits.and_then(|it| it.response_written_ns(pause.row.released_time));
            rows.push(&pause.into_row(opening, message, written_ns));
        }
    }

    /// Whether a pause was what the link takes for each full segment.
    fn is_of_link(&self, lull: &Lull) -> bool {
        lull.released_bytes == self.segment_bytes && self.full_gaps.explain(lull.length_ns)
    }

    /// Keeps the pause before `data` if it is the longest of the message that is being sent.
    pub(super) fn note_lull(&mut self, previous: SentData, data: SentData, path: &Path) {
        let gap = data.time_ns.saturating_sub(previous.time_ns);
        let Some(opening) = self.openings.back_mut() else {
            return;
        };
        let is_longest = opening.lull.is_none_or(|lull| gap > lull.length_ns);
        if !is_longest || self.was_disturbed || path.in_loss_recovery {
            return;
        }
        let last_ack = self.acks.back();
        let is_acked = last_ack.is_some_and(|ack| ack.after >= previous.end);
        let since_ack_ns = last_ack.filter(|_| is_acked).map(|ack| {
            data.time_ns
                .saturating_sub(ack.time_ns)
                .saturating_sub(path.sender_rtt_ns.unwrap_or(0))
        });
        opening.lull = Some(Lull {
            start_ns: previous.time_ns,
            length_ns: gap,
            previous_frame: previous.frame,
            released_frame: data.frame,
            released_bytes: data.bytes,
            released_start: data.start,
            since_ack_ns,
            segments_before: self.counted.before_last().since(opening.counted).segments,
        });
    }
}
