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

impl<'a> Piece<'a> {
    /// What was captured of its bytes from stream offset `from` to `to`.
    fn bytes_between(&self, from: i64, to: i64) -> &'a [u8] {
        let place = |offset: i64| usize::try_from(offset.saturating_sub(self.offset)).unwrap_or(0);
        let captured = self.bytes.len();
        let (from, to) = (place(from).min(captured), place(to).min(captured));
        self.bytes.get(from..to).unwrap_or(&[])
    }
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

    /// Takes a segment's payload; hands on what is now in order. Of bytes that came twice the first
    /// copy is kept. (Receivers differ; but what was handed on or acknowledged is the first copy of
    /// all of them, RFC 9293, section 3.10.7.4.)
    pub fn insert(&mut self, piece: Piece<'_>, mut deliver: impl FnMut(Delivery<'_>)) {
        if self.pending.is_empty() && piece.offset <= self.delivered {
            self.hand_on(piece, &mut deliver);
            return;
        }
        self.wait(piece);
        self.drain(&mut deliver);
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

    /// Keeps those parts of `piece` that neither were handed on nor wait already, so that what waits
    /// never overlaps, and compares the others with the copies that wait.
    fn wait(&mut self, piece: Piece<'_>) {
        let end = piece.offset.saturating_add(i64::from(piece.length));
        let mut from = piece.offset.max(self.delivered);
        while from < end {
            let before = self.pending.range(..=from).next_back();
            let covering =
                before.filter(|(start, it)| start.saturating_add(i64::from(it.length)) > from);
            from = if let Some((start, earlier)) = covering {
                let to = start.saturating_add(i64::from(earlier.length)).min(end);
                let known = Piece {
                    offset: *start,
                    length: earlier.length,
                    bytes: &earlier.bytes,
                    ..piece
                };
                let shared = piece.bytes_between(from, to).iter();
                self.differing |= shared
                    .zip(known.bytes_between(from, to))
                    .any(|(byte, earlier)| byte != earlier);
                to
            } else {
                let next = self.pending.range(from..).next();
                let to = next.map_or(end, |(start, _)| end.min(*start));
                self.keep(from, to, piece);
                to
            };
        }
    }

    fn keep(&mut self, from: i64, to: i64, piece: Piece<'_>) {
        let bytes = piece.bytes_between(from, to).to_vec();
        self.pending_bytes = self.pending_bytes.saturating_add(bytes.len() as u64);
        let waiting = Waiting {
            length: u32::try_from(to.saturating_sub(from)).unwrap_or(u32::MAX),
            bytes,
            mark: piece.mark,
            peer_acked: piece.peer_acked,
        };
        self.pending.insert(from, waiting);
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
        let bytes = piece.bytes_between(self.delivered, end);
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
