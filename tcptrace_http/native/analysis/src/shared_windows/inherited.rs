//! Whether connections begin with what others before them had learnt of the path.
//!
//! Theory of operation. A host that knows nothing of a path begins each connection with the same window (RFC 5681,
//! section 3.1). One that keeps what connections have learnt (RFC 2140, section 3) begins with the window that another
//! left, and with its threshold. So where what a connection had in flight when it stopped for the first ACK of data is
//! not what others had, by a segment at least, the host keeps that; once something was lost there is a threshold as
//! well, and who is not below it begins in congestion avoidance. So does one that spreads the beginning of a connection
//! over a round trip by a clock: it knows the window and the round trip from another (Eggert 1999, section 3.1).

use super::threshold::OPTIONS_BYTES;
use crate::jitter::CLOSE_NS;

/// What a connection sends until the first ACK of its data lets more go.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Beginning {
    flight: Begun,
    is_over: bool,
    /// When the client acknowledged data first.
    acked_ns: Option<i64>,
    /// The threshold of connections before, when it began.
    pub(super) threshold: Option<i64>,
}

/// A flight, by what it may be that a window counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) bytes: i64,
    pub(super) packets: i64,
}

/// With which windows connections of a pair have begun.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Inherited {
    pub(super) first: Option<Begun>,
    pub(super) is_shown: bool,
    /// One began with less, or what it had more was short; and one with just as much as the first.
    pub(super) may_be_shown: bool,
    pub(super) is_as_first: bool,
    /// A clock let go on one what it had from another.
    pub(super) begin_paced: bool,
    pub(super) candidate: Option<Candidate>,
    /// What one of them had in flight before the first ACK, at the most.
    most: Begun,
}

/// A flight that may have been a window: an ACK may have let go what came behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub(super) flight: Begun,
    /// So much later than the way takes that came, of so many bytes.
    pub(super) after_ns: i64,
    pub(super) bytes: u32,
    pub(super) is_missing: bool,
    pub(super) may_be_held: bool,
}

impl Beginning {
    pub(super) fn has_begun(&self) -> bool {
        self.is_over || self.flight.packets > 0
    }

    /// Several packets have come, which left before the first ACK can have let them go.
    pub(super) fn is_before_acks(&self) -> bool {
        !self.is_over && self.flight.packets > 1
    }

    pub(super) fn is_acked(&mut self, time_ns: i64) {
        self.acked_ns.get_or_insert(time_ns);
    }

    /// New data comes that may have been let go by an ACK as long before: what had come before that, if it is the first.
    pub(super) fn goes_on(&mut self, time_ns: i64, newly: i64, way_ns: i64) -> Option<Begun> {
        let left_ns = time_ns.saturating_sub(way_ns).saturating_add(CLOSE_NS);
        if self.acked_ns.is_some_and(|acked_ns| acked_ns <= left_ns) {
            return (!std::mem::replace(&mut self.is_over, true)).then_some(self.flight);
        }
        self.flight.bytes = self.flight.bytes.saturating_add(newly);
        self.flight.packets = self.flight.packets.saturating_add(1);
        None
    }
}

impl Begun {
    /// Whether it is more by a segment at least, whatever it is that a window counts.
    fn exceeds(self, than: Self, full_bytes: i64) -> bool {
        let segments = |it: Self| {
            (it.bytes.saturating_add(full_bytes).saturating_sub(1)).checked_div(full_bytes)
        };
        self.packets > than.packets && segments(self) > segments(than)
    }

    /// Whether a packet of it did not fill a segment of so many bytes.
    pub(super) fn has_short(self, full_bytes: i64) -> bool {
        let least = full_bytes.saturating_sub(OPTIONS_BYTES);
        self.bytes < self.packets.saturating_mul(least)
    }
}

impl Inherited {
    /// A connection stopped with so much in flight, of which so much fills a segment, or with more that was missed.
    /// What it had more may have been held for it was short, not for the window.
    pub(super) fn began_with(
        &mut self,
        flight: Begun,
        full_bytes: i64,
        (is_more, may_be_held): (bool, bool),
    ) {
        let Some(first) = self.first else {
            self.first = Some(flight).filter(|_| !is_more);
            return;
        };
        let differs =
            flight.exceeds(first, full_bytes) || !is_more && first.exceeds(flight, full_bytes);
        if may_be_held {
            self.may_be_shown |= differs;
        } else {
            self.is_shown |= differs;
            self.is_as_first |= !is_more && !differs;
        }
    }

    /// A connection has so much in flight before the first ACK of its data. If that is more than the window that the
    /// first began with, and no packet of that was short, this one had another window, whatever its ACK lets go.
    pub(super) fn begins_with(&mut self, beginning: &Beginning, full_bytes: i64) {
        let first = self.first.filter(|it| !it.has_short(full_bytes));
        self.is_shown |= first.is_some_and(|first| beginning.flight.exceeds(first, full_bytes));
        if beginning.flight.bytes > self.most.bytes {
            self.most = beginning.flight;
        }
    }

    /// What each connection may have in flight before the first ACK, at the least, whatever options its segments have:
    /// none was seen to begin with another window.
    pub(super) fn least_bytes(&self) -> i64 {
        let options = self.most.packets.saturating_mul(OPTIONS_BYTES);
        let is_one = !self.is_shown && !self.may_be_shown;
        if is_one {
            self.most.bytes.saturating_sub(options).max(0)
        } else {
            0
        }
    }

