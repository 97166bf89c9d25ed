//! Builds a flat tree of a page's block elements, with a [`Block`] for each run of text.
//!
//! A [`Node`] stands for one block element, parents before children; attributes are reduced to
//! [`Hints`], and inline elements are left out. Elements below [`DEPTH_MAX`] join their ancestor at
//! that depth, as in browsers.
//!
//! Implied end tags follow the HTML Living Standard, section 13.2.6, where they move text from one
//! block to another. The standard's adoption agency, foster parenting and formatting elements move
//! no text that matters here, so they are left out.

use crate::extract::entities;
use crate::extract::hints::Hints;
use crate::extract::tags::Tag;
use crate::extract::tokens::{Attributes, Token, Tokens};

/// The most elements open at once; deeper ones join their ancestor.
pub const DEPTH_MAX: usize = 400;
/// The most elements of one page.
pub const NODES_MAX: usize = 1 << 20;
/// A longer title is cut, as written.
const TITLE_BYTES_MAX: usize = 1024;

/// A block element.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The index of its parent; the root is its own parent.
    pub parent: u32,
    /// Its name.
    pub tag: Tag,
    /// The hints in its attributes.
    pub hints: Hints,
    /// A number for its classes and ids without digits; 0 if it has none.
    pub shape: u32,
}

/// A run of text between two block tags, in page order.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The innermost element around it.
    pub node: u32,
    /// Its first byte in [`Page::text`].
    pub start: u32,
    /// The byte after its last one.
    pub end: u32,
    /// Bytes that are not white space; a Chinese character counts 3.
    pub bytes: u32,
    /// Bytes of these within links. In headings a link to the page itself does not count.
    pub link_bytes: u32,
    /// Sentence marks.
    pub marks: u32,
    /// Whether it is in a heading.
    pub in_heading: bool,
    /// Whether a part of it is marked as a time.
    pub has_time: bool,
}

/// A page as nodes and blocks.
#[derive(Debug, Default)]
pub struct Page {
    /// The elements, the root first, parents before children.
    pub nodes: Vec<Node>,
    /// The blocks of text.
    pub blocks: Vec<Block>,
    /// The text of the blocks, in UTF-8 as far as the page was.
    pub text: Vec<u8>,
    /// The page's title, which often includes the name of the site.
    pub title: Vec<u8>,
    /// Work done: bytes and nodes visited.
    pub steps: u64,
}

impl Page {
    /// Reads `page`, at most 4 GiB of it. For a page of more than [`NODES_MAX`] elements the error
    /// is the work done.
    pub fn of(page: &[u8]) -> Result<Page, u64> {
        let page = &page[..page.len().min(u32::MAX as usize)];
        let mut builder = Builder::new(page.len());
        let mut tokens = Tokens::of(page);
        while let Some(token) = tokens.next() {
            if builder.page.nodes.len() >= NODES_MAX {
                return Err(builder.page.steps + tokens.steps());
            }
            builder.take(token);
        }
        builder.end_block();
        builder.page.steps += tokens.steps();
        Ok(builder.page)
    }

    /// The text of `block`.
    pub fn text_of(&self, block: &Block) -> &[u8] {
        &self.text[block.start as usize..block.end as usize]
    }
}

/// An element that is still open.
#[derive(Clone, Copy)]
struct OpenElement {
    node: u32,
    tag: Tag,
    /// The place on the stack of the last element of the same tag before this one; 0 if there is
    /// none.
    shadowed: u16,
}

/// A link that is still open.
#[derive(Clone, Copy)]
struct OpenLink {
    /// Where its text begins.
    start: usize,
    /// Whether it leads to a place on this page.
    is_local: bool,
    /// The number of elements open at its start: it ends with the innermost of them, closed or not.
    depth: usize,
}

struct Builder {
    page: Page,
    stack: Vec<OpenElement>,
    /// By tag, the place on the stack of its last open element; 0 if there is none. So every
    /// question about scope is one comparison.
    last: [u16; Tag::COUNT],
    /// Open elements below `DEPTH_MAX`, which are only counted.
    beyond: u64,
    block_start: usize,
    block_link_bytes: u32,
    block_has_time: bool,
    link: Option<OpenLink>,
}

