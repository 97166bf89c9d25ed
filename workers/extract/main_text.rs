//! The main text of a page. In comes a tree of blocks, out go the blocks that a reader came for, joined by line breaks.
//! Three tries, each dropping less than the one before, until one finds enough.

use memchr::memmem;

use super::furniture;
use super::hints::Hints;
use super::score::{self, Strictness, Sum};
use super::tags::Tag;
use super::tree::{Block, Node, Page};

/// A try that finds less is not taken while another is left.
const ENOUGH_BYTES: u64 = 200;
/// The same where the element is called the article by its own name and has a sentence.
const ENOUGH_NAMED_BYTES: u64 = 30;
/// A try that finds this much, and a sentence in it, is taken in the end if the whole page has not `HIDDEN_TIMES` as much.
const LITTLE_BYTES_MIN: u64 = 60;
const HIDDEN_TIMES: u64 = 10;
/// Less running text than this, and links and labels are all that the page says.
const RUNNING_BYTES_MIN: u64 = 30;
/// At most this many of the site's own lines are taken off at either end.
const SITE_LINES_MAX: usize = 8;
/// A shorter line than this, in bytes, is found in a title by chance.
const TITLE_BYTES_MIN: usize = 6;
/// How often a try looks at a node or a block: 5 levels of score, 3 sums, 4 choices.
const STEPS_PER_TRY: u64 = 12;

/// What was found.
pub struct Found {
    /// Blocks joined by line breaks; UTF-8 as far as the page was.
    pub text: Vec<u8>,
    /// Whether no element was found that holds the main text, so that it was gathered from everywhere.
    pub is_gathered: bool,
    /// Nodes and blocks looked at.
    pub steps: u64,
}

/// The main text of `page`.
pub fn of(page: &Page) -> Found {
    let looks = STEPS_PER_TRY * (page.nodes.len() + page.blocks.len()) as u64;
    let mut steps = 0;
    let mut little = None;
    for strictness in [Strictness::Strict, Strictness::Loose] {
        let dropped = score::dropped(page, strictness);
        let mut sums = score::sums(page, &dropped);
        steps += looks;
        let Some(best) = score::best(page, &mut sums, strictness) else { continue };
        let chosen = score::climb(page, &sums, best);
        let kept = kept(page, &sums, dropped, chosen, best);
        let blocks = unfurnished(page, chosen_blocks(page, |block| kept[block.node as usize]));
        let is_named = [best, chosen].iter().any(|at| score::is_whole(&page.nodes[*at]) && sums[*at].marks > 0);
        if bytes(&blocks) >= if is_named { ENOUGH_NAMED_BYTES } else { ENOUGH_BYTES } {
            return Found { text: join(page, &blocks), is_gathered: false, steps };
        }
        if little.is_none() && bytes(&blocks) >= LITTLE_BYTES_MIN && blocks.iter().any(|block| block.marks > 0) {
            little = Some(blocks);
        }
    }
    let dropped = score::dropped(page, Strictness::Open);
    steps += looks;
    let all = chosen_blocks(page, |block| !dropped[block.node as usize]);
    let running = all.iter().copied().filter(is_running).collect();
    let running = unfurnished(page, running);
    // A page may have little to say; or it may hide what it has to say until a script shows it.
    if let Some(little) = little.filter(|little| bytes(&running) < HIDDEN_TIMES * bytes(little)) {
        return Found { text: join(page, &little), is_gathered: false, steps };
    }
    let text = join(page, if bytes(&running) < RUNNING_BYTES_MIN { &all } else { &running });
    Found { text, is_gathered: true, steps }
}

fn is_running(block: &Block) -> bool {
    block.link_bytes * 2 <= block.bytes && (block.bytes >= 60 || block.marks > 0)
}

fn chosen_blocks(page: &Page, is_chosen: impl Fn(&Block) -> bool) -> Vec<Block> {
    page.blocks.iter().copied().filter(|block| is_chosen(block)).collect()
}

