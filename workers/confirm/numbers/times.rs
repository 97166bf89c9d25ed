//! Finds which numbers together are one date, one clock, or a date with its clock, such as the
//! numbers of `3 november 2024, 10:25`. Whether a time is furniture depends on its place
//! ([`crate::confirm::furniture`]).

use crate::confirm::align::digits::{digit_value, is_digit};
use crate::confirm::align::{Tokens, is_han_token};
use crate::confirm::words::{names_a_day, names_a_month};

/// What may stand between a date and its clock: marks, and words with the marks and spaces on their
/// sides.
const BRIDGES: [&str; 6] = [" ", ", ", ". ", " - ", " – ", " — "];
const BRIDGE_WORDS: [(&str, &str); 2] = [("at", " "), ("t", "")];

/// Zones, which stand behind a clock.
const ZONES: [&str; 14] = [
    "z", "gmt", "utc", "est", "edt", "cst", "pst", "pdt", "cet", "cest", "bst", "ist", "jst", "kst",
];

/// The name of the month is among so many tokens before a part of a date: two digits of the day and
/// four of the year may stand between both.
const MONTH_TOKENS: usize = 7;

/// Whether `token` is part of a date without being a number.
fn is_date_word(token: &str) -> bool {
    matches!(token, "年" | "月" | "日" | "号" | "时" | "分" | "秒" | "am" | "pm")
        || matches!(token, "st" | "nd" | "rd" | "th")
        || names_a_day(token)
}

/// Whether `token` is a digit, or the name of a month or of a day of the week.
pub fn is_digit_or_day(token: &str) -> bool {
    is_digit(token) || names_a_day(token)
}

/// Whether the tokens before and at `at` belong to one date, clock or number, or to a date and its
/// clock.
pub fn glued(tokens: &Tokens<'_>, at: usize) -> bool {
    are_one(tokens, at) || are_date_and_clock(tokens, at)
}

fn are_one(tokens: &Tokens<'_>, at: usize) -> bool {
    let (left, right, gap) = (tokens.token(at - 1), tokens.token(at), tokens.gap(at));
    let part = |token: &str| is_digit(token) || is_date_word(token);
    if !part(left) || !part(right) {
        return false;
    }
    if is_digit(left) && is_digit(right) {
        // A comma may be taken for that of a fraction.
        let gap = if right.starts_with(',') { "," } else { gap };
        return match gap {
            "" | "-" | "/" | "." | ":" => true,
            // What stands behind a date is another number.
            " " | "," => {
                is_year_of_day(tokens, at) || has_thousands(tokens, at) || is_spaced(tokens, at)
            }
            ", " => is_year_of_day(tokens, at),
            _ => false,
        };
    }
    // A line may begin with the name of a unit.
    if is_han_token(right) && gap == " " {
        let behind = at + 1 < tokens.len() && is_digit(tokens.token(at + 1));
        let is_spaced = |at: usize| is_han_token(tokens.token(at)) && tokens.gap(at) == " ";
        return is_digit(left) && (behind || (at.saturating_sub(MONTH_TOKENS)..at).any(is_spaced));
    }
    match is_han_token(left) || is_han_token(right) {
        true => matches!(gap, "" | " ") || left == "号" && gap == "-",
        false => matches!(gap, "" | " " | ", " | ". " | "." | "-"),
    }
}

/// Whether three digits begin at the token `at`, and one to three, which no mark joins to others,
/// stand before them: `12 000`.
fn has_thousands(tokens: &Tokens<'_>, at: usize) -> bool {
    let before = 1 + (1..at).rev().take(3).take_while(|at| is_next_digit(tokens, *at)).count();
    let first = at - before.min(at);
    let is_joined =
        first > 0 && is_digit(tokens.token(first - 1)) && !matches!(tokens.gap(first), " " | ",");
    digits_from(tokens, at) == 3 && before <= 3 && !is_joined
}

/// Whether a year begins at the token `at`, behind a day with the name of its month: `october 5,
/// 2024`.
fn is_year_of_day(tokens: &Tokens<'_>, at: usize) -> bool {
    digits_from(tokens, at) == 4 && is_behind_month(tokens, at)
}

/// The digits from the token `at` on, at most five.
fn digits_from(tokens: &Tokens<'_>, at: usize) -> usize {
    1 + (at + 1..at + 5).take_while(|at| is_next_digit(tokens, *at)).count()
}

/// Whether the token at `at` is a digit right behind another token.
fn is_next_digit(tokens: &Tokens<'_>, at: usize) -> bool {
    at < tokens.len() && is_digit(tokens.token(at)) && tokens.gap(at).is_empty()
}

/// Whether the digits before and at `at` stand alone, as all characters of a text with spaces
/// between them.
fn is_spaced(tokens: &Tokens<'_>, at: usize) -> bool {
    let is_gap = |at: usize| at == 0 || at >= tokens.len() || tokens.gap(at) == " ";
    is_gap(at - 1) && is_gap(at) && is_gap(at + 1)
}

