//! Lines that a phrase makes furniture whatever else they say, and lines of a known form.

use crate::text::letters::weight;
use crate::text::site_lines::phrases::{
    Says, TITLE_LETTERS_MAX, VALUE_LETTERS_MAX, phrase_at, phrases,
};
use crate::text::site_lines::sum::Sum;

/// What may stand between a word of the list that needs a number, and that number.
const BEFORE_NUMBER: [char; 10] = ['案', '证', '编', '号', '字', '第', ':', '-', '(', ' '];

/// Whether a line in normal form begins with a phrase, or has one, beside which any words may
/// stand; or is a credit in brackets, such as `(记者 陈默)`.
pub(super) fn is_known_whole(line: &str, is_foot: bool) -> bool {
    let text = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let begins = phrase_at(text, |says| says == Says::Begins).is_some();
    let is_brief = phrase_at(text, |says| says == Says::Brief)
        .is_some_and(|(phrase, says)| says.may_have(&text[phrase.len()..]));
    let has_record = |phrase: &&str| {
        line.match_indices(phrase).any(|(at, _)| {
            let behind = line[at + phrase.len()..].trim_start_matches(BEFORE_NUMBER);
            behind.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    begins
        || is_brief
        || is_bracketed_credit(line)
        || phrases().of_records.iter().any(has_record)
        || is_foot && is_copyright(line)
}

/// Words for what has a number among others.
const NUMBERED: [&str; 6] = ["page", "photo", "image", "slide", "picture", "seite"];

/// Whether a line in normal form is the number of a page or a picture among all: `page 2 of 3`.
pub(super) fn is_page_of(line: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let is_numbered = words.next().is_some_and(|word| NUMBERED.contains(&word));
    let mut rest = words.filter(|word| !matches!(*word, "of" | "von" | "sur" | "de"));
    let mut is_number =
        || rest.next().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    is_numbered && is_number() && is_number() && rest.next().is_none()
}

/// Whether a line in normal form is the copyright of a site: a sentence of it has such a phrase and
/// few other words, and each other sentence has, too, or consists of words of the list. A paragraph
/// about a copyright says more.
fn is_copyright(line: &str) -> bool {
    let mut is_marked = false;
    let sentences = line.split(['。', ';', '!', '?']).flat_map(|part| part.split(". "));
    let is_of_site = |sentence: &str| {
        let sentence = sentence.trim_matches(|c: char| !c.is_alphanumeric() && c != '©');
        let mark = phrases().of_copyright.iter().find(|phrase| has_apart(sentence, phrase));
        is_marked |= mark.is_some();
        let at_end = mark
            .is_some_and(|mark| sentence.starts_with(mark) || sentence.ends_with(mark))
            || sentence.starts_with("copyright");
        let letters_max = match (at_end, mark) {
            (true, _) => TITLE_LETTERS_MAX,
            (false, Some(_)) => VALUE_LETTERS_MAX,
            (false, None) => 0,
        };
        weight(sentence) <= letters_max || Sum::default().add_words(sentence)
    };
    sentences.into_iter().all(is_of_site) && is_marked
}

/// Whether `text` has `phrase` at an end, or before a mark or a space. `版权所有者` is a word that
/// begins with a phrase.
fn has_apart(text: &str, phrase: &str) -> bool {
    text.starts_with(phrase)
        || text.match_indices(phrase).any(|(at, _)| {
            let behind = &text[at + phrase.len()..];
            phrase == "©" || !behind.starts_with(char::is_alphanumeric)
        })
}

/// Whether a line in normal form is a label and names in brackets.
fn is_bracketed_credit(line: &str) -> bool {
    let pairs = [('(', ')'), ('[', ']'), ('【', '】')];
    let inner = pairs.iter().find_map(|(open, close)| {
        line.trim().strip_prefix(*open).and_then(|line| line.strip_suffix(*close))
    });
    inner.is_some_and(|inner| {
        phrase_at(inner, |says| matches!(says, Says::Label | Says::Byline))
            .is_some_and(|(label, _)| inner[label.len()..].starts_with(' '))
            && weight(inner) <= VALUE_LETTERS_MAX
    })
}
