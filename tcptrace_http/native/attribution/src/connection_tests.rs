//! Tests of whole transactions near the client and of their waits.

use tcptrace_path::Serialization;
use trace_model::rows::Cause;

use crate::connection::{Connection, Facts};
use crate::exchange::Extent;
use crate::log::{AckEvent, DataEvent};
use crate::partition::Moment;
use crate::path_facts::PathFacts;

const FULL: i64 = 1460;
const RTT_MS: i64 = 50;
const WINDOW: i64 = 65_535;
/// Link with a serialization time of nanoseconds per segment.
const FAST: Serialization = Serialization::from_picoseconds(1);
const ROUND_NS: i64 = 500_000;

fn ms(time_ms: i64) -> i64 {
    time_ms * 1_000_000
}

fn data(time_ms: i64, frame: u64, (start, end): (i64, i64)) -> DataEvent {
    DataEvent {
        time_ns: ms(time_ms),
        frame,
        start,
        end,
        full_bytes: FULL,
        packet_bytes: u32::try_from(end - start + 40).unwrap(),
        link_busy_since_ns: ms(time_ms),
        ..DataEvent::default()
    }
}

fn ack(time_ms: i64, frame: u64, ack: i64) -> AckEvent {
    AckEvent {
        time_ns: ms(time_ms),
        frame,
        ack,
        window: WINDOW,
        packet_bytes: 40,
        ..AckEvent::default()
    }
}

fn path(has_no_acks: bool) -> PathFacts {
    PathFacts {
        client_is_second: false,
        to_server_ns: ms(RTT_MS),
        to_client_ns: 0,
        links: [FAST; 2],
        links_by_acks: Default::default(),
        is_one_host: false,
        has_no_acks: [false, has_no_acks],
        header_bytes: 40,
        probe_bytes: 80,
    }
}

/// Return a request at 0 ms, and a response with its first and last time and its end offset.
fn facts((first_ms, last_ms, end): (i64, i64, i64), has_no_acks: bool) -> Facts {
    let at = |time_ms: i64| Moment {
        time_ns: ms(time_ms),
        frame: 1,
    };
    Facts {
        path: path(has_no_acks),
        request: Some(Extent {
            first: at(0),
            last: at(0),
            start: 1,
            end: 101,
        }),
        response: Some(Extent {
            first: at(first_ms),
            last: at(last_ms),
            start: 1,
            end,
        }),
        handshake: None,
        is_one_sided: false,
        unfinished: None,
    }
}

/// Return the waits of a request at 0 ms and of its response from 60 ms on.
///
/// Each wait is a cause, a length in milliseconds and the releasing frame.
fn waits(
    segments: &[DataEvent],
    acks: &[AckEvent],
    place: (i64, i64, i64),
) -> Vec<(Cause, i64, Option<u64>)> {
    waits_of(segments, acks, place, false)
}

/// Return the waits of a response; its ACKs were captured unless `has_no_acks`.
fn waits_of(
    segments: &[DataEvent],
    acks: &[AckEvent],
    (first_ms, last_ms, end): (i64, i64, i64),
    has_no_acks: bool,
) -> Vec<(Cause, i64, Option<u64>)> {
    let mut connection = Connection::default();
    connection.on_data(false, data(0, 1, (1, 101)));
    let (mut segments, mut acks) = (segments.iter().peekable(), acks.iter().peekable());
    loop {
        match (segments.peek(), acks.peek()) {
            (Some(segment), Some(ack)) if segment.frame > ack.frame => {
                connection.on_ack(true, **ack);
                acks.next();
            }
            (Some(segment), _) => {
                connection.on_data(true, **segment);
                segments.next();
            }
            (None, Some(ack)) => {
                connection.on_ack(true, **ack);
                acks.next();
            }
            (None, None) => break,
        }
    }
    let explained = connection.explain(&facts((first_ms, last_ms, end), has_no_acks), None);
    let of = |wait: &crate::partition::Wait| {
        let length_ns = wait.end.time_ns - wait.start.time_ns;
        (
            wait.cause,
            (length_ns + ROUND_NS) / 1_000_000,
            wait.bound.and_then(|it| it.released_by),
        )
    };
    let rounded = explained.waits.iter().map(of);
    rounded.filter(|(_, length_ms, _)| *length_ms > 0).collect()
}

#[test]
fn body_behind_a_short_head_waits_for_a_delayed_acknowledgment() {
    let found = waits(
        &[data(60, 2, (1, 201)), data(150, 4, (201, 701))],
        &[ack(100, 3, 201), ack(190, 5, 701)],
        (60, 150, 701),
    );
    let expected = [
        (Cause::NetworkPropagation, 50, None),
        (Cause::ServerThink, 10, None),
        (Cause::StallNagleDelayedAck, 90, Some(3)),
    ];
    assert_eq!(found, expected);
}

