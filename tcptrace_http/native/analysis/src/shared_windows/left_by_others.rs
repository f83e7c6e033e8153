//! As much in flight as before, though other connections have it.
//!
//! Theory of operation. A window of its own that was never lowered grows by a segment with each ACK of the connection's
//! own data (RFC 5681, section 3.1). Where as many connections as before have exactly as much in flight, each may have
//! filled a buffer of its own. Where fewer or more have, and each of them would have grown to more by its own ACKs, they
//! have what others have left, or leave others room: there is one window for all, and it does not grow (Eggert 1999,
//! section 4).

use super::ack::Ack;
use super::host_pair::HostPair;
use super::largest::Flight;

impl HostPair {
    /// Whether not as many have this flight as had the first that was as large, and each less than it would have by then.
    pub(super) fn has_what_others_left(&self, flight: Flight, full_bytes: i64) -> bool {
        let Some(first) = self.largest.first() else {
            return false;
        };
        let reaches_back = |oldest: &Ack| oldest.time_ns <= first.asked_ns;
        let is_known = self.acks.front().is_some_and(reaches_back);
        if flight.senders == first.senders || flight.bytes != first.bytes || !is_known {
            return false;
        }
        let has_less = |client_port: u16| {
            let (had, has) = (
                self.own_bytes(client_port, first),
                self.own_bytes(client_port, flight),
            );
            let acks = self.own_acks(client_port, (first.asked_ns, flight.asked_ns));
            let would_have = acks
                .filter(|(_, ack)| ack.is_of_data)
                .fold(had, |bytes, _| bytes.saturating_add(full_bytes));
            would_have >= has.saturating_add(full_bytes)
        };
        let connections = self.connections.iter();
        let mut senders = connections.filter(|it| it.sent_ns > flight.asked_ns);
        senders.all(|it| has_less(it.client_port))
    }

    /// What a connection had of a flight: it came, and was acknowledged, before the answer that tells of that.
    fn own_bytes(&self, client_port: u16, flight: Flight) -> i64 {
        self.own_acks(client_port, (flight.asked_ns, flight.answered_ns))
            .map(|(before, ack)| ack.acked.saturating_sub(before.acked))
            .fold(0, i64::saturating_add)
    }

    /// ACKs of something new on a connection in a time, each with the one before it on whichever.
    fn own_acks(
        &self,
        client_port: u16,
        (from_ns, until_ns): (i64, i64),
    ) -> impl Iterator<Item = (&Ack, &Ack)> {
        let steps = self.acks.iter().zip(self.acks.iter().skip(1));
        steps
            .skip_while(move |(_, ack)| ack.time_ns <= from_ns)
            .take_while(move |(_, ack)| ack.time_ns <= until_ns)
            .filter(move |(_, ack)| ack.client_port == client_port && ack.is_new)
    }
}
