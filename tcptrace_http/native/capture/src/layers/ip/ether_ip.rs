//! Ethernet frames in IP (RFC 3378, section 3).

use crate::layers::link::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const VERSION: u8 = 3;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [version, _] = *view.header::<2>("EtherIP header")?;
    if version >> 4 != VERSION {
        return Err(Stop::Opaque);
    }
    Ok((
        Layer::Link(Link::Ethernet),
        view.after(2, "EtherIP header")?,
    ))
}
