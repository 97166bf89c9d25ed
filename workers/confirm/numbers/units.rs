//! The units of numbers: `49元` and `49美元` are two prices, although only one character was put in.
//!
//! A unit is a word of a list that stands behind a number, perhaps with a space where words have
//! spaces between them. The word that it replaces must be in the list, too, because people count
//! with many other words, and an inflection or a particle behind a number is no other unit.

use crate::confirm::align::Tokens;
use crate::confirm::align::digits::is_digit;
use crate::confirm::align::edits::Span;
use crate::confirm::numbers::signs::{SHARES, signs};
use crate::confirm::numbers::{first_of, is_korean_magnitude, is_part, joins};
use crate::confirm::words;
use crate::text::characters::{runs_on, stands_alone};
use crate::text::lists::WordMap;
use std::sync::OnceLock;

/// Units of one meaning a line.
const UNITS: &str = include_str!("units.txt");

/// Words that begin with a unit of two characters and do not mean it: `5日圆满结束`, `1月1日元旦`.
const NO_UNITS: [&str; 6] = ["日圆满", "日元旦", "日元宵", "日元首", "年代表", "年代理"];

/// The longest unit, in characters.
const UNIT_CHARS_MAX: usize = 8;

/// The most Korean magnitudes between a number and its unit.
const MAGNITUDES_MAX: usize = 2;

/// The most equal tokens in front of a span that may be part of the unit.
const SHARED_TOKENS_MAX: usize = 3;

/// The numbers of the lines that a unit is in: its meanings.
fn meanings(unit: &str) -> &'static [usize] {
    static MEANINGS: OnceLock<WordMap<Vec<usize>>> = OnceLock::new();
    let all = MEANINGS.get_or_init(|| words::classes(UNITS));
    all.get(unit).map_or(&[], Vec::as_slice)
}

/// The text behind the number that ends with the token at `number`, if it may begin with a unit.
fn behind<'t>(tokens: &'t Tokens<'_>, number: usize) -> Option<&'t str> {
    let next = number + 1;
    if next >= tokens.len() {
        return None;
    }
    let first = tokens.token(next);
    if tokens.gap(next).trim() == "°" {
        return ["°c", "°f"].into_iter().find(|degree| degree.ends_with(first));
    }
    let spaced = !first.starts_with(stands_alone);
    // Only a unit of a script with spaces may have a space in front of it.
    let touches = tokens.gap(next).is_empty() || spaced && tokens.gap(next) == " ";
    let start = tokens.places[next].start as usize;
    let is_power = |at: usize| {
        ["m", "cm", "km"].contains(&first)
            && at < tokens.len()
            && tokens.gap(at).is_empty()
            && ["2", "3"].contains(&tokens.token(at))
    };
    let end = match is_word_alone(first) {
        true if is_power(next + 1) => tokens.places[next + 1].end as usize,
        true => start + first.len(),
        false => tokens.text.len(),
    };
    touches.then_some(&tokens.text[start..end])
}

/// Whether a token is a word by itself. In Chinese, Japanese, Korean, Thai, Lao, Burmese and Khmer
/// a token may hold a unit and what follows it, or a unit may be several tokens.
fn is_word_alone(token: &str) -> bool {
    !token.starts_with(runs_on)
}

/// The meanings of the longest unit at the beginning of `text`. A word of a script with spaces must
/// be a unit as a whole.
fn unit_of(text: &str) -> &'static [usize] {
    if is_word_alone(text) {
        return meanings(text);
    }
    let most = match NO_UNITS.iter().any(|word| text.starts_with(word)) {
        true => 1,
        false => UNIT_CHARS_MAX,
    };
    let ends = text.char_indices().take(most).map(|(at, c)| at + c.len_utf8());
    let found = ends.map(|end| meanings(&text[..end])).filter(|found| !found.is_empty());
    found.last().unwrap_or(&[])
}

/// Whether different units stand behind two numbers, perhaps behind a magnitude that both have:
/// `50만원` and `50만달러`.
fn are_other_units(mut left: &str, mut right: &str) -> bool {
    for _ in 0..MAGNITUDES_MAX {
        let Some(magnitude) = left.chars().next().filter(|c| is_korean_magnitude(*c)) else {
            break;
        };
        let rests = left.strip_prefix(magnitude).zip(right.strip_prefix(magnitude));
        let Some((x, y)) = rests else { break };
        (left, right) = (x.trim_start(), y.trim_start());
    }
    differ(unit_of(left), unit_of(right))
}

/// Whether a unit that counts or measures, or the sign of a share, stands behind the number that
/// ends with the token at `number`. Units of dates do neither: `3.5日` may be a date.
pub fn is_amount(tokens: &Tokens<'_>, number: usize) -> bool {
    let is_of_date = |text: &str| {
        text.starts_with(['年', '月', '日', '号', '时', '월', '일']) || matches!(text, "am" | "pm")
    };
    tokens.gap(number + 1).starts_with(SHARES)
        || behind(tokens, number).is_some_and(|text| !is_of_date(text) && !unit_of(text).is_empty())
}

