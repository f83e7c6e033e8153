//! Stream: one direction of a connection with its log and the results of its replay.

use std::collections::VecDeque;

use tcptrace_path::Route;
use trace_model::rows::Cause;

use crate::causes::Words;
use crate::explained_segment::ExplainedSegment;
use crate::explained_stream::{forget, held_bytes, Arrival, Copy, ExplainedStream, Span};
use crate::learnt::LearntState;
use crate::log::{AckEvent, DataEvent, Event};
use crate::profile::Profile;
use crate::replay::{Replay, State};
use crate::standstill::Standstill;

/// Maximum number of log events of one message; the time of dropped events is unobserved.
const EVENTS_MAX: usize = 1 << 16;
/// Number of events that start the explanation of a part, and events kept behind it to show losses.
const EVENTS_OF_PART: usize = EVENTS_MAX / 2;
const EVENTS_BEHIND_PART: usize = EVENTS_OF_PART / 8;

/// Direction of a connection.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    log: Vec<Event>,
    /// Number of events at which the next part of a message is explained.
    next_part: usize,
    state: State,
    explained: ExplainedStream,
    /// ACKs of new data: number and time.
    acked: VecDeque<(i64, i64)>,
    /// True if events were dropped from the log.
    is_cut: bool,
    /// Events dropped since the last call of `take_dropped_events`.
    dropped_events: usize,
    /// Last known path.
    route: Option<Route>,
    /// Frame of a segment whose full explanation was requested, and the explanation until it is taken.
    pub(crate) asked: Option<u64>,
    pub(crate) explained_segment: Option<Box<ExplainedSegment>>,
    pub(crate) standstill: Standstill,
}

impl Stream {
    /// Take a segment with payload.
    pub(crate) fn on_data(&mut self, data: DataEvent) {
        self.standstill.on_data(&data);
        self.push(Event::Data(data));
    }

    /// Take an ACK of this direction's data.
    pub(crate) fn on_ack(&mut self, ack: AckEvent) {
        self.standstill.on_ack(&ack);
        if self.acked.back().is_none_or(|(acked, _)| *acked < ack.ack) {
            self.acked.push_back((ack.ack, ack.time_ns));
        }
        match self.log.as_mut_slice() {
            // Data of the peer repeats the same ACK: the latest one replaces the others.
            [.., Event::Ack(first), Event::Ack(again)]
                if ack.is_repeated_data(again) && again.is_repeated_data(first) =>
            {
                *again = ack;
            }
            _ => self.push(Event::Ack(ack)),
        }
    }

    /// Drop the log.
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
            self.dropped_events = self.dropped_events.saturating_add(self.log.len());
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

    /// Return the number of log events that were dropped since the last call.
    pub(crate) fn take_dropped_events(&mut self) -> usize {
        std::mem::take(&mut self.dropped_events)
    }

    /// Return the cause of time without a span: the path's pace, or unobserved if events were dropped.
    pub(crate) fn unexplained(&self, pace: Cause) -> Cause {
        if self.is_cut {
            Cause::Unobserved
        } else {
            pace
        }
    }

    /// Replay the log up to the last segment of a message that ends at `end`, and keep the results.
    ///
    /// `has_streams` is true for HTTP/2.
    pub(crate) fn explain(
        &mut self,
        (end, has_streams): (i64, bool),
        route: &Route,
        words: Words,
        has_no_acks: bool,
    ) {
        self.route = Some(*route);
        let is_of_message = |event: &Event| matches!(event, Event::Data(data) if data.start < end);
        let Some(last) = self.log.iter().rposition(is_of_message) else {
            return;
        };
        let log = std::mem::take(&mut self.log);
        let replay = Replay::new(route, &mut self.state, words, &self.acked, has_no_acks);
        let asked = replay
            .with_request(self.asked)
            .with_streams(has_streams)
            .run(&log, last, &mut self.explained);
        self.explained_segment = asked.or(self.explained_segment.take());
        let lost = self.explained.bound();
        self.is_cut |= lost > 0;
        self.dropped_events = self.dropped_events.saturating_add(lost);
        self.log = log;
        self.log.drain(..=last);
    }

    /// Return whether a part of a message fills the log.
    pub(crate) fn is_long(&self) -> bool {
        self.log.len() >= self.next_part.max(EVENTS_OF_PART)
    }

