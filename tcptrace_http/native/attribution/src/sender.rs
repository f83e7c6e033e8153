//! Sender during a replay: ACKs reach it, segments leave it, and each release has a constraint.

use tcptrace_path::Route;
use tcptrace_sender::congestion::{Stop, Window};
use tcptrace_sender::cork::Cork;
use tcptrace_sender::nagle::{Candidate, Hold, Nagle};
use tcptrace_sender::receive_window::{should_defer, ReceiveWindow};
use tcptrace_sender::restart::{may_restart, Idle};

use crate::causes::Constraint;
use crate::learnt::{Flight, LearntState};
use crate::log::DataEvent;
use crate::recovery::Recovery;
use crate::reduction::Reduction;
use crate::release::{Ack, Acks, DelayedAckRole, Release};

/// Maximum number of stops kept between messages.
const STOPS_KEPT: usize = 64;
/// Maximum number of ACKs whose previous right edge is kept.
const EDGES_MAX: usize = 512;

/// ACK and the previous ACK.
pub(crate) type AnswerPair = (Ack, Option<Ack>);

/// Right edge of the receive window before an ACK.
#[derive(Clone, Copy, Debug)]
struct EdgeBefore {
    frame: u64,
    right_edge: i64,
    is_zero: bool,
}

/// Sender state between two messages.
#[derive(Debug, Default)]
pub(crate) struct Sender {
    pub(crate) snd_una: i64,
    pub(crate) snd_nxt: i64,
    pub(crate) acks: Acks,
    /// Last ACK that reached the sender.
    last_ack: Option<Ack>,
    pub(crate) nagle: Nagle,
    pub(crate) cork: Cork,
    pub(crate) learnt: LearntState,
    pub(crate) window: Window,
    receive_window: ReceiveWindow,
    /// Edges, the newest last: frames and edges only increase.
    edges: Vec<EdgeBefore>,
    pub(crate) recovery: Recovery,
    pub(crate) stops: Vec<Stop>,
    new_acks: u32,
    epoch: u32,
    reduction: Reduction,
    /// Most bytes in flight, losses included.
    largest_bytes: i64,
    idle: Option<Idle>,
    /// Idle period that may have caused a restart; the next stop decides.
    pending_idle: Option<Idle>,
    /// True if no data was outstanding at the start of the current back-to-back segments.
    run_began_idle: bool,
}

impl Sender {
    /// Return the sender after it has sent up to `end`, without other state.
    pub(crate) fn resumed(self, end: i64) -> Self {
        Sender {
            snd_una: end,
            snd_nxt: end,
            nagle: self.nagle,
            cork: self.cork,
            learnt: self.learnt,
            reduction: self.reduction,
            epoch: self.epoch.saturating_add(1),
            ..Sender::default()
        }
    }

    /// Drop stops of old messages.
    pub(crate) fn forget_stops(&mut self, round_trip_ns: i64) {
        self.learnt.on_stops(&self.stops, round_trip_ns);
        let kept = self.stops.len().saturating_sub(STOPS_KEPT);
        self.stops.drain(..kept);
    }

    /// Return whether the receive window reaches `end`.
    pub(crate) fn is_in_window(&self, end: i64) -> bool {
        end <= self.receive_window.right_edge()
    }

    /// Return the frame of the ACK that moved the right edge to `end`, if it is in memory.
    pub(crate) fn edge_frame(&self, end: i64) -> Option<u64> {
        let at = self.edges.partition_point(|it| it.right_edge < end);
        let last = self.edges.get(at.checked_sub(1)?)?;
        Some(last.frame)
    }

