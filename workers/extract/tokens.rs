//! Splits a page into text runs, breaks and the tags that form blocks, in one pass.
//!
//! Follows the tokenizer of the HTML Living Standard (section 13.2.5), reduced to what text needs:
//! comments, doctypes, inline tags and skipped elements are left out. Readings, which Japanese and
//! Chinese pages put beside characters (ruby), are left out, too: they repeat the text, and most
//! copies lack them. So is a short invisible text within a line, which forums put into posts, a
//! random one into each copy. We differ in an unclosed comment, which ends here at the next `>`,
//! and in an unclosed reading, which ends with the line: the text after them is worth more than the
//! rule.
//!
//! Nothing is allocated and nothing fails. Every byte visited is counted ([`Tokens::steps`]), and a
//! failed search is remembered, so the work is linear even in a hostile page.

use crate::extract::tags::{Element, Skipped, Tag};
use memchr::{memchr, memchr3, memmem};

/// A part of a page that matters for its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    /// Characters as written: entities not decoded, white space not collapsed.
    Text(&'a [u8]),
    /// The page's title as written.
    Title(&'a [u8]),
    /// A link of the page as a whole; its attributes as written.
    Link(&'a [u8]),
    /// What relative addresses begin with; its attributes as written.
    Base(&'a [u8]),
    /// The end of a line.
    Break,
    /// The start of a time.
    Time,
    /// The start of a link or a named place; its attributes as written.
    Anchor(&'a [u8]),
    /// The end of the innermost anchor.
    AnchorEnd,
    /// The start of a block; its attributes as written.
    Open(Tag, &'a [u8]),
    /// The end of a block.
    Close(Tag),
}

/// The tokens of one page, in order.
#[derive(Debug)]
pub struct Tokens<'a> {
    page: &'a [u8],
    at: usize,
    steps: u64,
    /// There is no `-->` from here on.
    no_comment_end: bool,
    /// The skipped elements, by bit, without an end tag from here on.
    unclosed: u32,
    /// Whether an `rt` or `rp` is open, and whether an `rtc` is.
    reading: bool,
    readings: bool,
}

impl<'a> Tokens<'a> {
    /// The tokens of `page`.
    pub fn of(page: &'a [u8]) -> Tokens<'a> {
        Tokens {
            page,
            at: 0,
            steps: 0,
            no_comment_end: false,
            unclosed: 0,
            reading: false,
            readings: false,
        }
    }

    /// Bytes visited so far; a byte visited twice counts twice.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The first place of `byte` at or after `from`.
    fn find(&mut self, from: usize, byte: u8) -> Option<usize> {
        let found = memchr(byte, &self.page[from.min(self.page.len())..]);
        self.steps += found.unwrap_or(self.page.len().saturating_sub(from)) as u64 + 1;
        found.map(|distance| from + distance)
    }

    /// The end of the first `needle` at or after `from`.
    fn find_behind(&mut self, from: usize, needle: &[u8]) -> Option<usize> {
        let found = memmem::find(&self.page[from.min(self.page.len())..], needle);
        self.steps += found.unwrap_or(self.page.len().saturating_sub(from)) as u64 + 1;
        found.map(|distance| from + distance + needle.len())
    }

    /// The place after the next `>`, or the end of the page.
    fn behind_angle(&mut self, from: usize) -> usize {
        self.find(from, b'>').map_or(self.page.len(), |at| at + 1)
    }

    /// The `>` that ends the tag whose attributes begin at `from`, or the end of the page. A quote
    /// hides it only at the start of a value, that is after `=`.
    fn tag_end(&mut self, from: usize) -> usize {
        let page = self.page;
        let mut at = from;
        loop {
            let Some(distance) = memchr3(b'>', b'"', b'\'', &page[at..]) else {
                self.steps += (page.len() - at) as u64;
                return page.len();
            };
            self.steps += distance as u64 + 1;
            at += distance;
            let quote = page[at];
            if quote == b'>' {
                return at;
            }
            let before = page[from..at].iter().rposition(|byte| !byte.is_ascii_whitespace());
            self.steps += (at - from - before.unwrap_or(0)) as u64;
            at += 1;
            if before.is_some_and(|before| page[from + before] == b'=') {
                match self.find(at, quote) {
                    Some(close) => at = close + 1,
                    None => return self.find(at, b'>').unwrap_or(page.len()),
                }
            }
        }
    }

    /// For the element `skipped` whose content begins at `from`: where the content ends, and where
    /// the page goes on after its end tag.
    fn skip(&mut self, from: usize, skipped: Skipped, name: &[u8]) -> (usize, usize) {
        let bit = 1 << skipped as u32;
        let mut at = from;
        while self.unclosed & bit == 0 {
            match self.find_behind(at, b"</") {
                None => self.unclosed |= bit,
                Some(behind) => {
                    let written = self.page[behind..].get(..name.len());
                    if written.is_some_and(|written| written.eq_ignore_ascii_case(name)) {
                        return (behind - 2, self.behind_angle(behind));
                    }
                    at = behind;
                }
            }
        }
        let end = if skipped.runs_to_page_end() { self.page.len() } else { from };
        (end, end)
    }

    /// Where the page goes on after the start tag of `name`, which ends at `from`, if that is
    /// invisible: behind its text, if this is short and all that the element has. A script may show
    /// a longer text.
    fn behind_invisible(&mut self, from: usize, name: &[u8], attributes: &[u8]) -> usize {
        const TEXT_BYTES_MAX: usize = 96;
        const WRAPPERS: [&[u8]; 8] =
            [b"span", b"font", b"i", b"b", b"em", b"strong", b"label", b"small"];
        let is_name = |known: &&[u8]| known.eq_ignore_ascii_case(name);
        if attributes.is_empty() || !WRAPPERS.iter().any(is_name) {
            return from;
        }
        self.steps += attributes.len() as u64;
        if !is_invisible(attributes) {
            return from;
        }
        let page = self.page;
        let rest = &page[from..];
        let text = memchr(b'<', &rest[..rest.len().min(TEXT_BYTES_MAX + 1)]);
        self.steps += text.unwrap_or(0) as u64;
        let ends = |text: &usize| {
            let tag = rest[*text..].strip_prefix(b"</").unwrap_or_default();
            tag.get(..name.len()).is_some_and(|end| end.eq_ignore_ascii_case(name))
                && !tag.get(name.len()).is_some_and(|byte| self::is_name(*byte))
        };
        text.filter(ends).map_or(from, |text| from + text)
    }

    /// Where the page goes on after the comment, doctype or instruction that begins at `from` with
    /// `<!` or `<?`.
    fn behind_markup(&mut self, from: usize) -> usize {
        if self.page[from..].starts_with(b"<!--") && !self.no_comment_end {
            // `<!-->` and `<!--->` are whole comments, hence 2 and not 4.
            match self.find_behind(from + 2, b"-->") {
                Some(behind) => return behind,
                None => self.no_comment_end = true,
            }
        }
        self.behind_angle(from)
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        let page = self.page;
        while self.at < page.len() {
            let start = self.at;
            if page[start] != b'<' {
                self.at = self.find(start, b'<').unwrap_or(page.len());
                if self.reading || self.readings {
                    continue;
                }
                return Some(Token::Text(&page[start..self.at]));
            }
            self.steps += 1;
            let second = page.get(start + 1).copied().unwrap_or(0);
            if second == b'!' || second == b'?' {
                self.at = self.behind_markup(start);
                continue;
            }
            let closes = second == b'/';
            let name_start = start + 1 + usize::from(closes);
            let name_bytes = page[name_start.min(page.len())..]
                .iter()
                .take_while(|byte| is_name(**byte))
                .count();
            if name_bytes == 0 || !page[name_start].is_ascii_alphabetic() {
                self.at = start + 1;
                if self.reading || self.readings {
                    continue;
                }
                return Some(Token::Text(&page[start..self.at]));
            }
            let name = &page[name_start..name_start + name_bytes];
            self.steps += name_bytes as u64;
            let end = self.tag_end(name_start + name_bytes);
            let attributes = &page[name_start + name_bytes..end];
            self.at = (end + 1).min(page.len());
            let element = Element::named(name);
            if matches!(element, Element::Ruby | Element::Block(_) | Element::Break) {
                (self.reading, self.readings) = (false, false);
            }
            match (element, closes) {
                // The end tags of these are optional: each ends where the next begins.
                (Element::Reading, _) => self.reading = !closes,
                (Element::Readings, _) => (self.reading, self.readings) = (false, !closes),
                (Element::Inline, false) => {
                    self.at = self.behind_invisible(self.at, name, attributes);
                }
                (Element::Inline | Element::Ruby, _) => {}
                (Element::Link | Element::Base | Element::Time, true) => {}
                (Element::Time, false) => return Some(Token::Time),
                (Element::Link, false) => return Some(Token::Link(attributes)),
                (Element::Base, false) => return Some(Token::Base(attributes)),
                (Element::Break, _) => return Some(Token::Break),
                (Element::Anchor, false) => return Some(Token::Anchor(attributes)),
                (Element::Anchor, true) => return Some(Token::AnchorEnd),
                (Element::Block(tag), false) => return Some(Token::Open(tag, attributes)),
                (Element::Block(tag), true) => return Some(Token::Close(tag)),
                (Element::Skipped(_), true) => {}
                (Element::Skipped(skipped), false) => {
                    // XHTML closes an empty element in its own tag.
                    if attributes.last() != Some(&b'/') {
                        let content = self.at;
                        let (end, behind) = self.skip(content, skipped, name);
                        self.at = behind;
                        if skipped == Skipped::Title {
                            return Some(Token::Title(&page[content..end]));
                        }
                    }
                }
            }
        }
        None
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b':' || byte == b'_'
}

/// Whether attributes hide an element: by `hidden`, by their style, or by the class that Discuz
/// gives to random text between the lines of a post.
fn is_invisible(attributes: &[u8]) -> bool {
    Attributes::of(attributes).any(|(name, value)| match name.len() {
        5 if name.eq_ignore_ascii_case(b"style") => hides(value),
        5 if name.eq_ignore_ascii_case(b"class") => value == b"jammer",
        6 => name.eq_ignore_ascii_case(b"hidden"),
        _ => false,
    })
}

/// Whether a style hides its element.
pub fn hides(style: &[u8]) -> bool {
    let mut declarations = style.split(|byte| *byte == b';').map(|declaration| {
        let mut sides = declaration.splitn(2, |byte| *byte == b':');
        (
            sides.next().unwrap_or_default().trim_ascii(),
            sides.next().unwrap_or_default().trim_ascii(),
        )
    });
    declarations.any(|(property, value)| {
        let starts = |word: &[u8]| {
            value.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
        };
        property.eq_ignore_ascii_case(b"display") && starts(b"none")
            || property.eq_ignore_ascii_case(b"visibility") && starts(b"hidden")
    })
}

/// The attributes of one tag, as (name, value) as written; a missing value is empty.
#[derive(Clone, Debug)]
pub struct Attributes<'a> {
    rest: &'a [u8],
}

/// Attributes after this many bytes of a tag are not read.
const ATTRIBUTES_BYTES_MAX: usize = 4096;

impl<'a> Attributes<'a> {
    /// Reads what is between the name of a tag and its `>`.
    pub fn of(written: &'a [u8]) -> Attributes<'a> {
        Attributes { rest: &written[..written.len().min(ATTRIBUTES_BYTES_MAX)] }
    }

    fn take(&mut self, bytes: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(bytes.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, pass: impl Fn(u8) -> bool) -> &'a [u8] {
        let bytes = self.rest.iter().position(|byte| !pass(*byte)).unwrap_or(self.rest.len());
        self.take(bytes)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        self.take_while(|byte| byte <= b' ' || byte == b'/' || byte == b'=');
        let name = self.take_while(|byte| byte > b' ' && byte != b'=' && byte != b'/');
        if name.is_empty() {
            return None;
        }
        self.take_while(|byte| byte <= b' ');
        if self.rest.first() != Some(&b'=') {
            return Some((name, b""));
        }
        self.take(1);
        self.take_while(|byte| byte <= b' ');
        let value = match self.rest.first() {
            Some(&quote @ (b'"' | b'\'')) => {
                self.take(1);
                let value = self.take_while(|byte| byte != quote);
                self.take(1);
                value
            }
            _ => self.take_while(|byte| byte > b' '),
        };
        Some((name, value))
    }
}
