//! What comes from the client of a pair.

use trace_model::{flags, Segment};

use super::ack::Ack;
use super::connection::Connection;
use super::host_pair::HostPair;
use super::uplink::{Ahead, Leaving};

/// ACKs of a round trip of all connections of a pair.
const ACKS_MAX: usize = 256;
/// Connections of a pair that are followed: more than any browser opens to one host.
const CONNECTIONS_MAX: usize = 64;

impl HostPair {
    /// What a packet of the client stands behind on the link to the server, which is taken to be as slow as back.
    pub(super) fn leaves_client(&mut self, time_ns: i64, segment: &Segment<'_>) -> Ahead {
        let bytes = segment.payload_bytes;
        let ahead = self.uplink.leaves(Leaving {
            time_ns,
            client_port: segment.source_port,
            bytes,
            is_pushed: segment.has(flags::PSH),
            takes_ns: self.link.takes_ns(bytes, 1),
        });
        let connection = self.connection(segment.source_port, segment.destination_port);
        if let Some(connection) = connection {
            if bytes > 0 && connection.question.time_ns == time_ns {
                connection.question.ahead = ahead;
            }
            if segment.has(flags::FIN) {
                connection.ahead_of_fin = ahead.others;
            }
        }
        ahead
    }

    pub(super) fn heard(&mut self, time_ns: i64, segment: &Segment<'_>) {
        let gap_ns = self
            .asked
            .heard(time_ns, segment.payload_bytes, self.to_client_ns);
        if let Some(gap_ns) = gap_ns {
            self.asked_behind(gap_ns, segment);
        }
        let ports = (segment.source_port, segment.destination_port);
        if segment.has(flags::SYN) {
            self.opens(time_ns, ports, segment);
            return self.marks(time_ns, segment);
        }
        let had_loss = self.had_loss;
        let comes_ns = time_ns.saturating_add(self.full_way_ns());
        let to_server_ns = self.to_server_ns.unwrap_or(0);
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return;
        };
        if segment.payload_bytes > 0 {
            connection.may_answer_from(time_ns.saturating_add(to_server_ns));
            connection.is_asked = true;
            connection.question = connection.question.asked(time_ns, segment);
            connection.had_loss = had_loss;
        }
        if segment.has(flags::FIN) {
            connection.unheard_fin_ns = connection.fin_ns;
            connection.fin_ns.get_or_insert(time_ns);
        }
        if !segment.has(flags::ACK) {
            return;
        }
        let refused = connection.refuses(segment);
        let is_first = connection.acked.is_none();
        let had_acked = connection.acked.or(connection.first);
        let newly = had_acked.map_or(0, |acked| segment.ack.distance_from(acked));
        let is_new = connection
            .acked
            .is_none_or(|acked| segment.ack.is_after(acked));
        let ends_repair = is_new && connection.repairs(segment.ack);
        if is_first {
            connection.part.opened_ns = Some(time_ns);
        }
        if is_new {
            connection.acked = Some(segment.ack);
            connection.acked_ns = time_ns;
        }
        connection.may_be_over(time_ns);
        let had_data = connection.sent_ns > connection.syn_ns;
        let of_ns = connection.data_ns;
        let syn_ack_ns = connection
            .syn_ack_ns
            .filter(|_| !connection.is_opened_again);
        let is_recovered = connection.fast_recovery.ends(segment.ack, comes_ns);
        // That of a SYN opens no window (RFC 5681, section 3.1).
        let is_of_data = is_new && newly > i32::from(is_first);
        let is_of_data_behind_hole = !segment.options.sack.as_slice().is_empty();
        // What came behind a hole lets new data go as well (RFC 3042).
        if is_of_data || is_of_data_behind_hole {
            connection.beginning.is_acked(time_ns);
        }
        if is_of_data {
            self.phases.acknowledged(time_ns);
            self.largest.acknowledged();
            if is_recovered {
                self.threshold.is_window_at(time_ns);
                self.phases.has_reached_threshold(time_ns);
            }
        }
        self.sender_clock.hears(ports.0, segment.ack);
        let answered = syn_ack_ns.filter(|_| is_first);
        if let Some(back_ns) = answered.map(|then| time_ns.saturating_sub(then)) {
            self.came_back(back_ns, segment.payload_bytes);
        }
        // A SYN takes no room in a window.
        let newly = newly.saturating_sub(i32::from(answered.is_some()));
        let acked = self
            .room
            .acknowledges(i64::from(newly).saturating_add(refused));
        if self.acks.len() >= ACKS_MAX {
            self.acks.pop_front();
        }
        self.acks.push_back(Ack {
            time_ns,
            client_port: ports.0,
            is_new,
            is_of_data: had_data && (is_new || segment.payload_bytes == 0),
            ends_repair,
            ends_recovery: is_recovered,
            acked,
            of_ns,
        });
        if segment.has(flags::FIN) {
            self.marks(time_ns, segment);
        }
    }

    fn opens(&mut self, time_ns: i64, ports: (u16, u16), segment: &Segment<'_>) {
        let (mut gone, mut is_again) = (0_i64, false);
        self.connections.retain(|it| {
            let stays = (it.client_port, it.server_port) != ports;
            gone = gone.saturating_add(if stays { 0 } else { it.in_flight() });
            is_again |= !stays && it.syn_ack_ns.is_none();
            stays
        });
        if self.connections.len() >= CONNECTIONS_MAX {
            let oldest = self.connections.pop_front();
            gone = gone.saturating_add(oldest.map_or(0, |it| it.in_flight()));
        }
        self.room.acknowledges(gone);
        let mut connection = Connection::new(time_ns, ports, segment.seq.plus(1), self.had_loss);
        // A SYN may ask (RFC 1644, section 3.2; RFC 7413, section 4.2).
        connection.was_asked_by_syn = segment.payload_bytes > 0;
        connection.is_opened_again = is_again;
        self.connections.push_back(connection);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::segment;
    use super::*;
    use trace_model::SeqNumber;

    const NEAR_END: u32 = u32::MAX - 500;

    /// Whether what the server sends behind two packets, of which the client has acknowledged nothing in order, still left
    /// before the first ACK: with a SACK block of the second one, or with none.
    fn is_before_acks(tells_of_second: bool) -> bool {
        let mut pair = HostPair::with_path(0);
        let ports = (1, 80);
        let first = SeqNumber(NEAR_END);
        let mut connection = Connection::new(0, ports, SeqNumber(0), false);
        connection.acked = Some(first);
        for _ in 0..2 {
            connection.beginning.goes_on(1_000_000, 1000, 0);
        }
        pair.connections.push_back(connection);
        let mut ack = Segment {
            source_port: ports.0,
            destination_port: ports.1,
            ..segment(flags::ACK, 0, NEAR_END, 0)
        };
        if tells_of_second {
            ack.options.sack.push(first.plus(1000), first.plus(2000));
        }
        pair.heard(2_000_000, &ack);
        let connection = pair.connections.back_mut().unwrap();
        connection.beginning.goes_on(3_000_000, 1000, 0);
        connection.beginning.is_before_acks()
    }

    #[test]
    fn an_ack_of_what_came_behind_a_hole_lets_more_go_than_a_connection_began_with() {
        assert!(!is_before_acks(true));
        assert!(is_before_acks(false));
    }
}
