//! Finds the element that holds the main text, if there is one.
//!
//! Follows Arc90's Readability (2009): the score of a paragraph goes to the elements around it,
//! lowered by link text and raised or lowered by class words. We differ in four ways. Blocks are
//! scored, not `p` elements, so that text set with `div` and `br` counts. A score reaches five
//! levels up. From the best element we then climb as long as most of the gain is text. And the
//! entry of a list or the section of an outline is never the whole page; reference pages need this
//! rule.
//!
//! A climb must gain much, because for a few lines it would include lines of the site, which differ
//! between copies. All arithmetic is on integers, and each node and block is visited a fixed number
//! of times.

use crate::extract::hints::Hints;
use crate::extract::tags::Tag;
use crate::extract::tree::{Block, Node, Page};

/// How much is dropped before scoring. Each level is tried when the one before found too little.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Hidden elements and those with unlikely names.
    Strict,
    /// Hidden elements.
    Loose,
    /// Nothing but noise.
    Open,
}

/// The content of an element and its descendants, without what is dropped.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum {
    /// Bytes of text.
    pub bytes: u64,
    /// Bytes of text within links.
    pub link_bytes: u64,
    /// Sentence marks.
    pub marks: u64,
    /// Cells of tables.
    pub cells: u32,
    /// Blocks.
    pub blocks: u32,
    /// Blocks of which more than half is link text.
    pub linked_blocks: u32,
    /// Blocks that count as paragraphs.
    pub paragraphs: u32,
    /// Bytes outside links in paragraphs that are long or have a sentence mark.
    pub good_bytes: u64,
    /// The score, in 1/7200 of a point.
    pub score: i64,
}

impl Sum {
    /// Whether more than `percent` of the text is link text.
    pub fn is_linked_over(&self, percent: u64) -> bool {
        self.link_bytes * 100 > percent * (self.bytes + 1)
    }
}

/// One point: 200 (bytes count in halves of 1/100) times 36 (the common denominator of `WEIGHTS`).
const POINT: i64 = 200 * 36;
/// The parts of a block's score for its container and the four elements above, in 1/36.
const WEIGHTS: [i64; 5] = [36, 18, 6, 4, 3];
/// A shorter block scores nothing: buttons, dates, names.
const PARAGRAPH_BYTES_MIN: u32 = 25;
/// A paragraph of this length is good without a sentence mark.
const GOOD_BYTES_MIN: u32 = 120;

/// The elements that are dropped, by index; with `replies`, which are those by their form, text of
/// others, too. The elements for which `is_page` are not dropped for an unlikely name.
pub fn dropped(
    page: &Page,
    strictness: Strictness,
    replies: Option<&[bool]>,
    is_page: impl Fn(usize) -> bool,
) -> Vec<bool> {
    let mut dropped = vec![false; page.nodes.len()];
    for (at, node) in page.nodes.iter().enumerate().skip(1) {
        let is_of_others = replies.is_some_and(|replies| replies[at] || names_others(node));
        let is_noise = node.hints.any(Hints::NOISE) && node.tag == Tag::Cell;
        let is_dropped = match strictness {
            Strictness::Strict => is_hidden(node) || is_unlikely(node) && !is_page(at),
            Strictness::Loose => is_hidden(node),
            Strictness::Open => false,
        };
        dropped[at] = dropped[node.parent as usize] || is_of_others || is_noise || is_dropped;
    }
    dropped
}

/// Whether an element's name says that its text is of others.
fn names_others(node: &Node) -> bool {
    node.hints.any(Hints::OTHERS) && may_be_of_others(node)
}

/// Whether the name of this element can say this. In a table it may be the name of a column, and a
/// name of the whole page only says that such text is on the page, too.
pub fn may_be_of_others(node: &Node) -> bool {
    !node.hints.any(Hints::BODY) && (!holds_text(node.tag) || node.tag == Tag::Article)
}

/// Whether an element's name is rare on main text.
pub fn is_unlikely(node: &Node) -> bool {
    node.hints.any(Hints::UNLIKELY)
        && !node.hints.any(Hints::EXCUSED.with(Hints::BODY))
        && !holds_text(node.tag)
}

