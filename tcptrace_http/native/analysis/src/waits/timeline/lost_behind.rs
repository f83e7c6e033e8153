//! Data that went by and was sent again: it was lost behind this point, or came.
//!
//! Theory of operation. An ACK that ends inside a copy was caused by what had been sent before it (see `acked_inside`): that
//! had come, though a timer too short for a slow link sent it again. So had what an ACK covers sooner than the path and its
//! link take for the copy (RFC 3522 tells the two by timestamps). And what fills a hole is acknowledged with all that had come
//! behind it: where the ACK of a copy ends right before data that had left before that copy, and turns out to have come as
//! well, the copy filled none.

use tcptrace_tcp::{DELAYED_ACK_MAX_NS, FULL_SEGMENT_BYTES};
use trace_model::rows::Cause;

use super::super::partition::{Moment, INFERRED};
use super::copies::{EARLY_DENOMINATOR, EARLY_NUMERATOR};
use super::{Piece, Resent, Route, Timeline};
use crate::jitter::AT_ONCE_MAX_NS;

/// A sender gives up after some fifteen times (Linux: tcp_retries2); Windows after five.
const TIMES_MAX: usize = 16;

/// Who is nearer than this share of the way to the sender is the receiver's host or stands beside it, as `recoveries`
/// has it.
const AT_RECEIVER_SHARE: i64 = 8;

/// What waited for a copy, if what had gone by before was lost.
#[derive(Clone, Copy, Debug)]
struct LostBehind {
    came: Moment,
    copied: Moment,
    start: i64,
    end: i64,
    /// The offset after all that had been sent before.
    sent_until: i64,
}

/// Those of which no ACK has told yet.
#[derive(Debug, Default)]
pub(super) struct AllLostBehind {
    untold: Vec<LostBehind>,
    /// The newest of which an ACK has told, which may be one of what had been sent before.
    told: Option<LostBehind>,
    /// A timer ran out too soon: all up to here was on its way.
    needless_until: i64,
}

impl LostBehind {
    /// Whether an ACK of all up to there is of none of this copy.
    fn ends_behind(self, acked: i64) -> bool {
        let is_one = self.end.saturating_sub(self.start) <= i64::from(FULL_SEGMENT_BYTES);
        is_one && self.start < acked && acked < self.end
    }
}

impl AllLostBehind {
    fn note(&mut self, lost: LostBehind) {
        if self.untold.len() >= TIMES_MAX {
            self.untold.clear();
        }
        self.untold.push(lost);
    }

    /// The newest of which an ACK of all up to `acked` tells that it was not needed: it covers a part of that, or comes too
    /// soon for it, as `is_early` has it.
    fn take_needless(
        &mut self,
        acked: i64,
        is_early: impl Fn(&LostBehind) -> bool,
    ) -> Option<LostBehind> {
        let is_needless =
            |it: &LostBehind| it.ends_behind(acked) || it.start < acked && is_early(it);
        let newest = *self.untold.last().filter(|it| is_needless(it))?;
        self.untold.pop();
        self.needless_until = newest.sent_until;
        Some(newest)
    }

    /// The copy before `next`, which was not needed, if that had been sent before it: what it would have filled was
    /// acknowledged without what is behind that.
    fn take_before(&mut self, next: LostBehind) -> Option<LostBehind> {
        let is_before = |it: &mut LostBehind| it.end == next.start && next.end <= it.sent_until;
        self.told.take_if(is_before)
    }

    fn acked(&mut self, acked: i64) {
        let told = self.untold.iter().rev().find(|it| it.end == acked);
        self.told = told.copied().or(self.told);
        self.untold.retain(|it| it.end > acked);
    }
}

/// Whether what had come by here since `came` may have been lost behind this point: at the receiver nothing is, be it
/// that its ACK is delayed still and that who sent it was told of a loss by ACKs of other connections (E-TCP, section
/// 3). What is not acknowledged when no ACK is delayed any longer (RFC 1122, section 4.2.3.2) its host threw away.
fn may_be_lost_behind(came: Moment, data: Resent, route: Route) -> bool {
    let after_ns = data.at.time_ns.saturating_sub(came.time_ns);
    let to_receiver_ns = route.to_receiver_ns.saturating_mul(AT_RECEIVER_SHARE);
    let is_at_receiver = to_receiver_ns <= route.to_sender_ns;
    after_ns
        > if is_at_receiver {
            DELAYED_ACK_MAX_NS
        } else {
            0
        }
}

