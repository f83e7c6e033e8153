//! What the slowest link takes for a segment, as far as segments that came at once tell.

use tcptrace_tcp::FULL_SEGMENT_BYTES;

use super::early::Train;
use crate::arrivals::OUTLASTED;
use crate::byte_time::{self, PICOSECONDS};
use crate::jitter::CLOSE_NS;

/// A segment that takes as long on the slowest link as its payload is long: what follows at once tells its pace.
pub(super) const FULL_BYTES_MIN: u32 = 500;
/// Headers of IP and TCP.
const HEADER_BYTES: u32 = 40;

/// A packet comes by as much of its own time later than the link takes for it, for hosts and captures are no more exact.
const SLACK_SHARE: i64 = 8;

/// Distances that differ by no more than such a part of them agree on the pace.
const AGREE_SHARE: i64 = 16;

/// As many distances that agree show that the pace is the link's.
const ESTABLISHED_MIN: u32 = 4;

/// A link that has let so many go in one pace has no quicker one for a single packet that came early: one behind a pause may
/// have been late, and nothing before it tells.
const SURE_MIN: u32 = 16;

/// Of so many packets that come early the earliest counts.
const VARIES_FOR: i64 = 16;

/// What the slowest link takes for a packet, and for one without payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OnLink {
    pub(super) takes_ns: i64,
    pub(super) bare_ns: i64,
    /// As much longer it may take by options and a frame, which the packet that told the pace had no more of: the
    /// shorter a packet is, the larger is the share of them in it.
    pub(super) headers_ns: i64,
    /// ... and by so much times of the capture vary, as packets show that came early.
    pub(super) varies_ns: i64,
}

impl OnLink {
    /// How much longer than the path's least round trip, which has the headers.
    pub(super) fn longer_ns(self) -> i64 {
        self.takes_ns.saturating_sub(self.bare_ns)
    }

    /// By so much it may come later without a pause of the link.
    pub(super) fn slack_ns(self) -> i64 {
        self.headers_ns.max(
            self.varies_ns
                .max(self.takes_ns / SLACK_SHARE)
                .min(CLOSE_NS),
        )
    }
}

/// What the slowest link takes for a segment, as far as two that came at once tell.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// The quickest: its time and its bytes.
    pub(super) quickest: Option<(i64, u32)>,
    /// Payload of the largest segment.
    pub(super) largest_bytes: u32,
    /// When a packet came last, and what a byte takes at most by how close a shorter one came to that before it.
    came_ns: Option<i64>,
    most_ps: Option<i64>,
    /// Distances that agree with the quickest.
    pub(super) agreeing: u32,
    /// What a byte took of the newest that is not believed until another agrees with it, and how many had agreed with the
    /// quickest by then.
    doubted: Option<(i64, u32)>,
    /// The newest packets, and whether the newest of all came early behind others that were late.
    train: Train,
    is_early: bool,
    /// By how much they come early, at most of late.
    varies_ns: i64,
}

impl Pace {
    /// A segment came so long after another one.
    pub(super) fn follows(&mut self, gap_ns: i64, bytes: u32) {
        if !(FULL_BYTES_MIN..=FULL_SEGMENT_BYTES).contains(&bytes) {
            return;
        }
        self.largest_bytes = self.largest_bytes.max(bytes);
        if self.is_early {
            return;
        }
        let known_ns = self.of(bytes);
        let agrees = known_ns.is_some_and(|takes_ns| {
            takes_ns.saturating_sub(gap_ns).saturating_abs() <= takes_ns / AGREE_SHARE
        });
        let is_quicker = known_ns.is_none_or(|takes_ns| gap_ns < takes_ns);
        if agrees {
            self.agreeing = self.agreeing.saturating_add(1);
        } else if is_quicker {
            self.agreeing = 1;
        }
        if is_quicker {
            self.quickest = Some((gap_ns, bytes));
        }
    }

