//! When the windows had room for data, and when its sender knew.

use super::super::acks::{Acks, Released};
use super::{Data, Route, Timeline};
use trace_model::rows::Cause;

impl Timeline {
    /// Whether data that lay in the sender's buffer is short because the receiver's window has room for no more. Who
    /// avoids silly windows waits for room for a full segment, and sends what there is room for when a timer runs out
    /// (RFC 1122, section 4.2.3.4).
    pub(super) fn fills_window(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let is_short = self.has_more && !data.is_full() && !data.opens_hole && !data.is_pushed;
        let known_ns = Acks::known_by(data.at.time_ns, route.to_sender_ns);
        is_short && acks.edge_by(known_ns) == Some(data.end)
    }

    /// What data waited for first that was held for another `cause` in the end, and until when. Who had sent all that
    /// was there waited for no window that had room; and who had filled the receiver's window waited for room in it
    /// until the ACK came that told that it is closed.
    pub(super) fn waited_first(
        &self,
        cause: Option<(Cause, f64)>,
        had_nothing: bool,
        (data, route): (Data, Route),
        acks: &Acks,
    ) -> Option<(Cause, i64)> {
        if cause.is_some_and(|(cause, _)| cause == Cause::SendLimitedZeroWindow) {
            let told_ns = acks.closed_ns()?.saturating_add(route.to_sender_ns);
            return Some((Cause::SendLimitedReceiveWindow, told_ns));
        }
        let until_ns = self.room_until_ns(data, route, acks);
        let idle_until_ns = until_ns.filter(|_| had_nothing && data.sharing.by_other);
        idle_until_ns.map(|until_ns| (self.words.idle, until_ns))
    }

    /// Until when nothing would have held the data: the window had room, and Nagle's algorithm nothing to wait for.
    fn room_until_ns(&self, data: Data, route: Route, acks: &Acks) -> Option<i64> {
        let until_ns = data.sharing.room_until_ns?;
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let behind_ns = takes_ns.saturating_add(data.sharing.queued_ns);
        let released = acks.released(data.at.time_ns, data.end, route.to_sender_ns, behind_ns);
        if released != Released::ByNone {
            // An ACK of its own may have let it go, and stands in the queue of the slowest link since.
            return None;
        }
        let start = data.end.saturating_sub(i64::from(data.bytes));
        let acked = acks.acked_by(Acks::known_by(until_ns, route.to_sender_ns));
        (data.is_full() || acked >= start).then_some(until_ns)
    }

    /// From when on data could have gone, if the window was opened before the sender's last probe.
    pub(super) fn persist(&self, data: Data, route: Route, acks: &Acks) -> Option<i64> {
        let (opened_ns, probed_ns) = (acks.opened_ns()?, self.probed_ns?);
        let allowed_ns = opened_ns.saturating_add(route.to_sender_ns);
        (allowed_ns <= probed_ns && probed_ns < data.at.time_ns).then_some(allowed_ns)
    }
}
