//! Extracts the weighted features of a normalised text, from which SimHash is made.
//!
//! Features are words by default: jieba's for runs of Chinese characters, those of Unicode Standard
//! Annex 29 elsewhere. Without a dictionary that annex has no words in hiragana, Thai, Lao, Burmese
//! and Khmer, but single letters, which all texts share: there four consecutive letters are a
//! feature. A job may add words to jieba's, or ask for character n-grams instead.
//!
//! A weight is the square root of the feature's count, times its inverse document frequency where
//! the job names a frozen file of frequencies (Salton, Buckley: "Term-weighting approaches in
//! automatic text retrieval", Information Processing & Management 24(5), 1988). We differ by the
//! square root: with plain counts one stop word carries a third of the weight of a long Chinese
//! page. Weights are integers in units of 1/256, because floating-point results differ between
//! machines.

use crate::error::{Error, Kind, Result};
use crate::text::characters::{is_han, is_letter, is_mark_of_letter, is_southeast_asian};
use crate::text::dictionary::UserDictionary;
use crate::text::letters::Letters;
use crate::text::log2::log2;
use crate::text::normalize;
use crate::text::segment::{Piece, Segmenter};
use crate::text::tally::{Buffers, tally};
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unicode_segmentation::UnicodeSegmentation;
use xxhash_rust::xxh3::xxh3_64;

/// The version of these rules and of the dictionary; part of a store's identity.
pub const VERSION: &str = "2, jieba-rs 0.11 with its dictionary, Unicode 16";

/// One feature of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Feature {
    /// xxh3 of the feature's bytes.
    pub hash: u64,
    /// The weight in units of 1/256, from 1 to [`WEIGHT_MAX`].
    pub weight: u32,
}

/// The greatest weight of a feature, in units of 1/256. Larger weights are cut to it.
pub const WEIGHT_MAX: u32 = 1 << 22;

/// What a feature or a shingle consists of.
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
    /// A frozen file of document frequencies: a line `documents<TAB>N`, then lines `word<TAB>n`,
    /// after any comment lines, which begin with `#`. `pagefold lexicon` makes one. Default: none.
    pub idf: Option<PathBuf>,
    /// A file of words to leave out, one on each line. Lines that begin with `#` are comments.
    /// Default: none.
    pub stop_words: Option<PathBuf>,
    /// A frozen file of words that jieba's dictionary lacks, or has with another frequency: lines
    /// `word [frequency] [tag]` ([`crate::text::dictionary`]). Default: none.
    pub dictionary: Option<PathBuf>,
    /// A text with fewer distinct features is `too_short`: it folds only with identical texts.
    /// Default: 1, so that a text without any word has no fingerprint.
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
            dictionary: None,
            features_min: 1,
        }
    }
}

/// Extracts features as the options say. Each worker has its own; clones share what was read from
/// files.
///
/// ```
/// use workers::text::features::{Featurizer, Options, Unit, WEIGHT_MAX};
/// use workers::text::{letters::Letters, normalize};
///
/// let unit = Unit::Characters;
/// let options = Options { unit, characters: 2, features_min: 3, ..Options::default() };
/// let mut featurizer = Featurizer::new(&options, &normalize::Options::default())?;
/// let mut features = Vec::new();
/// featurizer.features("abab", &Letters::of("abab"), &mut features);
/// // The 2-grams `ab`, twice, and `ba`, once. Weights are square roots of counts, in 1/256.
/// let mut weights: Vec<u32> = features.iter().map(|feature| feature.weight).collect();
/// weights.sort_unstable();
/// assert_eq!(weights, [256, 362]);
/// assert!(featurizer.is_too_short(&features), "2 features of 3");
/// # Ok::<(), workers::error::Error>(())
/// ```
#[derive(Clone)]
pub struct Featurizer {
    options: Options,
    idf: Option<Arc<Idf>>,
    stop_words: Arc<HashSet<u64>>,
    hashes: Vec<u64>,
    buffers: Buffers,
    counts: Vec<(u64, u32)>,
    segmenter: Segmenter,
}

