//! When a sender went through what it had sent before its timer ran out.
//!
//! Theory of operation. Without selective ACKs all that was in flight when a timer ran out is to be sent again as ACKs
//! come, until all of it was or they cover it (RFC 6298, section 5.4; go-back-N). What is new waits until that is
//! over, however the window grows meanwhile: of connections that share it, others may have room in its slow start.
//! That the one segment which a timer's window has room for was all that its receiver lacked a sender learns by its ACK:
//! until then the window held it, though nothing new may have been written. Who has selective ACKs (RFC 2018) knows that.

use std::collections::VecDeque;

use super::{Data, Resent, Route, Timeline};
use crate::shared_windows::SlowStart;
use trace_model::rows::Cause;

/// Timers of a response: each waits for a second at the least (RFC 6298, section 2.4).
const GONE_BACK_MAX: usize = 64;

/// From when what a timer sent again came, until what was new did.
#[derive(Clone, Copy, Debug)]
struct Span {
    start_ns: i64,
    end_ns: i64,
    /// All up to here was in flight.
    until: i64,
    /// Neither the last of that has come again nor anything new.
    is_newest: bool,
    /// Selective ACKs have told its sender what of it need not be sent again.
    has_sack: bool,
}

#[derive(Debug, Default)]
pub(super) struct GoneBack {
    spans: VecDeque<Span>,
    /// When what is sent next could come, if its sender had gone through all that was in flight before.
    went_on_ns: Option<i64>,
}

impl GoneBack {
    fn newest(&mut self) -> Option<&mut Span> {
        self.spans.back_mut().filter(|it| it.is_newest)
    }

    /// A timer sent something again that came then, of what was in flight up to `until`.
    fn begins(&mut self, start_ns: i64, until: i64, has_sack: bool) {
        if self.newest().is_some_and(|it| it.until >= until) {
            return;
        }
        if self.spans.len() >= GONE_BACK_MAX {
            self.spans.pop_front();
        }
        self.spans.push_back(Span {
            start_ns,
            end_ns: i64::MAX,
            until,
            is_newest: true,
            has_sack,
        });
    }

    /// All up to `acked` was acknowledged; what that lets go comes then.
    fn acknowledged(&mut self, acked: i64, comes_ns: i64) {
        if let Some(it) = self.newest().filter(|it| it.until <= acked) {
            it.end_ns = it.end_ns.min(comes_ns);
        }
    }

    /// The last of it came, or something new, let go by an ACK of the connection or of another one.
    fn ends(&mut self, time_ns: i64, by_other: bool) {
        if let Some(it) = self.newest() {
            it.is_newest = false;
            it.end_ns = if by_other {
                it.end_ns.min(time_ns)
            } else {
                time_ns
            };
        }
    }

    /// When what is new could come at the soonest, behind what was to be sent again until an ACK covered that.
    fn goes_on(&self) -> Option<i64> {
        let newest = self
            .spans
            .back()
            .filter(|it| it.is_newest && !it.has_sack)?;
        Some(newest.end_ns).filter(|ns| *ns < i64::MAX)
    }

    pub(super) fn forget_before(&mut self, time_ns: i64) {
        while self.spans.front().is_some_and(|it| it.end_ns <= time_ns) {
            self.spans.pop_front();
        }
    }

    /// Memory that it takes.
    pub(super) fn held_bytes(&self) -> usize {
        size_of::<Span>().saturating_mul(self.spans.capacity())
    }

    /// What is left of a slow start for what is new.
    pub(super) fn leaves(&self, whole: SlowStart) -> impl Iterator<Item = SlowStart> {
        let mut left = Vec::new();
        let mut start_ns = whole.start_ns;
        for span in &self.spans {
            if span.start_ns < whole.end_ns && span.end_ns > start_ns {
                left.push(SlowStart {
                    start_ns,
                    end_ns: span.start_ns,
                    ..whole
                });
                start_ns = span.end_ns;
            }
        }
        left.push(SlowStart { start_ns, ..whole });
        left.into_iter().filter(|it| it.start_ns < it.end_ns)
    }
}

