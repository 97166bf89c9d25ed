//! Tells whether two words share so few letters that they are different words, not one word
//! misspelt or in another form.

use crate::confirm::align::lcs;
use crate::confirm::align::{Passage, is_han_token};

/// Two words are forms of one word if their longest common subsequence has at least this part of
/// the letters of the longer one: three fifths.
const SAME_WORD: (usize, usize) = (3, 5);
/// The same for Chinese words, of whose characters each says more than a letter.
const SAME_CHINESE_WORD: (usize, usize) = (1, 2);

/// Whether two words of letters are different words. Symmetric.
pub fn share_few_letters(p: &[char], q: &[char]) -> bool {
    share_less(p, q, SAME_WORD)
}

/// Whether two words of Chinese characters are different words. Symmetric.
pub fn share_few_characters(p: &[char], q: &[char]) -> bool {
    share_less(p, q, SAME_CHINESE_WORD)
}

/// Whether two words share less than a part of the longer one.
fn share_less(p: &[char], q: &[char], (part, whole): (usize, usize)) -> bool {
    whole * lcs::length(p, q) < part * p.len().max(q.len())
}

/// Whether one of two Chinese passages only lacks characters of the other: `中科院`, `中国科学院`.
/// Symmetric.
pub fn only_lacks(a: Passage<'_>, b: Passage<'_>) -> bool {
    let are_han = |Passage { tokens, range }: &Passage<'_>| {
        (*range).clone().all(|at| is_han_token(tokens.token(at)))
    };
    let (less, more) = if a.range.len() < b.range.len() { (a, b) } else { (b, a) };
    let mut rest = more.range.clone().map(|at| more.tokens.token(at));
    less.range.len() < more.range.len()
        && are_han(&less)
        && are_han(&more)
        && less.range.clone().all(|at| rest.any(|token| token == less.tokens.token(at)))
}

/// The letters, digits and characters of a passage, with `ss` for `ß`.
pub fn letters(passage: &str) -> impl Iterator<Item = char> + '_ {
    passage.chars().filter(|c| c.is_alphanumeric()).flat_map(without_eszett)
}

/// `ss` for `ß`, which Swiss and older German texts and capitals do not have; other letters as they
/// are.
pub fn without_eszett(c: char) -> impl Iterator<Item = char> {
    let (letter, times) = if c == 'ß' { ('s', 2) } else { (c, 1) };
    std::iter::repeat_n(letter, times)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three of five letters make a word the same, and one of two characters.
    #[test]
    fn few_are_fewer_than_a_form_keeps() {
        let of = |text: &str| letters(text).collect::<Vec<char>>();
        for (a, b, few) in [("abcde", "abcxy", false), ("abcde", "abxyz", true), ("", "", false)] {
            assert_eq!(share_few_letters(&of(a), &of(b)), few, "{a} {b}");
            assert_eq!(share_few_letters(&of(b), &of(a)), few, "{b} {a}");
        }
        for (a, b, few) in [("甘肃", "甘州", false), ("甘肃", "湖南", true), ("甘肃省", "省", true)]
        {
            assert_eq!(share_few_characters(&of(a), &of(b)), few, "{a} {b}");
            assert_eq!(share_few_characters(&of(b), &of(a)), few, "{b} {a}");
        }
    }
}