impl Featurizer {
    /// Loads the files that `options` name, whose words are normalised as texts.
    pub fn new(options: &Options, normal: &normalize::Options) -> Result<Featurizer> {
        let idf =
            options.idf.as_deref().map(|path| Idf::read(path, normal)).transpose()?.map(Arc::new);
        let stop_words = match &options.stop_words {
            Some(path) => {
                let text = read(path, "stop-words")?;
                let words = text.lines().filter(|line| !line.starts_with('#'));
                words.map(|word| word_key(word, normal)).collect()
            }
            None => HashSet::new(),
        };
        let segmenter = match &options.dictionary {
            Some(path) => Segmenter::with(UserDictionary::read(path, normal)?.words()),
            None => Segmenter::default(),
        };
        Ok(Featurizer {
            options: options.clone(),
            idf,
            stop_words: Arc::new(stop_words),
            hashes: Vec::new(),
            buffers: Buffers::default(),
            counts: Vec::new(),
            segmenter,
        })
    }

    /// Calls `found` for every word of the normalised `text`, in order.
    pub fn each_word(&mut self, text: &str, found: impl FnMut(&str)) {
        words(text, &mut self.segmenter, found);
    }

    /// Writes the features of the normalised `text`, whose letters are `letters`, to `out`: each
    /// once, in an order that depends on the text alone.
    pub fn features(&mut self, text: &str, letters: &Letters, out: &mut Vec<Feature>) {
        self.hashes.clear();
        match self.options.unit {
            Unit::Words => {
                words(text, &mut self.segmenter, |word| self.hashes.push(word_hash(word)))
            }
            Unit::Characters => self.hash_grams(letters),
        }
        self.weigh(out);
    }

    /// As [`Featurizer::features`], and writes the hashes of the words of `text` to `in_order`.
    ///
    /// The text is segmented only once for both.
    pub fn words_and_features(
        &mut self,
        text: &str,
        letters: &Letters,
        in_order: &mut Vec<u64>,
        out: &mut Vec<Feature>,
    ) {
        in_order.clear();
        self.each_word(text, |word| in_order.push(word_hash(word)));
        self.hashes.clear();
        match self.options.unit {
            Unit::Words => self.hashes.extend_from_slice(in_order),
            Unit::Characters => self.hash_grams(letters),
        }
        self.weigh(out);
    }

    /// Hashes every n consecutive letters or digits, or all if there are fewer.
    fn hash_grams(&mut self, letters: &Letters) {
        let grams = letters.grams(self.options.characters);
        self.hashes.extend(grams.map(|gram| xxh3_64(gram.as_bytes())));
    }

    /// Writes to `out` the features whose occurrences are in `self.hashes`.
    fn weigh(&mut self, out: &mut Vec<Feature>) {
        let Featurizer { options, idf, stop_words, hashes, buffers, counts, .. } = self;
        let idf = idf.as_deref();
        tally(hashes, buffers, counts);
        let weight = |hash: u64, count: u32| {
            let weight = match options.weight {
                Weight::SqrtTf => sqrt_weight(u64::from(count)),
                Weight::Tf => u64::from(count) << 8,
            };
            let weight = match idf {
                Some(idf) => (weight * idf.of(hash)) >> 8,
                None => weight,
            };
            weight.clamp(1, u64::from(WEIGHT_MAX)) as u32
        };
        out.clear();
        out.extend(
            counts.iter().map(|&(hash, count)| Feature { hash, weight: weight(hash, count) }),
        );
        if !stop_words.is_empty() {
            out.retain(|feature| !stop_words.contains(&feature.hash));
        }
    }

    /// Whether a text has too few features for a meaningful fingerprint.
    pub fn is_too_short(&self, features: &[Feature]) -> bool {
        features.len() < self.options.features_min
    }
}

