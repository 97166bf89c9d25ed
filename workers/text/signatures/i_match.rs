//! I-Match: in come a text's words, out goes for each lexicon one key, the hash of those of its words that the lexicon
//! has, sorted and distinct (Chowdhury, Frieder, Grossman, McCabe: "Collection statistics for fast duplicate document
//! detection", ACM TOIS 20(2), 2002, the I-Match algorithm and its thresholds of idf). The lexicon holds the words of
//! middle document frequency of a frozen file (`lexicon`): frequent words say nothing, rare ones are names and slips. One
//! changed word of it changes the key; therefore several lexicons, each but the first thinned at random (Kolcz,
//! Chowdhury, Alspector: "Improved robustness of signature-based near-replica detection via lexicon randomization", KDD
//! 2004), so that two texts that differ in n words of the lexicon meet with probability 1 - (1 - d^n)^K, d the share that
//! is dropped, K the thinned lexicons.
//!
//! We differ: thresholds are document frequencies, not normalised idf; which words a thinned lexicon drops is a hash's
//! doing and so the same for ever; a lexicon's number goes into its keys, so that texts meet in one and the same lexicon
//! alone. Weak on short texts: one of too few lexicon words gets no key.

use super::hash::{BuildAsIs, chain};
use super::{KEYS_MAX, Text};
use crate::error::{Error, Result};
use crate::text::features::Idf;
use crate::text::normalize;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The version of these rules; part of a store's identity.
pub const VERSION: u32 = 1;

/// An `i_match` entry of the job file's `[[signatures]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// A frozen file of document frequencies: a line `documents<TAB>N`, then lines `word<TAB>n`; `pagefold lexicon`
    /// makes one. Must be there.
    #[serde(default)]
    pub lexicon: PathBuf,
    /// Words of fewer documents of that file are too rare. Default: 3.
    #[serde(default = "documents_min")]
    pub documents_min: u64,
    /// Words of more than this many in 1000 of its documents are too frequent. Default: 200.
    #[serde(default = "documents_permille_max")]
    pub documents_permille_max: u64,
    /// Lexicons, 1 to 64: the whole one and thinned ones. Default: 11.
    #[serde(default = "lexicons")]
    pub lexicons: usize,
    /// How many of 100 words a thinned lexicon drops. Default: 33.
    #[serde(default = "dropped_percent")]
    pub dropped_percent: u64,
    /// Distinct words that a text must have in a lexicon to get its key. Default: 3.
    #[serde(default = "words_min")]
    pub words_min: usize,
}

fn documents_min() -> u64 {
    3
}

fn documents_permille_max() -> u64 {
    200
}

fn lexicons() -> usize {
    11
}

fn dropped_percent() -> u64 {
    33
}

fn words_min() -> usize {
    3
}

impl Options {
    /// The defaults, with the frozen file at `lexicon`.
    pub fn new(lexicon: PathBuf) -> Options {
        Options {
            lexicon,
            documents_min: documents_min(),
            documents_permille_max: documents_permille_max(),
            lexicons: lexicons(),
            dropped_percent: dropped_percent(),
            words_min: words_min(),
        }
    }

    /// What is wrong with the values, naming the key.
    pub fn check(&self) -> std::result::Result<(), String> {
        if self.lexicon.as_os_str().is_empty() {
            return Err("lexicon: names no file; `pagefold lexicon JOB --out FILE` makes one".into());
        }
        if self.documents_permille_max > 1000 {
            return Err(format!("documents_permille_max: {} is more than 1000", self.documents_permille_max));
        }
        if !(1..=KEYS_MAX).contains(&self.lexicons) {
            return Err(format!("lexicons: {} is not within 1 to {KEYS_MAX}", self.lexicons));
        }
        if self.dropped_percent > 99 {
            return Err(format!("dropped_percent: {} is more than 99", self.dropped_percent));
        }
        if self.words_min == 0 {
            return Err("words_min: 0 would give texts without such words one key".into());
        }
        Ok(())
    }

