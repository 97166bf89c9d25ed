//! Numbers in two aligned texts.
//!
//! A number is a run of digits, with decimal points or commas and with marks between thousands, a
//! numeral in Chinese characters that counts or orders something, or an English word that is one.
//! All are compared by value. The rule that refuses a pair for other numbers is in the table of
//! `confirm/mod.rs`.

pub(super) mod clocks;
pub(super) mod in_code;
pub(super) mod longer_numbers;
pub(super) mod masked;
pub(super) mod models;
pub(super) mod other_signs;
mod signs;
pub(super) mod times;
pub(super) mod units;

use crate::confirm::align::digits::{
    HAN_DIGITS, digit_value, is_decimal_mark, is_digit, is_digit_or_numeral, is_minus_sign,
    is_numeral,
};
use crate::confirm::align::thousands::{same_thousands, with_points_in_thousands};
use crate::confirm::align::value::{ONE, value};
use crate::confirm::align::{Passage, Tokens};
use crate::confirm::numbers::clocks::Written;
use crate::confirm::numbers::signs::signs;
use crate::confirm::words::{self, is_number_word};
use crate::text::characters::is_han;
use std::ops::Range;

/// A number in digits without the marks that are part of its digits.
fn without_marks(token: &str) -> &str {
    token.trim_start_matches(|c| is_decimal_mark(c) || is_minus_sign(c))
}

/// Short forms of magnitudes behind a sum of money: `$5m`.
const OF_MONEY: [(&str, &str); 7] = [
    ("k", "千"),
    ("m", "百万"),
    ("mn", "百万"),
    ("b", "十亿"),
    ("bn", "十亿"),
    ("tn", "万亿"),
    ("trn", "万亿"),
];

/// Korean magnitudes, which are a word of their own behind a number (`12만 대`) or stand between it
/// and its unit (`12만원`).
const KOREAN: [(char, &str); 6] =
    [('십', "十"), ('백', "百"), ('천', "千"), ('만', "万"), ('억', "亿"), ('조', "万亿")];

/// Whether `c` is a Korean magnitude.
pub fn is_korean_magnitude(c: char) -> bool {
    KOREAN.iter().any(|(korean, _)| *korean == c)
}

/// The numeral of the token at `at`, if it is a magnitude directly behind a number: a short form
/// behind a sum of money, or a Korean word.
fn magnitude_behind(tokens: &Tokens<'_>, at: usize) -> Option<String> {
    let touches = at > 0 && tokens.gap(at).is_empty() && is_digit(tokens.token(at - 1));
    if !touches {
        return None;
    }
    let token = tokens.token(at);
    if let Some((_, numeral)) = OF_MONEY.iter().find(|(short, _)| *short == token) {
        return signs(tokens, &(first_of(tokens, at - 1)..at))[0].map(|_| (*numeral).to_owned());
    }
    let of_korean = |c| KOREAN.iter().find(|(korean, _)| *korean == c).map(|(_, numeral)| *numeral);
    token.chars().map(of_korean).collect()
}

/// Whether the token at `at` begins `百分之` before a number, which says that it is a share: `40%`.
fn begins_share(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.token(at) == "百" && begins_fraction(tokens, at)
}

/// Whether the token at `at` begins a share before a number, such as `百分之` or `千分之`.
pub fn begins_fraction(tokens: &Tokens<'_>, at: usize) -> bool {
    matches!(tokens.token(at), "十" | "百" | "千" | "万") && goes_on(tokens, at, &["分", "之"])
}

/// What stands behind a decimal number in words: units, and the first characters of units.
const BEHIND_DECIMALS: &str = "米公厘毫平立元块吨倍度斤克升亩级里岁英摄小个";

/// Whether the token at `at` is the point of a decimal number in words: `百分之七点八`, `五点六亿`,
/// `二十三点四公里`. Elsewhere 点 tells the time: `八点四十`.
fn is_point(tokens: &Tokens<'_>, at: usize) -> bool {
    let is_between = tokens.token(at) == "点"
        && tokens.touches(at)
        && tokens.touches(at + 1)
        && at > 0
        && is_numeral(tokens.token(at - 1))
        && is_numeral(tokens.token(at + 1));
    is_between && (is_of_share(tokens, at) || is_of_decimal(tokens, at))
}

