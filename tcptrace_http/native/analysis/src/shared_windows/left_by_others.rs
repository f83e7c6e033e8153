//! A connection that has alone just what it had together with others.
//!
//! Theory of operation. A window of its own that was never lowered grows by a segment with each ACK of the connection's
//! own data (RFC 5681, section 3.1). One that has to itself exactly what it and others had in flight together a while
//! ago, and that would have grown to more by its own ACKs, has taken what the others left: there is one window for all
//! of them, and it does not grow (Eggert 1999, section 4).

use super::ack::Ack;
use super::host_pair::HostPair;
use super::largest::Flight;

impl HostPair {
    /// Whether the only one that has something of this flight has what several had of the first that was as large.
    pub(super) fn has_what_others_left(&self, flight: Flight, full_bytes: i64) -> bool {
        let Some(first) = self.largest.first() else {
            return false;
        };
        let is_alone = flight.senders == 1 && first.senders > 1;
        let reaches_back = |oldest: &Ack| oldest.time_ns <= first.asked_ns;
        let is_known = self.acks.front().is_some_and(reaches_back);
        if !is_alone || flight.bytes != first.bytes || !is_known {
            return false;
        }
        let sends = |client_port: u16, time_ns: i64| {
            let connection = self.connections.iter().find(|it| it.sent_ns > time_ns);
            connection.is_some_and(|it| it.client_port == client_port)
        };
        let own = |from_ns: i64, until_ns: i64| {
            self.acks_between(from_ns, until_ns)
                .filter(move |(_, ack)| ack.is_new && sends(ack.client_port, flight.asked_ns))
        };
        // What it had of the first flight came, and was acknowledged, before the answer that tells of that.
        let had = own(first.asked_ns, first.answered_ns)
            .map(|(before, ack)| ack.acked.saturating_sub(before.acked))
            .fold(0, i64::saturating_add);
        let opened = own(first.asked_ns, flight.asked_ns)
            .filter(|(_, ack)| ack.is_of_data)
            .fold(had, |bytes, _| bytes.saturating_add(full_bytes));
        opened >= flight.bytes.saturating_add(full_bytes)
    }

    /// ACKs of a time, each with the one before it.
    fn acks_between(&self, from_ns: i64, until_ns: i64) -> impl Iterator<Item = (&Ack, &Ack)> {
        let steps = self.acks.iter().zip(self.acks.iter().skip(1));
        let is_early = move |(_, ack): &(&Ack, &Ack)| ack.time_ns <= from_ns;
        steps
            .skip_while(is_early)
            .take_while(move |(_, ack)| ack.time_ns <= until_ns)
    }
}
