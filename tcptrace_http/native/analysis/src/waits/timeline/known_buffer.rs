//! What waited for a full send buffer before that was known.
//!
//! A sender whose buffer is as large as the window that it is offered fills both at once. That it was the buffer shows
//! when it stops with as much outstanding though the window has room for more: it had waited for the same before. So
//! had one in slow start that had stopped with just as much, to the byte, if that is no whole number of segments as a
//! window is.

use super::super::acks::Acks;
use super::{Data, Route, Timeline};
use crate::used_window::Sockets;
use trace_model::rows::Cause;

impl Timeline {
    /// What was outstanding when the sender had stopped before `data`, which waited for `cause`: if that is a window of
    /// its own connection, or the receiver's.
    pub(super) fn stopped_with(&self, cause: Option<(Cause, f64)>, data: Data) -> Option<i64> {
        let is_window = cause.is_some_and(|(cause, _)| {
            matches!(
                cause,
                Cause::SendLimitedReceiveWindow
                    | Cause::SendLimitedSlowStart
                    | Cause::SendLimitedCwnd
            )
        });
        let is_own = is_window && !data.sharing.are_others_in_flight;
        is_own.then_some(self.window.outstanding())
    }

    /// Data waited for room in its sender's buffer.
    pub(super) fn is_of_buffer(&mut self) {
        let known = self.window.buffer();
        self.window.is_of_buffer();
        if self.window.buffer() != known {
            self.was_just_full();
        }
    }

    /// What was told to have waited for a window in slow start waited for the buffer, if just as much was outstanding
    /// as that holds, and no window does, or the buffer was emptied then as it is now; or if it had begun with as much.
    fn was_just_full(&mut self) {
        let window = self.window;
        let buffer = window.odd_buffer().or(window.buffer_emptied_before());
        let began_full = window.began_full();
        if buffer.is_none() && !began_full {
            return;
        }
        let fills = |outstanding| {
            buffer == Some(outstanding) || began_full && window.would_fill_buffer(outstanding)
        };
        for cause in [Cause::SendLimitedSlowStart, Cause::SendLimitedCwnd] {
            self.waited_for_buffer(cause, fills);
        }
    }

    /// The window had been in slow start when the sender stopped with so much outstanding last.
    pub(super) fn had_been_in_slow_start(&mut self, outstanding: i64) {
        let mut pieces = self.pieces.iter_mut().rev();
        let stopped = pieces.find(|piece| {
            let waited = piece
                .waited
                .filter(|_| piece.cause == Cause::SendLimitedCwnd);
            waited.is_some_and(|waited| waited.stopped_with == Some(outstanding))
        });
        if let Some(piece) = stopped {
            piece.cause = Cause::SendLimitedSlowStart;
        }
    }

    /// Its full buffer stopped the sender although the receiver's window had room for a segment.
    pub(super) fn leaves_room(&mut self) {
        let was_known = self.window.is_full_buffer();
        self.window.leaves_room();
        if !was_known && self.window.is_full_buffer() {
            self.is_as_small_as_window();
        }
    }

    /// How large the sender's buffer is, as far as that tells others, and whether it holds the ends of writes.
    pub(in crate::waits) fn sockets(&self) -> Sockets {
        Sockets {
            refilled: self.refills.holds,
            ends: self.held_ends.shown(),
            ..self.window.sockets()
        }
    }

    /// Whether what it sent last was all that lay in its buffer, as each time that it stopped with as much outstanding.
    /// Who avoids silly windows sends no short segment but the last of what he has (RFC 9293, section 3.8.6.2.1):
    /// a window that the receiver offers, however full it is, stopped nothing then.
    pub(super) fn has_emptied_its_buffer(&self) -> bool {
        !self.has_more && self.window.empties_its_buffer()
    }

