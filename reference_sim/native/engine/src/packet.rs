//! A packet in flight.

use crate::segment::Segment;
use crate::truth::Side;

#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub segment: Segment,
    pub connection: u32,
    /// Place of the connection among the open ones. The place stays valid while the packet is in flight.
    pub place: u32,
    /// The sending side.
    pub side: Side,
    /// Destination node.
    pub destination: u32,
    /// Node at the end of the current link.
    pub next_node: u32,
    /// The current link.
    pub link: u32,
    /// Number among all packets, counted from 0.
    pub number: u64,
    /// Row in the truth, if packets are recorded.
    pub row: Option<u32>,
    pub identification: u16,
    /// Number of routers that forwarded the packet.
    pub hops: u8,
}
