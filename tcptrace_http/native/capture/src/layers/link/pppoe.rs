//! PPP over Ethernet, session stage (RFC 2516, section 4).

use super::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const VERSION_AND_TYPE: u8 = 0x11;
const SESSION_DATA: u8 = 0;
const HEADER_BYTES: usize = 6;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [version_and_type, code, ..] = *view.header::<HEADER_BYTES>("PPPoE header")?;
    if version_and_type != VERSION_AND_TYPE || code != SESSION_DATA {
        return Err(Stop::Opaque);
    }
    // The length field is not needed, because the IP header has a length.
    Ok((
        Layer::Link(Link::Ppp),
        view.after(HEADER_BYTES, "PPPoE header")?,
    ))
}
