//! Names with digits as words of a sentence: of models, flights and quarters, such as `ba123`, `q1`
//! and `xr-200`. Other English names are not recognised, because a normalised text has no capitals.

use crate::confirm::align::digits::is_digit;
use crate::confirm::align::edits::Span;
use crate::confirm::align::{Passage, Tokens};
use std::ops::Range;

/// The most letters in front of the digits of a model, without a hyphen and with one, and the most
/// characters of its name. Longer names are those of programs and their versions.
const LETTERS_MAX: usize = 3;
const HYPHENATED_LETTERS_MAX: usize = 5;
const MODEL_CHARS_MAX: usize = 12;

/// The most characters of an identifier with groups of digits, such as `cve-2024-35453`.
const IDENTIFIER_CHARS_MAX: usize = 24;

/// Whether a name is letters and groups of digits behind them.
fn is_identifier(name: &str) -> bool {
    let letters = name.bytes().take_while(u8::is_ascii_alphabetic).count();
    let mut groups = name[letters..].split('-');
    (2..=HYPHENATED_LETTERS_MAX).contains(&letters)
        && groups.next() == Some("")
        && groups.all(|group| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The name of a model, a flight or a quarter that the bytes of `range` are part of: `ba123`, `q1`,
/// `xr-200`. It must be a word of a sentence. With marks around it that sentences do not have, it
/// is code.
pub fn model(text: &str, range: Range<usize>) -> Option<&str> {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '-';
    // A long run of letters is read only as far as needed to see that it is no name.
    let bytes = |chars: &mut dyn Iterator<Item = char>| {
        chars.take(IDENTIFIER_CHARS_MAX + 1).take_while(|c| inside(*c)).count()
    };
    let begin = range.start - bytes(&mut text[..range.start].chars().rev());
    let end = range.end + bytes(&mut text[range.end..].chars());
    let (before, name, after) = (&text[..begin], &text[begin..end], &text[end..]);
    let is_short =
        name.len() <= MODEL_CHARS_MAX || name.len() <= IDENTIFIER_CHARS_MAX && is_identifier(name);
    if !is_short || !name.bytes().all(|byte| inside(byte.into())) {
        return None;
    }
    let letters_max = if name.contains('-') { HYPHENATED_LETTERS_MAX } else { LETTERS_MAX };
    let runs = name.split(|c: char| !c.is_ascii_alphabetic()).map(str::len);
    let longest = runs.max().unwrap_or(0);
    let has_digit = name.bytes().any(|byte| byte.is_ascii_digit());
    let version =
        name.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if !has_digit || !(1..=letters_max).contains(&longest) || version {
        return None;
    }
    let code = |c: char| "=<>[]{}|`\"#\\/+*_&@^~$".contains(c);
    let opens = before.is_empty() || before.ends_with([' ', '(']);
    let mut behind = after.chars();
    let closes = match behind.next() {
        None => true,
        Some(' ') => true,
        Some(c) if ".,;:!?)'".contains(c) => behind.next().is_none_or(|c| c == ' ' || c == 's'),
        _ => false,
    };
    let plain = !before.trim_end().ends_with(code) && !after.trim_start().starts_with(code);
    (opens && closes && plain).then_some(name)
}

/// Whether a span replaces one model by another with other letters: `b12` and `c12`, `5a` and `5b`.
/// Symmetric.
pub fn is_other_model(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    if span.a.len().max(span.b.len()) > 2 {
        return false;
    }
    let sides = [a.within(&span.a), b.within(&span.b)];
    // What was put in belongs to the token before it, or to the one behind it.
    let belongs_before = sides.iter().any(|Passage { tokens, range }| {
        !range.is_empty() && range.start > 0 && tokens.gap(range.start).is_empty()
    });
    let name = |Passage { tokens, range }: Passage<'_>| {
        let start = |at: usize| tokens.places[at].start as usize;
        let end = |at: usize| tokens.places[at].end as usize;
        let bytes = if !range.is_empty() {
            start(range.start)..end(range.end - 1)
        } else if belongs_before && range.start > 0 {
            end(range.start - 1)..end(range.start - 1)
        } else if range.start < tokens.len() {
            start(range.start)..start(range.start)
        } else {
            return None;
        };
        model(&tokens.text, bytes).map(|name| name.replace('-', ""))
    };
    let names = name(sides[0]).zip(name(sides[1]));
    names.is_some_and(|(left, right)| left != right)
}

/// Words that make another product of the one in front of them.
const EDITIONS: [&str; 11] =
    ["pro", "max", "plus", "ultra", "mini", "lite", "air", "se", "fe", "xl", "turbo"];

/// Sizes of clothes, before which a digit may stand.
const SIZES: [&str; 7] = ["xs", "s", "m", "l", "xl", "xxl", "xxxl"];

/// Whether the tokens of a passage are a size.
fn is_size(passage: Passage<'_>) -> bool {
    let Passage { tokens, range } = passage;
    let letters = match range.len() {
        1 => range.start,
        2 if is_digit(tokens.token(range.start)) && tokens.gap(range.start + 1).is_empty() => {
            range.start + 1
        }
        _ => return false,
    };
    SIZES.contains(&tokens.token(letters))
}

/// Whether a span puts an edition behind the name of a product, or is another size: `note 9` and
/// `note 9 pro`, `xl` and `4xl`. Symmetric.
pub fn is_other_edition(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    if is_size(a.within(&span.a)) && is_size(b.within(&span.b)) {
        return true;
    }
    let (Passage { tokens, range }, other) = match (span.a.is_empty(), span.b.is_empty()) {
        (true, false) => (b.within(&span.b), span.a.start),
        (false, true) => (a.within(&span.a), span.b.start),
        _ => return false,
    };
    let is_name = |token: &str| token.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let next = range.end;
    let is_of_size =
        range.len() == 1 && next < tokens.len() && is_size(tokens.within(&(range.start..next + 1)));
    is_of_size
        || range.clone().all(|at| EDITIONS.contains(&tokens.token(at)))
            && range.start.min(other) > 0
            && matches!(tokens.gap(range.start), "" | " ")
            && is_name(tokens.token(range.start - 1))
}

/// The Roman numerals of 0 to 9.
const ROMAN_DIGITS: [&str; 10] = ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"];

/// The value of a Roman numeral below 40.
fn roman(token: &str) -> Option<usize> {
    let of = |(tens, front): (usize, &str)| {
        let rest = token.strip_prefix(front)?;
        ROMAN_DIGITS.iter().position(|digit| *digit == rest).map(|digit| 10 * tens + digit)
    };
    ["", "x", "xx", "xxx"].into_iter().enumerate().find_map(of).filter(|value| *value > 0)
}

/// Whether two words are other Roman numerals: `phase ii`, `phase iii`. Single letters are more
/// often names, and rows of x stand for what is left out. Symmetric.
pub fn is_other_roman(x: &str, y: &str) -> bool {
    let are_blank = [x, y].iter().all(|word| word.bytes().all(|letter| letter == b'x'));
    let values = roman(x).zip(roman(y));
    values.is_some_and(|(x, y)| x != y) && x.len().max(y.len()) > 1 && !are_blank
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name is a word of a sentence: no version, no long identifier, nothing among marks of code.
    #[test]
    fn words_of_a_sentence() {
        for (text, expected) in [
            ("flight ba123 was late", Some("ba123")),
            ("in q1.", Some("q1")),
            ("the bug cve-2024-35453 was mended", Some("cve-2024-35453")),
            ("the day node-2024-05-01-slim came", None),
            ("the xr-200, too", Some("xr-200")),
            ("of v1 and", None),
            ("x = q1 + 2", None),
            ("see rfc2616-section14 of", None),
            ("in `q1` of", None),
            ("at a.q1/b", None),
            ("no name here", None),
        ] {
            let at = text.find(|c: char| c.is_ascii_digit()).unwrap_or(3);
            assert_eq!(model(text, at..at + 1), expected, "{text}");
        }
        let long = format!("a1{}", "b".repeat(1 << 20));
        assert_eq!(model(&long, 1..2), None);
    }
}
