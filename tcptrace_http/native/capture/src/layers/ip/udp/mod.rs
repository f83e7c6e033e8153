//! UDP as a carrier of tunnels. The port alone identifies the tunnel protocol (RFC 768; ports in the IANA
//! registry of service names).

mod ayiya;
mod geneve;
mod gtp;
mod l2tp;
mod teredo;
mod vxlan;

use crate::layers::view::View;
use crate::layers::{Next, Stop};

const L2TP_PORT: u16 = 1701;
const GTP_USER_PORT: u16 = 2152;
const TEREDO_PORT: u16 = 3544;
const VXLAN_PORT: u16 = 4789;
const VXLAN_GPE_PORT: u16 = 4790;
/// Linux's VXLAN port from before the IANA assignment, still the Linux default.
const VXLAN_LINUX_PORT: u16 = 8472;
const AYIYA_PORT: u16 = 5072;
const GENEVE_PORT: u16 = 6081;

const HEADER_BYTES: u16 = 8;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [s0, s1, d0, d1, len0, len1, _, _] = *view.header::<8>("UDP header")?;
    let ports = [u16::from_be_bytes([d0, d1]), u16::from_be_bytes([s0, s1])];
    let Some(tunnel) = ports.into_iter().find_map(tunnel) else {
        return Err(Stop::Opaque);
    };
    let after = view.after(usize::from(HEADER_BYTES), "UDP header")?;
    // A jumbogram has length 0 (RFC 2675, section 4), and offload can leave 0.
    match u16::from_be_bytes([len0, len1]).checked_sub(HEADER_BYTES) {
        Some(length) if u32::from(length) <= after.length() => {
            tunnel(after.until(u32::from(length)))
        }
        Some(_) | None => tunnel(after),
    }
}

fn tunnel(port: u16) -> Option<fn(View<'_>) -> Next<'_>> {
    match port {
        L2TP_PORT => Some(l2tp::payload),
        GTP_USER_PORT => Some(gtp::payload),
        TEREDO_PORT => Some(teredo::payload),
        VXLAN_PORT | VXLAN_LINUX_PORT => Some(vxlan::payload),
        VXLAN_GPE_PORT => Some(vxlan::gpe_payload),
        AYIYA_PORT => Some(ayiya::payload),
        GENEVE_PORT => Some(geneve::payload),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{decode, ipv4, udp, RAW};

    #[test]
    fn test_udp_of_other_ports_is_not_parsed() {
        let decoded = decode(RAW, &ipv4(17, &udp(53, &[0x45; 60])));
        assert!(decoded.segment.is_none() && decoded.notices.is_empty());
        assert_eq!(decoded.network.map(|network| network.protocol), Some(17));
    }
}
