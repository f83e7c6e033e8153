//! Claims about fragments of IPv4 and IPv6.
use super::fragments::{MAX_DATAGRAMS, MAX_TABLE_BYTES};
use crate::layers::testing::{
    concat, decode_with, frame, ipv4_part, ipv6, tcp, tcp_with_options, udp, Decoded, RAW,
};
use crate::layers::{Frame, Layers};
use trace_model::AnomalyKind;

const MORE: u16 = 0x2000;
const IDENTIFICATION: u16 = 0xfffe;

/// Return part of `whole` as a fragment. Offsets are in bytes.
fn part(whole: &[u8], from: usize, to: usize) -> Vec<u8> {
    let more = if to < whole.len() { MORE } else { 0 };
    ipv4_part(
        6,
        IDENTIFICATION,
        u16::try_from(from / 8).unwrap() | more,
        &whole[from..to],
    )
}

fn last_of(layers: &mut Layers, packets: &[Vec<u8>]) -> Decoded {
    let mut last = None;
    for bytes in packets {
        last = Some(decode_with(layers, &frame(RAW, bytes)));
    }
    last.unwrap()
}

fn finish(layers: &mut Layers) -> Vec<(AnomalyKind, String)> {
    let mut told = Vec::new();
    layers.finish(&mut |kind, detail| told.push((kind, detail)));
    told
}

/// Return 100 bytes of TCP with a distinct payload at every offset.
fn whole() -> Vec<u8> {
    let payload: Vec<u8> = (0..80).collect();
    tcp_with_options(&[], &payload)
}

fn is_whole(decoded: &Decoded) -> bool {
    decoded.payload == (0..80).collect::<Vec<u8>>() && decoded.segment.unwrap().payload_bytes == 80
}

#[test]
fn test_fragments_complete_a_datagram_in_every_order() {
    let parts = [
        part(&whole(), 0, 32),
        part(&whole(), 32, 72),
        part(&whole(), 72, 100),
    ];
    for order in [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ] {
        let mut layers = Layers::new();
        let decoded = last_of(&mut layers, &order.map(|index: usize| parts[index].clone()));
        assert!(
            is_whole(&decoded) && decoded.notices.is_empty(),
            "{order:?}: {decoded:?}"
        );
        assert!(finish(&mut layers).is_empty());
    }
}

#[test]
fn test_a_reassembled_packet_is_marked_and_has_no_offsets() {
    let decoded = last_of(
        &mut Layers::new(),
        &[part(&whole(), 0, 32), part(&whole(), 32, 100)],
    );
    let network = decoded.network.unwrap();
    assert_eq!(
        (
            network.is_fragment,
            network.header_offset,
            network.identification
        ),
        (true, 0, 0xfffe)
    );
    assert_eq!(decoded.segment.unwrap().payload_offset, 0);
}

#[test]
fn test_fragments_before_the_last_have_a_network_and_no_segment() {
    let decoded = last_of(&mut Layers::new(), &[part(&whole(), 0, 32)]);
    assert!(decoded.segment.is_none() && decoded.notices.is_empty());
    assert!(decoded.network.unwrap().is_fragment);
}

#[test]
fn test_equal_duplicate_bytes_are_no_anomaly() {
    let parts = [
        part(&whole(), 0, 48),
        part(&whole(), 0, 48),
        part(&whole(), 32, 64),
        part(&whole(), 40, 100),
    ];
    let decoded = last_of(&mut Layers::new(), &parts);
    assert!(
        is_whole(&decoded) && decoded.notices.is_empty(),
        "{decoded:?}"
    );
}

#[test]
fn test_the_first_copy_of_differing_bytes_is_kept() {
    let mut other = whole();
    other[32..].fill(0xee);
    let mut layers = Layers::new();
    last_of(
        &mut layers,
        &[part(&whole(), 0, 32), part(&whole(), 40, 64)],
    );
    // The fragment fills the hole before the second fragment, overlaps that fragment, and extends past its
    // end.
    let overlapping = last_of(&mut layers, &[part(&other, 32, 72)]);
    assert_eq!(overlapping.kinds(), [AnomalyKind::OverlappingDataDiffers]);
    let decoded = last_of(&mut layers, &[part(&whole(), 72, 100)]);
    // The TCP header is 20 bytes: payload offset 12 is byte 32.
    let expected: Vec<u8> = (0..80)
        .map(|at| {
            if matches!(at, 12..20 | 44..52) {
                0xee
            } else {
                at
            }
        })
        .collect();
    assert_eq!(decoded.payload, expected);
}

#[test]
fn test_a_fragment_beyond_the_last_one_is_dropped_and_reported() {
    let mut layers = Layers::new();
    let beyond = ipv4_part(6, IDENTIFICATION, MORE | 20, &[7; 16]);
    let told = last_of(&mut layers, &[part(&whole(), 72, 100), beyond]);
    assert_eq!(told.kinds(), [AnomalyKind::InconsistentLength]);
    assert!(is_whole(&last_of(&mut layers, &[part(&whole(), 0, 72)])));
}

#[test]
fn test_a_fragment_beyond_65535_bytes_is_dropped_and_reported() {
    let mut layers = Layers::new();
    let told = last_of(&mut layers, &[ipv4_part(6, 1, 0x1fff, &[7; 16])]);
    assert_eq!(told.kinds(), [AnomalyKind::InconsistentLength]);
    assert!(finish(&mut layers).is_empty());
}

