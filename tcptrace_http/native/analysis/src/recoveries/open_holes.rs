//! Unfilled holes in the data of one side.

use super::hole::Hole;
use super::known::{KnownState, SentSegment};

/// Maximum number of holes in memory.
const HOLES_MAX: usize = 64;

#[derive(Debug, Default)]
pub(super) struct OpenHoles {
    holes: Vec<Hole>,
}

impl OpenHoles {
    pub(super) fn is_empty(&self) -> bool {
        self.holes.is_empty()
    }

    /// Record the hole before `sent`, if any, and the probe that `sent` may be.
    pub(super) fn add_before(
        &mut self,
        sent: &SentSegment,
        known: &KnownState,
        probe: Option<(i64, i64)>,
    ) {
        if sent.class.gap_before_bytes > 0 && self.holes.len() < HOLES_MAX {
            self.holes.push(Hole {
                start: known.next,
                end: sent.start,
                frame: sent.frame,
                time_ns: sent.time_ns,
                timestamp: sent.timestamp,
                identification: sent.identification,
                probe,
            });
        }
    }

    /// Remove the numbers from `start` to `end` from the holes, and return the first hole that had one of
    /// them.
    pub(super) fn take(&mut self, start: i64, end: i64) -> Option<Hole> {
        let mut taken = None;
        let mut left = Vec::new();
        for hole in self.holes.drain(..) {
            if hole.end <= start || end <= hole.start {
                left.push(hole);
                continue;
            }
            taken.get_or_insert(hole);
            let before = (hole.start, start.min(hole.end));
            let behind = (end.max(hole.start), hole.end);
            left.extend(
                [before, behind].into_iter().filter_map(|(start, end)| {
                    (start < end).then_some(Hole { start, end, ..hole })
                }),
            );
        }
        self.holes = left;
        taken
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.holes.len().saturating_mul(size_of::<Hole>())
    }
}
