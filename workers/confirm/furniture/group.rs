//! Tells whether numbers that belong together, such as the five of a date with its clock, are
//! furniture, by the labels, units and marks around them.

use crate::confirm::align::Tokens;
use crate::confirm::align::digits::{HAN_DIGITS, digit_value};
use crate::confirm::furniture::counters::{
    is_behind_counters, is_last_of_counters, is_line_of_page, is_of_list, is_rate, without_units,
};
use crate::confirm::furniture::date_lines;
use crate::confirm::furniture::frames::{is_free_after, is_free_before};
use crate::confirm::furniture::labels::{Kind, Labels, label_after, starts_own_word};
use crate::confirm::furniture::piece::Furniture;
use crate::confirm::numbers::times::{self, after_relative_time, glued, is_digit_or_day, is_years};
use crate::confirm::words::names_a_month;
use crate::text::characters::is_han;
use std::ops::Range;

/// What may open the clause of a counter.
const OPENERS: [&str; 3] = ["已有", "共有", "已被"];

/// Marks between the pieces of a line around an article.
const SEPARATORS: [char; 8] = ['|', '·', '•', '[', ']', '【', '】', '»'];

/// What may stand between a label and its number.
const BETWEEN: [char; 6] = [' ', ':', '|', '(', '[', '#'];

/// The most tokens of a group before one of its digits, and behind it: a table of numbers is no
/// date.
const SIDE_TOKENS_MAX: usize = 48;

/// Numbers that belong together, such as the five of a date with a clock, and what is around them.
pub struct Group<'t> {
    text: &'t str,
    bytes: Range<usize>,
    /// The byte behind the last number. A unit may follow it, as in `3日`.
    number_end: usize,
    /// Years, months and days.
    pub date: bool,
    /// Hours and minutes.
    clock: bool,
}

