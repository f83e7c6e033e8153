//! One end of a TCP connection, without I/O and without a clock: segments and times go in,
//! segments come out.
//!
//! Theory of operation. Whoever drives a [`Connection`] calls, whenever something happened
//! ([`Connection::receive`], [`Connection::timeout`], [`Connection::write`],
//! [`Connection::close`], [`Connection::read`]):
//!
//! 1. [`Connection::transmit`] until it gives no more segments, and puts each on the network;
//! 2. [`Connection::event`] until it gives no more, tells the application, and transmits again;
//! 3. [`Connection::deadline`], to call [`Connection::timeout`] no later than then.
//!
//! If [`Connection::tells_before_sending`], events come first. After each [`Connection::write`]
//! that took something it transmits before it writes on.
//!
//! Bytes have no content here: streams are offsets. What the applications said at which offset
//! stands beside ([`crate::app::Content`]).

mod congestion;
mod connection;
mod cubic;
mod fixed_point;
mod hystart;
mod linux_spread;
mod nagle;
mod quick_acks;
mod rack;
mod rate_pacing;
mod rate_reduction;
mod receiver;
mod round_trip;
mod sack_blocks;
mod scoreboard;
mod selective;
mod selective_sender;
mod sender;
mod tail_loss_probe;
mod window_usage;

pub use connection::Connection;
pub use sender::Sender;

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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod idle_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod linux_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
pub(crate) mod pair_tests;
