//! L2TP version 2, which carries PPP (RFC 2661, section 3.1).

use crate::layers::link::Link;
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const CONTROL_MESSAGE: u16 = 0x8000;
const LENGTH_PRESENT: u16 = 0x4000;
const SEQUENCE_PRESENT: u16 = 0x0800;
const OFFSET_PRESENT: u16 = 0x0200;
const VERSION: u16 = 0x000f;
const NAME: &str = "L2TP header";

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let flags = u16::from_be_bytes(*view.header::<2>(NAME)?);
    if flags & CONTROL_MESSAGE != 0 || flags & VERSION != 2 {
        return Err(Stop::Opaque);
    }
    // The flags, the tunnel and the session are always present.
    let mut bytes: usize = 6;
    if flags & LENGTH_PRESENT != 0 {
        bytes = bytes.saturating_add(2);
    }
    if flags & SEQUENCE_PRESENT != 0 {
        bytes = bytes.saturating_add(4);
    }
    if flags & OFFSET_PRESENT != 0 {
        let padding = u16::from_be_bytes(*view.at::<2>(bytes, NAME)?);
        bytes = bytes.saturating_add(2).saturating_add(usize::from(padding));
    }
    Ok((Layer::Link(Link::Ppp), view.after(bytes, NAME)?))
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ipv4, tcp, udp, RAW};

    #[test]
    fn test_length_sequence_and_offset_are_skipped() {
        let header = [
            0x4a, 2, 0, 0, 0, 1, 0, 1, 0, 7, 0, 6, 0, 2, 0xee, 0xee, 0x21,
        ];
        let packet = concat(&[&header, &ipv4(6, &tcp())]);
        assert!(decode(RAW, &ipv4(17, &udp(1701, &packet))).has_whole_request());
    }

    #[test]
    fn test_control_messages_carry_nothing() {
        let decoded = decode(
            RAW,
            &ipv4(17, &udp(1701, &[0xc8, 2, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0])),
        );
        assert!(decoded.segment.is_none() && decoded.notices.is_empty());
    }
}
