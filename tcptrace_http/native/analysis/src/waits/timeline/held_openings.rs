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
use crate::jitter::CLOSE_NS;
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

/// The first segment of a response that was held.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldOpening {
    start: i64,
    ack_ns: i64,
    cause: Cause,
}

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
        // A link that is not known is no slower than those of which the pace shows.
        let late_ns = if takes_ns > 0 { CLOSE_NS } else { BURST_MIN_NS };
        let after_ns = route.to_sender_ns.saturating_add(takes_ns);
        let target_ns = data.at.time_ns.saturating_sub(after_ns);
        let span = (
            target_ns.saturating_sub(late_ns),
            target_ns.saturating_add(CLOSE_NS),
        );
        let Some((ack_ns, newly)) = acks.of_all_before(start, span) else {
            return;
        };
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
        let opening = self.let_go.filter(|it| (it.start..it.end).contains(&start));
        if let Some(LetGo { ack_ns, cause, .. }) = opening {
            if self.held_openings.len() < HELD_MAX {
                self.held_openings.push_back(HeldOpening {
                    start,
                    ack_ns,
                    cause,
                });
            }
        }
    }

    /// Why the first segment of the response that begins at `start` was held, if its request, which was there at
    /// `asked_ns`, had come before the ACK that let it go; it is asked for once.
    pub(in crate::waits) fn take_held_opening(
        &mut self,
        start: i64,
        asked_ns: i64,
    ) -> Option<Cause> {
        while self
            .held_openings
            .front()
            .is_some_and(|it| it.start < start)
        {
            self.held_openings.pop_front();
        }
        let held = self.held_openings.front().filter(|it| it.start == start)?;
        (held.ack_ns > asked_ns).then_some(held.cause)
    }
}
