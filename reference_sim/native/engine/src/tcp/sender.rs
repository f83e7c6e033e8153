//! The sending half: what was written, what may go, what is sent again.

use std::collections::VecDeque;

use crate::stack::{Congestion, IdleRestart, Nanoseconds, Stack};
use crate::tcp::congestion::Window;
use crate::tcp::nagle::ShortSegment;
use crate::tcp::round_trip::{deadline, RoundTrip};
use crate::truth::{Limit, SendReason};

/// A stretch of the stream that goes out as one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    pub start: u64,
    pub payload: u64,
    pub reason: SendReason,
    pub has_fin: bool,
    pub has_push: bool,
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
    /// Until all that had been sent when it began is acknowledged.
    Fast {
        until: u64,
    },
    /// After a timeout: what was sent before it is sent again (go-back-N).
    Timeout {
        until: u64,
    },
}

/// Offsets: the SYN is 0, data begins at 1.
#[derive(Clone, Debug)]
pub struct Sender {
    pub window: Window,
    pub round_trip: RoundTrip,
    pub mss: u64,
    /// First offset not acknowledged, next one to send, first one never sent.
    pub una: u64,
    next: u64,
    pub max: u64,
    /// End of what was written, and whether the application has closed behind it.
    pub written: u64,
    is_closing: bool,
    pub fin_sent: bool,
    /// A write was not taken whole.
    pub is_refusing: bool,
    /// The right edge that the peer offers, and the largest window that it ever did.
    edge: u64,
    offered: u64,
    largest_window: u64,
    recovery: Recovery,
    duplicates: u32,
    /// Something to send out of turn, once.
    again: Option<(u64, SendReason)>,
    flying: VecDeque<Flying>,
    last_short_end: u64,
    was_idle: bool,
    /// When anything with sequence length was last sent.
    last_sent: Nanoseconds,
    retries: u32,
    pub retransmission_timer: Option<Nanoseconds>,
    persist_timer: Option<Nanoseconds>,
    persist_backoff: u32,
    /// A window probe reached up to here: the peer may acknowledge it.
    probed: u64,
    /// The segment whose round trip is being timed, where there are no timestamps (BSD's t_rtt).
    timed: Option<(u64, Nanoseconds)>,
}

