//! Loopback of the BSDs: four bytes of address family before IP.

use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const AF_INET: u32 = 2;
/// Every system numbers AF_INET6 otherwise: Linux 10, Windows 23, NetBSD and OpenBSD 24,
/// FreeBSD 28, macOS 30.
const AF_INET6_LINUX: u32 = 10;
const AF_INET6_WINDOWS: u32 = 23;
const AF_INET6_OPENBSD: u32 = 24;
const AF_INET6_FREEBSD: u32 = 28;
const AF_INET6_MACOS: u32 = 30;
const NAME: &str = "loopback header";

/// The byte order is that of the host that captured; no family needs the upper half, so the
/// order in which it is 0 is the right one.
pub(super) fn null_payload(view: View<'_>) -> Next<'_> {
    let bytes = *view.header::<4>(NAME)?;
    let (little, big) = (u32::from_le_bytes(bytes), u32::from_be_bytes(bytes));
    by_family(little.min(big), view)
}

/// The family is in network byte order.
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
