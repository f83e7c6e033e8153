//! The usage of the congestion window. An unused window does not grow, and is reduced after a while (RFC
//! 7661's problem, solved as in RFC 2861 and Linux).

use crate::stack::Nanoseconds;

/// Usage of the window in bytes (`tcp_cwnd_validate` and `tcp_is_cwnd_limited` of Linux).
#[derive(Clone, Copy, Debug, Default)]
pub struct WindowUsage {
    is_limited: bool,
    /// Maximum flight in the current window of data.
    most: u64,
    /// End of the current window of data.
    window_end: u64,
    /// Maximum flight since the window was last full or checked.
    used: u64,
    since: Nanoseconds,
}

/// The flight after a run of sending.
#[derive(Clone, Copy, Debug)]
pub struct Sending {
    pub una: u64,
    pub next: u64,
    pub flight: u64,
    /// True if the congestion window blocked further data.
    pub is_limited: bool,
}

impl WindowUsage {
    /// Record the end of a run of sending, or an ACK that released no data.
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

    /// Return true if the window can grow: it was full, or in slow start it is below twice the flight.
    #[must_use]
    pub fn may_grow(&self, window: u64, is_slow_start: bool) -> bool {
        self.is_limited || is_slow_start && window < 2 * self.most
    }

    /// Return the reduced window after one RTO in which the application did not fill it. The new window is
    /// halfway to the used one, and at least the initial window (RFC 2861, section 3.1).
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

    /// Reset the usage after an idle restart.
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
    fn slow_start_grows_to_twice_the_flight() {
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
    fn a_full_window_can_grow_for_one_window_of_data() {
        let mut usage = WindowUsage::default();
        usage.record(sending(0, 10_000, true), 10_000, false, 0);
        usage.record(sending(5000, 12_000, false), 10_000, false, 1);
        assert!(usage.may_grow(10_000, false));
        usage.record(sending(12_000, 14_000, false), 10_000, false, 2);
        assert!(!usage.may_grow(10_000, false));
    }

    #[test]
    fn a_window_unused_for_a_timeout_shrinks_half_way() {
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