impl Builder {
    fn new(page_bytes: usize) -> Builder {
        let mut page = Page { text: Vec::with_capacity(page_bytes / 4), ..Page::default() };
        page.nodes.push(Node { parent: 0, tag: Tag::Root, hints: Hints::NONE, shape: 0 });
        let root = OpenElement { node: 0, tag: Tag::Root, shadowed: 0 };
        let mut builder = Builder {
            page,
            stack: vec![root],
            last: [0; Tag::COUNT],
            beyond: 0,
            block_start: 0,
            block_link_bytes: 0,
            block_has_time: false,
            link: None,
        };
        // Every page has a body, written or not.
        builder.open(Tag::Body, b"");
        builder
    }

    fn take(&mut self, token: Token<'_>) {
        self.page.steps += 1;
        match token {
            Token::Text(written) => {
                self.page.steps += written.len() as u64;
                let keep_lines = self.is_open(Tag::Preformatted);
                entities::append(&mut self.page.text, written, keep_lines);
            }
            Token::Title(written) if self.page.title.is_empty() => {
                let written = &written[..written.len().min(TITLE_BYTES_MAX)];
                entities::append(&mut self.page.title, written, false);
                self.page.steps += written.len() as u64;
            }
            Token::Title(_) | Token::Link(_) | Token::Base(_) => {}
            Token::Break if self.is_open(Tag::Preformatted) => {
                entities::append_space(&mut self.page.text, b'\n')
            }
            Token::Break => self.end_block(),
            Token::Time => self.block_has_time = true,
            Token::Anchor(attributes) => {
                self.end_link();
                self.begin_link(attributes);
            }
            Token::AnchorEnd => self.end_link(),
            Token::Open(tag, attributes) => {
                self.end_block();
                self.open(tag, attributes);
            }
            Token::Close(tag) => {
                self.end_block();
                self.close(tag);
            }
        }
    }

    fn top(&self) -> OpenElement {
        *self.stack.last().unwrap_or(&OpenElement { node: 0, tag: Tag::Root, shadowed: 0 })
    }

    fn is_open(&self, tag: Tag) -> bool {
        self.last[tag as usize] > 0
    }

    fn begin_link(&mut self, attributes: &[u8]) {
        let href = Attributes::of(attributes).find(|(name, _)| name.eq_ignore_ascii_case(b"href"));
        self.page.steps += attributes.len() as u64;
        self.link = href.map(|(_, value)| OpenLink {
            start: self.page.text.len(),
            is_local: value.first() == Some(&b'#') || value.is_empty(),
            depth: self.stack.len(),
        });
    }

    fn end_link(&mut self) {
        let Some(link) = self.link.take() else { return };
        self.count_link(link);
    }

    /// Adds the text of `link` in the present block to the block's link bytes.
    fn count_link(&mut self, link: OpenLink) {
        let start = link.start.max(self.block_start).min(self.page.text.len());
        if link.is_local && is_permalink(&self.page.text[start..]) {
            self.page.text.truncate(start);
        } else if !(link.is_local && self.is_open(Tag::Heading)) {
            self.block_link_bytes += measure(&self.page.text[start..]).bytes;
        }
    }

    /// Ends the run of text of the element on top of the stack.
    fn end_block(&mut self) {
        if self.page.text.len() > self.block_start {
            if let Some(link) = self.link {
                self.count_link(link);
            }
            self.push_block();
        }
        self.block_start = self.page.text.len();
        self.block_link_bytes = 0;
        self.block_has_time = false;
        if let Some(link) = &mut self.link {
            link.start = self.block_start;
        }
    }

    fn push_block(&mut self) {
        let start = self.block_start;
        let written = self.page.text[start..].trim_ascii_end().len();
        self.page.text.truncate(start + written);
        let measured = measure(&self.page.text[start..]);
        self.page.steps += 2 * written as u64;
        if measured.bytes == 0 {
            self.page.text.truncate(start);
            return;
        }
        self.page.blocks.push(Block {
            node: self.top().node,
            start: start as u32,
            end: self.page.text.len() as u32,
            bytes: measured.bytes,
            link_bytes: self.block_link_bytes.min(measured.bytes),
            marks: measured.marks,
            in_heading: self.is_open(Tag::Heading),
            has_time: self.block_has_time,
        });
        self.page.text.push(b'\n');
    }

