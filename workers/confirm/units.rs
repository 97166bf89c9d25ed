//! The units of numbers: `49元` and `49美元` are two prices, though one character was put in.
//!
//! A unit is a word of a list that stands behind a number, without a space or, in Latin letters,
//! perhaps with one. What it replaces must be of the list, too: people count with many other words.

use crate::confirm::alignment::Tokens;
use crate::confirm::edits::Span;
use crate::confirm::numbers::{is_digit, is_numeral};
use crate::confirm::words;
use crate::text::characters::is_han;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Units of one meaning a line.
const UNITS: &str = include_str!("units.txt");

/// The longest unit, in characters.
const UNIT_CHARS_MAX: usize = 5;

/// Tokens in front of a span that may be part of the unit, which both texts have.
const SHARED_TOKENS_MAX: usize = 3;

/// The lines that a unit is in.
fn meanings(unit: &str) -> &'static [usize] {
    static MEANINGS: OnceLock<HashMap<&str, Vec<usize>>> = OnceLock::new();
    let all = MEANINGS.get_or_init(|| {
        let mut all = HashMap::<&str, Vec<usize>>::new();
        for (line, units) in words::lines(UNITS).enumerate() {
            units.split(' ').for_each(|unit| all.entry(unit).or_default().push(line));
        }
        all
    });
    all.get(unit).map_or(&[], Vec::as_slice)
}

/// The meanings of the unit behind the number that ends with the token at `number`.
fn unit_behind(tokens: &Tokens<'_>, number: usize) -> &'static [usize] {
    let next = number + 1;
    if next >= tokens.len() || !matches!(tokens.gap(next), "" | " ") {
        return &[];
    }
    let first = tokens.token(next);
    if !first.starts_with(is_han) {
        return meanings(first);
    }
    // A number and its unit have no space between them unless all characters have.
    let behind = &tokens.text[tokens.places[next].start as usize..];
    let ends = behind.char_indices().take(UNIT_CHARS_MAX).map(|(at, c)| at + c.len_utf8());
    let longest = ends.map(|end| meanings(&behind[..end])).filter(|found| !found.is_empty()).last();
    longest.filter(|_| tokens.gap(next).is_empty()).unwrap_or(&[])
}

/// The meanings of a currency in front of a number, at the last token of a span: `usd 49`, `c$49`.
fn currency_before(tokens: &Tokens<'_>, at: usize) -> &'static [usize] {
    let digit = at + 1 < tokens.len() && is_digit(tokens.token(at + 1));
    match (digit, tokens.token(at), tokens.gap(at + 1)) {
        (true, "us", "$") => meanings("usd"),
        (true, "c" | "ca" | "cad", "$") => meanings("cad"),
        (true, "a" | "au" | "aud", "$") => meanings("aud"),
        (true, "hk", "$") => meanings("hkd"),
        (true, "s" | "sg", "$") => meanings("sgd"),
        (true, "nt", "$") => meanings("twd"),
        (true, token, "" | " ") if token.len() == 3 => meanings(token),
        _ => &[],
    }
}

fn differ(left: &[usize], right: &[usize]) -> bool {
    !left.is_empty() && !right.is_empty() && !left.iter().any(|meaning| right.contains(meaning))
}

/// Whether a span gives a number of both texts another unit, or puts another currency in front of
/// one. Symmetric.
pub fn is_other_unit(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let is_number = |token: &str| {
        is_digit(token) || is_numeral(token) || token.is_ascii() && words::numeral(token).is_some()
    };
    // The nearest number in front of the span that both texts have.
    let most = (SHARED_TOKENS_MAX + 1).min(span.a.start).min(span.b.start);
    let numbers = (1..=most).map(|back| (span.a.start - back, span.b.start - back));
    let number = numbers
        .take_while(|(i, j)| a.token(*i) == b.token(*j))
        .find(|(i, _)| is_number(a.token(*i)));
    let behind = number.is_some_and(|(i, j)| differ(unit_behind(a, i), unit_behind(b, j)));
    let before = || {
        !span.a.is_empty()
            && !span.b.is_empty()
            && differ(currency_before(a, span.a.end - 1), currency_before(b, span.b.end - 1))
    };
    behind || before()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two units of one line of the list are one, whatever it is called; a unit is longest first.
    #[test]
    fn lines_are_meanings() {
        let are_other = |a: &str, b: &str| differ(meanings(a), meanings(b));
        for (a, b) in [("元", "美元"), ("kg", "lb"), ("m", "bn"), ("公里", "英里"), ("月", "个月")]
        {
            assert!(are_other(a, b) && are_other(b, a), "{a} {b}");
        }
        for (a, b) in
            [("元", "块"), ("hours", "hrs"), ("kg", "公斤"), ("元", "人"), ("分", "minutes")]
        {
            assert!(!are_other(a, b) && !are_other(b, a), "{a} {b}");
        }
        assert!(UNITS.lines().flat_map(|line| line.split(' ')).all(|unit| {
            unit.starts_with(|c: char| !is_han(c)) || unit.chars().count() <= UNIT_CHARS_MAX
        }));
    }
}
