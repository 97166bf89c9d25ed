//! Finds the text of a page about its own subject, and the text that its site repeats on every
//! page.
//!
//! A shop has a description of each product, often of one sentence, and under it blocks that are
//! the same for all products: reviews of the shop, delivery and returns. These are longer, and so
//! score higher. With them alone as text, all products of a shop would be copies of each other.
//!
//! - **The description** has that name and follows the heading that the page's title repeats. If no
//!   element has the name, it is the first sentence behind that heading. It is added to the element
//!   that scores higher further down, if that has a heading of its own.
//! - **Reviews** have that name, as comments do. One review may be the article itself, so an
//!   element named as one counts from two of one form on, and never with the page's heading in it.
//! - **Terms** (delivery, returns) have such a name, and count only beside a description: on a page
//!   about delivery they are the text.

use crate::extract::hints::Hints;
use crate::extract::score;
use crate::extract::tags::Tag;
use crate::extract::tree::{Block, Page};
use memchr::memmem;
use std::cmp::Reverse;
use std::collections::HashMap;

/// The most headings among which the page's heading is looked for: the longest that the title
/// repeats.
const HEADINGS_MAX: usize = 16;
/// A heading that is shorter, in bytes, must be the beginning of the title.
const HEADING_BYTES_MIN: usize = 6;
/// The most descriptions of one page: a short one and a long one. More descriptions belong to a
/// list.
const DESCRIPTIONS_MAX: usize = 2;
/// Reviews of one form that are not the article.
const REVIEWS_MIN: u32 = 2;

/// The subject of a page.
#[derive(Debug)]
pub struct Subject {
    /// By index, whether an element holds the page's heading.
    has_heading: Vec<bool>,
    description: Option<Description>,
}

/// What a page says about its subject.
#[derive(Clone, Copy, Debug)]
struct Description {
    /// The element.
    node: usize,
    /// Whether its name says so.
    is_named: bool,
    /// Whether it has the first sentence after the page's heading.
    is_first: bool,
}

impl Subject {
    /// The subject of `page`. Visits each node twice and each block three times.
    pub fn of(page: &Page) -> Subject {
        let mut has_heading = vec![false; page.nodes.len()];
        // The title often repeats the name of the site, too, which is the shorter one.
        let headings = page.blocks.iter().enumerate().filter(|(_, block)| block.in_heading);
        let repeated = headings.take(HEADINGS_MAX).filter(|(_, block)| is_in_title(page, block));
        let longest = repeated.max_by_key(|(at, block)| (block.bytes, Reverse(*at)));
        let Some((heading, _)) = longest else { return Subject { has_heading, description: None } };
        let mut at = page.blocks[heading].node as usize;
        while at != 0 {
            has_heading[at] = true;
            at = page.nodes[at].parent as usize;
        }

        // By index, the outermost description around an element, and whether it is hidden.
        let mut within = vec![0; page.nodes.len()];
        let mut hidden = vec![false; page.nodes.len()];
        for at in 1..page.nodes.len() {
            let node = &page.nodes[at];
            within[at] = within[node.parent as usize];
            hidden[at] = hidden[node.parent as usize] || score::is_hidden(node);
            let may_be = !score::holds_text(node.tag) || node.tag == Tag::Paragraph;
            if within[at] == 0 && may_be && node.hints.any(Hints::DESCRIPTION) {
                within[at] = at;
            }
        }
        let is_sentence = |block: &&Block| {
            score::is_paragraph(block) && block.marks > 0 && !hidden[block.node as usize]
        };
        let sentences = || page.blocks[heading..].iter().filter(is_sentence);
        let (mut named, mut count, mut last) = (None, 0, 0);
        for (number, block) in sentences().enumerate() {
            let node = within[block.node as usize];
            if node != 0 && node != last {
                let found = Description { node, is_named: true, is_first: number == 0 };
                (named, count, last) = (named.or(Some(found)), count + 1, node);
            }
        }
        let unnamed = || {
            let mut node = sentences().next()?.node as usize;
            if page.nodes[node].tag == Tag::Paragraph {
                node = page.nodes[node].parent as usize;
            }
            Some(Description { node, is_named: false, is_first: true })
        };
        let named = named.filter(|_| count <= DESCRIPTIONS_MAX);
        Subject { has_heading, description: named.or_else(unnamed) }
    }

