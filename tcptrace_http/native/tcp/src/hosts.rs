//! IP identification counters of hosts, over all their connections.
//!
//! BSD, Windows and old Linux use one counter per host. If all connections of a host are in the capture, a
//! gap in the host's numbers shows a lost packet. The numbers of one connection do not show it. Every share
//! of a capture follows all hosts and therefore has the same state.
//!
//! Linux uses one counter per connection with its own start. While one connection sends at a time, the
//! numbers look like one counter per host. Behind packets of other connections, a connection continues with
//! its own next number.
//!
//! A NAT may number all packets that it forwards to a host with one counter. The packets of one host then
//! continue the numbers of another host, and a gap shows no loss.

use std::collections::VecDeque;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use trace_model::{IpAddress, Packet, Segment};

use crate::numbering::Numbering;
use crate::segment_size::FULL_SEGMENT_BYTES;

/// Maximum number of hosts; for a further host, only the connections' own numbers count.
const HOSTS_MAX: usize = 1 << 14;
/// Connections per host whose next number is kept: browsers use six per server.
const CONNECTIONS_MAX: usize = 8;
/// Recent hosts that are compared, and the number of matches that shows a shared counter.
///
/// A number continues another host's counter by chance once in about 16,000 packets.
const RECENT_HOSTS: usize = 4;
const GOES_ON_MIN: u32 = 2;

/// Result of a host's counter for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostStep {
    /// Packets of the host that the capture lacks so far.
    pub passed_over: u32,
    /// True if the packet was sent before an earlier captured packet.
    pub is_late: bool,
}

/// Connection of a host: the peer's address, and both ports.
type Connection = (IpAddress, u16, u16);

#[derive(Debug, Default)]
struct Host {
    numbering: Numbering,
    passed_over: u32,
    /// Connections with their next numbers, the newest last, for a host with one counter per connection.
    connections: VecDeque<(Connection, u16)>,
    /// Connections that continued with their own next number behind another connection, and those that
    /// continued the host's.
    own_numbers: u32,
    host_numbers: u32,
    /// True if the connection that sends now has been counted.
    is_turn_counted: bool,
    /// Destination of the last packet, and the number of matches with another host's counter.
    destination: Option<IpAddress>,
    shared_matches: u32,
}

impl Host {
    /// Count whether a number continues the connection's counter or the host's, if the two differ.
    fn count_owner(&mut self, connection: Connection, number: u16, next: u16) {
        let is_hosts = self.numbering.expects(number);
        if let Some((last, expected)) = self.connections.back_mut() {
            if *last == connection {
                let is_own = std::mem::replace(expected, next) == number;
                self.count_own(is_own && !is_hosts);
                return;
            }
        }
        self.is_turn_counted = false;
        let mut known = self.connections.iter();
        let place = known.position(|(known, _)| *known == connection);
        let own = place.and_then(|place| self.connections.remove(place));
        let is_own = own.is_some_and(|(_, expected)| expected == number);
        self.count_own(is_own && !is_hosts);
        if is_hosts && !is_own {
            self.host_numbers = self.host_numbers.saturating_add(1);
        }
        if self.connections.len() >= CONNECTIONS_MAX {
            self.connections.pop_front();
        }
        self.connections.push_back((connection, next));
    }

    /// Count a connection that continues with its own next number, once per turn.
    fn count_own(&mut self, is_own: bool) {
        if is_own && !self.is_turn_counted {
            self.own_numbers = self.own_numbers.saturating_add(1);
            self.is_turn_counted = true;
        }
    }

    /// Return whether packets of other hosts use the same counter.
    fn has_shared_counter(&self) -> bool {
        self.shared_matches >= GOES_ON_MIN
    }

    /// Return whether the host appears to use one counter for all its packets.
    fn has_one_counter(&self) -> bool {
        !self.has_shared_counter()
            && self.numbering.counts()
            && self.own_numbers <= self.host_numbers
    }
}

/// Hosts of a capture, up to `HOSTS_MAX`.
#[derive(Debug, Default)]
pub struct Hosts {
    places: HashMap<IpAddress, usize, FixedState>,
    hosts: Vec<Host>,
    /// Indexes of the hosts of the last two packets, as a cache: most packets belong to two hosts.
    last: [Option<(IpAddress, usize)>; 2],
    /// Indexes of the hosts with the most recent packets, the newest first.
    recent: [usize; RECENT_HOSTS],
    is_counter_shared: bool,
}

