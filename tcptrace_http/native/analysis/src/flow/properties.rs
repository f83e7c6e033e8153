//! Properties of the capture of a flow that spoil what it tells.

use trace_model::{flags, Segment};

use super::copies::Copies;
use super::Flow;
use crate::local_acks::LocalAcks;
use crate::pure_acks::{Ack, PureAcks};
use tcptrace_tcp::{Cut, Side};

#[derive(Clone, Copy, Debug, Default)]
pub struct Properties {
    /// Packets of it that were captured more than once.
    pub copies: Copies,
    /// Payload that was not captured of segments that were.
    pub cut: Cut,
    of_client_data: PureAcks,
    of_server_data: PureAcks,
    local_acks: LocalAcks,
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
        let is_client = side == self.client();
        let full = self.segment_size.full();
        let properties = &mut self.properties;
        let (own, peers) = if is_client {
            (
                &mut properties.of_client_data,
                &mut properties.of_server_data,
            )
        } else {
            (
                &mut properties.of_server_data,
                &mut properties.of_client_data,
            )
        };
        let end = start.saturating_add(i64::from(segment.sequence_length()));
        // A SYN that was sent again is answered when the first one was.
        let tells = !segment.has(flags::SYN) && !segment.has(flags::RST);
        if let Some(ack) = ack.filter(|_| tells) {
            peers.acknowledged(Ack::new(segment, ack, time_ns));
        }
        if end > start && tells {
            own.sent(end, time_ns, full > 0 && segment.payload_bytes >= full);
        }
        let acks = &mut properties.local_acks;
        match (
            is_client,
            segment.has(flags::SYN),
            segment.payload_bytes > 0,
        ) {
            (true, true, _) => acks.syn(time_ns),
            (false, true, _) => acks.syn_ack(time_ns),
            (true, _, true) => acks.asked(end, time_ns),
            (false, _, true) => acks.answered(time_ns),
            (false, _, false) => acks.acknowledged(ack.unwrap_or(0), time_ns),
            (true, _, false) => {}
        }
    }

    /// Of the client and of the server: whether it sent ACKs without data, none of which was captured.
    #[must_use]
    pub fn lacks_pure_acks(&self) -> (bool, bool) {
        let of = &self.properties;
        let rtt_ns = self
            .setup
            .initial_rtt_ns
            .filter(|_| !self.setup.was_resent());
        let of_client = of.of_server_data.are_missing(rtt_ns);
        (of_client, of.of_client_data.are_missing(rtt_ns))
    }

    /// The round trip to the server, if the ACKs of the client's data come from a middlebox nearer to the client.
    #[must_use]
    pub fn round_trip_behind_local_acks_ns(&self) -> Option<i64> {
        self.properties.local_acks.round_trip_ns()
    }
}
