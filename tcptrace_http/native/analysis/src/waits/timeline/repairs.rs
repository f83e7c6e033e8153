//! Data that was sent again, and what its loss held up.

use super::super::partition::SEEN;
use super::extents::Filled;
use super::{Pending, Piece, Resent, Route, Stall, Timeline};
use crate::jitter::AT_ONCE_MAX_NS;
use trace_model::rows::{Cause, RecoveryKind};

impl Timeline {
    /// Data was sent again that the receiver may have lacked. `in_order` is up to where all is there now,
    /// if anything is still missing.
    pub(in crate::waits) fn resent(&mut self, data: Resent, in_order: Option<i64>, route: Route) {
        self.copies.resends = Some(data.start);
        self.settle_waiting(route);
        self.copies.resends = None;
        let by_timer = self.is_by_timer(data);
        let was_held = self.nagle_holds_behind(data);
        self.window.has_segments_of(self.full_bytes);
        self.window.has_sack(data.has_sack);
        self.window.had_loss(data.start, self.sent_until, by_timer);
        self.notes_duplicate_acks(data);
        self.goes_back(data, by_timer);
        self.note_copied_opening(data);
        self.notes_timer(data);
        let cause = repair(data.recovery);
        let before = self.sent.replace((data.at, true));
        self.sent_bytes = u32::MAX;
        self.sent_start = data.start;
        let answered_ns = self.copied(data, route);
        if data.start < self.acked {
            // The receiver has it: a copy that it needs no more holds nothing up.
            self.copies.one_was_needless();
            let before = before.map(|(sent, _)| sent);
            return self.brings_more((data, was_held), before, route);
        }
        if !self.settles_by_ack && self.came_behind_a_hole(data) {
            // What is missing before it holds it up still.
            return;
        }
        let left = in_order.filter(|hole| !self.settles_by_ack && data.start < *hole);
        if !self.settles_by_ack && !self.pending.is_empty() {
            self.filled = Some(Filled {
                at: data.at,
                start: data.start,
                end: data.start,
            });
        }
        if let Some(hole) = left.filter(|_| !self.pending.is_empty()) {
            self.fills_first_hole(data, cause, route);
            self.has_hole = true;
            return self.settle(hole, data.at, route);
        }
        let first = self.pending.partition_point(|sent| sent.end <= data.start);
        if first < self.pending.len() {
            let (bytes, segments) = self.size_of_copy(data);
            let stall = Stall {
                cause,
                is_probed: data.recovery == Some(RecoveryKind::TailLossProbe),
                frame: data.at.frame,
                sent_ns: data.at.time_ns,
                end: data.end,
                bytes,
                segments,
                is_for_others: data.is_for_others
                    && data.heard.duplicate_acks == 0
                    && cause == Cause::StallFastRecovery,
                answered_ns,
                behind_all_ns: data.due_ns,
            };
            if self.settles_by_ack {
                return self.is_copied(first, (data, stall));
            }
            if let Some(lost) = self.pending.get_mut(first) {
                lost.stall.get_or_insert(stall);
            }
            self.has_hole = in_order.is_some();
            self.settle(in_order.unwrap_or(i64::MAX), data.at, route);
        } else {
            self.was_lost_behind(data, cause, route);
        }
    }

    /// Whether a timer sent it again: one whose end is not seen as well, if nothing can have told of a loss. No three
    /// duplicate ACKs tell of what is alone on its way, nor who has no selective ACKs of what seems to miss nothing.
    fn is_by_timer(&self, data: Resent) -> bool {
        let is_alone = self.sent_until.saturating_sub(data.start) <= i64::from(self.full_bytes);
        match data.recovery {
            None => is_alone,
            Some(RecoveryKind::Unknown) => is_alone || !data.has_sack,
            recovery => is_timed(recovery),
        }
    }

    /// Whether all of it has come, behind what is missing.
    fn came_behind_a_hole(&self, data: Resent) -> bool {
        let first = self.pending.partition_point(|sent| sent.end <= data.start);
        let has_come = |sent: &Pending| sent.start() <= data.start && data.end <= sent.end;
        self.has_hole && self.pending.get(first).is_some_and(has_come)
    }

    /// Data came, and more behind it is missing: what holds up the rest is another repair, of which the sender
    /// may have learnt otherwise.
    pub(super) fn fills_first_hole(&mut self, data: Resent, cause: Cause, route: Route) {
        let Some(front) = self.pending.front_mut() else {
            return;
        };
        let behind = *front;
        front.cause = None;
        front.gap_ns = 0;
        let came = self.came.unwrap_or(behind.at);
        let start = behind.missing_since().later(came);
        self.plain(behind, came, start, route);
        self.push(Piece {
            start,
            end: data.at,
            cause,
            confidence: SEEN,
            if_shared: None,
            waited: None,
            later_ns: 0,
        });
        self.came = Some(data.at.later(start));
    }