/// Whether the digits behind the point at `at` end with a unit, 万 or 亿.
fn is_of_decimal(tokens: &Tokens<'_>, at: usize) -> bool {
    let is_digit = |at: &usize| tokens.touches(*at) && is_numeral(tokens.token(*at));
    let mut digits = (at + 1..).take_while(is_digit);
    let end = at + 1 + digits.clone().count();
    let is_unit = tokens.touches(end) && BEHIND_DECIMALS.contains(tokens.token(end));
    let is_large = matches!(tokens.token(end - 1), "万" | "亿");
    (is_unit || is_large) && digits.all(|at| tokens.token(at) != "十")
}

/// Whether the point at `at` is in a number behind `百分之`.
fn is_of_share(tokens: &Tokens<'_>, at: usize) -> bool {
    let is_one = |at: usize| tokens.gap(at).is_empty() && is_numeral(tokens.token(at));
    let first = (0..at).rev().find(|before| !is_one(*before));
    first.is_some_and(|before| before + 1 < at && tokens.token(before) == "之")
}

/// Whether the token at `at` is the `and` of an English number: `two hundred and six`.
fn is_and(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.token(at) == "and"
        && at > 0
        && at + 1 < tokens.len()
        && (tokens.gap(at), tokens.gap(at + 1)) == (" ", " ")
        && matches!(tokens.token(at - 1), "hundred" | "thousand")
        && is_number_word(tokens.token(at + 1))
}

/// Whether the token at `at` begins `零下` before a number, which is below zero.
fn is_below_zero(tokens: &Tokens<'_>, at: usize) -> bool {
    tokens.token(at) == "零" && goes_on(tokens, at, &["下"])
}

/// Whether `words` stand behind the token at `at`, and a number behind them, all without a space.
fn goes_on(tokens: &Tokens<'_>, at: usize, words: &[&str]) -> bool {
    let number = at + 1 + words.len();
    let same = |(n, word): (usize, &&str)| tokens.token(at + 1 + n) == *word;
    number < tokens.len()
        && words.iter().enumerate().all(same)
        && (at + 1..=number).all(|at| tokens.gap(at).is_empty())
        && is_digit_or_numeral(tokens.token(number))
}

/// The most zeros in a row that are searched for the Chinese digit beside them. Without a limit a
/// number of many zeros would take quadratic time.
const ZEROS_MAX: usize = 16;

/// Whether the token at `at` is a zero in digits among Chinese digits: `二0二四年`, but not
/// `周三08:30`.
fn is_zero_in_numeral(tokens: &Tokens<'_>, at: usize) -> bool {
    if tokens.token(at) != "0" {
        return false;
    }
    let touches = |at: usize| tokens.gap(at).is_empty();
    let is_other = |at: &usize| tokens.token(*at) != "0";
    let is_han_digit = |at: usize| HAN_DIGITS.contains(tokens.token(at));
    let next = (at + 1..tokens.len()).take(ZEROS_MAX).take_while(|at| touches(*at)).find(is_other);
    let front = (0..at).rev().take(ZEROS_MAX).take_while(|at| touches(*at + 1)).find(is_other);
    front.is_some_and(is_han_digit)
        && next.is_some_and(|at| is_han_digit(at) || tokens.token(at) == "年")
}

/// Whether the tokens before and at `at` belong to one number.
pub fn joins(tokens: &Tokens<'_>, at: usize) -> bool {
    if at == 0 || at >= tokens.len() {
        return false;
    }
    let (left, right, gap) = (tokens.token(at - 1), tokens.token(at), tokens.gap(at));
    if is_zero_in_numeral(tokens, at) {
        return true;
    }
    if is_digit(right) {
        return is_digit(left) && matches!(gap, "" | "," | "٬")
            || gap.is_empty() && is_magnitude(left) && is_behind_number(tokens, at - 1)
            || gap.is_empty() && is_trillion(tokens, at - 1);
    }
    gap.is_empty() && is_numeral_at(tokens, at) && (is_digit(left) || is_numeral_at(tokens, at - 1))
        || matches!(gap, " " | "-") && words::make_one_number(left, right)
        || magnitude_behind(tokens, at).is_some()
        || is_point(tokens, at)
        || gap.is_empty() && is_point(tokens, at - 1)
        || is_and(tokens, at)
        || is_and(tokens, at - 1)
}

