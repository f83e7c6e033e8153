//! Hosts that pace what they send.

use super::*;

#[test]
fn a_paced_sender_tells_neither_by_chance_nor_by_an_ack() {
    let mut talk = Talk::default();
    talk.opens(0, 1);
    talk.opens(30, 2);
    talk.data(430, 1, 2);
    for number in 3..40 {
        // An ACK of the other connection at the very time, but a pacer has no need of it.
        let at = 400 + i64::from(number) * 10;
        talk.ack(at - 100, 2, number);
        assert!(!talk.data(at, 1, number).is_shared);
    }
}

#[test]
fn flights_that_follow_each_other_by_a_round_trip_are_in_no_pacers_rhythm() {
    let mut talk = two_connections();
    let mut sharing = Sharing::default();
    for round in 0..6_u32 {
        let at = 300 + i64::from(round) * 100;
        talk.ack(at, 1, round + 1);
        sharing = talk.data(at + 100, 2, round + 2);
    }
    assert!(sharing.is_shared);
}

#[test]
fn what_no_ack_lets_go_of_a_buffer_is_paced() {
    let mut talk = two_connections();
    talk.ack(300, 1, 1);
    let paced = [(410, 2), (440, 3), (470, 4)].map(|(at, number)| {
        let sharing = talk.data(at, 1, number);
        (sharing.is_paced, sharing.is_let_go)
    });
    assert_eq!(paced, [(false, false), (true, false), (true, false)]);
}

#[test]
fn a_host_that_paces_lets_go_by_its_clock_what_comes_behind_pushed_data_too() {
    let mut talk = two_connections();
    talk.ack(300, 1, 1);
    let mut after_pushed = |at: i64, number: u32| {
        let pushed = segment(flags::ACK | flags::PSH, 1 + number * 1000, 101, 1000);
        talk.packet(at, false, 1, pushed);
        let next = talk.data(at + 40, 1, number + 1);
        talk.data(at + 70, 1, number + 2);
        (next.is_paced, next.is_of_pacer)
    };
    assert_eq!(after_pushed(410, 2), (true, false));
    assert_eq!(after_pushed(530, 5), (true, true));
}

#[test]
fn what_no_ack_lets_go_within_a_round_trip_behind_pushed_data_would_be_paced_by_a_shared_pacer() {
    for (after_ms, would_be) in [(40, true), (110, false)] {
        let mut talk = two_connections();
        talk.ack(300, 1, 1);
        let pushed = segment(flags::ACK | flags::PSH, 2001, 101, 1000);
        talk.packet(410, false, 1, pushed);
        let next = talk.data(410 + after_ms, 1, 3);
        assert_eq!(
            (next.would_be_of_pacer, next.is_of_pacer),
            (would_be, false)
        );
    }
}

#[test]
fn answers_that_begin_in_the_very_same_pauses_would_be_paced_by_a_shared_pacer() {
    for (third_ms, would_be) in [(490, true), (492, false)] {
        let mut talk = two_connections();
        let mut begun = Vec::new();
        for (at, port) in [(430, 1), (460, 2), (third_ms, 1)] {
            let number = 2 + u32::from(at > 460);
            let question = segment(flags::ACK, 101 + number * 100, 2001, 100);
            talk.packet(at - 170, true, port, question);
            begun.push(talk.data(at, port, number).would_be_of_pacer);
        }
        assert_eq!(begun, [false, false, would_be]);
    }
}

#[test]
fn what_follows_the_data_of_a_syn_ack_before_any_ack_can_have_come_is_paced_though_that_was_pushed()
{
    for (opening, after_ms, is_of_pacer) in [
        (flags::SYN | flags::ACK | flags::PSH, 60, true),
        (flags::SYN | flags::ACK | flags::PSH, 110, false),
        (flags::SYN | flags::ACK, 60, false),
    ] {
        let mut talk = two_connections();
        talk.packet(1000, true, 3, segment(flags::SYN, 0, 0, 100));
        let first = u32::MAX - 500;
        talk.packet(1100, false, 3, segment(opening, first, 101, 1000));
        let behind = segment(flags::ACK, first.wrapping_add(1001), 101, 1000);
        let next = talk.packet(1100 + after_ms, false, 3, behind);
        assert_eq!(next.is_of_pacer, is_of_pacer, "{after_ms}");
        assert_eq!(next.left_before_acks, opening & flags::PSH == 0);
        // What is paced is a window that its host has from other connections.
        assert_eq!(next.begin_paced, is_of_pacer || opening & flags::PSH == 0);
    }
}

#[test]
fn what_another_connections_ack_lets_go_behind_the_data_of_a_syn_ack_is_not_paced() {
    let mut talk = two_connections();
    talk.packet(1000, true, 3, segment(flags::SYN, 0, 0, 100));
    let answer = segment(flags::SYN | flags::ACK | flags::PSH, 0, 101, 1000);
    talk.packet(1100, false, 3, answer);
    talk.ack(1059, 1, 1);
    let behind = segment(flags::ACK, 1001, 101, 1000);
    assert!(!talk.packet(1160, false, 3, behind).is_of_pacer);
}

/// How long a pacer is told to have held data of one connection, behind that of another that an ACK let go at 2101 ms: of
/// a copy of this number, which came when a timer had run out.
fn held_by_pacer_ms(copied: u32, came_ms: i64) -> Option<i64> {
    let mut talk = talk_of_rounds(6, true).0;
    talk.ack(1340, 2, 7);
    talk.ack(1390, 1, 7);
    talk.data(1440, 1, 8);
    talk.data(2000, 1, copied);
    talk.ack(2000, 1, copied);
    assert_eq!(talk.data(2101, 1, copied + 1).paced_ns, None);
    talk.data(came_ms, 2, 8).paced_ns.map(|ns| ns / MS)
}

#[test]
fn a_pacer_holds_what_comes_without_an_ack_behind_what_that_of_a_timers_copy_let_go() {
    assert_eq!(held_by_pacer_ms(8, 2151), Some(50));
    assert_eq!(held_by_pacer_ms(9, 2151), None, "nothing was sent again");
    assert_eq!(held_by_pacer_ms(8, 2102), None, "by the same ACK");
    assert_eq!(
        held_by_pacer_ms(8, 2800),
        None,
        "an ACK was due long before"
    );
}

#[test]
fn a_clock_lets_go_before_the_first_ack_what_connections_have_from_others_before_them() {
    for (has_others, at, begin_paced) in [
        (true, 1240, true),
        (true, 1301, false),
        (false, 1240, false),
    ] {
        let mut talk = Talk::default();
        if has_others {
            talk.opens(0, 1);
        }
        talk.opens(1000, 2);
        talk.ack(1201, 2, 1);
        assert_eq!(talk.data(at, 2, 2).begin_paced, begin_paced, "{at}");
    }
}
