//! Seeded random numbers: SplitMix64 (Steele, Lea, Flood 2014). All randomness of a simulation comes from one
//! generator.

/// A generator; see the module.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end
    }

    /// An index below `len`, which is not 0.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// True with a probability of one in `count`.
    pub fn one_in(&mut self, count: usize) -> bool {
        self.index(count) == 0
    }

    /// True with a probability of `chance` in a thousand.
    pub fn per_mille(&mut self, chance: u32) -> bool {
        self.below(1000) < u64::from(chance)
    }

    /// Picks an element of `of`.
    pub fn choose<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.index(of.len())]
    }
}
