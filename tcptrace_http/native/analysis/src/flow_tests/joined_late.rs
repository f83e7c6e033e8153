//! Tests of flows whose capture is incomplete.

use super::*;

#[test]
fn first_message_shows_the_client_of_a_flow_without_a_start() {
    let mut tables = Script::new()
        .send(false, DATA, 1, 1, b"GET / HTTP/1.1\r\n\r\n")
        .finish();
    let flows = tables.of_flows.flows.take().into_columns();
    assert_eq!(text(&flows, "client", 0), "10.0.0.2");
    let anomalies = tables.anomalies.into_table(&mut Vec::new()).into_columns();
    assert_eq!(text(&anomalies, "kind", 0), "mid_stream_start");
}

#[test]
fn first_header_block_shows_the_client_of_http2_without_a_start() {
    // HEADERS of stream 5: GET http /, and 200.
    let request = [0, 0, 3, 1, 5, 0, 0, 0, 5, 0x82, 0x86, 0x84];
    let response = [0, 0, 1, 1, 5, 0, 0, 0, 5, 0x88];
    let mut tables = Script::new()
        .send(false, DATA, 1, 1, &request)
        .send(true, DATA, 1, 13, &response)
        .finish();
    let flows = tables.of_flows.flows.take().into_columns();
    assert_eq!(text(&flows, "client", 0), "10.0.0.2");
    let transactions = tables.of_flows.transactions.take().into_columns();
    assert_eq!(text(&transactions, "method", 0), "GET");
    assert_eq!(numbers(&transactions, "status"), [200]);
}

#[test]
fn a_segment_lost_by_the_capture_alone_is_a_gap_and_the_next_message_is_found() {
    let mut tables = Script::new()
        .handshake()
        .send(true, DATA, 1, 1, REQUEST)
        // The capture lacks 42 acknowledged bytes of the response.
        .send(true, DATA, 28, 43, REQUEST)
        .send(false, DATA, 43, 55, RESPONSE)
        .send(true, flags::ACK, 55, 85, b"")
        .finish();
    let flows = tables.of_flows.flows.take().into_columns();
    assert_eq!(numbers(&flows, "server_gap_bytes"), [42]);
    let transactions = tables.of_flows.transactions.take().into_columns();
    let frames = numbers(&transactions, "request_frame");
    let answered = numbers(&transactions, "response_first_frame");
    assert_eq!((frames[0], answered[0]), (4, 0));
    assert_eq!((frames[1], answered[1]), (5, 6));
}

#[test]
fn data_of_another_protocol_before_http_is_no_request() {
    let mut tables = Script::new()
        .handshake()
        // SOCKS version 4 requests a connection from a proxy and receives it.
        .send(true, DATA, 1, 1, b"\x04\x01\x00\x50\x0a\x00\x00\x02\x00")
        .send(false, DATA, 1, 10, b"\x00\x5a\x00\x00\x00\x00\x00\x00")
        .send(true, DATA, 10, 9, REQUEST)
        .send(false, DATA, 9, 37, RESPONSE)
        .finish();
    let transactions = tables.of_flows.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "request_frame"), [6]);
    assert_eq!(numbers(&transactions, "response_first_frame"), [7]);
}

#[test]
fn hole_in_another_protocols_data_may_contain_a_request() {
    let mut tables = Script::new()
        .handshake()
        .send(true, DATA, 1, 1, b"\x04\x01\x00\x50\x0a\x00\x00\x02\x00")
        .send(true, DATA, 110, 1, REQUEST)
        .send(false, DATA, 1, 137, RESPONSE)
        .finish();
    let transactions = tables.of_flows.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "status").len(), 2);
}

#[test]
fn uncaptured_keep_alive_byte_contains_no_request() {
    let mut tables = Script::new()
        .send(true, flags::ACK, 1, 1, b"")
        .send(true, DATA, 2, 1, REQUEST)
        .send(false, DATA, 1, 29, RESPONSE)
        .send(true, DATA, 29, 43, REQUEST)
        .send(false, DATA, 43, 56, RESPONSE)
        .finish();
    let transactions = tables.of_flows.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "request_frame"), [2, 4]);
    assert_eq!(numbers(&transactions, "response_first_frame"), [3, 5]);
}

#[test]
fn the_first_messages_of_a_flow_joined_at_a_keep_alive_are_paired() {
    for byte in [&b""[..], b"\0"] {
        let mut tables = Script::new()
            .send(true, flags::ACK, 100, 50, byte)
            .send(false, flags::ACK, 50, 101, b"")
            .send(true, DATA, 101, 50, REQUEST)
            .send(false, DATA, 50, 128, RESPONSE)
            .finish();
        assert_eq!(
            numbers(
                &tables.of_flows.transactions.take().into_columns(),
                "status"
            ),
            [200]
        );
    }
}

#[test]
fn data_beyond_the_memory_limit_is_delivered_with_holes_and_reported() {
    let mut script = Script::new();
    script.analyzer.tables.held.limit(6000);
    script
        .handshake()
        .send(true, DATA, 1, 1, REQUEST)
        .send(
            false,
            DATA,
            1,
            28,
            b"HTTP/1.1 200 OK\r\nContent-Length: 3000\r\n\r\n",
        )
        // The data behind a hole of 100 bytes waits until it exceeds the limit.
        .send(false, DATA, 142, 28, &[b'x'; 500]);
    assert!(script.analyzer.tables.held.complaint().is_none());
    script
        .send(false, DATA, 642, 28, &[b'x'; 1500])
        .send(false, DATA, 2142, 28, &[b'x'; 901])
        .send(true, flags::ACK, 28, 3043, b"");
    let mut tables = script.finish();
    let transactions = tables.of_flows.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "response_body_bytes"), [3000]);
    assert_eq!(numbers(&transactions, "missing_bytes"), [100]);
    let anomalies = tables.anomalies.into_table(&mut Vec::new()).into_columns();
    let limit = trace_model::AnomalyKind::LimitReached as u64;
    let reported = numbers(&anomalies, "kind")
        .iter()
        .filter(|kind| **kind == limit)
        .count();
    assert_eq!(reported, 2, "one report at the first drop, one at the end");
}

#[test]
fn finished_flow_leaves_the_memory_sum() {
    let mut script = Script::new();
    script
        .handshake()
        .send(true, DATA, 1, 1, REQUEST)
        .send(false, DATA, 500, 28, &[b'x'; 1000]);
    script.analyzer.tables.held.limit(0);
    assert!(script.analyzer.tables.held.is_over());
    script
        .analyzer
        .flow_table
        .finish(&mut script.analyzer.tables, usize::MAX);
    assert!(!script.analyzer.tables.held.is_over());
}
