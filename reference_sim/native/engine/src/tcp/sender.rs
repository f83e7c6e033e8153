//! The sending half: what was written, what may go, what is sent again.

use std::collections::VecDeque;

use crate::sharing::pacing::Pacing;
use crate::sharing::{Estimate, Grant, Path};
use crate::stack::{Congestion, IdleRestart, Nanoseconds, Stack};
use crate::tcp::congestion::Window;
use crate::tcp::cubic::Acked;
use crate::tcp::nagle::ShortSegment;
use crate::tcp::round_trip::{deadline, RoundTrip};
use crate::tcp::selective::Selective;
use crate::tcp::window_usage::{Sending, WindowUsage};
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
    pub(super) next: u64,
    pub max: u64,
    /// The same as BayFullTcp counts it: a fast retransmit moves it on as if it were new data.
    counted: u64,
    /// End of what was written, and whether the application has closed behind it.
    pub written: u64,
    is_closing: bool,
    pub fin_sent: bool,
    /// A write was not taken whole.
    pub is_refusing: bool,
    /// The right edge that the peer offers, and the largest window that it ever did.
    pub(super) edge: u64,
    offered: u64,
    largest_window: u64,
    recovery: Recovery,
    /// The ACK that began recovery lets nothing else go: BayFullTcp, as BSD, drops it then.
    is_held: bool,
    duplicates: u32,
    /// What the first duplicates let go beyond the congestion window (RFC 3042, section 2).
    limited: u64,
    /// Something to send out of turn, once.
    again: Option<(u64, SendReason)>,
    flying: VecDeque<Flying>,
    last_short_end: u64,
    was_idle: bool,
    /// When anything with sequence length was last sent.
    pub(super) last_sent: Nanoseconds,
    pub(super) retries: u32,
    pub retransmission_timer: Option<Nanoseconds>,
    persist_timer: Option<Nanoseconds>,
    persist_backoff: u32,
    /// What an ensemble lets go, in place of the own window.
    pub grant: Option<Grant>,
    pacing: Pacing,
    /// Data waits for the pacer, until then.
    paced_until: Option<Nanoseconds>,
    /// A window probe reached up to here: the peer may acknowledge it.
    probed: u64,
    /// The segment whose round trip is being timed, where there are no timestamps (BSD's t_rtt), by
    /// the offset whose ACK ends it.
    timed: Option<(u64, Nanoseconds)>,
    /// Recovery by SACK blocks, where both ends agreed to it.
    pub(super) selective: Option<Selective>,
    usage: WindowUsage,
    /// Something was sent since the window's usage was last looked at.
    has_sent_more: bool,
}

