//! How long the retransmission timers of a host wait.
//!
//! Connections that share an estimate of the round trip have the same timer (RFC 2140, section 4). Which packet a
//! timer has sent again is often not known, for several were missing; but of what each of them would have waited
//! the true values agree with each other, and the others do not.

use std::collections::VecDeque;

use tcptrace_tcp::TIMER_ASKED_FOR_NS;

use super::ticks::{Ticks, TIMERS_MAX};
use crate::jitter::CLOSE_NS;

/// Of each timer so many values are remembered.
const WAITS_MAX: usize = 32;
/// Timers that wait for the same time differ by less than this share of it: a round trip's variance.
const SAME_SHARE: i64 = 32;
/// ... and if they began with the same estimate by what a host takes to notice that one has run out.
const EXACT_NS: i64 = 200_000;
/// Where a queue may have held data for longer some time in between is that of other timers by chance.
const STOOD_MAX_NS: i64 = 20_000_000;
/// As many that waited for the same time show that others do as well.
const EXACT_MIN: usize = 3;
/// ... by as much more or less as a busy host is late, and as the slowest link takes for what is missing.
const LATE_NS: i64 = 5_000_000;

/// What each packet that a timer may have sent again would have waited for it, for the timers before.
#[derive(Debug, Default)]
pub(super) struct Timers {
    waits_ns: VecDeque<Vec<i64>>,
    /// When the newest ran out.
    newest_ns: Option<i64>,
    ticks: Ticks,
}

impl Timers {
    /// Whether a tick of the host's clock was between these times; none if its timers are not known to run out with any.
    pub(super) fn is_tick_between(&self, from_ns: i64, to_ns: i64) -> Option<bool> {
        self.ticks.is_between(from_ns, to_ns)
    }

    /// Whether most of the timers before waited as long.
    pub(super) fn agree(&self, waited_ns: i64) -> bool {
        self.most_are_within(waited_ns, waited_ns / SAME_SHARE)
    }

    /// ... so exactly that it is no chance, be it a single one.
    pub(super) fn agree_exactly(&self, waited_ns: i64) -> bool {
        self.most_are_within(waited_ns, EXACT_NS)
    }

    /// What most of the timers before have waited for, exactly, if another one has that waited for so long at the least
    /// and at the most: what it sent again may have stood in a queue. Where that was for too long it tells no other time
    /// than the likely one; where it was not, it may have waited for what timers are asked to wait at the least.
    pub(super) fn exactly_ns(
        &self,
        (least_ns, most_ns): (i64, i64),
        likely_ns: i64,
    ) -> Option<i64> {
        if most_ns.saturating_sub(least_ns) > STOOD_MAX_NS {
            return Some(likely_ns).filter(|ns| self.agree_exactly(*ns));
        }
        let is_close = most_ns.saturating_sub(least_ns) <= CLOSE_NS;
        let least_ns = least_ns.saturating_sub(EXACT_NS);
        let most_ns = most_ns.saturating_add(EXACT_NS);
        if is_close && (least_ns..=most_ns).contains(&TIMER_ASKED_FOR_NS) {
            return Some(TIMER_ASKED_FOR_NS);
        }
        let mut known = self.waits_ns.iter().flatten();
        let same = known.find(|ns| (least_ns..=most_ns).contains(*ns) && self.agree_exactly(**ns));
        same.copied()
    }

    /// What most of the timers before have waited for, exactly, if a hole has shown one that waited about as long.
    pub(super) fn same_ns(&self, shown_ns: i64) -> Option<i64> {
        let mut newest = self.waits_ns.iter().rev().take(EXACT_MIN).flatten();
        let is_shown =
            |ns: i64| shown_ns.saturating_sub(ns).saturating_abs() <= shown_ns / SAME_SHARE;
        let same = newest.find(|ns| is_shown(**ns) && self.agree_exactly(**ns));
        same.copied().filter(|_| self.waits_ns.len() >= EXACT_MIN)
    }

    fn most_are_within(&self, waited_ns: i64, most_ns: i64) -> bool {
        let is_same = |it: &i64| it.saturating_sub(waited_ns).saturating_abs() <= most_ns;
        let agreeing = self
            .waits_ns
            .iter()
            .filter(|waits| waits.iter().any(is_same));
        agreeing.count().saturating_mul(2) > self.waits_ns.len()
    }

    /// A timer ran out at `time_ns` that waited for one of these times. What runs out together tells but once: the same
    /// packets may have been sent again.
    pub(super) fn ran_out(&mut self, time_ns: i64, waits_ns: &[i64]) {
        self.ticks.ran_out(time_ns);
        if waits_ns.is_empty() {
            return;
        }
        let before_ns = self.newest_ns.replace(time_ns);
        let is_together =
            before_ns.is_some_and(|ns| time_ns.saturating_sub(ns).saturating_abs() <= CLOSE_NS);
        if let Some(newest) = self.waits_ns.back_mut().filter(|_| is_together) {
            let left = WAITS_MAX.saturating_sub(newest.len());
            newest.extend(waits_ns.iter().take(left));
            return;
        }
        if self.waits_ns.len() >= TIMERS_MAX {
            self.waits_ns.pop_front();
        }
        let waits_ns = waits_ns.iter().take(WAITS_MAX);
        self.waits_ns.push_back(waits_ns.copied().collect());
    }
}

