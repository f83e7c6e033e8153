//! Test packets: Ethernet, IPv4 and TCP without options.

use trace_model::{IpAddress, LinkType, Network, Packet, Segment, SeqNumber, TcpOptions};

const HEADERS_BYTES: u32 = 54;

/// Return a segment with these sequence numbers; the caller sets its ports.
pub fn segment(flags: u16, (seq, ack): (u32, u32), payload: &[u8]) -> Segment<'_> {
    Segment {
        source_port: 0,
        destination_port: 0,
        seq: SeqNumber(seq),
        ack: SeqNumber(ack),
        flags,
        window: 65_535,
        checksum: 0,
        urgent_pointer: 0,
        options: TcpOptions::default(),
        header_bytes: 20,
        payload_bytes: payload.len() as u32,
        payload_offset: HEADERS_BYTES,
        payload,
    }
}

/// Return the packet of a segment between two hosts, captured in full.
pub fn packet<'a>(
    frame: u64,
    time_ns: i64,
    (source, destination): (IpAddress, IpAddress),
    segment: Segment<'a>,
) -> Packet<'a> {
    let bytes = HEADERS_BYTES + segment.payload_bytes;
    Packet {
        frame,
        time_ns,
        interface: 0,
        link_type: LinkType(1),
        wire_bytes: bytes,
        captured_bytes: bytes,
        outer_headers: &[],
        network: Some(Network {
            source,
            destination,
            protocol: 6,
            ttl: 64,
            identification: 0,
            header_offset: 14,
            is_fragment: false,
            ecn: 0,
        }),
        segment: Some(segment),
    }
}
