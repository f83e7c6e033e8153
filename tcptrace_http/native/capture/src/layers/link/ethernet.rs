//! Ethernet (IEEE 802.3, section 3).

use super::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next};

const HEADER_BYTES: usize = 14;
/// Smaller values of the type field are lengths of LLC frames (IEEE 802.3, section 3.2.6).
const MIN_ETHER_TYPE: u16 = 0x0600;

#[inline]
pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [.., t0, t1] = *view.header::<HEADER_BYTES>("Ethernet header")?;
    type_or_length(
        u16::from_be_bytes([t0, t1]),
        view.after(HEADER_BYTES, "Ethernet header")?,
    )
}

/// Return the IPv4 packet directly after the header, if there is one.
#[inline(always)]
pub(super) fn ipv4(view: View<'_>) -> Option<View<'_>> {
    // An EtherType of 0x0800 and the first nibble of an IP header of version 4.
    match view.header::<15>("Ethernet header") {
        Ok([.., 0x08, 0x00, 0x40..=0x4f]) => view.after(HEADER_BYTES, "Ethernet header").ok(),
        Ok(_) | Err(_) => None,
    }
}

/// Parse a field that is a type or a length. Such a field follows addresses and VLAN tags.
#[inline]
pub(super) fn type_or_length(field: u16, after: View<'_>) -> Next<'_> {
    if field >= MIN_ETHER_TYPE {
        return Ok((Layer::EtherType(field), after));
    }
    let length = u32::from(field);
    // Padding follows the declared length. A length beyond the frame is ignored.
    let frame = if length <= after.length() {
        after.until(length)
    } else {
        after
    };
    Ok((Layer::Link(Link::Llc), frame))
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ethernet, ipv4, tcp, ETHERNET, SNAP_IPV4};

    #[test]
    fn test_frames_that_carry_no_ip_are_no_anomaly() {
        for ether_type in [0x0806, 0x88cc, 0x0026] {
            let decoded = decode(ETHERNET, &ethernet(ether_type, &[0; 46]));
            assert!(
                decoded.network.is_none() && decoded.notices.is_empty(),
                "{ether_type:#06x}"
            );
        }
    }

    #[test]
    fn test_a_length_beyond_the_frame_is_ignored() {
        let bytes = ethernet(1500, &concat(&[SNAP_IPV4, &ipv4(6, &tcp())]));
        assert!(decode(ETHERNET, &bytes).has_whole_request());
    }
}
