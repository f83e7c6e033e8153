//! Near the sender: what ACKs have told of data, kept for those who ask once it is settled.

use super::{Pending, Route, Timeline};
use std::collections::VecDeque;

/// As many ACKs, and pauses, are remembered: those of a response that is over are asked for.
const HEARD_MAX: usize = 256;
/// Data that left sooner behind other data followed at once.
const PAUSE_MIN_NS: i64 = 1_000_000;

#[derive(Debug, Default)]
pub(super) struct AsHeard {
    /// When an ACK of something new came last.
    pub(super) newest_ns: Option<i64>,
    /// When an ACK came, and for how long its receiver may have kept it.
    acks: VecDeque<(i64, i64)>,
    /// Where data begins that left behind a pause, and when what its sender sends meets nothing of all before it on the
    /// slowest link.
    drained: VecDeque<(i64, i64)>,
}

impl AsHeard {
    /// The ACK of all that came at `time_ns` did so later by `late_ns` than that lets it.
    pub(super) fn ack_was_late(&mut self, time_ns: i64, late_ns: i64) {
        remember(&mut self.acks, (time_ns, late_ns));
    }

    pub(super) fn held_bytes(&self) -> usize {
        let entries = self.acks.capacity().saturating_add(self.drained.capacity());
        size_of::<(i64, i64)>().saturating_mul(entries)
    }
}

fn remember(heard: &mut VecDeque<(i64, i64)>, entry: (i64, i64)) {
    if heard.len() >= HEARD_MAX {
        heard.pop_front();
    }
    heard.push_back(entry);
}

fn of(heard: &VecDeque<(i64, i64)>, key: i64) -> Option<i64> {
    let at = heard.binary_search_by_key(&key, |entry| entry.0).ok()?;
    heard.get(at).map(|entry| entry.1)
}

impl Timeline {
    /// Data that begins at `start` is settled now, and all before it is.
    pub(super) fn note_drained(&mut self, data: Pending, start: i64, route: Route) {
        let came = self.came.filter(|_| self.settles_by_ack);
        let Some(came) = came.filter(|_| data.gap_ns >= PAUSE_MIN_NS) else {
            return;
        };
        let drained_ns = came.time_ns.saturating_sub(route.to_receiver_ns);
        remember(&mut self.as_heard.drained, (start, drained_ns));
    }

    /// For how long its receiver may have kept the ACK that came at `time_ns`: so much later than what it acknowledges lets
    /// it did it come.
    pub(in crate::waits) fn ack_was_late_ns(&self, time_ns: i64) -> Option<i64> {
        of(&self.as_heard.acks, time_ns)
    }

    /// From when on what its sender sends meets nothing of what is before `start` on the slowest link.
    pub(in crate::waits) fn had_drained_ns(&self, start: i64) -> Option<i64> {
        of(&self.as_heard.drained, start)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::super::partition::Moment;
    use super::super::{Data, Words};
    use super::*;
    use crate::byte_time::ByteTime;

    const MS: i64 = 1_000_000;

    /// Two segments that left at once on a path of 20 ms whose link takes 105.4 ms for each, and the ACKs of both after
    /// so long; a third one that left then.
    fn heard(acks_ms: [i64; 2]) -> Timeline {
        let route = Route {
            byte_time: Some(ByteTime::with_frames(100_000_000)),
            ..Route::at_sender(20)
        };
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.shook_hands(20 * MS, 0, route);
        let send = |timeline: &mut Timeline, time_ms: i64, end: i64| {
            timeline.new_data(Data::at_ms(time_ms, end), None, route, &Acks::default());
        };
        send(&mut timeline, 0, 1001);
        send(&mut timeline, 0, 2001);
        for (time_ms, acked) in acks_ms.into_iter().zip([1001, 2001]) {
            timeline.acknowledged(Moment::at_ms(time_ms), acked, route);
        }
        let [_, last_ms] = acks_ms;
        send(&mut timeline, last_ms, 3001);
        timeline.acknowledged(Moment::at_ms(last_ms + 126), 3001, route);
        timeline.settle_waiting(route);
        timeline
    }

    #[test]
    fn what_an_ack_is_late_by_is_less_by_the_time_that_data_stood_before_the_link() {
        let late_ms = |acks_ms: [i64; 2]| {
            let timeline = heard(acks_ms);
            acks_ms.map(|time_ms| timeline.ack_was_late_ns(time_ms * MS).map(|it| it / MS))
        };
        assert_eq!(late_ms([121, 226]), [Some(1), Some(0)]);
        assert_eq!(late_ms([121, 430]), [Some(1), Some(203)]);
        assert_eq!(heard([121, 226]).ack_was_late_ns(100 * MS), None);
    }

    #[test]
    fn the_link_has_drained_when_the_segment_before_was_there_though_its_ack_was_late() {
        let drained_ms = heard([121, 430]).had_drained_ns(2001).map(|it| it / MS);
        assert_eq!(drained_ms, Some(206));
        assert_eq!(heard([121, 430]).had_drained_ns(1001), None, "no pause");
    }
}
