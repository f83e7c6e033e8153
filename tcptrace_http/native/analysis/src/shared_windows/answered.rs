//! Whether an ACK of the server let data of the client go that was on another connection.
//!
//! Theory of operation. The client's connections may share their window as well (RFC 2140, section 4): an ACK of what
//! one of them has sent makes room for what another has. At the client what that lets go leaves when that comes. At the
//! server it comes a round trip later, or right behind what has, for one ACK makes room for several.

use trace_model::rows::ObservationPoint;
use trace_model::{flags, Segment};

use super::host_pair::HostPair;
use super::server_acks::NewestData;
use crate::jitter::CLOSE_NS;
use crate::observation::observation_point;

impl HostPair {
    /// The server sends a segment.
    pub(super) fn acknowledges_client(&mut self, time_ns: i64, segment: &Segment<'_>) {
        if !segment.has(flags::ACK) {
            return;
        }
        let client_port = segment.destination_port;
        let Some(connection) = self.connection(client_port, segment.source_port) else {
            return;
        };
        if segment.ack.is_after(connection.answered) {
            connection.answered = segment.ack;
            let question = connection.question;
            self.server_acks.acknowledges(time_ns, client_port);
            if segment.payload_bytes == 0 && question.is_all_with(segment.ack) {
                self.question_was_heard(time_ns, question);
            }
        }
    }

    /// Whether the server had acknowledged something of another connection right before the client sent this.
    pub(super) fn is_after_answer_to_other(&mut self, time_ns: i64, segment: &Segment<'_>) -> bool {
        let client_port = segment.source_port;
        match observation_point(self.to_server_ns, self.to_client_ns) {
            ObservationPoint::Client => {
                let from_ns = time_ns.saturating_sub(CLOSE_NS);
                let server_acks = &self.server_acks;
                server_acks.has_answered_other(client_port, (from_ns, time_ns))
            }
            ObservationPoint::Server => self.comes_behind_answer(time_ns, segment),
            ObservationPoint::Middle | ObservationPoint::Unknown => false,
        }
    }

    /// ... as it comes to the server. What stood on the link behind its own beginning waited for that.
    fn comes_behind_answer(&mut self, time_ns: i64, segment: &Segment<'_>) -> bool {
        if segment.payload_bytes == 0 {
            return false;
        }
        let rtt_ns = self.round_trip_ns();
        let on_link_ns = self.asked.on_link_ns(segment.payload_bytes, rtt_ns);
        let late_ns = on_link_ns.saturating_add(CLOSE_NS);
        let known_ns = time_ns.saturating_sub(rtt_ns);
        let span = (known_ns.saturating_sub(late_ns), known_ns);
        let client_port = segment.source_port;
        let newest = self.server_acks.newest;
        let before = newest.filter(|it| time_ns.saturating_sub(it.time_ns) <= late_ns);
        let is_let_go = before.is_some_and(|it| it.is_let_go)
            || self.server_acks.has_answered_other(client_port, span);
        self.server_acks.newest = Some(NewestData {
            time_ns,
            client_port,
            is_let_go,
        });
        is_let_go && before.is_none_or(|it| it.client_port != client_port)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::segment;
    use super::*;
    use trace_model::IpAddress;

    const MS: i64 = 1_000_000;
    const NEAR_END: u32 = u32::MAX - 50;

    fn packet(client_port: u16, flags: u16, (seq, ack): (u32, u32)) -> Segment<'static> {
        Segment {
            source_port: client_port,
            destination_port: client_port,
            ..segment(flags, seq, ack, 0)
        }
    }

    /// Two connections that are open, seen where packets take so long to the server and to the client and back.
    fn opened(to_server_ms: i64, to_client_ms: i64) -> HostPair {
        let address = IpAddress::v4([10, 0, 0, 1]);
        let mut pair = HostPair::new(address, address);
        pair.to_server_ns = Some(to_server_ms * MS);
        pair.to_client_ns = Some(to_client_ms * MS);
        for client_port in [1, 2] {
            pair.heard(0, &packet(client_port, flags::SYN, (NEAR_END, 0)));
        }
        pair.connections
            .iter_mut()
            .for_each(|it| it.server_port = it.client_port);
        pair
    }

    /// The server has so many bytes of a connection.
    fn acknowledges(pair: &mut HostPair, time_ms: i64, client_port: u16, bytes: u32) {
        let ack = NEAR_END.wrapping_add(1).wrapping_add(bytes);
        let answer = packet(client_port, flags::ACK, (0, ack));
        pair.acknowledges_client(time_ms * MS, &answer);
    }

    /// Whether what the client sends on a connection is behind an answer to the other one.
    fn is_behind(pair: &mut HostPair, time_ms: i64, client_port: u16) -> bool {
        let data = Segment {
            payload_bytes: 100,
            ..packet(client_port, flags::ACK, (NEAR_END.wrapping_add(1), 1))
        };
        pair.is_after_answer_to_other(time_ms * MS, &data)
    }

    #[test]
    fn at_the_client_data_leaves_with_an_ack_of_what_another_connection_had_sent() {
        let mut pair = opened(100, 0);
        acknowledges(&mut pair, 100, 1, 0);
        assert!(!is_behind(&mut pair, 100, 2), "of a SYN alone");
        acknowledges(&mut pair, 200, 1, 100);
        assert!(is_behind(&mut pair, 200, 2));
        assert!(!is_behind(&mut pair, 200, 1), "its own");
        assert!(!is_behind(&mut pair, 202, 2), "later");
        acknowledges(&mut pair, 300, 1, 100);
        assert!(!is_behind(&mut pair, 300, 2), "nothing new");
    }

    #[test]
    fn at_the_server_data_comes_a_round_trip_behind_an_ack_of_what_another_connection_had_sent() {
        let mut pair = opened(0, 100);
        acknowledges(&mut pair, 100, 1, 0);
        assert!(!is_behind(&mut pair, 200, 2), "of a SYN alone");
        acknowledges(&mut pair, 200, 1, 100);
        assert!(!is_behind(&mut pair, 200, 2), "the client has not heard it");
        assert!(is_behind(&mut pair, 300, 2));
        acknowledges(&mut pair, 400, 1, 200);
        assert!(!is_behind(&mut pair, 500, 1), "its own");
        acknowledges(&mut pair, 600, 1, 300);
        assert!(!is_behind(&mut pair, 710, 2), "later");
    }

    #[test]
    fn at_the_server_what_one_ack_lets_go_comes_one_behind_the_other() {
        let mut pair = opened(0, 100);
        for (time_ms, bytes) in [(50, 100), (58, 100)] {
            pair.asked.heard(time_ms * MS, bytes, None);
        }
        acknowledges(&mut pair, 200, 1, 100);
        assert!(is_behind(&mut pair, 308, 2));
        assert!(is_behind(&mut pair, 316, 3));
        assert!(!is_behind(&mut pair, 324, 3), "with its own beginning");
        assert!(is_behind(&mut pair, 332, 4));
        assert!(!is_behind(&mut pair, 350, 5), "later");
    }
}
