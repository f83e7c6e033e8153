//! A window that was thrown away while its sender was idle (RFC 5681, section 4.1).

use tcptrace_tcp::TIMEOUT_MIN_NS;
use trace_model::rows::Cause;

use super::super::acks::{Acks, Released};
use super::{Data, Route, Timeline};
use crate::used_window::{LastSent, NotHeld};

impl Timeline {
    /// The sender goes on with `data` after `gap`: if that is longer than its retransmission timeout it may throw its
    /// window away, be it that the last ACK comes at that moment only. `is_answer` is whether a response begins with it.
    pub(super) fn was_idle(
        &mut self,
        (gap, is_answer): (i64, bool),
        data: Data,
        route: Route,
        acks: &Acks,
    ) {
        let rtt_ns = route.rtt_ns();
        let is_longer = gap >= rtt_ns.saturating_add(TIMEOUT_MIN_NS);
        let acked = acks.acked_by(Acks::known_by(data.at.time_ns, route.to_sender_ns));
        if !is_longer || !data.sharing.had_loss && self.timer_outlasts(gap, data, route, acks) {
            if is_answer && acked >= self.sent_until && self.may_be_longer(gap) {
                self.window.may_have_been_idle_behind(self.sent_until, gap);
            }
            return;
        }
        if acked >= self.sent_until && (is_answer || !self.waited_for_one_ack(data, route, acks)) {
            self.window.was_idle_behind(self.sent_until, is_answer, gap);
        }
        self.window.was_idle_for(gap);
    }

    /// Whether its sender may have been idle for longer than the shortest timer: the segment before had stood behind no more
    /// than was ever outstanding since.
    fn may_be_longer(&self, gap: i64) -> bool {
        let largest = u32::try_from(self.window.largest()).unwrap_or(u32::MAX);
        gap.saturating_add(self.takes_ns(largest)) >= TIMEOUT_MIN_NS
    }

    /// Whether the timer of the segment before ran for about as long as `gap` and did not run out: the ACK of all that had
    /// been sent came so long after it, or after the ACK before, which starts it anew (RFC 6298, section 5.3).
    fn timer_outlasts(&self, gap: i64, data: Data, route: Route, acks: &Acks) -> bool {
        let until_ns = Acks::known_by(data.at.time_ns, route.to_sender_ns);
        let all_ns = acks.time_of(self.sent_until).filter(|ns| *ns <= until_ns);
        let Some((all_ns, (before, _))) = all_ns.zip(self.sent) else {
            return false;
        };
        let from_ns = Acks::known_by(before.time_ns, route.to_sender_ns);
        let earlier = acks.between(from_ns, all_ns.saturating_sub(1));
        let begun_ns = earlier.last().map_or(from_ns, |ack| ack.time_ns);
        let ran_ns = all_ns.saturating_sub(begun_ns);
        gap <= ran_ns.saturating_add(TIMEOUT_MIN_NS / 10)
    }

    /// Whether the first ACK since the segment before let go what lay in the buffer: the timer of that segment had not run
    /// out, so the sender was not idle for as long.
    fn waited_for_one_ack(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let Some((before, _)) = self.sent.filter(|_| self.has_more) else {
            return false;
        };
        let from_ns = Acks::known_by(before.time_ns, route.to_sender_ns);
        let until_ns = Acks::known_by(data.at.time_ns, route.to_sender_ns);
        acks.between(from_ns, until_ns).count() == 1
    }

    /// `data` leaves: before any ACK of what was sent since its sender was idle it shows a window that was not thrown away.
    pub(super) fn shows_window_kept(&mut self, data: Data, route: Route, acks: &Acks) {
        let known_ns = Acks::known_by(data.at.time_ns, route.to_sender_ns);
        if acks.acked_by(known_ns) >= data.start() {
            self.window.begins_run(data.start());
        }
        let Some(start) = self.window.went_on_behind() else {
            return;
        };
        let left_ns = data.at.time_ns.saturating_sub(self.takes_ns(data.bytes));
        let acked = acks.acked_by(Acks::known_by(left_ns, route.to_sender_ns));
        if acked <= start && !data.opens_hole && data.recovery.is_none() {
            self.window.leaves_unacknowledged(data.end, data.is_full());
        }
    }