/// Whether a numeral multiplies what stands before it, so that digits may follow: `1万2000`.
fn is_magnitude(token: &str) -> bool {
    matches!(token, "百" | "千" | "万" | "亿")
}

/// Whether a digit or a numeral touches the token at `at` from before.
fn is_behind_number(tokens: &Tokens<'_>, at: usize) -> bool {
    let touches = at > 0 && tokens.gap(at).is_empty();
    touches && is_digit_or_numeral(tokens.token(at - 1))
}

/// The characters behind 兆 where it means mega: those of watts, hertz, bytes, bits, pascals and
/// networks.
const OF_MEGA: &str = "瓦赫字比帕欧伏焦卡宽流网光";

/// Whether the token at `at` is 兆 behind a number and means 10^12. In 100兆瓦 it is mega; in 预兆 it is
/// an omen.
fn is_trillion(tokens: &Tokens<'_>, at: usize) -> bool {
    let next = || at + 1 < tokens.len() && tokens.gap(at + 1).is_empty();
    let is_of_mega =
        |token: &str| token.starts_with(|c: char| c.is_ascii_alphabetic() || OF_MEGA.contains(c));
    tokens.token(at) == "兆"
        && is_behind_number(tokens, at)
        && !(next() && is_of_mega(tokens.token(at + 1)))
}

/// Whether the token at `at` is a Chinese numeral in this place.
fn is_numeral_at(tokens: &Tokens<'_>, at: usize) -> bool {
    match tokens.token(at) {
        "兆" => is_trillion(tokens, at),
        token => is_numeral(token),
    }
}

/// Whether the token at `at` is a number or a part of one.
pub fn is_part(tokens: &Tokens<'_>, at: usize) -> bool {
    let token = tokens.token(at);
    is_digit(token)
        || is_numeral_at(tokens, at)
        || is_number_word(token)
        || magnitude_behind(tokens, at).is_some()
        || is_point(tokens, at)
        || is_and(tokens, at)
}

/// What may follow a numeral that counts or orders something.
pub const MEASURES: &str = "届次名人年月日号期章节条位个岁元米度级场分秒时点天周季回卷集轮批项部台辆架艘栋层楼路组班营团师军里公亩吨斤克升倍\
    成折等站只头匹棵朵件套双副本册页字句段幅张份篇首声阵";

/// Whether the numeral at `at` counts something: behind an ordinal mark, `分之` or another numeral,
/// or before another numeral or a measure word. Alone it is often part of a word.
fn counts(tokens: &Tokens<'_>, at: usize) -> bool {
    let behind = at > 0
        && tokens.touches(at)
        && match tokens.token(at - 1) {
            "第" => true,
            "之" => at > 1 && tokens.token(at - 2) == "分",
            token => is_numeral(token),
        };
    let before = tokens.touches(at + 1)
        && (is_numeral(tokens.token(at + 1)) || MEASURES.contains(tokens.token(at + 1)));
    behind || before
}

/// Whether there is a number in `range`.
pub fn any(tokens: &Tokens<'_>, mut range: Range<usize>) -> bool {
    range.any(|at| {
        let token = tokens.token(at);
        is_digit(token) || is_numeral(token) && counts(tokens, at) || is_number_word(token)
    })
}

/// The values of the numbers in `range`, in their order and in billionths.
///
/// ```
/// use workers::confirm::align::Tokens;
/// use workers::confirm::numbers::values;
///
/// let tokens = Tokens::of("第二十次，12,000人，3.5元").unwrap();
/// let billionths = [20.0, 12_000.0, 3.5].map(|number| (number * 1e9) as i128);
/// assert_eq!(values(&tokens, 0..tokens.len()), billionths);
/// ```
pub fn values(tokens: &Tokens<'_>, range: Range<usize>) -> Vec<i128> {
    written(tokens, range).iter().flat_map(|number| parts(number)).collect()
}

