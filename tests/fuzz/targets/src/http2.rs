//! The HTTP/2 connection: frames and bytes of two directions in arbitrary order and cuts.
//!
//! An input first gives the start condition of the connection. Steps follow. Each step is a byte with its
//! kind. A frame step adds type, flags, stream and payload length. Frames stay frames after changes of the
//! input.

use std::collections::BTreeSet;

use tcptrace_http2::{Connection, Messages};
use tcptrace_http_messages::{
    Connection as Http1, Direction, End, Frames, Mark, Message, Output, Transaction,
};

use crate::numbers::Numbers;

const DIRECTIONS: [Direction; 2] = [Direction::ClientToServer, Direction::ServerToClient];
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const UPGRADE: &[u8] = b"GET / HTTP/1.1\r\nUpgrade: h2c\r\nHTTP2-Settings: \r\n\r\n";
const SWITCH: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n";
/// Header block, payload and header tables of both directions, doubled for growth.
const HELD_BYTES_MAX: u64 = 1 << 22;
/// Memory per packet: a stream, and a piece of every other stream.
const HELD_BYTES_OF_A_FRAME: u64 = 1 << 13;
/// Frame types, with one unknown to RFC 9113, and the type of RFC 9218.
const TYPES: [u8; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0x10, 0xfa];

enum What {
    Bytes(Vec<u8>),
    Gap(u64),
    End,
}

struct Step {
    direction: usize,
    what: What,
}

/// Return the steps of an input, and whether the capture has all sent bytes.
fn steps(mut input: &[u8]) -> (Vec<Step>, bool) {
    let (mut found, mut is_whole) = (Vec::new(), true);
    while let [control, rest @ ..] = input {
        let (kind, direction) = ((control >> 1) & 3, usize::from(control & 1));
        let (what, later) = match (kind, rest) {
            (0 | 1, [kind, flags, stream, length, rest @ ..]) => {
                // Short inputs give long payloads.
                let length = usize::from(*length) * if control & 8 == 0 { 1 } else { 64 };
                let (payload, later) = rest.split_at(rest.len().min(length));
                let mut payload = payload.to_vec();
                payload.resize(length, 0);
                let kind = TYPES[usize::from(*kind) % TYPES.len()];
                (What::Bytes(frame(kind, *flags, *stream, &payload)), later)
            }
            (2, [length, rest @ ..]) if control & 8 == 0 => {
                is_whole = false;
                (What::Gap(u64::from(*length) + 1), rest)
            }
            (2, [length, rest @ ..]) => {
                let (bytes, later) = rest.split_at(rest.len().min(usize::from(*length)));
                (What::Bytes(bytes.to_vec()), later)
            }
            (3, rest) if control & 8 != 0 => (What::End, rest),
            (3, rest) if direction == 0 => (What::Bytes(PREFACE.to_vec()), rest),
            (_, rest) => (What::Bytes(Vec::new()), rest),
        };
        found.push(Step { direction, what });
        input = later;
    }
    (found, is_whole)
}

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let [_, length @ ..] = (payload.len() as u32).to_be_bytes();
    let mut bytes = length.to_vec();
    bytes.extend([kind, flags, 0, 0, 0, stream]);
    bytes.extend(payload);
    bytes
}

/// Return a connection for each start condition: in clear text, after TLS, joined late, or after an Upgrade.
fn met(how: u8) -> (Messages, [&'static [u8]; 2]) {
    match how % 4 {
        0 => (Messages::http2(true), [PREFACE, &[]]),
        1 => (Messages::http2(false), [&[], &[]]),
        2 => (
            Messages::new(Http1::from_its_beginning()),
            [UPGRADE, SWITCH],
        ),
        _ => (Messages::new(Http1::new()), [&[], &[]]),
    }
}

struct Outcome {
    out: Output,
    /// Number of bytes so far, per direction.
    next: [u64; 2],
}

fn play(how: u8, steps: &[Step], mut cut: impl FnMut(&[u8]) -> usize) -> Outcome {
    let (mut http, first) = met(how);
    let mut out = Output::default();
    out.windows = Some(Vec::new());
    let mut next = [0_u64; 2];
    let first = (0..).zip(first).map(|(direction, bytes)| Step {
        direction,
        what: What::Bytes(bytes.to_vec()),
    });
    let first: Vec<Step> = first.collect();
    for (frame, step) in (1..).zip(first.iter().chain(steps)) {
        let mark = Mark {
            frame,
            time_ns: frame as i64,
        };
        let direction = DIRECTIONS[step.direction];
        let acked = Some(next[1 - step.direction]);
        let at = &mut next[step.direction];
        match &step.what {
            What::Gap(length) => {
                http.gap(direction, (*at, *length), mark, &mut out);
                *at += length;
            }
            What::End => http.end(direction, End::Fin, mark, &mut out),
            What::Bytes(bytes) => {
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    let (now, later) = rest.split_at(cut(rest).clamp(1, rest.len()));
                    http.data(direction, *at, now, (mark, acked), &mut out);
                    *at += now.len() as u64;
                    rest = later;
                }
            }
        }
        if let Some(http2) = http.as_http2() {
            assert!(http2.next(direction) <= *at);
            assert!(http2.open_streams() as u64 <= 1 + frame);
        }
        assert!(http.held_bytes() <= HELD_BYTES_MAX + HELD_BYTES_OF_A_FRAME * frame);
    }
    let mark = Mark {
        frame: steps.len() as u64 + 3,
        time_ns: i64::MAX,
    };
    for direction in DIRECTIONS {
        http.end(direction, End::EndOfCapture, mark, &mut out);
    }
    assert_eq!(http.as_http2().map_or(0, Connection::open_streams), 0);
    Outcome { out, next }
}

