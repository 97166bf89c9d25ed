//! Tells whether a piece of furniture has a frame: whether what stands before it and behind it
//! shows that it is not part of a sentence.

use crate::confirm::furniture::labels::{Labels, is_spaced, label_after, starts_own_word};

/// The most labels and counters in a row that are looked at.
pub const CHAIN_MAX: usize = 4;

/// Whether a piece behind `rest` is free of a sentence on this side: `rest` is empty, or ends with
/// a mark, with white space that does not follow a Latin word, or with another label, which may
/// have a number if `counters` is set. A comma also parts the clauses of a sentence, so it counts
/// only behind a label.
pub fn is_free_before(rest: &str, counters: bool) -> bool {
    is_free_in_chain(rest, counters, CHAIN_MAX)
}

fn is_free_in_chain(rest: &str, counters: bool, chain: usize) -> bool {
    let trimmed = rest.trim_end();
    let Some(last) = trimmed.chars().next_back() else { return true };
    let spaced = trimmed.len() < rest.len();
    if matches!(last, ',' | '、') {
        return ends_with_piece(trimmed.trim_end_matches([',', '、']), true, chain);
    }
    if !last.is_alphanumeric() {
        return !(last == '-' || last == '.') || spaced;
    }
    spaced && !is_spaced(last) || ends_with_piece(trimmed, counters, chain)
}

/// Whether `text` ends with a label that is not part of a sentence or, if `counters` is set, with
/// such a label and a number.
fn ends_with_piece(text: &str, counters: bool, chain: usize) -> bool {
    let Some(chain) = chain.checked_sub(1) else { return false };
    let label = |text: &str| {
        Labels::ending(text).iter().any(|(label, _)| {
            text.strip_suffix(label).is_some_and(|rest| {
                let unit = |c: char| c.is_whitespace() || "次人位".contains(c);
                let number = rest.trim_end_matches(unit);
                starts_own_word(rest, label)
                    && (number.ends_with(is_of_number) || is_free_in_chain(rest, counters, chain))
            })
        })
    };
    let number = text.trim_end_matches(is_of_number);
    label(text) || counters && number.len() < text.len() && label(number.trim_end())
}

pub fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || ",.".contains(c)
}

/// Whether a piece before `rest` is free of a sentence on this side. Behind white space a Latin
/// word may follow if `lenient` is set. Behind a comma only another number or label may follow.
pub fn is_free_after(rest: &str, lenient: bool) -> bool {
    let trimmed = rest.trim_start();
    let Some(first) = trimmed.chars().next() else { return true };
    if label_after(rest).is_some() {
        return true;
    }
    if matches!(first, ',' | '、') {
        let behind = trimmed[first.len_utf8()..].trim_start();
        return label_after(behind).is_some() || behind.starts_with(|c: char| c.is_ascii_digit());
    }
    if !first.is_alphanumeric() {
        let next = trimmed.chars().nth(1);
        let joins = "-./—–".contains(first) && next.is_some_and(char::is_alphanumeric);
        return trimmed.len() < rest.len() || !(joins || "%°℃$‰".contains(first));
    }
    trimmed.len() < rest.len() && (lenient || !is_spaced(first))
}
