//! What shows late of a window that connections share: that they do, and when it was in slow start while data waited
//! for it.
//!
//! Theory of operation. Near the receiver the window is told as what it let go comes by, and so are waits. Near the sender
//! waits are told as their data came to the receiver, and the window as it was when ACKs moved it: each piece is asked for
//! by as much sooner as its own segment took to come, on its way and in the queue before the slowest link.

use std::collections::VecDeque;

use super::super::partition::{Moment, INFERRED};
use super::{Pending, Route, Timeline};
use crate::shared_windows::{Phases, SlowStart};

/// Slow starts in a response: each takes the second that a timer waits at the least (RFC 6298, section 2.4).
const SLOW_STARTS_MAX: usize = 64;

/// Spans of a window's life that reach into what is still asked for, the oldest first.
#[derive(Debug, Default)]
struct Spans(VecDeque<SlowStart>);

impl Spans {
    /// The latest are these, of which some are known.
    fn note(&mut self, latest: impl Iterator<Item = SlowStart>) {
        let mut latest = latest.peekable();
        let Some(first) = latest.peek().copied() else {
            return;
        };
        let is_known = |it: &SlowStart| it.start_ns < first.start_ns && it.end_ns < i64::MAX;
        let known = self.0.partition_point(is_known);
        self.0.truncate(known);
        for span in latest {
            if self.0.len() >= SLOW_STARTS_MAX {
                self.0.pop_front();
            }
            self.0.push_back(span);
        }
    }

    fn forget_before(&mut self, time_ns: i64) {
        while self.0.front().is_some_and(|it| it.end_ns <= time_ns) {
            self.0.pop_front();
        }
    }

    /// Those that reach into the time from `start_ns` to `end_ns`.
    fn within(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = SlowStart> + '_ {
        let reaches = move |it: &SlowStart| it.start_ns < end_ns && it.end_ns > start_ns;
        self.0.iter().copied().filter(reaches)
    }
}

/// When a loss showed first, the slow starts of a connection since, and when its window was the largest of its stack.
#[derive(Debug, Default)]
pub(super) struct Known {
    first_loss_ns: Option<i64>,
    slow_starts: Spans,
    largest: Spans,
    /// What was told to have filled a buffer until then had filled a window.
    no_buffer_ns: Option<i64>,
}

impl Known {
    pub(super) fn note(&mut self, latest: Phases) {
        self.first_loss_ns = latest.first_loss_ns();
        // What a connection has in flight of a window of all tells of no buffer.
        self.no_buffer_ns = latest.no_buffer_ns();
        self.slow_starts.note(latest.iter());
    }

    pub(super) fn had_no_buffer(&mut self, time_ns: i64) {
        self.no_buffer_ns = Some(time_ns);
    }

    pub(super) fn note_largest(&mut self, latest: Phases) {
        self.largest.note(latest.largest());
    }

    pub(super) fn forget_before(&mut self, time_ns: i64) {
        self.slow_starts.forget_before(time_ns);
        self.largest.forget_before(time_ns);
    }

    /// Memory that it takes.
    pub(super) fn held_bytes(&self) -> usize {
        let spans = [&self.slow_starts, &self.largest];
        let places: usize = spans.iter().map(|it| it.0.capacity()).sum();
        size_of::<SlowStart>().saturating_mul(places)
    }
}

impl Timeline {
    /// The sender's connections were found to share a window.
    pub(in crate::waits) fn windows_are_shared(&mut self) {
        for piece in &mut self.pieces {
            if let Some(cause) = piece.if_shared.take() {
                piece.cause = cause;
                piece.waited = None;
            }
        }
        for sent in &mut self.pending {
            let shared = sent.if_shared.take().map(|cause| (cause, INFERRED));
            sent.is_shared |= shared.is_some();
            sent.ack_delay.is_of_shared_window();
            sent.cause = shared.or(sent.cause);
        }
        for opening in &mut self.openings {
            opening.held = opening.if_shared.or(opening.held);
        }
    }

    /// The window is shared, and was in slow start then.
    pub(in crate::waits) fn note_phases(&mut self, phases: Phases) {
        self.phases.note(phases);
    }

    /// Near the receiver the window was the largest that its stack has in some of these.
    pub(in crate::waits) fn window_was_largest(&mut self, phases: Phases, route: Route) {
        if !self.bare_route(route).is_at_sender {
            self.phases.note_largest(phases);
        }
    }

    /// When a loss showed first to who shares the window.
    pub(in crate::waits) fn first_loss_ns(&self) -> Option<i64> {
        self.phases.first_loss_ns
    }

    /// Whether more was in flight later than in a buffer that is told to have been full until then.
    pub(in crate::waits) fn was_no_buffer(&self, time_ns: i64) -> bool {
        self.phases.no_buffer_ns.is_some_and(|it| time_ns <= it)
    }

