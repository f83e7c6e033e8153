//! Tests of connection ends.

use super::*;

#[test]
fn first_fin_shows_the_closing_side() {
    let mut tables = Script::new()
        .handshake()
        .send(true, DATA, 1, 1, REQUEST)
        .send(
            false,
            DATA | flags::FIN,
            1,
            28,
            b"HTTP/1.0 200 OK\r\n\r\nuntil the end",
        )
        .send(true, flags::ACK | flags::FIN, 28, 34, b"")
        .finish();
    assert_eq!(
        text(&tables.of_flows.flows.take().into_columns(), "closed_by", 0),
        "server"
    );
    let transactions = tables.of_flows.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "response_body_bytes"), [13]);
    assert_eq!(text(&transactions, "response_framing", 0), "until_close");
}

#[test]
fn a_reset_ends_a_response_before_it_is_complete() {
    let mut tables = Script::new()
        .handshake()
        .send(true, DATA, 1, 1, REQUEST)
        .send(false, DATA, 1, 28, &RESPONSE[..40])
        .send(false, flags::RST, 41, 0, b"")
        .finish();
    assert_eq!(
        text(&tables.of_flows.flows.take().into_columns(), "closed_by", 0),
        "server_reset"
    );
    let transactions = tables.of_flows.transactions.take().into_columns();
    assert_eq!(
        transactions.column("complete").unwrap().values,
        Values::Bool(vec![false])
    );
}

#[test]
fn reset_ignored_by_the_client_ends_no_flow() {
    let mut tables = Script::new()
        .send(true, flags::SYN, 0, 0, b"")
        .send(false, flags::RST | flags::ACK, 900, 1, b"")
        .send(false, flags::FIN | flags::ACK, 900, 1, b"")
        .send(false, flags::SYN | flags::ACK, 0, 1, b"")
        .send(true, flags::ACK, 1, 1, b"")
        .send(true, DATA, 1, 1, REQUEST)
        .send(false, DATA, 1, 28, RESPONSE)
        .finish();
    assert_eq!(
        numbers(
            &tables.of_flows.transactions.take().into_columns(),
            "status"
        ),
        [200]
    );
    let flows = tables.of_flows.flows.take().into_columns();
    assert_eq!(numbers(&flows, "flow"), [0]);
    assert_eq!(text(&flows, "closed_by", 0), "open");
}

#[test]
fn data_on_its_way_when_the_client_resets_does_not_undo_the_reset() {
    let mut tables = Script::new()
        .handshake()
        .send(true, DATA, 1, 1, REQUEST)
        .send(false, DATA, 1, 28, &RESPONSE[..40])
        .send(true, flags::RST | flags::ACK, 28, 41, b"")
        .send(false, DATA, 41, 28, &RESPONSE[40..])
        .finish();
    let flows = tables.of_flows.flows.take().into_columns();
    assert_eq!(text(&flows, "closed_by", 0), "client_reset");
}

#[test]
fn reset_outside_the_window_ends_no_flow() {
    let mut tables = Script::new()
        .handshake()
        .send(false, flags::RST, 2_000_000_000, 0, b"")
        .send(true, DATA, 1, 1, REQUEST)
        .send(false, DATA, 1, 28, RESPONSE)
        .finish();
    assert_eq!(
        numbers(
            &tables.of_flows.transactions.take().into_columns(),
            "status"
        ),
        [200]
    );
    let flows = tables.of_flows.flows.take().into_columns();
    assert_eq!(text(&flows, "closed_by", 0), "open");
}
