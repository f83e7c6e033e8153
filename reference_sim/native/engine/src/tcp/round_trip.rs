//! Round-trip estimation and the retransmission timeout (Jacobson 1988; RFC 6298).

use crate::sharing::Estimate;
use crate::stack::{Nanoseconds, Retransmission};
use crate::tcp::fixed_point::FixedPoint;
use crate::tcp::linux_spread::LinuxSpread;

/// Maximum number of doublings by back-off: 2^12 times the minimum is hours.
const MAX_DOUBLINGS: u32 = 12;
/// Number of doublings after which an integer estimate restarts (ns-2's rtt_backoff: above 8 times; BSD: more
/// than a quarter of TCP_MAXRXTSHIFT).
const FORGETTING_DOUBLINGS: u32 = 3;

/// A sender's estimate of its round trip.
#[derive(Clone, Copy, Debug, Default)]
pub struct RoundTrip {
    smoothed: Option<Nanoseconds>,
    variation: Nanoseconds,
    /// Number of consecutive timeouts (RFC 6298, rule 5.5).
    backoff: u32,
    spread: LinuxSpread,
    fixed_point: FixedPoint,
}

impl RoundTrip {
    /// Adopt the estimate of other connections on the same path (RFC 2140). Back-off stays the connection's
    /// own.
    pub fn learn(&mut self, known: Estimate, rules: &Retransmission) {
        self.smoothed = Some(known.smoothed);
        self.variation = known.variation;
        self.spread = LinuxSpread::from_variation(known.variation);
        if rules.fixed_point && rules.tick_ns > 0 {
            self.fixed_point = FixedPoint::from_estimate(known, rules.tick_ns);
        }
    }

    #[must_use]
    pub fn smoothed(&self) -> Option<Nanoseconds> {
        self.smoothed
    }

    #[must_use]
    pub fn variation(&self) -> Nanoseconds {
        self.variation
    }

    #[must_use]
    pub fn backoff(&self) -> u32 {
        self.backoff
    }

    /// Add a sample from a segment that was sent once. Karn's rule excludes the others.
    pub fn sample(&mut self, sent: Nanoseconds, now: Nanoseconds, rules: &Retransmission) {
        self.backoff = 0;
        self.measure(sent, now, rules);
    }

    /// End the back-off: a segment sent for the first time was acknowledged.
    pub fn end_backoff(&mut self) {
        self.backoff = 0;
    }

    /// Add a sample, without an effect on the back-off.
    pub fn measure(&mut self, sent: Nanoseconds, now: Nanoseconds, rules: &Retransmission) {
        if rules.fixed_point && rules.tick_ns > 0 {
            self.fixed_point.sample(sent, now, rules.tick_ns);
            self.smoothed = Some(self.fixed_point.smoothed(rules.tick_ns));
            self.variation = self.fixed_point.variation(rules.tick_ns);
            return;
        }
        let elapsed = measured(sent, now, rules);
        let Some(smoothed) = self.smoothed else {
            self.smoothed = Some(elapsed);
            self.variation = elapsed / 2;
            self.spread = LinuxSpread::first(elapsed, rules.min_ns);
            return;
        };
        let error = smoothed.abs_diff(elapsed);
        self.spread.sample(error, elapsed < smoothed);
        // Gains of 1/4 and 1/8 (RFC 6298, rule 2.3).
        self.variation = self.variation - self.variation / 4 + error / 4;
        self.smoothed = Some(smoothed - smoothed / 8 + elapsed / 8);
    }

    /// Handle an ACK up to `una` with data sent up to `next`, which can complete a round trip.
    pub fn progressed(&mut self, una: u64, next: u64, rules: &Retransmission) {
        self.spread.progressed(una, next, rules.min_ns);
    }

    pub fn on_timeout(&mut self) {
        self.backoff = (self.backoff + 1).min(MAX_DOUBLINGS);
        if self.backoff > FORGETTING_DOUBLINGS {
            self.fixed_point.forget();
        }
    }

