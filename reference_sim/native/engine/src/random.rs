//! Random numbers: one stream per element, equal on every machine.

use rand_pcg::rand_core::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::scenario::Law;

/// Numbers of the elements with their own stream.
pub mod element {
    use crate::truth::Side;

    /// Return the element of an application. Other kinds of elements are above 32 bits.
    #[must_use]
    pub fn application(number: u32) -> u64 {
        u64::from(number)
    }

    /// Element of the initial sequence numbers.
    pub const SEQUENCE_NUMBERS: u64 = 1 << 32;

    /// Return the element of a node, which gives the start of its IP identification.
    #[must_use]
    pub fn node(number: u32) -> u64 {
        2 << 32 | u64::from(number)
    }

    /// Return the element of one end of a connection: the random choices of its TCP.
    #[must_use]
    pub fn end(connection: u32, side: Side) -> u64 {
        1 << 62 | (side as u64) << 61 | u64::from(connection)
    }

    /// Return the element of a link's loss cause.
    #[must_use]
    pub fn loss(link: u32, number: u32) -> u64 {
        (3 + u64::from(number)) << 32 | u64::from(link)
    }
}

/// A stream of random numbers. Streams with one seed and different elements are independent.
#[derive(Clone, Debug)]
pub struct Random(Pcg64Mcg);

/// 2^53: the number of equidistant floats in [0, 1).
const STEPS: f64 = 9_007_199_254_740_992.0;

impl Random {
    #[must_use]
    pub fn new(seed: u64, element: u64) -> Self {
        let mut bytes = [0; 16];
        // The generator makes its state odd and ignores the last bit. The last bit of the seed therefore goes
        // to a bit that no element uses. Otherwise, seeds 2 n and 2 n + 1 would be equal.
        let words = [seed, element ^ (!seed & 1) << 31].map(u64::to_le_bytes);
        for (to, from) in bytes.iter_mut().zip(words.iter().flatten()) {
            *to = *from;
        }
        let mut mixed = Pcg64Mcg::from_seed(bytes);
        // Neighbouring seeds give neighbouring first states, so the state comes from the mixed output.
        let state = [mixed.next_u64(), mixed.next_u64()].map(u64::to_le_bytes);
        for (to, from) in bytes.iter_mut().zip(state.iter().flatten()) {
            *to = *from;
        }
        Random(Pcg64Mcg::from_seed(bytes))
    }

    /// Return a number in [0, 1).
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::truth::Side;

    #[test]
    fn neighbouring_seeds_and_elements_have_streams_of_their_own() {
        let elements = (0..8)
            .flat_map(|number| [element::application(number), element::node(number)])
            .chain((0..8).flat_map(|link| [element::loss(link, 0), element::loss(link, 1)]))
            .chain((0..8).flat_map(|number| {
                [Side::Client, Side::Server].map(|side| element::end(number, side))
            }))
            .chain([element::SEQUENCE_NUMBERS]);
        let elements: Vec<u64> = elements.collect();
        let (mut firsts, mut streams) = (BTreeSet::new(), 0);
        for seed in (0..64).chain(u64::MAX - 8..=u64::MAX) {
            for element in &elements {
                streams += 1;
                firsts.insert(Random::new(seed, *element).word());
            }
        }
        assert_eq!(firsts.len(), streams);
    }

    #[test]
    fn streams_of_neighbouring_seeds_are_uncorrelated() {
        let numbers = |seed| {
            let mut random = Random::new(seed, 1);
            (0..4096).map(move |_| random.uniform() - 0.5)
        };
        for seed in 0..16 {
            // The covariance of two uniform numbers: 1/12 if they are equal, about 0 if they are independent.
            let products = numbers(seed).zip(numbers(seed + 1)).map(|(a, b)| a * b);
            let covariance = products.sum::<f64>() / 4096.0;
            assert!(covariance.abs() < 0.006, "{seed}: {covariance}");
        }
    }
}
