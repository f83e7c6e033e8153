//! The user plane of the GPRS tunnelling protocol, version 1 (3GPP TS 29.281, section 5).

use crate::layers::link::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

/// Version 1 and protocol type GTP, in the upper four bits of the first byte.
const VERSION_AND_TYPE: u8 = 0b1111_0000;
const GTP_VERSION_1: u8 = 0b0011_0000;
const EXTENSION_FOLLOWS: u8 = 0b100;
/// An extension header, a sequence number or an N-PDU number lengthens the header by 4 bytes.
const ANY_OPTIONAL_FIELD: u8 = 0b111;
/// The message type of a user packet. Other types are signalling.
const T_PDU: u8 = 255;
const NAME: &str = "GTP header";

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [first, message, ..] = *view.header::<8>(NAME)?;
    if first & VERSION_AND_TYPE != GTP_VERSION_1 || message != T_PDU {
        return Err(Stop::Opaque);
    }
    let mut after = view.after(8, NAME)?;
    if first & ANY_OPTIONAL_FIELD != 0 {
        let [_, _, _, mut next] = *after.header::<4>(NAME)?;
        after = after.after(4, NAME)?;
        while first & EXTENSION_FOLLOWS != 0 && next != 0 {
            (next, after) = after_extension(after)?;
        }
    }
    match after.first_byte().map(|byte| byte >> 4) {
        Some(4 | 6) => Ok((Layer::Ip, after)),
        // Only the signalling gives the type of the user packet. A packet other than IP is PPP, whose frames
        // begin with FF 03.
        Some(0xf) => Ok((Layer::Link(Link::Ppp), after)),
        Some(_) | None => Err(Stop::Opaque),
    }
}

/// Skip an extension header. Its first byte is its length in units of 4 bytes, its last byte the next type.
fn after_extension(view: View<'_>) -> Result<(u8, View<'_>), Stop> {
    const EXTENSION: &str = "GTP extension header";
    let [words] = *view.header::<1>(EXTENSION)?;
    let bytes = usize::from(words) << 2;
    let Some(last) = bytes.checked_sub(1) else {
        return Err(Stop::TooSmall {
            field: EXTENSION,
            value: 0,
            least: 1,
        });
    };
    let [next] = *view.at::<1>(last, EXTENSION)?;
    Ok((next, view.after(bytes, EXTENSION)?))
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ipv4, tcp, udp, RAW};

    fn decoded(header: &[u8]) -> crate::layers::testing::Decoded {
        decode(
            RAW,
            &ipv4(17, &udp(2152, &concat(&[header, &ipv4(6, &tcp())]))),
        )
    }

    #[test]
    fn test_sequence_numbers_and_extension_headers_are_skipped() {
        assert!(decoded(&[0x32, 255, 0, 0, 0, 0, 0, 1, 0, 9, 0, 0]).has_whole_request());
        // A PDU session container (type 0x85), as in 5G.
        let container = [0x34, 255, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0x10, 1, 0];
        assert!(decoded(&container).has_whole_request());
    }

    #[test]
    fn test_an_extension_header_of_length_0_ends() {
        let decoded = decoded(&[0x34, 255, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85, 0, 0, 0, 0x85]);
        assert!(decoded.segment.is_none());
    }

    #[test]
    fn test_signalling_carries_no_packet() {
        let decoded = decoded(&[0x30, 1, 0, 0, 0, 0, 0, 1]);
        assert!(decoded.segment.is_none() && decoded.notices.is_empty());
        assert_eq!(decoded.network.map(|network| network.protocol), Some(17));
    }
}
