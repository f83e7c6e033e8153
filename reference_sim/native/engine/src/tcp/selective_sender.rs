//! The sending half with SACK: the same windows and timers. [`Selective`] detects and repairs losses.

use crate::stack::{Nanoseconds, Stack};
use crate::tcp::selective::{Ack, Selective};
use crate::tcp::sender::{Sender, Stretch};
use crate::truth::SendReason;

impl Sender {
    /// Process an ACK, of new data or not.
    pub(super) fn receive_selective(&mut self, ack: Ack, now: Nanoseconds, stack: &Stack) {
        let smoothed = self.round_trip.smoothed().unwrap_or(0);
        let Some(selective) = &mut self.selective else {
            return;
        };
        let outcome = selective.receive(ack, self.max, &mut self.window, smoothed, now);
        let is_new = ack.ack > self.una;
        self.end_pacing(ack.ack);
        self.una = ack.ack;
        self.next = self.next.max(ack.ack);
        self.max = self.max.max(ack.ack);
        // The sample comes from the oldest segment sent once, so the delay of the ACK is included (RFC 7323,
        // section 4.1).
        let sent_once = outcome.delivered.segments.iter();
        let sample = sent_once
            .filter(|segment| !segment.is_retransmitted())
            .map(|segment| segment.sent)
            .min();
        self.has_reduced |= outcome.is_reduced;
        if let Some(sent) = sample {
            self.measure_round_trip(sent, now, stack);
        }
        self.round_trip
            .progressed(self.una, self.next, &stack.retransmission);
        if self.bbr.is_some() {
            self.follow_sacked(&outcome, now);
        } else if outcome.may_grow {
            self.grow(outcome.delivered.weight, now, stack);
        }
        if is_new {
            self.retries = 0;
            self.retransmission_timer = None;
            self.arm(now, stack);
        }
    }

    /// Handle the timers besides the retransmission timer. Return true if a probe postpones that timer.
    pub(super) fn selective_timers(&mut self, now: Nanoseconds, stack: &Stack) -> bool {
        let smoothed = self.round_trip.smoothed().unwrap_or(0);
        let Some(selective) = &mut self.selective else {
            return false;
        };
        selective.reordering_timeout(self.max, &mut self.window, smoothed, now);
        let is_probing = selective.take_probe(now);
        if is_probing {
            self.retransmission_timer = None;
            self.arm(now, stack);
        }
        is_probing
    }

    /// Return the next retransmission or probe.
    pub(super) fn poll_lost(&mut self, now: Nanoseconds, stack: &Stack) -> Option<Stretch> {
        let selective = self.selective.as_mut()?;
        if selective.take_probe_order() {
            return self.tail_probe(now, stack);
        }
        let (segment, reason) = selective.lost_to_send(self.window.cwnd)?;
        Some(self.repeat(segment.start, segment.end, reason, now, stack))
    }

    /// Return a tail-loss probe: new data if there is any and the peer has room, else the last segment (RFC
    /// 8985, section 7.3). Neither the congestion window nor Nagle's algorithm delays it.
    fn tail_probe(&mut self, now: Nanoseconds, stack: &Stack) -> Option<Stretch> {
        let room = self.edge.saturating_sub(self.next);
        let unsent = self.written.saturating_sub(self.next);
        let payload = room.min(unsent).min(self.mss);
        if payload > 0 {
            let reason = SendReason::TailLossProbe;
            let stretch = self.send(self.next, payload, reason, now, stack);
            let next = self.next;
            if let Some(selective) = &mut self.selective {
                selective.probed(next, false);
            }
            return Some(stretch);
        }
        let tail = self.selective.as_ref().and_then(Selective::tail)?;
        let next = self.next;
        if let Some(selective) = &mut self.selective {
            selective.probed(next, true);
        }
        Some(self.repeat(tail.start, tail.end, SendReason::TailLossProbe, now, stack))
    }

    /// Retransmit a segment unchanged.
    fn repeat(
        &mut self,
        start: u64,
        end: u64,
        reason: SendReason,
        now: Nanoseconds,
        stack: &Stack,
    ) -> Stretch {
        if let Some(selective) = &mut self.selective {
            selective.sent(start, end, false, now);
        }
        self.last_sent = now;
        if start == self.una {
            self.retransmission_timer = None;
        }
        self.arm(now, stack);
        let data_end = end.min(self.written);
        Stretch {
            start,
            payload: data_end - start,
            reason,
            has_fin: end > self.written,
            has_push: data_end == self.written && data_end > start,
            is_new: false,
        }
    }
}