    /// Take an ACK that reaches the sender.
    pub(crate) fn on_ack(&mut self, ack: &Ack) {
        let is_new = ack.ack > self.snd_una;
        if self.edges.len() >= EDGES_MAX {
            self.edges.drain(..EDGES_MAX / 2);
        }
        self.edges.push(EdgeBefore {
            frame: ack.frame,
            right_edge: self.receive_window.right_edge(),
            is_zero: self.receive_window.is_zero(),
        });
        let same_window = self.last_ack.is_some_and(|last| last.window == ack.window);
        self.receive_window.on_ack(ack.ack, ack.window, is_new);
        let bytes = ack.ack.saturating_sub(self.snd_una);
        self.learnt.on_ack(bytes, ack.window);
        if is_new {
            self.new_acks = self.new_acks.saturating_add(1);
            self.recovery.on_ack(ack.ack, ack.has_sack, ack.at_ns);
            self.window.on_ack(bytes, i64::MAX);
            self.snd_una = ack.ack;
        } else if ack.payload_bytes == 0 && same_window && ack.ack < self.snd_nxt {
            self.recovery.on_duplicate(ack.ack, ack.has_sack, ack.at_ns);
        }
        if ack.has_echo && self.reduction.on_echo(ack.ack, self.snd_nxt) {
            self.on_reduction();
        }
        self.last_ack = Some(*ack);
    }

    /// Take a loss.
    pub(crate) fn on_loss(&mut self) {
        self.learnt.on_loss();
        self.reduction.on_loss();
        self.on_reduction();
    }

    /// Take a reduction of cwnd: earlier flights no longer bound cwnd.
    fn on_reduction(&mut self) {
        self.epoch = self.epoch.saturating_add(1);
        self.window.begin_epoch();
        self.pending_idle = None;
        self.idle = None;
    }

    /// Take a new segment that is no retransmission, and return its release.
    ///
    /// `answered` is the ACK that the segment followed. `is_late` is true if the segment did not follow the previous segment
    /// directly.
    pub(crate) fn on_new(
        &mut self,
        data: &DataEvent,
        answered: Option<AnswerPair>,
        idle_ns: i64,
        is_late: bool,
        route: &Route,
    ) -> Option<Release> {
        self.snd_una = self.snd_una.max(1);
        let length = data.end.saturating_sub(data.start);
        let candidate = Candidate {
            end: data.end,
            is_short: length < data.full_bytes,
            snd_nxt: self.snd_nxt,
            has_fin: data.has_fin,
        };
        let nearest = answered;
        let answered = if is_late {
            self.window_answer(data, route)
                .or_else(|| nearest.and_then(|_| self.nagle_answer(data, candidate, route)))
                .or(nearest)
        } else {
            nearest
        };
        let was_idle = match answered {
            Some((_, before)) => before.map_or(0, |it| it.ack) >= self.snd_nxt,
            None => self.snd_una >= self.snd_nxt,
        };
        let is_idle = was_idle && self.snd_una >= self.snd_nxt;
        if is_idle && may_restart(idle_ns, route.round_trip_ns()) && self.snd_nxt > 1 {
            self.begin_idle(data.start);
        }
        let mut release =
            answered.and_then(|(ack, before)| self.release(data, candidate, &ack, before.as_ref()));
        // Another of several simultaneous ACKs may have released the segment, unless the sender is known to
        // hold.
        if let (Some(found), Some((nearest, _))) = (&mut release, nearest) {
            let is_of_several = nearest.frame != found.by_frame && !self.nagle.has_proven_holds();
            found.is_tied |= found.constraint == Constraint::Nagle && is_of_several;
        }
        if is_late || was_idle {
            // The ACK of all outstanding data also leaves the sender idle.
            let leaves_idle = answered.is_some_and(|(ack, _)| ack.ack >= self.snd_nxt);
            self.run_began_idle = was_idle || leaves_idle;
        }
        self.note_behind_short(candidate, release.as_ref(), is_late && answered.is_none());
        let is_chance = self.nagle.is_independent_of_acks();
        let release = release.filter(|it| it.constraint != Constraint::Nagle || !is_chance);
        self.nagle
            .on_send(candidate, self.snd_una, &mut self.run_began_idle);
        let flight = data.end.saturating_sub(self.snd_una);
        self.largest_bytes = self.largest_bytes.max(flight);
        let segments = self.acks.in_flight(self.snd_una).len().saturating_add(1);
        let segments = u32::try_from(segments).unwrap_or(u32::MAX);
        self.window.on_flight(flight, segments);
        let is_first = self.snd_una <= 1;
        let shown = Flight {
            bytes: data.end.saturating_sub(self.snd_una.max(1)),
            segments,
            frame: data.frame,
        };
        self.learnt.on_flight(shown, data.full_bytes, is_first);
        self.note_kept_window(flight);
        release
    }