/// Whether a currency stands in front of the number that begins with the token at `number`.
pub fn is_behind_currency(tokens: &Tokens<'_>, number: usize) -> bool {
    number > 0 && !currency_before(tokens, number - 1).is_empty()
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
    !left.is_empty() && !right.is_empty() && !agree(left, right)
}

fn agree(left: &[usize], right: &[usize]) -> bool {
    left.iter().any(|meaning| right.contains(meaning))
}

/// Whether a span writes the unit of a number in another way: `350 m` and `350 metres`. Symmetric.
pub fn is_same_unit(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let (i, j) = (span.a.start, span.b.start);
    let one = span.a.len() == 1 && span.b.len() == 1;
    let are_behind = i > 0 && j > 0 && is_part(a, i - 1) && is_part(b, j - 1);
    let are_words = || {
        one && is_word_alone(a.token(i)) && is_word_alone(b.token(j)) && {
            let units = behind(a, i - 1).zip(behind(b, j - 1));
            units.is_some_and(|(left, right)| agree(unit_of(left), unit_of(right)))
        }
    };
    let are_units = || agree(meanings(a.passage(&span.a)), meanings(b.passage(&span.b)));
    are_behind && (are_words() || are_units())
}

/// Whether a span writes a unit in another way that begins with 千, which is a part of the number
/// elsewhere: `5千克` and `5公斤`. Symmetric.
pub fn is_unit_of_thousand(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    // A span may begin with the number.
    let both = span.a.clone().zip(span.b.clone());
    let shared = both.take_while(|(i, j)| a.token(*i) == b.token(*j)).count();
    let (x, y) = (span.a.start + shared..span.a.end, span.b.start + shared..span.b.end);
    let is_behind = |tokens: &Tokens<'_>, at: usize| at > 0 && is_part(tokens, at - 1);
    let thousand =
        |tokens: &Tokens<'_>, at: usize| tokens.token(at) == "千" && tokens.gap(at).is_empty();
    !x.is_empty()
        && !y.is_empty()
        && is_behind(a, x.start)
        && is_behind(b, y.start)
        && (thousand(a, x.start) || thousand(b, y.start))
        && agree(meanings(a.passage(&x)), meanings(b.passage(&y)))
}

/// Dollars of all countries. In Hong Kong and Taiwan `$` is also a 元.
const DOLLARS: [&str; 7] = ["usd", "cad", "aud", "hkd", "sgd", "twd", "元"];

/// The meanings of a sign of money or of a share.
fn meanings_of_sign(sign: char) -> Vec<usize> {
    let of = |units: &[&str]| units.iter().flat_map(|unit| meanings(unit)).copied().collect();
    match sign {
        '%' => of(&["percent"]),
        '$' => of(&DOLLARS),
        '€' => of(&["eur"]),
        '£' => of(&["gbp"]),
        '¥' => of(&["元", "jpy"]),
        '₹' => of(&["inr"]),
        '₽' => of(&["rub", "рублей"]),
        _ => Vec::new(),
    }
}

/// Whether the number that ends at `i` has a sign, and the same number of the other text, which
/// ends at `j`, another unit: `5%` and `5元`.
fn has_other_sign(a: &Tokens<'_>, i: usize, b: &Tokens<'_>, j: usize) -> bool {
    let mut signs = signs(a, &(first_of(a, i)..i + 1)).into_iter().flatten();
    let unit = || behind(b, j).map_or(&[][..], unit_of);
    // Where both have a unit, that counts.
    behind(a, i).is_none_or(|unit| unit_of(unit).is_empty())
        && signs.any(|sign| differ(&meanings_of_sign(sign), unit()))
}

/// Whether the numbers that end with two equal tokens are equal: `21°c` and `2021年` have no number
/// in common. Symmetric.
fn are_equal_numbers((a, mut i): (&Tokens<'_>, usize), (b, mut j): (&Tokens<'_>, usize)) -> bool {
    while joins(a, i) && joins(b, j) && a.token(i - 1) == b.token(j - 1) {
        (i, j) = (i - 1, j - 1);
    }
    !joins(a, i) && !joins(b, j)
}

