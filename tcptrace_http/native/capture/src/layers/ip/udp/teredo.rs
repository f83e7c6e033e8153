//! Teredo: IPv6 in UDP (RFC 4380, section 5.1.1).

use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const AUTHENTICATION: [u8; 2] = [0, 1];
const ORIGIN: [u8; 2] = [0, 0];
const ORIGIN_BYTES: usize = 8;
/// Type, two lengths, a nonce of eight bytes and a confirmation byte.
const AUTHENTICATION_BYTES: usize = 13;

pub(super) fn payload(mut view: View<'_>) -> Next<'_> {
    if *view.header::<2>("Teredo header")? == AUTHENTICATION {
        let [_, _, identifier, value] = *view.header::<4>("Teredo authentication")?;
        let bytes = AUTHENTICATION_BYTES
            .saturating_add(usize::from(identifier))
            .saturating_add(usize::from(value));
        view = view.after(bytes, "Teredo authentication")?;
    }
    if *view.header::<2>("Teredo header")? == ORIGIN {
        view = view.after(ORIGIN_BYTES, "Teredo origin")?;
    }
    match view.first_byte().map(|byte| byte >> 4) {
        Some(6) => Ok((Layer::Ip, view)),
        Some(_) | None => Err(Stop::Opaque),
    }
}
