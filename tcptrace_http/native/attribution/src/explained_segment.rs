//! Requested segment: the release time of each constraint, and the binding constraint.
//!
//! This file decides nothing. The times are those of the replay, recorded before the segment changes the
//! sender's state. The binding constraint is that of the span that ends with the segment.

use std::collections::VecDeque;

use tcptrace_path::receiver::AckKind;
use tcptrace_path::Route;
use tcptrace_sender::nagle::Candidate;
use trace_model::rows::{Cause, Constraint, Direction};

use crate::explained_stream::Span;
use crate::learnt::LearntState;
use crate::log::DataEvent;
use crate::partition::Wait;
use crate::profile::Profile;
use crate::release::{Ack, Release};
use crate::sender::Sender;
use crate::timing::{others_before_ns, Timing};

/// Time at which a constraint allowed a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    /// The constraint allowed the segment before every ACK in memory.
    Open,
    /// The constraint allowed the segment at `time_ns`, in the time of the capture point.
    At {
        time_ns: i64,
        /// Frame of the ACK or of the previous segment.
        by_frame: Option<u64>,
        /// Delay of that ACK by the receiver: 0 for a prompt ACK.
        ack_delay_ns: Option<i64>,
    },
    /// The capture had not shown the constraint's release when the segment left.
    NotShown,
    /// The constraint never holds this segment.
    Exempt,
    /// The capture cannot show the constraint.
    Unknown,
}

impl Allowance {
    /// Return the time at which an ACK allowed a segment of `packet_bytes`.
    fn by_ack(ack: &Ack, packet_bytes: u32, route: &Route) -> Self {
        Allowance::At {
            time_ns: route.answer_ns(ack.time_ns, ack.packet_bytes, packet_bytes),
            by_frame: Some(ack.frame),
            ack_delay_ns: Some(match ack.kind {
                AckKind::Prompt => 0,
                AckKind::Delayed { by_ns } => by_ns,
            }),
        }
    }

    /// Return the sort key of allowances by time; those without a time come first or last.
    fn order(&self) -> (u8, i64) {
        match self {
            Allowance::Open => (0, 0),
            Allowance::At { time_ns, .. } => (1, *time_ns),
            Allowance::NotShown => (2, 0),
            Allowance::Exempt => (3, 0),
            Allowance::Unknown => (4, 0),
        }
    }
}

/// Constraint that bound a segment.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    pub constraint: Constraint,
    pub cause: Cause,
    pub start_ns: i64,
    pub end_ns: i64,
    pub released_by: Option<u64>,
    pub confidence: f64,
}

/// Segment with the releases of its constraints in time order, and their evidence.
#[derive(Clone, Debug)]
pub struct ExplainedSegment {
    pub data: DataEvent,
    pub direction: Direction,
    pub releases: Vec<(Constraint, Allowance)>,
    /// Binding constraint; none for a segment without new data or a lost segment.
    pub binding: Option<Binding>,
    /// Bytes in flight before the segment, and lower bound of cwnd.
    pub flight_bytes: i64,
    pub shown_bytes: i64,
    /// Knowledge of its sender and path when the segment left.
    pub profile: Profile,
    /// Allowance by the ACK that the replay selected.
    by_found_ack: Option<Allowance>,
}

/// Requested frame, and its segment after it has passed.
#[derive(Debug, Default)]
pub(crate) struct SegmentRequest {
    frame: Option<u64>,
    segment: Option<Box<ExplainedSegment>>,
}

impl SegmentRequest {
    pub(crate) fn new(frame: Option<u64>) -> Self {
        SegmentRequest {
            frame,
            segment: None,
        }
    }

    /// Take a segment before it changes its sender's state; `before` is the previous segment.
    pub(crate) fn note(
        &mut self,
        data: &DataEvent,
        timing: &Timing,
        sender: &Sender,
        before: Option<&DataEvent>,
        of: (Direction, &Route),
    ) {
        if self.frame == Some(data.frame) {
            let noted = ExplainedSegment::note(data, timing, sender, before, of);
            self.segment = Some(Box::new(noted));
        }
    }

