//! Pseudo-random numbers, equal for equal seeds.

/// SplitMix64 (Steele, Lea and Flood 2014).
pub struct Numbers(u64);

impl Numbers {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Numbers(seed)
    }

    /// Seed the generator from all bytes of an input.
    #[must_use]
    pub fn of(input: &[u8]) -> Self {
        Numbers(input.iter().fold(0, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
        }))
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Return a number below `bound`, or 0 if `bound` is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.number() % (bound.max(1) as u64)) as usize
    }

    pub fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}
