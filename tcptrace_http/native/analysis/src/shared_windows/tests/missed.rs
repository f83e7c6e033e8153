//! Packets that were missed, and whose they were.

use super::*;

/// Two connections of a server that counts; a packet is missing that an ACK let go, which went at 590 ms.
pub(super) fn one_is_missing() -> Talk {
    let mut talk = Talk::counted();
    talk.opens(0, 1);
    talk.opens(30, 2);
    talk.ack(400, 1, 1);
    talk.data(501, 1, 2);
    talk.data(502, 1, 3);
    talk.ack(590, 1, 2);
    talk.passed_over = Some(1);
    talk.ack(700, 1, 3);
    talk.data(801, 1, 4);
    talk
}

#[test]
fn what_a_timer_sends_again_would_have_come_when_an_ack_had_let_it_go() {
    let mut talk = one_is_missing();
    let missed = talk.data(1700, 2, 2).missed.unwrap();
    assert!(!missed.is_told);
    assert_eq!(missed.would_come_ns, 691 * MS);
    assert_eq!(talk.data(2900, 2, 3).missed, None, "it was missed but once");
}

#[test]
fn what_was_lost_unseen_is_a_loss_to_what_waits_from_then_on() {
    let mut talk = one_is_missing();
    assert!(!talk.data(1700, 2, 2).had_loss);
    assert!(talk.data(2900, 2, 3).had_loss);
}

#[test]
fn a_packet_that_is_missing_behind_a_syn_that_is_not_answered_in_its_turn_was_the_answer() {
    for (is_answered, is_lost) in [(false, false), (true, true)] {
        let mut talk = Talk::counted();
        talk.opens(0, 1);
        talk.opens(30, 2);
        let first = u32::MAX - 10;
        for port in [3, 4] {
            talk.packet(600, true, port, segment(flags::SYN, first, 0, 0));
        }
        talk.ack(600, 1, 1);
        let answer = |port| (port, segment(flags::SYN | flags::ACK, first, first + 1, 0));
        if is_answered {
            let (port, answer) = answer(3);
            talk.packet(700, false, port, answer);
        }
        talk.passed_over = Some(1);
        let (port, answer) = answer(4);
        talk.packet(701, false, port, answer);
        assert_eq!(talk.data(1800, 2, 2).missed.is_some(), is_lost);
    }
}

#[test]
fn what_was_missing_before_a_connection_was_asked_for_anything_is_not_its_first_answer() {
    let mut talk = Talk::counted();
    talk.opens(0, 1);
    talk.opens(30, 2);
    talk.ack(400, 1, 1);
    let first = u32::MAX - 10;
    talk.packet(600, true, 3, segment(flags::SYN, first, 0, 0));
    talk.passed_over = Some(1);
    let answer = segment(flags::SYN | flags::ACK, 0, first.wrapping_add(1), 0);
    talk.packet(700, false, 3, answer);
    let question = segment(flags::ACK, first.wrapping_add(1), 1, 100);
    talk.packet(700, true, 3, question);
    assert!(!talk.data(1100, 3, 0).is_again);
    let lost = talk.data(1700, 2, 2);
    assert!(lost.is_again);
    assert_eq!(lost.missed_elsewhere, 0);
}

#[test]
fn what_an_ack_of_another_connection_lets_go_no_timer_has_sent_again() {
    let mut talk = one_is_missing();
    talk.ack(1600, 1, 4);
    assert_eq!(talk.data(1701, 2, 2).missed, None);
}

/// Whether what comes when one has been missing for a second was sent by a timer, of a host whose timers have run out at
/// these times; an ACK may have come as well.
fn is_of_timer(ran_out_ms: &[i64], comes_with_ack: bool) -> bool {
    let mut talk = one_is_missing();
    let pair = talk.windows.pairs.iter_mut().flatten().next().unwrap();
    for time_ms in ran_out_ms {
        pair.timers.ran_out(time_ms * MS, &[]);
    }
    if comes_with_ack {
        talk.ack(1600, 1, 4);
    }
    talk.data(1701, 2, 2).missed.is_some()
}

