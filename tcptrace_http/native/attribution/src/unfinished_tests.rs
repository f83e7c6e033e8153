//! Tests of unfinished transactions on the record of a connection.

use tcptrace_path::Serialization;
use trace_model::rows::Cause;

use crate::connection::{Connection, Facts};
use crate::exchange::{ConnectionEnd, Extent, UnfinishedTransaction};
use crate::log::{AckEvent, DataEvent};
use crate::partition::Moment;
use crate::path_facts::PathFacts;

const RTT_MS: i64 = 20;
const CAPTURE_MS: i64 = 9000;
const REQUEST: (i64, i64) = (1, 101);

fn at(time_ms: i64) -> Moment {
    Moment {
        time_ns: time_ms * 1_000_000,
        frame: 1,
    }
}

fn data((start, end): (i64, i64), time_ms: i64) -> DataEvent {
    DataEvent {
        time_ns: time_ms * 1_000_000,
        frame: 1,
        start,
        end,
        full_bytes: 1460,
        packet_bytes: 100,
        ..DataEvent::default()
    }
}

fn ack(ack: i64, window: i64, time_ms: i64) -> AckEvent {
    AckEvent {
        time_ns: time_ms * 1_000_000,
        frame: 1,
        ack,
        window,
        packet_bytes: 40,
        ..AckEvent::default()
    }
}

fn extent((start, end): (i64, i64), time_ms: i64) -> Extent {
    Extent {
        first: at(time_ms),
        last: at(time_ms),
        start,
        end,
    }
}

/// Return causes and milliseconds in a capture near the client, for a request that leaves at 0.
fn waits(
    connection: &mut Connection,
    response: Option<Extent>,
    client_end_ms: Option<i64>,
) -> Vec<(Cause, i64)> {
    let path = PathFacts {
        client_is_second: false,
        to_server_ns: RTT_MS * 1_000_000,
        to_client_ns: 0,
        links: [Serialization::default(); 2],
        links_by_acks: [Serialization::default(); 2],
        is_one_host: false,
        has_no_acks: [false; 2],
        header_bytes: 40,
        probe_bytes: 80,
    };
    let facts = Facts {
        path,
        request: Some(extent(REQUEST, 0)),
        response,
        handshake: None,
        is_one_sided: false,
        unfinished: Some(UnfinishedTransaction {
            request_is_whole: true,
            response_is_whole: false,
            has_interim: false,
            is_event_stream: false,
            ended: ConnectionEnd {
                by_server: None,
                client_end: client_end_ms.map(at),
                capture_ns: CAPTURE_MS * 1_000_000,
            },
        }),
    };
    let waits = connection.explain(&facts, None).waits.into_iter();
    let length_ms = |ns: i64| (ns + 500_000) / 1_000_000;
    let waits = waits.map(|it| (it.cause, length_ms(it.end.time_ns - it.start.time_ns)));
    waits.filter(|(_, ms)| *ms > 0).collect()
}

#[test]
fn acknowledged_request_is_unanswered_until_the_client_gives_up() {
    let mut connection = Connection::default();
    connection.on_data(false, data(REQUEST, 0));
    connection.on_ack(false, ack(101, 9000, RTT_MS));
    let expected = [
        (Cause::NetworkPropagation, 20),
        (Cause::UnfinishedUnanswered, 4980),
    ];
    assert_eq!(waits(&mut connection, None, Some(5000)), expected);
}

#[test]
fn unacknowledged_retransmitted_request_is_undelivered_until_the_capture_ends() {
    let mut connection = Connection::default();
    connection.on_ack(false, ack(1, 9000, -1));
    for time_ms in [0, 220, 640] {
        connection.on_data(false, data(REQUEST, time_ms));
    }
    let expected = [(Cause::UnfinishedUndelivered, CAPTURE_MS)];
    assert_eq!(waits(&mut connection, None, None), expected);
}

#[test]
fn response_that_stops_behind_a_closed_window_waits_for_it() {
    let mut connection = Connection::default();
    connection.on_data(false, data(REQUEST, 0));
    connection.on_data(true, data((1, 1461), 30));
    connection.on_ack(true, ack(1461, 0, 31));
    let found = waits(&mut connection, Some(extent((1, 1461), 30)), Some(1030));
    assert_eq!(found.last(), Some(&(Cause::SendLimitedZeroWindow, 999)));
}

#[test]
fn response_that_stops_with_an_open_window_was_stopped() {
    let mut connection = Connection::default();
    connection.on_data(false, data(REQUEST, 0));
    connection.on_data(true, data((1, 1461), 30));
    connection.on_ack(true, ack(1461, 9000, 31));
    let found = waits(&mut connection, Some(extent((1, 1461), 30)), Some(1030));
    assert_eq!(found.last(), Some(&(Cause::UnfinishedStopped, 1000)));
}

#[test]
fn acknowledged_uncaptured_response_leaves_no_unfinished_wait() {
    let mut connection = Connection::default();
    connection.on_data(false, data(REQUEST, 0));
    connection.on_ack(false, ack(101, 9000, RTT_MS));
    connection.on_ack(true, ack(501, 9000, 40));
    assert_eq!(waits(&mut connection, None, None), []);
}
