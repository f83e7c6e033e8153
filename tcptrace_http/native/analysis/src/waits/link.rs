//! The slowest link of the path to the receiver, as ACKs tell a sender of it.
//!
//! Data is acknowledged no sooner than the path's least round trip after it was sent, and than all that was
//! sent with it takes on the slowest link. So every ACK bounds from above what a byte takes there; of a burst
//! whose ACKs nothing delays it is that.

use crate::byte_time::{per_byte, takes_ns, ByteTime, HEADER_BYTES, SERIAL_HEADER_BYTES};
use crate::jitter::{known_link_varies_ns, ACK_LATE_MIN_NS};
use crate::link_margins::{BOUNDS_AGREEING_MIN, BOUNDS_AGREE_SHARE, SLOWEST_PS};

/// A handshake with a full segment in it takes a path no longer than so many times as one without.
const MEASURED_TOO_LONG: i64 = 4;
/// No receiver in use delays the ACK of so many full segments.
const SURE_SEGMENTS: u32 = 3;
/// Who asks over a link that takes no more than such a share of the time has a faster one in the other direction, too.
const ASKED_FASTER_SHARE: i64 = 8;

/// A segment and the time until its ACK, of which the path has a part and the segment the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Least {
    pub(super) elapsed_ns: i64,
    pub(super) bytes: u32,
}

/// What a byte takes on the slowest link, at most.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Link {
    byte_ps: Option<i64>,
    /// As all connections between the two hosts tell it.
    told: Option<ByteTime>,
    /// The handshake and what its last packet brought of the request: that took its time on the link, too.
    handshake: Option<Least>,
    /// Bounds that agree on it.
    agreeing: u32,
    /// An ACK of three full segments told of it: there are receivers that delay one of two.
    is_sure: bool,
    /// What a byte takes at most: towards the server, or by a segment that was sent alone, whose ACK a timer may have
    /// delayed.
    alone_ps: Option<i64>,
    /// The segments that were acknowledged soonest, of the smallest and of the largest payload.
    smallest: Option<Least>,
    largest: Option<Least>,
}

impl Link {
    /// A byte takes no longer than this. The path's least round trip has room for a packet's headers.
    pub(super) fn learn(&mut self, bound_ps: i64, path_ns: i64) {
        let most = per_byte(path_ns, HEADER_BYTES);
        let bound_ps = bound_ps.min(most);
        let before_ps = self.byte_ps.unwrap_or(i64::MAX);
        self.agreeing = if bound_ps < before_ps.saturating_sub(before_ps / BOUNDS_AGREE_SHARE) {
            1
        } else {
            let agrees = bound_ps <= before_ps.saturating_add(before_ps / BOUNDS_AGREE_SHARE);
            self.agreeing
                .saturating_add(u32::from(agrees && self.may_agree(bound_ps)))
        };
        self.byte_ps = Some(before_ps.min(bound_ps));
    }

    /// Nothing has ended a flight whose bytes took so long each, be it that a window did: if a burst of it took as
    /// long, the link was never idle, and is as slow.
    pub(super) fn is_busy_for(&mut self, bound_ps: i64) {
        let agrees = self.byte_ps.is_some_and(|byte_ps| {
            bound_ps.saturating_sub(byte_ps).saturating_abs() <= byte_ps / BOUNDS_AGREE_SHARE
        });
        self.agreeing = self.agreeing.saturating_add(u32::from(agrees));
    }

    /// Whether the path's least round trip is no longer than that of a handshake, in which data had no part.
    pub(super) fn knows_way(self) -> bool {
        self.handshake.is_some()
    }

    /// As it is, if several bounds agree on it: a single one may be that of a delayed ACK. Else one on which
    /// packets take no time.
    pub(super) fn if_agreed(self) -> Link {
        Link {
            byte_ps: self.byte_ps.filter(|_| self.has_agreed()),
            alone_ps: None,
            ..self
        }
    }

    /// The ACKs of all connections between the two hosts have agreed on what a byte takes, or not yet.
    pub(super) fn is_told(&mut self, byte_time: Option<ByteTime>) {
        self.told = byte_time;
    }

    /// ACKs of two segments that a timer sends agree as well, in its rhythm: they are not believed against how close
    /// what the client sends comes together.
    fn may_agree(self, bound_ps: i64) -> bool {
        let least_ps = bound_ps / ASKED_FASTER_SHARE;
        self.is_sure || self.alone_ps.is_none_or(|alone_ps| alone_ps >= least_ps)
    }

    /// Several ACKs have told what a byte takes.
    pub(super) fn has_agreed(self) -> bool {
        self.told.is_some() || self.agreeing >= BOUNDS_AGREEING_MIN
    }