/// A probe of a closed window carries one byte (RFC 9293, section 3.8.6.1).
const PROBE_BYTES: u64 = 1;
/// The longest time between two probes (4.4BSD: TCPTV_PERSMAX).
const PERSIST_MAX_NS: Nanoseconds = 60_000_000_000;

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
            written: 1,
            is_closing: false,
            fin_sent: false,
            is_refusing: false,
            edge: 0,
            offered: 0,
            largest_window: 0,
            recovery: Recovery::None,
            duplicates: 0,
            again: None,
            flying: VecDeque::new(),
            last_short_end: 0,
            was_idle: true,
            last_sent: 0,
            retries: 0,
            retransmission_timer: None,
            persist_timer: None,
            persist_backoff: 0,
            probed: 0,
            timed: None,
        }
    }

    /// Whether anything up to here was ever sent.
    #[must_use]
    pub fn has_sent(&self, ack: u64) -> bool {
        ack <= self.max.max(self.probed)
    }

    /// The handshake is done: the segment size is known.
    pub fn established(&mut self, stack: &Stack, mss: u32, is_passive: bool) {
        self.mss = u64::from(mss);
        self.window = Window::new(stack, mss);
        if is_passive && stack.handshake_ack_opens_window {
            self.window.acknowledged();
        }
    }

    #[must_use]
    pub fn flight(&self) -> u64 {
        self.next.saturating_sub(self.una)
    }

    #[must_use]
    pub fn has_unsent(&self) -> bool {
        self.next < self.written || self.is_closing && !self.fin_sent
    }

    /// All that was written, and the FIN behind it, is acknowledged.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.fin_sent && self.una > self.written
    }

    pub fn write(&mut self, bytes: u64, buffer: u64) -> u64 {
        let held = self.written - self.una.max(1);
        let taken = bytes.min(buffer.saturating_sub(held));
        self.written += taken;
        self.is_refusing = taken < bytes;
        taken
    }

    pub fn close(&mut self) {
        self.is_closing = true;
    }

    /// A run of sending begins: Nagle's algorithm looks at what was in flight before it.
    pub fn begin_run(&mut self) {
        self.was_idle = self.una == self.max;
    }

    /// The peer's window as a segment offers it.
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

    /// An ACK of something new.
    pub fn acknowledged(&mut self, ack: u64, now: Nanoseconds, stack: &Stack) {
        let acked = ack - self.una;
        self.sample(ack, now, stack);
        self.una = ack;
        self.next = self.next.max(ack);
        self.max = self.max.max(ack);
        self.retries = 0;
        self.duplicates = 0;
        match self.recovery {
            Recovery::Fast { until } if ack < until && stack.congestion != Congestion::Reno => {
                self.window.deflate(acked);
                self.again = Some((ack, SendReason::Recovery));
            }
            Recovery::Fast { .. } => {
                self.window.recovered();
                self.recovery = Recovery::None;
            }
            Recovery::Timeout { until } => {
                self.window.acknowledged();
                if ack >= until {
                    self.recovery = Recovery::None;
                }
            }
            Recovery::None => self.window.acknowledged(),
        }
        self.retransmission_timer = None;
        self.arm(now, stack);
    }

    /// An ACK that repeats the last one, while data is in flight (RFC 5681, section 2).
    pub fn duplicate(&mut self, now: Nanoseconds, stack: &Stack) {
        if let Recovery::Fast { .. } = self.recovery {
            self.window.inflate();
            return;
        }
        self.duplicates += 1;
        if self.duplicates != stack.retransmission.duplicate_ack_threshold {
            return;
        }
        // What a timeout sends again brings duplicates of its own (RFC 6582, section 4.1).
        if matches!(self.recovery, Recovery::Timeout { until } if self.una < until) {
            return;
        }
        self.window.lost(self.max - self.una);
        if stack.congestion == Congestion::Tahoe {
            self.recovery = Recovery::Timeout { until: self.max };
            self.go_back();
            self.again = Some((self.una, SendReason::FastRetransmit));
        } else {
            self.recovery = Recovery::Fast { until: self.max };
            self.again = Some((self.una, SendReason::FastRetransmit));
        }
        self.retransmission_timer = None;
        self.arm(now, stack);
    }

    /// The retransmission timer went off: whether there were too many.
    pub fn timed_out(&mut self, now: Nanoseconds, stack: &Stack) -> bool {
        self.retries += 1;
        self.window
            .timed_out(self.max - self.una, self.retries == 1);
        self.round_trip.timed_out();
        self.recovery = Recovery::Timeout { until: self.max };
        self.duplicates = 0;
        self.go_back();
        self.again = Some((self.una, SendReason::RetransmissionTimeout));
        self.retransmission_timer = None;
        self.arm(now, stack);
        self.retries > stack.retransmission.max_retries
    }

    /// All that is in flight is taken for lost.
    fn go_back(&mut self) {
        self.next = self.una.max(1);
        if self.fin_sent && self.una <= self.written {
            self.fin_sent = false;
        }
        self.timed = None;
        for flying in &mut self.flying {
            flying.is_retransmission = true;
        }
    }

    /// The next stretch to send now, if anything may go.
    pub fn poll(&mut self, now: Nanoseconds, stack: &Stack) -> Option<Stretch> {
        if let Some((start, reason)) = self.again.take() {
            if start < self.max {
                return Some(self.send_again(start, reason, now, stack));
            }
        }
        self.restart_after_idle(now, stack);
        let payload = self.sendable(stack);
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

    /// A probe if the peer's window has no room for a whole segment, nothing is in flight, and
    /// the persist timer has gone off. What room there is is used then (4.4BSD: t_force).
    pub fn probe(&mut self, now: Nanoseconds, stack: &Stack) -> Option<Stretch> {
        let is_stuck = self.una == self.max && self.next < self.written;
        if !is_stuck {
            self.persist_timer = None;
            return None;
        }
        let is_time = self.persist_timer.is_some_and(|time| time <= now);
        if self.persist_timer.is_none() || is_time {
            self.persist_backoff += u32::from(is_time);
            self.persist_timer = Some(now + self.persist_timeout(stack));
        }
        if !is_time {
            return None;
        }
        let room = self.edge.saturating_sub(self.next).min(self.mss);
        if room > 0 {
            return Some(self.send(self.next, room, SendReason::WindowProbe, now, stack));
        }
        self.last_sent = now;
        self.probed = self.next + PROBE_BYTES;
        let stretch = self.stretch(self.next, PROBE_BYTES, SendReason::WindowProbe, stack);
        Some(Stretch {
            has_fin: false,
            ..stretch
        })
    }

    fn persist_timeout(&self, stack: &Stack) -> Nanoseconds {
        let timeout = self.round_trip.timeout(&stack.retransmission);
        (timeout << self.persist_backoff.min(8)).min(PERSIST_MAX_NS)
    }

    #[must_use]
    pub fn deadline(&self) -> Option<Nanoseconds> {
        [self.retransmission_timer, self.persist_timer]
            .into_iter()
            .flatten()
            .min()
    }

    /// What holds the sender back, once [`Sender::poll`] gives nothing.
    #[must_use]
    pub fn limit(&self, stack: &Stack) -> Limit {
        if self.next >= self.written {
            return if self.is_refusing {
                Limit::SendBuffer
            } else {
                Limit::Application
            };
        }
        match self.recovery {
            Recovery::Timeout { .. } if self.next < self.max => return Limit::Timeout,
            Recovery::Fast { .. } => return Limit::FastRecovery,
            _ => {}
        }
        let payload = self.sendable(stack);
        if payload > 0 {
            return Limit::Nagle;
        }
        let room = self.edge.saturating_sub(self.next);
        let by_congestion = (self.una + self.window.cwnd).saturating_sub(self.next);
        let by_stack = self.stack_edge(stack).saturating_sub(self.next);
        if self.offered == 0 {
            Limit::ZeroWindow
        } else if room <= by_congestion && room <= by_stack {
            Limit::ReceiveWindow
        } else if by_stack < by_congestion {
            Limit::MaxWindow
        } else if self.window.is_in_slow_start() {
            Limit::SlowStart
        } else {
            Limit::CongestionAvoidance
        }
    }

    /// Bytes that the windows let go as the next segment; a part of the window below a segment
    /// is left alone unless the data ends there (sender's SWS avoidance, RFC 1122, 4.2.3.4).
    fn sendable(&self, stack: &Stack) -> u64 {
        let congestion_edge = self.una + self.window.cwnd;
        let edge = self.edge.min(congestion_edge).min(self.stack_edge(stack));
        let unsent = self.written.saturating_sub(self.next);
        let payload = edge.saturating_sub(self.next).min(self.mss).min(unsent);
        let is_whole = payload == self.mss || payload == unsent;
        if is_whole || payload >= (self.largest_window / 2).max(1) && edge == self.edge {
            payload
        } else {
            0
        }
    }

    fn stack_edge(&self, stack: &Stack) -> u64 {
        match stack.max_window_segments {
            Some(count) => self.una + u64::from(count) * self.mss,
            None => u64::MAX,
        }
    }

    fn short_segment(&self, payload: u64) -> ShortSegment {
        ShortSegment {
            payload,
            is_last: self.next + payload == self.written,
            has_fin: self.is_closing && self.next + payload == self.written,
            was_idle: self.was_idle,
            last_short_end: self.last_short_end,
            una: self.una,
            largest_window: self.largest_window,
        }
    }

    /// After a timeout, what had been sent before goes out again as the window grows.
    fn reason_of_next(&self) -> SendReason {
        match self.recovery {
            Recovery::Timeout { .. } if self.next < self.max => SendReason::RetransmissionTimeout,
            _ => SendReason::New,
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
        stretch
    }

    fn send(
        &mut self,
        start: u64,
        payload: u64,
        reason: SendReason,
        now: Nanoseconds,
        stack: &Stack,
    ) -> Stretch {
        let stretch = self.stretch(start, payload, reason, stack);
        self.fin_sent |= stretch.has_fin;
        let end = start + payload + u64::from(stretch.has_fin);
        if payload < self.mss && payload > 0 {
            self.last_short_end = start + payload;
        }
        self.sent(start, end, now, stack);
        self.arm(now, stack);
        stretch
    }

    fn sent(&mut self, start: u64, end: u64, now: Nanoseconds, stack: &Stack) {
        if start < self.max {
            // Karn's rule: what was sent twice is no measure.
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
            self.timed = Some((end, now));
        }
        self.next = end;
        self.max = self.max.max(end);
        self.last_sent = now;
    }

    fn stretch(&self, start: u64, payload: u64, reason: SendReason, stack: &Stack) -> Stretch {
        let is_last = start + payload == self.written;
        let has_fin = self.is_closing && is_last && (stack.fin_with_data || payload == 0);
        Stretch {
            start,
            payload,
            reason,
            has_fin,
            has_push: is_last && payload > 0,
        }
    }

    /// A FIN behind data that is all sent.
    fn lone_fin(&mut self, now: Nanoseconds, stack: &Stack) -> Option<Stretch> {
        let is_ready = self.is_closing && !self.fin_sent && self.next >= self.written;
        if !is_ready || !stack.fin_with_data && self.una < self.written {
            return None;
        }
        Some(self.send(self.written, 0, SendReason::New, now, stack))
    }

    /// With timestamps the round trip of the newest segment that this ACK covers and that was sent
    /// once; without, that of the one segment that is timed.
    fn sample(&mut self, ack: u64, now: Nanoseconds, stack: &Stack) {
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
            self.round_trip.sample(sent, now, &stack.retransmission);
        }
    }

    fn arm(&mut self, now: Nanoseconds, stack: &Stack) {
        if self.una >= self.max {
            self.retransmission_timer = None;
        } else if self.retransmission_timer.is_none() {
            let timeout = self.round_trip.timeout(&stack.retransmission);
            self.retransmission_timer = Some(deadline(now, timeout, &stack.retransmission));
        }
    }

    /// What the stack makes of a window that was not used for a timeout (RFC 5681, section 4.1).
    fn restart_after_idle(&mut self, now: Nanoseconds, stack: &Stack) {
        let timeout = self.round_trip.timeout(&stack.retransmission);
        let idle = now.saturating_sub(self.last_sent);
        let is_idle = self.una == self.max && self.max > 1 && self.next < self.written;
        if !is_idle || idle <= timeout {
            return;
        }
        match stack.idle_restart {
            IdleRestart::Keep | IdleRestart::Pace => {}
            IdleRestart::Reset => self.window.restart(),
            IdleRestart::Decay => self.window.decay(idle, timeout),
        }
        self.last_sent = now;
    }
}
