//! Chance that can be repeated: in comes a seed, out come numbers that are the same on every machine. SplitMix64 (Steele,
//! Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). Never for secrets.

/// A stream of pseudo-random numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The stream of `seed` for thing number `index`, unrelated to that of its neighbours.
    pub fn of(seed: u64, index: u64) -> Random {
        Random { state: mix(mix(seed) ^ index) }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// A number below `bound`, which must not be 0; the bias of the multiplication is below 2^-32 for small bounds.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.bits()) * bound as u128) >> 64) as usize
    }

    /// True with probability `share` (0.0 to 1.0).
    pub fn chance(&mut self, share: f64) -> bool {
        self.share() < share
    }

    /// A number in [0, 1).
    pub fn share(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// SplitMix64's finalizer, a bijection of 64 bits.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_published_stream() {
        // The stream is SplitMix64's own: the reference implementation's first numbers for seed 1234567.
        let mut random = Random { state: 1_234_567 };
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }
}
