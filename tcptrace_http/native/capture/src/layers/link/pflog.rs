//! The packet filter log of the BSDs (net/if_pflog.h).

use crate::layers::view::View;
use crate::layers::{Layer, Next};

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [length] = *view.header::<1>("PFLOG header")?;
    // The length field excludes the padding to four bytes.
    let header_bytes = usize::from(length).next_multiple_of(4);
    Ok((Layer::Ip, view.after(header_bytes, "PFLOG header")?))
}
