//! SACK blocks of a direction, and D-SACK blocks among them.

use trace_model::{Segment, SeqNumber};

/// Left and right edge, as offsets of the data.
pub type Block = (i64, i64);

#[derive(Debug, Default)]
pub struct SelectiveAcks {
    pub segments: u64,
    pub duplicates: u64,
    pub blocks_max: u8,
}

impl SelectiveAcks {
    /// Count the blocks of a segment.
    pub fn count(&mut self, segment: &Segment<'_>) {
        let blocks = segment.options.sack.as_slice();
        if blocks.is_empty() {
            return;
        }
        self.segments = self.segments.saturating_add(1);
        self.blocks_max = self
            .blocks_max
            .max(u8::try_from(blocks.len()).unwrap_or(u8::MAX));
        self.duplicates = self
            .duplicates
            .saturating_add(u64::from(duplicate(segment).is_some()));
    }
}

/// Return the first block if it is a D-SACK: below the cumulative ACK, or inside the second block (RFC 2883,
/// section 4).
#[must_use]
pub fn duplicate(segment: &Segment<'_>) -> Option<(SeqNumber, SeqNumber)> {
    let blocks = segment.options.sack.as_slice();
    let (left, right) = *blocks.first()?;
    let below = !right.is_after(segment.ack);
    let inside = blocks
        .get(1)
        .is_some_and(|second| !second.0.is_after(left) && !right.is_after(second.1));
    (below || inside).then_some((left, right))
}

/// Return the offsets of a block; `ack` is the offset of the segment's own ACK.
#[must_use]
pub fn offsets(block: (SeqNumber, SeqNumber), segment: &Segment<'_>, ack: i64) -> Block {
    let offset = |edge: SeqNumber| ack.saturating_add(i64::from(edge.distance_from(segment.ack)));
    (offset(block.0), offset(block.1))
}
