//! What the numbers of a host's packets alone told of losses, and was none.

use super::super::partition::INFERRED;
use super::Timeline;

impl Timeline {
    /// The sender's numbers turn out to pass over what it sends to others: what they alone told to be lost was not,
    /// and waited for its application.
    pub(in crate::waits) fn packets_go_elsewhere(&mut self) {
        for piece in &mut self.pieces {
            if piece.waited.is_some_and(|waited| waited.is_told_by_host) {
                piece.cause = self.words.idle;
                piece.waited = None;
            }
        }
        for sent in &mut self.pending {
            if std::mem::take(&mut sent.is_told_by_host) {
                sent.cause = Some((self.words.idle, INFERRED));
            }
        }
        for opening in &mut self.openings {
            if std::mem::take(&mut opening.is_told_by_host) {
                opening.repaired = None;
                opening.held = None;
            }
        }
    }
}
