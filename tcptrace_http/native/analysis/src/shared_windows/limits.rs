//! What data of any connection waited for, by the window that all of them use together.

use tcptrace_tcp::DELAYED_ACK_MAX_NS;

use super::ack::Release;
use super::host_pair::HostPair;
use super::ledger::FLAGS_BYTES;
use super::window::Held;
use crate::jitter::{late_max_ns, EARLY_MAX_NS};
use crate::used_window::Limit;

/// How data of a connection left that comes after a pause.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaving {
    pub(super) release: Release,
    /// Its connection had more to send than had come.
    pub(super) had_more: bool,
    /// A clock of the sender let it go.
    pub(super) is_paced: bool,
    /// An ACK let it go, before a clock that had more would have.
    pub(super) cuts_clock_short: bool,
    /// Its connection.
    pub(super) client_port: u16,
}

impl HostPair {
    /// Data was sent again that was sent after the loss before: the window was halved.
    pub(super) fn window_halves(&mut self) {
        let acked = self.room.acked().saturating_add(1);
        let start = acked.max(self.window.used.recovers_until());
        let end = self.room.sent().saturating_add(1);
        self.window.used.had_loss(start, end, false);
    }

    /// New data of so many bytes goes by, of which so many are new and counted as sent: what it waited for, if it was
    /// held.
    pub(super) fn limits(&mut self, time_ns: i64, (bytes, newly): (u32, i64), leaving: Leaving) {
        let before_ns = self.window.sent_ns.replace(time_ns);
        let (Some(before_ns), Some(path_ns)) = (before_ns, self.to_server_ns) else {
            return;
        };
        let pause_ns = time_ns.saturating_sub(before_ns);
        let was_idle = pause_ns > self.round_trip_ns();
        let only = Some(leaving.client_port);
        self.window.only = only.filter(|_| was_idle || self.window.only == only);
        if self.is_together(pause_ns) {
            return;
        }
        let full_bytes = self.pace.largest_bytes.max(bytes);
        // Offset after what was sent before, as if all of it was one stream.
        let end = self.room.sent().saturating_sub(newly).saturating_add(1);
        let known_by = |time_ns: i64| time_ns.saturating_sub(path_ns).saturating_add(EARLY_MAX_NS);
        self.window_hears(known_by(before_ns));
        self.window.used.stops(end, full_bytes);
        let outstanding = self.window.used.outstanding();
        if self
            .largest
            .is_exceeded_by(outstanding, i64::from(full_bytes))
        {
            self.phases.was_not_largest();
        }
        if self.window.used.exceeds_told() {
            self.phases.had_no_buffer(before_ns);
            self.window.fillers = None;
        }
        if was_idle {
            // What is known of the window is paced then, and the window is what was (Eggert 1999, section 3.1).
            self.window.used.was_idle();
        }
        if self.has_nothing_in_flight(end, known_by(time_ns)) {
            if !leaving.had_more {
                self.was_quiet(time_ns);
            }
            self.restarts_paced(time_ns, before_ns);
            self.threshold.was_idle(before_ns);
            self.window_begins_anew(time_ns);
        }
        if leaving.is_paced {
            self.window.used.is_paced();
        }
        let late_ns = late_max_ns((path_ns, self.pace.of(bytes).unwrap_or(0)), None);
        self.window_hears(known_by(time_ns).saturating_sub(late_ns));
        let was_known = self.window.used.buffer().is_some();
        // What was lost may have lowered it though nothing of that was seen: the first segments of connections, say.
        let limit = self.window.used.limit(end, bytes, self.had_loss);
        let needed = outstanding.saturating_add(i64::from(full_bytes));
        let known = self.largest.bytes.or(self.window.used.buffer());
        let is_paced_up = self.largest.is_paced_up(needed, pause_ns, known);
        let limit = match limit {
            Limit::SlowStart if is_paced_up && self.is_shared => Limit::SendBuffer,
            limit => limit,
        };
        if limit == Limit::SendBuffer && was_known && leaving.had_more && !self.had_loss {
            let next = (leaving.client_port, newly);
            self.are_full_together(known_by(before_ns), i64::from(full_bytes), next);
        }
        let limit = self.window.of_all(limit, was_known && self.is_shared);
        if limit == Limit::SendBuffer {
            self.window.used.is_told_full();
        }
        if limit == Limit::SendBuffer && leaving.had_more && leaving.release != Release::None {
            self.window.used.is_of_buffer();
            if self.window.only.is_some() {
                self.window.of_one = self.window.used.buffer();
            }
        }
        let held = Held {
            before_ns,
            time_ns,
            was_known,
            cuts_clock_short: leaving.cuts_clock_short,
        };
        self.window.waited(limit, held);
    }

