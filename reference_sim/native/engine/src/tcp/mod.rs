//! One end of a TCP connection, without I/O and without a clock: segments and times in, segments out.
//!
//! Theory of operation. After each event ([`Connection::receive`], [`Connection::timeout`],
//! [`Connection::write`], [`Connection::close`], [`Connection::read`]), the driver of a [`Connection`] takes
//! these steps:
//!
//! 1. The driver calls [`Connection::transmit`] until no segment is left, and sends each segment.
//! 2. The driver calls [`Connection::event`] until no event is left, notifies the application, and transmits again.
//! 3. The driver reads [`Connection::deadline`], and calls [`Connection::timeout`] at that time at the latest.
//!
//! With [`Connection::tells_before_sending`], events come first. After each [`Connection::write`] that took
//! bytes, the driver transmits before the next write.
//!
//! Bytes have no content here: streams are offsets. The content is kept beside the stream, by offset
//! ([`crate::app::Content`]).

mod bbr;
mod congestion;
mod connection;
mod cubic;
mod delivery_rate;
mod fixed_point;
mod hystart;
mod linux_spread;
mod nagle;
mod quick_acks;
mod rack;
mod rate_pacing;
mod rate_reduction;
mod receive_autotuning;
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

/// An event for an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The handshake is done.
    Connected,
    /// Data up to this offset (exclusive) is in order and readable.
    Readable(u64),
    /// The send buffer has room again after a partly taken write.
    Writable,
    /// The peer's FIN was reached: the peer sends no more data.
    PeerClosed,
    /// Both directions are closed and no further data is sent. A TIME-WAIT can follow.
    Closed,
    /// The peer reset the connection, or the sender abandoned it after too many retransmissions.
    Failed,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod bbr_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod idle_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod linux_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
pub(crate) mod pair_tests;
