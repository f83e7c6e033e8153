//! Cause of a retransmission, from the sender's silence and the ACKs that it received.

use tcptrace_tcp::{probe_after_ns, DUPLICATE_ACKS, TIMED_OUT_MIN_NS};
use trace_model::rows::RecoveryKind;

use super::known::{KnownState, SentSegment, AT_ONCE_MAX_NS, NEAR_MAX_NS};

/// Evidence that the sender may have at a retransmission.
#[derive(Clone, Copy, Debug, Default)]
pub struct LossEvidence {
    /// Shorter of the times since it sent the data and since it received an ACK.
    pub waited_ns: i64,
    pub duplicate_acks: u32,
    /// True if data behind it has arrived.
    pub has_hole: bool,
    /// True if data behind it had arrived before the retransmission.
    pub had_hole: bool,
    /// True if ACKs had reported the loss before a partial ACK, and no ACK since reports the rest.
    pub was_reported: bool,
    /// True if SACKs reported the loss: each SACK is evidence by itself.
    pub has_sack: bool,
    /// Longest time of RACK's reordering timer after a SACK (RFC 8985, section 6.2).
    pub reordered_ns: i64,
}

impl LossEvidence {
    fn has_any(&self) -> bool {
        self.has_hole || self.duplicate_acks > 0
    }

    /// Return whether ACKs had reported the loss, or were on their way.
    fn is_reported_in_time(&self) -> bool {
        self.had_hole || self.was_reported || self.duplicate_acks > 0
    }

    /// Return whether too few ACKs reported the loss to cause the retransmission.
    fn has_few_reports(&self) -> bool {
        self.duplicate_acks < DUPLICATE_ACKS && !self.has_sack
    }

    /// Return whether a timer expired although ACKs had reported the loss.
    ///
    /// Near the sender, no ACK at the send time shows a timer. With SACK the timer may be that of RACK (RFC
    /// 8985, section 6.3). Far from the sender, too few ACKs leave a timer as the only cause.
    fn is_timed(&self, known: &KnownState) -> bool {
        let is_near = known.sender_path_ns.is_some_and(|path| path < NEAR_MAX_NS);
        let least_ns = match known.rtt_ns {
            Some(rtt_ns) if self.has_hole => rtt_ns / 2,
            _ => AT_ONCE_MAX_NS,
        };
        let least_ns = least_ns.max(self.reordered_ns).max(AT_ONCE_MAX_NS);
        let shows_timer = is_near || self.has_few_reports();
        shows_timer && self.has_any() && self.waited_ns > least_ns
    }
}

/// Return the kind of recovery that `sent` begins.
#[must_use]
pub fn kind(sent: &SentSegment, known: &KnownState, evidence: &LossEvidence) -> RecoveryKind {
    // The timer retransmits the first unacknowledged segment, a probe the last one.
    let is_last_of_several =
        known.original.is_some() && sent.end >= known.next && sent.start > known.acked;
    if evidence.waited_ns >= TIMED_OUT_MIN_NS || evidence.is_timed(known) {
        return if is_last_of_several && !evidence.has_any() {
            RecoveryKind::TailLossProbe
        } else if evidence.is_reported_in_time() {
            RecoveryKind::Timeout
        } else {
            RecoveryKind::TailLoss
        };
    }
    if evidence.duplicate_acks >= DUPLICATE_ACKS || evidence.has_any() {
        return RecoveryKind::FastRecovery;
    }
    if evidence.waited_ns < probe_after_ns(known.rtt_ns) || known.has_no_probes {
        RecoveryKind::Unknown
    } else if sent.end >= known.next {
        RecoveryKind::TailLossProbe
    } else {
        RecoveryKind::TailLoss
    }
}

#[cfg(test)]
mod tests;
