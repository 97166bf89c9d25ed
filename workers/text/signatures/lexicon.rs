//! Counts document frequencies of words, for the frozen files that I-Match and word weights read.
//!
//! A text counts once, on however many pages it is: a mirror adds no information about its words.
//!
//! Memory is bounded by a number of texts and a number of words. Beyond these bounds, only texts
//! whose digest begins with a 0 bit count, then only those with two 0 bits, and so on (Gibbons:
//! "Distinct sampling for highly-accurate answers to distinct values queries and event reports",
//! VLDB 2001). Counts are kept by level, the number of leading zeros, so that raising the level
//! removes exactly the counts of the texts that no longer count. The result is an exact count over
//! a sample of the distinct texts. The sample depends on the set of texts and the bounds only, not
//! on the order of the texts or on which worker read them.

use crate::id::Id;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

/// The version of the files' format, which is on their first line.
pub const VERSION: u32 = 1;

/// The number of levels: leading zeros of a digest are counted up to one less.
const LEVELS: usize = 64;

/// The longest word that counts, in bytes. Longer words are remains of markup.
const WORD_BYTES_MAX: usize = 128;

/// Bounds of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Distinct texts, about 40 bytes each.
    pub texts_max: usize,
    /// Distinct words of each level, summed over all levels; about 100 bytes each, at most 250.
    pub words_max: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { texts_max: 1 << 22, words_max: 1 << 22 }
    }
}

/// The level of a text: the number of zero bits at the start of its digest.
fn level_of(text: Id) -> usize {
    (text.high.leading_zeros() as usize).min(LEVELS - 1)
}

/// Counts the distinct texts that contain each word.
///
/// ```
/// use workers::id::Id;
/// use workers::text::signatures::lexicon::{Batch, Counter, Limits};
///
/// let (mut counter, mut batch) = (Counter::new(Limits::default()), Batch::default());
/// for text in ["the budget", "the minister", "the budget"] {
///     // A text that was claimed before does not count again.
///     if let Some(level) = counter.claim(Id::of(text.as_bytes())) {
///         batch.text(level);
///         text.split(' ').for_each(|word| batch.word(word));
///     }
/// }
/// counter.add(&mut batch);
/// assert_eq!((counter.texts(), counter.one_in()), (2, 1));
/// assert_eq!(counter.words(1), [("budget", 1), ("minister", 1), ("the", 2)]);
/// ```
#[derive(Clone, Debug)]
pub struct Counter {
    limits: Limits,
    /// Texts of lower levels do not count.
    level: usize,
    texts: Vec<HashSet<Id>>,
    words: Vec<HashMap<Box<str>, u32>>,
    held: Held,
}

/// What a counter holds, of all levels from its own on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Texts.
    pub texts: usize,
    /// Words.
    pub words: usize,
}

/// Counts of some texts that are not yet added to a [`Counter`].
#[derive(Clone, Debug)]
pub struct Batch {
    level: usize,
    text: u64,
    /// For each word the number of texts that contain it, and the last of them.
    words: Vec<HashMap<Box<str>, (u32, u64)>>,
    held: usize,
}

impl Default for Batch {
    fn default() -> Batch {
        Batch { level: 0, text: 0, words: vec![HashMap::new(); LEVELS], held: 0 }
    }
}

impl Batch {
    /// Begins the next text, at the level that [`Counter::claim`] returned. The next words are its
    /// words.
    pub fn text(&mut self, level: usize) {
        self.text += 1;
        self.level = level.min(LEVELS - 1);
    }

    /// Counts a word of the current text. Repetitions do not count.
    pub fn word(&mut self, word: &str) {
        if word.len() > WORD_BYTES_MAX || word.contains(['\t', '\n', '\r']) {
            return;
        }
        match self.words[self.level].get_mut(word) {
            Some((_, last)) if *last == self.text => {}
            Some((texts, last)) => (*texts, *last) = (*texts + 1, self.text),
            None => {
                self.words[self.level].insert(word.into(), (1, self.text));
                self.held += 1;
            }
        }
    }

    /// The number of words in the batch. The caller adds the batch to the counter before it is
    /// large.
    pub fn held(&self) -> usize {
        self.held
    }
}

impl Counter {
    /// An empty counter.
    pub fn new(limits: Limits) -> Counter {
        Counter {
            limits,
            level: 0,
            texts: vec![HashSet::new(); LEVELS],
            words: vec![HashMap::new(); LEVELS],
            held: Held::default(),
        }
    }

    /// Claims the text of this digest. Returns its level if it is to be counted, and `None` if it
    /// was claimed before or its level does not count.
    pub fn claim(&mut self, text: Id) -> Option<usize> {
        let level = level_of(text);
        if level < self.level || !self.texts[level].insert(text) {
            return None;
        }
        self.held.texts += 1;
        while self.held.texts > self.limits.texts_max && self.level < LEVELS {
            self.raise();
        }
        (level >= self.level).then_some(level)
    }

