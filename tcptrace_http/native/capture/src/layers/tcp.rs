//! TCP headers (RFC 9293, section 3.1).

use super::tcp_options;
use super::view::View;
use super::{report, Stop};
use trace_model::{AnomalyKind, Segment, SeqNumber, TcpOptions};

const MIN_HEADER_BYTES: u32 = 20;
/// The flag bits, including the former reserved bit of RFC 3540 and accurate ECN.
const FLAG_BITS: u16 = 0x01ff;

/// Parse the segment that fills `view`.
///
/// If the capture cut the options, the segment has the captured options.
#[inline(always)]
pub(super) fn segment<'a>(
    view: View<'a>,
    notice: &mut impl FnMut(AnomalyKind, String),
) -> Result<Segment<'a>, Stop> {
    let [sp0, sp1, dp0, dp1, rest @ ..] = *view.header::<20>("TCP header")?;
    let [seq0, seq1, seq2, seq3, ack0, ack1, ack2, ack3, rest @ ..] = rest;
    let [off, flag, win0, win1, sum0, sum1, urg0, urg1] = rest;
    let header_bytes = (off >> 4) << 2;
    if u32::from(header_bytes) < MIN_HEADER_BYTES {
        let field = "TCP header length";
        return Err(Stop::TooSmall {
            field,
            value: u32::from(header_bytes),
            least: MIN_HEADER_BYTES,
        });
    }
    let options = options(view, header_bytes, notice);
    let payload = view.bytes().get(usize::from(header_bytes)..).unwrap_or(&[]);
    Ok(Segment {
        source_port: u16::from_be_bytes([sp0, sp1]),
        destination_port: u16::from_be_bytes([dp0, dp1]),
        seq: SeqNumber(u32::from_be_bytes([seq0, seq1, seq2, seq3])),
        ack: SeqNumber(u32::from_be_bytes([ack0, ack1, ack2, ack3])),
        flags: u16::from_be_bytes([off, flag]) & FLAG_BITS,
        window: u16::from_be_bytes([win0, win1]),
        checksum: u16::from_be_bytes([sum0, sum1]),
        urgent_pointer: u16::from_be_bytes([urg0, urg1]),
        options,
        header_bytes,
        payload_bytes: view.length().saturating_sub(u32::from(header_bytes)),
        payload_offset: payload_offset(view, header_bytes),
        payload,
    })
}

#[inline]
fn options(
    view: View<'_>,
    header_bytes: u8,
    notice: &mut impl FnMut(AnomalyKind, String),
) -> TcpOptions {
    if u32::from(header_bytes) == MIN_HEADER_BYTES {
        return TcpOptions::default();
    }
    if let Some(options) = view
        .bytes()
        .get(MIN_HEADER_BYTES as usize..usize::from(header_bytes))
    {
        return tcp_options::parse(options, tcp_options::Ending::Complete, notice);
    }
    let value = u32::from(header_bytes);
    if value > view.length() {
        report(
            Stop::TooLarge {
                field: "TCP header length",
                value,
                most: view.length(),
            },
            view,
            notice,
        );
    } else {
        report(
            Stop::Cut {
                header: "TCP options",
            },
            view,
            notice,
        );
    }
    let captured = view.bytes().get(MIN_HEADER_BYTES as usize..).unwrap_or(&[]);
    tcp_options::parse(captured, tcp_options::Ending::Cut, notice)
}

/// Return the payload's offset in the frame, or 0 in a reassembled datagram.
#[inline]
fn payload_offset(view: View<'_>, header_bytes: u8) -> u32 {
    match view.after(usize::from(header_bytes), "TCP header") {
        Ok(payload) => payload.offset(),
        Err(_) => view.offset().saturating_add(u32::from(header_bytes)),
    }
}

#[cfg(test)]
mod tests {
    use crate::layers::testing::{
        decode, decode_with, frame, ipv4, tcp, tcp_with_options, PAYLOAD, RAW, SEQ,
    };
    use crate::layers::{Frame, Layers};
    use trace_model::{flags, AnomalyKind, SeqNumber};

    #[test]
    fn test_header_fields_are_read() {
        let segment = decode(RAW, &ipv4(6, &tcp())).segment.unwrap();
        assert_eq!((segment.source_port, segment.destination_port), (49152, 80));
        assert_eq!((segment.seq, segment.ack), (SeqNumber(SEQ), SeqNumber(9)));
        assert_eq!(segment.flags, flags::ACK | flags::PSH);
        assert_eq!(
            (segment.window, segment.checksum, segment.urgent_pointer),
            (0x2000, 0xabcd, 0)
        );
        assert_eq!((segment.header_bytes, segment.payload_offset), (20, 40));
        assert_eq!(segment.payload_bytes as usize, PAYLOAD.len());
    }

    #[test]
    fn test_the_ninth_flag_is_read_and_reserved_bits_are_not() {
        let mut bytes = ipv4(6, &tcp());
        bytes[32] |= 0x0f;
        let segment = decode(RAW, &bytes).segment.unwrap();
        assert_eq!(segment.flags, flags::ACK | flags::PSH | flags::AE);
    }

    #[test]
    fn test_a_header_length_below_20_is_no_segment() {
        let mut bytes = ipv4(6, &tcp());
        bytes[32] = 0x40;
        let decoded = decode(RAW, &bytes);
        assert!(decoded.segment.is_none());
        assert_eq!(decoded.kinds(), [AnomalyKind::InconsistentLength]);
    }

    #[test]
    fn test_a_header_longer_than_the_segment_leaves_no_payload() {
        let mut bytes = ipv4(6, &tcp_with_options(&[], b""));
        bytes[32] = 0xf0;
        let decoded = decode(RAW, &bytes);
        assert_eq!(
            decoded.segment.map(|segment| segment.payload_bytes),
            Some(0)
        );
        assert_eq!(decoded.kinds(), [AnomalyKind::InconsistentLength]);
    }

    #[test]
    fn test_a_header_cut_inside_its_options_keeps_those_before_the_cut() {
        let options = [2, 4, 5, 0xb4, 1, 3, 3, 7];
        let bytes = ipv4(6, &tcp_with_options(&options, PAYLOAD));
        let cut = Frame {
            bytes: &bytes[..20 + 20 + 6],
            ..frame(RAW, &bytes)
        };
        let decoded = decode_with(&mut Layers::new(), &cut);
        let segment = decoded.segment.unwrap();
        assert_eq!(
            (segment.options.mss, segment.options.window_scale),
            (Some(1460), None)
        );
        assert_eq!(segment.payload_bytes as usize, PAYLOAD.len());
        assert_eq!(
            decoded.kinds(),
            [AnomalyKind::TruncatedPacket, AnomalyKind::TruncatedPacket]
        );
    }
}
