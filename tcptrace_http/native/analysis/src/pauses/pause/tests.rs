use super::super::test_path::{path, segment};
use super::*;

const MS: i64 = 1_000_000;
const START: u64 = (1 << 32) - 500;

pub(in super::super) fn pause_between(previous: SentData, data: SentData, path: Path) -> Pause {
    Pause {
        was_used_up: false,
        had_loss: false,
        previous,
        data,
        is_short: false,
        path,
        spacing_ns: 0,
        drained_ns: 0,
        bound_ns: 0,
        queued_until_ns: None,
        largest_flight_bytes: 0,
        made_room_ns: None,
        may_have_made_room_ns: None,
        waits_for_all: false,
        waits_for_short: false,
        shorts: 0,
        endings: Vec::new(),
    }
}

/// The ACK of the first segment, which had come at that time.
pub(in super::super) fn acknowledged(time_ns: i64, covered_ns: i64) -> Ending {
    let ack = PeerAck {
        number: 1,
        frame: 2,
        time_ns,
        before: START,
        after: START + 1000,
        covered_ns,
        outstanding_segments: 1,
        outstanding_bytes: 1000,
        offered_until: u64::MAX,
        bytes: 0,
        stood_ns: 0,
        late_ns: None,
        opens_connection: false,
        covers_syn: false,
    };
    Ending { ack, short: None }
}

/// ... if that was one of 300 bytes.
fn of_short(time_ns: i64, covered_ns: i64) -> Ending {
    let mut ending = acknowledged(time_ns, covered_ns);
    ending.ack.after = START + 300;
    ending.short = Some(ShortSegment {
        frame: 1,
        start: START,
        end: START + 300,
        bytes: 300,
    });
    ending
}

/// How much later than an ACK could have released it data comes 30 ms after that, on a path of 10 ms and a link that
/// takes 8 ms for a segment, of which so many are missing before it.
fn since_ms(missing: u64) -> i64 {
    let data = segment(230 * MS, START + 1000 + missing * 1000, 1000);
    let pause = pause_between(segment(0, START, 1000), data, path(1000, 10 * MS, 8 * MS));
    pause.since(&acknowledged(200 * MS, 0), 8 * MS) / MS
}

#[test]
fn what_was_lost_before_data_that_an_ack_let_go_may_have_taken_its_time_on_the_link() {
    assert_eq!(since_ms(0), 12);
    assert_eq!(since_ms(1), 4);
    assert_eq!(since_ms(2), 0);
}

/// A short end behind two full segments that used up the window, so long after the ACK of the second on a path of
/// 10 ms: whether it waited for that of all, when the ACK of the first had made room for it 8 ms before.
fn waited_for_all(late_ms: i64, queued_ns: i64) -> bool {
    let previous = segment(208 * MS, START, 1000);
    let data = segment((218 + late_ms) * MS, START + 1000, 700);
    let on = Path {
        queued_ns,
        may_share_window: true,
        ..path(1000, 10 * MS, 0)
    };
    let pause = Pause {
        is_short: true,
        largest_flight_bytes: 2000,
        may_have_made_room_ns: Some(200 * MS),
        ..pause_between(previous, data, on)
    };
    let ending = acknowledged(208 * MS, 208 * MS);
    let held = pause.ended_by(std::iter::once(ending), 0);
    held.is_some_and(|it| it.waited_for_all)
}

#[test]
fn what_may_have_stood_in_a_queue_since_the_window_had_room_waited_for_no_other_ack() {
    assert!(waited_for_all(0, 0));
    assert!(waited_for_all(2, 2 * MS));
    assert!(!waited_for_all(2, 10 * MS));
}

