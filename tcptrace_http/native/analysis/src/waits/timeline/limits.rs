//! What limits a sender that stopped: what it had outstanding, and the ACKs that it had heard.

use super::super::acks::{Acks, Released};
use super::{Data, Route, Timeline};
use crate::used_window::Limit;

impl Timeline {
    /// What limits the sender that has waited until it sent `data`, whatever `released` that.
    pub(super) fn limit_at(
        &mut self,
        (data, released): (Data, Released),
        route: Route,
        acks: &Acks,
    ) -> Limit {
        self.stop_at(data, route, acks);
        self.limit_now((data, released), route, acks)
    }

    /// The sender had stopped before `data`.
    pub(super) fn stop_at(&mut self, data: Data, route: Route, acks: &Acks) {
        // What lies between it and this data left no sooner than that.
        let end = self.sent_until;
        if let Some((before, _)) = self.sent {
            self.window_hears(acks, Acks::known_by(before.time_ns, route.to_sender_ns));
        }
        self.window.has_buffer_of(data.sharing.buffer);
        self.window.stops(end, data.full_bytes);
        if let Some((before, _)) = self.sent.filter(|_| self.window.exceeds_twice_told()) {
            self.phases.had_no_buffer(before.time_ns);
        }
    }

    /// What limits it then, when it has heard all but what let `data` go.
    pub(super) fn limit_now(
        &mut self,
        (data, released): (Data, Released),
        route: Route,
        acks: &Acks,
    ) -> Limit {
        let end = self.sent_until;
        let path_ns = route.to_sender_ns;
        let pace_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let behind_ns = pace_ns.saturating_add(data.sharing.queued_ns);
        let until_ns = Acks::known_before_release(data.at.time_ns, path_ns, behind_ns);
        self.window_hears(acks, until_ns);
        let bytes = data.bytes.min(data.full_bytes);
        self.window.inherits(data.sharing.threshold);
        let limit = self.window.limit(end, bytes, data.sharing.had_loss);
        // What others in flight leave of a window that may be shared is no window of its own; and what is missing
        // ahead of the data may have left before it, or with it.
        let may_share = released == Released::ByAck && data.sharing.are_others_in_flight;
        let may_be_shared = data.sharing.is_shared || may_share;
        let outgrew = limit == Limit::CongestionAvoidance
            && !may_be_shared
            && !data.opens_hole
            && self.window.outgrew(end);
        let acked = acks.acked_by(Acks::known_by(data.at.time_ns, path_ns));
        if (outgrew || limit == Limit::SendBuffer) && !data.is_full() && acked >= end {
            // What is short and waited until all was acknowledged was held by Nagle's algorithm.
            return Limit::None;
        }
        if outgrew && self.window.fills_half() {
            return Limit::SendBuffer;
        }
        limit
    }

    /// The least that the window was when the newest segment was let go.
    pub(in crate::waits) fn least_window_bytes(&self) -> u64 {
        self.window.least_bytes()
    }

    fn window_hears(&mut self, acks: &Acks, until_ns: i64) {
        for ack in acks.between(self.window.heard_until_ns(), until_ns) {
            self.window.hears(ack.time_ns, ack.acked);
        }
    }
}