    /// Return the ACK that opened the receive window for a segment, if the segment left then.
    ///
    /// The segment must have waited for this one of several possible ACKs (RFC 9293, section 3.8.6).
    fn window_answer(&self, data: &DataEvent, route: &Route) -> Option<AnswerPair> {
        let (ack, before) = self.acks.answer(self.edge_frame(data.end)?)?;
        let answer_ns = route.answer_ns(ack.time_ns, ack.packet_bytes, data.packet_bytes);
        let off_ns = data.time_ns.saturating_sub(answer_ns).abs();
        (off_ns <= route.tolerance_ns()).then_some((ack, before))
    }

    /// Return the ACK of the last short segment, if a short segment left then.
    ///
    /// Nagle's algorithm must have waited for this one of several simultaneous ACKs (Linux,
    /// tcp_minshall_check).
    fn nagle_answer(
        &self,
        data: &DataEvent,
        candidate: Candidate,
        route: &Route,
    ) -> Option<AnswerPair> {
        let released_by = self.nagle.releasing_ack(candidate)?;
        let (first, _) = self.acks.first_of(released_by)?;
        let (ack, before) = self.acks.answer(first.frame)?;
        let answer_ns = route.answer_ns(ack.time_ns, ack.packet_bytes, data.packet_bytes);
        let off_ns = data.time_ns.saturating_sub(answer_ns).abs();
        (off_ns <= route.tolerance_ns()).then_some((ack, before))
    }

    /// Return whether a cork may hold a segment: it follows a full segment, and the peer has sent only ACKs
    /// since.
    pub(crate) fn may_be_corked(&self, data: &DataEvent) -> bool {
        let is_behind_short = self.nagle.last_short_end() >= data.start;
        let follows_ack = self.last_ack.is_some_and(|it| it.payload_bytes == 0);
        follows_ack && !is_behind_short
    }

    /// Record whether a short segment behind a short segment waited for its ACK.
    ///
    /// A segment that begins a message behind the peer's data does not count.
    fn note_behind_short(
        &mut self,
        candidate: Candidate,
        release: Option<&Release>,
        is_written_later: bool,
    ) {
        let is_released = release.is_some_and(|it| it.constraint == Constraint::Nagle);
        let follows_ack = self.last_ack.is_some_and(|it| it.payload_bytes == 0);
        if candidate.is_short && follows_ack && (is_released || is_written_later) {
            self.nagle.on_behind_short(is_released);
        }
    }

    /// Record that an idle period kept cwnd: the flight is as large as before it, without an ACK.
    fn note_kept_window(&mut self, flight: i64) {
        let Some(idle) = self.pending_idle else {
            return;
        };
        let was_larger = idle.shown_bytes > self.learnt.first_flight.bytes;
        if was_larger && self.snd_una <= idle.start && flight >= idle.shown_bytes {
            self.learnt.kept_windows = self.learnt.kept_windows.saturating_add(1);
            self.pending_idle = None;
        }
    }

    /// End an idle period at data from `start` on, and keep the previous window.
    ///
    /// The previous window allows the flight that it had grown to. Beyond the receive window, growth counts
    /// up to twice the receive window: slow start doubles cwnd per round trip.
    fn begin_idle(&mut self, start: i64) {
        let offered = self.last_ack.map_or(i64::MAX, |it| it.window);
        let caught_up = offered.saturating_mul(2);
        let idle = Idle {
            start,
            edge: start.saturating_add(self.window.grown_bytes().min(caught_up)),
            shown_bytes: self.window.shown_bytes(),
        };
        self.pending_idle = Some(idle);
    }

