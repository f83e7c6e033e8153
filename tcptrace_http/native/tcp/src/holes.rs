//! The holes in what was seen of a direction: numbers that were passed over.

/// Holes that are remembered; a path with more than this many open losses is beyond telling.
const HOLES_MAX: usize = 256;

/// Numbers that were passed over.
#[derive(Clone, Copy, Debug)]
pub struct Hole {
    pub start: i64,
    pub end: i64,
    /// Frame of the segment behind it; the statistics do not ask for it.
    pub frame: Option<u64>,
}

impl Hole {
    /// How many bytes are missing.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.end.abs_diff(self.start)
    }
}

/// The holes of one direction.
#[derive(Debug, Default)]
pub struct Holes {
    /// Ascending, not touching.
    open: Vec<Hole>,
    forgotten_bytes: u64,
}

impl Holes {
    /// The numbers of `hole` were passed over; they lie behind all earlier ones.
    pub fn add(&mut self, hole: Hole) {
        if self.open.len() >= HOLES_MAX {
            let forgotten = self.open.remove(0);
            self.forgotten_bytes = self.forgotten_bytes.saturating_add(forgotten.bytes());
        }
        self.open.push(hole);
    }

    /// What is open of the holes below `acked`: the peer has got it, so it was on the wire.
    pub fn acknowledged(&self, acked: i64) -> impl Iterator<Item = Hole> + '_ {
        self.open
            .iter()
            .map(move |hole| Hole {
                end: hole.end.min(acked),
                ..*hole
            })
            .filter(|hole| hole.start < hole.end)
    }

    /// Whether any number from `start` to `end` is in a hole.
    #[must_use]
    pub fn touches(&self, start: i64, end: i64) -> bool {
        self.open
            .iter()
            .any(|hole| hole.start < end && start < hole.end)
    }

    /// The numbers from `start` to `end` were seen after all; how many of them were missing.
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

    /// Bytes that are still missing.
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
    fn only_what_was_acknowledged_of_a_hole_was_on_the_wire() {
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
