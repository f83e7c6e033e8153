//! Windows as round trips show them: what a server sends until an acknowledgment of it can have come.
//!
//! A congestion window is not on the wire, but a sender that has more to send than its window shows it as the number of
//! segments that leave before it hears of the first of them.

/// Round trips vary by less than this part of them.
const JITTER_SHARE: i64 = 8;

/// What left before an acknowledgment of the first of it can have come.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// Stream offset of its first byte.
    start: u64,
    segments: u32,
    /// When that was acknowledged.
    acked_ns: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Windows {
    round: Option<Round>,
    initial: Option<u32>,
    largest: u32,
}

impl Windows {
    /// Segments of the flow's first round trip, once that is over.
    #[must_use]
    pub fn initial_segments(&self) -> Option<u32> {
        self.initial
    }

    /// Most segments of a round trip since the last loss.
    #[must_use]
    pub fn largest_segments(&self) -> Option<u32> {
        let present = self.round.map_or(0, |round| round.segments);
        Some(self.largest.max(present)).filter(|most| *most > 0)
    }

    /// A loss lowers the window: what was shown before tells nothing any more.
    pub fn had_loss(&mut self) {
        self.largest = 0;
        self.round = None;
    }

    /// All up to `acked` is acknowledged.
    pub fn acknowledged(&mut self, acked: u64, time_ns: i64) {
        if let Some(round) = self.round.as_mut().filter(|round| acked > round.start) {
            round.acked_ns.get_or_insert(time_ns);
        }
    }

    /// New data from `start` on is sent in so many segments; `sender_rtt_ns` is the path to its sender and back.
    pub fn sent(&mut self, start: u64, segments: u32, time_ns: i64, sender_rtt_ns: i64) {
        let heard_after_ns = sender_rtt_ns.saturating_sub(sender_rtt_ns / JITTER_SHARE);
        let is_over = |round: &mut Round| {
            let heard_ns = round
                .acked_ns
                .map(|ns: i64| ns.saturating_add(heard_after_ns));
            heard_ns.is_some_and(|heard_ns| time_ns >= heard_ns)
        };
        if let Some(round) = self.round.take_if(is_over) {
            self.initial.get_or_insert(round.segments);
            self.largest = self.largest.max(round.segments);
        }
        let round = self.round.get_or_insert(Round {
            start,
            segments: 0,
            acked_ns: None,
        });
        round.segments = round.segments.saturating_add(segments);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn what_leaves_before_the_first_acknowledgment_is_a_window() {
        let mut windows = Windows::default();
        for segment in 0..2 {
            windows.sent(segment * 1000, 1, 0, 0);
        }
        assert_eq!(windows.initial_segments(), None, "it may go on");
        windows.acknowledged(2000, 20 * MS);
        windows.sent(2000, 4, 20 * MS, 0);
        assert_eq!(windows.initial_segments(), Some(2));
        assert_eq!(windows.largest_segments(), Some(4));
        windows.had_loss();
        assert_eq!(windows.largest_segments(), None);
    }

    #[test]
    fn near_the_client_what_follows_its_acknowledgment_within_the_path_had_left() {
        let mut windows = Windows::default();
        windows.sent(0, 1, 0, 20 * MS);
        windows.acknowledged(1000, 0);
        windows.sent(1000, 1, 5 * MS, 20 * MS);
        windows.sent(2000, 1, 20 * MS, 20 * MS);
        assert_eq!(windows.initial_segments(), Some(2));
    }
}
