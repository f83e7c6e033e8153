//! Flows from small exchanges of packets. Initial sequence numbers lie close to the wrap.

use trace_model::column::{Columns, Values};
use trace_model::{
    flags, IpAddress, LinkType, Network, Packet, PacketSink, Segment, SeqNumber, TcpOptions,
};

use crate::{Analyzer, Options, Segments, Tables};

const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 1], 40_000);
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 2], 80);
const CLIENT_INITIAL: u32 = u32::MAX - 20;
const SERVER_INITIAL: u32 = u32::MAX - 100;
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody";

/// Sends segments with offsets relative to the initial numbers, one millisecond apart.
struct Script {
    analyzer: Analyzer,
    frame: u64,
    time_ns: i64,
    reused: u32,
    window: u16,
}

impl Script {
    fn new() -> Self {
        Script {
            analyzer: Analyzer::new(Options {
                segments: Some(Segments::default()),
                ..Options::default()
            }),
            frame: 0,
            time_ns: 0,
            reused: 0,
            window: 1000,
        }
    }

    fn send(
        &mut self,
        from_client: bool,
        flags: u16,
        seq: u32,
        ack: u32,
        payload: &[u8],
    ) -> &mut Self {
        self.send_with(from_client, flags, seq, ack, payload, TcpOptions::default())
    }

    fn send_with(
        &mut self,
        from_client: bool,
        flags: u16,
        seq: u32,
        ack: u32,
        payload: &[u8],
        options: TcpOptions,
    ) -> &mut Self {
        self.frame += 1;
        self.time_ns += 1_000_000;
        let (from, to) = if from_client {
            (CLIENT, SERVER)
        } else {
            (SERVER, CLIENT)
        };
        let (own, other) = if from_client {
            (CLIENT_INITIAL, SERVER_INITIAL)
        } else {
            (SERVER_INITIAL, CLIENT_INITIAL)
        };
        let shift = self.reused;
        let segment = Segment {
            source_port: from.1,
            destination_port: to.1,
            seq: SeqNumber(own.wrapping_add(seq).wrapping_add(shift)),
            ack: SeqNumber(other.wrapping_add(ack).wrapping_add(shift)),
            flags,
            window: self.window,
            checksum: 0,
            urgent_pointer: 0,
            options,
            header_bytes: 20,
            payload_bytes: payload.len() as u32,
            payload_offset: 54,
            payload,
        };
        let network = Network {
            source: IpAddress::v4(from.0),
            destination: IpAddress::v4(to.0),
            protocol: 6,
            ttl: 64,
            identification: 0,
            header_offset: 14,
            is_fragment: false,
            ecn: 0,
        };
        self.analyzer.packet(&Packet {
            frame: self.frame,
            time_ns: self.time_ns,
            interface: 0,
            link_type: LinkType(1),
            wire_bytes: 54 + payload.len() as u32,
            captured_bytes: 54 + payload.len() as u32,
            network: Some(network),
            segment: Some(segment),
        });
        self
    }

    fn handshake(&mut self) -> &mut Self {
        self.send(true, flags::SYN, 0, 0, b"")
            .send(false, flags::SYN | flags::ACK, 0, 1, b"")
            .send(true, flags::ACK, 1, 1, b"")
    }

    fn finish(&mut self) -> Tables {
        self.analyzer.finish();
        std::mem::take(&mut self.analyzer.tables)
    }
}

fn numbers(table: &Columns, name: &str) -> Vec<u64> {
    match &table.column(name).unwrap().values {
        Values::U8(values) => values.iter().map(|value| u64::from(*value)).collect(),
        Values::U16(values) => values.iter().map(|value| u64::from(*value)).collect(),
        Values::U32(values) => values.iter().map(|value| u64::from(*value)).collect(),
        Values::U64(values) => values.clone(),
        Values::Enum(codes, _) => codes.iter().map(|code| u64::from(*code)).collect(),
        other => panic!("{name} is no number: {other:?}"),
    }
}

/// The segments table in one piece.
fn segments(tables: Tables) -> Columns {
    tables.segments.unwrap().into_rest().pop_front().unwrap()
}

