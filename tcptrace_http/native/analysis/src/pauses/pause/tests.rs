use super::super::test_path::path;
use super::*;

const MS: i64 = 1_000_000;

/// How much later than an ACK could have released it data comes 30 ms after that, on a path of 10 ms and a link that
/// takes 8 ms for a segment, of which so many are missing before it.
fn since_ms(missing: u64) -> i64 {
    let segment = |time_ms: i64, start: u64| SentData {
        frame: 1,
        time_ns: time_ms * MS,
        start,
        end: start + 1000,
        bytes: 1000,
        has_fin: false,
    };
    let path = path(1000, 10 * MS, 8 * MS);
    let start = (1 << 32) - 500;
    let pause = Pause {
        was_used_up: false,
        previous: segment(0, start),
        data: segment(230, start + 1000 + missing * 1000),
        is_short: false,
        path,
        spacing_ns: 0,
        drained_ns: 0,
        bound_ns: 0,
        queued_until_ns: None,
        largest_flight_bytes: 0,
        made_room_ns: None,
        waits_for_all: false,
        shorts: 0,
        endings: Vec::new(),
    };
    let ack = PeerAck {
        number: 1,
        frame: 2,
        time_ns: 200 * MS,
        before: start,
        after: start + 1000,
        covered_ns: 0,
        outstanding_segments: 1,
        outstanding_bytes: 1000,
        bytes: 0,
        opens_connection: false,
        covers_syn: false,
    };
    let ending = Ending { ack, short: None };
    pause.since(&ending, 8 * MS) / MS
}

#[test]
fn what_was_lost_before_data_that_an_ack_let_go_may_have_taken_its_time_on_the_link() {
    assert_eq!(since_ms(0), 12);
    assert_eq!(since_ms(1), 4);
    assert_eq!(since_ms(2), 0);
}