#[test]
fn what_leaves_between_the_ticks_of_its_host_no_timer_has_sent() {
    let (with_ticks, between) = ([-2900, -1900, -400], [-2800, -1800, -300]);
    assert!(is_of_timer(&[], false));
    assert!(is_of_timer(&with_ticks, false));
    assert!(!is_of_timer(&between, false));
    assert!(is_of_timer(&with_ticks, true), "an ACK came by chance");
    assert!(!is_of_timer(&[], true));
}

#[test]
fn what_fills_a_hole_tells_how_long_timers_wait() {
    let mut talk = Talk::counted();
    talk.opens(0, 1);
    for (round, time_ms) in (0..).zip([1000, 5000]) {
        let next = 2 + 2 * round;
        talk.ack(time_ms, 1, next - 1);
        talk.passed_over = Some(1 + round);
        talk.data(time_ms + 102, 1, next + 1);
        talk.data(time_ms + 801, 1, next);
    }
    let pair = talk.windows.pairs.iter().flatten().next().unwrap();
    assert!(pair.timers.agree_exactly(700 * MS));
    assert!(!pair.timers.agree_exactly(800 * MS));
}

#[test]
fn what_stood_in_the_queue_may_have_left_with_an_earlier_ack() {
    let mut talk = one_is_missing();
    talk.ack(1600, 1, 4);
    talk.data(1701, 1, 5);
    // Behind that one on the link, though no ACK came 100 ms before.
    assert_eq!(talk.data(1702, 2, 2).missed, None);
}

#[test]
fn what_a_timer_may_have_sent_again_is_no_sign_against_a_shared_window() {
    let mut talk = one_is_missing();
    talk.data(1700, 2, 2);
    let evidence = |talk: &Talk| {
        let pairs = talk.windows.pairs.iter().flatten();
        pairs.map(|pair| pair.evidence).sum::<i64>()
    };
    let before = evidence(&talk);
    // No ACK let it go, and no packet is missing.
    talk.data(2900, 2, 3);
    assert_eq!(before, 0);
    assert!(evidence(&talk) < before);
}

#[test]
fn a_fin_whose_number_is_beyond_what_came_shows_whose_the_missing_packet_was() {
    let mut talk = one_is_missing();
    talk.passed_over = Some(2);
    let fin = segment(flags::FIN | flags::ACK, 6001, 101, 0);
    talk.packet(900, false, 1, fin);
    let sharing = talk.data(1700, 2, 2);
    assert_eq!(sharing.missed_elsewhere, 1);
    assert!(
        sharing.missed.is_some(),
        "of the other nobody has shown whose it was"
    );
}

#[test]
fn what_an_ack_of_its_own_had_let_go_was_sent_before_too() {
    let mut talk = Talk::counted();
    talk.opens(0, 1);
    talk.opens(30, 2);
    talk.ack(400, 1, 1);
    talk.data(501, 1, 2);
    talk.ack(600, 1, 2);
    talk.data(650, 2, 2);
    talk.passed_over = Some(1);
    talk.data(801, 2, 3);
    let sharing = talk.data(1700, 1, 3);
    assert!(sharing.is_again);
    assert_eq!(
        sharing.missed, None,
        "its connection knows when it would have come"
    );
}

/// Whether what the ACK of a segment that a timer has sent again lets go was lost as well, when so many were missing.
fn is_lost_as_well(missing: u32, meanwhile: impl Fn(&mut Talk)) -> bool {
    is_lost_beside(missing, true, meanwhile)
}

