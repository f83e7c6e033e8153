//! The sending half: written data, releasable data, and retransmissions.

mod model;
mod persist;
mod recovery;
mod room;
mod shared;

use std::collections::VecDeque;

use crate::random::Random;
use crate::sharing::pacing::Pacing;
use crate::sharing::Grant;
use crate::stack::{Congestion, Nanoseconds, SlowStart, Stack};
use crate::tcp::bbr::Bbr;
use crate::tcp::congestion::Window;
use crate::tcp::hystart::HystartPlusPlus;
use crate::tcp::rate_pacing::RatePacer;
use crate::tcp::round_trip::{deadline, RoundTrip};
use crate::tcp::selective::Selective;
use crate::tcp::sender::model::Unsacked;
use crate::tcp::window_usage::WindowUsage;
use crate::truth::SendReason;

/// A range of the stream that is sent as one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub start: u64,
    pub payload: u64,
    pub reason: SendReason,
    pub has_fin: bool,
    pub has_push: bool,
    /// True if no byte of the range was sent before.
    pub is_new: bool,
}

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
struct Flying {
    end: u64,
    sent: Nanoseconds,
    is_retransmission: bool,
}

/// Loss recovery by duplicate ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    None,
    /// Fast recovery, until all data sent before its start is acknowledged.
    Fast {
        until: u64,
    },
    /// Recovery after a timeout: the data sent before is retransmitted (go-back-N).
    Timeout {
        until: u64,
    },
}

/// A sender. Offsets: the SYN is 0, data begins at 1.
#[derive(Clone, Debug)]
pub struct Sender {
    pub window: Window,
    pub round_trip: RoundTrip,
    pub mss: u64,
    /// First unacknowledged offset.
    pub una: u64,
    /// Next offset to send.
    pub(super) next: u64,
    /// First offset never sent.
    pub max: u64,
    /// The same as `max` in BayFullTcp's count: a fast retransmit advances it like new data.
    counted: u64,
    /// End of the written data.
    pub written: u64,
    /// True if the application has closed after the written data.
    is_closing: bool,
    pub fin_sent: bool,
    /// True once a FIN was sent, even if it must be retransmitted.
    fin_was_sent: bool,
    /// True if a write was only partly taken.
    pub is_refusing: bool,
    /// Right edge that the peer advertises.
    pub(super) edge: u64,
    /// The peer's latest advertised window.
    offered: u64,
    /// The peer's largest advertised window.
    largest_window: u64,
    recovery: Recovery,
    /// True after the ACK that began recovery, which releases no further data: BayFullTcp drops this ACK,
    /// like BSD.
    is_held: bool,
    duplicates: u32,
    /// Data beyond the congestion window that the first duplicate ACKs release (RFC 3042, section 2).
    limited: u64,
    /// One pending retransmission out of order.
    again: Option<(u64, SendReason)>,
    flying: VecDeque<Flying>,
    last_short_end: u64,
    was_idle: bool,
    /// Time of the last segment with sequence length.
    pub(super) last_sent: Nanoseconds,
    pub(super) retries: u32,
    pub retransmission_timer: Option<Nanoseconds>,
    persist_timer: Option<Nanoseconds>,
    persist_backoff: u32,
    /// Grant of an ensemble, in place of the own window.
    pub grant: Option<Grant>,
    pacing: Pacing,
    /// Time until which data waits for the pacer.
    paced_until: Option<Nanoseconds>,
    /// Offset that a window probe reached. The peer can acknowledge it.
    probed: u64,
    /// The timed segment without timestamps (BSD's t_rtt): the offset whose ACK ends the measurement, and the
    /// sending time.
    timed: Option<(u64, Nanoseconds)>,
    /// Recovery by SACK blocks, if both ends negotiated SACK.
    pub(super) selective: Option<Selective>,
    usage: WindowUsage,
    /// The rule that ends the first slow start early, if the stack has it.
    hystart: Option<HystartPlusPlus>,
    /// Offset up to which further marks belong to the queue of the last reduction.
    reduced_until: u64,
    pub(super) has_reduced: bool,
    /// The pacer of all new data, if the stack has it.
    pub(super) rate_pacer: Option<RatePacer>,
    /// The model that sets rate and window, if the stack has it.
    pub(super) bbr: Option<Box<Bbr>>,
    /// The model's samples without SACK.
    pub(super) unsacked: Option<Box<Unsacked>>,
    /// True if data was sent since the last check of the window's usage.
    has_sent_more: bool,
}

