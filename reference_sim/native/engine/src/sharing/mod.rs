//! State shared by the connections of one pair of hosts (RFC 2140; Eggert, Heidemann and Touch 1999).
//!
//! Theory of operation. A sender learns the state of its path: [`Path`]. Connections between the same two
//! hosts use the same path, so one connection's state is useful to another:
//!
//! - [`control_block`]: for the next connection (temporal sharing), or for concurrent connections,
//!   each with an equal part (ensemble sharing).
//! - [`ensemble`]: E-TCP, where the connections have one common congestion control, and [`stride`]
//!   decides the turns.
//! - [`pacing`]: a window known from earlier is not sent as one burst.
//! - [`accelerated_open`]: T/TCP, where a known peer receives data on the SYN.
//!
//! All of this is state without I/O. [`hosts`] keeps the state by pair of hosts. [`hosts`] lends a path to a
//! connection before the connection acts, and takes the path back afterwards.

pub mod accelerated_open;
pub mod control_block;
pub mod ensemble;
pub mod fast_open;
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

/// The two hosts of sharing connections, from the sender's view: node numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPair {
    pub local: u32,
    pub remote: u32,
}

#[cfg(test)]
impl HostPair {
    /// Host 0 as seen from its connection to host 1.
    pub(crate) const CLIENT: HostPair = HostPair {
        local: 0,
        remote: 1,
    };
    pub(crate) const SERVER: HostPair = HostPair {
        local: 1,
        remote: 0,
    };
}

/// A sender's state of the path to its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    /// Congestion window in bytes.
    pub cwnd: u64,
    pub ssthresh: u64,
    /// Payload of a full segment.
    pub mss: u32,
    pub round_trip: Option<Estimate>,
}

/// Smoothed round trip and its mean deviation (RFC 6298, section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    pub smoothed: Nanoseconds,
    pub variation: Nanoseconds,
}

/// The data that a sharing sender can send now, besides retransmissions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    pub bytes: u64,
    /// Time at which the pacer releases more data. None if the pacer holds no data back.
    pub paced_until: Option<Nanoseconds>,
    /// True if the stack's maximum window, not the congestion window, limits the grant.
    pub is_of_stack: bool,
}