    /// Record the release that the replay found for the segment in `frame`.
    pub(crate) fn release(
        &mut self,
        frame: u64,
        release: Option<Release>,
        sender: &Sender,
        route: &Route,
    ) {
        let segment = self.segment.as_mut();
        let segment = segment.filter(|it| it.data.frame == frame);
        if let Some((segment, release)) = segment.zip(release) {
            segment.release(&release, sender, route);
        }
    }

    /// Return the requested segment after the replay, explained by `spans`.
    pub(crate) fn explained(self, spans: &VecDeque<Span>) -> Option<Box<ExplainedSegment>> {
        let mut segment = self.segment?;
        segment.bind(spans);
        Some(segment)
    }
}

impl ExplainedSegment {
    /// Record the state that bears on a segment before its sender's state changes.
    fn note(
        data: &DataEvent,
        timing: &Timing,
        sender: &Sender,
        before: Option<&DataEvent>,
        (direction, route): (Direction, &Route),
    ) -> Self {
        let learnt = LearntState {
            delays: sender.acks.delays,
            ..sender.learnt
        };
        let shown_bytes = sender.window.shown_bytes();
        ExplainedSegment {
            data: *data,
            direction,
            releases: vec![
                (Constraint::Application, Allowance::Unknown),
                (Constraint::Link, link(data, timing, before, route)),
                (Constraint::ReceiveWindow, right_edge(data, sender, route)),
                (
                    Constraint::CongestionWindow,
                    // A cwnd always allows one segment in flight.
                    acked(
                        data.end,
                        shown_bytes.max(data.full_bytes),
                        data,
                        (sender, route),
                    ),
                ),
                (Constraint::Nagle, nagle(data, sender, route)),
                (Constraint::Cork, Allowance::Exempt),
                (Constraint::Loss, Allowance::Exempt),
            ],
            binding: None,
            flight_bytes: sender.snd_nxt.saturating_sub(sender.snd_una.max(1)).max(0),
            shown_bytes,
            profile: Profile {
                learnt,
                nagle: sender.nagle,
                route: *route,
            },
            by_found_ack: None,
        }
    }

    /// Record the ACK that released the segment in the replay.
    fn release(&mut self, release: &Release, sender: &Sender, route: &Route) {
        let ack = sender.acks.by_frame(release.by_frame);
        self.by_found_ack = ack.map(|ack| Allowance::by_ack(ack, self.data.packet_bytes, route));
    }

    /// Set the binding constraint from the span that ends with the segment.
    fn bind(&mut self, spans: &VecDeque<Span>) {
        let mut spans = spans.iter().rev();
        let span = spans.find(|span| span.end_frame == Some(self.data.frame));
        // The transaction explains the time before the stream's first data.
        if let Some(span) = span.filter(|span| span.start_ns > 0) {
            self.binding = Some(Binding {
                constraint: span.bound.constraint,
                cause: span.cause,
                start_ns: span.start_ns,
                end_ns: span.end_ns,
                released_by: span.bound.released_by,
                confidence: span.confidence,
            });
        }
        self.apply_binding();
    }

    /// Set the binding constraint of a message's first segment from the waits of its transaction.
    pub fn bind_opening(&mut self, waits: &[Wait]) {
        let is_think = |it: &Wait| matches!(it.cause, Cause::ServerThink | Cause::ClientThink);
        let mut waits = waits.iter().rev();
        let wait = waits
            .find(|it| it.end.frame == self.data.frame && (it.bound.is_some() || is_think(it)));
        if let Some(wait) = wait {
            self.binding = Some(Binding {
                constraint: wait
                    .bound
                    .map_or(Constraint::Application, |it| it.constraint),
                cause: wait.cause,
                start_ns: wait.start.time_ns,
                end_ns: wait.end.time_ns,
                released_by: wait.bound.and_then(|it| it.released_by),
                confidence: wait.confidence,
            });
        }
        self.apply_binding();
    }

