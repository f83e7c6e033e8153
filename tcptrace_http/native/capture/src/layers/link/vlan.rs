//! VLAN tags (IEEE 802.1Q, section 9): two bytes of priority and number, then a type again.

use super::ethernet;
use crate::layers::view::View;
use crate::layers::Next;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [_, _, t0, t1] = *view.header::<4>("VLAN tag")?;
    ethernet::type_or_length(u16::from_be_bytes([t0, t1]), view.after(4, "VLAN tag")?)
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ethernet, ipv4, tcp, ETHERNET, SNAP_IPV4};

    #[test]
    fn test_tags_are_passed_over_however_many_and_of_whatever_type() {
        for ether_type in [0x8100, 0x88a8, 0x9100, 0x9200] {
            let tags = concat(&[
                &[0, 1, 0x91, 0, 0, 2, 0x81, 0, 0, 3, 8, 0],
                &ipv4(6, &tcp()),
            ]);
            assert!(decode(ETHERNET, &ethernet(ether_type, &tags)).has_whole_request());
        }
    }

    #[test]
    fn test_a_length_behind_a_tag_leads_to_llc() {
        let tagged = concat(&[&[0, 1, 0, 66], SNAP_IPV4, &ipv4(6, &tcp())]);
        assert!(decode(ETHERNET, &ethernet(0x8100, &tagged)).has_whole_request());
    }
}
