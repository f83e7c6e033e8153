//! The acknowledgments that reach a sender, and the constraint that one of them released for a segment.

use std::collections::vec_deque::{Iter, VecDeque};

use tcptrace_path::receiver::{is_acked_at_once, kind_of, AckKind};
use tcptrace_path::{Route, TOLERANCE_MIN_NS};
use tcptrace_sender::congestion::Phase;

use crate::bound::Short;
use crate::causes::Constraint;
use crate::learnt::Delays;
use crate::log::AckEvent;

/// Acknowledgments that a segment is compared with: those of a round trip before it.
const ACKS_COMPARED: usize = 256;
/// Segments whose arrival is remembered until they are acknowledged.
const OUTSTANDING_MAX: usize = 1 << 14;

/// An acknowledgment, and the sender's state until it came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ack {
    /// When the capture could see the answer of the least packet.
    pub(crate) at_ns: i64,
    pub(crate) time_ns: i64,
    pub(crate) frame: u64,
    pub(crate) ack: i64,
    pub(crate) window: i64,
    pub(crate) has_sack: bool,
    pub(crate) payload_bytes: u32,
    pub(crate) packet_bytes: u32,
    pub(crate) kind: AckKind,
}

/// A segment that is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outstanding {
    pub(crate) frame: u64,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) is_short: bool,
    /// When it was at the receiver, as an acknowledgment tells that the capture sees.
    pub(crate) there_ns: i64,
}

/// What released a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Release {
    pub(crate) constraint: Constraint,
    pub(crate) by_frame: u64,
    pub(crate) kind: AckKind,
    /// The stop of the congestion window that it ended.
    pub(crate) stop: Option<usize>,
    /// An idle period had thrown the window away that would have let the segment go.
    pub(crate) is_restarted: bool,
    /// The only segment in flight was full, and its acknowledgment delayed.
    pub(crate) waits_for_first: bool,
    /// Nagle's algorithm and the congestion window both explain it.
    pub(crate) is_tied: bool,
    /// Less of the receive window was free than a sender waits for, so as to send more at once.
    pub(crate) is_deferred: bool,
    /// The latest short segment that was outstanding until then.
    pub(crate) behind: Option<Short>,
}

impl Release {
    /// What held the segment, once the phase of the window is known: the receive window, if it was as large as one that
    /// does not grow.
    pub(crate) fn constraint_in(&self, phase: Phase) -> Constraint {
        match (self.constraint, phase) {
            (Constraint::CongestionWindow, Phase::Constant) if self.is_deferred => {
                Constraint::ReceiveWindow
            }
            (constraint, _) => constraint,
        }
    }
}

/// Acknowledgments on their way to the sender, and segments on theirs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Acks {
    /// Reached the sender, newest last.
    came: VecDeque<Ack>,
    /// Those that told nothing new but of a loss.
    repeated: VecDeque<Ack>,
    coming: VecDeque<Ack>,
    /// In the order of their ends.
    outstanding: VecDeque<Outstanding>,
    /// The end of the latest short one of them.
    short_end: i64,
    /// All that was acknowledged by the acknowledgments that the capture has seen.
    seen_ack: i64,
    pub(crate) delays: Delays,
    /// Payload of the largest segment that was acknowledged, or that a SACK must have reported.
    pub(crate) acked_segment_max: i64,
}

