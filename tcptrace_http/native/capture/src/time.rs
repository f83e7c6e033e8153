//! Conversion of an interface's clock ticks to integer nanoseconds since the epoch.

pub(crate) const NANOSECONDS_PER_SECOND: i64 = 1_000_000_000;

/// A second has 10^9 nanoseconds: with this exponent, a decimal tick is one nanosecond.
const NANOSECOND_EXPONENT: u8 = 9;

/// The conversion from ticks to nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tick {
    /// Number of nanoseconds per tick.
    Nanoseconds(u64),
    /// Number of ticks per nanosecond.
    PerNanosecond(u128),
    /// Binary exponent of the number of ticks per second.
    BinaryFraction(u8),
}

/// The clock of a pcapng interface: if_tsresol and if_tsoffset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clock {
    tick: Tick,
    offset_ns: i128,
}

impl Default for Clock {
    /// Return the default clock. Without if_tsresol, a tick is a microsecond (draft-ietf-opsawg-pcapng,
    /// section 4.2).
    fn default() -> Self {
        Clock {
            tick: Tick::Nanoseconds(1_000),
            offset_ns: 0,
        }
    }
}

impl Clock {
    /// Set the resolution from if_tsresol: a negative power of 2 if the highest bit is set, else of 10.
    pub(crate) fn set_resolution(&mut self, if_tsresol: u8) {
        let exponent = if_tsresol & 0x7f;
        self.tick = if if_tsresol & 0x80 != 0 {
            Tick::BinaryFraction(exponent)
        } else if let Some(coarser) = NANOSECOND_EXPONENT.checked_sub(exponent) {
            Tick::Nanoseconds(10_u64.saturating_pow(u32::from(coarser)))
        } else {
            let finer = exponent.saturating_sub(NANOSECOND_EXPONENT);
            // The saturated value still exceeds every 64-bit tick count, so the quotient is 0 as required.
            Tick::PerNanosecond(10_u128.saturating_pow(u32::from(finer)))
        };
    }

    /// Set the offset from if_tsoffset: seconds to add to every time.
    pub(crate) fn set_offset(&mut self, seconds: i64) {
        self.offset_ns = i128::from(seconds).saturating_mul(i128::from(NANOSECONDS_PER_SECOND));
    }

    /// Return nanoseconds since the epoch, rounded down. The result can exceed 64 bits.
    #[inline]
    pub(crate) fn nanoseconds(&self, ticks: u64) -> i128 {
        let ticks = u128::from(ticks);
        let since_start = match self.tick {
            Tick::Nanoseconds(each) => ticks.saturating_mul(u128::from(each)),
            Tick::PerNanosecond(ticks_each) => ticks.checked_div(ticks_each).unwrap_or(0),
            Tick::BinaryFraction(exponent) => ticks
                .saturating_mul(NANOSECONDS_PER_SECOND.unsigned_abs().into())
                .checked_shr(u32::from(exponent))
                .unwrap_or(0),
        };
        i128::try_from(since_start)
            .unwrap_or(i128::MAX)
            .saturating_add(self.offset_ns)
    }
}

/// Return the nearest 64-bit time. From 1677 to 2262 this is the time itself.
#[inline]
pub(crate) fn clamp(nanoseconds: i128) -> i64 {
    if nanoseconds < 0 {
        i64::try_from(nanoseconds).unwrap_or(i64::MIN)
    } else {
        i64::try_from(nanoseconds).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(if_tsresol: u8) -> Clock {
        let mut clock = Clock::default();
        clock.set_resolution(if_tsresol);
        clock
    }

    #[test]
    fn test_a_clock_without_resolution_ticks_in_microseconds() {
        assert_eq!(Clock::default().nanoseconds(3), 3_000);
        assert_eq!(Clock::default(), clock(6));
    }

    #[test]
    fn test_decimal_resolutions_give_whole_nanoseconds() {
        assert_eq!(clock(0).nanoseconds(7), 7_000_000_000);
        assert_eq!(clock(9).nanoseconds(7), 7);
        assert_eq!(clock(12).nanoseconds(7_999), 7);
        assert_eq!(clock(127).nanoseconds(u64::MAX), 0);
    }

    #[test]
    fn test_binary_resolutions_give_the_exact_fraction_rounded_down() {
        assert_eq!(clock(0x80).nanoseconds(7), 7_000_000_000);
        assert_eq!(clock(0x80 | 10).nanoseconds(1), 976_562);
        assert_eq!(clock(0x80 | 32).nanoseconds(3 << 31), 1_500_000_000);
        assert_eq!(clock(0xff).nanoseconds(u64::MAX), 0);
    }

    #[test]
    fn test_an_offset_is_whole_seconds_and_may_be_negative() {
        let mut clock = clock(9);
        clock.set_offset(-2);
        assert_eq!(clock.nanoseconds(1), -1_999_999_999);
        clock.set_offset(i64::MIN);
        assert_eq!(clamp(clock.nanoseconds(1)), i64::MIN);
    }

    #[test]
    fn test_times_out_of_range_are_clamped_to_the_nearest() {
        assert_eq!(clamp(i128::from(i64::MAX)), i64::MAX);
        assert_eq!(clamp(i128::MAX), i64::MAX);
        assert_eq!(clamp(i128::MIN), i64::MIN);
    }
}
