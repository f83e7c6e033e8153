//! In-order delivery of one direction's bytes under reordering, overlap and loss.
//!
//! Theory of operation. `delivered` is the offset up to which bytes, or notices of their loss, have been
//! delivered. A segment that starts there is delivered at once and without a copy. A later segment waits in
//! `pending` until the hole before it is filled or abandoned. A hole is abandoned if the receiver
//! acknowledged it: the capture lost the bytes, not the path. A hole is also abandoned if the waiting data
//! reaches its limit, or if the flow ends. Waiting pieces are disjoint: the first copy of a byte stays.

use std::collections::BTreeMap;

use trace_model::Mark;

/// Maximum number of bytes that wait behind a hole.
///
/// The largest receive window in common use is 16 MiB. A hole with more unacknowledged data behind it will
/// not be filled.
pub const WAITING_BYTES_MAX: u64 = 4 << 20;
/// Maximum number of segments that wait behind a hole: the byte limit in segments of 512 bytes.
///
/// Every path carries segments of at least 536 bytes (RFC 9293, section 3.7.1). The limit bounds the time of
/// an overlap.
pub const WAITING_PIECES_MAX: usize = 8192;
/// Memory of a waiting segment besides its bytes.
const PIECE_OVERHEAD_BYTES: u64 = 128;

/// Delivered item, in order.
#[derive(Clone, Copy, Debug)]
pub enum Delivery<'a> {
    Bytes {
        offset: u64,
        bytes: &'a [u8],
        mark: Mark,
        peer_acked: Option<u64>,
    },
    /// Bytes that will not arrive.
    Gap {
        offset: u64,
        length: u64,
        mark: Mark,
    },
}

/// Payload of a segment at its offset in the stream; the first byte of the flow has offset 0.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    pub offset: i64,
    /// Length on the wire; `bytes` is shorter if the snapshot length cut the payload.
    pub length: u32,
    pub bytes: &'a [u8],
    pub mark: Mark,
    pub peer_acked: Option<u64>,
}

impl Piece<'_> {
    fn end(&self) -> i64 {
        self.offset.saturating_add(i64::from(self.length))
    }

    /// Return the part between two offsets inside the piece.
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

/// Reassembler of one direction's payload.
#[derive(Debug, Default)]
pub struct Reassembler {
    delivered: i64,
    /// Waiting pieces by offset, disjoint, all behind `delivered`.
    pending: BTreeMap<i64, Waiting>,
    pending_bytes: u64,
    /// Bytes that were never captured.
    pub gap_bytes: u64,
    /// True if a waiting segment and a copy of it differ.
    pub differing: bool,
}

impl Reassembler {
    /// Return whether segments wait behind a hole.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Return the offset up to which everything was delivered.
    #[must_use]
    pub fn delivered(&self) -> i64 {
        self.delivered
    }

    /// Return the memory of the waiting pieces.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let pieces = self.pending.len() as u64;
        self.pending_bytes
            .saturating_add(pieces.saturating_mul(PIECE_OVERHEAD_BYTES))
    }

    /// Take a segment's payload and deliver the data that is now in order.
    pub fn insert(&mut self, piece: Piece<'_>, mut deliver: impl FnMut(Delivery<'_>)) {
        if piece.offset == self.delivered && self.pending.is_empty() {
            self.deliver_piece(piece, &mut deliver);
            return;
        }
        let end = piece.end();
        if end <= self.delivered {
            return;
        }
        let first = self.pending.first_key_value().map(|(offset, _)| *offset);
        if piece.offset <= self.delivered && first.is_none_or(|first| first >= end) {
            self.deliver_piece(piece, &mut deliver);
            self.drain(&mut deliver);
            return;
        }
        self.wait(piece.part(piece.offset.max(self.delivered), end));
        self.drain(&mut deliver);
        while self.pending_bytes > WAITING_BYTES_MAX || self.pending.len() > WAITING_PIECES_MAX {
            self.skip_hole(&mut deliver);
        }
    }

    /// Take the peer's ACK up to `acked`: a hole before it was never captured and stays.
    pub fn acknowledged(&mut self, acked: i64, mut deliver: impl FnMut(Delivery<'_>)) {
        while let Some((&first, _)) = self.pending.first_key_value() {
            if acked < first {
                break;
            }
            self.skip_hole(&mut deliver);
        }
    }

    /// End the direction: deliver all waiting pieces and their holes.
    pub fn finish(&mut self, mut deliver: impl FnMut(Delivery<'_>)) {
        while !self.pending.is_empty() {
            self.skip_hole(&mut deliver);
        }
    }

    /// Keep the bytes of a segment that no waiting piece has.
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
                    self.differing |= is_different(piece.part(at, until), earlier.part(at, until));
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

    /// Abandon the hole before the first waiting segment.
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

    /// Deliver the waiting segments that are now in order.
    fn drain(&mut self, deliver: &mut impl FnMut(Delivery<'_>)) {
        while let Some(entry) = self.pending.first_entry() {
            if *entry.key() > self.delivered {
                return;
            }
            let (offset, waiting) = entry.remove_entry();
            self.pending_bytes = self
                .pending_bytes
                .saturating_sub(waiting.bytes.len() as u64);
            self.deliver_piece(waiting.at(offset), deliver);
        }
    }

    /// Deliver the new part of `piece`, and a notice of the bytes that the snapshot length cut off.
    fn deliver_piece(&mut self, piece: Piece<'_>, deliver: &mut impl FnMut(Delivery<'_>)) {
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

/// Return whether two copies of the same range differ in their captured bytes.
fn is_different(one: Piece<'_>, other: Piece<'_>) -> bool {
    let shared = one.bytes.len().min(other.bytes.len());
    one.bytes.get(..shared) != other.bytes.get(..shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Insert (offset, text) pieces and return the delivered text; `<n>` marks a gap.
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
    fn differing_copy_of_a_waiting_byte_is_reported() {
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
    fn bytes_cut_by_the_snapshot_length_are_a_gap() {
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
