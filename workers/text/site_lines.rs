//! Removes from a text the lines that are furniture on any site: navigation, bars of buttons,
//! counters, credits, copyright.
//!
//! A text that comes without markup (WET, a column of a corpus) has what stands around an article
//! in lines of its own. In two copies of a short article these lines may be half of both texts and
//! differ, so that no signature proposes the pair. A line is removed only if a frozen list has all
//! its words, except numbers, marks, and short values behind a label such as `责任编辑:`. A line
//! with any other word stays, and so does a date alone. At the edges of a page the place of a line
//! says more (`edge_lines.rs`): titles of other pages below a heading, credits with names, and what
//! the site asks for go, and a date below the headline gets bars.
//!
//! The list depends on no other page, so the text of a page still depends on the page alone. For
//! lines of a single site see [`crate::text::furniture`].

use crate::text::characters::runs_on;
use crate::text::edge_lines;
use crate::text::letters::weight;
use crate::text::lists::of_kind;
use crate::text::normalize::{self, normalize};
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// The version of these rules and of the list; part of a store's identity.
pub const VERSION: u32 = 6;

/// The list.
const LIST: &str = include_str!("site_lines.txt");

/// A line of more bytes stays. The statement of a site about its authors, in two languages, has
/// about 500.
const LINE_BYTES_MAX: usize = 600;
/// The most letters, by [`weight`], of a value behind a label, and of a title behind a link.
const VALUE_LETTERS_MAX: u32 = 20;
const TITLE_LETTERS_MAX: u32 = 40;
/// If fewer letters would be left, the text stays as it is: it is a page of nothing but such lines,
/// or an error page, and these lines are all that it says.
const LEFT_LETTERS_MIN: u32 = 40;
/// The same if a line that is left ends a sentence: such a page says something of its own.
const LEFT_OF_SENTENCE_MIN: u32 = 16;
/// Only so many lines at an edge of a page are asked for more than what the list says of them.
const EDGE_LINES_MAX: usize = 8;
/// The most letters of a headline with what stands above and below it.
const ABOVE_LETTERS_MAX: u32 = 100;
/// A line of so many letters is no headline.
const BODY_LINE_LETTERS: u32 = 30;
/// The fewest letters of a text below its date.
const DATED_LETTERS_MIN: u32 = 60;
/// The fewest and the most titles below a heading.
const TITLES_MIN: usize = 2;
const TITLES_MAX: usize = 20;
/// No word of the list has more bytes of ASCII at its beginning.
const WORD_BYTES_MAX: usize = 24;
/// What may stand between a word of the list that needs a number, and that number.
const BEFORE_NUMBER: [char; 10] = ['案', '证', '编', '号', '字', '第', ':', '-', '(', ' '];
/// Weak words count 2 and topics 1; a line of them needs so many points.
const POINTS_MIN: u32 = 5;

/// What a phrase says of its line. The kinds are explained at the top of `site_lines.txt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    Sure,
    Counter,
    Weak,
    Topic,
    Also,
    Part,
    Publish,
    Day,
    Time,
    Label,
    Aside,
    Byline,
    Link,
    Brief,
    Begins,
    Has,
    Foot,
}

impl Says {
    /// All, with their names in the list, in its order.
    const ALL: [(&str, Says); 17] = [
        ("sure", Says::Sure),
        ("counter", Says::Counter),
        ("weak", Says::Weak),
        ("topic", Says::Topic),
        ("also", Says::Also),
        ("part", Says::Part),
        ("publish", Says::Publish),
        ("day", Says::Day),
        ("time", Says::Time),
        ("label", Says::Label),
        ("aside", Says::Aside),
        ("byline", Says::Byline),
        ("link", Says::Link),
        ("brief", Says::Brief),
        ("begins", Says::Begins),
        ("has", Says::Has),
        ("foot", Says::Foot),
    ];

    /// Whether a line may consist of such phrases.
    fn is_word(self) -> bool {
        !self.is_label() && !matches!(self, Says::Brief | Says::Begins | Says::Has | Says::Foot)
    }

    /// Whether it is a word of a date or a clock.
    pub(super) fn is_of_time(self) -> bool {
        self == Says::Time
    }

    /// Whether a colon and a value may be behind such a phrase.
    fn is_label(self) -> bool {
        matches!(self, Says::Label | Says::Aside | Says::Byline | Says::Link)
    }

    /// Whether a line with such a label and its value needs nothing else.
    fn is_enough(self) -> bool {
        !matches!(self, Says::Aside | Says::Byline)
    }

    /// Whether `value` is no more than a name, a date or a title.
    fn may_have(self, value: &str) -> bool {
        match self {
            Says::Link => weight(value) <= TITLE_LETTERS_MAX,
            Says::Brief => {
                weight(value) <= VALUE_LETTERS_MAX && !value.contains(['。', '!', '?', ';', ','])
            }
            _ => weight(value) <= VALUE_LETTERS_MAX && !value.contains(['。', '!', '?', ';']),
        }
    }
}

/// The list.
#[derive(Default)]
struct Phrases {
    /// All phrases by their first character, the longest first.
    by_first: HashMap<char, Vec<(&'static str, Says)>>,
    /// The first words of phrases that begin with an ASCII letter or digit.
    first_words: HashSet<&'static str>,
    /// Those that a number follows where they are the record of a site.
    of_records: Vec<&'static str>,
    /// Those of copyrights at the foot.
    of_copyright: Vec<&'static str>,
}

fn phrases() -> &'static Phrases {
    static PHRASES: OnceLock<Phrases> = OnceLock::new();
    PHRASES.get_or_init(|| {
        let mut phrases = Phrases::default();
        for (phrase, says) in listed() {
            let first = phrase.chars().next().unwrap_or_default();
            phrases.by_first.entry(first).or_default().push((phrase, says));
            phrases.first_words.insert(first_word(phrase));
            match says {
                Says::Has => phrases.of_records.push(phrase),
                Says::Foot => phrases.of_copyright.push(phrase),
                _ => {}
            }
        }
        let all = phrases.by_first.values_mut();
        all.for_each(|of| of.sort_by_key(|(phrase, _)| Reverse(phrase.len())));
        phrases
    })
}

