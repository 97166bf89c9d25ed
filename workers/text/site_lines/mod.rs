//! Removes from a text the lines that are furniture on any site: navigation, bars of buttons,
//! counters, credits, copyright.
//!
//! A text that comes without markup (WET, a column of a corpus) has what stands around an article
//! in lines of its own. In two copies of a short article these lines may be half of both texts and
//! differ, so that no signature proposes the pair. A line is removed only if a frozen list has all
//! its words, except numbers, marks, and short values behind a label such as `责任编辑:`. A line
//! with any other word stays, and so does a date alone. At the edges of a page the place of a line
//! says more (`edges.rs`): titles of other pages below a heading, credits with names, and what
//! the site asks for go, and a date below the headline gets bars.
//!
//! The list depends on no other page, so the text of a page still depends on the page alone. For
//! lines of a single site see [`crate::text::furniture`].

mod edges;
mod known;
mod phrases;
mod sum;

#[cfg(test)]
mod tests;

use crate::text::letters::weight;
use crate::text::normalize::{self, normalize};
use crate::text::site_lines::edges::HeadLine;
use crate::text::site_lines::known::{is_known_whole, is_page_of};
use crate::text::site_lines::phrases::{TITLE_LETTERS_MAX, WORD_BYTES_MAX, first_word, phrases};
use crate::text::site_lines::sum::Sum;

/// The version of these rules and of the list; part of a store's identity.
pub const VERSION: u32 = 7;

/// A line of more bytes stays. The statement of a site about its authors, in two languages, has
/// about 500.
const LINE_BYTES_MAX: usize = 600;
/// If fewer letters would be left, the text stays as it is: it is a page of nothing but such lines,
/// or an error page, and these lines are all that it says.
const LEFT_LETTERS_MIN: u32 = 40;
/// The same if a line that is left ends a sentence: such a page says something of its own.
const LEFT_OF_SENTENCE_MIN: u32 = 16;
/// Only this many lines at an edge of a page are asked for more than what the list says of them.
const EDGE_LINES_MAX: usize = 8;
/// The most letters of a headline with what stands above and below it.
const ABOVE_LETTERS_MAX: u32 = 100;
/// A line of this many letters is no headline.
const BODY_LINE_LETTERS: u32 = 30;
/// The fewest letters of a text below its date.
const DATED_LETTERS_MIN: u32 = 60;
/// The most letters of lines below a list of titles that no list has, such as the address of a
/// site.
const FOOTER_LETTERS_MAX: u32 = 60;
/// The fewest and the most titles below a heading.
const TITLES_MIN: usize = 2;
const TITLES_MAX: usize = 20;

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Stays,
    Goes,
    /// It stays with bars around it, without a label of this many bytes.
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

/// Whether a line ends as the title of another page may.
fn ends_as_title(line: &str) -> bool {
    !line.trim_end().ends_with(['。', '.', ';', '；', ':', '：', ',', '，'])
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
        // Lines that may be titles below a heading, and the letters of other lines below them.
        let (mut is_foot, mut titles, mut below) = (true, Some(Vec::new()), 0);
        for at in (0..page.lines.len()).rev() {
            let line = page.lines[at];
            let is_blank = line.trim().is_empty();
            let listed = titles.as_deref().unwrap_or_default();
            if !is_blank
                && listed.len() >= TITLES_MIN
                && self.tells(line, |_, normal| edges::is_heading(normal))
            {
                page.titles += self.letters_of(page, listed);
                listed.iter().for_each(|title| page.fates[*title] = Fate::Goes);
                is_foot = below == 0;
                titles = None;
            } else if !(is_blank
                || self.is_furniture(line, is_foot)
                || is_foot && self.is_of_site(&page.lines[..=at]))
            {
                is_foot = false;
                if let Some(listed) = &mut titles
                    && listed.len() < TITLES_MAX
                    && self.is_title(line)
                {
                    listed.push(at);
                } else if below <= FOOTER_LETTERS_MAX {
                    below += self.letters_of(page, &titles.take().unwrap_or_default());
                    below += self.letters_of(page, &[at]);
                }
                continue;
            }
            if !is_blank {
                page.fates[at] = Fate::Goes;
            }
            below += self.letters_of(page, &titles.take().unwrap_or_default());
            titles = (below <= FOOTER_LETTERS_MAX).then(Vec::new);
        }
    }

    /// The letters of the lines at these places.
    fn letters_of(&mut self, page: &Page<'_>, places: &[usize]) -> u32 {
        places.iter().map(|at| self.letters(page.lines[*at])).sum()
    }

    /// The letters of a line; of one that is too long, more than any limit.
    fn letters(&mut self, line: &str) -> u32 {
        match line.len() > LINE_BYTES_MAX {
            true => LINE_BYTES_MAX as u32,
            false => self.tells(line, |_, normal| weight(normal)),
        }
    }

    /// Whether a line may be the title of another page.
    fn is_title(&mut self, line: &str) -> bool {
        // Most paragraphs end with a full stop, and need no normal form.
        ends_as_title(line) && (1..=TITLE_LETTERS_MAX).contains(&self.letters(line))
    }

    /// Whether the last of `lines`, below which only furniture stands, is of the site: only such
    /// lines part it from the text.
    fn is_of_site(&mut self, lines: &[&str]) -> bool {
        let near = lines.iter().rev().filter(|line| !line.trim().is_empty());
        for (line, above) in near.take(EDGE_LINES_MAX).enumerate() {
            if line > 0 && self.is_body(above) {
                return true;
            }
            if !self.tells(above, edges::is_of_site)
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
            let label = || is_first.then(|| edges::label_of_date(line, normal)).flatten();
            match edges::head_line(line, normal) {
                Some(HeadLine::Date) => Some(Fate::Barred(0)),
                Some(HeadLine::Credit) => Some(Fate::Goes),
                None => label().map(Fate::Barred),
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

    /// Whether `lines` have `least` letters.
    fn has_letters(&mut self, lines: &[&str], least: u32) -> bool {
        let mut letters = 0;
        lines.iter().any(|line| {
            letters += self.letters(line);
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

/// The items of a line, which has them apart by bars, arrows, tabs, and two spaces. The normal form
/// has no two spaces, so a line is cut before.
fn items(line: &str) -> impl Iterator<Item = &str> {
    let marks = ['|', '·', '•', '»', '>', '\t', '\u{3000}'];
    line.split(marks).flat_map(|part| part.split("  ")).filter(|item| !item.is_empty())
}
