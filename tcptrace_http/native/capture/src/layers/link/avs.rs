//! AVS header before IEEE 802.11 frames: a magic number and the header's length.

use super::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next};

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let header_bytes = u32::from_be_bytes(*view.at::<4>(4, "AVS header")?);
    let header_bytes = usize::try_from(header_bytes).unwrap_or(usize::MAX);
    Ok((
        Layer::Link(Link::Ieee80211),
        view.after(header_bytes, "AVS header")?,
    ))
}
