//! How the opening of connections measures the way.

use super::*;

#[test]
fn the_answer_to_a_syn_that_was_sent_again_measures_no_way() {
    let opened = |talk: &mut Talk, time_ms, port, after_ms| {
        talk.packet(time_ms, true, port, segment(flags::SYN, u32::MAX, 0, 0));
        let answer = segment(flags::SYN | flags::ACK, u32::MAX, 0, 0);
        talk.packet(time_ms + after_ms, false, port, answer);
        talk.ack(time_ms + after_ms, port, 0).to_server_ns
    };
    let mut talk = Talk::default();
    // While nothing else does it is the best that there is.
    talk.packet(0, true, 1, segment(flags::SYN, u32::MAX, 0, 0));
    assert_eq!(opened(&mut talk, 3000, 1, 20), Some(20 * MS));
    assert_eq!(opened(&mut talk, 4000, 2, 100), Some(100 * MS));
    talk.packet(5000, true, 3, segment(flags::SYN, u32::MAX, 0, 0));
    assert_eq!(opened(&mut talk, 5080, 3, 20), Some(100 * MS));
}

#[test]
fn the_ack_of_data_that_a_syn_carried_and_that_was_sent_again_opens_the_window() {
    let mut talk = Talk::counted();
    talk.opens(0, 1);
    talk.ack(200, 1, 1);
    talk.packet(1000, true, 2, segment(flags::SYN, 0, 0, 100));
    // What follows comes first: the answer to the SYN was lost, and the data that it carried.
    let first = u32::MAX - 500;
    let behind = segment(flags::ACK, first.wrapping_add(1001), 101, 1000);
    talk.packet(1100, false, 2, behind);
    let answer = segment(flags::SYN | flags::ACK, first, 101, 1000);
    let again = talk.packet(3000, false, 2, answer);
    assert!(again.phases.iter().any(|it| it.end_ns == i64::MAX));
    let ack = segment(flags::ACK, 101, first.wrapping_add(1001), 0);
    let sharing = talk.packet(3000, true, 2, ack);
    assert!(sharing.phases.iter().all(|it| it.end_ns < i64::MAX));
}

#[test]
fn the_answer_to_a_syn_that_asked_waited_for_no_buffer() {
    let mut talk = super::two_connections();
    let pushed = |number: u32| segment(flags::ACK | flags::PSH, 1 + number * 1000, 101, 1000);
    for round in 0..8 {
        let at = 240 + i64::from(round) * 100;
        let number = 2 + round * 3;
        for port in [1, 2] {
            talk.ack(at, port, number - 1);
        }
        for place in 0..6 {
            let port = 1 + u16::from(place % 2 == 1);
            talk.packet(
                at + 100 + place,
                false,
                port,
                pushed(number + u32::try_from(place / 2).unwrap()),
            );
        }
    }
    let buffer = |talk: &Talk| {
        let mut pairs = talk.windows.pairs.iter().flatten();
        pairs.find_map(|pair| pair.window.used.buffer())
    };
    assert_eq!(buffer(&talk), None, "what was pushed ends a write");
    talk.packet(1000, true, 3, segment(flags::SYN, 0, 0, 100));
    talk.ack(1040, 1, 25);
    talk.packet(1100, false, 3, segment(flags::SYN | flags::ACK, 0, 101, 0));
    talk.packet(1140, false, 3, segment(flags::ACK, 1, 101, 1000));
    assert_eq!(buffer(&talk), None);
}
