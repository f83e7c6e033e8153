use super::*;
use crate::bytes::ByteOrder::{Big, Little};
use crate::testing::{read, tcp_packet, Bytes, Reading};
use trace_model::AnomalyKind::{AbsurdTime, MalformedBlock};

fn start() -> Bytes {
    Bytes::new(Little).section(Little).interface(101, &[])
}

fn read_ok(file: &Bytes) -> Reading {
    let reading = read(&file.bytes);
    assert_eq!(reading.result, Ok(()));
    reading
}

fn error(file: &Bytes) -> String {
    read(&file.bytes).result.unwrap_err().to_string()
}

#[test]
fn test_every_kind_of_packet_block_gives_a_packet_in_either_byte_order() {
    for order in [Little, Big] {
        let (packet, length) = (tcp_packet(b"abc"), 43);
        let file = Bytes::new(order)
            .section(order)
            .interface(101, &[])
            .enhanced(0, 7, &packet);
        let simple = Bytes::new(order).u32(length).raw(&packet);
        let old = Bytes::new(order)
            .u16(0)
            .u16(3)
            .u32(0)
            .u32(9)
            .u32(length)
            .u32(length)
            .raw(&packet);
        let reading = read_ok(&file.block(3, &simple.bytes).block(2, &old.bytes));
        assert_eq!(reading.recorder.times(), [7_000, 7_000, 9_000]);
        for seen in &reading.recorder.packets {
            assert_eq!((seen.captured_bytes, seen.wire_bytes), (43, 43));
            assert_eq!(seen.payload.as_deref(), Some(&b"abc"[..]));
        }
        assert!(reading.recorder.anomalies.is_empty());
    }
}

#[test]
fn test_each_interface_has_its_own_clock() {
    let offset = 3_i64.to_le_bytes();
    let file = Bytes::new(Little)
        .section(Little)
        .interface(101, &[(9, &[9])]);
    let file = file
        .interface(101, &[(9, &[0x80 | 2]), (14, &offset)])
        .interface(101, &[]);
    let file = file
        .enhanced(0, 5, &tcp_packet(b""))
        .enhanced(1, 3, &tcp_packet(b""))
        .enhanced(2, 4_000_000, &tcp_packet(b""));
    let reading = read_ok(&file);
    assert_eq!(reading.recorder.times(), [5, 3_750_000_000, 4_000_000_000]);
}

#[test]
fn test_sections_have_their_own_byte_order_and_interfaces() {
    let file = start().interface(1, &[]).enhanced(1, 1, &[0; 60]);
    let file = file
        .section(Big)
        .interface(228, &[])
        .enhanced(0, 2, &tcp_packet(b"x"));
    let reading = read_ok(&file);
    let found: Vec<_> = reading
        .recorder
        .packets
        .iter()
        .map(|p| (p.interface, p.link_type))
        .collect();
    assert_eq!(found, [(1, 1), (2, 228)]);
    assert_eq!(reading.provenance.interfaces, 3);
    let link_types: Vec<u16> = reading
        .provenance
        .link_types
        .iter()
        .map(|each| each.0)
        .collect();
    assert_eq!(link_types, [1, 101, 228]);
}

#[test]
fn test_interfaces_of_the_previous_section_are_cleared() {
    let file = start()
        .enhanced(0, 1, &tcp_packet(b""))
        .section(Little)
        .enhanced(0, 2, &tcp_packet(b""));
    let reading = read_ok(&file);
    assert_eq!(reading.recorder.packets.len(), 1);
    assert_eq!(reading.recorder.kinds(), [MalformedBlock]);
    assert_eq!(
        reading.recorder.anomalies[0].detail,
        "a packet belongs to interface 0, but the section describes 0; \
         the block after packet 1 was skipped"
    );
}

#[test]
fn test_unknown_blocks_are_skipped() {
    let file = start()
        .block(0x0bad_cafe, &[1; 1000])
        .block(4, &[])
        .enhanced(0, 0, &tcp_packet(b""));
    let reading = read_ok(&file);
    assert_eq!(reading.recorder.packets.len(), 1);
    assert!(reading.recorder.anomalies.is_empty());
}

