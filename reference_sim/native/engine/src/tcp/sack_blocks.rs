//! The receiver's side of selective acknowledgment: data beyond a hole, and its reporting order (RFC 2018,
//! section 4; RFC 2883 for duplicates).

use crate::segment::SACK_BLOCKS;

/// Ranges beyond the next expected offset, the latest grown one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: Vec<(u64, u64)>,
    /// Duplicate data of the last segment, reported once.
    duplicate: Option<(u64, u64)>,
}

impl SackBlocks {
    /// Insert a segment beyond a hole. Its block becomes the first.
    pub fn insert(&mut self, start: u64, end: u64) {
        let is_known = self
            .blocks
            .iter()
            .any(|&(from, to)| from <= start && end <= to);
        if is_known {
            self.duplicate = Some((start, end));
        }
        let mut grown = (start, end);
        self.blocks.retain(|&(from, to)| {
            let touches = from <= grown.1 && grown.0 <= to;
            if touches {
                grown = (grown.0.min(from), grown.1.max(to));
            }
            !touches
        });
        self.blocks.insert(0, grown);
    }

    /// Record a segment whose bytes were all acknowledged before.
    pub fn repeated(&mut self, start: u64, end: u64) {
        self.duplicate = Some((start, end));
    }

    /// Fill the data up to `next`. Return the new end in order, including waiting data.
    pub fn fill(&mut self, next: u64) -> u64 {
        let mut reached = next;
        while let Some(at) = self.blocks.iter().position(|&(from, _)| from <= reached) {
            let (_, to) = self.blocks.remove(at);
            reached = reached.max(to);
        }
        reached
    }

    #[must_use]
    pub fn has_hole(&self) -> bool {
        !self.blocks.is_empty()
    }

    /// Return the blocks of the next ACK: a duplicate (once), then the most recent ones.
    pub fn report(&mut self) -> [(u64, u64); SACK_BLOCKS] {
        let mut report = [(0, 0); SACK_BLOCKS];
        let blocks = self
            .duplicate
            .take()
            .into_iter()
            .chain(self.blocks.iter().copied());
        for (slot, block) in report.iter_mut().zip(blocks) {
            *slot = block;
        }
        report
    }
}

/// Return true if the first block of an ACK reports a duplicate (RFC 2883, section 4).
#[must_use]
pub fn is_duplicate_report(ack: u64, blocks: &[(u64, u64); SACK_BLOCKS]) -> bool {
    let [first, second, _] = *blocks;
    let is_inside = |outer: (u64, u64)| outer.0 <= first.0 && first.1 <= outer.1;
    first != (0, 0) && (first.1 <= ack || is_inside(second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_that_grew_last_comes_first() {
        let mut blocks = SackBlocks::default();
        blocks.insert(2000, 3000);
        blocks.insert(5000, 6000);
        blocks.insert(3000, 4000);
        assert_eq!(blocks.report(), [(2000, 4000), (5000, 6000), (0, 0)]);
    }

    #[test]
    fn blocks_beyond_the_third_are_not_reported() {
        let mut blocks = SackBlocks::default();
        for start in [2000, 4000, 6000, 8000] {
            blocks.insert(start, start + 1000);
        }
        assert_eq!(blocks.report(), [(8000, 9000), (6000, 7000), (4000, 5000)]);
    }

    #[test]
    fn a_segment_that_joins_two_blocks_makes_them_one() {
        let mut blocks = SackBlocks::default();
        blocks.insert(2000, 3000);
        blocks.insert(4000, 5000);
        blocks.insert(3000, 4000);
        assert_eq!(blocks.report(), [(2000, 5000), (0, 0), (0, 0)]);
    }

    #[test]
    fn a_filled_hole_releases_the_data_after_it() {
        let mut blocks = SackBlocks::default();
        blocks.insert(4000, 5000);
        blocks.insert(2000, 3000);
        assert_eq!(blocks.fill(2000), 3000);
        assert!(blocks.has_hole());
        assert_eq!(blocks.fill(4000), 5000);
        assert!(!blocks.has_hole());
    }

    #[test]
    fn duplicates_are_reported_once_and_first() {
        let mut blocks = SackBlocks::default();
        blocks.insert(4000, 5000);
        blocks.repeated(1000, 2000);
        assert_eq!(blocks.report(), [(1000, 2000), (4000, 5000), (0, 0)]);
        assert_eq!(blocks.report(), [(4000, 5000), (0, 0), (0, 0)]);
        assert!(is_duplicate_report(
            3000,
            &[(1000, 2000), (4000, 5000), (0, 0)]
        ));
        assert!(is_duplicate_report(
            3000,
            &[(4000, 5000), (4000, 6000), (0, 0)]
        ));
        assert!(!is_duplicate_report(3000, &[(4000, 5000), (0, 0), (0, 0)]));
    }
}
