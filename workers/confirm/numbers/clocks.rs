//! Numbers that tell a time or a year in another way: `下午5点` and `17:00`, `7.30 pm` and `19:30`,
//! `两个半小时` and `2.5小时`, `民国一一二年` and `2023年`.

use crate::confirm::align::Tokens;
use crate::confirm::align::digits::{is_digit, is_digit_or_numeral};
use crate::confirm::align::edits::Span;
use crate::confirm::align::value::{ONE, whole_value};
use crate::confirm::numbers::values;
use std::ops::Range;

/// A number of a text: its tokens, and how it is written in digits and numerals.
pub type Written = (Range<usize>, String);

/// Words that stand before an hour of the second half of a day, each with the hours that it may
/// stand before.
const LATER: [(&str, Range<u64>); 11] = [
    ("下午", 1..8),
    ("午后", 1..8),
    ("中午", 1..3),
    ("傍晚", 4..9),
    ("晚上", 5..12),
    ("晚间", 5..12),
    ("夜间", 8..12),
    ("夜里", 8..12),
    ("深夜", 9..12),
    ("晚", 5..12),
    ("오후", 1..12),
];

/// Words that end with one of these words and do not mean it: `最晚5点`.
const NOT_LATER: [&str; 3] = ["最晚", "不晚", "早晚"];

/// The year before the first year of the Republic of China. Taiwan counts years from it.
const BEFORE_REPUBLIC: u64 = 1911;

/// `numbers` with hours from 0 to 23, without minutes that are 0, and with halves as numbers.
///
/// All numbers stand in `range`, in their order.
pub fn in_one_way(tokens: &Tokens<'_>, range: &Range<usize>, numbers: Vec<Written>) -> Vec<String> {
    let mut found = Vec::with_capacity(numbers.len());
    let mut hour_end = None;
    for (place, text) in numbers {
        let is_minute = hour_end == Some(place.start) && tokens.gap(place.start) == ":";
        hour_end = None;
        if is_minute && text == "00" {
            continue;
        }
        let Some(value) = whole_value(&text) else {
            match clock_with_point(tokens, &place, &text) {
                Some(clock) => found.extend(clock),
                None => found.push(text),
            }
            continue;
        };
        let half = half_behind(tokens, range, place.end);
        if is_hour(tokens, &place) {
            hour_end = Some(place.end);
            found.push(hour(tokens, &place, value).map_or(text, |hour| hour.to_string()));
            found.extend((half == Some(Half::OfHour)).then(|| "30".to_owned()));
        } else if half == Some(Half::OfOne) {
            found.push(format!("{value}.5"));
        } else if is_year_of_republic(tokens, &place) {
            found.push(value.saturating_add(BEFORE_REPUBLIC).to_string());
        } else {
            found.push(text);
        }
    }
    found
}

/// Words for parts of a day that stand before an hour.
const PARTS_OF_DAY: [&str; 16] = [
    "上午", "早上", "早晨", "清晨", "凌晨", "中午", "下午", "午后", "傍晚", "晚上", "晚间", "夜间",
    "夜里", "深夜", "早", "晚",
];

/// Whether a span puts an hour that both texts have into the other half of the day: `上午10点` and
/// `晚上10点`, `8 a.m.` and `8 p.m.` Symmetric.
pub fn is_other_half(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let halves = behind_hour(a, &span.a).zip(behind_hour(b, &span.b));
    let hours = || hour_behind(a, &span.a).zip(hour_behind(b, &span.b));
    halves.is_some_and(|(x, y)| x != y) || hours().is_some_and(|(x, y)| x != y)
}

/// Whether the passage is the `p` of a `p.m.` behind a number, or false for `a.m.`
fn behind_hour(tokens: &Tokens<'_>, range: &Range<usize>) -> Option<bool> {
    let at = Some(range.start).filter(|at| range.len() == 1 && *at > 0)?;
    let is_behind = is_digit(tokens.token(at - 1)) && tokens.token(at).len() == 1;
    is_behind.then(|| day_half(tokens, at)).flatten()
}

