//! When an application wrote what an ACK let go, where it writes an answer piece by piece.
//!
//! Theory of operation. A short segment that is pushed leaves nothing in its sender's buffer, so what comes next was
//! written later. If an ACK let that go, it was written at some time before, which Nagle's algorithm hides. But an
//! application that pauses as long between any two writes shows how long that is: where a pause ended without an ACK,
//! and by how many pieces each ACK let go. Where neither tells, what follows a piece that was held itself was written at
//! any time since that left, in the middle of it on average. What follows the beginning of an answer was most likely
//! written with it, as a body is behind its head.

mod tempo;

use std::collections::VecDeque;

use trace_model::rows::Cause;

use self::tempo::{Due, Known, Tempo, Writes};
use super::super::acks::Acks;
use super::{Data, Route, Timeline};

/// Departures that are remembered ...
const DEPARTURES_MAX: usize = 1 << 10;
/// ... and that tell of one of them, to either side.
const NEIGHBOURS_MAX: usize = 32;
/// What comes so much later or sooner than an ACK lets it go, or by such a share of the path, may have waited for that: a
/// busy server takes as long, and round trips vary.
const NEAR_NS: i64 = 6_000_000;
const NEAR_SHARE: i64 = 10;

/// When a sender's buffer was empty behind each thing that it sent, and how long its application paused.
#[derive(Debug, Default)]
pub(super) struct Written {
    departures: VecDeque<Departure>,
    /// How long nothing but the application had held what came behind the beginning of an answer, and behind others.
    behind_opening: Known,
    between: Known,
}

/// What left together.
#[derive(Clone, Copy, Debug)]
struct Departure {
    /// When what is before it had left, and when it did itself, or the first of it.
    since_ns: i64,
    left_ns: i64,
    bytes: i64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Begins an answer.
    Opens,
    /// As it was written, behind an empty buffer.
    Free,
    /// When an ACK let it go, being short, behind an empty buffer.
    Held,
    Other,
}

impl Written {
    fn note(&mut self, departure: Departure) {
        if let Some(before) = self.departures.back() {
            let pause_ns = departure.left_ns.saturating_sub(before.left_ns);
            match (before.kind, departure.kind) {
                (Kind::Opens, Kind::Free) => self.behind_opening.note(pause_ns),
                (Kind::Free, Kind::Free) => self.between.note(pause_ns),
                _ => (),
            }
        }
        let is_of_same = |last: &&mut Departure| last.kind == departure.kind;
        if matches!(departure.kind, Kind::Opens | Kind::Other) {
            // Only the last of them tells of what follows.
            if let Some(last) = self.departures.back_mut().filter(is_of_same) {
                *last = departure;
                return;
            }
        }
        if self.departures.len() >= DEPARTURES_MAX {
            self.departures.pop_front();
        }
        self.departures.push_back(departure);
    }

    /// More left with the last, or was written with it.
    fn joins(&mut self, bytes: i64) {
        if let Some(last) = self.departures.back_mut() {
            last.bytes = last.bytes.saturating_add(bytes);
        }
    }

    /// Memory that it takes.
    pub(super) fn held_bytes(&self) -> usize {
        size_of::<Departure>().saturating_mul(self.departures.capacity())
    }

    /// When what left then was written, if an ACK let it go and it was not as soon as what is before it had left.
    fn written_ns(&self, left_ns: i64) -> Option<i64> {
        let at = self.departures.partition_point(|it| it.left_ns < left_ns);
        let held = self.departures.get(at)?;
        if held.left_ns != left_ns || held.kind != Kind::Held {
            return None;
        }
        let before = self.departures.get(at.checked_sub(1)?)?;
        let written_ns = match before.kind {
            Kind::Opens => {
                let pause_ns = self.behind_opening.pause_ns()?;
                before.left_ns.saturating_add(pause_ns)
            }
            Kind::Free => self.due(at).filter(|it| it.is_narrow)?.time_ns,
            Kind::Held => self.due(at).map_or_else(
                || {
                    let waited_ns = held.left_ns.saturating_sub(held.since_ns);
                    held.since_ns.saturating_add(waited_ns / 2)
                },
                |it| it.time_ns,
            ),
            Kind::Other => return None,
        };
        // What left before the next was due had been written with the one before.
        Some(written_ns.max(held.since_ns)).filter(|written_ns| *written_ns <= held.left_ns)
    }

