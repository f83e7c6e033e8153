//! PPP (RFC 1661, section 2), bare or in HDLC-like framing (RFC 1662, section 3.1).

use super::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const HDLC_ADDRESS_AND_CONTROL: [u8; 2] = [0xff, 0x03];
/// Addresses of Cisco HDLC. Some writers use PPP's link type for Cisco HDLC.
const CISCO_UNICAST: u8 = 0x0f;
const CISCO_MULTICAST: u8 = 0x8f;
// Protocol numbers of the IANA registry "PPP Numbers".
const IPV4: u16 = 0x0021;
const IPV6: u16 = 0x0057;
const MPLS_UNICAST: u16 = 0x0281;
const MPLS_MULTICAST: u16 = 0x0283;
const NAME: &str = "PPP header";

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let mut view = view;
    match *view.header::<2>(NAME)? {
        HDLC_ADDRESS_AND_CONTROL => view = view.after(2, NAME)?,
        [CISCO_UNICAST | CISCO_MULTICAST, 0] => return Ok((Layer::Link(Link::CiscoHdlc), view)),
        _ => {}
    }
    let (protocol, after) = protocol(view)?;
    match protocol {
        IPV4 | IPV6 => Ok((Layer::Ip, after)),
        MPLS_UNICAST | MPLS_MULTICAST => Ok((Layer::Link(Link::Mpls), after)),
        _ => Err(Stop::Opaque),
    }
}

/// Skip the direction byte before the frame.
pub(super) fn payload_with_direction(view: View<'_>) -> Next<'_> {
    Ok((Layer::Link(Link::Ppp), view.after(1, NAME)?))
}

/// Read the protocol number, which ends with its first odd byte. A leading 0 is optional (RFC 1661, section
/// 6.5).
fn protocol(view: View<'_>) -> Result<(u16, View<'_>), Stop> {
    let [first] = *view.header::<1>(NAME)?;
    if first & 1 == 1 {
        return Ok((u16::from(first), view.after(1, NAME)?));
    }
    Ok((
        u16::from_be_bytes(*view.header::<2>(NAME)?),
        view.after(2, NAME)?,
    ))
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ipv4, ipv6, tcp};
    use trace_model::LinkType;

    fn is_read(header: &[u8], packet: &[u8]) -> bool {
        decode(LinkType(9), &concat(&[header, packet])).has_whole_request()
    }

    #[test]
    fn test_ip_is_found_with_and_without_compressed_headers() {
        let packet = ipv4(6, &tcp());
        assert!(is_read(&[0xff, 3, 0, 0x21], &packet));
        assert!(is_read(&[0xff, 3, 0x21], &packet));
        assert!(is_read(&[0, 0x21], &packet));
        assert!(is_read(&[0x21], &packet));
        assert!(is_read(&[0, 0x57], &ipv6(6, &tcp())));
        assert!(is_read(&[2, 0x81, 0, 2, 1, 64], &packet));
        assert!(is_read(&[0x8f, 0, 8, 0], &packet));
    }

    #[test]
    fn test_link_control_carries_no_ip() {
        let decoded = decode(LinkType(9), &[0xff, 3, 0xc0, 0x21, 1, 1, 0, 4]);
        assert!(decoded.network.is_none() && decoded.notices.is_empty());
    }
}
