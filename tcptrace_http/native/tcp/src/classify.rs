//! Classification of a segment on its flow: new data, retransmission, reordering, probe, duplicate ACK.
//!
//! The classes and their order are those of Wireshark's TCP analysis. A class that the capture does not prove
//! stays unset.

use trace_model::{flags, Segment};

use crate::half::{Counts, Half};

/// Data that arrives behind later data within this time was reordered, not retransmitted (Wireshark's limit).
///
/// The round trip of the handshake replaces this limit if it is longer.
const OUT_OF_ORDER_MAX_NS: i64 = 3_000_000;

/// Class of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Class {
    /// True if all sequence numbers are beyond those sent before.
    pub is_new: bool,
    pub is_retransmission: bool,
    pub is_out_of_order: bool,
    pub is_keep_alive: bool,
    /// True if the segment retransmits a refused byte to ask for a window (RFC 9293, section 3.8.6.1).
    pub is_window_probe: bool,
    pub is_zero_window: bool,
    pub duplicate_ack_count: u32,
    /// True for an ACK that repeats the ACK of all data: the peer retransmitted data that had arrived.
    pub is_repeated_full_ack: bool,
    pub gap_before_bytes: u32,
}

/// Classify and count a segment of `sender` that starts at offset `start`; store its ACK and window.
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
    // A keep-alive repeats the byte before the next byte, or carries no byte (RFC 9293, section 3.8.4).
    let repeats_a_byte = start == sender.sequence.next.saturating_sub(1);
    // The first packet of a flow whose start is missing may also be a keep-alive (see `Half::join`).
    let may_repeat = sender.counts.packets > 0 || !sender.has_syn;
    let is_probe = !is_control && segment.payload_bytes <= 1 && may_repeat && repeats_a_byte;
    let has_no_window = peer.counts.packets > 0 && peer.acks.window == 0;
    class.is_window_probe = is_probe && segment.payload_bytes == 1 && has_no_window;
    class.is_keep_alive = is_probe && !class.is_window_probe;
    if length > 0 || is_probe {
        sender.has_probed = is_probe;
    }
    if length > 0 && !segment.has(flags::RST) && !is_probe {
        if start >= sender.sequence.next {
            class.is_new = true;
            let gap = start.saturating_sub(sender.sequence.next);
            let has_sent = sender.counts.packets > 0 || sender.sequence.next > 0;
            class.gap_before_bytes = if has_sent {
                u32::try_from(gap).unwrap_or(u32::MAX)
            } else {
                0
            };
        } else {
            let is_late = time_ns.saturating_sub(sender.last.advanced_ns)
                > initial_rtt_ns
                    .unwrap_or(OUT_OF_ORDER_MAX_NS)
                    .max(OUT_OF_ORDER_MAX_NS);
            let fills = sender
                .holes
                .touches(start, start.saturating_add(i64::from(length)));
            class.is_out_of_order = fills && !is_late;
            // Data behind a refused probe repeats the probe's byte.
            let follows_a_probe = repeats_a_byte && segment.payload_bytes > 1;
            class.is_retransmission = !class.is_out_of_order && !follows_a_probe;
        }
    }
    let is_pure_ack = length == 0 && !is_control && !class.is_keep_alive;
    if let Some(ack) = ack {
        let repeats = sender.acks.last == Some(ack) && start == sender.sequence.next;
        let same_window = sender.acks.window == segment.window;
        let has_no_news = is_pure_ack && repeats && same_window && segment.window > 0;
        // The ACK may answer a probe or the copy of a FIN.
        let is_of_data = !peer.has_probed && peer.sequence.fin_end.is_none();
        class.is_repeated_full_ack = has_no_news && peer.sequence.next <= ack && is_of_data;
        if has_no_news && peer.sequence.next > ack {
            sender.acks.duplicates_in_a_row = sender.acks.duplicates_in_a_row.saturating_add(1);
            class.duplicate_ack_count = sender.acks.duplicates_in_a_row;
        } else if sender.acks.last != Some(ack) || length > 0 {
            sender.acks.duplicates_in_a_row = 0;
        }
        sender.acks.last = Some(ack);
    }
    sender.acks.window = segment.window;
    count(&mut sender.counts, class);
    class
}

/// Count a segment by its class.
fn count(counts: &mut Counts, class: Class) {
    let add = |counter: &mut u64, is: bool| *counter = counter.saturating_add(u64::from(is));
    add(&mut counts.packets, true);
    add(&mut counts.retransmissions, class.is_retransmission);
    add(&mut counts.out_of_order, class.is_out_of_order);
    add(&mut counts.duplicate_acks, class.duplicate_ack_count > 0);
    add(&mut counts.zero_windows, class.is_zero_window);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packets::segment;

    /// Return whether a repeated client ACK of all 100 server bytes shows that the server's newest segment
    /// arrived twice.
    fn is_repeated_full_ack((start, newest): (i64, &[u8]), has_fin: bool, window: u16) -> bool {
        let (mut client, mut server) = (Half::default(), Half::default());
        (client.sequence.next, client.acks.last, client.acks.window) = (1, Some(101), 1000);
        (server.sequence.next, server.counts.packets) = (101, 1);
        server.sequence.fin_end = has_fin.then_some(102);
        let sent = segment(flags::ACK, (0, 0), newest);
        classify(&mut server, &client, &sent, 0, start, None, None);
        let ack = Segment {
            window,
            ..segment(flags::ACK, (0, 0), b"")
        };
        classify(&mut client, &server, &ack, 0, 1, Some(101), None).is_repeated_full_ack
    }

    #[test]
    fn repeated_ack_without_data_in_flight_shows_a_copy() {
        let copy: (i64, &[u8]) = (1, &[0; 100]);
        assert!(is_repeated_full_ack(copy, false, 1000));
        assert!(
            !is_repeated_full_ack(copy, true, 1000),
            "the ACK may answer a FIN"
        );
        assert!(
            !is_repeated_full_ack(copy, false, 2000),
            "the ACK opens the window"
        );
        let probe = (100, &[0][..]);
        assert!(!is_repeated_full_ack(probe, false, 1000));
    }
}
