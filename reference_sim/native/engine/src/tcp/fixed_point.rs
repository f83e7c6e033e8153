//! The integer round-trip estimate of Jacobson 1988 (appendix A), BSD and ns-2. Fractions below an eighth of
//! a tick are cut off. A constant round trip therefore leaves a deviation of half a tick, never zero.

use crate::sharing::Estimate;
use crate::stack::Nanoseconds;

/// The estimate in ticks: the smoothed round trip in eighths, its mean deviation in quarters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixedPoint {
    smoothed: i64,
    deviation: i64,
}

impl FixedPoint {
    /// Add a round-trip sample from `sent` to `now`, counted in ticks: at least one.
    pub fn sample(&mut self, sent: Nanoseconds, now: Nanoseconds, tick: Nanoseconds) {
        let ticks = (now / tick).saturating_sub(sent / tick).max(1);
        let ticks = i64::try_from(ticks).unwrap_or(i64::MAX / 16);
        if self.smoothed == 0 {
            self.smoothed = ticks << 3;
            self.deviation = ticks << 1;
            return;
        }
        let error = ticks - (self.smoothed >> 3);
        self.smoothed = (self.smoothed + error).max(1);
        self.deviation = (self.deviation + error.abs() - (self.deviation >> 2)).max(1);
    }

    /// Create the estimate from another connection of the same path with the same clock.
    #[must_use]
    pub fn from_estimate(known: Estimate, tick: Nanoseconds) -> Self {
        let parts = |time: Nanoseconds, of_tick: Nanoseconds| {
            i64::try_from(time.saturating_mul(of_tick) / tick).unwrap_or(i64::MAX / 16)
        };
        FixedPoint {
            smoothed: parts(known.smoothed, 8),
            deviation: parts(known.variation, 4),
        }
    }

    /// Discard the estimate. The next sample starts a new one.
    pub fn forget(&mut self) {
        self.deviation += self.smoothed >> 3;
        self.smoothed = 0;
    }

    #[must_use]
    pub fn smoothed(self, tick: Nanoseconds) -> Nanoseconds {
        self.smoothed.unsigned_abs() * tick / 8
    }

    #[must_use]
    pub fn variation(self, tick: Nanoseconds) -> Nanoseconds {
        self.deviation.unsigned_abs() * tick / 4
    }

    /// Return the smoothed round trip plus four deviations, in whole ticks.
    #[must_use]
    pub fn timeout(self, tick: Nanoseconds) -> Nanoseconds {
        (((self.deviation << 3) + self.smoothed) >> 3).unsigned_abs() * tick
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;
    const TICK: Nanoseconds = 100 * MS;

    #[test]
    fn a_shared_estimate_sets_the_timeout() {
        let mut own = FixedPoint::default();
        for now in [105, 260, 333, 520] {
            own.sample((now - 105) * MS, now * MS, TICK);
            let known = Estimate {
                smoothed: own.smoothed(TICK),
                variation: own.variation(TICK),
            };
            let other = FixedPoint::from_estimate(known, TICK);
            assert_eq!(other, own);
            assert_eq!(other.timeout(TICK), own.timeout(TICK));
        }
    }

    #[test]
    fn a_constant_round_trip_of_one_tick_gives_a_timeout_of_three_ticks() {
        let mut estimate = FixedPoint::default();
        for _ in 0..100 {
            estimate.sample(10 * MS, 63 * MS, TICK);
        }
        assert_eq!(estimate.smoothed(TICK), 100 * MS);
        assert_eq!(estimate.variation(TICK), 50 * MS);
        assert_eq!(estimate.timeout(TICK), 300 * MS);
    }

    #[test]
    fn round_trips_count_ticks_instead_of_time() {
        let mut estimate = FixedPoint::default();
        estimate.sample(199 * MS, 401 * MS, TICK);
        assert_eq!(estimate.smoothed(TICK), 300 * MS);
    }

    #[test]
    fn a_discarded_estimate_restarts_with_the_next_sample() {
        let mut estimate = FixedPoint::default();
        estimate.sample(0, 900 * MS, TICK);
        estimate.forget();
        estimate.sample(0, 100 * MS, TICK);
        assert_eq!(estimate.timeout(TICK), 300 * MS);
    }
}
