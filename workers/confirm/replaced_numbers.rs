//! Says what the numbers of a span are: other numbers, the same in other characters, furniture, or
//! slips of the pen.

use crate::confirm::align::digits::{is_digit, is_digit_or_numeral, is_numeral};
use crate::confirm::align::edits::Span;
use crate::confirm::align::lcs;
use crate::confirm::align::value::ONE;
use crate::confirm::align::{Passage, Tokens};
use crate::confirm::differences::{Difference, FACT_TOKENS_MAX};
use crate::confirm::furniture::{self, Furniture};
use crate::confirm::numbers::clocks;
use crate::confirm::numbers::in_code::in_code;
use crate::confirm::numbers::longer_numbers::{HALF, lacks_minutes, lengthens_number};
use crate::confirm::numbers::masked;
use crate::confirm::numbers::models::{is_other_edition, is_other_model, is_other_roman};
use crate::confirm::numbers::units::{is_other_unit, is_same_unit, is_unit_of_thousand};
use crate::confirm::numbers::{self, is_part};
use crate::confirm::words::numeral;
use std::ops::Range;

/// A shorter word is no misspelt number: `tent` is another word than `ten`.
const MISSPELT_LETTERS_MIN: usize = 5;

/// The days of the week, and what stands before them.
const DAYS: &str = "一二三四五六日天";
const WEEKS: [&str; 3] = ["周", "星期", "礼拜"];
/// The most tokens of a day of the week.
const WEEK_TOKENS_MAX: usize = 3;

/// The numbers of a date, of which one is its month.
const DATE_NUMBERS_MAX: usize = 3;

/// What the numbers of a span are; `Edit` if none is replaced. Symmetric.
///
/// In a short text a number in code is a fact: it may be the model of a product. In a longer text
/// it is a version, or stands in a line of a listing.
///
/// ```
/// use workers::confirm::align::{Tokens, spans};
/// use workers::confirm::differences::Difference;
/// use workers::confirm::replaced_numbers::number_difference;
/// use workers::confirm::settle::settle;
///
/// let (a, b) = ("a boat of 12 metres", "a boat of 15 metres");
/// let (a, b) = (Tokens::of(a).unwrap(), Tokens::of(b).unwrap());
/// // One digit differs, and the span covers the whole number.
/// let spans = settle(&a, &b, &spans(&a, &b, 100).unwrap());
/// assert_eq!((spans.len(), spans[0].a.len()), (1, 2));
/// assert_eq!(number_difference(&a, &b, &spans[0], false), Difference::Number);
/// ```
pub fn number_difference(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span, short: bool) -> Difference {
    let is_one = || masked::are_one_number(a.within(&span.a), b.within(&span.b));
    if is_unit_of_thousand(a, b, span) || is_one() {
        return Difference::Variant;
    }
    match value_difference(a, b, span, short) {
        Difference::Edit
            if is_other_unit(a, b, span)
                || is_other_day(a, b, span)
                || clocks::is_other_half(a, b, span)
                || is_other_model(a, b, span)
                || is_other_roman(a.passage(&span.a), b.passage(&span.b))
                || short && is_other_edition(a, b, span) =>
        {
            Difference::Number
        }
        Difference::Edit if is_same_unit(a, b, span) => Difference::Variant,
        difference => difference,
    }
}

/// Whether a span replaces a day of the week by another: `周六` and `周日`.
fn is_other_day(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let day = |tokens: &Tokens<'_>, range: &Range<usize>| {
        let at = range.end.checked_sub(1).filter(|at| *at > 0 && !range.is_empty())?;
        let before = &tokens.text[..tokens.places[at].start as usize];
        let is_day = tokens.touches(at) && WEEKS.iter().any(|week| before.ends_with(week));
        let at = is_day.then(|| DAYS.find(tokens.token(at))).flatten()?;
        // 日 and 天 are the same day.
        Some(at.min(DAYS.len() - '天'.len_utf8() - '日'.len_utf8()))
    };
    let is_short = span.a.len().max(span.b.len()) <= WEEK_TOKENS_MAX;
    is_short && day(a, &span.a).zip(day(b, &span.b)).is_some_and(|(one, other)| one != other)
}

