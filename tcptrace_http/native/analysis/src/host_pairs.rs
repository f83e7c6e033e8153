//! The host pairs of a capture: what all connections between two hosts have shown of their path.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use tcptrace_path::HostPair;
use tcptrace_tcp::{Key, Side};
use trace_model::{flags, Packet, Segment};

use crate::flow::Flow;
use crate::pair_view::{packet_bytes, PairView};

/// Pairs that are remembered; a scan of a network must not cost memory.
pub const PAIRS_MAX: usize = 65_536;
/// All host pairs, by their addresses.
#[derive(Debug)]
pub struct HostPairs {
    /// A capture chooses the addresses, and does not know the hash.
    pairs: HashMap<(u128, u128), HostPair, RandomState>,
    most: usize,
}

impl HostPairs {
    /// So many are remembered at most.
    #[must_use]
    pub fn new(most: usize) -> Self {
        HostPairs {
            pairs: HashMap::default(),
            most,
        }
    }

    /// A segment of `flow` passes, which is told what its hosts have shown. Of the lower host's packets the direction is
    /// the first.
    pub fn on_segment(
        &mut self,
        flow: &mut Flow,
        (key, source_is_low): (&Key, bool),
        packet: &Packet<'_>,
        segment: &Segment<'_>,
    ) {
        if self.pairs.len() >= self.most {
            self.pairs.clear();
        }
        flow.begin_record(segment);
        let (low, high) = key.hosts();
        // A SYN alone shows nothing of the path.
        let is_bare_syn = segment.has(flags::SYN) && !segment.has(flags::ACK);
        if is_bare_syn && !self.pairs.contains_key(&(low, high)) {
            return;
        }
        let pair = self.pairs.entry((low, high)).or_default();
        let side = flow.side_of(source_is_low);
        let bytes = packet_bytes(segment);
        let full = flow.segment_size.full();
        let is_full = full > 0 && segment.payload_bytes >= full;
        let link = pair.on_packet(!source_is_low, packet.time_ns, bytes, is_full);
        if let Some(acked) = flow.newly_acked(side, segment) {
            pair.on_ack(source_is_low, packet.time_ns, acked, bytes);
        }
        // The first side's packets go in the pair's second direction, if its host is the higher one.
        let first_is_second = (side == Side::First) != source_is_low;
        let second_is_second = !first_is_second;
        flow.see_pair(PairView {
            link,
            links: [
                pair.serialization(first_is_second),
                pair.serialization(second_is_second),
            ],
            links_by_acks: [
                pair.serialization_by_acks(first_is_second),
                pair.serialization_by_acks(second_is_second),
            ],
            round_trips: [
                pair.round_trip(second_is_second),
                pair.round_trip(first_is_second),
            ],
            is_one_host: low == high,
        });
    }
}
