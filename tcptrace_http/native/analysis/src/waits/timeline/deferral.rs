//! Who sends several segments as one to his network card leaves some of the receiver's window unused.

use super::super::acks::{Ack, Acks, Released};
use super::{Data, Route, Timeline};
use crate::used_window::Limit;

/// Linux waits for more ACKs where the windows have room for less than this share of them (`tcp_tso_should_defer`,
/// `net.ipv4.tcp_tso_win_divisor`).
const DEFERS_BELOW_SHARE: i64 = 3;

impl Timeline {
    /// Whether what seems to be a full buffer, of which nothing is known so far, is the receiver's window: that had no room
    /// when its sender stopped, whichever ACK made some since, or so little that he waited for more.
    pub(super) fn is_of_offered_window(
        &self,
        (released, limit): (Released, Limit),
        data: Data,
        route: Route,
        acks: &Acks,
    ) -> bool {
        released == Released::ByAck
            && limit == Limit::SendBuffer
            && self.window.buffer().is_none()
            && (self.found_no_room(data, route, acks) || self.is_deferred(data, route, acks))
    }

    /// Whether its sender waited for more room in the receiver's window than he had left: he had more outstanding
    /// before, which no buffer has room for that is full with less.
    fn is_deferred(&self, data: Data, route: Route, acks: &Acks) -> bool {
        let until_ns = self.known_before_release(data, route, acks);
        let leaves_little = |before: Ack| {
            let room = before.edge.saturating_sub(self.sent_until);
            let offered = before.edge.saturating_sub(before.acked);
            room.saturating_mul(DEFERS_BELOW_SHARE) < offered
        };
        !self.window.is_fullest() && acks.newest_by(until_ns).is_some_and(leaves_little)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::partition::Moment;
    use super::super::Words;
    use super::*;
    use trace_model::rows::Cause;

    const MS: i64 = 1_000_000;
    const FULL: u32 = 1448;

    /// What the ninth and tenth segment waited for: six had come at once, the ACK of three let two more go, and that of
    /// the next two these, of a window of so many segments.
    fn waited_for(offered: u32) -> Option<Cause> {
        let route = Route::at_receiver(100);
        let start = (1 << 32) - 9000;
        let segments = |count: i64| start + count * i64::from(FULL);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.window.hears(1, start);
        let mut acks = Acks::default();
        acks.push(0, start, offered * FULL, 100 * MS);
        let mut come = |came_ms: i64, (first, last): (i64, i64), acks: &Acks| {
            for number in first..=last {
                let at = Moment {
                    time_ns: came_ms * MS + number,
                    frame: 1,
                };
                let data = Data {
                    bytes: FULL,
                    ..Data::plain(at, segments(number))
                };
                timeline.new_data(data, None, route, acks);
            }
        };
        come(110, (1, 6), &acks);
        acks.push(120 * MS, segments(3), offered * FULL, 100 * MS);
        come(220, (7, 8), &acks);
        acks.push(160 * MS, segments(5), offered * FULL, 100 * MS);
        come(260, (9, 10), &acks);
        let told = timeline.between(230 * MS, 250 * MS).last();
        told.map(|piece| piece.cause)
    }

    #[test]
    fn who_had_filled_the_receivers_window_and_leaves_a_segment_of_it_waits_for_more_room() {
        assert_eq!(waited_for(6), Some(Cause::SendLimitedReceiveWindow));
    }

    #[test]
    fn a_window_with_room_for_half_of_it_is_not_what_was_waited_for() {
        assert_eq!(waited_for(12), Some(Cause::SendLimitedSendBuffer));
    }
}
