//! T/TCP's accelerated open: connection counts that let a server accept data on the SYN of a
//! client it knows (RFC 1379; RFC 1644, section 2).
//!
//! Each host numbers its connections. A server remembers the count of the last valid SYN of each
//! client; a SYN with a greater count cannot be an old duplicate, and needs no handshake (the TAO
//! test). Options are seen on the wire as CC; that the first of all SYNs carries CC.NEW, and the
//! SYN-ACK a CC.ECHO, is not told apart.

use std::collections::BTreeMap;

use super::HostPair;

/// How a connection is opened by the active side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opening {
    /// For the CC option.
    pub count: u32,
    /// The first data, and a FIN, may ride on the SYN: the server has taken a count of this host
    /// before, in a connection whose handshake was done.
    pub is_accelerated: bool,
}

/// The connection counts that hosts remember (`tao_cc` and `tao_ccsent` of RFC 1644, section 3.1).
#[derive(Clone, Debug, Default)]
pub struct ConnectionCounts {
    /// The last count that a host used, by its number.
    last: BTreeMap<u32, u32>,
    /// The last count a host sent to a peer that accepted it.
    sent: BTreeMap<HostPair, u32>,
    /// The count of the last valid SYN that a host had from a peer.
    received: BTreeMap<HostPair, u32>,
}

impl ConnectionCounts {
    /// The local host opens a connection.
    pub fn open(&mut self, pair: HostPair) -> Opening {
        let count = self.last.entry(pair.local).or_insert(0);
        *count += 1;
        Opening {
            count: *count,
            is_accelerated: self.sent.contains_key(&pair),
        }
    }

    /// The TAO test for a SYN that came to the local host: whether the connection is accepted
    /// without a handshake. If so the count is remembered.
    pub fn is_valid_syn(&mut self, pair: HostPair, count: u32) -> bool {
        match self.received.get_mut(&pair) {
            Some(latest) if count > *latest => {
                *latest = count;
                true
            }
            _ => false,
        }
    }

    /// A handshake of three segments showed the SYN with this count to be valid.
    pub fn accepted(&mut self, pair: HostPair, count: u32) {
        let latest = self.received.entry(pair).or_insert(count);
        *latest = count.max(*latest);
    }

    /// The peer acknowledged the local host's SYN with this count.
    pub fn connected(&mut self, pair: HostPair, count: u32) {
        let latest = self.sent.entry(pair).or_insert(count);
        *latest = count.max(*latest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLIENT: HostPair = HostPair {
        local: 0,
        remote: 1,
    };
    const SERVER: HostPair = HostPair {
        local: 1,
        remote: 0,
    };

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
    fn a_syn_that_came_late_or_again_is_not_valid() {
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
