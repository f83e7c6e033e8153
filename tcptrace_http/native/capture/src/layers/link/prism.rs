//! Prism header before IEEE 802.11 frames: a message code and its length, in the host's byte order. Drivers
//! also wrote AVS headers under this link type.

use super::{avs, Link};
use crate::layers::view::View;
use crate::layers::{Layer, Next};

const NAME: &str = "Prism header";
const AVS_MAGIC: u32 = 0x8021_1000;
const AVS_MAGIC_BITS: u32 = 0xffff_f000;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [m0, m1, m2, m3, length @ ..] = *view.header::<8>(NAME)?;
    if u32::from_be_bytes([m0, m1, m2, m3]) & AVS_MAGIC_BITS == AVS_MAGIC {
        return avs::payload(view);
    }
    // The header has 144 bytes in practice, so the correct byte order gives the smaller number.
    let length = u32::from_le_bytes(length).min(u32::from_be_bytes(length));
    let header_bytes = usize::try_from(length).unwrap_or(usize::MAX);
    Ok((
        Layer::Link(Link::Ieee80211),
        view.after(header_bytes, NAME)?,
    ))
}
