//! How large the window that connections share is at the most since a loss.
//!
//! Theory of operation. A timer that runs out leaves a window of one segment, and duplicate ACKs one of the threshold and
//! three (RFC 5681, sections 3.1 and 3.2). Each ACK of something new opens it by a segment below the threshold, and above
//! that by what lets it grow by one in a round trip. Of packets that were missed it is not known how long they were: where
//! one loss follows another soon, no more can have been in flight than the window had room for.

/// Each of as many duplicate ACKs as tell of a loss opens the window by a segment (RFC 5681, section 3.2, step 3).
const TOLD_SEGMENTS: i64 = 3;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowAtMost {
    bytes: Option<i64>,
    threshold: i64,
    full_bytes: i64,
}

impl WindowAtMost {
    /// A timer has run out, or ACKs have told of a loss.
    pub(super) fn after_loss(threshold: i64, full_bytes: i64, is_by_timer: bool) -> Self {
        let told = threshold.saturating_add(full_bytes.saturating_mul(TOLD_SEGMENTS));
        WindowAtMost {
            bytes: Some(if is_by_timer { full_bytes } else { told }),
            threshold,
            full_bytes,
        }
    }

    /// An ACK of something new opens it.
    pub(super) fn opens(&mut self) {
        let full = self.full_bytes;
        let grown = |bytes: i64| {
            let per_round_trip = full.saturating_mul(full).checked_div(bytes);
            let is_below = bytes < self.threshold;
            bytes.saturating_add(if is_below {
                full
            } else {
                per_round_trip.unwrap_or(0)
            })
        };
        self.bytes = self.bytes.map(grown);
    }

    /// Of what may have been in flight no more than it had room for, but as much as has been seen.
    pub(super) fn bounds(self, in_flight: i64, seen: i64) -> i64 {
        let most = self.bytes.unwrap_or(in_flight).max(seen);
        in_flight.min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: i64 = 1000;

    #[test]
    fn no_more_was_in_flight_than_acks_since_the_loss_before_had_made_room_for() {
        for (is_by_timer, acks, most) in [
            (true, 0, FULL),
            (true, 2, 3 * FULL),
            (true, 4, 3633),
            (false, 0, 6 * FULL),
        ] {
            let mut window = WindowAtMost::after_loss(3 * FULL, FULL, is_by_timer);
            for _ in 0..acks {
                window.opens();
            }
            assert_eq!(window.bounds(9 * FULL, 0), most);
            assert_eq!(window.bounds(500, 0), 500);
            assert_eq!(window.bounds(9 * FULL, 7 * FULL), 7 * FULL, "it was seen");
        }
        assert_eq!(WindowAtMost::default().bounds(9 * FULL, 0), 9 * FULL);
    }
}
