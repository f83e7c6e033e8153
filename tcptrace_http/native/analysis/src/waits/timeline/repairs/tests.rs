use tcptrace_tcp::LastHeard;

use super::super::super::acks::Acks;
use super::super::super::partition::Moment;
use super::super::{Data, Words};
use super::*;
use crate::arrivals::Arrivals;
use crate::shared_windows::Sharing;

const MS: i64 = 1_000_000;
const ROUTE: Route = Route::at_receiver(100);

/// A full segment, the first one.
fn plain(time_ms: i64) -> Data {
    Data::at_ms(time_ms, 1001)
}

fn timeline() -> Timeline {
    Timeline::new(Words::OF_RESPONSES, None)
}

fn resent(time_ms: i64, start: i64, end: i64) -> Resent {
    Resent {
        at: Moment::at_ms(time_ms),
        start,
        end,
        recovery: Some(RecoveryKind::Timeout),
        heard: LastHeard::default(),
        has_sack: false,
        is_for_others: false,
        due_ns: None,
    }
}

/// A link that takes so long for a full segment.
fn takes_80_ms() -> Arrivals {
    let mut link = Arrivals::default();
    for _ in 0..3 {
        link.came_after(80 * MS, 1000, 1, 100 * MS);
    }
    link
}

fn told(timeline: &Timeline) -> Vec<(Cause, i64, i64)> {
    let pieces = timeline.between(0, i64::MAX);
    let of = |it: &Piece| (it.cause, it.start.time_ns / MS, it.end.time_ns / MS);
    pieces.map(of).collect()
}

#[test]
fn an_answer_that_was_lost_is_missing_since_its_end_came() {
    let mut timeline = timeline();
    let fin = Data {
        bytes: 0,
        opens_hole: true,
        is_pushed: true,
        has_fin: true,
        ..plain(100)
    };
    timeline.new_data(fin, None, ROUTE, &Acks::default());
    timeline.resent(resent(1600, 1, 1001), None, ROUTE);
    let stall = (Cause::StallRetransmissionTimeout, 100, 1600);
    assert_eq!(told(&timeline), [stall]);
}

#[test]
fn an_answer_of_which_the_beginning_is_missing_was_held_until_that_would_have_come() {
    let mut timeline = timeline();
    let behind = Data {
        end: 2001,
        opens_hole: true,
        sharing: Sharing {
            is_shared: true,
            by_other: true,
            had_loss: true,
            hole_ns: Some(60 * MS),
            ..Sharing::default()
        },
        ..plain(100)
    };
    timeline.new_data(behind, None, ROUTE, &Acks::default());
    timeline.resent(resent(1600, 1, 1001), None, ROUTE);
    timeline.opens(1, None);
    let stall = (Cause::StallRetransmissionTimeout, 60, 1600);
    assert_eq!(told(&timeline), [stall]);
    let held = timeline.opening_held(1600 * MS);
    assert_eq!(held, Some(Cause::SendLimitedCwnd));
}

#[test]
fn a_copy_of_what_came_behind_a_hole_does_not_tell_how_that_was_repaired() {
    let mut timeline = timeline();
    timeline.new_data(plain(100), None, ROUTE, &Acks::default());
    let behind = Data {
        end: 3001,
        opens_hole: true,
        ..plain(110)
    };
    timeline.new_data(behind, None, ROUTE, &Acks::default());
    let probe = Resent {
        recovery: Some(RecoveryKind::FastRecovery),
        ..resent(120, 2001, 3001)
    };
    timeline.resent(probe, Some(1001), ROUTE);
    timeline.resent(resent(400, 1001, 2001), None, ROUTE);
    let told = told(&timeline).pop();
    assert_eq!(told.map(|it| it.0), Some(Cause::StallRetransmissionTimeout));
}

/// Until when the slowest link carried the newest data, to the nearest millisecond.
fn paced_until_ms(timeline: &Timeline) -> Option<i64> {
    let piece = timeline.between(0, i64::MAX).last().copied();
    let paced = piece.and_then(|piece| timeline.paced_until(&piece));
    paced.map(|until| (until.time_ns + MS / 2) / MS)
}

#[test]
fn what_a_copy_is_filled_up_with_waited_for_the_window() {
    let mut timeline = timeline();
    let short = Data {
        end: 513,
        bytes: 512,
        ..plain(100)
    };
    timeline.new_data(short, None, ROUTE, &Acks::default());
    timeline.acknowledged(Moment::at_ms(300), 513, ROUTE);
    timeline.resent(resent(300, 1, 1001), None, ROUTE);
    let window = (Cause::SendLimitedSlowStart, 100, 300);
    assert_eq!(told(&timeline), [window]);
    assert_eq!(timeline.sent_until, 1001);
    timeline.link_is(takes_80_ms());
    assert_eq!(
        paced_until_ms(&timeline),
        Some(180),
        "of that the slowest link had its part"
    );
}

