//! Finds the words that a span with Chinese characters touches.
//!
//! jieba's dictionary and tags find them in a window around the span, so that a verdict needs no
//! segmentation of whole texts. Words of other scripts are the tokens of the span.

use crate::confirm::align::Tokens;
use crate::confirm::words::spelled::{count, has_content};
use crate::confirm::words::variants::first_of_class;
use crate::confirm::words::{begins_with_surname, has_title, is_surname};
use crate::text::characters::is_han;
use crate::text::dictionary::UserDictionary;
use crate::text::hash::BuildSeeded;
use crate::text::tagged::{Tag, TaggedWords};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// The words that a span touches.
#[derive(Clone, Debug, Default)]
pub struct SpanWords {
    /// The number of words, with the marks between Chinese words.
    pub count: usize,
    /// One word is a name in the dictionary: of a person, a place, an organisation or a product.
    pub has_name: bool,
    /// One word is the name of a person: in the dictionary, or a surname and two characters. A word
    /// of two characters that looks like a name is more often something else.
    pub has_person: bool,
    /// A title stands directly before or behind the name of a person.
    pub has_titled_person: bool,
    /// One word is not in the dictionary, like most names of persons.
    pub has_unknown: bool,
    /// One word is a noun, a verb, an adjective, or a content word of another script.
    pub has_content: bool,
    /// One is a noun or an adjective of the dictionary: also those of one character, which are
    /// mostly parts of names.
    pub has_noun: bool,
    /// All are nouns: also those of one character, which are mostly parts of words.
    pub are_nouns: bool,
    /// One is not in the dictionary, or has one character and is no particle.
    has_fragment: bool,
    /// One is a particle, a preposition or a conjunction of one character, such as 的, 在 or 和.
    has_particle: bool,
    /// One has several characters and is in the dictionary.
    has_known: bool,
    /// Such a word reaches beyond the span.
    is_cut: bool,
    /// Their letters, each variant as the first of its class.
    pub letters: Vec<char>,
}

/// The tokens on either side of a span that help to find the borders of its words.
const CONTEXT: usize = 6;

/// jieba's tags of names.
const NAMES: [&str; 6] = ["nr", "ns", "nt", "nz", "nrt", "nrfg"];

/// The tags of names of persons.
const PERSONS: [&str; 3] = ["nr", "nrt", "nrfg"];

/// The first letters of jieba's tags of content words.
const CONTENT: &str = "nvailbtsxzjf";

/// Those of nouns and adjectives.
const NOUNS_AND_ADJECTIVES: &str = "nabz";

/// Those of particles, prepositions and conjunctions.
const PARTICLES: &str = "ucp";

/// Particles that sound alike, so that slips put one in place of another: 的倒 for 得到.
const SLIPS: [char; 3] = ['的', '地', '得'];

/// The longest window whose words are looked for. A longer one holds what is no word, such as
/// encoded data, or a whole text without spaces.
const WINDOW_BYTES_MAX: usize = 768;

/// Bytes of words that a thread remembers; most windows take about 200.
const WINDOWS_BYTES_MAX: usize = 1 << 24;

/// Words by the hash of their window, the place of the span in it and the dictionary.
#[derive(Default)]
struct Seen {
    words: HashMap<u128, Rc<SpanWords>, BuildSeeded>,
    bytes: usize,
}

thread_local! {
    /// To tag a window takes longer than to align the texts, and all pairs of an edited text have
    /// the same windows on its side.
    static SEEN: RefCell<Seen> = RefCell::default();
}

impl SpanWords {
    /// Whether one has several characters and is in the dictionary.
    pub fn has_known(&self) -> bool {
        self.has_known
    }

    /// Whether one is a content word, or a noun or an adjective of one character.
    pub fn say_something(&self) -> bool {
        self.has_content || self.has_noun
    }

    /// Whether wrong characters broke the words of one of two sides of as many tokens: the other
    /// side has words of the dictionary, one of which reaches beyond the span or has a particle
    /// that sounds like one of this side, and nothing is left of them but particles and fragments.
    /// Symmetric.
    pub fn is_broken(left: &SpanWords, right: &SpanWords) -> bool {
        let broken = |side: &SpanWords, other: &SpanWords| {
            let are_slips = || {
                let mut letters = side.letters.iter().zip(&other.letters);
                side.letters.len() == 2
                    && other.letters.len() == 2
                    && letters.any(|(x, y)| x != y && SLIPS.contains(x) && SLIPS.contains(y))
            };
            (other.is_cut || other.has_known && are_slips())
                && !other.has_fragment
                && side.has_particle
                && !side.has_known
        };
        broken(left, right) || broken(right, left)
    }

