//! The window of all connections since a pacer has begun it anew.
//!
//! Theory of operation. A window that is known from before is paced when connections go on behind a silence, or a new one
//! behind others that have sent all they had: the first ACK of what a pacer has let go leaves of it what is in flight
//! then, if more waits to be sent (Visweswaraiah and Heidemann 1997; Eggert 1999, sections 3.1 and 4.2). So that is known
//! to the byte, and the ACKs that take it to its threshold are, though nothing was seen that found no room below it.

use super::ack::Ack;
use super::connection::Connection;
use super::host_pair::HostPair;
use super::threshold::OPTIONS_BYTES;
use crate::jitter::CLOSE_NS;

/// A sender takes a silence for one when its timer would have run out: a round trip and four deviations, of which the
/// first is half of that (RFC 6298, section 2.2). After three round trips none is in doubt.
const SILENT_ROUND_TRIPS: i64 = 3;

/// The very ACK that leaves the window opens it as well: by then nothing has waited for what it left.
const OF_FIRST_ACK: u32 = 1;

impl HostPair {
    /// New data comes of which so much is counted as sent already, let go by that ACK, as far as it is known.
    pub(super) fn goes_on_anew(&mut self, time_ns: i64, newly: i64, by: Option<Ack>) {
        if self.opens_behind_all(time_ns) || self.is_behind_silence(time_ns, newly) {
            let before_ns = self.came_ns.unwrap_or(time_ns);
            self.begun_anew.is_another();
            self.begun_anew.paced = Some((before_ns, time_ns));
            return;
        }
        let Some((before_ns, since_ns)) = self.begun_anew.paced else {
            return;
        };
        let is_of_paced = |ack: &Ack| ack.is_new && ack.is_of_data && ack.of_ns >= since_ns;
        let Some(at) = self.acks.iter().position(is_of_paced) else {
            return;
        };
        let first = self.acks.get(at).copied();
        let acked = at.checked_sub(1).and_then(|at| self.acks.get(at));
        let (Some(first), Some(acked)) = (first, acked.map(|ack| ack.acked)) else {
            return;
        };
        let left_ns = self.departures.newest().map_or(time_ns, |left| left.to_ns);
        if first.time_ns > left_ns.saturating_add(self.early_ns()) {
            return;
        }
        self.begun_anew.paced = None;
        // Where nothing goes with that ACK nothing waited, and the window is what it was.
        if by.is_some_and(|by| by.acked == first.acked) {
            let in_flight = self.room.sent().saturating_sub(newly).saturating_sub(acked);
            self.begins_anew(before_ns, in_flight, first);
        }
    }

    /// The window is what was in flight when that ACK came, behind what had come at `before_ns`.
    fn begins_anew(&mut self, before_ns: i64, in_flight: i64, first: Ack) {
        let full = i64::from(self.pace.largest_bytes);
        let is_whole = self.connections.iter().all(Connection::is_repaired);
        let threshold = self.threshold.bytes(full);
        let Some(threshold) = threshold.filter(|_| is_whole && !self.may_miss_packets()) else {
            return;
        };
        let left = threshold.saturating_sub(in_flight.max(full));
        let segments = left
            .saturating_add(full)
            .saturating_sub(1)
            .checked_div(full);
        let acks = u32::try_from(segments.unwrap_or(0)).unwrap_or(0);
        let since_ns = before_ns.saturating_sub(self.full_way_ns());
        let mut phases = self.phases;
        let acks = acks.saturating_sub(OF_FIRST_ACK);
        if acks == 0 || !phases.is_left_below(since_ns, acks) {
            return;
        }
        let from = self.acks.partition_point(|ack| ack.acked <= first.acked);
        let later = self.acks.range(from..);
        for ack in later.filter(|ack| ack.is_new && ack.is_of_data) {
            phases.acknowledged(ack.time_ns);
        }
        self.phases = phases;
        self.begun_anew.counted_ns = Some(first.time_ns);
    }

    /// Whether a connection has opened by now behind others that had sent all they had when its SYN came.
    fn opens_behind_all(&mut self, time_ns: i64) -> bool {
        let way_ns = self.full_way_ns();
        let looked_ns = self.begun_anew.looked_ns;
        let came_ns = time_ns.saturating_sub(way_ns);
        let is_behind = |it: &Connection| {
            let before = |other: &&Connection| other.syn_ns < it.syn_ns;
            let has_all_sent = |other: &Connection| {
                other.ended.is_some() && other.sent_ns <= it.syn_ns.saturating_add(way_ns)
            };
            let mut others = self.connections.iter().filter(before).peekable();
            others.peek().is_some() && others.all(has_all_sent)
        };
        let new = |it: &&Connection| it.syn_ns > looked_ns && it.syn_ns <= came_ns;
        let is_paced = self.connections.iter().filter(new).any(is_behind);
        self.begun_anew.looked_ns = looked_ns.max(came_ns);
        is_paced
    }

