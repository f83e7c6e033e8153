//! IEEE 802.11 data frames (IEEE 802.11-2020, section 9.2).

use super::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const NAME: &str = "IEEE 802.11 header";
/// Version 0 and type "data", in the lower four bits of the first byte.
const VERSION_AND_TYPE: u8 = 0b0000_1111;
const DATA: u8 = 0b0000_1000;
const WITHOUT_DATA: u8 = 0b0100_0000;
const QUALITY_OF_SERVICE: u8 = 0b1000_0000;
const TO_AND_FROM_DISTRIBUTION: u8 = 0b0000_0011;
const MORE_FRAGMENTS: u8 = 0b0000_0100;
const PROTECTED: u8 = 0b0100_0000;
/// Flag of a quality-of-service frame: a high-throughput control field follows.
const ORDER: u8 = 0b1000_0000;
const FRAGMENT_NUMBER: u8 = 0x0f;
const AGGREGATE: u8 = 0x80;

const THREE_ADDRESSES: usize = 24;
const FOURTH_ADDRESS: usize = 6;
const QUALITY_OF_SERVICE_BYTES: usize = 2;
const HIGH_THROUGHPUT_CONTROL_BYTES: usize = 4;

/// The header padding of the capturing radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Padding {
    None,
    ToFourBytes,
}

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    data(view, Padding::None)
}

/// Parse the payload of an unencrypted data frame. Fragments are not parsed. They are rare, because no access
/// point fragments by default.
pub(super) fn data(view: View<'_>, padding: Padding) -> Next<'_> {
    let [kind, flags] = *view.header::<2>(NAME)?;
    if kind & VERSION_AND_TYPE != DATA
        || kind & WITHOUT_DATA != 0
        || flags & (PROTECTED | MORE_FRAGMENTS) != 0
    {
        return Err(Stop::Opaque);
    }
    let [sequence, _] = *view.at::<2>(22, NAME)?;
    if sequence & FRAGMENT_NUMBER != 0 {
        return Err(Stop::Opaque);
    }
    let mut header_bytes = THREE_ADDRESSES;
    if flags & TO_AND_FROM_DISTRIBUTION == TO_AND_FROM_DISTRIBUTION {
        header_bytes = header_bytes.saturating_add(FOURTH_ADDRESS);
    }
    let mut is_aggregate = false;
    if kind & QUALITY_OF_SERVICE != 0 {
        let [control, _] = *view.at::<2>(header_bytes, NAME)?;
        is_aggregate = control & AGGREGATE != 0;
        header_bytes = header_bytes.saturating_add(QUALITY_OF_SERVICE_BYTES);
        if flags & ORDER != 0 {
            header_bytes = header_bytes.saturating_add(HIGH_THROUGHPUT_CONTROL_BYTES);
        }
    }
    if padding == Padding::ToFourBytes {
        header_bytes = header_bytes.next_multiple_of(4);
    }
    let body = view.after(header_bytes, NAME)?;
    if is_aggregate {
        return first_of_aggregate(body);
    }
    Ok((Layer::Link(Link::Llc), body))
}

/// Return the first packet of an aggregate (A-MSDU). A frame here has only one packet.
fn first_of_aggregate(body: View<'_>) -> Next<'_> {
    const SUBFRAME: &str = "A-MSDU subframe header";
    let [.., l0, l1] = *body.header::<14>(SUBFRAME)?;
    let length = u32::from(u16::from_be_bytes([l0, l1]));
    let first = body.after(14, SUBFRAME)?;
    Ok((
        Layer::Link(Link::Llc),
        first.until(length.min(first.length())),
    ))
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ipv4, tcp, Decoded, SNAP_IPV4};
    use trace_model::LinkType;

    fn decoded(control: [u8; 2], after_three_addresses: &[u8]) -> Decoded {
        let header = concat(&[&control, &[0; 22], after_three_addresses]);
        decode(
            LinkType(105),
            &concat(&[&header, SNAP_IPV4, &ipv4(6, &tcp())]),
        )
    }

    #[test]
    fn test_data_frames_are_read_with_every_optional_field() {
        assert!(decoded([0x08, 0x01], &[]).has_whole_request());
        assert!(decoded([0x08, 0x03], &[0; 6]).has_whole_request());
        assert!(decoded([0x88, 0x02], &[0; 2]).has_whole_request());
        assert!(decoded([0x88, 0x83], &[0; 12]).has_whole_request());
    }

    #[test]
    fn test_the_first_packet_of_an_aggregate_is_read() {
        let subframe = concat(&[&[0x80, 0], &[0; 12], &[0, 66]]);
        assert!(decoded([0x88, 0x02], &subframe).has_whole_request());
    }

    #[test]
    fn test_encrypted_frames_fragments_and_frames_without_data_carry_nothing() {
        for control in [
            [0x08, 0x41],
            [0x08, 0x05],
            [0x48, 0x01],
            [0x80, 0x00],
            [0xd4, 0x00],
        ] {
            let decoded = decoded(control, &[]);
            assert!(
                decoded.network.is_none() && decoded.notices.is_empty(),
                "{control:?}"
            );
        }
    }
}
