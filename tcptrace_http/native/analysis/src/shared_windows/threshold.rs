//! The threshold of the window that connections share: half of what they had in flight when something was lost.

/// The least that a threshold is (RFC 5681, equation 4).
pub(super) const SEGMENTS_MIN: i64 = 2;
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
    pub(super) closed_ns: i64,
    /// What had been sent when a timer ran out last, and when: all of that is taken for lost.
    pub(super) cleared: i64,
    pub(super) cleared_ns: i64,
    /// What had been sent when something was sent again last.
    recovers_until: i64,
    /// When the last ACK came that ended a fast recovery: it leaves a window as large as the threshold.
    pub(super) window_ns: i64,
    /// When the window may have been made smaller last, as what it lets go then comes; and whether that was for the
    /// server had been idle, not for a loss.
    since_ns: i64,
    was_restarted: bool,
}

/// What all connections had in flight when something was lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlight {
    pub(super) likely: i64,
    /// It left as late as it can have: all ACKs until then had come.
    pub(super) least: i64,
}

/// Half of so much in whole segments, as a threshold is at the least.
pub(super) fn half(flight: i64, full_bytes: i64) -> Option<i64> {
    let segments = (flight / 2).checked_div(full_bytes)?;
    Some(segments.max(SEGMENTS_MIN))
}

impl Threshold {
    /// Something was lost with so much in flight, and at the least. `is_new`: it was sent after the loss before.
    pub(super) fn lost(
        &mut self,
        flight: InFlight,
        full_bytes: i64,
        (is_new, is_by_timer): (bool, bool),
    ) {
        let half = |bytes: i64| half(bytes, full_bytes);
        if is_new || self.segments.is_none() {
            self.segments = half(flight.likely);
        }
        if is_new || self.least.is_none() {
            self.least = half(flight.least);
        } else if is_by_timer && self.is_told {
            // What ACKs told of may have left a window as large as the threshold, which the timer halves again.
            self.least = self.least.map(|it| (it / 2).max(SEGMENTS_MIN));
        } else if is_by_timer {
            // A timer of what no timer had sent again halves what has left since the one before (RFC 5681, section 3.1).
            self.least = self.least.min(half(flight.least));
        }
        self.is_told = !is_by_timer && (is_new || self.is_told);
    }

    /// Something is sent again at that time, when so much had been sent.
    pub(super) fn closes(&mut self, noticed_ns: i64, sent: i64) {
        self.since_ns = self.since_ns.max(noticed_ns);
        self.recovers_until = sent;
        self.was_restarted = false;
    }

    /// Where slow start ends at the soonest, with segments of so many bytes.
    pub(super) fn bytes(self, full_bytes: i64) -> Option<i64> {
        let segments = self.least?;
        Some(segments.saturating_mul(full_bytes))
    }

    /// Whether it is the same whichever ACKs had come by then: it is known to the segment, if all that was in flight has
    /// been seen.
    pub(super) fn is_sure(self) -> bool {
        self.segments == self.least
    }

    /// Whether all that had been sent at the newest loss has come, when so much has.
    pub(super) fn is_recovered(self, acked: i64) -> bool {
        acked >= self.recovers_until
    }

    /// Whether it was ACKs that told of the newest loss.
    pub(super) fn is_told(self) -> bool {
        self.is_told
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
    pub(super) fn acks(self) -> u32 {
        let acks = self.segments.unwrap_or(SEGMENTS_MIN).saturating_sub(1);
        u32::try_from(acks).unwrap_or(u32::MAX)
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

    fn flight(bytes: i64) -> InFlight {
        InFlight {
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
    fn a_later_timer_halves_what_has_left_since_the_one_before() {
        let mut threshold = Threshold::default();
        threshold.lost(flight(16_000), 1000, (true, true));
        threshold.lost(flight(20_000), 1000, (false, true));
        assert_eq!(threshold.bytes(1000), Some(8000));
        threshold.lost(flight(6_000), 1000, (false, true));
        assert_eq!((threshold.bytes(1000), threshold.acks()), (Some(3000), 7));
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