/// The hour, from 0 to 23, behind the passage, if that is a word for a part of the day or begins
/// one.
fn hour_behind(tokens: &Tokens<'_>, range: &Range<usize>) -> Option<u64> {
    let ends = range.end..=(range.end + 1).min(tokens.len());
    let is_part = |end: &usize| PARTS_OF_DAY.contains(&tokens.passage(&(range.start..*end)));
    let from = ends.rev().find(is_part)?;
    let is_number = |at: &usize| is_digit_or_numeral(tokens.token(*at));
    let digits = (from..tokens.len()).take(2).take_while(is_number).count();
    let place = from..from + digits;
    if place.is_empty() || !is_hour(tokens, &place) {
        return None;
    }
    let [value] = values(tokens, place.clone())[..] else { return None };
    let value = u64::try_from(value / ONE).ok()?;
    Some(hour(tokens, &place, value).unwrap_or(value))
}

fn token<'t>(tokens: &'t Tokens<'_>, at: usize) -> &'t str {
    if at < tokens.len() { tokens.token(at) } else { "" }
}

/// Whether the number tells the hour of a day: `5点`, `17时`, `17:00`, `5 pm`.
fn is_hour(tokens: &Tokens<'_>, place: &Range<usize>) -> bool {
    let next = token(tokens, place.end);
    let named =
        tokens.touches(place.end) && (matches!(next, "点" | "时") || next.starts_with('시'));
    named || minutes_end(tokens, place.end).is_some() || day_half(tokens, place.end).is_some()
}

/// The token behind the two digits of minutes that stand behind a colon at `at`.
fn minutes_end(tokens: &Tokens<'_>, at: usize) -> Option<usize> {
    let is_digit = |at: usize| at < tokens.len() && tokens.is_bare_digit(at);
    let are_minutes = is_digit(at)
        && tokens.gap(at) == ":"
        && is_digit(at + 1)
        && tokens.touches(at + 1)
        && !(is_digit(at + 2) && tokens.touches(at + 2));
    are_minutes.then_some(at + 2)
}

/// Whether `pm` stands at `at`, or false for `am`.
fn day_half(tokens: &Tokens<'_>, at: usize) -> Option<bool> {
    let near = at < tokens.len() && matches!(tokens.gap(at), "" | " ");
    match (near, token(tokens, at)) {
        (true, "pm") => Some(true),
        (true, "am") => Some(false),
        // `p.m.`
        (true, letter @ ("p" | "a")) => {
            let is_m = token(tokens, at + 1) == "m" && tokens.gap(at + 1) == ".";
            is_m.then_some(letter == "p")
        }
        _ => None,
    }
}

/// The hour from 0 to 23, if a word says which half of the day it is in.
fn hour(tokens: &Tokens<'_>, place: &Range<usize>, hour: u64) -> Option<u64> {
    let behind = minutes_end(tokens, place.end).unwrap_or(place.end);
    if let Some(is_later) = day_half(tokens, behind) {
        return in_24_hours(hour, is_later);
    }
    let before = before(tokens, place);
    let of_word =
        |(word, hours): &(&str, Range<u64>)| before.ends_with(word) && hours.contains(&hour);
    let is_later = LATER.iter().any(of_word);
    (is_later && !NOT_LATER.iter().any(|word| before.ends_with(word))).then_some(hour + 12)
}

/// An hour from 1 to 12 of one half of the day, from 0 to 23.
fn in_24_hours(hour: u64, is_later: bool) -> Option<u64> {
    (1..=12).contains(&hour).then_some(hour % 12 + if is_later { 12 } else { 0 })
}

/// What stands before a number, without spaces at its end.
fn before<'t>(tokens: &'t Tokens<'_>, place: &Range<usize>) -> &'t str {
    tokens.text[..tokens.places[place.start].start as usize].trim_end_matches(' ')
}

