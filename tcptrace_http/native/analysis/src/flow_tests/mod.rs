//! Tests of flows with small packet exchanges; initial sequence numbers are close to the wrap.

mod early_data;
mod joined_late;
mod repeats;
mod resets;
mod tls;

use tcptrace_tcp::test_packets::{packet, segment};
use trace_model::column::{Columns, Values};
use trace_model::{flags, IpAddress, PacketSink, Segment, TcpOptions};

use crate::{Analyzer, Options, Segments, Tables};

const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 1], 40_000);
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 2], 80);
const CLIENT_INITIAL: u32 = u32::MAX - 20;
const SERVER_INITIAL: u32 = u32::MAX - 100;
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n";
const RESPONSE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody";

/// Script of segments one millisecond apart, with offsets relative to the initial numbers.
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
        let sequence = own.wrapping_add(seq).wrapping_add(shift);
        let acked = other.wrapping_add(ack).wrapping_add(shift);
        let segment = Segment {
            source_port: from.1,
            destination_port: to.1,
            window: self.window,
            options,
            ..segment(flags, (sequence, acked), payload)
        };
        let hosts = (IpAddress::v4(from.0), IpAddress::v4(to.0));
        self.analyzer
            .packet(&packet(self.frame, self.time_ns, hosts, segment));
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

/// Return the segments table in one piece.
fn segments(tables: Tables) -> Columns {
    tables.segments.unwrap().into_rest().pop_front().unwrap()
}

/// Return a number, truth value or time; `None` for a null.
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
    let transactions = tables.of_flows.transactions.take().into_columns();
    assert_eq!(numbers(&transactions, "status"), [200]);
    assert_eq!(numbers(&transactions, "response_body_bytes"), [4]);
    assert_eq!(numbers(&transactions, "last_ack_frame"), [6]);
    let flows = tables.of_flows.flows.take().into_columns();
    assert_eq!(numbers(&flows, "server_bytes"), [RESPONSE.len() as u64]);
    assert_eq!(text(&flows, "client", 0), "10.0.0.1");
}

#[test]
fn a_new_initial_number_between_the_same_ports_is_a_new_flow() {
    let mut script = Script::new();
    script.handshake().send(true, DATA, 1, 1, REQUEST);
    script.reused = 1 << 20;
    let mut tables = script.handshake().send(true, DATA, 1, 1, REQUEST).finish();
    let flows = tables.of_flows.flows.take().into_columns();
    assert_eq!(numbers(&flows, "flow"), [0, 1]);
    assert_eq!(numbers(&flows, "packets"), [4, 4]);
}

#[test]
fn a_syn_sent_again_is_a_retransmission_of_the_same_flow() {
    let mut tables = Script::new()
        .send(true, flags::SYN, 0, 0, b"")
        .send(true, flags::SYN, 0, 0, b"")
        .finish();
    let flows = tables.of_flows.flows.take().into_columns();
    assert_eq!(numbers(&flows, "packets"), [2]);
    assert_eq!(numbers(&flows, "client_retransmissions"), [1]);
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
