//! ACKs that reach a sender, and the constraint that an ACK released for a segment.

use std::collections::vec_deque::{Iter, VecDeque};

use tcptrace_path::receiver::{is_acked_at_once, kind_of, AckKind};
use tcptrace_path::{Route, TOLERANCE_MIN_NS};
use tcptrace_sender::congestion::Phase;

use crate::bound::Short;
use crate::causes::Constraint;
use crate::learnt::Delays;
use crate::log::AckEvent;

/// Maximum number of ACKs compared with a segment: those of the preceding round trip.
const ACKS_COMPARED: usize = 256;
/// Maximum number of unacknowledged segments whose arrival is kept.
const OUTSTANDING_MAX: usize = 1 << 14;

/// ACK, and the sender's state before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    /// Time at which the capture could see an answer of the smallest packet.
    pub(crate) at_ns: i64,
    pub(crate) time_ns: i64,
    pub(crate) frame: u64,
    pub(crate) ack: i64,
    pub(crate) window: i64,
    pub(crate) has_sack: bool,
    pub(crate) has_echo: bool,
    pub(crate) payload_bytes: u32,
    pub(crate) packet_bytes: u32,
    pub(crate) kind: AckKind,
}

/// Unacknowledged segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutstandingSegment {
    pub(crate) frame: u64,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) is_short: bool,
    /// Time of arrival at the receiver, from an ACK in the capture.
    pub(crate) received_ns: i64,
}

/// Release of a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Release {
    pub(crate) constraint: Constraint,
    pub(crate) by_frame: u64,
    pub(crate) kind: AckKind,
    /// Index of the congestion window's stop that the release ended.
    pub(crate) stop: Option<usize>,
    /// True if an idle period had reset a cwnd that would have allowed the segment.
    pub(crate) is_restarted: bool,
    /// True if the only segment in flight was full and its ACK was delayed.
    pub(crate) waits_for_first: bool,
    /// True if Nagle's algorithm and cwnd both explain the wait.
    pub(crate) is_tied: bool,
    /// True if the free receive window was too small: the sender waited to send more at once.
    pub(crate) is_deferred: bool,
    /// Latest short segment that was outstanding before the release.
    pub(crate) behind: Option<Short>,
}

impl Release {
    /// Return the constraint in a known phase of the window.
    ///
    /// If the phase is constant and the receive window is as large, the constraint is the receive window.
    pub(crate) fn constraint_in(&self, phase: Phase) -> Constraint {
        match (self.constraint, phase) {
            (Constraint::CongestionWindow, Phase::Constant) if self.is_deferred => {
                Constraint::ReceiveWindow
            }
            (constraint, _) => constraint,
        }
    }
}

/// ACKs on their way to the sender, and segments on their way to the receiver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acks {
    /// ACKs that reached the sender, the newest last.
    arrived: VecDeque<Ack>,
    /// ACKs without new data that report a loss.
    repeated: VecDeque<Ack>,
    coming: VecDeque<Ack>,
    /// Outstanding segments in the order of their ends.
    outstanding: VecDeque<OutstandingSegment>,
    /// End of the latest short segment.
    short_end: i64,
    /// Highest ACK in the capture.
    seen_ack: i64,
    pub(crate) delays: Delays,
    /// Payload of the largest segment that was acknowledged or that a SACK must have reported.
    pub(crate) acked_segment_max: i64,
}

impl Acks {
    /// Take an ACK that passes the capture.
    pub(crate) fn on_event(&mut self, event: &AckEvent, route: &Route) {
        let received_ns = self.note_acked_segments(event);
        self.seen_ack = self.seen_ack.max(event.ack);
        let waited_ns =
            received_ns.map_or(0, |received_ns| event.time_ns.saturating_sub(received_ns));
        let kind = kind_of(waited_ns, event.payload_bytes > 0);
        if let AckKind::Delayed { by_ns } = kind {
            if event.payload_bytes == 0 {
                self.delays.on_delayed(by_ns, event.frame);
            }
        }
        self.coming.push_back(Ack {
            at_ns: event.time_ns.saturating_add(route.to_sender_ns),
            time_ns: event.time_ns,
            frame: event.frame,
            ack: event.ack,
            window: event.window,
            has_sack: event.has_sack,
            has_echo: event.has_echo,
            payload_bytes: event.payload_bytes,
            packet_bytes: event.packet_bytes,
            kind,
        });
    }

    /// Record the segments that reached the receiver, and return the last arrival time.
    ///
    /// A SACK reports at least the smallest segment behind the hole.
    fn note_acked_segments(&mut self, event: &AckEvent) -> Option<i64> {
        let size = |it: &OutstandingSegment| it.end.saturating_sub(it.start);
        let covered = self.outstanding.iter().skip(self.acked_by(self.seen_ack));
        let covered = covered.take_while(|it| it.end <= event.ack);
        let mut received_ns = None;
        for segment in covered {
            received_ns = received_ns.max(Some(segment.received_ns));
            self.acked_segment_max = self.acked_segment_max.max(size(segment));
        }
        if event.has_sack {
            let behind = self.outstanding.iter().skip(self.acked_by(event.ack));
            let behind = behind.filter(|it| it.start > event.ack);
            let least = behind.map(size).min().unwrap_or(0);
            self.acked_segment_max = self.acked_segment_max.max(least);
        }
        received_ns
    }

