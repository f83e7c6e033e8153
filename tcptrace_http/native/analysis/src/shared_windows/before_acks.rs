//! What lay in a sender's buffer and left before any ACK can have let it go.
//!
//! Theory of operation. Who begins with a window of its own sends all of it at once; the next data leaves when the ACK of
//! the first comes back. What comes in between, and lay in the buffer for what came before was not pushed, neither waited
//! for an ACK nor for its writer: its sender spreads a window that it knows from connections before over a round trip
//! (Visweswaraiah and Heidemann 1997; Eggert 1999, section 3.1), or it stood before a slow link that is not known yet.
//! ACKs of other connections may have let it go where hosts share a window, and a request may have had more written.

use super::host_pair::HostPair;
use crate::jitter::CLOSE_NS;

impl HostPair {
    /// Nothing that a connection has sent can have been acknowledged yet when its newest packet left.
    pub(super) fn is_before_acks(&mut self, ports: (u16, u16)) -> bool {
        self.connection(ports.0, ports.1)
            .is_some_and(|it| it.beginning.is_before_acks())
    }

    /// Whether a packet that followed one before left when the server had heard nothing: no ACK, on whichever connection,
    /// and nothing of what the client has asked last on its own. Where it is not known what the link takes, that may have
    /// been at any time in between.
    pub(super) fn leaves_unheard(
        &self,
        (before_ns, time_ns): (i64, i64),
        asked_ns: i64,
        was_idle: bool,
    ) -> bool {
        let Some(to_server_ns) = self.to_server_ns else {
            return false;
        };
        // Two that were held each by itself tell nothing of the link.
        let largest_ns = self.pace.largest_ns();
        let largest_ns = largest_ns.filter(|it| *it < self.round_trip_ns());
        if largest_ns.is_some() && !was_idle {
            return false;
        }
        let close_ns = largest_ns.unwrap_or(0).saturating_add(CLOSE_NS);
        let since_ns = match largest_ns {
            Some(_) => time_ns.saturating_sub(close_ns).max(before_ns),
            None => before_ns,
        };
        let until_ns = time_ns.saturating_add(close_ns);
        let came_ns = |sent_ns: i64| sent_ns.saturating_add(to_server_ns);
        let was_asked = before_ns < came_ns(asked_ns) && came_ns(asked_ns) <= until_ns;
        let from = self
            .acks
            .partition_point(|ack| came_ns(ack.time_ns) < since_ns);
        let heard = self.acks.range(from..);
        let mut heard = heard.take_while(|ack| came_ns(ack.time_ns) <= until_ns);
        !was_asked && !heard.any(|ack| ack.is_new)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ack::Ack;
    use super::*;

    const MS: i64 = 1_000_000;

    /// Whether a packet left unheard that came at 1040 ms behind one at 1000 ms, 100 ms from the server; another
    /// connection's ACK and the question went by at these times.
    fn is_unheard((ack_ms, is_new): (i64, bool), asked_ms: i64) -> bool {
        let mut pair = HostPair::with_path(100 * MS);
        pair.acks.push_back(Ack {
            is_new,
            ..Ack::of_data(ack_ms * MS, 2, 0)
        });
        pair.leaves_unheard((1000 * MS, 1040 * MS), asked_ms * MS, true)
    }

    #[test]
    fn what_leaves_between_acks_and_questions_left_unheard() {
        assert!(is_unheard((850, true), 800));
        assert!(
            is_unheard((950, true), 800),
            "it is not with the server yet"
        );
        assert!(is_unheard((920, false), 800), "it tells nothing new");
    }

    #[test]
    fn an_ack_of_another_connection_or_a_question_in_between_may_have_let_it_go() {
        assert!(!is_unheard((920, true), 800));
        assert!(!is_unheard((850, true), 920));
    }

    #[test]
    fn of_a_link_that_is_known_only_what_found_it_idle_did_not_stand_before_it() {
        let mut pair = HostPair::with_path(100 * MS);
        assert!(pair.leaves_unheard((1000 * MS, 1040 * MS), 0, false));
        pair.pace.follows(2 * MS, 1000);
        assert!(pair.pace.largest_ns() < Some(pair.round_trip_ns()));
        assert!(!pair.leaves_unheard((1000 * MS, 1040 * MS), 0, false));
        assert!(pair.leaves_unheard((1000 * MS, 1040 * MS), 0, true));
    }
}
