//! Round trips of the server's data, as evidence of queues near the server.

use trace_model::Packet;

use super::Flow;
use crate::tables::Tables;

/// A receiver acknowledges at least every second full segment without delay (RFC 1122, section 4.2.3.2).
const PROMPT_SEGMENTS: u64 = 2;

/// Data that an ACK of the server's data covered.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckedData {
    /// Stream offset.
    pub(super) until: u64,
    pub(super) bytes: u64,
    /// Outstanding bytes before the ACK.
    pub(super) of_bytes: u64,
    pub(super) full_bytes: u32,
}

impl AckedData {
    /// Return whether the receiver had a reason for a prompt ACK: enough data, or more data behind it.
    fn is_prompt(self) -> bool {
        let full = u64::from(self.full_bytes);
        self.bytes < self.of_bytes || self.bytes >= full.saturating_mul(PROMPT_SEGMENTS)
    }
}

impl Flow {
    /// Take an ACK of the server's data; `sample` is the round trip of its last segment, if known.
    pub(super) fn note_round_trip(
        &mut self,
        packet: &Packet<'_>,
        acked: AckedData,
        rtt_ns: Option<i64>,
        tables: &mut Tables,
    ) {
        let path_rtt_ns = self.server_half().rtt.path_ns;
        let queues = &mut self.messages().queues;
        if let Some(rtt_ns) = rtt_ns.filter(|_| acked.is_prompt()) {
            let delay_ns = rtt_ns.saturating_sub(path_rtt_ns.unwrap_or(rtt_ns));
            queues.acknowledged(acked.until, packet.frame, packet.time_ns, delay_ns);
        }
        queues.finish_before(acked.until, &mut tables.of_flows.queues);
    }

    /// Finish the queue statistics: no further ACKs follow.
    pub(super) fn finish_queues(&mut self, tables: &mut Tables) {
        if let Some(messages) = self.messages.as_mut() {
            messages
                .queues
                .finish_before(u64::MAX, &mut tables.of_flows.queues);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ack_of_less_than_two_full_segments_may_be_delayed() {
        let is_prompt = |bytes, of_bytes| {
            let (until, full_bytes) = (9000, 1460);
            let acked = AckedData {
                until,
                bytes,
                of_bytes,
                full_bytes,
            };
            acked.is_prompt()
        };
        assert!(!is_prompt(1460, 1460));
        assert!(!is_prompt(2919, 2919));
        assert!(is_prompt(2920, 2920));
        assert!(is_prompt(1460, 2920));
    }
}
