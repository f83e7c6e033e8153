//! The queue before the slowest link, which all connections of two hosts feed.

use super::rhythm::is_rhythm;
use crate::jitter::CLOSE_NS;

/// Scheduling on a host, and a packet of somebody else, make a shorter pause.
pub(super) const IDLE_MIN_NS: i64 = 500_000;

/// When the link was busy, as the packets show that come from it: it sends whatever waits without a pause, in the
/// order in which it came (a work-conserving queue).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue {
    /// When the newest packet had come.
    came_ns: Option<i64>,
    /// Since when the link has had something to send.
    pub(super) busy_since_ns: i64,
    /// ... and since when it had had before it was idle.
    was_busy_since_ns: i64,
    /// What let the first of it go, and how long after what went before the pause.
    pub(super) let_go: LetGo,
    period_ns: i64,
    /// That was as long as the pause before it, as exactly as hosts and captures are.
    is_exact: bool,
}

/// What let data go when the slowest link had nothing to send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LetGo {
    /// Unknown.
    #[default]
    None,
    Ack,
    /// A clock of the sender, which spreads its window over the round trip: there was no ACK, and the pause was as
    /// long as the one before.
    Pacer,
}

impl Queue {
    /// A packet came that takes so long on the link, if its rate is known: whether the link had had nothing to send
    /// before it.
    pub(super) fn was_idle(&mut self, time_ns: i64, takes_ns: Option<i64>) -> bool {
        let is_idle = self.is_idle_before(time_ns, takes_ns);
        self.came_ns = Some(time_ns);
        is_idle
    }

    /// ... if that came now.
    pub(super) fn is_idle_before(&self, time_ns: i64, takes_ns: Option<i64>) -> bool {
        let (Some(takes_ns), Some(before_ns)) = (takes_ns, self.came_ns) else {
            return false;
        };
        let idle_ns = time_ns.saturating_sub(before_ns).saturating_sub(takes_ns);
        idle_ns > takes_ns.max(IDLE_MIN_NS)
    }

    /// Since when the link has had something to send.
    pub(super) fn busy_since_ns(&self) -> i64 {
        self.busy_since_ns
    }

    /// Whether what comes since has come by a pacer's clock, in pauses that are the same as exactly as times are.
    pub(super) fn is_exactly_paced(&self) -> bool {
        self.let_go == LetGo::Pacer && self.is_exact
    }

    /// Since when the link had had something to send when a packet came before it was idle.
    pub(super) fn busy_before_ns(&self, came_ns: i64) -> i64 {
        came_ns.min(self.was_busy_since_ns)
    }

    #[cfg(test)]
    pub(super) fn is_idle_until(&mut self, time_ns: i64) {
        self.busy_since_ns = time_ns;
    }

    #[cfg(test)]
    pub(super) fn was_busy_since(&mut self, time_ns: i64) {
        self.was_busy_since_ns = time_ns;
    }

    /// The link was idle until a packet came that an ACK let go, or none.
    pub(super) fn resumes(&mut self, time_ns: i64, is_by_ack: bool, round_trip_ns: i64) {
        let period_ns = time_ns.saturating_sub(self.busy_since_ns);
        let off_ns = self.period_ns.saturating_sub(period_ns);
        self.is_exact = off_ns.saturating_abs() <= CLOSE_NS;
        let several = period_ns.saturating_mul(2) <= round_trip_ns;
        let is_paced = several && is_rhythm(self.period_ns, period_ns);
        self.let_go = match (is_by_ack, is_paced) {
            (true, _) => LetGo::Ack,
            (false, true) => LetGo::Pacer,
            (false, false) => LetGo::None,
        };
        self.was_busy_since_ns = self.busy_since_ns;
        (self.busy_since_ns, self.period_ns) = (time_ns, period_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn the_link_is_idle_between_packets_that_come_further_apart_than_the_later_one_takes() {
        let mut queue = Queue::default();
        assert!(!queue.was_idle(10 * MS, Some(4 * MS)));
        assert!(!queue.was_idle(14 * MS, Some(4 * MS)));
        assert!(queue.was_idle(24 * MS, Some(4 * MS)));
        assert!(!queue.was_idle(34 * MS, None));
    }

    #[test]
    fn a_pacers_clock_is_exact() {
        let mut queue = Queue::default();
        for (time_ns, is_by_ack, is_exact) in [
            (30 * MS, false, false),
            (60 * MS, false, true),
            (91 * MS, false, false),
            (122 * MS, true, false),
        ] {
            queue.resumes(time_ns, is_by_ack, 100 * MS);
            assert_eq!(queue.is_exactly_paced(), is_exact);
        }
    }

    #[test]
    fn pauses_without_an_ack_that_are_as_long_as_each_other_are_a_pacers() {
        let mut queue = Queue::default();
        for (time_ns, is_by_ack, let_go) in [
            (30 * MS, false, LetGo::None),
            (60 * MS, false, LetGo::Pacer),
            (90 * MS, true, LetGo::Ack),
            (180 * MS, false, LetGo::None),
        ] {
            queue.resumes(time_ns, is_by_ack, 100 * MS);
            assert_eq!(queue.let_go, let_go);
        }
    }
}
