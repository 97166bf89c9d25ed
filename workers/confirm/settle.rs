//! Settles the spans of an alignment, so that each is one replacement.

use crate::confirm::alignment::{Tokens, is_han_token};
use crate::confirm::digits::is_digit;
use crate::confirm::edits::Span;
use crate::confirm::numbers::joins;
use std::ops::Range;

/// Makes spans cover whole numbers, and joins spans that belong together.
///
/// A shortest edit script may cut a number in two, and may match a word with the same word in
/// another place.
pub fn settle(a: &Tokens<'_>, b: &Tokens<'_>, spans: &[Span]) -> Vec<Span> {
    let mut settled: Vec<Span> = Vec::with_capacity(spans.len());
    for (at, span) in spans.iter().enumerate() {
        // Between two spans the tokens of both sides are equal.
        let last = settled.last().map_or(0, |last| last.a.end);
        let next = spans.get(at + 1).map_or(a.len(), |next| next.a.start);
        let span = moved(a, b, span, span.a.start - last, next - span.a.end);
        let joined = |left: usize, right: usize| joins(a, left) || joins(b, right);
        let back = (0..span.a.start - last)
            .take_while(|n| joined(span.a.start - n, span.b.start - n))
            .count();
        let on =
            (0..next - span.a.end).take_while(|n| joined(span.a.end + n, span.b.end + n)).count();
        let span = Span {
            a: span.a.start - back..span.a.end + on,
            b: span.b.start - back..span.b.end + on,
        };
        match settled.last_mut() {
            Some(last) if belong(a, b, last, &span) => {
                last.a.end = span.a.end;
                last.b.end = span.b.end;
            }
            _ => settled.push(span),
        }
    }
    settled
}

/// The settled spans in which two texts differ, for tests.
#[cfg(test)]
pub fn settled(a: &Tokens<'_>, b: &Tokens<'_>) -> Vec<Span> {
    settle(a, b, &crate::confirm::alignment::spans(a, b, 1000).expect("near"))
}

/// A span on one side alone, moved so that it does not cut a number.
///
/// If `12日。` is left out of `12日。13日。`, the script may say that `2日。1` is left out, which cuts both
/// numbers.
fn moved(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span, before: usize, after: usize) -> Span {
    let (tokens, range) = match (span.a.is_empty(), span.b.is_empty()) {
        (false, true) => (a, &span.a),
        (true, false) => (b, &span.b),
        _ => return span.clone(),
    };
    let whole = |range: &Range<usize>| !joins(tokens, range.start) && !joins(tokens, range.end);
    let shifted = |by: isize| {
        let shift = |range: &Range<usize>| {
            range.start.saturating_add_signed(by)..range.end.saturating_add_signed(by)
        };
        (shift(range), Span { a: shift(&span.a), b: shift(&span.b) })
    };
    if whole(range) {
        return span.clone();
    }
    let back = (0..before)
        .take_while(|n| tokens.token(range.start - 1 - n) == tokens.token(range.end - 1 - n))
        .count();
    let on = (0..after)
        .take_while(|n| tokens.token(range.start + n) == tokens.token(range.end + n))
        .count();
    let places = (1..=back as isize).map(|n| -n).chain(1..=on as isize);
    let found = places.map(shifted).find(|(range, _)| whole(range));
    found.map_or_else(|| span.clone(), |(_, span)| span)
}

/// Whether two neighbouring spans are one replacement.
fn belong(a: &Tokens<'_>, b: &Tokens<'_>, last: &Span, next: &Span) -> bool {
    let between = next.a.start - last.a.end;
    // A number is one replacement, however long it is. Digits that spaces part are one, too.
    let in_number = |tokens: &Tokens<'_>, at: usize| {
        let is_digit = |at: usize| at < tokens.len() && is_digit(tokens.token(at));
        joins(tokens, at) || at > 0 && is_digit(at - 1) && is_digit(at)
    };
    if between == 0 && (in_number(a, last.a.end) || in_number(b, last.b.end)) {
        return true;
    }
    // A name may have a character in common with the one that it replaces. Words part at spaces.
    let inside = between == 0 || between == 1 && is_han_token(a.token(last.a.end));
    let longest =
        [&last.a, &last.b, &next.a, &next.b].map(|side| side.len()).into_iter().max().unwrap_or(0);
    // One span deletes and the other inserts, with few tokens between them.
    let opposite = last.a.is_empty() && next.b.is_empty() || last.b.is_empty() && next.a.is_empty();
    inside && longest <= 3 || opposite && between <= 4 && longest <= 6
}
