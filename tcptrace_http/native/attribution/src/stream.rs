//! One direction of a connection: its log, and what the replay of it explains.

use std::collections::VecDeque;

use tcptrace_path::Route;
use trace_model::rows::Cause;

use crate::bound::Bound;
use crate::causes::{CauseWords, OF_REQUESTS, OF_RESPONSES};
use crate::explained_segment::ExplainedSegment;
use crate::learnt::Learnt;
use crate::log::{AckEvent, DataEvent, Event};
use crate::profile::Profile;
use crate::replay::{Replay, State};
use crate::standstill::Standstill;

/// Events of one message that are kept: what falls out is unobserved.
const EVENTS_MAX: usize = 1 << 16;
/// Events of a message that are explained before its end, and those behind them that are kept to tell what was lost.
const EVENTS_OF_PART: usize = EVENTS_MAX / 2;
const EVENTS_BEHIND_PART: usize = EVENTS_OF_PART / 8;
/// Spans and deliveries that are kept for transactions to come.
const SPANS_MAX: usize = 1 << 16;

/// Whose stream it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    Requests,
    Responses,
}

impl Words {
    pub(crate) fn of_causes(self) -> CauseWords {
        match self {
            Words::Requests => OF_REQUESTS,
            Words::Responses => OF_RESPONSES,
        }
    }
}

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
pub(crate) struct Explained {
    pub(crate) spans: VecDeque<Span>,
    pub(crate) arrivals: VecDeque<Arrival>,
    /// Copies of what had been delivered, or had left, before.
    pub(crate) copies: VecDeque<Copy>,
}

impl Explained {
    /// Nothing before `time_ns` and `offset` is asked for any more.
    fn forget_before(&mut self, time_ns: i64, offset: i64) {
        forget(&mut self.spans, |it| it.end_ns <= time_ns);
        forget(&mut self.arrivals, |it| it.after <= offset);
        forget(&mut self.copies, |it| it.end <= offset);
    }

    /// Keeps no more than there is room for. How many spans are lost by that.
    fn bound(&mut self) -> usize {
        bound(&mut self.arrivals);
        bound(&mut self.copies);
        bound(&mut self.spans)
    }

    /// No message begins between `begun` and `until`: what came in between is not asked for but for the last one.
    fn pass_over(&mut self, begun: i64, until: i64) {
        let last = self.arrivals.pop_back();
        let is_within = |it: &Arrival| it.before > begun && it.after < until;
        self.arrivals.retain(|it| !is_within(it));
        self.arrivals.extend(last);
    }

    /// Makes one of spans of the path's `pace` that follow each other, but for that of the segment in frame `asked`.
    fn merge(&mut self, pace: Cause, asked: Option<u64>) {
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

    fn held_bytes(&self) -> usize {
        held_bytes(&self.spans)
            .saturating_add(held_bytes(&self.arrivals))
            .saturating_add(held_bytes(&self.copies))
    }
}

/// Takes the first ones away that are over.
fn forget<T>(queue: &mut VecDeque<T>, is_over: impl Fn(&T) -> bool) {
    let over = queue.iter().take_while(|it| is_over(it)).count();
    queue.drain(..over);
}

fn bound<T>(queue: &mut VecDeque<T>) -> usize {
    let over = queue.len().saturating_sub(SPANS_MAX);
    queue.drain(..over);
    over
}

fn held_bytes<T>(queue: &VecDeque<T>) -> usize {
    queue.capacity().saturating_mul(size_of::<T>())
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    log: Vec<Event>,
    state: State,
    explained: Explained,
    /// Acknowledgments of something new: up to where, and when.
    acked: VecDeque<(i64, i64)>,
    /// Events fell out of the log.
    is_cut: bool,
    /// Events that fell out since they were last taken.
    fallen_out: usize,
    /// The path as it was last known.
    route: Option<Route>,
    /// The frame of a segment that is to be explained in full, and the explanation until it is taken.
    pub(crate) asked: Option<u64>,
    pub(crate) explained_segment: Option<Box<ExplainedSegment>>,
    pub(crate) standstill: Standstill,
}

impl Stream {
    /// A segment with payload passes.
    pub(crate) fn on_data(&mut self, data: DataEvent) {
        self.standstill.on_data(&data);
        self.push(Event::Data(data));
    }

    /// An acknowledgment of this direction's data passes.
    pub(crate) fn on_ack(&mut self, ack: AckEvent) {
        self.standstill.on_ack(&ack);
        if self.acked.back().is_none_or(|(acked, _)| *acked < ack.ack) {
            self.acked.push_back((ack.ack, ack.time_ns));
        }
        match self.log.as_mut_slice() {
            // The peer's data acknowledges the same again and again: the latest one stands for all of them.
            [.., Event::Ack(first), Event::Ack(again)]
                if ack.is_data_again(again) && again.is_data_again(first) =>
            {
                *again = ack;
            }
            _ => self.push(Event::Ack(ack)),
        }
    }

    /// Gives up what is held.
    pub(crate) fn give_up(&mut self) {
        *self = Stream {
            state: std::mem::take(&mut self.state),
            standstill: std::mem::take(&mut self.standstill),
            is_cut: true,
            route: self.route,
            asked: self.asked,
            ..Stream::default()
        };
    }

