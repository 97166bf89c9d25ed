//! Features: in comes a normalised text, out go its weighted features, sorted by hash. Words by default: jieba's for Chinese, Unicode's
//! (UAX #29) elsewhere, chosen for each run of script; or character n-grams. A weight is the square root of how often the feature occurs, times
//! its frozen inverse document frequency if the job names one. Plain term frequency lets one stop word carry a third of a long
//! Chinese page; the root does not.
//!
//! Weights are integers: 256 is 1.

use crate::error::{Error, Kind, Result};
use crate::text::normalize::{self, is_han};
use jieba_rs::Jieba;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use unicode_segmentation::UnicodeSegmentation;
use xxhash_rust::xxh3::xxh3_64;

/// The version of these rules, the dictionary included; part of a store's identity.
pub const VERSION: &str = "1, jieba-rs 0.11 with its dictionary, Unicode 16";

/// One feature of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Feature {
    /// xxh3 of the feature's bytes.
    pub hash: u64,
    /// Its weight in 1/256, at least 1 and at most [`WEIGHT_MAX`].
    pub weight: u32,
}

/// The greatest weight of a feature; larger ones count as this.
pub const WEIGHT_MAX: u32 = 1 << 22;

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Words.
    #[default]
    Words,
    /// Every `characters` consecutive letters or digits.
    Characters,
}

/// How a count becomes a weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// The square root of the count.
    #[default]
    SqrtTf,
    /// The count.
    Tf,
}

/// The job file's `[features]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// `words` or `characters`. Default: words.
    pub unit: Unit,
    /// Length of a character n-gram. Default: 4.
    pub characters: usize,
    /// `sqrt_tf` or `tf`. Default: sqrt_tf.
    pub weight: Weight,
    /// A frozen file of document frequencies: a line `documents<TAB>N`, then lines `word<TAB>n`; `pagefold lexicon` makes one. Lines in
    /// front that begin with `#` say what made it. Default: none.
    pub idf: Option<PathBuf>,
    /// A file of words to leave out, one a line; lines that begin with `#` are none. Default: none.
    pub stop_words: Option<PathBuf>,
    /// A text of fewer distinct features is `too_short`: it folds only with identical texts. Default: 8.
    pub features_min: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            unit: Unit::Words,
            characters: 4,
            weight: Weight::SqrtTf,
            idf: None,
            stop_words: None,
            features_min: 8,
        }
    }
}

/// Makes features as the options say; one for each worker, sharing the dictionary.
#[derive(Clone)]
pub struct Featurizer {
    options: Options,
    /// Loaded when first needed: character n-grams alone never do.
    jieba: Arc<OnceLock<Jieba>>,
    idf: Option<Arc<Idf>>,
    stop_words: Arc<HashSet<u64>>,
    hashes: Vec<u64>,
}

impl Featurizer {
    /// Loads the dictionary and the files that `options` name. Words in them are normalised as texts are.
    pub fn new(options: &Options, normal: &normalize::Options) -> Result<Featurizer> {
        let idf = options.idf.as_deref().map(|path| Idf::read(path, normal)).transpose()?.map(Arc::new);
        let stop_words = match &options.stop_words {
            Some(path) => {
                let text = read(path)?;
                let words = text.lines().filter(|line| !line.starts_with('#'));
                words.map(|word| word_key(word, normal)).collect()
            }
            None => HashSet::new(),
        };
        let jieba = OnceLock::new();
        if options.unit == Unit::Words {
            jieba.get_or_init(Jieba::new);
        }
        Ok(Featurizer {
            options: options.clone(),
            jieba: Arc::new(jieba),
            idf,
            stop_words: Arc::new(stop_words),
            hashes: Vec::new(),
        })
    }

    /// Calls `found` for every word of `text`, which is normalised, in the order of the text.
    pub fn each_word(&self, text: &str, found: impl FnMut(&str)) {
        words(text, self.jieba.get_or_init(Jieba::new), found);
    }

    /// Writes the features of `text`, which is normalised, to `out`, sorted by hash.
    pub fn features(&mut self, text: &str, out: &mut Vec<Feature>) {
        self.hashes.clear();
        match self.options.unit {
            Unit::Words => words(text, self.jieba.get_or_init(Jieba::new), |word| self.hashes.push(word_hash(word))),
            Unit::Characters => grams(text, self.options.characters, &mut self.hashes),
        }
        self.weigh(out);
    }

    /// Writes the hashes of the words of `text` to `in_order` and its features to `out`, and segments it once for both.
    pub fn words_and_features(&mut self, text: &str, in_order: &mut Vec<u64>, out: &mut Vec<Feature>) {
        in_order.clear();
        self.each_word(text, |word| in_order.push(word_hash(word)));
        self.hashes.clear();
        match self.options.unit {
            Unit::Words => self.hashes.extend_from_slice(in_order),
            Unit::Characters => grams(text, self.options.characters, &mut self.hashes),
        }
        self.weigh(out);
    }

