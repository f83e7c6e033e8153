//! The threshold of the window that connections share: half of what they had in flight when something was lost.

use super::departures::Left;
use super::host_pair::{HostPair, SEGMENT_BYTES};
use crate::jitter::CLOSE_NS;

/// The least that a threshold is (RFC 5681, equation 4).
const SEGMENTS_MIN: i64 = 2;
/// Options of TCP take no more of a segment.
pub(super) const OPTIONS_BYTES: i64 = 40;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Threshold {
    segments: Option<i64>,
    /// ... and that it is at the least.
    least: Option<i64>,
    /// ACKs told of the newest loss.
    is_told: bool,
    /// When something was lost last of which the loss closed the window.
    closed_ns: i64,
    /// What had been sent when a timer ran out last, and when: all of that is taken for lost.
    cleared: i64,
    cleared_ns: i64,
    /// What had been sent when something was sent again last.
    recovers_until: i64,
    /// When the last ACK came that ended a fast recovery: it leaves a window as large as the threshold.
    window_ns: i64,
    /// When the window may have been made smaller last, as what it lets go then comes; and whether that was for the
    /// server had been idle, not for a loss.
    since_ns: i64,
    was_restarted: bool,
}

/// What all connections had in flight when something was lost.
#[derive(Clone, Copy, Debug)]
struct Flight {
    likely: i64,
    /// It left as late as it can have: all ACKs until then had come.
    least: i64,
}

impl Threshold {
    /// Something was lost with so much in flight, and at the least. `is_new`: it was sent after the loss before.
    fn lost(&mut self, flight: Flight, full_bytes: i64, (is_new, is_by_timer): (bool, bool)) {
        let half = |bytes: i64| {
            let segments = (bytes / 2).checked_div(full_bytes).unwrap_or(0);
            Some(segments.max(SEGMENTS_MIN))
        };
        if is_new || self.segments.is_none() {
            self.segments = half(flight.likely);
        }
        if is_new || self.least.is_none() {
            self.least = half(flight.least);
        } else if is_by_timer && self.is_told {
            // What ACKs told of may have left a window as large as the threshold, which the timer halves again.
            self.least = self.least.map(|it| (it / 2).max(SEGMENTS_MIN));
        }
        self.is_told = !is_by_timer && (is_new || self.is_told);
    }

    /// Something is sent again at that time, when so much had been sent.
    fn closes(&mut self, noticed_ns: i64, sent: i64) {
        self.since_ns = self.since_ns.max(noticed_ns);
        self.recovers_until = sent;
        self.was_restarted = false;
    }

    /// Where slow start ends at the soonest, with segments of so many bytes.
    pub(super) fn bytes(self, full_bytes: i64) -> Option<i64> {
        let segments = self.least?;
        Some(segments.saturating_mul(full_bytes))
    }

    /// Whether all that had been sent at the newest loss has come, when so much has.
    pub(super) fn is_recovered(self, acked: i64) -> bool {
        acked >= self.recovers_until
    }

    /// When what a timer sent again came last: all that had left before it is taken for lost.
    pub(super) fn cleared_ns(self) -> i64 {
        self.cleared_ns
    }

    pub(super) fn since_ns(self) -> i64 {
        self.since_ns
    }

    /// The server sends again that was idle: its window may begin anew.
    pub(super) fn was_idle(&mut self, time_ns: i64) {
        self.since_ns = self.since_ns.max(time_ns);
        self.was_restarted = true;
    }

    /// An ACK came that ended a fast recovery.
    pub(super) fn is_window_at(&mut self, time_ns: i64) {
        self.window_ns = time_ns;
    }

