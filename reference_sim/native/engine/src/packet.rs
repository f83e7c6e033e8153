//! A packet on its way.

use crate::segment::Segment;
use crate::truth::Side;

#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub segment: Segment,
    pub connection: u32,
    /// The place of the connection among those that are alive: it is not given up before.
    pub place: u32,
    /// Who sent it.
    pub side: Side,
    /// The node it is for, and the one it comes to next.
    pub destination: u32,
    pub next_node: u32,
    /// The link it is on.
    pub link: u32,
    /// Of all packets, from 0.
    pub number: u64,
    /// Its row in the truth, where these are recorded.
    pub row: Option<u32>,
    pub identification: u16,
    /// Routers that have passed it on.
    pub hops: u8,
}
