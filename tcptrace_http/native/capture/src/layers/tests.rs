//! Claims about frames of every kind.
use super::testing::{
    concat, decode, decode_with, ethernet, frame, ipv4, samples, tcp, Decoded, ETHERNET, PAYLOAD,
    RAW,
};
use super::{Frame, Layers};
use trace_model::{AnomalyKind, LinkType};

#[test]
fn test_tcp_is_found_in_every_link_type_and_tunnel() {
    for (name, link_type, bytes) in samples() {
        let decoded = decode(link_type, &bytes);
        assert!(decoded.has_whole_request(), "{name}: {decoded:?}");
        let offset = decoded.segment.unwrap().payload_offset as usize;
        assert_eq!(
            bytes.get(offset..offset + PAYLOAD.len()),
            Some(PAYLOAD),
            "{name}"
        );
    }
}

#[test]
fn test_a_frame_cut_at_any_byte_gives_the_rest_of_its_segment() {
    for (name, link_type, bytes) in samples() {
        let whole = decode(link_type, &bytes).segment.unwrap();
        let header_end = (whole.payload_offset) as usize;
        for captured in 0..bytes.len() {
            let cut = Frame {
                bytes: &bytes[..captured],
                ..frame(link_type, &bytes)
            };
            let decoded = decode_with(&mut Layers::new(), &cut);
            assert_eq!(
                decoded.segment.is_some(),
                captured >= header_end,
                "{name} cut at {captured}: {decoded:?}"
            );
            if let Some(segment) = decoded.segment {
                assert_eq!(
                    segment.payload_bytes, whole.payload_bytes,
                    "{name} cut at {captured}"
                );
                let left = captured.min(header_end + PAYLOAD.len()) - header_end;
                assert_eq!(decoded.payload, PAYLOAD[..left], "{name} cut at {captured}");
            }
        }
    }
}

#[test]
fn test_a_frame_that_was_short_on_the_wire_is_read_without_panic() {
    for (_, link_type, bytes) in samples() {
        for length in 0..bytes.len() {
            decode(link_type, &bytes[..length]);
        }
    }
}

/// Return the next number of a linear congruential generator with a fixed seed, so every run has the same
/// frames.
fn pseudo_random(state: &mut u64) -> usize {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

#[test]
fn test_damaged_frames_cause_no_panic_and_payload_offsets_are_correct() {
    let (mut state, mut layers) = (0x5eed, Layers::new());
    for (_, link_type, bytes) in samples() {
        for round in 0..2000 {
            let mut damaged = bytes.clone();
            for _ in 0..=round % 4 {
                let at = pseudo_random(&mut state) % damaged.len();
                damaged[at] = pseudo_random(&mut state) as u8;
            }
            let decoded = decode_with(&mut layers, &frame(link_type, &damaged));
            let offset = decoded
                .segment
                .map_or(0, |segment| segment.payload_offset as usize);
            // A reassembled payload has no offset in the frame.
            if offset > 0 {
                let rest = damaged.get(offset..).unwrap_or(&[]);
                assert!(rest.starts_with(&decoded.payload));
            }
        }
    }
    layers.finish(&mut |_, _| {});
}

#[test]
fn test_every_byte_of_a_header_may_be_all_ones_or_zero() {
    for (_, link_type, bytes) in samples() {
        for at in 0..bytes.len() {
            for value in [0x00, 0x01, 0x7f, 0x80, 0xff] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                decode(link_type, &damaged);
            }
        }
    }
}

#[test]
fn test_an_unknown_link_type_is_not_supported_and_has_no_network() {
    assert!(!Layers::supports(LinkType(187)));
    assert!(Layers::supports(ETHERNET));
    assert_eq!(
        decode(LinkType(187), &ethernet(0x0800, &ipv4(6, &tcp()))).network,
        None
    );
}

#[test]
fn test_endless_nesting_is_stopped() {
    let tags = [0, 5, 0x81, 0x00].repeat(1000);
    let decoded = decode(ETHERNET, &ethernet(0x8100, &tags));
    assert_eq!(decoded.kinds(), [AnomalyKind::TooDeeplyNested]);
}

#[test]
fn test_the_network_of_a_tunnel_is_the_innermost_ip_header() {
    let mut inner = ipv4(6, &tcp());
    inner[8] = 33;
    let decoded = decode(
        ETHERNET,
        &ethernet(0x0800, &ipv4(47, &concat(&[&[0, 0, 8, 0], &inner]))),
    );
    let network = decoded.network.unwrap();
    assert_eq!(
        (network.ttl, network.protocol, network.header_offset),
        (33, 6, 14 + 20 + 4)
    );
}

#[test]
fn test_a_tcp_header_quoted_by_icmp_is_not_a_segment() {
    let unreachable = concat(&[&[3, 3, 0, 0, 0, 0, 0, 0], &ipv4(6, &tcp())]);
    let decoded = decode(RAW, &ipv4(1, &unreachable));
    assert!(decoded.segment.is_none());
    assert_eq!(decoded.network.map(|network| network.protocol), Some(1));
}

#[test]
fn test_padding_of_a_short_frame_is_not_payload() {
    let padded = concat(&[
        &ethernet(
            0x0800,
            &ipv4(6, &super::testing::tcp_with_options(&[], b"")),
        ),
        &[0; 6],
    ]);
    let decoded = decode(ETHERNET, &padded);
    assert_eq!(
        decoded.segment.map(|segment| segment.payload_bytes),
        Some(0)
    );
    assert!(decoded.payload.is_empty() && decoded.notices.is_empty());
}

#[test]
fn test_cut_payloads_are_reported_once_and_counted_at_the_end() {
    let bytes = ethernet(0x0800, &ipv4(6, &tcp()));
    let mut layers = Layers::new();
    let cut = Frame {
        bytes: &bytes[..60],
        ..frame(ETHERNET, &bytes)
    };
    let told: Vec<Decoded> = (0..3).map(|_| decode_with(&mut layers, &cut)).collect();
    let kinds: Vec<usize> = told.iter().map(|decoded| decoded.notices.len()).collect();
    assert_eq!(kinds, [1, 0, 0]);
    let mut summary = Vec::new();
    layers.finish(&mut |kind, detail| summary.push((kind, detail)));
    assert_eq!(summary.len(), 1);
    assert!(summary[0].1.starts_with("3 segments"), "{summary:?}");
}
