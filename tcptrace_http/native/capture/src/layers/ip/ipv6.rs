//! IPv6 headers and extension headers (RFC 8200, sections 3 and 4).

use super::fragments::Fragment;
use super::{Header, HOP_BY_HOP_OPTIONS};
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};
use trace_model::{IpAddress, Network};

const HEADER_BYTES: u32 = 40;
const FRAGMENT_HEADER_BYTES: usize = 8;
const PAD1_OPTION: u8 = 0;
/// The jumbo payload option (RFC 2675, section 2): a length above 65,535 bytes.
const JUMBO_PAYLOAD_OPTION: u8 = 0xc2;
const JUMBO_PAYLOAD_OPTION_BYTES: u8 = 4;

#[inline]
pub(super) fn header(view: View<'_>) -> Result<Header<'_>, Stop> {
    let [_, traffic_class, _, _, len0, len1, next_header, hop_limit] =
        *view.header::<8>("IPv6 header")?;
    let source = *view.at::<16>(8, "IPv6 source address")?;
    let destination = *view.at::<16>(24, "IPv6 destination address")?;
    let after = view.after(HEADER_BYTES as usize, "IPv6 header")?;
    let payload_bytes = match u16::from_be_bytes([len0, len1]) {
        0 => jumbo_payload_bytes(next_header, after).unwrap_or(after.length()),
        length => u32::from(length),
    };
    let network = Network {
        source: IpAddress::v6(source),
        destination: IpAddress::v6(destination),
        protocol: next_header,
        ttl: hop_limit,
        identification: 0,
        header_offset: view.offset(),
        is_fragment: false,
        // The traffic class spans bytes 0 and 1. Its low half is the high half of byte 1.
        ecn: (traffic_class >> 4) & 0b11,
    };
    Ok(Header {
        network,
        total_bytes: payload_bytes.saturating_add(HEADER_BYTES),
        next: Layer::Protocol(next_header),
        payload: after.until(payload_bytes),
    })
}

/// Return the payload length of a hop-by-hop header, if the fixed header's field is 0. Segmentation offload
/// also leaves a field of 0, without this option. The packet then fills the frame.
fn jumbo_payload_bytes(next_header: u8, view: View<'_>) -> Option<u32> {
    if next_header != HOP_BY_HOP_OPTIONS {
        return None;
    }
    let [_, units, ..] = *view.bytes() else {
        return None;
    };
    let mut options = view.bytes().get(2..extension_bytes(units))?;
    while let [kind, rest @ ..] = options {
        if *kind == PAD1_OPTION {
            options = rest;
            continue;
        }
        let [length, data @ ..] = rest else {
            return None;
        };
        if *kind == JUMBO_PAYLOAD_OPTION && *length == JUMBO_PAYLOAD_OPTION_BYTES {
            return data.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        }
        options = data.get(usize::from(*length)..)?;
    }
    None
}

/// Parse a hop-by-hop options, routing, destination options or mobility header. Each of them starts with the
/// next header and its own length. The length counts units of 8 bytes after the first unit (RFC 8200, section
/// 4).
pub(super) fn extension(view: View<'_>) -> Next<'_> {
    let [next_header, units] = *view.header::<2>("IPv6 extension header")?;
    let payload = view.after(extension_bytes(units), "IPv6 extension header")?;
    Ok((Layer::Protocol(next_header), payload))
}

fn extension_bytes(units: u8) -> usize {
    usize::from(units).saturating_add(1) << 3
}

/// Parse the fragment header (RFC 8200, section 4.5).
pub(super) fn fragment(view: View<'_>) -> Next<'_> {
    let [next_header, _, field0, field1, identification @ ..] =
        *view.header::<8>("IPv6 fragment header")?;
    let field = u16::from_be_bytes([field0, field1]);
    let fragment = Fragment {
        // The upper 13 bits hold the offset, in units of 8 bytes.
        offset: u32::from(field & !0b111),
        more_follow: field & 1 != 0,
        identification: u32::from_be_bytes(identification),
        protocol: next_header,
    };
    Ok((
        Layer::Fragment(fragment),
        view.after(FRAGMENT_HEADER_BYTES, "IPv6 fragment header")?,
    ))
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, decode_with, frame, ipv6, tcp, PAYLOAD, RAW};
    use crate::layers::{Frame, Layers};
    use trace_model::AnomalyKind;

    #[test]
    fn test_header_fields_are_read() {
        let network = decode(RAW, &ipv6(6, &tcp())).network.unwrap();
        assert_eq!(network.source.to_string(), "2001:db8::1");
        assert_eq!(network.destination.to_string(), "2001:db8::2");
        assert_eq!(
            (network.ttl, network.ecn, network.identification),
            (63, 3, 0)
        );
    }

    #[test]
    fn test_the_protocol_follows_extension_headers() {
        let extended = concat(&[&[60, 0, 0, 0, 0, 0, 0, 0], &[6, 1], &[0; 14], &tcp()]);
        let decoded = decode(RAW, &ipv6(0, &extended));
        assert!(decoded.has_whole_request());
        assert_eq!(decoded.network.map(|network| network.protocol), Some(6));
    }

    #[test]
    fn test_a_jumbogram_has_the_length_of_its_option() {
        let hop_by_hop = concat(&[
            &[6, 1, 0, 1, 1, 0],
            &[0xc2, 4],
            &100_036_u32.to_be_bytes(),
            &[0; 4],
        ]);
        let mut bytes = ipv6(0, &concat(&[&hop_by_hop, &tcp()]));
        bytes[4..6].copy_from_slice(&[0, 0]);
        let jumbo = Frame {
            wire_bytes: 100_076,
            ..frame(RAW, &bytes)
        };
        let decoded = decode_with(&mut Layers::new(), &jumbo);
        assert_eq!(
            decoded.segment.map(|segment| segment.payload_bytes),
            Some(100_000)
        );
        assert_eq!(decoded.payload, PAYLOAD);
    }

    #[test]
    fn test_a_payload_length_of_0_fills_the_frame() {
        let mut bytes = ipv6(6, &tcp());
        bytes[4..6].copy_from_slice(&[0, 0]);
        assert!(decode(RAW, &bytes).has_whole_request());
    }

    #[test]
    fn test_an_atomic_fragment_is_a_whole_datagram() {
        let atomic = concat(&[&[6, 0, 0, 0, 0, 0, 0, 77], &tcp()]);
        let decoded = decode(RAW, &ipv6(44, &atomic));
        assert!(decoded.has_whole_request());
        let network = decoded.network.unwrap();
        assert_eq!((network.is_fragment, network.identification), (false, 77));
    }

    #[test]
    fn test_an_extension_header_longer_than_the_packet_is_inconsistent() {
        let decoded = decode(RAW, &ipv6(60, &concat(&[&[6, 255], &tcp()])));
        assert_eq!(decoded.kinds(), [AnomalyKind::InconsistentLength]);
    }
}
