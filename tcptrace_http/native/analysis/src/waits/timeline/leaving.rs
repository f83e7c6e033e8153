//! When data left its sender that stood behind others' data before the slowest link then.
//!
//! Theory of operation. A sender whose window was used up sends again when the next ACK comes, as much as that is of,
//! and a segment more in slow start (RFC 5681, section 3.1). On a link that others keep busy that data comes later, by
//! what stood there before it. So what its sender waited for the window is the time from the one ACK to the next; by
//! how much longer it was between the arrivals of what they let go, the later one stood longer, which is the pace of
//! the link.

use super::super::acks::{Ack, Acks};
use super::{Data, Route, Timeline};
use crate::jitter::CLOSE_NS;
use trace_model::rows::Cause;

/// What an ACK let go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    /// When data comes by that left then and stood behind nothing.
    left_ns: i64,
    /// When the ACK went by, if one let it go, and up to where it did.
    ack_ns: i64,
    until: i64,
    is_slow_start: bool,
    /// An ACK let it go, and not what nobody saw.
    is_by_ack: bool,
}

impl Timeline {
    /// When data came to the queue of the slowest link that goes by at `now_ns`, as far as it is known what let it go.
    pub(in crate::waits) fn joined_queue_ns(&self, now_ns: i64) -> Option<i64> {
        let (sent, _) = self.sent?;
        let leaving = self.leaving.filter(|it| it.is_by_ack)?;
        (sent.time_ns == now_ns).then_some(leaving.left_ns)
    }

    /// Notes what let `data` go that waited for `cause`; and returns until when it stood behind others' data for longer
    /// than what its sender had let go before, if that is known and it waited for room.
    pub(super) fn leaves(
        &mut self,
        (data, is_answer): (Data, bool),
        cause: Option<Cause>,
        route: Route,
        acks: &Acks,
    ) -> Option<i64> {
        let before = self.leaving.filter(|_| !is_answer);
        if before.is_some_and(|before| data.end <= before.until) {
            return None;
        }
        self.leaving = if route.is_at_sender {
            None
        } else if data.sharing.is_shared {
            self.leaving_shared(data, route)
        } else {
            self.leaving_with((data, before), cause, route, acks)
        };
        let is_of_room = cause.is_some_and(is_room);
        let waited_ns = self.leaving?.left_ns.saturating_sub(before?.left_ns);
        let may_have_stood = data.sharing.queued_ns > 0;
        let has_waited = waited_ns > 0 || waited_ns == 0 && data.sharing.is_let_go_by_newest;
        (is_of_room && may_have_stood && has_waited)
            .then(|| data.at.time_ns.saturating_sub(waited_ns))
    }

    /// What let `data` go of a window that connections share: an ACK of any of them.
    fn leaving_shared(&self, data: Data, route: Route) -> Option<Leaving> {
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let alone_ns = data.at.time_ns.saturating_sub(takes_ns);
        let ack_ns = data.sharing.let_go_ns?;
        let left_ns = ack_ns.saturating_add(route.to_sender_ns);
        Some(Leaving {
            left_ns: left_ns.min(alone_ns),
            ack_ns,
            until: data.end,
            is_slow_start: false,
            is_by_ack: false,
        })
    }

    /// What let `data` go, where another ACK, the one `before`, had let go what was sent before it.
    fn leaving_with(
        &self,
        (data, before): (Data, Option<Leaving>),
        cause: Option<Cause>,
        route: Route,
        acks: &Acks,
    ) -> Option<Leaving> {
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let alone_ns = data.at.time_ns.saturating_sub(takes_ns);
        let known_ns = alone_ns.saturating_sub(route.to_sender_ns);
        let is_slow_start = match cause {
            Some(cause) => cause == Cause::SendLimitedSlowStart,
            None => before.is_some_and(|before| before.is_slow_start),
        };
        let ack = let_go_by(before, known_ns, data.sharing.queued_ns, acks);
        let Some((ack, newly)) = ack else {
            let alone = Leaving {
                left_ns: alone_ns,
                ack_ns: known_ns,
                until: data.end,
                is_slow_start,
                is_by_ack: false,
            };
            // No newer ACK can have let go what came at once: the same one did.
            let same = before.filter(|_| cause.is_none());
            let until = data.end;
            return same
                .map(|before| Leaving { until, ..before })
                .or((data.sharing.queued_ns == 0).then_some(alone));
        };
        let more = if is_slow_start { data.full_bytes } else { 0 };
        let newly = newly.saturating_add(i64::from(more));
        let left_ns = ack.time_ns.saturating_add(route.to_sender_ns);
        Some(Leaving {
            left_ns: left_ns.min(alone_ns),
            ack_ns: ack.time_ns,
            until: self.sent_until.saturating_add(newly),
            is_slow_start,
            is_by_ack: cause.map_or(before.is_some_and(|before| before.is_by_ack), is_room),
        })
    }
}

/// Whether data that waited for it waited for room in a window or buffer.
fn is_room(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::SendLimitedSlowStart | Cause::SendLimitedCwnd | Cause::SendLimitedSendBuffer
    )
}

/// The ACK that let data go, of those that its sender may have known, and of how much that is: the first since the one
/// `before`, unless the link had not been busy with others' data for as long; where none is known the newest.
fn let_go_by(
    before: Option<Leaving>,
    known_ns: i64,
    queued_ns: i64,
    acks: &Acks,
) -> Option<(Ack, i64)> {
    let until_ns = known_ns.saturating_add(CLOSE_NS);
    let since_ns = known_ns.saturating_sub(queued_ns).saturating_sub(CLOSE_NS);
    let ack = match before {
        Some(before) => acks.between(since_ns.max(before.ack_ns), until_ns).next()?,
        None => acks
            .newest_by(until_ns)
            .filter(|ack| ack.time_ns > since_ns)?,
    };
    let acked = acks.acked_by(ack.time_ns.saturating_sub(1));
    Some((ack, ack.acked.saturating_sub(acked)))
}

