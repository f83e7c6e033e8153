//! A window that is as full with one connection as with several is one of all.
//!
//! Theory of operation. What a window or a buffer of one connection leaves no other can use: what all have in flight
//! together differs with how many they are. Where it is just as much whenever something stops them, though now one of
//! them has it in flight and then several, they share what limits them (RFC 2140, section 4; Eggert 1999, section 4).

use super::host_pair::HostPair;

/// Fewer segments may be as many by chance.
const SEGMENTS_MIN: i64 = 16;
/// How much more likely it is to find so many of these in flight, and no other number, if that is all there may be than
/// by chance, in eighths of a bit.
const SIGN: i64 = 32;

impl HostPair {
    /// What all had in flight has stopped them, as much had before: by the ACKs that went by until `heard_ns`, and but for
    /// so much that a connection goes on with.
    pub(super) fn are_full_together(&mut self, heard_ns: i64, full_bytes: i64, next: (u16, i64)) {
        let used = &self.window.used;
        let outstanding = used.outstanding();
        let is_large = outstanding >= full_bytes.saturating_mul(SEGMENTS_MIN);
        if !is_large || !used.would_fill_buffer(outstanding) {
            return;
        }
        let fillers = self.fillers(heard_ns, full_bytes, next);
        let before = self.window.fillers.replace(fillers);
        if before.is_some_and(|before| before != fillers) {
            self.is_sign_of_sharing(SIGN);
        }
    }

    /// Connections that have a full segment in flight, at the least.
    fn fillers(&self, heard_ns: i64, full_bytes: i64, (port, newly): (u16, i64)) -> usize {
        let heard = self.acks.partition_point(|ack| ack.time_ns <= heard_ns);
        let steps = self.acks.iter().zip(self.acks.iter().skip(1));
        let unheard = steps.skip(heard.saturating_sub(1));
        let flights = self.connections.iter().map(|it| {
            let own = unheard
                .clone()
                .filter(|(_, ack)| ack.client_port == it.client_port)
                .map(|(before, ack)| ack.acked.saturating_sub(before.acked));
            let next = if it.client_port == port { newly } else { 0 };
            own.fold(it.in_flight().saturating_sub(next), i64::saturating_add)
        });
        flights.filter(|bytes| *bytes >= full_bytes).count()
    }
}

#[cfg(test)]
mod tests {
    use super::super::ack::Ack;
    use super::super::connection::Connection;
    use super::*;
    use trace_model::SeqNumber;

    const MS: i64 = 1_000_000;
    const FULL: i64 = 1000;

    /// Whether two connections are known to share their window that had so many bytes each in flight whenever they were
    /// full.
    fn share(flights: &[(u32, u32)]) -> bool {
        let mut pair = HostPair::with_path(100 * MS);
        let first = SeqNumber(u32::MAX - 3000);
        for port in [1, 2] {
            let mut connection = Connection::new(0, (port, 80), SeqNumber(0), false);
            connection.acked = Some(first);
            pair.connections.push_back(connection);
        }
        for (one, other) in flights {
            for (connection, bytes) in pair.connections.iter_mut().zip([one, other]) {
                connection.next = Some(first.plus(*bytes));
            }
            pair.window.used.stops(1 + i64::from(*one + *other), 1000);
            pair.window
                .used
                .has_buffer_of(Some(i64::from(flights[0].0)));
            pair.are_full_together(0, FULL, (1, 0));
        }
        pair.is_shared
    }

    #[test]
    fn who_has_as_much_in_flight_alone_as_several_have_shares_its_window_with_them() {
        assert!(share(&[(16_000, 0), (12_000, 4000), (0, 16_000)]));
        assert!(!share(&[(16_000, 0), (12_000, 4000), (8000, 8000)]));
        assert!(!share(&[(16_000, 0), (16_000, 300), (16_000, 0)]));
        assert!(!share(&[(16_000, 0), (12_000, 3000), (0, 16_000)]));
        assert!(!share(&[(8000, 0), (6000, 2000), (0, 8000)]));
    }

    #[test]
    fn what_is_acknowledged_but_not_heard_of_yet_was_in_flight_and_what_goes_on_was_not() {
        let mut pair = HostPair::with_path(100 * MS);
        let first = SeqNumber(u32::MAX - 3000);
        let mut connection = Connection::new(0, (1, 80), SeqNumber(0), false);
        (connection.acked, connection.next) = (Some(first), Some(first.plus(1000)));
        pair.connections.push_back(connection);
        for (time_ns, acked) in [(10, 1000), (20, 2000)] {
            pair.acks.push_back(Ack::of_data(time_ns, 1, acked));
        }
        assert_eq!(pair.fillers(10, 2000, (1, 0)), 1);
        assert_eq!(pair.fillers(20, 2000, (1, 0)), 0);
        assert_eq!(pair.fillers(10, 2000, (1, 1000)), 0);
    }
}