    /// Adds the counts of `batch` and empties it.
    pub fn add(&mut self, batch: &mut Batch) {
        for (level, counted) in batch.words.iter_mut().enumerate() {
            for (word, (texts, _)) in counted.drain() {
                if level < self.level {
                    continue;
                }
                match self.words[level].entry(word) {
                    Entry::Occupied(mut known) => *known.get_mut() += texts,
                    Entry::Vacant(vacant) => {
                        vacant.insert(texts);
                        self.held.words += 1;
                    }
                }
                while self.held.words > self.limits.words_max && self.level < LEVELS {
                    self.raise();
                }
            }
        }
        batch.held = 0;
    }

    /// Removes the texts of the lowest level and their counts.
    fn raise(&mut self) {
        self.held.texts -= std::mem::take(&mut self.texts[self.level]).len();
        self.held.words -= std::mem::take(&mut self.words[self.level]).len();
        self.level += 1;
    }

    /// The numbers of texts and words in memory.
    pub fn held(&self) -> Held {
        self.held
    }

    /// The number of texts counted: all, or those of the sample.
    pub fn texts(&self) -> u64 {
        self.held.texts as u64
    }

    /// The sample has one text in this many; 1 if all texts were counted.
    pub fn one_in(&self) -> u128 {
        1 << self.level
    }

    /// The words in `texts_min` texts or more, each with the number of its texts, in the order of
    /// bytes.
    pub fn words(&self, texts_min: u64) -> Vec<(&str, u64)> {
        let all = self.words.iter().flatten();
        let mut words: Vec<(&str, u64)> =
            all.map(|(word, texts)| (&**word, u64::from(*texts))).collect();
        words.sort_unstable();
        words.dedup_by(|next, first| {
            let same = next.0 == first.0;
            first.1 += if same { next.1 } else { 0 };
            same
        });
        words.retain(|(_, texts)| *texts >= texts_min);
        words
    }
}

/// The form of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A line `documents<TAB>N`, then a line `word<TAB>n` for each word.
    Frequencies,
    /// A line for each word.
    Words,
}

