//! What a window held that was lost then.
//!
//! Theory of operation. In slow start a window grows by a segment with each ACK (RFC 5681, section 3.1). Where a sender has
//! more in its buffer, and has used up what the ACKs have made of it, what comes next leaves no sooner than another one
//! makes room for that. If it was lost it had waited for that ACK first, and only from then on for a timer.

use tcptrace_tcp::TIMED_OUT_MIN_NS;
use trace_model::rows::Cause;

use super::super::acks::Acks;
use super::repairs::is_timed;
use super::{Data, Route, Timeline};

impl Timeline {
    /// That a window in slow start held `data` which was lost then, and when it would have come.
    pub(super) fn room_before_loss(
        &self,
        data: Data,
        route: Route,
        acks: &Acks,
    ) -> Option<(Cause, i64)> {
        let (sent, was_full) = self.sent?;
        let end = self.sent_until;
        let is_behind = end == data.start() && was_full && self.has_more && !self.has_hole;
        let is_lost = is_timed(data.recovery) && !data.opens_hole && !route.is_at_sender;
        let is_own = self.held_ends.are_of_slow_start() && !data.sharing.is_shared;
        if !is_lost || !is_behind || !is_own {
            return None;
        }
        let mut window = self.window;
        let heard_ns = Acks::known_by(sent.time_ns, route.to_sender_ns);
        for ack in acks.between(window.heard_until_ns(), heard_ns) {
            window.hears(ack.time_ns, ack.acked);
        }
        let bytes = data.bytes.min(data.full_bytes);
        if !window.is_full_in_first_slow_start(end, bytes) {
            return None;
        }
        let mut later = acks.between(heard_ns, data.at.time_ns);
        let makes_room = later.find(|ack| {
            window.hears(ack.time_ns, ack.acked);
            !window.is_full_in_first_slow_start(end, bytes)
        })?;
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let way_ns = route.to_sender_ns.saturating_add(takes_ns);
        let would_come_ns = makes_room.time_ns.saturating_add(way_ns);
        let timer_ns = data.at.time_ns.saturating_sub(would_come_ns);
        let is_later = would_come_ns > sent.time_ns && timer_ns >= TIMED_OUT_MIN_NS;
        is_later.then_some((Cause::SendLimitedSlowStart, would_come_ns))
    }
}
