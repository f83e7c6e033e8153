//! The window in a fast recovery.
//!
//! It is the threshold, and a segment more for each duplicate ACK (RFC 5681, section 3.2): what has come has left the
//! path. So soon it has room behind all that was in flight, though nothing of that is acknowledged.

use super::UsedWindow;

impl UsedWindow {
    /// How many duplicate ACKs make room for a segment behind all that was in flight, if they tell that this was lost
    /// from `start` on.
    pub(crate) fn makes_room_with(&self, start: i64) -> Option<usize> {
        let lost = self.lowered;
        let was_told = lost.until > lost.start && lost.start == start && !lost.has_sack;
        let flight = lost.until.saturating_sub(start);
        let beyond = u64::try_from(flight.saturating_sub(self.threshold?)).unwrap_or(0);
        let acks = beyond.div_ceil(self.full_bytes.unsigned_abs().max(1));
        let acks = usize::try_from(acks)
            .unwrap_or(usize::MAX)
            .saturating_add(1);
        Some(acks).filter(|_| was_told)
    }

    /// They had been sent then.
    pub(crate) fn has_room_in_recovery(&mut self, time_ns: Option<i64>) {
        self.lowered.inflated_ns = time_ns;
    }

    /// When they had been sent that made room behind all up to `end`, if no timer has run out since, and its sender does
    /// not know yet that all of that has come.
    pub(crate) fn had_room_in_recovery_ns(&self, end: i64) -> Option<i64> {
        let goes_on = self.lowered.until == end && self.acked < end;
        self.lowered.inflated_ns.filter(|_| goes_on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = (1 << 32) - 7000;

    /// So many segments were in flight when the first was lost.
    fn lost(segments: i64, has_sack: bool) -> UsedWindow {
        let end = START + segments * 1000;
        let mut window = UsedWindow::default();
        window.hears(1, START);
        window.stops(end, 1000);
        window.has_sack(has_sack);
        window.had_loss(START, end, false);
        window
    }

    #[test]
    fn duplicate_acks_make_room_behind_a_flight_once_they_are_what_it_is_above_the_threshold_and_one_more(
    ) {
        for (segments, acks) in [(4, 3), (5, 4), (8, 5)] {
            assert_eq!(lost(segments, false).makes_room_with(START), Some(acks));
        }
        assert_eq!(lost(8, true).makes_room_with(START), None);
        assert_eq!(lost(8, false).makes_room_with(START + 1000), None);
    }

    #[test]
    fn a_timer_takes_the_room_and_the_ack_of_all_ends_it() {
        let end = START + 4000;
        for (by_timer, acked, room_ns) in [
            (false, START, Some(9)),
            (true, START, None),
            (false, end, None),
        ] {
            let mut window = lost(4, false);
            window.has_room_in_recovery(Some(9));
            if by_timer {
                window.had_loss(START, end, true);
            }
            window.hears(10, acked);
            assert_eq!(window.had_room_in_recovery_ns(end), room_ns);
        }
    }
}
