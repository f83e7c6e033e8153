//! Responses whose first segment Nagle's algorithm held.
//!
//! Theory of operation. A response may be written while the one before it is unacknowledged: its request came with
//! that one's, or before its ACK. Nagle's algorithm holds the response's short first segment then (RFC 896) until an
//! ACK of all that was sent before comes, so it goes by the path's time after that ACK. A server's work does not end
//! so: it begins with the request, and ends whenever it is done.

use super::super::acks::Acks;
use super::super::pace::BURST_MIN_NS;
use super::super::partition::Moment;
use super::{Data, Route, Timeline, DELAYED_ACK_MIN_NS, DELAYED_ACK_SEGMENTS};
use crate::jitter::{CLOSE_NS, RELEASE_RTT_SHARE};
use trace_model::rows::Cause;

/// Answers whose transactions are not over: as many as requests wait for theirs.
const HELD_MAX: usize = 1 << 11;

/// A short segment that may have waited for the ACK of all data before it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LetGo {
    /// Offsets of the segment.
    start: i64,
    end: i64,
    /// When the ACK went by.
    ack_ns: i64,
    cause: Cause,
}

/// A segment that was held and in which responses begin.
pub(super) type HeldOpening = LetGo;

impl Timeline {
    /// Remembers whether the ACK of all before let this segment go, which comes behind the one `before`.
    pub(super) fn note_let_go(&mut self, data: Data, before: Moment, route: Route, acks: &Acks) {
        self.let_go = None;
        if data.is_full() || data.opens_hole || data.recovery.is_some() {
            return;
        }
        let start = data.end.saturating_sub(i64::from(data.bytes));
        let takes_ns = if route.is_at_sender {
            0
        } else {
            self.takes_ns(data.bytes)
        };
        let Some((ack, newly)) = acks.of_all_before(start) else {
            return;
        };
        // An ACK that came with data takes as long as that on the link, which is taken to be as slow in its direction.
        let carrier_ns = if route.is_at_sender {
            0
        } else {
            self.takes_ns(ack.bytes)
        };
        // A link that is not known is no slower than those of which the pace shows; round trips vary by a share.
        let late_ns = if takes_ns > 0 {
            CLOSE_NS
        } else {
            BURST_MIN_NS.max(route.to_sender_ns / RELEASE_RTT_SHARE)
        };
        let after_ns = route.to_sender_ns.saturating_add(takes_ns);
        let elapsed_ns = data.at.time_ns.saturating_sub(ack.time_ns);
        let off_ns = elapsed_ns
            .saturating_sub(after_ns)
            .saturating_sub(carrier_ns);
        if !(-CLOSE_NS..=late_ns).contains(&off_ns) {
            return;
        }
        let ack_ns = ack.time_ns;
        let came_ns = before.time_ns.saturating_add(route.to_receiver_ns);
        let at_once = i64::from(data.full_bytes.saturating_mul(DELAYED_ACK_SEGMENTS));
        let is_delayed = newly < at_once && ack_ns.saturating_sub(came_ns) >= DELAYED_ACK_MIN_NS;
        self.let_go = Some(LetGo {
            start,
            end: data.end,
            ack_ns,
            cause: if is_delayed {
                Cause::StallNagleDelayedAck
            } else {
                Cause::StallNagleHold
            },
        });
    }

    /// A response begins at `start`, in the newest segment.
    pub(super) fn note_held_opening(&mut self, start: i64) {
        // Of several that begin in one segment only the last one may be told.
        let opening = self.let_go.filter(|it| (it.start..it.end).contains(&start));
        if let Some(held) = opening.filter(|_| self.held_openings.len() < HELD_MAX) {
            self.let_go = None;
            self.held_openings.push_back(held);
        }
    }

    /// Why the first segment of the response that begins at `start` was held, if its request, which was there at
    /// `asked_ns`, had come before the ACK that let it go; they are asked for in order.
    pub(in crate::waits) fn take_held_opening(
        &mut self,
        start: i64,
        asked_ns: i64,
    ) -> Option<Cause> {
        while self.held_openings.front().is_some_and(|it| it.end <= start) {
            self.held_openings.pop_front();
        }
        let held = self.held_openings.front().filter(|it| it.start <= start)?;
        (held.ack_ns > asked_ns).then_some(held.cause)
    }
}
