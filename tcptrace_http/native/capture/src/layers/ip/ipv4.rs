//! IPv4 headers (RFC 791, section 3.1).

use super::fragments::Fragment;
use super::Header;
use crate::layers::view::View;
use crate::layers::{Layer, Stop};
use trace_model::{IpAddress, Network};

const MIN_HEADER_BYTES: u32 = 20;
const MORE_FRAGMENTS: u16 = 0x2000;
const FRAGMENT_OFFSET: u16 = 0x1fff;

/// Parse the IPv4 header. The function is always inlined because every packet passes here.
#[inline(always)]
pub(in crate::layers) fn header(view: View<'_>) -> Result<Header<'_>, Stop> {
    let [first, traffic_class, len0, len1, id0, id1, rest @ ..] =
        *view.header::<20>("IPv4 header")?;
    let [frag0, frag1, ttl, protocol, _, _, addresses @ ..] = rest;
    let [s0, s1, s2, s3, d0, d1, d2, d3] = addresses;
    let header_bytes = u32::from(first & 0x0f) << 2;
    if header_bytes < MIN_HEADER_BYTES {
        return Err(Stop::TooSmall {
            field: "IPv4 header length",
            value: header_bytes,
            least: MIN_HEADER_BYTES,
        });
    }
    let total_bytes = total_bytes(u16::from_be_bytes([len0, len1]), view);
    let Some(payload_bytes) = total_bytes.checked_sub(header_bytes) else {
        return Err(Stop::TooSmall {
            field: "IPv4 total length",
            value: total_bytes,
            least: header_bytes,
        });
    };
    let payload = view
        .after(usize::from(first & 0x0f) << 2, "IPv4 options")?
        .until(payload_bytes);
    let identification = u32::from(u16::from_be_bytes([id0, id1]));
    let fragment_field = u16::from_be_bytes([frag0, frag1]);
    let is_fragment = fragment_field & (MORE_FRAGMENTS | FRAGMENT_OFFSET) != 0;
    let next = if is_fragment {
        Layer::Fragment(Fragment {
            // The field counts units of 8 bytes.
            offset: u32::from(fragment_field & FRAGMENT_OFFSET) << 3,
            more_follow: fragment_field & MORE_FRAGMENTS != 0,
            identification,
            protocol,
        })
    } else {
        Layer::Protocol(protocol)
    };
    let network = Network {
        source: IpAddress::v4([s0, s1, s2, s3]),
        destination: IpAddress::v4([d0, d1, d2, d3]),
        protocol,
        ttl,
        identification,
        header_offset: view.offset(),
        is_fragment,
        ecn: traffic_class & 0b11,
    };
    Ok(Header {
        network,
        total_bytes,
        next,
        payload,
    })
}

/// Return the total length. A field of 0 occurs in packets captured before segmentation offload splits them,
/// and in packets over 65,535 bytes (Linux BIG TCP). The packet then fills the frame.
#[inline]
fn total_bytes(field: u16, view: View<'_>) -> u32 {
    if field == 0 {
        view.length()
    } else {
        u32::from(field)
    }
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::decode_with;
    use crate::layers::testing::{concat, decode, frame, ipv4, ipv4_part, tcp, PAYLOAD, RAW};
    use crate::layers::{Frame, Layers};
    use trace_model::AnomalyKind;

    #[test]
    fn test_header_fields_are_read() {
        let network = decode(RAW, &ipv4(6, &tcp())).network.unwrap();
        assert_eq!(network.source.to_string(), "192.0.2.1");
        assert_eq!(network.destination.to_string(), "198.51.100.2");
        assert_eq!(
            (network.ttl, network.ecn, network.identification),
            (64, 2, 0x1234)
        );
        assert_eq!(
            (network.protocol, network.is_fragment, network.header_offset),
            (6, false, 0)
        );
    }

    #[test]
    fn test_options_are_skipped() {
        let plain = ipv4(6, &tcp());
        let mut bytes = concat(&[&plain[..20], &[1; 12], &plain[20..]]);
        bytes[0] = 0x48;
        let total = u16::try_from(bytes.len()).unwrap().to_be_bytes();
        bytes[2..4].copy_from_slice(&total);
        assert!(decode(RAW, &bytes).has_whole_request());
    }

    #[test]
    fn test_a_total_length_of_0_fills_the_frame() {
        let mut bytes = ipv4(6, &tcp());
        bytes[2..4].copy_from_slice(&[0, 0]);
        assert!(decode(RAW, &bytes).has_whole_request());
        let large = Frame {
            wire_bytes: 200_040,
            ..frame(RAW, &bytes)
        };
        let segment = decode_with(&mut Layers::new(), &large).segment.unwrap();
        assert_eq!(segment.payload_bytes, 200_000);
    }

    #[test]
    fn test_a_total_length_beyond_the_frame_counts_and_is_reported() {
        let mut bytes = ipv4(6, &tcp());
        bytes[2..4].copy_from_slice(&1040_u16.to_be_bytes());
        let decoded = decode(RAW, &bytes);
        assert_eq!(
            decoded.segment.map(|segment| segment.payload_bytes),
            Some(1000)
        );
        assert_eq!(decoded.payload, PAYLOAD);
        assert_eq!(
            decoded.kinds(),
            [
                AnomalyKind::InconsistentLength,
                AnomalyKind::TruncatedPacket
            ]
        );
    }

    #[test]
    fn test_a_total_length_below_the_header_is_inconsistent() {
        let mut bytes = ipv4(6, &tcp());
        bytes[2..4].copy_from_slice(&[0, 19]);
        let decoded = decode(RAW, &bytes);
        assert!(decoded.segment.is_none());
        assert_eq!(decoded.kinds(), [AnomalyKind::InconsistentLength]);
    }

    #[test]
    fn test_a_header_length_below_20_is_inconsistent() {
        let mut bytes = ipv4(6, &tcp());
        bytes[0] = 0x44;
        assert_eq!(
            decode(RAW, &bytes).kinds(),
            [AnomalyKind::InconsistentLength]
        );
    }

    #[test]
    fn test_the_do_not_fragment_flag_marks_no_fragment() {
        let decoded = decode(RAW, &ipv4_part(6, 7, 0x4000, &tcp()));
        assert!(decoded.has_whole_request() && !decoded.network.unwrap().is_fragment);
    }
}
