//! Counters of pages: the units of their numbers, and lines that only counters make.

use crate::confirm::furniture::frames::{CHAIN_MAX, is_of_number};
use crate::confirm::furniture::labels::{
    Kind, Labels, ends_own_word, is_spaced, label_after, starts_own_word,
};
use crate::confirm::words::holds_together;

/// What stands between a counter and its label, or behind its number.
const COUNTER_UNITS: [&str; 12] =
    ["人次", "次", "人", "位", "条", "万", "亿", "千", "k", "+", "%", "times"];

/// Words for what only pages count. In front of a text such a count is a line of its own, even if
/// no mark ends it: `views 1234 the council met`.
const PAGE_COUNTS: [&str; 11] = [
    "views",
    "viewed",
    "reads",
    "likes",
    "claps",
    "comments",
    "replies",
    "hits",
    "downloads",
    "min read",
    "found this helpful",
];

/// Those of [`PAGE_COUNTS`] that stand in the last line of a page: `the index hits 4000` is a
/// headline.
const PAGE_NOUNS: [&str; 4] = ["views", "comments", "replies", "downloads"];

/// Those of [`PAGE_COUNTS`] that are verbs in front of a number: `hits 40 degrees in the south`.
const PAGE_VERBS: [&str; 5] = ["hits", "likes", "downloads", "reads", "claps"];

/// Words behind a count that show that it is part of a sentence: `comments 3 to 5 were struck`.
const GOES_ON: [&str; 30] = [
    "was", "were", "is", "are", "be", "been", "has", "have", "had", "will", "would", "can",
    "could", "may", "might", "must", "shall", "should", "do", "does", "did", "of", "for", "from",
    "to", "by", "per", "than", "or", "and",
];

/// Counts of things, too, which stand behind a number and a label: `amount: 5,000 shares`.
const OF_THINGS: [&str; 4] = ["lectures", "shares", "visitor", "visitors"];

/// Whether a count of [`OF_THINGS`] behind a number says how much of something there is: a label
/// with its colon stands `before` the number.
pub fn is_of_list(before: &str, label: &str) -> bool {
    before.trim_end().ends_with(':') && OF_THINGS.iter().any(|count| label.ends_with(count))
}

/// For how long things are counted that are no visits of a page.
const PERIODS: [&str; 4] = ["a day", "a week", "a month", "a year"];

/// Whether a number that `after` follows is no counter, although it has the label of one:
/// `visitors: 300,000 a year`, `点击率:3.5%。`
pub fn is_rate(label: &str, after: &str) -> bool {
    let behind = after.strip_prefix('%').filter(|_| label.ends_with('率'));
    // A text may begin with `a year after`.
    let ends = |behind: &str| !behind.starts_with(|c: char| c == ' ' || c.is_alphanumeric());
    let time = after.trim_start();
    behind.is_some_and(|behind| behind.starts_with(['。', ',', ';']))
        || PERIODS.iter().any(|period| time.strip_prefix(period).is_some_and(ends))
}

/// Whether a count of [`PAGE_COUNTS`] with its number is the first line of a text, or, if the label
/// stands in front of the number, the last one: `he counted 12 hits` is a sentence.
pub fn is_line_of_page(before: &str, label: &str, behind: &str, label_first: bool) -> bool {
    let has_words = |text: &str| text.contains(char::is_alphanumeric);
    if !PAGE_COUNTS.iter().any(|count| label.ends_with(count)) {
        return false;
    }
    if !has_words(before) {
        if label_first && PAGE_VERBS.iter().any(|verb| label.ends_with(verb)) {
            return false;
        }
        let next = behind.trim_start().split(|c: char| !is_spaced(c)).next();
        return behind.starts_with(char::is_whitespace)
            && next.is_some_and(|next| !next.is_empty() && !GOES_ON.contains(&next));
    }
    let last = before.trim_end().rsplit(|c: char| !is_spaced(c)).next();
    label_first
        && PAGE_NOUNS.iter().any(|count| label.ends_with(count))
        && !has_words(behind)
        && before.ends_with(char::is_whitespace)
        && last.is_some_and(|last| !last.is_empty() && !holds_together(last))
}

/// Whether `before` ends with one counter or more, and either nothing stands before them or a bar
/// or a dot parts them from what follows.
pub fn is_behind_counters(before: &str) -> bool {
    let of_marks = |c: char| c.is_whitespace() || ",|·.[]".contains(c);
    let front = before.trim_end_matches(of_marks);
    if before[front.len()..].contains(['|', '·']) {
        return before_counter(front).is_some();
    }
    let (mut rest, mut counters) = (front, 0);
    loop {
        rest = rest.trim_end_matches(of_marks);
        if rest.is_empty() || counters == CHAIN_MAX {
            return rest.is_empty() && counters > 0;
        }
        let Some(before) = before_counter(rest) else { return false };
        (rest, counters) = (before, counters + 1);
    }
}

/// What stands before the counter that ends `text`: `12 views`, or `views 12`.
fn before_counter(text: &str) -> Option<&str> {
    let labels = |text| Labels::ending(text).iter().filter(|(_, kind)| *kind == Kind::Count);
    let behind_number = labels(text).filter_map(|(label, _)| {
        let number = text.strip_suffix(label)?.trim_end();
        let before = number.trim_end_matches(is_of_number);
        (before.len() < number.len()).then_some(before)
    });
    let front = text.trim_end_matches(is_of_number);
    let name = if front.len() < text.len() { front.trim_end_matches([' ', ':']) } else { "" };
    let before_number = labels(name).filter_map(|(label, _)| {
        name.strip_suffix(label).filter(|rest| starts_own_word(rest, label))
    });
    behind_number.chain(before_number).min_by_key(|before| before.len())
}

/// Whether one counter or more, and nothing else, stands from here to the end of the text.
pub fn is_last_of_counters(behind: &str) -> bool {
    let (mut rest, mut counters) = (behind, 0);
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || ",|·.".contains(c));
        if rest.is_empty() || counters == CHAIN_MAX {
            return rest.is_empty() && counters > 0;
        }
        let number = rest.trim_start_matches(is_of_number);
        let label = (number.len() < rest.len()).then(|| label_after(without_units(number)));
        let Some(Some((Kind::Count, behind))) = label else { return false };
        (rest, counters) = (behind, counters + 1);
    }
}

/// `after` without the units of a counter at its begin.
pub fn without_units(after: &str) -> &str {
    let mut rest = after;
    while let Some(found) = COUNTER_UNITS.iter().find_map(|unit| {
        let text = if unit.is_ascii() { rest.trim_start() } else { rest };
        text.strip_prefix(unit).filter(|rest| ends_own_word(rest, unit))
    }) {
        rest = found;
    }
    rest
}