    /// Writes to `out` the features whose occurrences are in `self.hashes`.
    fn weigh(&mut self, out: &mut Vec<Feature>) {
        out.clear();
        self.hashes.sort_unstable();
        for equal in self.hashes.chunk_by(|a, b| a == b) {
            let hash = equal[0];
            if self.stop_words.contains(&hash) {
                continue;
            }
            let count = (equal.len() as u64).min(u64::from(u32::MAX));
            let weight = match self.options.weight {
                Weight::SqrtTf => (count << 16).isqrt(),
                Weight::Tf => count << 8,
            };
            let weight = match &self.idf {
                Some(idf) => (weight * idf.of(hash)) >> 8,
                None => weight,
            };
            out.push(Feature { hash, weight: weight.clamp(1, u64::from(WEIGHT_MAX)) as u32 });
        }
    }

    /// Whether a text with `features` says too little for its fingerprint to mean anything.
    pub fn is_too_short(&self, features: &[Feature]) -> bool {
        features.len() < self.options.features_min
    }
}

/// Calls `found` for every word of `text`: jieba's in runs of Chinese characters, Unicode's in what stands between.
fn words(text: &str, jieba: &Jieba, mut found: impl FnMut(&str)) {
    let mut rest = text;
    while !rest.is_empty() {
        let other = rest.find(is_han).unwrap_or(rest.len());
        rest[..other].unicode_words().for_each(&mut found);
        rest = &rest[other..];
        let han = rest.find(|c| !is_han(c)).unwrap_or(rest.len());
        if han > 0 {
            jieba.cut(&rest[..han], true).into_iter().for_each(|token| found(token.word));
        }
        rest = &rest[han..];
    }
}

/// Pushes the hash of every `n` consecutive letters or digits; the whole text's if it has fewer.
fn grams(text: &str, n: usize, hashes: &mut Vec<u64>) {
    let letters: String = text.chars().filter(|c| c.is_alphanumeric()).collect();
    let mut starts: Vec<usize> = letters.char_indices().map(|(at, _)| at).collect();
    starts.push(letters.len());
    if starts.len() <= n {
        if !letters.is_empty() {
            hashes.push(xxh3_64(letters.as_bytes()));
        }
        return;
    }
    hashes.extend(starts.windows(n + 1).map(|window| xxh3_64(&letters.as_bytes()[window[0]..window[n]])));
}

/// Frozen document frequencies, by which words are weighed.
pub(crate) struct Idf {
    /// How many documents were counted.
    pub(crate) documents: u64,
    /// In how many of them the word of a hash was.
    pub(crate) seen_in: HashMap<u64, u64>,
}

impl Idf {
    /// Reads the file at `path`, whose words are normalised as texts are.
    pub(crate) fn read(path: &Path, normal: &normalize::Options) -> Result<Idf> {
        let text = read(path)?;
        let mut lines = text.lines().zip(1..).skip_while(|(line, _)| line.starts_with('#'));
        let counted = |line: &str| {
            let (word, count) = line.split_once('\t')?;
            Some((word_key(word, normal), count.trim().parse::<u64>().ok()?))
        };
        let (first, number) = lines.next().unwrap_or(("", 1));
        let documents = first.strip_prefix("documents\t").and_then(|count| count.trim().parse().ok());
        let documents = documents.filter(|documents| *documents > 0).ok_or_else(|| {
            Error::config(
                path,
                format!("line {number}: not `documents<TAB>number`; `pagefold lexicon` makes such a file"),
            )
        })?;
        let mut seen_in = HashMap::new();
        for (line, number) in lines {
            let bad = || Error::config(path, format!("line {number}: not `word<TAB>number`"));
            let (word, count) = counted(line).ok_or_else(bad)?;
            seen_in.insert(word, count);
        }
        Ok(Idf { documents, seen_in })
    }

    /// log2((documents + 1) / (seen in + 1)) in 1/256, at least 1/256.
    fn of(&self, hash: u64) -> u64 {
        let seen = self.seen_in.get(&hash).copied().unwrap_or(0).min(self.documents);
        log2(self.documents + 1).saturating_sub(log2(seen + 1)).max(1)
    }
}

/// log2(n) in 1/256, rounded down, for n > 0; by repeated squaring, as floats differ between machines.
fn log2(n: u64) -> u64 {
    let whole = n.ilog2();
    let mut mantissa = if whole > 31 { n >> (whole - 31) } else { n << (31 - whole) };
    let mut log = u64::from(whole);
    for _ in 0..8 {
        mantissa = (mantissa * mantissa) >> 31;
        let carry = mantissa >> 32;
        mantissa >>= carry;
        log = log << 1 | carry;
    }
    log
}

