//! A window that may avoid congestion though nothing was lost on its connection.
//!
//! Theory of operation. What a host has learnt of losses on other connections it may begin the next one with (RFC 2140):
//! a threshold, at which slow start ends. Above it a window grows as any does that avoids congestion, by a segment in
//! about a round trip. One that stops with as much outstanding for longer was stopped by the buffer of its sender, unless
//! others had a share of it.

use super::Timeline;
use crate::shared_windows::Sharing;
use trace_model::rows::Cause;

impl Timeline {
    /// Data comes: others that have some in flight may have a share of its window, and what stood behind theirs left
    /// earlier than seems.
    pub(super) fn note_others(&mut self, sharing: Sharing) {
        self.is_alone &= !sharing.are_others_in_flight && !sharing.is_behind_others;
    }

    /// Whether a window that nothing has lowered has room for more than its sender stops with, and no other connection has
    /// had a share of it.
    pub(super) fn outgrew_alone(&self, end: i64) -> bool {
        self.is_alone && self.window.outgrew_unlowered(end)
    }

    /// The window has turned out to be larger than what its sender stops with: with just as much it had waited for the same
    /// before.
    pub(super) fn had_not_grown(&mut self, end: i64) {
        if self.outgrew_alone(end) {
            let holds = self.window.outstanding();
            self.waited_for_buffer(Cause::SendLimitedCwnd, |outstanding| outstanding == holds);
        }
    }
}
