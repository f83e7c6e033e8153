//! Thresholds of connections that divide what they learn between them.
//!
//! Theory of operation. A new connection gets its part of what all others have, and leaves them theirs: the sum does not
//! grow by it (RFC 2140, section 4). One that opens while no other is there begins with what the last of those before it
//! had left (section 3). It does so when the client answers its SYN-ACK, before it has sent anything: others may have
//! been opened before it that have sent nothing yet either.

use super::connection::Connection;
use super::host_pair::HostPair;
use super::threshold::SEGMENTS_MIN;

fn ports_of(connection: &Connection) -> (u16, u16) {
    (connection.client_port, connection.server_port)
}

impl Connection {
    fn opened_ns(&self) -> i64 {
        self.part.opened_ns.unwrap_or(self.syn_ns)
    }

    fn is_over_at(&self, time_ns: i64) -> bool {
        self.over_ns.is_some_and(|over_ns| over_ns <= time_ns)
    }

    /// It has a part of what is divided anew when another one is opened.
    fn has_part_at(&self, time_ns: i64) -> bool {
        self.part.is_taken && self.opened_ns() <= time_ns && !self.is_over_at(time_ns)
    }

    /// It was there, or about to be opened.
    fn was_there_at(&self, time_ns: i64) -> bool {
        self.syn_ns <= time_ns && !self.is_over_at(time_ns)
    }
}

impl HostPair {
    /// A connection sends its first data: it took its part when it was opened, and before it did those that were opened
    /// before it and have sent nothing yet.
    pub(super) fn take_parts(&mut self, ports: (u16, u16)) {
        let before = self.connections.iter();
        let before = before.take_while(|it| ports_of(it) != ports);
        let opened = before.filter(|it| it.part.opened_ns.is_some() && !it.part.is_taken);
        let opened: Vec<_> = opened.map(ports_of).collect();
        for ports in opened.into_iter().chain([ports]) {
            self.takes_part(ports);
        }
    }

    fn takes_part(&mut self, ports: (u16, u16)) {
        let least = self.full_bytes().saturating_mul(SEGMENTS_MIN);
        let Some(opened_ns) = self.connection(ports.0, ports.1).map(|it| it.opened_ns()) else {
            return;
        };
        let has_part = |it: &Connection| ports_of(it) != ports && it.has_part_at(opened_ns);
        let others = self.connections.iter().filter(|it| has_part(it));
        let count = i64::try_from(others.clone().count()).unwrap_or(0);
        // One that knows of no threshold has the greatest there is.
        let sum: Option<i64> = others.map(|it| it.part.threshold).sum();
        let part = sum.and_then(|sum| sum.checked_div(count.saturating_add(1)));
        let threshold = match count {
            0 => self.left_by_last(),
            _ => part.map(|part| part.max(least)),
        };
        for connection in &mut self.connections {
            let is_new = ports_of(connection) == ports;
            if is_new || has_part(connection) && threshold.is_some() {
                connection.part.is_taken = true;
                connection.part.threshold = threshold;
            }
        }
    }

    /// Where slow start ended of the connection that was over last while no other one was there.
    fn left_by_last(&self) -> Option<i64> {
        let others_of = |it: &Connection| {
            let ports = ports_of(it);
            let others = self.connections.iter();
            others.filter(move |other| ports_of(other) != ports)
        };
        let over = self
            .connections
            .iter()
            .filter_map(|it| it.over_ns.zip(Some(it)));
        let was_last = |(over_ns, it): &(i64, &Connection)| {
            !others_of(it).any(|other| other.was_there_at(*over_ns))
        };
        let last = over.filter(was_last).max_by_key(|(over_ns, _)| *over_ns);
        last.and_then(|(_, it)| it.part.threshold)
    }
}

#[cfg(test)]
mod tests {
    use super::super::part::Part;
    use super::*;
    use trace_model::SeqNumber;

    const MS: i64 = 1_000_000;

    /// Connections of which these are known: their thresholds, when they were opened and when they were over, in
    /// milliseconds; a SYN takes 50.
    fn pair(connections: &[(Option<i64>, i64, Option<i64>)]) -> HostPair {
        let mut pair = HostPair::with_path(50 * MS);
        pair.pace.largest_bytes = 1000;
        for (port, (threshold, opened_ms, over_ms)) in (1..).zip(connections.iter().copied()) {
            let syn_ns = (opened_ms - 50) * MS;
            let mut connection = Connection::new(syn_ns, (port, 80), SeqNumber(0), false);
            connection.over_ns = over_ms.map(|it| it * MS);
            connection.part = Part {
                opened_ns: Some(opened_ms * MS),
                is_taken: threshold.is_some(),
                threshold,
            };
            pair.connections.push_back(connection);
        }
        pair
    }

    /// The thresholds of all once the last of them has sent its first data.
    fn thresholds(connections: &[(Option<i64>, i64, Option<i64>)]) -> Vec<Option<i64>> {
        let mut pair = pair(connections);
        pair.take_parts((connections.len() as u16, 80));
        let parts = pair.connections.iter();
        parts.map(|it| it.part.threshold).collect()
    }

    #[test]
    fn a_new_connection_takes_its_part_of_what_the_others_have_and_none_less_than_two_segments() {
        let (a, b) = ((Some(9000), 100, None), (Some(12_000), 150, None));
        let parts = thresholds(&[a, b, (None, 300, None)]);
        assert_eq!(parts, [Some(7000); 3]);
        let small = (Some(3000), 100, None);
        assert_eq!(thresholds(&[small, (None, 300, None)]), [Some(2000); 2]);
    }

    #[test]
    fn who_was_opened_before_it_and_has_sent_nothing_took_its_part_first() {
        let parts = thresholds(&[
            (Some(12_000), 100, None),
            (None, 290, None),
            (None, 300, None),
        ]);
        assert_eq!(parts, [Some(4000); 3]);
    }

    #[test]
    fn who_is_over_or_was_opened_later_has_no_part() {
        let over = (Some(9000), 100, Some(200));
        let parts = thresholds(&[over, (Some(12_000), 150, None), (None, 300, None)]);
        assert_eq!(parts, [Some(9000), Some(6000), Some(6000)]);
    }

    #[test]
    fn who_is_alone_begins_with_what_the_last_one_left_that_was_alone_as_well() {
        let (last, beside) = ((Some(9000), 100, Some(200)), (Some(5000), 90, Some(180)));
        let parts = thresholds(&[beside, last, (None, 300, None)]);
        assert_eq!(parts.last(), Some(&Some(9000)));
        let opening = (None, 240, Some(290));
        let parts = thresholds(&[(Some(9000), 100, Some(200)), opening, (None, 300, None)]);
        assert_eq!(parts.last(), Some(&None), "which another one was there for");
    }
}
