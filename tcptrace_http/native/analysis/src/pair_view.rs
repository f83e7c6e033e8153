//! Path facts of a flow's two hosts, as the flow sees them.

use tcptrace_path::{LinkUse, RoundTrip, Serialization};
use trace_model::Segment;

/// Bytes of an IPv4 header without options.
pub const IP_BYTES: u32 = 20;

/// Return the bytes of a segment's packet.
#[must_use]
pub fn packet_bytes(segment: &Segment<'_>) -> u32 {
    let headers = IP_BYTES.saturating_add(u32::from(segment.header_bytes));
    segment.payload_bytes.saturating_add(headers)
}

/// Path facts of all connections between a flow's hosts at its newest packet; the flow's first side comes
/// first.
#[derive(Clone, Copy, Debug, Default)]
pub struct PairView {
    pub link: LinkUse,
    /// Serialization times of the packets of each side, estimated from arrivals.
    pub links: [Serialization; 2],
    /// Serialization times of the packets of each side, estimated from ACKs.
    pub links_by_acks: [Serialization; 2],
    /// Smallest round trips from the capture to each side.
    pub round_trips: [Option<RoundTrip>; 2],
    /// True if both sides have one address, without a link between them.
    pub is_one_host: bool,
}

impl PairView {
    /// View without any evidence.
    pub const NONE: PairView = PairView {
        link: LinkUse::NONE,
        links: [Serialization::from_picoseconds(0); 2],
        links_by_acks: [Serialization::from_picoseconds(0); 2],
        round_trips: [None; 2],
        is_one_host: false,
    };
}
