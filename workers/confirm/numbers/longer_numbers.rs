//! Finds what only one text adds to a number that both have, and what makes another number of it:
//! minutes, months, a half, a dozen, the other end of a range.

use crate::confirm::align::digits::{is_digit, is_digit_or_numeral};
use crate::confirm::align::{Passage, Tokens};
use crate::confirm::numbers::units::is_amount;
use crate::confirm::numbers::{self, is_part};
use crate::confirm::words::names_a_day;
use std::ops::Range;

/// A half: 半片, 三点半.
pub const HALF: &str = "半";

/// Units, each with the lesser unit in which the number behind it counts. No unit: the number may
/// end there.
const LESSER: [(&str, &[&str]); 13] = [
    ("点", &["分", ""]),
    ("时", &["分", ""]),
    ("小时", &["分"]),
    ("分", &["秒"]),
    ("分钟", &["秒"]),
    ("年", &["个月"]),
    ("岁", &["个月"]),
    ("天", &["小时", "个小时"]),
    ("周", &["天"]),
    ("元", &["角"]),
    ("块", &["毛", ""]),
    ("米", &["厘米", ""]),
    ("斤", &["两"]),
];

/// Words of time and length behind which a lesser one of the next words may stand.
const LESSER_WORDS: [(&[&str], &[&str]); 4] = [
    (&["hour", "hours", "hr", "hrs", "h"], &["minute", "minutes", "min", "mins", "m"]),
    (&["minute", "minutes", "min", "mins"], &["second", "seconds", "sec", "secs"]),
    (&["year", "years"], &["month", "months"]),
    (&["foot", "feet", "ft"], &["inch", "inches", "in"]),
];

/// Whether the passage, which only one text has, makes another number of the number before it.
pub fn lengthens_number(tokens: &Tokens<'_>, range: &Range<usize>) -> bool {
    if range.is_empty() {
        return false;
    }
    makes_range(tokens, range)
        || adds_fraction(tokens, range)
        || range.start > 0
            && (adds_half(tokens, range)
                || adds_minutes(tokens, range)
                || adds_lesser_unit(tokens, range)
                || adds_lesser_word(tokens, range)
                || adds_words(tokens, range))
}

/// Whether the passage is one end of a range, where the other text has the other end alone: `5至8人`,
/// `3 to 5 days`, `3-5天`. Behind a range is what it counts, so `2024-05` is none.
fn makes_range(tokens: &Tokens<'_>, range: &Range<usize>) -> bool {
    let is_number = |at: usize| at < tokens.len() && is_part(tokens, at);
    let joint = |at: usize| matches!(tokens.token(at), "至" | "到" | "to");
    let upper = range.start > 0 && is_number(range.start - 1) && is_number(range.end - 1);
    let lower = is_number(range.start) && is_number(range.end);
    let (from, to, gap) = match (upper, lower) {
        (true, _) => (range.start + usize::from(joint(range.start)), range.end, range.start),
        (_, true) => (range.start, range.end - usize::from(joint(range.end - 1)), range.end),
        _ => return false,
    };
    let is_joined = to - from < range.len() || matches!(tokens.gap(gap), "-" | "–" | "~");
    let last = if upper { range.end } else { number_end(tokens, range.end, tokens.len()) };
    if !(is_joined && from < to && (from..to).all(is_number) && is_amount(tokens, last - 1)) {
        return false;
    }
    let first = (0..range.start).rev().take_while(|at| is_number(*at)).last();
    let [least, most] = match upper {
        true => [first.unwrap_or(range.start)..range.start, from..to],
        false => [from..to, range.end..last],
    };
    numbers::values(tokens, least) < numbers::values(tokens, most)
}

/// The most digits of a number with a fraction of two numbers behind it, and of each of these.
const FRACTION_DIGITS_MAX: usize = 2;

/// The stroke of a fraction that was one character.
const FRACTION_STROKE: &str = "⁄";

/// `3 1/2 cups`, where the other text has `3 cups`; `1/2 cup`, where it has `1 cup`; `5½`, where it
/// has `½` or `5`. A page or a date such as `4/9` is no fraction: no unit is behind it.
fn adds_fraction(tokens: &Tokens<'_>, range: &Range<usize>) -> bool {
    range.clone().all(|at| tokens.is_bare_digit(at))
        && (is_before_fraction(tokens, range.end) || is_of_fraction(tokens, range))
}

