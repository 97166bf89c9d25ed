//! MinHash: keys that two texts share with a probability that rises steeply with their similarity.
//!
//! Two texts of Jaccard similarity J share one of b keys of r bins each with probability 1 - (1 -
//! J^r)^b. The minimum of a bin is from Broder: "On the resemblance and containment of documents",
//! SEQUENCES 1997, theorem 1; keys of several bins are from Indyk, Motwani: "Approximate nearest
//! neighbors", STOC 1998, section 4.2. One permutation serves all bins (Li, Owen, Zhang: "One
//! permutation hashing", NIPS 2012). An empty bin borrows the value of a filled one, which it finds
//! by a sequence that depends on the bin alone, so that two bins still agree with probability J
//! (Shrivastava: "Optimal densification for fast and accurate minwise hashing", ICML 2017,
//! algorithm 1).
//!
//! We differ in four points. The permutation is the shingles' hash and is not drawn at random, so
//! that keys never change. A value has 31 bits, so two different shingles agree once in 2^31 cases.
//! A multiple of the number of the bin of origin is added to a borrowed value, so that it differs
//! from the original.
//!
//! Shingles are 5-grams. In texts shorter than 128 letters they are the multiset of 2-grams, and of
//! 3-grams in alphabets, where a letter says less than a Chinese character
//! ([`Letters::weighed_grams`](crate::text::letters::Letters::weighed_grams)): any two short
//! English texts share many 2-grams of letters. Texts of 64 to 127 letters have the keys of both,
//! so that two texts on either side of a limit can share a key.

use crate::text::hash::{chain, finish};
use crate::text::shingles::ShingleKind;
use crate::text::signatures::text::{KEYS_MAX, Text};
use serde::{Deserialize, Serialize};

/// The version of these rules; part of a store's identity.
pub const VERSION: u32 = 2;

/// The most bins.
const BINS_MAX: usize = 128;

/// A `minhash` entry of the job file's `[[signatures]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Number of bins, at most 128. Default: 50.
    pub bins: usize,
    /// Bins in a key; divides `bins` into at most 32 keys. Default: 5.
    pub bins_per_key: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options { bins: 50, bins_per_key: 5 }
    }
}

impl Options {
    /// Checks the values; the error names the key.
    pub fn check(&self) -> Result<(), String> {
        if !(1..=BINS_MAX).contains(&self.bins) {
            return Err(format!("bins: {} is not within 1 to {BINS_MAX}", self.bins));
        }
        if self.bins_per_key == 0 || !self.bins.is_multiple_of(self.bins_per_key) {
            return Err(format!(
                "bins_per_key: {} does not divide bins = {}",
                self.bins_per_key, self.bins
            ));
        }
        // A text of 64 to 127 letters has the keys of both kinds of shingles.
        let most = KEYS_MAX / 2;
        if self.bins / self.bins_per_key > most {
            return Err(format!("bins_per_key: {} makes more than {most} keys", self.bins_per_key));
        }
        Ok(())
    }
}

/// Makes keys as the options say.
///
/// ```
/// use workers::text::signatures::minhash::{MinHash, Options};
/// use workers::text::signatures::{Shinglings, Text};
///
/// let (mut shinglings, mut keys) = (Shinglings::default(), Vec::new());
/// let mut maker = MinHash::new(&Options { bins: 50, bins_per_key: 5 });
/// maker.keys(&mut Text::new("a short text", &[], &mut shinglings), &mut keys);
/// assert_eq!(keys.len(), 50 / 5);
/// ```
#[derive(Clone, Debug)]
pub struct MinHash {
    options: Options,
    bins: Vec<u32>,
}

impl MinHash {
    /// A maker of keys by checked `options`.
    pub fn new(options: &Options) -> MinHash {
        MinHash { options: options.clone(), bins: Vec::new() }
    }

