//! Detection of captures without pure ACKs, for example exported with a filter for data or HTTP.
//!
//! A receiver delays an ACK by less than 500 ms (RFC 1122, section 4.2.3.2). The timers of Windows and Linux
//! limit the delay to 200 ms. A receiver sends at least one ACK per two full segments (RFC 5681, section
//! 4.2). If only data acknowledges data, and later than these limits plus the path, the capture lacks pure
//! ACKs.

use trace_model::{flags, Segment};

/// Time beyond any ACK delay, and beyond the first timer of an answer that was lost (3 s, RFC 2988).
const OVERDUE_NS: i64 = 3_500_000_000;
const TIMER_NS: i64 = 210_000_000;
/// Number of late ACKs, and of ACKs for two full segments each, that shows missing ACKs: stretch ACKs are
/// rare.
const LATE_MIN: usize = 3;
const DEMANDED_MIN: u32 = 8;
const SEGMENTS_PER_ACK: u32 = 2;
/// Maximum path time in round trips of the handshake, for a path with a queue, and maximum without a
/// handshake.
const ROUND_TRIPS: i64 = 2;
const PATH_MAX_NS: i64 = 3_000_000_000;

/// Data of one direction, and the ACKs of its receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct PureAcks {
    /// Number of pure ACKs.
    pub count: u64,
    next: i64,
    acked: i64,
    /// Send time of the oldest unacknowledged data; none if ambiguous.
    oldest_ns: Option<i64>,
    full_segments: u32,
    /// Times to ACKs on data: the shortest, and the longest in order.
    least_ns: Option<i64>,
    longest_ns: [i64; LATE_MIN],
    demanded: u32,
}

/// ACK of the data, pure or on data.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    pub of: i64,
    pub time_ns: i64,
    pub is_pure: bool,
}

impl Ack {
    #[must_use]
    pub fn new(segment: &Segment<'_>, of: i64, time_ns: i64) -> Self {
        let is_control = segment.flags & (flags::SYN | flags::FIN | flags::RST) != 0;
        let is_pure = segment.payload_bytes == 0 && !is_control;
        Ack {
            of,
            time_ns,
            is_pure,
        }
    }
}

impl PureAcks {
    /// Take sent data that ends at `end`.
    pub fn sent(&mut self, end: i64, time_ns: i64, is_full: bool) {
        if end > self.next {
            self.next = end;
            self.oldest_ns.get_or_insert(time_ns);
            self.full_segments = self.full_segments.saturating_add(u32::from(is_full));
        } else {
            self.oldest_ns = None;
        }
    }

    /// Take an ACK of the receiver.
    pub fn acknowledged(&mut self, ack: Ack) {
        self.count = self.count.saturating_add(u64::from(ack.is_pure));
        if ack.of <= self.acked {
            return;
        }
        if let Some(sent_ns) = self.oldest_ns.filter(|_| !ack.is_pure) {
            self.waited(ack.time_ns.saturating_sub(sent_ns));
            let pairs = self.full_segments / SEGMENTS_PER_ACK;
            self.demanded = self.demanded.saturating_add(pairs);
        }
        self.full_segments = 0;
        self.acked = ack.of;
        self.oldest_ns = (self.next > ack.of).then_some(ack.time_ns);
    }

    fn waited(&mut self, waited_ns: i64) {
        let least_ns = self.least_ns.unwrap_or(waited_ns);
        self.least_ns = Some(least_ns.min(waited_ns));
        let mut shorter_ns = waited_ns;
        for longer_ns in &mut self.longest_ns {
            if *longer_ns < shorter_ns {
                std::mem::swap(longer_ns, &mut shorter_ns);
            }
        }
    }

    /// Return whether pure ACKs must have existed and none is in the capture.
    #[must_use]
    pub fn is_missing(&self, rtt_ns: Option<i64>) -> bool {
        let known_ns = rtt_ns.map_or(PATH_MAX_NS, |ns| ns.saturating_mul(ROUND_TRIPS));
        let path_ns = self.least_ns.map_or(known_ns, |ns| ns.min(known_ns));
        let [longest_ns, .., third_ns] = self.longest_ns;
        let were_sent = longest_ns.saturating_sub(path_ns) > OVERDUE_NS
            || third_ns.saturating_sub(path_ns) > TIMER_NS
            || self.demanded >= DEMANDED_MIN;
        self.count == 0 && were_sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Return the state after responses that the next request acknowledges `after_ms` later.
    fn answered(count: i64, after_ms: i64, segments: i64) -> PureAcks {
        let mut acks = PureAcks::default();
        let mut time_ns = 0;
        let mut end = 0;
        for _ in 0..count {
            for _ in 0..segments {
                end += 1460;
                acks.sent(end, time_ns, true);
            }
            time_ns += after_ms * MS;
            acks.acknowledged(ack(end, time_ns, false));
        }
        acks
    }

    fn ack(of: i64, time_ns: i64, is_pure: bool) -> Ack {
        Ack {
            of,
            time_ns,
            is_pure,
        }
    }

    #[test]
    fn late_acks_on_data_only_show_missing_pure_acks() {
        let known = Some(10 * MS);
        assert!(answered(1, 60_000, 1).is_missing(None));
        assert!(answered(1, 3600, 1).is_missing(known));
        assert!(
            !answered(1, 1100, 1).is_missing(known),
            "the ACK may be lost"
        );
        assert!(
            !answered(1, 3600, 1).is_missing(Some(100 * MS)),
            "the path is long"
        );
        assert!(
            !answered(1, 6000, 1).is_missing(None),
            "the path may be long"
        );
        assert!(answered(3, 300, 1).is_missing(known));
        assert!(
            !answered(2, 300, 1).is_missing(known),
            "a delayed ACK may be late"
        );
        assert!(!answered(100, 150, 1).is_missing(known));
        assert!(answered(8, 1, 2).is_missing(None));
        assert!(!answered(7, 1, 3).is_missing(None));
    }

    #[test]
    fn single_pure_ack_shows_that_pure_acks_are_captured() {
        let mut acks = answered(1, 60_000, 1);
        acks.acknowledged(ack(1460, 61_000 * MS, true));
        assert!(!acks.is_missing(None));
    }

    #[test]
    fn late_ack_of_retransmitted_data_is_no_evidence() {
        let mut acks = PureAcks::default();
        acks.sent(100, 0, false);
        acks.sent(100, 300 * MS, false);
        acks.acknowledged(ack(100, 600 * MS, false));
        assert!(!acks.is_missing(Some(0)));
    }
}
