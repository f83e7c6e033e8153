//! Whether a sender holds the short end of a write behind full segments.
//!
//! Theory of operation. Nagle's algorithm as RFC 896 has it holds what is short until all before it is acknowledged;
//! variants of it (Minshall 1999) hold it behind what is short only, and it may be off. Which one a sender has, the ends of
//! its writes show that have come: behind full segments they left with those, or when all was acknowledged. What is
//! written when nothing is on its way leaves with its end from BSD, which looks for that but once a write. All connections of a
//! host are alike; and where what is short was held behind what is short, the algorithm is on: the variant that lets ends
//! leave shows by the first of them.

use super::super::acks::Acks;
use super::super::partition::Moment;
use super::{Data, Route, Timeline, OPTIONS_BYTES};
use crate::used_window::Ends;
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
    /// Something short came when all before it was acknowledged, which was short as well.
    is_short_held: bool,
}

impl HeldEnds {
    /// Whether the burst before the newest data had waited for the window in slow start.
    pub(super) fn are_of_slow_start(self) -> bool {
        self.waited_for == Some(Cause::SendLimitedSlowStart)
    }

    /// What its connection shows others.
    pub(super) fn shown(self) -> Ends {
        Ends {
            are_held: self.held > 0 || self.is_short_held,
            are_sent: self.at_once > 0,
        }
    }

    /// Whether each end of which that is known was held, as far as these and those of `others` show.
    fn are_held(self, others: Ends) -> bool {
        let own = self.shown();
        let is_shown = own.are_held || others.are_held;
        is_shown && !own.are_sent && !others.are_sent
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
        let acked = acks.acked_by(Acks::known_by(begun.time_ns, route.to_sender_ns));
        // Behind a SYN that comes with data (RFC 1644) nothing is on its way that is written.
        let was_idle = acked.max(1) >= start;
        !was_idle || self.pushes.end_between(start, self.sent_until)
    }

    /// Whether its sender is known to hold the short `data` until all before it is acknowledged, which is full.
    pub(super) fn holds_end(&self, data: Data, route: Route, acks: &Acks) -> bool {
        self.held_ends.are_held(data.sharing.sockets.ends) && self.is_behind_full(data, route, acks)
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
        if told.is_some() && !is_answer {
            self.note_short(data, route);
        }
        if told.is_some() || is_answer {
            self.held_ends.burst = Some((data.start(), data.at));
            self.held_ends.waited_for = told;
        }
    }

    fn count_end(&mut self, data: Data, told: Option<Cause>, route: Route, acks: &Acks) {
        let is_own = is_own(data, route);
        if !is_own || !self.is_behind_full(data, route, acks) {
            return;
        }
        let ends = &mut self.held_ends;
        if told.is_none() {
            ends.at_once = ends.at_once.saturating_add(1);
        } else if self.let_go.is_some_and(|it| self.was_let_go_by(it)) {
            self.held_ends.held = self.held_ends.held.saturating_add(1);
        }
    }

    /// Notes whether something short, which is no answer, was held behind what is short.
    fn note_short(&mut self, data: Data, route: Route) {
        let was_short = self.sent_bytes.saturating_add(OPTIONS_BYTES) < data.full_bytes;
        let is_behind = was_short && self.sent_until == data.start();
        let was_held = || self.let_go.is_some_and(|it| self.was_let_go_by(it));
        self.held_ends.is_short_held |= is_own(data, route) && is_behind && was_held();
    }
}

/// Whether what is short tells, near the receiver, when its own connection let it go.
fn is_own(data: Data, route: Route) -> bool {
    let is_new = data.recovery.is_none() && !data.opens_hole && !data.is_above_nagle();
    is_new && !route.is_at_sender && !data.sharing.is_shared
}
