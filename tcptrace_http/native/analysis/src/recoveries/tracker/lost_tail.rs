//! What a sender sends again segment by segment, as partial ACKs tell it to, and of which no copy had come before.
//!
//! Theory of operation. A flight's tail that was lost behind a segment that was lost as well is sent again after the
//! repair of that, a segment for each partial ACK (RFC 6582, section 3.2, step 5): at the receiver it looks new. The
//! numbers of its host tell that so much may have been lost; who counts the packets of all connections together does
//! not tell of which. But a window that no recovery holds back has room for two full segments at the least (RFC 5681,
//! equation 4): who sends one alone when all before it is acknowledged, and then another, repairs.

use tcptrace_tcp::TIMED_OUT_MIN_NS;
use trace_model::rows::RecoveryKind;

use super::super::known::{Known, Sent};
use super::Tracker;

/// Where the window of a sender that recovers no more would have let the next segment go with it.
const ALONE_MIN: u32 = 2;

/// A flight whose tail may have been lost with what was sent again first.
#[derive(Clone, Copy, Debug)]
pub(super) struct LostTail {
    /// All that may have been sent.
    until: i64,
    /// So many segments came since when nothing else was on its way.
    alone: u32,
}

impl Tracker {
    /// A recovery begins with `sent`, which fills a hole.
    pub(super) fn notes_lost_tail(&mut self, sent: &Sent, known: &Known, kind: RecoveryKind) {
        let is_told_by_host = sent.skipped_identifications > 0 && !sent.are_skipped_own;
        let may_be_lost = is_told_by_host && !self.counts_are_shared && known.is_sender_far();
        self.lost_tail = (may_be_lost && kind == RecoveryKind::FastRecovery).then(|| LostTail {
            until: known.sent_before(sent),
            alone: 0,
        });
    }

    /// The kind of the recovery that new data is part of, if partial ACKs alone let it go.
    pub(super) fn repairs_lost_tail(&mut self, sent: &Sent, known: &Known) -> Option<RecoveryKind> {
        let mut tail = self.lost_tail.take()?;
        let last_ns = known.last_data.map(|(_, time_ns)| time_ns);
        let is_alone = known.acked >= known.next && sent.class.gap_before_bytes == 0;
        let may_be_short = tail.alone >= ALONE_MIN;
        let is_large = sent.payload_bytes >= known.segment_bytes || may_be_short;
        let is_told = known.asked_ns <= last_ns && known.waited(sent) < TIMED_OUT_MIN_NS;
        if !is_alone || !is_large || !is_told || sent.end > tail.until {
            if may_be_short {
                self.close();
            }
            return None;
        }
        tail.alone = tail.alone.saturating_add(1);
        let repaired = (tail.alone >= ALONE_MIN)
            .then(|| self.repair(sent, known, RecoveryKind::FastRecovery, None));
        if let Some(open) = self.open.as_mut().filter(|_| repaired.is_some()) {
            open.until = open.until.max(tail.until);
        }
        self.lost_tail = Some(tail);
        repaired
    }
}
