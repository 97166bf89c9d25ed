//! I-Match: one key for each lexicon, the hash of the set of a text's words that are in the
//! lexicon.
//!
//! A lexicon holds the words of middle document frequency of a frozen file: frequent words carry no
//! information, and rare ones are names and typing errors (Chowdhury, Frieder, Grossman, McCabe:
//! "Collection statistics for fast duplicate document detection", ACM TOIS 20(2), 2002). One
//! changed word of the lexicon changes the key. Therefore there are several lexicons, all but the
//! first thinned at random (Kolcz, Chowdhury, Alspector: "Improved robustness of signature-based
//! near-replica detection via lexicon randomization", KDD 2004). Two texts that differ in n words
//! of the lexicon share a key with probability 1 - (1 - d^n)^K, where d is the share of dropped
//! words and K the number of thinned lexicons.
//!
//! We differ in three points. Thresholds are document frequencies, not normalised idf. A hash
//! decides which words a thinned lexicon drops, so that keys never change. A lexicon's number is
//! part of its keys, so that only keys of the same lexicon are equal.
//!
//! The signature is weak on short texts: one with too few words of a lexicon gets no key.

use crate::error::{Error, Result};
use crate::text::features::Idf;
use crate::text::hash::{BuildAsIs, chain};
use crate::text::normalize;
use crate::text::signatures::text::{KEYS_MAX, Text};
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
    /// A frozen file of document frequencies: a line `documents<TAB>N`, then lines `word<TAB>n`.
    /// `pagefold lexicon` makes one. Required.
    #[serde(default)]
    pub lexicon: PathBuf,
    /// Words in fewer documents of that file are too rare. Default: 3.
    #[serde(default = "documents_min")]
    pub documents_min: u64,
    /// Words in more than this many of 1,000 documents are too frequent. Default: 200.
    #[serde(default = "documents_permille_max")]
    pub documents_permille_max: u64,
    /// Number of lexicons, 1 to 64: the whole one and thinned ones. Default: 11.
    #[serde(default = "lexicons")]
    pub lexicons: usize,
    /// The share of words that a thinned lexicon drops, in percent. Default: 33.
    #[serde(default = "dropped_percent")]
    pub dropped_percent: u64,
    /// Distinct words of a lexicon that a text needs to get its key. Default: 3.
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

    /// Checks the values; the error names the key.
    pub fn check(&self) -> std::result::Result<(), String> {
        if self.lexicon.as_os_str().is_empty() {
            return Err(
                "lexicon: names no file; `pagefold lexicon OTHER_JOB --out FILE` makes one".into(),
            );
        }
        if self.documents_permille_max > 1000 {
            return Err(format!(
                "documents_permille_max: {} is more than 1000",
                self.documents_permille_max
            ));
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

    /// The lexicons that contain the word of `hash`, a bit for each; 0 for a rare or a frequent
    /// word.
    fn lexicons_of(&self, hash: u64, seen_in: u64, documents: u64) -> u64 {
        let frequent = u128::from(seen_in) * 1000
            > u128::from(self.documents_permille_max) * u128::from(documents);
        if frequent || seen_in < self.documents_min {
            return 0;
        }
        (0..self.lexicons)
            .filter(|&lexicon| {
                lexicon == 0 || chain(lexicon as u64, [hash]) % 100 >= self.dropped_percent
            })
            .fold(0, |bits, lexicon| bits | 1 << lexicon)
    }
}

/// Makes keys as the options say. Clones share the lexicons.
///
/// ```
/// use workers::text::features::word_hash;
/// use workers::text::normalize;
/// use workers::text::signatures::i_match::{IMatch, Options};
/// use workers::text::signatures::{Shinglings, Text};
///
/// let file = tempfile::NamedTempFile::new()?;
/// std::fs::write(file.path(), "documents\t100\nbudget\t9\nminister\t9\nspring\t9\nthe\t99\n")?;
/// let mut maker = IMatch::new(&Options::new(file.path().into()), &normalize::Options::default())?;
/// let mut key_of_whole_lexicon = |text: &str| {
///     let words: Vec<u64> = text.split(' ').map(word_hash).collect();
///     let (mut shinglings, mut keys) = (Shinglings::default(), Vec::new());
///     maker.keys(&Text::new(text, &words, &mut shinglings), &mut keys);
///     keys.first().copied()
/// };
/// let key = key_of_whole_lexicon("the minister the budget spring");
/// // Only the set of words of middle frequency counts.
/// assert_eq!(key, key_of_whole_lexicon("in spring minister budget"));
/// assert_eq!(key_of_whole_lexicon("the budget"), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct IMatch {
    lexicons: usize,
    words_min: usize,
    /// For each word, by its hash, a bit for each lexicon that contains it.
    words: Arc<HashMap<u64, u64, BuildAsIs>>,
    found: Vec<(u64, u64)>,
    bytes: Vec<u8>,
}

