use tcptrace_tcp::LastHeard;
use trace_model::rows::{Cause, RecoveryKind};

use super::super::super::acks::Acks;
use super::super::super::partition::Moment;
use super::super::{Data, Words};
use super::*;

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
        let duplicate_acks = u32::from(is_told);
        self.resends_after((duplicate_acks, false), segment, time_ms, recovery);
    }

    /// ... after so many duplicate ACKs, and a SACK of what came behind a hole.
    fn resends_after(
        &mut self,
        (duplicate_acks, has_hole): (u32, bool),
        segment: i64,
        time_ms: i64,
        recovery: RecoveryKind,
    ) {
        let resent = Resent {
            at: at(time_ms, 3),
            start: 1 + 1000 * (segment - 1),
            end: 1 + 1000 * segment,
            recovery: Some(recovery),
            heard: LastHeard {
                time_ns: time_ms * MS,
                duplicate_acks,
                has_hole,
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

#[test]
fn a_sack_on_an_ack_of_what_came_before_tells_of_a_loss_as_well() {
    let waited = |has_hole: bool| {
        let mut sender = Sender::after(8);
        let copied_ms = Sender::came_ms(8) + 204;
        sender.resends_after((0, has_hole), 9, copied_ms, RecoveryKind::FastRecovery);
        sender.is_acked(17, copied_ms + WAY_MS + 4 * SERVICE_MS);
        sender.waited_for(Cause::StallFastRecovery)
    };
    assert!(waited(true));
    assert!(!waited(false), "all that was sent may be on its way");
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
