//! Sent segment, and the state of its direction when the segment left: the sender's wait and its reason.

use tcptrace_tcp::{probe_after_ns, Class, DUPLICATE_ACKS, TIMED_OUT_MIN_NS};

/// Longest time in which a busy host answers.
pub(super) const AT_ONCE_MAX_NS: i64 = 10_000_000;
/// Shortest silence; data that follows earlier, or within this share of the round trip, follows the pace of
/// ACKs.
pub(super) const SILENCE_MIN_NS: i64 = 5_000_000;
pub(super) const SILENCE_RTT_SHARE: i64 = 3;
/// Largest distance of a near sender: it sends at the time that the capture shows.
pub(super) const NEAR_MAX_NS: i64 = 1_000_000;
/// RACK's reordering window, as a divisor of the smallest round trip.
const REORDERED_SHARE: i64 = 4;
/// Additional time of RACK's timer: two ticks of Linux's clock (`TCP_TIMEOUT_MIN`), and up to one more.
///
/// A tick is 4 ms on most hosts (250 per second).
const TICKS_NS: i64 = 12_000_000;
/// Minimum factor for the time of two round trips through a draining queue.
const DRAINED_NUMERATOR: i64 = 3;
const DRAINED_DENOMINATOR: i64 = 2;
/// Longest timer of Linux with one segment in flight, without the round trips: 200 ms plus variance and
/// ticks.
const TIMER_MAX_NS: i64 = 230_000_000;

/// RTO values without an RTT sample, by RFC and stack.
///
/// RFC 6298, section 2.1, has 1 s. RFC 2988 has 3 s. BSD and ns-2 count the variance four times and have 6 s.
const FIRST_TIMERS_NS: [i64; 3] = [1_000_000_000, 3_000_000_000, 6_000_000_000];
/// Longest lateness of that RTO relative to the request, because the host works on its answer first.
const FIRST_TIMER_LATE_NS: i64 = 100_000_000;

/// Tolerance of an initial RTO: the accuracy of path and link, or the time that the host works.
const ON_TIME_NS: i64 = 15_000_000;

/// Shortest distance of a far sender: no packet is lost near the sender, and its host may number all packets
/// together.
const FAR_MIN_NS: i64 = 500_000;
/// Shorter distance if the receiver is much nearer than the sender, and a LAN link is between them.
///
/// Most of the round trip must be on the sender's side.
const FAR_OF_RECEIVER_MIN_NS: i64 = 100_000;
const FAR_OF_RECEIVER_SHARE: i64 = 8;
/// Missing packets of a single lost segment: the segment and an ACK before it.
const SKIPPED_BY_PROBE: u32 = 2;
/// Maximum number of packets lost at once at the end of a flight.
const LOST_AT_ONCE: u32 = 64;

/// Segment with sequence numbers, before it advances the state of its direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct SentSegment {
    pub frame: u64,
    pub time_ns: i64,
    pub start: i64,
    pub end: i64,
    pub payload_bytes: u32,
    pub is_syn: bool,
    /// True for a SYN-ACK.
    pub is_syn_ack: bool,
    pub class: Class,
    pub timestamp: Option<u32>,
    pub identification: u32,
    /// Missing packets that the sender numbered since its last data.
    pub skipped_identifications: u32,
    /// True if no packet of the host's other connections passed between them.
    pub is_gap_own: bool,
    /// True if the host numbers all its packets together: a missing packet may belong to another connection.
    pub is_numbered_by_host: bool,
    /// True if the number shows that the segment was sent before an earlier captured packet.
    pub is_late: bool,
    /// Serialization time of the bottleneck; 0 if unknown.
    pub on_link_ns: i64,
}

/// Known state of the two directions when the segment left.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownState {
    /// Frame and time of the same data, if it passed and is not acknowledged.
    pub original: Option<(u64, i64)>,
    /// Offset after the last number sent, and offset of the last ACK.
    pub next: i64,
    pub acked: i64,
    /// Frame and time of the sender's last segment with payload.
    pub last_data: Option<(u64, i64)>,
    /// Arrival time at the sender of the peer's last data, computed with the path.
    pub peer_data_ns: Option<i64>,
    /// Arrival time of the peer's last new data, if copies of it followed: copies do not restart the timer.
    pub peer_new_data_ns: Option<i64>,
    /// Time since a packet of its peer reached the sender.
    pub since_received_ns: i64,
    pub duplicate_acks: u32,
    pub rtt_ns: Option<i64>,
    /// Smallest round trip from the capture point to the sender.
    pub sender_path_ns: Option<i64>,
    pub segment_bytes: u32,
    /// True if the handshake excludes SACK: without SACK no sender probes for tail loss (RFC 8985, section
    /// 7.2).
    pub has_no_probes: bool,
}

