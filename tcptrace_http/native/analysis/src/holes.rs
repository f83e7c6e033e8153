//! The holes in what was seen of a direction: numbers that were passed over.

/// Holes that are remembered; a path with more than this many open losses is beyond telling.
const HOLES_MAX: usize = 256;

#[derive(Debug, Default)]
pub struct Holes {
    /// Ascending, not touching.
    open: Vec<(i64, i64)>,
    forgotten_bytes: u64,
}

impl Holes {
    /// The numbers from `start` to `end` were passed over; they lie behind all earlier ones.
    pub fn add(&mut self, start: i64, end: i64) {
        if self.open.len() >= HOLES_MAX {
            let (start, end) = self.open.remove(0);
            self.forgotten_bytes = self.forgotten_bytes.saturating_add(end.abs_diff(start));
        }
        self.open.push((start, end));
    }

    /// Whether any number from `start` to `end` is in a hole.
    #[must_use]
    pub fn touches(&self, start: i64, end: i64) -> bool {
        self.open.iter().any(|hole| hole.0 < end && start < hole.1)
    }

    /// The numbers from `start` to `end` were seen after all; how many of them were missing.
    pub fn fill(&mut self, start: i64, end: i64) -> u64 {
        if self.open.is_empty() {
            return 0;
        }
        let mut filled = 0_u64;
        let mut left = Vec::with_capacity(self.open.len());
        for (from, to) in self.open.drain(..) {
            let (shared_from, shared_to) = (from.max(start), to.min(end));
            if shared_from >= shared_to {
                left.push((from, to));
                continue;
            }
            filled = filled.saturating_add(shared_to.abs_diff(shared_from));
            left.extend(
                [(from, shared_from), (shared_to, to)]
                    .into_iter()
                    .filter(|part| part.0 < part.1),
            );
        }
        self.open = left;
        filled
    }

    /// Where the first of them begins.
    #[must_use]
    pub fn first_start(&self) -> Option<i64> {
        self.open.first().map(|hole| hole.0)
    }

    /// Bytes that are still missing.
    #[must_use]
    pub fn missing_bytes(&self) -> u64 {
        let open = self.open.iter().map(|(start, end)| end.abs_diff(*start));
        open.fold(self.forgotten_bytes, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_is_filled_once() {
        let mut holes = Holes::default();
        holes.add(100, 200);
        holes.add(300, 350);
        assert!(holes.touches(150, 160));
        assert_eq!(holes.fill(150, 320), 70);
        assert_eq!(holes.fill(150, 320), 0);
        assert_eq!(holes.missing_bytes(), 80);
        assert!(!holes.touches(150, 320));
    }
}