    /// Return the current RTO, back-off included.
    #[must_use]
    pub fn timeout(&self, rules: &Retransmission) -> Nanoseconds {
        let base = match self.smoothed {
            None => rules.initial_ns,
            Some(smoothed) if rules.min_is_spread => smoothed + self.spread.value(),
            Some(_) if rules.fixed_point && rules.tick_ns > 0 => {
                self.fixed_point.timeout(rules.tick_ns).max(rules.min_ns)
            }
            Some(smoothed) => {
                let spread = (4 * self.variation).max(rules.tick_ns);
                in_ticks(smoothed + spread, rules).max(rules.min_ns)
            }
        };
        (base << self.backoff).min(rules.max_ns.max(rules.min_ns))
    }

    /// Return the RTO of a SYN, before any sample.
    #[must_use]
    pub fn syn_timeout(&self, rules: &Retransmission) -> Nanoseconds {
        (rules.syn_initial_ns << self.backoff).min(rules.max_ns.max(rules.syn_initial_ns))
    }
}

/// Return the expiry time of a timer that is set now.
#[must_use]
pub fn deadline(now: Nanoseconds, timeout: Nanoseconds, rules: &Retransmission) -> Nanoseconds {
    if !rules.on_ticks || rules.tick_ns == 0 {
        return now + timeout;
    }
    // BSD counts n ticks from now on, and the first tick comes after less than a whole tick.
    now - now % rules.tick_ns + timeout.div_ceil(rules.tick_ns) * rules.tick_ns
}

/// Return a round trip as the stack's clock measures it.
fn measured(sent: Nanoseconds, now: Nanoseconds, rules: &Retransmission) -> Nanoseconds {
    let elapsed = now.saturating_sub(sent);
    let tick = rules.tick_ns;
    if tick == 0 {
        return elapsed;
    }
    let ticks = if rules.on_ticks {
        // The number of ticks in between, plus one (BSD's t_rtt starts at 1).
        (now / tick).saturating_sub(sent / tick) + 1
    } else {
        ((elapsed + tick / 2) / tick).max(1)
    };
    ticks * tick
}

fn in_ticks(timeout: Nanoseconds, rules: &Retransmission) -> Nanoseconds {
    match rules.tick_ns {
        0 => timeout,
        tick => timeout / tick * tick,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;

    fn rules(tick_ns: Nanoseconds) -> Retransmission {
        Retransmission {
            initial_ns: 3000 * MS,
            min_ns: 200 * MS,
            max_ns: 64_000 * MS,
            min_is_spread: false,
            tick_ns,
            on_ticks: false,
            duplicate_ack_threshold: 3,
            times_acks: false,
            fixed_point: false,
            fast_retransmit_backs_off: false,
            syn_initial_ns: 6000 * MS,
            max_retries: 12,
        }
    }

    #[test]
    fn the_first_sample_sets_the_estimate_and_half_of_it_as_variation() {
        let mut round_trip = RoundTrip::default();
        round_trip.sample(0, 100 * MS, &rules(0));
        assert_eq!(round_trip.smoothed(), Some(100 * MS));
        assert_eq!(round_trip.timeout(&rules(0)), 300 * MS);
    }

    #[test]
    fn a_timeout_doubles_until_a_sample() {
        let mut round_trip = RoundTrip::default();
        round_trip.sample(0, 100 * MS, &rules(0));
        round_trip.on_timeout();
        round_trip.on_timeout();
        assert_eq!(round_trip.timeout(&rules(0)), 1200 * MS);
        round_trip.sample(0, 100 * MS, &rules(0));
        assert!(round_trip.timeout(&rules(0)) < 300 * MS);
    }

    #[test]
    fn a_coarse_clock_measures_at_least_one_tick() {
        let mut round_trip = RoundTrip::default();
        round_trip.sample(0, 30 * MS, &rules(100 * MS));
        assert_eq!(round_trip.smoothed(), Some(100 * MS));
    }

    #[test]
    fn timers_on_ticks_expire_at_whole_ticks() {
        let on_ticks = Retransmission {
            on_ticks: true,
            ..rules(500 * MS)
        };
        assert_eq!(deadline(1200 * MS, 1000 * MS, &on_ticks), 2000 * MS);
    }
}
