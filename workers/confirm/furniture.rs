//! Furniture: what stands around an article and says nothing of it, such as counters, clocks, date
//! lines, copyright lines and the names of source and editor.
//!
//! The same words and figures stand in sentences, too: a mill has `5,000 shares`, a session opens
//! on `2024-10-05`. What tells furniture from them is its frame. A label or a date is furniture
//! where it is a line of its own, that is where what stands on its far sides is the edge of the
//! text, a mark, white space that no Latin sentence runs through, or another label.

use crate::confirm::alignment::Tokens;
use crate::confirm::credits;
use crate::confirm::numbers::is_digit;
use crate::confirm::times::{self, after_relative_time, glued, is_number, is_years};
use crate::confirm::words::{self, holds_together, is_month};
use crate::text::characters::{is_han, stands_alone};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

/// What a piece of furniture is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Furniture {
    /// How often a page was read, liked or answered.
    Counter,
    /// A time of the day.
    Clock,
    /// When a page was written or sent, and from where.
    DateLine,
    /// The year of a copyright, or the number under which a site is recorded.
    Copyright,
    /// Who wrote, edited or sent it.
    Credit,
    /// A short link, which leads elsewhere by an id that says nothing: `https://t.co/qdw4zb1s9k`.
    Link,
}

/// What a label of the list stands beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Count,
    Date,
    Right,
    Record,
    Credit,
    CreditBy,
    Byline,
}

/// The labels and their kinds.
const FURNITURE_WORDS: &str = include_str!("furniture_words.txt");

/// A label and its kind.
pub(super) type KnownLabel = (&'static str, Kind);

/// All labels, by their last byte and by their first one: they are looked for beside each number in
/// which two texts differ.
pub(super) struct Labels {
    by_last: HashMap<u8, Vec<KnownLabel>>,
    by_first: HashMap<u8, Vec<KnownLabel>>,
}

impl Labels {
    fn get() -> &'static Labels {
        static LABELS: OnceLock<Labels> = OnceLock::new();
        LABELS.get_or_init(|| {
            let mut labels = Labels { by_last: HashMap::new(), by_first: HashMap::new() };
            for (label, kind) in words::lines(FURNITURE_WORDS).filter_map(label_of_line) {
                let ([first, ..], [.., last]) = (label.as_bytes(), label.as_bytes()) else {
                    continue;
                };
                labels.by_last.entry(*last).or_default().push((label, kind));
                labels.by_first.entry(*first).or_default().push((label, kind));
            }
            labels
        })
    }

    /// Those that may end `text`.
    pub(super) fn ending(text: &str) -> &'static [KnownLabel] {
        let last = text.as_bytes().last();
        last.and_then(|last| Labels::get().by_last.get(last)).map_or(&[], Vec::as_slice)
    }

    /// Those that may begin `text`.
    pub(super) fn beginning(text: &str) -> &'static [KnownLabel] {
        let first = text.as_bytes().first();
        first.and_then(|first| Labels::get().by_first.get(first)).map_or(&[], Vec::as_slice)
    }
}

fn label_of_line(line: &'static str) -> Option<KnownLabel> {
    let (kind, label) = line.split_once(' ')?;
    let kind = match kind {
        "count" => Kind::Count,
        "date" => Kind::Date,
        "right" => Kind::Right,
        "record" => Kind::Record,
        "credit" => Kind::Credit,
        "credit-by" => Kind::CreditBy,
        "byline" => Kind::Byline,
        _ => return None,
    };
    Some((label, kind))
}

/// What stands between a counter and its label, or behind its number.
const UNITS: [&str; 11] = ["人次", "次", "人", "位", "条", "万", "亿", "千", "k", "+", "times"];

/// What pages alone count. In front of a text it is a line of its own, though no mark ends it:
/// `views 1234 the council met`.
const PAGE_COUNTS: [&str; 10] = [
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
];

/// Those of them that are no verbs: `the index hits 4000` is a headline.
const PAGE_NOUNS: [&str; 4] = ["views", "comments", "replies", "downloads"];