    /// Return the constraint that `ack` released for the segment.
    fn release(
        &mut self,
        data: &DataEvent,
        candidate: Candidate,
        ack: &Ack,
        before: Option<&Ack>,
    ) -> Option<Release> {
        let acked_before = before.map_or(0, |it| it.ack).min(ack.ack);
        let flight = self.snd_nxt.saturating_sub(acked_before);
        let mut found = Release {
            constraint: Constraint::CongestionWindow,
            by_frame: ack.frame,
            kind: ack.kind,
            stop: None,
            is_restarted: false,
            waits_for_first: false,
            is_tied: false,
            is_deferred: false,
            behind: self.acks.short_in_flight(acked_before),
        };
        let edge = self.edges.binary_search_by_key(&ack.frame, |it| it.frame);
        if let Some(edge) = edge.ok().and_then(|at| self.edges.get(at)) {
            let free = edge.right_edge.saturating_sub(self.snd_nxt);
            found.is_deferred = should_defer(free, edge.right_edge.saturating_sub(acked_before));
            if data.end > edge.right_edge && edge.right_edge > 0 {
                found.constraint = if edge.is_zero {
                    Constraint::ZeroWindow
                } else if ack.ack == acked_before {
                    Constraint::Reader
                } else {
                    Constraint::ReceiveWindow
                };
                return Some(found);
            }
        }
        if ack.ack <= acked_before || flight <= 0 {
            return None;
        }
        let length = data.end.saturating_sub(data.start);
        let segments = self.acks.in_flight(acked_before).len().saturating_add(1);
        let segments = u32::try_from(segments).unwrap_or(u32::MAX);
        let has_room = self
            .window
            .has_room(flight.saturating_add(length), segments)
            || flight.saturating_add(length) <= data.full_bytes;
        let hold = self
            .nagle
            .hold_released_by(candidate, acked_before, ack.ack);
        let is_nagle = match hold {
            Hold::No => false,
            Hold::BehindShort => candidate.is_short || has_room,
            Hold::BehindAny => candidate.is_short && has_room,
        };
        if is_nagle {
            found.constraint = Constraint::Nagle;
            found.is_tied = !has_room || !candidate.is_short || self.nagle.is_write_clocked();
            let held = match hold {
                Hold::BehindAny => &mut self.learnt.held_behind_full,
                _ => &mut self.learnt.held_behind_short,
            };
            *held = held.saturating_add(1);
            return Some(found);
        }
        if has_room && ack.payload_bytes > 0 {
            return None;
        }
        self.window_stop(data, ack, flight, acked_before, &mut found);
        Some(found)
    }

    /// Record a stop of the congestion window at the segment; the stops around it give the phase.
    fn window_stop(
        &mut self,
        data: &DataEvent,
        ack: &Ack,
        flight: i64,
        acked_before: i64,
        found: &mut Release,
    ) {
        if let Some(idle) = self.pending_idle.take() {
            if flight.saturating_add(data.full_bytes) <= idle.shown_bytes {
                self.idle = Some(idle);
                self.learnt.restarts = self.learnt.restarts.saturating_add(1);
                self.reduction.on_restart();
                self.epoch = self.epoch.saturating_add(1);
                self.window.begin_epoch();
            }
        }
        found.is_restarted = self.idle.is_some_and(|idle| data.end <= idle.edge);
        match self.acks.delayed_role(ack, acked_before, data.full_bytes) {
            DelayedAckRole::BehindShort => {
                found.constraint = Constraint::Nagle;
                found.is_tied = true;
            }
            DelayedAckRole::OfFirst => found.waits_for_first = true,
            DelayedAckRole::No => {}
        }
        // Nagle's algorithm holds short segments and the data behind them.
        let is_full = data.end.saturating_sub(data.start) >= data.full_bytes;
        if acked_before <= 1 && is_full && found.behind.is_none() {
            let in_flight = self.acks.in_flight(acked_before.max(1));
            self.learnt.on_first_stop(Flight {
                bytes: self.snd_nxt.saturating_sub(1),
                segments: u32::try_from(in_flight.len()).unwrap_or(u32::MAX),
                frame: ack.frame,
            });
        }
        found.stop = Some(self.stops.len());
        self.stops.push(Stop {
            at_ns: ack.at_ns,
            flight_bytes: flight,
            acks: self.new_acks,
            epoch: self.epoch,
            was_reduced: self.reduction.was_reduced,
            was_marked: self.reduction.is_by_mark_before(acked_before),
            largest_bytes: self.largest_bytes,
        });
    }
}
