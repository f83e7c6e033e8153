//! The pcap format (draft-ietf-opsawg-pcap) in both byte orders, and its variants.
//!
//! A file header gives byte order, clock and link type. Records follow, each with a header of time and
//! lengths, and the captured bytes. No marker shows the start of a record, so an impossible record ends the
//! reading.

mod record_header;

use trace_model::{LinkType, PacketSink};

use crate::bytes::ByteOrder;
use crate::emitter::{Emitter, Record};
use crate::error::CaptureError;
use crate::layers::Layers;
use crate::progress::Progress;
use crate::time::NANOSECONDS_PER_SECOND;

pub(crate) const FILE_HEADER_BYTES: usize = 24;

const MAGIC_MICROSECONDS: u32 = 0xa1b2_c3d4;
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const MAGIC_MODIFIED: u32 = 0xa1b2_cd34;

/// Mask of the link type in the last header field. The bits above hold the length of the frame check sequence
/// and its presence flag (libpcap, LT_LINKTYPE).
const LINK_TYPE_MASK: u32 = 0x03ff_ffff;

/// Maximum record size: libpcap's MAXIMUM_SNAPLEN and Wireshark's WTAP_MAX_PACKET_SIZE_STANDARD.
const MAX_CAPTURED_BYTES: u32 = 262_144;
/// Maximum size of D-Bus messages and USB transfers: libpcap's max_snaplen_for_dlt.
const MAX_MESSAGE_BYTES: u32 = 128 * 1024 * 1024;
const LINKTYPE_ETHERNET: u32 = 1;
const LINKTYPE_USB_LINUX: u32 = 189;
const LINKTYPE_USB_LINUX_MMAPPED: u32 = 220;
const LINKTYPE_DBUS: u32 = 231;
const LINKTYPE_USBPCAP: u32 = 249;
const LINKTYPE_USB_DARWIN: u32 = 266;

/// The order of the two length fields of a record (libpcap, sf-pcap.c).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LengthOrder {
    CapturedFirst,
    /// Before version 2.3: the length on the wire first.
    WireFirst,
    /// Version 2.3: both orders occur. The captured length is the smaller one.
    LesserIsCaptured,
}

#[derive(Debug)]
pub(crate) struct Pcap {
    byte_order: ByteOrder,
    magic: u32,
    nanoseconds_per_tick: i64,
    record_header_bytes: usize,
    /// True once the length of record headers was checked against the first record.
    is_header_settled: bool,
    length_order: LengthOrder,
    /// The number in the file. A number above 16 bits is no link type.
    link_type_number: u32,
    link_type: LinkType,
    is_supported: bool,
    max_captured_bytes: u32,
}

/// Return the byte order and the magic number, if these are the first bytes of a pcap file.
fn recognise(start: &[u8]) -> Option<(ByteOrder, u32)> {
    [ByteOrder::Little, ByteOrder::Big]
        .into_iter()
        .filter_map(|order| Some((order, order.u32(start, 0)?)))
        .find(|(_, magic)| {
            matches!(
                *magic,
                MAGIC_MICROSECONDS | MAGIC_NANOSECONDS | MAGIC_MODIFIED
            )
        })
}

pub(crate) fn is_pcap(start: &[u8]) -> bool {
    recognise(start).is_some()
}

impl Pcap {
    /// Parse the file header. Return None if it is incomplete, and an error if it is invalid.
    pub(crate) fn open(header: &[u8], emitter: &mut Emitter) -> Option<Result<Self, String>> {
        let (byte_order, magic) = recognise(header)?;
        let version = (byte_order.u16(header, 4)?, byte_order.u16(header, 6)?);
        let snap_length = byte_order.u32(header, 16)?;
        let link_type_number = byte_order.u32(header, 20)? & LINK_TYPE_MASK;
        let link_type = u16::try_from(link_type_number).ok().map(LinkType);
        let length_order = match length_order(version) {
            Ok(order) => order,
            Err(what) => return Some(Err(what)),
        };
        let provenance = &mut emitter.provenance;
        provenance.format = "pcap";
        if let Some(link_type) = link_type {
            provenance.add_interface(link_type, snap_length);
        }
        Some(Ok(Pcap {
            byte_order,
            magic,
            nanoseconds_per_tick: if magic == MAGIC_NANOSECONDS { 1 } else { 1_000 },
            record_header_bytes: record_header::implied_bytes(magic),
            is_header_settled: link_type_number != LINKTYPE_ETHERNET,
            length_order,
            link_type_number,
            link_type: link_type.unwrap_or(LinkType(u16::MAX)),
            is_supported: link_type.is_some_and(Layers::supports),
            max_captured_bytes: max_captured_bytes(link_type_number),
        }))
    }

