//! The largest window that a stack has for all connections that share one.
//!
//! Theory of operation. What stands before the slowest link comes in the pace of that, however large the window is that
//! lets it go. But a SYN or a FIN is answered at once (RFC 9293, section 3.10.7), and the bare answer stands behind all
//! that was in flight when it left: what has come by then, and was not acknowledged when the SYN or FIN went by, is
//! what the sender had in flight just then. A window that was never lowered is in slow start, and holds twice as much
//! after a round trip of ACKs; one that holds as much as before, though more was there to be sent, is the largest that
//! its stack has (Eggert 1999, section 4). That it is one for all shows when others use what one of them has left of it.

use trace_model::SeqNumber;

/// So many round trips of ACKs between two flights show that a window does not grow, even if each ACK is of two segments.
const ROUND_TRIPS_SURE: i64 = 2;
/// ... or one, if so many flights followed the first.
const FLIGHTS_SURE: u32 = 2;
/// Four connections to a host begin with two segments each (RFC 2581, section 3.1), whatever their stack has.
pub(super) const WINDOW_SEGMENTS_MIN: i64 = 8;

/// A clock that has more to let go does that before so many times as long have gone as between the two before: what is
/// short takes as long as what is full (Eggert 1999, section 3.1).
const PACES_STOPPED: i64 = 2;

/// A SYN or a FIN of the client went by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    pub(super) time_ns: i64,
    /// Of all connections so much had been acknowledged, with so many ACKs.
    pub(super) acked: i64,
    pub(super) acks: i64,
    /// What answers it acknowledges all up to here.
    pub(super) end: SeqNumber,
}

/// What all connections had in flight when a mark came to the server.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flight {
    pub(super) bytes: i64,
    /// ACKs that had come, and when the mark went by here.
    pub(super) acks: i64,
    pub(super) asked_ns: i64,
    /// When the answer came.
    pub(super) answered_ns: i64,
    /// Connections that had something of it.
    pub(super) senders: usize,
}

/// Flights that were as large, since a first one.
#[derive(Clone, Copy, Debug)]
struct Steady {
    first: Flight,
    /// So many followed it, the last of them when so many ACKs had come: what several SYNs tell that leave together, or
    /// soon after each other, is told once.
    more: u32,
    acks: i64,
    /// Of other numbers of connections: what one of them left the others used.
    is_of_all: bool,
}

/// What a flight tells of the largest window.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shown {
    Nothing,
    /// It was in use then.
    InUse(Flight),
    /// What was taken for it was not.
    NotThat,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LargestWindow {
    pub(super) acks: i64,
    /// The largest flights since the window may have been made smaller, and the one before them.
    steady: Option<Steady>,
    pub(super) before: Flight,
    pub(super) bytes: Option<i64>,
    /// How long nothing had left before what left last behind a pause.
    pause_ns: i64,
}

impl LargestWindow {
    /// An ACK of something new went by.
    pub(super) fn acknowledged(&mut self) {
        self.acks = self.acks.saturating_add(1);
    }

    /// The window may be smaller now.
    pub(super) fn begins_anew(&mut self, time_ns: i64) {
        self.steady = None;
        self.before = Flight {
            acks: self.acks,
            asked_ns: time_ns,
            ..Flight::default()
        };
    }

    /// So much was in flight when something stopped its sender, at the least: whether that is more than what was taken for
    /// the largest window holds.
    pub(super) fn is_exceeded_by(&mut self, outstanding: i64, full_bytes: i64) -> bool {
        let most = outstanding.saturating_sub(full_bytes);
        self.steady.take_if(|steady| steady.first.bytes <= most);
        self.bytes.take_if(|bytes| *bytes <= most).is_some()
    }

    /// Data comes after such a pause, for which there was no room in less than `needed`, and that seems to have waited for
    /// what a clock had let go: whether that was all that fits into the largest window, or a buffer, which holds so much as
    /// far as is known. A clock that had let go less would have gone on.
    pub(super) fn is_paced_up(&mut self, needed: i64, pause_ns: i64, known: Option<i64>) -> bool {
        let before_ns = std::mem::replace(&mut self.pause_ns, pause_ns);
        let has_stopped = pause_ns > before_ns.saturating_mul(PACES_STOPPED);
        has_stopped && known.is_some_and(|most| needed > most)
    }

    /// The first of the flights that were as large.
    pub(super) fn first(&self) -> Option<Flight> {
        self.steady.map(|steady| steady.first)
    }

