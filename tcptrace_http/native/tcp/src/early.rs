//! Server data sent before the SYN-ACK was seen, on a connection with a captured SYN.
//!
//! Theory of operation. A server may answer before the client acknowledges its SYN-ACK (RFC 1644, RFC 7413).
//! The path may lose the SYN-ACK and not the data behind it. The client is in SYN-SENT and drops that data
//! (RFC 9293, section 3.10.7.3). The server then retransmits the data behind the repeated SYN-ACK. If only
//! the capture lost or reordered the SYN-ACK, the data does not come again. The data therefore waits by
//! sequence number until the client acknowledges it. The bytes that were not retransmitted by then had
//! arrived the first time.

use trace_model::{flags, Mark, Segment, SeqNumber};

/// Most data that a server sends before an ACK: the window of a SYN is not scaled (RFC 7323, section 2.2).
const BYTES_MAX: u64 = u16::MAX as u64;
/// Maximum number of segments, at half the smallest size that every path carries (RFC 9293, section 3.7.1:
/// 536).
const PIECES_MAX: usize = 256;
/// Memory of a piece besides its bytes.
const PIECE_OVERHEAD_BYTES: u64 = 64;

/// Payload of a waiting segment.
#[derive(Clone, Debug)]
pub struct EarlyPiece {
    seq: SeqNumber,
    pub length: u32,
    pub has_fin: bool,
    pub bytes: Box<[u8]>,
    pub mark: Mark,
}

impl EarlyPiece {
    /// Return the offset after its last byte or its FIN.
    #[must_use]
    pub fn end(&self, start: i64) -> i64 {
        start
            .saturating_add(i64::from(self.length))
            .saturating_add(i64::from(self.has_fin))
    }
}

/// Data that arrived before its sender's SYN-ACK.
#[derive(Debug, Default)]
pub struct EarlyData {
    pieces: Vec<EarlyPiece>,
    bytes: u64,
    /// Sequence number of the newest ACK without data: the next byte that its sender would send.
    announced_next: Option<SeqNumber>,
}

impl EarlyData {
    /// Keep the payload of `segment`; return false if the data exceeds the limit for early data.
    #[must_use]
    pub fn keep(&mut self, segment: &Segment<'_>, mark: Mark) -> bool {
        let length = segment.payload_bytes;
        let has_fin = segment.has(flags::FIN);
        if length == 0 && !has_fin && segment.has(flags::ACK) {
            self.announced_next = Some(segment.seq);
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

    /// Return the sequence number of the server's first byte, if `ack` is the client's first ACK.
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

    /// Return the offset up to which early segments show data behind the initial number.
    ///
    /// A pure ACK shows the offset by its sequence number. Early data, which the client drops, shows the
    /// offset by its end.
    #[must_use]
    pub fn announced_next(&self, initial: SeqNumber) -> Option<i64> {
        let offset = |seq: SeqNumber| seq.unwrapped(initial, 1);
        let ends = self.pieces.iter().map(|it| it.end(offset(it.seq)));
        let announced = ends.chain(self.announced_next.map(offset));
        announced
            .filter(|next| *next >= 1 && next.unsigned_abs() <= 2 * BYTES_MAX)
            .max()
    }

    /// Remove the pieces that end at or before offset `until`, and return them with their offsets, in order.
    ///
    /// A piece that does not fit this initial number is a remnant of an earlier connection and is dropped.
    pub fn take(&mut self, initial: SeqNumber, until: i64) -> Vec<(i64, EarlyPiece)> {
        let mut taken = Vec::new();
        let mut left = Vec::new();
        for piece in self.pieces.drain(..) {
            let start = piece.seq.unwrapped(initial, 1);
            let end = piece.end(start);
            // Early data lies within the window of a SYN, behind the SYN-ACK's own data within the same
            // window.
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

    /// Return whether no piece waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Return the memory of the waiting pieces.
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
    fn early_data_and_acks_show_the_senders_offset() {
        let initial = SeqNumber(u32::MAX - 100);
        let offset = |number: u32| initial.0.wrapping_add(number);
        let mark = Mark {
            frame: 1,
            time_ns: 0,
        };
        for (acked, announced) in [(1501, 2961), (3001, 3001)] {
            let mut early = EarlyData::default();
            let data = Segment {
                payload_bytes: 1460,
                ..segment(flags::ACK, (offset(1501), 1), &[])
            };
            assert!(early.keep(&data, mark));
            assert!(early.keep(&segment(flags::ACK, (offset(acked), 1), &[]), mark));
            assert_eq!(early.announced_next(initial), Some(announced));
        }
        assert_eq!(EarlyData::default().announced_next(initial), None);
    }
}
