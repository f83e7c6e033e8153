//! What was sent first and is on its way still when a part of it is sent again.
//!
//! Theory of operation. A link that is busy carries all that was sent and is not known to have come. What is behind a
//! missing segment is acknowledged no sooner than that comes, but each duplicate ACK tells that one of it has (RFC 5681,
//! section 3.2), unless a needless copy has caused it. So does a SACK on an ACK of what came before.

use tcptrace_tcp::{DELAYED_ACK_MAX_NS, DELAYED_ACK_SEGMENTS};

use super::super::{Pending, Resent, Route, Timeline};

/// What has come behind something that is missing, as far as duplicate ACKs have told.
#[derive(Clone, Copy, Debug, Default)]
pub(in super::super) struct CameBehind {
    came: usize,
    /// Copies that may have been needless: a duplicate ACK of each may be due.
    unheard: usize,
}

impl CameBehind {
    /// A duplicate ACK came.
    pub(in super::super) fn is_acked_again(&mut self) {
        match self.unheard.checked_sub(1) {
            Some(left) => self.unheard = left,
            None => self.came = self.came.saturating_add(1),
        }
    }

    /// Something is sent again.
    pub(super) fn is_copied(&mut self) {
        self.unheard = self.unheard.saturating_add(1);
    }

    /// What was sent again had been lost.
    pub(in super::super) fn had_lost(&mut self) {
        self.unheard = 0;
    }

    /// So much was acknowledged that was not sent again: some of it had come behind what was missing.
    pub(in super::super) fn is_acked(&mut self, first_sent: usize) {
        self.came = self.came.saturating_sub(first_sent);
    }
}

impl Timeline {
    /// When the ACK comes of all that was sent first and is on its way still, as the slowest link carries it since
    /// what was acknowledged last. None if it is not: a link that is busy is told of by ACKs, and duplicate ones that
    /// no copies have caused tell of a loss.
    pub(super) fn originals_ns(&self, data: Resent, route: Route) -> Option<i64> {
        let link = self.link.if_agreed();
        let first = self.pending.front()?;
        let joined_ns = first.at.time_ns.saturating_add(self.least_way_ns(route));
        let since_ns = self
            .came
            .map_or(joined_ns, |came| came.time_ns.max(joined_ns));
        let silent_ns = data.at.time_ns.saturating_sub(since_ns);
        let most_ns = link
            .of(
                self.full_bytes.saturating_mul(DELAYED_ACK_SEGMENTS),
                DELAYED_ACK_SEGMENTS,
            )
            .saturating_add(DELAYED_ACK_MAX_NS);
        let takes_ns = |sent: &Pending| link.of(sent.bytes, sent.segments);
        let left = self.pending.iter().skip(self.copies.behind.came);
        let all_ns = left.map(takes_ns);
        let is_told = data.heard.duplicate_acks > 0 || data.heard.has_hole;
        (!is_told && silent_ns <= most_ns).then(|| all_ns.fold(since_ns, i64::saturating_add))
    }
}
