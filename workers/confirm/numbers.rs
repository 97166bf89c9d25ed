//! Numbers in two aligned texts: which belong to facts, which to furniture, which to code.
//!
//! A number is a run of digits, with decimal points and with commas between thousands, or a numeral
//! in Chinese characters that counts or orders something. Both are compared by value. The rule that
//! refuses a pair for them is in the table of `confirm/mod.rs`.

use crate::confirm::alignment::{CIRCLE, LARGE_CIRCLE, Tokens};
use std::ops::Range;
use std::sync::OnceLock;

/// Whether `token` is a digit, perhaps with a decimal point or a minus sign before it.
pub fn is_digit(token: &str) -> bool {
    token.as_bytes().last().is_some_and(u8::is_ascii_digit)
}

/// Chinese numerals; those from the third to the eleventh are 1 to 9.
const NUMERALS: &str = "零〇一二三四五六七八九十百千万亿两";

/// Whether `token` is a Chinese numeral.
pub fn is_numeral(token: &str) -> bool {
    let mut chars = token.chars();
    let is_one = |c| NUMERALS.contains(c) || matches!(c, CIRCLE | LARGE_CIRCLE);
    chars.next().is_some_and(is_one) && chars.next().is_none()
}

/// Whether the tokens before and at `at` belong to one number.
pub fn joins(tokens: &Tokens<'_>, at: usize) -> bool {
    if at == 0 || at >= tokens.len() {
        return false;
    }
    let (left, right) = (tokens.token(at - 1), tokens.token(at));
    let numeral = |token: &str| is_digit(token) || is_numeral(token);
    is_digit(left) && is_digit(right) && matches!(tokens.gap(at), "" | ",")
        || numeral(left) && is_numeral(right) && tokens.gap(at).is_empty()
}

/// What may follow a numeral that counts or orders something.
const MEASURES: &str = "届次名人年月日号期章节条位个岁元米度级场分秒时点天周季回卷集轮批项部台辆架艘栋层楼路组班营团师军里公亩吨斤克升倍\
    成折等只头匹棵朵件套双副本册页字句段幅张份篇首声阵";

/// Whether the numeral at `at` counts something: behind an ordinal mark or another numeral, or
/// before another numeral or a measure word. Alone it is often part of a word.
fn counts(tokens: &Tokens<'_>, at: usize) -> bool {
    let touches = |at: usize| at < tokens.len() && tokens.gap(at).is_empty();
    let behind =
        at > 0 && touches(at) && (tokens.token(at - 1) == "第" || is_numeral(tokens.token(at - 1)));
    let before = touches(at + 1)
        && (is_numeral(tokens.token(at + 1)) || MEASURES.contains(tokens.token(at + 1)));
    behind || before
}

/// Whether there is a number in `range`.
pub fn any(tokens: &Tokens<'_>, mut range: Range<usize>) -> bool {
    range.any(|at| is_digit(tokens.token(at)) || is_numeral(tokens.token(at)) && counts(tokens, at))
}

/// The values of the numbers in `range`, in their order and in billionths.
///
/// ```
/// use workers::confirm::alignment::Tokens;
/// use workers::confirm::numbers::values;
///
/// let tokens = Tokens::of("第二十次，12,000人，3.5元").unwrap();
/// let billionths = [20.0, 12_000.0, 3.5].map(|number| (number * 1e9) as i128);
/// assert_eq!(values(&tokens, 0..tokens.len()), billionths);
/// ```
pub fn values(tokens: &Tokens<'_>, range: Range<usize>) -> Vec<i128> {
    // A date or a version has two points, and its parts are numbers.
    let is_decimal = |number: &str| number.matches('.').count() <= 1;
    let parts = |number: &str| -> Vec<i128> {
        match is_decimal(number) {
            true => vec![value(number)],
            false => number.split('.').map(value).collect(),
        }
    };
    written(tokens, range).iter().flat_map(|number| parts(number)).collect()
}

