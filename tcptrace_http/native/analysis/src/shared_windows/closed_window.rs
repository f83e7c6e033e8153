//! How a loss closes the window of all connections: by half of what they had in flight when that left.

use tcptrace_tcp::FULL_SEGMENT_BYTES;

use super::departures::Left;
use super::host_pair::HostPair;
use super::threshold::{half, InFlight};
use crate::jitter::CLOSE_NS;

impl HostPair {
    pub(super) fn full_bytes(&self) -> i64 {
        i64::from(match self.pace.largest_bytes {
            0 => FULL_SEGMENT_BYTES,
            largest => largest,
        })
    }

    /// Whether a missing packet was sent after the loss before.
    pub(super) fn is_of_later_flight(&self, place: usize) -> bool {
        let noticed_ns = self.missing.noticed_ns(place);
        noticed_ns.is_some_and(|ns| ns > self.threshold.closed_ns)
    }

    /// A loss closes the window of all, of what is sent again when this left, and comes; it was missed before, of so many
    /// bytes (`unseen`), or had been seen.
    pub(super) fn closes(
        &mut self,
        (left, time_ns): (Left, i64),
        unseen: i64,
        (is_new, is_by_timer): (bool, bool),
    ) {
        let full_bytes = self.full_bytes();
        // How large they were is not known: when ACKs told of the loss, other data may be most of what is in flight.
        let missing = match is_by_timer {
            true => {
                let since_ns = self.threshold.cleared_ns.max(self.all_went_on_ns());
                self.missing.in_flight(since_ns)
            }
            false => 0,
        };
        let missing = missing.saturating_mul(full_bytes).saturating_add(unseen);
        let latest_ns = left.to_ns.saturating_add(CLOSE_NS);
        let flight = InFlight {
            likely: self.flight_when(left, is_by_timer).saturating_add(missing),
            least: self.in_flight_behind(self.acked_by(latest_ns)),
        };
        self.threshold
            .lost(flight, full_bytes, (is_new, is_by_timer));
        self.threshold.closed_ns = time_ns;
        let noticed_ns = left.likely_ns.saturating_add(self.full_way_ns());
        self.threshold.closes(noticed_ns, self.room.sent());
        if !is_by_timer && !self.no_recovery.is_shown() {
            return self.phases.had_loss(left.likely_ns);
        }
        if is_by_timer {
            self.threshold.cleared = self.room.sent();
            self.threshold.cleared_ns = time_ns;
        }
        let mut phases = self.phases;
        let ran_out_ns = phases.ran_out_ns((left.likely_ns, left.to_ns));
        phases.timed_out(ran_out_ns, self.threshold.acks());
        for ack in self.acks_after(left) {
            phases.acknowledged(ack.time_ns);
        }
        if self.threshold.window_ns > left.likely_ns.saturating_add(CLOSE_NS) {
            phases.has_reached_threshold(self.threshold.window_ns);
        }
        self.phases = phases;
    }

    /// A loss closes the window of its connection, if that has one of its own: by half of what it has in flight.
    pub(super) fn closes_own(&mut self, ports: (u16, u16), unseen: i64, is_new: bool) {
        let full_bytes = self.full_bytes();
        let Some(connection) = self.connection(ports.0, ports.1) else {
            return;
        };
        if is_new || connection.own_threshold.is_none() {
            let flight = connection.in_flight().saturating_add(unseen);
            connection.own_threshold =
                half(flight, full_bytes).map(|segments| segments.saturating_mul(full_bytes));
            connection.part.threshold = connection.own_threshold;
        }
    }

    /// What all connections had in flight when this left, but for what was missed. What new data had left with, ACKs
    /// before this did not bring: they would have let more go.
    fn flight_when(&self, left: Left, is_by_timer: bool) -> i64 {
        let first_ns = if is_by_timer {
            left.likely_ns
        } else {
            left.from_ns.saturating_sub(CLOSE_NS)
        };
        let before = self.acked_by(first_ns);
        let until = self.acks.partition_point(|ack| ack.time_ns <= first_ns);
        let to_ns = left.to_ns.saturating_add(self.early_ns());
        let mut since = self
            .acks
            .range(until..)
            .take_while(|ack| ack.time_ns <= to_ns);
        let known = before.max(self.ledger.acked());
        let told = since.find(|ack| !is_by_timer && ack.acked > known);
        self.in_flight_behind(told.map_or(before, |ack| ack.acked))
    }

    /// By when each connection that is not over had gone on without a hole: what was missing before was sent again since.
    fn all_went_on_ns(&self) -> i64 {
        let open = self.connections.iter().filter(|it| it.over_ns.is_none());
        open.map(|it| it.newest_ns).min().unwrap_or(i64::MIN)
    }

    /// What all connections had been acknowledged by then.
    pub(super) fn acked_by(&self, time_ns: i64) -> i64 {
        let until = self.acks.partition_point(|ack| ack.time_ns <= time_ns);
        let newest = until.checked_sub(1).and_then(|at| self.acks.get(at));
        newest.map_or(0, |ack| ack.acked)
    }

    /// What has been sent by now and was not among that, nor taken for lost.
    fn in_flight_behind(&self, acked: i64) -> i64 {
        let sent = self.room.sent();
        sent.saturating_sub(acked.max(self.threshold.cleared))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_behind_what_the_last_ack_of_a_slow_start_let_go_begins_another() {
        let ended_ns = 300 * CLOSE_NS;
        for (to_ns, slow_starts) in [(ended_ns, 1), (ended_ns + 1, 2)] {
            let mut pair = HostPair::with_path(100 * CLOSE_NS);
            pair.phases.timed_out(ended_ns / 2, 1);
            pair.phases.acknowledged(ended_ns);
            let left = Left {
                from_ns: ended_ns - 1,
                to_ns,
                likely_ns: ended_ns - 1,
            };
            pair.closes((left, 2 * ended_ns), 0, (true, true));
            assert_eq!(pair.phases.iter().count(), slow_starts);
        }
    }
}
