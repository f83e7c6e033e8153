//! Host pairs of a capture: path facts of all connections between two hosts.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use tcptrace_path::HostPair;
use tcptrace_tcp::{Key, Side};
use trace_model::{flags, Packet, Segment};

use crate::flow::Flow;
use crate::pair_view::{packet_bytes, PairView};

/// Maximum number of host pairs: a network scan must not cost memory.
pub const PAIRS_MAX: usize = 65_536;
/// All host pairs by their addresses.
#[derive(Debug)]
pub struct HostPairs {
    /// The hash is random: a capture chooses the addresses and must not cause collisions.
    pairs: HashMap<(u128, u128), HostPair, RandomState>,
    most: usize,
}

impl HostPairs {
    /// Create a set of at most `most` host pairs.
    #[must_use]
    pub fn new(most: usize) -> Self {
        HostPairs {
            pairs: HashMap::default(),
            most,
        }
    }

    /// Take a segment of `flow`, and pass the path facts of its hosts to the flow.
    ///
    /// Packets of the lower host have the first direction.
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
        // A SYN without an answer shows nothing of the path.
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
        // If its host is the higher one, the first side's packets have the pair's second direction.
        let first_is_second = (side == Side::First) != source_is_low;
        let second_is_second = !first_is_second;
        flow.set_pair(PairView {
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
