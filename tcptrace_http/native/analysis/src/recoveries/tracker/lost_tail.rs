//! Tail of a flight that is retransmitted one segment per partial ACK, and whose originals never passed.
//!
//! Theory of operation. The tail may be lost together with an earlier segment. The sender repairs that
//! segment first. It then retransmits the tail, one segment per partial ACK (RFC 6582, section 3.2, step 5).
//! Near the receiver these segments look new. The host's numbers show the size of the loss. A counter for all
//! connections does not show whose packets were lost. A window outside recovery has room for at least two
//! full segments (RFC 5681, equation 4). A sender that sends single segments, each after the ACK of all
//! earlier data, is therefore in a repair.

use tcptrace_tcp::TIMED_OUT_MIN_NS;
use trace_model::rows::RecoveryKind;

use super::super::known::{KnownState, SentSegment};
use super::Tracker;

/// Number of single segments for which a window outside recovery would have allowed two at once.
const ALONE_MIN: u32 = 2;

/// Flight whose tail may have been lost together with its first retransmission.
#[derive(Clone, Copy, Debug)]
pub(super) struct LostTail {
    /// End of all data that may have been sent.
    until: i64,
    /// Number of segments since then that were alone in flight.
    alone: u32,
}

impl Tracker {
    /// Record a possible lost tail at a recovery that begins with `sent`, which fills a hole.
    pub(super) fn note_lost_tail(
        &mut self,
        sent: &SentSegment,
        known: &KnownState,
        kind: RecoveryKind,
    ) {
        let is_host_gap = sent.skipped_identifications > 0 && !sent.is_gap_own;
        let may_be_lost = is_host_gap && !self.is_counter_shared && known.is_sender_far();
        self.lost_tail = (may_be_lost && kind == RecoveryKind::FastRecovery).then(|| LostTail {
            until: known.sent_before(sent),
            alone: 0,
        });
    }

    /// Return the kind of the recovery that new data belongs to, if only partial ACKs released it.
    pub(super) fn repair_lost_tail(
        &mut self,
        sent: &SentSegment,
        known: &KnownState,
    ) -> Option<RecoveryKind> {
        let mut tail = self.lost_tail.take()?;
        let last_ns = known.last_data.map(|(_, time_ns)| time_ns);
        let is_alone = known.acked >= known.next && sent.class.gap_before_bytes == 0;
        let may_be_short = tail.alone >= ALONE_MIN;
        let is_large = sent.payload_bytes >= known.segment_bytes || may_be_short;
        let is_ack_driven = known.peer_data_ns <= last_ns && known.waited(sent) < TIMED_OUT_MIN_NS;
        if !is_alone || !is_large || !is_ack_driven || sent.end > tail.until {
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
