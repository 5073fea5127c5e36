//! A small seeded generator (splitmix64): baselines and intervals are the same in every run.

#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next_bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A position in a list of `len` entries; 0 for an empty one.
    pub fn index(&mut self, len: usize) -> usize {
        let len = len.max(1) as u64;
        usize::try_from(self.next_bits() % len).unwrap_or(0)
    }
}
