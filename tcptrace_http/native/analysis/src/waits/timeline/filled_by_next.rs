//! The rest of a response that the next response filled up to a full segment.
//!
//! Theory of operation. Nagle's algorithm holds what does not fill a segment until all is acknowledged (RFC 896), or
//! until more is written. Where a response is asked for while the one before it is on its way, it is the next response
//! that fills the segment, when its request comes, or when its server has written it. So the rest of a response that
//! comes in one full segment with the start of the next had lain in the buffer since its response was written, if that
//! one's request let it go; or if no ACK did, for what the window holds an ACK lets go, and the segment before was not
//! pushed, which had left something in the buffer (RFC 9293, section 3.9.1). It was held since the slowest link had
//! carried what was sent before it, and would have carried it. Near the sender it shows that no ACK came when it left.

use super::super::acks::{Ack, Acks};
use super::super::pace::BURST_MIN_NS;
use super::super::partition::{Moment, INFERRED};
use super::{Data, Pending, Piece, Route, Timeline};
use crate::jitter::{CLOSE_NS, RELEASE_MAX_NS};
use crate::shared_windows::is_rhythm;
use trace_model::rows::Cause;

/// A segment takes as much of its own time less on the link, by what is known of that.
const SLACK_SHARE: i64 = 8;

/// A segment that lay in its sender's buffer, at least in part, when the one before left.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FoundInBuffer {
    /// The one before it was not pushed.
    had_more: bool,
    /// When that had come and the slowest link had carried this one, if no ACK can have let it go when it came later.
    carried_ns: Option<i64>,
}

/// The start of a response filled a segment up that brings the rest of the one before.
#[derive(Clone, Copy, Debug)]
struct Filled {
    /// Its request let the segment go.
    is_by_request: bool,
    /// The window was full before that.
    is_full: bool,
    newest: FoundInBuffer,
}

impl Filled {
    /// Whether it waited for that, and not for what it seems to have waited for, with so much outstanding when its
    /// sender stopped. What the request's ACK made room for in a full window waited for that, whatever would have held
    /// it besides; but what others have in flight may be in it as well.
    fn may_be_held(self, cause: Cause, stopped_with: Option<i64>) -> bool {
        let is_of_window = self.is_full && stopped_with.is_some();
        match cause {
            Cause::SendLimitedSlowStart
            | Cause::StallSlowStartRestart
            | Cause::SendLimitedCwnd
            | Cause::SendLimitedSendBuffer => {
                self.is_by_request && !is_of_window || self.newest.carried_ns.is_some()
            }
            Cause::ServerDataUnavailable | Cause::Unexplained => self.newest.had_more,
            _ => false,
        }
    }
}

impl Pending {
    /// Near the sender, where it is settled later: it was held if it may have been.
    fn is_filled(&mut self, filled: Filled) {
        let told = self.cause.map(|(cause, _)| cause);
        if told.is_some_and(|cause| filled.may_be_held(cause, self.stopped_with)) {
            self.cause = Some((Cause::StallNagleHold, INFERRED));
            self.if_shared = None;
            self.waited_first = None;
        }
    }
}

impl Timeline {
    /// What is known of data that came so long after the segment before.
    pub(super) fn found_in_buffer(
        &self,
        gap_ns: i64,
        data: Data,
        route: Route,
        acks: &Acks,
    ) -> FoundInBuffer {
        let is_plain = data.is_full() && !data.opens_hole && data.recovery.is_none();
        // Who paces lets data go by a clock, in a rhythm, and not when it is written.
        let goes_on = self.sent_gap_ns.is_some_and(|it| is_rhythm(it, gap_ns));
        let is_paced = data.sharing.is_of_pacer || goes_on;
        let may_be_rest = is_plain && self.has_more && !data.sharing.is_shared && !is_paced;
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let is_late = gap_ns > takes_ns.saturating_add(BURST_MIN_NS);
        let is_by_none = may_be_rest && is_late && self.is_by_none(data, route, acks);
        let came_ns = data.at.time_ns.saturating_sub(gap_ns);
        FoundInBuffer {
            had_more: self.has_more,
            carried_ns: is_by_none.then(|| came_ns.saturating_add(takes_ns)),
        }
    }

    /// Whether a full segment came when none of the ACKs can have let it go, nor what stood before the slowest link,
    /// which is known.
    fn is_by_none(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let takes_ns = self.takes_ns(data.bytes);
        let known_ns = Acks::known_by(data.at.time_ns, route.to_sender_ns);
        // Behind the ACK that let it go it has taken its own time on the link, no less than others have.
        let least_ns = takes_ns.min(data.sharing.takes_ns);
        let latest_ns = known_ns
            .saturating_sub(least_ns)
            .saturating_add(least_ns / SLACK_SHARE)
            .saturating_add(CLOSE_NS);
        let behind_ns = takes_ns
            .saturating_add(data.sharing.queued_ns)
            .saturating_add(RELEASE_MAX_NS);
        // An ACK that came with data takes as long as that on the link, which is taken to be as slow in its direction.
        let may_let_go = |ack: Ack| {
            let slack_ns = behind_ns.saturating_add(self.takes_ns(ack.bytes));
            known_ns.saturating_sub(ack.time_ns) <= slack_ns
        };
        let earliest_ns = known_ns.saturating_sub(behind_ns.saturating_add(takes_ns));
        takes_ns > 0 && !acks.between(earliest_ns, latest_ns).any(may_let_go)
    }

