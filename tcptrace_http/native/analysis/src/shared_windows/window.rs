//! The window that all connections of two hosts use together.
//!
//! Theory of operation. An ensemble's window (RFC 2140, section 4; E-TCP) is full when what all connections have in
//! flight fills it. So the data of all is counted as if it were of one stream, in the order in which it comes by, and
//! so is what the ACKs of all acknowledge; from what was outstanding when the sender paused follows what limits it, as
//! it does for a single connection ([`UsedWindow`]).

use super::host_pair::HostPair;
use super::release::Release;
use crate::used_window::{Limit, UsedWindow};

/// Data that an ACK let go comes later than the path takes by no more than this, and what it takes itself.
const LATE_MAX_NS: i64 = 3_000_000;
/// ... and on a long path by a share of it, for round trips vary.
const LATE_RTT_SHARE: i64 = 8;
/// Packets of one host are captured out of their true order by less.
const EARLY_MAX_NS: i64 = 200_000;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SharedWindow {
    used: UsedWindow,
    /// So many bytes were sent, and acknowledged, on all connections.
    sent: i64,
    acked: i64,
    /// When data went by last.
    sent_ns: Option<i64>,
    /// What the sender waited for when it had paused last.
    limit: Limit,
}

impl SharedWindow {
    /// So many bytes more were acknowledged; gives how many were in all.
    pub(super) fn acknowledged(&mut self, newly: i64) -> i64 {
        self.acked = self.acked.saturating_add(newly.max(0));
        self.acked
    }

    /// What a connection had sent is not in flight any more: it is over.
    pub(super) fn gives_up(&mut self, outstanding: i64) {
        self.acked = self.acked.saturating_add(outstanding.max(0));
    }

    /// So many bytes more were sent.
    pub(super) fn sends(&mut self, newly: i64) {
        self.sent = self.sent.saturating_add(newly.max(0));
    }

    pub(super) fn limit(&self) -> Limit {
        self.limit
    }

    /// Offset after what was sent, as if all of it was one stream.
    fn end(&self) -> i64 {
        self.sent.saturating_add(1)
    }

    /// Data was sent again that was sent after the loss before: the window was halved.
    pub(super) fn had_loss(&mut self) {
        let start = self.acked.saturating_add(1).max(self.used.recovers_until());
        self.used.had_loss(start, self.end(), false);
    }
}

impl HostPair {
    /// New data of so many bytes goes by, before it is counted as sent: what it waited for, if it was held.
    pub(super) fn limits(&mut self, time_ns: i64, bytes: u32, release: Release, had_more: bool) {
        let before_ns = self.window.sent_ns.replace(time_ns);
        let (Some(before_ns), Some(path_ns)) = (before_ns, self.to_server_ns) else {
            return;
        };
        let pause_ns = time_ns.saturating_sub(before_ns);
        if self.is_together(pause_ns) {
            return;
        }
        let full_bytes = self.pace.largest_bytes.max(bytes);
        let end = self.window.end();
        let known_by = |time_ns: i64| time_ns.saturating_sub(path_ns).saturating_add(EARLY_MAX_NS);
        self.window_hears(known_by(before_ns));
        self.window.used.stops(end, full_bytes);
        if pause_ns > self.round_trip_ns() {
            // What is known of the window is paced then, and the window is what was (Eggert 1999, section 3.1).
            self.window.used.was_idle();
        }
        let late_ns = LATE_MAX_NS
            .max(path_ns / LATE_RTT_SHARE)
            .saturating_add(self.pace.of(bytes).unwrap_or(0));
        self.window_hears(known_by(time_ns).saturating_sub(late_ns));
        let limit = match self.window.used.limit(end, bytes, false) {
            // Whoever has data fills what the others leave of it.
            Limit::SendBuffer if !self.window.used.is_full() => Limit::None,
            limit => limit,
        };
        if limit == Limit::SendBuffer && had_more && release != Release::None {
            self.window.used.is_of_buffer();
        }
        self.window.limit = limit;
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
    use super::*;

    const FULL: u32 = 1000;

    /// What limits a sender that has so many segments in flight, on whichever connections, each time that it pauses.
    fn limit_after(flights: &[i64]) -> Limit {
        let mut window = SharedWindow::default();
        let mut limit = Limit::None;
        let mut now_ns = 0;
        for flight in flights {
            window.used.stops(window.end(), FULL);
            limit = window.used.limit(window.end(), FULL, false);
            for _ in 0..window.sent.saturating_sub(window.acked) / 1000 {
                now_ns += 1;
                let acked = window.acknowledged(1000);
                window.used.hears(now_ns, acked + 1);
            }
            window.sends(flight * 1000);
        }
        limit
    }

    #[test]
    fn a_window_of_all_that_grows_is_in_slow_start_and_one_that_stays_full_is_a_largest_one() {
        assert_eq!(limit_after(&[2, 4, 8, 16]), Limit::SlowStart);
        assert_eq!(limit_after(&[2, 4, 8, 8, 8]), Limit::SendBuffer);
    }

    #[test]
    fn what_a_closed_connection_had_in_flight_is_outstanding_no_more() {
        let mut window = SharedWindow::default();
        window.sends(3000);
        window.gives_up(2000);
        assert_eq!(window.acknowledged(1000), 3000);
    }

    #[test]
    fn a_loss_halves_the_window_of_all() {
        let mut window = SharedWindow::default();
        window.sends(8000);
        window.used.stops(window.end(), FULL);
        window.had_loss();
        let limit = window.used.limit(window.end(), FULL, false);
        assert_eq!(limit, Limit::CongestionAvoidance);
    }
}
