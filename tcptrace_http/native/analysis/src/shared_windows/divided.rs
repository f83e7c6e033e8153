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

    /// Whether the connection of an ACK was over with that, or with what went together with it.
    pub(super) fn ends_connection(&self, ack: Ack) -> bool {
        let is_its_own = |it: &&Connection| it.client_port == ack.client_port;
        let connection = self.connections.iter().rev().find(is_its_own);
        let over_ns = connection.and_then(|it| it.over_ns);
        let after_ns = over_ns.map(|over_ns| over_ns.saturating_sub(ack.time_ns));
        after_ns.is_some_and(|it| it.saturating_abs() <= CLOSE_NS)
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