    /// A response begins at `start`, whose request went by at `asked_ns`: if the newest segment is full and brings the
    /// rest of the one before, that was held.
    pub(super) fn note_filled_by_next(&mut self, start: i64, asked_ns: Option<i64>) {
        let Some((sent, _)) = self.sent.filter(|(_, is_full)| *is_full) else {
            return;
        };
        let is_within = self.sent_start < start && start < self.sent_until;
        if !is_within || self.nagle_is_off {
            return;
        }
        let filled = Filled {
            is_by_request: asked_ns.is_some_and(|ns| self.is_let_go_by_request(start, ns)),
            is_full: self.window.fills_as_grown(),
            newest: self.newest,
        };
        if self.settles_by_ack {
            let newest = self.pending.back_mut();
            let newest = newest.filter(|it| it.at.time_ns == sent.time_ns && it.stall.is_none());
            return newest.map_or((), |newest| newest.is_filled(filled));
        }
        let (newest, burst) = (self.newest, self.words.burst);
        let Some(piece) = self.pieces.back_mut() else {
            return;
        };
        if piece.end.time_ns != sent.time_ns {
            return;
        }
        if piece.cause == burst {
            self.split_burst(newest.carried_ns);
            return;
        }
        let stopped_with = piece.waited.and_then(|it| it.stopped_with);
        if piece.waited.is_some() && filled.may_be_held(piece.cause, stopped_with) {
            is_held(piece);
        }
        if let Some(carried_ns) = newest.carried_ns {
            self.hold_since(carried_ns);
        }
    }

    /// What no ACK let go waited for none, whatever part of that time seemed to be its receiver's.
    fn hold_since(&mut self, carried_ns: i64) {
        let since = self.pieces.iter_mut().rev();
        let since = since.take_while(|piece| piece.start.time_ns >= carried_ns);
        for piece in since {
            let may_be_held = matches!(
                piece.cause,
                Cause::SendLimitedSlowStart
                    | Cause::StallSlowStartRestart
                    | Cause::SendLimitedCwnd
                    | Cause::SendLimitedSendBuffer
                    | Cause::StallDelayedAckFirstSegment
            );
            if may_be_held {
                is_held(piece);
            }
        }
    }

    /// What came later than the slowest link had carried it was held from then on.
    fn split_burst(&mut self, carried_ns: Option<i64>) {
        let (Some(carried_ns), Some(piece)) = (carried_ns, self.pieces.back_mut()) else {
            return;
        };
        let (end, later_ns) = (piece.end, piece.later_ns);
        let border = Moment {
            time_ns: carried_ns.max(piece.start.time_ns),
            ..piece.start
        };
        piece.end = border;
        self.push(Piece {
            start: border,
            end,
            cause: Cause::StallNagleHold,
            confidence: INFERRED,
            if_shared: None,
            waited: None,
            later_ns,
        });
    }
}