    /// Return the number of outstanding segments that end by `ack`; the segments are in the order of their
    /// ends.
    fn acked_by(&self, ack: i64) -> usize {
        self.outstanding.partition_point(|it| it.end <= ack)
    }

    /// Return the next ACK that has reached the sender by `time_ns`.
    pub(crate) fn next_by(&mut self, time_ns: i64) -> Option<Ack> {
        let ack = *self.coming.front().filter(|ack| ack.at_ns <= time_ns)?;
        self.coming.pop_front();
        let last = self.arrived.back();
        let edge = |it: &Ack| it.ack.saturating_add(it.window);
        if last.is_some_and(|last| ack.ack <= last.ack && edge(&ack) <= edge(last)) {
            self.repeated.push_back(ack);
            if self.repeated.len() > ACKS_COMPARED {
                self.repeated.pop_front();
            }
            return Some(ack);
        }
        self.arrived.push_back(ack);
        if self.arrived.len() > ACKS_COMPARED {
            self.arrived.pop_front();
        }
        Some(ack)
    }

    /// Take a new segment.
    pub(crate) fn on_send(&mut self, segment: OutstandingSegment) {
        let before = self.arrived.iter().rev().nth(2).map_or(0, |ack| ack.ack);
        while self.outstanding.front().is_some_and(|it| it.end <= before)
            || self.outstanding.len() > OUTSTANDING_MAX
        {
            self.outstanding.pop_front();
        }
        if segment.is_short {
            self.short_end = segment.end;
        }
        self.outstanding.push_back(segment);
    }

    /// Take a retransmission: its data arrives with the copy, and no data behind it was acknowledged before.
    pub(crate) fn on_repair(&mut self, start: i64, end: i64, received_ns: i64) {
        let unacked = self.outstanding.iter_mut().rev();
        let unacked = unacked.take_while(|it| it.end > start.max(self.seen_ack));
        for segment in unacked.filter(|it| it.start < end) {
            segment.received_ns = segment.received_ns.max(received_ns);
        }
    }

    /// Return the ACK whose answer is nearest to `pass_ns` within the tolerance, and the previous ACK.
    ///
    /// The first of several simultaneous ACKs released the segment.
    pub(crate) fn answered(
        &self,
        pass_ns: i64,
        (since_ns, floor_ns): (i64, i64),
        packet_bytes: u32,
        (route, tolerance_ns): (&Route, i64),
    ) -> Option<(Ack, Option<Ack>)> {
        let unknown_ns = route.unknown_ns(packet_bytes);
        let host_ns = route.host_ns();
        let mut best: Option<(i64, usize)> = None;
        for (place, ack) in self.arrived.iter().enumerate().rev() {
            let answer_ns = route
                .answer_ns(ack.time_ns, ack.packet_bytes, packet_bytes)
                .max(floor_ns);
            let late_ns = pass_ns.saturating_sub(answer_ns);
            if late_ns > tolerance_ns.saturating_add(unknown_ns) {
                break;
            }
            // The smallest round trip still includes the answer time of a host.
            let early_ns = (-late_ns).saturating_sub(host_ns);
            let off_ns = late_ns.saturating_sub(unknown_ns).max(-late_ns).max(0);
            let is_near = early_ns <= tolerance_ns;
            if is_near && best.is_none_or(|(least_ns, _)| off_ns < least_ns) {
                best = Some((off_ns, place));
            }
            if best.is_some_and(|(least_ns, _)| least_ns == 0) {
                break;
            }
        }
        let (_, nearest) = best?;
        let nearest_ns = self.arrived.get(nearest)?.time_ns;
        let together = self.arrived.iter().take(nearest).rev();
        let together = together.take_while(|it| {
            let answer_ns = route.answer_ns(it.time_ns, it.packet_bytes, packet_bytes);
            nearest_ns.saturating_sub(it.time_ns) <= TOLERANCE_MIN_NS && answer_ns > since_ns
        });
        let place = nearest.saturating_sub(together.count());
        let ack = *self.arrived.get(place)?;
        let before = place.checked_sub(1).and_then(|at| self.arrived.get(at));
        Some((ack, before.copied()))
    }