/// Whether a fraction of one character begins at `at`, behind a space.
fn is_before_fraction(tokens: &Tokens<'_>, at: usize) -> bool {
    let mut next = at + 1..=at + FRACTION_DIGITS_MAX;
    at < tokens.len()
        && tokens.gap(at) == " "
        && next.any(|at| at < tokens.len() && tokens.gap(at) == FRACTION_STROKE)
}

/// Whether the digits in `range` are a fraction behind a number, or what a number is divided by.
fn is_of_fraction(tokens: &Tokens<'_>, range: &Range<usize>) -> bool {
    if range.start == 0 || !tokens.is_bare_digit(range.start - 1) {
        return false;
    }
    let mut strokes = match tokens.gap(range.start) {
        " " => range.start + 1..range.end,
        _ => range.start..range.start + 1,
    };
    if strokes.clone().any(|at| tokens.gap(at) == FRACTION_STROKE) {
        return true;
    }
    let Some(stroke) = strokes.find(|at| tokens.gap(*at) == "/") else { return false };
    let before = range.start - numbers::first_of(tokens, range.start - 1);
    let lengths = [before, stroke - range.start, range.end - stroke];
    lengths.iter().all(|digits| *digits <= FRACTION_DIGITS_MAX) && is_amount(tokens, range.end - 1)
}

/// `五点半`, `一年半`, `两个半小时`.
fn adds_half(tokens: &Tokens<'_>, range: &Range<usize>) -> bool {
    if range.len() > 2 || range.end < 3 {
        return false;
    }
    let half = range.end - 1;
    tokens.token(half) == HALF
        && tokens.touches(half)
        && tokens.touches(half - 1)
        && !is_digit_or_numeral(tokens.token(half - 1))
        && is_digit_or_numeral(tokens.token(half - 2))
}

/// `7:30 pm`, where the other text has `7 pm`.
fn adds_minutes(tokens: &Tokens<'_>, range: &Range<usize>) -> bool {
    range.len() == 2
        && range.clone().all(|at| tokens.is_bare_digit(at))
        && tokens.gap(range.start) == ":"
        && is_digit(tokens.token(range.start - 1))
        && !is_nothing(tokens, range)
}

/// Whether the first text has a bare hour where the other one has its minutes behind a colon: `3点`
/// and `3:30`.
pub fn lacks_minutes(hour: Passage<'_>, minutes: Passage<'_>) -> bool {
    let is_hour = matches!(hour.tokens.passage(hour.range), "点" | "时" | "点钟");
    is_hour && minutes.range.start > 0 && adds_minutes(minutes.tokens, minutes.range)
}

/// `3点30分`, `三年六个月`: a unit behind a number, and then a number of a lesser unit.
fn adds_lesser_unit(tokens: &Tokens<'_>, range: &Range<usize>) -> bool {
    let digits = number_end(tokens, range.start, range.end);
    if digits == range.start || !tokens.touches(range.start) {
        return false;
    }
    let before = &tokens.text[..tokens.places[range.start].start as usize];
    let unit = tokens.passage(&(digits..range.end));
    // `8块5`, `一米二`, but not `100米12`.
    let is_spoken =
        || range.len() == 1 && range.start > 1 && !numbers::joins(tokens, range.start - 2);
    let is_one = |(greater, lesser): &(&str, &[&str])| {
        let counted = before.strip_suffix(greater);
        counted.is_some_and(ends_with_number)
            && lesser.contains(&unit)
            && (!unit.is_empty() || !matches!(*greater, "块" | "米") || is_spoken())
    };
    LESSER.iter().any(is_one) && !is_nothing(tokens, &(range.start..digits))
}

/// `2 hours 45 minutes`.
fn adds_lesser_word(tokens: &Tokens<'_>, range: &Range<usize>) -> bool {
    let end = number_end(tokens, range.start, range.end);
    let (before, unit) = (tokens.token(range.start - 1), tokens.passage(&(end..range.end)));
    end > range.start
        && range.start > 1
        && is_part(tokens, range.start - 2)
        && LESSER_WORDS.iter().any(|(of, lesser)| of.contains(&before) && lesser.contains(&unit))
        && !is_nothing(tokens, &(range.start..end))
}

/// `two and a half years`, `two dozen people`, `5 millions of stars`, `50k steps`.
fn adds_words(tokens: &Tokens<'_>, range: &Range<usize>) -> bool {
    let lengthens = match tokens.passage(range) {
        "and a half" | "dozen" | "hundred" | "thousand" | "thousands" | "million" | "millions"
        | "billion" | "billions" => true,
        "k" => tokens.touches(range.start),
        _ => false,
    };
    let before = range.start - 1;
    lengthens
        && matches!(tokens.gap(range.start), "" | " " | "-")
        && is_part(tokens, before)
        && !names_a_day(tokens.token(before))
}