impl Sender {
    #[must_use]
    pub fn new(stack: &Stack) -> Self {
        Sender {
            window: Window::new(stack, stack.mss),
            round_trip: RoundTrip::default(),
            mss: u64::from(stack.mss),
            una: 0,
            next: 1,
            max: 1,
            counted: 0,
            written: 1,
            is_closing: false,
            fin_sent: false,
            fin_was_sent: false,
            is_refusing: false,
            edge: 0,
            offered: 0,
            largest_window: 0,
            recovery: Recovery::None,
            is_held: false,
            duplicates: 0,
            limited: 0,
            again: None,
            flying: VecDeque::new(),
            last_short_end: 0,
            was_idle: true,
            last_sent: 0,
            retries: 0,
            retransmission_timer: None,
            persist_timer: None,
            persist_backoff: 0,
            grant: None,
            pacing: Pacing::Off,
            paced_until: None,
            probed: 0,
            timed: None,
            selective: None,
            usage: WindowUsage::default(),
            hystart: (stack.slow_start == SlowStart::HystartPlusPlus)
                .then(HystartPlusPlus::default),
            rate_pacer: (stack.rate_pacing || has_model(stack)).then(RatePacer::default),
            bbr: None,
            unsacked: None,
            reduced_until: 0,
            has_reduced: false,
            has_sent_more: false,
        }
    }

    /// Return true if the sender ever sent data up to this offset.
    #[must_use]
    pub fn has_sent(&self, ack: u64) -> bool {
        ack <= self.max.max(self.probed)
    }

    /// Handle the completed handshake: the segment size is known.
    pub fn established(&mut self, stack: &Stack, mss: u32, is_passive: bool, has_sack: bool) {
        self.mss = u64::from(mss);
        self.window = Window::new(stack, mss);
        self.selective = has_sack.then(|| Selective::new(stack, self.mss));
        self.bbr = has_model(stack).then(|| {
            let random = Random::new(0, 0);
            Box::new(Bbr::new(self.mss, self.window.initial(), random))
        });
        self.unsacked = (has_model(stack) && !has_sack).then(Box::default);
        if is_passive && stack.handshake_ack_opens_window {
            self.window.on_ack();
        }
    }

    /// Return true if the retransmission timer is due.
    #[must_use]
    pub fn is_timed_out(&self, now: Nanoseconds) -> bool {
        self.retransmission_timer.is_some_and(|time| time <= now)
    }

    /// Return the rest of the peer's receive window beyond the acknowledged data.
    #[must_use]
    pub fn receive_window(&self) -> u64 {
        self.edge.saturating_sub(self.una)
    }

    #[must_use]
    pub fn flight(&self) -> u64 {
        self.next.saturating_sub(self.una)
    }

    #[must_use]
    pub fn has_unsent(&self) -> bool {
        self.next < self.written || self.is_closing && !self.fin_sent
    }

    /// Return the estimated data in flight, which counts against the congestion window.
    #[must_use]
    pub fn pipe(&self) -> u64 {
        let selective = self.selective.as_ref().map(Selective::pipe);
        selective.unwrap_or_else(|| self.flight())
    }

    /// Return BayFullTcp's offset of the FIN on an ACK without data, while data must be retransmitted.
    #[must_use]
    pub fn early_fin(&self) -> Option<u64> {
        (self.fin_was_sent && self.next < self.written).then_some(self.next)
    }

