//! VLAN and other switch tags. Each tag ends with another type field.

use super::ethernet;
use crate::layers::view::View;
use crate::layers::Next;

/// Parse an IEEE 802.1Q tag (section 9): two bytes of priority and number.
pub(super) fn payload(view: View<'_>) -> Next<'_> {
    tagged::<2>(view, "VLAN tag")
}

/// Parse an IEEE 802.1BR tag (section 8.4): four bytes with the ports of a port extender.
pub(super) fn vn_tag(view: View<'_>) -> Next<'_> {
    tagged::<4>(view, "VN-Tag")
}

/// Parse the six bytes of draft-smith-kandula-sxp: version, length, option and security group.
pub(super) fn cisco_metadata(view: View<'_>) -> Next<'_> {
    tagged::<6>(view, "Cisco metadata")
}

fn tagged<'a, const BYTES: usize>(view: View<'a>, name: &'static str) -> Next<'a> {
    let ether_type = *view.at::<2>(BYTES, name)?;
    let after = view.after(BYTES.saturating_add(2), name)?;
    ethernet::type_or_length(u16::from_be_bytes(ether_type), after)
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ethernet, ipv4, tcp, ETHERNET, SNAP_IPV4};

    #[test]
    fn test_any_number_of_tags_of_any_type_is_skipped() {
        for ether_type in [0x8100, 0x88a8, 0x9100, 0x9200] {
            let tags = concat(&[
                &[0, 1, 0x91, 0, 0, 2, 0x81, 0, 0, 3, 8, 0],
                &ipv4(6, &tcp()),
            ]);
            assert!(decode(ETHERNET, &ethernet(ether_type, &tags)).has_whole_request());
        }
    }

    #[test]
    fn test_a_length_after_a_tag_leads_to_llc() {
        let tagged = concat(&[&[0, 1, 0, 66], SNAP_IPV4, &ipv4(6, &tcp())]);
        assert!(decode(ETHERNET, &ethernet(0x8100, &tagged)).has_whole_request());
    }
}
