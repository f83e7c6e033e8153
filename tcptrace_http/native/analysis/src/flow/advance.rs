//! Progress of a sender's state by its segments.

use tcptrace_tcp::{Class, Hole, OutstandingSegment, Side};
use trace_model::{flags, Packet, Segment};

use super::Flow;

/// Maximum number of unacknowledged segments, for one-sided captures.
const OUTSTANDING_MAX: usize = 1 << 14;

impl Flow {
    /// Advance the sender's state by a segment with payload, SYN or FIN.
    pub(super) fn advance(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        start: i64,
        class: &Class,
        row: Option<usize>,
    ) {
        let length = segment.sequence_length();
        if length == 0 || segment.has(flags::RST) || class.is_keep_alive || class.is_window_probe {
            return;
        }
        let end = start.saturating_add(i64::from(length));
        let sent = OutstandingSegment {
            end,
            frame: packet.frame,
            time_ns: packet.time_ns,
            is_ambiguous: !class.is_new || class.gap_before_bytes > 0,
            row,
        };
        if class.is_new {
            self.take_new(side, segment, start, sent);
        } else if self.half(side).is_copy(end, packet.time_ns) {
            return;
        } else {
            self.take_retransmission(side, segment, start, sent);
        }
        if segment.payload_bytes == 0 {
            return;
        }
        if side == self.client() {
            self.client_data(packet, segment, start, class);
        } else {
            self.server_data(packet, segment, start, class);
        }
    }

    /// Take a segment behind all data that its sender had sent.
    fn take_new(
        &mut self,
        side: Side,
        segment: &Segment<'_>,
        start: i64,
        sent: OutstandingSegment,
    ) {
        self.add_outstanding(side, sent);
        let (sender, _) = self.halves(side);
        // New data is ambiguous only behind a gap.
        if sent.is_ambiguous {
            sender.holes.add(Hole {
                start: sender.sequence.next,
                end: start,
                frame: Some(sent.frame),
            });
        }
        let payload = u64::from(segment.payload_bytes);
        sender.unique_bytes = sender.unique_bytes.saturating_add(payload);
        sender.sequence.next = sent.end;
        sender.last.advanced_ns = sent.time_ns;
    }

    /// Add an unacknowledged segment; the oldest is dropped if it will never be acknowledged.
    fn add_outstanding(&mut self, side: Side, sent: OutstandingSegment) {
        let (sender, peer) = self.halves(side);
        let is_full = sender.outstanding.len() >= OUTSTANDING_MAX;
        let is_never_acknowledged = peer.counts.packets == 0 && sender.outstanding.len() > 1;
        if is_full || is_never_acknowledged {
            sender.outstanding.pop_front();
        }
        if sender.outstanding.capacity() == 0 {
            // In a SYN flood, the SYN is the only segment of most flows.
            sender.outstanding.reserve_exact(1);
        }
        sender.outstanding.push_back(sent);
    }

    /// Take a segment that begins before the end of the sent data; it may fill holes and extend beyond that
    /// end.
    fn take_retransmission(
        &mut self,
        side: Side,
        segment: &Segment<'_>,
        start: i64,
        sent: OutstandingSegment,
    ) {
        let (sender, _) = self.halves(side);
        // A FIN takes one number and no byte.
        let payload_end = sent.end.saturating_sub(i64::from(segment.has(flags::FIN)));
        let beyond = u64::try_from(payload_end.saturating_sub(sender.sequence.next)).unwrap_or(0);
        let filled = sender.holes.fill(start, payload_end);
        let filled = filled
            .saturating_add(beyond)
            .saturating_add(sender.before_first(start, payload_end));
        let payload = u64::from(segment.payload_bytes);
        sender.unique_bytes = sender.unique_bytes.saturating_add(filled.min(payload));
        sender.rtt.mark_ambiguous(sender.sequence.next);
        if sent.end > sender.sequence.next {
            sender.sequence.next = sent.end;
            self.add_outstanding(side, sent);
        }
    }
}
