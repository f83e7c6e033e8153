//! The window that a sender uses, as a capture next to it shows: what is outstanding when it stops.
//!
//! Where ACKs come one by one, on a slow link, a sender sends a segment or two for each: its flights stay
//! small while its window grows. What is outstanding tells the one from the other.

use super::pace::Limit;

/// Rounds without growth that neither slow start nor congestion avoidance makes without a loss: ACK by ACK, no
/// round ends with less outstanding than the one before.
const STAGNANT_MIN: u32 = 1;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UsedWindow {
    /// What is outstanding since the newest segment was sent.
    outstanding: i64,
    largest_of_message: i64,
    /// The largest since the window may have been reset.
    largest: i64,
    /// Rounds of this message in which it did not grow, and where the present one ends.
    stagnant: u32,
    round_end: i64,
    /// A segment more or less is how ACKs and segments fall together.
    slack: i64,
    had_loss: bool,
    /// A send buffer is this large, as an earlier message has shown.
    buffer: Option<i64>,
}

impl UsedWindow {
    /// A segment up to `end` was sent when all up to `acked` was acknowledged.
    pub(super) fn sent(&mut self, end: i64, acked: i64, full_bytes: u32) {
        self.outstanding = end.saturating_sub(acked.max(1));
        self.slack = i64::from(full_bytes);
    }

    /// Another message begins: what was sent before says nothing of how it grows.
    pub(super) fn begins(&mut self) {
        self.largest_of_message = 0;
        self.stagnant = 0;
        self.round_end = 0;
    }

    /// The sender waits, with all sent up to `end`; `acked` is acknowledged.
    pub(super) fn waits(&mut self, end: i64, acked: i64) {
        if self.outstanding > self.largest_of_message {
            self.largest_of_message = self.outstanding;
            self.stagnant = 0;
            self.round_end = end;
        } else if acked >= self.round_end {
            self.stagnant = self.stagnant.saturating_add(1);
            self.round_end = end;
        }
        self.largest = self.largest.max(self.outstanding);
        if self.is_stagnant() {
            self.buffer = Some(self.largest_of_message);
        }
    }

    fn is_stagnant(self) -> bool {
        self.stagnant >= STAGNANT_MIN && !self.had_loss
    }

    fn fills_buffer(self) -> bool {
        let room = self
            .buffer
            .map(|buffer| buffer.saturating_sub(self.outstanding));
        room.is_some_and(|room| (0..=self.slack).contains(&room))
    }

    /// The sender was idle for longer than its retransmission timeout: its window may begin anew.
    pub(super) fn was_idle(&mut self) {
        *self = UsedWindow {
            had_loss: self.had_loss,
            buffer: self.buffer,
            ..UsedWindow::default()
        };
    }

    pub(super) fn had_loss(&mut self) {
        self.had_loss = true;
        self.outstanding = 0;
        self.largest = 0;
        self.stagnant = 0;
    }

    /// What limits it, called after [`UsedWindow::waits`].
    pub(super) fn limit(self) -> Limit {
        if self.is_stagnant() || self.fills_buffer() {
            Limit::SendBuffer
        } else if self.outstanding.saturating_add(self.slack) < self.largest {
            Limit::None
        } else if self.had_loss {
            Limit::CongestionAvoidance
        } else {
            Limit::SlowStart
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each pair is what was sent and acknowledged, in full segments, when the sender stopped.
    fn after(stops: &[(i64, i64)]) -> UsedWindow {
        let mut window = UsedWindow::default();
        for (end, acked) in stops {
            window.sent(1 + end * 1000, 1 + acked * 1000, 1000);
            window.waits(1 + end * 1000, 1 + acked * 1000);
        }
        window
    }

    #[test]
    fn two_segments_for_each_ack_of_one_are_slow_start() {
        let window = after(&[(2, 0), (4, 1), (6, 2), (8, 3), (10, 4)]);
        assert_eq!(window.limit(), Limit::SlowStart);
    }

    #[test]
    fn a_segment_for_each_ack_of_one_is_a_send_buffer_after_a_round() {
        assert_eq!(after(&[(2, 0), (3, 1)]).limit(), Limit::SlowStart);
        let mut window = after(&[(2, 0), (3, 1), (4, 2)]);
        assert_eq!(window.limit(), Limit::SendBuffer);
        window.begins();
        window.sent(8001, 6001, 1000);
        window.waits(8001, 6001);
        assert_eq!(window.limit(), Limit::SendBuffer, "it is still that large");
    }

    #[test]
    fn a_window_that_was_larger_before_limits_nothing() {
        assert_eq!(after(&[(8, 0), (9, 8)]).limit(), Limit::None);
        let mut window = after(&[(8, 0)]);
        window.was_idle();
        window.sent(9001, 8001, 1000);
        window.waits(9001, 8001);
        assert_eq!(window.limit(), Limit::SlowStart);
    }

    #[test]
    fn after_a_loss_the_window_is_that_of_congestion_avoidance() {
        let mut window = after(&[(8, 0)]);
        window.had_loss();
        window.sent(12_001, 8001, 1000);
        window.waits(12_001, 8001);
        assert_eq!(window.limit(), Limit::CongestionAvoidance);
    }
}
