//! The pace in which a sender's segments come when nothing holds them.

/// Shorter gaps are the pace of a link or a scheduler: a full segment at 6 Mbit/s.
pub(super) const BURST_MIN_NS: i64 = 2_000_000;
/// What two segments take longer than this to come is no pace of any link in use: 60 ms.
pub(super) const PACE_STRETCHED_MAX_NS: i64 = PACE_MAX_NS * STRETCH;
/// A first gap between two full segments of up to this is taken for the pace of a link: 0.8 Mbit/s.
const PACE_MAX_NS: i64 = 15_000_000;
/// Jitter, and one ACK for two segments, stretch the pace by this factor.
const STRETCH: i64 = 4;
/// ... and by this part of the round trip: a paced sender spreads its window over it.
const RTT_SHARE: i64 = 10;
/// Round trips vary by less than such a part of them from one packet to the next, but for what is spread.
const JITTER_RTT_SHARE: i64 = 50;
/// On a slower link jitter is no larger share of what a segment takes.
const JITTER_MAX_NS: i64 = PACE_MAX_NS * (STRETCH - 1);
/// A segment of 1460 bytes at 28.8 kbit/s, the slowest modem that HTTP was measured over.
const SLOWEST_NS: i64 = 420_000_000;
/// Headers of IP and TCP, which a link carries besides the payload.
const HEADER_BYTES: i64 = 40;
/// The share of a new gap in the mean: what is slower shows within a few.
const GAIN: i64 = 4;

/// The mean time between full segments that follow each other at once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    mean_ns: i64,
    /// A gap that was too long to be taken for the pace of a link at once.
    doubtful_ns: i64,
}

/// Two long gaps between full segments that differ by no more than this share of them are the pace of a
/// slow link: applications do not write single full segments so regularly.
const STEADY_SHARE: i64 = 50;

impl Pace {
    /// The longest gap before so many segments that is no wait.
    pub(super) fn burst_max_ns(self, segments: u32, rtt_ns: i64) -> i64 {
        self.stretched_ns(segments).max(rtt_ns / RTT_SHARE)
    }

    /// The shortest gap that may be a wait for an ACK: on a LAN the next one comes within a millisecond.
    pub(super) fn shortest_wait_ns(rtt_ns: i64) -> i64 {
        BURST_MIN_NS.min(rtt_ns / RTT_SHARE)
    }

    fn stretched_ns(self, segments: u32) -> i64 {
        let pace = self.of(segments);
        pace.saturating_add(pace.saturating_mul(STRETCH - 1).min(JITTER_MAX_NS))
            .max(BURST_MIN_NS)
    }

    /// By how much the distance of packets varies that a sender does not spread.
    pub(super) fn jitter_max_ns(rtt_ns: i64) -> i64 {
        BURST_MIN_NS.max(rtt_ns / JITTER_RTT_SHARE)
    }

    /// Whether so many segments came so late that they did not follow in this pace.
    pub(super) fn is_outlasted(self, gap_ns: i64, segments: u32) -> bool {
        self.is_shown() && gap_ns > self.stretched_ns(segments)
    }

    /// Whether a gap may show the pace for the first time.
    pub(super) fn may_begin_with(self, gap_ns: i64) -> bool {
        self.mean_ns == 0 && gap_ns <= PACE_MAX_NS
    }

    /// Whether a gap that is too long to begin with is as long as the one before, and so shows the pace of
    /// a slow link.
    /// `rtt_ns` and `full_bytes` bound it: the headers of a round trip alone take their time on that link.
    pub(super) fn is_steady_with(&mut self, gap_ns: i64, rtt_ns: i64, full_bytes: u32) -> bool {
        if gap_ns > Pace::slowest_ns(rtt_ns, full_bytes) {
            return false;
        }
        let before = std::mem::replace(&mut self.doubtful_ns, gap_ns);
        let difference = gap_ns.saturating_sub(before).saturating_abs();
        self.mean_ns <= gap_ns / STRETCH && difference <= gap_ns / STEADY_SHARE
    }

    /// The longest that a full segment may take: bare headers cross the link in a round trip.
    fn slowest_ns(rtt_ns: i64, full_bytes: u32) -> i64 {
        let full = i64::from(full_bytes).saturating_add(HEADER_BYTES);
        SLOWEST_NS.min(rtt_ns.saturating_mul(full) / HEADER_BYTES)
    }

    /// Forgets what it was for a slow link's.
    pub(super) fn begins_with(&mut self, gap_ns: i64) {
        self.mean_ns = gap_ns;
        self.doubtful_ns = 0;
    }

    /// What a segment of so many bytes takes at most on a link that nothing has shown, if that is no slow one.
    pub(super) fn unknown_ns(bytes: u32, full_bytes: u32) -> i64 {
        Pace {
            mean_ns: PACE_MAX_NS,
            doubtful_ns: 0,
        }
        .of_bytes(bytes, full_bytes)
    }

    /// Whether gaps have shown it.
    pub(super) fn is_shown(self) -> bool {
        self.mean_ns > 0
    }

    /// Time that so many segments take.
    pub(super) fn of(self, segments: u32) -> i64 {
        self.mean_ns.saturating_mul(i64::from(segments))
    }

    /// Time that a segment of so many bytes takes, of which a full one has `full_bytes`.
    pub(super) fn of_bytes(self, bytes: u32, full_bytes: u32) -> i64 {
        let full = i64::from(full_bytes).saturating_add(HEADER_BYTES);
        let bytes = i64::from(bytes.min(full_bytes)).saturating_add(HEADER_BYTES);
        self.mean_ns.saturating_mul(bytes) / full
    }

    /// A gap between two full segments that was no wait.
    pub(super) fn learn(&mut self, gap_ns: i64, segments: u32) {
        let gap = gap_ns / i64::from(segments.max(1));
        self.mean_ns = if self.mean_ns == 0 {
            gap
        } else {
            let change = gap.saturating_sub(self.mean_ns) / GAIN;
            self.mean_ns.saturating_add(change)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_follows_the_link_and_bounds_what_is_a_burst() {
        let mut pace = Pace::default();
        assert!(pace.may_begin_with(1_200_000));
        pace.learn(1_200_000, 1);
        assert_eq!(pace.burst_max_ns(1, 0), 4_800_000);
        assert_eq!(pace.burst_max_ns(1, 100_000_000), 10_000_000);
        assert_eq!(pace.of(3), 3_600_000);
    }

    #[test]
    fn a_pace_that_is_not_known_outlasts_nothing() {
        let mut pace = Pace::default();
        assert!(!pace.is_outlasted(100_000_000, 1));
        pace.begins_with(10_000_000);
        assert!(pace.is_outlasted(100_000_000, 1));
        assert!(!pace.is_outlasted(80_000_000, 4));
    }
}
