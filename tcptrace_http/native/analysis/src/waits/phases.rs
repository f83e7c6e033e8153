//! What waited for a window that connections share, by the phase of that: another's loss may have changed it.

use trace_model::rows::Cause;

use super::partition::{Moment, Partition, ASSUMED};
use super::{Path, Waits};
use crate::jitter::CLOSE_NS;
use crate::shared_windows::Phases;

impl Waits {
    /// The server's connections have shared a window in these phases, as others showed when this one was over.
    pub fn window_was_shared(&mut self, phases: Phases) {
        self.responses.note_phases(phases);
    }

    /// ... and that was the largest that its stack has in some of them.
    pub fn window_was_largest(&mut self, phases: Phases, path: Path) {
        self.responses
            .window_was_largest(phases, path.of_responses());
    }

    /// Gives the time up to `moment` to what held a response; of a window to the phase that it was in, if
    /// connections share it and data was lost.
    pub(super) fn give_held(
        &self,
        moment: Moment,
        (cause, confidence): (Cause, f64),
        later_ns: i64,
        partition: &mut Partition,
    ) {
        let left_ns = moment.time_ns.saturating_sub(later_ns);
        if let Some(written_ns) = self.responses.written_before_ns(cause, left_ns) {
            let written_ns = written_ns.saturating_add(later_ns).min(moment.time_ns);
            partition.unmarked_until(written_ns, Cause::ServerDataUnavailable, ASSUMED);
        }
        let cause = match cause {
            Cause::SendLimitedSendBuffer if self.responses.was_no_buffer(left_ns) => {
                Cause::SendLimitedSlowStart
            }
            cause => self.responses.of_own_time(cause, left_ns),
        };
        if !matches!(cause, Cause::SendLimitedCwnd | Cause::SendLimitedSlowStart) {
            return partition.until(moment, cause, confidence);
        }
        let full = self
            .responses
            .largest_windows(partition.time_ns(), moment.time_ns);
        for span in full {
            let until = |time_ns| moment.earlier(Moment { time_ns, ..moment });
            self.give_window(
                until(span.start_ns),
                (cause, confidence),
                later_ns,
                partition,
            );
            let full = Cause::SendLimitedSendBuffer;
            partition.until(until(span.end_ns), full, confidence);
        }
        self.give_window(moment, (cause, confidence), later_ns, partition);
    }

    /// The same of a window that is not the largest of its stack.
    fn give_window(
        &self,
        moment: Moment,
        (cause, confidence): (Cause, f64),
        later_ns: i64,
        partition: &mut Partition,
    ) {
        let first_loss_ns = self.responses.first_loss_ns();
        let first_loss_ns = first_loss_ns.map(|ns| ns.saturating_add(later_ns));
        let Some(first_loss_ns) = first_loss_ns.filter(|loss_ns| *loss_ns < moment.time_ns) else {
            return partition.until(moment, cause, confidence);
        };
        let until = |time_ns: i64, cause: Cause, partition: &mut Partition| {
            let length_ns = time_ns.saturating_sub(partition.time_ns());
            partition.at_most(length_ns, moment, cause, confidence);
        };
        until(first_loss_ns, cause, partition);
        let spans = self
            .responses
            .slow_starts((partition.time_ns(), moment.time_ns), later_ns);
        let come_ns = moment.time_ns.saturating_add(CLOSE_NS);
        for span in spans.filter(|it| it.lets_go_ns <= come_ns) {
            until(span.start_ns, Cause::SendLimitedCwnd, partition);
            until(span.end_ns, Cause::SendLimitedSlowStart, partition);
        }
        partition.until(moment, Cause::SendLimitedCwnd, confidence);
    }
}
