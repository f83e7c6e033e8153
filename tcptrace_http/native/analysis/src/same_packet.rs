//! Detection of packets that the capture contains several times.
//!
//! Examples are two interfaces of a host, both sides of a router, tagged and untagged VLANs, or two mirror
//! ports.
//!
//! Theory of operation. A packet and its copies have the same TCP header and IPv4 identification (RFC 6864,
//! section 4.3). They differ in TTL, interface, link type, or the headers before IP. The latest first
//! sightings of all hosts are kept in small sets, by a hash of the common fields. A packet is therefore
//! compared with few others, independent of the distance between the copies. The first sighting is analysed.
//! Copies are only counted.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use trace_model::{flags, Network, Packet, Segment};

/// Number of sets (a power of two) and sightings per set: the maximum distance between a packet and its copy.
const SETS: usize = 1024;
const WAYS: usize = 4;
/// Number of directions whose numbering is kept (a power of two).
const SENDERS: usize = 1024;
/// Ethernet with three VLAN tags; Linux cooked headers are shorter.
const LONGEST_LINK_HEADER: usize = 26;
/// Longest time between two capture points of one capture.
const ROUND_TRIP_MAX_NS: i64 = 1_000_000_000;
/// Longest time between two sightings in one host or switch.
const NEAR_NS: i64 = 1_000_000;
/// Time within which no sender detects a loss or retransmits.
const NO_LOSS_NS: i64 = 100_000;

/// Seen packet: the hash of the fields common to its copies, and the hash of its place.
#[derive(Clone, Copy, Debug, Default)]
struct Sighting {
    packet: u64,
    place: u64,
    time_ns: i64,
}

/// State that shows whether the sender of a direction numbers its packets.
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
    /// Return whether the packet was captured before; store a new packet.
    pub fn is_duplicate(&mut self, packet: &Packet<'_>, segment: &Segment<'_>) -> bool {
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

    /// Store the number of a packet, and return whether its sender has used two different numbers.
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

/// Return whether `seen` is a copy of an earlier sighting with the same headers.
///
/// `numbers` is true if the sender numbers its packets: a retransmission then has another number. Otherwise only the place
/// or the time decides.
fn is_copy(before: &Sighting, seen: &Sighting, numbers: bool, segment: &Segment<'_>) -> bool {
    let elapsed_ns = seen.time_ns.saturating_sub(before.time_ns).saturating_abs();
    let is_elsewhere = before.place != seen.place;
    let has_order = numbers || segment.options.timestamps.is_some();
    let most_ns = if is_elsewhere && has_order {
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

/// Return the hash of the fields common to a packet and its copies; checksum offload may change checksums.
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
    // Longer headers belong to tunnels and radio links, which number their packets themselves.
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