/// Whether two ranges are the same but for points and signs, where the other text has another mark
/// or a space: `3.5` may be a date, or the end of a sentence without a space.
pub fn same_digits(a: (&Tokens<'_>, Range<usize>), b: (&Tokens<'_>, Range<usize>)) -> bool {
    let ((a, x), (b, y)) = (a, b);
    let marks = ['.', '-', '−'];
    let bare = |token: &str| token.len() > 1 && token.starts_with(marks) && is_digit(token);
    // The mark of one text stands before the digit of the other, perhaps with spaces.
    let stands = |marked: &str, gap: &str| match marked.starts_with('.') {
        true => !gap.is_empty(),
        false => gap.contains(['-', '−']),
    };
    let same = |(i, j): (usize, usize)| {
        let (left, right) = (a.token(i), b.token(j));
        left.trim_start_matches(marks) == right.trim_start_matches(marks)
            && match (bare(left), bare(right)) {
                (true, false) => stands(left, b.gap(j)),
                (false, true) => stands(right, a.gap(i)),
                _ => true,
            }
    };
    x.len() == y.len() && x.zip(y).all(same)
}

/// The numbers in `range`, without commas.
fn written(tokens: &Tokens<'_>, range: Range<usize>) -> Vec<String> {
    let (mut numbers, mut end) = (Vec::<String>::new(), None);
    for at in range {
        let token = tokens.token(at);
        if !is_digit(token) && !is_numeral(token) {
            continue;
        }
        match numbers.last_mut() {
            Some(number) if end == Some(at) && joins(tokens, at) => number.push_str(token),
            _ => numbers.push(token.to_owned()),
        }
        end = Some(at + 1);
    }
    numbers
}

/// One in [`value`].
const ONE: i128 = 1_000_000_000;

/// The value of one number, in billionths: `1.2亿` is 120,000,000. The greatest one stands for all
/// that have no room in 128 bits.
fn value(number: &str) -> i128 {
    let (mut total, mut section, mut digit) = (0i128, 0i128, 0i128);
    // What a digit behind the point is worth.
    let mut place = None;
    for c in number.chars() {
        let unit = match c {
            '十' => 10,
            '百' => 100,
            '千' => 1_000,
            '万' => 10_000,
            '亿' => 100_000_000,
            '.' => {
                place = Some(ONE / 10);
                continue;
            }
            _ => {
                let one = digit_of(c);
                digit = match &mut place {
                    Some(place) => {
                        let more = one * *place;
                        *place /= 10;
                        digit.saturating_add(more)
                    }
                    None => digit.saturating_mul(10).saturating_add(one * ONE),
                };
                continue;
            }
        };
        if unit < 10_000 {
            let digit = if digit == 0 { ONE } else { digit };
            section = section.saturating_add(digit.saturating_mul(unit));
        } else {
            total = total.saturating_add(section.saturating_add(digit)).saturating_mul(unit);
            section = 0;
        }
        (digit, place) = (0, None);
    }
    let value = total.saturating_add(section).saturating_add(digit);
    if number.starts_with(['-', '−']) { -value } else { value }
}

/// The value of one digit or Chinese numeral below ten; 0 of any other character.
fn digit_of(c: char) -> i128 {
    let of_numeral = || NUMERALS.chars().skip(2).position(|numeral| numeral == c);
    match c {
        '零' | '〇' => 0,
        '两' => 2,
        _ => match c.to_digit(10) {
            Some(digit) => digit.into(),
            None => of_numeral().map_or(0, |at| at as i128 + 1),
        },
    }
}

/// The words beside a number that is furniture, one a line.
const FURNITURE_WORDS: &str = include_str!("furniture_words.txt");

fn furniture_words() -> &'static [&'static str] {
    static WORDS: OnceLock<Vec<&str>> = OnceLock::new();
    WORDS.get_or_init(|| FURNITURE_WORDS.lines().filter(|line| !line.starts_with('#')).collect())
}

