//! What a window was used for, and what the ACKs since have made of it.

/// By how much an ACK opens a window at least, be it used or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Growth {
    /// That is not known.
    Unknown,
    /// By a segment, in slow start (RFC 5681, section 3.1).
    SlowStart,
    /// By a segment for as many ACKs as it has segments (RFC 5681, section 3.1, equation 3), and one more where these
    /// are counted as Linux 2.0 does.
    Avoidance,
}

/// A window has as many segments at least once an ACK has come since it was made anew: below the threshold that ACK
/// adds one to the one that it was, and the threshold is no less (RFC 5681, section 3.1, equation 4).
const SEGMENTS_MIN: u64 = 2;

/// The largest flight since the window was made anew, and what the ACKs since have made of it: the least that it is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    /// The largest flight, in whole segments, and how many ACKs had come by then.
    bytes: u64,
    acks: u64,
}

impl Used {
    /// So much was in flight at once, in whole segments, when so many ACKs had come: the least that the window was.
    pub(super) fn shows(&mut self, whole: u64, acks: u64, full: u64, growth: Growth) -> u64 {
        let grown = self.grown(acks, full, growth);
        let least = whole.max(self.least(acks, full, growth));
        if least > grown {
            *self = Used { bytes: least, acks };
        }
        least.max(grown)
    }

    /// Nothing was in flight yet.
    pub(super) fn is_unused(&self) -> bool {
        self.bytes == 0
    }

    /// The least that the window is when so many ACKs have come.
    pub(super) fn at(&self, acks: u64, full: u64, growth: Growth) -> u64 {
        let grown = self.grown(acks, full, growth);
        grown.max(self.least(acks, full, growth))
    }

    fn least(&self, acks: u64, full: u64, growth: Growth) -> u64 {
        if acks > self.acks && growth == Growth::Avoidance {
            full.saturating_mul(SEGMENTS_MIN)
        } else {
            0
        }
    }

    fn grown(&self, acks: u64, full: u64, growth: Growth) -> u64 {
        let newly = acks.saturating_sub(self.acks);
        match growth {
            Growth::SlowStart => self.bytes.saturating_add(newly.saturating_mul(full)),
            // With one segment more the square of the window, in segments, grows by more than two.
            Growth::Avoidance if self.bytes > 0 => {
                let begun = u128::from(self.bytes.checked_div(full).unwrap_or(0)).saturating_add(1);
                let square = begun.saturating_mul(begun);
                let grown = square.saturating_add(u128::from(newly).saturating_mul(2));
                let segments = u64::try_from(grown.isqrt().saturating_sub(1)).unwrap_or(0);
                self.bytes.max(segments.saturating_mul(full))
            }
            Growth::Avoidance | Growth::Unknown => self.bytes,
        }
    }

    /// The window may be a smaller one when so many ACKs have come: after an idle period (RFC 5681, section 4.1).
    pub(super) fn begins_anew(&mut self, acks: u64) {
        *self = Used { bytes: 0, acks };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u64 = 1460;

    #[test]
    fn each_ack_adds_a_segment_to_what_was_used_at_once() {
        let mut used = Used::default();
        assert_eq!(used.shows(2 * FULL, 5, FULL, Growth::SlowStart), 5 * FULL);
        used.begins_anew(5);
        assert_eq!(used.shows(2 * FULL, 5, FULL, Growth::SlowStart), 2 * FULL);
        assert_eq!(used.shows(FULL, 7, FULL, Growth::SlowStart), 4 * FULL);
    }

    #[test]
    fn past_slow_start_acks_for_all_of_a_window_add_a_segment_and_none_where_nothing_was_used() {
        let mut used = Used::default();
        used.begins_anew(3);
        assert_eq!(used.shows(0, 3, FULL, Growth::Avoidance), 0);
        assert_eq!(used.shows(2 * FULL, 3, FULL, Growth::Avoidance), 2 * FULL);
        assert_eq!(used.shows(FULL, 6, FULL, Growth::Avoidance), 2 * FULL);
        assert_eq!(used.shows(FULL, 7, FULL, Growth::Avoidance), 3 * FULL);
        assert_eq!(used.shows(FULL, 11, FULL, Growth::Avoidance), 4 * FULL);
        used.begins_anew(9);
        assert_eq!(used.shows(FULL, 12, FULL, Growth::Unknown), FULL);
    }
    #[test]
    fn a_window_that_a_loss_lowered_is_two_segments_once_an_ack_has_come() {
        let mut used = Used::default();
        used.begins_anew(7);
        assert_eq!(used.shows(FULL, 7, FULL, Growth::Avoidance), FULL);
        assert_eq!(used.shows(FULL, 8, FULL, Growth::Avoidance), 2 * FULL);
        used.begins_anew(8);
        assert_eq!(used.shows(FULL, 9, FULL, Growth::Avoidance), 2 * FULL);
        used.begins_anew(9);
        assert_eq!(used.shows(FULL, 10, FULL, Growth::Unknown), FULL);
    }
}
