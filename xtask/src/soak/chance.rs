//! Random decisions from a seed.

use longhaul_eval::Random;

pub(super) struct Chance(Random);

impl Chance {
    /// The generator of one of many agents with the same seed.
    pub(super) fn of(seed: u64, number: u32) -> Self {
        let mut random = Random::new(seed ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        random.next_bits();
        Self(random)
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0.next_bits() % end.max(1)
    }

    pub(super) fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    /// An index in a list of that length.
    pub(super) fn place(&mut self, length: usize) -> usize {
        self.0.index(length)
    }
}
