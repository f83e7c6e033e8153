//! What the numbers of the server and the times of its timers tell.

use super::missed::one_is_missing;
use super::*;

fn numbered(passed_over: u32) -> Talk {
    Talk {
        passed_over: Some(passed_over),
        ..Talk::default()
    }
}

/// Data of one connection, before each segment of which a packet is missing.
fn after_missing(talk: &mut Talk, first: u32) -> Sharing {
    let mut sharing = Sharing::default();
    for nth in 0..30 {
        talk.passed_over = Some(nth + 1);
        let time_ms = 300 + i64::from(nth) * 50;
        sharing = talk.data(time_ms, 1, first + nth);
    }
    sharing
}

#[test]
fn packets_that_are_missing_all_the_time_while_no_data_is_went_elsewhere() {
    let mut talk = numbered(0);
    talk.opens(0, 1);
    assert!(after_missing(&mut talk, 2).goes_elsewhere);
}

#[test]
fn what_is_missing_between_data_of_two_connections_the_one_before_may_have_lost() {
    for (is_alone, goes_elsewhere) in [(true, true), (false, false)] {
        let mut talk = numbered(0);
        talk.opens(0, 1);
        talk.opens(1, 2);
        let mut sharing = talk.data(300, 1, 2);
        for (number, passed_over) in [(3, 17), (4, 18)] {
            let time_ms = 300 + i64::from(number) * 10;
            if !is_alone {
                talk.data(time_ms, 2, number - 1);
            }
            talk.passed_over = Some(passed_over);
            sharing = talk.data(time_ms + 1, 1, number);
        }
        assert_eq!(sharing.goes_elsewhere, goes_elsewhere);
    }
}

#[test]
fn a_host_of_which_data_was_lost_loses_packets() {
    let mut talk = numbered(0);
    talk.opens(0, 1);
    assert!(!after_missing(&mut talk, 3).goes_elsewhere);
}

#[test]
fn a_timer_that_fills_a_hole_tells_how_long_it_waits() {
    let mut talk = numbered(0);
    talk.opens(0, 1);
    talk.ack(202, 1, 1);
    talk.passed_over = Some(1);
    talk.data(1001, 1, 3);
    let sharing = talk.data(1251, 1, 2);
    assert_eq!(sharing.timer_ns, Some(250 * MS));
}

#[test]
fn a_path_is_steady_on_which_connections_open_equally_fast() {
    let mut talk = Talk::default();
    talk.opens(10, 1);
    assert!(!talk.ack(500, 1, 1).is_path_steady);
    talk.opens(600, 2);
    assert!(talk.ack(900, 1, 1).is_path_steady);
}

#[test]
fn a_packet_behind_which_every_connection_went_on_is_missed_no_more() {
    for (goes_on, is_quiet) in [(false, false), (true, true)] {
        let mut talk = numbered(0);
        talk.opens(0, 1);
        talk.opens(1, 2);
        talk.passed_over = Some(1);
        let pushed = |number: u32| {
            let flags = flags::ACK | flags::PSH;
            segment(flags, 1 + number * 1000, 101, 1000)
        };
        talk.packet(300, false, 1, pushed(2));
        talk.packet(400, false, 1, pushed(3));
        if goes_on {
            talk.packet(401, false, 2, pushed(2));
        }
        talk.ack(410, 1, 3);
        talk.ack(411, 2, if goes_on { 2 } else { 1 });
        let sharing = talk.packet(2000, false, 1, pushed(4));
        assert_eq!(sharing.quiet_until_ns.is_some(), is_quiet);
    }
}

#[test]
fn what_left_exactly_when_a_timer_runs_out_that_waits_as_asked_for_that_has_sent_again() {
    let mut talk = one_is_missing();
    talk.ack(1590, 1, 4);
    assert!(talk.data(1691, 2, 2).missed.is_some());
}

#[test]
fn a_timer_that_waits_exactly_as_asked_for_shows_that_its_host_loses_packets() {
    for (again_ms, had_loss) in [(1691, true), (1700, false)] {
        let mut talk = one_is_missing();
        talk.data(again_ms, 2, 2);
        let pair = talk.windows.pairs.iter().flatten().next().unwrap();
        assert_eq!(pair.had_hole, had_loss);
    }
}
