//! The room for new data, and the limit of the rest.

use crate::sharing::Grant;
use crate::stack::{IdleRestart, Nanoseconds, Stack};
use crate::tcp::nagle::ShortSegment;
use crate::tcp::selective::Selective;
use crate::tcp::sender::{Recovery, Sender};
use crate::tcp::window_usage::Sending;
use crate::truth::Limit;

impl Limit {
    /// Return the limit of an ensemble member whose own window has room. The others use the ensemble's
    /// window, or the stack's maximum for all members.
    fn of_others(grant: Grant) -> Limit {
        if grant.is_of_stack {
            Limit::MaxWindow
        } else {
            Limit::Scheduler
        }
    }
}

impl Sender {
    /// Return the sender's limit, once [`Sender::poll`] returns nothing.
    #[must_use]
    pub fn limit(&self, stack: &Stack) -> Limit {
        if self.next >= self.written {
            return if self.is_refusing {
                Limit::SendBuffer
            } else {
                Limit::Application
            };
        }
        match self.selective.as_ref().and_then(Selective::limit) {
            Some(Limit::FastRecovery) if self.has_congestion_room() => {}
            Some(limit) => return limit,
            None => {}
        }
        match self.recovery {
            _ if self.next < self.max => return Limit::Timeout,
            _ if self.paced_until.is_some() => return Limit::Pacing,
            Recovery::Fast { .. } if !self.has_congestion_room() => return Limit::FastRecovery,
            _ => {}
        }
        let by_congestion = self.own_room();
        if self.sendable(by_congestion, stack) > 0 {
            return match self.grant {
                Some(grant) if self.sendable(grant.bytes, stack) == 0 => Limit::of_others(grant),
                _ => Limit::Nagle,
            };
        }
        let room = self.edge.saturating_sub(self.next);
        // The whole rest is sent, even if it is less than a segment.
        let unsent = self.written.saturating_sub(self.next);
        let fits_receiver = room >= self.mss.min(unsent);
        let by_stack = self.stack_edge(stack).saturating_sub(self.next);
        // Only full segments are sent (sender's SWS avoidance). Windows with room for equally many segments
        // are therefore equal. Of equal windows, the receive window is visible on the wire.
        let mss = self.mss.max(1);
        let [room, by_congestion, by_stack] = [room, by_congestion, by_stack].map(|it| it / mss);
        if self.offered == 0 {
            Limit::ZeroWindow
        } else if !fits_receiver && room <= by_congestion && room <= by_stack {
            Limit::ReceiveWindow
        } else if by_stack < by_congestion {
            Limit::MaxWindow
        } else if self.window.is_in_slow_start() {
            Limit::SlowStart
        } else {
            Limit::CongestionAvoidance
        }
    }

    /// Return true if the congestion window has room for the next segment. Even in fast recovery, another
    /// window or Nagle's algorithm is then the limit.
    fn has_congestion_room(&self) -> bool {
        let unsent = self.written.saturating_sub(self.next);
        self.own_room() >= self.mss.min(unsent)
    }

    /// Return the bytes that the windows release as the next segment. Window room below a full segment is
    /// used only if the data ends there (sender's SWS avoidance, RFC 1122, section 4.2.3.4).
    pub(super) fn sendable(&self, granted: u64, stack: &Stack) -> u64 {
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

    /// Return the right edge that the congestion window permits.
    pub(super) fn congestion_edge(&self) -> u64 {
        match &self.selective {
            // An unacknowledged SYN of T/TCP is no data.
            None => self.una.max(1) + self.window.cwnd + self.limited,
            Some(selective) => self.next + self.window.cwnd.saturating_sub(selective.pipe()),
        }
    }

    /// Return the rest of the congestion window. The members of an ensemble fill their window together.
    fn room_left(&self) -> u64 {
        let own = self.own_room();
        let of_all = self
            .grant
            .filter(|grant| grant.paced_until.is_none() && !grant.is_of_stack);
        of_all.map_or(own, |grant| own.min(grant.bytes))
    }

    /// Record after each run of sending whether the window is full or less than half used.
    pub(super) fn record_usage(&mut self, now: Nanoseconds, stack: &Stack) {
        let room = self.room_left();
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
        if stack.restarts() != IdleRestart::Decay || self.usage.may_grow(cwnd, is_slow_start) {
            return;
        }
        let timeout = self.round_trip.timeout(&stack.retransmission);
        if let Some(cwnd) = self.usage.shrunk(cwnd, self.window.initial(), timeout, now) {
            self.window.shrink(cwnd);
        }
    }

    /// Return the rest of the own congestion window.
    pub(super) fn own_room(&self) -> u64 {
        self.congestion_edge().saturating_sub(self.next)
    }

    pub(super) fn stack_edge(&self, stack: &Stack) -> u64 {
        match stack.max_window_segments {
            Some(count) => self.una.max(1) + u64::from(count) * self.mss,
            None => u64::MAX,
        }
    }

    pub(super) fn short_segment(&self, payload: u64) -> ShortSegment {
        ShortSegment {
            payload,
            is_last: self.next + payload == self.written,
            has_fin: self.is_closing && self.next + payload == self.written,
            was_idle: self.was_idle,
            is_idle: self.una.max(1) == self.max,
            last_short_end: self.last_short_end,
            una: self.una,
            largest_window: self.largest_window,
        }
    }

    /// Apply the stack's restart rule to a window that was idle for one RTO (RFC 5681, section 4.1).
    pub(super) fn restart_after_idle(&mut self, now: Nanoseconds, stack: &Stack) {
        let timeout = self.round_trip.timeout(&stack.retransmission);
        let idle = now.saturating_sub(self.last_sent);
        let is_idle = self.una == self.max && self.max > 1 && self.next < self.written;
        if is_idle {
            self.window.resumed(idle);
        }
        // An ensemble's window can be in use while this member is idle.
        if !is_idle || idle <= timeout || self.grant.is_some() {
            return;
        }
        self.usage.restarted(now);
        match stack.restarts() {
            IdleRestart::Keep => {}
            IdleRestart::Pace => self.pace(stack),
            IdleRestart::Reset => self.window.restart(),
            IdleRestart::Decay => self.window.decay(idle, timeout),
        }
        if let Some(segments) = stack.restart_cap_segments {
            self.window.cap(segments);
        }
        self.last_sent = now;
    }
}
