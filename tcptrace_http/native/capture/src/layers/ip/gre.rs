//! Generic routing encapsulation (RFC 2784; keys and sequence numbers: RFC 2890; source routes:
//! RFC 1701; version 1, which carries PPP: RFC 2637, section 4.1).

use super::erspan;
use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const CHECKSUM_PRESENT: u16 = 0x8000;
const ROUTING_PRESENT: u16 = 0x4000;
const KEY_PRESENT: u16 = 0x2000;
const SEQUENCE_PRESENT: u16 = 0x1000;
const ACKNOWLEDGMENT_PRESENT: u16 = 0x0080;
const VERSION: u16 = 0x0007;
const ERSPAN: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;
const NAME: &str = "GRE header";

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let [f0, f1, p0, p1] = *view.header::<4>(NAME)?;
    let flags = u16::from_be_bytes([f0, f1]);
    let mut words: usize = 1;
    for field in [
        CHECKSUM_PRESENT | ROUTING_PRESENT,
        KEY_PRESENT,
        SEQUENCE_PRESENT,
    ] {
        words = words.saturating_add(usize::from(flags & field != 0));
    }
    let payload = match flags & VERSION {
        0 => {
            let after = view.after(words << 2, NAME)?;
            if flags & ROUTING_PRESENT == 0 {
                after
            } else {
                after_routes(after)?
            }
        }
        1 => {
            words = words.saturating_add(usize::from(flags & ACKNOWLEDGMENT_PRESENT != 0));
            // Without a sequence number the packet is an acknowledgment only (RFC 2637, section 4.2).
            if flags & SEQUENCE_PRESENT == 0 {
                return Err(Stop::Opaque);
            }
            view.after(words << 2, NAME)?
        }
        _ => return Err(Stop::Opaque),
    };
    match u16::from_be_bytes([p0, p1]) {
        ERSPAN => erspan::type_1_or_2(payload, flags & SEQUENCE_PRESENT != 0),
        ERSPAN_3 => erspan::type_3(payload),
        ether_type => Ok((Layer::EtherType(ether_type), payload)),
    }
}

/// Skip the source route entries: family, offset and length. Family 0 with length 0 ends the list.
fn after_routes(mut view: View<'_>) -> Result<View<'_>, Stop> {
    const ENTRY: &str = "GRE source route";
    loop {
        let [f0, f1, _, length] = *view.header::<4>(ENTRY)?;
        let is_last = [f0, f1, length] == [0, 0, 0];
        view = view.after(usize::from(length).saturating_add(4), ENTRY)?;
        if is_last {
            return Ok(view);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ipv4, tcp, RAW};

    fn is_read(header: &[u8]) -> bool {
        decode(RAW, &ipv4(47, &concat(&[header, &ipv4(6, &tcp())]))).has_whole_request()
    }

    #[test]
    fn test_every_combination_of_optional_fields_is_skipped() {
        assert!(is_read(&[0x00, 0, 8, 0]));
        assert!(is_read(&[0x80, 0, 8, 0, 1, 2, 0, 0]));
        assert!(is_read(&[0x20, 0, 8, 0, 0, 0, 0, 7]));
        assert!(is_read(&[0x10, 0, 8, 0, 0, 0, 0, 7]));
        assert!(is_read(&[0xa0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 7]));
        assert!(is_read(&[
            0xb0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1
        ]));
    }

    #[test]
    fn test_source_routes_are_skipped() {
        assert!(is_read(&[
            0x40, 0, 8, 0, 0, 0, 0, 0, 8, 0, 0, 4, 192, 0, 2, 9, 0, 0, 0, 0
        ]));
    }

    #[test]
    fn test_a_pptp_acknowledgment_alone_carries_nothing() {
        let decoded = decode(
            RAW,
            &ipv4(47, &[0x20, 0x81, 0x88, 0x0b, 0, 0, 0, 1, 0, 0, 0, 5]),
        );
        assert!(decoded.segment.is_none() && decoded.notices.is_empty());
        assert_eq!(decoded.network.map(|network| network.protocol), Some(47));
    }
}