fn is_behind_month(tokens: &Tokens<'_>, at: usize) -> bool {
    (at.saturating_sub(MONTH_TOKENS)..at).any(|at| names_a_month(tokens.token(at)))
}

/// Whether the tokens before and at `at` are a date and its clock with a mark between them, or one
/// of the two is the word or the zone between a date and its clock.
fn are_date_and_clock(tokens: &Tokens<'_>, at: usize) -> bool {
    let (left, right, gap) = (tokens.token(at - 1), tokens.token(at), tokens.gap(at));
    if is_zone(right) {
        return matches!(gap, "" | " ") && ends_clock(tokens, at);
    }
    if matches!(gap, "+" | "-") && is_digit(right) {
        // `10:25+08:00` and `10:25 gmt+7`
        return (is_digit(left) || is_zone(left)) && ends_clock(tokens, at);
    }
    let word = |token: &str| BRIDGE_WORDS.iter().find(|(word, _)| *word == token);
    let bridges = |at: usize, side: &str| {
        at > 0
            && at + 1 < tokens.len()
            && tokens.gap(at) == side
            && tokens.gap(at + 1) == side
            && ends_date(tokens, at)
            && starts_clock(tokens, at + 1)
    };
    word(right).is_some_and(|(_, side)| bridges(at, side))
        || word(left).is_some_and(|(_, side)| bridges(at - 1, side))
        || BRIDGES.contains(&gap)
            && (ends_date(tokens, at) && starts_clock(tokens, at)
                || ends_clock(tokens, at) && starts_date(tokens, at))
}

fn is_zone(token: &str) -> bool {
    ZONES.contains(&token)
}

/// Whether the tokens before `at` end with hours and minutes, perhaps with the half of the day and
/// the zone behind them.
fn ends_clock(tokens: &Tokens<'_>, at: usize) -> bool {
    let is_behind = |token: &str| matches!(token, "am" | "pm") || is_zone(token);
    let words = (0..at).rev().take(2).take_while(|at| is_behind(tokens.token(*at))).count();
    let end = at - words;
    let is_digit = |at: usize| is_digit(tokens.token(at));
    end >= 3
        && (end - 3..end).all(is_digit)
        && tokens.gap(end - 1).is_empty()
        && tokens.gap(end - 2) == ":"
}

/// Whether hours and minutes begin at the token `at`.
fn starts_clock(tokens: &Tokens<'_>, at: usize) -> bool {
    let is_digit = |at: usize| at < tokens.len() && is_digit(tokens.token(at));
    let hours = 1 + usize::from(is_digit(at + 1) && tokens.gap(at + 1).is_empty());
    let minutes = at + hours;
    is_digit(at)
        && is_digit(minutes)
        && is_digit(minutes + 1)
        && tokens.gap(minutes) == ":"
        && tokens.gap(minutes + 1).is_empty()
}

/// The most characters of a day in digits.
const DAY_CHARS_MAX: usize = 10;

fn is_of_day(c: &char) -> bool {
    digit_value(*c).is_some() || "-/.".contains(*c)
}

/// Whether the tokens before `at` end with a date.
fn ends_date(tokens: &Tokens<'_>, at: usize) -> bool {
    let last = tokens.token(at - 1);
    let digit_before = at > 1 && is_digit(tokens.token(at - 2));
    if !is_digit(last) {
        return digit_before && (matches!(last, "日" | "号") || names_a_month(last));
    }
    let text = &tokens.text[..tokens.places[at - 1].end as usize];
    let day = text.chars().rev().take(DAY_CHARS_MAX + 1).take_while(is_of_day);
    let bytes: usize = day.map(char::len_utf8).sum();
    is_day(&text[text.len() - bytes..]) || is_behind_month(tokens, at)
}

/// Whether a date begins at the token `at`.
fn starts_date(tokens: &Tokens<'_>, at: usize) -> bool {
    let text = &tokens.text[tokens.places[at].start as usize..];
    let day = text.chars().take(DAY_CHARS_MAX + 1).take_while(is_of_day);
    let bytes: usize = day.map(char::len_utf8).sum();
    let digits = (at..tokens.len().min(at + 4)).take_while(|at| is_digit(tokens.token(*at)));
    let behind = at + digits.count();
    let next = if behind < tokens.len() { tokens.token(behind) } else { "" };
    let is_followed = names_a_month(next) || matches!(next, "年" | "月");
    is_day(&text[..bytes]) || is_followed && (behind > at || names_a_month(next))
}

/// Whether `group` has a day in digits.
pub fn has_day(group: &str) -> bool {
    group.split([' ', ',', 't']).any(is_day)
}

/// Whether `group` has a number of four digits.
pub fn has_year(group: &str) -> bool {
    group.split(|c| digit_value(c).is_none()).any(|digits| digits.chars().count() == 4)
}

/// Whether `group` has minutes behind a colon.
pub fn has_clock(group: &str) -> bool {
    group.match_indices(':').any(|(colon, _)| {
        let minutes = group[colon + 1..].chars().take_while(|c| digit_value(*c).is_some());
        minutes.count() == 2
    })
}

