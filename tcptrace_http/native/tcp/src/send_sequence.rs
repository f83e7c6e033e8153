//! Sequence numbers of one direction: sent by its sender, acknowledged by its peer.

use trace_model::{SackBlocks, SeqNumber};

/// Send sequence variables (RFC 9293, section 3.3.1), as the capture shows them.
///
/// Offsets are relative to the initial sequence number and unwrapped: the SYN is 0, the first payload byte is
/// 1.
#[derive(Debug, Default)]
pub struct SendSequence {
    pub initial: Option<SeqNumber>,
    /// Offset after the last byte sent.
    pub next: i64,
    /// Offset after the last byte sent by the sequence numbers of its ACKs; data beyond `next` is not in the
    /// capture.
    pub announced_next: i64,
    /// Offset up to which the peer has acknowledged.
    pub acked: i64,
    pub fin_end: Option<i64>,
}

impl SendSequence {
    /// Return the offset of `seq`, and set the initial number at the first segment.
    ///
    /// The initial number is the SYN's own number, or the number before the first byte.
    pub fn offset_of(&mut self, seq: SeqNumber, is_syn: bool) -> i64 {
        if is_syn && self.initial.is_none() {
            self.initial = Some(seq);
        }
        let initial = self.initial_or_before(seq);
        seq.unwrapped(initial, self.next)
    }

    /// Return the offset of an ACK of this direction's data.
    pub fn offset_of_ack(&mut self, ack: SeqNumber) -> i64 {
        let initial = self.initial_or_before(ack);
        ack.unwrapped(initial, self.next.max(self.acked))
    }

    /// Return the offset of an ACK if the initial number is known, without setting it.
    #[must_use]
    pub fn known_offset_of_ack(&self, ack: SeqNumber) -> Option<i64> {
        Some(ack.unwrapped(self.initial?, self.next.max(self.acked)))
    }

    /// Return the offsets of the SACK blocks of this direction's data; 0 for edges before the initial number.
    pub fn offsets_of_sack(&self, blocks: &SackBlocks) -> Vec<u64> {
        let Some(initial) = self.initial else {
            return Vec::new();
        };
        let near = self.next.max(self.acked);
        let offset = |edge: SeqNumber| u64::try_from(edge.unwrapped(initial, near)).unwrap_or(0);
        let blocks = blocks.as_slice().iter();
        blocks
            .flat_map(|(left, right)| [offset(*left), offset(*right)])
            .collect()
    }

    /// Return the initial number; without a SYN, set it from `first_byte`, taken as the first byte sent.
    pub(crate) fn initial_or_before(&mut self, first_byte: SeqNumber) -> SeqNumber {
        if let Some(initial) = self.initial {
            return initial;
        }
        let initial = SeqNumber(first_byte.0.wrapping_sub(1));
        self.initial = Some(initial);
        self.next = 1;
        self.acked = 1;
        initial
    }

    /// Return the bytes in flight: sent and not acknowledged in the capture.
    #[must_use]
    pub fn flight_bytes(&self) -> u64 {
        u64::try_from(self.next.saturating_sub(self.acked)).unwrap_or(0)
    }
}