    fn push(&mut self, event: Event) {
        if self.log.len() >= EVENTS_MAX {
            self.fallen_out = self.fallen_out.saturating_add(self.log.len());
            let last = self.log.iter().rev().find_map(|event| match event {
                Event::Data(data) => Some(data),
                Event::Ack(_) => None,
            });
            if let Some(last) = last {
                self.state.resume(last.end, last.time_ns);
            }
            self.log.clear();
            self.acked.clear();
            self.is_cut = true;
        }
        self.log.push(event);
    }

    /// How many events have fallen out of the log since this was asked before.
    pub(crate) fn take_fallen_out(&mut self) -> usize {
        std::mem::take(&mut self.fallen_out)
    }

    /// The cause of time that no span explains: the path's pace, unless events fell out of the log.
    pub(crate) fn unexplained(&self, pace: Cause) -> Cause {
        if self.is_cut {
            Cause::Unobserved
        } else {
            pace
        }
    }

    /// Replays the log up to the last segment of a message that ends at `end`, and keeps what it explains.
    pub(crate) fn explain(&mut self, end: i64, route: &Route, words: Words, lacks_acks: bool) {
        self.route = Some(*route);
        let is_of_message = |event: &Event| matches!(event, Event::Data(data) if data.start < end);
        let Some(last) = self.log.iter().rposition(is_of_message) else {
            return;
        };
        let log = std::mem::take(&mut self.log);
        let replay = Replay::new(route, &mut self.state, words, &self.acked, lacks_acks);
        let asked = replay
            .asking(self.asked)
            .run(&log, last, &mut self.explained);
        self.explained_segment = asked.or(self.explained_segment.take());
        let lost = self.explained.bound();
        self.is_cut |= lost > 0;
        self.fallen_out = self.fallen_out.saturating_add(lost);
        self.log = log;
        self.log.drain(..=last);
    }

    /// Whether a part of a message fills the log.
    pub(crate) fn is_long(&self) -> bool {
        self.log.len() >= EVENTS_OF_PART
    }

    /// Explains a message that began at `begun` as far as the log goes, if it is long.
    pub(crate) fn explain_part(
        &mut self,
        begun: Option<i64>,
        route: &Route,
        words: Words,
        lacks_acks: bool,
    ) {
        let explained = EVENTS_OF_PART.saturating_sub(EVENTS_BEHIND_PART);
        let mut behind = self.log.iter().skip(explained);
        let until = behind.find_map(|event| match event {
            Event::Data(data) => Some(data.start),
            Event::Ack(_) => None,
        });
        let Some(until) = until.filter(|_| self.is_long()) else {
            return;
        };
        self.explain(until, route, words, lacks_acks);
        self.explained.merge(words.of_causes().pace, self.asked);
        if let Some(begun) = begun {
            self.explained.pass_over(begun, until);
            let is_within = |acked: i64| acked > begun && acked < until;
            self.acked.retain(|(acked, _)| !is_within(*acked));
        }
    }

    /// What the sender has shown, if any of its data was explained.
    pub(crate) fn profile(&self) -> Option<Profile> {
        let sender = &self.state.sender;
        let route = self.route?;
        // The last message's own acknowledgments came behind it, and were not replayed.
        let mut acks = sender.acks.clone();
        for event in &self.log {
            let Event::Ack(ack) = event else { break };
            acks.on_event(ack, &route);
        }
        let learnt = Learnt {
            delays: acks.delays,
            segment_max: self.standstill.segment_max(),
            acked_segment_max: acks.acked_segment_max,
            ..sender.learnt
        };
        (sender.snd_nxt > 0).then_some(Profile {
            learnt,
            nagle: sender.nagle,
            route,
        })
    }

    /// The delivery of the byte at `offset`.
    pub(crate) fn arrival_of(&self, offset: i64) -> Option<Arrival> {
        let at = self
            .explained
            .arrivals
            .partition_point(|it| it.after <= offset);
        self.explained
            .arrivals
            .get(at)
            .copied()
            .filter(|it| it.before <= offset)
    }

    /// The last copy of the byte at `offset` that passed by `time_ns`.
    pub(crate) fn copy_of(&self, offset: i64, time_ns: i64) -> Option<Copy> {
        let mut copies = self.explained.copies.iter().rev();
        copies
            .find(|it| it.start <= offset && offset < it.end && it.time_ns <= time_ns)
            .copied()
    }

    /// When the byte at `offset` was acknowledged.
    pub(crate) fn acked_ns(&self, offset: i64) -> Option<i64> {
        let at = self.acked.partition_point(|(acked, _)| *acked <= offset);
        self.acked.get(at).map(|(_, time_ns)| *time_ns)
    }

    /// The spans that end after `start_ns` and begin before `end_ns`.
    pub(crate) fn between(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = &Span> {
        let spans = &self.explained.spans;
        let at = spans.partition_point(|it| it.end_ns <= start_ns);
        spans.range(at..).take_while(move |it| it.start_ns < end_ns)
    }

    /// Nothing before `time_ns` and `offset` is asked for any more.
    pub(crate) fn forget_before(&mut self, time_ns: i64, offset: i64) {
        self.explained.forget_before(time_ns, offset);
        forget(&mut self.acked, |(acked, _)| *acked <= offset);
    }

    /// Memory that it takes.
    #[must_use]
    pub(crate) fn held_bytes(&self) -> usize {
        let log = self.log.capacity().saturating_mul(size_of::<Event>());
        log.saturating_add(self.explained.held_bytes())
            .saturating_add(held_bytes(&self.acked))
    }
}