/// The token behind the number that begins at `from`, at most `to`.
fn number_end(tokens: &Tokens<'_>, from: usize, to: usize) -> usize {
    (from..to).find(|at| !is_part(tokens, *at)).unwrap_or(to)
}

fn ends_with_number(text: &str) -> bool {
    let last = text.char_indices().next_back().map_or("", |(at, _)| &text[at..]);
    is_digit_or_numeral(last)
}

/// Whether the number in `range` is 0.
fn is_nothing(tokens: &Tokens<'_>, range: &Range<usize>) -> bool {
    numbers::values(tokens, range.clone()).iter().all(|value| *value == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::settle::settled;

    /// Half an hour, six months or a dozen more in one text alone was no other number. Minutes that
    /// are 0, and a date that one text tells in full, change nothing.
    #[test]
    fn longer_numbers() {
        let longer = |a: &str, b: &str| {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            settled(&x, &y).iter().any(|span| {
                span.a.is_empty() && lengthens_number(&y, &span.b)
                    || lacks_minutes(x.within(&span.a), y.within(&span.b))
            })
        };
        for (a, b) in [
            ("会议于下午3点在二楼召开", "会议于下午3点30分在二楼召开"),
            ("会议于下午五点在二楼召开", "会议于下午五点半在二楼召开"),
            ("会议于下午3点在二楼召开", "会议于下午3:30在二楼召开"),
            ("判处有期徒刑三年,并处罚金", "判处有期徒刑三年六个月,并处罚金"),
            ("doors open at 7 pm today", "doors open at 7:30 pm today"),
            ("sentenced to two years in prison", "sentenced to two and a half years in prison"),
            ("it takes 2 hours to the island", "it takes 2 hours 45 minutes to the island"),
            ("about two people were hurt", "about two dozen people were hurt"),
            ("a nebula of 5 stars in all", "a nebula of 5 millions stars in all"),
            ("she walked 50 steps a day", "she walked 50k steps a day"),
            ("这次活动每组5人,自由组合", "这次活动每组5至8人,自由组合"),
            ("这次活动每组8人,自由组合", "这次活动每组5至8人,自由组合"),
            ("假期共有3天,请提前安排", "假期共有3-5天,请提前安排"),
            ("it takes 5 days to arrive", "it takes 3 to 5 days to arrive"),
            ("早上买菜一共花了8块,不贵", "早上买菜一共花了8块5,不贵"),
            ("这张桌子长一米,很结实", "这张桌子长一米二,很结实"),
            ("stir 3 cups of flour into it", "stir 3 1/2 cups of flour into it"),
            ("stir 2 cups of flour into it", "stir 2 1\u{2044}2 cups of flour into it"),
            ("stir 1 cup of flour into it", "stir 1\u{2044}2 cup of flour into it"),
            ("a hole of 1 kg in it", "a hole of 1/4 kg in it"),
            ("stir 1\u{2044}2 cups of flour into it", "stir 5 1\u{2044}2 cups of flour into it"),
            ("drive 102 miles along it", "drive 102 1\u{2044}2 miles along it"),
        ] {
            assert!(longer(a, b), "{a} | {b}");
        }
        for (a, b) in [
            ("会议于下午3点在二楼召开", "会议于下午3点00分在二楼召开"),
            ("doors open at 7 pm today", "doors open at 7:00 pm today"),
            ("公司于2024年成立", "公司于2024年5月成立"),
            ("他一年来过", "他一年三次来过"),
            ("会议上午9点开始", "会议上午9点准时开始"),
            ("本项目于2024年启动", "本项目于2024-05启动"),
            ("他买了3米布", "他买了3米2匹布"),
            ("work from 9 every day", "work from 9 to 5 every day"),
            ("look at page 1 of it", "look at page 1/2 of it"),
            ("photo 4 by anna", "photo 4 4/9 by anna"),
            ("in 2020, left", "in 2020, thousands left"),
            ("in may left", "in may millions left"),
            ("on monday people came", "on monday million people came"),
            ("男子100米决赛", "男子100米12决赛"),
            ("编号为5米长", "编号为12-5米长"),
        ] {
            assert!(!longer(a, b), "{a} | {b}");
        }
    }
}
