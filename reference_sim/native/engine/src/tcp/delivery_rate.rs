//! The delivery rate of a connection, one sample per ACK (draft-cheng-iccrg-delivery-rate-estimation-00).
//!
//! A sample is the data delivered between the sending of a segment and its ACK, over the longer of two
//! intervals: that of sending and that of acknowledging this data (section 2.2).

use crate::stack::Nanoseconds;
use crate::tcp::scoreboard::Delivered;

const SECOND: u128 = 1_000_000_000;

/// State of the connection when a segment was sent (section 3.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Weight of the data delivered until then.
    delivered: u64,
    delivered_at: Nanoseconds,
    /// Start of the send interval of the sample that this segment ends.
    first_sent_at: Nanoseconds,
    is_app_limited: bool,
}

/// State of a connection (section 3.1.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct DeliveryRate {
    pub delivered: u64,
    /// Time of the last delivery.
    pub delivered_at: Nanoseconds,
    first_sent_at: Nanoseconds,
    /// Samples of data sent until this much is delivered are application-limited.
    app_limited_until: Option<u64>,
}

/// A rate sample (section 3.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    delivered: u64,
    interval: Nanoseconds,
    /// Weight of the data delivered when the sample's segment was sent.
    pub prior_delivered: u64,
    pub is_app_limited: bool,
}

impl Sample {
    /// Return bytes per second, or None if the interval is shorter than a round trip. Such an interval belongs
    /// to the ACK of an earlier transmission (section 3.3).
    #[must_use]
    pub fn rate(&self, min_rtt: Nanoseconds) -> Option<u64> {
        let is_valid = self.interval > 0 && self.interval >= min_rtt;
        let rate = u128::from(self.delivered) * SECOND / u128::from(self.interval.max(1));
        is_valid.then(|| u64::try_from(rate).unwrap_or(u64::MAX))
    }
}

impl DeliveryRate {
    /// Return the state to keep with a segment sent now (section 3.2). `is_first` is true with no other
    /// segment outstanding: the intervals then start with this segment.
    pub fn sent(&mut self, is_first: bool, now: Nanoseconds) -> Snapshot {
        if is_first {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            is_app_limited: self.app_limited_until.is_some(),
        }
    }

    /// Return the sample of an ACK that delivered data (section 3.3). Its segment is the delivered one that
    /// was sent last.
    pub fn on_ack(&mut self, delivered: &Delivered, now: Nanoseconds) -> Option<Sample> {
        if delivered.weight > 0 {
            self.delivered += delivered.weight;
            self.delivered_at = now;
        }
        if self
            .app_limited_until
            .is_some_and(|end| self.delivered > end)
        {
            self.app_limited_until = None;
        }
        let latest = delivered.segments.iter().max_by_key(|sent| sent.order)?;
        let Snapshot {
            delivered: prior_delivered,
            delivered_at,
            first_sent_at,
            is_app_limited,
        } = latest.snapshot;
        self.first_sent_at = latest.sent;
        let sending = latest.sent.saturating_sub(first_sent_at);
        Some(Sample {
            delivered: self.delivered - prior_delivered,
            interval: sending.max(now.saturating_sub(delivered_at)),
            prior_delivered,
            is_app_limited,
        })
    }

    /// Mark the samples of the data in flight and of the next segment: the application, not the path, limits
    /// the rate (section 3.4).
    pub fn limit_by_application(&mut self, in_flight: u64) {
        self.app_limited_until = Some(self.delivered + in_flight);
    }

    #[must_use]
    pub fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::scoreboard::Scoreboard;

    const MS: Nanoseconds = 1_000_000;
    const MSS: u64 = 1000;

    struct Path {
        rate: DeliveryRate,
        board: Scoreboard,
    }

    impl Path {
        fn new() -> Self {
            Path {
                rate: DeliveryRate::default(),
                board: Scoreboard::default(),
            }
        }

        fn send(&mut self, index: u64, now: Nanoseconds) {
            let snapshot = self.rate.sent(self.board.segments() == 0, now);
            let start = 1 + index * MSS;
            self.board.send(start, start + MSS, snapshot, now);
        }

        fn ack(&mut self, count: u64, now: Nanoseconds) -> Option<Sample> {
            let delivered = self.board.receive(1 + count * MSS, std::iter::empty());
            self.rate.on_ack(&delivered, now)
        }
    }

    #[test]
    fn a_sample_is_the_data_delivered_since_its_segment_was_sent_over_the_ack_interval() {
        let mut path = Path::new();
        for index in 0..4 {
            path.send(index, 0);
        }
        path.ack(2, 100 * MS);
        path.send(4, 100 * MS);
        path.ack(4, 110 * MS);
        // Three segments in the 100 ms from the first ACK to the last one.
        let sample = path.ack(5, 200 * MS);
        assert_eq!(sample.and_then(|it| it.rate(100 * MS)), Some(30_000));
        assert_eq!(sample.map(|it| it.prior_delivered), Some(2 * MSS));
    }

    #[test]
    fn compressed_acks_count_over_the_send_interval() {
        let mut path = Path::new();
        for index in 0..10 {
            path.send(index, index * 20 * MS);
        }
        // Ten segments sent within 180 ms and acknowledged together.
        let sample = path.ack(10, 190 * MS);
        assert_eq!(sample.and_then(|it| it.rate(MS)), Some(52_631));
        let mut path = Path::new();
        path.send(0, 0);
        path.ack(1, 10 * MS);
        path.send(1, 10 * MS);
        path.send(2, 200 * MS);
        let sample = path.ack(3, 201 * MS);
        assert_eq!(sample.and_then(|it| it.rate(MS)), Some(10_471));
    }

    #[test]
    fn an_interval_below_the_round_trip_gives_no_rate() {
        let mut path = Path::new();
        path.send(0, 0);
        let sample = path.ack(1, 5 * MS);
        assert_eq!(sample.and_then(|it| it.rate(10 * MS)), None);
    }

    #[test]
    fn samples_are_application_limited_until_later_data_is_delivered() {
        let mut path = Path::new();
        path.rate.limit_by_application(0);
        path.send(0, 0);
        path.send(1, 0);
        assert_eq!(path.ack(1, 10 * MS).map(|it| it.is_app_limited), Some(true));
        path.send(2, 10 * MS);
        assert_eq!(path.ack(2, 11 * MS).map(|it| it.is_app_limited), Some(true));
        assert_eq!(
            path.ack(3, 20 * MS).map(|it| it.is_app_limited),
            Some(false)
        );
    }
}