/// ... and the other connection goes on behind the data that shows that, or not.
fn is_lost_beside(missing: u32, goes_on: bool, meanwhile: impl Fn(&mut Talk)) -> bool {
    let mut talk = Talk::counted();
    talk.opens(0, 1);
    talk.opens(30, 2);
    meanwhile(&mut talk);
    talk.ack(500, 1, 1);
    talk.data(601, 1, 2);
    talk.data(602, 1, 3);
    talk.ack(650, 1, 2);
    talk.passed_over = Some(missing);
    talk.ack(700, 1, 3);
    talk.data(801, 1, 4);
    if goes_on {
        talk.data(802, 1, 5);
    }
    talk.data(1700, 2, 2);
    talk.ack(1900, 2, 2);
    talk.data(2001, 2, 3).is_gone_back_to()
}

#[test]
fn a_timer_goes_back_to_all_that_was_missing_if_no_other_connection_may_have_lost_it() {
    assert!(is_lost_as_well(2, |_| ()));
    assert!(!is_lost_as_well(1, |_| ()));
    assert!(!is_lost_as_well(2, |talk| talk.opens(250, 3)));
}

#[test]
fn whose_data_shows_that_packets_are_missing_has_lost_none_of_them_but_in_a_hole() {
    assert!(is_lost_beside(2, false, |_| ()));
}

#[test]
fn copies_of_what_came_before_it_tell_not_that_a_packet_came() {
    let mut talk = one_is_missing();
    talk.data(900, 2, 1);
    assert!(talk.data(2000, 2, 2).is_again);
}

/// What comes of a connection when a third ACK tells of data that was sent behind a missing packet, in a window that is
/// shared; something else happened before.
fn told_by_others(meanwhile: impl Fn(&mut Talk)) -> Option<crate::shared_windows::MissedBefore> {
    let mut talk = one_is_missing();
    talk.opens(810, 3);
    for pair in talk.windows.pairs.iter_mut().flatten() {
        pair.is_shared = true;
    }
    for (time_ms, number) in [(1110, 5), (1220, 6)] {
        talk.ack(time_ms - 101, 1, number - 1);
        talk.data(time_ms, 1, number);
    }
    meanwhile(&mut talk);
    talk.ack(1240, 1, 6);
    talk.data(1341, 2, 2).missed
}

#[test]
fn in_a_shared_window_acks_of_others_tell_of_a_loss() {
    assert!(told_by_others(|_| ()).is_some_and(|it| it.is_told));
}

#[test]
fn when_a_timer_has_run_out_acks_tell_of_no_loss_of_what_had_left_before() {
    let missed = told_by_others(|talk| {
        talk.data(1230, 3, 0);
    });
    assert_eq!(missed, None);
}

#[test]
fn an_ack_of_something_new_of_its_own_begins_the_count_of_those_that_tell_anew() {
    let missed = told_by_others(|talk| {
        talk.ack(1230, 2, 1);
    });
    assert_eq!(missed, None);
}

#[test]
fn what_a_timer_of_another_connection_took_for_lost_no_ack_told_of() {
    let after_other = |is_cleared: bool| {
        let mut talk = Talk::counted();
        talk.opens(0, 1);
        talk.opens(30, 2);
        // Behind what is missing.
        talk.data(240, 2, 3);
        if is_cleared {
            talk.data(600, 1, 1);
        }
        talk.ack(700, 1, 1);
        talk.data(801, 2, 2).is_after_other
    };
    assert!(after_other(false));
    assert!(!after_other(true));
}

#[test]
fn a_copy_that_is_missing_among_others_was_of_their_connection() {
    let elsewhere = |next: u32| {
        let mut talk = one_is_missing();
        talk.data(802, 1, 5);
        talk.data(803, 1, 6);
        talk.data(1200, 1, 4);
        talk.passed_over = Some(2);
        talk.data(1202, 1, next);
        talk.data(2000, 2, 2).missed_elsewhere
    };
    assert_eq!(elsewhere(5), 0, "nothing of it is passed over");
    assert_eq!(elsewhere(6), 1);
}

