//! Lexicon: in come the words of many normalised texts, out goes the frozen file of document frequencies that I-Match
//! and the weights of words read: a line `documents<TAB>N`, then a line `word<TAB>n` for each word, in the order of
//! their bytes.
//!
//! Memory is bounded by a number of distinct words. When more come, those seen least go, and a word that comes later
//! may have gone before: its count can fall short, by at most what the summary says (Manku, Motwani: "Approximate
//! frequency counts over data streams", VLDB 2002). While no word goes counts are exact and the order of texts does not
//! matter.

use std::collections::HashMap;
use std::io::{self, Write};

/// Distinct words kept by default; about 100 bytes each.
pub const WORDS_MAX: usize = 1 << 22;

/// A longer word, in bytes, is no word but a slip of markup.
const WORD_BYTES_MAX: usize = 128;

/// How often a word was seen, as far as is known.
#[derive(Clone, Copy, Debug)]
struct Count {
    /// Documents that had it since it was taken up.
    seen_in: u64,
    /// Documents that may have had it before.
    before_max: u64,
    /// The last document that had it.
    document: u64,
}

/// Counts in how many documents each word is.
#[derive(Clone, Debug)]
pub struct Counter {
    documents: u64,
    words: HashMap<Box<str>, Count>,
    words_max: usize,
    /// No word that went was in more documents.
    gone_max: u64,
}

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Documents counted.
    pub documents: u64,
    /// Words written.
    pub words: u64,
    /// By how many documents the count of a word may fall short; 0 if every count is exact.
    pub shortfall_max: u64,
}

impl Counter {
    /// A counter that keeps `words_max` distinct words, at least 1, at most.
    pub fn new(words_max: usize) -> Counter {
        Counter { documents: 0, words: HashMap::new(), words_max: words_max.max(1), gone_max: 0 }
    }

    /// Begins the next document; the words that follow are its.
    pub fn document(&mut self) {
        self.documents += 1;
    }

    /// One word of the document begun last; a repeated one counts once, as does one before any document.
    pub fn word(&mut self, word: &str) {
        if word.len() > WORD_BYTES_MAX || word.contains(['\t', '\n', '\r']) {
            return;
        }
        let document = self.documents;
        if let Some(count) = self.words.get_mut(word) {
            count.seen_in += u64::from(count.document != document);
            count.document = document;
            return;
        }
        if self.words.len() >= self.words_max {
            self.forget();
        }
        self.words.insert(word.into(), Count { seen_in: 1, before_max: self.gone_max, document });
    }

    /// Lets the words go that were seen least, a quarter at least.
    fn forget(&mut self) {
        let mut most: Vec<u64> = self.words.values().map(|count| count.seen_in + count.before_max).collect();
        let (_, quarter, _) = most.select_nth_unstable(self.words_max / 4);
        self.gone_max = self.gone_max.max(*quarter);
        self.words.retain(|_, count| count.seen_in + count.before_max > self.gone_max);
    }

    /// Writes the frozen file to `out`, without words of fewer than `documents_min` documents.
    pub fn write(&self, documents_min: u64, out: &mut dyn Write) -> io::Result<Summary> {
        let mut words: Vec<(&str, &Count)> = self
            .words
            .iter()
            .filter(|(_, count)| count.seen_in >= documents_min)
            .map(|(word, count)| (&**word, count))
            .collect();
        words.sort_unstable_by_key(|(word, _)| *word);
        writeln!(out, "documents\t{}", self.documents)?;
        for (word, count) in &words {
            writeln!(out, "{word}\t{}", count.seen_in)?;
        }
        Ok(Summary { documents: self.documents, words: words.len() as u64, shortfall_max: self.gone_max })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Random;
    use super::*;
    use crate::features::Idf;
    use crate::normalize;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn count(documents: &[Vec<String>], words_max: usize) -> Counter {
        let mut counter = Counter::new(words_max);
        for words in documents {
            counter.document();
            words.iter().for_each(|word| counter.word(word));
        }
        counter
    }

    fn written(counter: &Counter, documents_min: u64) -> (String, Summary) {
        let mut out = Vec::new();
        let summary = counter.write(documents_min, &mut out).expect("a vector takes all");
        (String::from_utf8(out).expect("words are UTF-8"), summary)
    }

    fn plain(documents: &[Vec<String>]) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::new();
        for words in documents {
            for word in words.iter().map(String::as_str).collect::<BTreeSet<_>>() {
                *counts.entry(word).or_insert(0) += 1;
            }
        }
        counts
    }

    /// Documents of words of which few are frequent and many rare.
    fn documents(seed: u64, number: u64) -> Vec<Vec<String>> {
        let mut random = Random(seed);
        let mut word = || {
            let most = 2 << random.below(9);
            format!("w{}", random.below(most))
        };
        (0..number).map(|_| (0..20).map(|_| word()).collect()).collect()
    }

    proptest! {
        /// With room for all words the file is the plain count, whatever the order of documents.
        #[test]
        fn exact_while_there_is_room(seed in any::<u64>(), number in 1u64..40) {
            let mut documents = documents(seed, number);
            let (file, summary) = written(&count(&documents, WORDS_MAX), 2);
            let mut expected = format!("documents\t{number}\n");
            for (word, seen_in) in plain(&documents).iter().filter(|(_, seen_in)| **seen_in >= 2) {
                expected += &format!("{word}\t{seen_in}\n");
            }
            prop_assert_eq!(&file, &expected);
            prop_assert_eq!(summary.shortfall_max, 0);
            documents.reverse();
            prop_assert_eq!(written(&count(&documents, WORDS_MAX), 2).0, expected);
        }

        /// Without room the words stay within the bound, no count is too great, and none falls short by more than the
        /// summary says, those left out included.
        #[test]
        fn bounded_without_room(seed in any::<u64>(), words_max in 1usize..100) {
            let documents = documents(seed, 200);
            let counter = count(&documents, words_max);
            prop_assert!(counter.words.len() <= words_max);
            let (_, summary) = written(&counter, 1);
            for (word, seen_in) in plain(&documents) {
                let known = counter.words.get(word).map_or(0, |count| count.seen_in);
                prop_assert!(known <= seen_in && seen_in <= known + summary.shortfall_max, "{}: {} of {}", word, known, seen_in);
            }
        }
    }

    /// What is written can be read, by those who read such files; slips that no file could hold are left out.
    #[test]
    fn written_is_read() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let words: Vec<String> = ["documents", "图书馆", "a\tb", "line\n", &"x".repeat(200)].map(String::from).to_vec();
        std::fs::write(file.path(), written(&count(&[words.clone(), words], 10), 1).0).expect("written");
        let read = Idf::read(file.path(), &normalize::Options::default()).expect("read");
        assert_eq!(read.documents, 2);
        assert_eq!(read.seen_in.into_values().collect::<Vec<_>>(), [2, 2]);
    }
}
