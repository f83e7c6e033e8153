//! Builders of record bytes, and a connection that takes them.

use std::sync::LazyLock;

use tcptrace_http_messages::{Direction, End, Output, Transaction};
use trace_model::Mark;

use crate::{Connection, Keys};

pub const CHANGE: u8 = 20;
pub const ALERT: u8 = 21;
pub const HANDSHAKE: u8 = 22;
const APPLICATION: u8 = 23;
pub const CERTIFICATE: u8 = 11;
pub const TLS12: u16 = 0x0303;
pub const TLS13: u16 = 0x0304;
/// SHA-256 of "HelloRetryRequest" (RFC 8446, section 4.1.3).
const RETRY_RANDOM: &str = "CF21AD74E59A6111BE1D8C021E65B891C2A211167ABB8C5E079E09E2C8A8339C";

pub static RETRY: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let digits = RETRY_RANDOM.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("digits"), 16);
    let random: Vec<u8> = digits.map(|pair| byte(pair).expect("digits")).collect();
    hello_of_server(&random, TLS13, 0x1301, false)
});

#[derive(Clone, Copy, Default)]
pub struct Hello {
    pub protocols: &'static [&'static str],
    pub key: bool,
    pub early_data: bool,
}

/// The bytes that the sender of a segment has acknowledged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Acked {
    All,
    /// All bytes of its peer except the last ones.
    Before,
}

pub fn record(content: u8, fragment: &[u8]) -> Vec<u8> {
    let length = u16::try_from(fragment.len()).expect("a record");
    [&[content, 3, 3], &length.to_be_bytes()[..], fragment].concat()
}

/// Return an application data record with `length` bytes after its header.
pub fn application(length: usize) -> Vec<u8> {
    record(APPLICATION, &vec![0xAB; length])
}

pub fn handshake(kind: u8, body: &[u8]) -> Vec<u8> {
    record(HANDSHAKE, &message(kind, body))
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("a message").to_be_bytes();
    [&[kind], &length[1..], body].concat()
}

fn vector16(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).expect("a vector");
    [&length.to_be_bytes()[..], bytes].concat()
}

fn extension(kind: u16, data: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &vector16(data)].concat()
}

pub fn client_hello(hello: &Hello) -> Vec<u8> {
    let name = b"www.example.com";
    let mut extensions = extension(0, &vector16(&[&[0][..], &vector16(name)].concat()));
    if !hello.protocols.is_empty() {
        // A GREASE name comes first.
        let mut names = vec![2, 0x4A, 0x4A];
        for name in hello.protocols {
            names.push(u8::try_from(name.len()).expect("a name"));
            names.extend_from_slice(name.as_bytes());
        }
        extensions.extend(extension(16, &vector16(&names)));
    }
    if hello.early_data {
        extensions.extend(extension(42, &[]));
    }
    if hello.key {
        extensions.extend(extension(41, &[0; 40]));
    }
    let body = [
        &TLS12.to_be_bytes()[..],
        &[7; 32],
        &[0],
        &vector16(&[0x13, 0x01, 0xC0, 0x2F]),
        &[1, 0],
        &vector16(&extensions),
    ];
    handshake(1, &body.concat())
}

pub fn server_hello(version: u16, cipher: u16, key: bool) -> Vec<u8> {
    hello_of_server(&[8; 32], version, cipher, key)
}

fn hello_of_server(random: &[u8], version: u16, cipher: u16, key: bool) -> Vec<u8> {
    let mut extensions = Vec::new();
    if version == TLS13 {
        extensions.extend(extension(43, &version.to_be_bytes()));
    }
    if key {
        extensions.extend(extension(41, &[0, 0]));
    }
    let body = [
        &TLS12.to_be_bytes()[..],
        random,
        &[0],
        &cipher.to_be_bytes(),
        &[0],
        &vector16(&extensions),
    ];
    handshake(2, &body.concat())
}

/// A connection and its input so far.
pub struct Script {
    pub connection: Connection,
    pub keys: Keys,
    pub out: Output,
    /// Length of each segment.
    pub lengths: Vec<u64>,
    /// Maximum number of bytes per call.
    pub piece: usize,
    pub client_next: u64,
    pub server_next: u64,
    /// Start of the client's latest segment.
    pub client_start: u64,
    /// Start of the server's latest segment.
    pub server_start: u64,
}

impl Default for Script {
    fn default() -> Self {
        Script {
            connection: Connection::beginning_at(0, 0),
            keys: Keys::default(),
            out: Output::default(),
            lengths: Vec::new(),
            piece: usize::MAX,
            client_next: 0,
            server_next: 0,
            client_start: 0,
            server_start: 0,
        }
    }
}

impl Script {
    pub fn client(&mut self, bytes: &[u8]) {
        self.client_that_has(Acked::All, bytes);
    }

    pub fn server(&mut self, bytes: &[u8]) {
        self.server_that_has(Acked::All, bytes);
    }

    pub fn client_that_has(&mut self, acked: Acked, bytes: &[u8]) {
        let acked = if acked == Acked::All {
            self.server_next
        } else {
            self.server_start
        };
        self.client_start = self.client_next;
        self.client_next += bytes.len() as u64;
        self.give(Direction::ClientToServer, self.client_start, bytes, acked);
    }

    pub fn server_that_has(&mut self, acked: Acked, bytes: &[u8]) {
        let acked = if acked == Acked::All {
            self.client_next
        } else {
            self.client_start
        };
        self.server_start = self.server_next;
        self.server_next += bytes.len() as u64;
        self.give(Direction::ServerToClient, self.server_start, bytes, acked);
    }

    /// Lose `length` bytes of the server.
    pub fn lose(&mut self, length: u64) {
        let mark = self.next_mark();
        self.lengths.push(length);
        self.connection.gap(
            Direction::ServerToClient,
            self.server_next,
            length,
            mark,
            &mut self.keys,
            &mut self.out,
        );
        self.server_next += length;
    }

    /// End both directions and return all exchanges.
    pub fn over(&mut self) -> Vec<Transaction> {
        let mark = self.next_mark();
        for direction in [Direction::ClientToServer, Direction::ServerToClient] {
            self.connection
                .end(direction, End::Fin, mark, &mut self.out);
        }
        std::mem::take(&mut self.out.transactions)
    }

    fn next_mark(&self) -> Mark {
        let frame = self.lengths.len() as u64 + 1;
        Mark {
            frame,
            time_ns: i64::try_from(frame).expect("a time") * 1000,
        }
    }

    fn give(&mut self, direction: Direction, start: u64, bytes: &[u8], acked: u64) {
        let mark = self.next_mark();
        self.lengths.push(bytes.len() as u64);
        let mut offset = start;
        for piece in bytes.chunks(self.piece.min(bytes.len().max(1))) {
            self.connection.data(
                direction,
                offset,
                piece,
                (mark, Some(acked)),
                &mut self.keys,
                &mut self.out,
            );
            offset += piece.len() as u64;
        }
    }
}
