//! Whether the retransmission timers of a host run out with the ticks of its clock.
//!
//! Theory of operation. BSD counts its timers in ticks of 500 ms, which are the same for all connections (Stevens 1995,
//! section 25.3): whatever they wait for, what they send again leaves with a tick. So once most of them have run out
//! that far apart, what leaves between two ticks no timer has sent. Timers that delayed ACKs have started run out in the
//! rhythm of those, which is another one: most of them do not agree on a tick.

use std::collections::VecDeque;

/// A tick of BSD's slow timer (`PR_SLOWHZ`).
const TICK_NS: i64 = 500_000_000;
/// Timers that are remembered, and so many of them show the ticks.
pub(super) const TIMERS_MAX: usize = 8;
const AGREEING_MIN: usize = 3;
/// A host that is busy is late by so much, and the way of what comes is known as well.
const ON_TICK_NS: i64 = 1_000_000;

#[derive(Debug, Default)]
pub(super) struct Ticks {
    ran_out_ns: VecDeque<i64>,
}

impl Ticks {
    /// A timer ran out at `time_ns`. What runs out together tells but once.
    pub(super) fn ran_out(&mut self, time_ns: i64) {
        let is_together = |ns: &i64| time_ns.saturating_sub(*ns) < TICK_NS / 2;
        if self.ran_out_ns.back().is_some_and(is_together) {
            return;
        }
        if self.ran_out_ns.len() >= TIMERS_MAX {
            self.ran_out_ns.pop_front();
        }
        self.ran_out_ns.push_back(time_ns);
    }

    /// Whether there was a tick between these times; none if the host is not known to have such a clock.
    pub(super) fn is_between(&self, from_ns: i64, to_ns: i64) -> Option<bool> {
        let since_ns = |ns: i64| Some(ns.saturating_sub(self.newest_ns()?));
        let from_ns = since_ns(from_ns.saturating_sub(ON_TICK_NS))?;
        let to_ns = since_ns(to_ns.saturating_add(ON_TICK_NS))?;
        let before_ns = from_ns.saturating_sub(1);
        Some(before_ns.div_euclid(TICK_NS) < to_ns.div_euclid(TICK_NS))
    }

    /// The newest tick with which a timer ran out, if most of them did.
    fn newest_ns(&self) -> Option<i64> {
        let newest = self.ran_out_ns.iter().rev();
        let agreeing = |tick_ns: i64| {
            let others = self.ran_out_ns.iter();
            others
                .filter(|ns| is_on_tick(ns.saturating_sub(tick_ns)))
                .count()
        };
        let mut ticks = newest.filter(|ns| {
            let agreeing = agreeing(**ns);
            agreeing >= AGREEING_MIN && agreeing.saturating_mul(2) > self.ran_out_ns.len()
        });
        ticks.next().copied()
    }
}

fn is_on_tick(since_ns: i64) -> bool {
    let behind_ns = since_ns.saturating_add(ON_TICK_NS).rem_euclid(TICK_NS);
    behind_ns <= ON_TICK_NS.saturating_mul(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Whether a tick was between these times, for whom timers have run out at those.
    fn is_between(ran_out_ms: &[i64], (from_ms, to_ms): (i64, i64)) -> Option<bool> {
        let mut ticks = Ticks::default();
        for time_ms in ran_out_ms {
            ticks.ran_out(time_ms * MS);
        }
        ticks.is_between(from_ms * MS, to_ms * MS)
    }

    #[test]
    fn timers_that_run_out_whole_ticks_apart_show_when_others_do() {
        let ran_out_ms = [130, 1630, 3130];
        assert_eq!(is_between(&ran_out_ms, (5131, 5131)), Some(true));
        assert_eq!(is_between(&ran_out_ms, (5100, 5129)), Some(true));
        assert_eq!(is_between(&ran_out_ms, (5100, 5128)), Some(false));
        assert_eq!(is_between(&ran_out_ms, (5132, 5600)), Some(false));
        assert_eq!(is_between(&ran_out_ms, (5132, 5640)), Some(true));
        assert_eq!(is_between(&ran_out_ms, (630, 630)), Some(true), "before");
    }

    #[test]
    fn a_host_whose_timers_mostly_do_not_has_no_such_clock() {
        let now = (5130, 5130);
        assert_eq!(is_between(&[130, 1630], now), None);
        assert_eq!(is_between(&[130, 131, 132, 1630], now), None, "together");
        assert_eq!(is_between(&[130, 700, 1630, 3130], now), Some(true));
        assert_eq!(is_between(&[130, 700, 1630, 2350, 3130, 3900], now), None);
    }
}
