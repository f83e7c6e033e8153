//! MPLS label stacks (RFC 3032, section 2.1).

use super::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const BOTTOM_OF_STACK: u8 = 0x01;
/// First nibble of a pseudowire control word (RFC 4385, section 3), which precedes an Ethernet frame.
const CONTROL_WORD: u8 = 0;

/// Remove one label. No field gives the payload type below the last label, so its first nibble decides (RFC
/// 4928, section 2). The values 4 and 6 mean IP, and 0 means a control word.
pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [_, _, bottom, _] = *view.header::<4>("MPLS label")?;
    let below = view.after(4, "MPLS label")?;
    if bottom & BOTTOM_OF_STACK == 0 {
        return Ok((Layer::Link(Link::Mpls), below));
    }
    match below.first_byte().map(|byte| byte >> 4) {
        Some(4 | 6) => Ok((Layer::Ip, below)),
        Some(CONTROL_WORD) => ethernet_pseudowire(below),
        Some(_) | None => Err(Stop::Opaque),
    }
}

/// Parse an Ethernet pseudowire. A frame without a control word starts with a destination address, which can
/// also start with 0. A control word's first two bytes hold flags and a length, both 0 except for tiny
/// frames.
fn ethernet_pseudowire(below: View<'_>) -> Next<'_> {
    let [first, second, ..] = *below.header::<4>("MPLS payload")?;
    let without_word = below.after(4, "pseudowire control word")?;
    if [first, second] == [0, 0] {
        return Ok((Layer::Link(Link::Ethernet), without_word));
    }
    Ok((Layer::Link(Link::Ethernet), below))
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ethernet, ipv4, ipv6, tcp, ETHERNET};

    fn is_read(below: &[u8]) -> bool {
        let stack = [0, 1, 0, 64, 0, 2, 0, 64, 0, 3, 1, 64];
        decode(ETHERNET, &ethernet(0x8847, &concat(&[&stack, below]))).has_whole_request()
    }

    #[test]
    fn test_the_first_nibble_identifies_the_payload_below_the_labels() {
        assert!(is_read(&ipv4(6, &tcp())));
        assert!(is_read(&ipv6(6, &tcp())));
    }

    #[test]
    fn test_ethernet_below_the_labels_is_read_with_and_without_a_control_word() {
        let framed = ethernet(0x0800, &ipv4(6, &tcp()));
        assert!(is_read(&concat(&[&[0; 4], &framed])));
        assert!(is_read(&framed));
    }
}