/// The square root of a count, in units of 1/256.
fn sqrt_weight(count: u64) -> u64 {
    /// The roots of small counts, which almost all words have.
    const SMALL: [u64; 64] = {
        let mut small = [0; 64];
        let mut count = 0;
        while count < small.len() {
            small[count] = ((count as u64) << 16).isqrt();
            count += 1;
        }
        small
    };
    SMALL.get(count as usize).copied().unwrap_or_else(|| (count << 16).isqrt())
}

/// Calls `found` for every word: jieba's in runs of Chinese characters, Unicode's between them.
fn words(text: &str, segmenter: &mut Segmenter, mut found: impl FnMut(&str)) {
    segmenter.han(text, |piece| match piece {
        Piece::Word(word) => found(word),
        Piece::Gap(gap) if gap.chars().all(is_mark) => {}
        Piece::Gap(gap) => words_between(gap, &mut found),
    });
}

/// The words of a text between runs of Chinese characters. A Chinese character that the dictionary
/// cannot know is a word by itself.
fn words_between(mut text: &str, mut found: impl FnMut(&str)) {
    while !text.is_empty() {
        let (other, rest) = text.split_at(text.find(is_han).unwrap_or(text.len()));
        words_without_han(other, &mut found);
        let (han, rest) = rest.split_at(rest.find(|c| !is_han(c)).unwrap_or(rest.len()));
        han.char_indices().for_each(|(at, c)| found(&han[at..at + c.len_utf8()]));
        text = rest;
    }
}

/// Whether `c` is of a script without spaces whose words only a dictionary knows.
fn is_unparted(c: char) -> bool {
    let is_unparted = is_southeast_asian(c) || matches!(c, '\u{3041}'..='\u{3096}');
    is_unparted && (is_letter(c) || is_mark_of_letter(c))
}

/// The words of a text without Chinese characters.
fn words_without_han(mut text: &str, mut found: impl FnMut(&str)) {
    while !text.is_empty() {
        let (words, rest) = text.split_at(text.find(is_unparted).unwrap_or(text.len()));
        words.unicode_words().for_each(&mut found);
        let (run, rest) = rest.split_at(rest.find(|c| !is_unparted(c)).unwrap_or(rest.len()));
        grams(run, &mut found);
        text = rest;
    }
}

/// The letters of a feature where words are not parted.
const UNPARTED_LETTERS: usize = 4;

/// Every few consecutive letters of a run with their marks, or all if there are fewer.
fn grams(run: &str, found: impl FnMut(&str)) {
    let letters = run.char_indices().filter(|(_, c)| !is_mark_of_letter(*c)).map(|(at, _)| at);
    let ends = letters.clone().chain([run.len()]);
    let letters_min = letters.clone().take(UNPARTED_LETTERS).count().max(1);
    letters.zip(ends.skip(letters_min)).map(|(from, to)| &run[from..to]).for_each(found);
}

/// Whether `c` is certainly in no word. A cheap test, because most gaps are one mark of Chinese
/// punctuation.
fn is_mark(c: char) -> bool {
    matches!(c, ' ' | '!'..='/' | ':'..='?' | '\u{2010}'..='\u{203b}' | '\u{3001}'..='\u{3002}' | '\u{3008}'..='\u{3011}')
}

/// The most documents of a file of document frequencies.
const DOCUMENTS_MAX: u64 = 1_000_000_000_000;

/// Frozen document frequencies of words.
pub(crate) struct Idf {
    /// How many documents were counted.
    pub(crate) documents: u64,
    /// The number of documents with a word, by the word's hash.
    pub(crate) seen_in: HashMap<u64, u64>,
}

