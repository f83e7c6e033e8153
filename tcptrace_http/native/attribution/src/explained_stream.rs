//! Results of replays: the time between deliveries, and the arrival of each byte.

use std::collections::VecDeque;

use trace_model::rows::Cause;

use crate::bound::Bound;

/// Maximum number of spans and deliveries kept for later transactions.
const SPANS_MAX: usize = 1 << 16;

/// Part of the time between two deliveries, with one cause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) cause: Cause,
    pub(crate) bound: Bound,
    /// Frame of the segment that ended the span, if any.
    pub(crate) end_frame: Option<u64>,
    pub(crate) confidence: f64,
}

/// Cause and bound of a segment that an ACK released.
pub(crate) type HoldCause = (Cause, Bound);
/// Cause of a loss, and the time since which it delayed the data.
pub(crate) type RepairCause = (Cause, i64);

/// Bytes that became deliverable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) before: i64,
    pub(crate) after: i64,
    pub(crate) time_ns: i64,
    pub(crate) frame: u64,
    /// Time at which their last segment passed the capture.
    pub(crate) passed_ns: i64,
    pub(crate) packet_bytes: u32,
    /// Cause and bound, if an ACK released the bytes.
    pub(crate) held: Option<HoldCause>,
    /// Cause and start, if a loss delayed the bytes.
    pub(crate) repaired: Option<RepairCause>,
    /// Start of the link's busy period, if the bytes were queued behind other connections.
    pub(crate) queued_since_ns: Option<i64>,
}

/// Retransmitted data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) time_ns: i64,
    pub(crate) frame: u64,
    pub(crate) cause: Cause,
}

/// Results of replays for later transactions.
#[derive(Debug, Default)]
pub(crate) struct ExplainedStream {
    pub(crate) spans: VecDeque<Span>,
    /// Spans between arrivals behind holes.
    pub(crate) behind_holes: VecDeque<Span>,
    pub(crate) arrivals: VecDeque<Arrival>,
    /// Retransmissions of data that was delivered or sent before.
    pub(crate) copies: VecDeque<Copy>,
}

impl ExplainedStream {
    /// Drop the results before `time_ns` and `offset`.
    pub(crate) fn forget_before(&mut self, time_ns: i64, offset: i64) {
        forget(&mut self.spans, |it| it.end_ns <= time_ns);
        forget(&mut self.behind_holes, |it| it.end_ns <= time_ns);
        forget(&mut self.arrivals, |it| it.after <= offset);
        forget(&mut self.copies, |it| it.end <= offset);
    }

    /// Reduce the results to their limit, and return the number of lost spans.
    pub(crate) fn bound(&mut self) -> usize {
        bound(&mut self.arrivals);
        bound(&mut self.copies);
        bound(&mut self.behind_holes);
        bound(&mut self.spans)
    }

    /// Drop the arrivals between `begun` and `until`, and keep the last one: no message begins between them.
    pub(crate) fn drop_arrivals_between(&mut self, begun: i64, until: i64) {
        let last = self.arrivals.pop_back();
        let is_within = |it: &Arrival| it.before > begun && it.after < until;
        self.arrivals.retain(|it| !is_within(it));
        self.arrivals.extend(last);
    }

    /// Merge consecutive spans of the path's `pace`; the span of the segment in frame `asked` stays.
    pub(crate) fn merge(&mut self, pace: Cause, asked: Option<u64>) {
        let stands_alone = |it: &Span| asked.is_some() && it.end_frame == asked;
        let mut merged: VecDeque<Span> = VecDeque::new();
        for span in self.spans.drain(..) {
            let last = merged.back_mut().filter(|last| {
                let is_pace = last.cause == pace && span.cause == pace;
                is_pace
                    && last.end_ns == span.start_ns
                    && !stands_alone(last)
                    && !stands_alone(&span)
            });
            match last {
                Some(last) => {
                    last.end_ns = span.end_ns;
                    last.bound = span.bound;
                    last.end_frame = span.end_frame.or(last.end_frame);
                }
                None => merged.push_back(span),
            }
        }
        self.spans = merged;
    }

    pub(crate) fn held_bytes(&self) -> usize {
        held_bytes(&self.spans)
            .saturating_add(held_bytes(&self.behind_holes))
            .saturating_add(held_bytes(&self.arrivals))
            .saturating_add(held_bytes(&self.copies))
    }
}

/// Remove the leading entries that are over.
pub(crate) fn forget<T>(queue: &mut VecDeque<T>, is_over: impl Fn(&T) -> bool) {
    let over = queue.iter().take_while(|it| is_over(it)).count();
    queue.drain(..over);
}

fn bound<T>(queue: &mut VecDeque<T>) -> usize {
    let over = queue.len().saturating_sub(SPANS_MAX);
    queue.drain(..over);
    over
}

pub(crate) fn held_bytes<T>(queue: &VecDeque<T>) -> usize {
    queue.capacity().saturating_mul(size_of::<T>())
}
