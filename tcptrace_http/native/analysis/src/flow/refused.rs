//! Data sent into a closed window, kept until an ACK shows that the receiver accepted it.
//!
//! Theory of operation. A sender may probe a zero window with a whole segment (RFC 9293, section 3.8.6.1: "at
//! least one octet of new data"). A receiver without room drops the segment and sends an ACK at once (section
//! 3.10.7.4). A receiver with room keeps it. Only the next ACK shows the difference, so the segment is kept
//! until then. An ACK that does not cover the segment shows that it was refused, and a later copy replaces
//! it. Three events show that the segment was accepted on arrival: an ACK that covers it without a copy,
//! accepted data behind it, or the end of the flow.

use tcptrace_tcp::{Half, IntoClosedWindow, Piece, Side};

use super::Flow;
use crate::tables::Tables;

impl Flow {
    /// Deliver the payload of a segment, or keep it if its receiver has no room for it.
    pub(super) fn take_payload(&mut self, side: Side, piece: Piece<'_>, tables: &mut Tables) {
        let (sender, _) = self.halves(side);
        if let Some(before) = sender.into_closed_window.take() {
            if !before.is_refused {
                self.hand_on(side, before.piece(), tables);
            } else if before.offset != piece.offset {
                sender.into_closed_window = Some(before);
            }
        }
        let (sender, peer) = self.halves(side);
        if may_be_refused(sender, peer, piece) {
            sender.into_closed_window = Some(Box::new(IntoClosedWindow::of(piece)));
        } else {
            self.hand_on(side, piece, tables);
        }
    }

    /// Take an ACK of the peer of `side` up to stream offset `acked`.
    pub(super) fn on_receiver_ack(&mut self, side: Side, acked: i64, tables: &mut Tables) {
        let (sender, _) = self.halves(side);
        let Some(waiting) = sender.into_closed_window.as_mut() else {
            return;
        };
        if acked > waiting.offset {
            self.deliver_kept(side, tables);
        } else {
            waiting.is_refused = true;
        }
    }

    /// Deliver the data sent into a closed window: no further evidence will come.
    pub(super) fn deliver_kept(&mut self, side: Side, tables: &mut Tables) {
        let (sender, _) = self.halves(side);
        if let Some(waiting) = sender.into_closed_window.take() {
            self.hand_on(side, waiting.piece(), tables);
        }
    }

    fn hand_on(&mut self, side: Side, piece: Piece<'_>, tables: &mut Tables) {
        self.deliver(side, piece.mark, tables, |reassembler, deliver| {
            reassembler.insert(piece, deliver)
        });
    }
}

/// Return whether the receiver has announced that it has no room: all earlier data arrived, and the window is
/// closed.
fn may_be_refused(sender: &Half, peer: &Half, piece: Piece<'_>) -> bool {
    peer.acks.last.is_some()
        && peer.acks.window == 0
        && piece.offset == sender.sequence.acked.saturating_sub(1)
        && piece.offset == sender.reassembler.delivered()
        && !sender.reassembler.is_waiting()
}
