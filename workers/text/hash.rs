//! Hashes of hashes: in come 64-bit numbers, out goes one of them. Arithmetic alone, so that a key is the same on every
//! machine.

use std::hash::{BuildHasherDefault, Hasher};

/// A bijection of 64 bits that spreads every input bit over all output bits (MurmurHash3's finaliser).
pub fn finish(mut x: u64) -> u64 {
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// The hash of `values` in their order, begun with `seed`.
pub fn chain(seed: u64, values: impl IntoIterator<Item = u64>) -> u64 {
    values
        .into_iter()
        .fold(finish(seed), |hash, value| finish(hash.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ value))
}

/// Hasher of tables whose keys are hashes already. Only for tables that no text of a crawl fills.
#[derive(Default)]
pub struct AsIs(u64);

/// Builds [`AsIs`].
pub type BuildAsIs = BuildHasherDefault<AsIs>;

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| finish(hash ^ u64::from(*byte)));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seed, values, their order and their number all matter.
    #[test]
    fn chain_tells_apart() {
        let all =
            [chain(0, [1, 2]), chain(1, [1, 2]), chain(0, [2, 1]), chain(0, [1]), chain(0, [1, 2, 0]), chain(0, [])];
        let mut distinct = all.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), all.len());
    }

    /// A bit flipped in the input flips about half of the output's.
    #[test]
    fn avalanche() {
        for bit in 0..64 {
            let flipped: u32 =
                (0..256u64).map(|x| (chain(7, [x, 5]) ^ chain(7, [x ^ (1 << bit), 5])).count_ones()).sum();
            assert!((28 * 256..36 * 256).contains(&flipped), "bit {bit}: {flipped} of {}", 64 * 256);
        }
    }
}
