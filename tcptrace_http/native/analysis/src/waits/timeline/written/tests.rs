use super::*;

const MS: i64 = 1_000_000;
const START: i64 = (1 << 32) - 1000;

/// When what left last of these was written, which left after so many milliseconds, have so many bytes and are of such
/// a kind; none if it seems to have been when what is before it left.
fn written_ms(departures: &[(i64, i64, Kind)]) -> Option<i64> {
    written_of(departures.len() - 1, departures)
}

/// ... of the one at a place.
fn written_of(place: usize, departures: &[(i64, i64, Kind)]) -> Option<i64> {
    let mut written = Written::default();
    let mut since_ns = START;
    for (left_ms, bytes, kind) in departures {
        let left_ns = START + left_ms * MS;
        written.note(Departure {
            since_ns,
            left_ns,
            bytes: *bytes,
            kind: *kind,
        });
        since_ns = left_ns;
    }
    let (left_ms, ..) = departures[place];
    let written_ns = written.written_ns(START + left_ms * MS);
    written_ns.map(|it| (it - START) / MS)
}

/// A head, and 512 bytes each 55 ms behind it from 10 ms on, which Nagle's algorithm lets go each 65 ms.
const PIECES: [(i64, i64, Kind); 9] = [
    (0, 146, Kind::Opens),
    (65, 512, Kind::Held),
    (130, 1024, Kind::Held),
    (195, 512, Kind::Held),
    (260, 512, Kind::Held),
    (325, 512, Kind::Held),
    (390, 512, Kind::Held),
    (455, 512, Kind::Held),
    (520, 904, Kind::Held),
];

#[test]
fn how_many_pieces_each_ack_let_go_tells_when_each_was_written() {
    for (place, written) in [(2, 65), (3, 175), (4, 230), (5, 285), (6, 340), (8, 450)] {
        let told = written_of(place, &PIECES).unwrap();
        assert!((told - written).abs() < 10, "{place}: {told}");
    }
}

#[test]
fn what_follows_the_beginning_of_an_answer_was_written_with_it_unless_others_were_not() {
    let first = [(0, 226, Kind::Opens), (57, 1212, Kind::Held)];
    assert_eq!(written_ms(&first), None);
    let again = |gaps: [i64; 2]| {
        let free = gaps.map(|gap| [(0, 226, Kind::Opens), (gap, 1448, Kind::Free)]);
        let all: Vec<_> = free.concat().into_iter().chain(first).collect();
        let ended = [0, 0, 100, 100, 200, 200];
        let placed = all
            .iter()
            .zip(ended)
            .map(|(it, at)| (it.0 + at, it.1, it.2));
        written_ms(&placed.collect::<Vec<_>>())
    };
    assert_eq!(again([34, 35]), Some(235));
    assert_eq!(again([34, 44]), None);
    // It left before.
    assert_eq!(again([64, 64]), None);
}

#[test]
fn what_left_before_the_next_was_due_was_written_with_the_one_before() {
    let free = [0, 1500, 3000].map(|at| (at, 2048, Kind::Free));
    let behind = |gap: i64| written_ms(&[&free[..], &[(3000 + gap, 906, Kind::Held)]].concat());
    assert_eq!(behind(280), None);
    assert_eq!(behind(1640), Some(4500));
}

#[test]
fn what_is_held_behind_a_held_piece_was_written_in_the_middle_if_nothing_tells() {
    let held = |kind| written_ms(&[(0, 700, Kind::Opens), (50, 90, kind), (90, 400, Kind::Held)]);
    assert_eq!(held(Kind::Held), Some(70));
    // Behind one piece that was not held it may have been written with it, and behind another wait at any time.
    assert_eq!(held(Kind::Free), None);
    assert_eq!(held(Kind::Other), None);
}

#[test]
fn only_the_last_of_what_tells_nothing_is_remembered() {
    let mut written = Written::default();
    for round in 0..10_000 {
        let left_ns = START + round * MS;
        let kind = Kind::Other;
        written.note(Departure {
            since_ns: left_ns - MS,
            left_ns,
            bytes: 1000,
            kind,
        });
    }
    assert!(written.held_bytes() < 1000);
}
