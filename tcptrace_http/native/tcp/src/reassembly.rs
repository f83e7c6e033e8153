//! In-order delivery of one direction's bytes, whatever the order, overlap or loss of segments.
//!
//! Theory of operation. `delivered` is the offset up to which bytes (or notice of their loss) have
//! been handed on. A segment that starts there is handed on at once, uncopied. A later one waits in
//! `pending` until the hole before it is filled by a retransmission, or is known to stay: because
//! the receiver acknowledged it (it was lost by the capture, not by the path), because too much
//! waits behind it, or because the flow ended. What waits is disjoint: of a byte that came twice
//! the first copy is kept.

use std::collections::BTreeMap;

use trace_model::Mark;

/// Most bytes that wait behind a hole. The largest receive window in common use is 16 MiB; a hole
/// that more than this waits behind, without an acknowledgment, will not be filled.
pub const WAITING_BYTES_MAX: u64 = 4 << 20;
/// Most segments that wait behind a hole: those bytes in segments of 512 bytes, less than which no
/// path makes them (RFC 9293, section 3.7.1: 536). It bounds the time that an overlap takes.
pub const WAITING_PIECES_MAX: usize = 8192;
/// What a waiting segment costs besides its bytes.
const PIECE_OVERHEAD_BYTES: u64 = 128;

/// What is handed on, in order.
#[derive(Clone, Copy, Debug)]
pub enum Delivery<'a> {
    Bytes {
        offset: u64,
        bytes: &'a [u8],
        mark: Mark,
        peer_acked: Option<u64>,
    },
    /// These bytes will never come.
    Gap {
        offset: u64,
        length: u64,
        mark: Mark,
    },
}

/// A segment's payload at its place in the stream; the first byte of the flow is at 0.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    pub offset: i64,
    /// Length on the wire; `bytes` is shorter if a snap length cut it.
    pub length: u32,
    pub bytes: &'a [u8],
    pub mark: Mark,
    pub peer_acked: Option<u64>,
}

impl Piece<'_> {
    fn end(&self) -> i64 {
        self.offset.saturating_add(i64::from(self.length))
    }

    /// The part between two offsets inside it.
    fn part(&self, from: i64, to: i64) -> Self {
        let place = |offset: i64| usize::try_from(offset.saturating_sub(self.offset)).unwrap_or(0);
        let captured = self.bytes.len();
        let range = place(from).min(captured)..place(to).min(captured);
        Piece {
            offset: from,
            length: u32::try_from(to.saturating_sub(from)).unwrap_or(0),
            bytes: self.bytes.get(range).unwrap_or(&[]),
            ..*self
        }
    }
}

#[derive(Debug)]
struct Waiting {
    length: u32,
    bytes: Box<[u8]>,
    mark: Mark,
    peer_acked: Option<u64>,
}

impl Waiting {
    fn at(&self, offset: i64) -> Piece<'_> {
        Piece {
            offset,
            length: self.length,
            bytes: &self.bytes,
            mark: self.mark,
            peer_acked: self.peer_acked,
        }
    }
}

/// Puts the payload of one direction in order.
#[derive(Debug, Default)]
pub struct Reassembler {
    delivered: i64,
    /// By offset, disjoint, all behind `delivered`.
    pending: BTreeMap<i64, Waiting>,
    pending_bytes: u64,
    /// Bytes that were never captured.
    pub gap_bytes: u64,
    /// Bytes of waiting segments that differ from an earlier copy of them.
    pub differing: bool,
}

impl Reassembler {
    /// Whether segments wait behind a hole.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Offset up to which everything was handed on.
    #[must_use]
    pub fn delivered(&self) -> i64 {
        self.delivered
    }

