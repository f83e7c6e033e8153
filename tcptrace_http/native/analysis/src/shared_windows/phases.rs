//! The phases of the window that connections share: when it was in slow start after a loss.
//!
//! Theory of operation. A timer that runs out leaves a window of one segment, and a threshold of half of what was
//! in flight, at least two segments (RFC 5681, section 3.1). Each ACK of something new opens the window by a segment;
//! with the one that reaches the threshold all connections that share the window leave slow start (E-TCP, section 3).
//! Duplicate ACKs leave the window at its threshold.

use crate::jitter::CLOSE_NS;

/// Of what lies so far back that others have come since nothing is asked any more.
pub const SPANS_MAX: usize = 6;

/// A slow start, when what the window let go then comes by here; the last may have no end yet. A time in which the
/// window was the largest of its stack is told in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowStart {
    pub start_ns: i64,
    pub end_ns: i64,
    /// What comes before that had waited for something else all the time: for the ACK that began it.
    pub lets_go_ns: i64,
}

impl SlowStart {
    /// One that all waited for which came in it.
    #[must_use]
    pub fn between(start_ns: i64, end_ns: i64) -> Self {
        SlowStart {
            start_ns,
            end_ns,
            lets_go_ns: start_ns,
        }
    }

    /// The same, so much later.
    #[must_use]
    pub fn later_by(self, ns: i64) -> Self {
        SlowStart {
            start_ns: self.start_ns.saturating_add(ns),
            end_ns: self.end_ns.saturating_add(ns),
            lets_go_ns: self.lets_go_ns.saturating_add(ns),
        }
    }
}

/// When the first loss showed, and the latest slow starts after a loss, the newest last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Phases {
    first_loss_ns: Option<i64>,
    spans: [Option<SlowStart>; SPANS_MAX],
    /// ACKs that the newest still takes to reach its threshold, if that has no end yet.
    acks_left: u32,
    /// When the window was the largest that its stack has, the newest last.
    largest: [Option<SlowStart>; SPANS_MAX],
    /// A connection was opened or closed while another one had more to send: that may show the largest one.
    is_marked: bool,
    /// More was in flight then than any buffer held that was told to be full before.
    no_buffer_ns: Option<i64>,
}

impl Phases {
    /// ACKs told of a loss.
    pub fn had_loss(&mut self, time_ns: i64) {
        self.first_loss_ns.get_or_insert(time_ns);
    }

    /// More was in flight by then than in a buffer that was told to be full.
    pub fn had_no_buffer(&mut self, time_ns: i64) {
        self.no_buffer_ns = Some(time_ns);
    }

    /// What was told to have filled a buffer until then had filled a window.
    pub fn no_buffer_ns(&self) -> Option<i64> {
        self.no_buffer_ns
    }

    /// From then on the window avoids congestion but for its slow starts; it never had a threshold before.
    pub fn first_loss_ns(&self) -> Option<i64> {
        self.first_loss_ns
    }

    /// A timer ran out, and how many ACKs of something new take the window to its threshold since.
    pub fn timed_out(&mut self, start_ns: i64, acks: u32) {
        self.had_loss(start_ns);
        match self.newest() {
            Some(newest) if newest.end_ns == i64::MAX => self.acks_left = acks,
            Some(newest) if newest.end_ns > start_ns => {}
            _ => {
                self.push(start_ns, i64::MAX);
                self.acks_left = acks;
            }
        }
    }

    /// When a timer ran out whose copy left by `to_ns`, and as soon as likely if it stood behind what left then: after the
    /// last ACK of a slow start, if it was that which had let go what the copy stood behind.
    pub(super) fn ran_out_ns(&self, (likely_ns, to_ns): (i64, i64)) -> i64 {
        let ended_ns = self.newest().map_or(likely_ns, |it| it.end_ns);
        let latest_ns = to_ns.min(likely_ns.saturating_add(CLOSE_NS));
        if ended_ns < latest_ns {
            likely_ns.max(ended_ns)
        } else {
            likely_ns
        }
    }

    /// The window was found below its threshold, as which it has been since then at the latest, and so many ACKs of
    /// something new take it there. Not if its ACKs are counted since its beginning.
    pub fn is_below(&mut self, start_ns: i64, acks: u32) -> bool {
        self.had_loss(start_ns);
        match self.spans.last_mut().and_then(Option::as_mut) {
            Some(newest) if newest.end_ns == i64::MAX => return false,
            Some(newest) if newest.end_ns > start_ns => newest.end_ns = i64::MAX,
            _ => self.push(start_ns, i64::MAX),
        }
        self.acks_left = acks;
        true
    }

