//! Pacing of all new data at a multiple of the window per round trip. Linux does this with the fq queueing
//! discipline or its own timer (net/ipv4/tcp_input.c, `tcp_update_pacing_rate`; tcp_output.c,
//! `tcp_update_skb_after_send`).
//!
//! Retransmissions are not paced here.

use crate::stack::Nanoseconds;

/// net.ipv4.tcp_pacing_ss_ratio and tcp_pacing_ca_ratio, in percent.
const SLOW_START_PERCENT: u128 = 200;
const AVOIDANCE_PERCENT: u128 = 120;
/// "Original sch_fq does not pace first 10 MSS" (`tcp_update_skb_after_send`).
const UNPACED_SEGMENTS: u64 = 10;
/// Minimum burst (net.ipv4.tcp_min_tso_segs).
const BURST_SEGMENTS: u64 = 2;
/// A burst takes 2^-10 s at the pacing rate (`sk_pacing_shift`).
const BURST_SHIFT: u32 = 10;
const SECOND: u128 = 1_000_000_000;

/// The inputs of the pacing rate.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    pub cwnd: u64,
    pub ssthresh: u64,
    pub mss: u64,
    pub smoothed_rtt: Nanoseconds,
}

/// The rate of new data, and its smallest burst.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Bytes per second. None: no pacing.
    pub rate: Option<u64>,
    pub burst_segments: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct RatePacer {
    /// Earliest time of the next burst.
    next: Nanoseconds,
    /// Time of the current burst, whose segments leave together.
    burst_at: Option<Nanoseconds>,
    burst_left: u64,
    /// Delay of the burst after its earliest time, as far as not compensated.
    late: Nanoseconds,
    /// Number of sent segments with data.
    sent: u64,
}

impl Flow {
    /// Return bytes per second, or None without a known round trip.
    #[must_use]
    pub fn rate(&self) -> Option<u64> {
        if self.smoothed_rtt == 0 {
            return None;
        }
        let percent = if self.cwnd < self.ssthresh / 2 {
            SLOW_START_PERCENT
        } else {
            AVOIDANCE_PERCENT
        };
        let per_second =
            u128::from(self.cwnd) * percent * SECOND / 100 / u128::from(self.smoothed_rtt);
        u64::try_from(per_second).ok().filter(|rate| *rate > 0)
    }

    #[must_use]
    pub fn pace(&self) -> Pace {
        let rate = self.rate();
        Pace {
            rate,
            burst_segments: burst_segments(rate.unwrap_or(0), self.mss, BURST_SEGMENTS),
        }
    }
}

/// Return the segments of a burst at a rate, at least `least`.
#[must_use]
pub fn burst_segments(rate: u64, mss: u64, least: u64) -> u64 {
    ((rate >> BURST_SHIFT) / mss.max(1)).max(least)
}

impl RatePacer {
    /// Return the time of the next segment's release, if it is in the future.
    #[must_use]
    pub fn until(&self, now: Nanoseconds) -> Option<Nanoseconds> {
        let goes_on = self.burst_at == Some(now) && self.burst_left > 0;
        (self.next > now && !goes_on).then_some(self.next)
    }

    /// Return the earliest time of the next burst.
    #[must_use]
    pub fn next(&self) -> Nanoseconds {
        self.next
    }

    /// Record a sent segment with `payload` bytes.
    pub fn sent(&mut self, payload: u64, pace: Pace, now: Nanoseconds) {
        self.sent += 1;
        let Some(rate) = pace.rate else {
            return;
        };
        let is_first = self.burst_at != Some(now) || self.burst_left == 0;
        if is_first {
            self.burst_at = Some(now);
            self.late = if self.next == 0 {
                0
            } else {
                now.saturating_sub(self.next)
            };
            self.burst_left = pace.burst_segments;
        }
        self.burst_left -= 1;
        if self.sent + self.burst_left < UNPACED_SEGMENTS {
            return;
        }
        let taken = u128::from(payload) * SECOND / u128::from(rate);
        let taken = u64::try_from(taken).unwrap_or(u64::MAX);
        // A late burst is compensated by at most half of its own time.
        let credit = self.late.min(taken / 2);
        self.late -= credit;
        self.next = self.next.max(now).saturating_add(taken - credit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanoseconds = 1_000_000;
    const FLOW: Flow = Flow {
        cwnd: 10_000,
        ssthresh: u64::MAX / 4,
        mss: 1000,
        smoothed_rtt: 100 * MS,
    };

    #[test]
    fn slow_start_is_paced_at_twice_the_window_per_round_trip_and_later_at_six_fifths() {
        assert_eq!(FLOW.rate(), Some(200_000));
        let later = Flow {
            ssthresh: 10_000,
            ..FLOW
        };
        assert_eq!(later.rate(), Some(120_000));
    }

    #[test]
    fn the_first_ten_segments_are_unpaced_and_later_ones_leave_in_pairs() {
        let mut pacer = RatePacer::default();
        for _ in 0..10 {
            assert_eq!(pacer.until(MS), None);
            pacer.sent(1000, FLOW.pace(), MS);
        }
        // The fifth burst of two segments is charged: 2000 bytes at 200 kB/s.
        assert_eq!(pacer.until(MS), Some(11 * MS));
        pacer.sent(1000, FLOW.pace(), 11 * MS);
        assert_eq!(pacer.until(11 * MS), None);
        pacer.sent(1000, FLOW.pace(), 11 * MS);
        assert_eq!(pacer.until(11 * MS), Some(21 * MS));
    }

    #[test]
    fn a_late_burst_is_compensated_by_at_most_half_of_its_time() {
        let mut pacer = RatePacer {
            next: 10 * MS,
            sent: 20,
            ..RatePacer::default()
        };
        pacer.sent(1000, FLOW.pace(), 50 * MS);
        pacer.sent(1000, FLOW.pace(), 50 * MS);
        assert_eq!(pacer.next, 55 * MS);
    }

    #[test]
    fn pacing_needs_a_known_round_trip() {
        let mut pacer = RatePacer::default();
        let unknown = Flow {
            smoothed_rtt: 0,
            ..FLOW
        };
        for _ in 0..20 {
            pacer.sent(1000, unknown.pace(), MS);
            assert_eq!(pacer.until(MS), None);
        }
    }
}
