//! The window that all connections of two hosts use together.
//!
//! Theory of operation. An ensemble's window (RFC 2140, section 4; E-TCP) is full when what all connections have in
//! flight fills it. So the data of all is counted as if it were of one stream, in the order in which it comes by, and
//! so is what the ACKs of all acknowledge; from what was outstanding when the sender paused follows what limits it, as
//! it does for a single connection ([`UsedWindow`]).

use super::host_pair::HostPair;
use super::ledger::FLAGS_BYTES;
use super::release::Release;
use crate::jitter::{EARLY_MAX_NS, RELEASE_MAX_NS, RELEASE_RTT_SHARE};
use crate::used_window::{Limit, UsedWindow};

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SharedWindow {
    used: UsedWindow,
    /// When data went by last.
    sent_ns: Option<i64>,
    /// What the sender waited for when it had paused last.
    limit: Limit,
    /// The only connection that has sent data since the window was idle.
    only: Option<u16>,
    /// The buffer of a connection, or its largest window, as far as one that was alone has filled it.
    of_one: Option<i64>,
    /// What one had in flight when it was told to have filled its buffer.
    filled: Option<i64>,
    /// When it had grown to the size that the buffer is known to have, since it was in slow start.
    full_since_ns: Option<i64>,
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

    /// Data comes that waited for that; the data before it came at `before_ns`, and whether the buffer was known then.
    fn waited(&mut self, limit: Limit, before_ns: i64, was_known: bool) {
        self.full_since_ns = match limit {
            Limit::SendBuffer if was_known => self.full_since_ns.or(Some(before_ns)),
            Limit::SlowStart => None,
            _ => self.full_since_ns,
        };
        self.limit = limit;
    }

    /// Whether all have in flight what they may at most: whoever has data fills what the others leave of that. One
    /// that is alone may have less than several had.
    fn is_full(&self) -> bool {
        self.used.is_full() && (self.only.is_some() || self.used.is_fullest())
    }

    /// What limits all that are said to wait for such a limit. A largest window that is known to be one of all stays full
    /// while its connections leave less than it holds: by their short segments, and by what is lost.
    fn of_all(&self, limit: Limit, is_known: bool) -> Limit {
        let stays_full = is_known && self.limit == Limit::SendBuffer;
        match limit {
            Limit::SendBuffer if !self.is_full() && !stays_full => Limit::None,
            limit => limit,
        }
    }

    /// A connection has stopped. With as much in flight, to the byte, as when one was told to be full before it fills the
    /// buffer that any of them has; one that holds a segment more had none so small.
    pub(super) fn one_stopped(&mut self, stopped: Stopped) {
        let outstanding = stopped.outstanding;
        let most = outstanding.saturating_sub(stopped.full_bytes);
        for known in [&mut self.filled, &mut self.of_one] {
            known.take_if(|it| *it <= most);
        }
        if self.of_one.is_some() || stopped.may_be_window {
            return;
        }
        if self.filled.is_some_and(|filled| filled == outstanding) {
            self.of_one = Some(outstanding);
        } else if stopped.is_full {
            self.filled = Some(outstanding);
        }
    }

    /// What any connection of the server has in flight at most, as far as that is known: a host keeps its stack.
    pub(super) fn of_one(&self) -> Option<i64> {
        self.of_one
    }
}

/// How a connection has stopped that had more to send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stopped {
    /// What it had in flight of its own, and what a full segment is.
    pub(super) outstanding: i64,
    pub(super) full_bytes: i64,
    /// Its window had room for more, as if it had filled its buffer.
    pub(super) is_full: bool,
    /// Something was lost before, or no ACK of its own let it go on.
    pub(super) may_be_window: bool,
}

/// How data of a connection left that comes after a pause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    pub(super) release: Release,
    /// Its connection had more to send than had come.
    pub(super) had_more: bool,
    /// A clock of the sender let it go.
    pub(super) is_paced: bool,
    /// Its connection.
    pub(super) client_port: u16,
}

impl HostPair {
    /// Data was sent again that was sent after the loss before: the window was halved.
    pub(super) fn window_halves(&mut self) {
        let acked = self.room.acked().saturating_add(1);
        let start = acked.max(self.window.used.recovers_until());
        let end = self.room.sent().saturating_add(1);
        self.window.used.had_loss(start, end, false);
    }

