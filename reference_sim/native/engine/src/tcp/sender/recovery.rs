//! The reaction to an ACK, a duplicate ACK and the retransmission timer: window growth, window reduction, and
//! retransmission.

use crate::stack::{Congestion, Nanoseconds, Stack};
use crate::tcp::cubic::Acked;
use crate::tcp::sender::{counts_bytes, is_bay, Recovery, Sender};
use crate::truth::SendReason;

/// Number of segments beyond the window that limited transmit permits (RFC 3042, section 2).
const LIMITED_SEGMENTS: u32 = 2;

impl Sender {
    /// Process an ACK of new data.
    pub fn on_ack(&mut self, ack: u64, sent: Nanoseconds, now: Nanoseconds, stack: &Stack) {
        // A SYN is no data, so its ACK does not open the window (RFC 5681, section 3.1).
        let acked = ack - self.una.max(1);
        self.end_pacing(ack);
        if stack.retransmission.times_acks {
            self.time_ack(ack, sent, now, stack);
        } else {
            self.sample(ack, now, stack);
        }
        self.una = ack;
        self.next = self.next.max(ack);
        self.max = self.max.max(ack);
        self.retries = 0;
        self.limited = 0;
        self.duplicates = 0;
        self.is_held = false;
        let flight_before = self.flight() + acked;
        match self.recovery {
            Recovery::Fast { until } if ack < until && !is_ended_by_any_ack(stack) => {
                self.window.deflate(acked);
                self.again = Some((ack, SendReason::Recovery));
            }
            Recovery::Fast { .. } if is_bay(stack) => {
                self.window.recovered_to(self.highest() - ack);
                self.recovery = Recovery::None;
                self.grow(acked, now, stack);
            }
            Recovery::Fast { .. } => {
                self.window.recovered();
                self.recovery = Recovery::None;
            }
            Recovery::Timeout { until } => {
                self.grow(acked, now, stack);
                if ack > until || ack == until && !is_bay(stack) {
                    self.recovery = Recovery::None;
                }
            }
            Recovery::None if acked > 0 => self.grow(acked, now, stack),
            Recovery::None => {}
        }
        self.follow_unsacked(ack, flight_before, now);
        self.retransmission_timer = None;
        self.arm(now, stack);
    }

    /// Grow the window by the acknowledged data. The windows of CUBIC and Linux grow only if they are used.
    pub(in crate::tcp) fn grow(&mut self, acked: u64, now: Nanoseconds, stack: &Stack) {
        if self.una < self.reduced_until || self.bbr.is_some() {
            return;
        }
        if !counts_bytes(stack) {
            self.window.on_ack();
        } else if self
            .usage
            .may_grow(self.window.cwnd, self.window.is_in_slow_start())
        {
            self.window.acknowledged_bytes(Acked {
                bytes: self.growth(acked),
                mss: self.mss,
                now,
                smoothed_rtt: self.round_trip.smoothed().unwrap_or(0),
            });
        }
        self.end_slow_start_early();
    }

    /// Return the acknowledged bytes that count: all, except with HyStart++ in the first slow start.
    fn growth(&self, acked: u64) -> u64 {
        let hystart = self
            .hystart
            .filter(|_| self.window.is_in_first_slow_start());
        hystart.map_or(acked, |it| it.growth(acked, self.mss))
    }

    /// End slow start early by HyStart++, if the round trip grows.
    fn end_slow_start_early(&mut self) {
        let Some(hystart) = &mut self.hystart else {
            return;
        };
        if self.window.is_in_first_slow_start() && hystart.on_ack(self.una, self.max) {
            self.window.end_slow_start();
        }
    }

    /// Add a round-trip sample from a segment that was sent once.
    pub(in crate::tcp) fn measure_round_trip(
        &mut self,
        sent: Nanoseconds,
        now: Nanoseconds,
        stack: &Stack,
    ) {
        self.round_trip.sample(sent, now, &stack.retransmission);
        if let Some(hystart) = &mut self.hystart {
            hystart.sample(now.saturating_sub(sent));
        }
    }

    /// Process a duplicate ACK while data is in flight (RFC 5681, section 2).
    pub fn duplicate(&mut self, now: Nanoseconds, stack: &Stack) {
        if let Recovery::Fast { .. } = self.recovery {
            self.window.inflate();
            self.is_held = false;
            return;
        }
        self.count_duplicate(now, stack);
    }