#[test]
fn what_comes_behind_a_copy_was_on_the_link_since_that_came() {
    for (next_ms, paced_ms) in [(380, 380), (450, 380)] {
        let mut timeline = timeline();
        timeline.new_data(plain(100), None, ROUTE, &Acks::default());
        timeline.acknowledged(Moment::at_ms(110), 1001, ROUTE);
        timeline.resent(resent(300, 1, 1001), None, ROUTE);
        let next = Data::at_ms(next_ms, 2001);
        timeline.new_data(next, None, ROUTE, &Acks::default());
        timeline.link_is(takes_80_ms());
        assert_eq!(paced_until_ms(&timeline), Some(paced_ms));
    }
}

#[test]
fn what_fills_up_a_copy_behind_another_one_was_on_the_link_since_that_came() {
    for (next_ms, paced_ms) in [(380, 380), (450, 380)] {
        let mut timeline = timeline();
        timeline.new_data(plain(100), None, ROUTE, &Acks::default());
        let short = Data {
            end: 1513,
            bytes: 512,
            ..plain(150)
        };
        timeline.new_data(short, None, ROUTE, &Acks::default());
        timeline.acknowledged(Moment::at_ms(160), 1513, ROUTE);
        timeline.resent(resent(300, 1, 1001), None, ROUTE);
        timeline.resent(resent(next_ms, 1001, 2001), None, ROUTE);
        timeline.link_is(takes_80_ms());
        assert_eq!(paced_until_ms(&timeline), Some(paced_ms));
    }
}

#[test]
fn what_a_copy_brings_besides_and_fills_no_segment_nagles_algorithm_had_held() {
    for (nagle_is_off, cause) in [
        (false, Cause::StallNagleHold),
        (true, Cause::SendLimitedSlowStart),
    ] {
        let mut timeline = timeline();
        let short = Data {
            end: 513,
            bytes: 512,
            nagle_is_off,
            ..plain(100)
        };
        timeline.new_data(short, None, ROUTE, &Acks::default());
        timeline.acknowledged(Moment::at_ms(300), 513, ROUTE);
        timeline.resent(resent(300, 1, 901), None, ROUTE);
        assert_eq!(told(&timeline), [(cause, 100, 300)]);
    }
}

#[test]
fn what_leaves_long_after_any_ack_behind_what_is_missing_was_written_then() {
    let mut timeline = timeline();
    let mut acks = Acks::default();
    acks.push(0, 1, 60_000, 100 * MS);
    timeline.new_data(plain(100), None, ROUTE, &acks);
    acks.push(100 * MS, 1001, 60_000, 100 * MS);
    for (time_ms, cause) in [
        (1700, Cause::ServerDataUnavailable),
        (250, Cause::SendLimitedSlowStart),
    ] {
        let behind = Data {
            end: 4001,
            opens_hole: true,
            is_pushed: true,
            ..plain(time_ms)
        };
        let is_app = timeline.is_written_behind_a_hole(behind, ROUTE, &acks);
        assert_eq!(is_app, cause == Cause::ServerDataUnavailable, "{time_ms}");
    }
}

/// Data that came after 1.5 s and had been lost before, as the numbers of its host tell.
fn told_by_host() -> Timeline {
    lost_again(true, false)
}

/// ... or an ACK of their sender's.
fn lost_again(is_told_by_host: bool, was_told_of: bool) -> Timeline {
    let mut timeline = timeline();
    let route = Route {
        to_sender_ns: 10 * MS,
        ..ROUTE
    };
    let mut acks = Acks::default();
    acks.push(0, 1, 60_000, 10 * MS);
    timeline.new_data(plain(100), None, route, &acks);
    acks.push(100 * MS, 1001, 60_000, 10 * MS);
    let sharing = Sharing {
        timer_ns: Some(200 * MS),
        ..Sharing::default()
    };
    let lost = Data {
        end: 2001,
        recovery: Some(RecoveryKind::TailLoss),
        is_told_by_host,
        was_told_of,
        missing_before: 1,
        sharing,
        ..plain(1600)
    };
    timeline.new_data(lost, None, route, &acks);
    timeline
}

#[test]
fn what_an_ack_told_of_before_waited_for_its_timer_all_the_time() {
    let told_of = lost_again(false, true);
    assert_eq!(told(&told_of), [(Cause::StallTailLoss, 100, 1600)]);
}

#[test]
fn what_was_lost_had_been_written_as_long_before_as_the_timers_of_its_host_wait() {
    let idle = (Cause::ServerDataUnavailable, 100, 1400);
    let timer = (Cause::StallTailLoss, 1400, 1600);
    assert_eq!(told(&told_by_host()), [idle, timer]);
}

#[test]
fn where_the_numbers_of_a_host_tell_of_no_losses_data_waited_for_its_application() {
    let mut timeline = told_by_host();
    timeline.packets_go_elsewhere();
    let causes = told(&timeline).into_iter().map(|(cause, ..)| cause);
    assert!(causes
        .into_iter()
        .all(|cause| cause == Cause::ServerDataUnavailable));
}