impl IMatch {
    /// Reads the frozen file of checked `options`, whose words are normalised as texts.
    pub fn new(options: &Options, normal: &normalize::Options) -> Result<IMatch> {
        let frequencies = Idf::read(&options.lexicon, normal)?;
        let of = |(&hash, &seen_in): (&u64, &u64)| {
            (hash, options.lexicons_of(hash, seen_in, frequencies.documents))
        };
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

    /// Appends the keys of `text`, one for each lexicon of which it has enough words.
    pub fn keys(&mut self, text: &Text<'_>, out: &mut Vec<u64>) {
        self.found.clear();
        self.found.extend(
            text.words
                .iter()
                .filter_map(|word| self.words.get(word).map(|lexicons| (*word, *lexicons))),
        );
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
                let (head, _) =
                    hash.as_bytes().split_first_chunk::<8>().expect("blake3 has 32 bytes");
                out.push(u64::from_le_bytes(*head));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::text::features::word_hash;
    use crate::text::signatures::tests::keys_of;
    use proptest::prelude::*;
    use std::fmt::Write as _;

    /// A lexicon of the words w0, w1 ..., each in 10 of 100 documents, and a rare and a frequent
    /// word.
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
        /// Only the set of lexicon words counts: not their order, repetitions or other words.
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

    /// A thinned lexicon drops a third of the words. Texts that differ in one word share exactly
    /// the keys of the lexicons that drop it.
    #[test]
    fn thinned_lexicons_tolerate_a_word() {
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
            assert_eq!(
                a.iter().filter(|key| b.contains(key)).count(),
                (0..64).filter(dropped).count()
            );
        }
    }

    /// Texts that differ in n words of the lexicon share a key of the ten thinned lexicons as often
    /// as published: one lost word is tolerated nearly always, four hardly ever.
    #[test]
    fn lost_words_are_tolerated_by_the_formula() {
        for (seed, lost) in (1..=2u64).flat_map(|seed| [1, 2, 3, 4].map(|lost| (seed, lost))) {
            let mut maker = maker(|_| ());
            let mut random = Random(seed);
            // The lexicons are fixed; each trial draws other words, so the lexicons are random for
            // it.
            let words: Vec<Vec<String>> = (0..500)
                .map(|_| {
                    let mut all: Vec<u64> = (0..500).collect();
                    (0..40)
                        .for_each(|at| all.swap(at, at + random.below(500 - at as u64) as usize));
                    named(all.into_iter().take(40))
                })
                .collect();
            let met = words.iter().filter(|words| {
                let (a, b) = (sign(&mut maker, words), sign(&mut maker, &words[lost..]));
                assert!(a.len() == 11 && b.len() == 11 && !b.contains(&a[0]));
                a.iter().any(|key| b.contains(key))
            });
            let formula = 1.0 - (1.0 - 0.33f64.powi(lost as i32)).powi(10);
            // The lexicons do not drop exactly 33 % of 500 words, hence the additional 3 %.
            let seen = met.count();
            println!("seed {seed}, {lost} lost: {seen} of 500 met, formula {:.0}", 500.0 * formula);
            let room = 5.0 * (500.0 * formula * (1.0 - formula)).sqrt() + 0.03 * 500.0;
            assert!(
                (seen as f64 - 500.0 * formula).abs() <= room,
                "{lost} lost: {seen} for {:.0}",
                500.0 * formula
            );
        }
    }

    /// A text with too few lexicon words has no key. One with just enough has the keys of the
    /// lexicons that contain them all.
    #[test]
    fn too_few_words() {
        let mut maker = maker(|options| options.words_min = 5);
        assert!(sign(&mut maker, &named([1, 2, 3, 4, 4])).is_empty());
        assert!(sign(&mut maker, &[]).is_empty());
        let keys = sign(&mut maker, &named(1..=5));
        let all =
            named(1..=5).iter().fold(u64::MAX, |all, word| all & maker.words[&word_hash(word)]);
        assert_eq!(keys.len(), all.count_ones() as usize);
        assert!(!keys.is_empty());
    }

    /// A file without a word of middle frequency is refused, and the error names the keys to
    /// change.
    #[test]
    fn an_empty_lexicon() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), "documents\t10\nw\t1\n").expect("written");
        let error =
            IMatch::new(&Options::new(file.path().to_owned()), &normalize::Options::default());
        assert!(error.expect_err("refused").to_string().contains("documents_min"));
    }
}