/// Whether the numbers of a span are a counter, a clock, a date line or a copyright line.
///
/// They are if a word of the list stands directly before or behind them, or in the span, or if they
/// are a date or a clock in digits that stands alone between spaces.
pub fn is_furniture(tokens: &Tokens<'_>, range: Range<usize>) -> bool {
    let [before, group, after] = around(tokens, range.clone());
    let words = furniture_words();
    if range.into_iter().any(|at| words.contains(&tokens.token(at)))
        || touched(before, after, words)
    {
        return true;
    }
    let edge = |c: Option<char>| c.is_none_or(char::is_whitespace);
    let alone = edge(before.chars().next_back()) && edge(after.chars().next());
    alone && (group.contains(':') || group.matches(['-', '/']).count() >= 2)
        || in_date_line(before, after)
}

/// The text before the whole group of numbers that `range` belongs to, the group and the text after
/// it: a date with a clock has five numbers.
pub(super) fn around<'t>(tokens: &'t Tokens<'_>, range: Range<usize>) -> [&'t str; 3] {
    let glued = |at: usize, token: usize| {
        is_digit(tokens.token(token))
            && matches!(tokens.gap(at), "" | "-" | "/" | "." | ":" | "," | " ")
    };
    let (mut from, mut to) = (range.start, range.end);
    while from > 0 && glued(from, from - 1) {
        from -= 1;
    }
    while to < tokens.len() && glued(to, to) {
        to += 1;
    }
    let (start, end) = (tokens.places[from].start as usize, tokens.places[to - 1].end as usize);
    [&tokens.text[..start], &tokens.text[start..end], &tokens.text[end..]]
}

/// The characters on either side of a number in which a date line of a news agency must end.
const DATE_LINE_CHARS: usize = 24;

/// Whether a number stands in the date line before the first sentence: `(place, 5 march)` or
/// `place, 5 march -`.
pub(super) fn in_date_line(before: &str, after: &str) -> bool {
    let head = before.chars().nth(DATE_LINE_CHARS).is_none();
    let end = after.chars().take(DATE_LINE_CHARS).find(|c| ")—–。.!?;".contains(*c));
    match end {
        // In brackets of their own; `today (5 march)` is part of a sentence.
        Some(')') => {
            let from = before.char_indices().rev().nth(DATE_LINE_CHARS - 1).map_or(0, |(at, _)| at);
            before[from..].rfind('(').is_some_and(|open| {
                let (rest, bracket) = before.split_at(from + open);
                let behind = rest.chars().next_back();
                !bracket.contains(')')
                    && behind.is_none_or(|c| c.is_whitespace() || "。.!?".contains(c))
            })
        }
        Some('—' | '–') => head,
        _ => false,
    }
}

/// Whether one of `words` ends `before` or begins `after`, marks left out, as a whole word.
pub(super) fn touched(before: &str, after: &str, words: &[&str]) -> bool {
    let before = before.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '©');
    let after = after.trim_start_matches(|c: char| c.is_whitespace() || c == '次');
    words.iter().any(|word| {
        let parted =
            |c: Option<char>| !word.is_ascii() || c.is_none_or(|c| !c.is_ascii_alphabetic());
        before.strip_suffix(word).is_some_and(|rest| parted(rest.chars().next_back()))
            || after.strip_prefix(word).is_some_and(|rest| parted(rest.chars().next()))
    })
}