    /// So much was in flight.
    pub(super) fn shows(&mut self, flight: Flight, full_bytes: i64, is_shared: bool) -> Shown {
        let is_above = |bytes: i64| flight.bytes >= bytes.saturating_add(full_bytes);
        let is_below = |bytes: i64| flight.bytes.saturating_add(full_bytes) <= bytes;
        if self.bytes.is_some_and(is_above) {
            self.bytes = None;
            self.steady = None;
            return Shown::NotThat;
        }
        if let Some(bytes) = self.bytes {
            self.bytes = Some(bytes.max(flight.bytes));
            return match is_below(bytes) {
                true => Shown::Nothing,
                false => Shown::InUse(flight),
            };
        }
        let goes_on = self.steady.filter(|steady| !is_above(steady.first.bytes));
        let Some(mut steady) = goes_on else {
            self.before = self.steady.map_or(self.before, |steady| steady.first);
            self.steady = Some(Steady {
                first: flight,
                more: 0,
                acks: flight.acks,
                is_of_all: is_shared,
            });
            return Shown::Nothing;
        };
        if is_below(steady.first.bytes) {
            return Shown::Nothing;
        }
        let segments = flight.bytes.checked_div(full_bytes).unwrap_or(0);
        // Half of it or more, if each ACK is of two segments, was sent since.
        let acks = flight.acks.saturating_sub(steady.acks);
        if acks >= (segments / 4).max(1) {
            steady.more = steady.more.saturating_add(1);
            steady.acks = flight.acks;
        }
        steady.is_of_all |= steady.first.senders != flight.senders;
        self.steady = Some(steady);
        if !steady.is_largest(flight, full_bytes, is_shared) {
            return Shown::Nothing;
        }
        self.bytes = Some(steady.first.bytes.max(flight.bytes));
        Shown::InUse(steady.first)
    }
}

impl Steady {
    /// Whether the window does not grow, which was used up by this flight as well. If it is known to be one of all, as many
    /// bytes behind a round trip of ACKs are no coincidence; what connections have of their own may sum up to as many.
    fn is_largest(self, flight: Flight, full_bytes: i64, is_shared: bool) -> bool {
        let segments = self.first.bytes.checked_div(full_bytes).unwrap_or(0);
        let acks = flight.acks.saturating_sub(self.first.acks);
        let stays = acks >= segments.saturating_mul(ROUND_TRIPS_SURE)
            || (acks >= segments && self.more >= FLIGHTS_SURE);
        let is_exact = is_shared && flight.bytes == self.first.bytes && acks >= segments;
        self.is_of_all && (stays || is_exact) && segments >= WINDOW_SEGMENTS_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: i64 = 1000;

    /// Whether a flight of 16 segments and one of so many bytes behind so many ACKs show the largest window.
    fn is_largest((bytes, acks): (i64, i64), is_shared: bool) -> bool {
        let mut largest = LargestWindow::default();
        let flight = |bytes: i64, acks: i64, senders: usize| Flight {
            bytes,
            acks,
            senders,
            ..Flight::default()
        };
        largest.shows(flight(16 * FULL, 20, 3), FULL, is_shared);
        largest.shows(flight(bytes, 20 + acks, 2), FULL, is_shared);
        largest.bytes.is_some()
    }

    #[test]
    fn a_window_of_all_that_holds_as_many_bytes_behind_a_round_trip_of_acks_is_a_largest_one() {
        assert!(is_largest((16 * FULL, 16), true));
        assert!(!is_largest((16 * FULL, 15), true));
        assert!(!is_largest((16 * FULL + 1, 16), true));
    }

    #[test]
    fn what_is_nearly_the_same_flight_is_told_once() {
        for (acks, is_known) in [([4, 8, 17], true), ([1, 2, 17], false), ([4, 8, 15], false)] {
            let mut largest = LargestWindow::default();
            for (senders, acks) in (2..).zip([0].into_iter().chain(acks)) {
                let flight = Flight {
                    bytes: 16 * FULL,
                    acks: 20 + acks,
                    senders,
                    ..Flight::default()
                };
                largest.shows(flight, FULL, false);
            }
            assert_eq!(largest.bytes.is_some(), is_known);
        }
    }

    #[test]
    fn what_may_be_windows_of_their_own_takes_two_round_trips_of_acks() {
        assert!(!is_largest((16 * FULL, 16), false));
        assert!(is_largest((16 * FULL, 32), false));
    }

    #[test]
    fn a_window_that_more_was_in_flight_of_in_between_is_no_largest_one() {
        for (outstanding, is_known) in [(16 * FULL, true), (17 * FULL, false)] {
            let mut largest = LargestWindow::default();
            let flight = |acks: i64, senders: usize| Flight {
                bytes: 16 * FULL,
                acks,
                senders,
                ..Flight::default()
            };
            largest.shows(flight(20, 3), FULL, false);
            assert!(!largest.is_exceeded_by(outstanding, FULL), "of none known");
            largest.shows(flight(60, 2), FULL, false);
            assert_eq!(largest.bytes.is_some(), is_known);
            assert_eq!(largest.is_exceeded_by(17 * FULL, FULL), is_known);
            assert!(largest.bytes.is_none());
        }
    }

    #[test]
    fn a_clock_that_stopped_had_let_go_all_of_the_largest_window_and_one_that_an_ack_cut_short_had_not(
    ) {
        for (needed, last_ns, is_all) in [
            (16 * FULL + 1, 90, true),
            (16 * FULL + 1, 40, false),
            (16 * FULL, 90, false),
        ] {
            let mut largest = LargestWindow::default();
            let known = Some(16 * FULL);
            assert!(!largest.is_paced_up(15 * FULL, 40, known));
            assert_eq!(largest.is_paced_up(needed, last_ns, known), is_all);
        }
        assert!(!LargestWindow::default().is_paced_up(17 * FULL, 90, None));
    }
}
