//! MinHash: in come a text's shingles, out go keys of which two texts of Jaccard similarity J share one with
//! probability 1 - (1 - J^r)^b, b keys of r bins (Broder: "On the resemblance and containment of documents", SEQUENCES
//! 1997, theorem 1, for the minimum; Indyk, Motwani: "Approximate nearest neighbors", STOC 1998, section 4.2 on
//! locality-sensitive hashing, for the keys). One permutation serves all bins (Li, Owen, Zhang: "One permutation
//! hashing", NIPS 2012); an empty bin borrows from a filled one by a sequence that depends on the bin alone,
//! so that two bins still agree with probability J (Shrivastava: "Optimal densification for fast and accurate minwise
//! hashing", ICML 2017, its algorithm 1).
//!
//! We differ: the permutation is the shingles' own hash and not drawn, so that keys stay; a value has 31 bits, of which
//! two of different shingles agree once in 2^31 times; a borrowed value is shifted by the lender's number and so differs
//! from the lender's own.
//!
//! Shingles are 5 characters, and 2 with their repetitions where the text is shorter than 128; from 64 to 127 both, so
//! that texts on either side of a limit still meet.

use super::hash::{chain, finish};
use super::{KEYS_MAX, Text};
use serde::{Deserialize, Serialize};

/// The version of these rules; part of a store's identity.
pub const VERSION: u32 = 1;

/// A text's shingles are this long, in letters and digits ...
const CHARACTERS: usize = 5;
/// ... from this length of the text on ...
const LONG_FROM: usize = 64;
/// ... and this long ...
const SHORT_CHARACTERS: usize = 2;
/// ... below this one.
const SHORT_BELOW: usize = 128;

/// The most bins.
const BINS_MAX: usize = 128;

/// A `minhash` entry of the job file's `[[signatures]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Bins, at most 128. Default: 24.
    pub bins: usize,
    /// Bins that make a key; divides `bins` into at most 32 keys. Default: 4.
    pub bins_per_key: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { bins: 24, bins_per_key: 4 }
    }
}

impl Options {
    /// What is wrong with the values, naming the key.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=BINS_MAX).contains(&self.bins) {
            return Err(format!("bins: {} is not within 1 to {BINS_MAX}", self.bins));
        }
        if self.bins_per_key == 0 || !self.bins.is_multiple_of(self.bins_per_key) {
            return Err(format!("bins_per_key: {} does not divide bins = {}", self.bins_per_key, self.bins));
        }
        // A text of middling length has the keys of both shingles.
        let most = KEYS_MAX / 2;
        if self.bins / self.bins_per_key > most {
            return Err(format!("bins_per_key: {} makes more than {most} keys", self.bins_per_key));
        }
        Ok(())
    }
}

/// Makes keys as the options say.
#[derive(Clone, Debug)]
pub struct MinHash {
    options: Options,
    bins: Vec<u32>,
}

impl MinHash {
    /// A maker of keys; `options` are checked.
    pub fn new(options: &Options) -> MinHash {
        MinHash { options: options.clone(), bins: Vec::new() }
    }

    /// Pushes the keys of `text`; none if it has no letter or digit.
    pub fn keys(&mut self, text: &mut Text<'_>, out: &mut Vec<u64>) {
        let characters = text.characters(SHORT_BELOW);
        if characters >= LONG_FROM {
            self.keys_of(text.set(CHARACTERS), CHARACTERS, out);
        }
        if characters < SHORT_BELOW {
            self.keys_of(text.multiset(SHORT_CHARACTERS), SHORT_CHARACTERS, out);
        }
    }

    fn keys_of(&mut self, shingles: &[u64], length: usize, out: &mut Vec<u64>) {
        if shingles.is_empty() {
            return;
        }
        fill(shingles, self.options.bins, &mut self.bins);
        for (number, bins) in (0u64..).zip(self.bins.chunks_exact(self.options.bins_per_key)) {
            out.push(chain((length as u64) << 32 | number, bins.iter().copied().map(u64::from)));
        }
    }
}

/// Writes the `count` bins of a set of hashes, of which there is at least one, to `bins`.
fn fill(hashes: &[u64], count: usize, bins: &mut Vec<u32>) {
    bins.clear();
    bins.resize(count, u32::MAX);
    for &hash in hashes {
        // The top 24 bits choose the bin, the low 32 compete in it.
        let bin = &mut bins[(((hash >> 40) * count as u64) >> 24) as usize];
        *bin = (*bin).min(hash as u32 >> 1);
    }
    // A value has 31 bits, so that u32::MAX is none.
    let filled = bins.iter().enumerate().fold(0u128, |filled, (at, bin)| filled | u128::from(*bin != u32::MAX) << at);
    for bin in (0..count).filter(|bin| filled >> bin & 1 == 0) {
        let lender = lender(bin, count, filled);
        bins[bin] = bins[lender].wrapping_add(7919 * lender as u32);
    }
}

