//! Teredo: IPv6 in UDP (RFC 4380, section 5.1.1).

use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const AUTHENTICATION: [u8; 2] = [0, 1];
const ORIGIN: [u8; 2] = [0, 0];
const ORIGIN_BYTES: usize = 8;
/// Lengths: type, two length fields, a nonce of eight bytes and a confirmation byte.
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

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ipv4, ipv6, tcp, udp, RAW};

    #[test]
    fn test_authentication_and_origin_are_skipped() {
        let header = [
            0, 1, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 0, 0, 0, 1, 2, 3, 4, 5, 6,
        ];
        let packet = concat(&[&header, &ipv6(6, &tcp())]);
        assert!(decode(RAW, &ipv4(17, &udp(3544, &packet))).has_whole_request());
    }
}
