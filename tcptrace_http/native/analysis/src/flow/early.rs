//! What a server sends before its SYN-ACK is seen waits until it is known to have arrived.

use tcptrace_tcp::{Class, EarlyPiece, Piece, Side};
use trace_model::{flags, Mark, Packet, Segment};

use super::Flow;
use crate::tables::Tables;

impl Flow {
    /// Whether the SYN-ACK is still to come: nothing shows that the client has had it.
    pub(super) fn is_before_syn_ack(&self, side: Side, segment: &Segment<'_>) -> bool {
        let (client, server) = (self.client_half(), self.server_half());
        side != self.client()
            && segment.flags & (flags::SYN | flags::RST) == 0
            && client.has_syn
            && client.acks.last.is_none()
            && !server.has_syn
            && (server.sequence.initial.is_none() || server.early.is_some())
    }

    /// The first ACK of the client, without the SYN-ACK: it tells where the server's data begins.
    pub(super) fn begin_without_syn_ack(&mut self, side: Side, segment: &Segment<'_>) {
        if side == self.client() && self.client_half().acks.last.is_none() {
            let (_, server) = self.halves(side);
            server.begin_before_ack(segment.ack);
        }
    }

    /// A segment before the SYN-ACK tells nothing of its connection but that it was there.
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
            self.give_up_early(side, tables);
        }
        self.account(packet, tables);
    }

    /// The SYN-ACK will not be seen any more: what waits for it is what there is.
    pub(super) fn give_up_early(&mut self, side: Side, tables: &mut Tables) {
        self.deliver_early(side, i64::MAX, tables);
        let (sender, _) = self.halves(side);
        sender.early = None;
    }

    /// Hands on what `side` sent early, as far as its peer has acknowledged it: up to offset `until`.
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
            // A FIN takes a number too, but is no byte.
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
