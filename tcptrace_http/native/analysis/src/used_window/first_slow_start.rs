//! The window in the slow start that a connection begins with.
//!
//! It is a whole number of segments, and grows by one with each ACK (RFC 5681, section 3.1): as large as that makes it at the
//! most, it tells of what found no room that there was none.

use super::UsedWindow;

impl UsedWindow {
    /// Whether a segment of `bytes` has no room behind all up to `end`, which it has room for, while nothing was lost.
    pub(crate) fn is_full_in_first_slow_start(&self, end: i64, bytes: u32) -> bool {
        let had_loss = self.threshold.is_some() || self.regrown.is_some() || self.is_recovering();
        let is_known = self.opened > 0 && self.restarted.is_none() && !self.is_paced;
        let segments = self
            .opened
            .saturating_add(self.full_bytes)
            .saturating_sub(1)
            .checked_div(self.full_bytes);
        let window = self.full_bytes.saturating_mul(segments.unwrap_or(0));
        let outstanding = self.outstanding_behind(end);
        let needed = outstanding.saturating_add(i64::from(bytes));
        is_known && !had_loss && (outstanding..needed).contains(&window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = (1 << 32) - 3000;

    /// Of segments of 1,000 bytes the first flight was of so many bytes; the ACK of 1,000 of them let two segments go.
    fn behind_ack_of_flight(bytes: i64) -> (UsedWindow, i64) {
        let mut window = UsedWindow::default();
        window.hears(1, START);
        window.stops(START + bytes, 1000);
        window.hears(2, START + 1000);
        (window, START + bytes + 2000)
    }

    #[test]
    fn what_comes_behind_two_segments_that_an_ack_let_go_waits_for_the_next_ack() {
        let (mut window, end) = behind_ack_of_flight(3000);
        assert!(window.is_full_in_first_slow_start(end, 1));
        assert!(
            !window.is_full_in_first_slow_start(end - 1000, 1000),
            "of two"
        );
        assert!(!window.is_full_in_first_slow_start(end + 1000, 1), "larger");
        window.hears(3, START + 2000);
        assert!(!window.is_full_in_first_slow_start(end, 1000));
    }

    #[test]
    fn a_window_has_room_for_whole_segments_however_short_one_was() {
        let (window, end) = behind_ack_of_flight(2500);
        assert!(!window.is_full_in_first_slow_start(end, 500));
        assert!(window.is_full_in_first_slow_start(end, 501));
    }

    #[test]
    fn how_large_a_window_was_before_a_loss_tells_nothing_of_the_next() {
        let (mut window, end) = behind_ack_of_flight(3000);
        window.had_loss(START + 2000, end, true);
        window.hears(3, end);
        window.stops(end + 1000, 1000);
        assert!(!window.is_full_in_first_slow_start(end + 1000, 1000));
    }
}