impl<'t> Group<'t> {
    /// The group of the digit at `at`.
    pub fn around(tokens: &'t Tokens<'_>, at: usize) -> Group<'t> {
        let (mut from, mut to) = (at, at + 1);
        while from > at.saturating_sub(SIDE_TOKENS_MAX) && glued(tokens, from) {
            from -= 1;
        }
        while to < tokens.len().min(at + SIDE_TOKENS_MAX) && glued(tokens, to) {
            to += 1;
        }
        // A unit of time without its number is part of a word.
        while from < at && !is_digit_or_day(tokens.token(from)) {
            from += 1;
        }
        let bytes = tokens.places[from].start as usize..tokens.places[to - 1].end as usize;
        let group = &tokens.text[bytes.clone()];
        let named = |word: &str| (from..to).any(|at| tokens.token(at) == word);
        let month = named("月") || (from..to).any(|at| names_a_month(tokens.token(at)));
        let date = month || named("年") || times::has_day(group);
        let clock = times::has_clock(group);
        let last = (from..to).rev().find(|at| is_digit_or_day(tokens.token(*at))).unwrap_or(at);
        let number_end = tokens.places[last].end as usize;
        Group { text: &tokens.text, bytes, number_end, date, clock }
    }

    fn group(&self) -> &'t str {
        &self.text[self.bytes.clone()]
    }

    fn before(&self) -> &'t str {
        &self.text[..self.bytes.start]
    }

    fn after(&self) -> &'t str {
        &self.text[self.bytes.end..]
    }

    /// The kind of furniture that the group is, and the bytes of the group with its label and its
    /// unit.
    pub fn furniture(&self) -> Option<(Furniture, Range<usize>)> {
        let time = if self.date { Furniture::DateLine } else { Furniture::Clock };
        let (before, after) = (self.before(), self.after());
        let ago = after_relative_time(&self.text[self.number_end..]);
        let rest = ago.unwrap_or_else(|| without_units(after));
        let end = self.text.len() - rest.len();
        let is_time = self.date || self.clock || ago.is_some();
        let of_label = |kind| match kind {
            Kind::Date | Kind::Now | Kind::Credit if is_time => time,
            _ => Furniture::Counter,
        };
        if let Some(label) = label_before(before) {
            let kind = label.kind;
            let bytes = label.start..end;
            if kind == Kind::Record || kind == Kind::Right && is_years(self.group()) {
                let end = self.text.len() - after_reserved(rest).len();
                return Some((Furniture::Copyright, bytes.start..end));
            }
            let name = before[label.start..].trim_end_matches(BETWEEN);
            let is_count = kind == Kind::Count && !is_rate(name, after);
            let fits = is_count || is_time && matches!(kind, Kind::Date | Kind::Now);
            let lenient = label.colon || is_time || label.is_han;
            let front = &before[..label.start];
            let counts =
                is_count && (is_line_of_page(front, name, rest, true) || is_behind_counters(front));
            if counts
                || fits
                    && label.is_free
                    && (kind == Kind::Now && !self.is_day_of_sentence(rest)
                        || is_free_after(rest, lenient))
            {
                return Some((of_label(kind), bytes));
            }
        }
        let spaced = || label_after(without_units(after.trim_start()));
        if let Some((kind, behind)) = label_after(rest).or_else(spaced) {
            let of_time = matches!(kind, Kind::Date | Kind::Now | Kind::Credit);
            let fits = kind == Kind::Count || is_time && of_time;
            let opened = OPENERS.iter().any(|word| {
                let rest = before.trim_end().strip_suffix(word);
                rest.is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
            });
            let name = &after[..after.len() - behind.len()];
            let free = (opened || is_free_before(before, false))
                && is_free_after(behind, false)
                && !is_of_list(before, name);
            let credit = kind == Kind::Credit && is_free_before(before, false);
            let counter =
                kind == Kind::Count && (is_last_of_counters(behind) || is_behind_counters(before));
            let page = kind == Kind::Count && is_line_of_page(before, name, behind, false);
            if fits && (free || credit || counter || page) {
                return Some((of_label(kind), self.bytes.start..self.text.len() - behind.len()));
            }
        }
        // A bare month may begin a sentence.
        let has_digit = self.group().contains(|c| digit_value(c).is_some());
        let stands_alone = is_time
            && (has_digit || ago.is_some())
            && (self.stands_at_edge(rest) || self.stands_between_marks(rest));
        if stands_alone {
            return Some((time, self.bytes.start..end));
        }
        let start = self.date.then(|| date_lines::start(before, self.group(), after))?;
        start.map(|start| (time, start..end))
    }

    /// Whether it is a day without its year, and the sentence goes on in `rest`: `今天是5月1日,天气晴`.
    fn is_day_of_sentence(&self, rest: &str) -> bool {
        let goes_on = rest.starts_with(',')
            || rest.starts_with(is_han) && !BEHIND_DAY.iter().any(|word| rest.starts_with(word));
        self.date && !times::has_year(self.group()) && goes_on
    }

    /// Whether a date or a clock is the first or the last line of the text.
    fn stands_at_edge(&self, rest: &str) -> bool {
        if is_half_of_range(self.before(), rest) {
            return false;
        }
        let before = self.before().trim_end();
        let space = |c: Option<char>| c.is_none_or(char::is_whitespace);
        if before.chars().all(|c| !c.is_alphanumeric()) {
            return space(rest.chars().next()) && !goes_on(rest) || rest.starts_with(SEPARATORS);
        }
        let is_last = rest.chars().all(|c| !c.is_alphanumeric());
        is_last && (self.is_parted() || ends_before_time(before))
    }

    /// Whether white space parts the group from a sentence or from a name behind one. A short word
    /// within a sentence is a label: `生产厂家:江南乳业 有效期 2025-03-01`.
    fn is_parted(&self) -> bool {
        let before = self.before().trim_end();
        let is_mark = |c: char| !c.is_alphanumeric();
        let piece = before.rsplit(is_mark).next().unwrap_or_default();
        let front = before[..before.len() - piece.len()].trim_end();
        before.len() < self.bytes.start
            && before.ends_with(is_han)
            && !FACTS.iter().any(|word| before.ends_with(word))
            && (times::has_year(self.group())
                || !BEGINNINGS.iter().any(|word| before.ends_with(word)))
            && (piece.chars().count() > LABEL_CHARS_MAX || front.ends_with(SENTENCE_ENDS))
    }

    /// Whether the group stands between marks that part the pieces of a line. In a table they part
    /// cells.
    fn stands_between_marks(&self, rest: &str) -> bool {
        let is_table = || {
            let text = self.text.trim_start();
            text.starts_with('|') || text.contains("| |") || text.contains("|-")
        };
        self.before().trim_end().ends_with(SEPARATORS)
            && rest.trim_start().starts_with(SEPARATORS)
            && !is_table()
    }
}

/// Parts of a day, and words, with which a sentence goes on that begins with its date: `5月15日
/// 上午10点`, `may 15 from 10 to 12`.
const PARTS_OF_DAY: [&str; 8] = ["上午", "下午", "早上", "晚上", "晚间", "凌晨", "中午", "夜间"];
const BEHIND_DATE: [&str; 13] = [
    "from",
    "until",
    "till",
    "between",
    "von",
    "bis",
    "ab",
    "wird",
    "werden",
    "hasta",
    "с",
    "до",
    "будет",
];

/// Whether the sentence that began with a date goes on in `rest`.
fn goes_on(rest: &str) -> bool {
    let rest = rest.trim_start();
    let is_hour = |c: char| digit_value(c).is_some() || HAN_DIGITS.contains(c) || c == '十';
    let tells_hour =
        |part: &str| rest.strip_prefix(part).is_some_and(|hour| hour.starts_with(is_hour));
    let word = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    PARTS_OF_DAY.iter().any(|part| tells_hour(part)) || BEHIND_DATE.contains(&word)
}

/// The most characters of a label in front of a date.
const LABEL_CHARS_MAX: usize = 4;

/// Marks that end a sentence.
const SENTENCE_ENDS: [char; 6] = ['。', '.', '!', '?', '…', '”'];

