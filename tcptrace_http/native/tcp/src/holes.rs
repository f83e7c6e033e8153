//! Holes in the captured data of a direction: sequence numbers that were skipped.

/// Maximum number of holes in memory.
const HOLES_MAX: usize = 256;

/// Range of sequence numbers that were skipped.
#[derive(Clone, Copy, Debug)]
pub struct Hole {
    pub start: i64,
    pub end: i64,
    /// Frame of the segment behind the hole; the statistics do not need it.
    pub frame: Option<u64>,
}

impl Hole {
    /// Return the number of missing bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.end.abs_diff(self.start)
    }
}

/// Holes of one direction.
#[derive(Debug, Default)]
pub struct Holes {
    /// Holes in ascending order, disjoint and not adjacent.
    open: Vec<Hole>,
    forgotten_bytes: u64,
}

impl Holes {
    /// Add a hole behind all earlier holes.
    pub fn add(&mut self, hole: Hole) {
        if self.open.len() >= HOLES_MAX {
            let forgotten = self.open.remove(0);
            self.forgotten_bytes = self.forgotten_bytes.saturating_add(forgotten.bytes());
        }
        self.open.push(hole);
    }

    /// Return the parts of open holes below `acked`: the peer received these bytes, the capture lost them.
    pub fn acknowledged(&self, acked: i64) -> impl Iterator<Item = Hole> + '_ {
        self.open
            .iter()
            .map(move |hole| Hole {
                end: hole.end.min(acked),
                ..*hole
            })
            .filter(|hole| hole.start < hole.end)
    }

    /// Return whether a number from `start` to `end` is in a hole.
    #[must_use]
    pub fn touches(&self, start: i64, end: i64) -> bool {
        self.open
            .iter()
            .any(|hole| hole.start < end && start < hole.end)
    }

    /// Mark the numbers from `start` to `end` as seen, and return the number of missing bytes among them.
    pub fn fill(&mut self, start: i64, end: i64) -> u64 {
        if self.open.is_empty() {
            return 0;
        }
        let mut filled = 0_u64;
        let mut left = Vec::with_capacity(self.open.len());
        for hole in self.open.drain(..) {
            let (shared_start, shared_end) = (hole.start.max(start), hole.end.min(end));
            if shared_start >= shared_end {
                left.push(hole);
                continue;
            }
            filled = filled.saturating_add(shared_end.abs_diff(shared_start));
            let before = Hole {
                end: shared_start,
                ..hole
            };
            let after = Hole {
                start: shared_end,
                ..hole
            };
            left.extend(
                [before, after]
                    .into_iter()
                    .filter(|part| part.start < part.end),
            );
        }
        self.open = left;
        filled
    }

    /// Return the bytes that are still missing.
    #[must_use]
    pub fn missing_bytes(&self) -> u64 {
        let open = self.open.iter().map(Hole::bytes);
        open.fold(self.forgotten_bytes, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hole(start: i64, end: i64) -> Hole {
        Hole {
            start,
            end,
            frame: None,
        }
    }

    #[test]
    fn only_acknowledged_parts_of_a_hole_were_on_the_wire() {
        let mut holes = Holes::default();
        holes.add(hole(100, 200));
        holes.add(hole(300, 350));
        let bytes = |acked| {
            holes
                .acknowledged(acked)
                .map(|hole| hole.bytes())
                .collect::<Vec<_>>()
        };
        assert_eq!(bytes(100), []);
        assert_eq!(bytes(310), [100, 10]);
        assert_eq!(bytes(900), [100, 50]);
    }

    #[test]
    fn a_hole_is_filled_once() {
        let mut holes = Holes::default();
        holes.add(hole(100, 200));
        holes.add(hole(300, 350));
        assert!(holes.touches(150, 160));
        assert_eq!(holes.fill(150, 320), 70);
        assert_eq!(holes.fill(150, 320), 0);
        assert_eq!(holes.missing_bytes(), 80);
        assert!(!holes.touches(150, 320));
    }
}
