//! A window that grows with each ACK, be it used up or not.
//!
//! Theory of operation. Slow start opens a window by a segment with each ACK (RFC 5681, section 3.1). A stack that lets no
//! window grow which is not used up has at most twice what it had used of it (RFC 2861, section 3.2; Linux,
//! tcp_is_cwnd_limited), and what a window begins with. So a sender that has more outstanding than that at once, but no
//! more than ACKs had opened, has let each of them open it: it is as large as they have made it.

use super::before_idle::WINDOW_NOW_SEGMENTS;
use super::{UsedWindow, GROWTH_MAX};

/// How far ACKs have opened a window at the least, if it grows with each: by no more than each acknowledged, and anew
/// wherever it may have been lowered. `opened` asks only whether a window was thrown away, and counts whole segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ByAcks {
    /// ... since it may have been lowered.
    bytes: i64,
    /// It has shown that it does.
    is_shown: bool,
}

impl ByAcks {
    pub(super) fn grows(&mut self, bytes: i64) {
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// It is no larger now, as far as is known.
    pub(super) fn begins_anew(&mut self, bytes: i64) {
        self.bytes = bytes;
    }
}

impl UsedWindow {
    /// The sender stopped with so much outstanding: if that is more than ever before, it may show how its window grows.
    pub(super) fn may_show_growth_unused(&mut self) {
        let begins_with = self.full_bytes.saturating_mul(WINDOW_NOW_SEGMENTS);
        let if_used = self.ever.saturating_mul(GROWTH_MAX).max(begins_with);
        let is_opened = self.outstanding <= self.by_acks.bytes;
        self.by_acks.is_shown |= self.ever > 0 && self.outstanding > if_used && is_opened;
        self.by_acks.bytes = self.by_acks.bytes.max(self.outstanding);
    }

    /// A window that grows so is as large as ACKs have made it.
    pub(super) fn is_as_acks_made_it(&mut self) {
        if self.by_acks.is_shown && self.threshold.is_none() && !self.is_paced {
            self.least = self.least.max(self.by_acks.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Limit;
    use super::*;

    const FULL: i64 = 1000;

    /// A window of which so many segments were used each time, all of which ACKs of so many each had acknowledged then.
    fn used(flights: &[i64], each: i64) -> (UsedWindow, i64) {
        let mut window = UsedWindow::default();
        let (mut sent, mut acked) = (0, 0);
        for flight in flights {
            while acked < sent {
                acked += each;
                window.hears(acked, 1 + acked * FULL);
            }
            sent += flight;
            window.stops(1 + sent * FULL, 1000);
        }
        (window, 1 + sent * FULL)
    }

    fn limit_after(flights: &[i64]) -> Limit {
        let (window, end) = used(flights, 1);
        window.limit(end, 1000, false)
    }

    #[test]
    fn who_has_more_in_flight_than_one_that_grows_when_used_up_has_one_that_each_ack_opens() {
        assert_eq!(limit_after(&[4, 4, 4, 12]), Limit::SendBuffer);
        assert_eq!(limit_after(&[6, 6, 6, 13]), Limit::SendBuffer);
        assert_eq!(
            limit_after(&[6, 6, 6, 12]),
            Limit::SlowStart,
            "twice what was used"
        );
        assert_eq!(
            limit_after(&[4, 4, 4, 10]),
            Limit::SlowStart,
            "a window begins with as much"
        );
    }

    #[test]
    fn a_window_that_no_acks_have_opened_so_far_has_been_as_large_before() {
        assert_eq!(limit_after(&[4, 4, 12]), Limit::SlowStart, "as far");
        assert_eq!(limit_after(&[4, 4, 13]), Limit::SlowStart, "farther");
        let (window, end) = used(&[4, 4, 4, 12], 2);
        assert_eq!(window.limit(end, 1000, false), Limit::SlowStart);
    }

    #[test]
    fn since_it_may_have_been_lowered_acks_open_it_anew() {
        let lowers: [fn(&mut UsedWindow, i64); 3] = [
            |window, _| window.was_idle(),
            |window, _| window.is_paced(),
            |window, end| window.had_loss(end - FULL, end, false),
        ];
        for lower in lowers {
            let (mut window, end) = used(&[4, 4, 4], 1);
            lower(&mut window, end);
            for segment in 1..=12 {
                window.hears(100 + segment, 1 + segment * FULL);
            }
            window.stops(end + 12 * FULL, 1000);
            let limit = window.limit(end + 12 * FULL, 1000, false);
            assert_ne!(limit, Limit::SendBuffer);
        }
    }
}
