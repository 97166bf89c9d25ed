//! Random numbers that are the same on every machine, for tests, examples and benchmarks.
//!
//! SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). Recorded
//! data such as the demo crawl is made of these numbers, so they never change. Never for secrets.
#![allow(dead_code, reason = "each crate that includes this file uses a part of it")]

/// A stream of pseudo-random numbers that begins with this state.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The stream of thing number `index` of `seed`; streams of neighbours are unrelated.
    pub fn of(seed: u64, index: u64) -> Random {
        Random(mix(mix(seed) ^ index))
    }

    /// A stream that no other run has, or the one of `PAGEFOLD_SEED`. Prints its seed.
    pub fn seeded() -> Random {
        let seed = match std::env::var("PAGEFOLD_SEED") {
            Ok(text) => {
                text.parse().unwrap_or_else(|error| panic!("PAGEFOLD_SEED={text}: {error}"))
            }
            Err(_) => std::process::id().into(),
        };
        println!("PAGEFOLD_SEED={seed}");
        Random(seed)
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, which must be above 0; the bias is below 2^-32 for small bounds.
    pub fn below<N: TryInto<u64> + TryFrom<u64>>(&mut self, bound: N) -> N {
        let bound =
            bound.try_into().ok().filter(|bound: &u64| *bound > 0).expect("a bound above 0");
        let number = ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64;
        N::try_from(number).ok().expect("a number below a bound fits its type")
    }

    /// True with probability `share` (0.0 to 1.0).
    pub fn chance(&mut self, share: f64) -> bool {
        self.share() < share
    }

    /// A number in [0, 1).
    pub fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Printable ASCII that hardly compresses, so that a compressed copy is about as long.
    pub fn ascii(&mut self, bytes: usize) -> Vec<u8> {
        (0..bytes).map(|_| b'!' + self.below(94u8)).collect()
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
    /// The stream is SplitMix64's: the reference implementation's first numbers for seed 1234567.
    #[test]
    fn equals_the_published_stream() {
        let mut random = super::Random(1_234_567);
        assert_eq!(random.next(), 6_457_827_717_110_365_317);
        assert_eq!(random.next(), 3_203_168_211_198_807_973);
    }
}
