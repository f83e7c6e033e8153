//! The window that all connections of two hosts use together.
//!
//! Theory of operation. An ensemble's window (RFC 2140, section 4; E-TCP) is full when what all connections have in
//! flight fills it. So the data of all is counted as if it were of one stream, in the order in which it comes by, and
//! so is what the ACKs of all acknowledge; from what was outstanding when the sender paused follows what limits it, as
//! it does for a single connection ([`UsedWindow`]).

mod begun_flights;

use self::begun_flights::BegunFlights;
use super::largest::WINDOW_SEGMENTS_MIN;
use crate::used_window::{Limit, Sockets, UsedWindow, WINDOW_NOW_SEGMENTS};

/// A small window that stops its sender with room in it so many times in a row is a largest one: what a pacer or a pause
/// has left of one seems to have room less often, as far as was measured.
const TIMES_SURE: u32 = 6;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SharedWindow {
    pub(super) used: UsedWindow,
    /// When data went by last.
    pub(super) sent_ns: Option<i64>,
    /// What the sender waited for when it had paused last.
    limit: Limit,
    /// The only connection that has sent data since the window was idle.
    pub(super) only: Option<u16>,
    /// The buffer of a connection, or its largest window, as far as one that was alone has filled it.
    pub(super) of_one: Option<i64>,
    /// What a connection has shown of those of its host.
    pub(super) sockets: Sockets,
    /// What one had in flight when it was told to have filled its buffer, and which.
    filled: Option<(i64, u16)>,
    /// What one had in flight that a clock had let go, when it stopped for the first ACK.
    paced: Option<i64>,
    /// What they had in flight when they began.
    begun: BegunFlights,
    /// Connections that had something in flight when it was full last.
    pub(super) fillers: Option<usize>,
    /// So many times in a row it had room when it stopped.
    with_room: u32,
    /// When it had grown to the size that the buffer is known to have, since it was in slow start.
    full_since_ns: Option<i64>,
    /// When an ACK let data go last that a clock would have.
    unpaced_ns: Option<i64>,
}

impl SharedWindow {
    pub(super) fn limit(&self) -> Limit {
        self.limit
    }

    /// Until when it grew that is full now.
    pub(super) fn grew_until_ns(&self) -> Option<i64> {
        self.full_since_ns
            .filter(|_| self.limit == Limit::SendBuffer)
    }

    /// Data comes that was held, and waited for that.
    pub(super) fn waited(&mut self, limit: Limit, held: Held) {
        let mut limit = limit;
        if held.cuts_clock_short {
            // The window is what the clock has let go until then (Eggert 1999, section 3.1): it fills no largest one yet.
            limit = Limit::SlowStart;
            self.unpaced_ns = Some(held.time_ns);
        }
        let is_next = self.unpaced_ns == Some(held.before_ns);
        let since_ns = if is_next {
            held.time_ns
        } else {
            held.before_ns
        };
        // One that was full before as well was not seen to grow.
        let grew = match self.limit {
            Limit::SendBuffer => false,
            Limit::SlowStart => true,
            _ => held.was_known,
        };
        self.full_since_ns = match limit {
            Limit::SendBuffer if grew => self.full_since_ns.or(Some(since_ns)),
            Limit::SlowStart => None,
            _ => self.full_since_ns,
        };
        self.limit = limit;
    }

    /// Whether all have in flight what they may at most: whoever has data fills what the others leave of that. One
    /// that is alone may have less than several had. With less in flight than several connections begin with they wait for a
    /// window, of which a pacer or a pause has left less than there had been, but if they never have more.
    fn is_full(&self) -> bool {
        let is_large = self.used.has_segments(WINDOW_SEGMENTS_MIN);
        let is_sure = is_large || self.with_room >= TIMES_SURE;
        is_sure && self.used.is_full() && (self.only.is_some() || self.used.is_fullest())
    }

