//! The authentication header (RFC 4302, section 2). The header signs the packet and encrypts nothing.

use crate::layers::view::View;
use crate::layers::{Layer, Next};

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [next_header, words] = *view.header::<2>("authentication header")?;
    // The length field counts units of 4 bytes, minus 2 (RFC 4302, section 2.2).
    let header_bytes = usize::from(words).saturating_add(2) << 2;
    Ok((
        Layer::Protocol(next_header),
        view.after(header_bytes, "authentication header")?,
    ))
}