/// The values of a number with its marks. A date, a version or a list has two points or commas, and
/// each part is a number.
fn parts(number: &str) -> Vec<i128> {
    if let Some((value, true)) = with_points_in_thousands(number) {
        return vec![value];
    }
    match number.matches(is_decimal_mark).count() {
        0 => vec![value(number)],
        1 => vec![value(&number.replace(',', "."))],
        _ => number.split(is_decimal_mark).map(value).collect(),
    }
}

/// Whether two numbers of the same value may be two days or two versions: `3.10` and `3.1`. Beside
/// a unit or a sign, and in a row of numbers, the zero at the end says nothing. Symmetric.
pub fn may_be_days(one: Passage<'_>, other: Passage<'_>) -> bool {
    let is_bare = |Passage { tokens, range }: Passage<'_>| {
        let is_digit = |at: usize| at < tokens.len() && is_digit(tokens.token(at));
        let parts = |at: usize| tokens.gap(at).chars().all(|c| " |,;".contains(c));
        let in_row = range.start > 0 && is_digit(range.start - 1) && parts(range.start)
            || is_digit(range.end) && parts(range.end);
        let is_measured = tokens.touches(range.end)
            && [BEHIND_DECIMALS, "分点折"].iter().any(|of| of.contains(tokens.token(range.end)));
        !in_row
            && !is_measured
            && signs(tokens, range) == [None; 2]
            && !units::is_amount(tokens, range.end - 1)
            && !units::is_behind_currency(tokens, range.start)
    };
    let (x, y) = (one.tokens.passage(one.range), other.tokens.passage(other.range));
    let (short, long) = if x.len() < y.len() { (x, y) } else { (y, x) };
    let is_day = |part: &str| matches!(part, "1" | "2" | "3");
    long.strip_suffix('0') == Some(short)
        && short.split_once('.').is_some_and(|(_, part)| is_day(part))
        && is_bare(one)
        && is_bare(other)
}

/// Whether the numbers of two ranges differ only in points and signs for which the other text has
/// another mark or a space. `3.5` may be a date, or the end of a sentence without a space. `2.5`
/// and `2 to 5` are other numbers, and so are `1.2片` and `1-2片`.
pub fn same_digits(one: Passage<'_>, other: Passage<'_>) -> bool {
    let (Passage { tokens: a, range: x }, Passage { tokens: b, range: y }) = (one, other);
    let is_marked = |token: &str| is_digit(token) && without_marks(token).len() < token.len();
    // The mark of one text stands before the digit of the other, perhaps with spaces, and behind a
    // digit. A comma in place of a colon, a dash or a slash makes another number.
    let stands = |marked: &str, tokens: &Tokens<'_>, at: usize| {
        let (gap, mark) = (tokens.gap(at), marked.chars().next());
        if mark.is_some_and(is_minus_sign) {
            return gap.contains(is_minus_sign);
        }
        let is_behind_digit = at > 0 && is_digit(tokens.token(at - 1));
        // The end of a sentence with its space on the wrong side, or a number of a list.
        if mark == Some('.') && !is_behind_digit {
            return gap.contains('.') || tokens.gap(at + 1).starts_with('.');
        }
        let is_other_mark = |c: char| c.is_whitespace() || ".,、;،٫٬'’".contains(c);
        let may_stand = match mark {
            Some('.') if matches!(gap.trim(), "-" | "/") => {
                !units::is_amount(tokens, last_of(tokens, at))
            }
            Some('.') => !gap.contains(['~', '〜', '–']),
            _ => gap.chars().all(is_other_mark),
        };
        is_behind_digit && !gap.is_empty() && may_stand
    };
    let same = |(i, j): (usize, usize)| {
        let (left, right) = (a.token(i), b.token(j));
        without_marks(left) == without_marks(right)
            && match (is_marked(left), is_marked(right)) {
                (true, false) => stands(left, b, j),
                (false, true) => stands(right, a, i),
                (true, true) => left.starts_with(is_minus_sign) == right.starts_with(is_minus_sign),
                (false, false) => true,
            }
    };
    let of = |tokens: &Tokens<'_>, range: &Range<usize>| -> Vec<usize> {
        range.clone().filter(|at| is_part(tokens, *at)).collect()
    };
    let (left, right) = (written(a, x.clone()), written(b, y.clone()));
    if !left.is_empty() && left.len() == right.len() {
        let equal = |(x, y): (&String, &String)| parts(x) == parts(y) || same_thousands(x, y);
        if left.iter().zip(&right).all(equal) {
            return true;
        }
    }
    let (x, y) = (of(a, x), of(b, y));
    !x.is_empty() && x.len() == y.len() && x.into_iter().zip(y).all(same)
}

