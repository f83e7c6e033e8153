//! Properties of a flow's capture that limit its evidence.

use trace_model::{flags, Segment};

use super::copies::Copies;
use super::Flow;
use crate::local_acks::LocalAcks;
use crate::pure_acks::{Ack, PureAcks};
use tcptrace_tcp::{Cut, Side};

#[derive(Debug, Default)]
pub struct Properties {
    /// Packets that were captured several times.
    pub copies: Copies,
    /// Payload of captured segments that is not in the capture.
    pub cut: Cut,
    /// ACK statistics, boxed: a SYN flood has very many flows without them.
    acks: Option<Box<Acks>>,
}

/// ACKs of data in both directions.
#[derive(Debug, Default)]
struct Acks {
    of_client_data: PureAcks,
    of_server_data: PureAcks,
    local: LocalAcks,
}

impl Flow {
    /// Take a segment that starts at offset `start` and acknowledges up to `ack`.
    pub(super) fn note_properties(
        &mut self,
        side: Side,
        time_ns: i64,
        segment: &Segment<'_>,
        (start, ack): (i64, Option<i64>),
    ) {
        // The answer to a retransmitted SYN may come from the first SYN.
        if segment.has(flags::SYN) || segment.has(flags::RST) {
            return;
        }
        let is_client = side == self.client();
        let full = self.segment_size.full();
        let acks = self.properties.acks.get_or_insert_default();
        let (own, peers) = if is_client {
            (&mut acks.of_client_data, &mut acks.of_server_data)
        } else {
            (&mut acks.of_server_data, &mut acks.of_client_data)
        };
        let end = start.saturating_add(i64::from(segment.sequence_length()));
        if let Some(ack) = ack {
            peers.acknowledged(Ack::new(segment, ack, time_ns));
        }
        if end > start {
            own.sent(end, time_ns, full > 0 && segment.payload_bytes >= full);
        }
        match (is_client, segment.payload_bytes > 0) {
            (true, true) => acks.local.on_request(end, time_ns),
            (false, true) => acks.local.on_answer(time_ns),
            (false, false) => {
                let handshake_ns = self.setup.syn_to_syn_ack_ns();
                acks.local.on_ack(ack.unwrap_or(0), time_ns, handshake_ns);
            }
            (true, false) => {}
        }
    }

    /// Return whether the client and the server sent pure ACKs that the capture lacks.
    #[must_use]
    pub fn lacks_pure_acks(&self) -> (bool, bool) {
        let Some(acks) = &self.properties.acks else {
            return (false, false);
        };
        let rtt_ns = self
            .setup
            .initial_rtt_ns
            .filter(|_| !self.setup.was_resent());
        let of_client = acks.of_server_data.is_missing(rtt_ns);
        (of_client, acks.of_client_data.is_missing(rtt_ns))
    }

    /// Return the round trip to the server, if a middlebox near the client sends the ACKs of its data.
    #[must_use]
    pub fn round_trip_behind_local_acks_ns(&self) -> Option<i64> {
        let handshake_ns = self.setup.syn_to_syn_ack_ns()?;
        self.properties
            .acks
            .as_ref()?
            .local
            .round_trip_ns(handshake_ns)
    }
}
