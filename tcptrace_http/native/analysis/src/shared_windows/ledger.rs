//! Which ACK let each segment go, where several came while it may have left.
//!
//! Theory of operation. Segments that stand before the slowest link come one by one in its pace, whichever ACKs let them
//! go; those may have come together as well, as the receivers' timers run out together. But what is sent first comes
//! first, on whichever connection, and a window that all share is used up in that order: a segment left with the first
//! ACK that made room for it, which is known from what was in flight when others left. In congestion avoidance each ACK
//! lets go as much as it acknowledges, until the window has grown by a segment, about once in a round trip (RFC 5681,
//! equation 3); in slow start a segment more.

use super::host_pair::HostPair;
use super::release::Ack;
use crate::jitter::CLOSE_NS;
use crate::used_window::Limit;

/// A SYN and a FIN are counted in what was sent, and not in the window: so many connections open and close in a round
/// trip.
pub(super) const FLAGS_BYTES: i64 = 40;

/// What the window of all connections is known to be at least.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ledger {
    window: Option<i64>,
    /// Of all connections so much had been acknowledged by then.
    acked: i64,
}

impl Ledger {
    /// Of all connections so much had been acknowledged when new data left last.
    pub(super) fn acked(self) -> i64 {
        self.acked
    }

    /// Something was lost: the window is another now.
    pub(super) fn had_loss(&mut self) {
        self.window = None;
    }

    /// The window when an ACK has come.
    fn hears(self, ack: &Ack, growth: impl Fn(i64) -> i64) -> Self {
        let is_newer = ack.acked > self.acked && ack.is_of_data;
        let grown = |window: i64| window.saturating_add(if is_newer { growth(window) } else { 0 });
        Ledger {
            window: self.window.map(grown),
            acked: self.acked.max(ack.acked),
        }
    }

    /// Whether a segment up to which so much was sent in all found room.
    fn had_room(self, sent: i64) -> bool {
        let in_flight = sent.saturating_sub(self.acked);
        self.window
            .is_some_and(|window| in_flight <= window.saturating_add(FLAGS_BYTES))
    }
}

impl HostPair {
    /// The ACK that let new data go which comes now; None if that is not known. If the link was idle before it
    /// (`was_idle`) and it had been held (`was_held`), the ACK before had not made enough room.
    pub(super) fn let_go_by(&mut self, was_held: bool, was_idle: bool) -> Option<Ack> {
        let left = self.departures.newest()?;
        let full = i64::from(self.pace.largest_bytes);
        let limit = if self.had_loss {
            Limit::CongestionAvoidance
        } else {
            self.window.limit()
        };
        let growth = |window: i64| match limit {
            Limit::SendBuffer => 0,
            Limit::CongestionAvoidance => {
                full.saturating_mul(full).checked_div(window).unwrap_or(0)
            }
            Limit::SlowStart | Limit::None => full,
        };
        let sent = self.room.sent();
        let from_ns = left.from_ns.saturating_sub(CLOSE_NS);
        let to_ns = left.to_ns.saturating_add(CLOSE_NS);
        let from = self
            .acks
            .partition_point(|ack| ack.acked < self.ledger.acked);
        let mut before = self.ledger;
        let mut found: Option<(Ack, Ledger)> = None;
        let acks = self
            .acks
            .range(from..)
            .take_while(|ack| ack.time_ns <= to_ns);
        for ack in acks.filter(|ack| ack.is_new) {
            let ledger = found
                .map_or(before, |(_, ledger)| ledger)
                .hears(ack, growth);
            if ack.time_ns < from_ns {
                before = ledger;
                continue;
            }
            found = Some((*ack, ledger));
            if ledger.had_room(sent) {
                break;
            }
        }
        let Some((ack, mut ledger)) = found else {
            self.ledger = before;
            return None;
        };
        let in_flight = sent.saturating_sub(ledger.acked);
        let is_less = was_held && was_idle && before.acked < ledger.acked && before.had_room(sent);
        ledger.window = Some(match ledger.window {
            Some(window) if !is_less => window.max(in_flight),
            _ => in_flight,
        });
        self.ledger = ledger;
        Some(ack)
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
            pair.acks.push_back(Ack {
                time_ns: 100 * MS + i64::from(client_port) * 10_000,
                client_port,
                is_new: true,
                is_of_data: true,
                acked,
                of_ns: 0,
            });
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
            let ack = pair.let_go_by(true, segment == 0);
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
    fn what_an_earlier_ack_would_have_let_go_found_a_smaller_window() {
        let mut pair = pair(4, 1);
        pair.ledger.window = Some(8 * FULL);
        assert_eq!(let_go(&mut pair, 1), [Some(1)]);
        assert_eq!(pair.ledger.window, Some(4 * FULL));
    }

    #[test]
    fn data_that_comes_with_no_ack_is_let_go_by_none() {
        assert_eq!(let_go(&mut pair(4, 0), 1), [None]);
    }
}
