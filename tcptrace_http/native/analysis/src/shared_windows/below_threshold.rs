//! Data that waited for a window of all connections that was below its threshold.
//!
//! Theory of operation. A window below its threshold is in slow start (RFC 5681, section 3.1), whatever made it so
//! small: the third duplicate ACK where a sender has no fast recovery (Jacobson 1988), a pacer that had let go less
//! than the window when the first ACK came (Visweswaraiah and Heidemann 1997; Eggert 1999, section 3.1), or a timer.
//! It shows: what an ACK let go had found no room, though with all that was in flight, and a segment more, it would
//! have fitted into the threshold. Where no packet was ever missed it takes no segment more: of what was sent again
//! though it had come, as ACKs of other connections are taken for duplicate ones (E-TCP, section 3), all that was in
//! flight is known. From what was in flight follows how many ACKs take the window there.

use super::ack::Ack;
use super::connection::Connection;
use super::host_pair::HostPair;
use super::threshold::OPTIONS_BYTES;
use crate::jitter::CLOSE_NS;

/// A full segment that lay in the server's buffer until this ACK came, while the slowest link was idle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) bytes: u32,
    /// So much of it is new, and counted as sent already.
    pub(super) newly: i64,
    pub(super) by: Ack,
}

impl HostPair {
    /// Data that was held comes: whether the window that it waited for was below its threshold.
    pub(super) fn was_let_go(&mut self, held: Held) {
        let full = i64::from(self.pace.largest_bytes);
        let bytes = i64::from(held.bytes);
        // A short one Nagle's algorithm may have held, and before what was missed something else is in flight.
        let is_full = bytes.saturating_add(OPTIONS_BYTES) >= full && held.newly <= bytes;
        let threshold = self.threshold.bytes(full).filter(|_| is_full);
        let in_flight = self.in_flight_before(held);
        let Some((threshold, in_flight)) = threshold.zip(in_flight) else {
            return;
        };
        let is_sure = self.threshold.is_sure() && !self.missing.had_any();
        let spare = if is_sure { 0 } else { full };
        let needed = in_flight.saturating_add(bytes).saturating_add(spare);
        let since_ns = self.threshold.since_ns().saturating_sub(self.full_way_ns());
        let is_counted = self.begun_anew.is_counted(held.by.time_ns);
        if needed > threshold || is_counted || !self.is_repaired(held.by) {
            return;
        }
        let acks = self.threshold.acks_from(in_flight, full);
        let mut phases = self.phases;
        if !phases.is_below(since_ns, acks) {
            return;
        }
        let from = self
            .acks
            .partition_point(|ack| ack.time_ns < held.by.time_ns);
        let later = self.acks.range(from..);
        for ack in later.filter(|ack| ack.is_new && ack.is_of_data) {
            phases.acknowledged(ack.time_ns);
        }
        self.phases = phases;
    }

    /// Whether all that was lost has come when this ACK came: what is missing is in flight as well.
    fn is_repaired(&self, by: Ack) -> bool {
        let is_whole = self.connections.iter().all(Connection::is_repaired);
        is_whole && !self.may_miss_packets() && self.threshold.is_recovered(by.acked)
    }

    /// What all connections had in flight when the ACK came that let it go.
    pub(super) fn in_flight_before(&self, held: Held) -> Option<i64> {
        let before_ns = held.by.time_ns.saturating_sub(CLOSE_NS);
        let until = self.acks.partition_point(|ack| ack.time_ns < before_ns);
        let before = self.acks.get(until.checked_sub(1)?)?;
        let sent = self.room.sent().saturating_sub(held.newly);
        Some(sent.saturating_sub(before.acked))
    }
}

#[cfg(test)]
mod tests {
    use super::super::pace::Pace;
    use super::*;

    const MS: i64 = 1_000_000;
    const FULL: i64 = 1000;
    /// Of a full segment.
    const WAY_NS: i64 = 101 * MS;

    /// Two hosts with a path of 100 ms, of which a loss has left a threshold of six segments; so many are in flight,
    /// and the ACK of one of them lets another go. Packets were missed.
    fn pair(in_flight: i64) -> HostPair {
        pair_with(true, in_flight)
    }

    fn pair_with(had_hole: bool, in_flight: i64) -> HostPair {
        let mut pair = HostPair::with_path(100 * MS);
        let mut pace = Pace::default();
        pace.follows(MS, 1000);
        pair.pace = pace;
        if had_hole {
            pair.missing.shown_by_hole();
        }
        pair.threshold.is_of(6, 50 * MS);
        pair.phases.had_loss(50 * MS);
        pair.room.sends((in_flight + 1) * FULL);
        for (time_ns, acked) in [(90 * MS, 0), (100 * MS, FULL)] {
            pair.acks.push_back(Ack::of_data(time_ns, 1, acked));
        }
        let by = *pair.acks.back().unwrap();
        pair.was_let_go(Held {
            bytes: 1000,
            newly: FULL,
            by,
        });
        pair
    }

    fn slow_starts(pair: &HostPair) -> Vec<(i64, i64)> {
        let phases = pair.phases_as_let_go();
        let spans = phases.iter();
        spans.map(|it| (it.start_ns, it.end_ns)).collect()
    }

    #[test]
    fn what_waited_though_it_would_have_fitted_into_the_threshold_waited_for_a_slow_start() {
        assert_eq!(slow_starts(&pair(3)), [(50 * MS, i64::MAX)]);
        assert_eq!(slow_starts(&pair(5)), []);
    }

    #[test]
    fn where_nothing_was_missed_a_window_a_segment_below_the_threshold_is_in_slow_start() {
        let below = |in_flight| slow_starts(&pair_with(false, in_flight));
        assert_eq!(below(5), [(50 * MS, 100 * MS + WAY_NS)]);
        assert_eq!(below(6), []);
    }

    #[test]
    fn a_slow_start_below_the_threshold_lasts_for_an_ack_of_each_segment_that_it_lacks() {
        let mut pair = pair(3);
        pair.phases.acknowledged(300 * MS);
        assert_eq!(slow_starts(&pair), [(50 * MS, i64::MAX)]);
        pair.phases.acknowledged(310 * MS);
        assert_eq!(slow_starts(&pair), [(50 * MS, 310 * MS + WAY_NS)]);
    }

    #[test]
    fn a_slow_start_whose_acks_are_counted_from_its_beginning_is_not_counted_anew() {
        let mut pair = pair(3);
        let before = pair.phases;
        assert!(!pair.phases.is_below(60 * MS, 5));
        assert_eq!(pair.phases, before);
    }
}
