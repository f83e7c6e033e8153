//! What the connections of two hosts divide (`Division`), and what the end of one lets go of the others.

use super::ack::{Ack, Release};
use super::connection::Connection;
use super::host_pair::HostPair;
use crate::jitter::CLOSE_NS;

impl HostPair {
    /// Whether flights tell of a window that connections share, all of it or what they divide.
    pub(super) fn are_sharing(&self) -> bool {
        self.is_shared || self.are_divided
    }

    /// Flights tell so now, or do not.
    pub(super) fn has_learnt_of_sharing(&mut self, are_sharing: bool) {
        self.are_divided = are_sharing && self.division.is_shown();
        self.is_shared = are_sharing && !self.are_divided;
    }

    /// Whether a connection was over with an ACK, or with what went together with it, on whichever connection: of ACKs
    /// that come together it is not known which one let data go.
    pub(super) fn ends_connection(&self, ack: Ack) -> bool {
        let is_then = |over_ns: i64| over_ns.abs_diff(ack.time_ns) <= CLOSE_NS.unsigned_abs();
        let is_over = |it: &Connection| it.over_ns.is_some_and(is_then);
        self.connections.iter().any(is_over)
    }

    /// Whether the end of another connection made the room for what comes now, which left with that ACK.
    pub(super) fn is_let_go_by_end(&self, release: Release, ack: Option<Ack>) -> bool {
        let is_end = ack.is_some_and(|ack| self.ends_connection(ack));
        self.are_divided && release == Release::Other && is_end
    }
}

#[cfg(test)]
mod tests {
    use super::super::division::Division;
    use super::*;
    use trace_model::SeqNumber;

    const MS: i64 = 1_000_000;

    #[test]
    fn of_acks_that_come_together_the_one_that_ends_a_connection_may_have_let_data_go() {
        let mut pair = HostPair::with_path(100 * MS);
        let mut connection = Connection::new(0, (2, 80), SeqNumber(0), false);
        connection.over_ns = Some(500 * MS);
        pair.connections.push_back(connection);
        for (after_us, is_end) in [(200, true), (600, false)] {
            let of_another = Ack::of_data(500 * MS + after_us * 1000, 3, 0);
            assert_eq!(pair.ends_connection(of_another), is_end);
        }
    }

    #[test]
    fn what_is_divided_is_not_shared_and_only_an_end_of_another_lets_its_data_go() {
        let mut pair = HostPair::with_path(100 * MS);
        let mut connection = Connection::new(0, (2, 80), SeqNumber(0), false);
        connection.over_ns = Some(500 * MS);
        pair.connections.push_back(connection);
        let (end, before) = (Ack::of_data(500 * MS, 2, 0), Ack::of_data(480 * MS, 2, 0));
        assert!(pair.ends_connection(end) && !pair.ends_connection(before));
        pair.has_learnt_of_sharing(true);
        assert!(pair.is_shared && !pair.is_let_go_by_end(Release::Other, Some(end)));
        pair.division = Division::default();
        for _ in 0..2 {
            pair.division.lets_go(true, false);
        }
        pair.has_learnt_of_sharing(true);
        assert!(pair.are_divided && !pair.is_shared);
        assert!(pair.is_let_go_by_end(Release::Other, Some(end)));
        assert!(!pair.is_let_go_by_end(Release::Other, Some(before)));
        assert!(!pair.is_let_go_by_end(Release::Own, Some(end)));
    }
}
