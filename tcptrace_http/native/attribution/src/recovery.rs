//! Loss detection of a sender: duplicate ACKs or a timer (RFC 5681, RFC 6298, RFC 8985).

use tcptrace_path::Route;
use tcptrace_sender::timers::{Repair, DUPLICATE_ACKS, RTO_MIN_NS};
use trace_model::rows::Cause;

/// Maximum number of holes whose duplicate ACKs are kept.
const HOLES: usize = 16;

/// ACKs that reported a hole.
#[derive(Clone, Copy, Debug)]
struct HoleReport {
    /// Start of the hole: the number that duplicate ACKs repeat.
    ack: i64,
    duplicates: u32,
    /// Time at which the sender could react to the first ACK with a SACK.
    sacked_ns: Option<i64>,
    /// Time at which the sender could react to the third duplicate ACK.
    third_ns: Option<i64>,
}

/// Retransmission in the capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sighting {
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) packet_bytes: u32,
    pub(crate) pass_ns: i64,
    /// End of all sent data.
    pub(crate) snd_nxt: i64,
    /// True if an ACK reached the sender when the segment left.
    pub(crate) is_clocked: bool,
    /// True if the segment was queued behind others on the link.
    pub(crate) is_queued: bool,
    /// True if data behind the segment had arrived.
    pub(crate) has_hole: bool,
    /// True if the receiver has all of its data: a probe or an unnecessary copy.
    pub(crate) is_received: bool,
}

/// Duplicate ACKs at the sender, and the current recovery.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recovery {
    reports: Vec<HoleReport>,
    /// Current repair and its end offset.
    episode: Option<(Repair, i64)>,
    /// Time at which an ACK of new data restarted the timer.
    restarted_ns: Option<i64>,
}

impl Recovery {
    /// Take an ACK without new data that reaches the sender at `at_ns`.
    pub(crate) fn on_duplicate(&mut self, ack: i64, has_sack: bool, at_ns: i64) {
        self.note(ack, has_sack, at_ns);
    }

    /// Take an ACK of new data up to `ack`; an ACK with a SACK also reports a hole.
    pub(crate) fn on_ack(&mut self, ack: i64, has_sack: bool, at_ns: i64) {
        self.restarted_ns = Some(at_ns);
        if has_sack {
            self.note(ack, has_sack, at_ns);
        }
        if self.episode.is_some_and(|(_, until)| ack >= until) {
            self.episode = None;
        }
    }

    /// Count one more ACK that reports the hole at `ack`.
    fn note(&mut self, ack: i64, has_sack: bool, at_ns: i64) {
        let known = self.reports.iter().position(|it| it.ack == ack);
        let before = known.map(|place| self.reports.remove(place));
        let duplicates = before.map_or(0, |it| it.duplicates).saturating_add(1);
        let third_ns = before.and_then(|it| it.third_ns);
        let sacked_ns = before.and_then(|it| it.sacked_ns);
        self.reports.truncate(HOLES);
        let report = HoleReport {
            ack,
            duplicates,
            sacked_ns: sacked_ns.or(has_sack.then_some(at_ns)),
            third_ns: third_ns.or((duplicates == DUPLICATE_ACKS).then_some(at_ns)),
        };
        self.reports.insert(0, report);
    }

    /// Return the kind of loss detection that a repair shows.
    pub(crate) fn on_repair(&mut self, it: &Sighting, route: &Route) -> Repair {
        let follows_at_once = it.is_clocked || it.is_queued;
        if let Some((repair, _)) = self.episode.filter(|_| follows_at_once) {
            return repair;
        }
        let slack_ns = route
            .tolerance_ns()
            .saturating_add(route.round_trip_ns() / 4);
        let report = self
            .reports
            .iter()
            .find(|report| it.start <= report.ack && report.ack < it.end);
        let by_duplicates = report.and_then(|it| it.third_ns).is_some_and(|third_ns| {
            it.is_queued || it.pass_ns <= third_ns.saturating_add(slack_ns)
        });
        // The reordering window of RACK-TLP is a quarter of the smallest round trip (RFC 8985, section 6.2).
        let window_ns = slack_ns.saturating_add(route.link.time_ns(it.packet_bytes) / 4);
        let by_sack = report.and_then(|it| it.sacked_ns).is_some_and(|sacked_ns| {
            it.is_queued || it.pass_ns <= sacked_ns.saturating_add(window_ns)
        });
        // The timer cannot expire within the smallest RTO after the ACK that started it (RFC 6298, section
        // 5.3).
        let is_too_soon = self
            .restarted_ns
            .is_some_and(|restarted_ns| it.pass_ns.saturating_sub(restarted_ns) < RTO_MIN_NS);
        let was_reported = report.is_some_and(|it| it.duplicates > 0) || it.has_hole;
        let repair = if by_duplicates || by_sack || ((it.is_clocked || is_too_soon) && was_reported)
        {
            Repair::FastRecovery
        } else if was_reported {
            Repair::RetransmissionTimeout
        } else {
            Repair::TailLoss
        };
        if !it.is_received {
            self.episode = Some((repair, it.snd_nxt));
        }
        repair
    }
}

/// Return the cause of a repair's time.
pub(crate) fn cause_of(repair: Repair) -> Cause {
    match repair {
        Repair::FastRecovery => Cause::StallFastRecovery,
        Repair::RetransmissionTimeout => Cause::StallRetransmissionTimeout,
        Repair::TailLoss => Cause::StallTailLoss,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: Route = Route {
        place: tcptrace_path::Place::Receiver,
        to_sender_ns: 100_000_000,
        to_receiver_ns: 0,
        link: tcptrace_path::Serialization::from_picoseconds(0),
        link_at_most: None,
        probe_bytes: 120,
        ack_bytes: 52,
    };

    fn copy_of_first(pass_ms: i64) -> Sighting {
        Sighting {
            start: 1,
            end: 1461,
            packet_bytes: 1500,
            pass_ns: pass_ms * 1_000_000,
            snd_nxt: 10_000,
            is_clocked: false,
            is_queued: false,
            has_hole: false,
            is_received: false,
        }
    }

    #[test]
    fn third_duplicate_acknowledgment_starts_a_fast_retransmit() {
        let mut recovery = Recovery::default();
        for at_ms in [101, 102, 103] {
            recovery.on_duplicate(1, false, at_ms * 1_000_000);
        }
        let repair = recovery.on_repair(&copy_of_first(103), &PATH);
        assert_eq!(repair, Repair::FastRecovery);
    }

    #[test]
    fn timer_after_two_duplicates_is_a_retransmission_timeout() {
        let mut recovery = Recovery::default();
        recovery.on_duplicate(1, false, 101_000_000);
        recovery.on_duplicate(1, false, 102_000_000);
        let repair = recovery.on_repair(&copy_of_first(500), &PATH);
        assert_eq!(repair, Repair::RetransmissionTimeout);
    }

    #[test]
    fn timer_without_reports_is_a_tail_loss() {
        let repair = Recovery::default().on_repair(&copy_of_first(500), &PATH);
        assert_eq!(repair, Repair::TailLoss);
    }
}
