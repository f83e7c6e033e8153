//! Minimum, maximum, mean and standard deviation of measured times, in constant memory.

#[derive(Clone, Copy, Debug, Default)]
pub struct Moments {
    pub count: u64,
    sum: i128,
    least: i64,
    longest: i64,
    /// Mean and sum of squared deviations by Welford's method; differences of squares lose digits.
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Add a time; a negative time comes from a clock that was set back and is ignored.
    pub fn add(&mut self, time_ns: i64) {
        if time_ns < 0 {
            return;
        }
        self.least = if self.count == 0 {
            time_ns
        } else {
            self.least.min(time_ns)
        };
        self.longest = self.longest.max(time_ns);
        self.count = self.count.saturating_add(1);
        self.sum = self.sum.saturating_add(i128::from(time_ns));
        let deviation = time_ns as f64 - self.mean;
        self.mean += deviation / self.count as f64;
        self.squares += deviation * (time_ns as f64 - self.mean);
    }

    #[must_use]
    pub fn least(&self) -> Option<i64> {
        (self.count > 0).then_some(self.least)
    }

    #[must_use]
    pub fn longest(&self) -> Option<i64> {
        (self.count > 0).then_some(self.longest)
    }

    #[must_use]
    pub fn mean(&self) -> Option<i64> {
        let mean = self.sum.checked_div(i128::from(self.count))?;
        i64::try_from(mean).ok()
    }

    /// Return the standard deviation of the sample (divisor n - 1); none for fewer than two times.
    #[must_use]
    pub fn stdev(&self) -> Option<i64> {
        let freedom = self.count.checked_sub(1).filter(|freedom| *freedom > 0)?;
        Some((self.squares / freedom as f64).sqrt().round() as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_textbook() {
        let mut moments = Moments::default();
        for time in [2, 4, 4, 4, 5, 5, 7, 9, -1] {
            moments.add(time * 1_000_000);
        }
        assert_eq!(moments.least(), Some(2_000_000));
        assert_eq!(moments.longest(), Some(9_000_000));
        assert_eq!(moments.mean(), Some(5_000_000));
        // Square root of 32/7, in nanoseconds.
        assert_eq!(moments.stdev(), Some(2_138_090));
    }

    #[test]
    fn single_time_has_no_deviation_and_no_time_has_no_moments() {
        let mut moments = Moments::default();
        assert_eq!((moments.mean(), moments.least()), (None, None));
        moments.add(0);
        assert_eq!((moments.mean(), moments.stdev()), (Some(0), None));
    }
}