    /// The lexicons that have the word of `hash`, a bit for each; none if its frequency is not a middle one.
    fn lexicons_of(&self, hash: u64, seen_in: u64, documents: u64) -> u64 {
        let frequent = u128::from(seen_in) * 1000 > u128::from(self.documents_permille_max) * u128::from(documents);
        if frequent || seen_in < self.documents_min {
            return 0;
        }
        (0..self.lexicons)
            .filter(|&lexicon| lexicon == 0 || chain(lexicon as u64, [hash]) % 100 >= self.dropped_percent)
            .fold(0, |bits, lexicon| bits | 1 << lexicon)
    }
}

/// Makes keys as the options say. Workers share the lexicons.
#[derive(Clone, Debug)]
pub struct IMatch {
    lexicons: usize,
    words_min: usize,
    /// Of each word, by its hash, a bit for each lexicon that has it.
    words: Arc<HashMap<u64, u64, BuildAsIs>>,
    found: Vec<(u64, u64)>,
    bytes: Vec<u8>,
}

impl IMatch {
    /// Reads the frozen file, whose words are normalised as texts are; `options` are checked.
    pub fn new(options: &Options, normal: &normalize::Options) -> Result<IMatch> {
        let frequencies = Idf::read(&options.lexicon, normal)?;
        let of = |(&hash, &seen_in): (&u64, &u64)| (hash, options.lexicons_of(hash, seen_in, frequencies.documents));
        let words: HashMap<u64, u64, BuildAsIs> =
            frequencies.seen_in.iter().map(of).filter(|(_, lexicons)| *lexicons != 0).collect();
        if words.is_empty() {
            return Err(Error::config(
                &options.lexicon,
                "no word is within documents_min and documents_permille_max: make it from more texts, or widen them",
            ));
        }
        Ok(IMatch {
            lexicons: options.lexicons,
            words_min: options.words_min,
            words: Arc::new(words),
            found: Vec::new(),
            bytes: Vec::new(),
        })
    }