    /// ACKs that a window takes to get there that had no room behind so much. Of a window that was used up before the
    /// loss whole segments are left; one that begins anew is what was in flight when the first ACK came.
    pub(super) fn acks_from(&mut self, in_flight: i64, full_bytes: i64) -> u32 {
        let threshold = self.bytes(full_bytes).unwrap_or(0);
        let least = full_bytes.saturating_sub(OPTIONS_BYTES);
        let in_flight = if in_flight < least {
            full_bytes
        } else {
            in_flight
        };
        let mut left = threshold.saturating_sub(in_flight);
        if std::mem::take(&mut self.was_restarted) {
            left = left.saturating_add(full_bytes).saturating_sub(1);
        }
        u32::try_from(left.checked_div(full_bytes).unwrap_or(0)).unwrap_or(0)
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
        let latest_ns = left.to_ns.saturating_add(CLOSE_NS);
        let flight = Flight {
            likely: self.flight_when(left, is_by_timer).saturating_add(missing),
            least: self.in_flight_behind(self.acked_by(latest_ns)),
        };
        self.threshold
            .lost(flight, full_bytes, (is_new, is_by_timer));
        self.threshold.closed_ns = time_ns;
        let way_ns = self.full_way_ns();
        let noticed_ns = left.likely_ns.saturating_add(way_ns);
        self.threshold.closes(noticed_ns, self.room.sent());
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
        if self.threshold.window_ns > left.likely_ns.saturating_add(CLOSE_NS) {
            phases.has_reached_threshold(self.threshold.window_ns.saturating_add(way_ns));
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
        let before = self.acked_by(first_ns);
        let until = self.acks.partition_point(|ack| ack.time_ns <= first_ns);
        let to_ns = left.to_ns.saturating_add(CLOSE_NS);
        let mut since = self
            .acks
            .range(until..)
            .take_while(|ack| ack.time_ns <= to_ns);
        let known = before.max(self.ledger.acked());
        let told = since.find(|ack| !is_by_timer && ack.acked > known);
        self.in_flight_behind(told.map_or(before, |ack| ack.acked))
    }

    /// What all connections had been acknowledged by then.
    fn acked_by(&self, time_ns: i64) -> i64 {
        let until = self.acks.partition_point(|ack| ack.time_ns <= time_ns);
        let newest = until.checked_sub(1).and_then(|at| self.acks.get(at));
        newest.map_or(0, |ack| ack.acked)
    }

    /// What has been sent by now and was not among that, nor taken for lost.
    fn in_flight_behind(&self, acked: i64) -> i64 {
        let sent = self.room.sent();
        sent.saturating_sub(acked.max(self.threshold.cleared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Threshold {
        /// A loss that showed then has left so many segments.
        pub(in super::super) fn is_of(&mut self, segments: i64, since_ns: i64) {
            (self.segments, self.least) = (Some(segments), Some(segments));
            self.since_ns = since_ns;
        }
    }

    fn flight(bytes: i64) -> Flight {
        Flight {
            likely: bytes,
            least: bytes,
        }
    }

    #[test]
    fn a_timer_may_halve_again_what_acks_that_told_of_a_loss_had_left() {
        let mut threshold = Threshold::default();
        threshold.lost(flight(16_000), 1000, (true, false));
        assert_eq!(threshold.bytes(1000), Some(8000));
        threshold.lost(flight(16_000), 1000, (false, true));
        assert_eq!((threshold.bytes(1000), threshold.acks()), (Some(4000), 7));
    }

    #[test]
    fn a_window_that_begins_anew_is_what_was_in_flight_and_one_after_a_loss_has_whole_segments() {
        let mut threshold = Threshold::default();
        threshold.is_of(6, 0);
        assert_eq!(threshold.acks_from(2500, 1000), 3);
        threshold.was_idle(10);
        assert_eq!(threshold.acks_from(2500, 1000), 4);
        assert_eq!(
            threshold.acks_from(2500, 1000),
            3,
            "it grows by segments then"
        );
    }

    #[test]
    fn the_threshold_is_half_of_the_flight_in_whole_segments_and_at_least_two() {
        let mut threshold = Threshold::default();
        threshold.lost(flight(7900), 1000, (true, false));
        assert_eq!(threshold.acks(), 2);
        threshold.lost(flight(1000), 1000, (false, false));
        assert_eq!(threshold.acks(), 2);
        threshold.lost(flight(1000), 1000, (true, false));
        assert_eq!(threshold.acks(), 1);
    }
}
