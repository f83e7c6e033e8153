//! An application that writes in a time of its own, and seems to wait for its buffer now and then.
//!
//! Theory of operation. Who waits for room in a full send buffer goes on with an ACK each time, for nothing else makes
//! any. An application that writes piece by piece has nothing to send in between, as such a sender does, and goes on
//! whenever it likes: by chance close behind an ACK, the oftener the more of them there are, and as often without any.

use std::collections::VecDeque;

use trace_model::rows::Cause;

use super::{Data, Timeline};

/// Once or twice a busy host is late with what an ACK let go.
const FREE_MIN: u32 = 3;
/// Such a share of all that its sender did not have in its buffer before shows an application's own time.
const FREE_SHARE: u32 = 4;
/// An application that writes in a rhythm is hardly sooner than such a share of it.
const SOONER_SHARE: i64 = 2;
/// Waits that are remembered.
const SPANS_MAX: usize = 1 << 10;

/// When data left that its sender did not have before.
#[derive(Debug, Default)]
pub(super) struct OwnTime {
    /// How often that was without an ACK, and how long behind the segment before at least.
    free: u32,
    least_ns: Option<i64>,
    /// ... and how often with one that seemed to make room for it in a full buffer.
    by_room: u32,
    /// Up to where data waited for room in it for all that is known otherwise.
    pub(super) by_room_alone: Option<i64>,
    /// When a full buffer seemed to be waited for, in order.
    spans: VecDeque<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    since_ns: i64,
    until_ns: i64,
    /// What was waited for if the application writes in a time of its own.
    cause: Cause,
}

impl OwnTime {
    fn is_shown(&self) -> bool {
        self.free >= FREE_MIN && self.free.saturating_mul(FREE_SHARE) >= self.by_room
    }

    /// Whether the application may have written what filled up a segment, so long behind the one before: not much sooner
    /// than it ever did.
    fn may_fill(&self, gap_ns: i64) -> bool {
        let least_ns = self.least_ns.map(|it| it / SOONER_SHARE);
        least_ns.is_some_and(|least_ns| gap_ns >= least_ns)
    }

    fn note_free(&mut self, gap_ns: i64) {
        self.free = self.free.saturating_add(1);
        self.least_ns = Some(self.least_ns.map_or(gap_ns, |it| it.min(gap_ns)));
    }

    fn note_room(&mut self, span: Span) {
        if self.spans.len() >= SPANS_MAX {
            self.spans.pop_front();
        }
        self.spans.push_back(span);
    }

    pub(super) fn forget_before(&mut self, time_ns: i64) {
        while self.spans.front().is_some_and(|it| it.until_ns <= time_ns) {
            self.spans.pop_front();
        }
    }

    /// Memory that it takes.
    pub(super) fn held_bytes(&self) -> usize {
        size_of::<Span>().saturating_mul(self.spans.capacity())
    }
}

impl Timeline {
    /// Whether what held `data` was rather its application than a full buffer, or Nagle's algorithm that holds what is
    /// short.
    pub(super) fn is_of_own_time(&self, data: Data) -> bool {
        self.own_time.is_shown() && self.may_be_of_own_time(data)
    }

    fn may_be_of_own_time(&self, data: Data) -> bool {
        let gap_ns = self.sent.map_or(0, |(before, _)| {
            data.at.time_ns.saturating_sub(before.time_ns)
        });
        let had_nothing = !self.has_more;
        let may_be_held = !data.is_full();
        let is_possible = had_nothing || may_be_held || self.own_time.may_fill(gap_ns);
        is_possible && !self.has_emptied_its_buffer()
    }