    /// The sender had stopped before `data`, which an ACK let go: its own window was used up, unless the receiver's was,
    /// or Nagle's algorithm may have held it.
    pub(super) fn uses_up_window(&mut self, was_full: bool, data: Data, route: Route, acks: &Acks) {
        let heard_ns = Acks::known_before_release(data.at.time_ns, route.to_sender_ns, 0);
        if self.left_by_clock(route, acks) {
            self.window.paces_restart();
        }
        let had_room =
            self.has_shown_room(data, route, acks) || !acks.had_room_for(data.end, heard_ns);
        if let Some(not_held) = self.not_held(was_full, data).filter(|_| !had_room) {
            let acked = acks.acked_by(Acks::known_by(data.at.time_ns, route.to_sender_ns));
            self.window
                .is_used_up_sooner((acked, self.sent_until), not_held, data.bytes);
        }
        if !had_room && self.nagle_would_let(data) {
            let last = LastSent {
                is_full: was_full,
                left_at_once: self.left_at_once(),
            };
            self.window.is_used_up(self.sent_until, last, data.bytes);
        }
    }

    /// Why no algorithm of Nagle's holds data behind all that was sent, if none does.
    fn not_held(&self, was_full: bool, data: Data) -> Option<NotHeld> {
        if data.nagle_is_off || was_full && data.is_above_nagle() {
            return Some(NotHeld::Ever);
        }
        (was_full && self.has_more).then_some(NotHeld::InOneRun)
    }

    /// Whether as much was in flight when the segment before left as there would have been with `data` before an ACK let
    /// that go: the window had room for it, and is no smaller since. That segment left before any ACK that it would have
    /// come too soon for, had that let it go.
    fn has_shown_room(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let (Some((sent, _)), Some(start)) = (self.sent, self.window.went_on_behind()) else {
            return false;
        };
        let came_ns = sent.time_ns.saturating_sub(self.takes_ns(self.sent_bytes));
        let acked_by = |time_ns: i64| acks.acked_by(time_ns).max(start);
        let acked = acked_by(Acks::known_by(came_ns, route.to_sender_ns));
        let most = self.sent_until.saturating_sub(acked);
        let takes_ns = self.takes_ns(data.bytes);
        let heard_ns = Acks::known_before_release(data.at.time_ns, route.to_sender_ns, takes_ns);
        let known_ns = Acks::known_by(data.at.time_ns, route.to_sender_ns);
        let newest_ns = acks.newest_by(known_ns).map_or(heard_ns, |it| it.time_ns);
        let before_ns = heard_ns.min(newest_ns.saturating_sub(1));
        data.end.saturating_sub(acked_by(before_ns)) <= most
    }

    /// Whether the segment before followed the one before it in the pace of the path.
    fn left_at_once(&self) -> bool {
        let takes_ns = self.takes(self.sent_bytes, 1, self.full_bytes);
        let most_ns = self.pace.burst_max_ns(1, 0).max(takes_ns);
        self.sent_gap_ns.is_some_and(|gap_ns| gap_ns <= most_ns)
    }

    /// What data waited for that seems to have waited for `told`. What lay in the buffer waited for the window though no
    /// ACK is seen that let it go: it may have stood behind others' data since.
    pub(super) fn after_restart(
        &mut self,
        told: (Cause, f64),
        (was_full, released): (bool, Released),
        (data, route): (Data, Route),
        acks: &Acks,
    ) -> (Cause, f64) {
        let may_have_stood =
            released == Released::ByNone && !route.is_at_sender && data.is_above_nagle();
        if told.0 == Cause::SendLimitedSlowStart && may_have_stood {
            self.uses_up_window(was_full, data, route, acks);
        }
        (self.of_restart(told.0, data), told.1)
    }

    /// Whether no algorithm of Nagle's would have held data in a larger window: what is written at once to an idle
    /// connection goes out with its short end (4.4BSD's tcp_output looks before a run of segments whether all was
    /// acknowledged), unless a clock lets each segment go by itself.
    fn nagle_would_let(&self, data: Data) -> bool {
        let is_rest = self.has_more && self.was_full(data.full_bytes);
        let is_one_run = self.window.is_one_write() && !self.window.has_paced_restart();
        data.is_above_nagle() || is_rest && is_one_run
    }

