//! Per-packet information: fields, then a frame whose link type the header declares.

use super::named;
use crate::layers::view::View;
use crate::layers::Next;

const NAME: &str = "PPI header";

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [_, _, l0, l1, link_type @ ..] = *view.header::<8>(NAME)?;
    let after = view.after(usize::from(u16::from_le_bytes([l0, l1])), NAME)?;
    Ok((named(u32::from_le_bytes(link_type))?, after))
}
