//! The HTTP connection: two directions in arbitrary order and cuts.
//!
//! A byte of 0xe0 or above begins a segment or another event, and gives its kind. The bytes up to the next
//! such byte are its text. The text stays text after removals and insertions.

use tcptrace_http_messages::{Connection, Direction, End, Mark, Message, Output};

use crate::numbers::Numbers;

const FIRST_CONTROL: u8 = 0xe0;
/// The largest head that is kept whole, plus room for its parsed fields.
const HELD_BYTES_MAX: u64 = 1 << 20;

#[derive(Clone, Copy)]
struct Event<'a> {
    direction: Direction,
    kind: u8,
    acks: u8,
    text: &'a [u8],
}

fn events(input: &[u8]) -> Vec<Event<'_>> {
    input
        .chunk_by(|_, next| *next < FIRST_CONTROL)
        .map(|part| match part.split_first() {
            Some((control, text)) if *control >= FIRST_CONTROL => Event::new(*control, text),
            _ => Event::new(0, part),
        })
        .collect()
}

impl<'a> Event<'a> {
    fn new(control: u8, text: &'a [u8]) -> Self {
        Event {
            direction: if control & 1 == 0 {
                Direction::ClientToServer
            } else {
                Direction::ServerToClient
            },
            kind: (control >> 1) & 3,
            acks: (control >> 3) & 3,
            text,
        }
    }
}

/// The outcome of an input.
struct Outcome {
    out: Output,
    /// True if message starts were searched at segment starts. The outcome then depends on the cuts.
    depends_on_cuts: bool,
}

fn play(events: &[Event<'_>], mut cut: impl FnMut(&[u8]) -> usize) -> Outcome {
    let mut connection = Connection::new();
    let mut out = Output::default();
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
                let length = event.text.len() as u64;
                connection.gap(event.direction, *at, length, mark, &mut out);
                *at += length;
            }
            3 => {
                let end = [End::Fin, End::Reset, End::EndOfCapture][event.text.len() % 3];
                connection.end(event.direction, end, mark, &mut out);
            }
            _ => {
                let mut rest = event.text;
                while !rest.is_empty() {
                    let (now, later) = rest.split_at(cut(rest).clamp(1, rest.len()));
                    connection.data(event.direction, *at, now, mark, acked, &mut out);
                    *at += now.len() as u64;
                    rest = later;
                    depends_on_cuts |= connection.is_searching(event.direction);
                }
            }
        }
        depends_on_cuts |= connection.roles_are_reversed();
        assert!(connection.held_bytes() <= HELD_BYTES_MAX + (1 << 16) * frame);
    }
    let mark = Mark {
        frame: events.len() as u64 + 1,
        time_ns: 0,
    };
    for direction in [Direction::ClientToServer, Direction::ServerToClient] {
        connection.end(direction, End::EndOfCapture, mark, &mut out);
    }
    assert_eq!(connection.held_bytes(), 0, "nothing is kept behind the end");
    Outcome {
        out,
        depends_on_cuts,
    }
}

/// Return the length of a segment's next piece. Only the first piece can begin like a start line. During a
/// search, the reader accepts a start line only at a segment's start, or after empty lines there.
fn piece(numbers: &mut Numbers, rest: &[u8], is_first: bool) -> usize {
    let first_line = || {
        let start = empty_lines(rest);
        let length = rest[start..].iter().position(|byte| *byte == b'\n');
        length.map_or(rest.len(), |length| start + length + 1)
    };
    let least = if is_first { first_line() } else { 1 };
    let most = if numbers.one_in(4) { 40 } else { 3 };
    let wanted = least + numbers.below(most);
    let mut places = wanted..rest.len();
    places
        .find(|at| !may_be_start_line(&rest[*at..]))
        .unwrap_or(rest.len())
}

fn empty_lines(text: &[u8]) -> usize {
    let is_text = |byte: &u8| !matches!(byte, b'\r' | b'\n');
    text.iter().position(is_text).unwrap_or(text.len())
}

fn may_be_start_line(text: &[u8]) -> bool {
    let mut lines = text[empty_lines(text)..].split(|byte| *byte == b'\n');
    lines
        .next()
        .is_some_and(|line| line.windows(5).any(|part| part == b"HTTP/"))
}

pub fn run(input: &[u8]) {
    let events = events(input);
    let whole = play(&events, |rest| rest.len());
    check(&whole.out);
    let mut numbers = Numbers::of(input);
    let mut rest_of_segment = 0;
    let cut = play(&events, |rest| {
        let is_first = rest_of_segment == 0;
        let length = piece(&mut numbers, rest, is_first);
        rest_of_segment = rest.len() - length;
        length
    });
    check(&cut.out);
    if !whole.depends_on_cuts && !cut.depends_on_cuts {
        assert_eq!(whole.out.transactions, cut.out.transactions);
        assert_eq!(whole.out.anomalies, cut.out.anomalies);
    }
}

fn check(out: &Output) {
    for (expected, transaction) in (0..).zip(&out.transactions) {
        assert_eq!(transaction.index, expected);
        assert!(transaction.request.is_some() || transaction.response.is_some());
        if let Some(request) = &transaction.request {
            assert!(request.method.is_some() && request.target.is_some());
            assert!(request.status.is_none());
            check_message(request);
        }
        if let Some(response) = &transaction.response {
            assert!(response.status.is_some() && response.method.is_none());
            check_message(response);
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
    assert!(message.head_last.frame <= message.last.frame);
    assert!(message.body.bytes <= message.body.wire_bytes);
    if message.complete {
        assert!(message.missing_bytes <= message.body.wire_bytes);
        assert_eq!(
            message.end - message.start,
            message.header_bytes + message.body.wire_bytes
        );
    }
}