/// Whether an element is not shown. ASP.NET puts whole pages into one form, and WeChat articles
/// into their body, which a script shows.
pub fn is_hidden(node: &Node) -> bool {
    let is_chrome = matches!(node.tag, Tag::Chrome | Tag::Control);
    let is_shown = node.tag == Tag::Form || node.hints.any(Hints::BODY) && !is_chrome;
    node.hints.any(Hints::HIDDEN) && !is_shown
}

/// Elements that exist to hold text: their class words mean little.
pub fn holds_text(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Body
            | Tag::Article
            | Tag::Main
            | Tag::Table
            | Tag::Row
            | Tag::Cell
            | Tag::Paragraph
            | Tag::Preformatted
            | Tag::Heading
    )
}

/// The content of each element, by index.
pub fn sums(page: &Page, dropped: &[bool]) -> Vec<Sum> {
    let nodes = &page.nodes;
    let mut sums = vec![Sum::default(); nodes.len()];
    for block in &page.blocks {
        if dropped[block.node as usize] {
            continue;
        }
        let sum = &mut sums[block.node as usize];
        sum.bytes += u64::from(block.bytes);
        sum.link_bytes += u64::from(block.link_bytes);
        sum.marks += u64::from(block.marks);
        sum.blocks += 1;
        sum.linked_blocks += u32::from(block.link_bytes * 2 > block.bytes);
        if !is_paragraph(block) {
            continue;
        }
        sum.paragraphs += 1;
        if block.marks > 0 || block.bytes > GOOD_BYTES_MIN {
            sum.good_bytes += u64::from(block.bytes - block.link_bytes);
        }
        let score = 200 + 300 * i64::from(block.marks) + (2 * i64::from(block.bytes)).min(2400);
        let mut at = block.node as usize;
        if is_leaf(nodes[at].tag) {
            at = nodes[at].parent as usize;
        }
        for weight in WEIGHTS {
            if at == 0 {
                break;
            }
            sums[at].score += score * weight;
            at = nodes[at].parent as usize;
        }
    }
    for at in (1..nodes.len()).rev() {
        let sum = sums[at];
        let parent = &mut sums[nodes[at].parent as usize];
        parent.cells += sum.cells + u32::from(nodes[at].tag == Tag::Cell);
        parent.bytes += sum.bytes;
        parent.link_bytes += sum.link_bytes;
        parent.marks += sum.marks;
        parent.blocks += sum.blocks;
        parent.linked_blocks += sum.linked_blocks;
        parent.paragraphs += sum.paragraphs;
        parent.good_bytes += sum.good_bytes;
    }
    sums
}

/// Whether a block is running text.
pub fn is_paragraph(block: &Block) -> bool {
    block.bytes >= PARAGRAPH_BYTES_MIN && !block.in_heading && block.link_bytes * 2 <= block.bytes
}

/// Elements that are a paragraph themselves: their text counts for the element around them.
fn is_leaf(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Paragraph
            | Tag::Preformatted
            | Tag::Quote
            | Tag::Heading
            | Tag::Figure
            | Tag::Definition
    )
}

/// Weighs the score of each element by its name, its words and its links, and returns the best;
/// `None` if no element scores.
pub fn best(page: &Page, sums: &mut [Sum], strictness: Strictness) -> Option<usize> {
    let mut best = None;
    let mut best_score = 0;
    for (at, node) in page.nodes.iter().enumerate().skip(1) {
        let sum = &mut sums[at];
        if sum.score <= 0 {
            continue;
        }
        let words =
            word_points(node.hints) * POINT / if strictness == Strictness::Strict { 1 } else { 2 };
        let score = sum.score + tag_points(node.tag) * POINT + words.min(sum.score);
        sum.score = share(score, sum.bytes + 1 - sum.link_bytes, sum.bytes + 1);
        if node.tag == Tag::Body {
            sum.score = share(sum.score, 9, 10);
        }
        if node.hints.any(Hints::BODY) {
            sum.score = share(sum.score, 3, 2);
        }
        if sum.score > best_score {
            best_score = sum.score;
            best = Some(at);
        }
    }
    best
}

fn tag_points(tag: Tag) -> i64 {
    match tag {
        Tag::Article | Tag::Main => 10,
        Tag::Div | Tag::Section | Tag::Cell => 5,
        Tag::Preformatted | Tag::Quote => 3,
        Tag::List | Tag::Item | Tag::Form | Tag::Definitions | Tag::Definition => -3,
        Tag::Heading => -5,
        _ => 0,
    }
}

