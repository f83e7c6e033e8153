use super::*;

const MS: i64 = 1_000_000;

fn written(distance_ms: i64, bytes: i64) -> Written {
    Written {
        distance_ns: distance_ms * MS,
        bytes,
        late_ns: 0,
        longer_ns: 0,
        shorter_ns: 0,
        headers_ns: 0,
        may_be_held: false,
        is_written_then: false,
    }
}

#[test]
fn equal_distances_between_writes_tell_when_the_next_is_due_and_a_single_one_does_not() {
    let mut rhythm = Rhythm::default();
    rhythm.note(written(1100, 4096));
    rhythm.note(written(1500, 170));
    assert_eq!(rhythm.distance_ns(171), None);
    rhythm.note(written(1502, 4096));
    assert_eq!(rhythm.distance_ns(171), Some(1500 * MS));
    assert_eq!(rhythm.distance_ns(4096), Some(1500 * MS));
}

#[test]
fn one_distance_tells_when_the_next_is_due_if_it_ends_with_what_was_written_then() {
    for (is_written_then, due_ns) in [(true, Some(1100 * MS)), (false, None)] {
        let mut rhythm = Rhythm::default();
        rhythm.note(Written {
            is_written_then,
            ..written(1100, 191)
        });
        assert_eq!(rhythm.distance_ns(192), due_ns);
        assert_eq!(rhythm.distance_ns(4096), None);
    }
}

#[test]
fn what_comes_in_the_rhythm_does_so_behind_pieces_of_any_length() {
    let mut rhythm = Rhythm::default();
    rhythm.note(written(1100, 191));
    assert!(!rhythm.is_in(written(1101, 4096)));
    rhythm.note(written(1100, 191));
    assert!(rhythm.is_in(written(1101, 4096)));
    assert!(!rhythm.is_in(written(2201, 8192)));
    assert!(!rhythm.is_in(written(1104, 4096)));
}

#[test]
fn another_distance_ends_no_rhythm_and_two_do() {
    let mut rhythm = Rhythm::default();
    for distance_ms in [1500, 1500, 700] {
        rhythm.note(written(distance_ms, 4096));
    }
    assert_eq!(rhythm.distance_ns(4096), Some(1500 * MS));
    rhythm.note(written(701, 4096));
    assert_eq!(rhythm.distance_ns(4096), Some(700 * MS));
}

#[test]
fn pieces_that_began_unnoticed_are_in_the_rhythm_as_well() {
    let mut rhythm = Rhythm::default();
    rhythm.note(written(1500, 4096));
    assert!(rhythm.agrees(written(4501, 12_288)));
    assert!(!rhythm.agrees(written(3700, 12_288)));
    rhythm.note(written(4501, 12_288));
    assert_eq!(rhythm.distance_ns(4096), Some(1500 * MS));
}

#[test]
fn between_two_distances_that_are_equal_there_may_be_others() {
    let mut rhythm = Rhythm::default();
    for distance_ms in [1100, 1500, 1240, 1101] {
        rhythm.note(written(distance_ms, 4096));
    }
    assert_eq!(rhythm.distance_ns(4096), Some(1100 * MS));
}

#[test]
fn two_pieces_that_seemed_one_are_as_long_as_none() {
    let mut rhythm = Rhythm::default();
    rhythm.note(written(3000, 8192));
    rhythm.note(written(1500, 4096));
    assert_eq!(rhythm.distance_ns(4096), Some(1500 * MS));
    rhythm.note(written(3000, 8192));
    assert_eq!(rhythm.distance_ns(8192), None);
}

#[test]
fn what_was_lost_before_begins_no_rhythm_but_agrees_with_what_was_not() {
    let mut rhythm = Rhythm::default();
    rhythm.note_likely(written(1100, 4096));
    rhythm.note_likely(written(1100, 4096));
    assert!(rhythm.is_due(written(1105, 4096)));
    assert_eq!(rhythm.distance_ns(4096), None);
    rhythm.note(written(1101, 4096));
    assert_eq!(rhythm.distance_ns(4096), Some(1100 * MS));
}

#[test]
fn one_distance_tells_of_another_only_if_that_is_not_much_later() {
    let late = |late_ms: i64, distance_ms: i64| Written {
        late_ns: 30 * MS,
        shorter_ns: 15 * MS,
        ..written(distance_ms + late_ms, 4096)
    };
    let mut rhythm = Rhythm::default();
    rhythm.note_likely(written(800, 4096));
    assert!(rhythm.is_due(late(25, 800)) && !rhythm.is_due(late(30, 800)));
    rhythm.note(written(800, 4096));
    assert!(rhythm.is_due(late(30, 800)));
    rhythm = Rhythm::default();
    rhythm.note_likely(written(160, 4096));
    assert!(!rhythm.is_due(late(25, 160)));
}

#[test]
fn what_is_nearly_two_distances_is_no_other_one() {
    let mut rhythm = Rhythm::default();
    for distance_ms in [1502, 1502, 3000, 3000] {
        rhythm.note(written(distance_ms, 4096));
    }
    assert_eq!(rhythm.distance_ns(4096), Some(1502 * MS));
}

#[test]
fn what_may_have_stood_before_the_link_left_sooner_than_it_seems() {
    let mut rhythm = Rhythm::default();
    for _ in 0..2 {
        rhythm.note(written(1500, 4096));
    }
    let stood = |distance_ms: i64, longer_ms: i64, shorter_ms: i64| Written {
        longer_ns: longer_ms * MS,
        shorter_ns: shorter_ms * MS,
        ..written(distance_ms, 4096)
    };
    assert!(!rhythm.is_due(stood(1460, 0, 40)));
    assert!(rhythm.is_due(stood(1460, 40, 0)));
    assert!(rhythm.is_due(stood(1540, 0, 40)));
    assert!(!rhythm.is_due(stood(1460, 20, 0)));
}

#[test]
fn behind_a_slow_link_distances_are_known_to_what_it_takes_for_headers() {
    let mut rhythm = Rhythm::default();
    rhythm.note(written(1500, 4096));
    let off = written(1505, 4096);
    assert!(!rhythm.agrees(off));
    assert!(rhythm.agrees(Written {
        headers_ns: 6 * MS,
        ..off
    }));
}

#[test]
fn a_piece_is_as_long_as_two_were_to_the_byte() {
    let mut rhythm = Rhythm::default();
    rhythm.note(written(1500, 191));
    rhythm.note(written(1500, 4096));
    assert!(!rhythm.is_piece(4096));
    rhythm.note(written(1500, 4096));
    assert!(rhythm.is_piece(4096));
}

#[test]
fn heads_that_are_as_long_more_often_hide_no_pieces_behind_them() {
    let mut rhythm = Rhythm::default();
    for bytes in [172, 4096, 172, 4096, 172] {
        rhythm.note(written(1100, bytes));
    }
    for (bytes, is_piece) in [(172, true), (4096, true), (1073, false)] {
        assert_eq!(rhythm.is_piece(bytes), is_piece);
    }
}

#[test]
fn what_comes_when_it_is_due_behind_a_piece_as_long_as_others_was_not_lost() {
    let mut rhythm = Rhythm::default();
    rhythm.note(written(1100, 4096));
    assert!(rhythm.is_due(written(1105, 4096)));
    assert!(!rhythm.is_due(written(1300, 4096)), "a timer has run out");
    assert!(!rhythm.is_due(written(1100, 2048)), "a part of a piece");
}
