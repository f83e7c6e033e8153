//! Properties of the capture of a flow that spoil what it tells.

use trace_model::{flags, Segment};

use super::copies::Copies;
use super::Flow;
use crate::local_acks::LocalAcks;
use crate::pure_acks::{Ack, PureAcks};
use tcptrace_tcp::{Cut, Side};

#[derive(Debug, Default)]
pub struct Properties {
    /// Packets of it that were captured more than once.
    pub copies: Copies,
    /// Payload that was not captured of segments that were.
    pub cut: Cut,
    /// Boxed: of SYNs that nobody answers there may be very many.
    acks: Option<Box<Acks>>,
}

/// How data was acknowledged.
#[derive(Debug, Default)]
struct Acks {
    of_client_data: PureAcks,
    of_server_data: PureAcks,
    local: LocalAcks,
}

impl Flow {
    /// Notes a segment that starts at offset `start` and acknowledges up to `ack`.
    pub(super) fn note_properties(
        &mut self,
        side: Side,
        time_ns: i64,
        segment: &Segment<'_>,
        (start, ack): (i64, Option<i64>),
    ) {
        // A SYN that was sent again is answered when the first one was.
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
            (true, true) => acks.local.asked(end, time_ns),
            (false, true) => acks.local.answered(time_ns),
            (false, false) => {
                let handshake_ns = self.setup.syn_to_syn_ack_ns();
                acks.local
                    .acknowledged(ack.unwrap_or(0), time_ns, handshake_ns);
            }
            (true, false) => {}
        }
    }

    /// Of the client and of the server: whether it sent ACKs without data, none of which was captured.
    #[must_use]
    pub fn lacks_pure_acks(&self) -> (bool, bool) {
        let Some(acks) = &self.properties.acks else {
            return (false, false);
        };
        let rtt_ns = self
            .setup
            .initial_rtt_ns
            .filter(|_| !self.setup.was_resent());
        let of_client = acks.of_server_data.are_missing(rtt_ns);
        (of_client, acks.of_client_data.are_missing(rtt_ns))
    }

    /// The round trip to the server, if the ACKs of the client's data come from a middlebox nearer to the client.
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