impl KnownState {
    /// Return whether the sender's segments may be lost before the capture point.
    pub(super) fn is_sender_far(&self) -> bool {
        let Some(path_ns) = self.sender_path_ns else {
            return false;
        };
        let to_receiver_ns = self.rtt_ns.map(|rtt_ns| rtt_ns.saturating_sub(path_ns));
        let is_at_receiver = to_receiver_ns
            .is_some_and(|rtt_ns| rtt_ns.saturating_mul(FAR_OF_RECEIVER_SHARE) <= path_ns);
        path_ns >= FAR_MIN_NS || (is_at_receiver && path_ns >= FAR_OF_RECEIVER_MIN_NS)
    }

    /// Return whether the third duplicate ACK has just reached a near sender without SACK.
    ///
    /// The sender then retransmits the missing data in any recovery, unless that recovery prevents it (RFC
    /// 6582, section 3.2).
    pub(super) fn has_third_duplicate_since(&self, (acked, duplicate_acks): (i64, u32)) -> bool {
        let before = if acked == self.acked {
            duplicate_acks
        } else {
            0
        };
        let since = self.duplicate_acks.saturating_sub(before);
        let is_near = self.sender_path_ns.is_some_and(|path| path < NEAR_MAX_NS);
        is_near
            && self.has_no_probes
            && since == DUPLICATE_ACKS
            && self.since_received_ns <= AT_ONCE_MAX_NS
    }

    /// Return the time for which the sender had neither sent this data nor received a packet.
    pub(super) fn waited(&self, sent: &SentSegment) -> i64 {
        let since = |then: i64| sent.time_ns.saturating_sub(then);
        let since_sent = match self.original {
            Some((_, original_ns)) => since(original_ns),
            None => since(self.silent_since(sent)),
        };
        since_sent.min(self.since_received_ns)
    }

    /// Return whether no packet has reached the sender since its previous data.
    pub(super) fn has_no_packet_since_data(&self, sent: &SentSegment) -> bool {
        let last_data = self.last_data.map(|(_, time_ns)| time_ns);
        last_data.is_some_and(|ns| sent.time_ns.saturating_sub(ns) < self.since_received_ns)
    }

    /// Return the longest wait of RACK, a quarter of the round trip (RFC 8985, section 6.2).
    ///
    /// Data sent together with this segment has been acknowledged since.
    pub(super) fn reordering_ns(&self, sent: &SentSegment) -> i64 {
        self.original.map_or(0, |(_, original_ns)| {
            let waits_ns = sent.time_ns.saturating_sub(original_ns) / REORDERED_SHARE;
            waits_ns.saturating_add(TICKS_NS)
        })
    }

    /// Return the sender's wait, without counting copies of the peer's data.
    pub(super) fn answer_wait_ns(&self, sent: &SentSegment) -> i64 {
        let Some(peer_data_ns) = self.peer_new_data_ns else {
            return self.waited(sent);
        };
        let last_data = self.last_data.map_or(peer_data_ns, |(_, time_ns)| time_ns);
        sent.time_ns.saturating_sub(last_data.max(peer_data_ns))
    }

    /// Return whether `sent` may be a probe with new data.
    ///
    /// A draining queue shortens the sender's wait of two round trips at the receiver.
    pub(super) fn may_probe_with(&self, sent: &SentSegment) -> bool {
        let least = self.rtt_ns.map_or(TIMED_OUT_MIN_NS, |rtt| {
            rtt.saturating_mul(DRAINED_NUMERATOR) / DRAINED_DENOMINATOR
        });
        self.answer_wait_ns(sent) >= least.max(SILENCE_MIN_NS.saturating_mul(2))
    }

    /// Return the later of the sender's last data and the arrival of its peer's last data.
    pub(super) fn silent_since(&self, sent: &SentSegment) -> i64 {
        let last_data = self.last_data.map(|(_, time_ns)| time_ns);
        last_data.max(self.peer_data_ns).unwrap_or(sent.time_ns)
    }

    /// Return the end of the data sent before the retransmission `sent`, from the missing packet numbers.
    ///
    /// The missing packets count as full segments; the last one may be shorter.
    pub(super) fn sent_before(&self, sent: &SentSegment) -> i64 {
        let lost = sent.skipped_identifications.min(LOST_AT_ONCE);
        self.next
            .saturating_add(i64::from(lost.saturating_mul(self.segment_bytes)))
    }

    /// Return whether the packets missing before `sent` may have been lost.
    ///
    /// A single connection does not lose more than `LOST_AT_ONCE` packets at once, if the packets' connection
    /// is unknown. A sender without a congestion window may overrun a queue and lose more. A whole segment
    /// then comes exactly at a timer's expiry, and no other connection sent in between.
    pub(super) fn may_be_lost(&self, sent: &SentSegment) -> bool {
        let are_few = sent.skipped_identifications <= LOST_AT_ONCE;
        let is_whole = sent.payload_bytes >= self.segment_bytes;
        let is_overrun = sent.is_gap_own && is_whole && self.is_initial_timeout(sent);
        (are_few || is_overrun) && self.is_sender_far()
    }