/// Hours and minutes that a point parts, as in `7.30 pm`.
fn clock_with_point(
    tokens: &Tokens<'_>,
    place: &Range<usize>,
    text: &str,
) -> Option<impl Iterator<Item = String> + use<>> {
    let is_later = day_half(tokens, place.end)?;
    let (hours, minutes) = text.split_once('.')?;
    let hours = in_24_hours(whole_value(hours)?, is_later)?;
    let minutes = Some(minutes).filter(|minutes| minutes.len() == 2)?;
    let minutes = (minutes != "00").then(|| minutes.to_owned());
    Some([hours.to_string()].into_iter().chain(minutes))
}

/// What a `半` behind a number halves.
#[derive(PartialEq, Eq)]
enum Half {
    /// `五点半`
    OfHour,
    /// `两个半小时`
    OfOne,
}

/// The half behind the number that ends before `at`, if it is in `range`.
fn half_behind(tokens: &Tokens<'_>, range: &Range<usize>, at: usize) -> Option<Half> {
    let is_half = at + 1 < range.end
        && tokens.touches(at)
        && tokens.touches(at + 1)
        && token(tokens, at + 1) == "半";
    match token(tokens, at) {
        "点" if is_half => Some(Half::OfHour),
        "个" if is_half => Some(Half::OfOne),
        _ => None,
    }
}

fn is_year_of_republic(tokens: &Tokens<'_>, place: &Range<usize>) -> bool {
    before(tokens, place).ends_with("民国")
        && token(tokens, place.end) == "年"
        && tokens.touches(place.end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::numbers::values;

    /// A year that has no room is a year, and no end of the run.
    #[test]
    fn years_without_room() {
        let text = format!("民国{}年", u64::MAX);
        let tokens = Tokens::of(&*text).expect("short");
        assert_eq!(values(&tokens, 0..tokens.len()).len(), 1);
    }

    /// An hour of the other half of the day was the same in a long text. A part of the day that
    /// changes nothing is no other half.
    #[test]
    fn other_halves() {
        let is_other = |a: &str, b: &str| {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            let other = |span: &Span| is_other_half(&x, &y, span);
            crate::confirm::settle::settled(&x, &y).iter().any(other)
        };
        for (a, b, expected) in [
            ("听证会上午10点举行", "听证会晚上10点举行", true),
            ("听证会早上八点举行", "听证会晚上八点举行", true),
            ("begins at 8:00 a.m. in the hall", "begins at 8:00 p.m. in the hall", true),
            ("听证会下午5点举行", "听证会傍晚5点举行", false),
            ("听证会凌晨1点举行", "听证会早上1点举行", false),
            ("听证会下午3点举行", "听证会3点举行", false),
            ("他上午来", "他晚上来", false),
        ] {
            assert_eq!((is_other(a, b), is_other(b, a)), (expected, expected), "{a} | {b}");
        }
    }

    /// A time, a duration and a year have the same values however they are written.
    #[test]
    fn other_ways_to_write() {
        let values = |text: &str| {
            let tokens = Tokens::of(text).expect("short");
            values(&tokens, 0..tokens.len())
        };
        for (one, other) in [
            ("上午9点至下午5点", "9:00-17:00"),
            ("上午八点至晚上十点", "08:00-22:00"),
            ("原定晚上7点08分到达", "原定19:08到达"),
            ("下午五点半开始", "17:30开始"),
            ("晚上 8:05 开始", "20:05 开始"),
            ("中午1点", "13时"),
            ("오후 9시", "21:00"),
            ("at 7.30pm", "at 19:30"),
            ("at 5 pm", "at 17:00"),
            ("at 5:45 p.m.", "at 17:45"),
            ("at 12:15 am", "at 0:15"),
            ("at 12 pm", "at 12:00"),
            ("单程两个半小时", "单程2.5小时"),
            ("民国一一二年九月", "2023年9月"),
        ] {
            assert_eq!(values(one), values(other), "{one}, {other}");
        }
        for (one, other) in [
            ("上午9点", "21:00"),
            ("最晚5点", "17:00"),
            ("at 5 am", "at 17:00"),
            ("下午5元", "17元"),
            ("下午5点", "下午6点"),
            ("2.5小时", "两个小时"),
        ] {
            assert_ne!(values(one), values(other), "{one}, {other}");
        }
    }
}