impl Idf {
    /// Reads the file at `path`, whose words are normalised as texts.
    pub(crate) fn read(path: &Path, normal: &normalize::Options) -> Result<Idf> {
        let text = read(path, "idf")?;
        let mut lines = text.lines().zip(1..).skip_while(|(line, _)| line.starts_with('#'));
        let counted = |line: &str| {
            let (word, count) = line.split_once('\t')?;
            Some((word_key(word, normal), count.trim().parse::<u64>().ok()?))
        };
        let (first, number) = lines.next().unwrap_or(("", 1));
        let documents =
            first.strip_prefix("documents\t").and_then(|count| count.trim().parse().ok());
        let documents = documents.filter(|count| (1..=DOCUMENTS_MAX).contains(count));
        let documents = documents.ok_or_else(|| {
            let wanted = format!("`documents<TAB>number`, a number from 1 to {DOCUMENTS_MAX}");
            Error::config(
                path,
                format!("line {number}: not {wanted}; `pagefold lexicon` makes such a file"),
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

    /// log2((documents + 1) / (seen_in + 1)) in units of 1/256, at least 1.
    fn of(&self, hash: u64) -> u64 {
        let seen = self.seen_in.get(&hash).copied().unwrap_or(0).min(self.documents);
        log2::<8>(self.documents + 1).saturating_sub(log2::<8>(seen + 1)).max(1)
    }
}

/// The hash that identifies a word of a normalised text.
#[inline]
pub fn word_hash(word: &str) -> u64 {
    xxh3_64(word.as_bytes())
}

fn word_key(word: &str, normal: &normalize::Options) -> u64 {
    let mut out = String::new();
    normalize::normalize(word, normal, &mut out);
    word_hash(&out)
}

/// The bytes of a frozen file that a job names. If it is missing, the error says how to make a file
/// of this `kind`. A file of another kind may be readable, too, but makes no sense.
pub(crate) fn frozen(path: &Path, kind: &str) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => {
            let line = format!(
                "{}: no such file; `pagefold lexicon OTHER_JOB --kind {kind} --out FILE` makes one, of a job \
                 that does not name it yet",
                path.display()
            );
            Error::new(Kind::NoInput, line)
        }
        _ => Error::io("read", path, e),
    })
}

/// As [`frozen`], as text.
pub(crate) fn read(path: &Path, kind: &str) -> Result<String> {
    String::from_utf8(frozen(path, kind)?)
        .map_err(|_| Error::new(Kind::Config, format!("{}: not UTF-8", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jieba_rs::Jieba;
    use proptest::prelude::*;
    use std::sync::LazyLock;

    fn featurizer(options: Options) -> Featurizer {
        Featurizer::new(&options, &normalize::Options::default()).expect("no files to read")
    }

    /// The features of `text`, sorted by hash.
    fn of(maker: &mut Featurizer, text: &str) -> Vec<Feature> {
        let mut out = Vec::new();
        maker.features(text, &Letters::of(text), &mut out);
        out.sort_unstable();
        out
    }

    fn listed(text: &str) -> Vec<String> {
        let mut list = Vec::new();
        words(text, &mut Segmenter::default(), |word| list.push(word.to_owned()));
        list
    }

    /// The words of a text without Chinese characters by their definition.
    fn other_words(text: &str) -> Vec<String> {
        let (Some(first), mut list) = (text.chars().next(), Vec::new()) else { return Vec::new() };
        let is_run = is_unparted(first);
        let (run, rest) =
            text.split_at(text.find(|c| is_unparted(c) != is_run).unwrap_or(text.len()));
        if is_run {
            let mut letters: Vec<String> = Vec::new();
            for c in run.chars() {
                match letters.last_mut() {
                    Some(letter) if is_mark_of_letter(c) => letter.push(c),
                    None if is_mark_of_letter(c) => {}
                    _ => letters.push(c.into()),
                }
            }
            let length = letters.len().clamp(1, 4);
            list.extend(letters.windows(length).map(|gram| gram.concat()));
        } else {
            list.extend(run.unicode_words().map(str::to_owned));
        }
        list.extend(other_words(rest));
        list
    }

    /// The words by their definition: jieba's in runs of Chinese characters, Unicode's or runs of
    /// letters between them.
    fn listed_plainly(text: &str, jieba: &Jieba) -> Vec<String> {
        let mut list = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (other, run) = rest.split_at(rest.find(is_han).unwrap_or(rest.len()));
            list.extend(other_words(other));
            let (run, after) = run.split_at(run.find(|c| !is_han(c)).unwrap_or(run.len()));
            list.extend(jieba.cut(run, true).into_iter().map(|token| token.word.to_owned()));
            rest = after;
        }
        list
    }

    /// Texts in Thai and in hiragana had the letters of their alphabet as features, and a page was
    /// near all other pages.
    #[test]
    fn unparted_letters() {
        assert_eq!(listed("พักที่นี่ ab"), ["พักที่นี่", "ab"]);
        assert_eq!(listed("กขคงจ"), ["กขคง", "ขคงจ"]);
        assert_eq!(listed("食べている人"), ["食", "べている", "人"]);
        assert_eq!(listed("テスト"), ["テスト"]);
    }

    proptest! {
        /// Words equal their definition, also beside characters that the dictionary does not know.
        #[test]
        fn words_are_plain(
            text in "([一-龥]{1,6}|[鿿㐀龘々〇\u{f900}\u{20000}\u{2ebef}\u{2ebf0}\u{2f800}\u{30000}]{1,2}|[a-c0-2]{1,3}|[ぁ-ゖァ-ヺー]{1,6}|[ก-ฺ เ-๎]{1,9}|[က-႟]{1,6}|[ ，。！、“”…!.,'_:-]{1,2}|\\PC){0,30}"
        ) {
            static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);
            prop_assert_eq!(listed(&text), listed_plainly(&text, &JIEBA));
        }

        /// The same with words that a job adds, which have the normal form of texts. In runs of
        /// Chinese characters no word with another character is found.
        #[test]
        fn words_of_a_dictionary_are_plain(text in "(碳中和|碳中|达峰|云朵兔|鿿㐀|龘|c罗|[碳中和达峰云朵兔的]{1,4}|[ab ，]{1,2}){0,20}") {
            static DICTIONARY: LazyLock<Arc<UserDictionary>> = LazyLock::new(|| {
                let file = tempfile::NamedTempFile::new().expect("a file");
                std::fs::write(&file, "碳中和\n碳達峰 3 nz\n雲朵兔 nz\n鿿㐀 2\n龘 9\nＣ罗 20 nr\n的 1\n").expect("written");
                UserDictionary::read(file.path(), &normalize::Options::default()).expect("words")
            });
            let (mut list, mut segmenter) = (Vec::new(), Segmenter::with(DICTIONARY.words()));
            words(&text, &mut segmenter, |word| list.push(word.to_owned()));
            prop_assert_eq!(list, listed_plainly(&text, DICTIONARY.tagger()));
        }
    }

    /// A featurizer and its clones cut by the dictionary that its options name.
    #[test]
    fn words_of_a_dictionary() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(&file, "碳中和 nz\n").expect("written");
        let text = "碳中和目标";
        let words = |mut maker: Featurizer| {
            let mut words = Vec::new();
            maker.each_word(text, |word| words.push(word.to_owned()));
            words
        };
        let maker =
            featurizer(Options { dictionary: Some(file.path().to_owned()), ..Options::default() });
        assert_eq!(words(maker.clone()), ["碳中和", "目标"]);
        assert_eq!(words(maker), ["碳中和", "目标"]);
        assert_eq!(words(featurizer(Options::default())), ["碳中", "和", "目标"]);
    }

    /// Each run of a script is segmented by the rules of that script, and only words remain.
    #[test]
    fn words_by_script() {
        assert_eq!(
            listed("我们在北京图书馆读rust 1.89的书!"),
            ["我们", "在", "北京", "图书馆", "读", "rust", "1.89", "的", "书"]
        );
        assert!(listed("!? ,。…").is_empty());
    }

    /// Words come in the order of the text, and the features are those of [`Featurizer::features`].
    #[test]
    fn words_and_features_together() {
        let text = "我们在北京, we are in beijing 我们";
        for unit in [Unit::Words, Unit::Characters] {
            let mut maker = featurizer(Options { unit, ..Options::default() });
            let (mut alone, mut together, mut words) = (Vec::new(), Vec::new(), Vec::new());
            let letters = Letters::of(text);
            maker.features(text, &letters, &mut alone);
            maker.words_and_features(text, &letters, &mut words, &mut together);
            assert_eq!(alone, together);
            assert_eq!(words, listed(text).iter().map(|word| word_hash(word)).collect::<Vec<_>>());
        }
    }

    /// A weight is the square root of the count in units of 1/256, or the count.
    #[test]
    fn weights() {
        let text = "one two two two two three three";
        let out = of(&mut featurizer(Options::default()), text);
        let weight = |word: &str, out: &[Feature]| {
            out.iter().find(|f| f.hash == xxh3_64(word.as_bytes())).map(|f| f.weight)
        };
        assert_eq!(
            [weight("one", &out), weight("two", &out), weight("three", &out)],
            [Some(256), Some(512), Some(362)]
        );
        let out = of(&mut featurizer(Options { weight: Weight::Tf, ..Options::default() }), text);
        assert_eq!(weight("two", &out), Some(1024));
    }

    /// Stop words are left out and frequent words weigh less. The files' words are normalised.
    #[test]
    fn frozen_files() {
        let folder = tempfile::tempdir().expect("a folder");
        let (idf, stop) = (folder.path().join("idf"), folder.path().join("stop"));
        std::fs::write(&idf, "documents\t1023\nCommon\t511\n").expect("written");
        std::fs::write(&stop, "The\n").expect("written");
        let options =
            Options { idf: Some(idf.clone()), stop_words: Some(stop), ..Options::default() };
        let out = of(&mut featurizer(options), "the common rare");
        let mut weights: Vec<u32> = out.iter().map(|f| f.weight).collect();
        weights.sort_unstable();
        assert_eq!(weights, [256, 2560]);
        std::fs::write(&idf, "documents\t10\nno count\n").expect("written");
        let error = Featurizer::new(
            &Options { idf: Some(idf), ..Options::default() },
            &normalize::Options::default(),
        );
        assert!(error.err().expect("refused").to_string().contains("line 2"));
    }

    /// A file with 18,446,744,073,709,551,615 documents was read, and the first text made the
    /// program panic. The limit is refused above, and a weight is not too large below.
    #[test]
    fn documents_have_a_limit() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let with = |documents: u64| {
            std::fs::write(file.path(), format!("documents\t{documents}\ncommon\t{}\n", u64::MAX))
                .expect("written");
            let options = Options { idf: Some(file.path().to_owned()), ..Options::default() };
            Featurizer::new(&options, &normalize::Options::default())
        };
        let out = of(&mut with(DOCUMENTS_MAX).expect("read"), "common rare");
        let mut weights: Vec<u32> = out.iter().map(|feature| feature.weight).collect();
        weights.sort_unstable();
        assert_eq!(weights, [1, 39 * 256 + 220]);
        for documents in [0, DOCUMENTS_MAX + 1, u64::MAX] {
            let error = with(documents).err().expect("refused").to_string();
            let place = format!("{}: line 1: not `documents<TAB>number`", file.path().display());
            assert!(error.starts_with(&place) && error.contains("1000000000000"), "{error}");
        }
    }

    /// N-grams consist of letters only, and a text shorter than one n-gram is one feature.
    #[test]
    fn character_grams() {
        let count = |text: &str| {
            of(&mut featurizer(Options { unit: Unit::Characters, ..Options::default() }), text)
                .len()
        };
        assert_eq!([count("春眠不觉晓,处处"), count("春眠"), count("!"), count("")], [4, 1, 0, 0]);
    }
}
