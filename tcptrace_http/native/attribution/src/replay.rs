//! Replay of a log: ACKs reach the sender, segments leave it and reach the receiver.

use std::collections::VecDeque;

use tcptrace_path::{Place, Route};
use tcptrace_sender::timers::Repair;

use crate::causes::Words;
use crate::delivery::{NewDelivery, Receiver};
use crate::departure::Departure;
use crate::explained_segment::{ExplainedSegment, SegmentRequest};
use crate::explained_stream::ExplainedStream;
use crate::log::{DataEvent, Event};
use crate::lost::lost_originals;
use crate::recovery::Sighting;
use crate::release::{OutstandingSegment, Release};
use crate::sender::{AnswerPair, Sender};
use crate::spans::Explainer;
use crate::timing::Timing;

/// State of both ends of a stream between two messages.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) sender: Sender,
    receiver: Receiver,
    /// Time at which the previous segment passed, and time at which it reached its receiver.
    last_pass_ns: i64,
    last_received_ns: i64,
    /// Time of the last delivery.
    delivered_ns: i64,
}

impl State {
    /// Resume after the log dropped events, up to a segment that ended at `end`; learnt constants stay.
    pub(crate) fn resume(&mut self, end: i64, time_ns: i64) {
        self.sender = std::mem::take(&mut self.sender).resumed(end);
        self.receiver = Receiver::default();
        self.receiver.begin(end);
        self.last_pass_ns = time_ns;
        self.last_received_ns = time_ns;
        self.delivered_ns = time_ns;
    }
}

/// Release or repair that a segment waited for.
#[derive(Clone, Copy, Debug, Default)]
struct WaitEnd {
    release: Option<Release>,
    repair: Option<Repair>,
    held_until_ns: Option<i64>,
}

pub(crate) struct Replay<'a> {
    route: &'a Route,
    state: &'a mut State,
    words: Words,
    /// ACKs of new data: number and time.
    acked: &'a VecDeque<(i64, i64)>,
    /// True if ACKs were not captured.
    has_no_acks: bool,
    /// True if arrivals behind holes are needed, as in HTTP/2 streams.
    has_streams: bool,
    departures: Vec<Departure>,
    /// True if no other segment directly follows this segment, or if this segment does not begin a message.
    is_alone: bool,
    asked: SegmentRequest,
}

/// Return whether the ACK of this segment released the next segment: the next segment is not sent at once.
///
/// A timeout leaves a window of one segment (RFC 5681, section 3.1).
fn is_alone(later: &[Event], data: &DataEvent, route: &Route) -> bool {
    let at_once_ns = data.time_ns.saturating_add(route.round_trip_ns() / 2);
    let later = later.iter().filter_map(|event| match event {
        Event::Data(next) => Some(next),
        Event::Ack(_) => None,
    });
    let mut at_once = later.take_while(|next| next.time_ns <= at_once_ns);
    !at_once.any(|next| next.start == data.end)
}

impl<'a> Replay<'a> {
    pub(crate) fn new(
        route: &'a Route,
        state: &'a mut State,
        words: Words,
        acked: &'a VecDeque<(i64, i64)>,
        has_no_acks: bool,
    ) -> Self {
        Replay {
            route,
            state,
            words,
            acked,
            has_no_acks,
            has_streams: false,
            departures: Vec::new(),
            is_alone: true,
            asked: SegmentRequest::default(),
        }
    }

    /// Request the segment in `frame`.
    pub(crate) fn with_request(self, frame: Option<u64>) -> Self {
        Replay {
            asked: SegmentRequest::new(frame),
            ..self
        }
    }

    /// Also explain arrivals behind holes.
    pub(crate) fn with_streams(self, has_streams: bool) -> Self {
        Replay {
            has_streams,
            ..self
        }
    }