fn listed() -> impl Iterator<Item = (&'static str, Says)> {
    let of = |(name, says)| of_kind(LIST, name).map(move |phrase| (phrase, says));
    Says::ALL.into_iter().flat_map(of)
}

/// The longest phrase with which `text` begins and that is `wanted`. Where words have spaces
/// between them, a phrase ends where its word ends.
fn phrase_at(text: &str, wanted: impl Fn(Says) -> bool) -> Option<(&'static str, Says)> {
    let of_first = phrases().by_first.get(&text.chars().next()?)?;
    let of_word = |c: char| c.is_alphanumeric() && !runs_on(c);
    let is_whole =
        |phrase: &str| !(phrase.ends_with(of_word) && text[phrase.len()..].starts_with(of_word));
    of_first
        .iter()
        .find(|(phrase, says)| wanted(*says) && text.starts_with(phrase) && is_whole(phrase))
        .copied()
}

/// What the list says of `word`, if a line may consist of it.
pub(super) fn word(word: &str) -> Option<Says> {
    phrase_at(word, Says::is_word)
        .filter(|(phrase, _)| phrase.len() == word.len())
        .map(|(_, says)| says)
}

/// The ASCII letters and digits with which `text` begins.
fn first_word(text: &str) -> &str {
    let end = text.bytes().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(text.len());
    &text[..end]
}

/// The label with which `text` begins, and what is behind its colon.
fn labelled(text: &str) -> Option<(Label, &str)> {
    let (name, says) = phrase_at(text, Says::is_label)?;
    let value = text[name.len()..].trim_start().strip_prefix(':')?;
    Some((Label { name, says }, value.trim_start()))
}

/// A label of the list.
#[derive(Clone, Copy)]
struct Label {
    name: &'static str,
    says: Says,
}

/// The labels of authors. Beside another label or a number they make a line of a site.
const AUTHORS: [&str; 4] = ["作者", "出处", "author", "by"];

/// What stands between a verb of publishing and its time.
const WHEN: [&str; 3] = ["时间", "日期", "于"];

/// Signs that stand beside counts.
const SIGNS: &str = "❤♥♡💗💙💚💛💜🧡🖤🤍👁👀💬🗨👍👎🔁";

/// What the items of a line say of it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    is_sure: bool,
    has_counter: bool,
    has_number: bool,
    has_author: bool,
    has_aside: bool,
    has_part: bool,
    has_publish: bool,
    has_day: bool,
    has_time_word: bool,
    /// A day with its year in digits.
    has_date: bool,
    has_clock: bool,
    /// The parts of a date that names its month.
    has_year: bool,
    has_short_number: bool,
    points: u32,
}

impl Sum {
    fn is_furniture(self) -> bool {
        // Parts of labels, and words of times, stand in sentences, too.
        let is_plain = !self.has_part && !self.has_time_word;
        let is_of_words = self.is_sure
            || self.has_author && (self.has_number || self.has_aside)
            || self.points >= POINTS_MIN;
        is_plain && is_of_words
            || self.is_count()
            || self.is_of_publishing()
            || is_plain && self.has_day && self.has_clock
    }

    /// Whether the line has a counter and a number.
    pub(super) fn has_count(self) -> bool {
        self.has_counter && self.has_number
    }

    /// Whether a line of these words is how often something was read. `Join the discussion at 7 pm`
    /// tells a time.
    fn is_count(self) -> bool {
        self.has_count() && !(self.has_time_word || self.has_part && self.has_clock)
    }

    /// Whether a line of these words is when a page was published: a verb for that, and a time.
    pub(super) fn is_of_publishing(self) -> bool {
        let has_time = self.has_date || self.has_clock || self.has_day || self.has_time_word;
        self.has_publish && self.has_number && has_time
    }

    /// Whether the line has a whole date.
    pub(super) fn is_date(self) -> bool {
        self.has_date || self.has_time_word && self.has_year && self.has_short_number
    }

    /// Whether the line has a whole date, and no words but those of times.
    pub(super) fn is_date_alone(self) -> bool {
        let has_other = self.is_sure
            || self.has_counter
            || self.has_author
            || self.has_aside
            || self.has_part
            || self.has_publish
            || self.has_day
            || self.points > 0;
        self.is_date() && !has_other
    }

    /// Adds a number, of which the marks of a date or a clock are part.
    fn add_number(&mut self, number: &str) {
        self.has_number = true;
        let is_parted = |marks: &[char]| {
            let parts = number.trim_end_matches(['.', ',', '日']).split(marks);
            let lengths: Vec<usize> = parts.map(str::len).collect();
            matches!(lengths[..], [4, 1..=2, 1..=2] | [1..=2, 1..=2, 4])
        };
        self.has_date |= [&['-'][..], &['/'], &['.'], &['年', '月']].into_iter().any(is_parted);
        self.has_clock |= number.split_once(':').is_some_and(|(hour, minute)| {
            let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
            (1..=2).contains(&hour.len()) && digits(minute) == 2
        });
        let bare = number.trim_end_matches([',', '.']);
        self.has_year |= bare.len() == 4 && (bare.starts_with("19") || bare.starts_with("20"));
        self.has_short_number |= (1..=2).contains(&bare.len());
    }