    /// Return true if all written data and the FIN are acknowledged.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.fin_sent && self.una > self.written
    }

    pub fn write(&mut self, bytes: u64, buffer: u64) -> u64 {
        self.note_application_limit();
        let held = self.written - self.una.max(1);
        let taken = bytes.min(buffer.saturating_sub(held));
        self.written += taken;
        self.is_refusing = taken < bytes;
        taken
    }

    /// Return true if a blocked writer can continue.
    #[must_use]
    pub fn has_room(&self, stack: &Stack) -> bool {
        let held = self.written - self.una.max(1);
        let room = stack.send_buffer.saturating_sub(held);
        room >= stack.writer_wakes.room(stack.send_buffer).max(1)
    }

    pub fn close(&mut self) {
        self.is_closing = true;
    }

    /// Begin a run of sending. Nagle's algorithm uses the flight before the run.
    pub fn begin_run(&mut self) {
        self.was_idle = self.una.max(1) == self.max;
    }

    /// Record the peer's window from a segment.
    pub fn offer(&mut self, ack: u64, window: u32) -> bool {
        let is_update = u64::from(window) != self.offered || ack > self.una;
        self.offered = u64::from(window);
        self.largest_window = self.largest_window.max(self.offered);
        self.edge = self.edge.max(ack + self.offered);
        if self.edge >= self.next + self.mss {
            self.persist_timer = None;
            self.persist_backoff = 0;
        }
        is_update
    }

    /// Return the next range to send now, if any.
    pub fn poll(&mut self, now: Nanoseconds, stack: &Stack) -> Option<Stretch> {
        let stretch = self
            .poll_lost(now, stack)
            .or_else(|| self.poll_unsent(now, stack));
        if stretch.is_some() {
            self.has_sent_more = true;
        } else if counts_bytes(stack) {
            self.record_usage(now, stack);
        }
        stretch
    }

    fn poll_unsent(&mut self, now: Nanoseconds, stack: &Stack) -> Option<Stretch> {
        if let Some((start, reason)) = self.again.take() {
            if start < self.max {
                return Some(self.send_again(start, reason, now, stack));
            }
        }
        if self.is_held {
            return None;
        }
        self.restart_after_idle(now, stack);
        let grant = self.granted(now);
        let payload = self.sendable(grant.bytes, stack);
        self.paced_until = grant
            .paced_until
            .filter(|_| payload == 0 && self.next < self.written);
        if payload == 0 {
            return self.lone_fin(now, stack);
        }
        if payload < self.mss
            && self.next >= self.max
            && !self.short_segment(payload).may_go(stack.nagle)
        {
            return None;
        }
        Some(self.send(self.next, payload, self.reason_of_next(), now, stack))
    }

    #[must_use]
    pub fn deadline(&self) -> Option<Nanoseconds> {
        let selective = self.selective.as_ref().and_then(Selective::deadline);
        [
            self.retransmission_timer,
            self.persist_timer,
            self.paced_until,
            selective,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Return the reason of the next segment. After a timeout, earlier data is retransmitted as the window
    /// grows.
    fn reason_of_next(&self) -> SendReason {
        if self.next < self.max {
            SendReason::RetransmissionTimeout
        } else {
            SendReason::New
        }
    }

    fn send_again(
        &mut self,
        start: u64,
        reason: SendReason,
        now: Nanoseconds,
        stack: &Stack,
    ) -> Stretch {
        let start = start.max(1);
        let payload = self.mss.min(self.written.saturating_sub(start));
        let resumed = self.next;
        let stretch = self.send(start, payload, reason, now, stack);
        if reason != SendReason::RetransmissionTimeout && stack.congestion != Congestion::Tahoe {
            self.next = self.next.max(resumed);
        }
        if reason == SendReason::FastRetransmit
            && is_bay(stack)
            && resumed + payload > self.highest()
        {
            self.counted = resumed + payload;
            self.timed.get_or_insert((start, now));
        }
        stretch
    }

    pub(super) fn send(
        &mut self,
        start: u64,
        payload: u64,
        reason: SendReason,
        now: Nanoseconds,
        stack: &Stack,
    ) -> Stretch {
        let stretch = self.stretch(start, payload, reason, stack);
        self.fin_sent |= stretch.has_fin;
        self.fin_was_sent |= stretch.has_fin;
        let end = start + payload + u64::from(stretch.has_fin);
        if payload < self.mss && payload > 0 {
            self.last_short_end = start + payload;
        }
        self.sent(start, end, now, stack);
        self.arm(now, stack);
        stretch
    }

    fn sent(&mut self, start: u64, end: u64, now: Nanoseconds, stack: &Stack) {
        self.restart_model(now);
        if start >= self.max && self.pacing.is_on() {
            self.pacing.sent(Some(self.path()), start, now);
        }
        if start >= self.max && end > start {
            self.note_paced(end - start, now);
        }
        if let Some(unsacked) = &mut self.unsacked {
            unsacked.sent(start, end, start >= self.max, now);
        }
        if let Some(selective) = &mut self.selective {
            // The data on a SYN is retransmitted with the SYN.
            selective.sent(start, end, start >= self.max, now);
        } else if start < self.max {
            // Karn's rule: a retransmitted segment gives no sample.
            self.timed = None;
            for flying in &mut self.flying {
                flying.is_retransmission |= flying.end > start && flying.end <= end;
            }
        } else if stack.timestamps {
            self.flying.push_back(Flying {
                end,
                sent: now,
                is_retransmission: false,
            });
        } else if self.timed.is_none() {
            let offset = if stack.retransmission.times_acks {
                start
            } else {
                end
            };
            if end > self.counted {
                self.timed = Some((offset, now));
            }
        }
        self.next = end;
        self.max = self.max.max(end);
        self.last_sent = now;
    }

    fn stretch(&self, start: u64, payload: u64, reason: SendReason, stack: &Stack) -> Stretch {
        let is_last = start + payload == self.written;
        // True if a lone FIN would wait for earlier data.
        let is_behind = self.una.max(1) < start;
        let may_ride = stack.fin_with_data || payload == 0 || !is_behind;
        let has_fin = self.is_closing && is_last && may_ride;
        Stretch {
            start,
            payload,
            reason,
            has_fin,
            has_push: is_last && payload > 0,
            is_new: start >= self.max,
        }
    }

    /// Return a FIN alone, after all data is sent.
    fn lone_fin(&mut self, now: Nanoseconds, stack: &Stack) -> Option<Stretch> {
        let is_ready = self.is_closing && !self.fin_sent && self.next >= self.written;
        if !is_ready || !stack.fin_with_data && self.una < self.written {
            return None;
        }
        Some(self.send(self.written, 0, SendReason::New, now, stack))
    }

    pub(super) fn arm(&mut self, now: Nanoseconds, stack: &Stack) {
        if self.una >= self.highest() {
            self.retransmission_timer = None;
        } else if self.retransmission_timer.is_none() {
            let timeout = self.round_trip.timeout(&stack.retransmission);
            self.retransmission_timer = Some(deadline(now, timeout, &stack.retransmission));
        }
        if let Some(selective) = &mut self.selective {
            selective.arm_probe(self.round_trip.smoothed(), self.retransmission_timer, now);
        }
    }
}

fn has_model(stack: &Stack) -> bool {
    stack.congestion == Congestion::Bbr
}

fn is_bay(stack: &Stack) -> bool {
    stack.congestion == Congestion::BayReno
}

/// Return true if the window grows by acknowledged bytes, and only while it is used.
fn counts_bytes(stack: &Stack) -> bool {
    stack.congestion == Congestion::Cubic
        || stack.window_in_segments
        || stack.slow_start == SlowStart::HystartPlusPlus
}