    /// A packet comes, however short: the link takes no longer for it than since the one before. What is that short
    /// tells this as exactly as hosts and captures are.
    pub(super) fn comes(&mut self, time_ns: i64, bytes: u32) {
        let before_ns = self.came_ns.replace(time_ns);
        let gap_ns = before_ns.map(|before_ns| time_ns.saturating_sub(before_ns));
        let Some(gap_ns) = gap_ns.filter(|gap_ns| *gap_ns >= 0) else {
            return;
        };
        let is_established = self.agreeing >= ESTABLISHED_MIN;
        let takes_ns = |bytes: u32| self.of(bytes).filter(|_| is_established);
        let early_ns = self.train.makes_early_ns((gap_ns, bytes), takes_ns);
        self.train.comes(gap_ns, bytes);
        self.is_early = early_ns.is_some();
        if let Some(early_ns) = early_ns {
            let less_ns = self.varies_ns.saturating_sub(self.varies_ns / VARIES_FOR);
            self.varies_ns = less_ns.max(early_ns);
            return;
        }
        if self.is_doubted(gap_ns, bytes) {
            self.is_early = true;
            return;
        }
        let gap_ps = gap_ns.saturating_add(CLOSE_NS).saturating_mul(PICOSECONDS);
        let most_ps = gap_ps.checked_div(wire(bytes)).unwrap_or(i64::MAX);
        self.most_ps = Some(self.most_ps.map_or(most_ps, |least| least.min(most_ps)));
    }

    /// Whether one packet alone came so much sooner than all others that the link is no quicker for it.
    fn is_doubted(&mut self, gap_ns: i64, bytes: u32) -> bool {
        let Some(takes_ns) = self.of(bytes).filter(|_| self.agreeing >= SURE_MIN) else {
            return false;
        };
        if bytes < FULL_BYTES_MIN || gap_ns >= takes_ns.saturating_sub(takes_ns / AGREE_SHARE) {
            return false;
        }
        let ps = gap_ns.saturating_mul(PICOSECONDS).checked_div(wire(bytes));
        let byte_ps = ps.unwrap_or(i64::MAX);
        let agrees = |before_ps: i64| {
            before_ps.saturating_sub(byte_ps).saturating_abs() <= byte_ps / AGREE_SHARE
        };
        let before = self.doubted.replace((byte_ps, self.agreeing));
        !before.is_some_and(|(before_ps, agreeing)| {
            self.agreeing.saturating_sub(agreeing) < SURE_MIN && agrees(before_ps)
        })
    }

    /// What a segment takes, if that is known.
    pub(super) fn of(&self, bytes: u32) -> Option<i64> {
        let (gap_ns, quickest_bytes) = self.quickest?;
        let takes_ns = gap_ns
            .saturating_mul(wire(bytes))
            .checked_div(wire(quickest_bytes))?;
        let most_ns = self
            .most_ps
            .map_or(i64::MAX, |ps| byte_time::takes_ns(ps, wire(bytes)));
        Some(takes_ns.min(most_ns))
    }

    /// ... and what is shorter by the whole payload.
    pub(super) fn on_link(&self, bytes: u32) -> Option<OnLink> {
        let (_, quickest_bytes) = self.quickest?;
        let bare_ns = self.of(0)?;
        let shorter = wire(quickest_bytes).saturating_sub(wire(bytes)).max(0);
        let headers_ns = bare_ns
            .saturating_mul(shorter)
            .checked_div(wire(quickest_bytes))?;
        Some(OnLink {
            takes_ns: self.of(bytes)?,
            bare_ns,
            headers_ns,
            varies_ns: self.varies_ns,
        })
    }

    /// Whether a segment came so long after other data that the link was not busy all the time.
    pub(super) fn is_outlasted(&self, gap_ns: i64, bytes: u32) -> bool {
        let takes_ns = self.of(bytes);
        takes_ns.is_some_and(|takes_ns| gap_ns > takes_ns.saturating_mul(OUTLASTED))
    }