    /// `data` was sent with more in the buffer than that. If it just fills what an ACK had made room for in a buffer that
    /// was emptied when it was full, then that is larger: it would have no more.
    pub(super) fn leaves_more(&mut self, data: Data, route: Route, acks: &Acks) {
        let Some(emptied) = self.window.emptied_with().filter(|_| !data.is_pushed) else {
            return;
        };
        let acked = data.end.saturating_sub(emptied);
        let path_ns = route.to_sender_ns;
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let heard_ns = data
            .at
            .time_ns
            .saturating_sub(takes_ns.saturating_add(path_ns));
        // Of the newest that it had heard, for what fills it by another's measure does so by chance.
        if acked < acks.acked_by(heard_ns) {
            return;
        }
        let known_ns = Acks::known_by(data.at.time_ns, path_ns);
        let acked_ns = acks.time_of(acked).filter(|it| *it <= known_ns);
        if acked_ns.is_some_and(|time_ns| acks.acked_by(time_ns) == acked) {
            self.window.holds_more();
        }
    }

    /// What it had sent when it stopped was all that lay in its buffer. If that is as much each time, it was the
    /// buffer that it waited for before, too.
    pub(super) fn is_emptied(&mut self, route: Route, acks: &Acks) {
        let was_known = self.has_emptied_its_buffer();
        self.window.is_emptied();
        self.may_be_as_offered(route, acks);
        if !was_known && self.has_emptied_its_buffer() {
            let holds = self.window.outstanding();
            self.had_emptied(holds, self.may_empty_into_window(holds, route, acks));
        }
    }

    /// What was told to have waited for a window with so much outstanding waited for the buffer, which holds that; for the
    /// receiver's if it may have been emptied into that.
    pub(super) fn had_emptied(&mut self, holds: i64, into_window: bool) {
        for cause in [Cause::SendLimitedSlowStart, Cause::SendLimitedCwnd] {
            self.waited_for_buffer(cause, |outstanding| outstanding == holds);
        }
        if into_window {
            let cause = Cause::SendLimitedReceiveWindow;
            self.waited_for_buffer(cause, |outstanding| outstanding == holds);
        }
    }

    /// What was told to have waited for the receiver's window waited for the buffer, if that was full.
    fn is_as_small_as_window(&mut self) {
        let window = self.window;
        let fills = |outstanding| window.would_fill_buffer(outstanding);
        self.waited_for_buffer(Cause::SendLimitedReceiveWindow, fills);
    }

