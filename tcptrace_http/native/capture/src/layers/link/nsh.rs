//! Network service header (RFC 8300, section 2).

use super::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const NAME: &str = "network service header";
/// Length of the whole header, in words of four bytes.
const WORDS: u8 = 0x3f;
// "Next protocol" numbers (RFC 8300, section 9.1.4). VXLAN-GPE uses the same numbers.
const IPV4: u8 = 1;
const IPV6: u8 = 2;
const ETHERNET: u8 = 3;
const NSH: u8 = 4;
const MPLS: u8 = 5;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [_, length, _, next] = *view.header::<4>(NAME)?;
    let words = usize::from(length & WORDS);
    Ok((next_layer(next)?, view.after(words << 2, NAME)?))
}

/// Return the layer of a "next protocol" field.
pub(in crate::layers) fn next_layer(next: u8) -> Result<Layer, Stop> {
    match next {
        IPV4 | IPV6 => Ok(Layer::Ip),
        ETHERNET => Ok(Layer::Link(Link::Ethernet)),
        NSH => Ok(Layer::Link(Link::Nsh)),
        MPLS => Ok(Layer::Link(Link::Mpls)),
        _ => Err(Stop::Opaque),
    }
}
