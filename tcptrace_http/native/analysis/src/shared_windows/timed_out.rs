//! Which missing packet a timer has sent again.

use tcptrace_tcp::TIMEOUT_MIN_NS;

use super::ack::Ack;
use super::departures::Left;
use super::host_pair::HostPair;
use super::timers::{is_backed_off, Timers};
use crate::jitter::CLOSE_NS;

/// What the least timer seems to have waited for at the least: when what it sends left, and when the ACK came that started
/// it, is known as closely as the way is.
pub(super) const LEAST_TIMER_NS: i64 = TIMEOUT_MIN_NS - CLOSE_NS;

/// A missing packet that a timer may have sent again, and the ACK that had let it go.
pub(super) struct TimedOut {
    pub(super) place: usize,
    pub(super) ack: Option<Ack>,
    /// The timer waited as long as others, to the millisecond.
    pub(super) is_exact: bool,
    /// What it waited for any of the packets that it may have sent again.
    pub(super) waits_ns: Vec<i64>,
}

/// How well a missing packet fits a timer that ran out: of two the one that is first where they differ first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    /// It has waited as long as other timers, to the millisecond.
    is_exact: bool,
    /// ... or nearly so.
    agrees: bool,
    /// It was missing right behind the newest data of its connection.
    is_next: bool,
    /// The likeliest ACK had let it go.
    is_likely: bool,
}

impl Fit {
    /// Which ACK was the likeliest tells only of the one packet which one had let it go.
    fn is_better(self, other: Fit, is_same_packet: bool) -> bool {
        let is_likely = self.is_likely && is_same_packet;
        Fit { is_likely, ..self } > other
    }
}

impl TimedOut {
    /// Whether a timer may have waited for it: where those of its host have waited for the same time, as a hole has shown
    /// as well, it has done so too, or is backed off (RFC 6298, section 5.5).
    pub(super) fn may_be_of(&self, timers: &Timers, shown_ns: Option<i64>) -> bool {
        let same_ns = shown_ns.and_then(|shown_ns| timers.same_ns(shown_ns));
        let Some(same_ns) = same_ns.filter(|_| self.ack.is_some()) else {
            return true;
        };
        self.waits_ns.iter().any(|ns| is_backed_off(*ns, same_ns))
    }

    /// Its application, or a clock of the sender, let it go.
    pub(super) fn without_ack(place: usize) -> Self {
        TimedOut {
            place,
            ack: None,
            is_exact: false,
            waits_ns: Vec::new(),
        }
    }
}

impl HostPair {
    /// The missing packet that a timer sent again, and the ACK that had let it go: that since which as much time has
    /// passed as before other timers, else one that was missing right behind what came of the connection at `since_ns`,
    /// else the oldest. An ACK of the connection's own data starts its timer again (RFC 6298, section 5.3), the newest
    /// at `acked_ns`.
    pub(super) fn timed_out(&self, left: Left, since_ns: i64, acked_ns: i64) -> Option<TimedOut> {
        let latest_ns = left.to_ns.saturating_sub(LEAST_TIMER_NS);
        let left_over = self.missing.left_over(since_ns);
        let left_over = left_over.filter(|(_, missing)| missing.from_ns <= latest_ns);
        let mut best: Option<(Fit, TimedOut)> = None;
        let mut note = |fit: Fit, it: TimedOut| {
            let is_better =
                |(most, best): &(Fit, TimedOut)| fit.is_better(*most, it.place == best.place);
            if best.as_ref().is_none_or(is_better) {
                best = Some((fit, it));
            }
        };
        let mut waits_ns = Vec::new();
        for (place, missing) in left_over {
            let by_place = Fit {
                is_exact: false,
                agrees: false,
                is_next: missing.after_ns == since_ns,
                is_likely: false,
            };
            note(by_place, TimedOut::without_ack(place));
            let likely_ns = self.likely_before(missing).map(|ack| ack.time_ns);
            let acks = self.acks_when(missing.left());
            for ack in acks.take_while(|ack| ack.time_ns <= latest_ns) {
                let waited_ns = |left_ns: i64| left_ns.saturating_sub(ack.time_ns.max(acked_ns));
                let bounds_ns = (waited_ns(left.from_ns), waited_ns(left.to_ns));
                let waited_ns = waited_ns(left.likely_ns);
                let exactly_ns = self.timers.exactly_ns(bounds_ns, waited_ns);
                let waited_ns = exactly_ns.unwrap_or(waited_ns);
                waits_ns.push(waited_ns);
                let fit = Fit {
                    is_exact: exactly_ns.is_some(),
                    agrees: self.timers.agree(waited_ns),
                    is_likely: likely_ns == Some(ack.time_ns),
                    ..by_place
                };
                let it = TimedOut {
                    ack: Some(*ack),
                    is_exact: exactly_ns.is_some(),
                    ..TimedOut::without_ack(place)
                };
                note(fit, it);
            }
        }
        best.map(|(_, it)| TimedOut { waits_ns, ..it })
    }

