//! Tests of data on the SYN of a connection (RFC 1644, RFC 7413).

use super::*;

/// Return a script with data on the SYN, before the SYN-ACK.
fn accelerated() -> Script {
    let mut script = Script::new();
    script.send(true, flags::SYN | flags::PSH, 0, 0, REQUEST);
    script
}

#[test]
fn early_data_joins_the_repeated_syn_ack_that_comes_before_it() {
    let (head, body) = RESPONSE.split_at(20);
    let mut tables = accelerated()
        .send(false, DATA, 21, 28, body)
        .send(true, flags::SYN | flags::PSH, 0, 0, REQUEST)
        .send(false, flags::SYN | flags::ACK, 0, 28, head)
        .send(true, flags::ACK, 28, 21, b"")
        .send(false, DATA, 21, 28, body)
        .send(true, flags::ACK, 28, 43, b"")
        .finish();
    let transactions = tables.of_flows.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "status"), [200]);
    assert_eq!(numbers(&transactions, "response_first_frame"), [4]);
    // A client in SYN-SENT drops data (RFC 9293, section 3.10.7.3).
    assert_eq!(numbers(&transactions, "response_last_frame"), [6]);
    let flows = tables.of_flows.flows.take().into_columns();
    assert_eq!(numbers(&flows, "server_bytes"), [RESPONSE.len() as u64]);
    assert_eq!(numbers(&flows, "server_gap_bytes"), [0]);
    assert_eq!(numbers(&flows, "packets"), [7]);
}

#[test]
fn early_data_that_was_acknowledged_and_not_repeated_had_arrived() {
    let (head, body) = RESPONSE.split_at(20);
    for (repeated, last_frame) in [(20, 3), (30, 4)] {
        let mut tables = accelerated()
            .send(false, DATA | flags::FIN, 21, 28, body)
            .send(false, flags::SYN | flags::ACK, 0, 28, head)
            .send(false, DATA, 21, 28, &RESPONSE[20..repeated])
            .send(true, flags::ACK, 28, 44, b"")
            .finish();
        let transactions = tables.of_flows.transactions.take().into_columns();
        assert_eq!(numbers(&transactions, "response_body_bytes"), [4]);
        assert_eq!(numbers(&transactions, "response_last_frame"), [last_frame]);
        let flows = tables.of_flows.flows.take().into_columns();
        assert_eq!(numbers(&flows, "server_bytes"), [RESPONSE.len() as u64]);
        assert_eq!(numbers(&flows, "server_gap_bytes"), [0]);
        assert_eq!(text(&flows, "closed_by", 0), "server");
    }
}

#[test]
fn the_first_ack_places_early_data_whose_syn_ack_was_not_captured() {
    for acked in [1, 43] {
        let mut tables = accelerated()
            .send(false, DATA, 1, 28, RESPONSE)
            .send(true, flags::ACK, 28, acked, b"")
            .send(true, flags::ACK, 28, 43, b"")
            .finish();
        let transactions = tables.of_flows.transactions.take().into_columns();
        assert_eq!(numbers(&transactions, "status"), [200]);
        assert_eq!(numbers(&transactions, "response_last_frame"), [2]);
        assert_eq!(
            numbers(&transactions, "last_ack_frame"),
            [if acked == 1 { 4 } else { 3 }]
        );
    }
}

#[test]
fn a_remnant_of_an_earlier_connection_is_no_early_data() {
    let mut tables = accelerated()
        .send(
            false,
            DATA,
            1 << 24,
            1 << 24,
            b"HTTP/1.1 404 Not Found\r\n\r\n",
        )
        .send(false, flags::SYN | flags::ACK, 0, 28, b"")
        .send(true, flags::ACK, 28, 1, b"")
        .send(false, DATA, 1, 28, RESPONSE)
        .send(true, flags::ACK, 28, 43, b"")
        .finish();
    let transactions = tables.of_flows.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "status"), [200]);
    let flows = tables.of_flows.flows.take().into_columns();
    assert_eq!(numbers(&flows, "server_bytes"), [RESPONSE.len() as u64]);
    assert_eq!(numbers(&flows, "server_gap_bytes"), [0]);
}

#[test]
fn early_data_without_an_ack_is_read_at_the_end() {
    let mut tables = accelerated().send(false, DATA, 1, 28, RESPONSE).finish();
    let transactions = tables.of_flows.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "status"), [200]);
}

#[test]
fn more_than_the_window_of_a_syn_is_not_early() {
    let mut script = accelerated();
    let body = vec![b'x'; 1400];
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 140000\r\n\r\n";
    script.send(false, DATA, 1, 28, head);
    // The capture has only the SYN of the client: its other packets took another route.
    for number in 0..100 {
        script.send(
            false,
            DATA,
            1 + head.len() as u32 + number * 1400,
            28,
            &body,
        );
    }
    let mut tables = script.finish();
    let transactions = tables.of_flows.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "response_body_bytes"), [140_000]);
}