    /// New data comes behind which nothing is in flight: if that was so for longer than any ACK is delayed, and nothing
    /// is missing, whatever is sent next had waited for no window until then.
    fn was_quiet(&mut self, time_ns: i64) {
        let newest_ns = self.acks.back().map(|ack| ack.time_ns);
        let quiet_ns = newest_ns.map_or(0, |ns| time_ns.saturating_sub(ns));
        let is_long = quiet_ns > self.round_trip_ns().saturating_add(DELAYED_ACK_MAX_NS);
        if is_long && !self.may_miss_packets() {
            self.quiet_until_ns = Some(time_ns);
        }
    }

    /// Whether all up to `end` was acknowledged by then, but for SYNs and FINs.
    fn has_nothing_in_flight(&self, end: i64, until_ns: i64) -> bool {
        let until = self.acks.partition_point(|ack| ack.time_ns <= until_ns);
        let newest = until.checked_sub(1).and_then(|at| self.acks.get(at));
        newest.is_some_and(|ack| end.saturating_sub(ack.acked) <= FLAGS_BYTES)
    }

    /// The window hears the ACKs that went by until then.
    fn window_hears(&mut self, until_ns: i64) {
        let heard_ns = self.window.used.heard_until_ns();
        let from = self.acks.partition_point(|ack| ack.time_ns <= heard_ns);
        let acks = self.acks.range(from..);
        for ack in acks.take_while(|ack| ack.time_ns <= until_ns) {
            self.window
                .used
                .hears(ack.time_ns, ack.acked.saturating_add(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ack::Ack;
    use super::*;
    use trace_model::IpAddress;

    const FULL: u32 = 1000;

    #[test]
    fn a_loss_halves_the_window_of_all() {
        let address = IpAddress {
            is_v6: false,
            octets: [0; 16],
        };
        let mut pair = HostPair::new(address, address);
        pair.room.sends(8000);
        pair.window.used.stops(8001, FULL);
        pair.window_halves();
        let limit = pair.window.used.limit(8001, FULL, false);
        assert_eq!(limit, Limit::CongestionAvoidance);
    }

    /// What a sender of several connections waited for last that had so many segments in flight each time it stopped, on a
    /// path of 100 ms.
    fn limit_of_flights(pair: &mut HostPair, flights: &[i64]) -> Limit {
        const MS: i64 = 1_000_000;
        let (mut time_ns, mut unacked) = (1000 * MS, 0);
        pair.window.sent_ns = Some(0);
        for (client_port, flight) in (1..).zip(flights) {
            time_ns += 120 * MS;
            for at in 0..unacked {
                // The first of them let it go, and the others what comes with it.
                if at == 1 {
                    goes_on(pair, client_port, time_ns);
                }
                let acked = pair.room.acknowledges(i64::from(FULL));
                let ack_ns = time_ns + at * MS / 10 - 100 * MS;
                pair.acks.push_back(Ack::of_data(ack_ns, 1, acked));
            }
            pair.room.sends(flight * i64::from(FULL));
            pair.window.sent_ns = Some(time_ns + 30 * MS);
            unacked = *flight;
        }
        goes_on(pair, 1, time_ns + 120 * MS);
        pair.window.limit()
    }

    fn goes_on(pair: &mut HostPair, client_port: u16, time_ns: i64) {
        let leaving = Leaving {
            release: Release::Other,
            had_more: true,
            is_paced: false,
            cuts_clock_short: false,
            client_port,
        };
        pair.limits(time_ns, (FULL, 0), leaving);
    }

    #[test]
    fn what_slow_start_would_have_made_of_a_window_tells_of_no_buffer_once_something_was_lost() {
        let flights = [2, 4, 8, 16, 16, 16];
        for (had_loss, limit) in [
            (false, Limit::SendBuffer),
            (true, Limit::CongestionAvoidance),
        ] {
            let mut pair = HostPair::with_path(100_000_000);
            pair.had_loss = had_loss;
            assert_eq!(limit_of_flights(&mut pair, &flights), limit);
        }
    }

    /// Whether new data ends a silence, so long after all was acknowledged, on a path of 100 ms.
    fn ends_silence(after_ms: i64) -> bool {
        const MS: i64 = 1_000_000;
        let mut pair = HostPair::with_path(100 * MS);
        pair.acks.push_back(Ack::of_data(1000 * MS, 1, 1000));
        pair.was_quiet((1000 + after_ms) * MS);
        pair.quiet_until_ns.is_some()
    }

    #[test]
    fn no_window_held_anything_once_nothing_was_in_flight_for_longer_than_acks_are_delayed() {
        assert!(ends_silence(700));
        assert!(!ends_silence(590));
    }
}