#[test]
fn test_incomplete_datagrams_are_reported_at_the_end() {
    let mut layers = Layers::new();
    last_of(
        &mut layers,
        &[part(&whole(), 0, 32), part(&whole(), 72, 100)],
    );
    let told = finish(&mut layers);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].0, AnomalyKind::IncompleteFragments);
    assert!(told[0].1.contains("60 of 100 bytes"), "{told:?}");
}

#[test]
fn test_an_identification_reused_after_a_minute_is_another_datagram() {
    let mut layers = Layers::new();
    let (first, second) = (part(&whole(), 0, 32), part(&whole(), 32, 100));
    decode_with(&mut layers, &frame(RAW, &first));
    let late = Frame {
        time_ns: 60_000_000_001,
        ..frame(RAW, &second)
    };
    let decoded = decode_with(&mut layers, &late);
    assert!(decoded.segment.is_none());
    assert_eq!(decoded.kinds(), [AnomalyKind::IncompleteFragments]);
}

#[test]
fn test_fragments_of_different_datagrams_are_kept_apart() {
    let mut layers = Layers::new();
    let mut other = part(&whole(), 0, 32);
    other[5] = 7;
    let mut of_udp = part(&whole(), 0, 32);
    of_udp[9] = 17;
    last_of(&mut layers, &[other, of_udp]);
    assert!(last_of(&mut layers, &[part(&whole(), 32, 100)])
        .segment
        .is_none());
    assert!(is_whole(&last_of(&mut layers, &[part(&whole(), 0, 32)])));
}

#[test]
fn test_more_datagrams_than_the_table_holds_push_the_oldest_out() {
    let mut layers = Layers::new();
    let mut told = Vec::new();
    for number in 0..=MAX_DATAGRAMS {
        let bytes = ipv4_part(6, u16::try_from(number).unwrap(), MORE, &[7; 8]);
        told.extend(decode_with(&mut layers, &frame(RAW, &bytes)).notices);
    }
    assert_eq!(told.len(), 1);
    assert!(told[0].1.starts_with("datagram 0x0000 "), "{told:?}");
    assert_eq!(finish(&mut layers).len(), MAX_DATAGRAMS);
}

#[test]
fn test_more_bytes_than_the_table_holds_push_the_oldest_out() {
    let mut layers = Layers::new();
    let large = vec![7; 65_504];
    let datagrams = MAX_TABLE_BYTES / large.len() + 2;
    let told: usize = (0..datagrams)
        .map(|number| {
            let bytes = ipv4_part(6, u16::try_from(number).unwrap(), MORE, &large);
            decode_with(&mut layers, &frame(RAW, &bytes)).notices.len()
        })
        .sum();
    assert!(told >= 1);
    assert_eq!(finish(&mut layers).len(), datagrams - told);
}

#[test]
fn test_a_cut_fragment_is_reported_and_completes_no_datagram() {
    let mut layers = Layers::new();
    let first = part(&whole(), 0, 32);
    let cut = Frame {
        bytes: &first[..40],
        ..frame(RAW, &first)
    };
    assert_eq!(
        decode_with(&mut layers, &cut).kinds(),
        [AnomalyKind::TruncatedPacket]
    );
    assert!(last_of(&mut layers, &[part(&whole(), 32, 100)])
        .segment
        .is_none());
}

#[test]
fn test_ipv6_fragments_take_the_protocol_of_the_first_one() {
    let fragment = |next: u8, from: usize, to: usize, more: u8| {
        let field = u16::try_from(from).unwrap().to_be_bytes();
        let header = [next, 0, field[0], field[1] | more, 0xff, 0xff, 0xff, 0xfe];
        ipv6(44, &concat(&[&header, &whole()[from..to]]))
    };
    let mut layers = Layers::new();
    let first = last_of(&mut layers, &[fragment(59, 32, 100, 0)])
        .network
        .unwrap();
    assert_eq!((first.protocol, first.is_fragment), (59, true));
    let decoded = last_of(&mut layers, &[fragment(6, 0, 32, 1)]);
    assert!(is_whole(&decoded));
    let network = decoded.network.unwrap();
    assert_eq!(
        (
            network.protocol,
            network.identification,
            network.is_fragment
        ),
        (6, 0xffff_fffe, true)
    );
}

#[test]
fn test_a_tunnel_packet_is_reassembled_inside_a_reassembled_packet() {
    let mut layers = Layers::new();
    let inner = part(&whole(), 32, 100);
    let gtp = udp(2152, &concat(&[&[0x30, 255, 0, 0, 0, 0, 0, 1], &inner]));
    let outer = |from: usize, to: usize| {
        let more = if to < gtp.len() { MORE } else { 0 };
        ipv4_part(
            17,
            9,
            u16::try_from(from / 8).unwrap() | more,
            &gtp[from..to],
        )
    };
    last_of(&mut layers, &[part(&whole(), 0, 32)]);
    let decoded = last_of(&mut layers, &[outer(0, 48), outer(48, gtp.len())]);
    assert!(is_whole(&decoded));
}

#[test]
fn test_a_segment_that_follows_a_completed_datagram_is_not_mixed_with_it() {
    let mut layers = Layers::new();
    let parts = [part(&whole(), 0, 32), part(&whole(), 32, 100)];
    assert!(is_whole(&last_of(&mut layers, &parts)));
    assert!(is_whole(&last_of(&mut layers, &parts)));
    let bytes = ipv4_part(6, IDENTIFICATION, 0, &tcp());
    assert!(last_of(&mut layers, &[bytes]).has_whole_request());
}
