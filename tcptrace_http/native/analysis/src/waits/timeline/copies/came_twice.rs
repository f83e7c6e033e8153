//! What its receiver had got already when a copy of it came, as near the sender duplicate ACKs tell.
//!
//! Theory of operation. Of a copy of what it has a receiver acknowledges at once that it has it (RFC 9293, section
//! 3.10.7.4). That is a duplicate ACK, as out-of-order data causes it (RFC 5681, section 4.2). If all that was on its way
//! by then is acknowledged without being sent again, nothing was out of order: a copy was, of data that had come before
//! (as a DSACK would say, RFC 2883). A timer that is shorter than what a slow link takes for its first segment is told by
//! nothing else: how slow it is no ACK has said by then.

use super::super::Timeline;

impl Timeline {
    /// Near the sender, all up to `before` was acknowledged again, once or more, before it was up to `acked`.
    pub(in super::super) fn hear_of_what_came_twice(&mut self, (before, acked): (i64, i64)) {
        // An older ACK that comes late tells nothing of it.
        if acked >= before {
            let again = self.copies.take_acks_again(before);
            self.came_twice(again, (before, acked));
        }
    }

    /// ... where that is all that was sent: nothing can have been out of order.
    pub(in crate::waits) fn acknowledged_all_again(&mut self) {
        if self.settles_by_ack && self.copies.is_acked_again(self.acked) {
            self.came_twice(self.copies.acks_again(self.acked), (self.acked, self.acked));
        }
    }

    fn came_twice(&mut self, again: usize, (before, acked): (i64, i64)) {
        if again == 0 {
            return;
        }
        let known = self.pending.partition_point(|sent| sent.end <= before);
        let covered = self.pending.partition_point(|sent| sent.end <= acked);
        let mut behind = self.pending.range(known..covered);
        if behind.any(|sent| sent.stall.is_some()) {
            return;
        }
        // Of two copies one may have been needed.
        let copied = self.pending.range(..known).filter(|it| it.stall.is_some());
        let copies = copied.map(|it| self.copies.of(it.end).saturating_add(1));
        if copies.fold(0_usize, usize::saturating_add) > again {
            return;
        }
        for sent in self.pending.range_mut(..known) {
            sent.stall = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::acks::Acks;
    use super::super::super::super::partition::Moment;
    use super::super::super::{Data, Resent, Route, Words};
    use super::*;
    use tcptrace_tcp::LastHeard;
    use trace_model::rows::{Cause, RecoveryKind};

    const WAY_MS: i64 = 20;
    const FULL: i64 = 1000;
    const OPENING: i64 = (1 << 32) - 2 * FULL;

    /// The sender of a segment whose timer runs out, and of two more when that is acknowledged.
    struct Sender {
        timeline: Timeline,
        acks: Acks,
    }

    const ROUTE: Route = Route::at_sender(WAY_MS);

    impl Sender {
        fn new() -> Sender {
            let mut timeline = Timeline::new(Words::OF_RESPONSES, Some(Moment::at_ms(0)));
            timeline.shook_hands(WAY_MS * 1_000_000, 0, ROUTE);
            let acks = Acks::default();
            let mut sender = Sender { timeline, acks };
            sender.sends(0, 1);
            sender
        }

        fn sends(&mut self, time_ms: i64, segment: i64) {
            let data = Data::at_ms(time_ms, OPENING + segment * FULL);
            self.timeline.new_data(data, None, ROUTE, &self.acks);
        }

        fn times_out(&mut self, time_ms: i64, segment: i64) {
            let copy = Resent {
                at: Moment::at_ms(time_ms),
                start: OPENING + (segment - 1) * FULL,
                end: OPENING + segment * FULL,
                recovery: Some(RecoveryKind::TailLoss),
                heard: LastHeard::default(),
                has_sack: false,
                is_for_others: false,
                due_ns: None,
            };
            self.timeline.resent(copy, None, ROUTE);
        }

        fn hears(&mut self, time_ms: i64, segments: i64) {
            let acked = OPENING + segments * FULL;
            self.acks
                .push(time_ms * 1_000_000, acked, 60_000, WAY_MS * 1_000_000);
            self.timeline
                .acknowledged(Moment::at_ms(time_ms), acked, ROUTE);
        }

        fn hears_again(&mut self, time_ms: i64) {
            let time_ns = time_ms * 1_000_000;
            self.timeline.acknowledged_again(time_ns, false, ROUTE);
        }

        fn waited_for_timer(&mut self) -> bool {
            self.timeline.settle_waiting(ROUTE);
            let mut pieces = self.timeline.between(0, i64::MAX);
            let stalls = [Cause::StallTailLoss, Cause::StallRetransmissionTimeout];
            pieces.any(|piece| stalls.contains(&piece.cause))
        }
    }

    /// A sender whose timer ran out so often, every 200 ms, before an ACK came 60 ms later.
    fn after_copies(copies: i64) -> Sender {
        let mut sender = Sender::new();
        for copy in 1..=copies {
            sender.times_out(200 * copy, 1);
        }
        sender.hears(200 * copies + 60, 1);
        sender
    }

    /// Whether the first segment waited for its timer, which ran out so often, if its ACK was repeated so often.
    fn waited_for_timer(copies: i64, duplicates: usize) -> bool {
        let mut sender = after_copies(copies);
        sender.sends(200 * copies + 60, 2);
        sender.sends(200 * copies + 60, 3);
        for _ in 0..duplicates {
            sender.hears_again(200 * copies + 80);
        }
        sender.hears(200 * copies + 100, 3);
        sender.waited_for_timer()
    }

    #[test]
    fn what_is_acknowledged_again_before_the_data_behind_it_came_twice() {
        assert!(waited_for_timer(1, 0));
        assert!(!waited_for_timer(1, 1));
    }

    #[test]
    fn of_two_copies_one_may_have_been_needed() {
        assert!(waited_for_timer(2, 1));
        assert!(!waited_for_timer(2, 2));
    }

    #[test]
    fn an_older_ack_that_comes_late_tells_of_no_copy() {
        let mut sender = after_copies(2);
        sender.sends(800, 2);
        sender.hears_again(810);
        sender.hears(820, 0);
        assert!(sender.waited_for_timer());
    }

    #[test]
    fn what_is_acknowledged_again_while_nothing_is_on_its_way_came_twice() {
        for (copies, again, waited) in [(1, 0, true), (1, 1, false), (2, 1, true), (2, 2, false)] {
            let mut sender = after_copies(copies);
            for _ in 0..again {
                sender.timeline.acknowledged_all_again();
            }
            assert_eq!(sender.waited_for_timer(), waited, "{copies} {again}");
        }
    }

    #[test]
    fn an_ack_is_repeated_by_what_is_out_of_order_as_well() {
        let mut sender = after_copies(1);
        sender.sends(260, 2);
        sender.sends(260, 3);
        sender.hears_again(290);
        sender.times_out(800, 2);
        sender.hears(860, 3);
        assert!(sender.waited_for_timer());
    }

    #[test]
    fn a_copy_that_is_known_as_needless_is_acknowledged_again_and_tells_nothing_of_another() {
        let mut sender = after_copies(1);
        sender.times_out(270, 1);
        sender.sends(280, 2);
        sender.hears_again(300);
        sender.hears(320, 2);
        assert!(sender.waited_for_timer());
    }
}