    /// The same of one that an ACK has left below its threshold: what that let go has not waited in it, what the next one
    /// does has.
    pub fn is_left_below(&mut self, start_ns: i64, acks: u32) -> bool {
        let is_new = self.newest().is_none_or(|it| it.end_ns <= start_ns);
        let is_below = self.is_below(start_ns, acks);
        let newest = self.spans.last_mut().and_then(Option::as_mut);
        if let Some(newest) = newest.filter(|_| is_below && is_new) {
            newest.lets_go_ns = i64::MAX;
        }
        is_below
    }

    /// An ACK of something new opens the window.
    pub fn acknowledged(&mut self, end_ns: i64) {
        let newest = self.spans.last_mut().and_then(Option::as_mut);
        if let Some(newest) = newest.filter(|it| it.end_ns == i64::MAX && it.start_ns < end_ns) {
            newest.lets_go_ns = newest.lets_go_ns.min(end_ns);
            self.acks_left = self.acks_left.saturating_sub(1);
            if self.acks_left == 0 {
                newest.end_ns = end_ns;
            }
        }
    }

    /// The window is as large as the threshold now, however many ACKs have opened it.
    pub fn has_reached_threshold(&mut self, end_ns: i64) {
        let newest = self.spans.last_mut().and_then(Option::as_mut);
        if let Some(newest) = newest.filter(|it| it.end_ns == i64::MAX && it.start_ns < end_ns) {
            newest.end_ns = end_ns;
        }
    }

    /// The same for who waited for something else between these times: without the slow starts that began there.
    #[must_use]
    pub fn without(mut self, start_ns: i64, end_ns: i64) -> Self {
        for span in &mut self.spans {
            if let Some(it) = span.filter(|it| it.start_ns >= start_ns && it.start_ns < end_ns) {
                let left = SlowStart {
                    start_ns: end_ns,
                    ..it
                };
                *span = Some(left).filter(|left| left.start_ns < left.end_ns);
            }
        }
        self
    }

    /// The same of what the window let go, which comes so much later than the ACKs that moved it went by.
    #[must_use]
    pub(super) fn as_let_go(self, (way_ns, takes_ns): (i64, i64)) -> Self {
        let later = self.later_by(way_ns.saturating_add(takes_ns));
        // What is short takes less on the link.
        let as_short = |it: SlowStart| SlowStart {
            lets_go_ns: it.lets_go_ns.saturating_sub(takes_ns),
            ..it
        };
        Phases {
            spans: later.spans.map(|it| it.map(as_short)),
            largest: self.largest,
            no_buffer_ns: self.no_buffer_ns,
            ..later
        }
    }

    /// The same, so much later.
    #[must_use]
    pub fn later_by(self, ns: i64) -> Self {
        let span = |it: SlowStart| it.later_by(ns);
        Phases {
            first_loss_ns: self.first_loss_ns.map(|it| it.saturating_add(ns)),
            spans: self.spans.map(|it| it.map(span)),
            largest: self.largest.map(|it| it.map(span)),
            no_buffer_ns: self.no_buffer_ns.map(|it| it.saturating_add(ns)),
            ..self
        }
    }

    /// The window was found to be the largest that its stack has, as which it has been since then.
    pub fn is_largest(&mut self, start_ns: i64) {
        let newest = self.largest.last().copied().flatten();
        if newest.is_none_or(|it| it.end_ns < i64::MAX) {
            self.largest.rotate_left(1);
            self.largest[SPANS_MAX - 1] = Some(SlowStart::between(start_ns, i64::MAX));
        }
    }

    /// It may be smaller now.
    pub fn is_smaller(&mut self, end_ns: i64) {
        let newest = self.largest.last_mut().and_then(Option::as_mut);
        if let Some(newest) = newest.filter(|it| it.end_ns == i64::MAX) {
            newest.end_ns = end_ns;
        }
    }

    /// What was taken for the largest one was not.
    pub fn was_not_largest(&mut self) {
        let newest = self.largest.last_mut().and_then(Option::as_mut);
        if let Some(newest) = newest.filter(|it| it.end_ns == i64::MAX) {
            newest.end_ns = newest.start_ns;
        }
    }

    /// Whether it may still show that the window was the largest that its stack has, when it is not known to be.
    pub fn may_turn_out_largest(&self) -> bool {
        let newest = self.largest.last().copied().flatten();
        let is_known = newest.is_some_and(|it| it.end_ns == i64::MAX);
        self.is_marked && !is_known && (self.first_loss_ns.is_none() || newest.is_some())
    }

    /// A connection was opened or closed while another one had more to send.
    pub fn is_marked(&mut self) {
        self.is_marked = true;
    }

