//! Packets of tests: Ethernet, IPv4 and TCP without options.

use trace_model::{IpAddress, LinkType, Network, Packet, Segment, SeqNumber, TcpOptions};

const HEADERS_BYTES: u32 = 54;

/// A segment of these sequence numbers; its ports are whoever sends it to say.
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

/// The packet of a segment from one host to another, all of which was captured.
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