/// Whether the first text has an amount without a number, a half or nothing, where the second one
/// has another number: `若干名` and `五名`, `半决赛` and `四分之一决赛`, `无人` and `3人`, `several` and `12`.
fn is_other_amount(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let is_exact = |tokens: &Tokens<'_>, range: &Range<usize>| {
        let is_part = |at: usize| {
            is_digit_or_numeral(tokens.token(at)) || matches!(tokens.token(at), "分" | "之")
        };
        !range.is_empty() && range.clone().all(is_part) && tokens.touches(range.end)
    };
    let counts = |tokens: &Tokens<'_>, range: &Range<usize>| {
        tokens.touches(range.end) && numbers::MEASURES.contains(tokens.token(range.end))
    };
    let values = || numbers::values(b, span.b.clone());
    let is_number = || !span.b.is_empty() && span.b.clone().all(|at| is_part(b, at));
    match a.passage(&span.a) {
        // `no people` and `12 people`, `无人` and `3人`.
        "no" => is_number() && values() != [0],
        "several" | "some" | "many" | "few" | "unknown" | "n/a" | "tbd" => {
            let are_digits = span.b.clone().all(|at| is_digit(b.token(at)));
            is_number() && are_digits && furniture::of(b, span.b.clone()).is_none()
        }
        "half" => {
            let is_half = match values()[..] {
                [value] if b.gap(span.b.end).starts_with('%') => value == 50 * ONE,
                [value] => value == ONE / 2,
                [ONE, two] => two == 2 * ONE && matches!(b.passage(&span.b), "1/2" | "1⁄2"),
                _ => false,
            };
            is_number() && !is_half
        }
        "无" | "没有" => is_exact(b, &span.b) && counts(b, &span.b) && values() != [0],
        "若干" | "多" | "几" | "数" => is_exact(b, &span.b) && counts(a, &span.a),
        HALF => is_exact(b, &span.b) && values() != [ONE / 2],
        _ => false,
    }
}

/// What the numbers of a span are by their values.
fn value_difference(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span, short: bool) -> Difference {
    let (here, there) = (a.within(&span.a), b.within(&span.b));
    if is_cut_off(here, there) || is_cut_off(there, here) {
        return Difference::Edit;
    }
    match (span.a.is_empty(), span.b.is_empty()) {
        (_, true) => return of_added(a, &span.a),
        (true, _) => return of_added(b, &span.b),
        _ => {}
    }
    let is_longer = lacks_minutes(here, there) || lacks_minutes(there, here);
    if is_longer || furniture::are_opposites(here, there) {
        return Difference::Number;
    }
    if are_same_numerals(a, b, span) {
        return Difference::Variant;
    }
    let reversed = Span { a: span.b.clone(), b: span.a.clone() };
    if is_other_amount(a, b, span) || is_other_amount(b, a, &reversed) {
        return Difference::Number;
    }
    of_both_values(a, b, span, short)
}

/// What a passage is that only one text has.
fn of_added(tokens: &Tokens<'_>, range: &Range<usize>) -> Difference {
    match furniture::of(tokens, range.clone()) {
        Some(Furniture::Credit) => Difference::Credit,
        Some(_) => Difference::Furniture,
        None if lengthens_number(tokens, range) => Difference::Number,
        None => Difference::Edit,
    }
}

/// What the numbers of a span are of which both sides have tokens.
fn of_both_values(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span, short: bool) -> Difference {
    let (x, y) = (span.a.clone(), span.b.clone());
    // A numeral in place of another is another number, whatever stands behind it. A half counts as
    // a numeral here: 半片, 两片.
    let is_count = |token: &str| is_numeral(token) || token == HALF;
    let alone = x.len() == 1 && y.len() == 1;
    let numerals = alone && is_count(a.token(x.start)) && is_count(b.token(y.start));
    let counts = [numbers::any(a, x.clone()), numbers::any(b, y.clone())];
    let only_numbers = |tokens: &Tokens<'_>, range: &Range<usize>| {
        range.clone().all(|at| is_digit_or_numeral(tokens.token(at)))
    };
    let only = [only_numbers(a, &x), only_numbers(b, &y)];
    let found =
        numerals || counts == [true, true] || counts != [false, false] && only[0] && only[1];
    // A number is as long as a word, however many digits it has.
    let has_more_than = |most: usize, tokens: &Tokens<'_>, range: &Range<usize>| {
        let begins = |at: &usize| *at == range.start || !numbers::joins(tokens, *at);
        range.clone().filter(begins).nth(most).is_some()
    };
    let one = |tokens: &Tokens<'_>, range: &Range<usize>| !has_more_than(1, tokens, range);
    let long = || has_more_than(FACT_TOKENS_MAX, a, &x) || has_more_than(FACT_TOKENS_MAX, b, &y);
    // A byline in place of a paragraph has as many numbers as that: none.
    let replaces_nothing = !found || !(only[0] && only[1]) && long();
    let frame = furniture::of(a, x.clone());
    if frame.is_none() && replaces_nothing {
        return Difference::Edit;
    }
    let framed = (frame, furniture::of(b, y.clone()));
    match framed {
        (Some(Furniture::Credit), Some(Furniture::Credit)) => return Difference::Credit,
        (_, None) if replaces_nothing => return Difference::Edit,
        _ => {}
    }
    if numerals && (a.token(x.start) == HALF) != (b.token(y.start) == HALF) {
        return Difference::Number;
    }
    // `千分之五` and `百分之五`.
    if numerals && numbers::begins_fraction(a, x.start) && numbers::begins_fraction(b, y.start) {
        return Difference::Number;
    }
    let (left, right) = (numbers::values(a, x.clone()), numbers::values(b, y.clone()));
    let same =
        !left.is_empty() && left == right || numbers::same_digits(a.within(&x), b.within(&y));
    let days = one(a, &x) && one(b, &y) && numbers::may_be_days(a.within(&x), b.within(&y));
    if same && !days {
        return Difference::Variant;
    }
    match framed {
        (Some(_), Some(_)) => return Difference::Furniture,
        // A date line in place of a headline replaces no number, and is not left out.
        (Some(_), None) | (None, Some(_)) => return Difference::Edit,
        (None, None) => {}
    }
    if is_same_day(&left, &right) {
        return Difference::Variant;
    }
    let lacks = |these: &[i128], those: &[i128]| these.iter().any(|value| !those.contains(value));
    let lacking = [lacks(&left, &right), lacks(&right, &left)];
    let other = match lacking {
        // One number each, such as `11.11.2024` and `11.12.2024`.
        _ if left.len() == right.len() && one(a, &x) && one(b, &y) => true,
        [false, false] => left.len() == right.len() && same_words(a, b, span),
        _ => lacking[0] && lacking[1],
    };
    let code = !short && (in_code(a, x) || in_code(b, y));
    match other && !code && !is_slip_of_number(a, b, span) {
        true => Difference::Number,
        false => Difference::Edit,
    }
}

