use tcptrace_tcp::test_packets::segment;

use super::*;

#[test]
fn a_connection_is_over_when_the_client_has_the_fin_of_the_server_and_has_sent_one() {
    let end = SeqNumber(u32::MAX).plus(2);
    for (fin_ns, acked, is_over) in [
        (None, end, false),
        (Some(10), SeqNumber(u32::MAX), false),
        (Some(10), end, true),
    ] {
        let mut connection = Connection::new(0, (1, 80), SeqNumber(0), false);
        (connection.ended, connection.acked) = (Some(end), Some(acked));
        connection.fin_ns = fin_ns;
        connection.may_be_over(20);
        connection.may_be_over(30);
        assert_eq!(connection.over_ns, is_over.then_some(20));
    }
}

#[test]
fn the_first_ack_of_all_that_was_sent_again_ends_its_repair() {
    let start = SeqNumber(u32::MAX - 1000);
    let mut connection = Connection::new(0, (1, 80), SeqNumber(0), false);
    connection.acked = Some(start);
    assert!(!connection.repairs(start.plus(3000)), "nothing was");
    connection.again = Some(start.plus(2000));
    assert!(!connection.repairs(start.plus(1000)), "a part of it");
    assert!(connection.repairs(start.plus(2000)));
    connection.acked = Some(start.plus(2000));
    assert!(!connection.repairs(start.plus(3000)), "what is behind it");
}

/// What a connection has sent when its client has closed its window, a byte was sent into that and the client then
/// acknowledged so much of it; and whether data is sent again then that goes on from where the window ended.
fn behind_a_probe(taken: u32) -> (i64, bool) {
    let start = SeqNumber(u32::MAX - 1000);
    let mut connection = Connection::new(0, (1, 80), SeqNumber(0), false);
    let sends = |connection: &mut Connection, at: SeqNumber, payload_bytes| {
        let data = Segment {
            payload_bytes,
            ..segment(flags::ACK, (at.0, 1), &[])
        };
        connection.sends(1, &data, false)
    };
    sends(&mut connection, start, 2000);
    let end = start.plus(2000);
    let ack = |of: SeqNumber, window| Segment {
        window,
        ..segment(flags::ACK, (1, of.0), &[])
    };
    connection.refuses(&ack(end, 0));
    sends(&mut connection, end, 1);
    connection.refuses(&ack(end.plus(taken), 0));
    let sent_bytes = connection.sent_bytes;
    (sent_bytes, sends(&mut connection, end, 500).is_again)
}

#[test]
fn what_a_closed_window_refuses_is_not_sent_again_when_it_comes_anew() {
    assert_eq!(behind_a_probe(0), (2000, false));
    assert_eq!(behind_a_probe(1), (2001, true));
}

const MS: i64 = 1_000_000;
/// The number of the client's SYN.
const SYN: u32 = u32::MAX - 100;

fn opened() -> Connection {
    Connection::new(0, (1, 80), SeqNumber(SYN).plus(1), false)
}

fn data(flags: u16, numbers: (u32, u32), payload_bytes: u32) -> Segment<'static> {
    Segment {
        payload_bytes,
        ..segment(flags, numbers, &[])
    }
}

#[test]
fn the_first_syn_ack_says_that_no_data_had_left_before_it() {
    let answer = data(flags::SYN | flags::ACK, (0, SYN + 1), 0);
    for (answered_ms, newest_ms) in [(100, 100), (1200, 0)] {
        let mut connection = opened();
        connection.has_sent_no_data(answered_ms * MS, &answer);
        assert_eq!(connection.newest_ns, newest_ms * MS);
    }
}
