//! One end of a TCP connection, without I/O and without a clock: segments and times go in,
//! segments come out.
//!
//! Theory of operation. Whoever drives a `Connection` calls, whenever something happened
//! (`Connection::receive`, `Connection::timeout`, `Connection::write`,
//! `Connection::close`, `Connection::read`):
//!
//! 1. `Connection::transmit` until it gives no more segments, and puts each on the network;
//! 2. `Connection::event` until it gives no more, and tells the application;
//! 3. `Connection::deadline`, to call `Connection::timeout` no later than then.
//!
//! Bytes have no content here: streams are offsets. What the applications said at which offset
//! stands beside ([`crate::app::Content`]).

pub mod cubic;
pub mod quick_acks;
pub mod rack;
pub mod rate_reduction;
pub mod sack_blocks;
pub mod scoreboard;
pub mod tail_loss_probe;
pub mod window_usage;

/// What an application is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is done.
    Connected,
    /// Data up to this offset (exclusive) is in order and can be read.
    Readable(u64),
    /// The send buffer has room again after a write was not taken whole.
    Writable,
    /// The peer's FIN was reached: it will send no more.
    PeerClosed,
    /// Both directions are closed; nothing will be sent any more (a TIME-WAIT may follow).
    Closed,
    /// The peer reset the connection, or it was given up after too many retransmissions.
    Failed,
}
