//! Frames in wire format: Ethernet, IPv4, TCP with its options, payload, checksums.

use trace_model::flags;

use crate::segment::{Cookie, Options, Segment};

/// LINKTYPE_ETHERNET.
pub const LINK_TYPE: u16 = 1;
/// Length of the Ethernet addresses and type.
pub const ETHERNET_BYTES: u32 = 14;
/// Length of an IPv4 header without options (RFC 791, section 3.1).
pub const IPV4_BYTES: u32 = 20;
/// Offset of the TCP header.
const TCP_AT: usize = (ETHERNET_BYTES + IPV4_BYTES) as usize;
const PROTOCOL_TCP: u8 = 6;
const ETHERTYPE_IPV4: [u8; 2] = [0x08, 0x00];
/// Prefix of locally administered addresses (IEEE 802, the second-lowest bit of the first byte).
const STATION_PREFIX: [u8; 2] = [0x02, 0x00];
const DO_NOT_FRAGMENT: [u8; 2] = [0x40, 0x00];

/// Kinds of options (IANA, "TCP Option Kind Numbers").
mod kind {
    pub const NOP: u8 = 1;
    pub const MSS: u8 = 2;
    pub const WINDOW_SCALE: u8 = 3;
    pub const SACK_PERMITTED: u8 = 4;
    pub const SACK: u8 = 5;
    pub const TIMESTAMPS: u8 = 8;
    pub const CONNECTION_COUNT: u8 = 11;
    pub const FAST_OPEN: u8 = 34;
}

/// The header fields of a frame.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    /// The nodes at both ends of the frame's link.
    pub stations: (u32, u32),
    pub addresses: ([u8; 4], [u8; 4]),
    pub ports: (u16, u16),
    pub identification: u16,
    pub ttl: u8,
    pub seq: u32,
    pub ack: u32,
    pub flags: u16,
    pub window: u16,
    /// The last two bits of the type of service (RFC 3168, section 5).
    pub ecn: u8,
    pub payload_bytes: u32,
}

/// Sequence number of the SYN in the acknowledged direction. SACK blocks count from this number.
pub type AckInitial = u32;

/// Append a frame to `out`. `payload` appends the payload. Return the TCP checksum.
pub fn write(
    header: &Header,
    options: &Options,
    ack_initial: AckInitial,
    payload: impl FnOnce(&mut Vec<u8>),
    out: &mut Vec<u8>,
) -> u16 {
    let start = out.len();
    ethernet(header, out);
    ipv4(header, options, out);
    tcp(header, options, ack_initial, out);
    payload(out);
    let segment = out.get(start + TCP_AT..).unwrap_or(&[]);
    let checksum = tcp_checksum(header, segment);
    put(out, start + TCP_AT + 16, checksum);
    checksum
}

fn ethernet(header: &Header, out: &mut Vec<u8>) {
    for station in [header.stations.1, header.stations.0] {
        out.extend_from_slice(&STATION_PREFIX);
        out.extend_from_slice(&station.to_be_bytes());
    }
    out.extend_from_slice(&ETHERTYPE_IPV4);
}

fn ipv4(header: &Header, options: &Options, out: &mut Vec<u8>) {
    let start = out.len();
    let bytes = 40 + options.bytes() + header.payload_bytes;
    out.extend_from_slice(&[0x45, header.ecn]);
    out.extend_from_slice(&(bytes as u16).to_be_bytes());
    out.extend_from_slice(&header.identification.to_be_bytes());
    out.extend_from_slice(&DO_NOT_FRAGMENT);
    out.extend_from_slice(&[header.ttl, PROTOCOL_TCP, 0, 0]);
    out.extend_from_slice(&header.addresses.0);
    out.extend_from_slice(&header.addresses.1);
    let sum = folded(sum(out.get(start..).unwrap_or(&[])));
    put(out, start + 10, !sum);
}

