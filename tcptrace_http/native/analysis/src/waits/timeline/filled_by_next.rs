//! The rest of a response that the next response filled up to a full segment.
//!
//! Theory of operation. Nagle's algorithm holds what does not fill a segment until all is acknowledged (RFC 896), or
//! until more is written. Where a response is asked for while the one before it is on its way, it is the next response
//! that fills the segment, when its request comes. So the rest of a response that comes in one full segment with the
//! start of the next, when that one's request lets it go, had lain in the buffer since its response was written.

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
        if !asked_ns.is_some_and(|asked_ns| self.is_let_go_by_request(start, asked_ns)) {
            return;
        }
        let Some(piece) = self.pieces.back_mut() else {
            return;
        };
        let is_of_segment = piece.end.time_ns == sent.time_ns && piece.waited.is_some();
        let may_be_held = matches!(
            piece.cause,
            Cause::SendLimitedSlowStart | Cause::SendLimitedCwnd | Cause::SendLimitedSendBuffer
        );
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
