//! What a flow is told of its two hosts.

use tcptrace_path::{LinkUse, RoundTrip, Serialization};
use trace_model::Segment;

/// Bytes of an IPv4 header without options.
pub const IP_BYTES: u32 = 20;

/// Bytes of a segment's packet.
#[must_use]
pub fn packet_bytes(segment: &Segment<'_>) -> u32 {
    let headers = IP_BYTES.saturating_add(u32::from(segment.header_bytes));
    segment.payload_bytes.saturating_add(headers)
}

/// What all connections between a flow's hosts have shown when its newest packet passed; first that of the flow's first
/// side.
#[derive(Clone, Copy, Debug, Default)]
pub struct PairView {
    pub link: LinkUse,
    /// Serialization times of the packets of each side, as their arrivals show them.
    pub links: [Serialization; 2],
    /// The same, as acknowledgments show them.
    pub links_by_acks: [Serialization; 2],
    /// Least round trips from the capture to each side.
    pub round_trips: [Option<RoundTrip>; 2],
    /// Both have one address: no link is between them.
    pub is_one_host: bool,
}

impl PairView {
    /// Nothing was shown.
    pub const NONE: PairView = PairView {
        link: LinkUse::NONE,
        links: [Serialization::of_picoseconds(0); 2],
        links_by_acks: [Serialization::of_picoseconds(0); 2],
        round_trips: [None; 2],
        is_one_host: false,
    };
}