    /// Appends the keys of `text`, if it has a letter or digit.
    pub fn keys(&mut self, text: &mut Text<'_>, out: &mut Vec<u64>) {
        let letters = text.letters.count();
        for kind in [ShingleKind::Long, ShingleKind::Short] {
            if kind.is_for(letters) {
                let shingles = match kind {
                    ShingleKind::Long => text.shingles(kind),
                    ShingleKind::Short => text.weighed(),
                };
                self.keys_of(shingles, kind.q(), out);
            }
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

/// Writes the `count` bins of a non-empty set of hashes to `bins`.
fn fill(hashes: &[u64], count: usize, bins: &mut Vec<u32>) {
    bins.clear();
    bins.resize(count, u32::MAX);
    for &hash in hashes {
        // The top 24 bits select the bin; its value is the least of the low 32 bits, halved.
        let bin = &mut bins[(((hash >> 40) * count as u64) >> 24) as usize];
        *bin = (*bin).min(hash as u32 >> 1);
    }
    // A value has 31 bits, so that u32::MAX marks an empty bin.
    let filled = bins
        .iter()
        .enumerate()
        .fold(0u128, |filled, (at, bin)| filled | u128::from(*bin != u32::MAX) << at);
    for bin in (0..count).filter(|bin| filled >> bin & 1 == 0) {
        let lender = lender(bin, count, filled);
        bins[bin] = bins[lender].wrapping_add(7919 * lender as u32);
    }
}

/// The bin from which the empty `bin` borrows: the first filled bin of a sequence drawn for `bin`.
///
/// 4,096 draws miss the only filled bin of 128 once in 10^13 cases. Then the first filled bin is
/// taken.
fn lender(bin: usize, count: usize, filled: u128) -> usize {
    (0..4096u64)
        .map(|draw| (finish((bin as u64) << 32 | draw) % count as u64) as usize)
        .find(|at| filled >> at & 1 == 1)
        .unwrap_or(filled.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::text::signatures::tests::{assert_binomial, keys_of, pair};
    use proptest::prelude::*;

    fn keys(shingles: &[u64]) -> Vec<u64> {
        let mut out = Vec::new();
        MinHash::new(&Options::default()).keys_of(shingles, ShingleKind::Long.q(), &mut out);
        out
    }

    fn bins(shingles: &[u64]) -> Vec<u32> {
        let mut bins = Vec::new();
        fill(shingles, Options::default().bins, &mut bins);
        bins
    }

    /// Two bins agree with probability J, for large sets and for sets too small to fill the bins.
    ///
    /// With 4,000 pairs of sets an error of 0.02 is six standard deviations for the smallest set,
    /// whose bins depend on each other.
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
            let (seen, jaccard) =
                (equal as f64 / (50 * trials) as f64, shared as f64 / (shared + 2 * own) as f64);
            assert!(
                (seen - jaccard).abs() < 0.02,
                "{shared} shared, {own} own: {seen} for {jaccard}"
            );
        }
    }

    /// A key of two texts is equal with probability J^5, and one of ten with 1 - (1 - J^5)^10, for
    /// every seed. The ten keys share one permutation, which does not matter for large sets.
    #[test]
    fn keys_agree_by_the_formula() {
        for (seed, (shared, own)) in (1..=3).flat_map(|seed| {
            [(900, 50), (800, 100), (600, 200), (400, 300), (50, 5)].map(|sizes| (seed, sizes))
        }) {
            let mut random = Random(seed);
            let trials = 2000;
            let (mut first, mut met) = (0, 0);
            for _ in 0..trials {
                let (a, b) = pair(&mut random, shared, own);
                let equal: Vec<bool> =
                    keys(&a).iter().zip(keys(&b)).map(|(a, b)| *a == b).collect();
                first += usize::from(equal[0]);
                met += usize::from(equal.contains(&true));
            }
            let jaccard = shared as f64 / (shared + 2 * own) as f64;
            let p = jaccard.powi(5);
            assert_binomial(
                first,
                trials,
                p,
                &format!("seed {seed}, J = {jaccard:.2}, the first key"),
            );
            // The bins of a small set are not independent, so the formula holds for large sets
            // only.
            if shared + 2 * own >= 1000 {
                let any = 1.0 - (1.0 - p).powi(10);
                assert_binomial(
                    met,
                    trials,
                    any,
                    &format!("seed {seed}, J = {jaccard:.2}, any key"),
                );
            }
        }
    }

    proptest! {
        /// Order and repetition of shingles do not change the keys, and the keys of a text are
        /// distinct.
        #[test]
        fn a_set_has_its_keys(mut shingles in prop::collection::vec(any::<u64>(), 1..200)) {
            let before = keys(&shingles);
            shingles.reverse();
            shingles.push(shingles[0]);
            prop_assert_eq!(&before, &keys(&shingles));
            let mut distinct = before;
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), 10);
        }
    }

    /// Short English sentences that have nothing in common hardly ever share a key. When their
    /// shingles were 2-grams, one pair in 300 did.
    #[test]
    fn short_sentences_are_apart() {
        let words = "the of and to in is that for it was on are as with his they at be this from \
                     have or by one had not but what all were when we there can an your which \
                     their said if do will each about how up out them then she many some so these \
                     would other into has more her two like him see time could no make than first";
        let words: Vec<&str> = words.split_whitespace().collect();
        let mut random = Random(11);
        let mut signer = MinHash::new(&Options::default());
        let texts: Vec<Vec<u64>> = (0..400)
            .map(|_| {
                let drawn = (0..12).map(|_| words[random.below(words.len())]);
                let text = drawn.collect::<Vec<_>>().join(" ");
                keys_of(&text, &[], |text, out| signer.keys(text, out))
            })
            .collect();
        let shares = |a: &Vec<u64>, b: &Vec<u64>| a.iter().any(|key| b.contains(key));
        let pairs = (0..400).flat_map(|a| (0..a).map(move |b| (a, b)));
        let met = pairs.filter(|(a, b)| shares(&texts[*a], &texts[*b])).count();
        // Sentences of so few words are more alike than real ones.
        assert!(met < 40, "{met} of 79,800 pairs");
    }

    /// A text and its copy with one more letter share a key, also where the kind of shingles
    /// changes between them.
    #[test]
    fn keys_are_shared_across_limits() {
        let mut random = Random(5);
        let letters: Vec<char> =
            (0..200).filter_map(|_| char::from_u32(0x4e00 + random.below(8000) as u32)).collect();
        for length in [20, 62, 63, 64, 100, 126, 127, 128, 150] {
            let text = |length: usize| letters[..length].iter().collect::<String>();
            let mut signer = MinHash::new(&Options::default());
            let mut sign =
                |length: usize| keys_of(&text(length), &[], |text, out| signer.keys(text, out));
            let (shorter, longer) = (sign(length), sign(length + 1));
            assert!(shorter.iter().any(|key| longer.contains(key)), "{length} and one more");
            assert_eq!(shorter.len(), if (64..128).contains(&length) { 20 } else { 10 });
        }
        assert!(
            keys_of("!?", &[], |text, out| MinHash::new(&Options::default()).keys(text, out))
                .is_empty()
        );
    }
}
