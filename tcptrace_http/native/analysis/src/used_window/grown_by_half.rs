//! A window that grew as none does that avoids congestion.
//!
//! One that avoids congestion grows by about a segment in a round trip (RFC 5681, section 3.1), and by no more than
//! half of itself (RFC 9438, section 4.2). In slow start each ACK opens it. So a sender that stopped when its window was
//! used up, and has half as much again in flight before the first ACK of anything newer can have come, was in slow start
//! until then: that ends no sooner than where its window is now, however much was in flight when something was lost.

use super::UsedWindow;

/// Once a segment is what a window grows by that avoids congestion.
const SEGMENTS_MIN: i64 = 2;

/// Where the sender had stopped, and with how much outstanding.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stopped {
    end: i64,
    acked: i64,
    outstanding: i64,
}

impl UsedWindow {
    /// The sender has stopped with all sent up to `end`: what was outstanding when it stopped before, if its window
    /// was in slow start then.
    pub(crate) fn grew_by_half(&mut self, end: i64) -> Option<i64> {
        let now = Stopped {
            end,
            acked: self.acked,
            outstanding: self.outstanding,
        };
        let before = std::mem::replace(&mut self.stopped, now);
        if self.is_recovering() {
            self.stopped = Stopped::default();
            return None;
        }
        let grown = now.outstanding.saturating_sub(before.outstanding);
        let least = self.full_bytes.saturating_mul(SEGMENTS_MIN);
        let is_of_round = before.outstanding > 0 && self.acked <= before.end;
        // What opens further than by what the ACKs were of had not been used up.
        let most = self.acked.saturating_sub(before.acked);
        let is_slow_start = grown >= least.max(before.outstanding / 2) && grown <= most;
        if !is_of_round || !is_slow_start {
            return None;
        }
        self.threshold = self.threshold.map(|it| it.max(now.outstanding));
        Some(before.outstanding)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Limit;
    use super::*;

    /// What was outstanding before a window grew by half that a timer had made anew, of six segments in flight, if it
    /// did: so many were in flight each time that its sender stopped, and all before was acknowledged. And what limits
    /// the sender then.
    fn grew(stops: &[i64]) -> (Option<i64>, Limit) {
        let mut window = UsedWindow::default();
        let mut end = (1 << 32) - 7000;
        window.hears(1, end - 6000);
        window.stops(end, 1000);
        window.had_loss(end - 6000, end, true);
        let mut grew = None;
        for segments in stops {
            window.hears(2, end);
            end += segments * 1000;
            window.stops(end, 1000);
            grew = window.grew_by_half(end);
        }
        (grew, window.limit(end, 1000, false))
    }

    #[test]
    fn a_window_that_doubles_was_in_slow_start_and_ends_that_no_sooner_than_where_it_is() {
        assert_eq!(grew(&[3, 6]), (Some(3000), Limit::CongestionAvoidance));
        assert_eq!(grew(&[3, 6, 4]).0, None);
    }

    #[test]
    fn a_window_that_grows_by_a_segment_may_avoid_congestion() {
        assert_eq!(grew(&[3, 4]), (None, Limit::CongestionAvoidance));
        assert_eq!(grew(&[1, 2]).0, None);
    }

    #[test]
    fn what_grows_by_more_than_the_acks_were_of_had_not_been_used_up() {
        assert_eq!(grew(&[3, 7]).0, None);
    }
}
