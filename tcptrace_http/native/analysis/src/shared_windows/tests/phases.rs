//! What losses leave of the window.

use super::missed::one_is_missing;
use super::*;

const SYN_ACK: u16 = flags::SYN | flags::ACK;

#[test]
fn a_syn_ack_that_comes_again_with_the_first_data_shows_no_loss() {
    let mut talk = Talk::counted();
    talk.packet(0, true, 1, segment(flags::SYN, 0, 0, 100));
    talk.packet(100, false, 1, segment(SYN_ACK, 0, 101, 0));
    talk.packet(300, false, 1, segment(SYN_ACK, 0, 101, 1000));
    talk.ack(301, 1, 0);
    let sharing = talk.data(400, 1, 1);
    assert!(!sharing.had_loss);
    assert_eq!(sharing.phases.first_loss_ns(), None);
}

#[test]
fn the_ack_of_data_on_a_syn_ack_ends_a_slow_start_as_any_does() {
    let mut talk = Talk::counted();
    talk.opens(0, 1);
    talk.data(3000, 1, 0);
    talk.packet(3010, true, 2, segment(flags::SYN, 0, 0, 100));
    talk.packet(3110, false, 2, segment(SYN_ACK, 0, 101, 1000));
    let is_over = |sharing: Sharing| sharing.phases.iter().all(|it| it.end_ns < i64::MAX);
    assert!(!is_over(talk.data(3111, 1, 2)));
    talk.ack(3112, 2, 0);
    assert!(is_over(talk.data(3300, 1, 3)));
}

#[test]
fn what_was_lost_unseen_closes_a_window_that_turns_out_to_be_shared() {
    let mut talk = one_is_missing();
    talk.data(802, 1, 5);
    talk.data(803, 1, 6);
    for number in 4..7 {
        talk.ack(900, 1, number);
    }
    let sharing = talk.data(1001, 2, 2);
    assert_eq!(sharing.missed, None, "it is not known to be shared");
    assert!(sharing.phases.first_loss_ns().is_some());
    assert!(!talk.data(1300, 2, 3).had_loss);
}

#[test]
fn what_is_sent_again_sooner_than_a_timer_runs_out_begins_no_slow_start() {
    for (again_ms, slow_starts) in [(430, 0), (1430, 1)] {
        let mut talk = Talk::counted();
        talk.opens(0, 1);
        talk.ack(280, 1, 0);
        let sharing = talk.data(again_ms, 1, 1);
        assert!(sharing.phases.first_loss_ns().is_some());
        assert_eq!(sharing.phases.iter().count(), slow_starts);
    }
}

#[test]
fn a_timers_slow_start_takes_an_ack_for_each_segment_of_half_the_flight() {
    let mut talk = Talk::counted();
    talk.opens(0, 1);
    for number in 2..7 {
        talk.data(200 + i64::from(number), 1, number);
    }
    // Six segments are in flight.
    talk.ack(280, 1, 0);
    talk.data(2000, 1, 1);
    let is_over = |sharing: Sharing| sharing.phases.iter().all(|it| it.end_ns < i64::MAX);
    talk.ack(2001, 1, 1);
    assert!(!is_over(talk.data(2110, 1, 7)));
    talk.ack(2111, 1, 2);
    assert!(is_over(talk.data(2220, 1, 8)));
}

#[test]
fn what_was_missed_was_in_flight_when_a_timer_ran_out() {
    for (missing, takes) in [(0, 1), (4, 2)] {
        let mut talk = Talk::counted();
        talk.opens(0, 1);
        talk.data(202, 1, 2);
        talk.ack(280, 1, 0);
        talk.passed_over = Some(missing);
        // Two that came are in flight, and those that did not.
        talk.data(2000, 1, 1);
        let is_over = |sharing: Sharing| sharing.phases.iter().all(|it| it.end_ns < i64::MAX);
        talk.ack(2001, 1, 1);
        assert_eq!(is_over(talk.data(2110, 1, 3)), takes == 1);
        talk.ack(2111, 1, 2);
        assert!(is_over(talk.data(2220, 1, 4)));
    }
}

#[test]
fn what_was_missing_before_all_connections_went_on_was_not_in_flight_when_a_timer_ran_out() {
    let mut talk = Talk::counted();
    talk.opens(0, 1);
    talk.passed_over = Some(4);
    talk.data(202, 1, 2);
    talk.data(203, 1, 3);
    talk.ack(280, 1, 0);
    // Three segments are in flight.
    talk.data(2000, 1, 1);
    talk.ack(2001, 1, 1);
    let phases = talk.data(2110, 1, 4).phases;
    assert!(phases.iter().all(|it| it.end_ns < i64::MAX));
}

#[test]
fn a_timer_has_waited_for_the_least_time_as_closely_as_the_way_is_known() {
    for (way_us, slow_starts) in [(100_300, 1), (101_000, 0)] {
        let mut talk = Talk::counted();
        talk.opens(0, 1);
        talk.ack(280, 1, 0);
        for pair in talk.windows.pairs.iter_mut().flatten() {
            pair.to_server_ns = Some(way_us * 1000);
        }
        assert_eq!(talk.data(581, 1, 1).phases.iter().count(), slow_starts);
    }
}

#[test]
fn what_was_missed_was_as_large_in_flight_as_it_is_when_it_is_sent_again() {
    for (bytes, takes) in [(100, 1), (1000, 2)] {
        let mut talk = one_is_missing();
        for pair in talk.windows.pairs.iter_mut().flatten() {
            pair.is_shared = true;
        }
        // Five segments that came are in flight, and what did not.
        talk.data(802, 1, 5);
        talk.data(803, 1, 6);
        talk.packet(1700, false, 2, segment(flags::ACK, 2001, 101, bytes));
        talk.ack(1701, 1, 4);
        let is_over = |sharing: Sharing| sharing.phases.iter().all(|it| it.end_ns < i64::MAX);
        assert_eq!(is_over(talk.data(1810, 1, 7)), takes == 1);
        talk.ack(1811, 1, 5);
        assert!(is_over(talk.data(1920, 1, 8)));
    }
}

#[test]
fn a_slow_start_is_over_the_sooner_the_quicker_the_link_turns_out_to_be() {
    let mut talk = Talk::counted();
    talk.packet(0, true, 1, segment(flags::SYN, 0, 0, 0));
    talk.packet(100, false, 1, segment(SYN_ACK, 0, 1, 0));
    talk.data(200, 1, 0);
    talk.data(240, 1, 1);
    talk.ack(280, 1, 0);
    talk.data(2000, 1, 1);
    talk.ack(2001, 1, 1);
    let end_ns = |sharing: Sharing| sharing.phases.iter().last().map(|it| it.end_ns);
    assert_eq!(end_ns(talk.data(2300, 1, 2)), Some(2141 * MS));
    assert_eq!(end_ns(talk.data(2301, 1, 3)), Some(2102 * MS));
}
