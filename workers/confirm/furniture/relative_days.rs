//! Days that a line around an article counts from the day on which the page is read: `发布于昨天`, `12
//! views | yesterday`.

use crate::confirm::align::Tokens;
use crate::confirm::furniture::group::is_behind_date_label;
use crate::confirm::furniture::labels::ends_own_word;

/// Words for such days.
const RELATIVE_DAYS: [&str; 21] = [
    "刚刚",
    "今天",
    "昨天",
    "前天",
    "今日",
    "昨日",
    "today",
    "yesterday",
    "just now",
    "сегодня",
    "вчера",
    "только что",
    "방금 전",
    "오늘",
    "어제",
    "heute",
    "gestern",
    "hoy",
    "ayer",
    "aujourd'hui",
    "hier",
];

/// Marks between the pieces of a line. Behind a bracket that closes a sentence begins: `【通知】今天`.
const SEPARATORS: [char; 5] = ['|', '·', '•', '[', '【'];

/// The most tokens of such a day in front of its last token.
const RELATIVE_TOKENS_MAX: usize = 2;

/// The byte behind the relative day that has the token at `at`. The day must stand behind the label
/// of a date, or behind a mark between the pieces of a line.
pub fn end(tokens: &Tokens<'_>, at: usize) -> Option<usize> {
    let place = tokens.places[at].start as usize;
    let starts = (at.saturating_sub(RELATIVE_TOKENS_MAX)..=at).rev();
    starts.map(|start| tokens.places[start].start as usize).find_map(|start| {
        let (before, text) = tokens.text.split_at(start);
        let day = RELATIVE_DAYS.iter().find(|day| text.starts_with(*day))?;
        let end = start + day.len();
        let behind = &tokens.text[end..];
        let is_piece = || {
            let goes_on = behind.starts_with(char::is_alphanumeric) && !begins_with_clock(behind);
            before.trim_end().ends_with(SEPARATORS) && !goes_on
        };
        let is_framed = || is_piece() || is_behind_date_label(before);
        (end > place && ends_own_word(behind, day) && is_framed()).then_some(end)
    })
}

/// Whether `text` begins with an hour and a colon.
fn begins_with_clock(text: &str) -> bool {
    let digits = text.bytes().take(2).take_while(u8::is_ascii_digit).count();
    digits > 0 && text[digits..].starts_with(':')
}
