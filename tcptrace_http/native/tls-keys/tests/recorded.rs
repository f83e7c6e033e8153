//! Opens records that other implementations sent.
//!
//! A file of `recorded` has a line `connection` with version, suite, randoms and an encrypt-then-MAC flag.
//! The lines of its key log follow. Then one line per record follows in order: sender, content type,
//! plaintext (or its beginning), and the record.

// A test is allowed to panic.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used
)]

use tcptrace_tls_keys::{KeyLog, OpenError, Opener, Record, SecurityParameters};
use trace_model::rows::Direction;

const RFC_8448: &str = include_str!("recorded/rfc8448.txt");
const OPENSSL: &str = include_str!("recorded/openssl.txt");

fn hex(digits: &str) -> Vec<u8> {
    let pairs = (0..digits.len()).step_by(2).map(|at| &digits[at..at + 2]);
    pairs
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}

fn number(digits: &str) -> u16 {
    u16::from_str_radix(digits, 16).unwrap()
}

/// A connection of a file.
struct Connection {
    parameters: SecurityParameters,
    key_log: KeyLog,
    records: Vec<Sent>,
}

struct Sent {
    direction: Direction,
    content_type: u8,
    plain: Vec<u8>,
    bytes: Vec<u8>,
}

impl Sent {
    fn record(&self) -> Record<'_> {
        Record {
            content_type: self.bytes[0],
            version: u16::from_be_bytes([self.bytes[1], self.bytes[2]]),
            fragment: &self.bytes[5..],
        }
    }
}

fn connections(text: &str) -> Vec<Connection> {
    let mut connections: Vec<Connection> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        if words[0] == "connection" {
            connections.push(Connection {
                parameters: SecurityParameters {
                    version: number(words[1]),
                    suite: number(words[2]),
                    client_random: hex(words[3]).try_into().unwrap(),
                    server_random: hex(words[4]).try_into().unwrap(),
                    encrypt_then_mac: words[5] == "true",
                },
                key_log: KeyLog::new(),
                records: Vec::new(),
            });
            continue;
        }
        let connection = connections.last_mut().unwrap();
        match words[0] {
            "client" | "server" => connection.records.push(Sent {
                direction: match words[0] {
                    "client" => Direction::ClientToServer,
                    _ => Direction::ServerToClient,
                },
                content_type: words[1].parse().unwrap(),
                plain: hex(words[2]),
                bytes: hex(words[3]),
            }),
            _ => connection.key_log.add(line.as_bytes()).unwrap(),
        }
    }
    connections
}

impl Connection {
    fn sent_by(&self, direction: Direction) -> Vec<&Sent> {
        let records = self.records.iter();
        records.filter(|sent| sent.direction == direction).collect()
    }

    fn opener(&self, direction: Direction) -> Opener {
        Opener::new(&self.parameters, direction).unwrap()
    }
}

fn assert_opens(opener: &mut Opener, key_log: &KeyLog, sent: &Sent) {
    let mut buffer = Vec::new();
    let plain = opener.open(&sent.record(), key_log, &mut buffer).unwrap();
    assert_eq!(plain.content_type, sent.content_type);
    assert!(plain.bytes.starts_with(&sent.plain), "{:02x?}", plain.bytes);
    assert_eq!(plain.bytes.is_empty(), sent.plain.is_empty());
}

const DIRECTIONS: [Direction; 2] = [Direction::ClientToServer, Direction::ServerToClient];

fn assert_all_open(connection: &Connection) {
    for direction in DIRECTIONS {
        let mut opener = connection.opener(direction);
        for sent in connection.sent_by(direction) {
            assert_opens(&mut opener, &connection.key_log, sent);
        }
    }
}

#[test]
fn test_the_traces_of_rfc_8448_are_opened() {
    let connections = connections(RFC_8448);
    assert_eq!(connections.len(), 2);
    connections.iter().for_each(assert_all_open);
}

#[test]
fn test_sessions_of_openssl_are_opened() {
    let connections = connections(OPENSSL);
    assert_eq!(connections.len(), 23);
    connections.iter().for_each(assert_all_open);
}

#[test]
fn test_records_after_a_gap_are_opened_except_with_a_chained_vector() {
    const TLS_1_0: u16 = 0x0301;
    for connection in &connections(OPENSSL) {
        for direction in DIRECTIONS {
            let sent = connection.sent_by(direction);
            let [first, missing, after, rest @ ..] = &sent[..] else {
                continue;
            };
            let (mut opener, mut buffer) = (connection.opener(direction), Vec::new());
            assert_opens(&mut opener, &connection.key_log, first);
            opener.skip(missing.bytes.len() as u64);
            let opened = opener.open(&after.record(), &connection.key_log, &mut buffer);
            let is_chained = connection.parameters.version == TLS_1_0;
            assert_eq!(opened.err(), is_chained.then_some(OpenError::NoVector));
            for sent in rest {
                assert_opens(&mut opener, &connection.key_log, sent);
            }
        }
    }
}

#[test]
fn test_early_data_is_distinguished() {
    let connection = &connections(RFC_8448)[1];
    let mut opener = connection.opener(Direction::ClientToServer);
    let early = connection
        .sent_by(Direction::ClientToServer)
        .into_iter()
        .map(|sent| {
            let mut plain = Vec::new();
            let opened = opener.open(&sent.record(), &connection.key_log, &mut plain);
            opened.unwrap().is_early
        });
    assert_eq!(
        early.collect::<Vec<bool>>(),
        [true, true, false, false, false]
    );
}

#[test]
fn test_keys_that_change_in_a_gap_are_found() {
    for connection in &connections(RFC_8448) {
        for direction in DIRECTIONS {
            let sent = connection.sent_by(direction);
            let (last, missing) = sent.split_last().unwrap();
            let mut opener = connection.opener(direction);
            opener.skip(missing.iter().map(|sent| sent.bytes.len() as u64).sum());
            assert_opens(&mut opener, &connection.key_log, last);
        }
    }
}

#[test]
fn test_the_secrets_of_another_connection_open_nothing() {
    let [one, other] = &connections(RFC_8448)[..] else {
        panic!()
    };
    for direction in DIRECTIONS {
        let mut opener = one.opener(direction);
        let record = other.sent_by(direction)[1].record();
        let mut buffer = Vec::new();
        let error = opener.open(&record, &one.key_log, &mut buffer);
        assert_eq!(error, Err(OpenError::WrongKey));
    }
}
