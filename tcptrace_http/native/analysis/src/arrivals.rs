//! The slowest link of the path to an observer near the receiver, as the distances of segments tell it.
//!
//! Two segments of a connection come no closer together than the slowest link takes for the second. So each
//! distance bounds from above what a byte takes there, and what several of them agree on is that: applications
//! do not write as regularly, in proportion to the size of each segment.

use crate::byte_time::{per_byte, takes_ns};
use crate::link_margins::SLOWEST_PS;

/// Headers of Ethernet, IP and TCP without options.
const HEADER_BYTES: u32 = 54;
/// The slowest link may be another one than that on which was captured, with shorter headers of its own or none.
const LINK_HEADER_BYTES: u32 = 14;
/// Of less payload the headers' share is too large to know them as little as that.
const PAYLOAD_MIN: u32 = 256;
/// Two distances agree that differ by no more than this share of them: options are as much of the headers.
const AGREE_SHARE: i64 = 40;
/// As many distances show a link.
const AGREEING_MIN: u32 = 2;
/// As many show that the lateness of data that came one by one was not the link's.
const DISPROVING_MIN: u32 = 3;
/// What takes so many times as long as others did was not on the link alone.
pub const OUTLASTED: i64 = 4;
/// A byte of what comes closer together may have waited in the capturing host rather than for a link: more than
/// 100 Mbit/s, with the headers that the link may not have.
const SLOW_MIN_PS: i64 = 75_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// What a byte takes, at most.
    byte_ps: Option<i64>,
    /// Distances that agree on it.
    agreeing: u32,
    /// What the newest distance of a short segment says, with the headers of the link and without.
    short_ps: Option<(i64, i64)>,
    /// What distances say, and how many, where only the lateness of data that came one by one agrees on what a byte takes.
    disproof: Option<(i64, u32)>,
}

impl Arrivals {
    /// A segment came so long after what the link carried before it; `rtt_ns` is the path's, on which the headers
    /// of a handshake alone take their time.
    pub fn came_after(&mut self, gap_ns: i64, bytes: u32, segments: u32, rtt_ns: i64) {
        let most_ps = per_byte(rtt_ns, i64::from(HEADER_BYTES)).min(SLOWEST_PS);
        let sample_ps = per_byte(gap_ns, size(bytes, segments));
        if bytes < PAYLOAD_MIN {
            return self.may_agree_short(gap_ns, bytes, segments);
        }
        if sample_ps > most_ps {
            return;
        }
        let Some(byte_ps) = self.byte_ps else {
            self.begin_with(sample_ps);
            return;
        };
        let slack = byte_ps / AGREE_SHARE;
        let least_ps = byte_ps.saturating_sub(slack);
        // Of a short segment the headers that the link has not are a large share.
        let is_known = self.agreeing >= AGREEING_MIN;
        let is_same = is_known && without_link_ps(gap_ns, bytes, segments) >= least_ps;
        if sample_ps < least_ps {
            if !is_same {
                self.begin_with(sample_ps);
            }
        } else if sample_ps <= byte_ps.saturating_add(slack) {
            self.byte_ps = Some(byte_ps.min(sample_ps));
            self.agreeing = self.agreeing.saturating_add(1);
            self.disproof = None;
        } else {
            self.disproves(sample_ps);
        }
    }

    /// A short segment came so long after what the link carried before it: it may agree with the one distance that is
    /// known, with the headers of the link or without.
    fn may_agree_short(&mut self, gap_ns: i64, bytes: u32, segments: u32) {
        let with_ps = per_byte(gap_ns, size(bytes, segments));
        let short_ps = (with_ps, without_link_ps(gap_ns, bytes, segments));
        self.short_ps = Some(short_ps);
        if self.agreeing < AGREEING_MIN && self.agrees_with_short() {
            self.agreeing = self.agreeing.saturating_add(1);
        }
    }

    fn agrees_with_short(&self) -> bool {
        self.byte_ps
            .is_some_and(|byte_ps| self.is_short_as(byte_ps))
    }

    /// Whether the newest short segment had taken as long for a byte.
    fn is_short_as(&self, byte_ps: i64) -> bool {
        self.short_ps.is_some_and(|(with_ps, without_ps)| {
            are_equal(byte_ps, with_ps) || are_equal(byte_ps, without_ps)
        })
    }

