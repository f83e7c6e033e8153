//! The slowest link of the path to an observer near the receiver, as the distances of segments tell it.
//!
//! Two segments of a connection come no closer together than the slowest link takes for the second. So each
//! distance bounds from above what a byte takes there, and what several of them agree on is that: applications
//! do not write as regularly, in proportion to the size of each segment.

use crate::byte_time::{per_byte, takes_ns};
use crate::link_headers::LinkHeaders;
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

/// The least round trip that is known is of a handshake, whose options took their time on the link, too; and by so much
/// is the least that was seen above the least there is.
const OPTIONS_SHARE: i64 = 8;
const LEAST_ABOVE_NS: i64 = 2_000_000;

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
    /// What the link carries besides payload.
    headers: LinkHeaders,
    /// What a byte takes at most, as answers tell that came soon.
    answered_ps: Option<i64>,
}

impl Arrivals {
    /// A segment came so long after what the link carried before it; `rtt_ns` is the path's, on which the headers
    /// of a handshake alone take their time.
    pub fn came_after(&mut self, gap_ns: i64, bytes: u32, segments: u32, rtt_ns: i64) {
        let most_ps = per_byte(rtt_ns, i64::from(HEADER_BYTES)).min(SLOWEST_PS);
        let most_ps = most_ps.min(self.answered_ps.unwrap_or(most_ps));
        let sample_ps = per_byte(gap_ns, size(bytes, segments));
        if bytes < PAYLOAD_MIN {
            return self.may_agree_short(gap_ns, bytes, segments);
        }
        if sample_ps > most_ps {
            return;
        }
        let distance = (gap_ns, bytes, segments);
        let Some(byte_ps) = self.byte_ps else {
            self.begin_with(sample_ps, distance);
            return;
        };
        let slack = byte_ps / AGREE_SHARE;
        let least_ps = byte_ps.saturating_sub(slack);
        // Of a short segment the headers that the link has not are a large share.
        let is_known = self.agreeing >= AGREEING_MIN;
        let is_same = is_known && without_link_ps(gap_ns, bytes, segments) >= least_ps;
        if !is_known && self.agrees_without_link(distance) {
            self.byte_ps = Some(byte_ps.max(sample_ps));
            self.agreeing = self.agreeing.saturating_add(1);
            self.disproof = None;
            self.keeps_pace(distance);
        } else if sample_ps < least_ps {
            if !is_same {
                self.begin_with(sample_ps, distance);
            }
        } else if sample_ps <= byte_ps.saturating_add(slack) {
            self.byte_ps = Some(byte_ps.min(sample_ps));
            self.agreeing = self.agreeing.saturating_add(1);
            self.disproof = None;
            self.keeps_pace(distance);
        } else {
            self.disproves(sample_ps);
        }
    }

    /// An answer that begins with so many bytes came so much later than the path's least round trip: it took no longer
    /// on the link. An application that writes equal pieces at equal distances is no slow link.
    pub fn answered(&mut self, longer_ns: i64, bytes: u32) {
        if bytes < PAYLOAD_MIN {
            return;
        }
        let options_ns = longer_ns.max(0) / OPTIONS_SHARE;
        let most_ns = longer_ns.max(0).saturating_add(options_ns);
        let most_ps = per_byte(most_ns.saturating_add(LEAST_ABOVE_NS), i64::from(bytes));
        let answered_ps = self.answered_ps.map_or(most_ps, |it| it.min(most_ps));
        if self.byte_ps.is_some_and(|byte_ps| byte_ps > answered_ps) {
            *self = Arrivals::default();
        }
        self.answered_ps = Some(answered_ps);
    }

    /// Whether answers tell that no link is as slow as others have it.
    pub fn refutes(&self, others: Arrivals) -> bool {
        let told = self.answered_ps.zip(others.byte_ps);
        told.is_some_and(|(most_ps, byte_ps)| byte_ps > most_ps)
    }

    /// Whether the largest distance makes a byte take as long, if the slowest link has no headers of its own.
    fn agrees_without_link(&self, (gap_ns, bytes, segments): (i64, u32, u32)) -> bool {
        let sample_ps = without_link_ps(gap_ns, bytes, segments);
        self.distance_without_link_ps()
            .is_some_and(|byte_ps| are_equal(byte_ps, sample_ps))
    }

