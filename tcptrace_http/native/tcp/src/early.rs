//! What a server has sent before its SYN-ACK was seen, on a connection whose SYN was.
//!
//! Theory of operation. A server that answers before its SYN-ACK is acknowledged (RFC 1644, RFC 7413) may lose
//! the SYN-ACK and not what follows it. The client is in SYN-SENT then and drops all of that (RFC 9293, section
//! 3.10.7.3), so it comes again behind the repeated SYN-ACK. But where it was only the capture that lost the
//! SYN-ACK, or shows it late, it does not come again. So the data waits, by its sequence number: once the client
//! has acknowledged it, those of its bytes that did not come again are known to have arrived the first time.

use trace_model::{flags, Mark, Segment, SeqNumber};

/// No server sends more before it has heard an ACK: the window of a SYN is not scaled (RFC 7323, section 2.2).
const BYTES_MAX: u64 = u16::MAX as u64;
/// Those bytes in segments of half the least that every path takes (RFC 9293, section 3.7.1: 536).
const PIECES_MAX: usize = 256;
/// What a piece costs besides its bytes.
const PIECE_OVERHEAD_BYTES: u64 = 64;

/// The payload of a segment that waits.
#[derive(Clone, Debug)]
pub struct EarlyPiece {
    seq: SeqNumber,
    pub length: u32,
    pub has_fin: bool,
    pub bytes: Box<[u8]>,
    pub mark: Mark,
}

impl EarlyPiece {
    /// Offset after its last byte, or its FIN.
    #[must_use]
    pub fn end(&self, start: i64) -> i64 {
        start
            .saturating_add(i64::from(self.length))
            .saturating_add(i64::from(self.has_fin))
    }
}

/// What came before the SYN-ACK of its sender.
#[derive(Debug, Default)]
pub struct Early {
    pieces: Vec<EarlyPiece>,
    bytes: u64,
    /// The number of the newest ACK without data: of what its sender would send next.
    told_next: Option<SeqNumber>,
}

impl Early {
    /// Keeps what `segment` carries. False if it is more than can be early.
    #[must_use]
    pub fn keep(&mut self, segment: &Segment<'_>, mark: Mark) -> bool {
        let length = segment.payload_bytes;
        let has_fin = segment.has(flags::FIN);
        if length == 0 && !has_fin && segment.has(flags::ACK) {
            self.told_next = Some(segment.seq);
        }
        let is_kept =
            |it: &EarlyPiece| it.seq == segment.seq && it.length >= length && it.has_fin >= has_fin;
        if (length == 0 && !has_fin) || self.pieces.iter().any(is_kept) {
            return true;
        }
        self.bytes = self.bytes.saturating_add(u64::from(length));
        self.pieces.push(EarlyPiece {
            seq: segment.seq,
            length,
            has_fin,
            bytes: segment.payload.into(),
            mark,
        });
        self.bytes <= BYTES_MAX && self.pieces.len() <= PIECES_MAX
    }

    /// Where the server's data begins if the client acknowledges `ack` first of all.
    #[must_use]
    pub fn first_byte(&self, ack: SeqNumber) -> SeqNumber {
        let ahead = |seq: SeqNumber| seq.unwrapped(ack, 0);
        let first = self
            .pieces
            .iter()
            .map(|piece| piece.seq)
            .min_by_key(|seq| ahead(*seq));
        first.filter(|seq| ahead(*seq) < 0).unwrap_or(ack)
    }

    /// As far as what came before told that there is data behind this initial number, as an offset: an ACK by its number,
    /// and that data itself, of which the client has no use.
    #[must_use]
    pub fn told_next(&self, initial: SeqNumber) -> Option<i64> {
        let offset = |seq: SeqNumber| seq.unwrapped(initial, 1);
        let came = self.pieces.iter().map(|it| it.end(offset(it.seq)));
        let told = came.chain(self.told_next.map(offset));
        told.filter(|next| *next >= 1 && next.unsigned_abs() <= 2 * BYTES_MAX)
            .max()
    }

    /// Takes out what ends at or before offset `until`, with its offsets, in their order. What cannot be of a
    /// connection with this initial number is dropped: it is a remnant of an earlier one.
    pub fn take(&mut self, initial: SeqNumber, until: i64) -> Vec<(i64, EarlyPiece)> {
        let mut taken = Vec::new();
        let mut left = Vec::new();
        for piece in self.pieces.drain(..) {
            let start = piece.seq.unwrapped(initial, 1);
            let end = piece.end(start);
            // What is early lies in the window of a SYN, behind the SYN-ACK's own data in the same window.
            let is_own = start >= 1 && end.unsigned_abs() <= 2 * BYTES_MAX;
            if end <= until {
                taken.extend(is_own.then_some((start, piece)));
            } else if is_own {
                left.push(piece);
            }
        }
        self.bytes = left.iter().map(|piece| u64::from(piece.length)).sum();
        self.pieces = left;
        taken.sort_by_key(|(start, _)| *start);
        taken
    }

    /// Whether nothing is kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Memory that what waits takes.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let pieces = self.pieces.len() as u64;
        self.bytes
            .saturating_add(pieces.saturating_mul(PIECE_OVERHEAD_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packets::segment;

    #[test]
    fn data_before_the_syn_ack_and_an_ack_there_tell_how_far_their_sender_was() {
        let initial = SeqNumber(u32::MAX - 100);
        let offset = |number: u32| initial.0.wrapping_add(number);
        let mark = Mark {
            frame: 1,
            time_ns: 0,
        };
        for (acked, told) in [(1501, 2961), (3001, 3001)] {
            let mut early = Early::default();
            let data = Segment {
                payload_bytes: 1460,
                ..segment(flags::ACK, (offset(1501), 1), &[])
            };
            assert!(early.keep(&data, mark));
            assert!(early.keep(&segment(flags::ACK, (offset(acked), 1), &[]), mark));
            assert_eq!(early.told_next(initial), Some(told));
        }
        assert_eq!(Early::default().told_next(initial), None);
    }
}