/// The last token of the number that has the token at `at`.
fn last_of(tokens: &Tokens<'_>, at: usize) -> usize {
    (at + 1..tokens.len()).find(|next| !joins(tokens, *next)).unwrap_or(tokens.len()) - 1
}

/// The first token of the number that has the token at `at`.
pub fn first_of(tokens: &Tokens<'_>, at: usize) -> usize {
    (0..=at).rev().find(|at| !joins(tokens, *at)).unwrap_or(0)
}

/// Whether the token at `at` is the unit in `1 second` and `one second`. In `may second` it is a
/// day.
fn is_unit_second(tokens: &Tokens<'_>, at: usize) -> bool {
    let counts = |token: &str| is_digit(token) || is_number_word(token);
    tokens.token(at) == "second"
        && at > 0
        && matches!(tokens.gap(at), " " | "-")
        && counts(tokens.token(at - 1))
        && !words::names_a_day(tokens.token(at - 1))
        && !joins(tokens, at)
}

/// The numbers in `range`, with words as numerals, digits in ASCII, times in one form, and no
/// commas between thousands.
fn written(tokens: &Tokens<'_>, range: Range<usize>) -> Vec<String> {
    let (mut numbers, mut sign) = (Vec::<Written>::new(), "");
    for at in range.clone() {
        let is_unit = at > range.start && is_unit_second(tokens, at);
        if !is_part(tokens, at) || begins_share(tokens, at) || is_unit {
            continue;
        }
        if is_below_zero(tokens, at) {
            sign = "-";
            continue;
        }
        let token = tokens.token(at);
        let plain: String = match words::numeral(token) {
            Some(numeral) => numeral.to_owned(),
            None if token == "点" => ".".to_owned(),
            None if token == "and" => String::new(),
            None => {
                magnitude_behind(tokens, at).unwrap_or_else(|| token.chars().map(plain).collect())
            }
        };
        match numbers.last_mut() {
            Some((place, number)) if place.end == at && joins(tokens, at) => {
                // 二百六 is 260, and `two hundred six` is not.
                if number.ends_with(['百', '千', '万', '亿']) && !token.starts_with(is_han) {
                    number.push('零');
                }
                number.push_str(&plain);
                place.end = at + 1;
            }
            _ => numbers.push((at..at + 1, std::mem::take(&mut sign).to_owned() + &plain)),
        }
    }
    clocks::in_one_way(tokens, &range, numbers)
}

/// A digit or a mark of a number, as ASCII has it.
fn plain(c: char) -> char {
    match c {
        '٫' => ',',
        _ => digit_value(c).and_then(|value| char::from_digit(value, 10)).unwrap_or(c),
    }
}

