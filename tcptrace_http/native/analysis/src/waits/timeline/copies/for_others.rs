//! What ACKs of other connections had sent again, though its receiver had it and would only wait for more.
//!
//! Theory of operation. A receiver delays the ACK of a single segment (RFC 1122, section 4.2.3.2), and ACKs of other
//! connections pass over it meanwhile: who counts them as duplicate ones sends it again (E-TCP, section 3). Of a copy that
//! it needs no more a receiver acknowledges at once that it has it (RFC 9293, section 3.10.7.4), while of one that brings
//! a single segment it delays the ACK again.

use tcptrace_tcp::DELAYED_ACK_MAX_NS;

use super::super::{Route, Timeline};
use crate::jitter::acks_late_max_ns;

impl Timeline {
    /// Near the sender: an ACK of so many segments came at `time_ns`, of which the first was sent again for the sake of
    /// others' ACKs: whether it had come, and its ACK was delayed.
    pub(super) fn is_copied_for_others(
        &self,
        (time_ns, acked): (i64, i64),
        covered: usize,
        route: Route,
    ) -> bool {
        let first = self.pending.front().copied();
        let copy = first.and_then(|it| it.stall).filter(|it| it.is_for_others);
        let Some((first, copy)) = first.zip(copy) else {
            return false;
        };
        let bytes = self.pending.range(..covered).map(|it| it.bytes);
        let bytes = bytes.fold(0_u32, u32::saturating_add);
        let next = self.pending.get(covered);
        // What left at the same time, but behind the copy, comes when this ACK has gone.
        let left_behind = next.is_some_and(|next| next.at.frame > copy.frame);
        let is_alone = bytes < self.acked_at_once_bytes(route)
            && (left_behind || copy.is_alone(next, time_ns));
        let late_max_ns = acks_late_max_ns(route.rtt_ns(), self.link.acks_vary_ns(self.full_bytes));
        let way_ns = self
            .way_ns(route)
            .saturating_add(self.link.of_payload(first.bytes, 1));
        let due_ns = copy.due_ns().unwrap_or(copy.sent_ns.saturating_add(way_ns));
        // Others' copies that left with it may stand before it.
        let is_behind_others = copy
            .behind_all_ns
            .is_some_and(|ns| time_ns.saturating_sub(ns).saturating_abs() <= late_max_ns);
        let last = self.pending.get(covered.saturating_sub(1));
        let has_fin = last.is_none_or(|it| it.end < acked);
        let delay_ns = time_ns.saturating_sub(self.expected_ns(first, route));
        is_alone
            && !route.receiver.acks_each()
            && !has_fin
            && delay_ns <= DELAYED_ACK_MAX_NS
            && (is_behind_others || time_ns <= due_ns.saturating_add(late_max_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::acks::Acks;
    use super::super::super::super::partition::Moment;
    use super::super::super::{Data, Resent, Words};
    use super::*;
    use tcptrace_tcp::LastHeard;
    use trace_model::rows::{Cause, RecoveryKind};

    const WAY_MS: i64 = 20;

    /// Whether a segment was lost that was sent again then, for the sake of others or not, and acknowledged then.
    fn was_lost(copy_ms: i64, acked_ms: i64, is_for_others: bool, has_fin: bool) -> bool {
        was_lost_before((None, None), (copy_ms, acked_ms), is_for_others, has_fin)
    }

    /// ... while another segment left then, if any, and others' data stood before the copy until its ACK was due then.
    fn was_lost_before(
        (next_ms, due_ms): (Option<i64>, Option<i64>),
        (copy_ms, acked_ms): (i64, i64),
        is_for_others: bool,
        has_fin: bool,
    ) -> bool {
        let route = Route::at_sender(WAY_MS);
        let mut timeline = Timeline::new(Words::OF_RESPONSES, Some(Moment::at_ms(0)));
        timeline.shook_hands(WAY_MS * 1_000_000, 0, route);
        timeline.new_data(Data::at_ms(0, 1001), None, route, &Acks::default());
        let copy = Resent {
            at: Moment {
                frame: 2,
                ..Moment::at_ms(copy_ms)
            },
            start: 1,
            end: 1001,
            recovery: Some(RecoveryKind::FastRecovery),
            heard: LastHeard::default(),
            has_sack: false,
            is_for_others,
            due_ns: due_ms.map(|ms| ms * 1_000_000),
        };
        let next = next_ms.map(|ms| Data {
            at: Moment {
                time_ns: ms * 1_000_000,
                frame: if ms < copy_ms { 1 } else { 3 },
            },
            ..Data::at_ms(ms, 2001)
        });
        if let Some(next) = next.filter(|_| next_ms < Some(copy_ms)) {
            timeline.new_data(next, None, route, &Acks::default());
        }
        timeline.resent(copy, None, route);
        if let Some(next) = next.filter(|_| next_ms >= Some(copy_ms)) {
            timeline.new_data(next, None, route, &Acks::default());
        }
        let acked = 1001 + i64::from(has_fin);
        timeline.acknowledged(Moment::at_ms(acked_ms), acked, route);
        timeline.settle_waiting(route);
        let mut pieces = timeline.between(0, i64::MAX);
        pieces.any(|piece| piece.cause == Cause::StallFastRecovery)
    }

    #[test]
    fn a_single_segment_whose_copy_is_acknowledged_at_once_had_come_and_its_ack_was_delayed() {
        assert!(!was_lost(150, 170, true, false));
        assert!(was_lost(150, 170, false, false));
        assert!(was_lost(150, 370, true, false), "its ACK is delayed again");
        assert!(was_lost(150, 170, true, true), "no ACK of a FIN is");
        assert!(was_lost(600, 620, true, false), "nor one for so long");
    }

    #[test]
    fn the_ack_of_a_copy_comes_behind_what_others_have_sent() {
        let was_lost = |due_ms| was_lost_before((None, due_ms), (150, 190), true, false);
        assert!(was_lost(None) && was_lost(Some(210)));
        assert!(!was_lost(Some(190)));
    }

    #[test]
    fn what_leaves_with_such_a_copy_is_behind_it() {
        let was_lost = |next_ms| was_lost_before((Some(next_ms), None), (150, 170), true, false);
        assert!(!was_lost(150));
        assert!(was_lost(140), "two segments are acknowledged at once");
    }
}