fn tcp(header: &Header, options: &Options, ack_initial: AckInitial, out: &mut Vec<u8>) {
    out.extend_from_slice(&header.ports.0.to_be_bytes());
    out.extend_from_slice(&header.ports.1.to_be_bytes());
    out.extend_from_slice(&header.seq.to_be_bytes());
    out.extend_from_slice(&header.ack.to_be_bytes());
    // The header length in words is in the bits above the flags.
    let words = (5 + options.bytes() / 4) as u16;
    out.extend_from_slice(&(words << 12 | header.flags).to_be_bytes());
    out.extend_from_slice(&header.window.to_be_bytes());
    // The checksum is filled in later. There is no urgent data.
    out.extend_from_slice(&[0; 4]);
    write_options(options, ack_initial, out);
}

/// Append the options in the order and with the padding of 4.4BSD and Linux: each at a word boundary.
fn write_options(options: &Options, ack_initial: AckInitial, out: &mut Vec<u8>) {
    if let Some(mss) = options.mss {
        out.extend_from_slice(&[kind::MSS, 4]);
        out.extend_from_slice(&mss.to_be_bytes());
    }
    match (options.sack_permitted, options.timestamps) {
        (true, _) if options.timestamps.is_some() => {
            out.extend_from_slice(&[kind::SACK_PERMITTED, 2]);
        }
        (true, _) => out.extend_from_slice(&[kind::NOP, kind::NOP, kind::SACK_PERMITTED, 2]),
        (false, Some(_)) => out.extend_from_slice(&[kind::NOP, kind::NOP]),
        (false, None) => {}
    }
    if let Some((value, echo_reply)) = options.timestamps {
        out.extend_from_slice(&[kind::TIMESTAMPS, 10]);
        out.extend_from_slice(&value.to_be_bytes());
        out.extend_from_slice(&echo_reply.to_be_bytes());
    }
    if let Some(shift) = options.window_scale {
        out.extend_from_slice(&[kind::NOP, kind::WINDOW_SCALE, 3, shift]);
    }
    if let Some(count) = options.connection_count {
        out.extend_from_slice(&[kind::NOP, kind::NOP, kind::CONNECTION_COUNT, 6]);
        out.extend_from_slice(&count.to_be_bytes());
    }
    match options.fast_open {
        None => {}
        Some(Cookie::Wanted) => out.extend_from_slice(&[kind::FAST_OPEN, 2, kind::NOP, kind::NOP]),
        Some(Cookie::Of(cookie)) => {
            out.extend_from_slice(&[kind::FAST_OPEN, 10]);
            out.extend_from_slice(&cookie.to_be_bytes());
            out.extend_from_slice(&[kind::NOP, kind::NOP]);
        }
    }
    let blocks = options.sack_blocks();
    let count = options.sack_blocks().count() as u8;
    if count > 0 {
        out.extend_from_slice(&[kind::NOP, kind::NOP, kind::SACK, 2 + 8 * count]);
    }
    for edge in blocks.flat_map(|(left, right)| [left, right]) {
        out.extend_from_slice(&number(ack_initial, edge).to_be_bytes());
    }
}

/// Return the sequence number of an offset, counted from the SYN's number modulo 2^32.
#[must_use]
pub fn number(initial: u32, offset: u64) -> u32 {
    initial.wrapping_add(offset as u32)
}

/// Return the window field. The field of a SYN is not scaled (RFC 7323, section 2.2).
#[must_use]
pub fn window_field(segment: &Segment, shift: u8) -> u16 {
    let shift = if segment.has(flags::SYN) { 0 } else { shift };
    u16::try_from(segment.window >> shift).unwrap_or(u16::MAX)
}

/// Return the checksum over the pseudo-header and the segment (RFC 9293, section 3.1).
fn tcp_checksum(header: &Header, segment: &[u8]) -> u16 {
    let pseudo = sum(&header.addresses.0)
        + sum(&header.addresses.1)
        + u64::from(PROTOCOL_TCP)
        + segment.len() as u64;
    !folded(pseudo + sum(segment))
}

/// Return the sum of two-byte words. An odd last byte is padded with zero (RFC 1071).
fn sum(bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(2);
    let whole: u64 = words.by_ref().map(word_of).sum();
    let last = words.remainder().first().copied();
    whole + last.map_or(0, |byte| u64::from(byte) << 8)
}