#[test]
fn test_blocks_that_wireshark_numbers_as_frames_are_counted() {
    let file = start()
        .block(0x0bad, &[1; 20])
        .enhanced(0, 0, &tcp_packet(b""))
        .block(9, &[1; 3]);
    let reading = read_ok(&file.enhanced(0, 0, &tcp_packet(b"")));
    let frames: Vec<u64> = reading
        .recorder
        .packets
        .iter()
        .map(|packet| packet.frame)
        .collect();
    assert_eq!(frames, [2, 4]);
    assert_eq!(reading.provenance.packets, 4);
}

#[test]
fn test_an_unknown_block_with_a_wrong_trailer_ends_the_reading() {
    let file = start()
        .enhanced(0, 0, &tcp_packet(b""))
        .u32(0xbadd)
        .u32(16)
        .u32(0)
        .u32(20);
    let reading = read_ok(&file.enhanced(0, 0, &tcp_packet(b"")));
    assert_eq!(reading.recorder.packets.len(), 1);
    assert_eq!(reading.recorder.kinds(), [MalformedBlock]);
}

#[test]
fn test_a_bad_block_length_after_packets_ends_the_reading_and_keeps_them() {
    for length in [13, 8, 0, u32::MAX, MAX_BLOCK_BYTES + 4] {
        let file = start()
            .enhanced(0, 0, &tcp_packet(b""))
            .u32(6)
            .u32(length)
            .raw(&[0; 64]);
        let reading = read_ok(&file);
        assert_eq!(reading.recorder.packets.len(), 1);
        assert_eq!(reading.recorder.kinds(), [MalformedBlock]);
        assert_eq!(reading.recorder.anomalies[0].offset, Some(28 + 24 + 72));
    }
}

#[test]
fn test_a_bad_block_length_before_any_packet_is_an_error() {
    assert_eq!(
        error(&start().u32(6).u32(13).raw(&[0; 64])),
        "block length 13 is not a multiple of 4 (offset 52, before any packet)"
    );
    assert_eq!(
        error(&start().u32(6).u32(16).u32(0).u32(99)),
        "block length is 16 at the block's start but 99 at its end (offset 52, before any packet)"
    );
}

#[test]
fn test_a_packet_longer_than_its_block_is_skipped() {
    let body = Bytes::new(Little)
        .u32(0)
        .u32(0)
        .u32(0)
        .u32(500)
        .u32(500)
        .raw(&[1; 8]);
    let file = start()
        .enhanced(0, 0, &tcp_packet(b""))
        .block(6, &body.bytes)
        .enhanced(0, 0, &tcp_packet(b""));
    let reading = read_ok(&file);
    assert_eq!(reading.recorder.packets.len(), 2);
    assert_eq!(reading.recorder.kinds(), [MalformedBlock]);
    assert!(reading.recorder.anomalies[0]
        .detail
        .starts_with("a packet block declares 500 captured"));
}

#[test]
fn test_a_file_of_damaged_packets_alone_is_an_error() {
    let file = start().block(6, &[0; 8]).block(2, &[0; 4]).block(3, &[]);
    assert_eq!(
        error(&file),
        "a packet block has a body of 8 bytes, less than its 20 of fields \
         (offset 52, before any packet)"
    );
}

#[test]
fn test_a_simple_packet_is_cut_at_the_snap_length() {
    let interface = Bytes::new(Little).u16(101).u16(0).u32(40);
    let body = Bytes::new(Little).u32(100).raw(&tcp_packet(b""));
    let file = Bytes::new(Little)
        .section(Little)
        .block(1, &interface.bytes)
        .block(3, &body.bytes);
    let packet = &read_ok(&file).recorder.packets[0];
    assert_eq!(
        (packet.captured_bytes, packet.wire_bytes, packet.time_ns),
        (40, 100, 0)
    );
}

#[test]
fn test_an_absurd_time_is_clamped_and_reported() {
    let reading = read_ok(&start().enhanced(0, u64::MAX, &tcp_packet(b"")));
    assert_eq!(reading.recorder.times(), [i64::MAX]);
    assert_eq!(reading.recorder.kinds(), [AbsurdTime]);
    let offset = i64::MIN.to_le_bytes();
    let file = Bytes::new(Little)
        .section(Little)
        .interface(101, &[(14, &offset)]);
    assert_eq!(
        read_ok(&file.enhanced(0, 0, &tcp_packet(b"")))
            .recorder
            .times(),
        [i64::MIN]
    );
}

