//! The sequence numbers of one direction: what its sender has sent, and what its peer has acknowledged.

use trace_model::{SackBlocks, SeqNumber};

/// The send sequence variables (RFC 9293, section 3.3.1), as far as the capture shows them. Offsets are relative to
/// the initial sequence number and unwrapped: the SYN is 0, the first payload byte 1.
#[derive(Debug, Default)]
pub struct SendSequence {
    pub initial: Option<SeqNumber>,
    /// Offset after the last byte sent.
    pub next: i64,
    /// As far as the numbers of its ACKs tell that it has sent: what is beyond `next` did not come by.
    pub told_next: i64,
    /// Offset up to which the peer has acknowledged.
    pub acked: i64,
    pub fin_end: Option<i64>,
}

impl SendSequence {
    /// Offset of `seq`, fixing the initial number at the first segment seen: the SYN's own number,
    /// else the one before the first byte.
    pub fn offset_of(&mut self, seq: SeqNumber, is_syn: bool) -> i64 {
        if is_syn && self.initial.is_none() {
            self.initial = Some(seq);
        }
        let initial = self.initial_or_before(seq);
        seq.unwrapped(initial, self.next)
    }

    /// Offset of an acknowledgment of this direction's data.
    pub fn offset_of_ack(&mut self, ack: SeqNumber) -> i64 {
        let initial = self.initial_or_before(ack);
        ack.unwrapped(initial, self.next.max(self.acked))
    }

    /// The same, if the initial number is known, without fixing it.
    #[must_use]
    pub fn known_offset_of_ack(&self, ack: SeqNumber) -> Option<i64> {
        Some(ack.unwrapped(self.initial?, self.next.max(self.acked)))
    }

    /// Offsets of the edges of SACK blocks for this direction's data; 0 for those before the initial number.
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

    /// The initial number; if the SYN was not seen, `first_byte` is taken for the first byte sent.
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

    /// Bytes in flight: sent and not acknowledged, as far as the capture shows.
    #[must_use]
    pub fn flight_bytes(&self) -> u64 {
        u64::try_from(self.next.saturating_sub(self.acked)).unwrap_or(0)
    }
}
