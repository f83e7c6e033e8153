//! How exactly the times of a capture tell what let a packet go.

use tcptrace_tcp::DELAYED_ACK_MIN_NS;

/// Data follows the ACK that lets it go by the path, what it takes itself and no more than this: hosts schedule and
/// paths vary by less, and what comes as close does so by no chance.
pub const CLOSE_NS: i64 = 500_000;
/// ... and at most by this: on a busy host it is up to 5 ms, but then a coincidence is as likely.
pub const RELEASE_MAX_NS: i64 = 3_000_000;
/// ... and on a long path by a share of it, for round trips vary.
pub const RELEASE_RTT_SHARE: i64 = 8;
/// Packets of one host are captured out of their true order by less.
pub const EARLY_MAX_NS: i64 = 200_000;
/// A busy host answers what it hears within this.
pub const AT_ONCE_MAX_NS: i64 = 10_000_000;

/// Scheduling on a host, and shorter than any delayed ACK.
pub const ACK_LATE_MIN_NS: i64 = 2_000_000;
/// Round trips vary by less than such a part of them.
const ACK_RTT_SHARE: i64 = 10;
/// The share of a full segment's time by which ACKs vary on a link that is known.
const KNOWN_LINK_SHARE: i64 = 4;

/// By how much an ACK may be late before a timer delayed it, on a path whose round trip is so long and with a link by
/// which it varies so much.
pub fn acks_late_max_ns(rtt_ns: i64, link_ns: i64) -> i64 {
    let by_path_ns = (rtt_ns / ACK_RTT_SHARE).min(DELAYED_ACK_MIN_NS);
    by_path_ns.max(link_ns).max(ACK_LATE_MIN_NS)
}

/// By how much it varies by a link that is known to take so long for a full segment: no more than the least that timers
/// wait, for what is expected comes from bounds and is rather too late.
pub fn known_link_varies_ns(takes_ns: i64) -> i64 {
    (takes_ns / KNOWN_LINK_SHARE).min(DELAYED_ACK_MIN_NS)
}

/// How much later than an ACK lets it go data comes at most, over a path that takes so long and a link that does. On
/// a steady path round trips do not vary with its length, but by what the link may take besides.
pub fn late_max_ns((path_ns, pace_ns): (i64, i64), if_steady_ns: Option<i64>) -> i64 {
    let most_ns = RELEASE_MAX_NS.max(path_ns / RELEASE_RTT_SHARE);
    let varies_ns = if_steady_ns.map_or(most_ns, |link_ns| {
        most_ns.min(RELEASE_MAX_NS.saturating_add(link_ns))
    });
    varies_ns.saturating_add(pace_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acks_are_late_by_a_share_of_path_and_link_and_by_less_than_a_timer_waits_on_one_that_is_known(
    ) {
        const MS: i64 = 1_000_000;
        for (rtt_ms, takes_ms, late_ms) in [
            (1, 1, 2),
            (50, 4, 5),
            (300, 4, 8),
            (10, 20, 5),
            (10, 400, 8),
        ] {
            let known_ns = known_link_varies_ns(takes_ms * MS);
            assert_eq!(acks_late_max_ns(rtt_ms * MS, known_ns), late_ms * MS);
        }
        assert_eq!(acks_late_max_ns(10 * MS, 400 * MS), 400 * MS);
    }
}
