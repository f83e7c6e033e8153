//! What a loss leaves of the window, and an idle time behind it.
//!
//! Slow start ends at half of what was in flight (RFC 5681, equation 4). A timer leaves a window of a segment, and an idle
//! time one of a segment at the least (section 4.1); with each ACK it grows by one until it is as large as that.

use super::{Spread, UsedWindow, THRESHOLD_MIN};

impl UsedWindow {
    /// It began with this threshold, which others before it had learnt (RFC 2140, section 3).
    pub(crate) fn inherits(&mut self, threshold: Option<i64>) {
        self.threshold = self.threshold.or(threshold);
    }

    /// The sender was idle for longer than its retransmission timeout: its window may begin anew.
    pub(crate) fn was_idle(&mut self) {
        self.largest = 0;
        self.least = 0;
        self.restarts_with = self.least_restarted();
        self.by_acks.begins_anew(0);
        self.avoiding = 0;
        self.regrown = None;
        self.restarted = self.threshold.map(|_| self.full_bytes);
        self.is_halved = false;
        self.is_paced = false;
        self.spread = Spread::default();
        self.may_be_restarted();
    }

    /// Data from `start` on was sent again when all up to `end` had been sent, maybe by a timer.
    pub(crate) fn had_loss(&mut self, start: i64, end: i64, by_timer: bool) {
        self.is_all_again = by_timer && end.saturating_sub(start) <= self.full_bytes;
        self.before_idle = None;
        self.goes_on = None;
        self.sooner = None;
        self.kept = None;
        self.largest = 0;
        self.least = 0;
        self.restarts_with = 0;
        self.by_acks.begins_anew(0);
        self.avoiding = 0;
        self.opened = 0;
        self.restarted = None;
        self.is_paced = false;
        self.spread = Spread::default();
        if start >= self.recovers_until {
            self.recovers_until = end;
            self.regrown = by_timer.then_some(self.full_bytes);
            self.is_halved = !by_timer;
            self.begins_anew_with(end.saturating_sub(start));
            if by_timer {
                self.begins_with_a_segment(start);
            } else {
                self.begins_with_the_threshold(start, end);
            }
        } else {
            self.loses_more(start, by_timer);
        }
    }

    /// Data from `start` to `end` was lost before it was seen, and sent again by a timer.
    pub(crate) fn had_lost_unseen(&mut self, start: i64, end: i64, full_bytes: u32) {
        self.full_bytes = i64::from(full_bytes);
        self.before_idle = None;
        self.goes_on = None;
        self.sooner = None;
        self.kept = None;
        if self.unseen.1 != start {
            self.largest = 0;
            self.least = 0;
            self.by_acks.begins_anew(0);
            self.avoiding = 0;
            self.opened = 0;
            self.restarted = None;
            self.regrown = Some(self.full_bytes);
            self.is_halved = false;
            self.unseen.0 = start;
            self.begins_with_a_segment(start);
        }
        self.unseen.1 = end;
        self.begins_anew_with(end.saturating_sub(self.unseen.0));
    }

    /// Slow start ends at half of what was in flight, and not before two segments (RFC 5681, equation 4).
    pub(super) fn begins_anew_with(&mut self, flight: i64) {
        let half = (flight / 2).checked_div(self.full_bytes).unwrap_or(0);
        self.threshold = Some(half.max(THRESHOLD_MIN).saturating_mul(self.full_bytes));
    }
}

#[cfg(test)]
mod tests {
    use super::super::Limit;
    use super::*;

    /// What limits a sender whose threshold is three segments, and that has had so many ACKs since it was idle, with two
    /// segments outstanding.
    fn limit_since_idle(acks: i64, loses_more: bool) -> Limit {
        let start = (1 << 32) - 7000;
        let mut end = start + 6000;
        let mut window = UsedWindow::default();
        window.hears(1, start);
        window.stops(end, 1000);
        window.had_loss(start, end, true);
        window.hears(2, end);
        window.was_idle();
        for _ in 0..acks {
            end += 1000;
            window.stops(end, 1000);
            window.hears(3, end);
        }
        if loses_more {
            window.had_loss(end, end + 6000, true);
            end += 6000;
            window.hears(4, end);
        }
        window.stops(end + 2000, 1000);
        window.limit(end + 2000, 1000, false)
    }

    #[test]
    fn a_window_that_began_anew_when_its_sender_was_idle_has_reached_its_threshold_after_so_many_acks(
    ) {
        assert_eq!(limit_since_idle(1, false), Limit::SlowStart);
        assert_eq!(limit_since_idle(2, false), Limit::CongestionAvoidance);
        assert_eq!(limit_since_idle(2, true), Limit::SlowStart, "another loss");
    }
}
