//! Random numbers: one stream an element, the same on every machine.

use rand_pcg::rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::scenario::Law;

/// The numbers of the elements that have a stream of their own.
pub mod element {
    /// Applications by number; the kinds of the others stand above 32 bits.
    #[must_use]
    pub fn application(number: u32) -> u64 {
        u64::from(number)
    }

    /// The initial sequence numbers.
    pub const SEQUENCE_NUMBERS: u64 = 1 << 32;

    /// Where a node's IP identification starts.
    #[must_use]
    pub fn node(number: u32) -> u64 {
        2 << 32 | u64::from(number)
    }

    /// A cause of loss of a link.
    #[must_use]
    pub fn loss(link: u32, number: u32) -> u64 {
        (3 + u64::from(number)) << 32 | u64::from(link)
    }
}

/// A stream of random numbers. Streams of one seed with different elements are independent.
#[derive(Clone, Debug)]
pub struct Random(Pcg64Mcg);

/// 2^53: the number of floats of equal distance in [0, 1).
const STEPS: f64 = 9_007_199_254_740_992.0;

impl Random {
    #[must_use]
    pub fn new(seed: u64, element: u64) -> Self {
        let mut bytes = [0; 16];
        let words = [seed, element].map(u64::to_le_bytes);
        for (to, from) in bytes.iter_mut().zip(words.iter().flatten()) {
            *to = *from;
        }
        let mut mixed = Pcg64Mcg::from_seed(bytes);
        // Neighbouring seeds give neighbouring first states; what they give is mixed well.
        let state = [mixed.next_u64(), mixed.next_u64()].map(u64::to_le_bytes);
        for (to, from) in bytes.iter_mut().zip(state.iter().flatten()) {
            *to = *from;
        }
        Random(Pcg64Mcg::from_seed(bytes))
    }

    /// A number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / STEPS
    }

    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub fn draw(&mut self, law: &Law) -> u64 {
        match *law {
            Law::Constant { value } => value,
            Law::Uniform { low, high } => {
                let span = high.saturating_sub(low) as f64 + 1.0;
                low.saturating_add((self.uniform() * span) as u64).min(high)
            }
            Law::Exponential { mean } => rounded(-mean * libm::log(1.0 - self.uniform())),
            Law::Pareto { scale, shape, max } => {
                rounded(scale / libm::pow(1.0 - self.uniform(), 1.0 / shape)).min(max)
            }
        }
    }
}

fn rounded(value: f64) -> u64 {
    libm::round(value) as u64
}