/// The filled bin that lends to the empty `bin`: the first filled one of a sequence drawn for `bin`. A sequence that
/// finds none in 4096 draws, where one of 128 bins is missed once in 10^13, falls back on the first one filled.
fn lender(bin: usize, count: usize, filled: u128) -> usize {
    (0..4096u64)
        .map(|draw| (finish((bin as u64) << 32 | draw) % count as u64) as usize)
        .find(|at| filled >> at & 1 == 1)
        .unwrap_or(filled.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{assert_binomial, keys_of, pair};
    use super::*;
    use crate::random::Random;
    use proptest::prelude::*;

    fn keys(shingles: &[u64]) -> Vec<u64> {
        let mut out = Vec::new();
        MinHash::new(&Options::default()).keys_of(shingles, CHARACTERS, &mut out);
        out
    }

    fn bins(shingles: &[u64]) -> Vec<u32> {
        let mut bins = Vec::new();
        fill(shingles, 24, &mut bins);
        bins
    }

    /// Two bins agree with probability J, be the sets large or too small to fill the bins. 4000 pairs of 24 bins: an
    /// error of 0.02 is six standard deviations of the smallest set, whose bins depend on each other.
    #[test]
    fn bins_agree_as_often_as_sets_overlap() {
        for (shared, own) in [(800, 100), (300, 300), (8, 1), (6, 6), (30, 5)] {
            let mut random = Random(shared * 1000 + own);
            let trials = 4000;
            let mut equal = 0;
            for _ in 0..trials {
                let (a, b) = pair(&mut random, shared, own);
                equal += bins(&a).iter().zip(bins(&b)).filter(|(a, b)| *a == b).count();
            }
            let (seen, jaccard) = (equal as f64 / (24 * trials) as f64, shared as f64 / (shared + 2 * own) as f64);
            assert!((seen - jaccard).abs() < 0.02, "{shared} shared, {own} own: {seen} for {jaccard}");
        }
    }

    /// A key of two texts is equal with probability J^4, and one of six is with 1 - (1 - J^4)^6, whatever the seed. The six
    /// share one permutation, which is no matter for large sets.
    #[test]
    fn keys_meet_by_the_formula() {
        for (seed, (shared, own)) in
            (1..=3).flat_map(|seed| [(900, 50), (800, 100), (600, 200), (400, 300), (50, 5)].map(|sizes| (seed, sizes)))
        {
            let mut random = Random(seed);
            let trials = 2000;
            let (mut first, mut met) = (0, 0);
            for _ in 0..trials {
                let (a, b) = pair(&mut random, shared, own);
                let equal: Vec<bool> = keys(&a).iter().zip(keys(&b)).map(|(a, b)| *a == b).collect();
                first += usize::from(equal[0]);
                met += usize::from(equal.contains(&true));
            }
            let jaccard = shared as f64 / (shared + 2 * own) as f64;
            let p = jaccard.powi(4);
            assert_binomial(first, trials, p, &format!("seed {seed}, J = {jaccard:.2}, the first key"));
            // Bins of a small set agree or not together: there the formula is for large sets only.
            if shared + 2 * own >= 1000 {
                let any = 1.0 - (1.0 - p).powi(6);
                assert_binomial(met, trials, any, &format!("seed {seed}, J = {jaccard:.2}, any key"));
            }
        }
    }

    proptest! {
        /// Neither the order of shingles nor a repeated one changes a key, and no two of a text's keys are equal.
        #[test]
        fn a_set_has_its_keys(mut shingles in prop::collection::vec(any::<u64>(), 1..200)) {
            let before = keys(&shingles);
            shingles.reverse();
            shingles.push(shingles[0]);
            prop_assert_eq!(&before, &keys(&shingles));
            let mut distinct = before;
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), 6);
        }
    }

    /// Twins whose lengths lie on either side of a limit share a key, as longer and shorter ones do.
    #[test]
    fn no_cliff_between_shingles() {
        let mut random = Random(5);
        let letters: Vec<char> = (0..200).filter_map(|_| char::from_u32(0x4e00 + random.below(8000) as u32)).collect();
        for length in [20, 62, 63, 64, 100, 126, 127, 128, 150] {
            let text = |length: usize| letters[..length].iter().collect::<String>();
            let mut signer = MinHash::new(&Options::default());
            let mut sign = |length: usize| keys_of(&text(length), &[], |text, out| signer.keys(text, out));
            let (shorter, longer) = (sign(length), sign(length + 1));
            assert!(shorter.iter().any(|key| longer.contains(key)), "{length} and one more");
            assert_eq!(shorter.len(), if (64..128).contains(&length) { 12 } else { 6 });
        }
        assert!(keys_of("!?", &[], |text, out| MinHash::new(&Options::default()).keys(text, out)).is_empty());
    }
}