    /// Replay and explain `log` up to its event `last`, and return the requested segment.
    ///
    /// The events after `last` only show losses.
    pub(crate) fn run(
        mut self,
        log: &[Event],
        last: usize,
        explained: &mut ExplainedStream,
    ) -> Option<Box<ExplainedSegment>> {
        let sees_losses = self.route.place == Place::Sender && !self.is_local_request();
        let lost = if sees_losses {
            lost_originals(log, self.route)
        } else {
            Vec::new()
        };
        for (place, event) in log.iter().enumerate().take(last.saturating_add(1)) {
            match event {
                Event::Ack(ack) => {
                    self.state.sender.acks.on_event(ack, self.route);
                    self.state.receiver.on_acked(ack.ack);
                }
                Event::Data(data) => {
                    self.take_acks(data.time_ns);
                    if data.is_probe {
                        continue;
                    }
                    let is_lost = lost.binary_search(&place).is_ok();
                    let later = log.get(place..).unwrap_or_default();
                    self.is_alone =
                        !self.departures.is_empty() || is_alone(later, data, self.route);
                    self.on_data(data, is_lost);
                }
            }
        }
        let explainer = Explainer {
            route: self.route,
            stops: &self.state.sender.stops,
            words: self.words.of_causes(),
            has_no_acks: self.has_no_acks,
            has_streams: self.has_streams,
            departures: &self.departures,
        };
        explainer.explain(explained);
        self.state.sender.forget_stops(self.route.round_trip_ns());
        self.asked.explained(&explained.spans)
    }

    /// Return whether the stream is the capturing host's own request: only its departure counts.
    fn is_local_request(&self) -> bool {
        self.words == Words::Requests && self.route.place == Place::Sender
    }

    /// Take the ACKs that reach the sender before a segment that passes at `time_ns`.
    fn take_acks(&mut self, time_ns: i64) {
        let slack_ns = self.route.tolerance_ns() / 4;
        let slack_ns = slack_ns.max(self.route.host_ns());
        let by_ns = time_ns.saturating_add(slack_ns);
        let sender = &mut self.state.sender;
        while let Some(ack) = sender.acks.next_by(by_ns) {
            sender.on_ack(&ack);
        }
    }

    /// Take a segment; `is_lost` is true if it never reached its receiver.
    fn on_data(&mut self, data: &DataEvent, is_lost: bool) {
        if self.state.sender.snd_nxt == 0 {
            self.state.sender.snd_nxt = 1;
            self.state.receiver.begin(1);
            self.state.last_pass_ns = data.time_ns;
        }
        let before = (self.state.last_pass_ns, self.state.sender.snd_nxt);
        let timing = Timing::of(data, before, self.route);
        let answered = timing.answered(data, &self.state.sender, self.route);
        let before = self.departures.last().map(|it| &it.data);
        let (sender, direction) = (&self.state.sender, self.words.of_causes().direction);
        self.asked
            .note(data, &timing, sender, before, (direction, self.route));
        let waited = self.waited(data, &timing, answered);
        self.asked
            .release(data.frame, waited.release, &self.state.sender, self.route);
        let is_short = data.end.saturating_sub(data.start) < data.full_bytes;
        let is_unreleased = waited.release.is_none() && waited.repair.is_none();
        // A cork does not hold data behind the peer's data or behind a short segment.
        let may_be_corked = self.state.sender.may_be_corked(data);
        let is_corked = timing.is_late && is_short && is_unreleased && may_be_corked && {
            let waited_ns = data.time_ns.saturating_sub(timing.pass_before_ns);
            let round_trip_ns = self.route.round_trip_ns();
            self.state.sender.cork.on_hold(waited_ns, round_trip_ns)
        };
        let last_arrival_ns = self.state.last_received_ns;
        let arrival_ns = self.arrival_ns(data);
        let is_local_request = self.is_local_request();
        let received_ns = if is_local_request {
            data.time_ns
        } else {
            arrival_ns
        };
        if data.end > self.state.sender.snd_nxt {
            self.state.sender.acks.on_send(OutstandingSegment {
                frame: data.frame,
                start: data.start,
                end: data.end,
                is_short,
                received_ns: arrival_ns,
            });
        } else {
            self.state
                .sender
                .acks
                .on_repair(data.start, data.end, arrival_ns);
        }
        let queued_ns = answered.filter(|_| timing.is_queued).map_or(0, |(ack, _)| {
            let answer_ns = self
                .route
                .answer_ns(ack.time_ns, ack.packet_bytes, data.packet_bytes);
            data.time_ns.saturating_sub(answer_ns)
        });
        let receiver = &self.state.receiver;
        let is_first = !is_lost && !receiver.has(data.start, data.end);
        let is_first_behind_hole = is_first && receiver.is_behind_hole(data.start);
        let delivered = if is_lost {
            None
        } else {
            self.delivered(data, received_ns)
        };
        self.departures.push(Departure {
            data: *data,
            pass_before_ns: timing.pass_before_ns,
            received_ns,
            service_ns: if is_local_request {
                0
            } else {
                self.route.link.time_ns(data.packet_bytes)
            },
            is_late: timing.is_late && (!timing.is_queued || answered.is_some()),
            release: waited.release,
            repair: waited.repair,
            is_corked,
            held_until_ns: waited.held_until_ns,
            is_behind_others: timing.is_queued,
            queued_since_ns: timing.queued_since_ns(data, self.route),
            queued_ns,
            delivered,
            is_first_behind_hole,
            last_arrival_ns,
        });
        self.state.last_pass_ns = data.time_ns;
        let snd_nxt = &mut self.state.sender.snd_nxt;
        *snd_nxt = (*snd_nxt).max(data.end);
    }

