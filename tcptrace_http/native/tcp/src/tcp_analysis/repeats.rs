//! Segments without new data (probes, window updates, duplicate ACKs), and segments that reveal uncaptured
//! data.

use trace_model::rows::SegmentRow;
use trace_model::{flags, SeqNumber};

use super::sender::{Scale, Sender};
use super::SeenSegment;

/// Apply the rules for windows, probes and repeated ACKs; a zero window probe has no other class.
pub fn window_and_ack(
    sender: &mut Sender,
    peer: &Sender,
    seen: &SeenSegment,
    row: &mut SegmentRow,
) {
    row.is_zero_window_probe =
        seen.payload_bytes == 1 && sender.expects(seen.seq) && peer.last.window == Some(0);
    if row.is_zero_window_probe {
        return;
    }
    let is_control = seen.is_control();
    row.is_zero_window = seen.window == 0 && !is_control;
    row.is_lost_segment =
        !seen.has_any(flags::RST) && sender.next.is_some_and(|next| seen.seq.is_after(next));
    if row.is_lost_segment {
        sender.flight_is_known = false;
    }
    row.is_keep_alive = !is_control && seen.payload_bytes <= 1 && sender.expects(seen.seq.plus(1));
    row.is_window_full = !is_control && seen.payload_bytes > 0 && fills_window(peer, seen);
    let repeats = !is_control
        && seen.payload_bytes == 0
        && sender.expects(seen.seq)
        && sender.last.acknowledged() == Some(seen.ack);
    if repeats {
        repeated_ack(sender, peer, seen, row);
    }
}

/// Return whether the segment ends at the last byte of the window that its receiver announced.
fn fills_window(receiver: &Sender, seen: &SeenSegment) -> bool {
    let Some(window) = receiver.last.window else {
        return false;
    };
    receiver.scale != Scale::Unknown
        && seen.seq.plus(seen.payload_bytes)
            == receiver.last.ack.plus(receiver.scale.scaled(window))
}

/// Classify an ACK without payload that repeats the previous ACK, by its window.
fn repeated_ack(sender: &mut Sender, peer: &Sender, seen: &SeenSegment, row: &mut SegmentRow) {
    let same_window = sender.last.window == Some(seen.window);
    if !same_window {
        row.is_window_update = seen.window > 0;
    } else if seen.window == 0 {
        row.is_zero_window_probe_ack = peer.last.is_zero_window_probe;
    } else if peer.last.is_keep_alive {
        row.is_keep_alive_ack = true;
    } else {
        let counted = if sender.is_count_restarted {
            0
        } else {
            sender.duplicate_acks
        };
        sender.is_count_restarted = false;
        sender.duplicate_acks = counted.saturating_add(1);
        row.duplicate_ack_count = sender.duplicate_acks;
        row.duplicate_ack_frame = Some(sender.first_ack_frame);
    }
}

/// Apply the rule for ACKs of uncaptured data, and restart the count of repeated ACKs.
pub fn unseen(sender: &mut Sender, peer: &mut Sender, seen: &SeenSegment, row: &mut SegmentRow) {
    if sender.last.acknowledged() != Some(seen.ack) {
        sender.first_ack_frame = seen.frame;
        sender.duplicate_acks = 0;
        sender.is_unseen_reported = false;
        sender.is_count_restarted = false;
    }
    let is_ahead = |at: SeqNumber| seen.ack.is_after(at);
    if !seen.has_any(flags::ACK) || !peer.contiguous.is_some_and(is_ahead) {
        return;
    }
    // Data captured behind the hole may be acknowledged now.
    let seen_behind = peer
        .next
        .filter(|next| peer.contiguous.is_some_and(|at| next.is_after(at)));
    if seen_behind.is_some() {
        peer.contiguous = seen_behind;
        row.is_ack_of_lost_segment = true;
    } else {
        // If the peer's data is not captured, each new ACK number allows one verdict.
        row.is_ack_of_lost_segment = peer.duplicate_acks == 0 && !peer.is_unseen_reported;
        peer.is_unseen_reported = true;
        peer.is_count_restarted = true;
    }
}
