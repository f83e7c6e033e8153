//! IP over FireWire, as macOS captures it: two addresses of eight bytes, then an EtherType.

use crate::layers::view::View;
use crate::layers::{Layer, Next};

const HEADER_BYTES: usize = 18;
const NAME: &str = "IP over IEEE 1394 header";

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [.., t0, t1] = *view.header::<HEADER_BYTES>(NAME)?;
    Ok((
        Layer::EtherType(u16::from_be_bytes([t0, t1])),
        view.after(HEADER_BYTES, NAME)?,
    ))
}