#[test]
fn waits_of_a_body_are_unobserved_without_captured_acks() {
    let found = waits_of(
        &[data(60, 2, (1, 201)), data(150, 4, (201, 701))],
        &[],
        (60, 150, 701),
        true,
    );
    assert_eq!(found.last(), Some(&(Cause::Unobserved, 90, None)));
}

#[test]
fn late_body_after_the_ack_was_not_written() {
    let found = waits(
        &[data(60, 2, (1, 201)), data(170, 4, (201, 701))],
        &[ack(100, 3, 201), ack(210, 5, 701)],
        (60, 170, 701),
    );
    assert_eq!(
        found.last(),
        Some(&(Cause::ServerDataUnavailable, 110, None))
    );
}

#[test]
fn full_segments_that_follow_acknowledgments_were_held_by_slow_start() {
    let found = waits(
        &[
            data(60, 2, (1, 1461)),
            data(110, 4, (1461, 2921)),
            data(110, 5, (2921, 4381)),
        ],
        &[ack(60, 3, 1461), ack(110, 6, 4381)],
        (60, 110, 4381),
    );
    assert_eq!(
        found.last(),
        Some(&(Cause::SendLimitedSlowStart, 50, Some(3)))
    );
}

#[test]
fn hole_with_duplicate_acks_is_repaired_by_fast_recovery() {
    let segments: Vec<DataEvent> = [
        (60, 2, 1),
        (60, 3, 2921),
        (60, 5, 4381),
        (60, 7, 5841),
        (110, 9, 1461),
    ]
    .map(|(at, frame, start)| data(at, frame, (start, start + FULL)))
    .to_vec();
    let acks = [
        ack(60, 2, 1461),
        ack(60, 4, 1461),
        ack(60, 6, 1461),
        ack(60, 8, 1461),
        ack(110, 10, 7301),
    ];
    let found = waits(&segments, &acks, (60, 110, 7301));
    assert_eq!(found.last(), Some(&(Cause::StallFastRecovery, 50, None)));
}

#[test]
fn window_opened_by_an_update_was_not_read() {
    let closed = AckEvent {
        window: 0,
        ..ack(60, 3, 1461)
    };
    let found = waits(
        &[data(60, 2, (1, 1461)), data(260, 5, (1461, 2921))],
        &[closed, ack(210, 4, 1461), ack(260, 6, 2921)],
        (60, 260, 2921),
    );
    assert_eq!(
        found.last(),
        Some(&(Cause::SendLimitedZeroWindow, 200, Some(4)))
    );
}

#[test]
fn response_of_more_segments_than_a_log_holds_is_explained_from_its_opening_to_its_end() {
    const SEGMENTS: i64 = 150_000;
    const PAUSE_BEFORE: i64 = 70_000;
    let mut connection = Connection::default();
    connection.on_data(false, data(0, 1, (1, 101)));
    let mut time_ms = 60;
    for number in 0..SEGMENTS {
        time_ms += if number == PAUSE_BEFORE {
            700
        } else {
            number % 2
        };
        let frame = u64::try_from(2 * number + 2).unwrap();
        let end = 1 + (number + 1) * FULL;
        connection.on_data(true, data(time_ms, frame, (end - FULL, end)));
        connection.on_ack(true, ack(time_ms, frame + 1, end));
        if connection.is_long() {
            connection.explain_parts(&path(false), [Some(1), Some(1)], false);
        }
    }
    let held_bytes = connection.held_bytes();
    assert!(held_bytes < 32 << 20, "{held_bytes} bytes are held");
    let facts = facts((60, time_ms, 1 + SEGMENTS * FULL), false);
    let waits = connection.explain(&facts, None).waits;
    assert_eq!(connection.take_dropped_events(), 0);
    let of = |cause: Cause| {
        let those = waits.iter().filter(|it| it.cause == cause);
        those
            .map(|it| it.end.time_ns - it.start.time_ns)
            .sum::<i64>()
    };
    assert_eq!((of(Cause::ServerThink) + ROUND_NS) / 1_000_000, 10);
    assert_eq!(of(Cause::Unobserved), 0);
    let pause_ns = of(Cause::ServerDataUnavailable);
    assert!((pause_ns - ms(700)).abs() <= ms(2), "{pause_ns} ns");
    let all_ns: i64 = waits
        .iter()
        .map(|it| it.end.time_ns - it.start.time_ns)
        .sum();
    assert_eq!(all_ns, ms(time_ms));
}
