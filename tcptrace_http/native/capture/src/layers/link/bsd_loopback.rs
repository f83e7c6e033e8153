//! Loopback of the BSDs: four bytes of address family before the IP header.

use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const AF_INET: u32 = 2;
/// Values of AF_INET6 differ per system: Linux 10, Windows 23, NetBSD and OpenBSD 24, FreeBSD 28, macOS 30.
const AF_INET6_LINUX: u32 = 10;
const AF_INET6_WINDOWS: u32 = 23;
const AF_INET6_OPENBSD: u32 = 24;
const AF_INET6_FREEBSD: u32 = 28;
const AF_INET6_MACOS: u32 = 30;
const NAME: &str = "loopback header";

/// Parse a NULL header. Its byte order is the capturing host's. Every family fits in 16 bits, so the correct
/// order is the one with an upper half of 0.
pub(super) fn null_payload(view: View<'_>) -> Next<'_> {
    let bytes = *view.header::<4>(NAME)?;
    let (little, big) = (u32::from_le_bytes(bytes), u32::from_be_bytes(bytes));
    by_family(little.min(big), view)
}

/// Parse a LOOP header, whose family is in network byte order.
pub(super) fn loop_payload(view: View<'_>) -> Next<'_> {
    by_family(u32::from_be_bytes(*view.header::<4>(NAME)?), view)
}

fn by_family(family: u32, view: View<'_>) -> Next<'_> {
    match family {
        AF_INET | AF_INET6_LINUX | AF_INET6_WINDOWS | AF_INET6_OPENBSD | AF_INET6_FREEBSD
        | AF_INET6_MACOS => Ok((Layer::Ip, view.after(4, NAME)?)),
        _ => Err(Stop::Opaque),
    }
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ipv4, ipv6, tcp};
    use trace_model::LinkType;

    const NULL: LinkType = LinkType(0);

    #[test]
    fn test_the_family_is_read_in_either_byte_order() {
        let packet = ipv4(6, &tcp());
        assert!(decode(NULL, &concat(&[&[2, 0, 0, 0], &packet])).has_whole_request());
        assert!(decode(NULL, &concat(&[&[0, 0, 0, 2], &packet])).has_whole_request());
    }

    #[test]
    fn test_ipv6_is_read_by_every_systems_number() {
        for family in [10, 23, 24, 28, 30] {
            let bytes = concat(&[&[family, 0, 0, 0], &ipv6(6, &tcp())]);
            assert!(decode(NULL, &bytes).has_whole_request(), "{family}");
        }
    }

    #[test]
    fn test_other_families_carry_no_ip() {
        let decoded = decode(NULL, &concat(&[&[7, 0, 0, 0], &ipv4(6, &tcp())]));
        assert!(decoded.network.is_none() && decoded.notices.is_empty());
    }
}
