//! What a sender had heard before any ACK that may have let data go.

use super::super::acks::{Acks, Released};
use super::{Data, Route, Timeline};
use trace_model::rows::Cause;

impl Timeline {
    /// Until when an ACK went by that its sender had heard before any that may have let `data` go, which may have stood
    /// behind others' since. One that came with data is heard of by as much later as the link takes for that, which is
    /// taken to be as slow in both directions.
    pub(super) fn known_before_release(&self, data: Data, route: Route, acks: &Acks) -> i64 {
        let pace_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let behind_ns = pace_ns.saturating_add(data.sharing.queued_ns);
        let until_ns = Acks::known_before_release(data.at.time_ns, route.to_sender_ns, behind_ns);
        let let_go_ns = acks.let_go_ns().map_or(i64::MAX, |ns| ns.saturating_sub(1));
        let until_ns = until_ns.min(let_go_ns);
        let newest = acks.newest_by(until_ns).filter(|_| !route.is_at_sender);
        let unheard = newest.filter(|ack| {
            let carrier_ns = self.takes_ns(ack.bytes);
            ack.time_ns.saturating_add(carrier_ns) > until_ns
        });
        unheard.map_or(until_ns, |ack| ack.time_ns.saturating_sub(1))
    }
}

/// What an ACK let go that had the only room in the receiver's window that its sender had heard of waited for that, and
/// for no buffer: ACKs that made some before were lost.
pub(super) fn by_lost_acks(
    told: (Cause, f64),
    released: Released,
    data: Data,
    acks: &Acks,
) -> (Cause, f64) {
    let is_buffer = told.0 == Cause::SendLimitedSendBuffer && released == Released::ByAck;
    if is_buffer && acks.made_no_room_surely(data.end) {
        (Cause::SendLimitedReceiveWindow, told.1)
    } else {
        told
    }
}

#[cfg(test)]
mod tests {
    use super::super::Words;
    use super::*;

    const MS: i64 = 1_000_000;
    /// Picoseconds a byte.
    const SLOW: i64 = 100_000_000;

    /// Whether the sender of a full segment, which takes 105 ms on a link that is known, had heard of an ACK with so many
    /// bytes of data 350 ms before that came over a path of 100 ms.
    fn has_heard_before(bytes: u32) -> bool {
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.arrivals.agree_on(SLOW, SLOW);
        let start = (1 << 32) - 1000;
        let mut acks = Acks::default();
        acks.push(0, start, 60_000, 100 * MS);
        acks.came_with(0, bytes);
        let data = Data::at_ms(350, start + 1000);
        timeline.known_before_release(data, Route::at_receiver(100), &acks) >= 0
    }

    #[test]
    fn an_ack_that_came_with_data_is_heard_of_later_by_what_the_link_takes_for_it() {
        assert!(has_heard_before(0));
        assert!(has_heard_before(1000));
        assert!(!has_heard_before(2000));
    }
}