    fn open(&mut self, tag: Tag, attributes: &[u8]) {
        if self.beyond > 0 || self.stack.len() >= DEPTH_MAX {
            self.beyond += 1;
            return;
        }
        self.imply_ends(tag);
        if tag == Tag::Body && self.is_open(Tag::Body) {
            return;
        }
        let (mut hints, shape) = Hints::of(tag, attributes);
        self.page.steps += attributes.len() as u64;
        if matches!(tag, Tag::Chrome | Tag::Control) {
            hints = hints.with(Hints::HIDDEN);
        }
        let node = self.page.nodes.len() as u32;
        self.page.nodes.push(Node { parent: self.top().node, tag, hints, shape });
        let here = self.stack.len() as u16;
        self.stack.push(OpenElement {
            node,
            tag,
            shadowed: std::mem::replace(&mut self.last[tag as usize], here),
        });
    }

    /// Closes the elements that the start of `tag` closes without an end tag.
    fn imply_ends(&mut self, tag: Tag) {
        if self.top().tag == Tag::Paragraph {
            self.pop();
        }
        match (tag, self.top().tag) {
            (Tag::Item, Tag::Item) | (Tag::Cell, Tag::Cell) | (Tag::Row, Tag::Row) => self.pop(),
            (Tag::Definition, Tag::Definition) | (Tag::Heading, Tag::Heading) => self.pop(),
            (Tag::Control, Tag::Control) => self.pop(),
            (Tag::Row, Tag::Cell) => {
                self.pop();
                if self.top().tag == Tag::Row {
                    self.pop();
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, tag: Tag) {
        if self.beyond > 0 {
            self.beyond -= 1;
            return;
        }
        // Forms in old pages begin and end across the structure; text after `</body>` still belongs
        // to the page.
        let closable = match tag {
            Tag::Body | Tag::Root => false,
            Tag::Form => self.top().tag == Tag::Form,
            _ => self.is_open(tag) && self.in_scope(tag),
        };
        let mut is_done = !closable;
        while !is_done {
            is_done = self.top().tag == tag || self.stack.len() == 1;
            self.pop();
        }
    }

    /// Whether no element between the last `tag` and the top of the stack stops its end tag.
    fn in_scope(&self, tag: Tag) -> bool {
        let walls: &[Tag] = match tag {
            Tag::Cell | Tag::Row => &[Tag::Table],
            Tag::Item => &[Tag::List, Tag::Table],
            Tag::Definition => &[Tag::Definitions, Tag::Table],
            Tag::Paragraph => &[Tag::Div, Tag::Cell, Tag::Section, Tag::Article, Tag::Table],
            Tag::Heading => &[Tag::Table],
            Tag::Table => &[],
            _ => &[Tag::Cell],
        };
        walls.iter().all(|wall| self.last[*wall as usize] < self.last[tag as usize])
    }

    fn pop(&mut self) {
        // The root stays.
        if self.stack.len() > 1
            && let Some(open) = self.stack.pop()
        {
            self.last[open.tag as usize] = open.shadowed;
            self.link = self.link.filter(|link| link.depth <= self.stack.len());
        }
    }
}

/// Whether the text of a link is only a mark that leads to the heading beside it, or back from a
/// footnote. The last two are the Font Awesome link and the emoji form of the back arrow.
fn is_permalink(text: &[u8]) -> bool {
    let marks = ["¶", "#", "§", "🔗", "↩", "\u{F0C1}", "↩\u{FE0E}"];
    str::from_utf8(text.trim_ascii()).is_ok_and(|text| marks.contains(&text))
}

struct Measured {
    bytes: u32,
    marks: u32,
}

/// Counts the bytes of `text` that are not white space, and its sentence marks.
fn measure(text: &[u8]) -> Measured {
    let mut measured = Measured { bytes: 0, marks: 0 };
    let mut rest = text;
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        match byte {
            b',' => measured.marks += 1,
            b'.' => measured.marks += u32::from(tail.first().is_none_or(|next| *next <= b' ')),
            // U+3000 is a space; U+3001 and U+3002 are the comma of lists and the full stop.
            0xE3 if tail.starts_with(b"\x80\x80") => {
                rest = &tail[2..];
                continue;
            }
            0xE3 if tail.starts_with(b"\x80\x81") || tail.starts_with(b"\x80\x82") => {
                measured.marks += 1
            }
            // Fullwidth `!`, `,`, `;`, `?`.
            0xEF if matches!(tail, [0xBC, 0x81 | 0x8C | 0x9B | 0x9F, ..]) => measured.marks += 1,
            _ => {}
        }
        measured.bytes += u32::from(*byte > b' ');
    }
    measured
}
