//! ARCNET with IP, in the format of RFC 1201 or RFC 1051.

use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const NAME: &str = "ARCNET header";
const ADDRESSES_BYTES: usize = 2;
/// Padding that Linux puts between the addresses and the protocol.
const LINUX_OFFSET_BYTES: usize = 2;
const IPV4: u8 = 212;
const IPV6: u8 = 196;
const IPV4_BEFORE: u8 = 240;
/// Split flag and sequence number, added by RFC 1201.
const SPLIT_BYTES: usize = 3;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    by_protocol(view.after(ADDRESSES_BYTES, NAME)?)
}

pub(super) fn linux_payload(view: View<'_>) -> Next<'_> {
    by_protocol(
        view.after(ADDRESSES_BYTES, NAME)?
            .after(LINUX_OFFSET_BYTES, NAME)?,
    )
}

fn by_protocol(view: View<'_>) -> Next<'_> {
    let [protocol, flag] = *view.header::<2>(NAME)?;
    let after = view.after(1, NAME)?;
    match (protocol, flag) {
        (IPV4_BEFORE, _) => Ok((Layer::Ip, after)),
        // A packet split over several frames is not reassembled.
        (IPV4 | IPV6, 0) => Ok((Layer::Ip, after.after(SPLIT_BYTES, NAME)?)),
        _ => Err(Stop::Opaque),
    }
}
