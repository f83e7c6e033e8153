//! The window that a clock of the sender spreads over a round trip.
//!
//! Who goes on behind a pause by a clock lets each segment of the window go so long behind the one before as makes a round
//! trip of all of them (Visweswaraiah and Heidemann 1997; Eggert 1999, section 3.1). So the distance of two tells how
//! many there are, be they sent or not: what is short and comes with the ACK of all, when the clock would have let it go
//! before, was held by Nagle's algorithm, not by the window.

use super::UsedWindow;
use crate::jitter::CLOSE_NS;

/// The distance of what a clock has let go, and the segments that it spreads.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spread {
    every_ns: i64,
    segments: i64,
    /// Behind what was sent last the clock would have let more go.
    had_room: bool,
}

impl Spread {
    /// Whether there was room for what does not fill the window up to its last byte.
    pub(super) fn had_room(self) -> bool {
        self.had_room
    }
}

impl UsedWindow {
    /// A clock lets data go so long behind other data, on a path of such a round trip. Before anything was acknowledged a
    /// link that is not known yet looks like one.
    pub(crate) fn is_spread(&mut self, every_ns: i64, round_trip_ns: i64) {
        if self.acked <= 1 {
            return;
        }
        // The round trip that the sender has measured is no shorter.
        let least_ns = round_trip_ns.saturating_sub(CLOSE_NS).max(0);
        let others = every_ns.saturating_sub(1);
        let segments = least_ns.saturating_add(others).checked_div(every_ns);
        self.spread = Spread {
            every_ns,
            segments: segments.unwrap_or(0),
            had_room: false,
        };
    }

    /// Something short of so many bytes comes behind all up to `end`, so long after the last of it: whether a clock would
    /// have let it go before.
    pub(crate) fn had_spread_room(&mut self, end: i64, bytes: u32, quiet_ns: i64) -> bool {
        let needed = self
            .outstanding_behind(end)
            .saturating_add(i64::from(bytes));
        let is_due = quiet_ns > self.spread.every_ns.saturating_add(CLOSE_NS);
        self.spread.had_room = is_due && needed <= self.spread_bytes();
        self.spread.had_room
    }

    /// So much a clock lets go in a round trip.
    pub(super) fn spread_bytes(&self) -> i64 {
        self.spread.segments.saturating_mul(self.full_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn a_clock_tells_the_window_that_it_spreads_over_a_round_trip() {
        for (acked, every_ms, bytes, quiet_ms, had_room) in [
            (501, 40, 700, 100, true),
            (501, 40, 700, 39, false),
            (501, 50, 700, 100, false),
            (501, 40, 1001, 100, false),
            (0, 40, 700, 100, false),
        ] {
            let mut window = UsedWindow::default();
            window.hears(0, acked);
            window.stops(acked.max(1) + 2000, 1000);
            window.is_spread(every_ms * MS, 100 * MS);
            assert_eq!(
                window.had_spread_room(acked.max(1) + 2000, bytes, quiet_ms * MS),
                had_room
            );
        }
    }
}