/// Words with which the sentence of a count goes on: `comments 3 to 5 were struck`.
const GOES_ON: [&str; 30] = [
    "was", "were", "is", "are", "be", "been", "has", "have", "had", "will", "would", "can",
    "could", "may", "might", "must", "shall", "should", "do", "does", "did", "of", "for", "from",
    "to", "by", "per", "than", "or", "and",
];

/// What may open the clause of a counter.
const OPENERS: [&str; 3] = ["已有", "共有", "已被"];

/// The most tokens between a number and the far side of its label.
const PIECE_TOKENS_MAX: usize = 12;

/// The characters in front of a text in which a date line of a news agency must end.
const DATE_LINE_CHARS: usize = 24;

/// The most characters of a headline in front of a date line in brackets.
const HEADLINE_CHARS: usize = 120;

/// What the tokens of `range` are, if all of them are furniture: of several kinds, the first.
pub fn of(tokens: &Tokens<'_>, range: Range<usize>) -> Option<Furniture> {
    let (mut first, mut at) = (None, range.start);
    while at < range.end {
        let (found, end) = piece_at(tokens, at)?;
        first = first.or(Some(found));
        at = end.max(at + 1);
    }
    first
}

/// Whether the digit at `at` is part of a date with a month or of a day in digits.
pub(super) fn is_date(tokens: &Tokens<'_>, at: usize) -> bool {
    is_digit(tokens.token(at)) && Group::around(tokens, at).date
}

/// The piece that the token at `at` belongs to, and the token behind that piece.
fn piece_at(tokens: &Tokens<'_>, at: usize) -> Option<(Furniture, usize)> {
    let is_number = |at: &usize| is_number(tokens.token(*at));
    let place = |at: usize| tokens.places[at].start as usize;
    let behind =
        |end: usize| (at..tokens.len()).find(|at| place(*at) >= end).unwrap_or(tokens.len());
    if let Some(end) = short_link(&tokens.text, place(at)) {
        return Some((Furniture::Link, behind(end)));
    }
    // A label or a unit belongs to the number in front of it or behind it.
    let next = (at..tokens.len().min(at + PIECE_TOKENS_MAX)).find(is_number);
    let last = (at.saturating_sub(PIECE_TOKENS_MAX)..at).rev().find(is_number);
    let of_number = next.into_iter().chain(last).find_map(|number| {
        let (found, bytes) = Group::around(tokens, number).furniture()?;
        let behind = behind(bytes.end);
        (place(at) >= bytes.start && behind > at).then_some((found, behind))
    });
    of_number.or_else(|| credits::end(tokens, at).map(|end| (Furniture::Credit, end)))
}

/// The most bytes of a short link, of the name of its host, and the fewest of its id.
const LINK_BYTES_MAX: usize = 40;
const LINK_HOST_BYTES_MAX: usize = 10;
const LINK_ID_BYTES_MIN: usize = 5;

/// The end of the short link that has the byte at `place`.
fn short_link(text: &str, place: usize) -> Option<usize> {
    let of_link = |c: char| c.is_ascii_graphic() && !"()<>[]{}\"'".contains(c);
    let before = text[..place].chars().rev().take(LINK_BYTES_MAX);
    let head = place - before.take_while(|c| of_link(*c)).count();
    let behind = text[head..].bytes().take(3 * LINK_BYTES_MAX);
    let run = &text[head..head + behind.take_while(|byte| of_link(char::from(*byte))).count()];
    let start = head + run.find("http")?;
    let link = text[start..head + run.len()].trim_end_matches(['.', ',', ';', '!', '?']);
    let path = link.strip_prefix("https://").or_else(|| link.strip_prefix("http://"))?;
    let (host, id) = path.split_once('/')?;
    let is_id = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let is_short = link.len() <= LINK_BYTES_MAX
        && host.len() <= LINK_HOST_BYTES_MAX
        && id.len() >= LINK_ID_BYTES_MIN
        && id.chars().all(is_id);
    let end = start + link.len();
    (is_short && (start..end).contains(&place)).then_some(end)
}