    fn add_label(&mut self, Label { name, says }: Label) {
        self.is_sure |= says.is_enough();
        let is_author = AUTHORS.contains(&name);
        self.has_author |= is_author;
        self.has_aside |= says == Says::Aside && !is_author;
    }

    /// Adds an item of the line, in normal form. Returns whether it may be furniture.
    fn add(&mut self, item: &str) -> bool {
        // A heart or an eye counts who liked or saw a text.
        let has_sign = item.contains(|c| SIGNS.contains(c));
        let item = item.trim_matches(|c: char| !c.is_alphanumeric());
        self.has_counter |= has_sign;
        match labelled(item) {
            Some((label, value)) if label.says.may_have(value) => {
                // Behind the value may be another label.
                let mut sum = *self;
                match !label.says.is_enough() && sum.add_words(item) {
                    true => *self = sum,
                    false => self.add_label(label),
                }
                true
            }
            _ => self.add_words(item),
        }
    }

    /// Adds an item that consists of words of the list, numbers, marks, and labels with one word.
    pub(super) fn add_words(&mut self, item: &str) -> bool {
        let mut sum = *self;
        let mut rest = item;
        while let Some(c) = rest.chars().next() {
            if let Some((label, value)) = labelled(rest)
                && let (value, behind) = value.split_once(' ').unwrap_or((value, ""))
                && label.says.may_have(value)
            {
                sum.add_label(label);
                rest = behind;
            } else if let Some((word, says)) = phrase_at(rest, Says::is_word) {
                match says {
                    Says::Sure => sum.is_sure = true,
                    Says::Counter => sum.has_counter = true,
                    Says::Weak => sum.points += 2,
                    Says::Topic => sum.points += 1,
                    Says::Part => sum.has_part = true,
                    Says::Publish => sum.has_publish = true,
                    Says::Day => (sum.has_day, sum.points) = (true, sum.points + 1),
                    Says::Time => sum.has_time_word = true,
                    _ => {}
                }
                rest = &rest[word.len()..];
                if says == Says::Publish {
                    rest = WHEN.iter().find_map(|when| rest.strip_prefix(when)).unwrap_or(rest);
                }
            } else if c.is_numeric() {
                let behind = without_number(rest);
                sum.add_number(&rest[..rest.len() - behind.len()]);
                rest = behind;
            } else if c.is_alphanumeric() {
                return false;
            } else {
                rest = &rest[c.len_utf8()..];
            }
        }
        *self = sum;
        true
    }
}

/// `text` without the number that it begins with, its parts of a date or a clock, and its unit.
fn without_number(text: &str) -> &str {
    let is_part = |c: char| c.is_numeric() || "年月日时分秒万千k+%.,:-/".contains(c);
    let rest = text.trim_start_matches(is_part);
    // The `t` and the `z` of RFC 3339, and `09h12`.
    let of_time = |c: char| matches!(c, 't' | 'z' | 'h');
    match rest.strip_prefix(of_time) {
        Some(behind) if behind.starts_with(char::is_numeric) => without_number(behind),
        Some(behind) if !behind.starts_with(char::is_alphanumeric) => behind,
        _ => rest,
    }
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stays,
    Goes,
    /// It stays with bars around it, without a label of so many bytes.
    Barred(usize),
}

/// The lines of a text, and what becomes of them.
struct Page<'t> {
    lines: Vec<&'t str>,
    fates: Vec<Fate>,
    /// The letters of all titles of other pages.
    titles: u32,
}

impl<'t> Page<'t> {
    fn left(&self) -> impl Iterator<Item = &'t str> {
        let lines = self.lines.iter().zip(&self.fates);
        lines.filter(|(_, fate)| **fate != Fate::Goes).map(|(line, _)| *line)
    }

    /// The text without the lines that go. A text that begins with a bar would be a table.
    fn text(&self) -> String {
        let mut text = String::new();
        let left = self.lines.iter().zip(&self.fates).filter(|(_, fate)| **fate != Fate::Goes);
        for (number, (line, fate)) in left.enumerate() {
            if number > 0 {
                text.push('\n');
            }
            match fate {
                Fate::Barred(label) => {
                    let bar = if number == 0 { "" } else { "| " };
                    text.extend([bar, line[*label..].trim(), " |"]);
                }
                _ => text.push_str(line),
            }
        }
        text
    }
}

/// Lines that may be titles below a heading, from the last one up.
struct List {
    titles: Vec<usize>,
    /// Only furniture is below them.
    is_foot: bool,
}

/// Whether a line may be the title of another page.
fn is_title(line: &str, normal: &str) -> bool {
    let ends = line.trim_end().ends_with(['。', '.', ';', '；', ':', '：', ',', '，']);
    !ends && (1..=TITLE_LETTERS_MAX).contains(&weight(normal))
}

fn ends_sentence(line: &str) -> bool {
    line.trim_end().ends_with(['。', '！', '？', '.', '!', '?'])
}

/// Finds such lines. Its memory is reused from text to text.
#[derive(Clone, Debug)]
pub struct SiteLines {
    options: normalize::Options,
    normal: String,
}

impl SiteLines {
    /// Lines are compared with the list in the normal form of `options`.
    pub fn new(options: &normalize::Options) -> SiteLines {
        SiteLines { options: options.clone(), normal: String::new() }
    }