    /// Whether `at` holds the page's heading.
    pub fn has_heading(&self, at: usize) -> bool {
        self.has_heading[at]
    }

    fn named(&self) -> Option<usize> {
        self.description.filter(|found| found.is_named).map(|found| found.node)
    }

    /// Whether `at` is named as the description, and is the description.
    pub fn is_description(&self, at: usize) -> bool {
        self.named() == Some(at)
    }

    /// The description, if it is missing from `chosen`, which the page has further down. A box
    /// about the author has the same name, so the page's heading must lead to it: it is the first
    /// text behind, or they stand in one part of the page and `chosen` in another. Without a name
    /// it may be a line about the author or a picture, which articles have there, so `chosen` must
    /// not be the article: that has no heading besides the page's.
    pub fn missing_from(&self, page: &Page, chosen: usize) -> Option<usize> {
        let Description { node: description, is_named, is_first } = self.description?;
        if score::is_whole(&page.nodes[chosen]) || chosen <= description {
            return None;
        }
        // The ancestor of `description` that is a child of the innermost element around both. Of
        // two elements the one with the greater index is no ancestor of the other.
        let (mut part, mut one, mut other) = (description, description, chosen);
        while one != other {
            if one > other {
                (part, one) = (one, page.nodes[one].parent as usize);
            } else {
                other = page.nodes[other].parent as usize;
            }
        }
        let is_around = one == description;
        let is_led_to = self.has_heading[part] || is_named && is_first;
        (!is_around && is_led_to && (is_named || has_own_heading(page, chosen)))
            .then_some(description)
    }

    /// Adds the reviews and the terms of `page` to `others`, which has its replies, by index.
    pub fn add_others(&self, page: &Page, others: &mut [bool]) {
        let nodes = || page.nodes.iter().enumerate().skip(1);
        let may_be = |at: usize| score::may_be_of_others(&page.nodes[at]) && !self.has_heading[at];
        let mut in_review = vec![false; page.nodes.len()];
        let mut forms: HashMap<(Tag, u32), u32> = HashMap::new();
        for (at, node) in nodes() {
            let is_within = in_review[node.parent as usize];
            let is_one = node.hints.any(Hints::REVIEW) && may_be(at);
            in_review[at] = is_within || is_one;
            if is_one && !is_within {
                *forms.entry((node.tag, node.shape)).or_default() += 1;
            }
        }
        let mut around = vec![false; page.nodes.len()];
        if let Some(mut at) = self.named() {
            while at != 0 {
                around[at] = true;
                at = page.nodes[at].parent as usize;
            }
        }
        for (at, node) in nodes() {
            let is_one_of_many = node.hints.any(Hints::REVIEW)
                && forms.get(&(node.tag, node.shape)).is_some_and(|count| *count >= REVIEWS_MIN);
            let are_terms = self.named().is_some() && node.hints.any(Hints::TERMS);
            let is_of_others = node.hints.any(Hints::REVIEWS) || is_one_of_many || are_terms;
            others[at] |= is_of_others && may_be(at) && !around[at];
        }
    }
}

/// Whether the first text of an element is a heading, or stands behind one.
fn has_own_heading(page: &Page, element: usize) -> bool {
    // Parents stand before children, so what stands before an element has a lesser index.
    let first = page.blocks.iter().position(|block| block.node as usize >= element);
    first.is_some_and(|first| {
        page.blocks[first.saturating_sub(1)..=first].iter().any(|block| block.in_heading)
    })
}

/// Whether the page's title repeats a heading.
fn is_in_title(page: &Page, block: &Block) -> bool {
    let text = page.text_of(block);
    text.len() <= page.title.len()
        && (page.title.starts_with(text)
            || text.len() >= HEADING_BYTES_MIN && memmem::find(&page.title, text).is_some())
}
