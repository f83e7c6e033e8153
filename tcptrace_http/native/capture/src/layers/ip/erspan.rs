//! ERSPAN: mirrored Ethernet frames in GRE (draft-foschiano-erspan).

use crate::layers::link::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next};

const TYPE_2_BYTES: usize = 8;
const TYPE_3_BYTES: usize = 12;
/// Flag of a type III header: a subheader of eight bytes follows.
const SUBHEADER_FOLLOWS: u8 = 0x01;
const SUBHEADER_BYTES: usize = 8;

/// Parse type I or II. Type I has no header and no GRE sequence number; type II has both.
pub(super) fn type_1_or_2(view: View<'_>, has_sequence: bool) -> Next<'_> {
    let header_bytes = if has_sequence { TYPE_2_BYTES } else { 0 };
    Ok((
        Layer::Link(Link::Ethernet),
        view.after(header_bytes, "ERSPAN header")?,
    ))
}

pub(super) fn type_3(view: View<'_>) -> Next<'_> {
    let [.., last] = *view.header::<TYPE_3_BYTES>("ERSPAN header")?;
    let subheader = if last & SUBHEADER_FOLLOWS == 0 {
        0
    } else {
        SUBHEADER_BYTES
    };
    let header_bytes = TYPE_3_BYTES.saturating_add(subheader);
    Ok((
        Layer::Link(Link::Ethernet),
        view.after(header_bytes, "ERSPAN header")?,
    ))
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ethernet, ipv4, tcp, RAW};

    fn is_read(gre: &[u8], header: &[u8]) -> bool {
        let framed = ethernet(0x0800, &ipv4(6, &tcp()));
        decode(RAW, &ipv4(47, &concat(&[gre, header, &framed]))).has_whole_request()
    }

    #[test]
    fn test_all_three_types_are_read() {
        assert!(is_read(&[0, 0, 0x88, 0xbe], &[]));
        assert!(is_read(&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1], &[0x10; 8]));
        assert!(is_read(
            &[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1],
            &[0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        ));
        assert!(is_read(&[0x10, 0, 0x22, 0xeb, 0, 0, 0, 1], &[0x21; 20]));
    }
}