    /// Removes the lines of `text` that are furniture. Returns the number of removed lines.
    ///
    /// ```
    /// use workers::text::{normalize::Options, site_lines::SiteLines};
    ///
    /// let article = "The ferry will run to a winter timetable from Monday, with two sailings \
    ///     a day instead of five, and there will be no service on Christmas Day.";
    /// let mut text = format!("Home | News | Sign in\n{article}\n12 comments. Leave a reply");
    /// assert_eq!(SiteLines::new(&Options::default()).take_off(&mut text), 2);
    /// assert_eq!(text, article);
    /// ```
    pub fn take_off(&mut self, text: &mut String) -> usize {
        if !text.contains('\n') {
            return 0;
        }
        let lines: Vec<&str> = text.lines().collect();
        let mut page = Page { fates: vec![Fate::Stays; lines.len()], lines, titles: 0 };
        self.find_furniture(&mut page);
        self.find_head(&mut page);
        if page.fates.iter().all(|fate| *fate == Fate::Stays) || !self.is_enough_left(&page) {
            return 0;
        }
        let taken = page.fates.iter().filter(|fate| **fate == Fate::Goes).count();
        *text = page.text();
        taken
    }

    /// Finds the lines that are furniture in any place or at the foot, from the last line up, to
    /// know what is below a line.
    fn find_furniture(&mut self, page: &mut Page<'_>) {
        let (mut is_foot, mut list) = (true, Some(List { titles: Vec::new(), is_foot: true }));
        for at in (0..page.lines.len()).rev() {
            let line = page.lines[at];
            if line.trim().is_empty() {
                list = Some(List { titles: Vec::new(), is_foot });
                continue;
            }
            let titles = list.as_ref().filter(|list| list.titles.len() >= TITLES_MIN);
            if let Some(List { titles, is_foot: was_foot }) = titles
                && self.tells(line, |_, normal| edge_lines::is_heading(normal))
            {
                for title in titles {
                    page.fates[*title] = Fate::Goes;
                    page.titles += self.tells(page.lines[*title], |_, normal| weight(normal));
                }
                is_foot = *was_foot;
            } else if !(self.is_furniture(line, is_foot)
                || is_foot && self.is_of_site(&page.lines[..=at]))
            {
                is_foot = false;
                let is_title = list.is_some() && self.tells(line, is_title);
                list = list.filter(|list| is_title && list.titles.len() < TITLES_MAX);
                list.iter_mut().for_each(|list| list.titles.push(at));
                continue;
            }
            page.fates[at] = Fate::Goes;
            list = Some(List { titles: Vec::new(), is_foot });
        }
    }

    /// Whether the last of `lines`, below which only furniture stands, is of the site: only such
    /// lines part it from the text.
    fn is_of_site(&mut self, lines: &[&str]) -> bool {
        let near = lines.iter().rev().filter(|line| !line.trim().is_empty());
        for (line, above) in near.take(EDGE_LINES_MAX).enumerate() {
            if line > 0 && self.is_body(above) {
                return true;
            }
            if !self.tells(above, edge_lines::is_of_site)
                && (line == 0 || !self.is_furniture(above, true))
            {
                return false;
            }
        }
        false
    }

    /// Finds the lines between the headline and the text, or in front of it, that are credits, and
    /// puts bars around those that are dates: the normal form has no lines, so that a date would
    /// look like a part of the first sentence.
    fn find_head(&mut self, page: &mut Page<'_>) {
        let is_left =
            |at: &usize| page.fates[*at] == Fate::Stays && !page.lines[*at].trim().is_empty();
        let left: Vec<usize> =
            (0..page.lines.len()).filter(is_left).take(EDGE_LINES_MAX + 1).collect();
        let (mut above, mut found, mut has_headline) = (0, Vec::new(), false);
        for at in left {
            let line = page.lines[at];
            if let Some(fate) = self.fate_in_head(line, at == 0) {
                found.push((at, fate));
            } else if found.is_empty() {
                above += self.tells(line, |_, normal| weight(normal));
                if above > ABOVE_LETTERS_MAX || self.is_body(line) && ends_sentence(line) {
                    return;
                }
            } else if self.is_body(line) {
                // A short text may be about the date above it.
                let has_date = found.iter().any(|(_, fate)| *fate != Fate::Goes);
                let least = if has_date { DATED_LETTERS_MIN } else { LEFT_LETTERS_MIN };
                if self.has_letters(&page.lines[at..], least) {
                    found.into_iter().for_each(|(at, fate)| page.fates[at] = fate);
                }
                return;
            } else {
                // Credits, and a date in the first line, may stand above the headline.
                let may_be = |(at, fate): &(usize, Fate)| *at == 0 || *fate == Fate::Goes;
                let is_above = above == 0 && found.iter().all(may_be);
                if has_headline || !is_above {
                    return;
                }
                has_headline = true;
            }
        }
    }

    /// What becomes of a line of the head of a page, if it is no headline.
    fn fate_in_head(&mut self, line: &str, is_first: bool) -> Option<Fate> {
        self.tells(line, |line, normal| {
            let label = || is_first.then(|| edge_lines::label_of_date(line, normal)).flatten();
            match edge_lines::is_date(normal) {
                true => Some(Fate::Barred(0)),
                false if edge_lines::is_credit(line, normal) => Some(Fate::Goes),
                false => label().map(Fate::Barred),
            }
        })
    }

    /// What `tell` says of a line and its normal form; the default for a line that is too long.
    fn tells<T: Default>(&mut self, line: &str, tell: impl Fn(&str, &str) -> T) -> T {
        if line.len() > LINE_BYTES_MAX {
            return T::default();
        }
        normalize(line, &self.options, &mut self.normal);
        tell(line, &self.normal)
    }