    /// What was told to have waited for `cause` waited for the buffer, if what was outstanding `fills` that.
    pub(super) fn waited_for_buffer(&mut self, cause: Cause, fills: impl Fn(i64) -> bool) {
        for piece in &mut self.pieces {
            let stopped_with = piece.waited.and_then(|waited| waited.stopped_with);
            if piece.cause == cause && stopped_with.is_some_and(&fills) {
                piece.cause = Cause::SendLimitedSendBuffer;
            }
        }
        for sent in &mut self.pending {
            let told = sent.cause.filter(|(told, _)| *told == cause);
            if let Some((_, confidence)) = told.filter(|_| sent.stopped_with.is_some_and(&fills)) {
                sent.cause = Some((Cause::SendLimitedSendBuffer, confidence));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::super::partition::Moment;
    use super::super::{Piece, Route, Waited, Words};
    use super::*;
    use crate::shared_windows::Sharing;

    const MS: i64 = 1_000_000;

    /// What data waited for 210 ms after the first came, all of which was acknowledged in one: of each round trip so many
    /// bytes are sent, in segments of which the last may be short, and the ACK of the first offers a
    /// window of so many, each later one of so many.
    fn waited_for_first(sizes: &[u32], windows: (u32, u32)) -> Option<Cause> {
        waited_for_first_of(sizes, windows, false)
    }

    /// ... if its sender says, or not, with each segment that this is all that it has.
    fn waited_for_first_of(sizes: &[u32], windows: (u32, u32), is_pushed: bool) -> Option<Cause> {
        waited_for_first_behind((1 << 32) - 9000, sizes, windows, is_pushed)
    }

    /// ... behind so many bytes of the connection.
    fn waited_for_first_behind(
        end: i64,
        sizes: &[u32],
        windows: (u32, u32),
        is_pushed: bool,
    ) -> Option<Cause> {
        let plain = Data {
            is_pushed,
            ..Data::plain(Moment::default(), 0)
        };
        let timeline = sends_each_round_trip(end, sizes, windows, plain);
        newest_told(&timeline, (120, 220))
    }

    /// What is known once so much was sent of each of six round trips, as `like`, and acknowledged in one.
    fn sends_each_round_trip(
        mut end: i64,
        sizes: &[u32],
        (first, later): (u32, u32),
        like: Data,
    ) -> Timeline {
        let route = Route::at_receiver(100);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.window.hears(1, end);
        let mut acks = Acks::default();
        acks.push(0, end, first, 100 * MS);
        for round in 1..7 {
            let window = if round == 1 { first } else { later };
            for (place, bytes) in (1..).zip(sizes) {
                end += i64::from(*bytes);
                let at = Moment {
                    time_ns: 110 * MS * round + place,
                    frame: 1,
                };
                let data = Data {
                    at,
                    end,
                    bytes: *bytes,
                    ..like
                };
                timeline.new_data(data, None, route, &acks);
            }
            acks.push(110 * MS * round + 10 * MS, end, window, 100 * MS);
        }
        timeline
    }

    /// What the last wait between these milliseconds is told as.
    fn newest_told(timeline: &Timeline, (from_ms, until_ms): (i64, i64)) -> Option<Cause> {
        let told = timeline.between(from_ms * MS, until_ms * MS).last();
        told.map(|piece| piece.cause)
    }

    /// What data waited for last whose connections share a window, or turn out to, when so much was sent and pushed of
    /// each round trip and an ACK of its own let it go.
    fn waited_with_others(sizes: &[u32], is_shared: bool) -> Option<Cause> {
        let pushed = Data {
            is_pushed: true,
            sharing: Sharing {
                is_shared,
                are_others_in_flight: true,
                ..Sharing::default()
            },
            ..Data::plain(Moment::default(), 0)
        };
        let mut timeline = sends_each_round_trip((1 << 32) - 9000, sizes, (60_000, 60_000), pushed);
        timeline.windows_are_shared();
        newest_told(&timeline, (340, 440))
    }

    #[test]
    fn who_has_nothing_left_with_as_much_outstanding_each_time_waits_for_his_buffer_and_no_shared_window(
    ) {
        for is_shared in [true, false] {
            let emptied = waited_with_others(&[1000, 500, 1000, 1000], is_shared);
            assert_eq!(emptied, Some(Cause::SendLimitedSendBuffer));
            let is_whole = waited_with_others(&[1000, 1000, 1000], is_shared);
            assert_eq!(is_whole, Some(Cause::SendLimitedSlowStart));
        }
    }

    #[test]
    fn who_stops_with_room_in_the_window_later_had_waited_for_no_window_with_as_much_outstanding() {
        let full = [1000, 1000, 1000, 1000];
        let has_room = waited_for_first(&full, (4000, 5000));
        assert_eq!(has_room, Some(Cause::SendLimitedSendBuffer));
        let has_none = waited_for_first(&full, (4000, 4000));
        assert_eq!(has_none, Some(Cause::SendLimitedReceiveWindow));
    }

    #[test]
    fn who_fills_a_window_with_a_short_segment_that_is_all_he_has_waits_for_his_buffer() {
        let sizes = [1000, 500, 1000, 1000];
        let emptied = waited_for_first_of(&sizes, (3500, 3500), true);
        assert_eq!(emptied, Some(Cause::SendLimitedSendBuffer));
        let has_more = waited_for_first(&sizes, (3500, 3500));
        assert_eq!(has_more, Some(Cause::SendLimitedReceiveWindow));
        let is_whole = waited_for_first_of(&[1000, 1000, 1000], (3000, 3000), true);
        assert_eq!(is_whole, Some(Cause::SendLimitedReceiveWindow));
    }

    /// Whether a buffer is told to be emptied with 3,500 bytes outstanding, twice, behind a segment that ends so far
    /// beyond what an ACK told of so long before and was not pushed.
    fn is_emptied_behind(beyond: i64, after_ns: i64) -> bool {
        let acked = (1 << 32) - 2000;
        let mut acks = Acks::default();
        acks.push(0, acked, 3500, 100 * MS);
        acks.push(100 * MS, acked + 1000, 3500, 100 * MS);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.window.hears(0, acked);
        timeline.window.stops(acked + 3500, 1000);
        timeline.is_emptied(Route::default(), &Acks::default());
        let at = Moment {
            time_ns: after_ns,
            frame: 1,
        };
        let data = Data::plain(at, acked + beyond);
        timeline.leaves_more(data, Route::default(), &acks);
        timeline.is_emptied(Route::default(), &Acks::default());
        timeline.has_emptied_its_buffer()
    }

    #[test]
    fn who_has_more_behind_what_an_ack_made_room_for_had_no_full_buffer() {
        assert!(is_emptied_behind(2500, 99 * MS));
        assert!(!is_emptied_behind(3500, 99 * MS));
        assert!(is_emptied_behind(3500, 200 * MS), "another let it go");
    }

    /// A wait for such a window, with so much outstanding.
    fn waited_for(cause: Cause, stopped_with: i64) -> Timeline {
        let at = |time_ns: i64| Moment { time_ns, frame: 1 };
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.pieces.push_back(Piece {
            start: at(120 * MS),
            end: at(220 * MS),
            cause,
            confidence: 0.8,
            if_shared: None,
            waited: Some(Waited {
                since_ns: 120 * MS,
                until_ns: 220 * MS,
                bytes: 1000,
                segments: 1,
                if_on_link: None,
                stopped_with: Some(stopped_with),
                is_told_by_host: false,
            }),
            later_ns: 0,
        });
        timeline
    }

    /// What the newest wait is told as that was for a window which avoids congestion, with three segments outstanding,
    /// if the window had been in slow start with so much outstanding.
    fn told_anew(outstanding: i64) -> Option<Cause> {
        let mut timeline = waited_for(Cause::SendLimitedCwnd, 3000);
        timeline.had_been_in_slow_start(outstanding);
        newest_told(&timeline, (120, 220))
    }

    #[test]
    fn who_turns_out_to_empty_his_buffer_had_waited_for_no_window_with_as_much_outstanding() {
        let buffer = Some(Cause::SendLimitedSendBuffer);
        for cause in [Cause::SendLimitedSlowStart, Cause::SendLimitedCwnd] {
            for (outstanding, told) in [(3500, buffer), (2500, Some(cause))] {
                let mut timeline = waited_for(cause, outstanding);
                let end = 1 << 32;
                timeline.window.hears(0, end);
                timeline.window.stops(end + 3500, 1000);
                timeline.is_emptied(Route::default(), &Acks::default());
                timeline.is_emptied(Route::default(), &Acks::default());
                assert_eq!(newest_told(&timeline, (120, 220)), told);
            }
        }
    }

    #[test]
    fn who_had_been_in_slow_start_when_he_stopped_had_waited_for_that() {
        assert_eq!(told_anew(3000), Some(Cause::SendLimitedSlowStart));
        assert_eq!(told_anew(4000), Some(Cause::SendLimitedCwnd));
    }

    #[test]
    fn who_stops_with_just_what_its_buffer_holds_was_in_no_slow_start_unless_that_is_full_segments()
    {
        let with_rest = waited_for_first(&[1000, 500, 1000, 1000], (60_000, 60_000));
        assert_eq!(with_rest, Some(Cause::SendLimitedSendBuffer));
        let of_full = waited_for_first(&[1000, 1000, 1000, 1000], (60_000, 60_000));
        assert_eq!(of_full, Some(Cause::SendLimitedSlowStart));
    }

    #[test]
    fn who_begins_with_more_than_windows_do_and_as_much_as_its_buffer_turns_out_to_hold_had_filled_that(
    ) {
        let told = |behind, segments| {
            let sizes = vec![1000; segments];
            waited_for_first_behind(behind, &sizes, (60_000, 60_000), false)
        };
        assert_eq!(told(1, 12), Some(Cause::SendLimitedSendBuffer));
        let in_slow_start = Some(Cause::SendLimitedSlowStart);
        assert_eq!(told(1, 10), in_slow_start, "many windows begin so");
        assert_eq!(told((1 << 32) - 9000, 12), in_slow_start);
    }
}