/// Whether the numbers of a group are years and nothing else.
pub fn is_years(group: &str) -> bool {
    let is_year =
        |part: &str| part.len() == 4 && (part.starts_with("19") || part.starts_with("20"));
    group.split(['-', ' ', ',', '/', '年']).filter(|part| !part.is_empty()).all(is_year)
}

/// Whether `text` is a day in digits with its year, such as `2024-10-05` or `5/10/2024`.
fn is_day(text: &str) -> bool {
    ['-', '/', '.'].iter().any(|mark| {
        let mut lengths = text.trim_end_matches('.').split(*mark).map(|part| part.chars().count());
        let parts = [lengths.next(), lengths.next(), lengths.next(), lengths.next()];
        matches!(
            parts,
            [Some(4), Some(1..=2), Some(1..=2), None] | [Some(1..=2), Some(1..=2), Some(4), None]
        )
    })
}

/// The rest of `after` behind `天前`, ` minutes ago`, `h ago`, `분 전` or ` минут назад`, if it begins
/// with such words.
pub fn after_relative_time(after: &str) -> Option<&str> {
    const HAN_UNITS: [&str; 12] =
        ["秒钟", "秒", "分钟", "分", "个小时", "小时", "时间", "天", "日", "周", "个月", "年"];
    const KOREAN_UNITS: [&str; 7] = ["초", "분", "시간", "일", "주", "개월", "년"];
    const LATIN_UNITS: [&str; 14] = [
        "second", "minute", "hour", "day", "week", "month", "year", "sec", "min", "hr", "s", "m",
        "h", "d",
    ];
    let after = after.trim_start();
    if let Some(rest) =
        HAN_UNITS.iter().find_map(|unit| after.strip_prefix(unit)?.strip_prefix('前'))
    {
        return Some(rest);
    }
    if let Some(rest) = KOREAN_UNITS.iter().find_map(|unit| {
        let rest = after.strip_prefix(unit)?.strip_prefix(" 전")?;
        (!rest.starts_with(char::is_alphanumeric)).then_some(rest)
    }) {
        return Some(rest);
    }
    // Russian has three forms of each unit.
    let word = after.split(' ').next().unwrap_or_default();
    let is_russian = ["сек", "мин", "час", "дн", "ден", "нед", "мес", "год", "лет"];
    if is_russian.iter().any(|unit| word.starts_with(unit))
        && let Some(rest) = after[word.len()..].strip_prefix(" назад")
    {
        return Some(rest);
    }
    let rest = LATIN_UNITS.iter().find_map(|unit| {
        let rest = after.strip_prefix(unit)?;
        rest.strip_prefix('s').unwrap_or(rest).strip_prefix(" ago")
    })?;
    (!rest.starts_with(|c: char| c.is_ascii_alphabetic())).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A date and its clock were two groups where more than a space parted them.
    #[test]
    fn dates_and_clocks_are_one() {
        let groups = |text: &str| {
            let tokens = Tokens::of(text).expect("short");
            1 + (1..tokens.len()).filter(|at| !glued(&tokens, *at)).count()
        };
        for text in [
            "12.11.2024 - 10:45",
            "12/11/2024, 10:45",
            "10:45, 12.11.2024",
            "2024.11.12. 10:45",
            "2024-11-03t10:25:12z",
            "2024-11-03t10:25+08:00",
            "3 nov 2024 at 10:25 gmt",
            "10:25 am gmt, 3 november 2024",
            "november 13, 2024 10:25 pm",
            "2024年11月3日, 10:25",
            "12/11/2024 10:45 gmt+7",
            "۱۴۰۳/۰۸/۱۲ - ۱۰:۲۵",
        ] {
            assert_eq!(groups(text), 1, "{text}");
        }
        for text in ["12 - 10:45", "at 10:45", "5 - 10", "3.5, 10:45", "10:45, 12 people", "5t 10"]
        {
            assert!(groups(text) > 1, "{text}");
        }
    }

    /// The next line may begin with a number, which a space parts from the date.
    #[test]
    fn a_number_behind_a_date_is_another() {
        let glued_at_end = |text: &str, digits: usize| {
            let tokens = Tokens::of(text).expect("short");
            glued(&tokens, tokens.len() - digits)
        };
        for (text, digits) in [
            ("2024-10-05 15", 2),
            ("2024-10-05 150", 3),
            ("2024-10-05,12", 2),
            ("10:25 12", 2),
            ("1,234 56", 2),
            ("12 56", 2),
            ("october 5, 2024 15", 2),
            ("5 october 2024 15", 2),
        ] {
            assert!(!glued_at_end(text, digits), "{text}");
        }
        for (text, digits) in [
            ("12 000", 3),
            ("1 234 567", 3),
            ("1,234,567", 3),
            ("october 5 2024", 4),
            ("october 5, 2024", 4),
            ("2 0 2 4", 1),
        ] {
            assert!(glued_at_end(text, digits), "{text}");
        }
    }
}