    /// Count a sign of a loss without a segment that left the network. The window is not inflated.
    pub fn count_duplicate(&mut self, now: Nanoseconds, stack: &Stack) {
        if let Recovery::Fast { .. } = self.recovery {
            return;
        }
        if is_bay(stack)
            && matches!(self.recovery, Recovery::Timeout { until } if self.una == until)
        {
            return;
        }
        self.duplicates += 1;
        self.limited = 0;
        if self.duplicates != stack.retransmission.duplicate_ack_threshold {
            if stack.limited_transmit && self.recovery == Recovery::None {
                self.limited = u64::from(self.duplicates.min(LIMITED_SEGMENTS)) * self.mss;
            }
            return;
        }
        // The retransmissions after a timeout cause duplicate ACKs of their own (RFC 6582, section 4.1).
        if !is_bay(stack)
            && matches!(self.recovery, Recovery::Timeout { until } if self.una < until)
        {
            return;
        }
        if let Some(bbr) = &mut self.bbr {
            bbr.enter_recovery(self.window.cwnd);
        }
        self.window.on_loss(self.used_window(stack));
        if stack.retransmission.fast_retransmit_backs_off {
            self.timed = None;
            self.round_trip.on_timeout();
        }
        if stack.congestion == Congestion::Tahoe {
            self.recovery = Recovery::Timeout { until: self.max };
            self.go_back();
            self.again = Some((self.una, SendReason::FastRetransmit));
        } else {
            self.recovery = Recovery::Fast {
                until: self.highest(),
            };
            self.is_held = is_bay(stack);
            self.again = Some((self.una, SendReason::FastRetransmit));
        }
        self.retransmission_timer = None;
        self.arm(now, stack);
    }

    /// Handle the retransmission timer. Return true after too many retransmissions.
    pub fn on_timeout(&mut self, now: Nanoseconds, stack: &Stack) -> bool {
        // BayFullTcp's timer can run without data in flight.
        self.retries += u32::from(self.una < self.max);
        if let Some(bbr) = &mut self.bbr {
            bbr.on_timeout(self.window.cwnd);
        }
        self.window
            .on_timeout(self.used_window(stack), self.retries == 1);
        self.round_trip.on_timeout();
        if let Some(selective) = &mut self.selective {
            selective.on_timeout(self.max, &mut self.window, now);
            self.retransmission_timer = None;
            self.arm(now, stack);
            return self.retries > stack.retransmission.max_retries;
        }
        self.recovery = Recovery::Timeout {
            until: self.highest(),
        };
        self.limited = 0;
        self.duplicates = 0;
        self.is_held = false;
        self.go_back();
        self.again = Some((self.una, SendReason::RetransmissionTimeout));
        self.retransmission_timer = None;
        self.arm(now, stack);
        self.retries > stack.retransmission.max_retries
    }

    /// Reduce the window for a mark as for a loss, once per round trip (RFC 3168, section 6.1.2).
    pub fn reduce_for_mark(&mut self, stack: &Stack) {
        if self.una <= self.reduced_until || self.recovery != Recovery::None {
            return;
        }
        self.window.reduce(self.used_window(stack));
        self.window.recovered();
        self.reduced_until = self.max;
        self.has_reduced = true;
    }

    /// Return true once if the peer must be notified of a reduction.
    pub fn take_reduction(&mut self) -> bool {
        std::mem::take(&mut self.has_reduced)
    }

    /// Return the offset up to which ACKs are expected.
    pub(super) fn highest(&self) -> u64 {
        self.max.max(self.counted)
    }

    /// Return the window that a loss halves: the flight, or the permitted window (ns-2's slowdown).
    pub(super) fn used_window(&self, stack: &Stack) -> u64 {
        match stack.max_window_segments {
            Some(count) if is_bay(stack) => u64::from(count) * self.mss,
            None if is_bay(stack) => u64::MAX,
            _ => self.max - self.una,
        }
    }

    /// Go back to the first unacknowledged byte: all data in flight counts as lost.
    pub(super) fn go_back(&mut self) {
        self.next = self.una.max(1);
        if self.fin_sent && self.una <= self.written {
            self.fin_sent = false;
        }
        self.timed = None;
        for flying in &mut self.flying {
            flying.is_retransmission = true;
        }
    }

    /// Take a round-trip sample. With timestamps, the sample is the newest segment that this ACK covers and
    /// that was sent once. Otherwise the sample is the timed segment.
    pub(super) fn sample(&mut self, ack: u64, now: Nanoseconds, stack: &Stack) {
        let mut newest = None;
        while let Some(flying) = self.flying.front().copied() {
            if flying.end > ack {
                break;
            }
            self.flying.pop_front();
            if !flying.is_retransmission {
                newest = Some(flying.sent);
            }
        }
        if let Some((end, sent)) = self.timed {
            if end <= ack {
                self.timed = None;
                newest = Some(sent);
            }
        }
        if let Some(sent) = newest {
            self.measure_round_trip(sent, now, stack);
        }
    }

    /// Take this ACK's path time as the round trip. Back-off ends with an ACK that reaches the timed
    /// segment's start (BayFullTcp's `ackno >= rtt_seq_`).
    pub(super) fn time_ack(
        &mut self,
        ack: u64,
        sent: Nanoseconds,
        now: Nanoseconds,
        stack: &Stack,
    ) {
        let rules = &stack.retransmission;
        if self.timed.is_some_and(|(start, _)| ack >= start) {
            self.timed = None;
            self.round_trip.end_backoff();
        }
        self.round_trip.measure(sent, now, rules);
    }
}

/// Return true if any ACK of new data ends fast recovery, even a partial one.
fn is_ended_by_any_ack(stack: &Stack) -> bool {
    matches!(stack.congestion, Congestion::Reno | Congestion::BayReno)
}