fn is_held(piece: &mut Piece) {
    piece.cause = Cause::StallNagleHold;
    piece.waited = None;
    piece.if_shared = None;
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::super::partition::Moment;
    use super::super::{Data, Route, Words};
    use super::*;
    use crate::arrivals::Arrivals;
    use crate::shared_windows::Sharing;

    const MS: i64 = 1_000_000;

    /// What a full segment waited for that brings the end of a response and the start of the next, which was asked for at
    /// that time, and let go by an ACK at 110 ms.
    fn waited_for(asked_ms: i64, nagle_is_off: bool) -> Option<Cause> {
        waited_behind(1200, asked_ms, nagle_is_off)
    }

    /// ... with so much outstanding until then, behind a window of 1,000 bytes that had been used up.
    fn waited_behind(outstanding: i64, asked_ms: i64, nagle_is_off: bool) -> Option<Cause> {
        let route = Route::at_receiver(100);
        let start = (1 << 32) - 500;
        let mut acks = Acks::default();
        acks.push(0, start - outstanding, 60_000, 100 * MS);
        acks.push(110 * MS, start - 1000, 60_000, 100 * MS);
        acks.came_with(110 * MS, 90);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        if outstanding > 1200 {
            timeline.window.hears(-1, start - outstanding - 1000);
            timeline.window.stops(start - outstanding, 1000);
            timeline.window.hears(0, start - outstanding);
        }
        for (time_ms, end) in [(100, start), (210, start + 1000)] {
            let data = Data {
                nagle_is_off,
                ..Data::at_ms(time_ms, end)
            };
            timeline.new_data(data, None, route, &acks);
        }
        timeline.opens(start + 600, Some(asked_ms * MS));
        let told = timeline.between(100 * MS, 210 * MS).last();
        told.map(|piece| piece.cause)
    }

    /// What a full segment waited for that brings the end of a response and the start of the next, on a link that takes
    /// 20 ms for it: it came at that time behind one that was pushed or not, of which an ACK came at 250 ms, and of
    /// two at once before.
    fn written_at(came_ms: i64, is_pushed: bool) -> Option<(Cause, i64)> {
        let route = Route::at_receiver(100);
        let mut link = Arrivals::default();
        for _ in 0..3 {
            link.came_after(20 * MS, 1000, 1, 100 * MS);
        }
        let sharing = Sharing {
            link,
            takes_ns: 20 * MS,
            ..Sharing::default()
        };
        let start = (1 << 32) - 500;
        let mut acks = Acks::default();
        acks.push(0, start - 3000, 60_000, 100 * MS);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let sent = [
            (100, 2000, 0),
            (120, 1000, 130),
            (250, 0, 250),
            (came_ms, -1000, 0),
        ];
        for (time_ms, before, acked_ms) in sent {
            let data = Data {
                sharing,
                is_pushed,
                ..Data::at_ms(time_ms, start - before)
            };
            timeline.new_data(data, None, route, &acks);
            if acked_ms > 0 {
                acks.push(acked_ms * MS, start - before, 60_000, 100 * MS);
            }
        }
        timeline.opens(start + 600, Some(200 * MS));
        let told = timeline.between(250 * MS, came_ms * MS).last();
        told.map(|it| (it.cause, (it.end.time_ns - it.start.time_ns) / MS))
    }

    #[test]
    fn what_the_next_response_filled_as_no_ack_came_that_let_it_go_nagles_algorithm_had_held() {
        assert_eq!(written_at(320, false), Some((Cause::StallNagleHold, 50)));
    }

    #[test]
    fn what_came_too_soon_behind_an_ack_for_the_link_was_not_let_go_by_it() {
        assert_eq!(written_at(362, false), Some((Cause::StallNagleHold, 92)));
    }

    #[test]
    fn what_no_ack_let_go_was_held_for_all_of_that_time_whatever_part_seemed_to_be_its_receivers() {
        let causes = [
            Cause::SendLimitedSlowStart,
            Cause::SendLimitedBottleneck,
            Cause::SendLimitedSlowStart,
            Cause::StallDelayedAckFirstSegment,
        ];
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        for (time_ns, cause) in (0..).zip(causes) {
            let at = |time_ns: i64| Moment { time_ns, frame: 1 };
            timeline.push(Piece {
                start: at(time_ns * MS),
                end: at((time_ns + 1) * MS),
                cause,
                confidence: INFERRED,
                if_shared: None,
                waited: None,
                later_ns: 0,
            });
        }
        timeline.hold_since(MS);
        let told: Vec<Cause> = timeline.pieces.iter().map(|it| it.cause).collect();
        let held = Cause::StallNagleHold;
        assert_eq!(told, [causes[0], causes[1], held, held]);
    }

    #[test]
    fn what_a_link_takes_of_a_short_hold_is_its_pace() {
        assert_eq!(written_at(285, false), Some((Cause::StallNagleHold, 15)));
    }

    #[test]
    fn behind_what_was_pushed_no_rest_lay_that_the_next_response_filled() {
        let told = written_at(320, true).map(|(cause, _)| cause);
        assert_eq!(told, Some(Cause::ServerDataUnavailable));
    }

    #[test]
    fn what_the_next_response_filled_waited_for_the_window_if_it_left_as_an_ack_came() {
        let told = written_at(250 + 100 + 20, false);
        assert!(
            told.is_some_and(|(cause, _)| cause != Cause::StallNagleHold),
            "{told:?}"
        );
    }

    #[test]
    fn what_the_next_response_filled_when_it_was_asked_for_nagles_algorithm_had_held() {
        assert_eq!(waited_for(110, false), Some(Cause::StallNagleHold));
    }

    #[test]
    fn what_the_next_response_filled_as_it_was_asked_for_waited_for_no_restart() {
        for (is_by_request, held) in [(true, true), (false, false)] {
            let filled = Filled {
                is_by_request,
                is_full: false,
                newest: FoundInBuffer::default(),
            };
            let told = filled.may_be_held(Cause::StallSlowStartRestart, None);
            assert_eq!(told, held);
        }
    }

    #[test]
    fn what_came_with_a_response_that_was_asked_for_before_waited_for_the_window() {
        assert_eq!(waited_for(50, false), Some(Cause::SendLimitedSlowStart));
    }

    #[test]
    fn what_a_window_had_no_room_for_that_had_just_grown_as_large_waited_for_that() {
        let told = waited_behind(2000, 110, false);
        assert_eq!(told, Some(Cause::SendLimitedSlowStart));
    }

    #[test]
    fn who_sends_short_segments_at_once_has_held_none() {
        assert_eq!(waited_for(110, true), Some(Cause::SendLimitedSlowStart));
    }
}
