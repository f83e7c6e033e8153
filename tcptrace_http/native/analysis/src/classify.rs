//! What a segment does on its flow: new data, sent again, reordered, a probe, a duplicate ACK.
//!
//! The classes and their order are those of Wireshark's TCP analysis, so that its users find what
//! they know; where a capture shows too little, the class is left out rather than guessed.

use crate::duplicate_acks::DUPLICATE_ACKS;
use trace_model::{flags, Segment};

use crate::half::{Counts, Half};

/// Data that arrives behind later data within this time (or the round trip of the handshake, if
/// that is known) was reordered on the way, not sent again. Wireshark's limit.
const OUT_OF_ORDER_MAX_NS: i64 = 3_000_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// Carries sequence numbers beyond all that were sent before.
    pub is_new: bool,
    pub is_retransmission: bool,
    pub is_out_of_order: bool,
    pub is_keep_alive: bool,
    /// Sends a refused byte again to ask for a window (RFC 9293, section 3.8.6.1).
    pub is_window_probe: bool,
    pub is_zero_window: bool,
    pub duplicate_ack_count: u32,
    pub gap_before_bytes: u32,
}

impl Class {
    /// Whether all of it was sent before: data behind a probe that was refused repeats the probe's byte, and is new.
    #[must_use]
    pub fn is_sent_again(&self) -> bool {
        self.is_retransmission || self.is_out_of_order
    }
}

/// Classifies and counts a segment of `sender` that starts at offset `start`, and notes its ACK and
/// window.
pub fn classify(
    sender: &mut Half,
    peer: &Half,
    segment: &Segment<'_>,
    time_ns: i64,
    start: i64,
    ack: Option<i64>,
    initial_rtt_ns: Option<i64>,
) -> Class {
    let is_control = segment.flags & (flags::SYN | flags::FIN | flags::RST) != 0;
    let length = segment.sequence_length();
    let mut class = Class {
        is_zero_window: segment.window == 0 && !is_control,
        ..Class::default()
    };
    // A probe repeats the byte before the next one, or asks with no byte at all (RFC 9293, 3.8.4).
    let repeats_a_byte = start == sender.next.saturating_sub(1);
    // The first packet of a flow joined late may be one too, see `Half::join`.
    let may_repeat = sender.counts.packets > 0 || !sender.has_syn;
    let is_probe = !is_control && segment.payload_bytes <= 1 && may_repeat && repeats_a_byte;
    let has_no_window = peer.counts.packets > 0 && peer.last_window == 0;
    class.is_window_probe = is_probe && segment.payload_bytes == 1 && has_no_window;
    class.is_keep_alive = is_probe && !class.is_window_probe;
    if length > 0 && !segment.has(flags::RST) && !is_probe {
        if start >= sender.next {
            class.is_new = true;
            let gap = start.saturating_sub(sender.next);
            let has_sent = sender.counts.packets > 0 || sender.next > 0;
            class.gap_before_bytes = if has_sent {
                u32::try_from(gap).unwrap_or(u32::MAX)
            } else {
                0
            };
        } else {
            let is_late = time_ns.saturating_sub(sender.advanced_ns)
                > initial_rtt_ns
                    .unwrap_or(OUT_OF_ORDER_MAX_NS)
                    .max(OUT_OF_ORDER_MAX_NS);
            let fills = sender
                .holes
                .touches(start, start.saturating_add(i64::from(length)));
            class.is_out_of_order = fills && !is_late;
            // Data behind a probe that was refused repeats the probe's byte.
            let follows_a_probe = repeats_a_byte && segment.payload_bytes > 1;
            class.is_retransmission = !class.is_out_of_order && !follows_a_probe;
        }
    }
    let is_pure_ack = length == 0 && !is_control && !class.is_keep_alive;
    if let Some(ack) = ack {
        let repeats = sender.last_ack == Some(ack) && start == sender.next;
        let same_window = sender.last_window == segment.window;
        if is_pure_ack && repeats && same_window && segment.window > 0 && peer.next > ack {
            sender.duplicate_acks_in_a_row = sender.duplicate_acks_in_a_row.saturating_add(1);
            class.duplicate_ack_count = sender.duplicate_acks_in_a_row;
            if class.duplicate_ack_count == DUPLICATE_ACKS {
                sender.third_duplicate_ns = Some(time_ns);
            }
        } else if sender.last_ack != Some(ack) || length > 0 {
            sender.duplicate_acks_in_a_row = 0;
            sender.third_duplicate_ns = None;
        }
        sender.last_ack = Some(ack);
    }
    sender.last_window = segment.window;
    count(&mut sender.counts, class);
    class
}

/// Counts a segment by its class.
fn count(counts: &mut Counts, class: Class) {
    let add = |counter: &mut u64, is: bool| *counter = counter.saturating_add(u64::from(is));
    add(&mut counts.packets, true);
    add(&mut counts.retransmissions, class.is_retransmission);
    add(&mut counts.out_of_order, class.is_out_of_order);
    add(&mut counts.duplicate_acks, class.duplicate_ack_count > 0);
    add(&mut counts.zero_windows, class.is_zero_window);
}
