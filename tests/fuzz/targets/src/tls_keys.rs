//! A TLS connection with its keys. Both directions are sealed, and opened again on the way to HTTP.
//!
//! A byte of 0xe0 or above begins an event and gives its kind. The bytes up to the next such byte are its
//! text. The text stays text after removals and insertions.

use tcptrace_http_messages::{
    Connection as Http, Direction, End, Mark, Message, Output, Transaction,
};
use tcptrace_tls::{Connection, Keys};

use crate::numbers::Numbers;
use crate::sealed::{handshake, key_log, Sealer, APPLICATION_DATA, HANDSHAKE};

const FIRST_CONTROL: u8 = 0xe0;
/// Maximum plaintext of a record (RFC 8446, section 5.1).
const TEXT_MAX: usize = 1 << 14;
/// A whole head and one record per direction, doubled for growth.
const HELD_BYTES_MAX: u64 = 1 << 21;

enum What {
    Bytes(Vec<u8>),
    /// Number of bytes that were not captured.
    Gap(u64),
    End,
}

/// One packet of one direction.
struct Step {
    direction: Direction,
    what: What,
    /// The application data of each record.
    plain: Vec<Vec<u8>>,
    acks: u8,
}

/// Return the steps of an input, and whether the capture has all sent bytes unchanged.
fn steps(input: &[u8]) -> (Vec<Step>, bool) {
    let mut sealers = [Sealer::new(false), Sealer::new(true)];
    let (mut is_whole, mut is_over) = (true, [false; 2]);
    let mut found: Vec<Step> = (0..)
        .zip(handshake())
        .map(|(at, flight)| Step::new(at, flight))
        .collect();
    for part in input.chunk_by(|_, next| *next < FIRST_CONTROL) {
        let (control, text) = match part.split_first() {
            Some((control, text)) if *control >= FIRST_CONTROL => (*control, text),
            _ => (0, part),
        };
        let text = text.get(..TEXT_MAX).unwrap_or(text);
        let side = usize::from(control & 1);
        if is_over[side] {
            continue;
        }
        let sealer = &mut sealers[side];
        let mut step = Step::new(control, Vec::new());
        let (what, plain) = match (control >> 1) & 3 {
            0 => (
                What::Bytes(sealer.seal(APPLICATION_DATA, text, 0)),
                vec![text],
            ),
            1 => {
                let (one, other) = text.split_at(text.len() / 2);
                let records = [one, other].map(|it| sealer.seal(APPLICATION_DATA, it, 0));
                (What::Bytes(records.concat()), vec![one, other])
            }
            2 => {
                is_whole = false;
                let lost = sealer.seal(APPLICATION_DATA, text, 0);
                (What::Gap(lost.len() as u64), Vec::new())
            }
            _ => other(sealer, text, &mut is_whole),
        };
        is_over[side] = matches!(what, What::End);
        step.what = what;
        step.plain = plain.into_iter().map(<[u8]>::to_vec).collect();
        found.push(step);
    }
    (found, is_whole)
}

/// Build an unusual record, selected by the first byte of the text.
fn other<'a>(sealer: &mut Sealer, text: &'a [u8], is_whole: &mut bool) -> (What, Vec<&'a [u8]>) {
    let (kind, rest) = text.split_first().unwrap_or((&0, &[]));
    match kind % 6 {
        0 => (What::End, Vec::new()),
        1 => (What::Bytes(sealer.update()), Vec::new()),
        2 => (What::Bytes(sealer.seal(HANDSHAKE, rest, 0)), Vec::new()),
        3 => {
            let padded = sealer.seal(APPLICATION_DATA, rest, rest.len() % 256);
            (What::Bytes(padded), vec![rest])
        }
        4 => {
            *is_whole = false;
            let mut record = sealer.seal(APPLICATION_DATA, rest, 0);
            let last = record.len() - 1;
            record[last] ^= 1;
            (What::Bytes(record), Vec::new())
        }
        _ => {
            *is_whole = false;
            (What::Bytes(rest.to_vec()), Vec::new())
        }
    }
}

impl Step {
    fn new(control: u8, bytes: Vec<u8>) -> Self {
        Step {
            direction: if control & 1 == 0 {
                Direction::ClientToServer
            } else {
                Direction::ServerToClient
            },
            what: What::Bytes(bytes),
            plain: Vec::new(),
            acks: (control >> 3) & 3,
        }
    }
}

fn mark(frame: u64) -> Mark {
    Mark {
        frame,
        time_ns: frame as i64,
    }
}

/// Number of bytes sent per direction: before its last step, and in total.
#[derive(Default)]
struct Sent([[u64; 2]; 2]);

impl Sent {
    fn next(&self, direction: Direction) -> u64 {
        self.0[direction as usize][1]
    }

    fn add(&mut self, direction: Direction, bytes: u64) {
        let [before, all] = &mut self.0[direction as usize];
        *before = *all;
        *all += bytes;
    }

    /// Return the number of peer bytes that a step acknowledges.
    fn acked(&self, step: &Step) -> Option<u64> {
        let [before, all] = self.0[1 - step.direction as usize];
        [Some(all), Some(all), None, Some(before)][usize::from(step.acks)]
    }
}

/// The outcome of an input.
struct Outcome {
    out: Output,
    /// True if record headers were searched in single segments. The outcome then depends on the cuts.
    depends_on_cuts: bool,
}

