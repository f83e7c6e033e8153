//! Linux netfilter log: a list of attributes. One attribute is the IP packet.

use crate::layers::view::View;
use crate::layers::{Layer, Next, Stop};

const HEADER_BYTES: usize = 4;
const NAME: &str = "NFLOG attribute";
/// NFULA_PAYLOAD of linux/netfilter/nfnetlink_log.h.
const PAYLOAD: u16 = 9;
/// Mask without the two upper bits of a type, which are flags.
const ATTRIBUTE_TYPE: u16 = 0x3fff;
const ATTRIBUTE_HEADER_BYTES: u16 = 4;
/// Maximum number of attributes before the payload. The kernel has 20 kinds.
const MAX_ATTRIBUTES: usize = 64;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let mut attributes = view.after(HEADER_BYTES, "NFLOG header")?;
    for _ in 0..MAX_ATTRIBUTES {
        // Lengths and types use the host's byte order. NFLOG captures come from little-endian hosts, and only
        // this order makes a length below 256 plausible.
        let [l0, l1, t0, t1] = *attributes.header::<4>(NAME)?;
        let (length, kind) = if l1 > l0 && l0 == 0 && t0 == 0 {
            (u16::from_be_bytes([l0, l1]), u16::from_be_bytes([t0, t1]))
        } else {
            (u16::from_le_bytes([l0, l1]), u16::from_le_bytes([t0, t1]))
        };
        let Some(data_bytes) = length.checked_sub(ATTRIBUTE_HEADER_BYTES) else {
            let (value, least) = (u32::from(length), u32::from(ATTRIBUTE_HEADER_BYTES));
            return Err(Stop::TooSmall {
                field: "NFLOG attribute length",
                value,
                least,
            });
        };
        if kind & ATTRIBUTE_TYPE == PAYLOAD {
            let data = attributes.after(usize::from(ATTRIBUTE_HEADER_BYTES), NAME)?;
            return Ok((
                Layer::Ip,
                data.until(u32::from(data_bytes).min(data.length())),
            ));
        }
        // Attributes are aligned to four bytes.
        attributes = attributes.after(usize::from(length).next_multiple_of(4), NAME)?;
    }
    Err(Stop::Opaque)
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ipv4, tcp};
    use trace_model::{AnomalyKind, LinkType};

    const NFLOG: LinkType = LinkType(239);

    #[test]
    fn test_attributes_are_aligned_and_read_in_either_byte_order() {
        let packet = ipv4(6, &tcp());
        let length = u8::try_from(packet.len() + 4).unwrap();
        let little = [2, 0, 0, 0, 5, 0, 10, 0, 7, 0, 0, 0, length, 0, 9, 0];
        let big = [2, 0, 0, 0, 0, 5, 0, 10, 7, 0, 0, 0, 0, length, 0, 9];
        for header in [little, big] {
            assert!(decode(NFLOG, &concat(&[&header, &packet])).has_whole_request());
        }
    }

    #[test]
    fn test_an_attribute_shorter_than_its_header_is_inconsistent() {
        assert_eq!(
            decode(NFLOG, &[2, 0, 0, 0, 3, 0, 1, 0]).kinds(),
            [AnomalyKind::InconsistentLength]
        );
    }
}
