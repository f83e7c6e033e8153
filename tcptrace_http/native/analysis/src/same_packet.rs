//! Recognizes a packet that the capture shows more than once: at two interfaces of a host, before and after it was
//! routed, with and without a VLAN tag, or at two ports of a mirror.
//!
//! Theory of operation. A packet and its copies have one TCP header and one IPv4 identification (RFC 6864, section 4.3),
//! and differ in where they were seen: TTL, interface, link type, or the headers before IP. The last first sightings of
//! all hosts are kept in small sets, by a hash of what copies share, so that a packet is compared with few others
//! however many there are between it and its copy. The first sighting is kept; copies are counted, and nothing follows
//! from them.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use trace_model::{flags, Network, Packet, Segment};

/// Sets of sightings, a power of two, and the sightings of each: so many packets may be between a packet and its copy.
const SETS: usize = 1024;
const WAYS: usize = 4;
/// Directions of which it is known whether their sender numbers its packets; a power of two.
const SENDERS: usize = 1024;
/// Ethernet with three VLAN tags; the cooked headers of Linux are shorter.
const LONGEST_LINK_HEADER: usize = 26;
/// A longer way between two places of one capture is none that packets take.
const ROUND_TRIP_MAX_NS: i64 = 1_000_000_000;
/// A host or a switch shows a packet again within this time.
const NEAR_NS: i64 = 1_000_000;
/// No sender has learnt of a loss by then, and none sends data again.
const NO_LOSS_NS: i64 = 100_000;

/// A packet that was seen: the hash of what its copies share, and of where it was seen.
#[derive(Clone, Copy, Debug, Default)]
struct Sighting {
    packet: u64,
    place: u64,
    time_ns: i64,
}

/// Whether the sender of a direction gives its packets different numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Sender {
    direction: u64,
    number: u32,
    numbers: bool,
}

#[derive(Debug)]
pub struct SamePackets {
    sets: Vec<[Sighting; WAYS]>,
    senders: Vec<Sender>,
}

impl Default for SamePackets {
    fn default() -> Self {
        SamePackets {
            sets: vec![[Sighting::default(); WAYS]; SETS],
            senders: vec![Sender::default(); SENDERS],
        }
    }
}

impl SamePackets {
    /// Whether the packet was captured before. If not, it is remembered.
    pub fn is_again(&mut self, packet: &Packet<'_>, segment: &Segment<'_>) -> bool {
        let Some(network) = packet.network else {
            return false;
        };
        let direction = direction_of(&network, segment);
        let numbers = self.note_number(direction, network.identification);
        let seen = Sighting {
            packet: packet_of(direction, &network, segment),
            place: place_of(packet, &network),
            time_ns: packet.time_ns,
        };
        let index = usize::try_from(seen.packet).unwrap_or(0) % SETS;
        let Some(set) = self.sets.get_mut(index) else {
            return false;
        };
        let mut alike = set.iter().filter(|before| before.packet == seen.packet);
        if alike.any(|before| is_copy(before, &seen, numbers, segment)) {
            return true;
        }
        let [first, second, third, _] = *set;
        *set = [seen, first, second, third];
        false
    }

    /// Notes the number of a packet. Whether its sender has given two packets different numbers.
    fn note_number(&mut self, direction: u64, number: u32) -> bool {
        let index = usize::try_from(direction).unwrap_or(0) % SENDERS;
        let Some(sender) = self.senders.get_mut(index).filter(|_| number != 0) else {
            return false;
        };
        if sender.direction != direction {
            *sender = Sender {
                direction,
                number,
                numbers: false,
            };
        }
        sender.numbers |= sender.number != number;
        sender.number = number;
        sender.numbers
    }
}

/// Whether `seen` is a copy of an earlier sighting of which the headers are the same. `numbers`: its sender numbers its
/// packets, so that one that is sent again has another number. Elsewhere only its place or the time tells.
fn is_copy(before: &Sighting, seen: &Sighting, numbers: bool, segment: &Segment<'_>) -> bool {
    let elapsed_ns = seen.time_ns.saturating_sub(before.time_ns).saturating_abs();
    let is_elsewhere = before.place != seen.place;
    let tells = numbers || segment.options.timestamps.is_some();
    let most_ns = if is_elsewhere && tells {
        ROUND_TRIP_MAX_NS
    } else if is_elsewhere || numbers {
        NEAR_NS
    } else if segment.sequence_length() > 0 && !segment.has(flags::RST) {
        NO_LOSS_NS
    } else {
        return false;
    };
    elapsed_ns <= most_ns
}

fn hasher() -> impl Hasher {
    FixedState::default().build_hasher()
}

fn direction_of(network: &Network, segment: &Segment<'_>) -> u64 {
    let mut hasher = hasher();
    hasher.write_u128(u128::from_ne_bytes(network.source.octets));
    hasher.write_u128(u128::from_ne_bytes(network.destination.octets));
    hasher.write_u64(pair(
        u32::from(segment.source_port),
        u32::from(segment.destination_port),
    ));
    hasher.finish()
}

/// What a packet and its copies share. The checksums differ where offload is still to fill them in.
fn packet_of(direction: u64, network: &Network, segment: &Segment<'_>) -> u64 {
    let options = &segment.options;
    let stamps = options
        .timestamps
        .map_or(0, |stamps| pair(stamps.value, stamps.echo_reply));
    let first_block = options.sack.as_slice().first();
    let sack = first_block.map_or(0, |(left, right)| pair(left.0, right.0));
    let flags_and_window = (u32::from(segment.flags) << 16) | u32::from(segment.window);
    let mut hasher = hasher();
    hasher.write_u64(direction);
    hasher.write_u64(pair(segment.seq.0, segment.ack.0));
    hasher.write_u64(pair(segment.payload_bytes, flags_and_window));
    hasher.write_u64(stamps);
    hasher.write_u64(sack);
    hasher.write_u32(network.identification);
    hasher.finish()
}

fn place_of(packet: &Packet<'_>, network: &Network) -> u64 {
    let mut hasher = hasher();
    hasher.write_u64(pair(packet.interface, u32::from(packet.link_type.0)));
    hasher.write_u64(pair(network.header_offset, u32::from(network.ttl)));
    // Longer headers are of tunnels and radio links, which number their packets themselves.
    if packet.outer_headers.len() <= LONGEST_LINK_HEADER {
        hasher.write(packet.outer_headers);
    }
    hasher.finish()
}

fn pair(high: u32, low: u32) -> u64 {
    (u64::from(high) << 32) | u64::from(low)
}

#[cfg(test)]
mod tests;