    /// Whether a line is part of the text and no headline: it is long, or ends a sentence.
    fn is_body(&mut self, line: &str) -> bool {
        line.len() > LINE_BYTES_MAX
            || self.tells(line, |line, normal| {
                let letters = weight(normal);
                letters >= BODY_LINE_LETTERS
                    || letters >= LEFT_OF_SENTENCE_MIN && ends_sentence(line)
            })
    }

    /// Whether `lines` have so many letters.
    fn has_letters(&mut self, lines: &[&str], least: u32) -> bool {
        let mut letters = 0;
        lines.iter().any(|line| {
            letters += match line.len() > LINE_BYTES_MAX {
                true => least,
                false => self.tells(line, |_, normal| weight(normal)),
            };
            letters >= least
        })
    }

    /// Whether the lines that stay say something of their own, and more than the titles that go.
    fn is_enough_left(&mut self, page: &Page<'_>) -> bool {
        let (mut letters, mut least) = (0, LEFT_LETTERS_MIN);
        page.left().any(|line| {
            normalize(line, &self.options, &mut self.normal);
            letters += weight(&self.normal);
            if ends_sentence(line) {
                least = LEFT_OF_SENTENCE_MIN;
            }
            letters >= least.max(page.titles)
        })
    }

    /// A cheap test that most lines of articles do not pass: a line of furniture begins with a word
    /// of the list or with a number, or has the record of a site, or is at the foot.
    fn may_be_furniture(&mut self, line: &str, is_foot: bool) -> bool {
        let has_record = || line.contains('备') || line.contains('備');
        if is_foot || !line.is_ascii() && has_record() {
            return true;
        }
        let Some(begin) = line.find(char::is_alphanumeric) else { return false };
        let text = &line[begin..];
        let first = text.chars().next().unwrap_or_default();
        if first.is_numeric() {
            return true;
        }
        let word = first_word(text);
        if !word.is_empty() {
            let mut lower = [0; WORD_BYTES_MAX];
            let Some(lower) = lower.get_mut(..word.len()) else { return false };
            lower.copy_from_slice(word.as_bytes());
            lower.make_ascii_lowercase();
            let lower = str::from_utf8(lower).unwrap_or_default();
            return phrases().first_words.contains(lower);
        }
        normalize(&text[..first.len_utf8()], &self.options, &mut self.normal);
        self.normal.chars().next().is_some_and(|c| phrases().by_first.contains_key(&c))
    }

    /// Whether `line` is furniture, which is at the foot of the page if only such lines are below.
    fn is_furniture(&mut self, line: &str, is_foot: bool) -> bool {
        if line.len() > LINE_BYTES_MAX || !self.may_be_furniture(line, is_foot) {
            return false;
        }
        normalize(line, &self.options, &mut self.normal);
        if weight(&self.normal) == 0 {
            return false;
        }
        if is_known_whole(&self.normal, is_foot) || is_page_of(&self.normal) {
            return true;
        }
        let mut sum = Sum::default();
        for item in items(line) {
            normalize(item, &self.options, &mut self.normal);
            if !sum.add(&self.normal) {
                return false;
            }
        }
        sum.is_furniture()
    }
}

/// Whether a line in normal form begins with a phrase, or has one, beside which any words may
/// stand; or is a credit in brackets, such as `(记者 陈默)`.
fn is_known_whole(line: &str, is_foot: bool) -> bool {
    let text = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let begins = phrase_at(text, |says| says == Says::Begins).is_some();
    let is_brief = phrase_at(text, |says| says == Says::Brief)
        .is_some_and(|(phrase, says)| says.may_have(&text[phrase.len()..]));
    let has_record = |phrase: &&str| {
        line.match_indices(phrase).any(|(at, _)| {
            let behind = line[at + phrase.len()..].trim_start_matches(BEFORE_NUMBER);
            behind.starts_with(|c: char| c.is_ascii_digit())
        })
    };
    begins
        || is_brief
        || is_credit(line)
        || phrases().of_records.iter().any(has_record)
        || is_foot && is_copyright(line)
}

/// Words for what has a number among others.
const NUMBERED: [&str; 6] = ["page", "photo", "image", "slide", "picture", "seite"];

/// Whether a line in normal form is the number of a page or a picture among all: `page 2 of 3`.
fn is_page_of(line: &str) -> bool {
    let mut words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let is_numbered = words.next().is_some_and(|word| NUMBERED.contains(&word));
    let mut rest = words.filter(|word| !matches!(*word, "of" | "von" | "sur" | "de"));
    let mut is_number =
        || rest.next().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
    is_numbered && is_number() && is_number() && rest.next().is_none()
}

/// Whether a line in normal form is the copyright of a site: a sentence of it has such a phrase and
/// few other words, and each other sentence has, too, or consists of words of the list. A paragraph
/// about a copyright says more.
fn is_copyright(line: &str) -> bool {
    let mut is_marked = false;
    let sentences = line.split(['。', ';', '!', '?']).flat_map(|part| part.split(". "));
    let is_of_site = |sentence: &str| {
        let sentence = sentence.trim_matches(|c: char| !c.is_alphanumeric() && c != '©');
        let mark = phrases().of_copyright.iter().find(|phrase| has_apart(sentence, phrase));
        is_marked |= mark.is_some();
        let at_end = mark
            .is_some_and(|mark| sentence.starts_with(mark) || sentence.ends_with(mark))
            || sentence.starts_with("copyright");
        let letters_max = match (at_end, mark) {
            (true, _) => TITLE_LETTERS_MAX,
            (false, Some(_)) => VALUE_LETTERS_MAX,
            (false, None) => 0,
        };
        weight(sentence) <= letters_max || Sum::default().add_words(sentence)
    };
    sentences.into_iter().all(is_of_site) && is_marked
}