    /// A distance is longer than by what data was late that came one by one: that was not late by the link's time, if
    /// enough distances agree on theirs.
    fn disproves(&mut self, sample_ps: i64) {
        let Some((disproof_ps, distances)) = self.disproof else {
            return;
        };
        let distances = if are_equal(disproof_ps, sample_ps) {
            distances.saturating_add(1)
        } else {
            1
        };
        self.disproof = Some((sample_ps, distances));
        if distances >= DISPROVING_MIN {
            self.byte_ps = Some(sample_ps);
            self.agreeing = distances;
            self.disproof = None;
        }
    }

    /// What else may have been the link's time: it shows no pace, but may agree with one.
    pub fn may_agree(&mut self, elapsed_ns: i64, bytes: u32, segments: u32) {
        let sample_ps = per_byte(elapsed_ns, size(bytes, segments));
        let Some(byte_ps) = self.byte_ps else {
            return;
        };
        if are_equal(byte_ps, sample_ps) {
            self.agreeing = self.agreeing.saturating_add(1);
        }
    }

    /// Picoseconds that a byte took that came so late with so many others, and with the headers of so many packets
    /// more; none if no link takes that long, or if they are too few to tell.
    #[must_use]
    pub fn late_ps(self, late_ns: i64, bytes: i64, headers: i64) -> Option<i64> {
        let headers = headers.saturating_mul(i64::from(HEADER_BYTES));
        let late_ps = per_byte(late_ns, bytes.saturating_add(headers));
        let is_told = bytes >= i64::from(PAYLOAD_MIN) && (1..=SLOWEST_PS).contains(&late_ps);
        is_told.then_some(late_ps)
    }

    /// Whether a distance makes a byte take as long as data did that came late.
    #[must_use]
    pub fn are_alike(late_ps: i64, gap_ns: i64, bytes: u32, segments: u32) -> bool {
        are_equal(late_ps, per_byte(gap_ns, size(bytes, segments)))
    }

    /// Two that came one by one may agree on what a byte takes, where distances do not tell yet.
    pub fn agree_on(&mut self, one_ps: i64, other_ps: i64) {
        let is_bound = |byte_ps: i64| one_ps <= byte_ps;
        if self.agreeing < AGREEING_MIN
            && are_equal(one_ps, other_ps)
            && self.byte_ps.is_none_or(is_bound)
        {
            // The handshake's packets are larger than others without payload: both may seem a little quicker. A distance
            // is exact.
            let distance_ps = self.byte_ps.filter(|byte_ps| are_equal(*byte_ps, one_ps));
            self.disproof = distance_ps.is_none().then_some((0, 0));
            self.byte_ps = distance_ps.or(Some(one_ps.max(other_ps)));
            self.agreeing = AGREEING_MIN;
        }
    }

    /// Data that came so late may agree with a single distance, be it that of a short segment.
    pub fn agrees_with(&mut self, late_ps: i64) {
        if self
            .byte_ps
            .is_some_and(|byte_ps| are_equal(byte_ps, late_ps))
        {
            self.agreeing = self.agreeing.max(AGREEING_MIN);
        }
        if self.byte_ps.is_none() && self.is_short_as(late_ps) {
            self.byte_ps = Some(late_ps);
            self.agreeing = AGREEING_MIN;
        }
    }

    fn begin_with(&mut self, sample_ps: i64) {
        self.byte_ps = Some(sample_ps);
        self.agreeing = 1 + u32::from(self.agrees_with_short());
        self.disproof = None;
    }

    /// What a segment takes on the slowest link, if that is a slow one and known.
    #[must_use]
    pub fn takes_ns(self, bytes: u32, segments: u32) -> Option<i64> {
        let byte_ps = self.byte_ps.filter(|_| self.agreeing >= AGREEING_MIN)?;
        is_slow(byte_ps).then(|| takes_ns(byte_ps, size(bytes, segments)))
    }

    /// Whether neither distances have agreed on what the link takes nor one has shown that it is no slow one.
    #[must_use]
    pub fn is_open(self) -> bool {
        self.agreeing < AGREEING_MIN && self.byte_ps.is_none_or(is_slow)
    }

    /// Whether it tells more than `other`: that is not known, or is longer.
    pub fn bounds(self, other: Arrivals) -> bool {
        let known = |it: Arrivals| it.byte_ps.filter(|_| it.agreeing >= AGREEING_MIN);
        known(self).is_some_and(|byte_ps| known(other).is_none_or(|other_ps| byte_ps < other_ps))
    }

