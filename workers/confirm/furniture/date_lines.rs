//! Date lines in front of the first sentence of a text, as news agencies and papers write them, and
//! the day on which a page was read.

use crate::confirm::align::Tokens;
use crate::confirm::align::digits::digit_value;
use crate::confirm::furniture::credits::{NAME_WORDS_MAX, names_an_agency};
use crate::confirm::furniture::frames::is_free_before;
use crate::confirm::furniture::group::FACTS;
use crate::confirm::furniture::labels::is_spaced;
use crate::confirm::words::{holds_together, names_a_month};
use crate::text::characters::is_han;

/// A date line of a news agency must end within so many first characters of the text.
const DATE_LINE_CHARS: usize = 24;

/// The most characters of a headline in front of a date line in brackets.
const HEADLINE_CHARS: usize = 120;

/// The first byte of the date line that has this date, if there is such a line before the first
/// sentence: `(place, 5 march)`, `place, 5 march -`, `place, 5 march (agency) -`, `某社某地3月5日电`, or
/// `by author, 5 march 2025`.
pub fn start(before: &str, date: &str, after: &str) -> Option<usize> {
    in_brackets(before, date, after)
        .or_else(|| ends_with_dash(before, after).then_some(before.len()))
        .or_else(|| is_dispatch(before, after).then_some(before.len()))
        .or_else(|| is_behind_place(before, date, after).then_some(0))
}

/// The place of a date in brackets of their own, in front of the text or behind its headline;
/// `today (5 march)` is part of a sentence.
fn in_brackets(before: &str, date: &str, after: &str) -> Option<usize> {
    let open = before.rfind('(')?;
    let (front, bracket) = before.split_at(open);
    let is_short = |text: &str| text.chars().nth(DATE_LINE_CHARS).is_none();
    let closed = after.char_indices().take(DATE_LINE_CHARS);
    let closes = closed.map(|(_, c)| c).find(|c| ")—–-。.!?;".contains(*c)) == Some(')');
    let has_place = bracket.len() > '('.len_utf8();
    let is_line = match is_short(before) {
        true => {
            front.chars().next_back().is_none_or(|c| c.is_whitespace() || "。.!?".contains(c))
                && (has_place || is_free_before(front, false))
        }
        false => is_behind_headline(front) && has_place,
    };
    let is_line = is_line && !is_year_of_work(front, date);
    (closes && is_line && is_short(bracket) && !bracket.contains(')')).then_some(before.len())
}

/// Whether a date is the year of the book or the film whose title stands before the bracket.
fn is_year_of_work(front: &str, date: &str) -> bool {
    front.trim_end().ends_with(['》', '〉', '』', '”', '"'])
        && date.trim_end_matches('年').chars().all(|c| digit_value(c).is_some())
}

/// Whether `front` may be a headline, perhaps with a line of the kind above or below it.
fn is_behind_headline(front: &str) -> bool {
    front.chars().nth(HEADLINE_CHARS).is_none() && is_free_before(front, false)
}

/// Whether a dash parts a date line of few characters from the first sentence.
fn ends_with_dash(before: &str, after: &str) -> bool {
    // `deadline 5 march - late entries` is a sentence.
    let place = before.trim_end();
    let is_fact = place.ends_with(is_spaced) || FACTS.iter().any(|word| place.ends_with(word));
    if is_fact || before.chars().nth(DATE_LINE_CHARS).is_some() {
        return false;
    }
    // The agency may stand between both in brackets.
    let closed = after.trim_start().strip_prefix('(').and_then(|agency| agency.split_once(')'));
    let after = match closed {
        Some((agency, rest)) if agency.chars().nth(DATE_LINE_CHARS).is_none() => rest,
        _ => after,
    };
    let end = |(_, c): &(usize, char)| ")—–-。.!?;".contains(*c);
    let Some((at, mark)) = after.char_indices().take(DATE_LINE_CHARS).find(end) else {
        return false;
    };
    let (rest, behind) = (&after[..at], &after[at + mark.len_utf8()..]);
    let spaced = rest.ends_with(char::is_whitespace) || rest.is_empty() && at > 0;
    matches!(mark, '—' | '–' | '-')
        && !begins_with_day(behind.trim_start_matches([mark, ' ']))
        && (behind.starts_with(mark) || spaced && behind.starts_with(char::is_whitespace))
}

/// Whether `text` begins with a day, so that a dash before it means "to": `3月5日——3月8日`.
fn begins_with_day(text: &str) -> bool {
    let rest = text.trim_start_matches(|c| digit_value(c).is_some());
    let has_number = rest.len() < text.len();
    let word = rest.trim_start().split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    has_number && (rest.starts_with(['月', '日', '号', '年', '/', '.']) || names_a_month(word))
        || !has_number && names_a_month(word)
}

/// Whether a date is that of a dispatch of a news agency, in front of the text or behind its
/// headline: `新华社北京3月5日电 `. In a sentence 电 begins a word.
fn is_dispatch(before: &str, after: &str) -> bool {
    let Some(behind) = after.strip_prefix(['电', '讯']) else { return false };
    let place = before.rsplit(|c: char| !is_han(c)).next().unwrap_or_default();
    let front = &before[..before.len() - place.len()];
    let is_agency = names_an_agency(place) || front.is_empty();
    let ends = behind.chars().next().is_none_or(|c| !c.is_alphanumeric());
    ends && !place.is_empty()
        && is_agency
        && place.chars().nth(DATE_LINE_CHARS).is_none()
        && is_behind_headline(front)
}

/// Whether only a place or an author, in Latin letters, stands before a whole date: `paris, 5 march
/// 2025`. A sentence begins with a function word: `in paris, 5 march 2025 ...`.
fn is_behind_place(before: &str, date: &str, after: &str) -> bool {
    let has_year = date.split(|c: char| !c.is_ascii_digit()).any(|part| part.len() == 4);
    let Some(name) = before.trim_end().strip_suffix(',') else { return false };
    let name = name.strip_prefix("by ").unwrap_or(name);
    let mut words = name.split([' ', '.']).filter(|word| !word.is_empty());
    has_year
        && !name.is_empty()
        && words.clone().count() <= NAME_WORDS_MAX
        && words.all(|word| word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-'))
        && !name.split([' ', '.']).any(holds_together)
        && after.chars().next().is_none_or(char::is_whitespace)
}

/// What stands before the day of the week on which a page was read.
const TODAY: [&str; 3] = ["今天是星期", "今日是星期", "今天是周"];

/// Whether the token at `at` is the day of the week behind one of [`TODAY`].
pub fn is_today(tokens: &Tokens<'_>, at: usize) -> bool {
    let before = &tokens.text[..tokens.places[at].start as usize];
    "一二三四五六日天".contains(tokens.token(at)) && TODAY.iter().any(|day| before.ends_with(day))
}
