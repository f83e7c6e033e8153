//! Which ACK let each segment go, where several came while it may have left.
//!
//! Theory of operation. Segments that stand before the slowest link come one by one in its pace, whichever ACKs let them
//! go; those may have come together as well, as the receivers' timers run out together. But what is sent first comes
//! first, on whichever connection, and a window that all share is used up in that order: a segment left with the first
//! ACK that made room for it, which is known from what was in flight when others left. In congestion avoidance each ACK
//! lets go as much as it acknowledges, until the window has grown by a segment, about once in a round trip (RFC 5681,
//! equation 3); in slow start a segment more.
//!
//! When a segment left is known best where the link was idle: by the ACK that came nearest before it.

use super::ack::Ack;
use super::host_pair::HostPair;
use super::ledger::{Ledger, Newly};
use crate::jitter::CLOSE_NS;
use crate::used_window::Limit;

/// A frame has so many bytes more than the headers of IP and TCP: those of Ethernet (IEEE 802.3, 3.2) are 18.
const FRAME_BYTES: u32 = 18;

impl HostPair {
    /// The ACK that let new data go which comes now; None if that is not known.
    pub(super) fn let_go_by(&mut self, data: Newly) -> Option<Ack> {
        let left = self.departures.newest()?;
        let full = i64::from(self.pace.largest_bytes);
        let sent = self.room.sent();
        // What was held though the link was idle had found no room with any ACK before the one that let it go.
        let found_none = data.was_held && data.was_idle;
        let nearest = if found_none {
            self.nearest_acked(left.to_ns)
        } else {
            None
        };
        let before = |ledger: Ledger| {
            if found_none {
                ledger.had_none(sent, full)
            } else {
                ledger
            }
        };
        let from_ns = left.from_ns.saturating_sub(CLOSE_NS);
        let to_ns = left.to_ns.saturating_add(self.early_ns());
        let known = self.ledger.acked;
        let from = self.acks.partition_point(|ack| ack.acked < known);
        let acks = self.acks.range(from..);
        let acks = acks.take_while(|ack| ack.time_ns <= to_ns);
        let threshold = self.threshold.bytes(full);
        let mut ledger = before(self.ledger);
        let mut found = None;
        for ack in acks.filter(|ack| ack.is_new) {
            ledger = ledger.hears(ack, |window| self.growth(window), threshold);
            if ack.time_ns < from_ns || nearest.is_some_and(|nearest| ack.acked < nearest) {
                ledger = before(ledger);
                continue;
            }
            found = Some(*ack);
            if nearest.is_some() || ledger.had_room(sent, full) {
                break;
            }
        }
        // What the window has no room for that a recovery left was let go in that, by a larger one.
        let is_of_recovery =
            found.is_some_and(|ack| ack.ends_recovery) && !ledger.had_room(sent, full);
        self.ledger = found
            .filter(|_| !is_of_recovery)
            .map_or(ledger, |_| ledger.had(sent));
        found
    }

    /// What an ACK adds to a window of so many bytes: a segment below the threshold (RFC 5681, section 3.1).
    fn growth(&self, window: i64) -> i64 {
        let full = i64::from(self.pace.largest_bytes);
        let is_below = self.threshold.bytes(full).is_some_and(|it| window < it);
        let limit = if is_below {
            Limit::SlowStart
        } else if self.had_loss {
            Limit::CongestionAvoidance
        } else {
            self.window.limit()
        };
        match limit {
            Limit::SendBuffer => 0,
            Limit::CongestionAvoidance => {
                full.saturating_mul(full).checked_div(window).unwrap_or(0)
            }
            Limit::SlowStart | Limit::None => full,
        }
    }

    /// How much had been acknowledged with the ACK that came to the server nearest to this time, when a full segment
    /// left. ACKs that go together come one by one, as far apart as the link takes for one. Nothing comes sooner behind
    /// an ACK than path and link take: if it does, they take less than was thought, for the sake of the frames.
    fn nearest_acked(&mut self, left_ns: i64) -> Option<i64> {
        let bare_ns = self.pace.of(FRAME_BYTES).unwrap_or(0);
        let from_ns = left_ns.saturating_sub(CLOSE_NS);
        let to_ns = left_ns.saturating_add(CLOSE_NS);
        let from = self.acks.partition_point(|ack| ack.time_ns < from_ns);
        let close = self.acks.range(from..);
        let close = close.take_while(|ack| ack.time_ns <= to_ns);
        let mut close = close.filter(|ack| ack.is_new).peekable();
        let early_ns = close.peek()?.time_ns.saturating_sub(left_ns);
        if early_ns <= bare_ns {
            self.ledger.early_ns = self.ledger.early_ns.max(early_ns);
        }
        let left_ns = left_ns.saturating_add(self.ledger.early_ns);
        let came = close.scan(i64::MIN, |came_ns, ack| {
            *came_ns = ack.time_ns.max(came_ns.saturating_add(bare_ns));
            Some((came_ns.saturating_sub(left_ns), ack.acked))
        });
        let nearest = came.min_by_key(|(off_ns, _)| off_ns.saturating_abs());
        nearest.map(|(_, acked)| acked)
    }
}

