//! TCP state from a capture: the data of each direction, and the ACKs of its peer.
//!
//! Theory of operation. A [`Half`] keeps the state of one direction. [`classify()`] classifies a segment. The
//! [`Reassembler`] puts payload in order. [`Holes`] are the bytes that the capture lacks. [`EarlyData`] keeps
//! data that arrived before its SYN-ACK. [`IntoClosedWindow`] keeps data that arrived at a closed window.
//! [`Hosts`] follow the IP identifications. A [`SenderClock`] follows the timestamps. [`Statistics`] are
//! those of tcptrace. [`TcpAnalysis`] has the verdicts of Wireshark for the rows of [`Segments`].

#![forbid(unsafe_code)]

mod classify;
mod cut;
mod duplicate_acks;
mod early;
mod ends;
mod half;
mod holes;
mod hosts;
mod identifications;
mod into_closed_window;
mod marks;
mod numbering;
mod orientation;
mod outstanding;
mod reassembly;
mod rtt;
mod segment_size;
mod segments;
mod send_sequence;
mod sender_clock;
mod statistics;
mod syn_options;
mod tcp_analysis;
/// Public only for the tests of other crates.
#[doc(hidden)]
pub mod test_packets;
mod timeouts;

pub use classify::{classify, Class};
pub use cut::Cut;
pub use duplicate_acks::DUPLICATE_ACKS;
pub use early::{EarlyData, EarlyPiece};
pub use ends::{Endpoint, Key, Side};
pub use half::{Acks, Counts, Half, LastSent, ACK_AHEAD_MAX};
pub use holes::{Hole, Holes};
pub use hosts::{HostStep, Hosts};
pub use identifications::Identifications;
pub use into_closed_window::IntoClosedWindow;
pub use marks::Marks;
pub use numbering::{Numbering, Step};
pub use orientation::{starts_like_http, MessageKind};
pub use outstanding::OutstandingSegment;
pub use reassembly::{Delivery, Piece, Reassembler, WAITING_BYTES_MAX, WAITING_PIECES_MAX};
pub use rtt::Rtt;
pub use segment_size::{SegmentSize, FULL_SEGMENT_BYTES};
pub use segments::Segments;
pub use send_sequence::SendSequence;
pub use sender_clock::SenderClock;
pub use statistics::{selective_acks, FlowFacts, Statistics};
pub use syn_options::SynOptions;
pub use tcp_analysis::TcpAnalysis;
pub use timeouts::{probe_after_ns, TIMED_OUT_MIN_NS};