fn bytes(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| u64::from(block.bytes)).sum()
}

/// `blocks` without the site's own lines before the first and behind the last of the article's, and without the page's
/// title before the first: one site has it within the article, the next above.
fn unfurnished(page: &Page, mut blocks: Vec<Block>) -> Vec<Block> {
    let is_site = |block: &Block| !block.in_heading && furniture::is_furniture(page.text_of(block));
    let is_title = |block: &Block| {
        let text = page.text_of(block);
        text.len() >= TITLE_BYTES_MIN && text.len() <= page.title.len() && memmem::find(&page.title, text).is_some()
    };
    let head = blocks.iter().take(SITE_LINES_MAX).take_while(|block| is_site(block) || is_title(block)).count();
    let tail = blocks.iter().rev().take(SITE_LINES_MAX).take_while(|block| is_site(block)).count();
    if head + tail < blocks.len() {
        blocks.truncate(blocks.len() - tail);
        blocks.drain(..head);
    }
    blocks
}

/// The text of `blocks`, joined by line breaks.
fn join(page: &Page, blocks: &[Block]) -> Vec<u8> {
    let mut text = Vec::new();
    for block in blocks {
        if !text.is_empty() {
            text.push(b'\n');
        }
        text.extend_from_slice(page.text_of(block));
    }
    text
}

/// By index, the elements whose own blocks are main text: those within `chosen`, or beside it and as good, without
/// what is not text inside them.
fn kept(page: &Page, sums: &[Sum], dropped: Vec<bool>, chosen: usize, best: usize) -> Vec<bool> {
    let nodes = &page.nodes;
    let mut removed = dropped;
    let mut inside = vec![false; nodes.len()];
    inside[chosen] = true;
    let siblings_of = nodes[chosen].parent as usize;
    for at in 1..nodes.len() {
        let parent = nodes[at].parent as usize;
        if at != chosen {
            let is_sibling = parent == siblings_of && parent != 0 && !removed[at];
            inside[at] = inside[parent] || is_sibling && belongs(&nodes[at], &sums[at], sums[best].score);
            removed[at] |= removed[parent] || inside[at] && is_clutter(&nodes[at], &sums[at], sums[chosen].bytes);
        }
    }
    inside.iter().zip(removed).map(|(inside, removed)| *inside && !removed).collect()
}

/// Whether a sibling of the chosen element is part of the main text.
fn belongs(node: &Node, sum: &Sum, best_score: i64) -> bool {
    let scores = sum.score * 5 >= best_score.max(50 * 7200);
    let reads = node.tag == Tag::Paragraph
        && (sum.bytes > 120 && !sum.is_linked_over(25) || sum.bytes > 30 && sum.link_bytes == 0 && sum.marks > 0);
    reads || scores && !node.hints.any(Hints::NEGATIVE) && !sum.is_linked_over(25)
}

/// Whether an element within the main text is none of it: menus, link lists, boxes.
fn is_clutter(node: &Node, sum: &Sum, chosen_bytes: u64) -> bool {
    let is_small = sum.bytes * 2 < chosen_bytes;
    let speaks_against = node.hints.any(Hints::NEGATIVE) && !node.hints.any(Hints::POSITIVE.with(Hints::BODY));
    match node.tag {
        Tag::List | Tag::Definitions => speaks_against && sum.is_linked_over(20),
        Tag::Table => is_small && sum.is_linked_over(40),
        Tag::Div | Tag::Section | Tag::Form | Tag::Header | Tag::Cell | Tag::Article | Tag::Figure | Tag::Quote => {
            is_small
                && (speaks_against && (sum.is_linked_over(10) || sum.marks < 2)
                    || sum.is_linked_over(40)
                    || sum.is_linked_over(25) && sum.marks < 2 && sum.blocks > 2)
        }
        _ => false,
    }
}
