//! Answers to SYNs that were missed.
//!
//! Theory of operation. A host answers SYNs in the order in which they come. So where a later SYN is answered and one
//! before it is not, that answer is one of the packets that are missing since the one before it came: no connection has
//! lost data with it. An answer that comes all the same, before its sender's timer can have run out, had been waiting
//! for its data (RFC 1644, section 3.2).

use tcptrace_tcp::TIMEOUT_MIN_NS;

use super::connection::Connection;
use super::departures::Left;
use super::host_pair::HostPair;
use crate::jitter::CLOSE_NS;

impl HostPair {
    /// The SYN of a connection is answered for the first time: those before it that are not, have been missed.
    pub(super) fn accounts_for_answers(&mut self, time_ns: i64, ports: (u16, u16)) {
        let is_it = |it: &Connection| (it.client_port, it.server_port) == ports;
        let Some(at) = self.connections.iter().position(is_it) else {
            return;
        };
        let to_server_ns = self.to_server_ns.unwrap_or(0);
        let may_wait_ns = to_server_ns.saturating_add(TIMEOUT_MIN_NS);
        let syn_ns = self.connections.get(at).map_or(0, |it| it.syn_ns);
        if time_ns.saturating_sub(syn_ns) < may_wait_ns {
            self.missing.was_no_answer(ports.0);
        }
        let mut since_ns = i64::MIN;
        for it in self.connections.iter().take(at) {
            match it.syn_ack_ns {
                Some(answered_ns) => since_ns = since_ns.max(answered_ns),
                None => self
                    .missing
                    .account_for_answer(it.client_port, since_ns.max(it.syn_ns)),
            }
        }
    }

    /// The SYN of a connection is answered with data, later than the path takes: ACKs of others may have told that the answer
    /// had been lost, before any timer ran out (E-TCP, section 3).
    pub(super) fn may_answer_again(&mut self, time_ns: i64, left: Left, ports: (u16, u16)) {
        let due_ns = self.full_way_ns().saturating_add(CLOSE_NS);
        let may_share = self.is_shared || self.evidence > 0 && !self.are_divided;
        let connection = self.connection(ports.0, ports.1);
        let syn_ns = connection.map(|it| it.syn_ns).filter(|_| may_share);
        let Some(syn_ns) = syn_ns.filter(|ns| time_ns.saturating_sub(*ns) > due_ns) else {
            return;
        };
        let Some((place, _)) = self.told_by(left, syn_ns, ports.0) else {
            return;
        };
        let is_new = self.is_of_later_flight(place);
        self.missing.account_for(place);
        self.closes((left, time_ns), 0, (is_new, false));
        self.had_loss |= self.is_shared;
    }
}
