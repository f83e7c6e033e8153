//! PPP (RFC 1661, section 2), bare or in HDLC-like framing (RFC 1662, section 3.1).

use super::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const HDLC_ADDRESS_AND_CONTROL: [u8; 2] = [0xff, 0x03];
/// Addresses of Cisco HDLC, which some write under PPP's link type.
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

/// One byte before the frame says which way it went.
pub(super) fn payload_with_direction(view: View<'_>) -> Next<'_> {
    Ok((Layer::Link(Link::Ppp), view.after(1, NAME)?))
}

/// A protocol number ends with its first odd byte, so that a leading 0 may have been left out
/// (RFC 1661, section 6.5).
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