    /// ... as what is around it tells, which was written piece by piece.
    fn due(&self, at: usize) -> Option<Due> {
        let is_written = |it: &&Departure| matches!(it.kind, Kind::Free | Kind::Held);
        let before = self.departures.range(..at).rev().take(NEIGHBOURS_MAX);
        let first = at.saturating_sub(before.take_while(is_written).count());
        let around = self.departures.range(first..).take_while(is_written);
        let around: Vec<_> = around.take(NEIGHBOURS_MAX * 2).copied().collect();
        let piece = piece_bytes(&around)?;
        let mut writes = Writes::default();
        let opening = first.checked_sub(1).and_then(|it| self.departures.get(it));
        if let Some(opening) = opening.filter(|it| it.kind == Kind::Opens && it.bytes >= piece) {
            writes.left_as_written(opening.left_ns);
        }
        let mut number = None;
        for (place, departure) in (first..).zip(&around) {
            if place == at {
                number = Some(writes.count());
            }
            let is_last = place.saturating_sub(first).saturating_add(1) == around.len();
            writes.left(departure, departure.pieces(piece, is_last));
        }
        let tempo = Tempo::of(&writes, self.between.pause_ns())?;
        Some(tempo.due(number?))
    }
}

impl Departure {
    /// How many pieces of so many bytes it is: the last one of an answer is what is left of that.
    fn pieces(&self, piece: i64, is_last: bool) -> i64 {
        let more = if is_last {
            piece.saturating_sub(1)
        } else {
            piece / 2
        };
        let whole = self.bytes.saturating_add(more).checked_div(piece);
        whole.unwrap_or(1).max(1)
    }
}

impl Writes {
    fn left(&mut self, departure: &Departure, pieces: i64) {
        match departure.kind {
            Kind::Free => self.left_as_written(departure.left_ns),
            _ => self.were_held(pieces, (departure.since_ns, departure.left_ns)),
        }
    }
}

/// How much is written at a time: the least that left, but for the last of an answer.
fn piece_bytes(departures: &[Departure]) -> Option<i64> {
    let whole = departures.len().saturating_sub(1).max(1);
    let bytes = departures.iter().take(whole).map(|it| it.bytes);
    bytes.min()
}

impl Timeline {
    /// Notes what `data` waited for.
    pub(super) fn note_written(
        &mut self,
        (data, is_answer): (Data, bool),
        told: Option<Cause>,
        route: Route,
        acks: &Acks,
    ) {
        let Some((before, was_full)) = self.sent else {
            return;
        };
        let bytes = i64::from(data.bytes);
        let sharing = data.sharing;
        let is_new =
            data.recovery.is_none() && !data.opens_hole && !sharing.by_other && !sharing.is_shared;
        let follows = told.is_none_or(|cause| cause == self.words.burst) || self.has_more;
        if follows && is_new && !is_answer {
            self.written.joins(bytes);
            return;
        }
        let is_short = !was_full && !data.is_full();
        let was_free = told == Some(self.words.idle) && !is_near_ack(data, route, acks);
        let kind = match told {
            _ if is_answer => Kind::Opens,
            _ if is_new && was_free => Kind::Free,
            Some(cause) if is_new && is_short && is_of_ack(cause) => Kind::Held,
            _ => Kind::Other,
        };
        self.written.note(Departure {
            since_ns: before.time_ns,
            left_ns: data.at.time_ns,
            bytes,
            kind,
        });
    }

    /// When what left then was written, as far as that was later than it seems.
    pub(in crate::waits) fn written_ns(&self, left_ns: i64) -> Option<i64> {
        self.written.written_ns(left_ns)
    }

    /// ... if this is what it waited for last.
    pub(in crate::waits) fn written_before_ns(&self, cause: Cause, left_ns: i64) -> Option<i64> {
        self.written_ns(left_ns).filter(|_| is_of_ack(cause))
    }
}

/// Whether an ACK may have let it go after all: a timer of the receiver has its own rhythm.
fn is_near_ack(data: Data, route: Route, acks: &Acks) -> bool {
    let path_ns = route.to_sender_ns;
    let slack_ns = NEAR_NS.saturating_add(path_ns / NEAR_SHARE);
    acks.let_go_within(data.at.time_ns, path_ns, slack_ns)
}

/// Whether what waited for that went when an ACK came.
fn is_of_ack(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::StallNagleHold
            | Cause::StallNagleDelayedAck
            | Cause::StallDelayedAckFirstSegment
            | Cause::SendLimitedSlowStart
            | Cause::SendLimitedCwnd
            | Cause::Unexplained
    )
}

#[cfg(test)]
mod tests;
