//! Whether a sender uses its congestion window: one that is not used does not grow, and comes
//! down after a while (RFC 7661's problem, solved as in RFC 2861 and Linux).

use crate::stack::Nanoseconds;

/// `tcp_cwnd_validate` and `tcp_is_cwnd_limited` of Linux, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowUsage {
    is_limited: bool,
    /// The most that was in flight in the present window of data, which ends at this offset.
    most: u64,
    window_end: u64,
    /// The most in flight since the window was last full, or judged.
    used: u64,
    since: Nanoseconds,
}

/// What was in flight after a run of sending.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    pub una: u64,
    pub next: u64,
    pub flight: u64,
    /// The congestion window kept more from being sent.
    pub is_limited: bool,
}

impl WindowUsage {
    /// A run of sending is over, or an ACK came that let nothing go.
    pub fn record(&mut self, sending: Sending, window: u64, is_slow_start: bool, now: Nanoseconds) {
        let is_new_window = sending.una >= self.window_end;
        let is_more = !self.is_limited && sending.flight > self.most;
        if is_new_window || sending.is_limited || is_more {
            self.is_limited = sending.is_limited;
            self.most = sending.flight;
            self.window_end = sending.next;
        }
        if self.may_grow(window, is_slow_start) {
            self.used = 0;
            self.since = now;
        } else {
            self.used = self.used.max(sending.flight);
        }
    }

    /// Growth is for windows that were full; in slow start up to twice what was in flight.
    #[must_use]
    pub fn may_grow(&self, window: u64, is_slow_start: bool) -> bool {
        self.is_limited || is_slow_start && window < 2 * self.most
    }

    /// The window after one timeout in which the application did not fill it: half-way down to
    /// what it used, and not below the initial window (RFC 2861, section 3.1).
    pub fn shrunk(
        &mut self,
        window: u64,
        initial: u64,
        timeout: Nanoseconds,
        now: Nanoseconds,
    ) -> Option<u64> {
        if now.saturating_sub(self.since) < timeout {
            return None;
        }
        let used = self.used.max(initial);
        self.used = 0;
        self.since = now;
        (used < window).then_some((window + used) / 2)
    }

    /// The window was set anew after idleness.
    pub fn restarted(&mut self, now: Nanoseconds) {
        self.used = 0;
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;

    fn sending(una: u64, next: u64, is_limited: bool) -> Sending {
        Sending {
            una,
            next,
            flight: next - una,
            is_limited,
        }
    }

    #[test]
    fn slow_start_goes_to_twice_what_was_in_flight() {
        let mut usage = WindowUsage::default();
        usage.record(sending(0, 7000, false), 10_000, true, 0);
        assert!(usage.may_grow(13_999, true));
        assert!(!usage.may_grow(14_000, true));
        assert!(
            !usage.may_grow(10_000, false),
            "above the threshold only when full"
        );
    }

    #[test]
    fn a_full_window_may_grow_until_a_window_of_data_later() {
        let mut usage = WindowUsage::default();
        usage.record(sending(0, 10_000, true), 10_000, false, 0);
        usage.record(sending(5000, 12_000, false), 10_000, false, 1);
        assert!(usage.may_grow(10_000, false));
        usage.record(sending(12_000, 14_000, false), 10_000, false, 2);
        assert!(!usage.may_grow(10_000, false));
    }

    #[test]
    fn a_window_not_filled_for_a_timeout_comes_half_way_down() {
        let mut usage = WindowUsage::default();
        usage.record(sending(0, 20_000, false), 80_000, false, 0);
        assert_eq!(usage.shrunk(80_000, 10_000, 300 * MS, 299 * MS), None);
        assert_eq!(
            usage.shrunk(80_000, 10_000, 300 * MS, 300 * MS),
            Some(50_000)
        );
        assert_eq!(usage.shrunk(50_000, 10_000, 300 * MS, 400 * MS), None);
    }
}
