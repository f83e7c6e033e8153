//! What made a sender send something again, by how long it had heard nothing and what it had heard.

use tcptrace_tcp::{probe_after_ns, DUPLICATE_ACKS, TIMED_OUT_MIN_NS};
use trace_model::rows::RecoveryKind;

use super::known::{Known, Sent, AT_ONCE_MAX_NS, NEAR_MAX_NS};

/// What the sender may know when it sends something again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// Since it sent that data, or heard anything: the lesser of both.
    pub waited_ns: i64,
    pub duplicate_acks: u32,
    /// Something behind it has arrived.
    pub has_hole: bool,
    /// Something behind it had arrived before it was sent again.
    pub had_hole: bool,
    /// Before a part of what was missing came: of what is missing still nothing told since.
    pub was_told: bool,
    /// SACKs have told of that, to which each is a sign of the loss by itself.
    pub has_sack: bool,
    /// Up to how long after a SACK the timer of RACK runs, which waits for what may be reordered (RFC 8985, section 6.2).
    pub reordered_ns: i64,
}

impl Told {
    fn anything(&self) -> bool {
        self.has_hole || self.duplicate_acks > 0
    }

    /// Whether ACKs told of the loss, or were on their way to do so.
    fn in_time(&self) -> bool {
        self.had_hole || self.was_told || self.duplicate_acks > 0
    }

    /// Whether too few ACKs have told of the loss for the sender to send it again for their sake.
    fn is_untold(&self) -> bool {
        self.duplicate_acks < DUPLICATE_ACKS && !self.has_sack
    }

    /// Whether a timer ran out although ACKs had told of the loss. Next to the sender it shows that no ACK
    /// came when it sent: then it was a timer, and with SACKs maybe that of RACK (RFC 8985, section 6.3).
    /// Far from it, where they are too few nothing else sends again.
    fn is_timed(&self, known: &Known) -> bool {
        let is_near = known.sender_path_ns.is_some_and(|path| path < NEAR_MAX_NS);
        let least_ns = match known.rtt_ns {
            Some(rtt_ns) if self.has_hole => rtt_ns / 2,
            _ => AT_ONCE_MAX_NS,
        };
        let least_ns = least_ns.max(self.reordered_ns).max(AT_ONCE_MAX_NS);
        let shows_timer = is_near || self.is_untold();
        shows_timer && self.anything() && self.waited_ns > least_ns
    }
}

/// The kind of a recovery that `sent` begins.
#[must_use]
pub fn kind(sent: &Sent, known: &Known, told: &Told) -> RecoveryKind {
    // The timer sends the first unacknowledged segment again, a probe the last one.
    let is_last_of_several =
        known.original.is_some() && sent.end >= known.next && sent.start > known.acked;
    if told.waited_ns >= TIMED_OUT_MIN_NS || told.is_timed(known) {
        return if is_last_of_several && !told.anything() {
            RecoveryKind::TailLossProbe
        } else if told.in_time() {
            RecoveryKind::Timeout
        } else {
            RecoveryKind::TailLoss
        };
    }
    if told.duplicate_acks >= DUPLICATE_ACKS || told.anything() {
        return RecoveryKind::FastRecovery;
    }
    if told.waited_ns < probe_after_ns(known.rtt_ns) || known.has_no_probes {
        RecoveryKind::Unknown
    } else if sent.end >= known.next {
        RecoveryKind::TailLossProbe
    } else {
        RecoveryKind::TailLoss
    }
}

#[cfg(test)]
mod tests;