    /// New data of so many bytes goes by, of which so many are new and counted as sent: what it waited for, if it was
    /// held.
    pub(super) fn limits(&mut self, time_ns: i64, (bytes, newly): (u32, i64), leaving: Leaving) {
        let before_ns = self.window.sent_ns.replace(time_ns);
        let (Some(before_ns), Some(path_ns)) = (before_ns, self.to_server_ns) else {
            return;
        };
        let pause_ns = time_ns.saturating_sub(before_ns);
        let was_idle = pause_ns > self.round_trip_ns();
        let only = Some(leaving.client_port);
        self.window.only = only.filter(|_| was_idle || self.window.only == only);
        if self.is_together(pause_ns) {
            return;
        }
        let full_bytes = self.pace.largest_bytes.max(bytes);
        // Offset after what was sent before, as if all of it was one stream.
        let end = self.room.sent().saturating_sub(newly).saturating_add(1);
        let known_by = |time_ns: i64| time_ns.saturating_sub(path_ns).saturating_add(EARLY_MAX_NS);
        self.window_hears(known_by(before_ns));
        self.window.used.stops(end, full_bytes);
        if self.window.used.exceeds_told() {
            self.phases.had_no_buffer(before_ns);
        }
        if was_idle {
            // What is known of the window is paced then, and the window is what was (Eggert 1999, section 3.1).
            self.window.used.was_idle();
        }
        if self.has_nothing_in_flight(end, known_by(time_ns)) {
            self.threshold.was_idle(before_ns);
            self.window_begins_anew(time_ns);
        }
        if leaving.is_paced {
            self.window.used.is_paced();
        }
        let late_ns = RELEASE_MAX_NS
            .max(path_ns / RELEASE_RTT_SHARE)
            .saturating_add(self.pace.of(bytes).unwrap_or(0));
        self.window_hears(known_by(time_ns).saturating_sub(late_ns));
        let was_known = self.window.used.buffer().is_some();
        let limit = self.window.used.limit(end, bytes, false);
        let limit = self.window.of_all(limit, was_known && self.is_shared);
        if limit == Limit::SendBuffer {
            self.window.used.is_told_full();
        }
        if limit == Limit::SendBuffer && leaving.had_more && leaving.release != Release::None {
            self.window.used.is_of_buffer();
            if self.window.only.is_some() {
                self.window.of_one = self.window.used.buffer();
            }
        }
        self.window.waited(limit, before_ns, was_known);
    }

    /// Whether all up to `end` was acknowledged by then, but for SYNs and FINs.
    fn has_nothing_in_flight(&self, end: i64, until_ns: i64) -> bool {
        let until = self.acks.partition_point(|ack| ack.time_ns <= until_ns);
        let newest = until.checked_sub(1).and_then(|at| self.acks.get(at));
        newest.is_some_and(|ack| end.saturating_sub(ack.acked) <= FLAGS_BYTES)
    }

    /// The window hears the ACKs that went by until then.
    fn window_hears(&mut self, until_ns: i64) {
        let heard_ns = self.window.used.heard_until_ns();
        let from = self.acks.partition_point(|ack| ack.time_ns <= heard_ns);
        let acks = self.acks.range(from..);
        for ack in acks.take_while(|ack| ack.time_ns <= until_ns) {
            self.window
                .used
                .hears(ack.time_ns, ack.acked.saturating_add(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::IpAddress;

    const FULL: u32 = 1000;

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
        let mut window = SharedWindow::default();
        for (outstanding, is_full) in stops.iter().copied() {
            window.one_stopped(Stopped {
                outstanding,
                full_bytes: i64::from(FULL),
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
    fn who_has_a_segment_more_in_flight_than_filled_a_buffer_had_filled_a_window() {
        for (more, is_known) in [(8000, true), (8300, false)] {
            let stops = [(7300, true), (7300, true), (more, false)];
            assert_eq!(buffer_of_one(&stops, false).is_some(), is_known);
        }
    }

    #[test]
    fn a_window_grew_until_it_was_as_large_as_the_buffer_is_known_to_be() {
        let mut window = SharedWindow::default();
        let mut grew_until_ns = Vec::new();
        for (time_ns, limit, was_known) in [
            (100, Limit::SendBuffer, false),
            (200, Limit::SlowStart, true),
            (300, Limit::SendBuffer, true),
            (400, Limit::None, true),
            (500, Limit::SendBuffer, true),
        ] {
            window.waited(limit, time_ns, was_known);
            grew_until_ns.push(window.grew_until_ns());
        }
        assert_eq!(grew_until_ns, [None, None, Some(300), None, Some(300)]);
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

    #[test]
    fn a_loss_halves_the_window_of_all() {
        let address = IpAddress {
            is_v6: false,
            octets: [0; 16],
        };
        let mut pair = HostPair::new(address, address);
        pair.room.sends(8000);
        pair.window.used.stops(8001, FULL);
        pair.window_halves();
        let limit = pair.window.used.limit(8001, FULL, false);
        assert_eq!(limit, Limit::CongestionAvoidance);
    }
}
