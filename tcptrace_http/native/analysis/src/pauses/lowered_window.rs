//! What a window that a loss had lowered may have held, behind a short segment.

use super::pause::{Pause, PeerAck};
use super::PauseTracker;

/// A loss leaves two segments of a window at the least (RFC 5681, equation 4), and one more after a few ACKs: a flight
/// of no more is what the application wrote as likely as what the window let go.
const LOWERED_SEGMENTS: u64 = 3;

impl Pause {
    /// Whether the window may have had no room for the data before this ACK came: something was lost before, which
    /// lowers a window (RFC 5681, section 3.1), and since then no more was in flight than what the ACK found.
    ///
    /// Full segments had followed the short one as far as the window went; that the ACK of the short one let the
    /// rest go is no sign of Nagle's algorithm then. A window that was never lowered has room for more than it shows.
    /// Nor is it asked of a sender that is known to hold what is short: with or without room it had to wait for that ACK.
    pub(super) fn was_window_full(&self, ack: &PeerAck) -> bool {
        let full = u64::from(self.path.segment_bytes);
        let followed = self.previous.end.saturating_sub(ack.before);
        let had_followed =
            self.previous.end > ack.after && followed > full.saturating_mul(LOWERED_SEGMENTS);
        !self.waits_for_short && had_followed && self.is_beyond_shown(ack)
    }

    /// Whether a window that was lowered may have been smaller than what was in flight with the data before this ACK came.
    pub(super) fn is_beyond_shown(&self, ack: &PeerAck) -> bool {
        let in_flight = self.data.end.saturating_sub(ack.before);
        self.had_loss && in_flight > self.largest_flight_bytes
    }
}

impl PauseTracker {
    /// The newest data was lost before it was seen, and sent again: the first of what is in one recovery has lowered the
    /// window, which grows with the ACKs of the rest.
    pub fn was_lost_unseen(&mut self) {
        let Some(data) = self.previous else {
            return;
        };
        if self.repaired_end.replace(data.end) != Some(data.start) {
            self.window_begins_anew(self.acks_counted);
            self.largest_flight_bytes = self.last_flight_bytes;
        }
    }

    pub(super) fn window_begins_anew(&mut self, acks: u64) {
        self.used.begins_anew(acks);
        self.used_since_idle.begins_anew(acks);
        self.shown_window_bytes = 0;
        self.had_loss = true;
    }
}

#[cfg(test)]
mod tests {
    use super::super::pause::tests::{acknowledged, pause_between};
    use super::super::test_path::{path, segment};
    use super::*;

    const MS: i64 = 1_000_000;
    const START: u64 = (1 << 32) - 500;

    /// A short end behind so many full segments, of which an ACK covers the first: whether a window that had so much in
    /// flight at most held it.
    fn was_held_by_window(segments: u64, largest_flight_bytes: u64, had_loss: bool) -> bool {
        let start = START + (segments - 1) * 1000;
        let previous = segment(0, start, 1000);
        let data = segment(10 * MS, start + 1000, 700);
        let pause = Pause {
            largest_flight_bytes,
            had_loss,
            ..pause_between(previous, data, path(1000, 10 * MS, 0))
        };
        pause.was_window_full(&acknowledged(0, 0).ack)
    }

    #[test]
    fn who_is_known_to_hold_what_is_short_held_it_whatever_room_there_was() {
        let previous = segment(0, START + 3000, 1000);
        let data = segment(10 * MS, START + 4000, 700);
        let was_window_full = |waits_for_short| {
            let pause = Pause {
                largest_flight_bytes: 4000,
                had_loss: true,
                waits_for_short,
                ..pause_between(previous, data, path(1000, 10 * MS, 0))
            };
            pause.was_window_full(&acknowledged(0, 0).ack)
        };
        assert!(was_window_full(false) && !was_window_full(true));
    }

    #[test]
    fn a_window_that_a_loss_lowered_holds_what_is_more_than_was_in_flight_since() {
        assert!(was_held_by_window(4, 4000, true));
        assert!(!was_held_by_window(4, 5000, true));
        assert!(!was_held_by_window(4, 4000, false));
        assert!(!was_held_by_window(3, 3000, true));
    }
}
