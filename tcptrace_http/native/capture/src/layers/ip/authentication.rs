//! The authentication header (RFC 4302, section 2): it signs the packet but hides nothing.

use crate::layers::view::View;
use crate::layers::{Layer, Next};

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [next_header, words] = *view.header::<2>("authentication header")?;
    // The length is in units of 4 bytes, less 2 (RFC 4302, section 2.2).
    let header_bytes = usize::from(words).saturating_add(2) << 2;
    Ok((
        Layer::Protocol(next_header),
        view.after(header_bytes, "authentication header")?,
    ))
}