    /// Return whether several packets are missing before `sent`, and the numbers skip one more: `sent` was
    /// lost before.
    ///
    /// Behind a single missing packet, the additional number may belong to an ACK.
    pub(super) fn is_copy_behind_hole(&self, sent: &SentSegment) -> bool {
        let gap = sent.class.gap_before_bytes;
        let missing = gap.div_ceil(self.segment_bytes.max(1));
        let are_more = sent.skipped_identifications == missing.saturating_add(1);
        missing > 1 && sent.is_gap_own && are_more
    }

    fn is_initial_timeout(&self, sent: &SentSegment) -> bool {
        let waited = self.waited(sent);
        let late_ns = |timer_ns: i64| waited.saturating_sub(timer_ns);
        let mut late = FIRST_TIMERS_NS.into_iter().map(late_ns);
        late.any(|late_ns| late_ns.saturating_abs() <= ON_TIME_NS)
    }

    /// Return whether a timer may have expired before `sent`.
    pub(super) fn is_after_timer(&self, sent: &SentSegment) -> bool {
        self.answer_wait_ns(sent) >= probe_after_ns(self.rtt_ns)
    }

    /// Return whether a timer or, for senders with probes, a probe may have retransmitted this.
    pub(super) fn is_possible_retransmission(&self, sent: &SentSegment) -> bool {
        let is_too_soon = self.has_no_probes && self.answer_wait_ns(sent) < TIMED_OUT_MIN_NS;
        self.is_after_timer(sent) && !is_too_soon && self.is_repair_size(sent)
    }

    /// Return whether a timeout may send this segment after several missing packets.
    ///
    /// A probe sends the last of them, not the first (RFC 8985, section 7.3).
    fn is_repair_size(&self, sent: &SentSegment) -> bool {
        sent.skipped_identifications <= SKIPPED_BY_PROBE
            || self.answer_wait_ns(sent) >= TIMED_OUT_MIN_NS
    }

    /// Return whether the sender's silence equals its RTO with one segment in flight.
    ///
    /// The RTO is 200 ms (RFC 8985, section 7.2; Linux's TCP_RTO_MIN) plus one or two round trips, or the RTO
    /// without an RTT sample.
    pub(super) fn is_timer_expiry(&self, sent: &SentSegment) -> bool {
        let Some(rtt) = self.rtt_ns else { return false };
        let waited = self.waited(sent);
        let most = TIMER_MAX_NS.saturating_add(rtt.saturating_mul(2));
        let is_first = FIRST_TIMERS_NS.into_iter().any(|timer_ns| {
            let late_ns = self.answer_wait_ns(sent).saturating_sub(timer_ns);
            (0..=FIRST_TIMER_LATE_NS).contains(&late_ns)
        });
        is_first || (TIMED_OUT_MIN_NS.saturating_add(rtt)..=most).contains(&waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(to_sender_us: i64, to_receiver_us: i64) -> KnownState {
        KnownState {
            original: None,
            next: 1,
            acked: 1,
            last_data: None,
            peer_data_ns: None,
            peer_new_data_ns: None,
            since_received_ns: 0,
            duplicate_acks: 0,
            rtt_ns: Some((to_sender_us + to_receiver_us) * 1000),
            sender_path_ns: Some(to_sender_us * 1000),
            segment_bytes: 1460,
            has_no_probes: false,
        }
    }

    #[test]
    fn timer_expires_after_200_ms_plus_round_trips_or_at_the_initial_rto() {
        let after = |waited_ms: i64| {
            let known = KnownState {
                peer_data_ns: Some(0),
                since_received_ns: i64::MAX,
                ..known(50_000, 1)
            };
            let sent = SentSegment {
                on_link_ns: 0,
                frame: 1,
                time_ns: waited_ms * 1_000_000,
                start: 1,
                end: 2,
                payload_bytes: 1,
                is_syn: false,
                is_syn_ack: false,
                class: Class::default(),
                timestamp: None,
                identification: 0,
                skipped_identifications: 1,
                is_gap_own: true,
                is_numbered_by_host: false,
                is_late: false,
            };
            known.is_timer_expiry(&sent)
        };
        for waited_ms in [260, 1000, 1050, 3020, 6000] {
            assert!(after(waited_ms), "{waited_ms}");
        }
        for waited_ms in [150, 600, 990, 1500, 2900, 4000] {
            assert!(!after(waited_ms), "{waited_ms}");
        }
    }

    #[test]
    fn data_across_a_lan_may_be_lost_and_local_data_may_not() {
        assert!(known(211, 1).is_sender_far());
        assert!(known(600, 600).is_sender_far());
        assert!(!known(211, 211).is_sender_far());
        assert!(!known(30, 1).is_sender_far());
        assert!(!known(1, 40_000).is_sender_far());
    }
}