    /// Add the HTTP/2 flow-control window that held the segment, if any; the replay knows no HTTP/2 windows.
    pub fn bind_window(&mut self, waits: &[Wait]) {
        let is_window = |it: &Wait| {
            let bound = it.bound.filter(|bound| bound.start == self.data.start);
            bound.is_some_and(|bound| {
                let (stream, connection) =
                    (Constraint::H2StreamWindow, Constraint::H2ConnectionWindow);
                bound.constraint == stream || bound.constraint == connection
            })
        };
        let Some((wait, bound)) = waits
            .iter()
            .rev()
            .find(|it| is_window(it))
            .and_then(|it| it.bound.map(|bound| (it, bound)))
        else {
            return;
        };
        let allowance = Allowance::At {
            time_ns: wait.end.time_ns,
            by_frame: bound.released_by,
            ack_delay_ns: None,
        };
        self.releases.push((bound.constraint, allowance));
        self.binding = Some(Binding {
            constraint: bound.constraint,
            cause: wait.cause,
            start_ns: wait.start.time_ns,
            end_ns: wait.end.time_ns,
            released_by: bound.released_by,
            confidence: wait.confidence,
        });
        self.apply_binding();
    }

    /// Set the binding constraint's release to the replay's release, and sort the releases by time.
    fn apply_binding(&mut self) {
        if let Some(binding) = self.binding {
            // A cwnd that is constant without a loss is a send buffer.
            let listed = match binding.constraint {
                Constraint::SendBuffer => Constraint::CongestionWindow,
                constraint => constraint,
            };
            let by_ack = self.by_found_ack.filter(|_| binding.released_by.is_some());
            let is_timed = matches!(listed, Constraint::Loss | Constraint::Cork);
            let at_its_end = is_timed.then_some(Allowance::At {
                time_ns: self.data.time_ns,
                by_frame: None,
                ack_delay_ns: None,
            });
            let release = self.releases.iter_mut().find(|(it, _)| *it == listed);
            if let Some((constraint, allowance)) = release {
                *constraint = binding.constraint;
                *allowance = by_ack.or(at_its_end).unwrap_or(*allowance);
            }
        }
        self.releases
            .sort_by_key(|(_, allowance)| allowance.order());
    }
}

/// Return the time at which the bottleneck had carried the previous packets.
fn link(data: &DataEvent, timing: &Timing, before: Option<&DataEvent>, route: &Route) -> Allowance {
    let of_others = others_before_ns(data, route);
    let is_behind_own = |it: &&DataEvent| of_others.is_none_or(|other_ns| other_ns <= it.time_ns);
    if before.is_none() && timing.pass_before_ns >= data.time_ns {
        return Allowance::Open;
    }
    Allowance::At {
        time_ns: timing.floor_ns,
        by_frame: before.filter(is_behind_own).map(|it| it.frame),
        ack_delay_ns: None,
    }
}

/// Return the time at which the right edge of the receive window reached the segment's end.
fn right_edge(data: &DataEvent, sender: &Sender, route: &Route) -> Allowance {
    if !sender.is_in_window(data.end) {
        return Allowance::NotShown;
    }
    let ack = sender.edge_frame(data.end);
    let ack = ack.and_then(|frame| sender.acks.by_frame(frame));
    ack.map_or(Allowance::Open, |ack| {
        Allowance::by_ack(ack, data.packet_bytes, route)
    })
}

/// Return the time at which an ACK reduced the flight before `end` to at most `window` bytes.
fn acked(end: i64, window: i64, data: &DataEvent, of: (&Sender, &Route)) -> Allowance {
    let (sender, route) = of;
    let ack = end.saturating_sub(window);
    if ack <= 1 {
        return Allowance::Open;
    }
    match sender.acks.first_of(ack) {
        Some((ack, true)) => Allowance::by_ack(ack, data.packet_bytes, route),
        Some((_, false)) => Allowance::Open,
        None => Allowance::NotShown,
    }
}

/// Return the time at which Nagle's algorithm allowed the segment.
fn nagle(data: &DataEvent, sender: &Sender, route: &Route) -> Allowance {
    let candidate = Candidate {
        end: data.end,
        is_short: data.end.saturating_sub(data.start) < data.full_bytes,
        snd_nxt: sender.snd_nxt,
        has_fin: data.has_fin,
    };
    let ack = sender.nagle.releasing_ack(candidate);
    ack.map_or(Allowance::Exempt, |ack| {
        acked(ack, 0, data, (sender, route))
    })
}
