//! Packets that were captured twice: on two ports of a switch, or twice in one host.

use trace_model::{Packet, Segment};

/// Maximum number of packets between a packet and its copy, as in tcptrace.
const REMEMBERED: usize = 8;
/// Longest time between data and its copy, if no number identifies the packets.
///
/// No sender detects a loss within this time.
const COPY_MAX_NS: i64 = 100_000;

#[derive(Clone, Copy, Debug)]
struct Header {
    seq: u32,
    ack: u32,
    flags: u16,
    window: u16,
    payload_bytes: u32,
    identification: u32,
}

#[derive(Debug, Default)]
pub struct Copies {
    recent: [Option<(Header, i64)>; REMEMBERED],
    next: usize,
    pub count: u64,
}

impl Copies {
    /// Return whether the packet is a copy of a recent packet.
    ///
    /// A retransmitted IPv4 packet has a new identification (RFC 6864, section 4.3). The number 0 means no
    /// identification.
    pub fn is_copy(&mut self, packet: &Packet<'_>, segment: &Segment<'_>) -> bool {
        let header = Header {
            seq: segment.seq.0,
            ack: segment.ack.0,
            flags: segment.flags,
            window: segment.window,
            payload_bytes: segment.payload_bytes,
            identification: packet.network.map_or(0, |network| network.identification),
        };
        let is_copy = self.recent.iter().flatten().any(|(seen, time_ns)| {
            seen.is_alike(&header)
                && (header.identification != 0
                    || (header.payload_bytes > 0
                        && packet.time_ns.saturating_sub(*time_ns) < COPY_MAX_NS))
        });
        if is_copy {
            self.count = self.count.saturating_add(1);
        } else {
            if let Some(place) = self.recent.get_mut(self.next) {
                *place = Some((header, packet.time_ns));
            }
            self.next = self.next.saturating_add(1) % REMEMBERED;
        }
        is_copy
    }
}

impl Header {
    fn is_alike(&self, other: &Header) -> bool {
        self.seq == other.seq
            && self.ack == other.ack
            && self.flags == other.flags
            && self.window == other.window
            && self.payload_bytes == other.payload_bytes
            && self.identification == other.identification
    }
}