#[cfg(test)]
mod tests {
    use super::super::pace::Pace;
    use super::*;

    const MS: i64 = 1_000_000;
    const FULL: i64 = 1460;

    /// Two hosts with a path of 20 ms and a link that takes a millisecond for a full segment, between which so many
    /// segments are in flight. ACKs of one each go by at once, 10 us apart, each of another connection.
    fn pair(in_flight: i64, acks: u16) -> HostPair {
        let mut pair = HostPair::with_path(20 * MS);
        let mut pace = Pace::default();
        pace.follows(MS, 1460);
        pair.pace = pace;
        pair.had_loss = true;
        pair.room.sends(in_flight * FULL);
        pair.ledger.window = Some(in_flight * FULL);
        for client_port in 1..=acks {
            let acked = pair.room.acknowledges(FULL);
            pair.acks.push_back(Ack::of_data(
                100 * MS + i64::from(client_port) * 10_000,
                client_port,
                acked,
            ));
        }
        pair
    }

    /// Which connection's ACK let each of so many full segments go, the first of which comes as soon as it may.
    fn let_go(pair: &mut HostPair, segments: i64) -> Vec<Option<u16>> {
        let mut let_go = Vec::new();
        for segment in 0..segments {
            let time_ns = 121 * MS + segment * MS;
            pair.leaves(time_ns, 1460, 0);
            pair.room.sends(FULL);
            let ack = pair.let_go_by(Newly {
                was_held: true,
                was_idle: segment == 0,
            });
            let_go.push(ack.map(|ack| ack.client_port));
        }
        let_go
    }

    #[test]
    fn of_acks_that_come_at_once_each_lets_go_what_it_makes_room_for() {
        let mut pair = pair(4, 3);
        assert_eq!(let_go(&mut pair, 3), [Some(1), Some(2), Some(3)]);
    }

    #[test]
    fn a_window_that_has_grown_by_a_segment_shows_with_the_last_of_them() {
        let mut pair = pair(4, 2);
        assert_eq!(let_go(&mut pair, 3), [Some(1), Some(2), Some(2)]);
        assert_eq!(pair.ledger.window, Some(5 * FULL));
    }

    #[test]
    fn in_slow_start_each_lets_go_a_segment_more() {
        let mut pair = pair(4, 2);
        pair.had_loss = false;
        let both = [Some(1), Some(1), Some(2), Some(2)];
        assert_eq!(let_go(&mut pair, 4), both);
    }

    #[test]
    fn after_a_loss_as_well_below_the_threshold() {
        let mut pair = pair(4, 2);
        pair.threshold.is_of(6, 0);
        let both = [Some(1), Some(1), Some(2), Some(2)];
        assert_eq!(let_go(&mut pair, 4), both);
    }

    #[test]
    fn what_an_earlier_ack_would_have_let_go_found_a_smaller_window() {
        let mut pair = pair(4, 1);
        pair.ledger.window = Some(8 * FULL);
        assert_eq!(let_go(&mut pair, 1), [Some(1)]);
        // It grows with the ACK by a fourth of a segment.
        assert_eq!(pair.ledger.window, Some(4 * FULL + FULL / 4));
    }

    #[test]
    fn behind_a_recovery_the_window_is_the_threshold() {
        let mut pair = pair(4, 2);
        pair.threshold.is_of(3, 0);
        pair.acks[0].ends_recovery = true;
        pair.leaves(121 * MS, 1460, 0);
        pair.room.sends(FULL);
        let ack = pair.let_go_by(Newly {
            was_held: true,
            was_idle: false,
        });
        assert_eq!(ack.map(|ack| ack.client_port), Some(2));
    }

    #[test]
    fn what_left_in_a_recovery_shows_no_larger_window_behind_it() {
        let mut pair = pair(4, 1);
        pair.threshold.is_of(3, 0);
        pair.acks[0].ends_recovery = true;
        let_go(&mut pair, 1);
        assert_eq!(pair.ledger.window, Some(3 * FULL));
    }

    #[test]
    fn of_acks_that_go_at_once_the_first_of_an_idle_link_left_with_the_one_whose_turn_it_was() {
        for (late_ns, port) in [(0, 1), (40_000, 2), (80_000, 3)] {
            let mut pair = pair(4, 3);
            for ack in &mut pair.acks {
                ack.time_ns = 100 * MS;
            }
            // A bare packet takes 39 us, and a full segment 960 us longer.
            pair.leaves(120_960_000 + late_ns, 1460, 0);
            pair.room.sends(FULL);
            let ack = pair.let_go_by(Newly {
                was_held: true,
                was_idle: true,
            });
            assert_eq!(ack.map(|ack| ack.client_port), Some(port));
        }
    }

    #[test]
    fn data_that_comes_with_no_ack_is_let_go_by_none() {
        assert_eq!(let_go(&mut pair(4, 0), 1), [None]);
    }
}
