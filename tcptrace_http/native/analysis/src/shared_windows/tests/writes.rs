//! What an application has written in a rhythm.

use super::*;

/// Just below 2^32, so that an answer goes on behind it.
const FIRST: u32 = u32::MAX - 2500;
const WAY_MS: i64 = 100;

/// A connection on which a piece of 1000 bytes is written every 1.5 s, until a fifth is due at 6.3 s.
fn writes() -> Talk {
    writes_at([0, 1500, 3000, 4500])
}

/// Pieces come so long after the first.
fn writes_at<const N: usize>(times_ms: [i64; N]) -> Talk {
    let mut talk = Talk::counted();
    let syn_ack = segment(flags::SYN | flags::ACK, FIRST, 1, 0);
    talk.packet(0, true, 1, segment(flags::SYN, 0, 0, 0));
    talk.packet(WAY_MS, false, 1, syn_ack);
    talk.packet(WAY_MS, true, 1, segment(flags::ACK, 1, FIRST + 1, 100));
    // Another connection's data shows how quick the link is.
    talk.opens(0, 2);
    for (nth, time_ms) in (0..).zip(times_ms) {
        let comes_ms = 3 * WAY_MS + time_ms;
        piece(&mut talk, comes_ms, nth);
        let acked = FIRST.wrapping_add(1001 + nth * 1000);
        let ack = segment(flags::ACK, 101, acked, 0);
        talk.packet(comes_ms, true, 1, ack);
    }
    talk.passed_over = Some(1);
    talk
}

fn piece(talk: &mut Talk, time_ms: i64, nth: u32) -> Sharing {
    let start = FIRST.wrapping_add(1 + nth * 1000);
    let data = segment(flags::ACK | flags::PSH, start, 101, 1000);
    talk.packet(time_ms, false, 1, data)
}

#[test]
fn what_a_timer_sends_was_written_when_it_was_due() {
    let sharing = piece(&mut writes(), 7500, 4);
    assert_eq!(sharing.written, Some(earlier(6300)));
}

fn earlier(would_come_ms: i64) -> WrittenAt {
    WrittenAt::Earlier {
        would_come_ns: would_come_ms * MS,
    }
}

#[test]
fn what_comes_when_it_was_due_was_not_lost_though_a_packet_is_missing() {
    let sharing = piece(&mut writes(), 6303, 4);
    assert_eq!(sharing.written, Some(WrittenAt::OnTime));
}

#[test]
fn what_was_lost_once_tells_when_the_next_is_due_before_any_has_come() {
    // Where one packet is missing a timer waits for a second, if no other of its host has shown.
    let mut talk = writes_at([0]);
    assert_eq!(piece(&mut talk, 2800, 1).written, None);
    let (mut came, mut time_ms) = (2, 3000);
    for (behind_ms, written) in [(1501, WrittenAt::OnTime), (2501, earlier(6501))] {
        let number = FIRST.wrapping_add(1 + came * 1000);
        let ask = segment(flags::ACK | flags::PSH, 1 + (came / 2) * 100, number, 100);
        talk.packet(time_ms, true, 1, ask);
        piece(&mut talk, time_ms + 2 * WAY_MS, came);
        talk.passed_over = talk.passed_over.map(|count| count + 1);
        time_ms += 2 * WAY_MS + behind_ms;
        let next = piece(&mut talk, time_ms, came + 1);
        assert_eq!(next.written, Some(written));
        (came, time_ms) = (came + 2, time_ms + WAY_MS);
    }
}

#[test]
fn what_comes_though_nothing_is_missing_was_written_when_it_was_due() {
    for (time_ms, written) in [
        (6301, Some(WrittenAt::OnTime)),
        (6600, Some(earlier(6300))),
        (6312, Some(earlier(6300))),
        (6308, None),
    ] {
        let mut talk = writes();
        talk.passed_over = Some(0);
        assert_eq!(piece(&mut talk, time_ms, 4).written, written, "{time_ms}");
    }
}

#[test]
fn the_rest_of_a_piece_that_an_ack_let_go_begins_none() {
    let mut talk = writes();
    talk.passed_over = Some(0);
    let of = |bytes: u32, behind: u32| {
        let start = FIRST.wrapping_add(4001 + behind);
        segment(flags::ACK | flags::PSH, start, 101, bytes)
    };
    talk.packet(6300, false, 1, of(700, 0));
    let ack = segment(flags::ACK, 101, FIRST.wrapping_add(4701), 0);
    talk.packet(6500, true, 1, ack);
    // It comes a path's time behind the ACK, and its own on the link.
    talk.packet(6600, false, 1, of(300, 700));
    let next = talk.packet(7800, false, 1, of(1000, 1000));
    assert_eq!(next.written, Some(WrittenAt::OnTime));
}

