//! When the window that connections share was in slow start while data waited for it.

use std::collections::VecDeque;

use super::Timeline;
use crate::shared_windows::{Phases, SlowStart};

/// Slow starts in a response: each takes the second that a timer waits at the least (RFC 6298, section 2.4).
const SLOW_STARTS_MAX: usize = 64;

/// When a loss showed first, and the slow starts of a connection since, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Known {
    first_loss_ns: Option<i64>,
    spans: VecDeque<SlowStart>,
}

impl Known {
    /// The latest are these, of which some are known.
    pub(super) fn note(&mut self, latest: Phases) {
        self.first_loss_ns = latest.first_loss_ns();
        let Some(first) = latest.iter().next() else {
            return;
        };
        let is_known = |it: &SlowStart| it.start_ns < first.start_ns && it.end_ns < i64::MAX;
        let known = self.spans.partition_point(is_known);
        self.spans.truncate(known);
        for span in latest.iter() {
            self.push(span);
        }
    }

    fn push(&mut self, span: SlowStart) {
        if self.spans.len() >= SLOW_STARTS_MAX {
            self.spans.pop_front();
        }
        self.spans.push_back(span);
    }

    pub(super) fn forget_before(&mut self, time_ns: i64) {
        while self.spans.front().is_some_and(|it| it.end_ns <= time_ns) {
            self.spans.pop_front();
        }
    }

    /// Memory that it takes.
    pub(super) fn held_bytes(&self) -> usize {
        size_of::<SlowStart>().saturating_mul(self.spans.capacity())
    }
}

impl Timeline {
    /// When a loss showed first to who shares the window.
    pub(in crate::waits) fn first_loss_ns(&self) -> Option<i64> {
        self.phases.first_loss_ns
    }

    /// The slow starts that reach into the time from `start_ns` to `end_ns`.
    pub(in crate::waits) fn slow_starts(
        &self,
        start_ns: i64,
        end_ns: i64,
    ) -> impl Iterator<Item = SlowStart> + '_ {
        let spans = self.phases.spans.iter();
        spans
            .filter(move |it| it.start_ns < end_ns && it.end_ns > start_ns)
            .flat_map(|it| self.gone_back.leaves(*it))
            .filter(move |it| it.start_ns < end_ns && it.end_ns > start_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared_windows::SPANS_MAX;

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
        let starts: Vec<i64> = known.spans.iter().map(|it| it.start_ns).collect();
        assert_eq!(starts[..2], [0, 20]);
        assert_eq!(starts.len(), SPANS_MAX + 1);
    }
}