    /// What limits all that are said to wait for such a limit. A largest window that is known to be one of all stays full
    /// while its connections leave less than it holds: by their short segments, and by what is lost.
    pub(super) fn of_all(&mut self, limit: Limit, is_known: bool) -> Limit {
        self.with_room = match limit {
            Limit::SendBuffer => self.with_room.saturating_add(1),
            _ => 0,
        };
        let stays_full = is_known && self.limit == Limit::SendBuffer;
        match limit {
            Limit::SendBuffer if !self.is_full() && !stays_full => Limit::None,
            limit => limit,
        }
    }

    /// A connection has stopped. With as much in flight, to the byte, as when one was told to be full before it fills the
    /// buffer that any of them has, and so does another that is told to be full with as many segments; one that holds a
    /// segment more had none so small.
    pub(super) fn one_stopped(&mut self, stopped: Stopped) {
        let outstanding = stopped.outstanding;
        let most = outstanding.saturating_sub(stopped.full_bytes);
        self.of_one.take_if(|it| *it <= most);
        self.sockets.holds(outstanding, stopped.full_bytes);
        self.filled.take_if(|(it, _)| *it <= most);
        if stopped.may_be_window {
            return;
        }
        let as_begun = self.begun.buffer(stopped);
        let as_paced = self.buffer_as_paced(stopped).or(as_begun);
        if self.of_one.is_some() || as_paced.is_some() {
            self.of_one = self.of_one.or(as_paced);
            return;
        }
        let least = outstanding.saturating_add(stopped.full_bytes);
        let is_as_full = self.filled.is_some_and(|(filled, by)| {
            let fills_as_well = stopped.is_full && by != stopped.client_port && filled < least;
            filled == outstanding || fills_as_well
        });
        if is_as_full {
            self.of_one = Some(outstanding);
        } else if stopped.is_full {
            self.filled = Some((outstanding, stopped.client_port));
        }
    }

    /// A buffer that two have filled with what a clock had let go. What they have is a window that is known from before,
    /// and has grown since: two have as many segments if they fill a buffer, and more than a window begins with.
    fn buffer_as_paced(&mut self, stopped: Stopped) -> Option<i64> {
        let least = stopped.full_bytes.saturating_mul(WINDOW_NOW_SEGMENTS);
        let is_known = stopped.is_paced && stopped.outstanding > least;
        let paced = Some(stopped.outstanding).filter(|_| is_known)?;
        let before = self.paced.replace(paced)?;
        let is_alike = before.abs_diff(paced) < stopped.full_bytes.unsigned_abs();
        is_alike.then_some(paced.max(before))
    }

    /// What any connection of the server has in flight at most, as far as that is known: a host keeps its stack.
    pub(super) fn of_one(&self) -> Option<i64> {
        self.of_one
    }
}

/// When data comes that was held, and the data before it came, of whichever connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) before_ns: i64,
    pub(super) time_ns: i64,
    /// The size of the buffer was known before.
    pub(super) was_known: bool,
    /// An ACK let it go, before a clock that had more would have.
    pub(super) cuts_clock_short: bool,
}