#[test]
fn what_the_receiver_had_no_room_for_waited_for_its_window_whatever_nagles_algorithm_would_have_held(
) {
    let end = START + 1700;
    for (offered_until, is_held) in [(end, true), (end - 1, false)] {
        let mut ending = acknowledged(208 * MS, 208 * MS);
        ending.ack.offered_until = offered_until;
        let pause = Pause {
            is_short: true,
            largest_flight_bytes: 2000,
            ..pause_between(
                segment(208 * MS, START, 1000),
                segment(218 * MS, START + 1000, 700),
                path(1000, 10 * MS, 0),
            )
        };
        let held = pause.ended_by(std::iter::once(ending), 0);
        assert_eq!(held.is_some(), is_held);
    }
}

/// Whether a short end behind two segments, the first of them short, waited for an ACK of the first one, of two that
/// are 300 us apart, when it comes so long behind what the first one would have let go.
fn is_of_short(late_us: i64) -> bool {
    let previous = segment(200 * MS, START + 1000, 1000);
    let data = segment(210 * MS + late_us * 1000, START + 2000, 700);
    let pause = Pause {
        is_short: true,
        largest_flight_bytes: 4000,
        ..pause_between(previous, data, path(1000, 10 * MS, 0))
    };
    let of_all = acknowledged(200 * MS + 300_000, 200 * MS);
    let mut of_short = acknowledged(200 * MS, 200 * MS);
    of_short.short = Some(ShortSegment {
        frame: 1,
        start: START,
        end: START + 300,
        bytes: 300,
    });
    let of_all = Ending {
        ack: PeerAck {
            before: START + 1000,
            after: START + 2000,
            ..of_all.ack
        },
        ..of_all
    };
    let held = pause.ended_by([of_all, of_short].into_iter(), 0);
    held.is_some_and(|it| it.short_start.is_some())
}

#[test]
fn what_comes_exactly_behind_the_ack_of_all_that_let_it_go_and_not_that_of_a_short_segment_before()
{
    assert!(is_of_short(0));
    assert!(is_of_short(150));
    assert!(!is_of_short(300));
}

/// Whether a full segment waited for the ACK of a short one that comes so long behind that, on a path of 16 ms whose link
/// takes so long for it, or is not known.
fn is_released(behind_ms: i64, takes_ns: i64) -> bool {
    let ending = of_short(240 * MS, 200 * MS);
    let previous = segment(200 * MS, START, 300);
    let data = segment((240 + behind_ms) * MS, START + 300, 1000);
    let pause = pause_between(previous, data, path(1000, 16 * MS, takes_ns));
    pause.ended_by(std::iter::once(ending), takes_ns).is_some()
}

#[test]
fn no_data_comes_sooner_than_its_ack_lets_it_go_but_for_the_options_that_only_the_handshake_carried(
) {
    assert!(is_released(16, 0));
    assert!(is_released(12, 0));
    assert!(!is_released(11, 0));
    assert!(is_released(14, 8 * MS));
    assert!(!is_released(12, 8 * MS));
}

/// When a full segment could have left that comes 200 ms behind a short one, on a link that takes 100 ms for it, with so
/// many segments missing between the two; it was `written`.
fn could_send_ms(missing: u64, written_ms: Option<i64>) -> Option<i64> {
    let data = segment(200 * MS, START + 300 + missing * 1000, 1000);
    let previous = segment(0, START, 300);
    let ending = of_short(95 * MS, 0);
    let path = Path {
        written_ns: written_ms.map(|ms| ms * MS),
        ..path(1000, 10 * MS, 100 * MS)
    };
    let pause = pause_between(previous, data, path);
    let open = pause.ended_by(std::iter::once(ending), 100 * MS)?;
    Some(open.row.could_send_time / MS)
}

#[test]
fn a_link_that_had_what_was_lost_to_carry_as_well_held_nothing_for_an_ack() {
    assert_eq!(could_send_ms(0, None), Some(100));
    assert_eq!(could_send_ms(1, None), Some(200));
}

#[test]
fn what_was_written_later_could_not_leave_before() {
    assert_eq!(could_send_ms(0, Some(150)), Some(150));
    assert_eq!(could_send_ms(0, Some(50)), Some(100));
}