    /// The answer to the SYN-ACK came after this time, and brought so many bytes.
    pub(super) fn shook_hands(&mut self, elapsed_ns: i64, bytes: u32) {
        self.handshake = Some(Least { elapsed_ns, bytes });
    }

    /// The client's first data came so long after its ACK of the SYN-ACK, which was bare: it took no longer than that
    /// on the slowest link, and that link is taken to be no slower in the other direction.
    pub(super) fn asked_after(&mut self, elapsed_ns: i64, bytes: u32) {
        let bytes = i64::from(bytes).saturating_add(SERIAL_HEADER_BYTES);
        self.asked_bound(per_byte(elapsed_ns, bytes));
    }

    /// An ACK of so much that was new told what a byte takes: a receiver that had acknowledged a part of the burst
    /// before, with a request, may have delayed the ACK of the rest.
    pub(super) fn was_told_by(&mut self, newly: u32, full_bytes: u32) {
        self.is_sure |= newly >= full_bytes.saturating_mul(SURE_SEGMENTS);
    }

    /// A segment took no longer than what its ACK came later by than the handshake's, and what is longer of it no more.
    fn acked_alone(&mut self, elapsed_ns: i64, bytes: u32) {
        if let Some(way) = self.handshake.filter(|way| bytes > way.bytes) {
            let longer = i64::from(bytes).saturating_sub(i64::from(way.bytes));
            self.asked_bound(per_byte(elapsed_ns.saturating_sub(way.elapsed_ns), longer));
        }
    }

    /// A byte of the client's data took no longer than this.
    pub(super) fn asked_bound(&mut self, bound_ps: i64) {
        let sound = Some(bound_ps).filter(|bound| (1..=SLOWEST_PS).contains(bound));
        self.alone_ps = sound.into_iter().chain(self.alone_ps).min();
    }

    /// What a byte takes: what several ACKs agree on, or the least of all bounds, for a few of those may be delayed.
    /// How far apart the client asks may be its own time, and tells nothing by itself.
    fn least_ps(self) -> Option<i64> {
        let is_sure = self.is_sure || self.has_agreed();
        let alone_ps = self.alone_ps.filter(|_| !is_sure);
        let told_ps = self.byte_ps?;
        Some(alone_ps.map_or(told_ps, |bound_ps| bound_ps.min(told_ps)))
    }

    /// A segment that found nothing before it on its way was acknowledged after this time.
    pub(super) fn sample(&mut self, elapsed_ns: i64, bytes: u32) {
        self.acked_alone(elapsed_ns, bytes);
        let sample = Least { elapsed_ns, bytes };
        let is_sooner = |than: Least| (bytes, elapsed_ns) <= (than.bytes, than.elapsed_ns);
        if self.smallest.is_none_or(is_sooner) {
            self.smallest = Some(sample);
        }
        let is_larger = |than: Least| {
            bytes > than.bytes || (bytes == than.bytes && elapsed_ns <= than.elapsed_ns)
        };
        if self.largest.is_none_or(is_larger) {
            self.largest = Some(sample);
        }
    }

    /// The payload of the segment whose round trip is the path's least; none if that was a bare SYN's.
    pub(super) fn least_bytes(self, path_ns: i64) -> u32 {
        let least = self.samples().filter(|sample| sample.elapsed_ns <= path_ns);
        least.map(|sample| sample.bytes).min().unwrap_or(0)
    }

    /// The path's least round trip, which was measured with a packet that had payload, without that.
    pub(super) fn way_ns(self, path_ns: i64) -> i64 {
        let bare = self
            .samples()
            .map(|it| it.elapsed_ns.saturating_sub(self.of(it.bytes, 0)));
        bare.fold(path_ns, i64::min)
            .max(path_ns / MEASURED_TOO_LONG)
    }

    fn samples(self) -> impl Iterator<Item = Least> {
        let samples = [self.handshake, self.smallest, self.largest];
        samples.into_iter().flatten()
    }

    /// Time that packets take on it with their headers.
    pub(super) fn of(self, bytes: u32, segments: u32) -> i64 {
        match self.told {
            Some(told) => told.takes_ns(bytes.into(), segments.into()),
            None => takes_ns(self.least_ps().unwrap_or(0), size(bytes, segments)),
        }
    }

    /// Time that packets take on it longer than one without payload: the path's least round trip has that.
    pub(super) fn of_payload(self, bytes: u32, segments: u32) -> i64 {
        self.of(bytes, segments.saturating_sub(1))
    }

    /// By how much an ACK varies before a timer delayed it. What a bound from above has expected comes rather too late,
    /// be it the only one.
    pub(super) fn acks_vary_ns(self, full_bytes: u32) -> i64 {
        known_link_varies_ns(self.of(full_bytes, 1))
    }

