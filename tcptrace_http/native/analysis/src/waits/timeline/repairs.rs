//! Data that was sent again, and what its loss held up.

use super::super::partition::{INFERRED, SEEN};
use super::{Filled, Piece, Resent, Route, Stall, Timeline};
use trace_model::rows::{Cause, RecoveryKind};

impl Timeline {
    /// Data was sent again that the receiver may have lacked. `in_order` is up to where all is there now,
    /// if anything is still missing.
    pub(in crate::waits) fn resent(&mut self, data: Resent, in_order: Option<i64>, route: Route) {
        let by_timer = is_timed(data.recovery);
        self.window.had_loss(data.start, self.sent_until, by_timer);
        let cause = repair(data.recovery);
        self.sent = Some((data.at, true));
        self.sent_bytes = u32::MAX;
        self.sent_start = data.start;
        let answered_ns = self.copied(data, route);
        if data.start < self.acked {
            // The receiver has it: a copy that it needs no more holds nothing up.
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
            let mut sent_again = self.pending.range_mut(first..);
            let stall = Stall {
                cause,
                frame: data.at.frame,
                answered_ns,
            };
            if let Some(lost) = sent_again.next() {
                lost.stall.get_or_insert(stall);
            }
            if self.settles_by_ack {
                // A timer sends in one segment again what had been several (RFC 9293, section 3.8.1).
                for lost in sent_again.take_while(|sent| sent.end <= data.end) {
                    lost.stall.get_or_insert(stall);
                }
                return;
            }
            self.has_hole = in_order.is_some();
            self.settle(in_order.unwrap_or(i64::MAX), data.at, route);
        } else if let Some(came) = self.came.filter(|came| came.time_ns < data.at.time_ns) {
            // It was seen on its way, and lost behind the observation point.
            self.push(Piece {
                start: came,
                end: data.at,
                cause,
                confidence: INFERRED,
                if_shared: None,
                waited: None,
            });
            self.came = Some(data.at);
        }
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
        let start = behind.at.later(came);
        self.plain(behind, came, start, route);
        self.push(Piece {
            start,
            end: data.at,
            cause,
            confidence: SEEN,
            if_shared: None,
            waited: None,
        });
        self.came = Some(data.at.later(start));
    }

    /// An ACK of what a timer sent again that covers what was sent behind it, and not again, tells that this
    /// had come: the loss was not the end of a flight, though no duplicate ACK reached the sender.
    pub(super) fn hear_of_tails(&mut self, acked: i64) {
        let covered = self.pending.partition_point(|sent| sent.end <= acked);
        let mut arrived_frame = None;
        for sent in self.pending.range_mut(..covered).rev() {
            match sent.stall.as_mut() {
                None => arrived_frame = arrived_frame.or(Some(sent.at.frame)),
                Some(stall) if stall.cause == Cause::StallTailLoss => {
                    if arrived_frame.is_some_and(|arrived| arrived < stall.frame) {
                        stall.cause = Cause::StallRetransmissionTimeout;
                    }
                }
                Some(_) => {}
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
        Some(RecoveryKind::TailLoss | RecoveryKind::TailLossProbe) => Cause::StallTailLoss,
        Some(RecoveryKind::Timeout) => Cause::StallRetransmissionTimeout,
        _ => Cause::StallFastRecovery,
    }
}
