//! HyStart++ (RFC 9406): slow start ends when the round trip grows, before any loss.
//!
//! If a round's minimum round trip exceeds the previous round's, growth continues at a quarter of the rate
//! (Conservative Slow Start). If the round trip then shrinks, the increase was jitter, and slow start
//! resumes. After five rounds the window becomes the slow-start threshold.

use crate::stack::Nanoseconds;

/// RFC 9406, section 4.3: the recommended constants.
const MIN_RTT_THRESHOLD: Nanoseconds = 4_000_000;
const MAX_RTT_THRESHOLD: Nanoseconds = 16_000_000;
const MIN_RTT_DIVISOR: Nanoseconds = 8;
const ROUND_SAMPLES: u32 = 8;
const CSS_GROWTH_DIVISOR: u64 = 4;
const CSS_ROUNDS: u32 = 5;
/// Section 4.3: L, the maximum number of segments that one ACK adds without pacing.
const SEGMENTS_MAX: u64 = 8;

/// State of HyStart++ in the first slow start.
#[derive(Clone, Copy, Debug, Default)]
pub struct HystartPlusPlus {
    /// Exclusive offset whose acknowledgment ends the round.
    round_end: u64,
    last_round_min: Option<Nanoseconds>,
    round_min: Option<Nanoseconds>,
    samples: u32,
    conservative: Option<Conservative>,
}

#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// Minimum round trip at the start of Conservative Slow Start.
    baseline: Nanoseconds,
    /// Number of rounds since that start, including the partial first one.
    rounds: u32,
}

impl HystartPlusPlus {
    /// Add a round-trip sample.
    pub fn sample(&mut self, rtt: Nanoseconds) {
        self.samples += 1;
        self.round_min = Some(self.round_min.map_or(rtt, |least| least.min(rtt)));
    }

    /// Return the window growth for `acked` acknowledged bytes.
    #[must_use]
    pub fn growth(&self, acked: u64, mss: u64) -> u64 {
        let counted = acked.min(SEGMENTS_MAX * mss);
        match self.conservative {
            Some(_) => counted / CSS_GROWTH_DIVISOR,
            None => counted,
        }
    }

    /// Handle an ACK up to `una`, with data sent up to `next`. Return true if slow start is over.
    pub fn on_ack(&mut self, una: u64, next: u64) -> bool {
        self.judge();
        if una < self.round_end {
            return false;
        }
        self.round_end = next;
        self.last_round_min = self.round_min.take();
        self.samples = 0;
        let Some(conservative) = &mut self.conservative else {
            return false;
        };
        conservative.rounds += 1;
        conservative.rounds >= CSS_ROUNDS
    }

    fn judge(&mut self) {
        let Some(least) = self.round_min.filter(|_| self.samples >= ROUND_SAMPLES) else {
            return;
        };
        if let Some(conservative) = self.conservative {
            if least < conservative.baseline {
                self.conservative = None;
            }
            return;
        }
        let Some(before) = self.last_round_min else {
            return;
        };
        let threshold = (before / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESHOLD, MAX_RTT_THRESHOLD);
        if least >= before + threshold {
            self.conservative = Some(Conservative {
                baseline: least,
                rounds: 0,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;
    const MSS: u64 = 1000;

    #[test]
    fn growth_is_a_quarter_once_the_round_trip_grew_by_an_eighth() {
        let mut start = HystartPlusPlus::default();
        start.on_ack(0, 8 * MSS);
        for _ in 0..8 {
            start.sample(80 * MS);
        }
        start.on_ack(8 * MSS, 16 * MSS);
        for _ in 0..7 {
            start.sample(90 * MS);
            start.on_ack(9 * MSS, 16 * MSS);
        }
        assert_eq!(start.growth(MSS, MSS), MSS);
        start.sample(90 * MS);
        start.on_ack(9 * MSS, 16 * MSS);
        assert_eq!(start.growth(MSS, MSS), MSS / 4);
    }

    #[test]
    fn no_ack_adds_more_than_eight_segments() {
        assert_eq!(HystartPlusPlus::default().growth(20 * MSS, MSS), 8 * MSS);
    }

    #[test]
    fn a_shorter_round_trip_ends_conservative_slow_start() {
        let mut start = HystartPlusPlus {
            conservative: Some(Conservative {
                baseline: 90 * MS,
                rounds: 1,
            }),
            round_end: 9 * MSS,
            ..HystartPlusPlus::default()
        };
        for _ in 0..8 {
            start.sample(89 * MS);
            start.on_ack(8 * MSS, 16 * MSS);
        }
        assert_eq!(start.growth(MSS, MSS), MSS);
    }

    #[test]
    fn five_rounds_of_conservative_slow_start_end_slow_start() {
        let mut start = HystartPlusPlus {
            conservative: Some(Conservative {
                baseline: 90 * MS,
                rounds: 0,
            }),
            ..HystartPlusPlus::default()
        };
        let ends: Vec<bool> = (1..=5)
            .map(|number| {
                start.sample(95 * MS);
                start.on_ack(8 * number * MSS, 8 * (number + 1) * MSS)
            })
            .collect();
        assert_eq!(ends, [false, false, false, false, true]);
    }
}
