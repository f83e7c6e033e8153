//! Provider backbone bridging (IEEE 802.1ah, section 9.7): four bytes, then the customer's frame.

use super::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next};

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    Ok((Layer::Link(Link::Ethernet), view.after(4, "802.1ah tag")?))
}
