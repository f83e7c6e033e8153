//! Rate-based pacing: a window that is known from earlier is not sent as one burst, but spread
//! over a round trip until ACKs come back (Visweswaraiah and Heidemann 1997; Heidemann 1996,
//! section 2.4; Eggert 1999, section 3.1).

use crate::stack::Nanoseconds;

/// A window smaller than this is paced as if it had so many segments: the least rate at which
/// Visweswaraiah and Heidemann pace.
const LEAST_SEGMENTS: u64 = 2;

/// Sends one segment after the other at equal distances.
///
/// The rate is the window over the round trip, as Eggert says of E-TCP ("paced based on the
/// previously measured RTT and congestion window"). Visweswaraiah and Heidemann's simulations
/// paced three quarters of it, of which neither Heidemann 1996 nor Eggert 1999 speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pacer {
    interval: Nanoseconds,
    next: Nanoseconds,
    /// What was outstanding at its end shows the ACK clock is running: an offset in a stream, or
    /// a number of a packet.
    first: u64,
}

impl Pacer {
    /// Starts with the first segment, which goes out now and is known as `first`.
    #[must_use]
    pub fn start(
        window: u64,
        mss: u32,
        round_trip: Nanoseconds,
        first: u64,
        now: Nanoseconds,
    ) -> Self {
        let segments = (window / u64::from(mss.max(1))).max(LEAST_SEGMENTS);
        let interval = round_trip / segments;
        Pacer {
            interval,
            next: now.saturating_add(interval),
            first,
        }
    }

    #[must_use]
    pub fn may_send(&self, now: Nanoseconds) -> bool {
        now >= self.next
    }

    /// A segment went out; the next one may after the interval.
    pub fn sent(&mut self, now: Nanoseconds) {
        self.next = now.saturating_add(self.interval);
    }

    /// When the next segment may go out.
    #[must_use]
    pub fn deadline(&self) -> Nanoseconds {
        self.next
    }

    /// Whether the acknowledgment of everything up to here (exclusive) covers a paced segment: the
    /// ACK clock runs, and pacing ends. An ACK of what was sent before does not end it, else the
    /// burst would come after all.
    #[must_use]
    pub fn is_ended_by(&self, acknowledged: u64) -> bool {
        acknowledged > self.first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;

    #[test]
    fn a_window_is_spread_over_one_round_trip() {
        let mut pacer = Pacer::start(8 * 512, 512, 100 * MS, 1, 7 * MS);
        let mut times = vec![7 * MS];
        while times.len() < 8 {
            let at = pacer.deadline();
            assert!(!pacer.may_send(at - 1));
            assert!(pacer.may_send(at));
            pacer.sent(at);
            times.push(at);
        }
        let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert_eq!(gaps, [12_500_000; 7]);
    }

    #[test]
    fn a_small_window_is_paced_at_two_segments_a_round_trip() {
        let pacer = Pacer::start(512, 512, 100 * MS, 1, 0);
        assert_eq!(pacer.deadline(), 50 * MS);
    }

    #[test]
    fn only_the_ack_of_a_paced_segment_ends_it() {
        let first = u64::from(u32::MAX) - 100;
        let pacer = Pacer::start(4 * 512, 512, 100 * MS, first, 0);
        assert!(!pacer.is_ended_by(first));
        assert!(pacer.is_ended_by(first + 512));
    }
}
