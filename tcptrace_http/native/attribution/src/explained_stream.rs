//! What replays have explained: the time between deliveries, and when each byte was there.

use std::collections::VecDeque;

use trace_model::rows::Cause;

use crate::bound::Bound;

/// Spans and deliveries that are kept for transactions to come.
const SPANS_MAX: usize = 1 << 16;

/// A stretch of the time between two deliveries, with its cause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    pub(crate) cause: Cause,
    pub(crate) bound: Bound,
    /// The segment that came at the end of it, if one did.
    pub(crate) end_frame: Option<u64>,
    pub(crate) confidence: f64,
}

/// What an acknowledgment released: the cause, and what bound the segment.
pub(crate) type Held = (Cause, Bound);
/// What a loss held up: the cause, and since when.
pub(crate) type Repaired = (Cause, i64);

/// Bytes that became deliverable.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) before: i64,
    pub(crate) after: i64,
    pub(crate) time_ns: i64,
    pub(crate) frame: u64,
    /// When its last segment passed the capture.
    pub(crate) passed_ns: i64,
    pub(crate) packet_bytes: u32,
    /// What an acknowledgment released, if it did.
    pub(crate) held: Option<Held>,
    /// A loss held it up since then.
    pub(crate) repaired: Option<Repaired>,
    /// Since when the link had been busy, behind whose packets it was queued.
    pub(crate) queued_since_ns: Option<i64>,
}

/// Data that was sent again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) time_ns: i64,
    pub(crate) frame: u64,
    pub(crate) cause: Cause,
}

/// What replays have explained, for transactions to come.
#[derive(Debug, Default)]
pub(crate) struct ExplainedStream {
    pub(crate) spans: VecDeque<Span>,
    /// The time between arrivals behind holes.
    pub(crate) behind_holes: VecDeque<Span>,
    pub(crate) arrivals: VecDeque<Arrival>,
    /// Copies of what had been delivered, or had left, before.
    pub(crate) copies: VecDeque<Copy>,
}

impl ExplainedStream {
    /// Nothing before `time_ns` and `offset` is asked for any more.
    pub(crate) fn forget_before(&mut self, time_ns: i64, offset: i64) {
        forget(&mut self.spans, |it| it.end_ns <= time_ns);
        forget(&mut self.behind_holes, |it| it.end_ns <= time_ns);
        forget(&mut self.arrivals, |it| it.after <= offset);
        forget(&mut self.copies, |it| it.end <= offset);
    }

    /// Keeps no more than there is room for. How many spans are lost by that.
    pub(crate) fn bound(&mut self) -> usize {
        bound(&mut self.arrivals);
        bound(&mut self.copies);
        bound(&mut self.behind_holes);
        bound(&mut self.spans)
    }

    /// No message begins between `begun` and `until`: what came in between is not asked for but for the last one.
    pub(crate) fn pass_over(&mut self, begun: i64, until: i64) {
        let last = self.arrivals.pop_back();
        let is_within = |it: &Arrival| it.before > begun && it.after < until;
        self.arrivals.retain(|it| !is_within(it));
        self.arrivals.extend(last);
    }

    /// Makes one of spans of the path's `pace` that follow each other, but for that of the segment in frame `asked`.
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

/// Takes the first ones away that are over.
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