/// A number, truth value or time; None for a null.
fn number(table: &Columns, name: &str, row: usize) -> Option<i64> {
    let column = table.column(name).unwrap();
    if column.validity.as_ref().is_some_and(|valid| !valid[row]) {
        return None;
    }
    Some(match &column.values {
        Values::Bool(values) => i64::from(values[row]),
        Values::I64(values) | Values::Time(values) | Values::Duration(values) => values[row],
        _ => i64::try_from(numbers(table, name)[row]).unwrap(),
    })
}

fn text(table: &Columns, name: &str, row: usize) -> String {
    match &table.column(name).unwrap().values {
        Values::Text(lists) => String::from_utf8_lossy(lists.value(row)).into_owned(),
        Values::Enum(codes, words) => words[usize::from(codes[row])].to_owned(),
        other => panic!("{name} is no text: {other:?}"),
    }
}

const DATA: u16 = flags::PSH | flags::ACK;

#[test]
fn a_transaction_survives_the_wrap_of_both_sequence_numbers() {
    let mut tables = Script::new()
        .handshake()
        .send(true, DATA, 1, 1, REQUEST)
        .send(false, DATA, 1, 28, RESPONSE)
        .send(true, flags::ACK, 28, 43, b"")
        .finish();
    let transactions = tables.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "status"), [200]);
    assert_eq!(numbers(&transactions, "response_body_bytes"), [4]);
    assert_eq!(numbers(&transactions, "last_ack_frame"), [6]);
    let flows = tables.flows.take().into_columns();
    assert_eq!(numbers(&flows, "server_bytes"), [RESPONSE.len() as u64]);
    assert_eq!(text(&flows, "client", 0), "10.0.0.1");
}

#[test]
fn a_new_initial_number_between_the_same_ports_is_a_new_flow() {
    let mut script = Script::new();
    script.handshake().send(true, DATA, 1, 1, REQUEST);
    script.reused = 1 << 20;
    let mut tables = script.handshake().send(true, DATA, 1, 1, REQUEST).finish();
    let flows = tables.flows.take().into_columns();
    assert_eq!(numbers(&flows, "flow"), [0, 1]);
    assert_eq!(numbers(&flows, "packets"), [4, 4]);
}

#[test]
fn a_syn_sent_again_is_a_retransmission_of_the_same_flow() {
    let mut tables = Script::new()
        .send(true, flags::SYN, 0, 0, b"")
        .send(true, flags::SYN, 0, 0, b"")
        .finish();
    let flows = tables.flows.take().into_columns();
    assert_eq!(numbers(&flows, "packets"), [2]);
    assert_eq!(numbers(&flows, "client_retransmissions"), [1]);
}

#[test]
fn the_first_message_tells_the_client_of_a_flow_joined_late() {
    let mut tables = Script::new()
        .send(false, DATA, 1, 1, b"GET / HTTP/1.1\r\n\r\n")
        .finish();
    let flows = tables.flows.take().into_columns();
    assert_eq!(text(&flows, "client", 0), "10.0.0.2");
    let anomalies = tables.anomalies.into_table(&mut Vec::new()).into_columns();
    assert_eq!(text(&anomalies, "kind", 0), "mid_stream_start");
}

#[test]
fn a_segment_lost_by_the_capture_alone_is_a_gap_and_the_next_message_is_found() {
    let mut tables = Script::new()
        .handshake()
        .send(true, DATA, 1, 1, REQUEST)
        // 42 bytes of response were acknowledged but are not in the capture.
        .send(true, DATA, 28, 43, REQUEST)
        .send(false, DATA, 43, 55, RESPONSE)
        .send(true, flags::ACK, 55, 85, b"")
        .finish();
    let flows = tables.flows.take().into_columns();
    assert_eq!(numbers(&flows, "server_gap_bytes"), [42]);
    let transactions = tables.transactions.take().into_columns();
    let frames = numbers(&transactions, "request_frame");
    let answered = numbers(&transactions, "response_first_frame");
    assert_eq!((frames[0], answered[0]), (4, 0));
    assert_eq!((frames[1], answered[1]), (5, 6));
}

