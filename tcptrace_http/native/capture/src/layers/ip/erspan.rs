//! ERSPAN: mirrored Ethernet frames in GRE (draft-foschiano-erspan).

use crate::layers::link::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next};

const TYPE_2_BYTES: usize = 8;
const TYPE_3_BYTES: usize = 12;
/// The bit of a type III header that a subheader of eight bytes follows.
const SUBHEADER_FOLLOWS: u8 = 0x01;
const SUBHEADER_BYTES: usize = 8;

/// Type I has no header, and no sequence number in GRE; type II has both.
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
