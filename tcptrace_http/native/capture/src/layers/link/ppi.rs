//! Per-packet information: fields, then a frame of a link type that the header names.

use super::first_layer;
use crate::layers::view::View;
use crate::layers::{Next, Stop};
use trace_model::LinkType;

const NAME: &str = "PPI header";

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [_, _, l0, l1, link_type @ ..] = *view.header::<8>(NAME)?;
    let after = view.after(usize::from(u16::from_le_bytes([l0, l1])), NAME)?;
    let link_type = u16::try_from(u32::from_le_bytes(link_type)).map_err(|_| Stop::Opaque)?;
    let layer = first_layer(LinkType(link_type)).ok_or(Stop::Opaque)?;
    Ok((layer, after))
}