    /// Return the first ACK answered since `since_ns`, and the previous ACK.
    ///
    /// The answer was then queued behind other packets until `pass_ns`.
    pub(crate) fn answered_since(
        &self,
        since_ns: i64,
        pass_ns: i64,
        packet_bytes: u32,
        route: &Route,
    ) -> Option<(Ack, Option<Ack>)> {
        let answer_ns = |ack: &Ack| route.answer_ns(ack.time_ns, ack.packet_bytes, packet_bytes);
        let slack_ns = route.tolerance_ns();
        let mut place = None;
        for (at, ack) in self.arrived.iter().enumerate().rev() {
            if answer_ns(ack) <= since_ns {
                break;
            }
            if answer_ns(ack) <= pass_ns.saturating_add(slack_ns) {
                place = Some(at);
            }
        }
        let place = place?;
        let before = place.checked_sub(1).and_then(|at| self.arrived.get(at));
        Some((*self.arrived.get(place)?, before.copied()))
    }

    /// Return whether an ACK without news was answered at `pass_ns`.
    pub(crate) fn is_clocked(&self, pass_ns: i64, packet_bytes: u32, route: &Route) -> bool {
        let tolerance_ns = route.tolerance_ns();
        let answers = self.repeated.iter().rev();
        let mut late_ns = answers.map(|ack| {
            pass_ns.saturating_sub(route.answer_ns(ack.time_ns, ack.packet_bytes, packet_bytes))
        });
        late_ns.any(|late_ns| late_ns.abs() <= tolerance_ns)
    }

    /// Return the last ACK before `pass_ns` whose answer was due after `since_ns`, and the previous ACK.
    pub(crate) fn last_before(
        &self,
        pass_ns: i64,
        since_ns: i64,
        packet_bytes: u32,
        route: &Route,
    ) -> Option<(Ack, Option<Ack>)> {
        let place = self.arrived.iter().rposition(|ack| {
            let answer_ns = route.answer_ns(ack.time_ns, ack.packet_bytes, packet_bytes);
            answer_ns > since_ns && answer_ns <= pass_ns
        })?;
        let before = place.checked_sub(1).and_then(|at| self.arrived.get(at));
        Some((*self.arrived.get(place)?, before.copied()))
    }

    /// Return the ACK in `frame`, if it is in memory.
    pub(crate) fn by_frame(&self, frame: u64) -> Option<&Ack> {
        let mut all = self.arrived.iter().chain(&self.repeated);
        all.find(|it| it.frame == frame)
    }

    /// Return the ACK in `frame` and the previous ACK.
    pub(crate) fn answer(&self, frame: u64) -> Option<(Ack, Option<Ack>)> {
        let place = self
            .arrived
            .binary_search_by_key(&frame, |it| it.frame)
            .ok()?;
        let before = place.checked_sub(1).and_then(|at| self.arrived.get(at));
        Some((*self.arrived.get(place)?, before.copied()))
    }

    /// Return the first ACK of all data before `ack`, and whether an earlier ACK is in memory.
    pub(crate) fn first_of(&self, ack: i64) -> Option<(&Ack, bool)> {
        let place = self.arrived.iter().position(|it| it.ack >= ack)?;
        let is_first = place > 0 || self.arrived.len() < ACKS_COMPARED;
        Some((self.arrived.get(place)?, is_first))
    }

    /// Return the segments that `ack` does not cover.
    pub(crate) fn in_flight(&self, ack: i64) -> Iter<'_, OutstandingSegment> {
        self.outstanding.range(self.acked_by(ack)..)
    }

    /// Return the latest short segment that `ack` does not cover.
    pub(crate) fn short_in_flight(&self, ack: i64) -> Option<Short> {
        if self.short_end <= ack {
            return None;
        }
        let short = self.in_flight(ack).rev().find(|it| it.is_short)?;
        Some(Short {
            frame: short.frame,
            start: short.start,
            end: short.end,
        })
    }

    /// Return the role of a delayed ACK in a window's wait.
    ///
    /// A delayed ACK behind a short segment is a stall of its own. The delayed ACK of the only full segment
    /// is another.
    pub(crate) fn delayed_role(
        &self,
        ack: &Ack,
        acked_before: i64,
        full_bytes: i64,
    ) -> DelayedAckRole {
        if !ack.kind.is_delayed() {
            return DelayedAckRole::No;
        }
        let flight = || self.in_flight(acked_before);
        let sizes = flight().map(|it| it.end.saturating_sub(it.start));
        let bytes = sizes.fold(0, i64::saturating_add);
        if is_acked_at_once(bytes, full_bytes) {
            return DelayedAckRole::No;
        }
        let has_short = flight().any(|it| it.is_short);
        let is_alone = flight().all(|it| it.received_ns <= ack.time_ns);
        match (has_short, is_alone, flight().len()) {
            (true, true, _) => DelayedAckRole::BehindShort,
            (false, _, 1) => DelayedAckRole::OfFirst,
            _ => DelayedAckRole::No,
        }
    }
}

/// Role of a delayed ACK in a window's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DelayedAckRole {
    No,
    BehindShort,
    OfFirst,
}
