//! Corked socket (TCP_CORK, MSG_MORE): a short segment waits until it is full, or for a timer.
//!
//! Linux sends the data by its probe timer, which runs for one RTO (`tcp_check_probe_timer`). The RTO is 200
//! ms plus the smoothed round trip. Delayed ACKs increase the smoothed round trip.

use crate::timers::RTO_MIN_NS;

/// Timers are rounded and may run a few ticks early.
const EARLY_NS: i64 = 10_000_000;
/// Contribution of a delayed ACK to the smoothed round trip.
const DELAYED_NS: i64 = 50_000_000;

/// Maximum difference of two waits for the same timer.
const ALIKE_NS: i64 = 10_000_000;

/// Evidence of a cork's timer: the last wait that fits the timer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cork {
    waited_ns: Option<i64>,
}

impl Cork {
    /// Take the wait of a short segment that no ACK released, and return whether a cork's timer released it.
    ///
    /// An application may cause a single wait of this length. A wait that recurs comes from the timer.
    pub fn on_hold(&mut self, waited_ns: i64, round_trip_ns: i64) -> bool {
        let most_ns = RTO_MIN_NS
            .saturating_add(DELAYED_NS)
            .saturating_add(round_trip_ns.saturating_mul(2));
        let is_timer = (RTO_MIN_NS.saturating_sub(EARLY_NS)..=most_ns).contains(&waited_ns);
        let before_ns = self.waited_ns.filter(|_| is_timer);
        if is_timer {
            self.waited_ns = Some(waited_ns);
        }
        before_ns.is_some_and(|before_ns| before_ns.abs_diff(waited_ns) <= ALIKE_NS.unsigned_abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_equal_wait_shows_the_cork_timer() {
        let mut cork = Cork::default();
        assert!(!cork.on_hold(240_000_000, 20_000_000));
        assert!(cork.on_hold(243_000_000, 20_000_000));
        assert!(!cork.on_hold(45_000_000, 20_000_000));
    }
}