    /// Memory that what waits takes.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let pieces = self.pending.len() as u64;
        self.pending_bytes
            .saturating_add(pieces.saturating_mul(PIECE_OVERHEAD_BYTES))
    }

    /// Takes a segment's payload; hands on what is now in order.
    pub fn insert(&mut self, piece: Piece<'_>, mut deliver: impl FnMut(Delivery<'_>)) {
        if piece.offset == self.delivered && self.pending.is_empty() {
            self.hand_on(piece, &mut deliver);
            return;
        }
        let end = piece.end();
        if end <= self.delivered {
            return;
        }
        let first = self.pending.first_key_value().map(|(offset, _)| *offset);
        if piece.offset <= self.delivered && first.is_none_or(|first| first >= end) {
            self.hand_on(piece, &mut deliver);
            self.drain(&mut deliver);
            return;
        }
        self.wait(piece.part(piece.offset.max(self.delivered), end));
        self.drain(&mut deliver);
        while self.pending_bytes > WAITING_BYTES_MAX || self.pending.len() > WAITING_PIECES_MAX {
            self.skip_hole(&mut deliver);
        }
    }

    /// The peer acknowledged up to `acked`: a hole before that was never captured and stays.
    pub fn acknowledged(&mut self, acked: i64, mut deliver: impl FnMut(Delivery<'_>)) {
        while let Some((&first, _)) = self.pending.first_key_value() {
            if acked < first {
                break;
            }
            self.skip_hole(&mut deliver);
        }
    }

    /// The direction ended: whatever waits is handed on, with its holes.
    pub fn finish(&mut self, mut deliver: impl FnMut(Delivery<'_>)) {
        while !self.pending.is_empty() {
            self.skip_hole(&mut deliver);
        }
    }

    /// Keeps those bytes of a segment that none of the waiting ones has.
    fn wait(&mut self, piece: Piece<'_>) {
        let (mut at, end) = (piece.offset, piece.end());
        while at < end {
            let before = self.pending.range(..=at).next_back();
            let earlier = before
                .map(|(offset, waiting)| waiting.at(*offset))
                .filter(|earlier| earlier.end() > at);
            let until = match earlier {
                Some(earlier) => {
                    let until = earlier.end().min(end);
                    self.differing |= differ(piece.part(at, until), earlier.part(at, until));
                    until
                }
                None => {
                    let next = self.pending.range(at..).next();
                    let until = next.map_or(end, |(offset, _)| (*offset).min(end));
                    self.keep(piece.part(at, until));
                    until
                }
            };
            at = until;
        }
    }

    fn keep(&mut self, piece: Piece<'_>) {
        self.pending_bytes = self.pending_bytes.saturating_add(piece.bytes.len() as u64);
        let waiting = Waiting {
            length: piece.length,
            bytes: piece.bytes.into(),
            mark: piece.mark,
            peer_acked: piece.peer_acked,
        };
        self.pending.insert(piece.offset, waiting);
    }

    /// Gives up the hole before the first waiting segment.
    fn skip_hole(&mut self, deliver: &mut impl FnMut(Delivery<'_>)) {
        if let Some((&first, waiting)) = self.pending.first_key_value() {
            let missing = u64::try_from(first.saturating_sub(self.delivered)).unwrap_or(0);
            if missing > 0 {
                let offset = u64::try_from(self.delivered).unwrap_or(0);
                deliver(Delivery::Gap {
                    offset,
                    length: missing,
                    mark: waiting.mark,
                });
                self.gap_bytes = self.gap_bytes.saturating_add(missing);
                self.delivered = first;
            }
            self.drain(deliver);
        }
    }

    /// Hands on waiting segments that are now in order.
    fn drain(&mut self, deliver: &mut impl FnMut(Delivery<'_>)) {
        while let Some(entry) = self.pending.first_entry() {
            if *entry.key() > self.delivered {
                return;
            }
            let (offset, waiting) = entry.remove_entry();
            self.pending_bytes = self
                .pending_bytes
                .saturating_sub(waiting.bytes.len() as u64);
            self.hand_on(waiting.at(offset), deliver);
        }
    }

    /// Hands on the part of `piece` that is new, and notice of what the snap length cut off.
    fn hand_on(&mut self, piece: Piece<'_>, deliver: &mut impl FnMut(Delivery<'_>)) {
        let end = piece.offset.saturating_add(i64::from(piece.length));
        if end <= self.delivered {
            return;
        }
        let skip = usize::try_from(self.delivered.saturating_sub(piece.offset)).unwrap_or(0);
        let bytes = piece.bytes.get(skip..).unwrap_or(&[]);
        let offset = u64::try_from(self.delivered).unwrap_or(0);
        let total = u64::try_from(end.saturating_sub(self.delivered)).unwrap_or(0);
        self.delivered = end;
        if !bytes.is_empty() {
            let peer_acked = piece.peer_acked;
            deliver(Delivery::Bytes {
                offset,
                bytes,
                mark: piece.mark,
                peer_acked,
            });
        }
        let captured = bytes.len() as u64;
        if captured < total {
            let offset = offset.saturating_add(captured);
            deliver(Delivery::Gap {
                offset,
                length: total - captured,
                mark: piece.mark,
            });
        }
    }
}

/// Whether two copies of the same place differ, as far as both were captured.
fn differ(one: Piece<'_>, other: Piece<'_>) -> bool {
    let shared = one.bytes.len().min(other.bytes.len());
    one.bytes.get(..shared) != other.bytes.get(..shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts (offset, text) pieces and shows what was delivered; a gap is shown as `<n>`.
    fn delivered(pieces: &[(i64, &str)], acked: Option<i64>) -> String {
        let mut reassembler = Reassembler::default();
        let mut shown = String::new();
        let mut show = |delivery: Delivery<'_>| match delivery {
            Delivery::Bytes { bytes, .. } => shown.push_str(&String::from_utf8_lossy(bytes)),
            Delivery::Gap { length, .. } => shown.push_str(&format!("<{length}>")),
        };
        for (frame, (offset, text)) in (1..).zip(pieces) {
            let piece = Piece {
                offset: *offset,
                length: u32::try_from(text.len()).unwrap_or(0),
                bytes: text.as_bytes(),
                mark: Mark { frame, time_ns: 0 },
                peer_acked: None,
            };
            reassembler.insert(piece, &mut show);
        }
        if let Some(acked) = acked {
            reassembler.acknowledged(acked, &mut show);
        }
        shown
    }

    #[test]
    fn reordered_and_overlapping_segments_are_delivered_once_in_order() {
        assert_eq!(
            delivered(&[(4, "efgh"), (0, "abcd"), (2, "cdefghij")], None),
            "abcdefghij"
        );
    }

    #[test]
    fn a_hole_that_the_peer_acknowledged_is_a_gap() {
        assert_eq!(delivered(&[(0, "ab"), (5, "fg")], None), "ab");
        assert_eq!(delivered(&[(0, "ab"), (5, "fg")], Some(4)), "ab");
        assert_eq!(delivered(&[(0, "ab"), (5, "fg")], Some(7)), "ab<3>fg");
    }

    #[test]
    fn the_first_copy_of_a_byte_wins() {
        assert_eq!(delivered(&[(0, "ab"), (0, "xycd")], None), "abcd");
    }

    #[test]
    fn the_first_copy_of_a_waiting_byte_wins_too() {
        let waiting = [(4, "ef"), (8, "ij")];
        for later in [
            vec![(2, "cdXXghXXk"), (0, "ab")],
            vec![(0, "abcdXXghXXk")],
            vec![(3, "dXXghXX"), (0, "abcXX"), (9, "Xk")],
        ] {
            let pieces: Vec<_> = waiting.into_iter().chain(later).collect();
            assert_eq!(delivered(&pieces, None), "abcdefghijk", "{pieces:?}");
        }
    }

    #[test]
    fn a_differing_copy_of_a_waiting_byte_is_noticed() {
        let differs = |late: &str| {
            let mut reassembler = Reassembler::default();
            for (offset, text) in [(2_i64, "cdef"), (1, late)] {
                let piece = Piece {
                    offset,
                    length: u32::try_from(text.len()).unwrap_or(0),
                    bytes: text.as_bytes(),
                    mark: Mark::default(),
                    peer_acked: None,
                };
                reassembler.insert(piece, |_| {});
            }
            reassembler.differing
        };
        assert!(!differs("bcdefgh"));
        assert!(differs("bcdXfgh"));
    }

    #[test]
    fn many_tiny_segments_behind_a_hole_are_bounded() {
        let mut reassembler = Reassembler::default();
        for place in 0..3 * WAITING_PIECES_MAX as i64 {
            let piece = Piece {
                offset: 1 + 2 * place,
                length: 1,
                bytes: b"x",
                mark: Mark::default(),
                peer_acked: None,
            };
            reassembler.insert(piece, |_| {});
            assert!(reassembler.held_bytes() <= (PIECE_OVERHEAD_BYTES + 1) * 8192);
        }
        assert!(reassembler.gap_bytes > WAITING_PIECES_MAX as u64);
    }

    #[test]
    fn data_from_before_the_first_segment_seen_is_ignored() {
        assert_eq!(delivered(&[(-3, "xyz"), (0, "ab")], None), "ab");
    }

    #[test]
    fn bytes_that_a_snap_length_cut_off_are_a_gap() {
        let mut gaps = Vec::new();
        let piece = Piece {
            offset: 0,
            length: 1460,
            bytes: b"abc",
            mark: Mark {
                frame: 1,
                time_ns: 0,
            },
            peer_acked: None,
        };
        Reassembler::default().insert(piece, |delivery| {
            if let Delivery::Gap { offset, length, .. } = delivery {
                gaps.push((offset, length));
            }
        });
        assert_eq!(gaps, [(3, 1457)]);
    }
}
