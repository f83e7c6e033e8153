//! A corked socket (TCP_CORK, MSG_MORE): what is less than a full segment waits to be filled, and for a timer at most.
//!
//! Linux sends it by its probe timer, which runs for a retransmission timeout (`tcp_check_probe_timer`): 200 ms and
//! the smoothed round trip, which delayed acknowledgments make longer.

use crate::timers::RTO_MIN_NS;

/// Timers are rounded, and run a few ticks early.
const EARLY_NS: i64 = 10_000_000;
/// A delayed acknowledgment's part of the smoothed round trip.
const DELAYED_NS: i64 = 50_000_000;

/// Two waits for one timer are as long.
const ALIKE_NS: i64 = 10_000_000;

/// What a sender has shown of a cork's timer: its last wait that may have been for one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cork {
    waited_ns: Option<i64>,
}

impl Cork {
    /// Whether a short segment that nothing released had waited `waited_ns` for a cork's timer. An application may be as
    /// late once; what recurs is the timer's.
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
    fn second_wait_for_the_timer_is_the_corks() {
        let mut cork = Cork::default();
        assert!(!cork.on_hold(240_000_000, 20_000_000));
        assert!(cork.on_hold(243_000_000, 20_000_000));
        assert!(!cork.on_hold(45_000_000, 20_000_000));
    }
}