#[test]
fn what_is_missing_when_a_fin_came_that_is_sent_again_was_its_ack() {
    let elsewhere = |fins: &[i64]| {
        let mut talk = one_is_missing();
        let fin = segment(flags::FIN | flags::ACK, 101, 5001, 0);
        for time_ms in fins {
            talk.packet(*time_ms, true, 1, fin);
        }
        talk.passed_over = Some(2);
        talk.packet(1500, false, 1, segment(flags::ACK, 5001, 102, 0));
        talk.data(2000, 2, 2).missed_elsewhere
    };
    assert_eq!(elsewhere(&[1000]), 0);
    assert_eq!(elsewhere(&[1000, 1400]), 1);
}

#[test]
fn each_ack_lets_one_packet_go_before_the_one_that_shows_that_others_are_missing() {
    use super::ack::Ack;
    use super::departures::Left;
    use super::host_pair::HostPair;

    let mut pair = HostPair::with_path(100 * MS);
    for time_ms in [400, 420, 600] {
        pair.acks.push_back(Ack {
            time_ns: time_ms * MS,
            client_port: 1,
            is_new: true,
            is_of_data: true,
            ends_repair: false,
            ends_recovery: false,
            acked: 0,
            of_ns: 0,
        });
    }
    for (passed_over, left_ms) in [(0, 400), (2, 600)] {
        let left_ns = left_ms * MS;
        let left = Left {
            from_ns: left_ns,
            to_ns: left_ns,
            likely_ns: left_ns,
        };
        pair.missing.note(passed_over, left_ns + 101 * MS, left);
    }
    let missing = pair.missing.left_over(0);
    let acks = missing.filter_map(|(_, it)| pair.likely_before(it));
    let times: Vec<i64> = acks.map(|ack| ack.time_ns / MS).collect();
    assert_eq!(times, [400, 420]);
}

#[test]
fn what_a_timer_sends_first_was_missing_right_behind_what_came_of_its_connection() {
    let mut talk = two_connections();
    talk.passed_over = Some(0);
    talk.data(400, 1, 2);
    talk.passed_over = Some(2);
    talk.data(402, 2, 2);
    talk.ack(450, 2, 2);
    talk.data(548, 2, 3);
    talk.passed_over = Some(3);
    talk.data(552, 2, 4);
    talk.data(1800, 1, 3);
    let mut pairs = talk.windows.pairs.iter().flatten();
    let missing = pairs.find_map(|pair| pair.missing.left_over(0).next());
    assert_eq!(missing.map(|(place, _)| place), Some(1));
}

#[test]
fn what_is_missing_before_the_first_data_of_a_window_that_is_shared_would_have_come_as_its_ack_has_it(
) {
    let hole_ms = |is_shared: bool| {
        let mut talk = one_is_missing();
        for pair in talk.windows.pairs.iter_mut().flatten() {
            pair.is_shared = is_shared;
        }
        talk.data(1700, 2, 3).hole_ns.map(|ns| ns / MS)
    };
    assert_eq!(hole_ms(true), Some(691));
    assert_eq!(hole_ms(false), None);
}

#[test]
fn the_ack_of_all_that_came_before_what_is_sent_again_has_ended_the_recovery() {
    use super::ack::Ack;
    use super::connection::Connection;
    use super::host_pair::HostPair;
    use trace_model::SeqNumber;

    let start = SeqNumber(u32::MAX - 1000);
    for (acked, is_told, has_ended) in [
        (4000, true, true),
        (4000, false, false),
        (2000, true, false),
    ] {
        let mut pair = HostPair::with_path(10);
        let mut connection = Connection::new(0, (1, 80), start, false);
        connection.next = Some(start.plus(4000));
        connection.acked = Some(start.plus(acked));
        pair.connections.push_back(connection);
        for client_port in [1, 2] {
            pair.acks.push_back(Ack::of_data(20, client_port, 4000));
        }
        let from_to = (start, start.plus(4000));
        pair.recovers((30, (1, 80)), from_to, is_told);
        let ended: Vec<bool> = pair.acks.iter().map(|ack| ack.ends_recovery).collect();
        assert_eq!(ended, [has_ended, false]);
    }
}
