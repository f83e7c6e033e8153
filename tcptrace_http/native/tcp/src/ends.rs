//! The two ends of a connection: addresses, ports, and the key of a flow.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use trace_model::IpAddress;

/// Endpoint of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    pub address: IpAddress,
    pub port: u16,
}

/// Half of a flow: `First` is the sender of the first packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    First,
    Second,
}

impl Side {
    /// Return the side of the peer.
    #[must_use]
    #[inline]
    pub fn other(self) -> Side {
        match self {
            Side::First => Side::Second,
            Side::Second => Side::First,
        }
    }
}

/// The two endpoints, the lower endpoint first: both directions have one key.
///
/// The order itself does not matter, so addresses are compared in native byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    low: u128,
    high: u128,
    ports: u32,
    is_v6: bool,
}

impl Key {
    /// Return the key, and whether the source is the lower endpoint.
    #[inline]
    pub fn new(source: Endpoint, destination: Endpoint) -> (Self, bool) {
        let number = |address: IpAddress| u128::from_ne_bytes(address.octets);
        let a = (number(source.address), source.port);
        let b = (number(destination.address), destination.port);
        let source_is_low = a <= b;
        let (low, high) = if source_is_low { (a, b) } else { (b, a) };
        let key = Key {
            low: low.0,
            high: high.0,
            ports: (u32::from(low.1) << 16) | u32::from(high.1),
            is_v6: source.address.is_v6,
        };
        (key, source_is_low)
    }

    /// Return the two hosts, the lower endpoint's first.
    #[must_use]
    pub fn hosts(&self) -> (u128, u128) {
        (self.low, self.high)
    }

    #[must_use]
    pub fn hash(&self) -> u64 {
        FixedState::default().hash_one(self)
    }

    /// Return a hash of the two hosts, equal for all their connections.
    ///
    /// The hash is stable: it decides which share of a capture processes the hosts.
    #[must_use]
    pub fn hosts_hash(&self) -> u64 {
        let (one, other) = self.hosts();
        FixedState::default().hash_one((one.min(other), one.max(other)))
    }
}