/// Writes `words`, counted over `texts` texts, to `out` in the given form, after the lines of
/// `head` as comments.
pub fn write(
    form: Form,
    head: &[String],
    texts: u64,
    words: &[(&str, u64)],
    out: &mut dyn Write,
) -> io::Result<()> {
    head.iter().try_for_each(|line| writeln!(out, "# {line}"))?;
    if form == Form::Frequencies {
        writeln!(out, "documents\t{texts}")?;
    }
    words.iter().try_for_each(|(word, seen_in)| match form {
        Form::Frequencies => writeln!(out, "{word}\t{seen_in}"),
        Form::Words => writeln!(out, "{word}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use crate::text::features::{self, Featurizer, Idf};
    use crate::text::letters::Letters;
    use crate::text::normalize;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// Texts with few frequent and many rare words. Some texts are repeated.
    fn texts(seed: u64, number: u64) -> Vec<Vec<String>> {
        let mut random = Random(seed);
        let mut texts: Vec<Vec<String>> = Vec::new();
        for _ in 0..number {
            let again = random.below(number + 2) as usize;
            let mut word = || {
                let most = 2 << random.below(9);
                format!("w{}", random.below(most))
            };
            texts.push(
                texts.get(again).cloned().unwrap_or_else(|| (0..20).map(|_| word()).collect()),
            );
        }
        texts
    }

    fn digest(words: &[String]) -> Id {
        Id::of(words.join(" ").as_bytes())
    }

    /// Counts through `batches` batches in turn, each added at `batch_words` words, and asserts
    /// that the bounds hold at every moment.
    fn count(texts: &[Vec<String>], limits: Limits, batches: usize, batch_words: usize) -> Counter {
        let mut counter = Counter::new(limits);
        let mut waiting = vec![Batch::default(); batches];
        for (at, words) in texts.iter().enumerate() {
            let batch = &mut waiting[at % batches];
            if let Some(level) = counter.claim(digest(words)) {
                batch.text(level);
                words.iter().for_each(|word| batch.word(word));
            }
            if batch.held() >= batch_words {
                counter.add(batch);
                assert_eq!(batch.held(), 0);
            }
            assert!(
                counter.held().texts <= limits.texts_max
                    && counter.held().words <= limits.words_max
            );
            let (texts, words) =
                (counter.texts.iter().map(HashSet::len), counter.words.iter().map(HashMap::len));
            assert_eq!(counter.held(), Held { texts: texts.sum(), words: words.sum() });
        }
        waiting.iter_mut().for_each(|batch| counter.add(batch));
        assert!(
            counter.held().texts <= limits.texts_max && counter.held().words <= limits.words_max
        );
        counter
    }

    /// The definition: the least level at which there are few enough distinct texts and, summed
    /// over levels, few enough words; then a plain count over these texts.
    fn plain(texts: &[Vec<String>], limits: Limits) -> (u64, u128, BTreeMap<String, u64>) {
        let distinct: BTreeMap<Id, &Vec<String>> =
            texts.iter().map(|words| (digest(words), words)).collect();
        let from = |level: usize| distinct.iter().filter(move |(id, _)| level_of(**id) >= level);
        let fits = |level: &usize| {
            let entries: BTreeSet<(usize, &String)> = from(*level)
                .flat_map(|(id, words)| words.iter().map(|word| (level_of(*id), word)))
                .collect();
            from(*level).count() <= limits.texts_max && entries.len() <= limits.words_max
        };
        let level = (0..=LEVELS).find(fits).expect("no text, no words");
        let mut counts = BTreeMap::new();
        for (_, words) in from(level) {
            for word in words.iter().collect::<BTreeSet<_>>() {
                *counts.entry(word.clone()).or_insert(0) += 1;
            }
        }
        (from(level).count() as u64, 1 << level, counts)
    }

    fn result(counter: &Counter) -> (u64, u128, BTreeMap<String, u64>) {
        let words = counter.words(0).into_iter().map(|(word, texts)| (word.to_owned(), texts));
        (counter.texts(), counter.one_in(), words.collect())
    }

    proptest! {
        /// Any bounds hold at every moment, and the result is that of the definition: exact counts
        /// over all distinct texts or over a sample that depends on neither the order of the texts
        /// nor the batches.
        #[test]
        fn a_function_of_the_set_of_texts(
            seed in any::<u64>(), number in 0u64..80, texts_max in 1usize..100, words_max in 1usize..1500,
            batches in 1usize..4, batch_words in 1usize..100
        ) {
            let mut texts = texts(seed, number);
            for limits in [Limits { texts_max, words_max }, Limits::default()] {
                let expected = plain(&texts, limits);
                prop_assert_eq!(&result(&count(&texts, limits, batches, batch_words)), &expected);
                texts.reverse();
                prop_assert_eq!(&result(&count(&texts, limits, 1, usize::MAX)), &expected);
                if limits == Limits::default() {
                    prop_assert_eq!(expected.1, 1, "room for all");
                }
            }
        }
    }

    /// A sample fills at least about half of the bound, and its frequencies are those of all texts
    /// within five standard deviations.
    #[test]
    fn samples_have_the_frequencies() {
        let texts: Vec<Vec<String>> =
            (0..20_000u64).map(|n| vec![format!("own{n}"), format!("of{}", n % 4)]).collect();
        let counter = count(&texts, Limits { texts_max: 4000, words_max: usize::MAX }, 2, 64);
        let sampled = counter.texts();
        println!("{sampled} texts, one in {}", counter.one_in());
        assert_eq!(counter.one_in(), 8);
        assert!((1500..=4000).contains(&sampled));
        let words = counter.words(2);
        assert_eq!(words.len(), 4);
        let deviation = (sampled as f64 * 0.25 * 0.75).sqrt();
        assert!(
            words.iter().all(
                |(_, seen_in)| (*seen_in as f64 - sampled as f64 / 4.0).abs() < 5.0 * deviation
            )
        );
    }

    /// The files can be read by I-Match and by word weights, comments are skipped, and words that
    /// would break a line are left out.
    #[test]
    fn written_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let (frequencies, stop_words) =
            (folder.path().join("idf.tsv"), folder.path().join("stop.txt"));
        let words: Vec<String> =
            ["documents", "图书馆", "a\tb", "line\n", &"x".repeat(200)].map(String::from).to_vec();
        let other = vec!["documents".to_owned(), "more".to_owned()];
        let counter = count(&[words, other], Limits::default(), 1, 1);
        let head = ["a lexicon".to_owned(), "documents\t7".to_owned()];
        for (form, path) in [(Form::Frequencies, &frequencies), (Form::Words, &stop_words)] {
            let mut out = Vec::new();
            write(form, &head, counter.texts(), &counter.words(1), &mut out)
                .expect("a vector takes all");
            std::fs::write(path, out).expect("written");
        }
        let normal = normalize::Options::default();
        let read = Idf::read(&frequencies, &normal).expect("read");
        assert_eq!(read.documents, 2);
        let mut seen_in: Vec<u64> = read.seen_in.into_values().collect();
        seen_in.sort_unstable();
        assert_eq!(seen_in, [1, 1, 2]);
        let options =
            features::Options { stop_words: Some(stop_words), ..features::Options::default() };
        let (mut left, text) = (Vec::new(), "documents of more lexicon");
        Featurizer::new(&options, &normal).expect("read").features(
            text,
            &Letters::of(text),
            &mut left,
        );
        assert_eq!(left.len(), 2, "of and lexicon");
    }
}
