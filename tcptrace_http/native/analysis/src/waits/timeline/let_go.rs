//! Behind a slow link data comes later than an ACK lets it go, by what that link takes for it.

use super::super::acks::Acks;
use super::{Data, Route, Timeline};
use crate::jitter::RELEASE_MAX_NS;

/// What distances agree on is known to this share of it: options are as much of the headers.
const TAKES_VARY_SHARE: i64 = 40;
/// ... and to this share surely, whatever chance they agree by.
const UNSURE_SHARE: i64 = 4;

impl Timeline {
    /// How much longer than a packet without payload the slowest link takes for data at the least, near its receiver,
    /// if it comes just as much later than an ACK lets it go, or if nothing stood before it there: no ACK can have let
    /// it go that came later.
    pub(super) fn let_go_after_ns(&self, data: Data, route: Route, acks: &Acks) -> Option<i64> {
        // Before a sender the slowest link is still to come.
        let is_behind_link = !route.is_at_sender && route.to_sender_ns > route.to_receiver_ns;
        let takes_ns = self.on_link_ns(data.bytes, 0).filter(|_| is_behind_link)?;
        let after_ns = route.to_sender_ns.saturating_add(takes_ns);
        if acks.let_go_within(data.at.time_ns, after_ns, self.link_slack_ns() / 2) {
            return Some(takes_ns.saturating_sub(takes_ns / TAKES_VARY_SHARE));
        }
        let unsure_ns = (takes_ns / UNSURE_SHARE).max(RELEASE_MAX_NS);
        let least_ns = takes_ns.saturating_sub(unsure_ns);
        // A way that was measured behind other connections' data is longer than what an ACK takes.
        let least_way_ns = data.sharing.to_server_ns.unwrap_or(i64::MAX);
        let is_idle = self.is_link_idle(takes_ns, data) && route.to_sender_ns <= least_way_ns;
        (is_idle && least_ns > 0).then_some(least_ns)
    }

    /// Whether nothing can have stood before `data` where the slowest link takes so long for it, nor be missing before it.
    fn is_link_idle(&self, takes_ns: i64, data: Data) -> bool {
        let gap_ns = self
            .sent
            .map(|(sent, _)| data.at.time_ns.saturating_sub(sent.time_ns));
        let is_behind = gap_ns.is_some_and(|gap_ns| gap_ns >= takes_ns.saturating_mul(2));
        is_behind && data.sharing.queued_ns == 0 && !data.opens_hole
    }
}

#[cfg(test)]
mod tests {
    use super::super::Words;
    use super::*;
    use crate::arrivals::Arrivals;
    use crate::shared_windows::Sharing;
    use trace_model::rows::Cause;

    const MS: i64 = 1_000_000;

    /// What held the third of three segments of 1,000 bytes, each of which takes 200 ms on the link: the ACK of the
    /// first, if that was not too late, opened a window of two.
    fn cause_of_third(ack_ms: i64, came_ms: i64) -> Option<Cause> {
        cause_behind_acks(&[(ack_ms, 1000), (ack_ms + 190, 2000)], 2000, came_ms)
    }

    /// ... if so much was acknowledged at these times, each with so large a window.
    fn cause_behind_acks(acked: &[(i64, i64)], window: u32, came_ms: i64) -> Option<Cause> {
        let mut link = Arrivals::default();
        for _ in 0..3 {
            link.came_after(200 * MS, 1000, 1, 500 * MS);
        }
        let route = Route::at_receiver(160);
        let first = (1 << 32) - 1500;
        let mut acks = Acks::default();
        acks.push(MS, first, window, 160 * MS);
        for (time_ms, bytes) in acked {
            acks.push(time_ms * MS, first + bytes, window, 160 * MS);
        }
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        for (time_ms, end) in [(400, 1000), (600, 2000), (came_ms, 3000)] {
            let sharing = Sharing {
                link,
                to_server_ns: Some(160 * MS),
                ..Sharing::default()
            };
            let data = Data {
                sharing,
                ..Data::at_ms(time_ms, first + end)
            };
            timeline.new_data(data, None, route, &acks);
        }
        let told = timeline.between(600 * MS, came_ms * MS).last();
        told.map(|piece| piece.cause)
    }

    #[test]
    fn behind_a_slow_link_no_ack_that_came_since_let_data_go_that_an_ack_before_it_made_room_for() {
        let told = cause_of_third(550, 550 + 160 + 190);
        assert_eq!(told, Some(Cause::SendLimitedReceiveWindow));
    }

    /// Whether the ACK of all before it let data go that came so much later.
    fn is_let_go_after(later_ms: i64) -> bool {
        let told = cause_behind_acks(&[(600, 1000), (1000, 2000)], 60_000, 1000 + later_ms);
        told != Some(Cause::ServerDataUnavailable)
    }

    #[test]
    fn what_came_sooner_than_an_idle_link_brings_it_no_ack_let_go() {
        assert!(is_let_go_after(160 + 200));
        assert!(!is_let_go_after(160 + 100));
        assert!(is_let_go_after(160 + 170), "what it takes is an estimate");
    }
}
