//! The list of phrases that lines of any site consist of, and what each says of its line.

use crate::text::characters::runs_on;
use crate::text::letters::weight;
use crate::text::lists::{CharMap, WordSet, of_kind};
use std::cmp::Reverse;
use std::sync::OnceLock;

/// The list.
pub(super) const LIST: &str = include_str!("phrases.txt");

/// The most letters, by [`weight`], of a value behind a label, and of a title behind a link.
pub(super) const VALUE_LETTERS_MAX: u32 = 20;
pub(super) const TITLE_LETTERS_MAX: u32 = 40;
/// No word of the list has more bytes of ASCII at its beginning.
pub(super) const WORD_BYTES_MAX: usize = 24;

/// What a phrase says of its line. The kinds are explained at the top of `phrases.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    Sure,
    Counter,
    Weak,
    Topic,
    Also,
    Part,
    Publish,
    Day,
    Time,
    Label,
    Aside,
    Byline,
    Link,
    Brief,
    Begins,
    Has,
    Foot,
}

impl Says {
    /// All, with their names in the list, in its order.
    pub(super) const ALL: [(&str, Says); 17] = [
        ("sure", Says::Sure),
        ("counter", Says::Counter),
        ("weak", Says::Weak),
        ("topic", Says::Topic),
        ("also", Says::Also),
        ("part", Says::Part),
        ("publish", Says::Publish),
        ("day", Says::Day),
        ("time", Says::Time),
        ("label", Says::Label),
        ("aside", Says::Aside),
        ("byline", Says::Byline),
        ("link", Says::Link),
        ("brief", Says::Brief),
        ("begins", Says::Begins),
        ("has", Says::Has),
        ("foot", Says::Foot),
    ];

    /// Whether a line may consist of such phrases.
    pub(super) fn is_word(self) -> bool {
        !self.is_label() && !matches!(self, Says::Brief | Says::Begins | Says::Has | Says::Foot)
    }

    /// Whether it is a word of a date or a clock.
    pub(super) fn is_of_time(self) -> bool {
        self == Says::Time
    }

    /// Whether a colon and a value may be behind such a phrase.
    pub(super) fn is_label(self) -> bool {
        matches!(self, Says::Label | Says::Aside | Says::Byline | Says::Link)
    }

    /// Whether a line with such a label and its value needs nothing else.
    pub(super) fn is_enough(self) -> bool {
        !matches!(self, Says::Aside | Says::Byline)
    }

    /// Whether `value` is no more than a name, a date or a title.
    pub(super) fn may_have(self, value: &str) -> bool {
        match self {
            Says::Link => weight(value) <= TITLE_LETTERS_MAX,
            Says::Brief => {
                weight(value) <= VALUE_LETTERS_MAX && !value.contains(['。', '!', '?', ';', ','])
            }
            _ => weight(value) <= VALUE_LETTERS_MAX && !value.contains(['。', '!', '?', ';']),
        }
    }
}

/// The list.
#[derive(Default)]
pub(super) struct Phrases {
    /// All phrases by their first character, the longest first.
    pub(super) by_first: CharMap<Vec<(&'static str, Says)>>,
    /// The first words of phrases that begin with an ASCII letter or digit.
    pub(super) first_words: WordSet,
    /// Those that a number follows where they are the record of a site.
    pub(super) of_records: Vec<&'static str>,
    /// Those of copyrights at the foot.
    pub(super) of_copyright: Vec<&'static str>,
}

pub(super) fn phrases() -> &'static Phrases {
    static PHRASES: OnceLock<Phrases> = OnceLock::new();
    PHRASES.get_or_init(|| {
        let mut phrases = Phrases::default();
        for (phrase, says) in listed() {
            let first = phrase.chars().next().unwrap_or_default();
            phrases.by_first.entry(first).or_default().push((phrase, says));
            phrases.first_words.insert(first_word(phrase));
            match says {
                Says::Has => phrases.of_records.push(phrase),
                Says::Foot => phrases.of_copyright.push(phrase),
                _ => {}
            }
        }
        let all = phrases.by_first.values_mut();
        all.for_each(|of| of.sort_by_key(|(phrase, _)| Reverse(phrase.len())));
        phrases
    })
}

pub(super) fn listed() -> impl Iterator<Item = (&'static str, Says)> {
    let of = |(name, says)| of_kind(LIST, name).map(move |phrase| (phrase, says));
    Says::ALL.into_iter().flat_map(of)
}

/// The longest phrase with which `text` begins and that is `wanted`. Where words have spaces
/// between them, a phrase ends where its word ends.
pub(super) fn phrase_at(text: &str, wanted: impl Fn(Says) -> bool) -> Option<(&'static str, Says)> {
    let of_first = phrases().by_first.get(&text.chars().next()?)?;
    let of_word = |c: char| c.is_alphanumeric() && !runs_on(c);
    let is_whole =
        |phrase: &str| !(phrase.ends_with(of_word) && text[phrase.len()..].starts_with(of_word));
    of_first
        .iter()
        .find(|(phrase, says)| wanted(*says) && text.starts_with(phrase) && is_whole(phrase))
        .copied()
}

/// What the list says of `word`, if a line may consist of it.
pub(super) fn word(word: &str) -> Option<Says> {
    phrase_at(word, Says::is_word)
        .filter(|(phrase, _)| phrase.len() == word.len())
        .map(|(_, says)| says)
}

/// The ASCII letters and digits with which `text` begins.
pub(super) fn first_word(text: &str) -> &str {
    let end = text.bytes().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(text.len());
    &text[..end]
}

/// The label with which `text` begins, and what is behind its colon.
pub(super) fn labelled(text: &str) -> Option<(Label, &str)> {
    let (name, says) = phrase_at(text, Says::is_label)?;
    let value = text[name.len()..].trim_start().strip_prefix(':')?;
    Some((Label { name, says }, value.trim_start()))
}

/// A label of the list.
#[derive(Clone, Copy)]
pub(super) struct Label {
    pub(super) name: &'static str,
    pub(super) says: Says,
}
