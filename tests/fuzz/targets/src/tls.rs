//! The TLS connection: two directions in arbitrary order and cuts.
//!
//! An input is a list of segments: one byte for the kind, two for the length, and the bytes.

use tcptrace_http_messages::{Direction, End, Mark, Message, Output};
use tcptrace_tls::{starts_like, Connection, Handshake, Keys};

use crate::numbers::Numbers;

/// A hello and a record per direction, doubled for growth, and the names of a hello.
const HELD_BYTES_MAX: u64 = 1 << 19;

#[derive(Clone, Copy)]
struct Event<'a> {
    direction: Direction,
    kind: u8,
    acks: u8,
    bytes: &'a [u8],
}

fn events(mut input: &[u8]) -> Vec<Event<'_>> {
    let mut found = Vec::new();
    while let [control, high, low, rest @ ..] = input {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let (bytes, later) = rest.split_at(length.min(rest.len()));
        found.push(Event {
            direction: if control & 1 == 0 {
                Direction::ClientToServer
            } else {
                Direction::ServerToClient
            },
            kind: (control >> 1) & 3,
            acks: (control >> 3) & 3,
            bytes,
        });
        input = later;
    }
    found
}

/// The outcome of an input.
struct Outcome {
    out: Output,
    handshake: Handshake,
    /// True if record headers were searched in single segments. The outcome then depends on the cuts.
    depends_on_cuts: bool,
}

fn play(events: &[Event<'_>], mut cut: impl FnMut(&[u8]) -> usize) -> Outcome {
    let mut connection = Connection::beginning_at(0, 0);
    let (mut keys, mut out) = (Keys::default(), Output::default());
    let mut next = [0_u64; 2];
    let mut depends_on_cuts = false;
    for (frame, event) in (1..).zip(events) {
        let mark = Mark {
            frame,
            time_ns: frame as i64,
        };
        let peer = next[1 - event.direction as usize];
        let acked = [Some(peer), Some(peer), None, Some(peer / 2)][usize::from(event.acks)];
        let at = &mut next[event.direction as usize];
        match event.kind {
            2 => {
                let length = event.bytes.len() as u64;
                connection.gap(event.direction, *at, length, mark, &mut keys, &mut out);
                *at += length;
            }
            3 => connection.end(event.direction, End::Fin, mark, &mut out),
            _ => {
                let _ = starts_like(event.bytes);
                let mut rest = event.bytes;
                while !rest.is_empty() {
                    let (now, later) = rest.split_at(cut(rest).clamp(1, rest.len()));
                    let seen = (mark, acked);
                    connection.data(event.direction, *at, now, seen, &mut keys, &mut out);
                    *at += now.len() as u64;
                    rest = later;
                }
            }
        }
        depends_on_cuts |= connection.has_searched(event.direction);
        assert!(connection.held_bytes() <= HELD_BYTES_MAX);
    }
    for direction in [Direction::ClientToServer, Direction::ServerToClient] {
        connection.end(direction, End::EndOfCapture, Mark::default(), &mut out);
    }
    let handshake = connection.handshake().clone();
    assert_eq!(connection.held_bytes(), handshake.held_bytes());
    Outcome {
        out,
        handshake,
        depends_on_cuts,
    }
}

pub fn run(input: &[u8]) {
    let events = events(input);
    let whole = play(&events, |rest| rest.len());
    check(&whole.out);
    let mut numbers = Numbers::of(input);
    let cut = play(&events, |_| {
        let most = if numbers.one_in(4) { 4000 } else { 7 };
        1 + numbers.below(most)
    });
    check(&cut.out);
    if !whole.depends_on_cuts && !cut.depends_on_cuts {
        assert_eq!(whole.out.transactions, cut.out.transactions);
        assert_eq!(whole.out.anomalies, cut.out.anomalies);
        assert_eq!(whole.handshake, cut.handshake);
    }
}

fn check(out: &Output) {
    for (expected, transaction) in (0..).zip(&out.transactions) {
        assert_eq!(transaction.index, expected);
        assert!(transaction.opaque.is_some());
        let messages = [&transaction.request, &transaction.response];
        assert!(messages.iter().any(|message| message.is_some()));
        for message in messages.into_iter().flatten() {
            check_message(message);
        }
    }
    for anomaly in &out.anomalies {
        assert!(anomaly.flow.is_none() && !anomaly.detail.is_empty());
    }
}

fn check_message(message: &Message) {
    assert!(message.start < message.end);
    assert!(message.first.frame >= 1);
    assert!(message.first.frame <= message.last.frame);
    assert!(message.method.is_none() && message.status.is_none());
    assert_eq!(
        message.end - message.start,
        message.header_bytes + message.body.wire_bytes
    );
    assert!(message.body.bytes <= message.end - message.start);
}