    /// Notes what `data` waited for: of an application nothing had lain in the buffer when the segment before left.
    pub(super) fn note_own_time(&mut self, (data, is_answer): (Data, bool), told: Option<Cause>) {
        let Some((before, _)) = self.sent.filter(|_| !is_answer && !data.opens_hole) else {
            return;
        };
        let had_nothing = !self.has_more && data.recovery.is_none();
        // Another connection's ACK may have let it go, of a window that they share.
        let is_alone = !data.sharing.are_others_in_flight;
        if told == Some(self.words.idle) && had_nothing && is_alone {
            self.own_time
                .note_free(data.at.time_ns.saturating_sub(before.time_ns));
        }
        // What comes behind an ACK of its own each time does so by no chance.
        let may_be_by_chance =
            self.own_time.by_room_alone != Some(data.end) && self.may_be_of_own_time(data);
        if told == Some(Cause::SendLimitedSendBuffer) && may_be_by_chance {
            let by_room = self.own_time.by_room;
            self.own_time.by_room = by_room.saturating_add(u32::from(had_nothing));
            self.own_time.note_room(Span {
                since_ns: before.time_ns,
                until_ns: data.at.time_ns,
                cause: if had_nothing {
                    self.words.idle
                } else {
                    Cause::Unexplained
                },
            });
        }
    }

    /// What held data that left then, if that seemed to be its full buffer: an application that writes in a time of its
    /// own had not written it, or something else held what it had.
    pub(in crate::waits) fn of_own_time(&self, cause: Cause, left_ns: i64) -> Cause {
        if cause != Cause::SendLimitedSendBuffer || !self.own_time.is_shown() {
            return cause;
        }
        let spans = &self.own_time.spans;
        let span = spans.get(spans.partition_point(|it| it.until_ns < left_ns));
        span.filter(|it| it.since_ns < left_ns)
            .map_or(cause, |it| it.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;

    const MS: i64 = 1_000_000;
    const START: i64 = (1 << 32) - 1000;

    /// What a segment is told to have waited for that left 100 ms behind the one before and seemed to wait for a full
    /// buffer, once as many as each of these waited for that, too, and for nothing that shows.
    fn told(by_room: i64, free: i64) -> Cause {
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        let causes = (0..=by_room).map(|_| Cause::SendLimitedSendBuffer);
        let all = causes.chain((0..free).map(|_| Cause::ServerDataUnavailable));
        for (round, cause) in (0..).zip(all) {
            timeline.sent = Some((Moment::at_ms(100 * round), true));
            let data = Data::at_ms(100 * (round + 1), START + 1000 * round);
            timeline.note_own_time((data, false), Some(cause));
        }
        timeline.of_own_time(Cause::SendLimitedSendBuffer, 100 * MS)
    }

    #[test]
    fn who_goes_on_without_an_ack_as_often_has_no_full_buffer() {
        assert_eq!(told(5, 3), Cause::ServerDataUnavailable);
        assert_eq!(told(5, 2), Cause::SendLimitedSendBuffer);
        assert_eq!(told(20, 3), Cause::SendLimitedSendBuffer);
    }

    #[test]
    fn what_had_lain_in_the_buffer_was_written() {
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.sent = Some((Moment::at_ms(0), true));
        timeline.has_more = true;
        let data = Data::at_ms(100, START);
        for _ in 0..4 {
            timeline.note_own_time((data, false), Some(Cause::ServerDataUnavailable));
        }
        assert!(!timeline.is_of_own_time(data));
    }

    /// What a full segment is told to have waited for that had lain in the buffer in part, so long behind the one before, of
    /// an application that wrote 20 ms behind that at the soonest.
    fn filled_up_after(gap_ms: i64) -> Cause {
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.sent = Some((Moment::at_ms(0), true));
        for free_ms in [30, 20, 40] {
            let data = Data::at_ms(free_ms, START);
            timeline.note_own_time((data, false), Some(Cause::ServerDataUnavailable));
        }
        timeline.has_more = true;
        let data = Data {
            bytes: 1000,
            full_bytes: 1000,
            ..Data::at_ms(gap_ms, START + 1000)
        };
        timeline.note_own_time((data, false), Some(Cause::SendLimitedSendBuffer));
        timeline.of_own_time(Cause::SendLimitedSendBuffer, gap_ms * MS)
    }

    #[test]
    fn what_fills_up_a_segment_is_written_not_much_sooner_than_ever() {
        assert_eq!(filled_up_after(10), Cause::Unexplained);
        assert_eq!(filled_up_after(9), Cause::SendLimitedSendBuffer);
    }
}