impl Acks {
    /// An acknowledgment passes the capture.
    pub(crate) fn on_event(&mut self, event: &AckEvent, route: &Route) {
        let there_ns = self.note_acked_segments(event);
        self.seen_ack = self.seen_ack.max(event.ack);
        let waited_ns = there_ns.map_or(0, |there_ns| event.time_ns.saturating_sub(there_ns));
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
            payload_bytes: event.payload_bytes,
            packet_bytes: event.packet_bytes,
            kind,
        });
    }

    /// Notes which segments have come to the receiver, and when the last one did. A SACK reports at least the smallest one
    /// behind the hole.
    fn note_acked_segments(&mut self, event: &AckEvent) -> Option<i64> {
        let size = |it: &Outstanding| it.end.saturating_sub(it.start);
        let covered = self.outstanding.iter().skip(self.acked_by(self.seen_ack));
        let covered = covered.take_while(|it| it.end <= event.ack);
        let mut there_ns = None;
        for segment in covered {
            there_ns = there_ns.max(Some(segment.there_ns));
            self.acked_segment_max = self.acked_segment_max.max(size(segment));
        }
        if event.has_sack {
            let behind = self.outstanding.iter().skip(self.acked_by(event.ack));
            let behind = behind.filter(|it| it.start > event.ack);
            let least = behind.map(size).min().unwrap_or(0);
            self.acked_segment_max = self.acked_segment_max.max(least);
        }
        there_ns
    }

    /// How many of the outstanding segments end by `ack`: they are in the order of their ends.
    fn acked_by(&self, ack: i64) -> usize {
        self.outstanding.partition_point(|it| it.end <= ack)
    }

    /// The next acknowledgment that has reached the sender by `time_ns`.
    pub(crate) fn next_by(&mut self, time_ns: i64) -> Option<Ack> {
        let ack = *self.coming.front().filter(|ack| ack.at_ns <= time_ns)?;
        self.coming.pop_front();
        let last = self.came.back();
        let edge = |it: &Ack| it.ack.saturating_add(it.window);
        if last.is_some_and(|last| ack.ack <= last.ack && edge(&ack) <= edge(last)) {
            self.repeated.push_back(ack);
            if self.repeated.len() > ACKS_COMPARED {
                self.repeated.pop_front();
            }
            return Some(ack);
        }
        self.came.push_back(ack);
        if self.came.len() > ACKS_COMPARED {
            self.came.pop_front();
        }
        Some(ack)
    }

    /// A new segment left.
    pub(crate) fn on_send(&mut self, segment: Outstanding) {
        let before = self.came.iter().rev().nth(2).map_or(0, |ack| ack.ack);
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

    /// What was sent again is there when the copy is: until then nothing behind it was acknowledged.
    pub(crate) fn on_repair(&mut self, start: i64, end: i64, there_ns: i64) {
        let unacked = self.outstanding.iter_mut().rev();
        let unacked = unacked.take_while(|it| it.end > start.max(self.seen_ack));
        for segment in unacked.filter(|it| it.start < end) {
            segment.there_ns = segment.there_ns.max(there_ns);
        }
    }

    /// The acknowledgment whose answer is nearest to `pass_ns`, within the tolerance, and that before it. Of several that came
    /// together the first one released what had stopped.
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
        for (place, ack) in self.came.iter().enumerate().rev() {
            let answer_ns = route
                .answer_ns(ack.time_ns, ack.packet_bytes, packet_bytes)
                .max(floor_ns);
            let late_ns = pass_ns.saturating_sub(answer_ns);
            if late_ns > tolerance_ns.saturating_add(unknown_ns) {
                break;
            }
            // The least round trip that was seen still holds what a host took to answer it.
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
        let nearest_ns = self.came.get(nearest)?.time_ns;
        let together = self.came.iter().take(nearest).rev();
        let together = together.take_while(|it| {
            let answer_ns = route.answer_ns(it.time_ns, it.packet_bytes, packet_bytes);
            nearest_ns.saturating_sub(it.time_ns) <= TOLERANCE_MIN_NS && answer_ns > since_ns
        });
        let place = nearest.saturating_sub(together.count());
        let ack = *self.came.get(place)?;
        let before = place.checked_sub(1).and_then(|at| self.came.get(at));
        Some((ack, before.copied()))
    }

    /// The first acknowledgment that was answered since `since_ns`, and that before it: of a segment that was then queued
    /// behind others until `pass_ns`.
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
        for (at, ack) in self.came.iter().enumerate().rev() {
            if answer_ns(ack) <= since_ns {
                break;
            }
            if answer_ns(ack) <= pass_ns.saturating_add(slack_ns) {
                place = Some(at);
            }
        }
        let place = place?;
        let before = place.checked_sub(1).and_then(|at| self.came.get(at));
        Some((*self.came.get(place)?, before.copied()))
    }

    /// Whether an acknowledgment that tells nothing new was answered at `pass_ns`.
    pub(crate) fn is_clocked(&self, pass_ns: i64, packet_bytes: u32, route: &Route) -> bool {
        let tolerance_ns = route.tolerance_ns();
        let answers = self.repeated.iter().rev();
        let mut late_ns = answers.map(|ack| {
            pass_ns.saturating_sub(route.answer_ns(ack.time_ns, ack.packet_bytes, packet_bytes))
        });
        late_ns.any(|late_ns| late_ns.abs() <= tolerance_ns)
    }

    /// The last acknowledgment before `pass_ns` whose answer was due after `since_ns`, and that before it.
    pub(crate) fn last_before(
        &self,
        pass_ns: i64,
        since_ns: i64,
        packet_bytes: u32,
        route: &Route,
    ) -> Option<(Ack, Option<Ack>)> {
        let place = self.came.iter().rposition(|ack| {
            let answer_ns = route.answer_ns(ack.time_ns, ack.packet_bytes, packet_bytes);
            answer_ns > since_ns && answer_ns <= pass_ns
        })?;
        let before = place.checked_sub(1).and_then(|at| self.came.get(at));
        Some((*self.came.get(place)?, before.copied()))
    }

    /// The acknowledgment in `frame`, if it is remembered.
    pub(crate) fn by_frame(&self, frame: u64) -> Option<&Ack> {
        let mut all = self.came.iter().chain(&self.repeated);
        all.find(|it| it.frame == frame)
    }

    /// The acknowledgment in `frame`, and that before it.
    pub(crate) fn answer(&self, frame: u64) -> Option<(Ack, Option<Ack>)> {
        let place = self.came.binary_search_by_key(&frame, |it| it.frame).ok()?;
        let before = place.checked_sub(1).and_then(|at| self.came.get(at));
        Some((*self.came.get(place)?, before.copied()))
    }

    /// The first acknowledgment of all before `ack`, and whether an earlier one is remembered.
    pub(crate) fn first_of(&self, ack: i64) -> Option<(&Ack, bool)> {
        let place = self.came.iter().position(|it| it.ack >= ack)?;
        let is_first = place > 0 || self.came.len() < ACKS_COMPARED;
        Some((self.came.get(place)?, is_first))
    }

    /// Segments before `snd_nxt` that were not acknowledged by `ack`.
    pub(crate) fn in_flight(&self, ack: i64) -> Iter<'_, Outstanding> {
        self.outstanding.range(self.acked_by(ack)..)
    }

    /// The latest short segment before `snd_nxt` that was not acknowledged by `ack`.
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

    /// What a window that `ack` released waited for: a delayed acknowledgment behind a short segment is a stall of its own,
    /// and so is one of the only full segment.
    pub(crate) fn of_delayed(&self, ack: &Ack, acked_before: i64, full_bytes: i64) -> Delayed {
        if !ack.kind.is_delayed() {
            return Delayed::No;
        }
        let flight = || self.in_flight(acked_before);
        let sizes = flight().map(|it| it.end.saturating_sub(it.start));
        let bytes = sizes.fold(0, i64::saturating_add);
        if is_acked_at_once(bytes, full_bytes) {
            return Delayed::No;
        }
        let has_short = flight().any(|it| it.is_short);
        let is_alone = flight().all(|it| it.there_ns <= ack.time_ns);
        match (has_short, is_alone, flight().len()) {
            (true, true, _) => Delayed::BehindShort,
            (false, _, 1) => Delayed::OfFirst,
            _ => Delayed::No,
        }
    }
}

/// What a delayed acknowledgment has to do with a window's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delayed {
    No,
    BehindShort,
    OfFirst,
}
