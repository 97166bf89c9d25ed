//! Super-shingles: keys that two texts share if two of their groups of min-hashes are equal.
//!
//! A super-shingle is the hash of a group of min-hashes (Broder, Glassman, Manasse, Zweig:
//! "Syntactic clustering of the web", WWW 1997, section "Super shingles"). The rule "two equal
//! groups of six, each of fourteen min-hashes" follows Broder: "Identifying and filtering
//! near-duplicate documents", CPM 2000, and Fetterly, Manasse, Najork: "On the evolution of
//! clusters of near-duplicate web pages", LA-WEB 2003, who call a pair of groups a mega-shingle.
//! Two texts of Jaccard similarity J have a given group in common with probability p = J^14, and
//! share a key with probability 1 - (1-p)^6 - 6p(1-p)^5. This is strict: few candidates are wrong,
//! and many pairs near the threshold are missed.
//!
//! We differ in four points. Each min-hash has its own permutation, of 32 bits; the first paper
//! takes consecutive shingles of a sketch. Shingles are 5 characters by default, because words need
//! segmentation; `unit` selects words as in the papers. A key is a pair of groups, so that equal
//! keys find all texts with two equal groups. A text shorter than a shingle is one shingle.

use crate::text::features::Unit;
use crate::text::hash::{chain, finish};
use crate::text::signatures::text::{KEYS_MAX, Text};
use serde::{Deserialize, Serialize};

/// The version of these rules; part of a store's identity.
pub const VERSION: u32 = 1;

/// The most min-hashes.
const MINIMA_MAX: usize = 1024;
/// The longest shingle.
const SHINGLE_MAX: usize = 64;

/// A `super_shingles` entry of the job file's `[[signatures]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// What a shingle consists of: `characters`, or `words` as in the paper. Default: characters.
    pub unit: Unit,
    /// Characters or words in a shingle, at most 64. Default: 5.
    pub shingle: usize,
    /// Groups of min-hashes, 2 to 11. Default: 6.
    pub groups: usize,
    /// Min-hashes in a group. Default: 14.
    pub minima_per_group: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { unit: Unit::Characters, shingle: 5, groups: 6, minima_per_group: 14 }
    }
}

impl Options {
    /// Checks the values; the error names the key.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=SHINGLE_MAX).contains(&self.shingle) {
            return Err(format!("shingle: {} is not within 1 to {SHINGLE_MAX}", self.shingle));
        }
        if self.groups < 2 || self.groups.saturating_mul(self.groups - 1) / 2 > KEYS_MAX {
            return Err(format!("groups: {} makes no pair, or more than {KEYS_MAX}", self.groups));
        }
        if self.minima_per_group == 0
            || self.groups.saturating_mul(self.minima_per_group) > MINIMA_MAX
        {
            return Err(format!(
                "minima_per_group: {} of {} is none, or more than {MINIMA_MAX} in all",
                self.minima_per_group, self.groups
            ));
        }
        Ok(())
    }
}

/// Makes keys as the options say.
///
/// ```
/// use workers::text::signatures::super_shingles::{Options, SuperShingles};
/// use workers::text::signatures::{Shinglings, Text};
///
/// let (mut shinglings, mut keys) = (Shinglings::default(), Vec::new());
/// let mut maker = SuperShingles::new(&Options::default());
/// maker.keys(&mut Text::new("a short text", &[], &mut shinglings), &mut keys);
/// // The pairs of 6 groups.
/// assert_eq!(keys.len(), 6 * 5 / 2);
/// ```
#[derive(Clone, Debug)]
pub struct SuperShingles {
    options: Options,
    seeds: Vec<u32>,
    minima: Vec<u32>,
    shingles: Vec<u64>,
}

impl SuperShingles {
    /// A maker of keys by checked `options`.
    pub fn new(options: &Options) -> SuperShingles {
        let minima = options.groups * options.minima_per_group;
        // Rounded up to whole lanes. The surplus minima are computed and not used.
        let seeds = (0..minima.next_multiple_of(LANES) as u64)
            .map(|number| finish(number + 1) as u32)
            .collect();
        SuperShingles { options: options.clone(), seeds, minima: Vec::new(), shingles: Vec::new() }
    }

    /// Appends the keys of `text`, if it has a shingle.
    pub fn keys(&mut self, text: &mut Text<'_>, out: &mut Vec<u64>) {
        match self.options.unit {
            Unit::Characters => self.keys_of(text.set(self.options.shingle), out),
            Unit::Words => {
                let mut shingles = std::mem::take(&mut self.shingles);
                word_shingles(text.words, self.options.shingle, &mut shingles);
                self.keys_of(&shingles, out);
                self.shingles = shingles;
            }
        }
    }

    fn keys_of(&mut self, shingles: &[u64], out: &mut Vec<u64>) {
        if shingles.is_empty() {
            return;
        }
        minima(shingles, &self.seeds, &mut self.minima);
        let group = |at: usize| {
            let per_group = self.options.minima_per_group;
            self.minima[at * per_group..][..per_group].iter().copied().map(u64::from)
        };
        for second in 1..self.options.groups {
            for first in 0..second {
                out.push(chain((first << 8 | second) as u64, group(first).chain(group(second))));
            }
        }
    }
}

/// Writes the hash of every `length` consecutive words, or of all words if there are fewer.
fn word_shingles(words: &[u64], length: usize, out: &mut Vec<u64>) {
    out.clear();
    if !words.is_empty() {
        out.extend(
            words.windows(length.min(words.len())).map(|window| chain(0, window.iter().copied())),
        );
    }
}