    /// What data waited for that waited for `cause`: for a window that one from before an idle period was larger
    /// than.
    pub(super) fn of_restart(&self, cause: Cause, data: Data) -> Cause {
        let is_window = match cause {
            // However it grows again.
            Cause::SendLimitedSlowStart | Cause::SendLimitedCwnd => true,
            // A buffer that has held more before is not full.
            Cause::SendLimitedSendBuffer => !self.window.is_fullest(),
            _ => false,
        };
        let is_own = is_window && !data.sharing.is_shared && self.nagle_would_let(data);
        if is_own && self.window.was_thrown_away(data.end) {
            return Cause::StallSlowStartRestart;
        }
        cause
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;

    #[test]
    fn what_waits_after_a_restart_with_less_outstanding_than_ever_waits_for_no_full_buffer() {
        let start = (1 << 32) - 2000;
        for (flight, cause) in [
            (4000, Cause::StallSlowStartRestart),
            (8000, Cause::SendLimitedSendBuffer),
        ] {
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            let window = &mut timeline.window;
            window.was_used_before_idle(start, 8000, true);
            window.stops(start + 10_000, 1000);
            window.is_used_up(start + 10_000, LastSent::FULL, 1000);
            window.hears(3, start + 10_000);
            window.stops(start + 10_000 + flight, 1000);
            let data = Data::plain(Moment::default(), start + 11_000 + flight);
            let told = timeline.of_restart(Cause::SendLimitedSendBuffer, data);
            assert_eq!(told, cause, "{flight}");
        }
    }

    const MS: i64 = 1_000_000;

    #[test]
    fn what_waits_for_a_window_that_was_thrown_away_waits_for_that_beside_a_threshold_as_well() {
        let start = (1 << 32) - 4000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let window = &mut timeline.window;
        window.stops(1001, 1000);
        window.hears(1, start);
        window.had_loss(start - 4000, start, true);
        window.was_used_before_idle(start, 4000, true);
        window.stops(start + 6000, 1000);
        timeline.sent_until = start + 6000;
        let data = Data::at_ms(200, start + 7000);
        timeline.uses_up_window(true, data, Route::at_receiver(100), &Acks::default());
        let told = timeline.of_restart(Cause::SendLimitedCwnd, data);
        assert_eq!(told, Cause::StallSlowStartRestart);
    }

    /// Whether the short end of a write waited for a restart behind four segments that came each 8 ms, of which an ACK of
    /// two went as long after the first, on a path of 10 ms; nine had been in use before.
    fn restarts_behind_four(acked_ms: i64) -> bool {
        let start = (1 << 32) - 2000;
        let route = Route::at_receiver(10);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let window = &mut timeline.window;
        window.was_used_before_idle(start - 9000, 9000, true);
        window.hears(3, start + 2000);
        window.stops(start + 4000, 1000);
        let mut link = crate::arrivals::Arrivals::default();
        for _ in 0..2 {
            link.came_after(8 * MS, 1000, 1, 100 * MS);
        }
        timeline.link_is(link);
        (timeline.sent_start, timeline.sent_until) = (start + 3000, start + 4000);
        timeline.sent = Some((Moment::at_ms(1024), true));
        (timeline.sent_bytes, timeline.sent_gap_ns) = (1000, Some(8 * MS));
        timeline.has_more = true;
        let mut acks = Acks::default();
        for (ms, acked) in [(500, 0), (1000 + acked_ms, 2000), (1024, 4000)] {
            acks.push(ms * MS, start + acked, 60_000, 100 * MS);
        }
        let data = Data {
            bytes: 500,
            ..Data::at_ms(1038, start + 4500)
        };
        timeline.uses_up_window(true, data, route, &acks);
        timeline.window.was_thrown_away(data.end)
    }

    #[test]
    fn a_window_that_let_as_much_go_before_any_ack_was_not_thrown_away() {
        assert!(!restarts_behind_four(8));
        assert!(restarts_behind_four(1), "which may have let the rest go");
    }

    /// Whether a timer outlasts `gap` of a segment whose ACK goes by after `acks_ms`, with others between.
    fn outlasts(gap_ms: i64, acks_ms: &[i64]) -> bool {
        let start = (1 << 32) - 2000;
        let route = Route::at_receiver(100);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.sent_until = start + 2000;
        let moment = |ms: i64| Moment::at_ms(ms);
        timeline.sent = Some((moment(1000), true));
        let mut acks = Acks::default();
        for (ms, acked) in acks_ms.iter().rev().zip([2000, 1000]).rev() {
            acks.push(ms * MS, start + acked, 60_000, 200 * MS);
        }
        let data = Data::plain(moment(1000 + gap_ms), start + 3000);
        timeline.timer_outlasts(gap_ms * MS, data, route, &acks)
    }

    #[test]
    fn who_waited_that_long_for_an_ack_was_not_idle_for_longer_than_its_timer() {
        assert!(outlasts(300, &[1200]));
        assert!(outlasts(300, &[901, 1200]), "which started it again");
        assert!(!outlasts(500, &[1200]));
        assert!(!outlasts(300, &[1000, 1200]));
        assert!(!outlasts(300, &[]));
    }

    /// What a segment waited for that is `bytes` long, behind two that are all of a window after an idle period, before
    /// which eight had been outstanding.
    fn told(bytes: u32, nagle_is_off: bool, released: Released) -> Cause {
        let start = (1 << 32) - 2000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let window = &mut timeline.window;
        window.was_used_before_idle(start, 8000, true);
        window.stops(start + 10_000, 1000);
        timeline.sent_until = start + 10_000;
        let data = Data {
            bytes,
            nagle_is_off,
            ..Data::plain(Moment::default(), start + 10_000 + i64::from(bytes))
        };
        let (route, acks) = (Route::default(), Acks::default());
        if released == Released::ByAck {
            timeline.uses_up_window(true, data, route, &acks);
        }
        let told = (Cause::SendLimitedSlowStart, 0.5);
        let told = timeline.after_restart(told, (true, released), (data, route), &acks);
        told.0
    }

    #[test]
    fn what_lay_in_the_buffer_waited_for_a_restart_though_no_ack_is_seen_that_let_it_go() {
        for released in [Released::ByAck, Released::ByNone] {
            assert_eq!(told(1000, false, released), Cause::StallSlowStartRestart);
        }
    }

    #[test]
    fn a_short_segment_waited_for_a_restart_if_its_sender_runs_no_algorithm_of_nagle() {
        assert_eq!(
            told(500, true, Released::ByAck),
            Cause::StallSlowStartRestart
        );
        assert_eq!(
            told(500, false, Released::ByAck),
            Cause::SendLimitedSlowStart
        );
    }

    /// Whether one ACK let a segment go of what lay in the buffer, if `has_more`, where ACKs had come by `acks_ms`.
    fn waited_for_one(acks_ms: &[i64], has_more: bool) -> bool {
        const MS: i64 = 1_000_000;
        let at = |time_ms: i64| Moment::at_ms(time_ms);
        let route = Route::at_receiver(100);
        let end = (1 << 32) + 1000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, Some(at(1000)));
        timeline.sent_until = end;
        timeline.has_more = has_more;
        let mut acks = Acks::default();
        acks.push(100 * MS, end - 3000, 60_000, 100 * MS);
        for (acked, time_ms) in (end - 1000..).step_by(1000).zip(acks_ms) {
            acks.push(time_ms * MS, acked, 60_000, 100 * MS);
        }
        timeline.waited_for_one_ack(Data::plain(at(1700), end + 1000), route, &acks)
    }

    #[test]
    fn what_one_ack_let_go_that_lay_in_the_buffer_shows_no_idle_sender() {
        assert!(waited_for_one(&[1600], true));
        assert!(
            !waited_for_one(&[1300, 1600], true),
            "the timer was set anew"
        );
        assert!(
            !waited_for_one(&[1600], false),
            "it may have been written late"
        );
    }
}
