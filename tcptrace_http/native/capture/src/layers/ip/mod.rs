//! IP headers and their payload protocols.

mod authentication;
mod erspan;
mod ether_ip;
#[cfg(test)]
mod fragment_tests;
pub(super) mod fragments;
mod gre;
pub(super) mod ipv4;
mod ipv6;
mod udp;

use super::link::Link;
use super::view::View;
use super::{Layer, Next, Stop};
use trace_model::Network;

// Protocol numbers of the IANA registry "Protocol Numbers".
const HOP_BY_HOP_OPTIONS: u8 = 0;
const IPV4_ENCAPSULATION: u8 = 4;
pub(super) const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV6_ENCAPSULATION: u8 = 41;
const IPV6_ROUTING: u8 = 43;
const IPV6_FRAGMENT: u8 = 44;
const GRE: u8 = 47;
const AUTHENTICATION_HEADER: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;
/// IP within IP under the number of NOS and KA9Q. The payload equals that of [`IPV4_ENCAPSULATION`].
const IP_WITHIN_IP: u8 = 94;
const ETHER_IP: u8 = 97;
const MOBILITY: u8 = 135;
const MPLS_IN_IP: u8 = 137;

/// The fields of an IP header that the walk needs.
pub(super) struct Header<'a> {
    pub network: Network,
    /// Length of header and payload together, from the header's length field.
    pub total_bytes: u32,
    pub next: Layer,
    pub payload: View<'a>,
}

/// Parse an IP header. The first nibble gives the version, regardless of the previous header.
#[inline]
pub(super) fn header(view: View<'_>) -> Result<Header<'_>, Stop> {
    match view.first_byte().map(|byte| byte >> 4) {
        Some(4) => ipv4::header(view),
        Some(6) => ipv6::header(view),
        Some(_) => Err(Stop::Opaque),
        None => Err(Stop::Cut {
            header: "IP header",
        }),
    }
}

/// Parse the payload of an IP header by its protocol number.
pub(super) fn payload(protocol: u8, view: View<'_>) -> Next<'_> {
    match protocol {
        HOP_BY_HOP_OPTIONS | IPV6_ROUTING | DESTINATION_OPTIONS | MOBILITY => ipv6::extension(view),
        IPV6_FRAGMENT => ipv6::fragment(view),
        AUTHENTICATION_HEADER => authentication::payload(view),
        IPV4_ENCAPSULATION | IPV6_ENCAPSULATION | IP_WITHIN_IP => Ok((Layer::Ip, view)),
        UDP => udp::payload(view),
        GRE => gre::payload(view),
        ETHER_IP => ether_ip::payload(view),
        MPLS_IN_IP => Ok((Layer::Link(Link::Mpls), view)),
        // ICMP stays unparsed on purpose. A quoted TCP header in ICMP is no segment of this packet.
        _ => Err(Stop::Opaque),
    }
}