    /// Read the record at the start of the input.
    #[inline]
    pub(crate) fn advance<S: PacketSink>(
        &mut self,
        input: &[u8],
        emitter: &mut Emitter,
        sink: &mut S,
    ) -> Result<Progress, CaptureError> {
        let (Some(header), Some(body)) = (
            input.first_chunk::<{ record_header::STANDARD_BYTES }>(),
            input.get(self.record_header_bytes..),
        ) else {
            return Ok(Progress::Incomplete(self.record_header_bytes));
        };
        let field = |at| self.byte_order.u32(header, at).unwrap_or(0);
        let (captured, wire) = self.lengths(field(8), field(12));
        if captured > self.max_captured_bytes {
            return Ok(Progress::Malformed(format!(
                "a record declares {captured} captured bytes, but a packet of this link type has \
                 at most {}",
                self.max_captured_bytes
            )));
        }
        if !self.is_supported {
            return Err(CaptureError::UnsupportedLinkType {
                link_type: self.link_type_number,
            });
        }
        let captured = usize::try_from(captured).unwrap_or(usize::MAX);
        let whole = self.record_header_bytes.saturating_add(captured);
        let Some(bytes) = body.get(..captured) else {
            return Ok(Progress::Incomplete(whole));
        };
        if !self.is_header_settled {
            self.is_header_settled = true;
            let record = input.get(..whole).unwrap_or(input);
            self.record_header_bytes = record_header::bytes(self.magic, self.byte_order, record);
            return Ok(Progress::Advanced(0));
        }
        let record = Record {
            time_ns: Some(self.time(field(0), field(4)).into()),
            interface: 0,
            link_type: self.link_type,
            is_supported: true,
            wire_bytes: wire,
            bytes,
        };
        emitter.packet(&record, sink);
        Ok(Progress::Advanced(whole))
    }

    #[inline]
    fn lengths(&self, first: u32, second: u32) -> (u32, u32) {
        match self.length_order {
            LengthOrder::CapturedFirst => (first, second),
            LengthOrder::WireFirst => (second, first),
            LengthOrder::LesserIsCaptured => (first.min(second), first.max(second)),
        }
    }

    /// Return the time. Seconds are unsigned and last until 2106, so the sum fits 64 bits.
    #[inline]
    fn time(&self, seconds: u32, ticks: u32) -> i64 {
        i64::from(seconds)
            .saturating_mul(NANOSECONDS_PER_SECOND)
            .saturating_add(i64::from(ticks).saturating_mul(self.nanoseconds_per_tick))
    }
}

fn length_order(version: (u16, u16)) -> Result<LengthOrder, String> {
    match version {
        (2, 0..=2) => Ok(LengthOrder::WireFirst),
        // DG/UX tcpdump writes version 543.0 (libpcap, sf-pcap.c).
        (2, 3) | (543, 0) => Ok(LengthOrder::LesserIsCaptured),
        (2, _) => Ok(LengthOrder::CapturedFirst),
        (major, minor) => Err(format!(
            "pcap version {major}.{minor} is not supported, only 2"
        )),
    }
}

