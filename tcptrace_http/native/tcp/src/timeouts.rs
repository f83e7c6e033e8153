//! Times that the timers of stacks in use keep to.

/// The least retransmission timeout, before which nothing is sent again and no idle sender restarts: Linux and the
/// BSDs wait 200 ms (`TCP_RTO_MIN`), Windows 300 ms; RFC 6298, section 2.4, asks for 1 s.
pub const TIMEOUT_MIN_NS: i64 = 200_000_000;
/// A wait this long was for the retransmission timer: a tenth of the least timeout is for how round trips vary.
pub const TIMED_OUT_MIN_NS: i64 = TIMEOUT_MIN_NS / 10 * 9;
/// A tail-loss probe leaves two round trips after the last data (RFC 8985, section 7.2), never sooner
/// than this. The round trip known here is the least of all, which makes it no longer.
const PROBE_AFTER_MIN_NS: i64 = 10_000_000;
/// Of two round trips; the host's clock ticks in milliseconds.
const PROBE_NUMERATOR: i64 = 9;
const PROBE_DENOMINATOR: i64 = 10;
/// A timer waits a round trip and its variance, which counts for a tick of its clock where round trips do not vary
/// (RFC 6298, sections 2.3 and 4: 100 ms or less). A clock that counts whole ticks has missed some of the round trip, so
/// that this much is over.
const OVER_ROUND_TRIP_NS: i64 = 30_000_000;

/// The least time after which a timer of the sender can have run out.
#[must_use]
pub fn probe_after_ns(rtt_ns: Option<i64>) -> i64 {
    let twice = rtt_ns.map_or(TIMED_OUT_MIN_NS, |rtt| rtt.saturating_mul(2));
    let probe = (twice.saturating_mul(PROBE_NUMERATOR) / PROBE_DENOMINATOR).max(PROBE_AFTER_MIN_NS);
    // On a long path the timer for retransmission is the sooner one.
    let timeout = rtt_ns.unwrap_or(0).saturating_add(OVER_ROUND_TRIP_NS);
    probe.min(timeout.max(TIMED_OUT_MIN_NS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_waits_two_round_trips_or_on_a_long_path_one_and_a_tick() {
        const MS: i64 = 1_000_000;
        for (rtt_ms, after_ms) in [(1, 10), (20, 36), (100, 180), (160, 190), (560, 590)] {
            assert_eq!(probe_after_ns(Some(rtt_ms * MS)), after_ms * MS, "{rtt_ms}");
        }
    }
}