    /// When it was the largest, the oldest first.
    pub fn largest(&self) -> impl Iterator<Item = SlowStart> + '_ {
        self.largest.iter().flatten().copied()
    }

    fn push(&mut self, start_ns: i64, end_ns: i64) {
        self.spans.rotate_left(1);
        self.spans[SPANS_MAX - 1] = Some(SlowStart::between(start_ns, end_ns));
    }

    fn newest(&self) -> Option<SlowStart> {
        self.spans.last().copied().flatten()
    }

    /// All of them, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = SlowStart> + '_ {
        self.spans.iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(slow_starts: Phases) -> Vec<(i64, i64)> {
        let spans = slow_starts.iter();
        spans.map(|it| (it.start_ns, it.end_ns)).collect()
    }

    #[test]
    fn a_timers_slow_start_of_all_lasts_until_acks_have_opened_the_window_to_the_threshold() {
        let mut slow_starts = Phases::default();
        slow_starts.acknowledged(50);
        slow_starts.timed_out(100, 1);
        slow_starts.timed_out(110, 1);
        slow_starts.acknowledged(90);
        slow_starts.acknowledged(150);
        slow_starts.acknowledged(170);
        slow_starts.timed_out(200, 2);
        slow_starts.acknowledged(210);
        slow_starts.acknowledged(220);
        slow_starts.acknowledged(230);
        assert_eq!(spans(slow_starts), [(100, 150), (200, 220)]);
    }

    #[test]
    fn a_slow_start_is_over_when_the_window_is_set_to_the_threshold_whatever_acks_are_missing() {
        let mut slow_starts = Phases::default();
        slow_starts.has_reached_threshold(50);
        slow_starts.timed_out(100, 5);
        slow_starts.has_reached_threshold(90);
        slow_starts.acknowledged(150);
        slow_starts.has_reached_threshold(160);
        slow_starts.has_reached_threshold(170);
        assert_eq!(spans(slow_starts), [(100, 160)]);
    }

    #[test]
    fn a_timer_behind_what_an_ack_let_go_ran_out_after_that_ack() {
        let ended_ns = 100 * CLOSE_NS;
        let mut phases = Phases::default();
        assert_eq!(phases.ran_out_ns((7, 9)), 7);
        phases.timed_out(ended_ns / 2, 1);
        assert_eq!(
            phases.ran_out_ns((ended_ns - 1, ended_ns + 1)),
            ended_ns - 1
        );
        phases.acknowledged(ended_ns);
        for (likely_ns, to_ns, ran_out_ns) in [
            (ended_ns - 1, ended_ns + 1, ended_ns),
            (ended_ns - 1, ended_ns, ended_ns - 1),
            (ended_ns - CLOSE_NS, ended_ns + 1, ended_ns - CLOSE_NS),
            (ended_ns + 1, ended_ns + 2, ended_ns + 1),
        ] {
            assert_eq!(phases.ran_out_ns((likely_ns, to_ns)), ran_out_ns);
        }
        phases.timed_out(ended_ns, 1);
        phases.acknowledged(ended_ns);
        assert_eq!(spans(phases)[1], (ended_ns, i64::MAX));
    }

    #[test]
    fn who_waited_for_something_else_has_what_is_left_of_a_slow_start_that_began_meanwhile() {
        let mut slow_starts = Phases::default();
        for start_ns in [100, 200, 300] {
            slow_starts.timed_out(start_ns, 1);
            slow_starts.acknowledged(start_ns + 50);
        }
        let left = slow_starts.without(150, 270);
        assert_eq!(spans(left), [(100, 150), (300, 350)]);
        let left = slow_starts.without(210, 320);
        assert_eq!(spans(left), [(100, 150), (200, 250), (320, 350)]);
    }

    #[test]
    fn near_the_sender_a_slow_start_lets_go_what_comes_a_way_later_also_while_it_lasts() {
        let mut slow_starts = Phases::default();
        slow_starts.timed_out(100, 1);
        slow_starts.acknowledged(150);
        slow_starts.timed_out(200, 2);
        let later = slow_starts.later_by(7);
        assert_eq!(later.first_loss_ns(), Some(107));
        assert_eq!(spans(later), [(107, 157), (207, i64::MAX)]);
    }

    #[test]
    fn of_many_the_latest_are_remembered() {
        let mut slow_starts = Phases::default();
        for start_ns in 0..SPANS_MAX as i64 + 2 {
            slow_starts.timed_out(start_ns * 10, 1);
            slow_starts.acknowledged(start_ns * 10 + 5);
        }
        let starts: Vec<i64> = slow_starts.iter().map(|it| it.start_ns).collect();
        assert_eq!((starts.len(), starts[0]), (SPANS_MAX, 20));
    }

    #[test]
    fn a_largest_window_lasts_until_it_may_be_smaller() {
        let mut phases = Phases::default();
        phases.is_largest(100);
        phases.is_largest(110);
        phases.is_smaller(150);
        phases.is_smaller(160);
        phases.is_largest(200);
        phases.was_not_largest();
        let largest: Vec<(i64, i64)> = phases
            .later_by(7)
            .largest()
            .map(|it| (it.start_ns, it.end_ns))
            .collect();
        assert_eq!(largest, [(107, 157), (207, 207)]);
    }
}
