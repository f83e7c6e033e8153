//! T/TCP's accelerated open: connection counts let a server accept data on the SYN of a known client (RFC
//! 1379; RFC 1644, section 2).
//!
//! Each host numbers its connections. A server remembers the count of each client's last valid SYN. A SYN
//! with a greater count cannot be an old duplicate and needs no handshake (the TAO test). Options appear on
//! the wire as CC. CC.NEW on the very first SYN, and CC.ECHO on a SYN-ACK, are not distinguished.

use std::collections::BTreeMap;

use super::HostPair;

/// The active side's opening of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// Count for the CC option.
    pub count: u32,
    /// True if the first data and a FIN can travel on the SYN. The server must have accepted an earlier count
    /// of this host in a connection with a completed handshake.
    pub is_accelerated: bool,
}

/// The connection counts that hosts remember (`tao_cc` and `tao_ccsent` of RFC 1644, section 3.1).
#[derive(Clone, Debug, Default)]
pub struct ConnectionCounts {
    /// Last count that a host used, by host number.
    last: BTreeMap<u32, u32>,
    /// Last count that a host sent to a peer that accepted it.
    sent: BTreeMap<HostPair, u32>,
    /// Count of the last valid SYN that a host received from a peer.
    received: BTreeMap<HostPair, u32>,
}

impl ConnectionCounts {
    /// Open a connection from the local host.
    pub fn open(&mut self, pair: HostPair) -> Opening {
        let count = self.last.entry(pair.local).or_insert(0);
        *count += 1;
        Opening {
            count: *count,
            is_accelerated: self.sent.contains_key(&pair),
        }
    }

    /// Apply the TAO test to a SYN at the local host. Return true if the connection is accepted without a
    /// handshake. The count is then remembered.
    pub fn is_valid_syn(&mut self, pair: HostPair, count: u32) -> bool {
        match self.received.get_mut(&pair) {
            Some(latest) if count > *latest => {
                *latest = count;
                true
            }
            _ => false,
        }
    }

    /// Record that a three-way handshake validated the SYN with this count.
    pub fn accepted(&mut self, pair: HostPair, count: u32) {
        let latest = self.received.entry(pair).or_insert(count);
        *latest = count.max(*latest);
    }

    /// Record that the peer acknowledged the local host's SYN with this count.
    pub fn connected(&mut self, pair: HostPair, count: u32) {
        let latest = self.sent.entry(pair).or_insert(count);
        *latest = count.max(*latest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: HostPair = HostPair::CLIENT;
    const SERVER: HostPair = HostPair::SERVER;

    fn introduced() -> ConnectionCounts {
        let mut counts = ConnectionCounts::default();
        let first = counts.open(CLIENT);
        counts.accepted(SERVER, first.count);
        counts.connected(CLIENT, first.count);
        counts
    }

    #[test]
    fn the_first_connection_has_its_handshake() {
        let mut counts = ConnectionCounts::default();
        let first = counts.open(CLIENT);
        assert!(!first.is_accelerated);
        assert!(!counts.is_valid_syn(SERVER, first.count));
    }

    #[test]
    fn the_second_connection_is_accepted_with_its_syn() {
        let mut counts = introduced();
        let second = counts.open(CLIENT);
        assert!(second.is_accelerated);
        assert!(counts.is_valid_syn(SERVER, second.count));
    }

    #[test]
    fn a_late_or_duplicate_syn_is_not_valid() {
        let mut counts = introduced();
        let (second, third) = (counts.open(CLIENT), counts.open(CLIENT));
        assert!(counts.is_valid_syn(SERVER, third.count));
        assert!(!counts.is_valid_syn(SERVER, second.count));
        assert!(!counts.is_valid_syn(SERVER, third.count));
    }

    #[test]
    fn another_host_is_not_known() {
        let mut counts = introduced();
        let stranger = HostPair {
            local: 2,
            remote: 1,
        };
        assert!(!counts.open(stranger).is_accelerated);
    }
}
