//! Tests of retransmitted and duplicated packets.

use super::*;

#[test]
fn data_retransmitted_after_its_loss_is_counted_once() {
    let mut tables = Script::new()
        .handshake()
        .send(true, DATA, 1, 1, REQUEST)
        .send(false, DATA, 11, 28, &RESPONSE[10..])
        .send(true, flags::ACK, 28, 1, b"")
        .send(false, DATA, 1, 28, &RESPONSE[..10])
        .send(true, flags::ACK, 28, 43, b"")
        .finish();
    let flows = tables.of_flows.flows.take().into_columns();
    assert_eq!(numbers(&flows, "server_bytes"), [RESPONSE.len() as u64]);
    assert_eq!(numbers(&flows, "server_gap_bytes"), [0]);
    let transactions = tables.of_flows.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "status"), [200]);
    assert_eq!(numbers(&transactions, "response_first_frame"), [7]);
    assert_eq!(numbers(&transactions, "response_last_frame"), [7]);
}

#[test]
fn retransmitted_segment_gives_no_round_trip_by_karns_algorithm() {
    let tables = Script::new()
        .handshake()
        .send(true, DATA, 1, 1, REQUEST)
        .send(true, DATA, 1, 1, REQUEST)
        .send(false, flags::ACK, 1, 28, b"")
        .finish();
    let segments = segments(tables);
    assert_eq!(number(&segments, "is_retransmission", 4), Some(1));
    assert_eq!(number(&segments, "acked_by_frame", 3), Some(6));
    assert_eq!(number(&segments, "rtt", 3), None);
    assert_eq!(number(&segments, "rtt", 0), Some(1_000_000));
}

#[test]
fn retransmission_with_new_data_is_acknowledged_and_gives_no_round_trip() {
    let tables = Script::new()
        .handshake()
        .send(true, DATA, 1, 1, &REQUEST[..10])
        .send(true, DATA, 1, 1, REQUEST)
        .send(false, flags::ACK, 1, 28, b"")
        .finish();
    let segments = segments(tables);
    assert_eq!(number(&segments, "acked_by_frame", 4), Some(6));
    assert_eq!(number(&segments, "rtt", 4), None);
}

#[test]
fn packet_captured_twice_spoils_no_round_trip() {
    let mut script = Script::new();
    script.handshake().send(true, DATA, 1, 1, REQUEST);
    script.time_ns -= 960_000;
    let tables = script
        .send(true, DATA, 1, 1, REQUEST)
        .send(false, flags::ACK, 1, 28, b"")
        .finish();
    assert_eq!(number(&segments(tables), "rtt", 3), Some(1_040_000));
}

#[test]
fn a_probe_of_the_byte_before_the_next_is_a_keep_alive() {
    let tables = Script::new()
        .handshake()
        .send(true, DATA, 1, 1, REQUEST)
        .send(false, flags::ACK, 1, 28, b"")
        .send(true, flags::ACK, 27, 1, b"")
        .finish();
    let segments = segments(tables);
    assert_eq!(number(&segments, "is_keep_alive", 5), Some(1));
    assert_eq!(number(&segments, "is_retransmission", 5), Some(0));
}

#[test]
fn the_same_ack_again_while_data_is_out_is_a_duplicate() {
    let tables = Script::new()
        .handshake()
        .send(true, DATA, 1, 1, REQUEST)
        .send(false, DATA, 1, 28, &RESPONSE[..10])
        .send(false, DATA, 21, 28, &RESPONSE[20..])
        .send(true, flags::ACK, 28, 11, b"")
        .send(true, flags::ACK, 28, 11, b"")
        .finish();
    let segments = segments(tables);
    assert_eq!(number(&segments, "gap_before_bytes", 5), Some(10));
    assert_eq!(number(&segments, "duplicate_ack_count", 7), Some(1));
}

#[test]
fn refused_byte_repeated_is_neither_keep_alive_nor_retransmission() {
    let mut script = Script::new();
    script.handshake().send(false, DATA, 1, 1, &RESPONSE[..10]);
    script.window = 0;
    script
        .send(true, flags::ACK, 1, 11, b"")
        .send(false, DATA, 11, 1, &RESPONSE[10..11])
        .send(true, flags::ACK, 1, 11, b"")
        .send(false, DATA, 11, 1, &RESPONSE[10..11]);
    script.window = 1000;
    let mut tables = script
        .send(true, flags::ACK, 1, 11, b"")
        .send(false, DATA, 11, 1, &RESPONSE[10..])
        .finish();
    let flows = tables.of_flows.flows.take().into_columns();
    let segments = segments(tables);
    for probe in 5..segments.rows {
        assert_eq!(number(&segments, "is_keep_alive", probe), Some(0));
        assert_eq!(number(&segments, "is_retransmission", probe), Some(0));
    }
    assert_eq!(numbers(&flows, "server_bytes"), [RESPONSE.len() as u64]);
}