/// Whether a value of [`values`] is that of the name of a month.
pub fn is_value_of_month(value: i128) -> bool {
    (9_900_001 * ONE..=9_900_012 * ONE).contains(&value)
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
        assert_eq!(values_of("٢٠٢٤ २०२५ ๑๒"), [2024.0, 2025.0, 12.0]);
        let tokens = Tokens::of("九".repeat(40)).expect("short");
        assert!(values(&tokens, 0..tokens.len())[0] > i128::MAX / 2);
    }

    /// A point and a sign count, zeros at the end of a fraction do not, and a date with points is
    /// three numbers.
    #[test]
    fn fractions() {
        assert_eq!(
            values_of("3.5% 0.50 1.2亿 12000万 3.0，气温已经降至-5度"),
            [3.5, 0.5, 120_000_000.0, 120_000_000.0, 3.0, -5.0]
        );
        assert_eq!(values_of("2024.10.05"), [2024.0, 10.0, 5.0]);
    }

    /// `二十三点四公里` was two numbers, so that a copy with `23.4公里` was refused. A time has the same
    /// character between its hours and minutes.
    #[test]
    fn points_in_words() {
        assert_eq!(
            values_of("二十三点四公里 五点六亿元 一点五米 百分之七点八 三点五千克"),
            [23.4, 560_000_000.0, 1.5, 7.8, 3500.0]
        );
        assert_eq!(values_of("23.4公里 5.6亿元 1.5米 7.8% 3.5千克").len(), 5);
        assert_eq!(values_of("八点四十分 七点五分 三点二十"), [8.0, 40.0, 7.0, 5.0, 3.0, 20.0]);
    }

    /// `3,5` was 35 and `1.234,56` two numbers: a comma is a decimal mark where it groups no
    /// thousands, and points are thousands where there are two or a comma follows.
    #[test]
    fn decimal_commas() {
        assert_eq!(values_of("3,50 149,90 14,990 0,125 ٣٫٥"), [3.5, 149.9, 14_990.0, 0.125, 3.5]);
        assert_eq!(values_of("1.234,56 1,234.56 1.234.567"), [1234.56, 1234.56, 1_234_567.0]);
        assert_eq!(values_of("1.234.567,8 and -3,5 and 1,25,000"), [1_234_567.8, -3.5, 125_000.0]);
        assert_eq!(
            values_of("1,2,3 12.11.2024 2.10.1"),
            [1, 2, 3, 12, 11, 2024, 2, 10, 1].map(f64::from)
        );
    }

    /// `3兆` and `3亿` were one number, and `1万2000` two: 兆 behind a number is 10^12, and digits
    /// behind a magnitude continue its number. In 100兆瓦 and 预兆 it is none.
    #[test]
    fn magnitudes() {
        assert_eq!(
            values_of("3兆元 三兆五千亿 3万亿 1万2000 3万5千 3.5万"),
            [3e12, 3.5e12, 3e12, 12_000.0, 35_000.0, 35_000.0]
        );
        // The second magnitude multiplied the first.
        assert_eq!(values_of("1亿2000万 一亿二千万 2万3千亿"), [1.2e8, 1.2e8, 2.3e12]);
        assert_eq!(values_of("100兆瓦 100兆宽带 预兆5 千万"), [100.0, 100.0, 5.0, 10_000_000.0]);
        let tokens = Tokens::of("三兆元").expect("short");
        assert!(any(&tokens, 0..2) && joins(&tokens, 1) && !joins(&tokens, 2));
    }

    /// A comma in place of a space or another comma is another way to write a list; in place of a
    /// colon it is another number.
    #[test]
    fn digits_with_other_marks() {
        let same = |a: &str, b: &str| {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            same_digits(x.within(&(0..x.len())), y.within(&(0..y.len())))
        };
        assert!(same("1.250,00", "1.250") && same("1.234.567", "1.234.567,0"));
        assert!(!same("1.250", "1250") && !same("1.250,50", "1.250"));
        assert!(same("3,5", "3, 5") && same("3,5", "3、5") && same("2024.10", "2024-10"));
        assert!(!same("1,5", "1:5") && !same("3,5", "35") && !same("1,5", "1-5"));
    }

    /// Numbers of thirty digits, such as keys of parcels, had one value, and digits behind the
    /// ninth of a fraction none.
    #[test]
    fn many_digits() {
        let value = |text: &str| {
            let tokens = Tokens::of(text).expect("short");
            values(&tokens, 0..tokens.len())
        };
        let long = "123456789012345678901234567890123";
        assert_ne!(value(long), value("123456789012345678901234567890124"));
        assert_eq!(value(long), value("0123456789012345678901234567890123.0"));
        assert_ne!(value("0.12345678901"), value("0.12345678907"));
        assert_eq!(value("0.500000000000"), value("0.5"));
        assert_eq!(value("00000000000000000000000000007"), value("7"));
    }
}
