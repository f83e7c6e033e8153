//! Packets that were captured several times: they are counted and have no other effect.

use trace_model::{flags, AnomalyKind, Packet, Segment};

use super::Flow;
use crate::tables::Tables;
use tcptrace_tcp::Class;
use tcptrace_tcp::Side;

#[derive(Clone, Copy, Debug, Default)]
pub struct Copies {
    pub count: u64,
    first_frame: Option<u64>,
}

impl Copies {
    /// Report the number of skipped copies.
    pub fn report(&self, flow: u32, tables: &mut Tables) {
        if let Some(frame) = self.first_frame {
            let packets = if self.count == 1 { "packet" } else { "packets" };
            let detail = format!("{} {packets} captured before", self.count);
            tables.anomaly(AnomalyKind::DuplicatePackets, Some(frame), flow, detail);
        }
    }
}

impl Flow {
    /// Count a packet that was captured before; tcptrace's statistics count copies of their own.
    pub fn count_copy(&mut self, side: Side, packet: &Packet<'_>, segment: &Segment<'_>) {
        self.end_ns = self.end_ns.max(packet.time_ns);
        let copies = &mut self.properties.copies;
        copies.count = copies.count.saturating_add(1);
        copies.first_frame.get_or_insert(packet.frame);
        let (sender, peer) = self.halves(side);
        sender.counts.packets = sender.counts.packets.saturating_add(1);
        let is_syn = segment.has(flags::SYN);
        let start = sender.sequence.offset_of(segment.seq, is_syn);
        let ack = segment
            .has(flags::ACK)
            .then(|| peer.sequence.offset_of_ack(segment.ack));
        let window = sender.options.window_bytes(segment, &peer.options, is_syn);
        if let Some(statistics) = self.reports.statistics.as_mut() {
            let place = (start, ack, window);
            statistics.segment(side, packet, segment, place, &Class::default());
        }
    }
}
