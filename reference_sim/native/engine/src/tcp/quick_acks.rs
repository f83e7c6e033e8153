//! Linux's acknowledgments: quick ACKs at the start, delayed ACKs afterwards. In ping-pong mode, where own
//! data carries ACKs, quick ACKs are also delayed.
//!
//! The code follows `tcp_input.c` and `tcp_output.c` of Linux 6, without the adaptive delay, which stays at
//! its minimum.

use crate::stack::{Nanoseconds, QuickAcks};

/// Linux's initial estimate of the peer's segment size (`TCP_MSS_DEFAULT`).
const FIRST_SEGMENT_SIZE: u64 = 536;
/// Minimum number of quick ACKs. The stock covers half a window (`tcp_incr_quickack`).
const MIN_QUICK: u64 = 2;

/// Number of quick ACKs after a mark (`tcp_enter_quickack_mode(sk, 2)`).
const QUICK_AT_MARK: u32 = 2;

/// The state of one receiver.
#[derive(Clone, Copy, Debug)]
pub struct LinuxAcks {
    rules: QuickAcks,
    /// Remaining segments that are acknowledged at once.
    quick: u32,
    is_pingpong: bool,
    last_received: Option<Nanoseconds>,
    /// Largest payload seen, or the length of repeated small payloads.
    segment_size: u64,
    last_short: u64,
    /// Number of segments below the segment size, or with PSH, since the last ACK.
    pushed: u32,
}

impl LinuxAcks {
    #[must_use]
    pub fn new(rules: QuickAcks) -> Self {
        LinuxAcks {
            rules,
            quick: 0,
            is_pingpong: false,
            last_received: None,
            segment_size: FIRST_SEGMENT_SIZE,
            last_short: 0,
            pushed: 0,
        }
    }

    /// Handle data in order. `rto` is this end's own RTO. After a longer pause, the peer is in slow start and
    /// needs ACKs.
    pub fn received(
        &mut self,
        payload: u64,
        has_push: bool,
        window: u64,
        rto: Nanoseconds,
        now: Nanoseconds,
    ) {
        self.learn_size(payload, has_push);
        let is_restart = self
            .last_received
            .is_none_or(|last| now.saturating_sub(last) > rto);
        if is_restart {
            self.replenish(window);
        }
        self.last_received = Some(now);
    }

    /// Handle old or out-of-window data: the peer seems to have lost ACKs (`tcp_enter_quickack_mode`).
    pub fn received_copy(&mut self, window: u64) {
        self.replenish(window);
        self.is_pingpong = false;
    }

    /// Handle marked data: this segment and the next are acknowledged at once (`tcp_ecn_check_ce`).
    pub fn received_mark(&mut self) {
        self.quick = self.quick.max(QUICK_AT_MARK);
        self.is_pingpong = false;
    }

    /// Return true if `unacknowledged` bytes in order are acknowledged at once. The conditions are more than
    /// one segment, or remaining quick ACKs outside ping-pong mode.
    #[must_use]
    pub fn is_at_once(&self, unacknowledged: u64) -> bool {
        unacknowledged > self.segment_size || self.quick > 0 && !self.is_pingpong
    }

    /// Return true if an ACK is due after the application read all data. The conditions are two short
    /// segments, or one outside ping-pong mode (`tcp_cleanup_rbuf`).
    #[must_use]
    pub fn is_due_when_read(&self, unacknowledged: u64) -> bool {
        let has_pushed = self.pushed >= 2 || self.pushed == 1 && !self.is_pingpong;
        unacknowledged > self.segment_size || unacknowledged > 0 && has_pushed
    }

    /// Record a sent segment with an ACK. With `has_data`, the segment carries own data. Own data soon after
    /// the peer's data is a response.
    pub fn sent(&mut self, acknowledges: bool, has_data: bool, now: Nanoseconds) {
        if acknowledges {
            self.quick = self.quick.saturating_sub(1);
            self.pushed = 0;
        }
        let wait = self.rules.pingpong_timeout_ns;
        if has_data
            && self
                .last_received
                .is_some_and(|last| now.saturating_sub(last) < wait)
        {
            self.is_pingpong = true;
        }
    }