    fn distance_without_link_ps(&self) -> Option<i64> {
        let (gap_ns, bytes) = self.headers.distance()?;
        Some(without_link_ps(gap_ns, bytes, 1))
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
            self.headers.forgets();
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
        let without_link_ps = self.distance_without_link_ps();
        let is_alike = without_link_ps.is_some_and(|ps| are_equal(ps, one_ps));
        let is_bound = |byte_ps: i64| one_ps <= byte_ps || is_alike;
        if self.agreeing < AGREEING_MIN
            && are_equal(one_ps, other_ps)
            && self.byte_ps.is_none_or(is_bound)
        {
            // The handshake's packets are larger than others without payload: both may seem a little quicker. A distance
            // is exact.
            let is_alike = |byte_ps: &i64| is_alike || are_equal(*byte_ps, one_ps);
            let distance_ps = self.byte_ps.filter(is_alike);
            self.disproof = distance_ps.is_none().then_some((0, 0));
            if distance_ps.is_none() {
                self.headers.forgets();
            }
            self.byte_ps = distance_ps.or(Some(one_ps.max(other_ps)));
            self.agreeing = AGREEING_MIN;
        }
    }

    /// Data that came so late may agree with a single distance, be it that of a short segment.
    pub fn agrees_with(&mut self, late_ps: i64) {
        let distances = [self.byte_ps, self.distance_without_link_ps()];
        if distances
            .into_iter()
            .flatten()
            .any(|byte_ps| are_equal(byte_ps, late_ps))
        {
            self.agreeing = self.agreeing.max(AGREEING_MIN);
        }
        if self.byte_ps.is_none() && self.is_short_as(late_ps) {
            self.byte_ps = Some(late_ps);
            self.agreeing = AGREEING_MIN;
        }
    }

    /// The distance that tells what the link takes, and its payload, as long as none agrees with it.
    #[must_use]
    pub fn single_distance(self) -> Option<(i64, u32)> {
        self.headers
            .distance()
            .filter(|_| self.agreeing < AGREEING_MIN)
    }

    /// What is known of the path besides distances agrees with that one.
    pub fn is_agreed(&mut self) {
        self.agreeing = self.agreeing.max(AGREEING_MIN);
    }

    fn begin_with(&mut self, sample_ps: i64, distance: (i64, u32, u32)) {
        self.byte_ps = Some(sample_ps);
        self.agreeing = 1 + u32::from(self.agrees_with_short());
        self.disproof = None;
        self.headers.forgets();
        self.keeps_pace(distance);
    }

    /// Several segments that were captured as one tell nothing of their headers.
    fn keeps_pace(&mut self, (gap_ns, bytes, segments): (i64, u32, u32)) {
        if segments == 1 {
            self.headers.keeps_pace(gap_ns, bytes);
        }
    }

    /// Data has headers of IP and TCP of this length.
    pub fn has_headers(&mut self, packet_bytes: u32) {
        self.headers = self.headers.of_packets(packet_bytes);
    }

    /// ... and the link those that others have told of.
    #[must_use]
    pub fn with_headers_of(self, other: Arrivals) -> Arrivals {
        Arrivals {
            headers: self.headers.or_as(other.headers),
            ..self
        }
    }

    /// Whether it is known what the link takes for headers.
    #[must_use]
    pub fn knows_headers(self) -> bool {
        self.headers.takes_ns(0, 1).is_some()
    }

    /// A segment came so long behind another one, be that in the pace of the link or not.
    pub fn came_behind(&mut self, gap_ns: i64, bytes: u32) {
        if self.agreeing >= AGREEING_MIN {
            self.headers.came_behind(gap_ns, bytes);
        }
    }

    /// A segment came so much later than a bare packet that the newest ACK would have let go.
    pub fn came_late(&mut self, late_ns: i64, bytes: u32) {
        if self.agreeing >= AGREEING_MIN {
            self.headers.came_late(late_ns, bytes);
        }
    }

    /// What a segment takes on the slowest link, if that is a slow one and known.
    #[must_use]
    pub fn takes_ns(self, bytes: u32, segments: u32) -> Option<i64> {
        let byte_ps = self.byte_ps.filter(|_| self.agreeing >= AGREEING_MIN)?;
        let by_bytes_ns = || takes_ns(byte_ps, size(bytes, segments));
        let by_headers_ns = self.headers.takes_ns(bytes, segments);
        is_slow(byte_ps).then(|| by_headers_ns.unwrap_or_else(by_bytes_ns))
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
mod tests;