/// Numbers that belong together, such as the five of a date with a clock, and what is around them.
struct Group<'t> {
    text: &'t str,
    bytes: Range<usize>,
    /// Years, months and days.
    date: bool,
    /// Hours and minutes.
    clock: bool,
}

impl<'t> Group<'t> {
    /// The group of the digit at `at`.
    fn around(tokens: &'t Tokens<'_>, at: usize) -> Group<'t> {
        let (mut from, mut to) = (at, at + 1);
        while from > 0 && glued(tokens, from) {
            from -= 1;
        }
        while to < tokens.len() && glued(tokens, to) {
            to += 1;
        }
        // A unit of time without its number is part of a word.
        while from < at && !is_number(tokens.token(from)) {
            from += 1;
        }
        let bytes = tokens.places[from].start as usize..tokens.places[to - 1].end as usize;
        let group = &tokens.text[bytes.clone()];
        let named = |word: &str| (from..to).any(|at| tokens.token(at) == word);
        let month = named("月") || (from..to).any(|at| is_month(tokens.token(at)));
        let date = month || named("年") || times::has_day(group);
        let clock = times::has_clock(group);
        Group { text: &tokens.text, bytes, date, clock }
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

    /// What it is, and the bytes of it with its label and its unit.
    fn furniture(&self) -> Option<(Furniture, Range<usize>)> {
        let time = if self.date { Furniture::DateLine } else { Furniture::Clock };
        let (before, after) = (self.before(), self.after());
        let ago = after_relative_time(after);
        let rest = ago.unwrap_or_else(|| without_units(after));
        let end = self.text.len() - rest.len();
        let is_time = self.date || self.clock || ago.is_some();
        let of_label = |kind| match kind {
            Kind::Date | Kind::Credit if is_time => time,
            _ => Furniture::Counter,
        };
        if let Some(label) = label_before(before) {
            let kind = label.kind;
            let bytes = label.start..end;
            if kind == Kind::Record || kind == Kind::Right && is_years(self.group()) {
                return Some((Furniture::Copyright, bytes));
            }
            let fits = kind == Kind::Count || kind == Kind::Date && is_time;
            let lenient = label.colon || is_time || label.is_han;
            let name = before[label.start..].trim_end_matches(BETWEEN);
            if fits && label.is_free && is_free_after(rest, lenient)
                || kind == Kind::Count && is_line_of_page(&before[..label.start], name, rest, true)
            {
                return Some((of_label(kind), bytes));
            }
        }
        let spaced = || label_after(without_units(after.trim_start()));
        if let Some((kind, behind)) = label_after(rest).or_else(spaced) {
            let fits = kind == Kind::Count || is_time && matches!(kind, Kind::Date | Kind::Credit);
            let opened = OPENERS.iter().any(|word| {
                let rest = before.trim_end().strip_suffix(word);
                rest.is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
            });
            let free = (opened || is_free_before(before, false)) && is_free_after(behind, false);
            let credit = kind == Kind::Credit && is_free_before(before, false);
            let counter =
                kind == Kind::Count && (is_last_of_counters(behind) || is_behind_counters(before));
            let name = &after[..after.len() - behind.len()];
            let page = kind == Kind::Count && is_line_of_page(before, name, behind, false);
            if fits && (free || credit || counter || page) {
                return Some((of_label(kind), self.bytes.start..self.text.len() - behind.len()));
            }
        }
        let stands_alone =
            is_time && (self.stands_at_edge(rest) || self.stands_between_marks(rest));
        if stands_alone {
            return Some((time, self.bytes.start..end));
        }
        let start = self.date.then(|| start_of_date_line(before, self.group(), after))?;
        start.map(|start| (time, start..end))
    }

    /// Whether a date or a clock is the first or the last line of the text.
    fn stands_at_edge(&self, rest: &str) -> bool {
        let before = self.before().trim_end();
        let space = |c: Option<char>| c.is_none_or(char::is_whitespace);
        if before.chars().all(|c| !c.is_alphanumeric()) {
            return space(rest.chars().next()) || rest.starts_with(SEPARATORS);
        }
        let is_last = rest.chars().all(|c| !c.is_alphanumeric());
        let parted = before.len() < self.bytes.start && before.ends_with(is_han);
        is_last && (parted || before.ends_with(|c: char| !c.is_alphanumeric() && !":,".contains(c)))
    }

