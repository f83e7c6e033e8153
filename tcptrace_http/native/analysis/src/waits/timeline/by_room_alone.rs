//! What an ACK let go that nothing but a full buffer can have held.
//!
//! Theory of operation. An ACK lets data go which a window held, or Nagle's algorithm, or for which it made room in its
//! sender's buffer. Where the windows had room and that algorithm is off, in whatever variant, the writer had waited for
//! room: what comes as close behind an ACK of its own does so by no chance.

use super::super::acks::{Acks, Released};
use super::super::partition::INFERRED;
use super::{Data, Route, Timeline};
use trace_model::rows::Cause;

impl Timeline {
    /// What `data` waited for that an ACK let go for no reason that is known.
    pub(super) fn by_room_alone(
        &mut self,
        told: (Cause, f64),
        released: Released,
        (data, route): (Data, Route),
        acks: &Acks,
    ) -> (Cause, f64) {
        let is_open = told.0 == Cause::Unexplained && released == Released::ByAck;
        if !is_open || !data.holds_no_short || data.opens_hole {
            return told;
        }
        // Next to its sender it goes by before it stands anywhere.
        let takes_ns = if route.is_at_sender {
            0
        } else {
            self.takes(data.bytes, data.segments, data.full_bytes)
        };
        let after_ns = route.to_sender_ns.saturating_add(takes_ns);
        let is_of_buffer = acks.let_go_closely(data.at.time_ns, after_ns)
            && self.window.may_fill_buffer(data.bytes)
            && self.packets.have_room();
        if is_of_buffer {
            self.own_time.by_room_alone = Some(data.end);
            (Cause::SendLimitedSendBuffer, INFERRED)
        } else {
            told
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Words;
    use super::*;

    const MS: i64 = 1_000_000;
    const START: i64 = (1 << 32) - 2000;

    /// What a sender waited for that has sent four packets, of which the ACKs of three let the next one go after so long,
    /// whatever it holds.
    fn told(later_ms: i64, holds_no_short: bool) -> Cause {
        let (route, mut acks) = (Route::at_sender(100), Acks::default());
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        acks.push(-100 * MS, START, 60_000, 100 * MS);
        for end in [1000, 2000, 3000, 3500] {
            timeline.note_packet(Data::at_ms(0, START + end), route, &acks);
        }
        timeline.window.hears(0, START);
        timeline.window.stops(START + 3500, 1000);
        for (time_ms, acked) in [(100, 2000), (200, 3000)] {
            acks.push(time_ms * MS, START + acked, 60_000, 100 * MS);
        }
        let data = Data {
            holds_no_short,
            ..Data::at_ms(200 + later_ms, START + 4500)
        };
        timeline.hear_packets(data, route, &acks);
        let unexplained = (Cause::Unexplained, INFERRED);
        timeline
            .by_room_alone(unexplained, Released::ByAck, (data, route), &acks)
            .0
    }

    #[test]
    fn what_neither_window_nor_algorithm_held_waited_for_room() {
        assert_eq!(told(0, true), Cause::SendLimitedSendBuffer);
        assert_eq!(told(5, true), Cause::Unexplained, "by chance");
        assert_eq!(told(0, false), Cause::Unexplained, "held by Nagle");
    }
}
