//! TRILL (RFC 6325, section 3.1): nicknames of two bridges, options, then a host's frame.

use super::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next};

const NAME: &str = "TRILL header";
const HEADER_BYTES: usize = 6;
/// Bits of the options' length, in words of four bytes. Six bits of hop count follow.
const OPTIONS: u16 = 0x07c0;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let first = u16::from_be_bytes(*view.header::<2>(NAME)?);
    // The word count starts at bit 6. A shift by 4 gives bytes.
    let options_bytes = usize::from((first & OPTIONS) >> 4);
    Ok((
        Layer::Link(Link::Ethernet),
        view.after(HEADER_BYTES.saturating_add(options_bytes), NAME)?,
    ))
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ethernet, ipv4, tcp, ETHERNET};

    #[test]
    fn test_options_are_skipped() {
        let framed = ethernet(0x0800, &ipv4(6, &tcp()));
        let header = [0x00, 0x80 | 0x3f, 0, 1, 0, 2];
        let frame = ethernet(0x22f3, &concat(&[&header, &[9; 8], &framed]));
        assert!(decode(ETHERNET, &frame).has_whole_request());
    }
}