    /// Whether nothing was in flight, and nothing was sent, for so long before data that comes.
    fn is_behind_silence(&self, time_ns: i64, newly: i64) -> bool {
        let silent_ns = self.came_ns.map_or(0, |ns| time_ns.saturating_sub(ns));
        let least_ns = self.round_trip_ns().saturating_mul(SILENT_ROUND_TRIPS);
        let left_ns = time_ns.saturating_sub(self.full_way_ns());
        let acked = self.acked_by(left_ns.saturating_add(CLOSE_NS));
        let sent = self.room.sent().saturating_sub(newly);
        let in_flight = sent.saturating_sub(acked);
        silent_ns > least_ns && in_flight <= OPTIONS_BYTES && !self.may_miss_packets()
    }
}

#[cfg(test)]
mod tests {
    use super::super::begun_anew::BegunAnew;
    use super::super::pace::Pace;
    use super::*;
    use trace_model::SeqNumber;

    const MS: i64 = 1_000_000;
    const FULL: i64 = 1000;
    /// Of a full segment.
    const WAY_NS: i64 = 101 * MS;

    /// Two hosts with a path of 100 ms, of which a loss has left a threshold of so many segments.
    fn pair(segments: i64) -> HostPair {
        let mut pair = HostPair::with_path(100 * MS);
        let mut pace = Pace::default();
        pace.follows(MS, 1000);
        pair.pace = pace;
        pair.threshold.is_of(segments, 0);
        pair.phases.had_loss(0);
        pair
    }

    fn opens(pair: &mut HostPair, client_port: u16, syn_ms: i64) {
        let ports = (client_port, 80);
        let connection = Connection::new(syn_ms * MS, ports, SeqNumber(0), true);
        pair.connections.push_back(connection);
    }

    /// A full segment comes then, let go by the newest ACK, if by any.
    fn comes(pair: &mut HostPair, time_ms: i64, is_by_ack: bool) {
        pair.leaves(time_ms * MS, 1000, 0);
        pair.room.sends(FULL);
        let by = pair.acks.back().copied().filter(|_| is_by_ack);
        pair.goes_on_anew(time_ms * MS, FULL, by);
        pair.came_ns = Some(time_ms * MS);
    }

    fn acknowledges(pair: &mut HostPair, time_ms: i64, of_ms: i64, bytes: i64) {
        let acked = pair.room.acknowledges(bytes);
        pair.phases.acknowledged(time_ms * MS);
        pair.acks.push_back(Ack {
            of_ns: of_ms * MS,
            ..Ack::of_data(time_ms * MS, 2, acked)
        });
    }

    /// When a slow start begins and ends, and since when it lets go what comes, with this threshold: a connection opens
    /// behind one that has sent all it had or not, two segments of it are in flight when the first is acknowledged, and
    /// that lets the next one go or not.
    fn slow_starts(segments: i64, has_ended: bool, is_by_ack: bool) -> Vec<(i64, i64, i64)> {
        let mut pair = pair(segments);
        opens(&mut pair, 1, 0);
        acknowledges(&mut pair, 190, 0, 0);
        if let Some(first) = pair.connections.front_mut().filter(|_| has_ended) {
            first.ended = Some(SeqNumber(1));
        }
        opens(&mut pair, 2, 200);
        comes(&mut pair, 310, false);
        comes(&mut pair, 320, false);
        acknowledges(&mut pair, 330, 310, FULL);
        comes(&mut pair, 431, is_by_ack);
        for time_ms in [440, 450, 460] {
            acknowledges(&mut pair, time_ms, 431, FULL);
        }
        let phases = pair.phases_as_let_go();
        let in_ms = |it: super::super::SlowStart| {
            (
                (it.start_ns - WAY_NS) / MS,
                (it.end_ns - WAY_NS) / MS,
                (it.lets_go_ns - WAY_NS) / MS,
            )
        };
        phases.iter().map(in_ms).collect()
    }

    #[test]
    fn a_window_that_is_paced_behind_others_begins_with_what_is_in_flight_at_the_first_ack() {
        assert_eq!(slow_starts(5, true, true).len(), 1);
        let (_, end_ms, lets_go_ms) = slow_starts(5, true, true)[0];
        assert_eq!(
            (end_ms, lets_go_ms),
            (450, 439),
            "the second takes it there"
        );
        assert_eq!(slow_starts(3, true, true), [], "with the first ACK");
    }

    #[test]
    fn a_window_is_what_it_was_where_others_go_on_or_nothing_waits_for_the_first_ack() {
        assert_eq!(slow_starts(5, false, true), []);
        assert_eq!(slow_starts(5, true, false), []);
    }

    #[test]
    fn a_silence_of_three_round_trips_with_nothing_in_flight_begins_a_window_anew() {
        for (after_ms, in_flight, is_silence) in
            [(301, 0, true), (299, 0, false), (301, FULL, false)]
        {
            let mut pair = pair(5);
            pair.came_ns = Some(1000 * MS);
            pair.room.sends(in_flight + FULL);
            assert_eq!(
                pair.is_behind_silence((1000 + after_ms) * MS, FULL),
                is_silence
            );
        }
    }

    #[test]
    fn acks_are_counted_from_the_one_that_began_the_window_until_it_is_another() {
        let mut begun = BegunAnew {
            counted_ns: Some(5),
            ..BegunAnew::default()
        };
        assert!(begun.is_counted(5) && !begun.is_counted(4));
        begun.is_another();
        assert!(!begun.is_counted(5));
    }
}