/// Whether a timer that waits for so long may have waited as long for data: once, or also twice as long each time after
/// that, as it ran out for the same data (RFC 6298, section 5.5).
pub(super) fn is_backed_off(waited_ns: i64, timer_ns: i64) -> bool {
    let once = Some(timer_ns).filter(|ns| *ns > 0);
    let again = |all_ns: &i64| all_ns.checked_mul(2)?.checked_add(timer_ns);
    std::iter::successors(once, again)
        .take_while(|all_ns| *all_ns <= waited_ns.saturating_add(LATE_NS))
        .any(|all_ns| waited_ns.saturating_sub(all_ns) <= LATE_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn of_what_several_timers_may_have_waited_the_true_time_agrees() {
        let mut timers = Timers::default();
        assert!(!timers.agree(700 * MS));
        timers.ran_out(1000 * MS, &[700 * MS, 440 * MS]);
        timers.ran_out(2000 * MS, &[960 * MS, 702 * MS]);
        assert!(timers.agree(699 * MS));
        assert!(!timers.agree(960 * MS));
        assert!(!timers.agree(1400 * MS));
        assert!(!timers.agree_exactly(700 * MS));
        timers.ran_out(3000 * MS, &[700 * MS]);
        assert!(timers.agree_exactly(700 * MS));
    }

    #[test]
    fn what_stood_in_a_short_queue_may_have_left_when_a_timer_ran_out_as_others_have() {
        let mut timers = Timers::default();
        for at_ms in [1000, 2000] {
            timers.ran_out(at_ms * MS, &[700 * MS]);
        }
        let exactly_ms = |least_ms: i64, most_ms: i64, likely_ms: i64| {
            let bounds_ns = (least_ms * MS, most_ms * MS);
            let exactly_ns = timers.exactly_ns(bounds_ns, likely_ms * MS);
            exactly_ns.map(|ns| ns / MS)
        };
        assert_eq!(exactly_ms(692, 708, 708), Some(700));
        assert_eq!(exactly_ms(702, 708, 708), None);
        assert_eq!(exactly_ms(650, 708, 708), None, "too long");
        assert_eq!(exactly_ms(650, 708, 700), Some(700));
    }

    #[test]
    fn a_single_timer_tells_what_another_waited_for_that_may_have_run_out_then() {
        let exactly_ms = |timers: &Timers, least_ms: i64| {
            let exactly_ns = timers.exactly_ns((least_ms * MS, 708 * MS), 708 * MS);
            exactly_ns.map(|ns| ns / MS)
        };
        let mut timers = Timers::default();
        assert_eq!(exactly_ms(&timers, 692), None);
        timers.ran_out(1000 * MS, &[700 * MS]);
        assert_eq!(exactly_ms(&timers, 692), Some(700));
        assert_eq!(exactly_ms(&timers, 702), None);
    }

    #[test]
    fn what_is_known_to_have_left_a_second_later_a_timer_has_sent_whatever_others_waited() {
        let timers = Timers::default();
        let exactly_ms = |least_us: i64, most_us: i64| {
            let exactly_ns = timers.exactly_ns((least_us * 1000, most_us * 1000), most_us * 1000);
            exactly_ns.map(|ns| ns / MS)
        };
        assert_eq!(exactly_ms(999_900, 1_000_100), Some(1000));
        assert_eq!(exactly_ms(1_000_500, 1_000_700), None);
        assert_eq!(exactly_ms(999_000, 1_002_000), None, "by chance");
    }

    #[test]
    fn what_waited_for_nothing_that_is_known_tells_of_no_time() {
        let mut timers = Timers::default();
        for waits_ns in [&[700 * MS][..], &[], &[], &[700 * MS]] {
            timers.ran_out(0, waits_ns);
            timers.newest_ns = None;
        }
        assert!(timers.agree_exactly(700 * MS));
    }

    #[test]
    fn three_timers_that_waited_for_the_same_time_show_what_others_of_their_host_do() {
        let mut timers = Timers::default();
        for (at_ms, same_ns) in [(1000, None), (2000, None), (3000, Some(500 * MS))] {
            timers.ran_out(at_ms * MS, &[500 * MS]);
            assert_eq!(timers.same_ns(505 * MS), same_ns);
        }
        assert_eq!(timers.same_ns(900 * MS), None);
    }

    #[test]
    fn a_timer_that_runs_out_again_has_waited_twice_as_long_besides() {
        for (waited_ms, is_of_timer) in [
            (500, true),
            (800, false),
            (1000, false),
            (1503, true),
            (3500, true),
        ] {
            assert_eq!(is_backed_off(waited_ms * MS, 500 * MS), is_of_timer);
        }
    }

    #[test]
    fn timers_that_run_out_together_tell_but_once() {
        for (second_ms, agrees) in [(2000, false), (2500, true)] {
            let mut timers = Timers::default();
            timers.ran_out(1000 * MS, &[900 * MS]);
            timers.ran_out(2000 * MS, &[460 * MS]);
            timers.ran_out(second_ms * MS, &[460 * MS]);
            assert_eq!(timers.agree(460 * MS), agrees);
        }
    }
}