/// Whether a span gives a number of both texts another unit, or puts another currency in front of
/// one. Symmetric.
pub fn is_other_unit(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    // The nearest number in front of the span that both texts have.
    let most = (SHARED_TOKENS_MAX + 1).min(span.a.start).min(span.b.start);
    let numbers = (1..=most).map(|back| (span.a.start - back, span.b.start - back));
    let number =
        numbers.take_while(|(i, j)| a.token(*i) == b.token(*j)).find(|(i, _)| is_part(a, *i));
    // `2024成人高考` and `2024年成人高考`.
    let is_year_sign = matches!([a.passage(&span.a), b.passage(&span.b)], ["", "年"] | ["年", ""]);
    let number = number.filter(|(i, j)| !is_year_sign && are_equal_numbers((a, *i), (b, *j)));
    let behind = number.is_some_and(|(i, j)| {
        behind(a, i).zip(behind(b, j)).is_some_and(|(left, right)| are_other_units(left, right))
            || has_other_sign(a, i, b, j)
            || has_other_sign(b, j, a, i)
    });
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
    use crate::confirm::align::spans;
    use crate::text::lists;

    /// Two units of one line of the list are one, whatever it is called.
    #[test]
    fn lines_are_meanings() {
        let are_other = |a: &str, b: &str| differ(meanings(a), meanings(b));
        for (a, b) in [("元", "美元"), ("kg", "lb"), ("m", "bn"), ("公里", "英里"), ("月", "个月")]
        {
            assert!(are_other(a, b) && are_other(b, a), "{a} {b}");
        }
        for (a, b) in
            [("元", "块"), ("hours", "hrs"), ("kg", "公斤"), ("元", "台"), ("分", "minutes")]
        {
            assert!(!are_other(a, b) && !are_other(b, a), "{a} {b}");
        }
        for unit in lists::lines(UNITS).flat_map(|line| line.split(' ')) {
            assert!(is_word_alone(unit) || unit.chars().count() <= UNIT_CHARS_MAX, "{unit}");
        }
    }

    /// Units were known in English and Chinese only, so that `3억원` and `3조원` were one sum, and
    /// `500 кг` as far as `500 км`. A particle or an inflection behind a number is no unit.
    #[test]
    fn units_of_many_languages() {
        let other = |a: &str, b: &str| {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            let found = spans(&x, &y, 100).expect("near");
            let of = |span: &Span| is_other_unit(&x, &y, span);
            assert!(found.iter().all(|span| {
                is_other_unit(&y, &x, &Span { a: span.b.clone(), b: span.a.clone() }) == of(span)
            }));
            found.iter().any(of)
        };
        for (a, b) in [
            ("3억원으로 늘었다", "3조원으로 늘었다"),
            ("50만원이며", "50만달러이며"),
            ("3 만 원이며", "3 만 달러이며"),
            ("5개월으로", "5년으로"),
            ("3月に10ドルで", "3月に10ユーロで"),
            ("は10ドルに", "は10円に"),
            ("は5キロに", "は5メートルに"),
            ("は5件に", "は5人に"),
            // A sign was no unit.
            ("下周起涨价5%,请谅解", "下周起涨价5元,请谅解"),
            ("it charges €100 for it", "it charges 100 dollars for it"),
            ("prices are up 5% today", "prices are up 5 euros today"),
            ("около 500 кг груза", "около 500 км груза"),
            ("за 50 рублей в", "за 50 долларов в"),
            ("in 5 wochen ist", "in 5 monaten ist"),
            ("จ่าย 100 บาทต่อ", "จ่าย 100 ดอลลาร์ต่อ"),
            ("a plant of 5 gwh beside", "a plant of 5 mwh beside"),
            ("had 12 ppm of lead", "had 12 ppb of lead"),
            ("has 100 mbps now", "has 100 gbps now"),
            ("has 200 kcal in all", "has 200 kj in all"),
            ("limit is 50 mph until", "limit is 50 km/h until"),
            ("容量为4000毫安时", "容量为4000安时"),
            ("每小时5微西弗", "每小时5毫西弗"),
            ("was at 30°c then", "was at 30 °f then"),
        ] {
            assert!(other(a, b), "{a} | {b}");
        }
        for (a, b) in [
            ("осталось 5 день", "осталось 5 дней"),
            ("за 50 руб. в", "за 50 рублей в"),
            ("3원을 냈다", "3원이 냈다"),
            ("점수는 5은", "점수는 5는"),
            ("は3ヶ月に", "は3か月に"),
            ("合計は5に", "合計は5で"),
            ("售价为$100,另付", "售价为100港元,另付"),
            ("售价为¥100,另付", "售价为100元,另付"),
            ("prices are up 5% today", "prices are up 5 percent today"),
            ("共有5名学生", "共有5位学生"),
            ("共有5个学生", "共有5名学生"),
            ("in 2019 he came", "in 2019 she came"),
            ("limit is 50 mph until", "limit is 50 miles an hour until"),
            ("limit is 50 kmh until", "limit is 50 km/h until"),
            ("has 100 mbps now", "has 100 mb/s now"),
            ("every dose has 200大卡", "every dose has 200kcal"),
            ("降到5°c以下", "降到5摄氏度以下"),
            ("降到5度以下", "降到5摄氏度以下"),
            ("今天多云21°c左右", "今天到2021年左右"),
            ("容量为4000毫安时", "容量为4000mah"),
        ] {
            assert!(!other(a, b), "{a} | {b}");
        }
    }
}