/// Whether a number belongs to code, a path or a version: Latin letters or joining marks touch it,
/// or it has a point and a Latin word stands before it. `Size 47` and `July 12` are facts of a
/// sentence.
pub fn in_code(tokens: &Tokens<'_>, range: Range<usize>) -> bool {
    let touches = |c: char| c.is_ascii_alphabetic() || "./_=<>[]{}`\"#\\-+".contains(c);
    let latin = |token: &str| token.bytes().all(|byte| byte.is_ascii_alphabetic());
    let (start, end) =
        (tokens.places[range.start].start as usize, tokens.places[range.end - 1].end as usize);
    let behind_word =
        range.start > 0 && tokens.gap(range.start) == " " && latin(tokens.token(range.start - 1));
    let mut rest = (range.start + 1..range.end).take_while(|at| joins(tokens, *at));
    let version = behind_word && rest.any(|at| tokens.token(at).starts_with('.'));
    let mut after = tokens.text[end..].chars();
    let next = after.next();
    // A full stop ends a sentence unless something follows it directly.
    let follows = next.is_some_and(|c| {
        touches(c) && (c != '.' || after.next().is_some_and(char::is_alphanumeric))
    });
    version || follows || tokens.text[..start].chars().next_back().is_some_and(touches)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values_of(text: &str) -> Vec<f64> {
        let tokens = Tokens::of(text).expect("short");
        values(&tokens, 0..tokens.len()).into_iter().map(|value| value as f64 / 1e9).collect()
    }

    /// Digits and Chinese numerals have the same values.
    #[test]
    fn numerals_and_digits() {
        assert_eq!(
            values_of("十四 第二十一届 一百零五 二〇二四 两万三千 3亿"),
            [14.0, 21.0, 105.0, 2024.0, 23_000.0, 300_000_000.0]
        );
        assert_eq!(values_of("14 21 105 2024 23,000"), [14.0, 21.0, 105.0, 2024.0, 23_000.0]);
        let tokens = Tokens::of("9".repeat(40)).expect("short");
        assert_eq!(values(&tokens, 0..tokens.len()), [i128::MAX]);
    }

    /// A point and a sign count, zeros at the end of a fraction do not, and a date with points is
    /// three numbers.
    #[test]
    fn fractions() {
        assert_eq!(
            values_of("3.5% 0.50 1.2亿 12000万 3.0，降至-5度"),
            [3.5, 0.5, 120_000_000.0, 120_000_000.0, 3.0, -5.0]
        );
        assert_eq!(values_of("2024.10.05"), [2024.0, 10.0, 5.0]);
    }

    fn number_at(text: &str, number: &str) -> (bool, bool) {
        let tokens = Tokens::of(text).expect("short");
        let place = text.find(number).expect("it is there");
        let inside = |at: &usize| {
            (place..place + number.len()).contains(&(tokens.places[*at].start as usize))
        };
        let at: Vec<usize> = (0..tokens.len()).filter(inside).collect();
        let range = at[0]..at[at.len() - 1] + 1;
        (is_furniture(&tokens, range.clone()), in_code(&tokens, range))
    }

    /// Counters, clocks, date lines and copyright lines are furniture; numbers in sentences are
    /// not.
    #[test]
    fn furniture_and_facts() {
        for (text, number) in [
            ("正文。 阅读 1234 评论 5", "1234"),
            ("访问数:12345 当前时间:10:02:33 正文", "02"),
            ("2024-10-05 08:30 来源:本站 正文", "10"),
            ("正文 版权所有 © 2023 京icp备00000001号", "2023"),
            ("the text. 41012 views, 7 comments", "41012"),
            ("copyright 2019 by the authors", "2019"),
            ("(石桥镇,3月5日)今年的庙会办得热闹。", "5"),
            ("dover, 5 march — the harbour was full.", "5"),
        ] {
            assert!(number_at(text, number).0, "{text}");
        }
        for (text, number) in [
            ("今天最高气温30度", "30"),
            ("将于3月5日在北京召开", "5"),
            ("he sold 12 houses", "12"),
            ("今天(12月19日)出版", "19"),
        ] {
            assert!(!number_at(text, number).0, "{text}");
        }
    }

    /// Numbers of versions, paths and code are told from numbers of sentences.
    #[test]
    fn code_and_sentences() {
        for (text, number) in
            [("已在 rust 1.55 中", "1.55"), ("let a = [12]", "12"), ("第3-x 型", "3")]
        {
            assert!(number_at(text, number).1, "{text}");
        }
        for (text, number) in [
            ("今天气温30度", "30"),
            ("共有 12 人", "12"),
            ("a shirt of size 47 in", "47"),
            ("size 47. price 10.9", "47. price 10.9"),
        ] {
            assert!(!number_at(text, number).1, "{text}");
        }
    }
}