    /// Handle the delayed-ACK timer: no response was sent in time (`tcp_delack_timer_handler`).
    pub fn on_timeout(&mut self) {
        self.is_pingpong = false;
    }

    /// Handle the peer's FIN: this end probably closes too.
    pub fn peer_closed(&mut self) {
        self.is_pingpong = true;
    }

    /// Refill the quick ACKs (`tcp_incr_quickack`).
    fn replenish(&mut self, window: u64) {
        let half = (window / (2 * self.segment_size)).max(MIN_QUICK);
        let stock = u32::try_from(half)
            .unwrap_or(u32::MAX)
            .min(self.rules.segments);
        self.quick = self.quick.max(stock);
    }

    /// Update the segment size (`tcp_measure_rcv_mss`).
    fn learn_size(&mut self, payload: u64, has_push: bool) {
        if payload >= self.segment_size {
            self.segment_size = payload;
            if has_push {
                self.pushed = self.pushed.max(1);
            }
            return;
        }
        self.pushed = (self.pushed + 1).min(2);
        if payload >= FIRST_SEGMENT_SIZE && payload == self.last_short {
            self.segment_size = payload;
        }
        self.last_short = payload;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;
    const RTO: Nanoseconds = 200 * MS;
    const WINDOW: u64 = 64_240;

    fn acks() -> LinuxAcks {
        LinuxAcks::new(QuickAcks {
            segments: 16,
            pingpong_timeout_ns: 40 * MS,
        })
    }

    #[test]
    fn the_first_sixteen_segments_get_immediate_acks_and_the_next_does_not() {
        let mut acks = acks();
        for index in 0..16 {
            acks.received(100, true, WINDOW, RTO, index * MS);
            assert!(acks.is_at_once(100));
            acks.sent(true, false, index * MS);
        }
        acks.received(100, true, WINDOW, RTO, 17 * MS);
        assert!(!acks.is_at_once(100));
    }

    #[test]
    fn a_small_window_gives_few_quick_acks() {
        let mut acks = acks();
        acks.received(100, true, 4 * FIRST_SEGMENT_SIZE, RTO, 0);
        assert_eq!(acks.quick, 2);
    }

    #[test]
    fn a_response_within_the_delay_starts_pingpong_and_delays_acks() {
        let mut acks = acks();
        acks.received(100, true, WINDOW, RTO, 0);
        acks.sent(true, true, 10 * MS);
        acks.received(226, true, WINDOW, RTO, 20 * MS);
        assert!(!acks.is_at_once(226));
    }

    #[test]
    fn a_response_after_the_delay_does_not_start_pingpong() {
        let mut acks = acks();
        acks.received(100, true, WINDOW, RTO, 0);
        acks.sent(true, true, 45 * MS);
        acks.received(226, true, WINDOW, RTO, 50 * MS);
        assert!(acks.is_at_once(226));
    }

    #[test]
    fn an_ack_sent_by_its_timer_ends_pingpong() {
        let mut acks = acks();
        acks.received(100, true, WINDOW, RTO, 0);
        acks.sent(true, true, 10 * MS);
        acks.received(226, true, WINDOW, RTO, 20 * MS);
        acks.on_timeout();
        acks.sent(true, false, 60 * MS);
        acks.received(226, true, WINDOW, RTO, 70 * MS);
        assert!(acks.is_at_once(226));
    }

    #[test]
    fn more_than_one_unacknowledged_segment_is_acknowledged_in_pingpong_too() {
        let mut acks = acks();
        acks.received(100, true, WINDOW, RTO, 0);
        acks.sent(true, true, MS);
        acks.received(1448, true, WINDOW, RTO, 2 * MS);
        assert!(!acks.is_at_once(1448), "just one segment");
        acks.received(100, true, WINDOW, RTO, 2 * MS);
        assert!(acks.is_at_once(1548));
    }

    #[test]
    fn two_short_segments_are_acknowledged_when_the_application_has_read_them() {
        let mut acks = acks();
        acks.received(100, true, WINDOW, RTO, 0);
        acks.sent(true, true, MS);
        acks.received(100, true, WINDOW, RTO, 2 * MS);
        assert!(!acks.is_due_when_read(100));
        acks.received(100, true, WINDOW, RTO, 3 * MS);
        assert!(acks.is_due_when_read(200));
    }
}