/// Whether `text` has `phrase` at an end, or before a mark or a space. `版权所有者` is a word that
/// begins with a phrase.
fn has_apart(text: &str, phrase: &str) -> bool {
    text.starts_with(phrase)
        || text.match_indices(phrase).any(|(at, _)| {
            let behind = &text[at + phrase.len()..];
            phrase == "©" || !behind.starts_with(char::is_alphanumeric)
        })
}

/// Whether a line in normal form is a label and names in brackets.
fn is_credit(line: &str) -> bool {
    let pairs = [('(', ')'), ('[', ']'), ('【', '】')];
    let inner = pairs.iter().find_map(|(open, close)| {
        line.trim().strip_prefix(*open).and_then(|line| line.strip_suffix(*close))
    });
    inner.is_some_and(|inner| {
        phrase_at(inner, |says| matches!(says, Says::Label | Says::Byline))
            .is_some_and(|(label, _)| inner[label.len()..].starts_with(' '))
            && weight(inner) <= VALUE_LETTERS_MAX
    })
}

/// The items of a line, which has them apart by bars, arrows, tabs, and two spaces. The normal form
/// has no two spaces, so a line is cut before.
fn items(line: &str) -> impl Iterator<Item = &str> {
    let marks = ['|', '·', '•', '»', '>', '\t', '\u{3000}'];
    line.split(marks).flat_map(|part| part.split("  ")).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::lists::lines;
    use std::collections::BTreeSet;

    /// Whether `line` is furniture, at the foot of a page at the latest.
    fn is_furniture(line: &str) -> bool {
        let mut lines = SiteLines::new(&normalize::Options::default());
        let [above, at_foot] = [false, true].map(|is_foot| lines.is_furniture(line, is_foot));
        assert!(above == at_foot || line.contains(['©', '权']), "{line}: the cheap test is wrong");
        at_foot
    }

    /// What sites put around articles.
    #[test]
    fn lines_of_sites() {
        for line in [
            "首页 > 新闻中心 > 正文",
            "首頁　論壇　登錄 | 註冊",
            "要闻 | 视频 | 财经 | 体育 | 房产",
            "2019-04-14 23:11　点击 1020",
            "2019年4月14日 来源：晚报　作者：佚名　点击：88",
            "上一页 [1] [2] [3] 下一页 尾页",
            "跳转到第 页",
            "分享到：QQ空间 新浪微博 微信",
            "相关阅读：一周回顾 | 热点专题",
            "您是第 2584 位访客",
            "已有 12 条评论，点击查看",
            "【责任编辑：T006935】",
            "责任编辑：李想　校对：方圆",
            "（记者 陈默 通讯员 何苗）",
            "（图片来源：视觉图库）",
            "技术支持：云帆网络",
            "Copyright © 2012-2021 备案号：湘ICP备1244号",
            "网站备案/许可证号：湘ICP备案证第1244号-1",
            "湘公网安备 43010202000078号",
            "版权与免责声明：转载本文请注明来源，文中观点不代表本网立场。",
            "特别声明：以上内容(如有图片或视频亦包括在内)为自媒体平台“云号”用户上传并发布，本平台仅提供\
             信息存储服务。 Notice: The content above (including the pictures and videos if any) is \
             uploaded and posted by a user of Cloud, a social media platform, which only stores it.",
            "“特别声明：以上作品由用户上传，不代表本站。”",
            "返回搜狐，查看更多",
            "平台声明：该文观点仅代表作者本人。",
            "转载请注明出处：云帆网",
            "本文仅代表作者观点，不代表本站立场。",
            "Views expressed in this article are those of the author alone.",
            "今天是星期二　农历八月初三　多云 21℃",
            "举报 收藏 点赞(9417)",
            "Skip to main content",
            "Privacy  Terms  Contact",
            "Posted on 2020-07-22 by admin | 7280 views",
            "2020-07-25T12:47:00Z | 3,211 views",
            "8000 comments. Leave a reply",
            "Was this helpful? Yes (9973) No (3)",
            "Sign up to our weekly newsletter",
            "We use cookies to improve your experience. By browsing on you accept our policy.",
            "扫描二维码，关注云帆网公众号",
            "版权所有：云帆网 未经授权不得转载",
            "Copyright © 2012 The Harbour Trust Ltd. All rights reserved. Privacy policy",
            "Last updated: 2 hours ago",
            "Previous article | Next article",
            "You are here: Home / Archive / 2020",
            "© 2020 The Island News",
            "입력 2022.07.14 오전 10:21 | 수정 2022.07.14 오후 1:05",
            "목록 | 이전글 | 다음글",
            "前の記事 | 次の記事 | トップページ",
            "Startseite | Impressum | Datenschutz",
            "Главная | Новости | Контакты | Войти",
            "Просмотров: 96 | Комментариев: 1",
            "作者：健康小助手 时间：2020-03-01",
            "作者：健康小助手 2020-03-01 18:32",
            "加入购物车 立即购买",
            "风险提示：股市有风险，投资需谨慎。以上内容不构成投资建议。",
        ] {
            assert!(is_furniture(line), "{line}");
        }
    }

    /// Counters, reading times and the labels of dates were whole phrases of the list, so that most
    /// wordings were none: they are told by their parts.
    #[test]
    fn counters_and_labels_have_parts() {
        for line in [
            "本文共有31682人读过",
            "63287人正在看",
            "👁 58336",
            "❤ 1196  🔁 170",
            "热度 34037℃",
            "本帖被浏览91331次，回帖35条",
            "围观人数：14606",
            "共 26 条回帖",
            "433 人喜欢",
            "PV：22450　UV：251",
            "18个回答 · 85491次浏览",
            "阅 13582 赞 553 藏 11",
            "本日访问 896 总访问 52273",
            "入库时间：2024年5月15日",
            "采集于 2023-05-09",
            "最近更新：2022-01-25",
            "写于2022年1月25日",
            "贴出时间 2024-06-01 16:38",
            "本页更新 2021.01.17",
            "今天 11:02",
            "最后回复 18:50",
            "(11:02 发自网页版)",
            "00:26 来自微博网页版",
            "First published on March 14, 2024",
            "This story was updated on 2 August 2023",
            "This page was last edited on 2023-08-02",
            "Updated at 4:56 PM on 14 March 2024",
            "Posted at 4.56pm",
            "Updated 9:12 a.m. ET",
            "Updated 3 hours ago · 24 comments",
            "Read 12 times",
            "Shared 12 times",
            "12 people like this",
            "Saved by 12 people",
            "Join the conversation (361)",
            "Estimated reading time: 3 minutes",
            "Time to read: 3 min",
            "Read in 3 minutes",
            "Visitors today: 12",
            "Page 2 of 3",
            "Lesezeit: 2 Minuten",
            "Temps de lecture : 2 min",
            "Tiempo de lectura: 2 minutos",
            "Время чтения: 2 мин",
            "この記事は2分で読めます",
            "읽는 시간 2분",
            "Thời gian đọc: 2 phút",
            "مدة القراءة: 4 دقائق",
            "コメント12件",
            "댓글 12개",
            "12 تعليقا",
            "Publié le 14/03/2024 à 09h12",
            "Actualizado el 14 de marzo de 2024 a las 17:40",
            "آخر تحديث: 14 مارس 2024 الساعة 17:40",
            "更新：2024年3月14日 17時40分",
            "수정 2024.03.14. 17:40",
        ] {
            assert!(is_furniture(line), "{line}");
        }
        for line in [
            "报名人数：500",
            "最高气温 30℃",
            "投稿截止日期：2024年5月15日",
            "投稿时间：3月5日至4月1日",
            "收藏3000册图书",
            "开庭时间：2024-03-05",
            "集合 08:30",
            "更新 3 个品种",
            "整理 12 箱",
            "整理时间",
            "比分 3:1",
            "今天 3:1 获胜",
            "第26期",
            "Issued 14 March 2024",
            "As of 4:56 PM",
            "Score: 12",
            "Rank: 12",
            "Issue 12",
            "Article ID: 12",
            "Rovers 14 points",
            "Join the discussion at 7 pm",
            "Join the discussion on 5 March",
            "Sign up by 5 March",
            "Sign in to the account",
            "Comments 3 to 5 were struck",
            "Save the email to print",
            "Read by 12 March",
            "8 March 2024",
            "Page 2 of the letter",
        ] {
            assert!(!is_furniture(line), "{line}");
        }
    }

    fn without_lines_of_site(page: &str) -> String {
        let mut text = page.to_owned();
        SiteLines::new(&normalize::Options::default()).take_off(&mut text);
        text
    }

    const ARTICLE: &str = "A lorry carrying frozen fish overturned on the road near Eastmere early \
        on Friday. Nobody was hurt, and the road reopened shortly after noon. Until then drivers \
        had to wait for up to an hour.";

    /// Two copies of an article were refused if each has its date, or its author and its date, in
    /// lines between the headline and the text: without lines the date is a part of the sentence.
    #[test]
    fn dates_in_the_head_get_bars() {
        let page = |head: &str| without_lines_of_site(&format!("{head}\n{ARTICLE}"));
        assert_eq!(
            page("Fish lorry blocks road\nBy Anna Holt\n8 March 2024"),
            format!("Fish lorry blocks road\n| 8 March 2024 |\n{ARTICLE}")
        );
        assert_eq!(page("By Anna Holt\nFish lorry"), format!("Fish lorry\n{ARTICLE}"));
        assert_eq!(page("2024-03-08 10:30"), format!("2024-03-08 10:30 |\n{ARTICLE}"));
        assert_eq!(
            page("Date: 8 March 2024\n\nFish lorry"),
            format!("8 March 2024 |\n\nFish lorry\n{ARTICLE}")
        );
        assert_eq!(page("Date: 8 March 2024"), format!("8 March 2024 |\n{ARTICLE}"));
        for head in [
            "Fish lorry blocks road\n8 March 2024\nEastmere",
            "Exam\n18:00",
            "Exam\nDate: 8 March 2024",
            "It was cold.\n\n8 March 2024\nEnd",
        ] {
            assert_eq!(page(head), format!("{head}\n{ARTICLE}"));
        }
        for page in [
            "Yoga class\n8 March 2024\nBring a mat. The hall is warm.",
            "| 8 March 2024 |\n| 9 March 2024 |",
            "Anna Holt\n8 March 2024\nBen Price\n9 March 2024\nClara Meyer\n10 March 2024",
        ] {
            assert_eq!(without_lines_of_site(page), page);
        }
        let diary = format!("{ARTICLE}\n9 March 2024\n{ARTICLE}");
        assert_eq!(without_lines_of_site(&diary), diary);
    }

    /// The titles of other pages below a heading were left when the heading was removed. In a short
    /// text they are more than a fifth.
    #[test]
    fn headings_take_their_titles() {
        let titles = "Tram line to open in May\nWeekend weather: rain from the west";
        let page = format!("{ARTICLE}\nRelated articles\n{titles}\n\n12 comments");
        assert_eq!(without_lines_of_site(&page), format!("{ARTICLE}\n"));
        for page in [
            format!("{ARTICLE}\nRelated work\n{titles}"),
            // A sentence goes on below.
            format!("{ARTICLE}\nRelated articles\n{titles}\n{ARTICLE}"),
            // The links are the content.
            format!("Where to read more.\n\nRelated\n{titles}\n{titles}"),
        ] {
            let left = without_lines_of_site(&page);
            assert!(left.contains(titles), "{left}");
        }
    }

    /// Below the text stand another source, another price and other devices on each site. A list
    /// that ends so keeps its last lines.
    #[test]
    fn lines_below_the_text() {
        let below = "Source: Reuters\nSubscribe for $1 a week\nSent from my iPhone";
        assert_eq!(without_lines_of_site(&format!("{ARTICLE}\n{below}")), ARTICLE);
        let cast = "导演：蒋海燕\n主演：周一帆\n翻译：王立";
        let page = format!("{ARTICLE}\n{cast}");
        assert_eq!(without_lines_of_site(&page), page);
        let prices = format!("{ARTICLE}\nA month: 9 euros\nTry 3 months for 3 euros");
        assert_eq!(without_lines_of_site(&prices), prices);
        let inside = format!("{ARTICLE}\nTry 3 months for 3 euros\n{ARTICLE}");
        assert_eq!(without_lines_of_site(&inside), inside);
    }

    /// A line with any other word stays, and so do words and dates that are what a page is about.
    /// Paragraphs about `ICP备案` vanished: only a number makes such a word a record.
    #[test]
    fn lines_of_articles() {
        for line in [
            "",
            "***",
            "2019-04-14 23:11",
            "南溪大桥即将维修",
            "首页改版以后更好用了",
            "教育",
            "大 中",
            "Home",
            "Search",
            "x",
            "12",
            "Yes No Yes Yes No Yes",
            "x x x x x x",
            "阅读",
            "点击",
            "时间：3月5日上午",
            "地点：石桥镇",
            "作者：李白",
            "日期：2024-10-05",
            "日期：3月5日 时间：14:00",
            "来源：央视新闻今晚的消息说，台风将于明天登陆，请各地居民做好准备，不要外出，关好门窗，储备食物",
            "联系我们 0571-12345",
            "Contact us: 555-0100",
            "记者：谈谈您的童年",
            "举报电话：0571-12345",
            "企业网站应当依法办理ICP备案手续",
            "公安部门要求网站在三十日内完成公网安备登记",
            "什么是ICP备案？",
            "特别声明：近日有人冒充本公司员工，请勿受骗",
            "声明：我们从未委托他人招聘",
            "转载这篇文章的人都没有注明出处",
            "The views from the tower are worth the climb",
            "image: nginx:1.25",
            "новостройка 12",
            "댓글은 12",
            "author: smith",
            "shares 5,000",
            "Sign in with the key of your account",
            "今天是星期六，爸爸带我去南山植物园看樱花",
            "您是第三代守林人？",
            "We use cookies as a treat for the dogs, one each, and never before the walk",
            "The film is © 2003 by the studio, which sold it to Northwind for 40 million dollars",
            "该书版权所有者为张三，一审判决出售有效。",
            "未经许可，任何单位和个人不得在河道内采砂。",
            "Copyright 2001 by the authors. The vote was 7 to 3. All rights reserved.",
            "Copyright 1999 The Harbour. All rights reserved. Permission to copy it is denied.",
            "Next page describes the valves",
            "the viewer read more than 12 comments",
            "Last updated: the towers of the old town and the walls that the guild built in stone",
        ] {
            assert!(!is_furniture(line), "{line}");
        }
    }

    /// A page of nothing but such lines, or of little more, stays as it is.
    #[test]
    fn little_is_left_as_it_is() {
        let mut lines = SiteLines::new(&normalize::Options::default());
        let mut text = "首页 | 登录 | 注册\n404 not found\n返回首页".to_owned();
        let before = text.clone();
        assert_eq!(lines.take_off(&mut text), 0);
        assert_eq!(text, before);
        let article = "桥修好了。".repeat(10);
        let mut text = format!("首页 | 登录 | 注册\n{article}\r\n\n{article}\n返回首页");
        assert_eq!(lines.take_off(&mut text), 2);
        assert_eq!(text, format!("{article}\n\n{article}"));
    }

    /// A line of copyright above a text is part of a licence. At the foot of a page it is the
    /// site's.
    #[test]
    fn copyright_is_of_the_site_at_the_foot() {
        let mut lines = SiteLines::new(&normalize::Options::default());
        let line = "Copyright (c) 1998 The Harbour. All rights reserved.";
        let terms = "Redistribution and use in any form are permitted. ".repeat(12);
        let mut licence = format!("{line}\n{terms}");
        assert_eq!(lines.take_off(&mut licence), 0);
        let mut page = format!("{terms}\n{line}\n\nSitemap | Contact us\n");
        assert_eq!(lines.take_off(&mut page), 2);
        assert_eq!(page, format!("{terms}\n"));
    }

    /// The list is in normal form, each line has a known kind, and no phrase is in two kinds of
    /// which a line may consist.
    #[test]
    fn the_list_is_well_formed() {
        let options = normalize::Options::default();
        for line in lines(LIST) {
            let (name, _) = line.split_once(' ').expect("a kind");
            assert!(Says::ALL.iter().any(|(known, _)| *known == name), "{line}");
            assert!(line.chars().count() <= 130, "{line}");
        }
        let mut normal = String::new();
        let mut words = BTreeSet::new();
        for (phrase, says) in listed() {
            normalize(phrase, &options, &mut normal);
            assert_eq!(normal, phrase);
            assert!(!says.is_word() || words.insert(phrase), "{phrase} twice");
            assert!(first_word(phrase).len() <= WORD_BYTES_MAX, "{phrase}");
        }
    }
}