#[test]
fn what_another_protocol_says_first_holds_no_request() {
    let mut tables = Script::new()
        .handshake()
        // SOCKS version 4 asks a proxy for a connection, and gets it.
        .send(true, DATA, 1, 1, b"\x04\x01\x00\x50\x0a\x00\x00\x02\x00")
        .send(false, DATA, 1, 10, b"\x00\x5a\x00\x00\x00\x00\x00\x00")
        .send(true, DATA, 10, 9, REQUEST)
        .send(false, DATA, 9, 37, RESPONSE)
        .finish();
    let transactions = tables.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "request_frame"), [6]);
    assert_eq!(numbers(&transactions, "response_first_frame"), [7]);
}

#[test]
fn a_hole_in_what_another_protocol_says_may_hold_a_request() {
    let mut tables = Script::new()
        .handshake()
        .send(true, DATA, 1, 1, b"\x04\x01\x00\x50\x0a\x00\x00\x02\x00")
        .send(true, DATA, 110, 1, REQUEST)
        .send(false, DATA, 1, 137, RESPONSE)
        .finish();
    let transactions = tables.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "status").len(), 2);
}

#[test]
fn the_byte_of_a_keep_alive_that_was_not_captured_holds_no_request() {
    let mut tables = Script::new()
        .send(true, flags::ACK, 1, 1, b"")
        .send(true, DATA, 2, 1, REQUEST)
        .send(false, DATA, 1, 29, RESPONSE)
        .send(true, DATA, 29, 43, REQUEST)
        .send(false, DATA, 43, 56, RESPONSE)
        .finish();
    let transactions = tables.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "request_frame"), [2, 4]);
    assert_eq!(numbers(&transactions, "response_first_frame"), [3, 5]);
}

#[test]
fn data_sent_again_after_its_loss_is_counted_once() {
    let mut tables = Script::new()
        .handshake()
        .send(true, DATA, 1, 1, REQUEST)
        .send(false, DATA, 11, 28, &RESPONSE[10..])
        .send(true, flags::ACK, 28, 1, b"")
        .send(false, DATA, 1, 28, &RESPONSE[..10])
        .send(true, flags::ACK, 28, 43, b"")
        .finish();
    let flows = tables.flows.take().into_columns();
    assert_eq!(numbers(&flows, "server_bytes"), [RESPONSE.len() as u64]);
    assert_eq!(numbers(&flows, "server_gap_bytes"), [0]);
    let transactions = tables.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "status"), [200]);
    assert_eq!(numbers(&transactions, "response_first_frame"), [7]);
    assert_eq!(numbers(&transactions, "response_last_frame"), [7]);
}

#[test]
fn karns_rule_leaves_no_round_trip_to_a_segment_sent_twice() {
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
fn a_packet_that_the_host_shows_twice_spoils_no_round_trip() {
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
fn the_window_of_a_syn_is_not_scaled() {
    let scale = TcpOptions {
        window_scale: Some(7),
        ..TcpOptions::default()
    };
    let tables = Script::new()
        .send_with(true, flags::SYN, 0, 0, b"", scale)
        .send_with(false, flags::SYN | flags::ACK, 0, 1, b"", scale)
        .send(true, flags::ACK, 1, 1, b"")
        .finish();
    let segments = segments(tables);
    let windows = [0, 1, 2].map(|row| number(&segments, "window_bytes", row));
    assert_eq!(windows, [Some(1000), Some(1000), Some(128_000)]);
}

#[test]
fn the_first_fin_tells_who_closed() {
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
        text(&tables.flows.take().into_columns(), "closed_by", 0),
        "server"
    );
    let transactions = tables.transactions.take().into_columns();
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
        text(&tables.flows.take().into_columns(), "closed_by", 0),
        "server_reset"
    );
    let transactions = tables.transactions.take().into_columns();
    assert_eq!(
        transactions.column("complete").unwrap().values,
        Values::Bool(vec![false])
    );
}

#[test]
fn a_reset_that_the_client_did_not_believe_ends_nothing() {
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
        numbers(&tables.transactions.take().into_columns(), "status"),
        [200]
    );
    let flows = tables.flows.take().into_columns();
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
    let flows = tables.flows.take().into_columns();
    assert_eq!(text(&flows, "closed_by", 0), "client_reset");
}

