//! Finds numbers that have different signs of money or of shares in two texts.

use crate::confirm::align::Tokens;
use crate::confirm::align::digits::is_digit;
use crate::confirm::align::edits::{Span, equal_parts};
use crate::confirm::numbers::joins;
use crate::confirm::numbers::signs::{MONEY, SHARES, signs};

/// The numbers between `spans` that both texts have with different signs of money or of shares:
/// `$5` and `€5`. A sign that one text lacks changes nothing. Marks are not tokens, so no span has
/// them.
pub fn numbers_with_other_signs(a: &Tokens<'_>, b: &Tokens<'_>, spans: &[Span]) -> Vec<Span> {
    let kinds = |signs: &[char]| {
        signs.iter().filter(|sign| a.may_have(**sign) || b.may_have(**sign)).count()
    };
    if kinds(&MONEY) < 2 && kinds(&SHARES) < 2 {
        return Vec::new();
    }
    let other = |i: usize, j: usize| {
        // At the first digit of a number.
        if !is_digit(a.token(i)) || joins(a, i) {
            return None;
        }
        let digits = (i + 1..a.len()).take_while(|at| joins(a, *at)).count() + 1;
        let span = Span { a: i..i + digits, b: j..(j + digits).min(b.len()) };
        let pairs = signs(a, &span.a).into_iter().zip(signs(b, &span.b));
        let is_other = |(x, y): (Option<char>, Option<char>)| x.zip(y).is_some_and(|(x, y)| x != y);
        pairs.into_iter().any(is_other).then_some(span)
    };
    let equal = equal_parts(spans, [a.len(), b.len()]).flat_map(|part| part.a.zip(part.b));
    equal.filter_map(|(i, j)| other(i, j)).collect()
}
