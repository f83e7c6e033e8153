//! Trackers of a flow's messages.

use tcptrace_tcp::{Class, Side};
use trace_model::{flags, Mark, Packet, Segment};

use super::Flow;
use crate::queues::Queues;
use crate::segmentation::{SentData, Tracker};

/// Trackers of both directions; an unanswered SYN has none, because a flood has very many.
#[derive(Debug, Default)]
pub(super) struct Messages {
    pub(super) requests: Tracker,
    pub(super) responses: Tracker,
    pub(super) queues: Queues,
    /// The client's last ACK of new data.
    pub(super) acked: Mark,
}

impl Messages {
    pub(super) fn tracker(&mut self, is_client: bool) -> &mut Tracker {
        if is_client {
            &mut self.requests
        } else {
            &mut self.responses
        }
    }

    pub(super) fn release(&mut self) {
        self.requests.release();
        self.responses.release();
    }

    pub(super) fn held_bytes(&self) -> u64 {
        self.requests
            .held_bytes()
            .saturating_add(self.responses.held_bytes())
            .saturating_add(self.queues.held_bytes())
    }
}

impl Flow {
    #[inline]
    pub(super) fn messages(&mut self) -> &mut Messages {
        self.messages.get_or_insert_default()
    }

    /// Track the server's data.
    pub(super) fn server_data(
        &mut self,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        start: i64,
        class: &Class,
    ) {
        if !class.is_new || class.gap_before_bytes > 0 {
            self.usage.server_loss_ns.get_or_insert(packet.time_ns);
        }
        self.segment_size.header(segment.header_bytes);
        let is_syn = segment.has(flags::SYN);
        if is_syn {
            self.segment_size.syn_header(segment.header_bytes);
        }
        // A retransmitted SYN-ACK may carry the server's first data, which the first SYN-ACK lacked (RFC
        // 1644, section 3.2).
        let is_first_on_syn = is_syn && !self.messages().responses.has_data();
        if !class.is_new && !is_first_on_syn {
            let next = stream_offset(self.server_half().sequence.next);
            self.messages().responses.on_retransmission(next);
            return;
        }
        self.segment_size.data(
            packet.frame,
            segment.payload_bytes,
            segment.has(flags::PSH),
            self.server_half().sequence.acked,
            start,
        );
        if !self.carried.has_messages() {
            return;
        }
        let full_bytes = self
            .segment_size
            .full_behind(segment.header_bytes, segment.payload_bytes);
        let side = self.client().other();
        let data = self.sent_data(side, packet, segment, (start, class), full_bytes);
        self.messages().responses.sent(data);
    }

    /// Track the client's data from its first segment on: a request may be split before it can be recognised.
    pub(super) fn client_data(
        &mut self,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        start: i64,
        class: &Class,
    ) {
        let ends_write = segment.has(flags::PSH);
        self.segment_size
            .client_data(segment.payload_bytes, ends_write);
        if self.carried.is_opaque {
            return;
        }
        if class.is_new {
            let full_bytes = self.segment_size.full();
            let side = self.client();
            let data = self.sent_data(side, packet, segment, (start, class), full_bytes);
            self.messages().requests.sent(data);
        } else {
            let next = stream_offset(self.client_half().sequence.next);
            self.messages().requests.on_retransmission(next);
        }
    }

    fn sent_data(
        &self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        (start, class): (i64, &Class),
        full_bytes: u32,
    ) -> SentData {
        let start = stream_offset(start);
        SentData {
            frame: packet.frame,
            time_ns: packet.time_ns,
            start,
            end: start.saturating_add(u64::from(segment.payload_bytes)),
            bytes: segment.payload_bytes,
            full_bytes,
            is_behind_gap: class.gap_before_bytes > 0,
            sender_rtt_ns: self.least_way_ns(side).unwrap_or(0),
        }
    }
}

/// Return the stream offset of a byte from its number in the half: the SYN is 0, the first byte is 1.
pub(super) fn stream_offset(offset: i64) -> u64 {
    u64::try_from(offset.saturating_sub(1)).unwrap_or(0)
}

/// Return the offset in the half of a stream offset.
pub(super) fn half_offset(place: u64) -> i64 {
    i64::try_from(place).unwrap_or(i64::MAX).saturating_add(1)
}
