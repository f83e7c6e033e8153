//! Juniper's header before Ethernet frames (tcpdump, print-juniper.c): a magic number, flags, and optional
//! extensions.

use super::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const NAME: &str = "Juniper header";
const MAGIC: [u8; 3] = *b"MGC";
const WITHOUT_LINK_HEADER: u8 = 0x02;
const WITH_EXTENSIONS: u8 = 0x80;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [m0, m1, m2, flags] = *view.header::<4>(NAME)?;
    if [m0, m1, m2] != MAGIC {
        return Err(Stop::Opaque);
    }
    let mut after = view.after(4, NAME)?;
    if flags & WITH_EXTENSIONS != 0 {
        let length = u16::from_be_bytes(*after.header::<2>(NAME)?);
        after = after.after(usize::from(length).saturating_add(2), NAME)?;
    }
    if flags & WITHOUT_LINK_HEADER == 0 {
        return Ok((Layer::Link(Link::Ethernet), after));
    }
    // Four bytes with a JunOS protocol number replace the link header.
    Ok((Layer::Ip, after.after(4, NAME)?))
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ethernet, ipv4, tcp};
    use trace_model::LinkType;

    fn is_read(header: &[u8], frame: &[u8]) -> bool {
        decode(LinkType(178), &concat(&[header, frame])).has_whole_request()
    }

    #[test]
    fn test_flags_announce_extensions_and_a_missing_link_header() {
        let packet = ipv4(6, &tcp());
        let framed = ethernet(0x0800, &packet);
        assert!(is_read(b"MGC\x01", &framed));
        assert!(is_read(b"MGC\x81\0\x03abc", &framed));
        assert!(is_read(b"MGC\x02\x02\0\0\0", &packet));
        assert!(is_read(b"MGC\x83\0\x03abc\x02\0\0\0", &packet));
        assert!(!is_read(b"MGD\x01", &framed));
    }
}
