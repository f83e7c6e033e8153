//! What the connections of one pair of hosts share (RFC 2140; Eggert, Heidemann and Touch 1999).
//!
//! Theory of operation. A sender learns about its path: [`Path`]. Connections between the same two
//! hosts use the same path, so that what one learnt is good for another:
//!
//! - [`control_block`]: for the next connection (temporal sharing), or for those open at the same
//!   time, each with an equal part (ensemble sharing).
//! - [`ensemble`]: E-TCP, where the connections have one congestion control between them, and
//!   [`stride`] says whose turn it is.
//! - [`pacing`]: a window known from earlier is not sent as one burst.
//! - [`accelerated_open`]: T/TCP, where a known peer is sent data on the SYN.
//!
//! All of it is state without I/O. [`hosts`] keeps it by pair of hosts, hands a path to a
//! connection before it acts, and takes it back afterwards.

pub mod accelerated_open;
pub mod control_block;
pub mod ensemble;
pub mod hosts;
pub mod pacing;
pub mod stride;

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod hosts_tests;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod world_tests;

use crate::stack::Nanoseconds;

/// The two hosts whose connections share something, seen from the sender: numbers of nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPair {
    pub local: u32,
    pub remote: u32,
}

/// What a sender has learnt about the way to its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Bytes.
    pub cwnd: u64,
    pub ssthresh: u64,
    /// Payload of a whole segment.
    pub mss: u32,
    pub round_trip: Option<Estimate>,
}

/// Smoothed round trip and its mean deviation (RFC 6298, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    pub smoothed: Nanoseconds,
    pub variation: Nanoseconds,
}

/// What a sender that shares its window may send now, beside what it sends again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub bytes: u64,
    /// There would be more, were it not for the pacer, which lets more go then.
    pub paced_until: Option<Nanoseconds>,
    /// The congestion window would leave more segments than the stack's largest window does.
    pub is_of_stack: bool,
}
