//! What the slowest link takes, as data shows that comes one by one: an answer, or what an ACK let go.
//!
//! What follows a packet of the receiver at once comes later than the path's least round trip by what the slowest link
//! takes for both (its rate is taken to be the same in both directions). A server that works for a while is later than
//! that, and so is an application that writes now and then, but no two of them by as much in proportion to their bytes:
//! what two agree on is the link.

use super::super::acks::Acks;
use super::{Data, Route, Timeline};
use crate::arrivals::Arrivals;
use crate::jitter::CLOSE_NS;

/// The newest that were late, in picoseconds a byte.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lateness {
    /// An answer: if its question came alone, and if a packet without payload was right before that.
    answers: [Option<i64>; 2],
    /// What followed the ACK of all before it, and the one before that.
    let_go: Option<i64>,
    let_go_before: Option<i64>,
    /// How long its sender works before it answers, as answers of all connections have shown.
    works_ns: i64,
}

/// What the client sent last, of which the first bytes of an answer may be the answer to.
#[derive(Clone, Copy, Debug)]
pub(in crate::waits) struct Question {
    pub(in crate::waits) time_ns: i64,
    /// All of it that left at this time.
    pub(in crate::waits) bytes: u32,
}

impl Question {
    /// A segment of the client, behind another one of the same question, if any.
    pub(in crate::waits) fn of(before: Option<Question>, time_ns: i64, bytes: u32) -> Question {
        let together = before.filter(|before| time_ns.saturating_sub(before.time_ns) <= CLOSE_NS);
        let ahead = together.map_or(0, |before| before.bytes);
        Question {
            time_ns,
            bytes: ahead.saturating_add(bytes),
        }
    }
}

impl Timeline {
    /// New data came by, which may answer `question`.
    pub(super) fn learn_lateness(
        &mut self,
        data: Data,
        question: Option<Question>,
        route: Route,
        acks: &Acks,
    ) {
        self.lateness.works_ns = data.sharing.works_ns;
        if route.is_at_sender || data.segments != 1 || data.sharing.is_shared {
            return;
        }
        // What was lost before it had its time on the link, too.
        let full_bytes = i64::from(data.full_bytes.max(1));
        let since = data.end.saturating_sub(self.sent_until.max(1));
        let lost = since.saturating_sub(i64::from(data.bytes)).max(0);
        let lost_segments = lost.saturating_add(full_bytes - 1) / full_bytes;
        if let Some(question) = question {
            let elapsed_ns = data.at.time_ns.saturating_sub(question.time_ns);
            let late_ns = elapsed_ns.saturating_sub(route.to_sender_ns);
            let bytes = since.saturating_add(i64::from(question.bytes));
            let late = [0, 1].map(|more: i64| {
                self.arrivals
                    .late_ps(late_ns, bytes, lost_segments.saturating_add(more))
            });
            for sample in late.into_iter().flatten() {
                self.agree_on(sample, [self.lateness.let_go, None]);
            }
            self.lateness.answers = late;
            return;
        }
        let gap_ns = self
            .sent
            .map_or(0, |(sent, _)| data.at.time_ns.saturating_sub(sent.time_ns));
        let had_come = acks.acked_by(Acks::known_by(data.at.time_ns, route.to_sender_ns));
        if gap_ns < route.rtt_ns() || had_come < self.sent_until {
            return;
        }
        let late_ns = acks.late_ns(data.at.time_ns, route.to_sender_ns);
        if let Some(late_ns) = late_ns.filter(|_| lost == 0) {
            self.arrivals.came_late(late_ns, data.bytes);
        }
        let sample =
            late_ns.and_then(|late_ns| self.arrivals.late_ps(late_ns, since, lost_segments));
        if let Some(sample) = sample {
            // On a busy link each segment is as late as the one before, and later than from the ACK of that.
            self.agree_on(sample, self.lateness.answers);
            self.lateness.let_go_before = self.lateness.let_go.replace(sample);
        }
    }

    /// How long the sender works before it answers; 0 as long as that is not known.
    pub(super) fn works_ns(&self) -> i64 {
        self.lateness.works_ns
    }

    /// A distance to the data before may agree with what an ACK let go.
    pub(super) fn confirms_lateness(&mut self) {
        if let Some(let_go_ps) = self.lateness.let_go {
            self.arrivals.agrees_with(let_go_ps);
        }
    }

    /// How late data was, in picoseconds a byte, that an ACK had let go before, if a full segment comes as long behind
    /// another one in proportion to its bytes: that is the link's time, though an ACK may have come when this was let go.
    pub(super) fn was_as_late(&self, gap_ns: i64, data: Data) -> Option<i64> {
        let is_alike =
            |late_ps: &i64| Arrivals::are_alike(*late_ps, gap_ns, data.bytes, data.segments);
        let is_alone = !data.sharing.is_shared && !data.sharing.had_loss;
        let are_full = data.is_full() && self.was_full(data.full_bytes);
        let is_of_burst = self.has_more && are_full && is_alone;
        let late = [self.lateness.let_go, self.lateness.let_go_before];
        late.into_iter()
            .flatten()
            .find(is_alike)
            .filter(|_| is_of_burst)
    }

    fn agree_on(&mut self, sample_ps: i64, others: [Option<i64>; 2]) {
        for other_ps in others.into_iter().flatten() {
            self.arrivals.agree_on(sample_ps, other_ps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;
    use trace_model::rows::Cause;

    const MS: i64 = 1_000_000;
    const US: i64 = 1_000;

    /// What the fourth of five full segments waited for, which each come 149 ms behind the one before, and by chance as soon
    /// as an ACK of that, which a timer had sent, may have let them go; the ACK of the first had let the second go
    /// that came so much later than by the path of 13 ms.
    fn told_behind_timers(late_us: i64) -> Option<Cause> {
        let route = Route::at_receiver(13);
        let start = (1 << 32) - 1500;
        let mut acks = Acks::default();
        acks.push(0, start, 60_000, route.to_sender_ns);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let second_us = 513_000 + late_us;
        let mut acked = start;
        let times_us = (0..4).map(|place| second_us + place * 149_100);
        for time_us in std::iter::once(300_000).chain(times_us) {
            if acked > start {
                let ack_us = if acked == start + 1000 {
                    500_000
                } else {
                    time_us - 13_600
                };
                acks.push(ack_us * US, acked, 60_000, route.to_sender_ns);
            }
            acked += 1000;
            let at = Moment {
                time_ns: time_us * US,
                frame: 1,
            };
            timeline.new_data(Data::plain(at, acked), None, route, &acks);
        }
        let from_ns = (second_us + 149_100) * US;
        let told = timeline.between(from_ns, from_ns + 149 * MS).last();
        told.map(|piece| piece.cause)
    }

    #[test]
    fn distances_as_long_as_an_ack_was_late_to_show_are_the_links_whatever_acks_come_meanwhile() {
        let paced = Some(Cause::SendLimitedBottleneck);
        assert_eq!(told_behind_timers(141_500), paced);
        assert_ne!(told_behind_timers(90_000), paced);
    }

    #[test]
    fn of_a_question_in_several_segments_counts_what_left_together() {
        let first = Question::of(None, 10 * MS, 1460);
        let second = Question::of(Some(first), 10 * MS, 100);
        assert_eq!((second.time_ns, second.bytes), (10 * MS, 1560));
        let later = Question::of(Some(second), 40 * MS, 300);
        assert_eq!((later.time_ns, later.bytes), (40 * MS, 300));
    }
}
