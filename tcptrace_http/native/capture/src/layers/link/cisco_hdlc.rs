//! Cisco HDLC: address, control and an EtherType.

use crate::layers::view::View;
use crate::layers::{Layer, Next};

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [_, _, t0, t1] = *view.header::<4>("Cisco HDLC header")?;
    Ok((
        Layer::EtherType(u16::from_be_bytes([t0, t1])),
        view.after(4, "Cisco HDLC header")?,
    ))
}
