//! Kinds of retransmission of a segment that does not advance the sequence number.

use trace_model::rows::SegmentRow;
use trace_model::SeqNumber;

use super::sender::Sender;
use super::SeenSegment;

/// Duplicate ACKs before a fast retransmission; the third may be missing from the capture.
const FAST_DUPLICATE_ACKS: u32 = 2;
/// Longest time from the last duplicate ACK to a fast retransmission.
const FAST_MAX_NS: i64 = 20_000_000;
/// Longest time of reordering without a round trip from the handshake.
const OUT_OF_ORDER_MAX_NS: i64 = 3_000_000;

/// Set whether the segment is a retransmission, and its kind.
///
/// `is_retransmission` also holds for fast and spurious retransmissions, as in Wireshark's `tcp.analysis.retransmission`.
pub fn kind_of(
    sender: &Sender,
    peer: &Sender,
    seen: &SeenSegment,
    initial_rtt_ns: Option<i64>,
    row: &mut SegmentRow,
) {
    let end = seen.seq.plus(seen.payload_bytes);
    let is_covered = |ack: SeqNumber| !end.is_after(ack);
    if seen.payload_bytes > 0 && peer.last.acknowledged().is_some_and(is_covered) {
        row.is_spurious_retransmission = true;
        row.is_retransmission = true;
        return;
    }
    if !goes_back(sender, seen) {
        return;
    }
    if is_fast(peer, seen) {
        row.is_fast_retransmission = true;
        row.is_retransmission = true;
    } else if is_out_of_order(sender, seen, initial_rtt_ns) {
        row.is_out_of_order = true;
    } else {
        row.is_retransmission = true;
        let (frame, time_ns) = sender
            .unacknowledged
            .oldest()
            .unwrap_or((sender.next_frame, sender.next_ns));
        row.rto = Some(seen.time_ns.saturating_sub(time_ns));
        row.rto_frame = Some(frame);
    }
}

/// Return whether the segment starts before the highest number sent.
///
/// A segment that starts with the byte of a zero window probe and continues behind it carries new data.
fn goes_back(sender: &Sender, seen: &SeenSegment) -> bool {
    let holds_probe = seen.payload_bytes > 1 && sender.expects(seen.seq.plus(1));
    !holds_probe && sender.next.is_some_and(|next| next.is_after(seen.seq))
}

fn is_fast(peer: &Sender, seen: &SeenSegment) -> bool {
    let elapsed = seen.time_ns.saturating_sub(peer.last.time_ns);
    peer.duplicate_acks >= FAST_DUPLICATE_ACKS
        && peer.last.ack == seen.seq
        && (0..FAST_MAX_NS).contains(&elapsed)
}

/// Return whether the segment was overtaken, not retransmitted: it follows the highest number within the
/// limit.
///
/// A segment that ends at the highest number was not overtaken.
fn is_out_of_order(sender: &Sender, seen: &SeenSegment, initial_rtt_ns: Option<i64>) -> bool {
    let elapsed = seen.time_ns.saturating_sub(sender.next_ns);
    let limit = initial_rtt_ns.unwrap_or(OUT_OF_ORDER_MAX_NS);
    (0..limit).contains(&elapsed) && sender.next != Some(seen.end())
}