#[test]
fn what_fills_the_window_though_it_is_short_waited_for_room() {
    let mut timeline = timeline();
    let mut acks = Acks::default();
    acks.push(0, 1, 1500, 100 * MS);
    timeline.new_data(plain(100), None, ROUTE, &acks);
    acks.push(110 * MS, 1001, 500, 100 * MS);
    let rest = Data {
        end: 1501,
        bytes: 500,
        ..plain(600)
    };
    timeline.new_data(rest, None, ROUTE, &acks);
    let last = told(&timeline).pop();
    assert_eq!(last, Some((Cause::SendLimitedReceiveWindow, 100, 600)));
}

#[test]
fn what_is_sent_again_though_nothing_can_have_asked_for_it_was_sent_by_a_timer() {
    for (segments, has_sack, is_halved) in [(1, true, false), (2, true, true), (2, false, false)] {
        let mut timeline = timeline();
        for segment in 1..=segments {
            timeline.new_data(
                Data::at_ms(100, segment * 1000 + 1),
                None,
                ROUTE,
                &Acks::default(),
            );
        }
        timeline.acknowledged(Moment::at_ms(110), segments * 1000 + 1, ROUTE);
        let copy = Resent {
            recovery: Some(RecoveryKind::Unknown),
            has_sack,
            ..resent(600, 1, 1001)
        };
        timeline.resent(copy, None, ROUTE);
        assert_eq!(timeline.window.is_halved(), is_halved);
    }
}

/// What full segments waited for that left 100 ms from their receiver at these times, of which a timer sent the first
/// again after a second; a duplicate ACK came at one time, if at all, and the ACK of all at the end.
fn waited_near_sender(left_ms: &[i64], again_ms: Option<i64>, has_sacks: bool) -> Vec<Cause> {
    let route = Route::at_sender(100);
    let mut timeline = timeline();
    timeline.shook_hands(100 * MS, 0, route);
    for (left_ms, end) in left_ms.iter().zip((1001..).step_by(1000)) {
        let data = Data::at_ms(*left_ms, end);
        timeline.new_data(data, None, route, &Acks::default());
    }
    let copy = Resent {
        recovery: Some(RecoveryKind::TailLoss),
        ..resent(1000, 1, 1001)
    };
    timeline.resent(copy, None, route);
    if let Some(again_ms) = again_ms {
        timeline.acknowledged_again(again_ms * MS, has_sacks, route);
    }
    timeline.acknowledged(Moment::at_ms(1100), i64::MAX, route);
    timeline.settle_waiting(route);
    let stalls = [Cause::StallTailLoss, Cause::StallRetransmissionTimeout];
    let causes = told(&timeline).into_iter().map(|it| it.0);
    causes.filter(|it| stalls.contains(it)).collect()
}

#[test]
fn what_came_behind_a_loss_when_its_timer_had_run_out_had_told_of_nothing() {
    for (behind_ms, cause) in [
        (940, Cause::StallRetransmissionTimeout),
        (960, Cause::StallTailLoss),
    ] {
        assert_eq!(waited_near_sender(&[0, behind_ms], None, false), [cause]);
    }
}

#[test]
fn a_duplicate_ack_that_comes_too_soon_for_what_a_timer_sent_again_had_left_before() {
    for (again_ms, has_sacks, cause) in [
        (Some(1049), false, Cause::StallRetransmissionTimeout),
        (Some(1049), true, Cause::StallRetransmissionTimeout),
        (Some(1051), false, Cause::StallTailLoss),
        (None, false, Cause::StallTailLoss),
    ] {
        let waited = waited_near_sender(&[0], again_ms, has_sacks);
        assert_eq!(waited, [cause], "{again_ms:?}");
    }
}

#[test]
fn what_is_sent_again_behind_a_syn_that_a_timer_sent_again_was_lost_with_that() {
    let mut timeline = timeline();
    let route = Route::at_sender(100);
    timeline.shook_hands(100 * MS, 0, route);
    timeline.new_data(plain(0), None, route, &Acks::default());
    let copy = Resent {
        recovery: Some(RecoveryKind::SynRetransmission),
        ..resent(1100, 1, 1001)
    };
    timeline.resent(copy, None, route);
    timeline.acknowledged(Moment::at_ms(1200), 1001, route);
    timeline.settle_waiting(route);
    let causes: Vec<_> = told(&timeline).into_iter().map(|it| it.0).collect();
    assert!(causes.contains(&Cause::StallTailLoss), "{causes:?}");
}

#[test]
fn a_copy_takes_the_way_of_other_connections_where_its_own_was_not_measured() {
    let mut timeline = timeline();
    let route = Route::at_sender(0);
    let mut first = plain(0);
    first.sharing.to_client_ns = Some(100 * MS);
    timeline.new_data(first, None, route, &Acks::default());
    timeline.resent(resent(1000, 1, 1001), None, route);
    timeline.acknowledged(Moment::at_ms(1100), 1001, route);
    timeline.settle_waiting(route);
    assert_eq!(timeline.came.map(|came| came.time_ns / MS), Some(1100));
}
