//! The least congestion window that a sender had grown to: what it had sent at once, and what ACKs added to that.
//!
//! Slow start opens the window by a segment for each ACK of new data (RFC 5681, section 3.1), used or not, on
//! stacks from before RFC 2861. So a window is larger than the largest flight it was used for: the ACKs of that
//! flight, and of all after it, have opened it on.

/// In segments, since the last loss or restart.
#[derive(Clone, Copy, Debug, Default)]
pub struct GrownWindow {
    segments: u32,
    /// ACKs for data of the present flight: none of them can have let its first round trip go.
    acks_of_flight: u32,
}

impl GrownWindow {
    /// An ACK of new data came, for the present flight or for data before it.
    pub fn acknowledged(&mut self, is_of_flight: bool) {
        if is_of_flight {
            self.acks_of_flight = self.acks_of_flight.saturating_add(1);
        } else if self.segments > 0 {
            self.segments = self.segments.saturating_add(1);
        }
    }

    /// The present flight is over: so many segments were sent within its first round trip, none after a loss.
    pub fn flight_ends(&mut self, at_once: u32) {
        let shown = self.segments.max(at_once);
        self.segments = if shown > 0 {
            shown.saturating_add(self.acks_of_flight)
        } else {
            0
        };
        self.acks_of_flight = 0;
    }

    /// A loss or a restart made the window anew.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    #[must_use]
    pub fn segments(self) -> u32 {
        self.segments
    }
}

#[cfg(test)]
mod tests {
    use super::GrownWindow;

    fn after(flights: &[(u32, u32)]) -> GrownWindow {
        let mut window = GrownWindow::default();
        for (segments, acks) in flights {
            for _ in 0..*acks {
                window.acknowledged(true);
            }
            window.flight_ends(*segments);
        }
        window
    }

    #[test]
    fn acks_of_smaller_flights_open_the_window_on() {
        assert_eq!(
            after(&[(1, 1), (2, 1), (3, 2), (2, 1), (1, 1)]).segments(),
            7
        );
    }

    #[test]
    fn an_ack_for_data_before_a_flight_is_in_what_the_flight_shows() {
        let mut window = after(&[(2, 1)]);
        window.acknowledged(false);
        window.flight_ends(4);
        assert_eq!(window.segments(), 4);
    }

    #[test]
    fn a_loss_leaves_nothing_of_what_had_grown() {
        let mut window = after(&[(4, 2)]);
        window.forget();
        window.acknowledged(false);
        assert_eq!(window.segments(), 0);
        window.flight_ends(2);
        assert_eq!(window.segments(), 2);
    }
}