    /// Whether it stands between marks that part the pieces of a line.
    fn stands_between_marks(&self, rest: &str) -> bool {
        self.before().trim_end().ends_with(SEPARATORS) && rest.trim_start().starts_with(SEPARATORS)
    }
}

/// Marks between the pieces of a line around an article.
const SEPARATORS: [char; 8] = ['|', '·', '•', '[', ']', '【', '】', '»'];

/// A label in front of a number.
struct Label {
    kind: Kind,
    /// Its first byte.
    start: usize,
    /// There is a colon between both.
    colon: bool,
    /// It is in Chinese characters.
    is_han: bool,
    /// Its far side is no part of its sentence.
    is_free: bool,
}

/// Labels and counters, one behind the other, that are looked at.
const CHAIN_MAX: usize = 4;

/// What may stand between a label and its number.
const BETWEEN: [char; 6] = [' ', ':', '|', '(', '[', '#'];

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
            Kind::Count | Kind::Date => true,
            Kind::Credit | Kind::CreditBy | Kind::Byline => false,
        };
        let is_han = label.starts_with(is_han);
        counts.then_some(Label { kind, start: rest.len(), colon, is_han, is_free })
    });
    found.max_by_key(|label| (label.is_free, std::cmp::Reverse(label.start)))
}

/// The longest label that begins `after`, white space and bars left out, and what stands behind it.
fn label_after(after: &str) -> Option<(Kind, &str)> {
    let after = after.trim_start_matches(|c: char| c.is_whitespace() || "|·".contains(c));
    let found = Labels::beginning(after).iter().filter_map(|(label, kind)| {
        let rest = after.strip_prefix(label)?;
        let whole = ends_own_word(rest, label);
        (whole && !matches!(kind, Kind::Right | Kind::Record | Kind::Byline))
            .then_some((*kind, rest))
    });
    found.min_by_key(|(_, rest)| rest.len())
}

/// Whether a label in Chinese characters stands behind white space: no Latin sentence goes on in
/// it.
fn is_other_script(rest: &str, label: &str) -> bool {
    label.starts_with(is_han) && rest.ends_with(char::is_whitespace)
}

/// Whether `c` is a letter of a script that parts words by white space.
pub(super) fn is_spaced(c: char) -> bool {
    c.is_alphabetic() && !stands_alone(c)
}

/// Whether a label with `rest` before it does not begin inside a word.
pub(super) fn starts_own_word(rest: &str, label: &str) -> bool {
    !label.starts_with(is_spaced) || !rest.ends_with(is_spaced)
}

/// Whether a label with `rest` behind it does not end inside a word.
fn ends_own_word(rest: &str, label: &str) -> bool {
    !label.ends_with(is_spaced) || !rest.starts_with(is_spaced)
}

/// Whether what ends with `rest` is no part of a sentence: the edge, a mark, white space behind
/// anything but a Latin word, or another label, with its number if `counters` is set. A comma parts
/// the clauses of a sentence, so one counts only behind a label.
pub(super) fn is_free_before(rest: &str, counters: bool) -> bool {
    is_free_in_chain(rest, counters, CHAIN_MAX)
}

fn is_free_in_chain(rest: &str, counters: bool, chain: usize) -> bool {
    let trimmed = rest.trim_end();
    let Some(last) = trimmed.chars().next_back() else { return true };
    let spaced = trimmed.len() < rest.len();
    if matches!(last, ',' | '、') {
        return ends_with_piece(trimmed.trim_end_matches([',', '、']), true, chain);
    }
    if !last.is_alphanumeric() {
        return !(last == '-' || last == '.') || spaced;
    }
    spaced && !is_spaced(last) || ends_with_piece(trimmed, counters, chain)
}

