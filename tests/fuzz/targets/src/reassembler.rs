//! The reassembler against a model that keeps every byte by its offset.
//!
//! An input is a sequence of steps of six bytes: action, position (two bytes), length, captured length, and
//! content. The content depends on the step, so copies of a byte differ.

use std::collections::BTreeMap;

use tcptrace_tcp::{Delivery, Piece, Reassembler, WAITING_BYTES_MAX, WAITING_PIECES_MAX};
use trace_model::Mark;

const STEP_BYTES: usize = 6;
/// Maximum number of steps. More pieces of 255 bytes could reach the limits, which the model does not have.
const STEPS_MAX: usize = WAITING_PIECES_MAX / 256;

/// The first copy of each byte. None if the snap length cut the byte off.
type Copies = BTreeMap<i64, Option<u8>>;

/// The simplest equivalent: bytes by offset.
#[derive(Default)]
struct Model {
    delivered: i64,
    waiting: Copies,
    out: Vec<Option<u8>>,
}

impl Model {
    fn insert(&mut self, piece: &Piece<'_>) {
        for place in 0..i64::from(piece.length) {
            let offset = piece.offset + place;
            if offset >= self.delivered {
                let byte = piece.bytes.get(place as usize).copied();
                self.waiting.entry(offset).or_insert(byte);
            }
        }
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(byte) = self.waiting.remove(&self.delivered) {
            self.out.push(byte);
            self.delivered += 1;
        }
    }

    fn first(&self) -> Option<i64> {
        self.waiting.first_key_value().map(|(offset, _)| *offset)
    }

    fn acknowledged(&mut self, acked: i64) {
        while let Some(first) = self.first().filter(|first| *first <= acked) {
            // A hole of gigabytes is one entry in the model too.
            self.out.push(None);
            self.delivered = first;
            self.drain();
        }
    }
}

/// The reassembler's output, compared with the model's bytes.
#[derive(Default)]
struct Out {
    next: u64,
    bytes: Vec<Option<u8>>,
}

impl Out {
    fn take(&mut self, delivery: Delivery<'_>) {
        let (offset, length) = match delivery {
            Delivery::Bytes { offset, bytes, .. } => (offset, bytes.len() as u64),
            Delivery::Gap { offset, length, .. } => (offset, length),
        };
        assert_eq!(offset, self.next, "bytes come in order, each once");
        assert!(length > 0);
        self.next += length;
        match delivery {
            Delivery::Bytes { bytes, .. } => self.bytes.extend(bytes.iter().map(|it| Some(*it))),
            Delivery::Gap { .. } => self.bytes.push(None),
        }
    }
}

/// Merge adjacent gaps and the bytes of each gap into one, because the number of gaps is unspecified.
fn without_repeated_gaps(bytes: &[Option<u8>]) -> Vec<Option<u8>> {
    let mut shown = bytes.to_vec();
    shown.dedup_by(|next, before| next.is_none() && before.is_none());
    shown
}

pub fn run(input: &[u8]) {
    let (mut reassembler, mut model, mut out) =
        (Reassembler::default(), Model::default(), Out::default());
    let mut content = [0; 255];
    for (step, fields) in input.chunks_exact(STEP_BYTES).take(STEPS_MAX).enumerate() {
        let &[what, high, low, length, captured, seed] = fields else {
            return;
        };
        let offset = offset(
            what,
            i64::from(u16::from_be_bytes([high, low])),
            model.delivered,
        );
        if what & 7 == 0 {
            reassembler.acknowledged(offset, |it| out.take(it));
            model.acknowledged(offset);
        } else {
            for (byte, place) in content.iter_mut().zip(offset..) {
                *byte = (place as u8).wrapping_mul(31) ^ seed;
            }
            let piece = Piece {
                offset,
                length: length.into(),
                // Few packets are truncated.
                bytes: &content[..usize::from(if captured < 200 {
                    length
                } else {
                    length.min(captured - 200)
                })],
                mark: Mark {
                    frame: step as u64,
                    time_ns: 0,
                },
                peer_acked: None,
            };
            reassembler.insert(piece, |it| out.take(it));
            model.insert(&piece);
        }
        compare(&reassembler, &model, &out);
    }
    reassembler.finish(|it| out.take(it));
    model.acknowledged(i64::MAX);
    compare(&reassembler, &model, &out);
    assert!(!reassembler.is_waiting() && reassembler.held_bytes() == 0);
}

/// Return an offset: mostly near the delivered bytes, in part before them, in part a gigabyte or more ahead.
fn offset(what: u8, place: i64, delivered: i64) -> i64 {
    match what >> 4 {
        0..=7 => delivered + place % 1024 - 128,
        8..=12 => place % 4096 - 16,
        13 => delivered + (place << 30),
        14 => place << 44,
        _ => -place,
    }
}

fn compare(reassembler: &Reassembler, model: &Model, out: &Out) {
    assert_eq!(reassembler.delivered(), model.delivered);
    assert_eq!(out.next, model.delivered as u64);
    assert_eq!(reassembler.is_waiting(), !model.waiting.is_empty());
    assert_eq!(
        without_repeated_gaps(&out.bytes),
        without_repeated_gaps(&model.out)
    );
    let captured = model.waiting.values().flatten().count() as u64;
    assert!(reassembler.held_bytes() >= captured);
    assert!(reassembler.held_bytes() <= WAITING_BYTES_MAX);
}
