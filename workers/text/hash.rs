//! Hashes numbers that are hashes already.
//!
//! These hashes are part of keys that stores keep, so they must never change. They are defined by
//! arithmetic alone, because the hash of a library may change.

use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

/// 2^64 divided by the golden ratio, made odd. Its multiples spread evenly over 64 bits (Knuth:
/// "The Art of Computer Programming", volume 3, section 6.4).
pub const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

/// The finaliser of MurmurHash3: a bijection of 64 bits in which every input bit affects every
/// output bit.
pub fn finish(x: u64) -> u64 {
    let x = half_finish(x).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    x ^ (x >> 33)
}

/// The first half of [`finish`], a bijection too. It suffices where only the low bits are used.
#[inline]
pub fn half_finish(x: u64) -> u64 {
    let x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x ^ (x >> 33)
}

/// The hash of a sequence of `values`, different for every `seed`.
pub fn chain(seed: u64, values: impl IntoIterator<Item = u64>) -> u64 {
    let add = |hash: u64, value| finish(hash.wrapping_mul(GOLDEN_RATIO).rotate_left(23) ^ value);
    values.into_iter().fold(finish(seed), add)
}

/// Numbers of eight bytes each, the last one with zeros behind it.
fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks(size_of::<u64>()).map(|part| {
        let mut number = [0; size_of::<u64>()];
        number[..part.len()].copy_from_slice(part);
        u64::from_le_bytes(number)
    })
}

/// The hasher of maps whose keys are hashes already, or words of the program's own lists.
///
/// Only for maps that are not filled from texts of a crawl: an attacker could choose keys that fall
/// into one slot.
#[derive(Default)]
pub struct AsIs(u64);

/// The builder of [`AsIs`].
pub type BuildAsIs = BuildHasherDefault<AsIs>;

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = numbers(bytes).fold(self.0, |hash, n| finish(hash ^ n));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

/// The hasher of maps whose keys are digests of texts. Each map has a random seed, so that an
/// author of texts cannot choose keys that fall into one slot.
pub struct Seeded(u64);

/// The builder of [`Seeded`].
#[derive(Clone)]
pub struct BuildSeeded(u64);

impl Default for BuildSeeded {
    fn default() -> BuildSeeded {
        BuildSeeded(RandomState::new().hash_one(GOLDEN_RATIO))
    }
}

impl BuildHasher for BuildSeeded {
    type Hasher = Seeded;

    fn build_hasher(&self) -> Seeded {
        Seeded(self.0)
    }
}

impl Hasher for Seeded {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        numbers(bytes).for_each(|n| self.write_u64(n));
    }

    fn write_u64(&mut self, n: u64) {
        self.0 = finish(self.0 ^ n);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The seed, the values, their order and their number all change the hash.
    #[test]
    fn chain_depends_on_everything() {
        let all = [
            chain(0, [1, 2]),
            chain(1, [1, 2]),
            chain(0, [2, 1]),
            chain(0, [1]),
            chain(0, [1, 2, 0]),
            chain(0, []),
        ];
        let mut distinct = all.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), all.len());
    }

    /// A flipped bit of the input flips about half of the bits of the output.
    #[test]
    fn avalanche() {
        for bit in 0..64 {
            let flipped: u32 = (0..256u64)
                .map(|x| (chain(7, [x, 5]) ^ chain(7, [x ^ (1 << bit), 5])).count_ones())
                .sum();
            assert!(
                (28 * 256..36 * 256).contains(&flipped),
                "bit {bit}: {flipped} of {}",
                64 * 256
            );
        }
    }
}
