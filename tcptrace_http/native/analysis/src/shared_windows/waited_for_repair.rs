//! What waits for a repair, or goes on before it: by that it shows whether the server has a recovery.

use tcptrace_tcp::DUPLICATE_ACKS;

use super::below_threshold::Held;
use super::host_pair::HostPair;
use super::no_recovery::Told;
use super::threshold::OPTIONS_BYTES;
use crate::jitter::CLOSE_NS;

impl HostPair {
    /// Data that was held comes: whether it waited for a repair, as behind no recovery.
    pub(super) fn waited_for_repair(&mut self, held: Held, client_port: u16) {
        let told = self.no_recovery.told().filter(|_| self.is_shared);
        let Some(told) = told.filter(|it| it.client_port != client_port) else {
            return;
        };
        let is_later = held.by.time_ns > told.left.to_ns.saturating_add(CLOSE_NS);
        if !is_later || self.is_over(told, held.by.time_ns.saturating_sub(CLOSE_NS)) {
            return;
        }
        let full = i64::from(self.pace.largest_bytes);
        let bytes = i64::from(held.bytes);
        let is_full = bytes.saturating_add(OPTIONS_BYTES) >= full && held.newly <= bytes;
        let threshold = self.threshold.bytes(full).filter(|_| is_full);
        let Some((threshold, in_flight)) = threshold.zip(self.in_flight_before(held)) else {
            return;
        };
        let more = i64::from(DUPLICATE_ACKS).saturating_mul(full);
        let needed = in_flight.saturating_add(bytes).saturating_add(full);
        if needed <= threshold.saturating_add(more) {
            self.no_recovery.has_waited();
        }
    }

    /// New data comes: whether it left in a recovery, of which a window of one segment has no room for it.
    pub(super) fn goes_on_unrepaired(&mut self) {
        let told = self.no_recovery.told().filter(|_| self.is_shared);
        let Some((told, newest)) = told.zip(self.departures.newest()) else {
            return;
        };
        let until_ns = newest.to_ns.saturating_add(CLOSE_NS);
        let is_later = newest.from_ns > told.left.to_ns.saturating_add(CLOSE_NS);
        if is_later && !self.is_over(told, until_ns) {
            self.no_recovery.has_gone_on();
        }
    }

    /// Whether its repair was acknowledged by then; or that of another loss, right before it or since, which leaves a
    /// smaller window than a recovery has.
    fn is_over(&self, told: Told, until_ns: i64) -> bool {
        let left_ns = told.left.from_ns;
        let since_ns = left_ns.saturating_sub(self.round_trip_ns());
        let from = self.acks.partition_point(|ack| ack.time_ns <= since_ns);
        let between = self.acks.range(from..);
        let mut between = between.take_while(|ack| ack.time_ns <= until_ns);
        between.any(|ack| {
            let is_own = ack.client_port == told.client_port && ack.time_ns > left_ns;
            ack.is_new && is_own || ack.ends_recovery
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::ack::Ack;
    use super::super::departures::Left;
    use super::super::pace::Pace;
    use super::*;

    const MS: i64 = 1_000_000;
    const FULL: i64 = 1000;

    fn left_at(time_ms: i64) -> Left {
        Left {
            from_ns: time_ms * MS,
            to_ns: time_ms * MS,
            likely_ns: time_ms * MS,
        }
    }

    /// Two hosts with a path of 100 ms. A loss has left a threshold of two segments, of which a copy left at 300 ms on the
    /// second connection, and so many segments are in flight.
    fn pair(in_flight: i64) -> HostPair {
        let mut pair = HostPair::with_path(100 * MS);
        let mut pace = Pace::default();
        pace.follows(MS, 1000);
        pair.pace = pace;
        pair.is_shared = true;
        pair.threshold.is_of(2, 300 * MS);
        pair.room.sends((in_flight + 1) * FULL);
        pair.acks.push_back(Ack::of_data(150 * MS, 1, 0));
        tells(&mut pair);
        pair
    }

    fn tells(pair: &mut HostPair) {
        pair.no_recovery.lost(left_at(300), 2, (true, false));
    }

    /// An ACK of this connection at that time lets data of the first one go.
    fn lets_go(pair: &mut HostPair, time_ms: i64, client_port: u16) {
        let by = Ack::of_data(time_ms * MS, client_port, FULL);
        pair.acks.push_back(by);
        let held = Held {
            bytes: 1000,
            newly: FULL,
            by,
        };
        pair.waited_for_repair(held, 1);
    }

    fn times(pair: &HostPair) -> u32 {
        pair.no_recovery.times()
    }

    #[test]
    fn what_waits_for_a_repair_though_a_recovery_has_room_for_it_shows_that_there_is_none() {
        for (in_flight, shown) in [(3, 1), (4, 0)] {
            let mut pair = pair(in_flight);
            lets_go(&mut pair, 400, 2);
            assert_eq!(times(&pair), shown);
            assert!(!pair.no_recovery.is_shown(), "by chance");
        }
        let mut pair = pair(3);
        lets_go(&mut pair, 400, 2);
        tells(&mut pair);
        pair.acks.pop_back();
        lets_go(&mut pair, 400, 2);
        assert!(pair.no_recovery.is_shown());
    }

    #[test]
    fn behind_a_repair_the_window_is_the_threshold() {
        let mut pair = pair(3);
        pair.acks.push_back(Ack::of_data(390 * MS, 2, 0));
        lets_go(&mut pair, 400, 3);
        assert_eq!(times(&pair), 0);
    }

    #[test]
    fn another_recovery_that_ended_right_before_may_have_left_the_threshold() {
        for (ended_ms, shown) in [(150, 1), (250, 0)] {
            let mut pair = pair(3);
            pair.acks.push_back(Ack {
                ends_recovery: true,
                ..Ack::of_data(ended_ms * MS, 3, 0)
            });
            lets_go(&mut pair, 400, 2);
            assert_eq!(times(&pair), shown);
        }
    }

    #[test]
    fn who_goes_on_before_the_repair_is_acknowledged_has_a_recovery() {
        for (left_ms, is_shown) in [(350, false), (300, true)] {
            let mut pair = pair(3);
            pair.no_recovery.has_waited();
            pair.no_recovery.has_waited();
            tells(&mut pair);
            pair.leaves((left_ms + 101) * MS, 1000, 0);
            pair.goes_on_unrepaired();
            assert_eq!(pair.no_recovery.is_shown(), is_shown);
        }
    }

    #[test]
    fn where_there_is_no_recovery_acks_that_tell_of_a_loss_leave_a_slow_start_as_a_timer_does() {
        for (times, slow_starts) in [(0, 0), (2, 1)] {
            let mut pair = pair(8);
            for _ in 0..times {
                pair.no_recovery.has_waited();
            }
            pair.closes((left_at(300), 401 * MS), 0, (true, false));
            assert_eq!(pair.phases.iter().count(), slow_starts);
            assert_eq!(pair.threshold.cleared_ns, 0);
        }
    }
}