#[cfg(test)]
mod tests {
    use super::super::Words;
    use super::*;
    use crate::arrivals::Arrivals;
    use crate::shared_windows::Sharing;
    use crate::used_window::Limit;

    const MS: i64 = 1_000_000;
    /// What a segment of 1,000 bytes takes on the link, and the way to the sender and back.
    const TAKES: i64 = 8;
    const PATH: i64 = 100;

    /// When the last of some segments came, which came so much later than the ACK of two before it let it go, on a link
    /// that was busy with others' data for as long as given.
    fn sent(behind_ms: i64, busy_ms: i64) -> (Timeline, i64) {
        let route = Route::at_receiver(PATH);
        let mut link = Arrivals::default();
        for _ in 0..3 {
            link.came_after(TAKES * MS, 1000, 1, PATH * MS);
        }
        let start = (1 << 32) - 1500;
        let mut acks = Acks::default();
        acks.push(0, start - 1000, 60_000, PATH * MS);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let came_ms = 10 + 2 * (PATH + TAKES) + TAKES;
        let last_ms = 10 + 3 * (PATH + TAKES) + behind_ms;
        let times = [10 + PATH + TAKES, came_ms - TAKES, came_ms, last_ms];
        for (place, time_ms) in (0..).zip(times) {
            let end = start + 1000 * place;
            let is_last = time_ms == last_ms;
            let sharing = Sharing {
                link,
                by_other: is_last,
                queued_ns: if is_last { busy_ms * MS } else { 0 },
                to_server_ns: Some(PATH * MS),
                ..Sharing::default()
            };
            let data = Data {
                full_bytes: 1000,
                sharing,
                ..Data::at_ms(time_ms, end)
            };
            timeline.new_data(data, None, route, &acks);
            acks.push(time_ms * MS, end, 60_000, PATH * MS);
        }
        (timeline, last_ms * MS)
    }

    /// What the later of two segments of a response waited for in the end, and for how many milliseconds, that an ACK of
    /// another connection let go of a window that is shared: it went by at 120 ms, and that before it when given.
    fn told_of_shared(before_ms: i64, queued_ms: i64) -> Option<(Cause, i64)> {
        let route = Route::at_receiver(PATH);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let start = (1 << 32) - 1500;
        let came_ms = 120 + PATH + 40;
        for (place, (time_ms, let_go_ms)) in
            (0..).zip([(before_ms + PATH, before_ms), (came_ms, 120)])
        {
            let sharing = Sharing {
                is_shared: true,
                by_other: true,
                is_let_go: true,
                limit: Limit::SlowStart,
                let_go_ns: Some(let_go_ms * MS),
                is_let_go_by_newest: true,
                queued_ns: queued_ms * MS,
                to_server_ns: Some(PATH * MS),
                ..Sharing::default()
            };
            let data = Data {
                full_bytes: 1000,
                sharing,
                ..Data::at_ms(time_ms, start + 1000 * place)
            };
            timeline.new_data(data, None, route, &Acks::default());
        }
        let waited = timeline.between(0, came_ms * MS).last()?;
        let lasted_ns = waited.end.time_ns - waited.start.time_ns;
        Some((waited.cause, lasted_ns / MS))
    }

    #[test]
    fn of_a_shared_window_data_waited_from_the_one_ack_to_the_other_whoever_sent_them() {
        let slow_start = |ms| Some((Cause::SendLimitedSlowStart, ms));
        assert_eq!(told_of_shared(50, 60), slow_start(120 - 50));
        assert_eq!(
            told_of_shared(50, 0),
            slow_start(120 - 50 + 40),
            "nothing stood before it"
        );
    }

    #[test]
    fn what_the_newest_ack_let_go_of_a_shared_window_with_the_data_before_waited_for_none() {
        let stood = told_of_shared(120, 60);
        assert_eq!(stood, Some((Cause::SendLimitedBottleneck, 40)));
    }

    /// What that segment waited for last, and for how many milliseconds.
    fn told(behind_ms: i64, busy_ms: i64) -> Option<(Cause, i64)> {
        let (timeline, last_ns) = sent(behind_ms, busy_ms);
        let waited = timeline.between(0, last_ns).last()?;
        let lasted_ns = waited.end.time_ns - waited.start.time_ns;
        Some((waited.cause, lasted_ns / MS))
    }

    #[test]
    fn what_stood_behind_others_waited_for_the_window_from_ack_to_ack() {
        let waited = (Cause::SendLimitedSlowStart, PATH + TAKES);
        assert_eq!(told(40, 60), Some(waited));
    }

    #[test]
    fn what_an_ack_let_go_came_to_the_queue_when_it_would_have_come_by_without_that() {
        let (timeline, last_ns) = sent(40, 60);
        assert_eq!(
            timeline.joined_queue_ns(last_ns),
            Some(last_ns - (40 + TAKES) * MS)
        );
        assert_eq!(timeline.joined_queue_ns(last_ns + 1), None, "no data came");
        let (timeline, last_ns) = sent(40, 20);
        assert_eq!(timeline.joined_queue_ns(last_ns), None);
    }

    #[test]
    fn what_came_late_on_a_link_that_was_free_did_not_stand() {
        let waited_ms = told(40, 20).map(|(_, ms)| ms);
        assert!(waited_ms > Some(PATH + TAKES), "{waited_ms:?}");
    }
}