    /// Data comes that is sent again, or was missing of its connection: if a timer has sent it, that waited since an ACK
    /// that may have let it go, or a later one of its connection.
    pub(super) fn hole_timed_out(&mut self, ports: (u16, u16), left: Left, is_by_timer: bool) {
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return;
        };
        let (acked_ns, hole) = (connection.acked_ns, connection.hole_left.take());
        if !is_by_timer {
            return;
        }
        let let_go = hole.into_iter().flat_map(|hole| self.acks_when(hole));
        let started_ns = let_go.map(|ack| ack.time_ns.max(acked_ns));
        let waits_ns: Vec<i64> = started_ns
            .map(|ns| left.likely_ns.saturating_sub(ns))
            .collect();
        self.timers.ran_out(left.likely_ns, &waits_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn no_timer_waits_for_another_time_than_all_of_its_host() {
        let mut timers = Timers::default();
        for at_ms in [1000, 2000, 3000] {
            timers.ran_out(at_ms * MS, &[500 * MS]);
        }
        let waited = |waited_ms: i64, is_of_ack: bool| TimedOut {
            ack: is_of_ack.then(|| Ack::of_data(0, 1, 0)),
            waits_ns: vec![waited_ms * MS],
            ..TimedOut::without_ack(0)
        };
        let shown = Some(505 * MS);
        assert!(waited(500, true).may_be_of(&timers, shown));
        assert!(waited(1500, true).may_be_of(&timers, shown), "backed off");
        assert!(!waited(800, true).may_be_of(&timers, shown));
        assert!(waited(800, true).may_be_of(&timers, None), "not shown");
        assert!(
            waited(800, false).may_be_of(&timers, shown),
            "an application"
        );
    }

    #[test]
    fn the_least_timer_may_seem_to_have_waited_for_a_little_less() {
        for (waited_us, is_of_ack) in [(199_800, true), (199_000, false)] {
            let mut pair = HostPair::with_path(100 * MS);
            pair.acks.push_back(Ack::of_data(400 * MS, 1, 0));
            let left = |ns: i64| Left {
                from_ns: ns,
                to_ns: ns,
                likely_ns: ns,
            };
            pair.missing.note(0, 400 * MS, left(300 * MS));
            pair.missing.note(1, 550 * MS, left(450 * MS));
            let again = left(400 * MS + waited_us * 1000);
            let timed_out = pair.timed_out(again, 0, 0).unwrap();
            assert_eq!(timed_out.ack.is_some(), is_of_ack);
        }
    }

    #[test]
    fn of_several_packets_that_fit_as_well_a_timer_has_sent_the_oldest_again() {
        let fit = |is_exact: bool, is_likely: bool| Fit {
            is_exact,
            agrees: true,
            is_next: false,
            is_likely,
        };
        let (likely, unlikely) = (fit(false, true), fit(false, false));
        assert!(likely.is_better(unlikely, true), "of one packet");
        assert!(!likely.is_better(unlikely, false), "nor is it older");
        assert!(fit(true, false).is_better(likely, false));
    }
}