    /// Pushes the keys of `text`, one for each lexicon of which it has enough words.
    pub fn keys(&mut self, text: &Text<'_>, out: &mut Vec<u64>) {
        self.found.clear();
        self.found.extend(text.words.iter().filter_map(|word| self.words.get(word).map(|lexicons| (*word, *lexicons))));
        self.found.sort_unstable();
        self.found.dedup();
        for lexicon in 0..self.lexicons {
            self.bytes.clear();
            self.bytes.push(lexicon as u8);
            for (word, lexicons) in &self.found {
                if lexicons >> lexicon & 1 == 1 {
                    self.bytes.extend(word.to_le_bytes());
                }
            }
            if self.bytes.len() / 8 >= self.words_min {
                let hash = blake3::hash(&self.bytes);
                let (head, _) = hash.as_bytes().split_first_chunk::<8>().expect("blake3 has 32 bytes");
                out.push(u64::from_le_bytes(*head));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::keys_of;
    use super::*;
    use crate::random::Random;
    use crate::text::features::word_hash;
    use proptest::prelude::*;
    use std::fmt::Write as _;

    /// A lexicon of the words w0, w1 ..., each in 10 of 100 documents, beside a rare and a frequent one.
    fn maker(change: impl FnOnce(&mut Options)) -> IMatch {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut text = String::from("documents\t100\nrare\t2\nfrequent\t21\n");
        for word in 0..500 {
            writeln!(text, "w{word}\t10").expect("written");
        }
        std::fs::write(file.path(), text).expect("written");
        let mut options = Options::new(file.path().to_owned());
        change(&mut options);
        options.check().expect("sound");
        IMatch::new(&options, &normalize::Options::default()).expect("read")
    }

    fn sign(maker: &mut IMatch, words: &[String]) -> Vec<u64> {
        let words: Vec<u64> = words.iter().map(|word| word_hash(word)).collect();
        keys_of("", &words, |text, out| maker.keys(text, out))
    }

    fn named(words: impl IntoIterator<Item = u64>) -> Vec<String> {
        words.into_iter().map(|word| format!("w{word}")).collect()
    }

    proptest! {
        /// Only the set of lexicon words matters: neither their order nor repetitions nor words of other frequency do.
        #[test]
        fn a_set_of_middling_words(words in prop::collection::vec(0u64..500, 4..60), turn in 0usize..60) {
            let mut maker = maker(|_| ());
            let plain = named(words.iter().copied());
            let mut other = plain.clone();
            other.rotate_left(turn % plain.len());
            other.extend(["rare", "frequent", "unheard"].map(String::from));
            other.push(plain[0].clone());
            prop_assert_eq!(sign(&mut maker, &plain), sign(&mut maker, &other));
        }
    }

    /// A thinned lexicon drops a third, and texts that differ in one lexicon word meet in about a third of them and no
    /// other.
    #[test]
    fn thinned_lexicons_forgive() {
        let mut maker = maker(|options| options.lexicons = 64);
        for lexicon in 1..64 {
            let kept = maker.words.values().filter(|bits| *bits >> lexicon & 1 == 1).count();
            assert!((280..390).contains(&kept), "lexicon {lexicon} keeps {kept} of 500");
        }
        let kept: u32 = maker.words.values().map(|bits| (bits >> 1).count_ones()).sum();
        // Five standard deviations around 67 of 100.
        assert!((20_690..21_530).contains(&kept), "{kept} of {}", 63 * 500);
        let mut random = Random(3);
        for _ in 0..100 {
            let words = named((0..40).map(|_| random.below(400)));
            let mut other = words.clone();
            let changed = 400 + random.below(100);
            other.push(format!("w{changed}"));
            let (a, b) = (sign(&mut maker, &words), sign(&mut maker, &other));
            assert_eq!([a.len(), b.len()], [64, 64]);
            assert_ne!(a[0], b[0]);
            let dropped = |bit: &usize| maker.words[&word_hash(&other[40])] >> bit & 1 == 0;
            assert_eq!(a.iter().filter(|key| b.contains(key)).count(), (0..64).filter(dropped).count());
        }
    }

    /// Of texts that differ in n words of the lexicon the published share meets in the default ten thinned lexicons: one
    /// word lost is forgiven nearly always, four hardly ever.
    #[test]
    fn words_lost_are_forgiven_by_the_formula() {
        for (seed, lost) in (1..=2u64).flat_map(|seed| [1, 2, 3, 4].map(|lost| (seed, lost))) {
            let mut maker = maker(|_| ());
            let mut random = Random(seed);
            // Each trial draws other words, for which the lexicons, fixed as they are, are chance.
            let words: Vec<Vec<String>> = (0..500)
                .map(|_| {
                    let mut all: Vec<u64> = (0..500).collect();
                    (0..40).for_each(|at| all.swap(at, at + random.below(500 - at as u64) as usize));
                    named(all.into_iter().take(40))
                })
                .collect();
            let met = words.iter().filter(|words| {
                let (a, b) = (sign(&mut maker, words), sign(&mut maker, &words[lost..]));
                assert!(a.len() == 11 && b.len() == 11 && !b.contains(&a[0]));
                a.iter().any(|key| b.contains(key))
            });
            let formula = 1.0 - (1.0 - 0.33f64.powi(lost as i32)).powi(10);
            // The lexicons' real shares of drops, 500 words, are a little off 33 %: room for that.
            let seen = met.count();
            println!("seed {seed}, {lost} lost: {seen} of 500 met, formula {:.0}", 500.0 * formula);
            let room = 5.0 * (500.0 * formula * (1.0 - formula)).sqrt() + 0.03 * 500.0;
            assert!((seen as f64 - 500.0 * formula).abs() <= room, "{lost} lost: {seen} for {:.0}", 500.0 * formula);
        }
    }

    /// A text of too few lexicon words has no key, and one of just enough has those of the lexicons that have them all.
    #[test]
    fn too_few_words() {
        let mut maker = maker(|options| options.words_min = 5);
        assert!(sign(&mut maker, &named([1, 2, 3, 4, 4])).is_empty());
        assert!(sign(&mut maker, &[]).is_empty());
        let keys = sign(&mut maker, &named(1..=5));
        let all = named(1..=5).iter().fold(u64::MAX, |all, word| all & maker.words[&word_hash(word)]);
        assert_eq!(keys.len(), all.count_ones() as usize);
        assert!(!keys.is_empty());
    }

    /// A file without a word of middle frequency is refused with the keys to change.
    #[test]
    fn an_empty_lexicon() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "documents\t10\nw\t1\n").expect("written");
        let error = IMatch::new(&Options::new(file.path().to_owned()), &normalize::Options::default());
        assert!(error.expect_err("refused").to_string().contains("documents_min"));
    }
}
