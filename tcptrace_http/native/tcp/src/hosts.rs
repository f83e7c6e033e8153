//! How each host numbers its packets, whichever connection they are of.
//!
//! BSD, Windows and old Linux count all packets of a host together. Where its connections are in the capture,
//! the host's numbers tell which packets never came by; those of one connection alone do not. Every share of a
//! capture follows all hosts, so that each knows the same.
//!
//! Linux counts each connection's packets, from a number of its own: as long as one sends at a time their host seems
//! to count them together. But behind others' packets a connection of it goes on with its own next number.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use trace_model::{IpAddress, Packet, Segment};

use crate::numbering::Numbering;
use crate::segment_size::FULL_SEGMENT_BYTES;

/// Hosts that are followed; of one more nothing is known but what its connections tell.
const HOSTS_MAX: usize = 1 << 14;
/// Connections of a host of which the next number is known: browsers have six to a server.
const CONNECTIONS_MAX: usize = 8;

/// What the numbers of a host tell when a packet of it comes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostStep {
    /// Packets of it that never came by so far.
    pub passed_over: u32,
    /// It was sent before one that came by.
    pub is_late: bool,
}

/// A connection of a host: its peer, and the ports of both.
type Connection = (IpAddress, u16, u16);

#[derive(Debug, Default)]
struct Host {
    numbering: Numbering,
    passed_over: u32,
    /// The newest last, each with its next number, if the host counts the packets of each.
    connections: VecDeque<(Connection, u16)>,
    /// How often a connection that sent behind another went on with its own next number, and how often with the host's.
    own_numbers: u32,
    host_numbers: u32,
    /// The one that sends now has told.
    has_told: bool,
}

impl Host {
    /// Notes whose next number a packet has, if that is another for the host and for its connection.
    fn note_whose(&mut self, connection: Connection, number: u16, next: u16) {
        let goes_on = self
            .connections
            .back()
            .is_some_and(|(last, _)| *last == connection);
        if !goes_on {
            self.has_told = false;
        }
        let place = if goes_on {
            self.connections.len().checked_sub(1)
        } else {
            self.connections
                .iter()
                .position(|(known, _)| *known == connection)
        };
        let own = place.and_then(|place| self.connections.remove(place));
        let is_own = own.is_some_and(|(_, expected)| expected == number);
        let is_hosts = self.numbering.expects(number);
        if is_own && !is_hosts && !self.has_told {
            self.own_numbers = self.own_numbers.saturating_add(1);
            self.has_told = true;
        }
        if is_hosts && !is_own && !goes_on {
            self.host_numbers = self.host_numbers.saturating_add(1);
        }
        if self.connections.len() >= CONNECTIONS_MAX {
            self.connections.pop_front();
        }
        self.connections.push_back((connection, next));
    }

    /// Whether it counts all its packets together, as far as that shows.
    fn counts_together(&self) -> bool {
        self.numbering.counts() && self.own_numbers <= self.host_numbers
    }
}

/// The hosts of a capture, as far as they are followed.
#[derive(Debug, Default)]
pub struct Hosts {
    places: HashMap<IpAddress, usize, FixedState>,
    hosts: Vec<Host>,
    /// The places of the hosts of the packets before: most packets are of two.
    last: [Option<(IpAddress, usize)>; 2],
}

impl Hosts {
    /// Takes a packet; None unless its host counts all its packets together, as far as they come by here.
    pub fn step(&mut self, packet: &Packet<'_>, segment: &Segment<'_>) -> Option<HostStep> {
        let network = packet.network?;
        if network.identification == 0 {
            return None;
        }
        let segments = segment.payload_bytes.div_ceil(FULL_SEGMENT_BYTES);
        let ports = (segment.source_port, segment.destination_port);
        let connection = (network.destination, ports.0, ports.1);
        self.numbered(
            (network.source, connection),
            network.identification,
            segments,
        )
    }

    fn numbered(
        &mut self,
        (source, connection): (IpAddress, Connection),
        identification: u32,
        segments: u32,
    ) -> Option<HostStep> {
        let place = self.place_of(source)?;
        let host = self.hosts.get_mut(place)?;
        let number = identification as u16;
        let next = number.wrapping_add(segments.max(1) as u16);
        host.note_whose(connection, number, next);
        let step = host.numbering.step(identification, segments);
        let came = u32::from(step.is_late);
        host.passed_over = host
            .passed_over
            .saturating_add(step.skipped)
            .saturating_sub(came);
        host.counts_together().then_some(HostStep {
            passed_over: host.passed_over,
            is_late: step.is_late,
        })
    }

    fn place_of(&mut self, address: IpAddress) -> Option<usize> {
        let mut last = self.last.iter().flatten();
        if let Some((_, place)) = last.find(|(last, _)| *last == address) {
            return Some(*place);
        }
        let place = match self.places.get(&address) {
            Some(place) => *place,
            None if self.hosts.len() >= HOSTS_MAX => return None,
            None => {
                let place = self.hosts.len();
                self.hosts.push(Host::default());
                self.places.insert(address, place);
                place
            }
        };
        let [_, newer] = self.last;
        self.last = [newer, Some((address, place))];
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddress {
        let mut octets = [0; 16];
        octets[0] = last;
        IpAddress {
            is_v6: false,
            octets,
        }
    }

    impl Hosts {
        fn sends(&mut self, host: u8, port: u16, identification: u32) -> Option<HostStep> {
            let connection = (address(9), port, 80);
            self.numbered((address(host), connection), identification, 1)
        }
    }

    #[test]
    fn a_packet_that_no_connection_of_a_host_has_is_one_that_never_came_by() {
        let mut hosts = Hosts::default();
        for number in 1..=6 {
            hosts.sends(1, 1, number);
            hosts.sends(2, 1, 1000 - number);
        }
        let passed_over = |step: Option<HostStep>| step.map(|step| step.passed_over);
        assert_eq!(passed_over(hosts.sends(1, 1, 7)), Some(0));
        assert_eq!(passed_over(hosts.sends(1, 1, 9)), Some(1));
        assert_eq!(passed_over(hosts.sends(1, 1, 10)), Some(1));
        assert_eq!(hosts.sends(2, 1, 900), None);
    }

    #[test]
    fn a_packet_that_was_overtaken_has_come_by_after_all() {
        let mut hosts = Hosts::default();
        for number in [1, 2, 3, 4, 5, 6, 8] {
            hosts.sends(1, 1, number);
        }
        let late = HostStep {
            passed_over: 0,
            is_late: true,
        };
        assert_eq!(hosts.sends(1, 1, 7), Some(late));
    }

    #[test]
    fn whose_connections_have_numbers_of_their_own_counts_none_together() {
        let mut hosts = Hosts::default();
        for number in 40..=60 {
            hosts.sends(1, 1, number);
        }
        // By chance the numbers of the other are near.
        hosts.sends(1, 2, 20);
        assert_eq!(hosts.sends(1, 2, 21), None);
        assert_eq!(hosts.sends(1, 1, 61), None);
    }

    #[test]
    fn whose_connections_send_in_turn_counts_them_together_though_packets_are_overtaken() {
        let mut hosts = Hosts::default();
        for (port, number) in [(1, 1), (2, 2), (1, 3), (2, 4), (1, 6)] {
            hosts.sends(1, port, number);
        }
        let late = hosts.sends(1, 2, 5);
        assert!(late.is_some_and(|step| step.is_late));
        assert!(hosts.sends(1, 2, 7).is_some());
    }
}