    /// The words that the tokens of `range` belong to; `None` if their window is too long.
    pub fn around(
        tokens: &Tokens<'_>,
        range: &Range<usize>,
        dictionary: Option<&UserDictionary>,
    ) -> Option<Rc<SpanWords>> {
        let (from, to) =
            (range.start.saturating_sub(CONTEXT), (range.end + CONTEXT).min(tokens.len()));
        let base = tokens.places[from].start as usize;
        let window = &tokens.text[base..tokens.places[to - 1].end as usize];
        if window.len() > WINDOW_BYTES_MAX {
            return None;
        }
        let start = tokens.places[range.start].start as usize - base;
        let end = tokens.places[range.end - 1].end as usize - base;
        let seed = ((start as u64) << 32 | end as u64) ^ dictionary.map_or(0, UserDictionary::key);
        let key = xxh3_128_with_seed(window.as_bytes(), seed);
        SEEN.with_borrow_mut(|seen| {
            if seen.bytes > WINDOWS_BYTES_MAX {
                *seen = Seen::default();
            }
            let Seen { words, bytes } = seen;
            let words = words.entry(key).or_insert_with(|| {
                let words =
                    SpanWords::of(window, &(start..end), dictionary).with_others(tokens, range);
                *bytes += words.bytes();
                Rc::new(words)
            });
            Some(words.clone())
        })
    }

    /// The bytes of memory of these words, with their entry in the map.
    fn bytes(&self) -> usize {
        const PLACE: usize = 2 * size_of::<(u128, Rc<SpanWords>)>();
        PLACE + size_of::<SpanWords>() + self.letters.capacity() * size_of::<char>()
    }

    /// These words, and the words of other scripts among the tokens of `range`.
    fn with_others(mut self, tokens: &Tokens<'_>, range: &Range<usize>) -> SpanWords {
        self.count += count(tokens, range);
        self.has_content |= has_content(tokens, range);
        self
    }

    /// The Chinese words of `window` that the bytes of `range` belong to, and all letters.
    fn of(
        window: &str,
        &Range { start, end }: &Range<usize>,
        dictionary: Option<&UserDictionary>,
    ) -> SpanWords {
        let tagged = TaggedWords::of(window, dictionary);
        let (mut words, mut at) = (SpanWords::default(), 0);
        let mut previous = "";
        for (number, word) in tagged.words().iter().enumerate() {
            let (low, high) = (at, at + word.len());
            let before_it = std::mem::replace(&mut previous, word);
            at = high;
            if high <= start || low >= end {
                continue;
            }
            let Tag { name: tag, known } = tagged.tag(number);
            // A mark counts as a word, because it makes a clause longer.
            let is_other = |c: char| c.is_alphanumeric() && !is_han(c);
            words.are_nouns = tag.starts_with('n') && (words.count == 0 || words.are_nouns);
            words.count += usize::from(!word.starts_with(is_other));
            let before = words.letters.len();
            words.letters.extend(word.chars().filter(|c| c.is_alphanumeric()).map(first_of_class));
            let length = words.letters.len() - before;
            words.has_noun |= known
                && word.starts_with(is_han)
                && tag.starts_with(|c| NOUNS_AND_ADJECTIVES.contains(c));
            let is_particle = known && tag.starts_with(|c| PARTICLES.contains(c));
            words.has_particle |= is_particle && length == 1;
            words.has_fragment |= length > 0 && !is_particle && (!known || length == 1);
            words.has_known |= known && length >= 2;
            words.is_cut |= known && length >= 2 && (low < start || high > end);
            if length >= 2 && word.chars().all(is_han) {
                words.has_name |= known && NAMES.contains(&tag);
                words.has_unknown |= !known;
                let named = known && PERSONS.contains(&tag);
                // A name of two characters has its surname in front.
                let name = if length == 2 { low - before_it.len() } else { low };
                let titled = || has_title(&window[..name], &window[high..]);
                let is_person = match length {
                    3 => (named || !known) && begins_with_surname(word),
                    2 => is_surname(before_it) && (named || titled()),
                    _ => false,
                };
                words.has_person |= is_person;
                words.has_titled_person |= is_person && titled();
                words.has_content |= tag.starts_with(|c| CONTENT.contains(c));
            }
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a thread remembers of words has a limit in bytes, whatever texts it compares.
    #[test]
    fn remembered_words_have_a_limit() {
        let word = "k".repeat(WINDOW_BYTES_MAX / 2);
        for n in 0..20_000u32 {
            let text = format!("{word} {n}");
            let tokens = Tokens::of(&*text).expect("short");
            assert!(SpanWords::around(&tokens, &(0..1), None).is_some());
        }
        let bytes =
            SEEN.with_borrow(|seen| seen.words.values().map(|words| words.bytes()).sum::<usize>());
        assert!(bytes <= WINDOWS_BYTES_MAX + 4 * WINDOW_BYTES_MAX, "{bytes}");
        let long = "k".repeat(WINDOW_BYTES_MAX + 1);
        let tokens = Tokens::of(&*long).expect("short");
        assert!(SpanWords::around(&tokens, &(0..1), None).is_none(), "it is no word");
    }
}
