//! The rest of a response that the next response filled up to a full segment.
//!
//! Theory of operation. Nagle's algorithm holds what does not fill a segment until all is acknowledged (RFC 896), or
//! until more is written. Where a response is asked for while the one before it is on its way, it is the next response
//! that fills the segment, when its request comes, or when its server has written it. So the rest of a response that
//! comes in one full segment with the start of the next had lain in the buffer since its response was written, if that
//! one's request let it go; or if no ACK did, for what the window holds an ACK lets go, and the segment before was not
//! pushed, which had left something in the buffer (RFC 9293, section 3.9.1).

use super::Timeline;
use trace_model::rows::Cause;

impl Timeline {
    /// A response begins at `start`, whose request went by at `asked_ns`: if the newest segment is full and brings the
    /// rest of the one before, that was held.
    pub(super) fn note_filled_by_next(&mut self, start: i64, asked_ns: Option<i64>) {
        let Some((sent, _)) = self.sent.filter(|(_, is_full)| *is_full) else {
            return;
        };
        let is_within = self.sent_start < start && start < self.sent_until;
        if !is_within || self.settles_by_ack || self.nagle_is_off {
            return;
        }
        let is_by_request =
            asked_ns.is_some_and(|asked_ns| self.is_let_go_by_request(start, asked_ns));
        let (had_more, is_by_none) = (self.had_more, self.is_let_go_by_none(start));
        let Some(piece) = self.pieces.back_mut() else {
            return;
        };
        let is_of_segment = piece.end.time_ns == sent.time_ns && piece.waited.is_some();
        let may_be_held = match piece.cause {
            Cause::SendLimitedSlowStart | Cause::SendLimitedCwnd | Cause::SendLimitedSendBuffer => {
                is_by_request || (had_more && is_by_none)
            }
            Cause::ServerDataUnavailable | Cause::Unexplained => had_more,
            _ => false,
        };
        if is_of_segment && may_be_held {
            piece.cause = Cause::StallNagleHold;
            piece.waited = None;
            piece.if_shared = None;
        }
    }
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
        let route = Route {
            to_sender_ns: 100 * MS,
            ..Route::default()
        };
        let start = (1 << 32) - 500;
        let mut acks = Acks::default();
        acks.push(0, start - 1200, 60_000, 100 * MS);
        acks.push(110 * MS, start - 1000, 60_000, 100 * MS);
        acks.came_with(110 * MS, 90);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        for (time_ms, end) in [(100, start), (210, start + 1000)] {
            let at = Moment {
                time_ns: time_ms * MS,
                frame: 1,
            };
            let data = Data {
                nagle_is_off,
                ..Data::plain(at, end)
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
    fn written_at(came_ms: i64, is_pushed: bool) -> Option<Cause> {
        let route = Route {
            to_sender_ns: 100 * MS,
            ..Route::default()
        };
        let mut link = Arrivals::default();
        for _ in 0..3 {
            link.came_after(20 * MS, 1000, 1, 100 * MS);
        }
        let sharing = Sharing {
            link,
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
            let at = Moment {
                time_ns: time_ms * MS,
                frame: 1,
            };
            let data = Data {
                sharing,
                is_pushed,
                ..Data::plain(at, start - before)
            };
            timeline.new_data(data, None, route, &acks);
            if acked_ms > 0 {
                acks.push(acked_ms * MS, start - before, 60_000, 100 * MS);
            }
        }
        timeline.opens(start + 600, Some(200 * MS));
        let told = timeline.between(250 * MS, came_ms * MS).last();
        told.map(|piece| piece.cause)
    }

    #[test]
    fn what_the_next_response_filled_as_no_ack_came_that_let_it_go_nagles_algorithm_had_held() {
        assert_eq!(written_at(320, false), Some(Cause::StallNagleHold));
    }

    #[test]
    fn behind_what_was_pushed_no_rest_lay_that_the_next_response_filled() {
        assert_eq!(written_at(320, true), Some(Cause::ServerDataUnavailable));
    }

    #[test]
    fn what_the_next_response_filled_waited_for_the_window_if_it_left_as_an_ack_came() {
        let told = written_at(250 + 100 + 20, false);
        assert!(
            told.is_some_and(|cause| cause != Cause::StallNagleHold),
            "{told:?}"
        );
    }

    #[test]
    fn what_the_next_response_filled_when_it_was_asked_for_nagles_algorithm_had_held() {
        assert_eq!(waited_for(110, false), Some(Cause::StallNagleHold));
    }

    #[test]
    fn what_came_with_a_response_that_was_asked_for_before_waited_for_the_window() {
        assert_eq!(waited_for(50, false), Some(Cause::SendLimitedSlowStart));
    }

    #[test]
    fn who_sends_short_segments_at_once_has_held_none() {
        assert_eq!(waited_for(110, true), Some(Cause::SendLimitedSlowStart));
    }
}
