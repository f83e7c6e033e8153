//! A segment that was asked for: when each constraint allowed it, and which one bound it.
//!
//! Nothing is decided here. The times are those by which the replay decides, noted before the segment changes the
//! sender's state. The binding constraint is that of the span that ends with the segment.

use std::collections::VecDeque;

use tcptrace_path::receiver::AckKind;
use tcptrace_path::Route;
use tcptrace_sender::nagle::Candidate;
use trace_model::rows::{Cause, Constraint, Direction};

use crate::explained_stream::Span;
use crate::learnt::Learnt;
use crate::log::DataEvent;
use crate::partition::Wait;
use crate::profile::Profile;
use crate::release::{Ack, Release};
use crate::sender::Sender;
use crate::timing::{others_before_ns, Timing};

/// When a constraint allowed a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allowance {
    /// Before every acknowledgment that is remembered.
    Open,
    /// At `time_ns`, as the capture could see the segment.
    At {
        time_ns: i64,
        /// The acknowledgment, or the segment before.
        by_frame: Option<u64>,
        /// How long the receiver delayed that acknowledgment: 0, if it was prompt.
        ack_delay_ns: Option<i64>,
    },
    /// Not by what the capture had shown when the segment left.
    NotShown,
    /// The constraint does not hold such a segment.
    Exempt,
    /// The capture cannot show it.
    Unknown,
}

impl Allowance {
    /// When an acknowledgment allowed a segment of `packet_bytes`.
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

    /// Orders allowances by time; those without one come before or behind all.
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

/// What a segment waited for last.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    pub constraint: Constraint,
    pub cause: Cause,
    pub start_ns: i64,
    pub end_ns: i64,
    pub released_by: Option<u64>,
    pub confidence: f64,
}

/// A segment, the releases of its constraints in the order of time, and what they rest on.
#[derive(Clone, Debug)]
pub struct ExplainedSegment {
    pub data: DataEvent,
    pub direction: Direction,
    pub releases: Vec<(Constraint, Allowance)>,
    /// None, if nothing waited for the segment: it brought nothing new, or was lost.
    pub binding: Option<Binding>,
    /// Bytes in flight before it, and most bytes of which the congestion window was shown to have room.
    pub flight_bytes: i64,
    pub shown_bytes: i64,
    /// What was known of its sender and its path.
    pub profile: Profile,
    /// When the acknowledgment that the replay found allowed it.
    by_found_ack: Option<Allowance>,
}

/// The frame that a replay is asked for, and its segment once that has passed.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    frame: Option<u64>,
    segment: Option<Box<ExplainedSegment>>,
}

impl Asked {
    pub(crate) fn new(frame: Option<u64>) -> Self {
        Asked {
            frame,
            segment: None,
        }
    }

    /// A segment passes, and has not changed its sender's state yet; `before` is the segment before.
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

    /// The replay found what released the segment in `frame`.
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

    /// The replay is over, and explained by `spans`.
    pub(crate) fn explained(self, spans: &VecDeque<Span>) -> Option<Box<ExplainedSegment>> {
        let mut segment = self.segment?;
        segment.bind(spans);
        Some(segment)
    }
}

impl ExplainedSegment {
    /// Notes what is known of a segment before its sender's state changes.
    fn note(
        data: &DataEvent,
        timing: &Timing,
        sender: &Sender,
        before: Option<&DataEvent>,
        (direction, route): (Direction, &Route),
    ) -> Self {
        let learnt = Learnt {
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
                    // A segment may always be in flight.
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

    /// The replay found that an acknowledgment released the segment.
    fn release(&mut self, release: &Release, sender: &Sender, route: &Route) {
        let ack = sender.acks.by_frame(release.by_frame);
        self.by_found_ack = ack.map(|ack| Allowance::by_ack(ack, self.data.packet_bytes, route));
    }

    /// The replay is over: the span that ends with the segment tells what bound it.
    fn bind(&mut self, spans: &VecDeque<Span>) {
        let mut spans = spans.iter().rev();
        let span = spans.find(|span| span.end_frame == Some(self.data.frame));
        // The time before all data of a stream is told by its transaction.
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
        self.note_binding();
    }

    /// The segment opens its message: the waits of its transaction tell what bound it.
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
        self.note_binding();
    }

    /// Adds the flow-control window of HTTP/2 that held the segment, if one did: the replay knows of none.
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
        self.note_binding();
    }

    /// The binding constraint released the segment when the replay says so. Orders the releases by time.
    fn note_binding(&mut self) {
        if let Some(binding) = self.binding {
            // A congestion window that is constant without a loss is a send buffer.
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

/// When the slowest link had carried what passed before.
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

/// When the right edge of the receive window reached the segment's end.
fn right_edge(data: &DataEvent, sender: &Sender, route: &Route) -> Allowance {
    if !sender.is_in_window(data.end) {
        return Allowance::NotShown;
    }
    let ack = sender.edge_moved_by(data.end);
    let ack = ack.and_then(|frame| sender.acks.by_frame(frame));
    ack.map_or(Allowance::Open, |ack| {
        Allowance::by_ack(ack, data.packet_bytes, route)
    })
}

/// When so much was acknowledged that no more than `window` bytes before `end` were in flight.
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

/// When Nagle's algorithm allowed the segment.
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