/// Whether `text` ends with a label that is no part of a sentence, or if `counters` is set with a
/// number behind one.
fn ends_with_piece(text: &str, counters: bool, chain: usize) -> bool {
    let Some(chain) = chain.checked_sub(1) else { return false };
    let label = |text: &str| {
        Labels::ending(text).iter().any(|(label, _)| {
            text.strip_suffix(label).is_some_and(|rest| {
                let unit = |c: char| c.is_whitespace() || "次人位".contains(c);
                let number = rest.trim_end_matches(unit);
                starts_own_word(rest, label)
                    && (number.ends_with(is_of_number) || is_free_in_chain(rest, counters, chain))
            })
        })
    };
    let number = text.trim_end_matches(is_of_number);
    label(text) || counters && number.len() < text.len() && label(number.trim_end())
}

fn is_of_number(c: char) -> bool {
    c.is_ascii_digit() || ",.".contains(c)
}

/// Whether what begins with `rest` is no part of a sentence. Behind white space a Latin word may
/// follow if `lenient` is set, and behind a comma only another number or label.
fn is_free_after(rest: &str, lenient: bool) -> bool {
    let trimmed = rest.trim_start();
    let Some(first) = trimmed.chars().next() else { return true };
    if label_after(rest).is_some() {
        return true;
    }
    if matches!(first, ',' | '、') {
        let behind = trimmed[first.len_utf8()..].trim_start();
        return label_after(behind).is_some() || behind.starts_with(|c: char| c.is_ascii_digit());
    }
    if !first.is_alphanumeric() {
        let next = trimmed.chars().nth(1);
        let joins = "-./—–".contains(first) && next.is_some_and(char::is_alphanumeric);
        return trimmed.len() < rest.len() || !(joins || "%°℃$‰".contains(first));
    }
    trimmed.len() < rest.len() && (lenient || !is_spaced(first))
}

