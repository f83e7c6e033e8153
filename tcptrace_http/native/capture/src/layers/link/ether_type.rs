//! EtherTypes that lead to IP (IANA registry "IEEE 802 Numbers").

use super::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
/// The outer tag of IEEE 802.1ad. Older equipment used 0x9100 and 0x9200.
const SERVICE_VLAN: u16 = 0x88a8;
const SERVICE_VLAN_BEFORE: u16 = 0x9100;
const SERVICE_VLAN_BEFORE_2: u16 = 0x9200;
const PPPOE_SESSION: u16 = 0x8864;
const MPLS_UNICAST: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const PROVIDER_BACKBONE: u16 = 0x88e7;
const PPP: u16 = 0x880b;
const TRANSPARENT_ETHERNET_BRIDGING: u16 = 0x6558;
const VN_TAG: u16 = 0x8926;
const CISCO_METADATA: u16 = 0x8909;
const NETWORK_SERVICE_HEADER: u16 = 0x894f;
const TRILL: u16 = 0x22f3;

#[inline]
pub(in crate::layers) fn payload(ether_type: u16, view: View<'_>) -> Next<'_> {
    match ether_type {
        IPV4 | IPV6 => Ok((Layer::Ip, view)),
        VLAN | SERVICE_VLAN | SERVICE_VLAN_BEFORE | SERVICE_VLAN_BEFORE_2 => {
            Ok((Layer::Link(Link::Vlan), view))
        }
        PPPOE_SESSION => Ok((Layer::Link(Link::Pppoe), view)),
        MPLS_UNICAST | MPLS_MULTICAST => Ok((Layer::Link(Link::Mpls), view)),
        PROVIDER_BACKBONE => Ok((Layer::Link(Link::ProviderBackbone), view)),
        PPP => Ok((Layer::Link(Link::Ppp), view)),
        TRANSPARENT_ETHERNET_BRIDGING => Ok((Layer::Link(Link::Ethernet), view)),
        VN_TAG => Ok((Layer::Link(Link::VnTag), view)),
        CISCO_METADATA => Ok((Layer::Link(Link::CiscoMetadata), view)),
        NETWORK_SERVICE_HEADER => Ok((Layer::Link(Link::Nsh), view)),
        TRILL => Ok((Layer::Link(Link::Trill), view)),
        _ => Err(Stop::Opaque),
    }
}
