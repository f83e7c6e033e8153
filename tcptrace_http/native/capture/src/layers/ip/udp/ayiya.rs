//! AYIYA, a former tunnel broker protocol for IPv6 behind NAT (draft-massar-v6ops-ayiya).

use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const FIXED_BYTES: usize = 8;
const NIBBLE: u8 = 0x0f;
const FORWARD: u8 = 1;
const NEXT_IPV6: u8 = 41;
const NEXT_IPV4: u8 = 4;
const NAME: &str = "AYIYA header";

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [identity, signature, operation, next, ..] = *view.header::<FIXED_BYTES>(NAME)?;
    if operation & NIBBLE != FORWARD || !matches!(next, NEXT_IPV4 | NEXT_IPV6) {
        return Err(Stop::Opaque);
    }
    // The identity's length is a power of two. The signature's length counts four-byte words.
    let identity_bytes = 1_usize << (identity >> 4);
    let signature_bytes = usize::from(signature >> 4) << 2;
    let header_bytes = FIXED_BYTES
        .saturating_add(identity_bytes)
        .saturating_add(signature_bytes);
    Ok((Layer::Ip, view.after(header_bytes, NAME)?))
}
