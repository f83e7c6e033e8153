//! Clock of a sender, from its TCP timestamps (RFC 7323).

/// Tick of Linux, Windows, macOS and FreeBSD, and the number of ticks that confirms it.
///
/// A clock with another tick is not used.
const TICK_NS: i64 = 1_000_000;
const CLOCK_SURE_NS: i64 = 100_000_000;
/// Largest factor by which a growing queue stretches the ticks before the clock is confirmed.
///
/// The next slower clock in use has a factor of four.
const CLOCK_SLOW_MAX: i64 = 3;
/// Deviation of a clock without millisecond ticks, as a divisor of the elapsed time.
const CLOCK_OFF_SHARE: i64 = 2;
/// Maximum rate difference of two hosts' clocks, as a divisor.
///
/// Crystals are accurate to a few tens of parts per million. RFC 6817, appendix A.2, describes the effect on
/// the minimum delay.
const SKEW_MAX_SHARE: i64 = 10_000;

/// Clock of a sender, from its TCP timestamps.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderClock {
    first: Option<(i64, u32)>,
    least_ns: i64,
    least_at_ns: i64,
    is_sure: bool,
    has_ms_ticks: bool,
}

impl SenderClock {
    /// Return the delay of a packet relative to the earliest packet; none while the clock is unknown.
    #[inline]
    pub fn lateness_ns(&mut self, time_ns: i64, timestamp: u32) -> Option<i64> {
        let late_ns = self.late_ns(time_ns, timestamp);
        self.is_sure.then_some(late_ns)
    }

    /// Return the lateness of a packet, if the clock has millisecond ticks.
    #[inline]
    pub fn late_ns(&mut self, time_ns: i64, timestamp: u32) -> i64 {
        let (first_ns, first) = *self.first.get_or_insert((time_ns, timestamp));
        let counted = counted_ns(first, timestamp);
        let elapsed = time_ns.saturating_sub(first_ns);
        let offset = elapsed.saturating_sub(counted);
        let aged_ns = time_ns.saturating_sub(self.least_at_ns) / SKEW_MAX_SHARE;
        let least_ns = self.least_ns.saturating_add(aged_ns);
        if offset <= least_ns || first_ns == time_ns {
            (self.least_ns, self.least_at_ns) = (offset, time_ns);
        }
        if counted >= CLOCK_SURE_NS {
            self.is_sure = elapsed <= counted.saturating_mul(CLOCK_SLOW_MAX)
                && counted <= elapsed.saturating_mul(CLOCK_SLOW_MAX);
            let off = elapsed.saturating_sub(counted).saturating_abs();
            self.has_ms_ticks = off <= counted.min(elapsed) / CLOCK_OFF_SHARE;
        }
        offset.saturating_sub(least_ns.min(offset))
    }

    /// Return whether the clock has ticks of one millisecond and no multiple.
    #[must_use]
    pub fn has_ms_ticks(&self) -> bool {
        self.has_ms_ticks
    }
}

/// Return the time between two timestamps of a millisecond clock.
fn counted_ns(first: u32, timestamp: u32) -> i64 {
    i64::from(timestamp.wrapping_sub(first) as i32).saturating_mul(TICK_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn packet_later_than_its_timestamp_was_queued() {
        let mut clock = SenderClock::default();
        let start = u32::MAX - 50;
        let lateness = [(0, 0), (100, 100), (290, 200), (300, 300)].map(|(time, ticks)| {
            let late_ns = clock.lateness_ns(time * MS, start.wrapping_add(ticks));
            late_ns.map(|late_ns| (late_ns + MS / 2) / MS)
        });
        assert_eq!(lateness, [None, Some(0), Some(90), Some(0)]);
    }

    #[test]
    fn slower_sender_clock_delays_no_packet() {
        let mut clock = SenderClock::default();
        for second in 0..1000_i64 {
            let time_ns = second * 1000 * MS + second * MS / 20;
            let ticks = u32::try_from(second * 1000).unwrap_or(0);
            let late_ns = clock.late_ns(time_ns, ticks);
            assert!(late_ns < MS, "{late_ns} after {second} s");
        }
    }

    #[test]
    fn two_millisecond_clock_differs_from_a_queue() {
        let has_ms_ticks = |elapsed_ms: i64, ticks: u32| {
            let mut clock = SenderClock::default();
            clock.late_ns(0, 7);
            clock.late_ns(elapsed_ms * MS, ticks + 7);
            clock.has_ms_ticks()
        };
        assert!(has_ms_ticks(200, 200));
        assert!(has_ms_ticks(290, 200), "a queue of 90 ms");
        assert!(!has_ms_ticks(400, 200));
        assert!(!has_ms_ticks(100, 200));
    }

    #[test]
    fn clock_without_millisecond_ticks_is_not_used() {
        let mut clock = SenderClock::default();
        for tick in 0..200 {
            assert_eq!(clock.lateness_ns(i64::from(tick) * 10 * MS, tick), None);
        }
    }
}