impl Timeline {
    /// What is sent again was seen on its way, and lost behind the observation point.
    pub(super) fn was_lost_behind(&mut self, data: Resent, cause: Cause, route: Route) {
        let came = self.came;
        let Some(came) = came.filter(|came| may_be_lost_behind(*came, data, route)) else {
            return;
        };
        let lost = LostBehind {
            came,
            copied: data.at,
            start: data.start,
            end: data.end,
            sent_until: self.sent_until,
        };
        if self.goes_on_needlessly(data) {
            return self.lost_behind.note(lost);
        }
        self.push(Piece {
            start: came,
            end: data.at,
            cause,
            confidence: INFERRED,
            if_shared: None,
            waited: None,
            later_ns: 0,
        });
        self.came = Some(data.at);
        self.lost_behind.needless_until = 0;
        self.lost_behind.note(lost);
    }

    /// Whether an ACK lets it go, that of data which a timer had sent again needlessly: what had left by then is sent again as
    /// well (RFC 5682, section 1).
    fn goes_on_needlessly(&self, data: Resent) -> bool {
        let heard_ns = self.as_heard.newest_ns;
        let after_ns = heard_ns.map(|heard_ns| data.at.time_ns.saturating_sub(heard_ns));
        let is_let_go = after_ns.is_some_and(|it| it <= AT_ONCE_MAX_NS);
        is_let_go && data.start < self.lost_behind.needless_until
    }

    /// The receiver has all up to `acked`: nothing waited for copies that would have brought more, or bring it later.
    pub(super) fn hear_of_lost_behind(&mut self, time_ns: i64, acked: i64, route: Route) {
        if self.lost_behind.untold.is_empty() {
            return;
        }
        let mut all = std::mem::take(&mut self.lost_behind);
        let way_ns = route.to_receiver_ns;
        let link_ns = |bytes: i64| u32::try_from(bytes).map_or(0, |bytes| self.takes_ns(bytes));
        let is_early = |it: &LostBehind| {
            let takes_ns = link_ns(it.end.saturating_sub(it.start)).saturating_add(way_ns);
            let least_ns = takes_ns.saturating_mul(EARLY_NUMERATOR) / EARLY_DENOMINATOR;
            time_ns < it.copied.time_ns.saturating_add(least_ns)
        };
        let mut needless = Vec::new();
        while let Some(lost) = all.take_needless(acked, is_early) {
            needless.push(lost);
        }
        if let Some(before) = needless.last().and_then(|next| all.take_before(*next)) {
            needless.push(before);
        }
        all.acked(acked);
        self.lost_behind = all;
        for lost in needless {
            self.was_needless(lost);
        }
    }

    fn was_needless(&mut self, lost: LostBehind) {
        let of_copy = |it: &Piece| it.end == lost.copied && it.is_repair();
        if self.pieces.back().is_some_and(of_copy) {
            self.pieces.pop_back();
            self.came = Some(lost.came);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::{Data, Words};
    use super::*;
    use tcptrace_tcp::LastHeard;
    use trace_model::rows::RecoveryKind;

    const START: i64 = (1 << 32) - 400;

    /// How often a segment waited for a timer that sent it again so often, each time with so much that had left behind it,
    /// when so much was acknowledged.
    fn times_waited(copies: &[i64], acked: i64) -> usize {
        let route = Route::at_receiver(100);
        let mut timeline = Timeline::new(Words::OF_REQUESTS, Some(Moment::at_ms(0)));
        for end in [400, 1000, 7000] {
            let data = Data::at_ms(0, START + end);
            timeline.new_data(data, None, route, &Acks::default());
        }
        for (time_ms, bytes) in (1..).map(|time| 1000 * time).zip(copies) {
            let copy = Resent {
                at: Moment::at_ms(time_ms),
                start: START,
                end: START + bytes,
                recovery: Some(RecoveryKind::Unknown),
                heard: LastHeard::default(),
                has_sack: false,
                is_for_others: false,
                due_ns: None,
            };
            timeline.resent(copy, None, route);
        }
        timeline.acknowledged(Moment::at_ms(9000), START + acked, route);
        let pieces = timeline.between(0, i64::MAX);
        pieces.filter(|it| it.is_repair()).count()
    }

    #[test]
    fn an_ack_that_ends_inside_a_copy_is_of_what_was_sent_before_it() {
        assert_eq!(times_waited(&[1000], 1000), 1);
        assert_eq!(times_waited(&[1000], 400), 0);
    }

    #[test]
    fn of_two_copies_the_one_that_it_covers_brought_it() {
        assert_eq!(times_waited(&[1000, 1000], 400), 0);
        assert_eq!(times_waited(&[400, 1000], 400), 1);
        assert_eq!(times_waited(&[1000, 400], 400), 2);
    }

    #[test]
    fn a_copy_that_is_cut_into_segments_is_acknowledged_in_part() {
        assert_eq!(times_waited(&[7000], 400), 1);
    }
}
