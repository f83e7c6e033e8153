//! Geneve (RFC 8926, section 3.4).

use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const VERSION_SHIFT: u8 = 6;
/// Length of the options in units of 4 bytes.
const OPTION_WORDS: u8 = 0x3f;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [first, _, p0, p1, ..] = *view.header::<8>("Geneve header")?;
    if first >> VERSION_SHIFT != 0 {
        return Err(Stop::Opaque);
    }
    let header_bytes = (usize::from(first & OPTION_WORDS) << 2).saturating_add(8);
    Ok((
        Layer::EtherType(u16::from_be_bytes([p0, p1])),
        view.after(header_bytes, "Geneve options")?,
    ))
}
