//! The threshold of the window that connections share: half of what they had in flight when something was lost.

use super::departures::Left;
use super::host_pair::{HostPair, SEGMENT_BYTES};
use crate::jitter::CLOSE_NS;

/// The least that a threshold is (RFC 5681, equation 4).
const SEGMENTS_MIN: i64 = 2;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Threshold {
    segments: Option<i64>,
    /// When something was lost last of which the loss closed the window.
    closed_ns: i64,
    /// What had been sent when a timer ran out last: all of that is taken for lost.
    cleared: i64,
    cleared_ns: i64,
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
    pub(super) fn full_bytes(&self) -> i64 {
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

    /// A loss closes the window of all, of what is sent again when this left, and comes; it was missed before, of so many
    /// bytes (`unseen`), or had been seen.
    pub(super) fn closes(
        &mut self,
        (left, time_ns): (Left, i64),
        unseen: i64,
        (is_new, is_by_timer): (bool, bool),
    ) {
        let full_bytes = self.full_bytes();
        // How large they were is not known: when ACKs told of the loss, other data may be most of what is in flight.
        let missing = match is_by_timer {
            true => self.missing.in_flight(self.threshold.cleared_ns),
            false => 0,
        };
        let missing = missing.saturating_mul(full_bytes).saturating_add(unseen);
        let flight = self.flight_when(left, is_by_timer).saturating_add(missing);
        self.threshold.lost(flight, full_bytes, is_new);
        self.threshold.closed_ns = time_ns;
        let way_ns = self.full_way_ns();
        let noticed_ns = left.likely_ns.saturating_add(way_ns);
        if !is_by_timer {
            return self.phases.had_loss(noticed_ns);
        }
        self.threshold.cleared = self.room.sent();
        self.threshold.cleared_ns = time_ns;
        let mut phases = self.phases;
        phases.timed_out(noticed_ns, self.threshold.acks());
        for ack in self.acks_after(left) {
            phases.acknowledged(ack.time_ns.saturating_add(way_ns));
        }
        self.phases = phases;
    }

    /// What all connections had in flight when this left, but for what was missed. What new data had left with, ACKs
    /// before this did not bring: they would have let more go.
    fn flight_when(&self, left: Left, is_by_timer: bool) -> i64 {
        let first_ns = if is_by_timer {
            left.likely_ns
        } else {
            left.from_ns.saturating_sub(CLOSE_NS)
        };
        let until = self.acks.partition_point(|ack| ack.time_ns <= first_ns);
        let before = until.checked_sub(1).and_then(|at| self.acks.get(at));
        let before = before.map_or(0, |ack| ack.acked);
        let to_ns = left.to_ns.saturating_add(CLOSE_NS);
        let mut since = self
            .acks
            .range(until..)
            .take_while(|ack| ack.time_ns <= to_ns);
        let known = before.max(self.ledger.acked());
        let told = since.find(|ack| !is_by_timer && ack.acked > known);
        let acked = told.map_or(before, |ack| ack.acked);
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