impl Hosts {
    /// Take a packet; return `None` unless its host uses one counter that the capture shows.
    pub fn step(&mut self, packet: &Packet<'_>, segment: &Segment<'_>) -> Option<HostStep> {
        self.is_counter_shared = false;
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
        let number = identification as u16;
        let (destination, ..) = connection;
        self.count_shared_number(place, number, destination);
        let host = self.hosts.get_mut(place)?;
        self.is_counter_shared = host.has_shared_counter();
        let next = number.wrapping_add(segments.max(1) as u16);
        host.count_owner(connection, number, next);
        let step = host.numbering.step(identification, segments);
        let late = u32::from(step.is_late);
        host.passed_over = host
            .passed_over
            .saturating_add(step.skipped)
            .saturating_sub(late);
        host.has_one_counter().then_some(HostStep {
            passed_over: host.passed_over,
            is_late: step.is_late,
        })
    }

    /// Return whether several hosts share the counter of the last packet.
    #[must_use]
    pub fn is_counter_shared(&self) -> bool {
        self.is_counter_shared
    }

    /// Count a packet that continues another host's number to the same destination, and not its own host's
    /// number.
    fn count_shared_number(&mut self, place: usize, number: u16, destination: IpAddress) {
        let Some(host) = self.hosts.get_mut(place) else {
            return;
        };
        host.destination = Some(destination);
        if host.numbering.expects(number) {
            self.move_to_front(place);
            return;
        }
        let other = self.recent.into_iter().find(|other| {
            let other = self.hosts.get(*other).filter(|_| *other != place);
            other.is_some_and(|it| {
                it.numbering.expects(number) && it.destination == Some(destination)
            })
        });
        for place in other.map(|other| [place, other]).into_iter().flatten() {
            if let Some(host) = self.hosts.get_mut(place) {
                host.shared_matches = host.shared_matches.saturating_add(1);
            }
        }
        self.move_to_front(place);
    }

    fn move_to_front(&mut self, place: usize) {
        if self.recent.first() == Some(&place) {
            return;
        }
        let at = self.recent.iter().position(|recent| *recent == place);
        let until = at.map_or(RECENT_HOSTS, |at| at.saturating_add(1));
        if let Some(moved) = self.recent.get_mut(..until) {
            moved.rotate_right(1);
        }
        if let Some(newest) = self.recent.first_mut() {
            *newest = place;
        }
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
    fn number_missing_from_all_connections_of_a_host_is_a_lost_packet() {
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
    fn overtaken_packet_is_not_lost() {
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
    fn connections_with_their_own_numbers_have_no_host_counter() {
        let mut hosts = Hosts::default();
        for number in 40..=60 {
            hosts.sends(1, 1, number);
        }
        // The number of the other host is close by chance.
        hosts.sends(1, 2, 20);
        assert_eq!(hosts.sends(1, 2, 21), None);
        assert_eq!(hosts.sends(1, 1, 61), None);
    }

    #[test]
    fn connections_in_turn_have_a_host_counter_despite_reordering() {
        let mut hosts = Hosts::default();
        for (port, number) in [(1, 1), (2, 2), (1, 3), (2, 4), (1, 6)] {
            hosts.sends(1, port, number);
        }
        let late = hosts.sends(1, 2, 5);
        assert!(late.is_some_and(|step| step.is_late));
        assert!(hosts.sends(1, 2, 7).is_some());
    }

    #[test]
    fn hosts_that_continue_each_others_numbers_share_a_nat_counter() {
        let mut hosts = Hosts::default();
        for number in 1..=6 {
            hosts.sends(1, 1, number);
        }
        hosts.sends(2, 1, 7);
        assert!(!hosts.is_counter_shared(), "a single match may be chance");
        assert_eq!(hosts.sends(1, 1, 8), None);
        assert!(hosts.is_counter_shared());
        hosts.sends(2, 1, 9);
        assert!(hosts.is_counter_shared());
        hosts.sends(3, 1, 900);
        assert!(!hosts.is_counter_shared());
    }
}
