//! Data that an ACK let go, and that stood before the slowest link behind other connections' data since.

use super::super::acks::Released;
use super::super::partition::INFERRED;
use super::{Data, Route, Timeline};
use crate::used_window::Limit;
use trace_model::rows::Cause;

impl Timeline {
    /// Data that no ACK seems to have let go may have stood before the slowest link, behind others' data, since one did
    /// (`released` tells): the window that its connection had shown until then had no room for it, nor does Nagle's
    /// algorithm hold it. That was the ACK of the segment before, and the wait for it the greater part.
    pub(super) fn behind_others(
        &self,
        told: (Cause, f64),
        (gap, limit): (i64, Limit),
        (data, route): (Data, Route),
        released: impl FnOnce() -> Released,
    ) -> (Cause, f64) {
        let rtt = route.rtt_ns();
        let is_of_ack_before = (rtt..=rtt.saturating_mul(2)).contains(&gap);
        let is_behind_others = !data.sharing.is_shared && data.sharing.queued_ns > 0;
        let is_of_window = limit == Limit::SlowStart
            && data.is_full()
            && !data.opens_hole
            && self.window.fills_shown(self.sent_until, data.bytes);
        let may_have_stood =
            !route.is_at_sender && is_behind_others && is_of_ack_before && is_of_window;
        if told.0 == self.words.idle && may_have_stood && released() == Released::ByAck {
            (Cause::SendLimitedSlowStart, INFERRED)
        } else {
            told
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;
    use crate::shared_windows::Sharing;

    const MS: i64 = 1_000_000;
    const RTT_MS: i64 = 100;

    /// What the second of two full segments waited for that comes so long after the first, of which the ACK went at
    /// once, where others' data may have stood before it on the link for so long.
    fn cause_of_second(gap_ms: i64, queued_ms: i64) -> Option<Cause> {
        let route = Route {
            to_sender_ns: RTT_MS * MS,
            ..Route::default()
        };
        let start = (1 << 32) - 1000;
        let mut acks = Acks::default();
        acks.push(0, start, 60_000, RTT_MS * MS);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.acked = start;
        timeline.window.hears(0, start);
        for (time_ms, end) in [(200, start + 1000), (200 + gap_ms, start + 2000)] {
            let at = Moment {
                time_ns: time_ms * MS,
                frame: 1,
            };
            let sharing = Sharing {
                queued_ns: queued_ms * MS,
                ..Sharing::default()
            };
            let data = Data {
                sharing,
                is_pushed: true,
                ..Data::plain(at, end)
            };
            timeline.new_data(data, None, route, &acks);
            acks.push(time_ms * MS, end, 60_000, RTT_MS * MS);
        }
        let told = timeline.between(200 * MS, (200 + gap_ms) * MS).last();
        told.map(|piece| piece.cause)
    }

    #[test]
    fn what_found_others_before_it_on_the_link_when_an_ack_had_let_it_go_waited_for_the_window() {
        let window = Some(Cause::SendLimitedSlowStart);
        assert_eq!(cause_of_second(160, 60), window);
        let idle = Some(Cause::ServerDataUnavailable);
        assert_eq!(cause_of_second(160, 20), idle, "they were gone before");
        assert_eq!(
            cause_of_second(260, 160),
            idle,
            "most of it was no window's"
        );
    }
}
