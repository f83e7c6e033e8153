//! Whether an ACK of the server let data of the client go that was on another connection.
//!
//! Theory of operation. The client's connections may share their window as well (RFC 2140, section 4): an ACK of what
//! one of them has sent makes room for what another has. At the client what that lets go leaves when that comes.

use trace_model::rows::ObservationPoint;
use trace_model::{flags, Segment};

use super::host_pair::HostPair;
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
            self.answered = Some((time_ns, client_port));
            if segment.payload_bytes == 0 && question.is_all_with(segment.ack) {
                self.question_was_heard(time_ns, question);
            }
        }
    }

    /// Whether the server had acknowledged something of another connection right before the client sent this.
    pub(super) fn is_after_answer_to_other(&self, time_ns: i64, client_port: u16) -> bool {
        let place = observation_point(self.to_server_ns, self.to_client_ns);
        place == ObservationPoint::Client
            && self.answered.is_some_and(|(answered_ns, port)| {
                port != client_port && time_ns.saturating_sub(answered_ns) <= CLOSE_NS
            })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::segment;
    use super::*;
    use trace_model::{IpAddress, SeqNumber};

    const MS: i64 = 1_000_000;
    const NEAR_END: u32 = u32::MAX - 50;

    fn packet(client_port: u16, flags: u16, (seq, ack): (u32, u32)) -> Segment<'static> {
        Segment {
            source_port: client_port,
            destination_port: client_port,
            ..segment(flags, seq, ack, 0)
        }
    }

    #[test]
    fn at_the_client_data_leaves_with_an_ack_of_what_another_connection_had_sent() {
        let address = IpAddress::v4([10, 0, 0, 1]);
        let mut pair = HostPair::new(address, address);
        pair.to_server_ns = Some(100 * MS);
        pair.to_client_ns = Some(0);
        for client_port in [1, 2] {
            pair.heard(0, &packet(client_port, flags::SYN, (NEAR_END, 0)));
        }
        let port = |client_port| Segment {
            source_port: client_port,
            ..packet(client_port, flags::ACK, (0, NEAR_END.wrapping_add(1)))
        };
        pair.connections
            .iter_mut()
            .for_each(|it| it.server_port = it.client_port);
        pair.acknowledges_client(100 * MS, &port(1));
        assert!(
            !pair.is_after_answer_to_other(100 * MS, 2),
            "of a SYN alone"
        );
        let of_data = Segment {
            ack: SeqNumber(NEAR_END.wrapping_add(101)),
            ..port(1)
        };
        pair.acknowledges_client(200 * MS, &of_data);
        assert!(pair.is_after_answer_to_other(200 * MS, 2));
        assert!(!pair.is_after_answer_to_other(200 * MS, 1), "its own");
        assert!(!pair.is_after_answer_to_other(202 * MS, 2), "later");
        pair.acknowledges_client(300 * MS, &of_data);
        assert!(!pair.is_after_answer_to_other(300 * MS, 2), "nothing new");
    }
}