    /// How much later than it was it is told what held data that came by then: near the sender by all that its segment
    /// took, which may have stood in a queue.
    pub(super) fn later_ns(&self, data: Pending, came: Moment) -> i64 {
        if self.settles_by_ack {
            came.time_ns.saturating_sub(data.at.time_ns)
        } else {
            0
        }
    }

    /// The slow starts that reach into the time from `start_ns` to `end_ns`, so much later than they were.
    pub(in crate::waits) fn slow_starts(
        &self,
        (start_ns, end_ns): (i64, i64),
        later_ns: i64,
    ) -> impl Iterator<Item = SlowStart> + '_ {
        let sooner = |ns: i64| ns.saturating_sub(later_ns);
        let spans = self
            .phases
            .slow_starts
            .within(sooner(start_ns), sooner(end_ns));
        spans
            .flat_map(|it| self.gone_back.leaves(it))
            .map(move |it| it.later_by(later_ns))
            .filter(move |it| it.start_ns < end_ns && it.end_ns > start_ns)
    }

    /// The times within that from `start_ns` to `end_ns` in which the window was the largest that its stack has.
    pub(in crate::waits) fn largest_windows(
        &self,
        start_ns: i64,
        end_ns: i64,
    ) -> impl Iterator<Item = SlowStart> + '_ {
        self.phases.largest.within(start_ns, end_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::{Data, Words};
    use super::*;
    use crate::shared_windows::{Sharing, SPANS_MAX};

    const MS: i64 = 1_000_000;

    /// Near the server: when a slow start from 100 ms on is told to have begun to data that left at 250 ms and came so
    /// much later.
    fn told_from_ms(later_ms: i64) -> Option<i64> {
        let (route, acks) = (Route::at_sender(20), Acks::default());
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.new_data(Data::at_ms(0, 1001), None, route, &acks);
        timeline.acknowledged(Moment::at_ms(125), 1001, route);
        let due_ns = Some((250 + later_ms) * MS);
        let mut phases = Phases::default();
        phases.timed_out(100 * MS, 1);
        let sharing = Sharing {
            is_shared: true,
            due_ns,
            phases,
            ..Sharing::default()
        };
        let second = Data {
            sharing,
            ..Data::at_ms(250, 2001)
        };
        timeline.new_data(second, None, route, &acks);
        timeline.acknowledged(Moment::at_ms(250 + later_ms), 2001, route);
        timeline.settle_waiting(route);
        let piece = timeline.between(0, i64::MAX).last().copied()?;
        let asked = (0, piece.end.time_ns);
        let mut told = timeline.slow_starts(asked, piece.later_ns);
        told.next().map(|it| it.start_ns / MS)
    }

    #[test]
    fn near_the_sender_a_slow_start_is_told_as_much_later_as_the_data_came_that_waited() {
        assert_eq!(told_from_ms(126), Some(100 + 126));
        assert_eq!(told_from_ms(186), Some(100 + 186));
    }

    #[test]
    fn a_slow_start_is_remembered_while_what_left_in_it_may_come() {
        let route = Route::at_sender(20);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.new_data(Data::at_ms(0, 1001), None, route, &Acks::default());
        timeline.acknowledged(Moment::at_ms(30), 1001, route);
        timeline.settle_waiting(route);
        let mut phases = Phases::default();
        phases.timed_out(10 * MS, 1);
        phases.acknowledged(25 * MS);
        timeline.note_phases(phases);
        timeline.forget_before(30 * MS);
        assert_eq!(timeline.slow_starts((30 * MS, 60 * MS), 20 * MS).count(), 1);
    }

    #[test]
    fn of_connections_that_share_a_window_only_what_all_have_in_flight_refutes_a_buffer() {
        let mut known = Known::default();
        let mut latest = Phases::default();
        known.had_no_buffer(50);
        assert_eq!(known.no_buffer_ns, Some(50));
        known.note(latest);
        assert_eq!(known.no_buffer_ns, None);
        latest.had_no_buffer(100);
        known.note(latest);
        assert_eq!(known.no_buffer_ns, Some(100));
    }

    #[test]
    fn a_slow_start_of_which_the_end_was_not_told_is_forgotten() {
        let mut known = Known::default();
        let mut latest = Phases::default();
        latest.timed_out(0, 1);
        latest.acknowledged(5);
        latest.timed_out(10, 1);
        known.note(latest);
        latest.acknowledged(15);
        for start_ns in (20..).step_by(10).take(SPANS_MAX) {
            latest.timed_out(start_ns, 1);
            latest.acknowledged(start_ns + 5);
        }
        known.note(latest);
        let starts: Vec<i64> = known.slow_starts.0.iter().map(|it| it.start_ns).collect();
        assert_eq!(starts[..2], [0, 20]);
        assert_eq!(starts.len(), SPANS_MAX + 1);
    }
}
