//! Linux cooked captures: the "any" interface, and interfaces without a link header.

use super::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const HEADER_BYTES: usize = 16;
const HEADER_BYTES_2: usize = 20;
const NAME: &str = "Linux cooked header";
// Hardware types whose protocol field is no EtherType (linux/if_arp.h).
const ARPHRD_GRE: u16 = 778;
const ARPHRD_IEEE80211: u16 = 801;
const ARPHRD_PRISM: u16 = 802;
const ARPHRD_RADIOTAP: u16 = 803;
const ARPHRD_NETLINK: u16 = 824;
/// Protocol value of frames with an LLC header instead of an EtherType.
const LLC: u16 = 0x0004;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [_, _, a0, a1, .., p0, p1] = *view.header::<HEADER_BYTES>(NAME)?;
    let after = view.after(HEADER_BYTES, NAME)?;
    by_protocol(
        u16::from_be_bytes([p0, p1]),
        u16::from_be_bytes([a0, a1]),
        after,
    )
}

/// Parse version 2, which begins with the protocol and adds the interface number.
pub(super) fn payload_of_version_2(view: View<'_>) -> Next<'_> {
    let [p0, p1, _, _, _, _, _, _, a0, a1, ..] = *view.header::<HEADER_BYTES_2>(NAME)?;
    let after = view.after(HEADER_BYTES_2, NAME)?;
    by_protocol(
        u16::from_be_bytes([p0, p1]),
        u16::from_be_bytes([a0, a1]),
        after,
    )
}

fn by_protocol(protocol: u16, hardware: u16, after: View<'_>) -> Next<'_> {
    match (hardware, protocol) {
        (ARPHRD_NETLINK, _) => Err(Stop::Opaque),
        (ARPHRD_IEEE80211, _) => Ok((Layer::Link(Link::Ieee80211), after)),
        (ARPHRD_PRISM, _) => Ok((Layer::Link(Link::Prism), after)),
        (ARPHRD_RADIOTAP, _) => Ok((Layer::Link(Link::Radiotap), after)),
        // The kernel removed the GRE header and kept its protocol.
        (ARPHRD_GRE, protocol) => Ok((Layer::EtherType(protocol), after)),
        (_, LLC) => Ok((Layer::Link(Link::Llc), after)),
        (_, protocol) => Ok((Layer::EtherType(protocol), after)),
    }
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ipv4, tcp, SNAP_IPV4};
    use trace_model::LinkType;

    fn is_read(hardware: u16, protocol: u16, payload: &[u8]) -> bool {
        let (hardware, protocol) = (hardware.to_be_bytes(), protocol.to_be_bytes());
        let one = concat(&[&[0, 0], &hardware, &[0; 10], &protocol, payload]);
        let two = concat(&[&protocol, &[0; 6], &hardware, &[0; 10], payload]);
        let found = [(113, one), (276, two)]
            .map(|(link_type, bytes)| decode(LinkType(link_type), &bytes).has_whole_request());
        assert_eq!(found[0], found[1], "both versions read the same");
        found[0]
    }

    #[test]
    fn test_ip_is_found_by_ether_type_and_after_llc_and_vlan() {
        let packet = ipv4(6, &tcp());
        assert!(is_read(1, 0x0800, &packet));
        assert!(is_read(772, 0x0800, &packet));
        assert!(is_read(1, 0x0004, &concat(&[SNAP_IPV4, &packet])));
        assert!(is_read(1, 0x8100, &concat(&[&[0, 1, 8, 0], &packet])));
    }

    #[test]
    fn test_netlink_messages_are_no_packets() {
        assert!(!is_read(824, 0x0800, &ipv4(6, &tcp())));
    }
}
