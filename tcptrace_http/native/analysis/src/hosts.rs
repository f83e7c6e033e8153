//! How each host numbers its packets, whichever connection they are of.
//!
//! BSD, Windows and old Linux count all packets of a host together. Where its connections are in the capture,
//! the host's numbers tell which packets never came by; those of one connection alone do not. Every share of a
//! capture follows all hosts, so that each knows the same.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use trace_model::{IpAddress, Packet, Segment};

use crate::numbering::Numbering;
use crate::segment_size::FULL_SEGMENT_BYTES;

/// Hosts that are followed; of one more nothing is known but what its connections tell.
const HOSTS_MAX: usize = 1 << 14;

/// What the numbers of a host tell when a packet of it comes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostStep {
    /// Packets of it that never came by so far.
    pub passed_over: u32,
    /// It was sent before one that came by.
    pub is_late: bool,
}

#[derive(Debug, Default)]
struct Host {
    numbering: Numbering,
    passed_over: u32,
}

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
        self.numbered(network.source, network.identification, segments)
    }

    fn numbered(
        &mut self,
        source: IpAddress,
        identification: u32,
        segments: u32,
    ) -> Option<HostStep> {
        let place = self.place_of(source)?;
        let host = self.hosts.get_mut(place)?;
        let step = host.numbering.step(identification, segments);
        let came = u32::from(step.is_late);
        host.passed_over = host
            .passed_over
            .saturating_add(step.skipped)
            .saturating_sub(came);
        host.numbering.counts().then_some(HostStep {
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

    #[test]
    fn a_packet_that_no_connection_of_a_host_has_is_one_that_never_came_by() {
        let mut hosts = Hosts::default();
        for number in 1..=6 {
            hosts.numbered(address(1), number, 1);
            hosts.numbered(address(2), 1000 - number, 1);
        }
        let passed_over = |step: Option<HostStep>| step.map(|step| step.passed_over);
        assert_eq!(passed_over(hosts.numbered(address(1), 7, 1)), Some(0));
        assert_eq!(passed_over(hosts.numbered(address(1), 9, 1)), Some(1));
        assert_eq!(passed_over(hosts.numbered(address(1), 10, 1)), Some(1));
        assert_eq!(hosts.numbered(address(2), 900, 1), None);
    }

    #[test]
    fn a_packet_that_was_overtaken_has_come_by_after_all() {
        let mut hosts = Hosts::default();
        for number in [1, 2, 3, 4, 5, 6, 8] {
            hosts.numbered(address(1), number, 1);
        }
        let late = HostStep {
            passed_over: 0,
            is_late: true,
        };
        assert_eq!(hosts.numbered(address(1), 7, 1), Some(late));
    }
}
