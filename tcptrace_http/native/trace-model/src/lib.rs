//! The trace model: the output of a capture file and of a simulation, and the input of the analysis.
//!
//! A capture is a sequence of [`Packet`]s plus [`Anomaly`] rows. A producer of packets (the decoder, the
//! simulator) pushes them into a [`PacketSink`]. A reader of packets (the analyzer, the packets table)
//! implements [`PacketSink`]. Nothing here estimates, classifies or reassembles.

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
pub mod table;

pub use anomaly::{Anomaly, AnomalyKind};
pub use mark::Mark;
pub use packet::{
    flags, IpAddress, LinkType, Network, Packet, PacketSink, SackBlocks, Segment, TcpOptions,
    Timestamps,
};
pub use seq_number::SeqNumber;
