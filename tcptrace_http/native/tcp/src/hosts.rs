//! How each host numbers its packets, whichever connection they are of.
//!
//! BSD, Windows and old Linux count all packets of a host together. Where its connections are in the capture,
//! the host's numbers tell which packets never came by; those of one connection alone do not. Every share of a
//! capture follows all hosts, so that each knows the same.
//!
//! Linux counts each connection's packets, from a number of its own: as long as one sends at a time their host seems
//! to count them together. But behind others' packets a connection of it goes on with its own next number.
//!
//! A NAT may count all packets that it forwards to a host, whoever sent them: then the packets of one host go on with the
//! numbers of another, and none of them tells of a loss.

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
/// Hosts whose packets came last, and how often one goes on with the number of another where they have one counter: by
/// chance it does so once in some 16,000 packets.
const RECENT_HOSTS: usize = 4;
const GOES_ON_MIN: u32 = 2;

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
    /// To whom it sent last, and how often it went on with the number of another host, or another with its.
    destination: Option<IpAddress>,
    goes_on: u32,
}

impl Host {
    /// Notes whose next number a packet has, if that is another for the host and for its connection.
    fn note_whose(&mut self, connection: Connection, number: u16, next: u16) {
        let is_hosts = self.numbering.expects(number);
        if let Some((last, expected)) = self.connections.back_mut() {
            if *last == connection {
                let is_own = std::mem::replace(expected, next) == number;
                self.tell_own(is_own && !is_hosts);
                return;
            }
        }
        self.has_told = false;
        let mut known = self.connections.iter();
        let place = known.position(|(known, _)| *known == connection);
        let own = place.and_then(|place| self.connections.remove(place));
        let is_own = own.is_some_and(|(_, expected)| expected == number);
        self.tell_own(is_own && !is_hosts);
        if is_hosts && !is_own {
            self.host_numbers = self.host_numbers.saturating_add(1);
        }
        if self.connections.len() >= CONNECTIONS_MAX {
            self.connections.pop_front();
        }
        self.connections.push_back((connection, next));
    }

    /// Its connection went on with its own next number, or not.
    fn tell_own(&mut self, is_own: bool) {
        if is_own && !self.has_told {
            self.own_numbers = self.own_numbers.saturating_add(1);
            self.has_told = true;
        }
    }

    /// Whether others' packets have numbers of its counter.
    fn shares_its_counter(&self) -> bool {
        self.goes_on >= GOES_ON_MIN
    }

    /// Whether it counts all its packets together, as far as that shows.
    fn counts_together(&self) -> bool {
        !self.shares_its_counter()
            && self.numbering.counts()
            && self.own_numbers <= self.host_numbers
    }
}

/// The hosts of a capture, as far as they are followed.
#[derive(Debug, Default)]
pub struct Hosts {
    places: HashMap<IpAddress, usize, FixedState>,
    hosts: Vec<Host>,
    /// The places of the hosts of the packets before: most packets are of two.
    last: [Option<(IpAddress, usize)>; 2],
    /// The places of those whose packets came last, the newest first.
    recent: [usize; RECENT_HOSTS],
    counter_is_of_several: bool,
}

impl Hosts {
    /// Takes a packet; None unless its host counts all its packets together, as far as they come by here.
    pub fn step(&mut self, packet: &Packet<'_>, segment: &Segment<'_>) -> Option<HostStep> {
        self.counter_is_of_several = false;
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
        self.note_other_counter(place, number, destination);
        let host = self.hosts.get_mut(place)?;
        self.counter_is_of_several = host.shares_its_counter();
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

    /// Whether the counter of the packet just taken is one of several hosts.
    #[must_use]
    pub fn counter_is_of_several(&self) -> bool {
        self.counter_is_of_several
    }

    /// Notes a packet that goes on with the number of another host that sends to the same one, and not with its own.
    fn note_other_counter(&mut self, place: usize, number: u16, destination: IpAddress) {
        let Some(host) = self.hosts.get_mut(place) else {
            return;
        };
        host.destination = Some(destination);
        if host.numbering.expects(number) {
            self.is_recent(place);
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
                host.goes_on = host.goes_on.saturating_add(1);
            }
        }
        self.is_recent(place);
    }

    fn is_recent(&mut self, place: usize) {
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

    #[test]
    fn hosts_that_go_on_with_the_numbers_of_each_other_have_the_counter_of_a_nat() {
        let mut hosts = Hosts::default();
        for number in 1..=6 {
            hosts.sends(1, 1, number);
        }
        hosts.sends(2, 1, 7);
        assert!(!hosts.counter_is_of_several(), "once may be by chance");
        assert_eq!(hosts.sends(1, 1, 8), None);
        assert!(hosts.counter_is_of_several());
        hosts.sends(2, 1, 9);
        assert!(hosts.counter_is_of_several());
        hosts.sends(3, 1, 900);
        assert!(!hosts.counter_is_of_several());
    }
}