/// A probe of a closed window carries one byte (RFC 9293, section 3.8.6.1).
const PROBE_BYTES: u64 = 1;
/// Limited transmit lets so many segments go beyond the window (RFC 3042, section 2).
const LIMITED_SEGMENTS: u32 = 2;
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
            counted: 0,
            written: 1,
            is_closing: false,
            fin_sent: false,
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
            has_sent_more: false,
        }
    }

    /// Whether anything up to here was ever sent.
    #[must_use]
    pub fn has_sent(&self, ack: u64) -> bool {
        ack <= self.max.max(self.probed)
    }

    /// The handshake is done: the segment size is known.
    pub fn established(&mut self, stack: &Stack, mss: u32, is_passive: bool, has_sack: bool) {
        self.mss = u64::from(mss);
        self.window = Window::new(stack, mss);
        self.selective = has_sack.then(|| Selective::new(stack, self.mss));
        if is_passive && stack.handshake_ack_opens_window {
            self.window.acknowledged();
        }
    }

    /// What the peer's window still allows beyond what it has acknowledged.
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

    /// What is on its way as far as the sender knows: what counts against its congestion window.
    #[must_use]
    pub fn pipe(&self) -> u64 {
        let selective = self.selective.as_ref().map(Selective::pipe);
        selective.unwrap_or_else(|| self.flight())
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

    /// Whether a writer that was refused may go on.
    #[must_use]
    pub fn has_room(&self, stack: &Stack) -> bool {
        let held = self.written - self.una.max(1);
        let room = stack.send_buffer.saturating_sub(held);
        room >= stack.writer_wakes.room(stack.send_buffer).max(1)
    }

    pub fn close(&mut self) {
        self.is_closing = true;
    }

    /// A run of sending begins: Nagle's algorithm looks at what was in flight before it.
    pub fn begin_run(&mut self) {
        self.was_idle = self.una.max(1) == self.max;
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
    pub fn acknowledged(&mut self, ack: u64, sent: Nanoseconds, now: Nanoseconds, stack: &Stack) {
        let acked = ack - self.una;
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
        match self.recovery {
            Recovery::Fast { until } if ack < until && !is_left_by_any_ack(stack) => {
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
            Recovery::None => self.grow(acked, now, stack),
        }
        self.retransmission_timer = None;
        self.arm(now, stack);
    }

    /// The window grows by what was acknowledged; CUBIC's and Linux's only if it is used.
    pub(super) fn grow(&mut self, acked: u64, now: Nanoseconds, stack: &Stack) {
        if !counts_bytes(stack) {
            self.window.acknowledged();
        } else if self
            .usage
            .may_grow(self.window.cwnd, self.window.is_in_slow_start())
        {
            self.window.acknowledged_bytes(Acked {
                bytes: acked,
                mss: self.mss,
                now,
                smoothed_rtt: self.round_trip.smoothed().unwrap_or(0),
            });
        }
    }

    /// An ACK that repeats the last one, while data is in flight (RFC 5681, section 2).
    pub fn duplicate(&mut self, now: Nanoseconds, stack: &Stack) {
        if let Recovery::Fast { .. } = self.recovery {
            self.window.inflate();
            self.is_held = false;
            return;
        }
        self.count_duplicate(now, stack);
    }

    /// A sign of a loss that is no segment's leaving the network: it inflates no window.
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
        // What a timeout sends again brings duplicates of its own (RFC 6582, section 4.1).
        if !is_bay(stack)
            && matches!(self.recovery, Recovery::Timeout { until } if self.una < until)
        {
            return;
        }
        self.window.lost(self.used_window(stack));
        if stack.retransmission.fast_retransmit_backs_off {
            self.timed = None;
            self.round_trip.timed_out();
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

    /// The retransmission timer went off: whether there were too many.
    pub fn timed_out(&mut self, now: Nanoseconds, stack: &Stack) -> bool {
        // BayFullTcp's timer may run while nothing is in flight.
        self.retries += u32::from(self.una < self.max);
        self.window
            .timed_out(self.used_window(stack), self.retries == 1);
        self.round_trip.timed_out();
        if let Some(selective) = &mut self.selective {
            selective.timed_out(self.max, &mut self.window, now);
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

    /// Up to where ACKs are waited for.
    fn highest(&self) -> u64 {
        self.max.max(self.counted)
    }

    /// What a loss halves: what is in flight, or (ns-2's slowdown) what the windows let be.
    fn used_window(&self, stack: &Stack) -> u64 {
        match stack.max_window_segments {
            Some(count) if is_bay(stack) => u64::from(count) * self.mss,
            None if is_bay(stack) => u64::MAX,
            _ => self.max - self.una,
        }
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
        let stretch = self
            .poll_lost(now, stack)
            .or_else(|| self.poll_unsent(now, stack));
        if stretch.is_some() {
            self.has_sent_more = true;
        } else if counts_bytes(stack) {
            self.look_at_usage(now, stack);
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

    /// A probe if the peer's window has no room for a whole segment, nothing is in flight, and
    /// the persist timer has gone off. What room there is is used then (4.4BSD: t_force).
    pub fn probe(&mut self, now: Nanoseconds, stack: &Stack) -> Option<Stretch> {
        let is_stuck = self.una == self.max
            && self.next < self.written
            && self.edge < self.written.min(self.next + self.mss);
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
        if let Some(limit) = self.selective.as_ref().and_then(Selective::limit) {
            return limit;
        }
        match self.recovery {
            _ if self.next < self.max => return Limit::Timeout,
            Recovery::Fast { .. } => return Limit::FastRecovery,
            _ => {}
        }
        let by_congestion = self.own_room();
        let is_granted = self
            .grant
            .is_none_or(|grant| self.sendable(grant.bytes, stack) > 0);
        if self.paced_until.is_some() {
            return Limit::Pacing;
        }
        if self.sendable(by_congestion, stack) > 0 {
            return if is_granted {
                Limit::Nagle
            } else {
                Limit::Scheduler
            };
        }
        let room = self.edge.saturating_sub(self.next);
        let by_stack = self.stack_edge(stack).saturating_sub(self.next);
        // Only whole segments go (sender's SWS avoidance), so windows are equal that have room for as many;
        // and then it is the receiver's that shows on the wire.
        let mss = self.mss.max(1);
        let [room, by_congestion, by_stack] = [room, by_congestion, by_stack].map(|it| it / mss);
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
    fn sendable(&self, granted: u64, stack: &Stack) -> u64 {
        let congestion_edge = self.next.saturating_add(granted);
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

    /// How far the congestion window lets the sender go.
    fn congestion_edge(&self) -> u64 {
        match &self.selective {
            // A SYN that T/TCP has not seen acknowledged is no data.
            None => self.una.max(1) + self.window.cwnd + self.limited,
            Some(selective) => self.next + self.window.cwnd.saturating_sub(selective.pipe()),
        }
    }

    /// Whether the window is full, or not even half used: after each run of sending.
    fn look_at_usage(&mut self, now: Nanoseconds, stack: &Stack) {
        let room = self.congestion_edge().saturating_sub(self.next);
        let sending = Sending {
            una: self.una,
            next: self.next,
            flight: self.window.cwnd.saturating_sub(room),
            is_limited: room < self.mss,
        };
        if !self.has_sent_more && !sending.is_limited {
            return;
        }
        self.has_sent_more = false;
        let (cwnd, is_slow_start) = (self.window.cwnd, self.window.is_in_slow_start());
        self.usage.record(sending, cwnd, is_slow_start, now);
        if stack.idle_restart != IdleRestart::Decay || self.usage.may_grow(cwnd, is_slow_start) {
            return;
        }
        let timeout = self.round_trip.timeout(&stack.retransmission);
        if let Some(cwnd) = self.usage.shrunk(cwnd, self.window.initial(), timeout, now) {
            self.window.shrink(cwnd);
        }
    }

    /// What the own congestion window leaves.
    fn own_room(&self) -> u64 {
        self.congestion_edge().saturating_sub(self.next)
    }

    fn granted(&self, now: Nanoseconds) -> Grant {
        let own = || self.pacing.grant(self.own_room(), self.mss, now);
        self.grant.unwrap_or_else(own)
    }

    pub(super) fn end_pacing(&mut self, ack: u64) {
        let flight = self.max - self.una;
        if self.pacing.acknowledged(ack) && self.paced_until.take().is_some() {
            self.window.cwnd = self.window.cwnd.min(flight.max(self.mss));
        }
    }

    #[must_use]
    pub fn path(&self) -> Path {
        let estimate = |smoothed| Estimate {
            smoothed,
            variation: self.round_trip.variation(),
        };
        Path {
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            mss: u32::try_from(self.mss).unwrap_or(u32::MAX),
            round_trip: self.round_trip.smoothed().map(estimate),
        }
    }

    /// The first data, and a FIN behind it, as far as it fits on a SYN (RFC 1644, section 3.3). Its
    /// timer, and its round trip, are those of the SYN.
    pub fn on_syn(&mut self, mss: u32, now: Nanoseconds, stack: &Stack) -> Option<Stretch> {
        let payload = (self.written - 1).min(u64::from(mss));
        if payload == 0 && !self.is_closing {
            return None;
        }
        let stretch = self.send(1, payload, SendReason::New, now, stack);
        self.retransmission_timer = None;
        self.timed = None;
        self.flying.clear();
        Some(stretch)
    }

    /// The peer took the SYN, but not the data on it.
    pub fn send_first_again(&mut self) {
        self.again = (self.max > 1).then_some((1, SendReason::New));
    }

    /// Goes on with what is known of the path.
    pub fn adopt(&mut self, path: &Path) {
        self.window.cwnd = path.cwnd;
        self.window.ssthresh = path.ssthresh;
        if let Some(estimate) = path.round_trip {
            self.round_trip.learn(estimate.smoothed, estimate.variation);
        }
    }

    /// The next flight is spread, if the stack does that with a window that is not in use.
    pub fn pace(&mut self, stack: &Stack) {
        if stack.idle_restart == IdleRestart::Pace {
            self.pacing = Pacing::Armed;
        }
    }

    /// Whether lost data waits to be sent again.
    #[must_use]
    pub fn is_sending_again(&self) -> bool {
        self.again.is_some() || self.next < self.max && self.next < self.written
    }

    #[must_use]
    pub fn has_unsent_data(&self) -> bool {
        self.next < self.written
    }

    fn stack_edge(&self, stack: &Stack) -> u64 {
        match stack.max_window_segments {
            Some(count) => self.una.max(1) + u64::from(count) * self.mss,
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
        let end = start + payload + u64::from(stretch.has_fin);
        if payload < self.mss && payload > 0 {
            self.last_short_end = start + payload;
        }
        self.sent(start, end, now, stack);
        self.arm(now, stack);
        stretch
    }

    fn sent(&mut self, start: u64, end: u64, now: Nanoseconds, stack: &Stack) {
        if start >= self.max && self.pacing.is_on() {
            self.pacing.sent(Some(self.path()), start, now);
        }
        if let Some(selective) = &mut self.selective {
            // The data on a SYN goes out again with it.
            selective.sent(start, end, start >= self.max, now);
        } else if start < self.max {
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
        // The data that a lone FIN would wait for.
        let is_behind = self.una.max(1) < start;
        let may_ride = stack.fin_with_data || payload == 0 || !is_behind;
        let has_fin = self.is_closing && is_last && may_ride;
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

    /// The way of this ACK is the round trip; back-off ends with an ACK that reaches the segment
    /// that is timed, even if only its beginning (BayFullTcp's `ackno >= rtt_seq_`).
    fn time_ack(&mut self, ack: u64, sent: Nanoseconds, now: Nanoseconds, stack: &Stack) {
        let rules = &stack.retransmission;
        if self.timed.is_some_and(|(start, _)| ack >= start) {
            self.timed = None;
            self.round_trip.end_backoff();
        }
        self.round_trip.measure(sent, now, rules);
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

    /// What the stack makes of a window that was not used for a timeout (RFC 5681, section 4.1).
    fn restart_after_idle(&mut self, now: Nanoseconds, stack: &Stack) {
        let timeout = self.round_trip.timeout(&stack.retransmission);
        let idle = now.saturating_sub(self.last_sent);
        let is_idle = self.una == self.max && self.max > 1 && self.next < self.written;
        if is_idle {
            self.window.resumed(idle);
        }
        // An ensemble's window may be in use while this member is idle.
        if !is_idle || idle <= timeout || self.grant.is_some() {
            return;
        }
        self.usage.restarted(now);
        match stack.idle_restart {
            IdleRestart::Keep => {}
            IdleRestart::Pace => self.pace(stack),
            IdleRestart::Reset => self.window.restart(),
            IdleRestart::Decay => self.window.decay(idle, timeout),
        }
        self.last_sent = now;
    }
}

fn is_bay(stack: &Stack) -> bool {
    stack.congestion == Congestion::BayReno
}

/// Fast recovery ends with the first ACK of something new, even if not of all.
fn is_left_by_any_ack(stack: &Stack) -> bool {
    matches!(stack.congestion, Congestion::Reno | Congestion::BayReno)
}

/// Whether the window grows by bytes acknowledged, and only while it is used.
fn counts_bytes(stack: &Stack) -> bool {
    stack.congestion == Congestion::Cubic || stack.window_in_segments
}
