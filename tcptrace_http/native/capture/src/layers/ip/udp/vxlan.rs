//! VXLAN (RFC 7348, section 5) and its generic protocol extension (draft-ietf-nvo3-vxlan-gpe).

use crate::layers::link::{nsh, Link};
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const HEADER_BYTES: usize = 8;
/// The mandatory flag: the network identifier is valid.
const VALID_IDENTIFIER: u8 = 0x08;
const NEXT_PROTOCOL_PRESENT: u8 = 0x04;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [flags, ..] = *view.header::<HEADER_BYTES>("VXLAN header")?;
    if flags & VALID_IDENTIFIER == 0 {
        return Err(Stop::Opaque);
    }
    Ok((
        Layer::Link(Link::Ethernet),
        view.after(HEADER_BYTES, "VXLAN header")?,
    ))
}

pub(super) fn gpe_payload(view: View<'_>) -> Next<'_> {
    let [flags, _, _, next, ..] = *view.header::<HEADER_BYTES>("VXLAN-GPE header")?;
    if flags & NEXT_PROTOCOL_PRESENT == 0 {
        return payload(view);
    }
    let after = view.after(HEADER_BYTES, "VXLAN-GPE header")?;
    Ok((nsh::next_layer(next)?, after))
}
