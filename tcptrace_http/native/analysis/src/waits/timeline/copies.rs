//! Copies of data that its receiver had already, or that was on its way still.
//!
//! A timer that is too short for a slow link, or duplicate ACKs of such copies, send again what is not lost. Near
//! the sender the ACK of the first copy looks like one of the second, but comes too soon for it: a packet stands on
//! the slowest link behind all that was sent before it (RFC 3522 tells the two by timestamps; here time does).

mod came_twice;
mod for_others;
mod originals;

use super::{Resent, Route, Timeline};
use crate::timeouts::DELAYED_ACK_SEGMENTS;
pub(super) use originals::CameBehind;

/// Round trips vary, and the link's pace is known from above: what comes before this share of the time that a copy
/// takes is no ACK of it (as of a SYN that was sent again, see `recoveries`).
pub(super) const EARLY_NUMERATOR: i64 = 3;
pub(super) const EARLY_DENOMINATOR: i64 = 4;

impl Timeline {
    /// Data was sent again: when the ACK of this copy comes at the soonest.
    pub(super) fn copied(&mut self, data: Resent, route: Route) -> i64 {
        // With T/TCP no handshake has measured it, but those of other connections (RFC 1644).
        let knows_way = self.link.knows_way() || self.shared_way_ns.is_some();
        if !route.is_at_sender || !knows_way {
            return i64::MIN;
        }
        self.copies.behind.is_copied();
        let (bytes, segments) = self.size_of_copy(data);
        let copies_ns = self
            .copies
            .answered_ns
            .filter(|copies_ns| *copies_ns > data.at.time_ns);
        self.copies.answered_ns = copies_ns.or_else(|| self.originals_ns(data, route));
        let answered_ns = self.joins(data.at.time_ns, bytes, segments, route);
        self.copies.answered_ns = Some(answered_ns);
        let elapsed_ns = answered_ns.saturating_sub(data.at.time_ns);
        let least_ns = elapsed_ns.saturating_mul(EARLY_NUMERATOR) / EARLY_DENOMINATOR;
        data.at.time_ns.saturating_add(least_ns)
    }

    /// When new data comes at the soonest behind the copies that were sent before it, of which there may be none.
    pub(super) fn behind_copies_ns(
        &mut self,
        time_ns: i64,
        bytes: u32,
        segments: u32,
        route: Route,
    ) -> i64 {
        if self.copies.answered_ns.is_none() {
            return i64::MIN;
        }
        let came_ns = self.joins(time_ns, bytes, segments, route);
        self.copies.answered_ns = Some(came_ns);
        came_ns
    }

    /// When a packet comes that is sent at `time_ns` and stands behind the copies on the slowest link.
    fn joins(&self, time_ns: i64, bytes: u32, segments: u32, route: Route) -> i64 {
        let link = self.link.if_agreed();
        let alone = time_ns
            .saturating_add(self.least_way_ns(route))
            .saturating_add(link.of_payload(bytes, segments));
        self.copies.answered_ns.map_or(alone, |before| {
            let behind = before.saturating_add(link.of(bytes, segments));
            behind.max(alone)
        })
    }

    /// A handshake that stood behind other connections' data was longer than the path.
    pub(super) fn least_way_ns(&self, route: Route) -> i64 {
        let own_ns = self.way_ns(route);
        // Of what was sent again none is measured (Karn's algorithm).
        match self.shared_way_ns {
            Some(way_ns) if own_ns > 0 => way_ns.min(own_ns),
            way_ns => way_ns.unwrap_or(own_ns),
        }
    }

