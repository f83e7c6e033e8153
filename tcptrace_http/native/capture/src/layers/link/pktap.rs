//! Apple's PKTAP: interface, process and link type of the frame that follows (XNU, bsd/net/pktap.h). Old
//! versions of macOS used the number of `USER2`.

use super::named;
use crate::layers::view::View;
use crate::layers::{Next, Stop};

const NAME: &str = "PKTAP header";
const LEAST_HEADER_BYTES: u32 = 108;
/// The record type of a packet. Other records have no frame after the header.
const PACKET: u32 = 1;

pub(super) fn payload(view: View<'_>) -> Next<'_> {
    let header_bytes = u32::from_le_bytes(*view.at::<4>(0, NAME)?);
    let record_type = u32::from_le_bytes(*view.at::<4>(4, NAME)?);
    let link_type = u32::from_le_bytes(*view.at::<4>(8, NAME)?);
    if header_bytes < LEAST_HEADER_BYTES || record_type != PACKET {
        return Err(Stop::Opaque);
    }
    let layer = named(link_type)?;
    let header_bytes = usize::try_from(header_bytes).unwrap_or(usize::MAX);
    Ok((layer, view.after(header_bytes, NAME)?))
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{concat, decode, ethernet, ipv4, tcp};
    use trace_model::LinkType;

    fn is_read(link_type: u16, record_type: u8, inner: u8, frame: &[u8]) -> bool {
        let header = [108, 0, 0, 0, record_type, 0, 0, 0, inner, 0, 0, 0];
        decode(LinkType(link_type), &concat(&[&header, &[0; 96], frame])).has_whole_request()
    }

    #[test]
    fn test_the_header_names_the_link_type_of_the_frame() {
        let packet = ipv4(6, &tcp());
        assert!(is_read(258, 1, 1, &ethernet(0x0800, &packet)));
        assert!(is_read(258, 1, 12, &packet));
        assert!(is_read(149, 1, 0, &concat(&[&[2, 0, 0, 0], &packet])));
    }

    #[test]
    fn test_records_without_a_packet_and_other_headers_carry_no_ip() {
        let packet = ipv4(6, &tcp());
        assert!(!is_read(258, 0, 12, &packet));
        assert!(!decode(LinkType(149), &concat(&[&[0; 108], &packet])).has_whole_request());
    }
}