/// The hash by which a word of a normalised text is known.
pub fn word_hash(word: &str) -> u64 {
    xxh3_64(word.as_bytes())
}

fn word_key(word: &str, normal: &normalize::Options) -> u64 {
    let mut out = String::new();
    normalize::normalize(word, normal, &mut out);
    word_hash(&out)
}

/// The bytes of a frozen file that a job names; of one that is not there it is said how to make one.
pub(crate) fn frozen(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            let line = format!("{}: no such file; `pagefold lexicon JOB --out FILE` makes one", path.display());
            Error::new(Kind::NoInput, line)
        }
        _ => Error::io("read", path, e),
    })
}

fn read(path: &Path) -> Result<String> {
    String::from_utf8(frozen(path)?).map_err(|_| Error::new(Kind::Config, format!("{}: not UTF-8", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn featurizer(options: Options) -> Featurizer {
        Featurizer::new(&options, &normalize::Options::default()).expect("no files to read")
    }

    fn listed(text: &str) -> Vec<String> {
        let mut list = Vec::new();
        words(text, &Jieba::new(), |word| list.push(word.to_owned()));
        list
    }

    /// Each run of script is cut by the rules of that script, and nothing but words is left.
    #[test]
    fn words_by_script() {
        assert_eq!(
            listed("我们在北京图书馆读rust 1.89的书!"),
            ["我们", "在", "北京", "图书馆", "读", "rust", "1.89", "的", "书"]
        );
        assert!(listed("!? ,。…").is_empty());
    }

    /// The words come in the order of the text whatever is counted, and beside them the features are the same.
    #[test]
    fn words_beside_features() {
        let text = "我们在北京, we are in beijing 我们";
        for unit in [Unit::Words, Unit::Characters] {
            let mut maker = featurizer(Options { unit, ..Options::default() });
            let (mut alone, mut beside, mut words) = (Vec::new(), Vec::new(), Vec::new());
            maker.features(text, &mut alone);
            maker.words_and_features(text, &mut words, &mut beside);
            assert_eq!(alone, beside);
            assert_eq!(words, listed(text).iter().map(|word| word_hash(word)).collect::<Vec<_>>());
        }
    }

    /// A weight is the root of the count in 1/256, or the count.
    #[test]
    fn weights() {
        let mut out = Vec::new();
        let text = "one two two two two three three";
        featurizer(Options::default()).features(text, &mut out);
        let weight =
            |word: &str, out: &[Feature]| out.iter().find(|f| f.hash == xxh3_64(word.as_bytes())).map(|f| f.weight);
        assert_eq!(
            [weight("one", &out), weight("two", &out), weight("three", &out)],
            [Some(256), Some(512), Some(362)]
        );
        featurizer(Options { weight: Weight::Tf, ..Options::default() }).features(text, &mut out);
        assert_eq!(weight("two", &out), Some(1024));
        assert!(out.is_sorted());
    }

    /// Stop words vanish and frequent words weigh less, by files whose words are normalised like texts.
    #[test]
    fn frozen_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let (idf, stop) = (folder.path().join("idf"), folder.path().join("stop"));
        std::fs::write(&idf, "documents\t1023\nCommon\t511\n").expect("written");
        std::fs::write(&stop, "The\n").expect("written");
        let options = Options { idf: Some(idf.clone()), stop_words: Some(stop), ..Options::default() };
        let mut out = Vec::new();
        featurizer(options).features("the common rare", &mut out);
        let mut weights: Vec<u32> = out.iter().map(|f| f.weight).collect();
        weights.sort_unstable();
        assert_eq!(weights, [256, 2560]);
        std::fs::write(&idf, "documents\t10\nno count\n").expect("written");
        let error = Featurizer::new(&Options { idf: Some(idf), ..Options::default() }, &normalize::Options::default());
        assert!(error.err().expect("refused").to_string().contains("line 2"));
    }

    /// Grams slide over letters alone, and a text shorter than one is its own gram.
    #[test]
    fn character_grams() {
        let count = |text: &str| {
            let mut out = Vec::new();
            featurizer(Options { unit: Unit::Characters, ..Options::default() }).features(text, &mut out);
            out.len()
        };
        assert_eq!([count("春眠不觉晓,处处"), count("春眠"), count("!"), count("")], [4, 1, 0, 0]);
    }

    /// The integer logarithm is the real one rounded down.
    #[test]
    fn integer_log2() {
        for n in (1..5000).chain([1 << 33, (1 << 40) + 12345, u64::MAX >> 1]) {
            let real = (n as f64).log2() * 256.0;
            assert!((log2(n) as f64 - real).abs() <= 1.5, "log2({n}) = {} for {real}", log2(n));
        }
    }
}
