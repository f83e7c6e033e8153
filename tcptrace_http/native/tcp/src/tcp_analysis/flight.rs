//! Bytes in flight, and bytes since the last PSH.

use trace_model::rows::SegmentRow;
use trace_model::{flags, Segment};

use super::sender::Sender;
use super::SeenSegment;

/// Largest window (RFC 7323, section 2.3); more bytes in flight come from a number outside this flow.
const FLIGHT_MAX: u32 = 1 << 30;
/// SACK blocks that count; a fourth block fits only without timestamps (RFC 2018, section 3).
const SACK_BLOCKS_COUNTED: usize = 3;

/// Set the bytes in flight after a data segment: unacknowledged bytes without the peer's last SACK blocks.
///
/// The value is unknown from a lost segment to the peer's next ACK.
pub fn measure(sender: &mut Sender, peer: &Sender, seen: &SeenSegment, row: &mut SegmentRow) {
    row.flight_bytes = None;
    if seen.payload_bytes == 0 || !sender.flight_is_known {
        return;
    }
    let continues = !sender.was_push;
    let before = if continues { sender.push_bytes } else { 0 };
    sender.push_bytes = before.saturating_add(seen.payload_bytes);
    sender.was_push = seen.has_any(flags::PSH);

    let flight = sender.unacknowledged.span().wrapping_sub(peer.sacked_bytes);
    // SYN and FIN take one number and no byte.
    let control = u32::from(seen.has_any(flags::SYN | flags::FIN));
    if flight > control && flight <= FLIGHT_MAX {
        row.flight_bytes = Some(flight.saturating_sub(control));
        row.push_bytes = Some(sender.push_bytes);
    }
}

/// Return the bytes in the SACK blocks of a segment.
pub fn sacked_bytes(segment: &Segment<'_>) -> u32 {
    let blocks = segment
        .options
        .sack
        .as_slice()
        .iter()
        .take(SACK_BLOCKS_COUNTED);
    blocks.fold(0, |sum, (left, right)| {
        right.0.wrapping_sub(left.0).wrapping_add(sum)
    })
}
