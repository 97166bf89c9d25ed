//! Settles the spans of an alignment, so that each is one replacement.

use crate::confirm::align::digits::{is_digit, is_digit_or_numeral};
use crate::confirm::align::edits::Span;
use crate::confirm::align::{Tokens, is_han_token};
use crate::confirm::numbers::{joins, values};
use crate::confirm::words::{names_a_day, numeral};
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
    let spans = settled.into_iter().flat_map(|span| parted(a, b, span)).flatten();
    spans.flat_map(|span| without_equal_number(a, b, span)).flatten().collect()
}

/// The settled spans in which two texts differ, for tests.
#[cfg(test)]
pub fn settled(a: &Tokens<'_>, b: &Tokens<'_>) -> Vec<Span> {
    settle(a, b, &crate::confirm::align::spans(a, b, 1000).expect("near"))
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

/// A span, or its parts before and behind a bracket that both sides have: `5日(周六)` and `5(星期六)`
/// differ in a day's 日 and in another word for the day of the week.
fn parted(a: &Tokens<'_>, b: &Tokens<'_>, span: Span) -> [Option<Span>; 2] {
    let bracket = |tokens: &Tokens<'_>, range: &Range<usize>| {
        let of = |at: usize| tokens.gap(at).chars().find(|c| matches!(c, '(' | ')'));
        (range.start..=range.end).find_map(|at| of(at).map(|bracket| (at, bracket)))
    };
    let is_inside = |at: usize, range: &Range<usize>| range.start < at && at < range.end;
    match (bracket(a, &span.a), bracket(b, &span.b)) {
        (Some((i, left)), Some((j, right)))
            if left == right && (is_inside(i, &span.a) || is_inside(j, &span.b)) =>
        {
            let parts = [(span.a.start..i, span.b.start..j), (i..span.a.end, j..span.b.end)];
            parts.map(|(a, b)| Some(Span { a, b }))
        }
        _ => [Some(span), None],
    }
}