#[test]
fn a_reset_outside_any_window_ends_nothing() {
    let mut tables = Script::new()
        .handshake()
        .send(false, flags::RST, 2_000_000_000, 0, b"")
        .send(true, DATA, 1, 1, REQUEST)
        .send(false, DATA, 1, 28, RESPONSE)
        .finish();
    assert_eq!(
        numbers(&tables.transactions.take().into_columns(), "status"),
        [200]
    );
    let flows = tables.flows.take().into_columns();
    assert_eq!(text(&flows, "closed_by", 0), "open");
}

#[test]
fn a_refused_byte_sent_again_is_neither_keep_alive_nor_retransmission() {
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
    let flows = tables.flows.take().into_columns();
    let segments = segments(tables);
    for probe in 5..segments.rows {
        assert_eq!(number(&segments, "is_keep_alive", probe), Some(0));
        assert_eq!(number(&segments, "is_retransmission", probe), Some(0));
    }
    assert_eq!(numbers(&flows, "server_bytes"), [RESPONSE.len() as u64]);
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
            numbers(&tables.transactions.take().into_columns(), "status"),
            [200]
        );
    }
}

#[test]
fn what_flows_hold_beyond_the_limit_is_handed_on_with_its_holes_and_reported() {
    let mut script = Script::new();
    script.analyzer.tables.held.limit(4000);
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
        // A hole of a hundred bytes, behind which the rest waits until it is too much.
        .send(false, DATA, 142, 28, &[b'x'; 500]);
    assert!(script.analyzer.tables.held.complaint().is_none());
    script
        .send(false, DATA, 642, 28, &[b'x'; 1500])
        .send(false, DATA, 2142, 28, &[b'x'; 901])
        .send(true, flags::ACK, 28, 3043, b"");
    let mut tables = script.finish();
    let transactions = tables.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "response_body_bytes"), [3000]);
    assert_eq!(numbers(&transactions, "missing_bytes"), [100]);
    let anomalies = tables.anomalies.into_table(&mut Vec::new()).into_columns();
    let limit = trace_model::AnomalyKind::LimitReached as u64;
    let reported = numbers(&anomalies, "kind")
        .iter()
        .filter(|kind| **kind == limit)
        .count();
    assert_eq!(reported, 2, "the first time, and how often at the end");
}

#[test]
fn what_a_flow_held_is_no_part_of_the_sum_when_it_is_over() {
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
        .finish(&mut script.analyzer.tables);
    assert!(!script.analyzer.tables.held.is_over());
}

/// Data on the SYN; the SYN-ACK is to come.
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
    let transactions = tables.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "status"), [200]);
    assert_eq!(numbers(&transactions, "response_first_frame"), [4]);
    // A client in SYN-SENT drops data (RFC 9293, section 3.10.7.3).
    assert_eq!(numbers(&transactions, "response_last_frame"), [6]);
    let flows = tables.flows.take().into_columns();
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
        let transactions = tables.transactions.take().into_columns();
        assert_eq!(numbers(&transactions, "response_body_bytes"), [4]);
        assert_eq!(numbers(&transactions, "response_last_frame"), [last_frame]);
        let flows = tables.flows.take().into_columns();
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
        let transactions = tables.transactions.take().into_columns();
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
    let transactions = tables.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "status"), [200]);
    let flows = tables.flows.take().into_columns();
    assert_eq!(numbers(&flows, "server_bytes"), [RESPONSE.len() as u64]);
    assert_eq!(numbers(&flows, "server_gap_bytes"), [0]);
}

#[test]
fn early_data_without_any_ack_is_read_in_the_end() {
    let mut tables = accelerated().send(false, DATA, 1, 28, RESPONSE).finish();
    let transactions = tables.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "status"), [200]);
}

#[test]
fn more_than_the_window_of_a_syn_is_not_early() {
    let mut script = accelerated();
    let body = vec![b'x'; 1400];
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 140000\r\n\r\n";
    script.send(false, DATA, 1, 28, head);
    // Only the SYN is in the capture of what the client sent: the rest went another way.
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
    let transactions = tables.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "response_body_bytes"), [140_000]);
}
