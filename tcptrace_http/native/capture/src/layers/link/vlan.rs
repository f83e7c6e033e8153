//! VLAN tags (IEEE 802.1Q, section 9): two bytes of priority and number, then a type again.

use super::ethernet;
use crate::layers::view::View;
use crate::layers::Next;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [_, _, t0, t1] = *view.header::<4>("VLAN tag")?;
    ethernet::type_or_length(u16::from_be_bytes([t0, t1]), view.after(4, "VLAN tag")?)
}
