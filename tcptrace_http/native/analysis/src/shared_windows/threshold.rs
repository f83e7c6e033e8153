//! The threshold of the window that connections share: half of what they had in flight when something was lost.

use super::departures::Left;
use super::host_pair::{HostPair, SEGMENT_BYTES};

/// The least that a threshold is (RFC 5681, equation 4).
const SEGMENTS_MIN: i64 = 2;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Threshold {
    segments: Option<i64>,
    /// When something was lost last of which the loss closed the window.
    closed_ns: i64,
    /// What had been sent when a timer ran out last: all of that is taken for lost.
    cleared: i64,
}

impl Threshold {
    /// Something was lost with so much in flight. `is_new`: it was sent after the loss before.
    fn lost(&mut self, flight: i64, full_bytes: i64, is_new: bool) {
        if is_new || self.segments.is_none() {
            let half = (flight / 2).checked_div(full_bytes).unwrap_or(0);
            self.segments = Some(half.max(SEGMENTS_MIN));
        }
    }

    /// ACKs that a window of one segment takes to get there, each of which opens it by one.
    fn acks(self) -> u32 {
        let acks = self.segments.unwrap_or(SEGMENTS_MIN).saturating_sub(1);
        u32::try_from(acks).unwrap_or(u32::MAX)
    }
}

impl HostPair {
    fn full_bytes(&self) -> i64 {
        i64::from(match self.pace.largest_bytes {
            0 => SEGMENT_BYTES,
            largest => largest,
        })
    }

    /// Whether a missing packet was sent after the loss before.
    pub(super) fn is_of_later_flight(&self, place: usize, since_ns: i64) -> bool {
        let mut left_over = self.missing.left_over(since_ns);
        let missing = left_over.find(|(at, _)| *at == place);
        missing.is_some_and(|(_, it)| it.noticed_ns > self.threshold.closed_ns)
    }

    /// A loss closes the window of all, of what is sent again when this left, and comes.
    pub(super) fn closes(&mut self, (left, time_ns): (Left, i64), is_new: bool, is_by_timer: bool) {
        let full_bytes = self.full_bytes();
        let flight = self.flight_when(left);
        self.threshold.lost(flight, full_bytes, is_new);
        self.threshold.closed_ns = time_ns;
        let way_ns = self.full_way_ns();
        let noticed_ns = left.likely_ns.saturating_add(way_ns);
        if !is_by_timer {
            return self.phases.had_loss(noticed_ns);
        }
        self.threshold.cleared = self.room.sent();
        let mut phases = self.phases;
        phases.timed_out(noticed_ns, self.threshold.acks());
        for ack in self.acks_after(left) {
            phases.acknowledged(ack.time_ns.saturating_add(way_ns));
        }
        self.phases = phases;
    }

    /// What all connections had in flight when this left, but for what was missed.
    fn flight_when(&self, left: Left) -> i64 {
        let until = self
            .acks
            .partition_point(|ack| ack.time_ns <= left.likely_ns);
        let newest = until.checked_sub(1).and_then(|at| self.acks.get(at));
        let acked = newest.map_or(0, |ack| ack.acked);
        let sent = self.room.sent();
        sent.saturating_sub(acked.max(self.threshold.cleared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_threshold_is_half_of_the_flight_in_whole_segments_and_at_least_two() {
        let mut threshold = Threshold::default();
        threshold.lost(7900, 1000, true);
        assert_eq!(threshold.acks(), 2);
        threshold.lost(1000, 1000, false);
        assert_eq!(threshold.acks(), 2);
        threshold.lost(1000, 1000, true);
        assert_eq!(threshold.acks(), 1);
    }
}