fn play(steps: &[Step], mut cut: impl FnMut(&[u8]) -> usize) -> Outcome {
    let mut connection = Connection::beginning_at(0, 0);
    let (mut keys, mut out) = (Keys::default(), Output::default());
    keys.log.add(key_log().as_bytes()).expect("good lines");
    let mut sent = Sent::default();
    let mut depends_on_cuts = false;
    for (frame, step) in (1..).zip(steps) {
        let (direction, mark) = (step.direction, mark(frame));
        let mut at = sent.next(direction);
        match &step.what {
            What::Gap(length) => {
                connection.gap(direction, at, *length, mark, &mut keys, &mut out);
                sent.add(direction, *length);
            }
            What::End => connection.end(direction, End::Fin, mark, &mut out),
            What::Bytes(bytes) => {
                let seen = (mark, sent.acked(step));
                let mut rest = &bytes[..];
                while !rest.is_empty() {
                    let (now, later) = rest.split_at(cut(rest).clamp(1, rest.len()));
                    connection.data(direction, at, now, seen, &mut keys, &mut out);
                    at += now.len() as u64;
                    rest = later;
                }
                sent.add(direction, bytes.len() as u64);
            }
        }
        depends_on_cuts |= connection.has_searched(direction);
        assert!(connection.held_bytes() <= HELD_BYTES_MAX + (1 << 16) * frame);
    }
    let last = mark(steps.len() as u64 + 1);
    for direction in [Direction::ClientToServer, Direction::ServerToClient] {
        connection.end(direction, End::EndOfCapture, last, &mut out);
    }
    Outcome {
        out,
        depends_on_cuts,
    }
}

/// Return HTTP's result for the same bytes in clear text. Return None if a hello would exclude HTTP.
fn in_clear(steps: &[Step]) -> Option<Vec<Transaction>> {
    let mut http = Http::from_its_beginning();
    let mut out = Output::default();
    let mut sent = Sent::default();
    for (frame, step) in (1..).zip(steps) {
        let (direction, mark) = (step.direction, mark(frame));
        if matches!(step.what, What::End) {
            http.end(direction, End::Fin, mark, &mut out);
            continue;
        }
        let mut at = sent.next(direction);
        let acked = sent.acked(step);
        for plain in &step.plain {
            http.data(direction, at, plain, mark, acked, &mut out);
            at += plain.len() as u64;
            if http.roles_are_reversed() {
                return None;
            }
        }
        sent.add(direction, at - sent.next(direction));
    }
    let last = mark(steps.len() as u64 + 1);
    for direction in [Direction::ClientToServer, Direction::ServerToClient] {
        http.end(direction, End::EndOfCapture, last, &mut out);
    }
    Some(out.transactions)
}

pub fn run(input: &[u8]) {
    let (steps, is_whole) = steps(input);
    let whole = play(&steps, |rest| rest.len());
    check(&whole.out);
    let mut numbers = Numbers::of(input);
    let cut = play(&steps, |_| {
        let most = if numbers.one_in(4) { 4000 } else { 7 };
        1 + numbers.below(most)
    });
    check(&cut.out);
    if !whole.depends_on_cuts && !cut.depends_on_cuts {
        assert_eq!(whole.out.transactions, cut.out.transactions);
        assert_eq!(whole.out.anomalies, cut.out.anomalies);
    }
    if let Some(clear) = is_whole.then(|| in_clear(&steps)).flatten() {
        let is_read = |it: &&Transaction| it.opaque.is_none();
        let read = whole.out.transactions.iter().filter(is_read);
        let read: Vec<_> = read.map(Told::of).collect();
        assert_eq!(read, clear.iter().map(Told::of).collect::<Vec<_>>());
    }
}

/// The transaction fields that TLS does not change.
#[derive(Debug, PartialEq)]
struct Told<'a> {
    messages: [Option<ToldMessage<'a>>; 2],
    pipelined: bool,
}

#[derive(Debug, PartialEq)]
struct ToldMessage<'a> {
    method: Option<&'a str>,
    target: Option<&'a str>,
    status: Option<u16>,
    bytes: [u64; 3],
    frames: [u64; 2],
    complete: bool,
}

impl<'a> Told<'a> {
    fn of(transaction: &'a Transaction) -> Self {
        let messages = [&transaction.request, &transaction.response];
        Told {
            messages: messages.map(|it| it.as_deref().map(ToldMessage::of)),
            pipelined: transaction.pipelined,
        }
    }
}

impl<'a> ToldMessage<'a> {
    fn of(message: &'a Message) -> Self {
        ToldMessage {
            method: message.method.as_deref(),
            target: message.target.as_deref(),
            status: message.status,
            bytes: [
                message.header_bytes,
                message.body.bytes,
                message.body.wire_bytes,
            ],
            frames: [message.first.frame, message.last.frame],
            complete: message.complete,
        }
    }
}

fn check(out: &Output) {
    for transaction in &out.transactions {
        let messages = [&transaction.request, &transaction.response];
        assert!(messages.iter().any(|message| message.is_some()));
        for message in messages.into_iter().flatten() {
            let has_bytes = message.header_bytes > 0 || message.body.wire_bytes > 0;
            assert!(message.start < message.end || !has_bytes && message.start == message.end);
            assert!(message.first.frame >= 1);
            assert!(message.first.frame <= message.last.frame);
        }
    }
    for anomaly in &out.anomalies {
        assert!(anomaly.flow.is_none() && !anomaly.detail.is_empty());
    }
}