    /// An ACK that comes before that of a copy can is one of the data that was sent first: it was not lost. That is
    /// sure where the path alone is longer, whatever the link takes.
    pub(super) fn hear_of_needless_copies(
        &mut self,
        time_ns: i64,
        (before, acked): (i64, i64),
        route: Route,
    ) {
        let path_ns = self.least_way_ns(route).saturating_mul(EARLY_NUMERATOR) / EARLY_DENOMINATOR;
        let covered = self.pending.partition_point(|sent| sent.end <= acked);
        let at_once = i64::from(self.full_bytes.saturating_mul(DELAYED_ACK_SEGMENTS));
        if acked.saturating_sub(before) > at_once {
            // What fills a hole is acknowledged with what had come behind it: that was lost.
            self.copies.had_lost();
        }
        if self.is_copied_for_others((time_ns, acked), covered, route) {
            if let Some(sent) = self.pending.front_mut() {
                sent.stall = None;
            }
            self.copies.one_was_needless();
        }
        for sent in self.pending.range_mut(..covered) {
            let earlier = self.copies.in_time(sent.end, (acked, time_ns));
            let Some(needless) = sent.stall.filter(|it| {
                let is_before = it.answered_ns > time_ns || it.ends_behind(acked);
                is_before || earlier.is_some() || self.copies.are_needless(sent.end, *it)
            }) else {
                continue;
            };
            sent.stall = earlier;
            self.copies.one_was_needless();
            let is_sure = needless.sent_ns.saturating_add(path_ns) > time_ns;
            let by_link = needless.answered_ns > time_ns && !needless.ends_behind(acked);
            sent.may_have_been_lost = sent.stall.is_none() && !is_sure && by_link;
            if is_sure && sent.stall.is_none() {
                self.copies.timer_was_needless(needless);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::acks::Acks;
    use super::super::super::partition::Moment;
    use super::super::{Data, Words};
    use super::*;
    use crate::half::LastHeard;
    use trace_model::rows::{Cause, RecoveryKind};

    const MS: i64 = 1_000_000;
    const WAY_MS: i64 = 20;
    /// What the slowest link takes for a full segment with its headers.
    const SERVICE_MS: i64 = 200;
    const ROUTE: Route = Route::at_sender(WAY_MS);

    fn at(time_ms: i64, frame: u64) -> Moment {
        Moment {
            time_ns: time_ms * MS,
            frame,
        }
    }

    /// The sender of full segments in slow start on a slow link: each ACK lets two go, and the queue grows.
    struct Sender {
        timeline: Timeline,
        acks: Acks,
        sent: i64,
    }

    impl Sender {
        fn sends(&mut self, time_ms: i64) {
            self.sent += 1000;
            let data = Data::plain(at(time_ms, 1), 1 + self.sent);
            self.timeline.new_data(data, None, ROUTE, &self.acks);
        }

        fn is_acked(&mut self, segments: i64, time_ms: i64) {
            let acked = 1 + 1000 * segments;
            self.acks.push(time_ms * MS, acked, 60_000, WAY_MS * MS);
            self.timeline.acknowledged(at(time_ms, 2), acked, ROUTE);
        }

        fn came_ms(segments: i64) -> i64 {
            WAY_MS + SERVICE_MS * segments
        }

        /// After so many ACKs, with as many segments and one more on their way.
        fn after(acks: i64) -> Sender {
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            timeline.shook_hands(WAY_MS * MS, 0, ROUTE);
            let mut sender = Sender {
                timeline,
                acks: Acks::default(),
                sent: 0,
            };
            sender.sends(0);
            for segments in 1..=acks {
                sender.is_acked(segments, Sender::came_ms(segments));
                sender.sends(Sender::came_ms(segments));
                sender.sends(Sender::came_ms(segments));
            }
            sender
        }

        fn resends(&mut self, segment: i64, time_ms: i64, recovery: RecoveryKind, is_told: bool) {
            let resent = Resent {
                at: at(time_ms, 3),
                start: 1 + 1000 * (segment - 1),
                end: 1 + 1000 * segment,
                recovery: Some(recovery),
                heard: LastHeard {
                    time_ns: time_ms * MS,
                    duplicate_acks: u32::from(is_told),
                    ..LastHeard::default()
                },
                has_sack: false,
                is_for_others: false,
                due_ns: None,
            };
            self.timeline.resent(resent, None, ROUTE);
        }

        fn waited_for(&mut self, cause: Cause) -> bool {
            self.timeline.settle_waiting(ROUTE);
            let mut pieces = self.timeline.between(0, i64::MAX);
            pieces.any(|piece| piece.cause == cause)
        }
    }

    #[test]
    fn what_a_timer_sends_again_behind_a_long_queue_of_what_comes_was_not_lost() {
        let mut sender = Sender::after(8);
        let since_ms = Sender::came_ms(8);
        for segment in 9..=12 {
            sender.resends(segment, since_ms + 100, RecoveryKind::TailLoss, false);
        }
        for segment in 9..=12 {
            sender.is_acked(segment, Sender::came_ms(segment));
        }
        assert!(!sender.waited_for(Cause::StallTailLoss));
    }

    #[test]
    fn a_queue_of_which_no_acks_come_was_lost() {
        let mut sender = Sender::after(8);
        let since_ms = Sender::came_ms(8);
        sender.resends(9, since_ms + 3000, RecoveryKind::TailLoss, false);
        sender.is_acked(9, since_ms + 3000 + WAY_MS + SERVICE_MS);
        assert!(sender.waited_for(Cause::StallTailLoss));
    }

    #[test]
    fn what_had_been_several_segments_may_be_sent_again_in_one() {
        let mut sender = Sender::after(0);
        sender.sends(1);
        let resent = Resent {
            at: at(2000, 3),
            start: 1,
            end: 2001,
            recovery: Some(RecoveryKind::TailLoss),
            heard: LastHeard::default(),
            has_sack: false,
            is_for_others: false,
            due_ns: None,
        };
        sender.timeline.resent(resent, None, ROUTE);
        sender.is_acked(2, 2000 + Sender::came_ms(2));
        assert!(sender.waited_for(Cause::StallTailLoss));
        assert!(!sender.waited_for(Cause::StallRetransmissionTimeout));
    }

    #[test]
    fn duplicate_acks_that_no_copy_has_caused_tell_of_a_loss() {
        let mut sender = Sender::after(8);
        let since_ms = Sender::came_ms(8);
        sender.resends(9, since_ms + 600, RecoveryKind::FastRecovery, true);
        sender.is_acked(17, since_ms + 600 + WAY_MS + SERVICE_MS);
        assert!(sender.waited_for(Cause::StallFastRecovery));
    }

    /// Whether data waited for a timer, of which all but one had come behind a loss, as so many duplicate ACKs told.
    fn waited_for_timer_behind(duplicates: i64) -> bool {
        let mut sender = Sender::after(8);
        for segment in 10..13 {
            let told_ns = Sender::came_ms(segment) * MS;
            sender.timeline.acknowledged_again(told_ns, false, ROUTE);
        }
        sender.resends(9, Sender::came_ms(12), RecoveryKind::FastRecovery, true);
        for segment in 13..10 + duplicates {
            let told_ns = Sender::came_ms(segment) * MS;
            sender.timeline.acknowledged_again(told_ns, false, ROUTE);
        }
        let filled_ms = Sender::came_ms(18);
        sender.is_acked(15, filled_ms);
        sender.resends(16, filled_ms + 300, RecoveryKind::Timeout, false);
        sender.is_acked(17, filled_ms + 300 + WAY_MS + SERVICE_MS);
        sender.waited_for(Cause::StallRetransmissionTimeout)
    }

    #[test]
    fn what_duplicate_acks_tell_of_is_on_its_way_no_longer_though_it_is_not_acknowledged() {
        assert!(waited_for_timer_behind(8));
        // The copy may have caused one of them.
        assert!(!waited_for_timer_behind(7));
    }

    #[test]
    fn of_two_copies_the_newest_brought_it_whose_ack_comes_in_time() {
        for (acked_ms, cause) in [
            (3010, Cause::StallFastRecovery),
            (4800, Cause::StallRetransmissionTimeout),
        ] {
            let mut sender = Sender::after(8);
            sender.resends(9, Sender::came_ms(8) + 90, RecoveryKind::FastRecovery, true);
            sender.resends(9, 3000, RecoveryKind::Timeout, true);
            sender.is_acked(9, acked_ms);
            assert!(sender.waited_for(cause), "{acked_ms}");
        }
    }

    #[test]
    fn what_is_sent_again_as_acks_come_after_a_timer_that_ran_out_too_soon_was_not_lost() {
        let mut sender = Sender::after(2);
        sender.resends(3, Sender::came_ms(3) - 5, RecoveryKind::TailLoss, false);
        sender.is_acked(3, Sender::came_ms(3));
        sender.resends(4, Sender::came_ms(3), RecoveryKind::TailLoss, false);
        sender.is_acked(4, Sender::came_ms(4));
        sender.timeline.settle_waiting(ROUTE);
        assert!(!sender.waited_for(Cause::StallTailLoss));
    }

    #[test]
    fn what_a_timer_sent_again_came_before_its_ack_if_that_was_delayed() {
        let mut sender = Sender::after(0);
        sender.resends(1, 1000, RecoveryKind::TailLoss, false);
        sender.is_acked(1, 1000 + WAY_MS + 200);
        sender.timeline.settle_waiting(ROUTE);
        let mut pieces = sender.timeline.between(0, i64::MAX);
        let stall = pieces.find(|piece| piece.cause == Cause::StallTailLoss);
        let until_ns = stall.map(|piece| piece.end.time_ns);
        assert_eq!(until_ns, Some((1000 + WAY_MS) * MS));
    }

    #[test]
    fn what_was_sent_again_needlessly_tells_of_the_link_all_the_same() {
        let mut sender = Sender::after(0);
        sender.sends(0);
        for segment in 1..=2 {
            sender.resends(segment, 215, RecoveryKind::TailLoss, false);
        }
        for segment in 1..=2 {
            sender.is_acked(segment, Sender::came_ms(segment));
        }
        let both_ns = sender.timeline.link.of_payload(2000, 2);
        assert!((both_ns - 2 * SERVICE_MS * MS).abs() < MS, "{both_ns}");
    }

    #[test]
    fn an_ack_that_comes_sooner_than_over_the_way_of_other_connections_is_of_no_copy() {
        for (to_client_ns, was_lost) in [(Some(WAY_MS * MS), false), (None, true)] {
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            let mut data = Data::plain(at(0, 1), 1001);
            data.sharing.to_client_ns = to_client_ns;
            timeline.new_data(data, None, ROUTE, &Acks::default());
            let mut sender = Sender {
                timeline,
                acks: Acks::default(),
                sent: 1000,
            };
            sender.resends(1, 1000, RecoveryKind::TailLoss, false);
            sender.is_acked(1, 1000 + WAY_MS / 2);
            assert_eq!(sender.waited_for(Cause::StallTailLoss), was_lost);
        }
    }

    /// What a segment that came after 100 ms waited for when it came once more.
    fn waited_for_copy(copy_ms: i64, to_receiver_ms: i64) -> Vec<Cause> {
        let route = Route {
            to_receiver_ns: to_receiver_ms * MS,
            ..Route::at_receiver(100)
        };
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.new_data(Data::plain(at(100, 1), 1001), None, route, &Acks::default());
        let copy = Resent {
            at: at(copy_ms, 1),
            start: 1,
            end: 1001,
            recovery: Some(RecoveryKind::TailLossProbe),
            heard: LastHeard::default(),
            has_sack: false,
            is_for_others: false,
            due_ns: None,
        };
        timeline.resent(copy, None, route);
        let pieces = timeline.between(0, i64::MAX);
        pieces.map(|it| it.cause).collect()
    }

    #[test]
    fn at_its_receiver_nothing_waits_for_a_copy_of_what_has_come_while_its_ack_may_be_delayed() {
        assert_eq!(waited_for_copy(200, 0), []);
        assert_eq!(waited_for_copy(601, 0), [Cause::StallTailLoss]);
        assert_eq!(waited_for_copy(200, 50), [Cause::StallTailLoss]);
    }
}