    /// Whether a segment that came so long after the one before cannot have been on the link all the time: others
    /// took much less, in proportion to their size.
    pub fn is_outlasted(self, gap_ns: i64, bytes: u32, segments: u32) -> bool {
        let known = self.byte_ps.filter(|_| self.agreeing >= AGREEING_MIN);
        known.is_some_and(|byte_ps| {
            per_byte(gap_ns, size(bytes, segments)) > byte_ps.saturating_mul(OUTLASTED)
        })
    }

    /// As much later a segment may come that nothing held: a packet without payload went before it.
    pub fn slack_ns(self) -> i64 {
        let header = i64::from(HEADER_BYTES);
        takes_ns(self.byte_ps.unwrap_or(0), header)
    }
}

/// Whether a link takes so long for a byte, and not the capturing host.
fn is_slow(byte_ps: i64) -> bool {
    byte_ps >= SLOW_MIN_PS
}

fn are_equal(one_ps: i64, other_ps: i64) -> bool {
    one_ps.saturating_sub(other_ps).saturating_abs() <= one_ps / AGREE_SHARE
}

fn size(bytes: u32, segments: u32) -> i64 {
    i64::from(bytes).saturating_add(i64::from(segments.saturating_mul(HEADER_BYTES)))
}

/// Picoseconds that a byte took, if the slowest link has no headers of its own.
fn without_link_ps(gap_ns: i64, bytes: u32, segments: u32) -> i64 {
    let headers = i64::from(segments.saturating_mul(LINK_HEADER_BYTES));
    per_byte(gap_ns, size(bytes, segments).saturating_sub(headers))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn after(distances: &[(i64, u32)]) -> Arrivals {
        let mut arrivals = Arrivals::default();
        for (gap_ns, bytes) in distances {
            arrivals.came_after(*gap_ns, *bytes, 1, 20 * MS);
        }
        arrivals
    }

    #[test]
    fn distances_in_proportion_to_the_segments_are_a_slow_link() {
        // 8 bits at 80 kbit/s are 0.1 ms.
        let arrivals = after(&[(100 * MS, 946), (50 * MS, 446)]);
        assert_eq!(arrivals.takes_ns(146, 1), Some(20 * MS));
    }

    #[test]
    fn a_short_segment_shows_no_quicker_link_by_headers_that_the_link_has_not() {
        // The link carries a byte in 0.1 ms, and has no headers of its own.
        let full = (100 * MS, 960);
        let short = |gap_ns: i64| after(&[full, full, (gap_ns, 260)]);
        assert!(short(30 * MS).takes_ns(960, 1).is_some());
        assert_eq!(short(28 * MS).takes_ns(960, 1), None);
    }

    #[test]
    fn a_short_segment_may_agree_with_data_that_came_late() {
        // The link carries a byte in 0.1 ms, and has headers of its own or none.
        for short_ns in [20 * MS, 18_600_000] {
            let mut arrivals = after(&[(short_ns, 146)]);
            arrivals.agrees_with(120_000_000);
            assert_eq!(arrivals.takes_ns(946, 1), None);
            arrivals.agrees_with(100_000_000);
            assert_eq!(arrivals.takes_ns(946, 1), Some(100 * MS));
        }
    }

    #[test]
    fn a_short_segment_may_agree_with_a_single_distance_and_alone_shows_no_link() {
        // The link carries a byte in 0.1 ms, and has headers of its own or none.
        let full = (100 * MS, 946);
        for short in [(20 * MS, 146), (18_600_000, 146)] {
            assert_eq!(after(&[full, short]).takes_ns(946, 1), Some(100 * MS));
            assert_eq!(after(&[short, full]).takes_ns(946, 1), Some(100 * MS));
            assert_eq!(after(&[short, short]).takes_ns(946, 1), None);
        }
        assert_eq!(after(&[full, (30 * MS, 146)]).takes_ns(946, 1), None);
    }

    #[test]
    fn what_takes_much_longer_than_others_did_was_not_on_the_link_alone() {
        let arrivals = after(&[(MS, 946), (MS, 946)]);
        assert!(arrivals.is_outlasted(5 * MS, 946, 1));
        assert!(!arrivals.is_outlasted(3 * MS, 946, 1));
        assert!(!after(&[(MS, 946)]).is_outlasted(5 * MS, 946, 1));
    }

    #[test]
    fn of_two_that_are_known_the_shorter_is_the_links() {
        let (slow, fast) = (
            after(&[(MS, 946), (MS, 946)]),
            after(&[(100, 946), (100, 946)]),
        );
        assert!(fast.bounds(slow) && !slow.bounds(fast));
        assert!(slow.bounds(after(&[(100, 946)])));
        assert!(!after(&[(100, 946)]).bounds(slow));
    }

    #[test]
    fn distances_that_disagree_are_the_applications() {
        let arrivals = after(&[(100 * MS, 946), (70 * MS, 446), (40 * MS, 446)]);
        assert_eq!(arrivals.takes_ns(146, 1), None);
    }

    #[test]
    fn a_round_trip_that_agrees_with_a_single_distance_shows_the_link() {
        let mut arrivals = after(&[(100 * MS, 946)]);
        assert_eq!(arrivals.takes_ns(946, 1), None);
        arrivals.may_agree(140 * MS, 946, 1);
        assert_eq!(arrivals.takes_ns(946, 1), None);
        arrivals.may_agree(150 * MS, 1446, 1);
        assert_eq!(arrivals.takes_ns(946, 1), Some(100 * MS));
    }

    #[test]
    fn two_that_came_late_in_proportion_to_their_bytes_show_the_link_where_no_distance_did() {
        let mut arrivals = after(&[(100 * MS, 946)]);
        let late = |ms, bytes, headers| arrivals.late_ps(ms * MS, bytes, headers).unwrap_or(0);
        let (answer, let_go) = (late(4, 746, 1), late(5, 1000, 0));
        arrivals.agree_on(let_go, answer);
        assert_eq!(arrivals.takes_ns(946, 1), Some(5 * MS));
        assert_eq!(arrivals.late_ps(5 * MS, 100, 0), None, "too few bytes");
    }

    #[test]
    fn a_single_distance_is_the_links_if_what_an_ack_let_go_was_as_late() {
        let mut arrivals = after(&[(10 * MS, 946)]);
        arrivals.agrees_with(5_000_000);
        assert_eq!(arrivals.takes_ns(946, 1), None);
        arrivals.agrees_with(10_100_000);
        assert_eq!(arrivals.takes_ns(946, 1), Some(10 * MS));
    }

    #[test]
    fn a_link_is_open_until_distances_agree_or_one_is_no_slow_links() {
        assert!(Arrivals::default().is_open());
        assert!(after(&[(100 * MS, 946)]).is_open());
        assert!(!after(&[(100 * MS, 946), (50 * MS, 446)]).is_open());
        assert!(after(&[(MS, 946)]).is_open());
        assert!(!after(&[(MS / 20, 946)]).is_open());
    }

    #[test]
    fn a_fast_link_and_one_on_which_no_handshake_had_come_are_none() {
        let at = |gap_ns| after(&[(gap_ns, 946), (gap_ns, 946)]).takes_ns(946, 1);
        // 1,000 bytes take 80 microseconds at 100 Mbit/s.
        assert_eq!(at(80_000), Some(80_000));
        assert_eq!(at(8_000), None);
        let longer = after(&[(500 * MS, 946), (500 * MS, 946)]);
        assert_eq!(longer.takes_ns(946, 1), None);
    }

    #[test]
    fn distances_that_agree_disprove_what_data_seemed_late_by() {
        let late_for = |distances: &[i64]| {
            let mut arrivals = Arrivals::default();
            arrivals.agree_on(50_000_000, 50_000_000);
            for gap_ns in distances {
                arrivals.came_after(*gap_ns, 946, 1, 20 * MS);
            }
            arrivals.takes_ns(946, 1)
        };
        let agreeing = [100 * MS; 3];
        assert_eq!(late_for(&agreeing), Some(100 * MS));
        assert_eq!(late_for(&agreeing[..2]), Some(50 * MS));
        let written = [100 * MS, 150 * MS, 100 * MS, 120 * MS];
        assert_eq!(
            late_for(&written),
            Some(50 * MS),
            "an application writes so"
        );
    }

    #[test]
    fn no_longer_distances_disprove_a_distance() {
        let quick = [(50 * MS, 946); 2];
        let slow = [(100 * MS, 946); 4];
        let arrivals = after(&[&quick[..], &slow[..]].concat());
        assert_eq!(arrivals.takes_ns(946, 1), Some(50 * MS));
    }
}
