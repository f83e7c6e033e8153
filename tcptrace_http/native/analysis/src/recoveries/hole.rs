//! Skipped numbers, and whether the data that fills them was lost or overtaken.

use super::known::{KnownState, SentSegment};

/// Share of the round trip to the sender within which data that fills a hole was already on its way.
///
/// The sender cannot know of the hole within this time.
const OVERTAKEN_NUMERATOR: i64 = 9;
const OVERTAKEN_DENOMINATOR: i64 = 10;
/// Limit for overtaken data without a known round trip (Wireshark's limit, see `classify`).
const OVERTAKEN_NS: i64 = 3_000_000;

/// Skipped numbers, and the segment behind them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hole {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) frame: u64,
    pub(super) time_ns: i64,
    pub(super) timestamp: Option<u32>,
    pub(super) identification: u32,
    /// End offset of the segment behind the hole if it was a probe, and the sender's wait before it.
    pub(super) probe: Option<(i64, i64)>,
}

impl Hole {
    /// Return whether the sender's numbering or clock shows the order of the two segments.
    pub(super) fn has_known_order(&self, sent: &SentSegment) -> bool {
        self.sent_before(sent).is_some()
    }

    /// Return whether `sent` left before the segment behind the hole, by the sender's numbering or clock.
    fn sent_before(&self, sent: &SentSegment) -> Option<bool> {
        if self.identification != 0 && sent.identification != 0 {
            let step = (sent.identification as u16).wrapping_sub(self.identification as u16);
            return Some((step as i16) < 0);
        }
        let step = sent.timestamp?.wrapping_sub(self.timestamp?) as i32;
        (step != 0).then_some(step < 0)
    }

    /// Return whether the segment behind the hole had arrived when `sent` left.
    ///
    /// `sent` left half of the path's round trip, plus its serialization time, before its arrival.
    pub(super) fn had_arrived_before(&self, sent: &SentSegment, known: &KnownState) -> bool {
        let way_ns = known.sender_path_ns.unwrap_or(0) / 2;
        let left_ns = sent.time_ns.saturating_sub(sent.on_link_ns);
        self.time_ns < left_ns.saturating_sub(way_ns)
    }

    /// Return whether `sent` was overtaken and not retransmitted.
    pub(super) fn is_overtaken_by(&self, sent: &SentSegment, known: &KnownState) -> bool {
        self.sent_before(sent).unwrap_or_else(|| {
            let elapsed = sent.time_ns.saturating_sub(self.time_ns);
            let limit = known.sender_path_ns.map_or(OVERTAKEN_NS, |rtt| {
                (rtt.saturating_mul(OVERTAKEN_NUMERATOR) / OVERTAKEN_DENOMINATOR).max(OVERTAKEN_NS)
            });
            elapsed < limit
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn send_time_is_half_a_round_trip_plus_serialization_before_arrival() {
        let hole = Hole {
            start: 1,
            end: 1001,
            frame: 1,
            time_ns: 500 * MS,
            timestamp: None,
            identification: 0,
            probe: None,
        };
        let known = KnownState {
            original: None,
            next: 2001,
            acked: 1,
            last_data: None,
            peer_data_ns: None,
            peer_new_data_ns: None,
            since_received_ns: 0,
            duplicate_acks: 0,
            rtt_ns: Some(100 * MS),
            sender_path_ns: Some(100 * MS),
            segment_bytes: 1000,
            has_no_probes: false,
        };
        let copy = |time_ms: i64| SentSegment {
            time_ns: time_ms * MS,
            ..SentSegment::default()
        };
        assert!(hole.had_arrived_before(&copy(551), &known));
        assert!(!hole.had_arrived_before(&copy(549), &known));
        let on_link = SentSegment {
            on_link_ns: 30 * MS,
            ..copy(579)
        };
        assert!(!hole.had_arrived_before(&on_link, &known));
    }
}
