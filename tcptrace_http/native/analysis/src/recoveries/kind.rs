//! What made a sender send something again, by how long it had heard nothing and what it had heard.

use tcptrace_tcp::{probe_after_ns, DUPLICATE_ACKS, TIMED_OUT_MIN_NS};
use trace_model::rows::RecoveryKind;

use super::known::{Known, Sent, NEAR_MAX_NS};
use crate::jitter::{AT_ONCE_MAX_NS, CLOSE_NS};
use crate::shared_windows::Unheard;

/// A receiver acknowledges at least every second full segment (RFC 1122, section 4.2.3.2).
const SEGMENTS_AN_ACK: i64 = 2;
/// Times on the link are known to this share of them (see `departures`).
const SLACK_SHARE: i64 = 8;

/// What the sender may know when it sends something again.
#[derive(Clone, Copy, Debug, Default)]
pub struct Told {
    /// Since it sent that data, or heard anything: the lesser of both.
    pub waited_ns: i64,
    pub duplicate_acks: u32,
    /// Something behind it has arrived.
    pub has_hole: bool,
    /// ... before it was sent again.
    pub had_hole: bool,
    /// Before a part of what was missing came: of what is missing still nothing told since.
    pub was_told: bool,
    /// SACKs have told of that, to which each is a sign of the loss by itself.
    pub has_sack: bool,
    /// Up to how long after a SACK the timer of RACK runs, which waits for what may be reordered (RFC 8985, section 6.2).
    pub reordered_ns: i64,
    /// It left when an ACK of another connection came, with which its own may share all of congestion control.
    pub is_after_other: bool,
    /// Next to its sender so many ACKs of other connections have passed over it, the last of them right before it left.
    pub passed_over: u32,
    /// What it had not heard, as far as it is known when it sent that.
    pub unheard: Option<Unheard>,
    /// What the slowest link takes for a full segment; 0 if that is not known.
    pub service_ns: i64,
}

impl Told {
    /// How long it had heard nothing, at the least. The third duplicate ACK is what lets data go that is sent again: one
    /// that may have come just then was heard.
    fn unheard_ns(&self) -> Option<i64> {
        let is_third = self.duplicate_acks == DUPLICATE_ACKS;
        self.unheard.map(|unheard| match is_third {
            true => unheard.least_ns.min(unheard.most_ns),
            false => unheard.least_ns,
        })
    }

    fn anything(&self) -> bool {
        self.has_hole || self.duplicate_acks > 0
    }

    /// Whether ACKs told of the loss, or were on their way to do so.
    fn in_time(&self) -> bool {
        self.had_hole || self.was_told || self.duplicate_acks > 0
    }

    /// Whether an ACK of another connection let it go, with which its own shares all of congestion control: by it the
    /// sender counts the last of those that tell of a loss (E-TCP, section 3). By chance a timer runs out then.
    fn is_told_by_other(&self) -> bool {
        let at_once = self.unheard_ns().is_some_and(|ns| ns <= CLOSE_NS);
        self.is_after_other && at_once && self.anything() || self.is_third_with_others()
    }

    /// ... which next to the sender is seen to be the last of those that it counts.
    fn is_third_with_others(&self) -> bool {
        let all = self.passed_over.saturating_add(self.duplicate_acks);
        self.passed_over > 0 && all == DUPLICATE_ACKS
    }

    /// Whether too few ACKs have told of the loss for the sender to send it again for their sake.
    fn is_untold(&self) -> bool {
        self.duplicate_acks < DUPLICATE_ACKS && !self.has_sack && !self.is_after_other
    }

    /// Whether the sender had heard nothing for so long when it sent this again that no ACK can have told it to,
    /// however many have come since: ACKs of one flight are as far apart as the link takes for what they acknowledge,
    /// and the timer of RACK runs out within a round trip of a SACK (RFC 8985, section 6.2).
    fn is_told_by_none(&self, known: &Known) -> bool {
        let rack_ns = if self.has_sack {
            probe_after_ns(known.rtt_ns)
        } else {
            0
        };
        // The third duplicate ACK lets it go, and no later one.
        let is_told_already = self.duplicate_acks > DUPLICATE_ACKS;
        let apart_ns = if is_told_already {
            0
        } else {
            self.service_ns.saturating_mul(SEGMENTS_AN_ACK)
        };
        let most_ns = rack_ns.max(apart_ns).max(AT_ONCE_MAX_NS);
        let is_silent = self.unheard_ns().is_some_and(|ns| ns > most_ns);
        is_silent && !self.is_at_once() && !self.is_after_other
    }

    /// Whether it came just when it would that an ACK let go, behind nothing else.
    fn is_at_once(&self) -> bool {
        (self.service_ns.saturating_neg() / SLACK_SHARE..=0).contains(&self.waited_ns)
    }

    /// Whether it left so late that it had heard nothing for longer than this, if it did not stand in a queue since; ACKs
    /// that go by here later came too late to tell, and those before were too few.
    fn may_have_waited(&self, least_ns: i64) -> bool {
        let in_time = self.unheard.filter(|unheard| unheard.later_acks > 0);
        self.is_untold() && in_time.is_some_and(|unheard| unheard.most_ns > least_ns)
    }

    /// Whether a timer ran out although ACKs had told of the loss. Next to the sender it shows that no ACK
    /// came when it sent: then it was a timer, and with SACKs maybe that of RACK (RFC 8985, section 6.3).
    /// Far from it the ACKs that came late are known, and where they are too few nothing else sends again.
    fn is_timed(&self, known: &Known) -> bool {
        let is_near = known.sender_path_ns.is_some_and(|path| path < NEAR_MAX_NS);
        let least_ns = match known.rtt_ns {
            Some(rtt_ns) if self.has_hole => rtt_ns / 2,
            _ => AT_ONCE_MAX_NS,
        };
        let least_ns = least_ns.max(self.reordered_ns);
        let shows_timer = is_near || self.is_untold();
        // Who is told of a loss sends again at once when the ACK comes that tells.
        let is_silent = !self.is_at_once()
            && self
                .unheard_ns()
                .is_some_and(|ns| ns > AT_ONCE_MAX_NS.max(self.reordered_ns));
        let shows_timer = shows_timer || self.is_told_by_none(known);
        let least_ns = least_ns.max(AT_ONCE_MAX_NS);
        let has_waited = self.waited_ns > least_ns || is_silent || self.may_have_waited(least_ns);
        shows_timer && self.anything() && has_waited
    }
}

/// The kind of a recovery that `sent` begins.
#[must_use]
pub fn kind(sent: &Sent, known: &Known, told: &Told) -> RecoveryKind {
    // The timer sends the first unacknowledged segment again, a probe the last one.
    let is_last_of_several =
        known.original.is_some() && sent.end >= known.next && sent.start > known.acked;
    if told.is_told_by_other() {
        return RecoveryKind::FastRecovery;
    }
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
