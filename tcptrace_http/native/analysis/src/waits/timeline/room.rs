//! When the windows had room for data, and when its sender knew.

use tcptrace_tcp::{TIMEOUT_MIN_NS, TIMER_ASKED_FOR_NS};
use trace_model::rows::Cause;

use super::super::acks::{Acks, Released};
use super::super::partition::Moment;
use super::shared::phase_of;
use super::{Data, Route, Timeline};
use crate::jitter::AT_ONCE_MAX_NS;
use crate::shared_windows::WrittenAt;

/// Where round trips are as short as this every timer waits for the least that its host has: else it follows them.
const LEAST_TIMER_RTT_MAX_NS: i64 = 20_000_000;
/// A timer that runs out again waits so many times as long as before (RFC 6298, section 5.5).
const TIMER_BACKS_OFF: i64 = 2;
/// Timers of a host vary by this share, with the round trips.
const TIMER_VARIES_SHARE: i64 = 4;

impl Timeline {
    /// A probe of a window of zero went by.
    pub(in crate::waits) fn probe(&mut self, at: Moment) {
        self.probed_ns = Some(at.time_ns);
    }

    /// Whether data that lay in the sender's buffer is short because the receiver's window has room for no more. Who
    /// avoids silly windows waits for room for a full segment, and sends what there is room for when a timer runs out
    /// (RFC 1122, section 4.2.3.4).
    pub(super) fn fills_window(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let is_short = self.has_more && !data.is_full() && !data.opens_hole && !data.is_pushed;
        let known_ns = Acks::known_by(data.at.time_ns, route.to_sender_ns);
        is_short && acks.edge_by(known_ns) == Some(data.end)
    }

    /// What data waited for first that was held for another `cause` in the end, and until when. Who had sent all that
    /// was there waited for no window that had room; and who had filled the receiver's window waited for room in it
    /// until the ACK came that told that it is closed.
    pub(super) fn waited_first(
        &self,
        cause: Option<(Cause, f64)>,
        had_nothing: bool,
        gap_ns: i64,
        (data, route): (Data, Route),
        acks: &Acks,
    ) -> Option<(Cause, i64)> {
        if cause.is_some_and(|(cause, _)| cause == Cause::SendLimitedZeroWindow) {
            let told_ns = acks.closed_ns()?.saturating_add(route.to_sender_ns);
            return Some((Cause::SendLimitedReceiveWindow, told_ns));
        }
        let is_paced = cause.is_some_and(|(cause, _)| cause == self.words.burst);
        if let Some(paced_ns) = data.held_by_pacer_ns(route).filter(|_| is_paced) {
            let had_room_ns = data.at.time_ns.saturating_sub(paced_ns);
            return Some((phase_of(data.sharing), had_room_ns));
        }
        if let Some(first) = self.before_clock((data, is_paced), had_nothing, gap_ns, route) {
            return Some(first);
        }
        if let Some(until_ns) = self.closed_until_ns(gap_ns, (data, route), acks) {
            return Some((Cause::SendLimitedZeroWindow, until_ns));
        }
        let was_let_go = cause.is_some_and(|(cause, _)| cause != self.words.idle);
        // What is told to have waited for its application may turn out to have waited for a window.
        let may_be_window = !was_let_go && self.if_shared.is_some();
        let before_ns = data.at.time_ns.saturating_sub(gap_ns);
        let quiet_until_ns = data.sharing.quiet_until_ns;
        let quiet_until_ns = quiet_until_ns.filter(|ns| (before_ns..data.at.time_ns).contains(ns));
        if let Some(WrittenAt::Earlier { would_come_ns }) =
            data.sharing.written.filter(|_| was_let_go || may_be_window)
        {
            // Since nothing was in flight nothing held what was written: it was not, whatever its rhythm.
            let until_ns = quiet_until_ns.map_or(would_come_ns, |ns| ns.max(would_come_ns));
            return Some((self.words.idle, self.would_come_ns(until_ns, data, route)));
        }
        if let Some(until) = self.waited_to_go_on().filter(|_| !was_let_go) {
            return Some(until);
        }
        if cause.is_some_and(|(cause, _)| cause == Cause::StallNagleHold) {
            return self.had_room_in_recovery(data, route);
        }
        if cause.is_some_and(|(cause, _)| cause == Cause::StallTailLoss) {
            return self.written_before_the_timer(gap_ns, data, route, acks);
        }
        let is_of_buffer = cause.is_some_and(|(cause, _)| cause == Cause::SendLimitedSendBuffer);
        if is_of_buffer && data.sharing.is_shared && !had_nothing {
            return self.before_full(data, route);
        }
        if let Some(until) = self.had_full_buffer_until(cause, data, route) {
            return Some(until);
        }
        let stood_until_ns = self.stood_until_ns((gap_ns, had_nothing), data, route, acks);
        if let Some(until_ns) = stood_until_ns.filter(|_| was_let_go) {
            return Some((self.words.burst, until_ns));
        }
        let until_ns = self.room_until_ns(data, route, acks).max(quiet_until_ns);
        let is_window = data.sharing.by_other || may_be_window;
        let idle_until_ns = until_ns.filter(|_| had_nothing && is_window);
        let until_ns = idle_until_ns.map(|ns| self.would_come_ns(ns, data, route));
        until_ns.map(|until_ns| (self.words.idle, until_ns))
    }

