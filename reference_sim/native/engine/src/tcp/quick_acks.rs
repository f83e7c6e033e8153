//! When Linux acknowledges: a stock of quick ACKs at the start, afterwards by delay; in
//! "ping-pong" mode, where data of one's own carries ACKs, quick ACKs are held too.
//!
//! As `tcp_input.c` and `tcp_output.c` of Linux 6 have it, but for the adaptive delay, which stays
//! at its least value.

use crate::stack::{Nanoseconds, QuickAcks};

/// What Linux takes for the peer's segment size before it has seen larger ones
/// (`TCP_MSS_DEFAULT`).
const FIRST_SEGMENT_SIZE: u64 = 536;
/// Quick ACKs are for half a window, and at least this many segments (`tcp_incr_quickack`).
const MIN_QUICK: u64 = 2;

/// The state of one receiver.
#[derive(Clone, Copy, Debug)]
pub struct LinuxAcks {
    rules: QuickAcks,
    /// Segments that may still be acknowledged at once.
    quick: u32,
    is_pingpong: bool,
    last_received: Option<Nanoseconds>,
    /// The largest payload seen, or the size of small ones that repeat.
    segment_size: u64,
    last_short: u64,
    /// Segments below the segment size, or pushed ones, since the last ACK.
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

    /// Data came in order. `rto` is this end's own retransmission timeout: after a longer pause
    /// the peer is in slow start and wants ACKs.
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

    /// Old or out-of-window data: the peer seems to have lost ACKs (`tcp_enter_quickack_mode`).
    pub fn received_copy(&mut self, window: u64) {
        self.replenish(window);
        self.is_pingpong = false;
    }

    /// Whether `unacknowledged` bytes in order are acknowledged at once: more than a segment, or
    /// quick ACKs are left and data of one's own is not expected to carry them.
    #[must_use]
    pub fn is_at_once(&self, unacknowledged: u64) -> bool {
        unacknowledged > self.segment_size || self.quick > 0 && !self.is_pingpong
    }

    /// Whether the application's reading of all data makes an ACK due: two short segments came,
    /// or one and this end is not answering (`tcp_cleanup_rbuf`).
    #[must_use]
    pub fn is_due_when_read(&self, unacknowledged: u64) -> bool {
        let has_pushed = self.pushed >= 2 || self.pushed == 1 && !self.is_pingpong;
        unacknowledged > self.segment_size || unacknowledged > 0 && has_pushed
    }

    /// A segment with an ACK leaves; `has_data`: with data of one's own, which soon after data
    /// of the peer is an answer.
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

    /// The timer of a delayed ACK went off: no answer came in time (`tcp_delack_timer_handler`).
    pub fn timed_out(&mut self) {
        self.is_pingpong = false;
    }

    /// The peer's FIN came: this end is expected to close too.
    pub fn peer_closed(&mut self) {
        self.is_pingpong = true;
    }

    /// `tcp_incr_quickack`.
    fn replenish(&mut self, window: u64) {
        let half = (window / (2 * self.segment_size)).max(MIN_QUICK);
        let stock = u32::try_from(half)
            .unwrap_or(u32::MAX)
            .min(self.rules.segments);
        self.quick = self.quick.max(stock);
    }

    /// `tcp_measure_rcv_mss`.
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
    fn the_first_sixteen_segments_are_acknowledged_at_once_and_the_next_short_one_is_not() {
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
    fn an_answer_within_the_delay_starts_pingpong_and_holds_acks() {
        let mut acks = acks();
        acks.received(100, true, WINDOW, RTO, 0);
        acks.sent(true, true, 10 * MS);
        acks.received(226, true, WINDOW, RTO, 20 * MS);
        assert!(!acks.is_at_once(226));
    }

    #[test]
    fn an_answer_after_the_delay_does_not() {
        let mut acks = acks();
        acks.received(100, true, WINDOW, RTO, 0);
        acks.sent(true, true, 45 * MS);
        acks.received(226, true, WINDOW, RTO, 50 * MS);
        assert!(acks.is_at_once(226));
    }

    #[test]
    fn an_ack_that_had_to_wait_for_its_timer_ends_pingpong() {
        let mut acks = acks();
        acks.received(100, true, WINDOW, RTO, 0);
        acks.sent(true, true, 10 * MS);
        acks.received(226, true, WINDOW, RTO, 20 * MS);
        acks.timed_out();
        acks.sent(true, false, 60 * MS);
        acks.received(226, true, WINDOW, RTO, 70 * MS);
        assert!(acks.is_at_once(226));
    }

    #[test]
    fn more_than_one_segment_unacknowledged_is_acknowledged_in_pingpong_too() {
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