#[test]
fn test_an_unsupported_interface_beside_a_supported_one_is_reported_once_and_counted() {
    let file = start()
        .interface(187, &[])
        .enhanced(1, 0, &[1])
        .enhanced(1, 0, &[2]);
    let reading = read_ok(&file.enhanced(0, 0, &tcp_packet(b"")));
    assert_eq!(
        (reading.provenance.packets, reading.provenance.tcp_packets),
        (3, 1)
    );
    assert_eq!(reading.recorder.kinds(), [AnomalyKind::UnsupportedLinkType]);
    assert_eq!(
        reading.recorder.anomalies[0].detail,
        "link type 187 (BLUETOOTH_HCI_H4) of interface 1 cannot be decoded; the interface's packets are only counted"
    );
}

#[test]
fn test_packets_of_unsupported_interfaces_alone_are_an_error_at_the_end() {
    let file = start().interface(187, &[]).enhanced(1, 0, &[1]);
    let expected = Err(CaptureError::UnsupportedLinkType { link_type: 187 });
    assert_eq!(read(&file.bytes).result, expected);
}

#[test]
fn test_an_interface_option_of_a_wrong_length_is_reported_and_ignored() {
    let file = Bytes::new(Little)
        .section(Little)
        .interface(101, &[(9, &[9, 9])]);
    let reading = read_ok(&file.enhanced(0, 1, &tcp_packet(b"")));
    assert_eq!(reading.recorder.times(), [1_000]);
    assert_eq!(reading.recorder.kinds(), [MalformedBlock]);
}

#[test]
fn test_a_section_header_without_byte_order_or_of_another_version_is_an_error() {
    let file = Bytes::new(Little).block(SECTION_HEADER, &[0; 16]);
    assert_eq!(
        error(&file),
        "section header has byte-order magic 0x00000000, not 0x1a2b3c4d in either byte order \
         (offset 0, before any packet)"
    );
    let body = Bytes::new(Big).u32(0x1a2b_3c4d).u16(2).u16(0).raw(&[0; 8]);
    let file = Bytes::new(Big).block(SECTION_HEADER, &body.bytes);
    assert!(error(&file).starts_with("pcapng version 2 is not supported, only 1"));
}

#[test]
fn test_the_number_of_interfaces_is_bounded() {
    let mut file = Bytes::new(Little).section(Little);
    for _ in 0..=MAX_INTERFACES {
        file = file.block(1, &[101, 0, 0, 0, 0, 0, 0, 0]);
    }
    let reading = read_ok(&file.enhanced(65_535, 0, &tcp_packet(b"")));
    assert_eq!(reading.recorder.packets[0].interface, 65_535);
    assert_eq!(reading.recorder.kinds(), [AnomalyKind::LimitReached]);
}

#[test]
fn test_tls_key_logs_are_passed_on_in_either_byte_order() {
    for order in [Little, Big] {
        let file = Bytes::new(order)
            .section(order)
            .secrets(0x544c_534b, b"one\n")
            .interface(101, &[])
            .secrets(0x5353_484b, b"of SSH\n")
            .enhanced(0, 0, &tcp_packet(b""))
            .secrets(0x544c_534b, b"two\n");
        let reading = read_ok(&file);
        assert_eq!(reading.recorder.key_log, b"one\ntwo\n");
        assert!(reading.recorder.anomalies.is_empty());
    }
}

#[test]
fn test_secrets_beyond_their_block_are_skipped() {
    let lie = Bytes::new(Little).u32(0x544c_534b).u32(9).raw(b"12345678");
    let file = start()
        .block(10, &lie.bytes)
        .block(10, &[0; 4])
        .enhanced(0, 0, &tcp_packet(b""));
    let reading = read_ok(&file);
    assert!(reading.recorder.key_log.is_empty());
    assert_eq!(reading.recorder.kinds(), [MalformedBlock, MalformedBlock]);
    assert_eq!(reading.recorder.packets.len(), 1);
}

#[test]
fn test_secrets_beyond_the_maximum_block_are_skipped() {
    let text = vec![b'#'; 16 * 1024 * 1024];
    let file = start()
        .secrets(0x544c_534b, &text)
        .enhanced(0, 0, &tcp_packet(b""));
    let reading = read_ok(&file);
    assert!(reading.recorder.key_log.is_empty());
    assert_eq!(reading.recorder.kinds(), [AnomalyKind::LimitReached]);
    assert_eq!(reading.recorder.packets.len(), 1);
}