fn word_of(two: &[u8]) -> u64 {
    two.try_into()
        .map_or(0, |two| u64::from(u16::from_be_bytes(two)))
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

fn put(out: &mut [u8], at: usize, word: u16) {
    if let Some(place) = out.get_mut(at..at + 2) {
        place.copy_from_slice(&word.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(payload_bytes: u32) -> Header {
        Header {
            stations: (1, 2),
            addresses: ([10, 0, 0, 1], [10, 0, 0, 2]),
            ports: (1025, 80),
            identification: 7,
            ttl: 64,
            seq: u32::MAX - 1,
            ack: 9,
            flags: flags::ACK | flags::PSH,
            window: 17_520,
            ecn: 0,
            payload_bytes,
        }
    }

    fn frame(options: &Options, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let write_payload = |out: &mut Vec<u8>| out.extend_from_slice(payload);
        write(
            &header(payload.len() as u32),
            options,
            100,
            write_payload,
            &mut out,
        );
        out
    }

    #[test]
    fn checksums_of_a_whole_header_come_out_as_all_ones() {
        for payload in [&b""[..], b"a", b"ab", b"abc"] {
            let frame = frame(&Options::default(), payload);
            assert_eq!(folded(sum(&frame[14..34])), 0xFFFF);
            let pseudo = sum(&[10, 0, 0, 1, 10, 0, 0, 2]) + 6 + 20 + payload.len() as u64;
            assert_eq!(folded(pseudo + sum(&frame[34..])), 0xFFFF);
        }
    }

    #[test]
    fn the_checksum_of_rfc_1071s_example_is_right() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(folded(sum(&bytes)), 0xddf2);
    }

    #[test]
    fn option_bytes_match_the_segment() {
        let none = Options::default();
        let timestamps = Some((1, 2));
        let all = [
            none,
            Options {
                mss: Some(1460),
                ..none
            },
            Options {
                sack_permitted: true,
                ..none
            },
            Options { timestamps, ..none },
            Options {
                sack_permitted: true,
                timestamps,
                ..none
            },
            Options {
                window_scale: Some(7),
                connection_count: Some(1),
                ..none
            },
            Options {
                sack: [(5, 6), (0, 0), (0, 0)],
                ..none
            },
            Options {
                sack: [(5, 6), (7, 8), (9, 10)],
                timestamps,
                ..none
            },
        ];
        for options in all {
            let bytes = frame(&options, b"").len() as u32;
            assert_eq!(bytes, 54 + options.bytes(), "{options:?}");
        }
    }

    #[test]
    fn a_linux_syn_has_linux_option_order() {
        let options = Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some((0x0102_0304, 0)),
            ..Options::default()
        };
        let expected = [
            2, 4, 5, 180, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7,
        ];
        assert_eq!(frame(&options, b"")[54..], expected);
    }

    /// The bytes of Linux 6.18: `22 02 01 01`, then `22 0a` with eight bytes and `01 01`.
    #[test]
    fn a_fast_open_option_is_filled_up_to_words() {
        let mut options = Options {
            fast_open: Some(Cookie::Wanted),
            ..Options::default()
        };
        assert_eq!(frame(&options, b"")[54..], [34, 2, 1, 1]);
        options.fast_open = Some(Cookie::Of(0x0102_0304_0506_0708));
        let expected = [34, 10, 1, 2, 3, 4, 5, 6, 7, 8, 1, 1];
        assert_eq!(frame(&options, b"")[54..], expected);
        assert_eq!(options.bytes(), 12);
    }

    #[test]
    fn sack_edges_and_offsets_wrap_like_sequence_numbers() {
        assert_eq!(number(u32::MAX, 2), 1);
        assert_eq!(number(5, (1 << 32) + 1), 6);
        let options = Options {
            sack: [(1, 1461), (0, 0), (0, 0)],
            ..Options::default()
        };
        assert_eq!(
            frame(&options, b"")[54..],
            [1, 1, 5, 10, 0, 0, 0, 101, 0, 0, 6, 25]
        );
    }

    #[test]
    fn the_window_of_a_syn_is_not_scaled() {
        let syn = Segment {
            flags: flags::SYN,
            window: 70_000,
            ..Segment::default()
        };
        assert_eq!(window_field(&syn, 2), u16::MAX);
        assert_eq!(window_field(&Segment { flags: 0, ..syn }, 2), 17_500);
    }
}
