//! Lengths of record headers. Patched versions of libpcap add fields after the standard ones, and not every
//! patch has its own magic number (Wireshark, wiretap/libpcap.c).
//!
//! The first record decides: an Ethernet header follows a record header of the correct length. The default is
//! the length that the magic number implies. Another length replaces it if only that length leads to a known
//! EtherType and the added fields are plausible.

use super::{MAGIC_MICROSECONDS, MAGIC_MODIFIED};
use crate::bytes::ByteOrder;

pub(super) const STANDARD_BYTES: usize = 16;
/// Header length with the four added bytes of Nokia firewalls.
const NOKIA_BYTES: usize = 20;
/// Header length with A. Kuznetzov's patches, which add interface index, protocol and packet type. The first
/// version, in Red Hat 6.1, uses the standard magic number.
const PATCHED_BYTES: usize = 24;
/// Header length with the patch of SuSE 6.3, which also adds the numbers of two CPUs.
const PATCHED_WITH_CPUS_BYTES: usize = 28;

/// Offset of the type in an Ethernet header.
const ETHER_TYPE_AT: usize = 12;
/// IPv4, ARP, VLAN tag, IPv6, MPLS, PPPoE and the service VLAN tag.
const ETHER_TYPES: [u16; 7] = [0x0800, 0x0806, 0x8100, 0x86dd, 0x8847, 0x8864, 0x88a8];
/// Maximum plausible interface number of that time, as in Wireshark.
const LAST_INTERFACE: u32 = 10_000;
/// `PACKET_OUTGOING`, the last packet type of that time.
const LAST_PACKET_TYPE: u8 = 4;

/// Return the length that the magic number implies.
pub(super) fn implied_bytes(magic: u32) -> usize {
    if magic == MAGIC_MODIFIED {
        PATCHED_BYTES
    } else {
        STANDARD_BYTES
    }
}

/// Return the length of the record headers of an Ethernet capture. `record` is the first record, with the end
/// that the implied length gives.
pub(super) fn bytes(magic: u32, order: ByteOrder, record: &[u8]) -> usize {
    let implied = implied_bytes(magic);
    let may_be = |length| has_ethernet_after(record, length);
    match magic {
        _ if may_be(implied) => implied,
        MAGIC_MODIFIED if may_be(PATCHED_WITH_CPUS_BYTES) => PATCHED_WITH_CPUS_BYTES,
        MAGIC_MICROSECONDS if may_be(PATCHED_BYTES) && is_patched(order, record) => PATCHED_BYTES,
        MAGIC_MICROSECONDS if may_be(NOKIA_BYTES) && is_nokia(record) => NOKIA_BYTES,
        _ => implied,
    }
}

fn has_ethernet_after(record: &[u8], header_bytes: usize) -> bool {
    ByteOrder::Big
        .u16(record, header_bytes.saturating_add(ETHER_TYPE_AT))
        .is_some_and(|ether_type| ETHER_TYPES.contains(&ether_type))
}

/// Return true if the fields after the standard ones are plausible. These fields are an interface index, the
/// frame's type or 0, and a packet type.
fn is_patched(order: ByteOrder, record: &[u8]) -> bool {
    let ether_type = ByteOrder::Big.u16(record, PATCHED_BYTES.saturating_add(ETHER_TYPE_AT));
    let protocol = order.u16(record, 20);
    order
        .u32(record, 16)
        .is_some_and(|index| index <= LAST_INTERFACE)
        && (protocol == Some(0) || protocol == ether_type)
        && record.get(22).is_some_and(|kind| *kind <= LAST_PACKET_TYPE)
}

/// Return true if the four bytes match 0xXfbfYZ0W, little-endian, which occurs in such files. Wireshark
/// writes 0, which also matches.
fn is_nokia(record: &[u8]) -> bool {
    matches!(
        record.get(STANDARD_BYTES..NOKIA_BYTES),
        Some([1 | 2, 0xb6 | 0xb9 | 0xd6 | 0xd9, 0xbf, 0x9f | 0xbf] | [0, 0, 0, 0])
    )
}

#[cfg(test)]
mod tests {
    use crate::bytes::ByteOrder::{self, Big, Little};
    use crate::testing::{read, tcp_packet, Bytes, ETHERNET, MICROSECONDS};

    const MODIFIED: u32 = 0xa1b2_cd34;
    const ETHERNET_HEADER: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0];

    /// Return a file of two packets whose record headers end with `fields`.
    fn file(order: ByteOrder, magic: u32, fields: &[u8]) -> Vec<u8> {
        let frame = [&ETHERNET_HEADER[..], &tcp_packet(b"abc")].concat();
        let length = u32::try_from(frame.len()).unwrap();
        let mut file = Bytes::pcap(order, magic, ETHERNET);
        for seconds in [5, 6] {
            file = file.u32(seconds).u32(7).u32(length).u32(length);
            file = file.raw(fields).raw(&frame);
        }
        file.bytes
    }

    fn is_read(file: &[u8]) -> bool {
        let reading = read(file);
        reading.result == Ok(())
            && reading.recorder.times() == [5_000_007_000, 6_000_007_000]
            && reading.recorder.anomalies.is_empty()
            && reading.provenance.tcp_packets == 2
    }

    #[test]
    fn test_the_first_record_reveals_fields_after_the_standard_ones() {
        let patched = [2, 0, 0, 0, 0x00, 0x08, 4, 0];
        let patched_big = [0, 0, 0, 2, 0x08, 0x00, 0, 0];
        assert!(is_read(&file(Little, MICROSECONDS, &[])));
        assert!(is_read(&file(Little, MICROSECONDS, &patched)));
        assert!(is_read(&file(Big, MICROSECONDS, &patched_big)));
        assert!(is_read(&file(Big, MICROSECONDS, &[0; 8])));
        assert!(is_read(&file(Little, MICROSECONDS, &[1, 0xb6, 0xbf, 0x9f])));
        assert!(is_read(&file(Little, MODIFIED, &patched)));
        assert!(is_read(&file(
            Little,
            MODIFIED,
            &[patched, [9; 8]].concat()[..12]
        )));
    }

    #[test]
    fn test_implausible_fields_leave_the_implied_length() {
        for fields in [
            [0xff, 0xff, 0, 0, 0x00, 0x08, 4, 0],
            [2, 0, 0, 0, 0x06, 0x08, 4, 0],
            [2, 0, 0, 0, 0x00, 0x08, 5, 0],
        ] {
            assert!(!is_read(&file(Little, MICROSECONDS, &fields)));
        }
        assert!(!is_read(&file(
            Little,
            MICROSECONDS,
            &[1, 0xb6, 0xbf, 0x8f]
        )));
    }

    #[test]
    fn test_a_first_record_without_a_known_type_is_a_standard_one() {
        let file = Bytes::pcap(Little, MICROSECONDS, ETHERNET);
        let mut frame = ETHERNET_HEADER.to_vec();
        frame[12..].copy_from_slice(&[0x88, 0xcc]);
        frame.resize(60, 0);
        let file = file.record(1, 0, &frame).record(2, 0, &frame);
        let reading = read(&file.bytes);
        assert_eq!(reading.recorder.packets[1].captured_bytes, 60);
        assert_eq!(reading.recorder.times(), [1_000_000_000, 2_000_000_000]);
    }
}
