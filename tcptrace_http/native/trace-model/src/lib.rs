//! The trace model: what a capture file and a simulation both give, and what the analysis reads.
//!
//! A capture is a sequence of [`Packet`]s plus [`Anomaly`] rows. Whoever makes packets (the
//! decoder, the simulator) pushes them into a [`PacketSink`]; whoever reads them (the analyzer,
//! the packets table) is one. Nothing here estimates, classifies or reassembles.

#![forbid(unsafe_code)]

mod anomaly;
pub mod blocks;
pub mod column;
mod direction;
mod mark;
mod packet;
pub mod packets;
pub mod rows;
mod seq_number;

pub use anomaly::{Anomaly, AnomalyKind};
pub use mark::Mark;
pub use packet::{
    flags, IpAddress, LinkType, Network, Packet, PacketSink, SackBlocks, Segment, TcpOptions,
    Timestamps,
};
pub use seq_number::SeqNumber;