fn word_points(hints: Hints) -> i64 {
    let points = |hint, points| if hints.any(hint) { points } else { 0 };
    points(Hints::POSITIVE, 25) + points(Hints::BODY, 25) - points(Hints::AGAINST, 25)
}

/// `score * part / whole`, without overflow.
fn share(score: i64, part: u64, whole: u64) -> i64 {
    (i128::from(score) * i128::from(part) / i128::from(whole.max(1))) as i64
}

/// Climbs from the best element to the one that holds all of the main text.
pub fn climb(page: &Page, sums: &[Sum], best: usize) -> usize {
    let nodes = &page.nodes;
    let mut chosen = best;
    let mut at = nodes[best].parent as usize;
    let mut levels = 1;
    while at != 0 && nodes[at].tag != Tag::Body {
        let inner = Choice { node: &nodes[chosen], sum: &sums[chosen] };
        let outer = Choice { node: &nodes[at], sum: &sums[at] };
        if gains(inner, outer, levels, sums[best].score) {
            chosen = at;
            levels = 0;
        }
        levels += 1;
        at = nodes[at].parent as usize;
    }
    spread(page, sums, chosen).unwrap_or(chosen)
}

/// The innermost element around `chosen` that holds most of the page's text, if `chosen` holds only
/// a little of it: reference pages have no single article.
fn spread(page: &Page, sums: &[Sum], chosen: usize) -> Option<usize> {
    let whole = sums[0].good_bytes;
    if is_whole(&page.nodes[chosen]) || sums[chosen].good_bytes * 4 >= whole {
        return None;
    }
    let mut at = chosen;
    while at != 0 && sums[at].good_bytes * 2 < whole {
        at = page.nodes[at].parent as usize;
    }
    (at != 0 && !sums[at].is_linked_over(25)).then_some(at)
}

#[derive(Clone, Copy)]
struct Choice<'a> {
    node: &'a Node,
    sum: &'a Sum,
}

/// Whether an element's own name marks it as the article.
pub fn is_whole(node: &Node) -> bool {
    matches!(node.tag, Tag::Article | Tag::Main) || node.hints.any(Hints::BODY)
}

/// Whether an element is by nature one of many: of a list, or a section without a name of its own.
fn is_entry(node: &Node) -> bool {
    matches!(node.tag, Tag::Item | Tag::List | Tag::Definitions | Tag::Definition)
        || node.tag == Tag::Section && node.hints == Hints::NONE
}

/// Whether `outer` is a better choice than `inner`, which lies `levels` below it.
fn gains(inner: Choice<'_>, outer: Choice<'_>, levels: u32, best_score: i64) -> bool {
    let added = outer.sum.bytes - inner.sum.bytes;
    let added_good = outer.sum.good_bytes - inner.sum.good_bytes;
    let added_links = outer.sum.link_bytes - inner.sum.link_bytes;
    if added == 0 {
        return true;
    }
    // Most of the addition is text, and there is much of it. If it comes from far away, it may
    // belong to another article.
    let is_near = levels <= 2 || added_links * 10 <= added;
    if is_near
        && !(levels > 1 && is_whole(inner.node))
        && added_good * 10 >= added * 6
        && added_good * 10 >= inner.sum.good_bytes * 4
    {
        return true;
    }
    // The best element is only a part of the article.
    if is_whole(outer.node) && added >= inner.sum.bytes && added_links * 5 <= added {
        return true;
    }
    // An entry of a list or an outline is never all of the text.
    if is_entry(inner.node) && !is_entry(outer.node) && added_links * 4 <= added {
        return true;
    }
    if levels > 1 {
        return false;
    }
    let is_part = matches!(
        inner.node.tag,
        Tag::Row
            | Tag::Cell
            | Tag::Item
            | Tag::List
            | Tag::Table
            | Tag::Definitions
            | Tag::Definition
            | Tag::Paragraph
    );
    let added_paragraphs = outer.sum.paragraphs - inner.sum.paragraphs;
    is_part && added_paragraphs > 1
        || added_paragraphs > 0
            && outer.sum.score * 4 >= best_score * 3
            && !outer.node.hints.any(Hints::AGAINST)
}
