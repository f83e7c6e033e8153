//! Server data before the captured SYN-ACK, kept until an ACK shows that it arrived.

use tcptrace_tcp::{Class, EarlyPiece, Piece, Side};
use trace_model::{flags, Mark, Packet, Segment};

use super::Flow;
use crate::tables::Tables;

impl Flow {
    /// Return whether the SYN-ACK is still missing: no evidence shows that the client received it.
    pub(super) fn is_before_syn_ack(&self, side: Side, segment: &Segment<'_>) -> bool {
        let (client, server) = (self.client_half(), self.server_half());
        side != self.client()
            && segment.flags & (flags::SYN | flags::RST) == 0
            && client.has_syn
            && client.acks.last.is_none()
            && !server.has_syn
            && (server.sequence.initial.is_none() || server.early.is_some())
    }

    /// Set the start of the server's data from the client's first ACK, without a SYN-ACK.
    pub(super) fn begin_without_syn_ack(&mut self, side: Side, segment: &Segment<'_>) {
        if side == self.client() && self.client_half().acks.last.is_none() {
            let (_, server) = self.halves(side);
            server.begin_before_ack(segment.ack);
        }
    }

    /// Count a segment before the SYN-ACK, without other effect on the connection.
    pub(super) fn count_early(&mut self, side: Side, segment: &Segment<'_>) -> Class {
        let (sender, _) = self.halves(side);
        sender.counts.packets = sender.counts.packets.saturating_add(1);
        sender.acks.window = segment.window;
        Class::default()
    }

    pub(super) fn keep_early(
        &mut self,
        side: Side,
        packet: &Packet<'_>,
        segment: &Segment<'_>,
        tables: &mut Tables,
    ) {
        let mark = Mark {
            frame: packet.frame,
            time_ns: packet.time_ns,
        };
        let (sender, _) = self.halves(side);
        if !sender.early.get_or_insert_default().keep(segment, mark) {
            self.finish_early(side, tables);
        }
        self.account(packet, tables);
    }

    /// Stop waiting for the SYN-ACK and deliver the waiting data.
    pub(super) fn finish_early(&mut self, side: Side, tables: &mut Tables) {
        self.deliver_early(side, i64::MAX, tables);
        let (sender, _) = self.halves(side);
        sender.early = None;
    }

    /// Deliver the early data of `side` up to offset `until`, which its peer has acknowledged.
    pub(super) fn deliver_early(&mut self, side: Side, until: i64, tables: &mut Tables) {
        let (sender, _) = self.halves(side);
        let Some((initial, early)) = sender.sequence.initial.zip(sender.early.as_mut()) else {
            return;
        };
        let pieces = early.take(initial, until);
        if early.is_empty() && sender.has_syn {
            sender.early = None;
        }
        for (start, piece) in pieces {
            self.deliver_piece(side, start, &piece, tables);
        }
    }

    fn deliver_piece(&mut self, side: Side, start: i64, piece: &EarlyPiece, tables: &mut Tables) {
        let (sender, _) = self.halves(side);
        let end = piece.end(start);
        if end > sender.sequence.next {
            // A FIN takes one number and no byte.
            let payload_end = start.saturating_add(i64::from(piece.length));
            let new = payload_end.saturating_sub(sender.sequence.next.max(start));
            let new = u64::try_from(new).unwrap_or(0);
            sender.unique_bytes = sender.unique_bytes.saturating_add(new);
            sender.sequence.next = end;
        }
        if piece.has_fin {
            self.note_fin(side, piece.mark);
        }
        if self.carried.is_opaque || piece.length == 0 {
            return;
        }
        let piece = Piece {
            offset: start.saturating_sub(1),
            length: piece.length,
            bytes: &piece.bytes,
            mark: piece.mark,
            peer_acked: None,
        };
        self.deliver(side, piece.mark, tables, |reassembler, deliver| {
            reassembler.insert(piece, deliver)
        });
    }
}
