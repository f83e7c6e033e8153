//! How exactly the times of a capture tell what let a packet go.

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

/// How much later than an ACK lets it go data comes at most, over a path that takes so long and a link that does. On
/// a steady path round trips do not vary with its length, but by what the link may take besides.
pub fn late_max_ns((path_ns, pace_ns): (i64, i64), if_steady_ns: Option<i64>) -> i64 {
    let most_ns = RELEASE_MAX_NS.max(path_ns / RELEASE_RTT_SHARE);
    let varies_ns = if_steady_ns.map_or(most_ns, |link_ns| {
        most_ns.min(RELEASE_MAX_NS.saturating_add(link_ns))
    });
    varies_ns.saturating_add(pace_ns)
}
