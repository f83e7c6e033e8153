//! Data that is sent into a closed window waits until it is known to have been taken.
//!
//! Theory of operation. A sender may probe a window of zero with a whole segment (RFC 9293, section 3.8.6.1: "at
//! least one octet of new data"). A receiver without room drops it and says at once where it stands (section
//! 3.10.7.4); one that has made room meanwhile keeps it. Only its next ACK tells which. So the segment is put by.
//! An ACK that does not cover it means that it was refused: then the copy that comes in its place is what arrived.
//! An ACK that covers it though no copy came, data behind it that nobody refused, or the end of the flow mean
//! that it was taken when it came.

use tcptrace_tcp::{Half, IntoClosedWindow, Piece, Side};

use super::Flow;
use crate::tables::Tables;

impl Flow {
    /// Hands on what a segment carries, or puts it by if its receiver has no room for it.
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

    /// The peer of `side` acknowledged up to `acked`, as an offset in its stream.
    pub(super) fn receiver_answers(&mut self, side: Side, acked: i64, tables: &mut Tables) {
        let (sender, _) = self.halves(side);
        let Some(waiting) = sender.into_closed_window.as_mut() else {
            return;
        };
        if acked > waiting.offset {
            self.was_taken(side, tables);
        } else {
            waiting.is_refused = true;
        }
    }

    /// Nothing more will be learnt of what was sent into a closed window: it is what there is.
    pub(super) fn was_taken(&mut self, side: Side, tables: &mut Tables) {
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

/// Whether the receiver has told that it has no room for this: all before it has come, and the window is closed.
fn may_be_refused(sender: &Half, peer: &Half, piece: Piece<'_>) -> bool {
    peer.acks.last.is_some()
        && peer.acks.window == 0
        && piece.offset == sender.sequence.acked.saturating_sub(1)
        && piece.offset == sender.reassembler.delivered()
        && !sender.reassembler.is_waiting()
}