    pub(super) fn largest_ns(&self) -> Option<i64> {
        self.of(self.largest_bytes)
    }
}

/// A packet as the link carries it.
fn wire(payload: u32) -> i64 {
    i64::from(payload.saturating_add(HEADER_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_packet_may_come_later_without_a_pause_of_the_link_by_headers_that_are_more_of_it_than_of_a_full_one(
    ) {
        let mut pace = Pace::default();
        pace.follows(200 * MS, 960);
        let slack_ns = |bytes: u32| pace.on_link(bytes).map(OnLink::slack_ns);
        // A bare packet takes 8 ms.
        assert_eq!(slack_ns(960), Some(CLOSE_NS));
        assert_eq!(slack_ns(460), Some(4 * MS));
        assert_eq!(slack_ns(0), Some(7_680_000));
        let mut quick = Pace::default();
        quick.follows(MS, 960);
        assert_eq!(quick.on_link(960).map(OnLink::slack_ns), Some(MS / 8));
    }

    #[test]
    fn what_came_early_behind_what_was_late_is_no_pace_of_the_link() {
        let mut pace = Pace::default();
        let mut now_ns = 0;
        for gap_ms in [12, 12, 12, 12, 12, 12, 15, 9, 12] {
            now_ns += gap_ms * MS;
            pace.comes(now_ns, 960);
            pace.follows(gap_ms * MS, 960);
        }
        assert_eq!(pace.of(960), Some(12 * MS));
        let slack_ns = pace.on_link(960).map(OnLink::slack_ns);
        assert_eq!(slack_ns, Some(CLOSE_NS), "times vary by 3 ms");
    }

    #[test]
    fn a_single_packet_that_comes_early_makes_no_link_quicker_that_has_let_many_go_in_one_pace() {
        let pace_ms = |told: u32, quicker_ms: &[i64]| {
            let mut pace = Pace::default();
            let mut now_ns = 0;
            pace.comes(now_ns, 1448);
            for gap_ms in vec![12; told as usize].iter().chain(quicker_ms) {
                now_ns += gap_ms * MS;
                pace.comes(now_ns, 1448);
                pace.follows(gap_ms * MS, 1448);
            }
            pace.of(1448).map(|takes_ns| takes_ns / MS)
        };
        assert_eq!(pace_ms(SURE_MIN, &[7]), Some(12));
        assert_eq!(pace_ms(SURE_MIN - 1, &[7]), Some(7));
        assert_eq!(pace_ms(SURE_MIN, &[7, 12, 7]), Some(7));
        assert_eq!(pace_ms(SURE_MIN, &[7, 10]), Some(12), "they do not agree");
        let seldom = [[7].as_slice(), &[12; SURE_MIN as usize], &[7]].concat();
        assert_eq!(pace_ms(SURE_MIN, &seldom), Some(12));
    }

    #[test]
    fn in_a_pace_of_which_too_few_have_told_nothing_is_early() {
        let is_early = |told: u32| {
            let mut pace = Pace::default();
            for _ in 0..told {
                pace.follows(12 * MS, 1448);
            }
            for time_ms in [0, 15, 24] {
                pace.comes(time_ms * MS, 1448);
            }
            pace.is_early
        };
        assert!(!is_early(1));
        assert!(is_early(ESTABLISHED_MIN + 1));
    }

    #[test]
    fn a_pause_is_no_pace_of_a_link_that_has_carried_short_packets_close_behind_others() {
        let mut pace = Pace::default();
        pace.follows(560 * MS, 960);
        assert_eq!(pace.of(960), Some(560 * MS));
        pace.comes(1000 * MS, 960);
        pace.comes(1001 * MS, 10);
        assert_eq!(pace.of(960), Some(30 * MS));
        pace.follows(MS, 960);
        assert_eq!(pace.of(960), Some(MS));
    }
}
