//! Data that its application had not written before, on a link that others kept busy.
//!
//! Theory of operation. What comes as soon as the slowest link has carried what others had sent stood there, for as long
//! as its queue had not been empty at the most. Nothing tells when it was written: it may have come to the queue at any
//! time since the link had begun to work, and no sooner than what it let go first. Where nothing else is known it stood
//! for half of that, as likely as not for longer.

use super::super::acks::Acks;
use super::{Data, Route, Timeline};
use trace_model::rows::Cause;

impl Timeline {
    /// Until when `data`, which waited for `told`, stood behind others', counted from when what was sent before it on its
    /// connection came by.
    pub(super) fn stood_before(
        &mut self,
        (data, is_answer): (Data, bool),
        told: Option<Cause>,
        route: Route,
        acks: &Acks,
    ) -> Option<i64> {
        let stood_until_ns = self.leaves((data, is_answer), told, route, acks);
        if let Some(gap_ns) = self.left_after_ns(data).filter(|_| !is_answer) {
            return Some(data.at.time_ns.saturating_sub(gap_ns));
        }
        let is_of_buffer = told == Some(Cause::SendLimitedSendBuffer);
        if let Some(waited_ns) = self.refills.waited_ns.filter(|_| is_of_buffer) {
            return Some(data.at.time_ns.saturating_sub(waited_ns));
        }
        let was_written = told == Some(self.words.idle) && !is_answer;
        let most_ns = data.sharing.queued_ns.min(data.sharing.stood_ns);
        if stood_until_ns.is_some() || !was_written || most_ns <= 0 {
            return stood_until_ns;
        }
        let (before, _) = self.sent?;
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let carried_ns = before.time_ns.saturating_add(takes_ns);
        let until_ns = carried_ns.saturating_add(most_ns / 2);
        Some(until_ns.min(data.at.time_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Words;
    use super::*;
    use crate::shared_windows::Sharing;

    const MS: i64 = 1_000_000;

    /// What a body waited for that came 60 ms behind its pushed head, in milliseconds, on a link that had carried others'
    /// data since it was so long before, of which the last had come to the queue so long before.
    fn waited_for(busy_ms: i64, stood_ms: i64) -> Vec<(Cause, i64)> {
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let start = (1 << 32) - 500;
        let route = Route::at_receiver(10);
        let mut acks = Acks::default();
        acks.push(0, start - 500, 60_000, route.to_sender_ns);
        for (time_ms, end, is_pushed, busy_ms) in
            [(100, start, true, 0), (160, start + 1000, false, busy_ms)]
        {
            let sharing = Sharing {
                queued_ns: busy_ms * MS,
                stood_ns: stood_ms * MS,
                ..Sharing::default()
            };
            let data = Data {
                full_bytes: 1000,
                is_pushed,
                sharing,
                ..Data::at_ms(time_ms, end)
            };
            timeline.new_data(data, None, route, &acks);
            acks.push(time_ms * MS, end, 60_000, route.to_sender_ns);
        }
        let told = timeline.between(100 * MS, 160 * MS);
        told.map(|it| (it.cause, (it.end.time_ns - it.start.time_ns) / MS))
            .collect()
    }

    #[test]
    fn what_was_written_at_any_time_since_a_link_is_busy_stood_for_half_of_that() {
        let half = [
            (Cause::SendLimitedBottleneck, 20),
            (Cause::ServerDataUnavailable, 40),
        ];
        assert_eq!(waited_for(40, 50), half);
        assert_eq!(waited_for(50, 40), half);
    }

    #[test]
    fn on_a_link_that_was_free_nothing_stood() {
        assert_eq!(waited_for(0, 40), [(Cause::ServerDataUnavailable, 60)]);
    }
}
