//! A sender's state, as its segments move it on.

use tcptrace_tcp::{Class, Hole, Outstanding, Side};
use trace_model::{flags, Packet, Segment};

use super::{moment, Flow};
use crate::recoveries::RecoveryKind;

/// Data that a one-sided capture leaves unacknowledged: more would only cost memory.
const OUTSTANDING_MAX: usize = 1 << 14;

impl Flow {
    /// Moves the sender's state on by a segment that carries payload, a SYN or a FIN.
    pub(super) fn advance(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        start: i64,
        (class, recovery): (&Class, Option<RecoveryKind>),
        row: Option<usize>,
    ) {
        let length = segment.sequence_length();
        if length == 0 || segment.has(flags::RST) || class.is_keep_alive || class.is_window_probe {
            // Behind an update that was lost on its way it looks like a keep-alive probe.
            if let Some(waits) = self.waits.as_mut().filter(|_| segment.payload_bytes > 0) {
                waits.probed(side != self.client, moment(packet));
            }
            return;
        }
        let end = start.saturating_add(i64::from(length));
        // What follows may wait for a window that others share, and not for room.
        let asks = segment.payload_bytes == 1
            && !self.sharing().is_shared
            && self.has_no_room_for(side, start);
        let sent = Outstanding {
            end,
            frame: packet.frame,
            time_ns: packet.time_ns,
            is_ambiguous: !class.is_new || class.gap_before_bytes > 0,
            row,
        };
        if class.is_new {
            self.sends_new(side, segment, start, sent);
        } else if self.half(side).is_copy(end, packet.time_ns) {
            return;
        } else {
            self.sends_again(side, segment, start, sent);
        }
        // What ends the stream behind data that is missing tells of that as data does.
        let shows_hole = class.is_new && class.gap_before_bytes > 0 && segment.has(flags::FIN);
        if let Some(waits) = self.waits.as_mut().filter(|_| asks) {
            // Its byte is part of what comes when there is room: what that waits for goes on.
            waits.probed(side != self.client, moment(packet));
        } else if segment.payload_bytes > 0 || shows_hole {
            self.note_waits(side, packet, segment, start, (class, recovery));
        }
        if segment.payload_bytes > 0 {
            if side != self.client {
                self.server_data(packet, segment, start, (class, recovery));
            } else if !self.is_opaque {
                self.client_data(packet, segment, start, class);
            }
        }
    }

    /// Whether the peer of `side` has all that was sent before `start`, and said that it has room for no more.
    fn has_no_room_for(&self, side: Side, start: i64) -> bool {
        let (sender, peer) = (self.half(side), self.half(side.other()));
        peer.last_ack.is_some() && peer.last_window == 0 && start == sender.acked
    }

    /// A segment goes on behind all that its sender had sent.
    fn sends_new(&mut self, side: Side, segment: &Segment<'_>, start: i64, sent: Outstanding) {
        self.is_outstanding(side, sent);
        let (sender, _) = self.halves(side);
        // What is new is ambiguous only behind a gap.
        if sent.is_ambiguous {
            sender.holes.add(Hole {
                start: sender.next,
                end: start,
                frame: Some(sent.frame),
            });
        }
        let payload = u64::from(segment.payload_bytes);
        sender.unique_bytes = sender.unique_bytes.saturating_add(payload);
        sender.next = sent.end;
        sender.advanced_ns = sent.time_ns;
    }

    /// What was sent is not acknowledged yet. Where it never will be, the oldest gives way.
    fn is_outstanding(&mut self, side: Side, sent: Outstanding) {
        let (sender, peer) = self.halves(side);
        let is_full = sender.outstanding.len() >= OUTSTANDING_MAX;
        let is_never_acknowledged = peer.counts.packets == 0 && sender.outstanding.len() > 1;
        if is_full || is_never_acknowledged {
            sender.outstanding.pop_front();
        }
        sender.outstanding.push_back(sent);
    }

    /// A segment begins before the end of what its sender had sent: it may fill holes, and reach beyond that.
    fn sends_again(&mut self, side: Side, segment: &Segment<'_>, start: i64, sent: Outstanding) {
        let (sender, _) = self.halves(side);
        // A FIN takes a number too, but is no byte.
        let payload_end = sent.end.saturating_sub(i64::from(segment.has(flags::FIN)));
        let beyond = u64::try_from(payload_end.saturating_sub(sender.next)).unwrap_or(0);
        let filled = sender.holes.fill(start, payload_end);
        let filled = filled
            .saturating_add(beyond)
            .saturating_add(sender.before_first(start, payload_end));
        let payload = u64::from(segment.payload_bytes);
        sender.unique_bytes = sender.unique_bytes.saturating_add(filled.min(payload));
        sender.mark_ambiguous();
        if sent.end > sender.next {
            sender.next = sent.end;
            self.is_outstanding(side, sent);
        }
    }
}