pub fn run(input: &[u8]) {
    let Some((how, rest)) = input.split_first() else {
        return;
    };
    let (steps, is_whole) = steps(rest);
    let whole = play(*how, &steps, |rest| rest.len());
    check(&whole);
    let mut numbers = Numbers::of(input);
    let cut = play(*how, &steps, |_| {
        let most = if numbers.one_in(4) { 4000 } else { 7 };
        1 + numbers.below(most)
    });
    check(&cut);
    // After bytes that are no frame, and after a late start, the search for a frame works segment by segment.
    if is_whole && how % 2 == 0 && whole.out.anomalies.is_empty() {
        assert_eq!(whole.out.transactions, cut.out.transactions);
        assert_eq!(whole.out.anomalies, cut.out.anomalies);
        assert_eq!(whole.out.windows, cut.out.windows);
    }
}

fn check(outcome: &Outcome) {
    let mut streams = BTreeSet::new();
    let mut taken: [Vec<(u64, u64)>; 2] = Default::default();
    for transaction in &outcome.out.transactions {
        let messages = [&transaction.request, &transaction.response];
        assert!(messages.iter().any(|message| message.is_some()));
        let Some(stream) = &transaction.stream else {
            continue;
        };
        // HTTP/1.1 transactions before an Upgrade have their own numbers.
        assert_eq!(transaction.index, streams.len() as u64);
        assert!(
            streams.insert(stream.id),
            "stream {} is two transactions",
            stream.id
        );
        for (side, (message, frames)) in messages
            .into_iter()
            .zip([&stream.request, &stream.response])
            .enumerate()
        {
            if let Some(message) = message {
                check_message(message, outcome.next[side]);
                // A promise and a request before an Upgrade have no request bytes here.
                let is_request = side == 0;
                let may_have_none = stream.is_pushed || stream.id == 1 && frames.pieces.is_empty();
                let is_sent = !(is_request && may_have_none);
                check_frames(frames, message, is_sent);
            }
            taken[side].extend(frames.pieces.iter().map(|piece| (piece.start, piece.end)));
        }
        check_interim(transaction);
    }
    for mut pieces in taken {
        pieces.sort_unstable();
        let is_apart = |pair: &[(u64, u64)]| pair[0].1 <= pair[1].0;
        assert!(
            pieces.windows(2).all(is_apart),
            "a byte belongs to one stream"
        );
    }
    for anomaly in &outcome.out.anomalies {
        assert!(anomaly.flow.is_none() && !anomaly.detail.is_empty());
    }
}

fn check_message(message: &Message, next: u64) {
    assert!(message.start <= message.head_end && message.head_end <= message.end);
    assert!(message.end <= next, "a message ends behind its direction");
    assert!(message.first.frame >= 1);
    assert!(message.first.frame <= message.last.frame);
    assert!(message.head_last.frame <= message.last.frame);
}

fn check_frames(frames: &Frames, message: &Message, is_sent: bool) {
    assert!(frames.pieces.iter().all(|piece| piece.start <= piece.end));
    assert!(frames
        .pieces
        .windows(2)
        .all(|pair| pair[0].end <= pair[1].start));
    assert!(frames
        .openings
        .windows(2)
        .all(|pair| pair[0].at <= pair[1].at));
    if is_sent {
        let (first, last) = (frames.pieces.first(), frames.pieces.last());
        assert_eq!(first.map(|piece| piece.start), Some(message.start));
        assert_eq!(last.map(|piece| piece.end), Some(message.end));
    }
}

fn check_interim(transaction: &Transaction) {
    if let Some(interim) = &transaction.interim {
        assert!(interim.count >= 1 && (100..=199).contains(&interim.status));
    }
}
