//! TCP headers (RFC 9293, section 3.1).

use super::tcp_options;
use super::view::View;
use super::{report, Stop};
use trace_model::{AnomalyKind, Segment, SeqNumber, TcpOptions};

const MIN_HEADER_BYTES: u32 = 20;
/// The flag bits, with the one that RFC 3540 and accurate ECN took from the reserved ones.
const FLAG_BITS: u16 = 0x01ff;

/// Reads the segment that fills `view`.
///
/// A header captured without the end of its options is a segment with the options there are.
#[inline(always)]
pub(super) fn segment<'a>(
    view: View<'a>,
    notice: &mut impl FnMut(AnomalyKind, String),
) -> Result<Segment<'a>, Stop> {
    let [sp0, sp1, dp0, dp1, seq0, seq1, seq2, seq3, ack0, ack1, ack2, ack3, off, flag, win0, win1, sum0, sum1, urg0, urg1] =
        *view.header::<20>("TCP header")?;
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

/// The place of the payload in the frame; 0 in a reassembled datagram.
#[inline]
fn payload_offset(view: View<'_>, header_bytes: u8) -> u32 {
    match view.after(usize::from(header_bytes), "TCP header") {
        Ok(payload) => payload.offset(),
        Err(_) => view.offset().saturating_add(u32::from(header_bytes)),
    }
}