impl Timeline {
    /// Something is sent again: by a timer before other data that was in flight, or the last of that.
    pub(super) fn goes_back(&mut self, data: Resent, by_timer: bool) {
        let time_ns = data.at.time_ns;
        if data.end >= self.sent_until {
            self.gone_back.ends(time_ns, false);
        } else if by_timer && self.acked < self.sent_until {
            self.gone_back
                .begins(time_ns, self.sent_until, data.has_sack);
        }
    }

    pub(super) fn has_gone_back(&mut self, data: Data, route: Route) {
        let goes_on_ns = self.gone_back.goes_on();
        self.gone_back.went_on_ns = goes_on_ns.map(|ns| self.comes_ns(ns, route));
        self.gone_back.ends(data.at.time_ns, data.sharing.by_other);
    }

    /// What data waited for first that was written later: for the window, which had no room for what was to be sent
    /// again, though that had come.
    pub(super) fn waited_to_go_on(&self) -> Option<(Cause, i64)> {
        let went_on_ns = self.gone_back.went_on_ns?;
        Some((Cause::SendLimitedCwnd, went_on_ns))
    }

    pub(super) fn may_go_on(&mut self, time_ns: i64, acked: i64, route: Route) {
        // Near the sender an ACK has come when it goes by; near the receiver what it lets go comes a round trip later.
        let after_ns = if route.is_at_sender {
            0
        } else {
            route.rtt_ns()
        };
        self.gone_back
            .acknowledged(acked, time_ns.saturating_add(after_ns));
    }

    /// When the receiver has what goes by then.
    pub(super) fn comes_ns(&self, time_ns: i64, route: Route) -> i64 {
        let way_ns = if route.is_at_sender {
            self.way_ns(route)
        } else {
            0
        };
        time_ns.saturating_add(way_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(gone_back: &GoneBack, start_ns: i64, end_ns: i64) -> Vec<(i64, i64)> {
        let left = gone_back.leaves(SlowStart::between(start_ns, end_ns));
        left.map(|it| (it.start_ns, it.end_ns)).collect()
    }

    #[test]
    fn what_is_new_does_not_wait_in_slow_start_while_older_data_is_sent_again() {
        let until = (1 << 32) + 3000;
        let mut gone_back = GoneBack::default();
        assert_eq!(left(&gone_back, 10, 90), [(10, 90)]);
        gone_back.begins(20, until, false);
        gone_back.begins(30, until, false);
        gone_back.acknowledged(until - 1, 40);
        assert_eq!(left(&gone_back, 10, 90), [(10, 20)]);
        gone_back.acknowledged(until, 50);
        assert_eq!(left(&gone_back, 10, 90), [(10, 20), (50, 90)]);
        gone_back.ends(52, false);
        assert_eq!(left(&gone_back, 10, 90), [(10, 20), (52, 90)]);
    }

    #[test]
    fn what_another_connection_let_go_waited_in_slow_start_since_all_was_acknowledged() {
        let mut gone_back = GoneBack::default();
        gone_back.begins(20, 1 << 32, false);
        gone_back.acknowledged(1 << 32, 50);
        gone_back.ends(80, true);
        assert_eq!(left(&gone_back, 10, 90), [(10, 20), (50, 90)]);
    }

    #[test]
    fn what_is_new_may_go_once_an_ack_has_covered_what_was_to_be_sent_again_unless_that_was_told_of_before(
    ) {
        for (has_sack, acked, goes_on_ns) in [
            (false, 1 << 32, Some(50)),
            (false, (1 << 32) - 1, None),
            (true, 1 << 32, None),
        ] {
            let mut gone_back = GoneBack::default();
            gone_back.begins(20, 1 << 32, has_sack);
            gone_back.acknowledged(acked, 50);
            assert_eq!(gone_back.goes_on(), goes_on_ns);
            gone_back.ends(80, false);
            assert_eq!(gone_back.goes_on(), None);
        }
    }
}