    /// Whether the host keeps what connections learn.
    pub(super) fn is_kept(&self) -> bool {
        self.is_shown || self.begin_paced || self.may_be_shown && !self.is_as_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// What is known when connections have begun with so many bytes, each in so many packets.
    fn shows(flights: &[(i64, i64)]) -> bool {
        let mut inherited = Inherited::default();
        for (bytes, packets) in flights.iter().copied() {
            inherited.began_with(Begun { bytes, packets }, 1000, (false, false));
        }
        inherited.is_kept()
    }

    #[test]
    fn connections_that_begin_with_other_windows_than_those_before_have_them_from_these() {
        assert!(!shows(&[(2000, 2), (2000, 2)]));
        assert!(shows(&[(2000, 2), (4000, 4)]));
        assert!(shows(&[(4000, 4), (2000, 2)]));
    }

    #[test]
    fn what_does_not_fill_a_segment_or_a_packet_more_is_the_same_window() {
        assert!(!shows(&[(1700, 2), (2000, 2)]), "whole segments");
        assert!(!shows(&[(1700, 2), (2000, 3)]), "bytes are counted");
        assert!(!shows(&[(2000, 3), (3000, 3)]), "packets are counted");
    }

    #[test]
    fn of_what_was_missed_it_is_known_only_that_a_window_is_larger() {
        let (small, large) = (
            Begun {
                bytes: 1000,
                packets: 1,
            },
            Begun {
                bytes: 3000,
                packets: 3,
            },
        );
        for (flights, is_shown) in [
            ([(large, false), (small, true)], false),
            ([(small, true), (large, false)], false),
            ([(small, false), (large, true)], true),
        ] {
            let mut inherited = Inherited::default();
            for (flight, is_missing) in flights {
                inherited.began_with(flight, 1000, (is_missing, false));
            }
            assert_eq!(inherited.is_kept(), is_shown);
        }
    }

    #[test]
    fn what_is_short_and_held_behind_what_is_short_tells_of_no_window_once_another_began_as_the_first(
    ) {
        let flight = |packets: i64| Begun {
            bytes: packets * 1000 - 500,
            packets,
        };
        assert!(flight(3).has_short(1000));
        let mut inherited = Inherited::default();
        inherited.began_with(flight(10), 1000, (false, false));
        inherited.began_with(flight(3), 1000, (false, true));
        assert!(inherited.is_kept());
        inherited.began_with(flight(10), 1000, (false, false));
        assert!(!inherited.is_kept());
        inherited.began_with(flight(3), 1000, (false, false));
        assert!(inherited.is_kept());
    }

    #[test]
    fn connections_begin_with_no_less_than_one_had_in_flight_until_one_begins_with_another_window()
    {
        let mut inherited = Inherited::default();
        for newly in [1000, 700] {
            let mut beginning = Beginning::default();
            beginning.goes_on(100 * MS, newly, 50 * MS);
            beginning.goes_on(110 * MS, newly, 50 * MS);
            inherited.begins_with(&beginning, 1000);
        }
        assert_eq!(inherited.least_bytes(), 2000 - 2 * OPTIONS_BYTES);
        for packets in [2, 4] {
            let flight = Begun {
                bytes: packets * 1000,
                packets,
            };
            inherited.began_with(flight, 1000, (false, false));
        }
        assert_eq!(inherited.least_bytes(), 0);
    }

    #[test]
    fn who_begins_with_more_than_a_full_window_before_has_another_though_no_ack_lets_more_go() {
        let shows = |first_bytes: i64, packets: i64| {
            let mut inherited = Inherited::default();
            let first = Begun {
                bytes: first_bytes,
                packets: 1,
            };
            inherited.began_with(first, 1000, (false, false));
            let mut beginning = Beginning::default();
            for _ in 0..packets {
                beginning.goes_on(100 * MS, 1000, 50 * MS);
            }
            inherited.begins_with(&beginning, 1000);
            inherited.is_kept()
        };
        assert!(shows(1000, 7));
        assert!(!shows(1000, 1), "the same window");
        assert!(!shows(170, 7), "what was short may have been all there was");
    }

    #[test]
    fn a_connection_begins_with_what_comes_before_the_first_ack_can_have_let_more_go() {
        let mut beginning = Beginning::default();
        assert_eq!(beginning.goes_on(100 * MS, 1000, 50 * MS), None);
        beginning.is_acked(100 * MS);
        assert_eq!(beginning.goes_on(110 * MS, 700, 50 * MS), None);
        let flight = Begun {
            bytes: 1700,
            packets: 2,
        };
        assert_eq!(beginning.goes_on(150 * MS, 1000, 50 * MS), Some(flight));
        assert_eq!(beginning.goes_on(250 * MS, 1000, 50 * MS), None);
    }

    #[test]
    fn who_paces_what_connections_begin_with_has_kept_that() {
        let paces = |begin_paced| Inherited {
            begin_paced,
            ..Inherited::default()
        };
        assert!(paces(true).is_kept() && !paces(false).is_kept());
        let mut beginning = Beginning::default();
        for is_flight in [false, true] {
            beginning.goes_on(100 * MS, 1000, 50 * MS);
            assert_eq!(beginning.is_before_acks(), is_flight);
        }
        beginning.is_acked(100 * MS);
        beginning.goes_on(150 * MS, 1000, 50 * MS);
        assert!(!beginning.is_before_acks());
    }
}