    /// A timer that ran out goes on with what its silence was for, as ACKs come (RFC 6298, section 5.4; go-back-N): what
    /// is sent again in a silence begins another.
    fn notes_timer(&mut self, data: Resent) {
        let follows_ack = self
            .as_heard
            .newest_ns
            .is_some_and(|ns| data.at.time_ns.saturating_sub(ns) <= AT_ONCE_MAX_NS);
        let goes_on = self.copies.timer.is_some() && follows_ack;
        if is_timed(data.recovery) && !goes_on {
            self.copies.times_out(data.at, self.sent_until);
        }
    }

    /// An ACK of what a timer sent again that covers what was sent behind it, and not again, tells that this
    /// had come: the loss was not the end of a flight, though no duplicate ACK reached the sender.
    pub(super) fn hear_of_tails(&mut self, acked: i64, route: Route) {
        let covered = self.pending.partition_point(|sent| sent.end <= acked);
        let way_ns = self.least_way_ns(route);
        let link = self.link;
        // Half of the way is that of the ACK.
        let came_ns = |sent: &Pending| {
            let due_ns = sent.at.time_ns.saturating_add(way_ns);
            let due_ns = due_ns.saturating_add(link.of_payload(sent.bytes, sent.segments));
            due_ns.max(sent.due_ns).saturating_sub(way_ns / 2)
        };
        let (mut arrived_ns, mut is_told) = (i64::MAX, false);
        for sent in self.pending.range_mut(..covered).rev() {
            match sent.stall.as_mut() {
                None if sent.may_have_been_lost => {}
                None => arrived_ns = arrived_ns.min(came_ns(sent)),
                Some(stall) if stall.cause == Cause::StallTailLoss && !stall.is_probed => {
                    if arrived_ns < stall.sent_ns {
                        stall.cause = Cause::StallRetransmissionTimeout;
                        is_told = true;
                    }
                }
                Some(_) => {}
            }
        }
        let timer = self.copies.timer;
        if let Some(timer) = timer.filter(|timer| is_told && arrived_ns < timer.time_ns) {
            self.timer_was_told(timer.frame);
        }
    }

    /// Of something out of order a duplicate ACK came at `time_ns`: if that had left its receiver when a timer ran out, it
    /// would have told of the loss.
    pub(super) fn hear_of_hole(&mut self, time_ns: i64, route: Route) {
        let left_ns = time_ns.saturating_sub(self.least_way_ns(route) / 2);
        let stalls = self.pending.iter().filter_map(|sent| sent.stall);
        let by_timer = stalls.filter(|it| it.cause == Cause::StallTailLoss && !it.is_probed);
        let told = by_timer.filter(|it| left_ns < it.sent_ns);
        if let Some(frame) = told.map(|it| it.frame).min() {
            self.timer_was_told(frame);
        }
    }

    /// Something behind the loss had come when the timer of `timer_frame` ran out: all that it sent again waited for
    /// that timer, and was no flight's end.
    fn timer_was_told(&mut self, timer_frame: u64) {
        let pieces = self
            .pieces
            .iter_mut()
            .map(|it| (it.end.frame, &mut it.cause));
        let stalls = self
            .pending
            .iter_mut()
            .filter_map(|sent| sent.stall.as_mut());
        let stalls = stalls.map(|it| (it.frame, &mut it.cause));
        for (frame, cause) in pieces.chain(stalls) {
            if frame >= timer_frame && *cause == Cause::StallTailLoss {
                *cause = Cause::StallRetransmissionTimeout;
            }
        }
    }
}

/// Whether a timer ran out, after which the window is a single segment.
pub(super) fn is_timed(recovery: Option<RecoveryKind>) -> bool {
    matches!(
        recovery,
        Some(RecoveryKind::TailLoss | RecoveryKind::Timeout)
    )
}

/// What data waited for that was sent again: how its sender learnt of the loss, as `recoveries` judges it.
pub(super) fn repair(recovery: Option<RecoveryKind>) -> Cause {
    match recovery {
        Some(RecoveryKind::Reordering) => Cause::NetworkReordering,
        // What is sent again behind a SYN that a timer sent again, as ACKs come, was lost with that.
        Some(
            RecoveryKind::TailLoss | RecoveryKind::TailLossProbe | RecoveryKind::SynRetransmission,
        ) => Cause::StallTailLoss,
        Some(RecoveryKind::Timeout) => Cause::StallRetransmissionTimeout,
        _ => Cause::StallFastRecovery,
    }
}

#[cfg(test)]
mod tests;
