//! Link headers, one file each, and their link types (https://www.tcpdump.org/linktypes.html).

mod apple_ip_over_ieee1394;
mod arcnet;
mod avs;
mod bsd_loopback;
mod cisco_hdlc;
pub(super) mod ether_type;
mod ethernet;
mod fddi;
mod ieee80211;
mod juniper;
mod linux_cooked;
mod llc;
mod mpls;
mod nflog;
pub(super) mod nsh;
mod pflog;
mod pktap;
mod ppi;
mod ppp;
mod pppoe;
mod prism;
mod provider_backbone;
mod radiotap;
mod trill;
mod vlan;

use super::view::View;
use super::{Layer, Next, Stop};
use trace_model::LinkType;

const ETHERNET: LinkType = LinkType(1);

/// Headers below IP that can start a frame, a tunnel payload or another link header's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    AppleIpOverIeee1394,
    Arcnet,
    ArcnetLinux,
    Avs,
    BsdLoop,
    BsdNull,
    CiscoHdlc,
    CiscoMetadata,
    Ethernet,
    Fddi,
    Ieee80211,
    JuniperEthernet,
    LinuxCooked,
    LinuxCooked2,
    Llc,
    Mpls,
    Nflog,
    Nsh,
    Pflog,
    Pktap,
    Ppi,
    Ppp,
    PppWithDirection,
    Pppoe,
    Prism,
    ProviderBackbone,
    Radiotap,
    Trill,
    Vlan,
    VnTag,
}

/// Return the first layer of a link type, if the link type is supported.
#[inline]
pub(super) fn first_layer(link_type: LinkType) -> Option<Layer> {
    let LinkType(number) = link_type;
    let link = match number {
        0 => Link::BsdNull,
        1 => Link::Ethernet,
        7 => Link::Arcnet,
        9 | 50 => Link::Ppp,
        10 => Link::Fddi,
        51 => Link::Pppoe,
        100 => Link::Llc,
        // BSDs write 12 and 14 for RAW. 228 and 229 each declare one IP version.
        12 | 14 | 101 | 228 | 229 => return Some(Layer::Ip),
        104 => Link::CiscoHdlc,
        105 => Link::Ieee80211,
        108 => Link::BsdLoop,
        113 => Link::LinuxCooked,
        117 => Link::Pflog,
        119 => Link::Prism,
        127 => Link::Radiotap,
        129 => Link::ArcnetLinux,
        138 => Link::AppleIpOverIeee1394,
        149 | 258 => Link::Pktap,
        163 => Link::Avs,
        178 => Link::JuniperEthernet,
        192 => Link::Ppi,
        204 => Link::PppWithDirection,
        219 => Link::Mpls,
        239 => Link::Nflog,
        276 => Link::LinuxCooked2,
        _ => return None,
    };
    Some(Layer::Link(link))
}

/// Return the layer of a link type number inside a header.
fn named(link_type: u32) -> Result<Layer, Stop> {
    u16::try_from(link_type)
        .ok()
        .and_then(|number| first_layer(LinkType(number)))
        .ok_or(Stop::Opaque)
}

/// Return the IPv4 packet of an Ethernet frame without tags.
#[inline(always)]
pub(super) fn ipv4_in_ethernet(link_type: LinkType, view: View<'_>) -> Option<View<'_>> {
    (link_type == ETHERNET).then_some(())?;
    ethernet::ipv4(view)
}

/// Parse a link header's payload.
#[inline]
pub(super) fn payload(link: Link, view: View<'_>) -> Next<'_> {
    match link {
        Link::AppleIpOverIeee1394 => apple_ip_over_ieee1394::payload(view),
        Link::Arcnet => arcnet::payload(view),
        Link::ArcnetLinux => arcnet::linux_payload(view),
        Link::Avs => avs::payload(view),
        Link::BsdLoop => bsd_loopback::loop_payload(view),
        Link::BsdNull => bsd_loopback::null_payload(view),
        Link::CiscoHdlc => cisco_hdlc::payload(view),
        Link::CiscoMetadata => vlan::cisco_metadata(view),
        Link::Ethernet => ethernet::payload(view),
        Link::Fddi => fddi::payload(view),
        Link::Ieee80211 => ieee80211::payload(view),
        Link::JuniperEthernet => juniper::payload(view),
        Link::LinuxCooked => linux_cooked::payload(view),
        Link::LinuxCooked2 => linux_cooked::payload_of_version_2(view),
        Link::Llc => llc::payload(view),
        Link::Mpls => mpls::payload(view),
        Link::Nflog => nflog::payload(view),
        Link::Nsh => nsh::payload(view),
        Link::Pflog => pflog::payload(view),
        Link::Pktap => pktap::payload(view),
        Link::Ppi => ppi::payload(view),
        Link::Ppp => ppp::payload(view),
        Link::PppWithDirection => ppp::payload_with_direction(view),
        Link::Pppoe => pppoe::payload(view),
        Link::Prism => prism::payload(view),
        Link::ProviderBackbone => provider_backbone::payload(view),
        Link::Radiotap => radiotap::payload(view),
        Link::Trill => trill::payload(view),
        Link::Vlan => vlan::payload(view),
        Link::VnTag => vlan::vn_tag(view),
    }
}