/// How a connection has stopped that had more to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopped {
    /// What it had in flight of its own, and what a full segment is.
    pub(super) outstanding: i64,
    pub(super) full_bytes: i64,
    pub(super) client_port: u16,
    /// Its window had room for more, as if it had filled its buffer.
    pub(super) is_full: bool,
    /// All of that was sent since nothing was in flight, and a clock has let it go.
    pub(super) is_paced: bool,
    /// When it goes on; and if all of that was sent before any ACK came of its data, when it was opened.
    pub(super) time_ns: i64,
    pub(super) begun_ns: Option<i64>,
    /// It goes on with a full segment.
    pub(super) is_before_full: bool,
    /// Something was lost before, or no ACK of its own let it go on.
    pub(super) may_be_window: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    const FULL: u32 = 1000;

    impl Held {
        /// ... 100 ns after the data before, by an ACK alone.
        fn at(time_ns: i64, was_known: bool) -> Held {
            Held {
                before_ns: time_ns - 100,
                time_ns,
                was_known,
                cuts_clock_short: false,
            }
        }
    }

    /// What limits a sender that has so many segments in flight, on whichever connections, each time that it pauses.
    fn limit_after(flights: &[i64]) -> Limit {
        let mut window = UsedWindow::default();
        let mut limit = Limit::None;
        let (mut sent, mut acked) = (0, 0);
        for (now_ns, flight) in (1_i64..).zip(flights) {
            window.stops(sent + 1, FULL);
            limit = window.limit(sent + 1, FULL, false);
            for _ in 0..(sent - acked) / 1000 {
                acked += 1000;
                window.hears(now_ns * 1000 + acked, acked + 1);
            }
            sent += flight * 1000;
        }
        limit
    }

    #[test]
    fn a_window_of_all_that_grows_is_in_slow_start_and_one_that_stays_full_is_a_largest_one() {
        assert_eq!(limit_after(&[2, 4, 8, 16]), Limit::SlowStart);
        assert_eq!(limit_after(&[2, 4, 8, 8, 8]), Limit::SendBuffer);
    }

    /// The buffer of any of them, once one has stopped with so much in flight each time, as if its buffer was full or not.
    fn buffer_of_one(stops: &[(i64, bool)], may_be_window: bool) -> Option<i64> {
        let stops: Vec<_> = stops
            .iter()
            .map(|(it, is_full)| (1, *it, *is_full))
            .collect();
        buffer_of_any(&stops, may_be_window)
    }

    /// The same of connections with these ports.
    fn buffer_of_any(stops: &[(u16, i64, bool)], may_be_window: bool) -> Option<i64> {
        let mut window = SharedWindow::default();
        for (client_port, outstanding, is_full) in stops.iter().copied() {
            window.one_stopped(Stopped {
                time_ns: 0,
                begun_ns: None,
                is_before_full: true,
                is_paced: false,
                outstanding,
                full_bytes: i64::from(FULL),
                client_port,
                is_full,
                may_be_window,
            });
        }
        window.of_one
    }

    #[test]
    fn who_stops_with_just_what_filled_a_buffer_before_has_filled_that_of_any_connection() {
        let stops = [(7300, true), (7300, false)];
        assert_eq!(buffer_of_one(&stops, false), Some(7300));
        assert_eq!(buffer_of_one(&stops, true), None);
        let of_window = [(7300, false), (7300, false)];
        assert_eq!(buffer_of_one(&of_window, false), None);
        let differs = [(7300, true), (7000, true)];
        assert_eq!(buffer_of_one(&differs, false), None);
    }

    #[test]
    fn two_that_are_told_to_be_full_with_as_many_segments_have_buffers_of_that_size() {
        for (second, is_known) in [((2, 7000, true), true), ((2, 7000, false), false)] {
            let known = buffer_of_any(&[(1, 7300, true), second], false);
            assert_eq!(known.is_some(), is_known);
        }
        let fewer = [(1, 7300, true), (2, 6300, true)];
        assert_eq!(buffer_of_any(&fewer, false), None);
    }

    /// The same of connections that stop with so much in flight, which a clock had let go or not.
    fn buffer_of_flights(flights: &[(i64, bool)], may_be_window: bool) -> Option<i64> {
        let mut window = SharedWindow::default();
        for (outstanding, is_paced) in flights.iter().copied() {
            window.one_stopped(Stopped {
                time_ns: 0,
                begun_ns: None,
                is_before_full: true,
                outstanding,
                full_bytes: i64::from(FULL),
                client_port: 1,
                is_full: false,
                is_paced,
                may_be_window,
            });
        }
        window.of_one
    }

    #[test]
    fn flights_that_a_clock_lets_go_are_as_long_as_each_other_if_they_fill_a_buffer() {
        let alike = [(20_000, true), (19_700, true)];
        assert_eq!(buffer_of_flights(&alike, false), Some(20_000));
        assert_eq!(buffer_of_flights(&alike, true), None);
        for others in [
            [(20_000, true), (19_000, true)],
            [(20_000, true), (19_700, false)],
            // As long as what a window begins with.
            [(9_000, true), (9_000, true)],
        ] {
            assert_eq!(buffer_of_flights(&others, false), None);
        }
    }

    #[test]
    fn who_has_a_segment_more_in_flight_than_filled_a_buffer_had_filled_a_window() {
        for (more, is_known) in [(8000, true), (8300, false)] {
            let stops = [(7300, true), (7300, true), (more, false)];
            assert_eq!(buffer_of_one(&stops, false).is_some(), is_known);
        }
    }

    /// Until when a window grew, as is known each time that it limits its sender so; and whether its size was known before.
    fn grew_until(limits: &[(Limit, bool)]) -> Vec<Option<i64>> {
        let mut window = SharedWindow::default();
        let times_ns = (1..).map(|at| at * 100);
        let grew_until_ns = times_ns.zip(limits).map(|(time_ns, (limit, was_known))| {
            window.waited(*limit, Held::at(time_ns, *was_known));
            window.grew_until_ns()
        });
        grew_until_ns.collect()
    }

    #[test]
    fn a_window_grew_until_it_was_as_large_as_the_buffer_is_known_to_be() {
        let grew_until_ns = grew_until(&[
            (Limit::SendBuffer, false),
            (Limit::SlowStart, true),
            (Limit::SendBuffer, true),
            (Limit::None, true),
            (Limit::SendBuffer, true),
        ]);
        assert_eq!(grew_until_ns, [None, None, Some(200), None, Some(200)]);
    }

    #[test]
    fn a_window_that_had_been_seen_to_grow_did_so_until_the_data_came_behind_which_it_was_full() {
        for (before, grew_until_ns) in [(Limit::SlowStart, Some(100)), (Limit::None, None)] {
            let full = [(Limit::SendBuffer, false), (Limit::SendBuffer, true)];
            let told = grew_until(&[&[(before, false)], &full[..]].concat());
            assert_eq!(told, [None, grew_until_ns, grew_until_ns]);
        }
    }

    #[test]
    fn a_window_that_a_clock_had_not_let_go_in_full_was_not_full_before_the_data_behind_what_an_ack_let_go(
    ) {
        for (cuts_clock_short, grew_until_ns) in [(false, 100), (true, 300)] {
            let mut window = SharedWindow::default();
            let first = Held {
                cuts_clock_short,
                ..Held::at(200, true)
            };
            window.waited(Limit::SendBuffer, first);
            let limit = window.limit();
            assert_eq!(limit == Limit::SlowStart, cuts_clock_short);
            for time_ns in [300, 400] {
                window.waited(Limit::SendBuffer, Held::at(time_ns, true));
                assert_eq!(window.grew_until_ns(), Some(grew_until_ns));
            }
        }
    }

    #[test]
    fn less_than_several_connections_begin_with_is_no_largest_window_unless_time_and_again() {
        for (segments, times, limit) in [
            (8, 1, Limit::SendBuffer),
            (7, 1, Limit::None),
            (7, 5, Limit::None),
            (7, 6, Limit::SendBuffer),
        ] {
            let mut window = SharedWindow::default();
            window.used.stops(segments * i64::from(FULL) + 1, FULL);
            let told = (0..times).map(|_| window.of_all(Limit::SendBuffer, false));
            assert_eq!(told.last(), Some(limit));
        }
    }

    #[test]
    fn a_largest_window_that_is_known_stays_full_while_less_than_it_holds_is_in_flight() {
        let mut window = SharedWindow::default();
        window.used.stops(8001, FULL);
        window.used.hears(1, 5001);
        window.used.stops(10_001, FULL);
        for (before, is_known, limit) in [
            (Limit::SendBuffer, true, Limit::SendBuffer),
            (Limit::SendBuffer, false, Limit::None),
            (Limit::SlowStart, true, Limit::None),
        ] {
            window.limit = before;
            assert_eq!(window.of_all(Limit::SendBuffer, is_known), limit);
        }
    }
}