/// Whether a count of [`PAGE_COUNTS`] with its number is the first line of a text, or, if the label
/// stands in front of the number, the last one: `he counted 12 hits` is a sentence.
fn is_line_of_page(before: &str, label: &str, behind: &str, label_first: bool) -> bool {
    let has_words = |text: &str| text.contains(char::is_alphanumeric);
    if !PAGE_COUNTS.iter().any(|count| label.ends_with(count)) {
        return false;
    }
    if !has_words(before) {
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

/// Whether nothing but counters, one or more, stands from the begin of the text to `before`.
fn is_behind_counters(before: &str) -> bool {
    let (mut rest, mut counters) = (before, 0);
    loop {
        rest = rest.trim_end_matches(|c: char| c.is_whitespace() || ",|·.".contains(c));
        if rest.is_empty() || counters == CHAIN_MAX {
            return rest.is_empty() && counters > 0;
        }
        let count = Labels::ending(rest).iter().filter(|(_, kind)| *kind == Kind::Count);
        let found = count.filter_map(|(label, _)| {
            let number = rest.strip_suffix(label)?.trim_end();
            let before = number.trim_end_matches(is_of_number);
            (before.len() < number.len()).then_some(before)
        });
        let Some(before) = found.min_by_key(|before| before.len()) else { return false };
        (rest, counters) = (before, counters + 1);
    }
}

/// Whether nothing but one more counter or more stands up to the end of the text.
fn is_last_of_counters(behind: &str) -> bool {
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
fn without_units(after: &str) -> &str {
    let mut rest = after;
    while let Some(found) = UNITS.iter().find_map(|unit| {
        let text = if unit.is_ascii() { rest.trim_start() } else { rest };
        text.strip_prefix(unit).filter(|rest| ends_own_word(rest, unit))
    }) {
        rest = found;
    }
    rest
}

/// The first byte of the date line before the first sentence that a date stands in, if it does:
/// `(place, 5 march)`, `place, 5 march -`, `place, 5 march (agency) -`, `某社某地3月5日电`, or `by
/// author, 5 march 2025`.
fn start_of_date_line(before: &str, date: &str, after: &str) -> Option<usize> {
    in_brackets(before, after)
        .or_else(|| ends_with_dash(before, after).then_some(before.len()))
        .or_else(|| is_dispatch(before, after).then_some(before.len()))
        .or_else(|| is_behind_place(before, date, after).then_some(0))
}

/// The place of a date in brackets of their own, in front of the text or behind its headline;
/// `today (5 march)` is part of a sentence.
fn in_brackets(before: &str, after: &str) -> Option<usize> {
    let open = before.rfind('(')?;
    let (front, bracket) = before.split_at(open);
    let is_short = |text: &str| text.chars().nth(DATE_LINE_CHARS).is_none();
    let closed = after.char_indices().take(DATE_LINE_CHARS);
    let closes = closed.map(|(_, c)| c).find(|c| ")—–-。.!?;".contains(*c)) == Some(')');
    let is_line = match is_short(before) {
        true => front.chars().next_back().is_none_or(|c| c.is_whitespace() || "。.!?".contains(c)),
        false => is_behind_headline(front) && bracket.len() > '('.len_utf8(),
    };
    (closes && is_line && is_short(bracket) && !bracket.contains(')')).then_some(before.len())
}

/// Whether `front` may be a headline, perhaps with a line of the kind above or below it.
fn is_behind_headline(front: &str) -> bool {
    front.chars().nth(HEADLINE_CHARS).is_none() && is_free_before(front, false)
}

/// Whether a dash parts a date line of few characters from the first sentence.
fn ends_with_dash(before: &str, after: &str) -> bool {
    if before.chars().nth(DATE_LINE_CHARS).is_some() {
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
        && (behind.starts_with(mark) || spaced && behind.starts_with(char::is_whitespace))
}

/// Whether a date is that of a dispatch of a news agency, in front of the text or behind its
/// headline: `新华社北京3月5日电 `. In a sentence 电 begins a word.
fn is_dispatch(before: &str, after: &str) -> bool {
    let Some(behind) = after.strip_prefix(['电', '讯']) else { return false };
    let place = before.rsplit(|c: char| !is_han(c)).next().unwrap_or_default();
    let front = &before[..before.len() - place.len()];
    let is_agency = place.contains(['社', '网', '报']) || front.is_empty();
    let ends = behind.chars().next().is_none_or(|c| !c.is_alphanumeric());
    ends && !place.is_empty()
        && is_agency
        && place.chars().nth(DATE_LINE_CHARS).is_none()
        && is_behind_headline(front)
}

/// Whether a whole date stands behind nothing but a place or an author, in Latin letters: `paris, 5
/// march 2025`. A sentence begins with a word that holds it together: `in paris, 5 march 2025 ...`.
fn is_behind_place(before: &str, date: &str, after: &str) -> bool {
    let has_year = date.split(|c: char| !c.is_ascii_digit()).any(|part| part.len() == 4);
    let Some(name) = before.trim_end().strip_suffix(',') else { return false };
    let name = name.strip_prefix("by ").unwrap_or(name);
    let mut words = name.split([' ', '.']).filter(|word| !word.is_empty());
    has_year
        && !name.is_empty()
        && words.clone().count() <= credits::NAME_WORDS_MAX
        && words.all(|word| word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-'))
        && !name.split([' ', '.']).any(holds_together)
        && after.chars().next().is_none_or(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn furniture(text: &str, part: &str) -> Option<Furniture> {
        let tokens = Tokens::of(text).expect("short");
        let start = text.find(part).expect("it is there");
        let inside =
            |at: &usize| (start..start + part.len()).contains(&(tokens.places[*at].start as usize));
        let at: Vec<usize> = (0..tokens.len()).filter(inside).collect();
        of(&tokens, at[0]..at[at.len() - 1] + 1)
    }

    /// A label, a date or a name is furniture in a line of its own.
    #[test]
    fn lines_are_furniture() {
        use Furniture::*;
        for (text, part, kind) in [
            ("正文。 阅读 1234 评论 5", "1234", Counter),
            ("阅读(1234) 评论(5) 正文", "5", Counter),
            ("查看: 1234|回复: 56 正文", "56", Counter),
            ("您是第 12345 位访客 正文", "12345", Counter),
            ("浏览次数:123次 正文", "123", Counter),
            ("正文。 播放 12.3万", "12.3万", Counter),
            ("转载于 2025,已有 8796 次浏览,39 人点赞 正文", "8796", Counter),
            ("the text. 41012 views, 7 comments", "7 comments", Counter),
            ("the text without a mark 41012 views, 7 comments", "41012", Counter),
            ("viewed 1234 times. the text", "1234", Counter),
            ("views 1234 the council met", "1234", Counter),
            ("1,234 views the council met", "1,234", Counter),
            ("1.2k views the council met", "1", Counter),
            ("4 min read the council met", "4", Counter),
            ("the council met by the river views 1234", "1234", Counter),
            ("访问数:12345 当前时间:10:02:33 正文", "02", Clock),
            ("10:30 2024-10-05 正文", "30", DateLine),
            ("2024-10-05 08:30 来源:本站 正文", "10", DateLine),
            ("2024年10月5日 08:30 来源:新华网 正文", "5", DateLine),
            ("正文。发布时间:2024年10月5日", "10", DateLine),
            ("发布时间:2024年10月5日 日下正文", "5", DateLine),
            ("posted on october 5, 2024 by admin. the text", "october 5", DateLine),
            ("the text. last modified: 5 october 2024, 10:22.", "22", DateLine),
            ("published: 2024-10-05 $names of the text", "05", DateLine),
            ("3天前 正文", "3天", Clock),
            ("the text. 5 minutes ago", "5", Clock),
            ("(石桥镇,3月5日)今年的庙会办得热闹。", "5", DateLine),
            ("dover, 5 march — the harbour was full.", "5", DateLine),
            ("dover, march 5 -- the harbour was full.", "5", DateLine),
            ("dover, 5 march 2025 the harbour was full.", "dover", DateLine),
            ("by j. smith, 5 march 2025 the harbour was full.", "smith", DateLine),
            ("reposted on 5 march 2025, 12 views. the text", "5 march", DateLine),
            ("走过柳湾老街:一条石板路的前世今生 (柳湾,4月3日)老街只有480米长。", "3", DateLine),
            ("正文 版权所有 © 2023 京icp备00000001号", "2023", Copyright),
            ("正文 京icp备00000001号-1", "1", Copyright),
            ("copyright (c) 2019-2023 by the authors", "2019", Copyright),
            ("正文。责任编辑:张伟", "张伟", Credit),
            ("(责任编辑:张建国)", "建", Credit),
            ("来源:央视新闻 正文", "来源:央视新闻", Credit),
            ("the text. edited by john smith.", "john smith", Credit),
            ("source: the herald. the text", "herald", Credit),
        ] {
            assert_eq!(furniture(text, part), Some(kind), "{text}");
        }
    }

    /// Labels were known in Chinese and English alone, so that a copy with another counter or date
    /// was refused in all other languages. Sentences with the same words say facts there, too.
    #[test]
    fn labels_of_many_languages() {
        use Furniture::{Counter, DateLine};
        for (text, part, expected) in [
            ("조회수 1,234 댓글 56 시장은 예산을 발표했다.", "234", Some(Counter)),
            ("阅览数 1,234 コメント 5件 市长は予算を発表した。", "234", Some(Counter)),
            ("просмотров: 1234 мэр объявил бюджет.", "1234", Some(Counter)),
            ("мэр объявил бюджет. 12 комментариев", "12", Some(Counter)),
            ("aufrufe: 1.234 der rat beriet den haushalt.", "234", Some(Counter)),
            ("vues : 1 234 le conseil a voté le budget.", "1", Some(Counter)),
            ("lượt xem: 1.234 hội đồng đã họp.", "234", Some(Counter)),
            ("عدد المشاهدات: 1234 اجتمع المجلس.", "1234", Some(Counter)),
            ("正文 浏览人次:1234", "1234", Some(Counter)),
            ("stand: 12.11.2024 der rat beriet.", "11", Some(DateLine)),
            ("publié le 12/11/2024 le conseil a voté.", "11", Some(DateLine)),
            ("опубликовано 12.11.2024 мэр объявил.", "11", Some(DateLine)),
            ("фильм получил 12 комментариев от зрителей", "12", None),
            ("der rat bekam 12 kommentare aus der stadt", "12", None),
            ("시장은 댓글 56 개를 읽었다", "56", None),
            ("les lectures 12 et 13 du conseil", "12", None),
        ] {
            assert_eq!(furniture(text, part), expected, "{text}");
        }
    }

    /// A date with its clock was one line only where a space parted both, and a line of an agency
    /// only with its dash directly behind the date.
    #[test]
    fn dates_with_clocks() {
        use Furniture::*;
        for (text, part, kind) in [
            ("12.11.2024 - 10:45 the text", "10:45", DateLine),
            ("12.11.2024, 10:45 the text", "45", DateLine),
            ("the text. 2024-11-03t10:25:12z", "12z", DateLine),
            ("2024-11-03t10:25:12+08:00 the text", "03", DateLine),
            ("2024.11.12. 10:45 the text", "45", DateLine),
            ("۱۴۰۳/۰۸/۱۲ - ۱۰:۲۵ the text", "۱۰", DateLine),
            ("november 3, 2024 at 10:25 am the text", "25", DateLine),
            ("updated: 10:25 gmt, 3 november 2024 the text", "3", DateLine),
            ("3h ago the text", "3", Clock),
            ("the text. 5 mins ago", "5", Clock),
            ("london, nov 3 (reuters) - the mayor said", "3", DateLine),
            ("新华社北京11月3日电 正文", "3", DateLine),
            ("市长谈新桥 中新网上海11月3日电(记者 王明)正文", "3", DateLine),
        ] {
            assert_eq!(furniture(text, part), Some(kind), "{text}");
        }
        for (text, part) in [
            ("on 12.11.2024, 10:45 people came", "12"),
            ("北京11月3日电影节开幕", "3"),
            ("市长说,11月3日电网检修", "3"),
            ("the vote is on november 3, 2024 at 10:25 in the hall", "10"),
            ("the report of nov 3 (reuters) says that he left", "3"),
            ("3h of rain fell ago", "3"),
        ] {
            assert_eq!(furniture(text, part), None, "{text}");
        }
    }

    /// The same words and figures in a sentence are facts.
    #[test]
    fn sentences_are_not() {
        for (text, part) in [
            ("今天最高气温30度", "30"),
            ("储备12万吨粮食", "12"),
            ("采购设备30台", "30"),
            ("国务院发布12项措施", "12"),
            ("本次更新3个品种", "3"),
            ("收藏3000册图书", "3000"),
            ("粉丝12万人,创下纪录", "12"),
            ("该校招生人数500", "500"),
            ("考试时间:3月5日上午", "5"),
            ("开庭日期:2024-03-05", "05"),
            ("定于 2024-10-05 召开", "10"),
            ("主队以 3:1 战胜客队", "3"),
            ("3月6日0—24时,我市无新增病例", "6"),
            ("将于3月5日在北京召开", "5"),
            ("今天(12月19日)出版", "19"),
            ("in dover, 5 march 2025 was a holiday", "5"),
            ("dover, 5 march 2025, is where and when", "5"),
            ("dover, 5 march was a holiday", "5"),
            ("the choir of the old harbour town sings (dover, 5 march) in the hall", "5"),
            ("资金来源:财政拨款", "财政"),
            ("电话 400-123-4567", "4567"),
            ("he sold 5,000 shares", "5,000"),
            ("the mill posted 12 percent growth", "12"),
            ("the fair drew 12,000 visitors", "12,000"),
            ("parliament published 12 laws", "12"),
            ("it hits 40 degrees", "40"),
            ("the index hits 4000", "4000"),
            ("he counted 12 hits", "12"),
            ("comments 3 to 5 were struck", "3"),
            ("12 comments were struck", "12"),
            ("1234 shares changed hands", "1234"),
            ("the train leaves at 10:30 from platform two", "10"),
            ("the vote is on 2024-10-05 at noon", "10"),
            ("it was posted on 5 march by the mayor", "5"),
            ("a profit (12 million dollars) again", "12"),
            ("john smith (32) took the chair", "32"),
            ("police: 5 dead in crash — officials say", "5"),
            ("the report was edited by john smith in may", "smith"),
        ] {
            assert_eq!(furniture(text, part), None, "{text}");
        }
    }
}
