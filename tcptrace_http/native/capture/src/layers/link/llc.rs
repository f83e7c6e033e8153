//! Logical link control (IEEE 802.2, section 3) and its Subnetwork Access Protocol.

use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const SNAP: u8 = 0xaa;
const IP: u8 = 0x06;
const UNNUMBERED_INFORMATION: u8 = 0x03;
const NAME: &str = "LLC header";
const SNAP_NAME: &str = "SNAP header";
/// Organisation codes whose protocol number is an EtherType: RFC 1042, and IEEE 802.1H for bridges to
/// Ethernet.
const ENCAPSULATED_ETHERNET: [u8; 3] = [0, 0, 0];
const BRIDGE_TUNNEL: [u8; 3] = [0, 0, 0xf8];

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [destination, source, control] = *view.header::<3>(NAME)?;
    match (destination, source, control) {
        (SNAP, SNAP, UNNUMBERED_INFORMATION) => {
            let [_, _, _, o0, o1, o2, t0, t1] = *view.header::<8>(SNAP_NAME)?;
            match [o0, o1, o2] {
                ENCAPSULATED_ETHERNET | BRIDGE_TUNNEL => Ok((
                    Layer::EtherType(u16::from_be_bytes([t0, t1])),
                    view.after(8, SNAP_NAME)?,
                )),
                _ => Err(Stop::Opaque),
            }
        }
        (IP, IP, UNNUMBERED_INFORMATION) => Ok((Layer::Ip, view.after(3, NAME)?)),
        _ => Err(Stop::Opaque),
    }
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ipv4, tcp};
    use trace_model::LinkType;

    fn is_read(header: &[u8]) -> bool {
        decode(LinkType(100), &concat(&[header, &ipv4(6, &tcp())])).has_whole_request()
    }

    #[test]
    fn test_ip_is_found_after_snap_and_after_its_own_service_access_point() {
        assert!(is_read(&[0xaa, 0xaa, 3, 0, 0, 0, 8, 0]));
        assert!(is_read(&[0xaa, 0xaa, 3, 0, 0, 0xf8, 8, 0]));
        assert!(is_read(&[6, 6, 3]));
    }

    #[test]
    fn test_spanning_tree_and_other_organisations_carry_no_ip() {
        assert!(!is_read(&[0x42, 0x42, 3]));
        assert!(!is_read(&[0xaa, 0xaa, 3, 0, 0, 0x0c, 8, 0]));
    }
}