    /// Explain the logged part of a long message that began at `begun`.
    pub(crate) fn explain_part(
        &mut self,
        (begun, overlap): (Option<i64>, bool),
        route: &Route,
        words: Words,
        has_no_acks: bool,
    ) {
        if !self.is_long() {
            return;
        }
        let explained = EVENTS_OF_PART.saturating_sub(EVENTS_BEHIND_PART);
        let mut behind = self.log.iter().skip(explained);
        let until = behind.find_map(|event| match event {
            Event::Data(data) => Some(data.start),
            Event::Ack(_) => None,
        });
        let until = until.unwrap_or(i64::MAX);
        self.explain((until, overlap), route, words, has_no_acks);
        self.next_part = self.log.len().saturating_add(EVENTS_BEHIND_PART);
        if !overlap {
            self.explained.merge(words.of_causes().pace, self.asked);
        }
        if let Some(begun) = begun {
            self.explained.drop_arrivals_between(begun, until);
            let is_within = |acked: i64| acked > begun && acked < until;
            self.acked.retain(|(acked, _)| !is_within(*acked));
        }
    }

    /// Return the profile of the sender, if any of its data was explained.
    pub(crate) fn profile(&self) -> Option<Profile> {
        let sender = &self.state.sender;
        let route = self.route?;
        // The ACKs of the last message follow the message and were not replayed.
        let mut acks = sender.acks.clone();
        for event in &self.log {
            let Event::Ack(ack) = event else { break };
            acks.on_event(ack, &route);
        }
        let learnt = LearntState {
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

    /// Return the delivery of the byte at `offset`.
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

    /// Return the time of the last delivery before `time_ns`.
    pub(crate) fn delivered_before(&self, time_ns: i64) -> Option<i64> {
        let mut arrivals = self.explained.arrivals.iter().rev();
        Some(arrivals.find(|it| it.time_ns < time_ns)?.time_ns)
    }

    /// Return whether a delivery took place from `since_ns` on and before `until_ns`.
    pub(crate) fn has_delivered(&self, since_ns: i64, until_ns: i64) -> bool {
        let last_ns = self.delivered_before(until_ns);
        last_ns.is_some_and(|last_ns| last_ns >= since_ns)
    }

    /// Return the last copy of the byte at `offset` that passed by `time_ns`.
    pub(crate) fn copy_of(&self, offset: i64, time_ns: i64) -> Option<Copy> {
        let mut copies = self.explained.copies.iter().rev();
        copies
            .find(|it| it.start <= offset && offset < it.end && it.time_ns <= time_ns)
            .copied()
    }

    /// Return the time of the ACK of the byte at `offset`.
    pub(crate) fn acked_ns(&self, offset: i64) -> Option<i64> {
        let at = self.acked.partition_point(|(acked, _)| *acked <= offset);
        self.acked.get(at).map(|(_, time_ns)| *time_ns)
    }

    /// Return the spans that end after `start_ns` and begin before `end_ns`.
    pub(crate) fn between(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = &Span> {
        let spans = &self.explained.spans;
        let at = spans.partition_point(|it| it.end_ns <= start_ns);
        spans.range(at..).take_while(move |it| it.start_ns < end_ns)
    }

    /// Return the spans between arrivals behind holes, with the same limits as [`Stream::between`].
    pub(crate) fn behind_holes(&self, start_ns: i64, end_ns: i64) -> impl Iterator<Item = &Span> {
        let spans = &self.explained.behind_holes;
        let at = spans.partition_point(|it| it.end_ns <= start_ns);
        spans.range(at..).take_while(move |it| it.start_ns < end_ns)
    }

    /// Drop the results before `time_ns` and `offset`.
    pub(crate) fn forget_before(&mut self, time_ns: i64, offset: i64) {
        self.explained.forget_before(time_ns, offset);
        forget(&mut self.acked, |(acked, _)| *acked <= offset);
    }

    /// Return the memory of the stream.
    #[must_use]
    pub(crate) fn held_bytes(&self) -> usize {
        let log = self.log.capacity().saturating_mul(size_of::<Event>());
        log.saturating_add(self.explained.held_bytes())
            .saturating_add(held_bytes(&self.acked))
    }
}