/// Min-hashes computed together, so that the compiler uses vector registers.
const LANES: usize = 12;

/// Writes the minimum of `shingles` under the permutation of each seed.
fn minima(shingles: &[u64], seeds: &[u32], out: &mut Vec<u32>) {
    out.clear();
    let (lanes, _) = seeds.as_chunks::<LANES>();
    for seeds in lanes {
        let mut minima = [u32::MAX; LANES];
        for &shingle in shingles {
            for (minimum, seed) in minima.iter_mut().zip(seeds) {
                *minimum = (*minimum).min(permuted(shingle, *seed));
            }
        }
        out.extend(minima);
    }
}

/// The value of `shingle` under the permutation of `seed`. It has 32 bits, because vector registers
/// multiply numbers of 32 bits.
#[inline]
fn permuted(shingle: u64, seed: u32) -> u32 {
    let (low, high) = (shingle as u32, (shingle >> 32) as u32);
    let mut x = (high ^ low.rotate_left(7) ^ seed).wrapping_mul(0x9e37_79b1).wrapping_add(low);
    x = (x ^ (x >> 15)).wrapping_mul(0x85eb_ca77);
    x ^ (x >> 13)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::text::signatures::tests::{assert_binomial, keys_of, pair};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn maker(options: Options) -> SuperShingles {
        options.check().expect("sound");
        SuperShingles::new(&options)
    }

    fn keys(maker: &mut SuperShingles, shingles: &[u64]) -> Vec<u64> {
        let mut out = Vec::new();
        maker.keys_of(shingles, &mut out);
        out
    }

    /// Each min-hash of two sets agrees with probability J. With 500 pairs of 84 min-hashes 0.01 is
    /// four standard deviations.
    #[test]
    fn minima_agree_as_often_as_sets_overlap() {
        for (shared, own) in [(200, 25), (100, 100), (10, 5)] {
            let mut random = Random(shared);
            let maker = maker(Options::default());
            let (mut a, mut b, mut equal) = (Vec::new(), Vec::new(), 0);
            for _ in 0..500 {
                let (left, right) = pair(&mut random, shared, own);
                minima(&left, &maker.seeds, &mut a);
                minima(&right, &maker.seeds, &mut b);
                equal += a.iter().zip(&b).take(84).filter(|(a, b)| a == b).count();
            }
            let (seen, jaccard) =
                (equal as f64 / (84.0 * 500.0), shared as f64 / (shared + 2 * own) as f64);
            assert!(
                (seen - jaccard).abs() < 0.01,
                "{shared} shared, {own} own: {seen} for {jaccard}"
            );
        }
    }

    /// Two texts share a key with the published probability of two equal groups, for every seed.
    #[test]
    fn texts_share_keys_by_the_formula() {
        for (seed, (shared, own)) in (1..=2).flat_map(|seed| {
            [(98, 1), (95, 3), (90, 5), (80, 10), (60, 20)].map(|sizes| (seed, sizes))
        }) {
            let mut random = Random(seed);
            let mut maker = maker(Options::default());
            let trials = 1000;
            let met = (0..trials).filter(|_| {
                let (a, b) = pair(&mut random, shared, own);
                let b = keys(&mut maker, &b);
                keys(&mut maker, &a).iter().any(|key| b.contains(key))
            });
            let jaccard = shared as f64 / (shared + 2 * own) as f64;
            let p = jaccard.powi(14);
            let formula = 1.0 - (1.0 - p).powi(6) - 6.0 * p * (1.0 - p).powi(5);
            assert_binomial(
                met.count(),
                trials,
                formula,
                &format!("seed {seed}, J = {jaccard:.2}"),
            );
        }
    }

    proptest! {
        /// A key is shared if and only if two groups are equal, for any number and size of groups.
        #[test]
        fn a_key_is_two_groups(
            groups in 2usize..=11, minima_per_group in 1usize..4, a in prop::collection::vec(0u64..20, 1..12),
            b in prop::collection::vec(0u64..20, 1..12)
        ) {
            let mut maker = maker(Options { groups, minima_per_group, ..Options::default() });
            let left = keys(&mut maker, &a);
            let left_minima = maker.minima.clone();
            let right = keys(&mut maker, &b);
            let group = |minima: &[u32], at: usize| minima[at * minima_per_group..][..minima_per_group].to_vec();
            let equal = (0..groups).filter(|at| group(&left_minima, *at) == group(&maker.minima, *at)).count();
            let shared = left.iter().filter(|key| right.contains(key)).count();
            prop_assert_eq!(shared, equal * equal.saturating_sub(1) / 2);
            prop_assert_eq!(left.iter().collect::<BTreeSet<_>>().len(), groups * (groups - 1) / 2);
            prop_assert!(left.len() <= KEYS_MAX);
        }
    }

    /// With words as the unit only words and their order count. A short text is one shingle, and an
    /// empty one has no key.
    #[test]
    fn word_by_word() {
        let mut maker = maker(Options { unit: Unit::Words, shingle: 3, ..Options::default() });
        let mut sign = |words: &[u64]| keys_of("", words, |text, out| maker.keys(text, out));
        assert_eq!(sign(&[1, 2, 3, 4, 1, 2, 3, 4]), sign(&[1, 2, 3, 4, 1, 2, 3, 4, 1, 2]));
        assert_ne!(sign(&[1, 2]), sign(&[2, 1]));
        assert_eq!(sign(&[1, 2]).len(), 15);
        assert!(sign(&[]).is_empty());
    }
}