fn max_captured_bytes(link_type: u32) -> u32 {
    match link_type {
        LINKTYPE_USB_LINUX
        | LINKTYPE_USB_LINUX_MMAPPED
        | LINKTYPE_DBUS
        | LINKTYPE_USBPCAP
        | LINKTYPE_USB_DARWIN => MAX_MESSAGE_BYTES,
        _ => MAX_CAPTURED_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::ByteOrder::{Big, Little};
    use crate::testing::{read, tcp_packet, Bytes, MICROSECONDS, RAW};
    use trace_model::AnomalyKind;

    #[test]
    fn test_both_byte_orders_and_both_resolutions_are_read() {
        for order in [Little, Big] {
            for (magic, time) in [
                (MICROSECONDS, 5_000_007_000),
                (MAGIC_NANOSECONDS, 5_000_000_007),
            ] {
                let file = Bytes::pcap(order, magic, RAW).record(5, 7, &tcp_packet(b"abc"));
                let reading = read(&file.bytes);
                assert_eq!(reading.result, Ok(()));
                assert_eq!(reading.recorder.times(), [time]);
                assert_eq!(
                    reading.recorder.packets[0].payload.as_deref(),
                    Some(&b"abc"[..])
                );
                assert_eq!(reading.recorder.packets[0].link_type, 101);
            }
        }
    }

    #[test]
    fn test_records_of_a_modified_pcap_have_eight_bytes_more() {
        let packet = tcp_packet(b"abc");
        let record = Bytes::new(Little)
            .u32(1)
            .u32(2)
            .u32(43)
            .u32(43)
            .u32(2)
            .u32(0);
        let file = Bytes::pcap(Little, MAGIC_MODIFIED, RAW);
        let file = file
            .raw(&record.bytes)
            .raw(&packet)
            .raw(&record.bytes)
            .raw(&packet);
        let reading = read(&file.bytes);
        assert_eq!(reading.provenance.tcp_packets, 2);
        assert_eq!(reading.recorder.times(), [1_000_002_000; 2]);
    }

    #[test]
    fn test_the_bits_of_the_frame_check_sequence_are_not_the_link_type() {
        let file = Bytes::pcap(Big, MICROSECONDS, 0x4400_0000 | RAW).record(0, 0, &tcp_packet(b""));
        assert_eq!(read(&file.bytes).provenance.tcp_packets, 1);
    }

    #[test]
    fn test_old_versions_have_the_wire_length_first() {
        for (version, first, second) in [
            ((2, 2), 60, 43),
            ((2, 3), 60, 43),
            ((2, 3), 43, 60),
            ((2, 4), 43, 60),
        ] {
            let file = Bytes::pcap_version(Big, MICROSECONDS, version, RAW);
            let file = file
                .u32(0)
                .u32(0)
                .u32(first)
                .u32(second)
                .raw(&tcp_packet(b"abc"));
            let packet = &read(&file.bytes).recorder.packets[0];
            assert_eq!(
                (packet.captured_bytes, packet.wire_bytes),
                (43, 60),
                "{version:?}"
            );
        }
    }

    #[test]
    fn test_a_version_other_than_2_is_an_error() {
        let file = Bytes::pcap_version(Big, MICROSECONDS, (1, 4), RAW).record(0, 0, &[]);
        assert_eq!(
            read(&file.bytes).result.unwrap_err().to_string(),
            "pcap version 1.4 is not supported, only 2 (offset 0, before any packet)"
        );
    }

    #[test]
    fn test_times_after_2038_are_not_negative() {
        let file = Bytes::pcap(Little, MICROSECONDS, RAW).record(u32::MAX, u32::MAX, &[]);
        let expected = i64::from(u32::MAX) * 1_000_000_000 + i64::from(u32::MAX) * 1_000;
        assert_eq!(read(&file.bytes).recorder.times(), [expected]);
    }

    #[test]
    fn test_a_wire_length_below_the_captured_length_is_raised() {
        let file = Bytes::pcap(Little, MICROSECONDS, RAW)
            .u32(0)
            .u32(0)
            .u32(40)
            .u32(3);
        let reading = read(&file.raw(&tcp_packet(b"")).bytes);
        assert_eq!(reading.recorder.packets[0].wire_bytes, 40);
    }

    #[test]
    fn test_a_tcp_header_cut_by_the_snap_length_still_counts() {
        let file = Bytes::pcap(Little, MICROSECONDS, RAW)
            .u32(0)
            .u32(0)
            .u32(28)
            .u32(43);
        let reading = read(&file.raw(&tcp_packet(b"abc")[..28]).bytes);
        assert_eq!(reading.recorder.packets[0].payload, None);
        assert_eq!(reading.provenance.tcp_packets, 1);
    }

    #[test]
    fn test_garbage_after_packets_ends_the_reading_and_keeps_them() {
        let file = Bytes::pcap(Little, MICROSECONDS, RAW).record(1, 0, &tcp_packet(b"abc"));
        let offset = file.bytes.len() as u64;
        let reading = read(&file.raw(&[0xee; 4000]).bytes);
        assert_eq!(reading.result, Ok(()));
        assert_eq!(reading.recorder.packets.len(), 1);
        assert_eq!(reading.recorder.kinds(), [AnomalyKind::MalformedBlock]);
        assert_eq!(reading.recorder.anomalies[0].offset, Some(offset));
        assert_eq!(reading.provenance.damaged_at_offset, Some(offset));
        assert!(!reading.provenance.truncated);
    }

    #[test]
    fn test_a_first_record_of_absurd_length_is_an_error() {
        let file = Bytes::pcap(Little, MICROSECONDS, RAW)
            .u32(0)
            .u32(0)
            .u32(262_145)
            .u32(9);
        assert_eq!(
            read(&file.bytes).result.unwrap_err().to_string(),
            "a record declares 262145 captured bytes, but a packet of this link type has at most \
             262144 (offset 24, before any packet)"
        );
    }

    #[test]
    fn test_a_link_type_that_cannot_be_decoded_is_an_error_at_the_first_packet() {
        let empty = Bytes::pcap(Little, MICROSECONDS, 187);
        assert_eq!(read(&empty.bytes).result, Ok(()));
        let file = empty.record(0, 0, &[1, 2, 3]);
        let expected = Err(CaptureError::UnsupportedLinkType { link_type: 187 });
        assert_eq!(read(&file.bytes).result, expected);
        let odd = Bytes::pcap(Little, MICROSECONDS, 0x0020_0065).record(0, 0, &[1]);
        let expected = Err(CaptureError::UnsupportedLinkType {
            link_type: 0x0020_0065,
        });
        assert_eq!(read(&odd.bytes).result, expected);
    }

    #[test]
    fn test_backward_time_steps_are_reported_once_and_counted() {
        let mut file = Bytes::pcap(Little, MICROSECONDS, RAW);
        for seconds in [9, 8, 7, 9, 3] {
            file = file.record(seconds, 0, &tcp_packet(b""));
        }
        let anomalies = read(&file.bytes).recorder.anomalies;
        assert_eq!(anomalies.len(), 2);
        assert_eq!(
            (anomalies[0].kind, anomalies[0].frame),
            (AnomalyKind::TimeBackwards, Some(2))
        );
        assert_eq!(
            anomalies[0].detail,
            "time is 1000000000 ns before the previous packet's time"
        );
        assert_eq!(anomalies[1].detail, "3 in total, 2 of them not listed");
    }
}
