//! Data that lay in the sender's buffer.

use tcptrace_tcp::TIMEOUT_MIN_NS;
use trace_model::rows::Cause;

use super::super::acks::{Acks, Released};
use super::super::pace::BURST_MIN_NS;
use super::super::partition::INFERRED;
use super::shared::{phase_of, window_of};
use super::{Data, Route, Timeline};
use crate::used_window::Limit;

impl Timeline {
    /// Data that lay in the sender's buffer waited for no application, but for a window, though a loss may hide the
    /// ACK that made the room, or it was another connection's.
    pub(super) fn in_buffer(
        &mut self,
        told: (Cause, f64),
        (released, limit): (Released, Limit),
        (data, route): (Data, Route),
        acks: &Acks,
    ) -> (Cause, f64) {
        let told = self.by_room_alone(told, released, (data, route), acks);
        let by_other = data.sharing.by_other || data.sharing.is_let_go_by_end;
        let by_other = by_other && self.has_more;
        if by_other && told.0 == Cause::SendLimitedSendBuffer {
            // Only an ACK of its own makes room in a connection's buffer.
            return (phase_of(data.sharing), INFERRED);
        }
        if !self.has_more || told.0 != Cause::ServerDataUnavailable {
            return told;
        }
        let is_alone = !data.sharing.is_let_go_by_other && data.sharing.queued_ns <= BURST_MIN_NS;
        let window = match limit {
            _ if data.sharing.is_shared => window_of(data.sharing),
            _ if data.sharing.by_other => phase_of(data.sharing),
            // Next to the sender no ACK is unseen.
            _ if route.is_at_sender && !data.sharing.had_loss => return told,
            _ if self.is_written_behind_a_hole(data, route, acks) => return told,
            // A window with room for more holds a short rest as Nagle's algorithm does, until more is written.
            Limit::None => return told,
            // A full buffer has room when an ACK came, and there was none when data leaves that comes now, unless it
            // stood behind other connections' data.
            Limit::SendBuffer if self.pace.is_shown() && is_alone => return told,
            _ if self.found_no_room(data, route, acks) => Cause::SendLimitedReceiveWindow,
            Limit::CongestionAvoidance => Cause::SendLimitedCwnd,
            Limit::SendBuffer if self.window.is_beyond_slow_start() => Cause::SendLimitedCwnd,
            Limit::SlowStart | Limit::SendBuffer => Cause::SendLimitedSlowStart,
        };
        (window, INFERRED)
    }

    /// Whether the receiver's window had no room for data when that before it left, and has some when it leaves itself:
    /// an ACK made that meanwhile, though it is not known how long the link takes and so which one let it go.
    pub(super) fn found_no_room(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let had_room =
            |time_ns: i64| acks.had_room_for(data.end, Acks::known_by(time_ns, route.to_sender_ns));
        let before = self.sent.filter(|_| !route.is_at_sender);
        before.is_some_and(|(sent, _)| !had_room(sent.time_ns)) && had_room(data.at.time_ns)
    }

    /// Whether data behind a hole left so long after any ACK that none let it go, nor what is missing, as no ACK tells
    /// of a hole yet that it opens itself: whether all before it had been written shows in what is missing.
    pub(super) fn is_written_behind_a_hole(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let start = data.start();
        let missing = start.saturating_sub(self.sent_until);
        let missing = u32::try_from(missing).unwrap_or(0);
        let segments = missing.checked_div(data.full_bytes).unwrap_or(0);
        let takes_ns = self.takes(missing, segments.saturating_add(1), data.full_bytes);
        let most_ns = takes_ns.saturating_add(TIMEOUT_MIN_NS);
        let late_ns = acks.late_ns(data.at.time_ns, route.to_sender_ns);
        data.opens_hole
            && !self.has_hole
            && !route.is_at_sender
            && late_ns.is_some_and(|late_ns| late_ns > most_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;

    /// What data that lay in a buffer seems to have waited for with six segments outstanding, if that seems to be as much
    /// as the buffer holds, behind a loss of so many.
    fn told_behind_a_loss_of(lost: i64) -> Cause {
        told_along(Route::at_receiver(100), lost)
    }

    fn told_along(route: Route, lost: i64) -> Cause {
        let end = (1 << 32) - 2000;
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.has_more = true;
        timeline.window.hears(1, end - (lost + 6) * 1000);
        timeline.window.stops(end - 6000, 1000);
        let lost_from = end - (lost + 6) * 1000;
        timeline.window.had_loss(lost_from, end - 6000, true);
        timeline.window.hears(2, end - 6000);
        timeline.window.stops(end, 1000);
        let data = Data::plain(Moment::at_ms(500), end + 1000);
        let idle = (Cause::ServerDataUnavailable, INFERRED);
        let acks = Acks::default();
        let limit = (Released::ByNone, Limit::SendBuffer);
        timeline.in_buffer(idle, limit, (data, route), &acks).0
    }

    #[test]
    fn what_seems_to_fill_a_buffer_fills_a_window_that_avoids_congestion_once_it_is_at_the_threshold(
    ) {
        assert_eq!(told_behind_a_loss_of(12), Cause::SendLimitedCwnd);
        assert_eq!(told_behind_a_loss_of(20), Cause::SendLimitedSlowStart);
    }

    #[test]
    fn next_to_its_sender_what_no_ack_let_go_waited_for_no_window() {
        let told = told_along(Route::at_sender(100), 12);
        assert_eq!(told, Cause::ServerDataUnavailable);
    }
}
