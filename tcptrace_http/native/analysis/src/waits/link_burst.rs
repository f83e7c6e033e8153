//! A burst of data, which the slowest link has something to send of all the time, and what its ACKs tell of that link.

use super::link::{size, Least};
use crate::byte_time::{per_byte, takes_ns};
use crate::link_margins::QUEUED_SHARE;

/// Data that left at once, and what has come of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkBurst {
    /// When it began; none where something of it was lost.
    begun_ns: Option<i64>,
    bytes: u32,
    segments: u32,
    /// When the last segment left that is acknowledged, and its size with headers.
    last: (i64, i64),
    /// The first ACK of it: when, and what it acknowledged with its headers.
    first: Option<(i64, i64)>,
}

impl LinkBurst {
    /// Begins with a segment that was sent at `time_ns`.
    pub(super) fn from(time_ns: i64) -> Self {
        LinkBurst {
            begun_ns: Some(time_ns),
            ..LinkBurst::default()
        }
    }

    /// Whether it began before another one that goes on.
    pub(super) fn is_longer_than(self, other: LinkBurst) -> bool {
        self.begun_ns < other.begun_ns
    }

    /// An ACK covers this segment, which left at `time_ns`.
    pub(super) fn covers(&mut self, time_ns: i64, bytes: u32, segments: u32) {
        self.last = (time_ns, size(bytes, segments));
        self.bytes = self.bytes.saturating_add(bytes);
        self.segments = self.segments.saturating_add(segments);
    }

    /// The ACK came: picoseconds that a byte takes at most, if more than a full segment was acknowledged
    /// since the burst began, which no receiver delays; `least` has the path's least round trip.
    pub(super) fn acknowledged(
        &mut self,
        time_ns: i64,
        least: Least,
        full_bytes: u32,
    ) -> Option<i64> {
        let begun_ns = self.begun_ns?;
        if self.bytes == 0 {
            return None;
        }
        let all = size(self.bytes, self.segments);
        let (first_ns, first_size) = *self.first.get_or_insert((time_ns, all));
        // What a full segment is may not be known yet, and a single one is none too large for its ACK to be delayed.
        if self.bytes <= full_bytes || self.segments <= 1 {
            return None;
        }
        let payload = size(self.bytes, self.segments.saturating_sub(1));
        let elapsed = time_ns
            .saturating_sub(begun_ns)
            .saturating_sub(least.elapsed_ns);
        let since_sent = per_byte(elapsed, payload.saturating_sub(i64::from(least.bytes)));
        // Where the path's round trip was measured too long only the distance of ACKs tells.
        let between = per_byte(
            time_ns.saturating_sub(first_ns),
            all.saturating_sub(first_size),
        );
        let bound = since_sent.max(between);
        // An ACK that came sooner than the path's least round trip tells of that, not of the link.
        Some(bound).filter(|bound| *bound > 0 && self.kept_busy(all, since_sent))
    }

    /// How long before `time_ns` the last segment left that is acknowledged.
    pub(super) fn waited_ns(&self, time_ns: i64) -> i64 {
        time_ns.saturating_sub(self.last.0)
    }

    /// Whether a link on which a byte takes so long had something to send all the time: what went before the last
    /// segment took clearly longer than until that left. Else ACKs or a clock of the sender spread the burst, and
    /// its own ACKs tell of that.
    fn kept_busy(&self, all: i64, byte_ps: i64) -> bool {
        let (Some(begun_ns), (last_ns, last_size)) = (self.begun_ns, self.last) else {
            return false;
        };
        let before_ns = takes_ns(byte_ps, all.saturating_sub(last_size));
        let queued_ns = before_ns.saturating_sub(last_ns.saturating_sub(begun_ns));
        queued_ns >= before_ns / QUEUED_SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;
    const PATH: Least = Least {
        elapsed_ns: 10 * MS,
        bytes: 0,
    };

    #[test]
    fn more_than_a_full_segment_that_left_at_once_tells_the_link() {
        let mut burst = LinkBurst::from(0);
        burst.covers(0, 946, 1);
        burst.covers(0, 500, 1);
        // 8 Mbit/s: the path's round trip has the headers of one of them.
        assert_eq!(burst.acknowledged(11_500_000, PATH, 946), Some(1_000_000));
    }

    #[test]
    fn a_single_segment_tells_nothing_for_its_ack_may_be_delayed() {
        let mut burst = LinkBurst::from(0);
        burst.covers(0, 946, 1);
        assert_eq!(burst.acknowledged(40 * MS, PATH, 946), None);
        assert_eq!(burst.acknowledged(40 * MS, PATH, 536), None);
    }

    #[test]
    fn the_distance_of_two_acks_tells_it_where_the_path_was_measured_too_long() {
        let mut burst = LinkBurst::from(10 * MS);
        burst.covers(0, 946, 1);
        assert_eq!(burst.acknowledged(12 * MS, PATH, 946), None);
        burst.covers(0, 946, 1);
        assert_eq!(burst.acknowledged(13 * MS, PATH, 946), Some(1_000_000));
    }

    #[test]
    fn what_left_further_apart_than_the_link_takes_tells_nothing_of_it() {
        let mut burst = LinkBurst::from(0);
        burst.covers(0, 946, 1);
        assert_eq!(burst.acknowledged(11 * MS, PATH, 946), None);
        burst.covers(50 * MS, 946, 1);
        assert_eq!(burst.acknowledged(61 * MS, PATH, 946), None);
        let mut queued = LinkBurst::from(0);
        queued.covers(0, 946, 1);
        queued.covers(MS / 2, 946, 1);
        assert!(queued.acknowledged(12 * MS, PATH, 946).is_some());
    }

    #[test]
    fn an_ack_within_the_paths_round_trip_bounds_no_link() {
        let mut burst = LinkBurst::from(0);
        burst.covers(0, 946, 1);
        burst.covers(0, 500, 1);
        assert_eq!(burst.acknowledged(9 * MS, PATH, 946), None);
    }
}