    /// Until when the receiver's window was closed, if it was opened while the data waited, though that went on: it
    /// waited for something else then. Who reads at once what fills a hole closes it for no time.
    fn closed_until_ns(
        &self,
        gap_ns: i64,
        (data, route): (Data, Route),
        acks: &Acks,
    ) -> Option<i64> {
        let since_ns = data.at.time_ns.saturating_sub(gap_ns);
        let opened_ns = acks.opened_ns().filter(|ns| *ns > since_ns)?;
        if opened_ns.saturating_sub(acks.closed_ns()?) <= AT_ONCE_MAX_NS {
            return None;
        }
        let allowed_ns = opened_ns.saturating_add(route.to_sender_ns);
        let had_room = acks.had_room_for(data.end, opened_ns.saturating_sub(1));
        (!had_room && allowed_ns < data.at.time_ns).then_some(allowed_ns)
    }

    /// When data was written that was lost then, of which a single packet tells that never came by: as long before a
    /// timer sent it again as that waits, which others of its host have shown, or RFC 6298 asks for (sections 2.2 and
    /// 2.4). If no ACK came before, nothing but its application had held it.
    fn written_before_the_timer(
        &self,
        gap_ns: i64,
        data: Data,
        route: Route,
        acks: &Acks,
    ) -> Option<(Cause, i64)> {
        let takes_ns = self.takes(data.full_bytes, 1, data.full_bytes);
        let is_least = route.rtt_ns().saturating_add(takes_ns) <= LEAST_TIMER_RTT_MAX_NS;
        let timer_ns = data.sharing.timer_ns.unwrap_or(TIMER_ASKED_FOR_NS);
        let most_ns = timer_ns.saturating_add(timer_ns / TIMER_VARIES_SHARE);
        let is_lost_once = data.missing_before == 1 || Self::is_lost_once(gap_ns, data);
        let is_known = is_least && is_lost_once && !data.sharing.is_shared && !route.is_at_sender;
        // It is older than an ACK that told of it, and a timer that ran out before waits for longer (RFC 6298,
        // section 5.5).
        let is_backed_off = self.is_backed_off(gap_ns, timer_ns, data, route);
        if !is_known || data.was_told_of || gap_ns <= most_ns || is_backed_off {
            return None;
        }
        let written_ns = data.at.time_ns.saturating_sub(timer_ns);
        let late_ns = acks.late_ns(written_ns, route.to_sender_ns);
        let is_of_window = late_ns.is_some_and(|late_ns| late_ns <= TIMEOUT_MIN_NS);
        (!is_of_window).then_some((self.words.idle, written_ns))
    }

