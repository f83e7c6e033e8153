//! Payload in flight of a direction: sent, and not acknowledged in the capture.

/// Statistics of the bytes in flight, from the peer's first ACK on: earlier data may be incomplete.
#[derive(Debug, Default)]
pub struct Flight {
    bytes: u64,
    since_ns: i64,
    first_ns: Option<i64>,
    /// Sum of bytes in flight times nanoseconds.
    area: f64,
    least: Option<u64>,
    most: Option<u64>,
    sum: u128,
    samples: u64,
}

impl Flight {
    /// Take a segment that leaves `bytes` in flight; retransmissions and late segments are no samples.
    pub fn sent(&mut self, bytes: u64, time_ns: i64, is_sample: bool) {
        self.change(bytes, time_ns);
        if !is_sample {
            return;
        }
        self.samples = self.samples.saturating_add(1);
        self.sum = self.sum.saturating_add(u128::from(bytes));
        self.most = self.most.max(Some(bytes));
        if bytes > 0 {
            self.least = Some(self.least.map_or(bytes, |least| least.min(bytes)));
        }
    }

    /// Set the bytes in flight from `time_ns` on.
    pub fn change(&mut self, bytes: u64, time_ns: i64) {
        if self.first_ns.is_none() {
            self.first_ns = Some(time_ns);
            self.since_ns = time_ns;
        }
        self.area += self.bytes as f64 * time_ns.saturating_sub(self.since_ns).max(0) as f64;
        self.bytes = bytes;
        self.since_ns = time_ns.max(self.since_ns);
    }

    #[must_use]
    pub fn least(&self) -> Option<u64> {
        self.least
    }

    #[must_use]
    pub fn most(&self) -> Option<u64> {
        self.most
    }

    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.samples > 0).then(|| self.sum as f64 / self.samples as f64)
    }

    /// Return the mean over the time from the first sample to `end_ns`.
    #[must_use]
    pub fn time_mean(&self, end_ns: i64) -> Option<f64> {
        let length = end_ns.saturating_sub(self.first_ns?);
        let rest = self.bytes as f64 * end_ns.saturating_sub(self.since_ns).max(0) as f64;
        (length > 0).then(|| (self.area + rest) / length as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_over_time_falls_with_the_ack() {
        let mut flight = Flight::default();
        flight.sent(1000, 0, true);
        flight.change(0, 10);
        flight.sent(0, 20, true);
        assert_eq!(flight.time_mean(40), Some(250.0));
        assert_eq!(flight.mean(), Some(500.0));
        assert_eq!((flight.least(), flight.most()), (Some(1000), Some(1000)));
    }
}
