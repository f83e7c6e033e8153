//! The term that Linux adds to the smoothed round trip for its RTO (`tcp_rtt_estimator` of Linux 6, which
//! rule 2.4 of RFC 6298 permits).

use crate::stack::Nanoseconds;

/// Four times the mean deviation, with a minimum. The value rises at once and falls by a quarter of the
/// difference per round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinuxSpread {
    /// Four times the mean deviation (`mdev_us`).
    deviation: Nanoseconds,
    /// Maximum of `deviation` in this round trip.
    largest: Nanoseconds,
    spread: Nanoseconds,
    /// Offset whose acknowledgment ends the round trip (`rtt_seq`).
    until: u64,
}

impl LinuxSpread {
    #[must_use]
    pub fn first(elapsed: Nanoseconds, floor: Nanoseconds) -> Self {
        let spread = (2 * elapsed).max(floor);
        LinuxSpread {
            deviation: 2 * elapsed,
            largest: spread,
            spread,
            until: 0,
        }
    }

    /// Create the term from another connection's variation.
    #[must_use]
    pub fn from_variation(variation: Nanoseconds) -> Self {
        LinuxSpread {
            deviation: 4 * variation,
            largest: 4 * variation,
            spread: 4 * variation,
            until: 0,
        }
    }

    #[must_use]
    pub fn value(&self) -> Nanoseconds {
        self.spread
    }

    /// Add a sample's difference from the smoothed round trip.
    pub fn sample(&mut self, error: Nanoseconds, is_shorter: bool) {
        let mean = self.deviation / 4;
        self.deviation = if error <= mean {
            self.deviation - (mean - error)
        } else if is_shorter {
            // A decreasing round trip raises the deviation by only an eighth of the rest.
            self.deviation + (error - mean) / 8
        } else {
            self.deviation + (error - mean)
        };
        self.largest = self.largest.max(self.deviation);
        self.spread = self.spread.max(self.largest);
    }

    /// Handle an ACK up to `una`. `next` is the first unsent offset.
    pub fn progressed(&mut self, una: u64, next: u64, floor: Nanoseconds) {
        if una <= self.until {
            return;
        }
        self.spread -= self.spread.saturating_sub(self.largest) / 4;
        self.until = next;
        self.largest = floor;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;

    #[test]
    fn the_floor_is_added_to_the_round_trip() {
        assert_eq!(LinuxSpread::first(20 * MS, 200 * MS).value(), 200 * MS);
        assert_eq!(LinuxSpread::first(560 * MS, 200 * MS).value(), 1120 * MS);
    }

    #[test]
    fn each_constant_round_trip_lowers_the_spread_by_a_quarter_towards_the_floor() {
        let mut spread = LinuxSpread::first(560 * MS, 200 * MS);
        let mut values = Vec::new();
        for round in 1..=20 {
            spread.sample(0, false);
            spread.progressed(round * 1000 + 1, (round + 1) * 1000, 200 * MS);
            values.push(spread.value() / MS);
        }
        assert_eq!(values.get(..3), Some([1120, 997, 866].as_slice()));
        assert!(values.last().is_some_and(|last| (200..210).contains(last)));
    }

    #[test]
    fn a_longer_round_trip_raises_it_at_once() {
        let mut spread = LinuxSpread::first(20 * MS, 200 * MS);
        spread.progressed(1001, 2000, 200 * MS);
        spread.sample(400 * MS, false);
        assert_eq!(spread.value(), 430 * MS);
    }
}