    /// Whether data was lost once, though more packets are missing before it: for two timers, of which the second one waits
    /// twice as long as its host's do (RFC 6298, section 5.5), there was no time.
    fn is_lost_once(gap_ns: i64, data: Data) -> bool {
        let Some(timer_ns) = data.sharing.timer_ns else {
            return false;
        };
        let all_ns = timer_ns.saturating_mul(TIMER_BACKS_OFF.saturating_add(1));
        data.missing_before > 1 && gap_ns < all_ns
    }

    /// Whether it waited as long as a timer that was backed off before: that waits twice as long until a round trip is
    /// measured anew (Karn and Partridge 1987).
    fn is_backed_off(&self, gap_ns: i64, timer_ns: i64, data: Data, route: Route) -> bool {
        let late_ns = gap_ns.saturating_sub(timer_ns.saturating_mul(TIMER_BACKS_OFF));
        let takes_ns = self.takes(data.full_bytes, 1, data.full_bytes);
        let by_one_ns = route.rtt_ns().saturating_add(takes_ns);
        (0..=by_one_ns.saturating_add(AT_ONCE_MAX_NS)).contains(&late_ns)
    }

    /// Until when nothing would have held the data: the window had room, and Nagle's algorithm nothing to wait for.
    fn room_until_ns(&self, data: Data, route: Route, acks: &Acks) -> Option<i64> {
        let until_ns = data.sharing.room_until_ns?;
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let behind_ns = takes_ns.saturating_add(data.sharing.queued_ns);
        let released = acks.released(data.at.time_ns, data.end, route.to_sender_ns, behind_ns);
        if released != Released::ByNone {
            // An ACK of its own may have let it go, and stands in the queue of the slowest link since.
            return None;
        }
        let start = data.start();
        let acked = acks.acked_by(Acks::known_by(until_ns, route.to_sender_ns));
        (data.is_full() || acked >= start).then_some(until_ns)
    }

