//! FDDI: frame control, two addresses, LLC.

use super::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const HEADER_BYTES: usize = 13;
const FRAME_CLASS: u8 = 0xf0;
/// Asynchronous frames with LLC data (ISO 9314-2, section 7.3.3).
const ASYNCHRONOUS_LLC: u8 = 0x50;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [control, ..] = *view.header::<HEADER_BYTES>("FDDI header")?;
    if control & FRAME_CLASS != ASYNCHRONOUS_LLC {
        return Err(Stop::Opaque);
    }
    Ok((
        Layer::Link(Link::Llc),
        view.after(HEADER_BYTES, "FDDI header")?,
    ))
}
