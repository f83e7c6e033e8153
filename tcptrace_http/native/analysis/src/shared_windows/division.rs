//! Connections that divide a window between them: each has a part of its own, which grows when another one ends.
//!
//! Theory of operation. Where connections have one control block each, and share what these hold (RFC 2140, section 4),
//! a new one gets its part of all their windows, and one that ends leaves them its own. So an ACK of another lets data
//! go only if that is the last of its connection, while the ACKs of a window that all use (E-TCP) let go what any of
//! them has to send, also the beginning of an answer. Each has a phase of its own then.

use super::ack::{Ack, Release};
use super::connection::Connection;
use super::host_pair::HostPair;
use crate::jitter::CLOSE_NS;

/// So many times the end of another connection must have let go what lay in its sender's buffer: one may be chance.
const ENDS_MIN: u32 = 2;
/// Of so many times one other ACK may have come by chance when data left.
const CHANCE: u32 = 4;

/// Which ACKs of other connections have let data go.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Division {
    ends: u32,
    others: u32,
}

impl Division {
    /// An ACK of another connection let data go, which may have ended that, and which began an answer or lay in its
    /// sender's buffer.
    pub(super) fn lets_go(&mut self, is_end: bool, begins: bool) {
        let is_end = is_end && !begins;
        self.ends = self.ends.saturating_add(u32::from(is_end));
        self.others = self.others.saturating_add(u32::from(!is_end));
    }

    /// All have as much in flight as before, though they are more or fewer: what they use is one window.
    pub(super) fn is_refuted(&mut self) {
        self.others = u32::MAX;
    }

    fn is_shown(self) -> bool {
        self.ends >= ENDS_MIN && self.others.saturating_mul(CHANCE) <= self.ends
    }
}

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
    use super::*;
    use trace_model::SeqNumber;

    const MS: i64 = 1_000_000;

    /// What other connections' ACKs have let go, of which each may be an end, and may begin an answer.
    fn after(signs: &[(bool, bool)]) -> Division {
        let mut division = Division::default();
        for (is_end, begins) in signs.iter().copied() {
            division.lets_go(is_end, begins);
        }
        division
    }

    #[test]
    fn connections_divide_a_window_if_only_the_ends_of_others_let_go_what_lay_in_a_buffer() {
        let (end, opening, other) = ((true, false), (true, true), (false, false));
        assert!(!after(&[end]).is_shown());
        assert!(after(&[end, end]).is_shown());
        assert!(!after(&[end, end, other]).is_shown());
        assert!(!after(&[end, end, opening]).is_shown());
        assert!(after(&[end, end, other, end, end]).is_shown(), "by chance");
    }

    #[test]
    fn what_is_as_full_with_one_connection_as_with_several_is_not_divided() {
        let mut division = after(&[(true, false), (true, false)]);
        division.is_refuted();
        division.lets_go(true, false);
        assert!(!division.is_shown());
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
        pair.division = after(&[(true, false), (true, false)]);
        pair.has_learnt_of_sharing(true);
        assert!(pair.are_divided && !pair.is_shared);
        assert!(pair.is_let_go_by_end(Release::Other, Some(end)));
        assert!(!pair.is_let_go_by_end(Release::Other, Some(before)));
        assert!(!pair.is_let_go_by_end(Release::Own, Some(end)));
    }
}