/// Whether a mark ends what stands before a time at the end of a text. Behind a bracket or a dash
/// the sentence goes on, unless it ended before.
fn ends_before_time(before: &str) -> bool {
    let sentence = before.trim_end_matches(['(', '[', '-', '–', '—', ' ']);
    match sentence.len() < before.len() {
        true => sentence.is_empty() || sentence.ends_with(SENTENCE_ENDS),
        false => before.ends_with(|c: char| !c.is_alphanumeric() && !":,".contains(c)),
    }
}

/// Words in front of a time that is a fact: opening hours, deadlines, results.
pub const FACTS: [&str; 9] = ["时间", "日期", "截止", "截至", "期至", "比分", "至", "到", "于"];

/// Words in front of a time at which something begins. A date with its year is a stamp behind any
/// sentence.
const BEGINNINGS: [&str; 14] = [
    "集合", "开会", "开始", "开幕", "开演", "开赛", "开门", "出发", "发车", "上课", "签到", "入场",
    "起飞", "放映",
];

/// What may follow the day of today in the head of a page.
const BEHIND_DAY: [&str; 4] = ["星期", "周", "礼拜", "农历"];

/// Whether a dash joins a date or a clock with another one: `10:00 – 17:00`.
fn is_half_of_range(before: &str, rest: &str) -> bool {
    let of_gap = |c: char| c.is_whitespace() || "-–—~".contains(c);
    let (front, behind) = (before.trim_end_matches(of_gap), rest.trim_start_matches(of_gap));
    let has_dash = |gap: &str| gap.contains(['-', '–', '—', '~']);
    let is_word = |word: Option<&str>| {
        word.is_some_and(|word| names_a_month(word) || matches!(word, "am" | "pm"))
    };
    let is_number = |c: char| digit_value(c).is_some();
    let parts = |c: char| !c.is_alphabetic();
    let joins_front = has_dash(&before[front.len()..])
        && (front.ends_with(|c| is_number(c) || "日号月年时点".contains(c))
            || is_word(front.rsplit(parts).next()));
    let joins_behind = has_dash(&rest[..rest.len() - behind.len()])
        && (behind.starts_with(is_number) || is_word(behind.split(parts).next()));
    joins_front || joins_behind
}

/// How a copyright line ends, and the most characters of the holder before that.
const RESERVED: [&str; 4] =
    ["all rights reserved", "alle rechte vorbehalten", "版权所有", "保留所有权利"];
const HOLDER_CHARS_MAX: usize = 60;

/// The text behind a copyright line. `rest` begins with the holder of the copyright.
fn after_reserved(rest: &str) -> &str {
    let chars =
        HOLDER_CHARS_MAX + RESERVED.iter().map(|end| end.chars().count()).max().unwrap_or(0);
    let near = rest.char_indices().nth(chars).map_or(rest, |(at, _)| &rest[..at]);
    let found = RESERVED.iter().filter_map(|end| Some((near.split_once(end)?.0, end)));
    let found = found.filter(|(holder, _)| holder.chars().nth(HOLDER_CHARS_MAX).is_none());
    let behind = found.map(|(holder, end)| &rest[holder.len() + end.len()..]);
    behind.max_by_key(|behind| behind.len()).unwrap_or(rest)
}

/// A label in front of a number.
struct Label {
    kind: Kind,
    /// Its first byte.
    start: usize,
    /// There is a colon between the label and the number.
    colon: bool,
    /// The label is in Chinese characters.
    is_han: bool,
    /// What stands before the label is not part of a sentence with it.
    is_free: bool,
}

/// The longest label that ends `before`, white space and a colon left out.
fn label_before(before: &str) -> Option<Label> {
    let trimmed = before.trim_end_matches(BETWEEN);
    let colon = before[trimmed.len()..].contains(':');
    let found = Labels::ending(trimmed).iter().filter_map(|(label, kind)| {
        let rest = trimmed.strip_suffix(label)?;
        let kind = *kind;
        let whole = starts_own_word(rest, label);
        let is_free =
            whole && (is_other_script(rest, label) || is_free_before(rest, kind == Kind::Count));
        let counts = match kind {
            Kind::Right | Kind::Record => whole,
            Kind::Count | Kind::Date | Kind::Now => true,
            Kind::Credit | Kind::CreditBy | Kind::Byline => false,
        };
        let is_han = label.starts_with(is_han);
        counts.then_some(Label { kind, start: rest.len(), colon, is_han, is_free })
    });
    found.max_by_key(|label| (label.is_free, std::cmp::Reverse(label.start)))
}

/// Whether `before` ends with the label of a date, and the label is not part of a sentence.
pub fn is_behind_date_label(before: &str) -> bool {
    label_before(before).is_some_and(|label| label.kind == Kind::Date && label.is_free)
}

/// Whether a label in Chinese characters stands behind white space. A sentence in Latin letters
/// does not continue in such a label.
fn is_other_script(rest: &str, label: &str) -> bool {
    label.starts_with(is_han) && rest.ends_with(char::is_whitespace)
}
