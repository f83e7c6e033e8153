//! Whether a capture lacks the ACKs without data: exported with a filter for data or for HTTP, say.
//!
//! A receiver delays an ACK by less than 500 ms (RFC 1122, section 4.2.3.2), by 200 ms where its timer is that of
//! Windows or Linux, and sends one for at least every second full segment (RFC 5681, section 4.2). Where data came to be
//! acknowledged by data alone, and later than that and the path take, there were ACKs that the capture does not hold.

use trace_model::{flags, Segment};

/// Longer than an ACK is delayed, and than the first timer of an answer that was lost with it (3 s, RFC 2988).
const OVERDUE_NS: i64 = 3_500_000_000;
const TIMER_NS: i64 = 210_000_000;
/// ACKs behind that timer, and ACKs of two full segments each, that show it. Some receivers stretch a few.
const LATE_MIN: usize = 3;
const DEMANDED_MIN: u32 = 8;
const SEGMENTS_PER_ACK: u32 = 2;
/// Round trips of the handshake that a path with a queue may take; and what it takes at the most if none is known.
const ROUND_TRIPS: i64 = 2;
const PATH_MAX_NS: i64 = 3_000_000_000;

/// Data of one direction, and how its receiver acknowledged it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PureAcks {
    /// ACKs of its receiver that carry nothing.
    pub count: u64,
    next: i64,
    acked: i64,
    /// When the oldest of what is not acknowledged was sent; None also if that is ambiguous.
    oldest_ns: Option<i64>,
    full_segments: u32,
    /// Times to an ACK with data: the least one, and the longest ones in order.
    least_ns: Option<i64>,
    longest_ns: [i64; LATE_MIN],
    demanded: u32,
}

/// An ACK of the data, and whether it carries anything.
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
    /// The sender sent what ends at `end`.
    pub fn sent(&mut self, end: i64, time_ns: i64, is_full: bool) {
        if end > self.next {
            self.next = end;
            self.oldest_ns.get_or_insert(time_ns);
            self.full_segments = self.full_segments.saturating_add(u32::from(is_full));
        } else {
            self.oldest_ns = None;
        }
    }

    /// The receiver acknowledged.
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

    /// Whether there were ACKs that the capture does not hold, and none that it holds.
    #[must_use]
    pub fn are_missing(&self, rtt_ns: Option<i64>) -> bool {
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

    /// Responses that the next request acknowledges so late.
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
    fn data_that_only_data_acknowledges_and_too_late_had_acks_that_were_not_captured() {
        let known = Some(10 * MS);
        assert!(answered(1, 60_000, 1).are_missing(None));
        assert!(answered(1, 3600, 1).are_missing(known));
        assert!(!answered(1, 1100, 1).are_missing(known), "it was lost, say");
        assert!(
            !answered(1, 3600, 1).are_missing(Some(100 * MS)),
            "the path takes long"
        );
        assert!(!answered(1, 6000, 1).are_missing(None), "it may take long");
        assert!(answered(3, 300, 1).are_missing(known));
        assert!(
            !answered(2, 300, 1).are_missing(known),
            "a delayed ACK may be late"
        );
        assert!(!answered(100, 150, 1).are_missing(known));
        assert!(answered(8, 1, 2).are_missing(None));
        assert!(!answered(7, 1, 3).are_missing(None));
    }

    #[test]
    fn one_ack_without_data_shows_that_they_are_captured() {
        let mut acks = answered(1, 60_000, 1);
        acks.acknowledged(ack(1460, 61_000 * MS, true));
        assert!(!acks.are_missing(None));
    }

    #[test]
    fn data_that_is_sent_again_was_acknowledged_late_for_another_reason() {
        let mut acks = PureAcks::default();
        acks.sent(100, 0, false);
        acks.sent(100, 300 * MS, false);
        acks.acknowledged(ack(100, 600 * MS, false));
        assert!(!acks.are_missing(Some(0)));
    }
}