/// Whether the sides have the same tokens but for digits and numerals of the same values, as in
/// `两室一厅` and `2室1厅`.
fn are_same_numerals(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let value = |tokens: &Tokens<'_>, at: usize| {
        is_digit_or_numeral(tokens.token(at)).then(|| numbers::values(tokens, at..at + 1))
    };
    let mut places = span.a.clone().zip(span.b.clone());
    span.a.len() == span.b.len()
        && places.all(|(i, j)| {
            a.token(i) == b.token(j) || value(a, i).is_some() && value(a, i) == value(b, j)
        })
}

/// Whether the first text ends within a number, behind which the other text goes on. A teaser may
/// be cut there.
fn is_cut_off(one: Passage<'_>, other: Passage<'_>) -> bool {
    let (Passage { tokens: short, range: x }, Passage { tokens: whole, range: y }) = (one, other);
    if x.is_empty() || x.end < short.len() || x.len() >= y.len() {
        return false;
    }
    let cut = y.start + x.len();
    let mut equal = x.clone().zip(y.clone());
    let behind = (cut..whole.len()).find(|at| !numbers::joins(whole, *at));
    short.gap(short.len()).trim_end_matches(['.', '…']).is_empty()
        && is_digit(short.token(x.end - 1))
        && numbers::joins(whole, cut)
        && behind.is_some()
        && equal.all(|(i, j)| short.token(i) == whole.token(j))
}

/// Whether two dates have the same parts in another order, of which one is the name of a month:
/// `march 3, 2021` and `3 march 2021`.
fn is_same_day(left: &[i128], right: &[i128]) -> bool {
    let sorted = |values: &[i128]| {
        let mut values = values.to_vec();
        values.sort_unstable();
        values
    };
    left.len() <= DATE_NUMBERS_MAX
        && left.iter().any(|value| numbers::is_value_of_month(*value))
        && sorted(left) == sorted(right)
}

/// Whether the sides are equal except for their numbers: `2 to 1` and `1 to 2`, but not a clause
/// that moved.
fn same_words(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let is_word = |token: &&str| !is_digit_or_numeral(token);
    let left = span.a.clone().map(|at| a.token(at)).filter(is_word);
    left.eq(span.b.clone().map(|at| b.token(at)).filter(is_word))
}

/// The tokens of a span that differ from the token in the same place of the other text.
fn replaced_tokens<'t>(
    a: &'t Tokens<'_>,
    b: &'t Tokens<'_>,
    span: &Span,
) -> impl Iterator<Item = (&'t str, &'t str)> {
    let pairs = span.a.clone().zip(span.b.clone()).map(|(i, j)| (a.token(i), b.token(j)));
    pairs.filter(|(x, y)| x != y)
}

/// Whether what makes another number may be slips of the pen: both sides have as many tokens, and
/// no digit or numeral replaces another. `5月` and `5人` is another unit, or one wrong character.
pub fn may_be_slips(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let mut differ = replaced_tokens(a, b, span).peekable();
    span.a.len() == span.b.len()
        && differ.peek().is_some()
        && differ.all(|(x, y)| !(is_digit_or_numeral(x) && is_digit_or_numeral(y)))
}

/// Whether the sides differ in one character, which is a numeral on one side alone. This is a slip,
/// not another number.
fn is_slip_of_number(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    if span.a.len() != span.b.len() {
        return false;
    }
    let mut differ = replaced_tokens(a, b, span);
    let is_slip = |(x, y)| is_digit_or_numeral(x) != is_digit_or_numeral(y) || is_misspelt(x, y);
    differ.next().is_some_and(is_slip) && differ.next().is_none()
}

/// Whether one of two words is a number and the other one is that word misspelt: `thousnd`.
fn is_misspelt(x: &str, y: &str) -> bool {
    let is_number = |word: &str| !is_digit_or_numeral(word) && numeral(word).is_some();
    let [p, q] = [x, y].map(|word| word.chars().collect::<Vec<char>>());
    // A letter is lost, added or replaced, or two change places.
    let longer = p.len().max(q.len());
    is_number(x) != is_number(y)
        && longer >= MISSPELT_LETTERS_MIN
        && lcs::length(&p, &q) + 1 >= longer
}
