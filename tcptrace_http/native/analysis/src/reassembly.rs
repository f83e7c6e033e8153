//! In-order delivery of one direction's bytes, whatever the order, overlap or loss of segments.
//!
//! Theory of operation. `delivered` is the offset up to which bytes (or notice of their loss) have
//! been handed on. A segment that starts there is handed on at once, uncopied. A later one waits in
//! `pending` until the hole before it is filled by a retransmission, or is known to stay: because
//! the receiver acknowledged it (it was lost by the capture, not by the path), because too much
//! waits behind it, or because the flow ended.

use std::collections::BTreeMap;

use crate::http::Mark;

/// Most bytes that wait behind a hole. The largest receive window in common use is 16 MiB; a hole
/// that more than this waits behind, without an acknowledgment, will not be filled.
const PENDING_BYTES_MAX: u64 = 4 << 20;

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

#[derive(Debug)]
struct Waiting {
    length: u32,
    bytes: Vec<u8>,
    mark: Mark,
    peer_acked: Option<u64>,
}

#[derive(Debug, Default)]
pub struct Reassembler {
    delivered: i64,
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

    /// Takes a segment's payload; hands on what is now in order.
    pub fn insert(&mut self, piece: Piece<'_>, mut deliver: impl FnMut(Delivery<'_>)) {
        if piece.offset == self.delivered && self.pending.is_empty() {
            self.hand_on(piece, &mut deliver);
            return;
        }
        let end = piece.offset.saturating_add(i64::from(piece.length));
        if end <= self.delivered {
            return;
        }
        if piece.offset <= self.delivered {
            self.hand_on(piece, &mut deliver);
            self.drain(&mut deliver);
            return;
        }
        self.wait(piece);
        if self.pending_bytes > PENDING_BYTES_MAX {
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

    fn wait(&mut self, piece: Piece<'_>) {
        if let Some(earlier) = self.pending.get(&piece.offset) {
            let shared = earlier.bytes.len().min(piece.bytes.len());
            self.differing |= earlier.bytes.get(..shared) != piece.bytes.get(..shared);
            if earlier.length >= piece.length {
                return;
            }
        }
        let waiting = Waiting {
            length: piece.length,
            bytes: piece.bytes.to_vec(),
            mark: piece.mark,
            peer_acked: piece.peer_acked,
        };
        self.pending_bytes = self.pending_bytes.saturating_add(piece.bytes.len() as u64);
        if let Some(replaced) = self.pending.insert(piece.offset, waiting) {
            self.pending_bytes = self
                .pending_bytes
                .saturating_sub(replaced.bytes.len() as u64);
        }
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
            let piece = Piece {
                offset,
                length: waiting.length,
                bytes: &waiting.bytes,
                mark: waiting.mark,
                peer_acked: waiting.peer_acked,
            };
            self.hand_on(piece, deliver);
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