    /// Return the repair or the release by an ACK that a segment waited for.
    fn waited(
        &mut self,
        data: &DataEvent,
        timing: &Timing,
        answered: Option<AnswerPair>,
    ) -> WaitEnd {
        let route = self.route;
        let sender = &mut self.state.sender;
        let idle_ns = data.time_ns.saturating_sub(timing.pass_before_ns);
        let tolerance_ns = route.tolerance_ns();
        let snd_nxt = sender.snd_nxt;
        let is_hidden =
            answered.is_none() && self.is_alone && timing.is_hidden_repair(data, snd_nxt, route);
        let mut waited = WaitEnd::default();
        if is_hidden {
            let since_ns = timing.floor_ns.saturating_add(tolerance_ns);
            let bytes = data.packet_bytes;
            let held = sender
                .acks
                .last_before(data.time_ns, since_ns, bytes, route);
            waited.release = sender.on_new(data, held, idle_ns, true, route);
            let held = held.filter(|_| waited.release.is_some());
            waited.held_until_ns =
                held.map(|(ack, _)| route.answer_ns(ack.time_ns, ack.packet_bytes, bytes));
        } else if data.start >= snd_nxt {
            let is_late = timing.is_late && (!timing.is_queued || answered.is_some());
            waited.release = sender.on_new(data, answered, idle_ns, is_late, route);
            return waited;
        }
        let is_clocked = answered.is_some()
            || sender
                .acks
                .is_clocked(data.time_ns, data.packet_bytes, route);
        let sighting = Sighting {
            start: data.start,
            end: data.end,
            packet_bytes: data.packet_bytes,
            pass_ns: data.time_ns,
            snd_nxt: snd_nxt.max(data.end),
            is_clocked,
            is_queued: timing.late_ns <= tolerance_ns,
            has_hole: self.state.receiver.has_hole(data.time_ns),
            is_received: self.state.receiver.has(data.start, data.end),
        };
        waited.repair = Some(sender.recovery.on_repair(&sighting, route));
        sender.on_loss();
        waited
    }

    /// Return the time of the ACK of all data before `end`: a limit of its arrival.
    fn acked_ns(&self, end: i64) -> i64 {
        let at = self.acked.partition_point(|(acked, _)| *acked < end);
        self.acked.get(at).map_or(i64::MAX, |(_, time_ns)| *time_ns)
    }

    /// Return the arrival of a segment at its receiver, limited by the ACKs in the capture.
    fn arrival_ns(&self, data: &DataEvent) -> i64 {
        let link = self.route.link;
        match self.route.place {
            Place::Receiver => data.time_ns,
            Place::Sender => self.acked_ns(data.end).min(
                data.time_ns
                    .saturating_add(data.link_queue_ns)
                    .saturating_add(self.route.to_receiver_ns)
                    .saturating_add(link.longer_ns(
                        data.packet_bytes.saturating_add(self.route.ack_bytes),
                        self.route.probe_bytes,
                    ))
                    .max(
                        self.state
                            .last_received_ns
                            .saturating_add(link.time_ns(data.packet_bytes)),
                    ),
            ),
        }
    }

    /// Return the delivery that a segment completes, and the time of the previous delivery.
    fn delivered(&mut self, data: &DataEvent, received_ns: i64) -> Option<(i64, NewDelivery)> {
        self.state.last_received_ns = received_ns;
        let receiver = &mut self.state.receiver;
        let found = receiver.on_arrival(data.start, data.end, received_ns, data.frame)?;
        let before_ns = std::mem::replace(&mut self.state.delivered_ns, received_ns);
        Some((before_ns, found))
    }
}
