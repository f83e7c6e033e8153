//! A segment that was sent, and what is known of its direction at that time: how long its sender waited, and for what.

use tcptrace_tcp::{probe_after_ns, Class, DUPLICATE_ACKS, TIMED_OUT_MIN_NS};

/// A busy host answers what it hears within this.
pub(super) const AT_ONCE_MAX_NS: i64 = 10_000_000;
/// Data that follows other data of the flow sooner than this, or than this part of the round trip, was
/// not waited for: it is the pace of ACKs.
pub(super) const SILENCE_MIN_NS: i64 = 5_000_000;
pub(super) const SILENCE_RTT_SHARE: i64 = 3;
/// Who is nearer to the observation point than this sends at once what is seen at once.
pub(super) const NEAR_MAX_NS: i64 = 1_000_000;
/// RACK waits for a quarter of the least round trip for what may be reordered.
const REORDERED_SHARE: i64 = 4;
/// Its timer waits for two ticks of Linux's clock more (`TCP_TIMEOUT_MIN`), and for the next one: of 4 ms where, as on
/// most hosts, there are 250 a second.
const TICKS_NS: i64 = 12_000_000;
/// What two round trips take at least, seen through a queue that drains.
const DRAINED_NUMERATOR: i64 = 3;
const DRAINED_DENOMINATOR: i64 = 2;
/// The timer of Linux with one segment out, less the round trips: 200 ms, and what its variance and its
/// ticks add.
const TIMER_MAX_NS: i64 = 230_000_000;

/// What a timer waits that has measured no round trip: 1 s (RFC 6298, section 2.1), 3 s (RFC 2988) and, where its
/// variance is counted four times, 6 s (BSD and ns-2).
const FIRST_TIMERS_NS: [i64; 3] = [1_000_000_000, 3_000_000_000, 6_000_000_000];
/// How late that is from when its host sent what it had been asked for, which it works on for a while.
const FIRST_TIMER_LATE_NS: i64 = 100_000_000;

/// How far off such a timer may be: the path and the link are known that well, or its host works that long.
const ON_TIME_NS: i64 = 15_000_000;

/// Where the sender is nearer than this, nothing is lost on the way from it, and the host counts all its
/// packets together.
const FAR_MIN_NS: i64 = 500_000;
/// Not so if the receiver is by far the nearer one of the two, and a link of a LAN is between: it takes as long
/// for a packet there and back.
const FAR_OF_RECEIVER_MIN_NS: i64 = 100_000;
const FAR_OF_RECEIVER_SHARE: i64 = 8;
/// Packets of a single lost segment that never come by: that, and an ACK before it.
const SKIPPED_BY_PROBE: u32 = 2;
/// More packets at the end of a flight are not lost at once.
const LOST_AT_ONCE: u32 = 64;

/// A segment that takes sequence numbers, before it moves the state of its direction on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sent {
    pub frame: u64,
    pub time_ns: i64,
    pub start: i64,
    pub end: i64,
    pub payload_bytes: u32,
    pub is_syn: bool,
    /// Answers a SYN.
    pub is_syn_ack: bool,
    pub class: Class,
    pub timestamp: Option<u32>,
    pub identification: u32,
    /// Packets that its sender numbered since its last data, and that never came by.
    pub skipped_identifications: u32,
    /// Nothing of another connection of its host came by between them.
    pub are_skipped_own: bool,
    /// Of all packets of its host, so that one of another connection may be among those.
    pub is_numbered_by_host: bool,
    /// By its number it was sent before one that came by already.
    pub is_late: bool,
    /// What the slowest link takes for it; 0 if that is not known.
    pub on_link_ns: i64,
}

/// What is known of the two directions at that time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Known {
    /// Frame and time of the same data, where it came by and is not acknowledged.
    pub original: Option<(u64, i64)>,
    /// Offset after the last number sent, and up to where it is acknowledged.
    pub next: i64,
    pub acked: i64,
    /// The last segment of the sender with payload: frame and time.
    pub last_data: Option<(u64, i64)>,
    /// When the sender was last asked for something, by its own clock: data of its peer, and the path.
    pub asked_ns: Option<i64>,
    /// When it was asked for the last time by something new, if copies of it followed: they start no timer again.
    pub asked_before_copies_ns: Option<i64>,
    /// Since a packet of its peer reached the sender.
    pub heard_before_ns: i64,
    pub duplicate_acks: u32,
    pub rtt_ns: Option<i64>,
    /// Least round trip from the observation point to the sender.
    pub sender_path_ns: Option<i64>,
    pub segment_bytes: u32,
    /// The handshake tells that there are no SACKs, without which nobody probes for the loss of a tail (RFC 8985,
    /// section 7.2).
    pub has_no_probes: bool,
}