    /// From when on data could have gone, if the window was opened before the sender's last probe.
    pub(super) fn persist(&self, data: Data, route: Route, acks: &Acks) -> Option<i64> {
        let (opened_ns, probed_ns) = (acks.opened_ns()?, self.probed_ns?);
        let allowed_ns = opened_ns.saturating_add(route.to_sender_ns);
        (allowed_ns <= probed_ns && probed_ns < data.at.time_ns).then_some(allowed_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::{Moment, INFERRED};
    use super::super::Words;
    use super::*;
    use crate::shared_windows::Sharing;

    const MS: i64 = 1_000_000;

    #[test]
    fn what_came_later_than_it_was_due_waited_for_its_application_until_then() {
        let timeline = Timeline::new(Words::OF_RESPONSES, None);
        let written = Some(WrittenAt::Earlier { would_come_ns: 70 });
        let sharing = Sharing {
            written,
            ..Sharing::default()
        };
        let at = Moment {
            time_ns: 300,
            frame: 1,
        };
        let lost = Data {
            sharing,
            ..Data::plain(at, 1 << 32)
        };
        let waited_first = |cause| {
            let data = (lost, Route::default());
            timeline.waited_first(Some((cause, 1.0)), true, 200, data, &Acks::default())
        };
        let idle = Some((Cause::ServerDataUnavailable, 70));
        assert_eq!(waited_first(Cause::StallTailLoss), idle);
        assert_eq!(waited_first(Cause::StallNagleHold), idle);
        assert_eq!(waited_first(Cause::ServerDataUnavailable), None);
    }

    /// When data was written, in milliseconds, that comes so long after what went before, where so many packets are missing
    /// of a host whose timers wait a second, if that is known.
    fn written_ms(gap_ms: i64, missing_before: u32, is_known: bool) -> Option<i64> {
        let timeline = Timeline::new(Words::OF_RESPONSES, None);
        let sharing = Sharing {
            timer_ns: is_known.then_some(1000 * MS),
            ..Sharing::default()
        };
        let at = Moment::at_ms(5000);
        let data = Data {
            missing_before,
            sharing,
            ..Data::plain(at, 1 << 32)
        };
        let route = Route::at_receiver(10);
        let first = timeline.written_before_the_timer(gap_ms * MS, data, route, &Acks::default());
        first.map(|(_, ns)| ns / MS)
    }

    #[test]
    fn what_was_lost_once_was_written_as_long_before_as_its_timer_waits_whatever_else_is_missing() {
        assert_eq!(written_ms(2500, 1, true), Some(4000));
        assert_eq!(written_ms(2500, 3, true), Some(4000));
        assert_eq!(written_ms(3500, 1, true), Some(4000));
        assert_eq!(
            written_ms(3500, 3, true),
            None,
            "it may have been lost twice"
        );
        assert_eq!(
            written_ms(2500, 3, false),
            None,
            "another timer may be shorter"
        );
        for missing_before in [1, 3] {
            let first = written_ms(2010, missing_before, true);
            assert_eq!(first, None, "the timer was backed off");
        }
    }

    #[test]
    fn what_may_turn_out_to_have_waited_for_a_shared_window_waited_for_its_application_while_others_found_room(
    ) {
        let idle = Some((Cause::ServerDataUnavailable, 70 * MS));
        let rhythm = Some((Cause::ServerDataUnavailable, 90 * MS));
        let written = Some(WrittenAt::Earlier {
            would_come_ns: 90 * MS,
        });
        for (if_shared, by_other, written, first) in [
            (Some(Cause::SendLimitedSlowStart), false, None, idle),
            (Some(Cause::SendLimitedSlowStart), false, written, rhythm),
            (None, true, None, idle),
            (None, false, None, None),
            (None, false, written, None),
        ] {
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            timeline.if_shared = if_shared;
            let at = Moment::at_ms(300);
            let data = Data {
                bytes: 1000,
                full_bytes: 1000,
                sharing: Sharing {
                    by_other,
                    written,
                    room_until_ns: Some(70 * MS),
                    ..Sharing::default()
                },
                ..Data::plain(at, (1 << 32) + 1000)
            };
            let cause = Some((Cause::ServerDataUnavailable, INFERRED));
            let mut acks = Acks::default();
            acks.push(MS, 1 << 32, 60_000, 20 * MS);
            let data = (data, Route::default());
            assert_eq!(
                timeline.waited_first(cause, true, 200 * MS, data, &acks),
                first
            );
        }
    }

    #[test]
    fn what_waited_for_others_window_waited_for_its_application_while_nothing_was_in_flight() {
        let timeline = Timeline::new(Words::OF_RESPONSES, None);
        let at = Moment::at_ms(300);
        for (quiet_ms, rhythm_ms, first_ms) in [
            (250, None, Some(250)),
            (90, None, None),
            (310, None, None),
            (250, Some(80), Some(250)),
            (250, Some(270), Some(270)),
            (90, Some(80), Some(80)),
        ] {
            let written = rhythm_ms.map(|ms| WrittenAt::Earlier {
                would_come_ns: ms * MS,
            });
            let sharing = Sharing {
                is_shared: true,
                by_other: true,
                quiet_until_ns: Some(quiet_ms * MS),
                written,
                ..Sharing::default()
            };
            let data = Data {
                sharing,
                ..Data::plain(at, (1 << 32) + 1000)
            };
            let cause = Some((Cause::SendLimitedSlowStart, INFERRED));
            // Near its sender data comes as much later as its way is long.
            for (route, way_ms) in [(Route::default(), 0), (Route::at_sender(100), 100)] {
                let data = (data, route);
                let waited = timeline.waited_first(cause, true, 200 * MS, data, &Acks::default());
                let idle = first_ms.map(|ms| (Cause::ServerDataUnavailable, (ms + way_ms) * MS));
                assert_eq!(waited, idle, "{quiet_ms}");
            }
        }
    }
}
