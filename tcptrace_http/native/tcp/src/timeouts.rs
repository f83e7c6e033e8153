//! Timer values of stacks in use.

/// Smallest RTO: no retransmission and no slow-start restart takes place earlier.
///
/// Linux and the BSDs wait 200 ms (`TCP_RTO_MIN`), Windows 300 ms. RFC 6298, section 2.4, requires 1 s.
pub const TIMEOUT_MIN_NS: i64 = 200_000_000;
/// Shortest wait that counts as an RTO: one tenth of the smallest RTO covers RTT variation.
pub const TIMED_OUT_MIN_NS: i64 = TIMEOUT_MIN_NS / 10 * 9;
/// Minimum time before a tail-loss probe, which leaves two round trips after the last data (RFC 8985, section
/// 7.2).
///
/// The smallest round trip is used, so the computed time is never too long.
const PROBE_AFTER_MIN_NS: i64 = 10_000_000;
/// Share of two round trips: the host's clock ticks in milliseconds.
const PROBE_NUMERATOR: i64 = 9;
const PROBE_DENOMINATOR: i64 = 10;
/// Minimum excess of the RTO over the round trip.
///
/// An RTO is the round trip plus its variance, at least one clock tick. The tick is at most 100 ms (RFC 6298,
/// sections 2.3 and 4). A clock with whole ticks measures a round trip that is too short.
const OVER_ROUND_TRIP_NS: i64 = 30_000_000;

/// Return the minimum time until a timer of the sender can expire.
#[must_use]
pub fn probe_after_ns(rtt_ns: Option<i64>) -> i64 {
    let twice = rtt_ns.map_or(TIMED_OUT_MIN_NS, |rtt| rtt.saturating_mul(2));
    let probe = (twice.saturating_mul(PROBE_NUMERATOR) / PROBE_DENOMINATOR).max(PROBE_AFTER_MIN_NS);
    // On a long path the RTO expires first.
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
