//! TCP as a capture shows it: what each direction of a flow has sent, and what its peer has acknowledged.
//!
//! Theory of operation. A [`Half`] keeps the state of one direction. [`classify()`] says what a segment does on
//! it; the [`Reassembler`] puts payload in order; [`Holes`] are what never came by. Data that came before its
//! SYN-ACK is kept as [`Early`], and what came while the receiver had no room as [`IntoClosedWindow`].
//! [`Hosts`] follow the identifications of IP packets, and a [`SenderClock`] the timestamps. [`Statistics`] are those
//! of tcptrace, and [`TcpAnalysis`] has the verdicts of Wireshark; the rows of [`Segments`] take them.

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
/// Public for the tests of other crates only.
#[doc(hidden)]
pub mod test_packets;
mod timeouts;

pub use classify::{classify, Class};
pub use cut::Cut;
pub use duplicate_acks::DUPLICATE_ACKS;
pub use early::{Early, EarlyPiece};
pub use ends::{Endpoint, Key, Side};
pub use half::{Acks, Counts, Half, LastSent, ACK_AHEAD_MAX};
pub use holes::{Hole, Holes};
pub use hosts::{HostStep, Hosts};
pub use identifications::Identifications;
pub use into_closed_window::IntoClosedWindow;
pub use numbering::{Numbering, Step};
pub use orientation::{starts_like_http, Spoken};
pub use outstanding::Outstanding;
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
