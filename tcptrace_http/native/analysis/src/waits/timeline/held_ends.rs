//! Whether a sender holds the short end of a write behind full segments.
//!
//! Theory of operation. Nagle's algorithm as RFC 896 has it holds what is short until all before it is acknowledged;
//! variants of it (Minshall 1999) hold it behind what is short only, and it may be off. Which one a sender has, the ends of
//! its writes show that have come: behind full segments they left with those, or when all was acknowledged. What is
//! written when nothing is on its way leaves with its end from BSD, which looks for that but once a write.

use super::super::acks::Acks;
use super::super::partition::Moment;
use super::{Data, Route, Timeline};
use trace_model::rows::Cause;

/// How the ends of writes came, behind full segments while something was on its way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HeldEnds {
    /// Where the burst before the newest data begins, and when that came.
    burst: Option<(i64, Moment)>,
    /// What that had waited for.
    waited_for: Option<Cause>,
    /// So many ends came when all before them was acknowledged, and so many with that.
    held: u32,
    at_once: u32,
}

impl HeldEnds {
    /// Whether the burst before the newest data had waited for the window in slow start.
    pub(super) fn are_of_slow_start(self) -> bool {
        self.waited_for == Some(Cause::SendLimitedSlowStart)
    }

    /// Whether each end of which that is known was held.
    fn are_held(self) -> bool {
        self.held > 0 && self.at_once == 0
    }
}

impl Timeline {
    /// Whether the short `data` would be held by an algorithm that waits for all: the full segments right before it left
    /// while something was on its way, or not with the same write.
    fn is_behind_full(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let is_behind = self.sent.is_some_and(|(_, was_full)| was_full)
            && self.has_more
            && self.sent_until == data.start();
        let Some((start, begun)) = self.held_ends.burst.filter(|_| is_behind) else {
            return false;
        };
        let was_idle = acks.acked_by(Acks::known_by(begun.time_ns, route.to_sender_ns)) >= start;
        !was_idle || self.pushes.end_between(start, self.sent_until)
    }

    /// Whether its sender is known to hold the short `data` until all before it is acknowledged, which is full.
    pub(super) fn holds_end(&self, data: Data, route: Route, acks: &Acks) -> bool {
        self.held_ends.are_held() && self.is_behind_full(data, route, acks)
    }

    /// Notes how the short end of a write came that seems to have waited for `told`.
    pub(super) fn note_end(
        &mut self,
        (data, is_answer): (Data, bool),
        told: Option<Cause>,
        route: Route,
        acks: &Acks,
    ) {
        self.count_end(data, told, route, acks);
        if told.is_some() || is_answer {
            self.held_ends.burst = Some((data.start(), data.at));
            self.held_ends.waited_for = told;
        }
    }

    fn count_end(&mut self, data: Data, told: Option<Cause>, route: Route, acks: &Acks) {
        let is_new = data.recovery.is_none() && !data.opens_hole && !data.is_above_nagle();
        let is_own = !route.is_at_sender && !data.sharing.is_shared;
        if !is_new || !is_own || !self.is_behind_full(data, route, acks) {
            return;
        }
        let ends = &mut self.held_ends;
        if told.is_none() {
            ends.at_once = ends.at_once.saturating_add(1);
        } else if self.let_go.is_some_and(|it| self.was_let_go_by(it)) {
            self.held_ends.held = self.held_ends.held.saturating_add(1);
        }
    }
}