    /// By how much an ACK may come late although nothing delays it: a packet of another flow, or scheduling.
    pub(super) fn jitter_ns(self, full_bytes: u32) -> i64 {
        self.of(full_bytes, 1).max(ACK_LATE_MIN_NS)
    }
}

pub(super) fn size(bytes: u32, segments: u32) -> i64 {
    i64::from(bytes).saturating_add(i64::from(segments).saturating_mul(HEADER_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn the_ack_of_a_segment_that_was_alone_bounds_a_link_that_only_delayed_acks_have_told_of() {
        let mut link = Link::default();
        link.shook_hands(100 * MS, 46);
        link.learn(200_000_000, 100 * MS);
        assert_eq!(link.of(1000, 0), 200 * MS);
        link.sample(105 * MS, 1046);
        assert_eq!(link.of(1000, 0), 5 * MS);
        link.sample(300 * MS, 1046);
        assert_eq!(link.of(1000, 0), 5 * MS);
    }

    #[test]
    fn the_least_of_all_bounds_is_what_a_byte_takes() {
        let mut link = Link::default();
        for bound in [2_000_000, 1_000_000, 3_000_000] {
            link.learn(bound, 100 * MS);
        }
        assert_eq!(link.of(946, 1), MS);
        assert_eq!(link.of_payload(946, 1), 946_000);
    }

    #[test]
    fn three_bounds_that_agree_show_a_link_and_fewer_may_be_delayed_acks() {
        let mut link = Link::default();
        for bound in [3_000_000, 1_000_000, 1_010_000] {
            link.learn(bound, 100 * MS);
            assert_eq!(link.if_agreed().of(946, 1), 0);
        }
        link.learn(1_000_000, 100 * MS);
        assert_eq!(link.if_agreed().of(946, 1), MS);
    }

    #[test]
    fn the_first_request_bounds_a_link_of_which_only_delayed_acks_tell() {
        let mut link = Link::default();
        link.asked_after(340_000, 300);
        assert_eq!(link.of(946, 1), 0);
        link.learn(160_000_000, 100 * MS);
        assert_eq!(link.of(946, 1), MS);
        for _ in 0..3 {
            link.learn(2_000_000, 100 * MS);
        }
        assert_eq!(link.of(946, 1), 2 * MS);
        link.asked_after(300 * MS, 300);
        assert_eq!(link.alone_ps, Some(1_000_000));
    }

    #[test]
    fn a_flight_that_took_as_long_as_a_burst_of_it_confirms_the_link_and_a_slower_one_does_not() {
        let mut link = Link::default();
        link.is_busy_for(1_000_000);
        link.learn(1_000_000, 100 * MS);
        for bound in [2_000_000, 1_010_000] {
            link.is_busy_for(bound);
            assert_eq!(link.if_agreed().of(946, 1), 0);
        }
        link.is_busy_for(990_000);
        assert_eq!(link.if_agreed().of(946, 1), MS);
    }

    #[test]
    fn on_a_slow_link_acks_vary_by_no_more_than_timers_delay_them() {
        let mut link = Link::default();
        assert_eq!(link.acks_vary_ns(946), 0);
        link.learn(100_000_000, 1000 * MS);
        assert_eq!(link.acks_vary_ns(946), 8 * MS);
        link.is_told(Some(ByteTime::with_frames(20_000_000)));
        assert_eq!(link.acks_vary_ns(946), 5 * MS);
    }

    #[test]
    fn no_link_is_so_slow_that_the_handshake_had_not_crossed_it() {
        let mut link = Link::default();
        link.learn(40_000_000, 54_000);
        assert_eq!(link.of(946, 1), MS);
    }

    #[test]
    fn a_round_trip_with_payload_is_the_paths_without_what_that_takes() {
        let mut link = Link::default();
        link.sample(30 * MS, 500);
        assert_eq!(link.least_bytes(30 * MS), 500);
        link.learn(20_000_000, 30 * MS);
        assert_eq!(link.way_ns(30 * MS), 20 * MS);
    }

    #[test]
    fn a_handshake_that_brought_the_request_is_the_path_without_what_that_takes() {
        let mut link = Link::default();
        link.shook_hands(30 * MS, 500);
        link.sample(130 * MS, 100);
        assert_eq!(link.least_bytes(30 * MS), 500);
        link.learn(20_000_000, 30 * MS);
        assert_eq!(link.way_ns(30 * MS), 20 * MS);
    }

    #[test]
    fn a_link_that_is_told_with_its_headers_takes_those_of_each_packet() {
        let mut link = Link::default();
        link.is_told(Some(ByteTime {
            byte_ps: 100_000_000,
            header_bytes: 66,
        }));
        assert_eq!(link.of(34, 1), 10 * MS);
        assert_eq!(link.of_payload(34, 1), 3_400_000);
    }
}