impl Known {
    /// Whether what the sender sends may be lost on its way to here.
    pub(super) fn is_sender_far(&self) -> bool {
        let Some(path_ns) = self.sender_path_ns else {
            return false;
        };
        let to_receiver_ns = self.rtt_ns.map(|rtt_ns| rtt_ns.saturating_sub(path_ns));
        let is_at_receiver = to_receiver_ns
            .is_some_and(|rtt_ns| rtt_ns.saturating_mul(FAR_OF_RECEIVER_SHARE) <= path_ns);
        path_ns >= FAR_MIN_NS || (is_at_receiver && path_ns >= FAR_OF_RECEIVER_MIN_NS)
    }

    /// Whether the third duplicate ACK came right now, next to a sender that has nothing else to go by: it sends again what
    /// is missing whatever recovery goes on, unless that keeps it from it (RFC 6582, section 3.2).
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
            && self.heard_before_ns <= AT_ONCE_MAX_NS
    }

    /// How long the sender had sent nothing like this and heard nothing, by its own clock.
    pub(super) fn waited(&self, sent: &Sent) -> i64 {
        let since = |then: i64| sent.time_ns.saturating_sub(then);
        let since_sent = match self.original {
            Some((_, original_ns)) => since(original_ns),
            None => since(self.silent_since(sent)),
        };
        since_sent.min(self.heard_before_ns)
    }

    /// Whether nothing has reached its sender since the data before.
    pub(super) fn has_heard_nothing_since_data(&self, sent: &Sent) -> bool {
        let last_data = self.last_data.map(|(_, time_ns)| time_ns);
        last_data.is_some_and(|ns| sent.time_ns.saturating_sub(ns) < self.heard_before_ns)
    }

    /// How long RACK waits at the most, at a quarter of the round trip (RFC 8985, section 6.2): what was sent with it has
    /// been acknowledged since.
    pub(super) fn may_be_reordered_ns(&self, sent: &Sent) -> i64 {
        self.original.map_or(0, |(_, original_ns)| {
            let waits_ns = sent.time_ns.saturating_sub(original_ns) / REORDERED_SHARE;
            waits_ns.saturating_add(TICKS_NS)
        })
    }

    /// How long it waited, where copies of what it was asked for tell it nothing.
    pub(super) fn waited_for_answer(&self, sent: &Sent) -> i64 {
        let Some(asked_ns) = self.asked_before_copies_ns else {
            return self.waited(sent);
        };
        let last_data = self.last_data.map_or(asked_ns, |(_, time_ns)| time_ns);
        sent.time_ns.saturating_sub(last_data.max(asked_ns))
    }

    /// Whether `sent` may be a probe with new data. A queue may have drained while its sender waited for two
    /// round trips: they look shorter then, at the receiver.
    pub(super) fn may_probe_with(&self, sent: &Sent) -> bool {
        let least = self.rtt_ns.map_or(TIMED_OUT_MIN_NS, |rtt| {
            rtt.saturating_mul(DRAINED_NUMERATOR) / DRAINED_DENOMINATOR
        });
        self.waited_for_answer(sent) >= least.max(SILENCE_MIN_NS.saturating_mul(2))
    }

    /// When the sender last sent data or, if that was later, was asked for some.
    pub(super) fn silent_since(&self, sent: &Sent) -> i64 {
        let last_data = self.last_data.map(|(_, time_ns)| time_ns);
        last_data.max(self.asked_ns).unwrap_or(sent.time_ns)
    }

    /// Up to where data was sent before `sent` was sent again, by the packets that its sender numbered and that
    /// never came by: a flight of full segments, the last of which may be shorter.
    pub(super) fn sent_before(&self, sent: &Sent) -> i64 {
        let lost = sent.skipped_identifications.min(LOST_AT_ONCE);
        self.next
            .saturating_add(i64::from(lost.saturating_mul(self.segment_bytes)))
    }

    /// Whether what its sender's numbers have passed over before `sent` may have been lost: more is not lost at once of
    /// one connection, if it is not known which of those it was. But where a whole segment comes just when a timer runs
    /// out, and nothing for another connection came in between, a sender without a window has overrun a queue.
    pub(super) fn may_be_lost(&self, sent: &Sent) -> bool {
        let are_few = sent.skipped_identifications <= LOST_AT_ONCE;
        let is_whole = sent.payload_bytes >= self.segment_bytes;
        let is_overrun = sent.are_skipped_own && is_whole && self.is_on_time_of_a_first_timer(sent);
        (are_few || is_overrun) && self.is_sender_far()
    }

    /// Whether several packets are missing before `sent`, and its sender's numbers have passed over one more: `sent` had
    /// been among those that were lost. Behind a single one that may have been an ACK.
    pub(super) fn is_copy_behind_hole(&self, sent: &Sent) -> bool {
        let gap = sent.class.gap_before_bytes;
        let missing = gap.div_ceil(self.segment_bytes.max(1));
        let are_more = sent.skipped_identifications == missing.saturating_add(1);
        missing > 1 && sent.are_skipped_own && are_more
    }

    fn is_on_time_of_a_first_timer(&self, sent: &Sent) -> bool {
        let waited = self.waited(sent);
        let late_ns = |timer_ns: i64| waited.saturating_sub(timer_ns);
        let mut late = FIRST_TIMERS_NS.into_iter().map(late_ns);
        late.any(|late_ns| late_ns.saturating_abs() <= ON_TIME_NS)
    }

    /// Whether a timer may have run out before `sent`.
    pub(super) fn is_after_a_timer(&self, sent: &Sent) -> bool {
        self.waited_for_answer(sent) >= probe_after_ns(self.rtt_ns)
    }

    /// Whether a timer may have sent this again, or a probe, where senders probe.
    pub(super) fn may_send_again(&self, sent: &Sent) -> bool {
        let is_too_soon = self.has_no_probes && self.waited_for_answer(sent) < TIMED_OUT_MIN_NS;
        self.is_after_a_timer(sent) && !is_too_soon && self.fits_repair(sent)
    }

    /// Whether what goes on where its peer has all, and repairs several packets that never came by, may be what a timeout
    /// sends: a probe sends the last of them, not the first (RFC 8985, section 7.3).
    fn fits_repair(&self, sent: &Sent) -> bool {
        sent.skipped_identifications <= SKIPPED_BY_PROBE
            || self.waited_for_answer(sent) >= TIMED_OUT_MIN_NS
    }

    /// Whether the sender was silent for as long as its timer waits with one segment out: 200 ms for an ACK
    /// that may be delayed (RFC 8985, section 7.2; Linux's TCP_RTO_MIN), and one round trip or two; or for as long
    /// as a timer that has measured nothing yet.
    pub(super) fn is_when_a_timer_runs_out(&self, sent: &Sent) -> bool {
        let Some(rtt) = self.rtt_ns else { return false };
        let waited = self.waited(sent);
        let most = TIMER_MAX_NS.saturating_add(rtt.saturating_mul(2));
        let is_first = FIRST_TIMERS_NS.into_iter().any(|timer_ns| {
            let late_ns = self.waited_for_answer(sent).saturating_sub(timer_ns);
            (0..=FIRST_TIMER_LATE_NS).contains(&late_ns)
        });
        is_first || (TIMED_OUT_MIN_NS.saturating_add(rtt)..=most).contains(&waited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(to_sender_us: i64, to_receiver_us: i64) -> Known {
        Known {
            original: None,
            next: 1,
            acked: 1,
            last_data: None,
            asked_ns: None,
            asked_before_copies_ns: None,
            heard_before_ns: 0,
            duplicate_acks: 0,
            rtt_ns: Some((to_sender_us + to_receiver_us) * 1000),
            sender_path_ns: Some(to_sender_us * 1000),
            segment_bytes: 1460,
            has_no_probes: false,
        }
    }

    #[test]
    fn a_timer_runs_out_after_200_ms_and_round_trips_or_first_after_a_second_or_three() {
        let after = |waited_ms: i64| {
            let known = Known {
                asked_ns: Some(0),
                heard_before_ns: i64::MAX,
                ..known(50_000, 1)
            };
            let sent = Sent {
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
                are_skipped_own: true,
                is_numbered_by_host: false,
                is_late: false,
            };
            known.is_when_a_timer_runs_out(&sent)
        };
        for waited_ms in [260, 1000, 1050, 3020, 6000] {
            assert!(after(waited_ms), "{waited_ms}");
        }
        for waited_ms in [150, 600, 990, 1500, 2900, 4000] {
            assert!(!after(waited_ms), "{waited_ms}");
        }
    }

    #[test]
    fn what_crosses_a_lan_to_the_receiver_may_be_lost_and_what_its_own_host_sends_may_not() {
        assert!(known(211, 1).is_sender_far());
        assert!(known(600, 600).is_sender_far());
        assert!(!known(211, 211).is_sender_far());
        assert!(!known(30, 1).is_sender_far());
        assert!(!known(1, 40_000).is_sender_far());
    }
}