/// A span, or two: the number at its begin or end that both sides write in their own way, and the
/// other words. `停运12` and `开通十二` differ in the words, though the numbers are the same.
fn without_equal_number(a: &Tokens<'_>, b: &Tokens<'_>, span: Span) -> [Option<Span>; 2] {
    let is_number = |tokens: &Tokens<'_>, at: usize| {
        let token = tokens.token(at);
        is_digit_or_numeral(token) || numeral(token).is_some() && !names_a_day(token)
    };
    // A sign before a number belongs to it.
    let has_words = |tokens: &Tokens<'_>, range: Range<usize>| {
        let is_word = |at: usize| tokens.token(at).chars().any(char::is_alphanumeric);
        range.clone().any(is_word) && !range.clone().any(|at| is_number(tokens, at))
    };
    let (x, y) = (&span.a, &span.b);
    let cuts = [true, false].map(|is_front| {
        // A part of a range, counted from the end at which the numbers stand.
        let part = |range: &Range<usize>, from: usize, to: usize| match is_front {
            true => range.start + from..range.start + to,
            false => range.end - to..range.end - from,
        };
        let at = |range: &Range<usize>, n: usize| part(range, n, n + 1).start;
        let numbers = |tokens: &Tokens<'_>, range: &Range<usize>, from: usize| {
            (from..range.len()).take_while(|n| is_number(tokens, at(range, *n))).count()
        };
        // Equal numbers may have equal words between them: `三到四`, `3到4`.
        let (mut i, mut j, mut cut) = (0, 0, (0, 0));
        loop {
            let (n, m) = (numbers(a, x, i), numbers(b, y, j));
            if n > 0 && m > 0 && values(a, part(x, i, i + n)) == values(b, part(y, j, j + m)) {
                (i, j) = (i + n, j + m);
                cut = (i, j);
            } else if n == 0 && i < x.len() && j < y.len() && a.token(at(x, i)) == b.token(at(y, j))
            {
                (i, j) = (i + 1, j + 1);
            } else {
                break;
            }
        }
        let (number, rest) = (
            (part(x, 0, cut.0), part(y, 0, cut.1)),
            (part(x, cut.0, x.len()), part(y, cut.1, y.len())),
        );
        let is_same = !number.0.is_empty()
            && has_words(a, rest.0)
            && has_words(b, rest.1)
            && a.passage(&number.0) != b.passage(&number.1);
        let place =
            if is_front { (number.0.end, number.1.end) } else { (number.0.start, number.1.start) };
        is_same.then_some(place)
    });
    match cuts.into_iter().flatten().next() {
        Some((i, j)) => {
            [Some(Span { a: x.start..i, b: y.start..j }), Some(Span { a: i..x.end, b: j..y.end })]
        }
        None => [Some(span), None],
    }
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
    // A name may have a character in common with the one that it replaces. Words part at spaces,
    // and at a numeral that is a number by itself: `毛衣一件` and `皮鞋一双`.
    let is_number = |tokens: &Tokens<'_>, at: usize| {
        is_digit_or_numeral(tokens.token(at)) && !joins(tokens, at) && !joins(tokens, at + 1)
    };
    let is_common = |at: usize| is_han_token(a.token(at)) && !is_number(a, at);
    let near = between == 0 || between == 1 && is_common(last.a.end) && !is_number(b, last.b.end);
    // Between two items of a list or two clauses is a mark.
    let parts = |tokens: &Tokens<'_>, from: usize, to: usize| {
        (from..=to).any(|at| tokens.gap(at).contains([',', '、', '。', ';', '!', '?']))
    };
    let inside =
        near && !(parts(a, last.a.end, next.a.start) && parts(b, last.b.end, next.b.start));
    let longest =
        [&last.a, &last.b, &next.a, &next.b].map(|side| side.len()).into_iter().max().unwrap_or(0);
    // One span deletes and the other inserts, with few tokens between them.
    let opposite = last.a.is_empty() && next.b.is_empty() || last.b.is_empty() && next.a.is_empty();
    inside && longest <= 3 || opposite && between <= 4 && longest <= 6
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `5日(周六)` and `5(星期六)` were one replacement, in which no list of words found the two forms of
    /// a day of the week. What stands before a bracket is one replacement, and what stands behind
    /// it another. So it was with two words of a list, each in another form.
    #[test]
    fn marks_part() {
        let parts = |a: &str, b: &str| {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            let of = |span: &Span| format!("{}|{}", x.passage(&span.a), y.passage(&span.b));
            settled(&x, &y).iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(parts("定于5日(周六)开始", "定于5(星期六)开始"), ["日|", "周|星期"]);
        assert_eq!(parts("定于5(星期六)开始", "定于5日(周六)开始"), ["|日", "星期|周"]);
        assert_eq!(parts("换了晶片,记忆体都在", "换了芯片,内存都在"), ["晶|芯", "记忆体|内存"]);
        assert_eq!(parts("请张三(工程师)来", "请李四(工程师)来"), ["张三|李四"]);
    }

    /// `停运12` and `开通十二` were one replacement of the same number in other characters, so texts that
    /// said the opposite were one at a similarity of 1. The words are a replacement of their own.
    #[test]
    fn equal_numbers_part() {
        let parts = |a: &str, b: &str| {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            let of = |span: &Span| format!("{}|{}", x.passage(&span.a), y.passage(&span.b));
            settled(&x, &y).iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(parts("今起停运12路车", "今起开通十二路车"), ["停运|开通", "12|十二"]);
        assert_eq!(parts("they won 3 of it", "they lost three of it"), ["won|lost", "3|three"]);
        assert_eq!(parts("租两室一厅", "租2室1厅"), ["两室一|2室1"]);
        // The number that both have hid the words on its sides.
        assert_eq!(parts("送来毛衣一件", "送来皮鞋一双"), ["毛衣|皮鞋", "件|双"]);
        assert_eq!(parts("在12日13时", "在十二日十三时"), ["12日13|十二日十三"]);
    }
}