#[test]
fn behind_a_part_of_a_piece_nothing_is_due() {
    let mut talk = writes();
    let start = FIRST.wrapping_add(4001);
    talk.passed_over = Some(0);
    let part = segment(flags::ACK | flags::PSH, start, 101, 300);
    talk.packet(6300, false, 1, part);
    talk.passed_over = Some(1);
    let rest = segment(flags::ACK | flags::PSH, start.wrapping_add(300), 101, 700);
    assert_eq!(talk.packet(9000, false, 1, rest).written, None);
}

/// So much of what follows the fourth piece, from an offset on.
fn of(bytes: u32, behind: u32) -> Segment<'static> {
    let start = FIRST.wrapping_add(4001 + behind);
    segment(flags::ACK | flags::PSH, start, 101, bytes)
}

fn acked(behind: u32) -> Segment<'static> {
    segment(flags::ACK, 101, FIRST.wrapping_add(4001 + behind), 0)
}

#[test]
fn what_no_ack_let_go_begins_a_piece_however_soon_it_comes_behind_the_rest_of_the_one_before() {
    let mut talk = writes();
    talk.passed_over = Some(0);
    talk.packet(6300, false, 1, of(950, 0));
    // The rest of a piece comes a path's time behind the ACK that let it go, and its own on the link.
    talk.packet(7500, true, 1, acked(950));
    talk.packet(7600, false, 1, of(50, 950));
    let next = talk.packet(7801, false, 1, of(1000, 1000));
    assert_eq!(next.written, Some(WrittenAt::OnTime));
}

#[test]
fn a_piece_of_which_the_first_segment_is_lost_begins_with_that() {
    let mut talk = writes();
    talk.packet(6301, false, 1, of(500, 500));
    talk.packet(6302, true, 1, acked(0));
    talk.packet(7000, false, 1, of(500, 0));
    talk.passed_over = Some(2);
    let next = talk.packet(8800, false, 1, of(1000, 1000));
    let came_ms = next.written.map(|it| it.came_ns(0) / MS);
    assert_eq!(came_ms, Some(7800));
}

/// When that was written which comes behind a piece of so many bytes, a path's time behind the ACK of this.
fn written_behind(bytes: u32, time_ms: i64) -> Option<WrittenAt> {
    let mut talk = writes();
    talk.passed_over = Some(0);
    talk.packet(6300, false, 1, of(bytes, 0));
    talk.packet(time_ms - 101, true, 1, acked(bytes));
    talk.packet(time_ms, false, 1, of(1000, bytes)).written
}

#[test]
fn what_comes_when_it_was_due_waited_for_its_application_though_an_ack_came_just_then() {
    assert_eq!(written_behind(1000, 7801), Some(WrittenAt::OnTime));
    assert_eq!(written_behind(1000, 7805), None);
}

#[test]
fn what_an_ack_lets_go_behind_a_head_that_was_sent_alone_was_due_before_if_nothing_had_held_the_head(
) {
    for (asked_ms, due_ms) in [(7099, Some(8701)), (6800, None)] {
        let mut talk = writes();
        talk.passed_over = Some(0);
        let ask = segment(flags::ACK | flags::PSH, 101, FIRST.wrapping_add(4001), 100);
        talk.packet(asked_ms, true, 1, ask);
        talk.data(6900, 2, 2);
        talk.ack(7100, 2, 2);
        // It may have left with that ACK, but can have left no sooner.
        talk.packet(7201, false, 1, of(990, 0));
        talk.packet(8899, true, 1, acked(990));
        let next = talk.packet(9000, false, 1, of(1000, 990));
        let came_ms = next.written.map(|it| it.came_ns(0) / MS);
        assert_eq!(came_ms, due_ms, "{asked_ms}");
    }
}

#[test]
fn what_comes_in_the_rhythm_behind_a_piece_of_another_length_waited_for_its_application() {
    assert_eq!(written_behind(500, 7801), Some(WrittenAt::OnTime));
    assert_eq!(written_behind(500, 7901), None);
}

#[test]
fn a_piece_of_which_a_packet_without_payload_tells_and_that_a_timer_sends_again_was_written_when_it_was_due(
) {
    for (is_pushed, written) in [(true, Some(earlier(6300))), (false, None)] {
        let mut talk = writes();
        talk.passed_over = Some(0);
        if !is_pushed {
            let start = FIRST.wrapping_add(3001);
            talk.packet(4801, false, 1, segment(flags::ACK, start, 101, 1000));
        }
        let bare = segment(flags::ACK, FIRST.wrapping_add(5001), 101, 0);
        talk.packet(6700, false, 1, bare);
        let next = piece(&mut talk, 7500, 4);
        assert_eq!(next.written, written, "{is_pushed}");
    }
}
