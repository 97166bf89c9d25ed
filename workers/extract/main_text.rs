//! Selects the blocks of a page that are its main text.
//!
//! Three attempts look for the element that holds it, each of which drops less than the one before.
//! If none finds enough, the text is gathered from the whole page. Text of others counts only if
//! there is hardly any other text.

use crate::extract::furniture;
use crate::extract::hints::Hints;
use crate::extract::others::{self, Others};
use crate::extract::score::{self, Strictness, Sum};
use crate::extract::subject::Subject;
use crate::extract::tags::Tag;
use crate::extract::tree::{Block, Node, Page};
use memchr::memmem;
use std::cell::OnceCell;
use std::iter;

/// An attempt that finds less is not accepted while another is left.
const ENOUGH_BYTES: u64 = 200;
/// The same limit for an element that is named as the article and has a sentence.
const ENOUGH_NAMED_BYTES: u64 = 30;
/// An attempt that finds this much, with a sentence, is accepted in the end unless the whole page
/// has `HIDDEN_TIMES` as much.
const LITTLE_BYTES_MIN: u64 = 60;
const HIDDEN_TIMES: u64 = 10;
/// An attempt has not found the article if it drops this many times as much running text behind the
/// page's heading, and in front of what it found.
const DROPPED_TIMES: u64 = 2;
/// The same if an element with an unlikely name that holds the heading has this part of what was
/// found. A lead beside the heading is shorter than the article.
const HEADED_SHARE: u64 = 4;
/// The most text in links, in hundredths, of a dropped element that may be the article.
const LINKS_OF_ARTICLE_MAX: u64 = 25;
/// With less running text than this, links and labels are all the text that a page has.
const RUNNING_BYTES_MIN: u64 = 30;
/// At most this many of the site's own lines are removed at either end.
const SITE_LINES_MAX: usize = 8;
/// This many lines with a date may be the site's.
const DATED_LINES_MAX: usize = 2;
/// A shorter line than this, in bytes, is found in a title by chance.
const TITLE_BYTES_MIN: usize = 6;
/// How often an attempt visits a node or a block: 5 levels of score, 3 sums, 4 choices, 2 for
/// teasers and 1 for headings.
const STEPS_PER_TRY: u64 = 15;
/// How often the search for a dropped article visits a node or a block.
const STEPS_FOR_DROPPED: u64 = 4;
/// How often the search for text of others visits a node or a block.
const STEPS_FOR_OTHERS: u64 = 8;
/// How often the search for the page's own element visits a node or a block.
const STEPS_FOR_PAGE: u64 = 4;

/// The main text of a page.
pub struct MainText {
    /// Blocks joined by line breaks; UTF-8 as far as the page was.
    pub text: Vec<u8>,
    /// Whether no element holds the main text, so that it was gathered from the whole page.
    pub is_gathered: bool,
    /// Nodes and blocks visited.
    pub steps: u64,
}

/// One way to look for the main text.
#[derive(Clone, Copy)]
struct Attempt {
    /// How much is dropped before scoring.
    strictness: Strictness,
    /// Whether text of others counts.
    with_others: bool,
}

/// All attempts, in their order.
const ATTEMPTS: [Attempt; 3] = [
    Attempt { strictness: Strictness::Strict, with_others: false },
    Attempt { strictness: Strictness::Loose, with_others: false },
    Attempt { strictness: Strictness::Loose, with_others: true },
];

/// What an attempt found.
struct Found {
    blocks: Vec<Block>,
    /// Whether they are of an element that is named as the article.
    is_named: bool,
    /// The element that holds them.
    chosen: usize,
    /// By index, the elements that were dropped before.
    dropped: Vec<bool>,
}

/// A page, and what every attempt reads of it.
struct Search<'p> {
    page: &'p Page,
    others: Others,
    subject: Subject,
    /// The page's own element.
    own: Option<usize>,
    has_others: bool,
    /// The sums of the whole page. Most pages do not need them, and no attempt changes them.
    whole: OnceCell<Vec<Sum>>,
}

/// The main text of `page`.
pub fn of(page: &Page) -> MainText {
    let size = (page.nodes.len() + page.blocks.len()) as u64;
    let mut steps = (STEPS_FOR_OTHERS + STEPS_FOR_PAGE) * size;
    let mut little = None;
    let search = Search::new(page);
    for attempt in ATTEMPTS {
        // A short article is still the article, even if the comments on it are long.
        if attempt.with_others && (little.is_some() || !search.has_others) {
            break;
        }
        steps += STEPS_PER_TRY * size;
        let Some(found) = search.attempt(attempt) else { continue };
        steps += STEPS_FOR_DROPPED * size;
        if search.drops_article(&found) {
            continue;
        }
        let Found { blocks, is_named, .. } = found;
        if bytes(&blocks) >= if is_named { ENOUGH_NAMED_BYTES } else { ENOUGH_BYTES } {
            return MainText { text: join(page, &blocks), is_gathered: false, steps };
        }
        if little.is_none()
            && bytes(&blocks) >= LITTLE_BYTES_MIN
            && blocks.iter().any(|block| block.marks > 0)
        {
            little = Some(blocks);
        }
    }
    steps += STEPS_PER_TRY * size;
    // A page may have little text, or may hide its text until a script shows it.
    if let Some(little) = little
        && search.own_running_bytes() < HIDDEN_TIMES * bytes(&little)
    {
        return MainText { text: join(page, &little), is_gathered: false, steps };
    }
    MainText { text: search.gathered(), is_gathered: true, steps }
}

impl<'p> Search<'p> {
    fn new(page: &'p Page) -> Search<'p> {
        let mut others = others::of(page);
        let subject = Subject::of(page);
        subject.add_others(page, &mut others.replies);
        let own = own_element(page, &subject, &others.replies);
        let has_others = others.replies.contains(&true)
            || page.nodes.iter().any(|node| node.hints.any(Hints::OTHERS));
        Search { page, others, subject, own, has_others, whole: OnceCell::new() }
    }

    /// By index, the elements that are dropped; with `replies`, text of others, too.
    fn dropped(&self, strictness: Strictness, replies: Option<&[bool]>) -> Vec<bool> {
        let is_page =
            |at: usize| self.own.is_some_and(|own| at <= own) && self.subject.has_heading(at);
        score::dropped(self.page, strictness, replies, is_page)
    }

    /// What `attempt` finds; `None` if no element may be the article.
    fn attempt(&self, attempt: Attempt) -> Option<Found> {
        let Search { page, others, subject, .. } = self;
        let Attempt { strictness, with_others } = attempt;
        let dropped = self.dropped(strictness, (!with_others).then_some(&*others.replies));
        let mut sums = score::sums(page, &dropped);
        let best = score::best(page, &mut sums, strictness)?;
        let chosen = score::climb(page, &sums, best);
        let mut clutter = dropped.clone();
        let mut end = u32::MAX;
        if !with_others {
            if others.teasers[chosen..].contains(&true) {
                drop_teasers(page, &sums, &mut clutter, &others.teasers, chosen);
            }
            let inside = inside(page, chosen);
            let all = chosen_blocks(page, |block| {
                inside[block.node as usize] && !dropped[block.node as usize]
            });
            end = all.get(others::before_others(page, &all)).map_or(end, |block| block.start);
        }
        let description = subject.missing_from(page, chosen).filter(|at| !clutter[*at]);
        let kept = kept(page, &sums, clutter, chosen, description, best);
        let blocks = chosen_blocks(page, |block| kept[block.node as usize] && block.start < end);
        let blocks = without_furniture(page, blocks, true);
        let is_named = [best, chosen].iter().any(|at| {
            // Without text of others the rest of the page is a better guess.
            let is_named =
                score::is_whole(&page.nodes[*at]) || self.has_others && subject.is_description(*at);
            is_named && sums[*at].marks > 0
        });
        Some(Found { blocks, is_named, chosen, dropped })
    }

    fn drops_article(&self, found: &Found) -> bool {
        let page = self.page;
        let all =
            || &**self.whole.get_or_init(|| score::sums(page, &vec![false; page.nodes.len()]));
        let Found { blocks, chosen, dropped, .. } = found;
        drops_article(page, &self.subject, all, dropped, *chosen, bytes(blocks))
    }

    /// The bytes of running text on the whole page, without that of others.
    fn own_running_bytes(&self) -> u64 {
        let dropped = self.dropped(Strictness::Open, Some(&self.others.either()));
        let mut own = chosen_blocks(self.page, |block| !dropped[block.node as usize]);
        own.truncate(others::before_others(self.page, &own));
        own.retain(is_running);
        bytes(&own)
    }

    /// The running text of the whole page or, if it has hardly any, all of its text.
    fn gathered(&self) -> Vec<u8> {
        let dropped = self.dropped(Strictness::Open, None);
        let all = chosen_blocks(self.page, |block| !dropped[block.node as usize]);
        // The first line of a short post may be all of its title.
        let running = all.iter().copied().filter(is_running).collect();
        let running = without_furniture(self.page, running, false);
        join(self.page, if bytes(&running) < RUNNING_BYTES_MIN { &all } else { &running })
    }
}

/// The element of the last line with which the page's title begins, if all such lines are in front
/// of `chosen`: the heading of a page that marks none as such.
fn title_line(page: &Page, chosen: usize) -> Option<usize> {
    let is_title = |block: &&Block| {
        let text = page.text_of(block);
        text.len() >= TITLE_BYTES_MIN && block.link_bytes == 0 && page.title.starts_with(text)
    };
    let last = page.blocks.iter().rfind(is_title)?.node as usize;
    (1..chosen).contains(&last).then_some(last)
}

/// Whether the article was dropped, and `chosen` is a disclaimer or a footer behind it, which all
/// pages of a site have. Either an element with an unlikely name holds the page's heading, enough
/// running text for an article, and one part in `HEADED_SHARE` of the `found` bytes. Or between the
/// heading and `chosen`, or with the heading, stands `DROPPED_TIMES` of `found`: in an element with
/// an unlikely name, in a hidden one, or in the posts of a thread whose first page is another.
/// `all` are the sums of the whole page.
fn drops_article<'s>(
    page: &Page,
    subject: &Subject,
    all: impl FnOnce() -> &'s [Sum],
    dropped: &[bool],
    chosen: usize,
    found: u64,
) -> bool {
    if subject.has_heading(chosen) {
        return false;
    }
    let nodes = &page.nodes;
    let heading = (1..nodes.len()).rfind(|at| subject.has_heading(*at));
    let Some(heading) = heading.or_else(|| title_line(page, chosen)) else { return false };
    let above = |at: &usize| Some(nodes[*at].parent as usize).filter(|parent| *parent != 0);
    let around: Vec<usize> = iter::successors(Some(heading), above).collect();
    let all = all();
    // By index of the element around them, since posts of a thread stand side by side.
    let mut lost = vec![0; nodes.len()];
    for at in 1..chosen {
        let (node, sum) = (&nodes[at], &all[at]);
        let parent = node.parent as usize;
        let is_outermost = dropped[at] && !dropped[parent];
        let is_chrome = matches!(node.tag, Tag::Chrome | Tag::Control);
        let has_heading = around.contains(&at);
        if is_outermost
            && (at > heading || has_heading)
            && !is_chrome
            && !sum.is_linked_over(LINKS_OF_ARTICLE_MAX)
        {
            lost[parent] += sum.good_bytes;
            let is_article = has_heading
                && score::is_unlikely(node)
                && sum.good_bytes >= ENOUGH_BYTES
                && HEADED_SHARE * sum.good_bytes >= found;
            if is_article || lost[parent] >= DROPPED_TIMES * found {
                return true;
            }
        }
    }
    false
}

/// The innermost element that holds the page's heading and most of the text that is not hidden, if
/// one around it has an unlikely name: with all of the article it would be dropped, and a
/// disclaimer of the site would be the text of each page.
fn own_element(page: &Page, subject: &Subject, replies: &[bool]) -> Option<usize> {
    let with_heading = || (1..page.nodes.len()).filter(move |at| subject.has_heading(*at));
    if !with_heading().any(|at| score::is_unlikely(&page.nodes[at])) {
        return None;
    }
    let dropped = score::dropped(page, Strictness::Loose, Some(replies), |_| false);
    let sums = score::sums(page, &dropped);
    with_heading().rfind(|at| sums[*at].good_bytes * 2 > sums[0].good_bytes)
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

/// Removes the site's own lines before the article's first and after its last. If `drops_title`,
/// also the page's title before the first: some sites have the title inside the article, others
/// above it. Of more than two lines with a date each is an entry of the text.
fn without_furniture(page: &Page, mut blocks: Vec<Block>, drops_title: bool) -> Vec<Block> {
    let is_dated = |block: &&Block| furniture::begins_with_date(page.text_of(block));
    let are_entries = blocks.iter().filter(is_dated).nth(DATED_LINES_MAX).is_some();
    let is_site = |block: &Block| {
        !(block.in_heading || are_entries && is_dated(&block))
            && furniture::is_furniture(page.text_of(block))
    };
    let is_title = |block: &Block| {
        let text = page.text_of(block);
        text.len() >= TITLE_BYTES_MIN
            && text.len() <= page.title.len()
            && memmem::find(&page.title, text).is_some()
    };
    let head = blocks
        .iter()
        .take(SITE_LINES_MAX)
        .take_while(|block| is_site(block) || drops_title && is_title(block))
        .count();
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

/// By index, the elements whose own blocks are main text: those inside `chosen` or `description`,
/// and siblings of `chosen` that are as good, without clutter.
fn kept(
    page: &Page,
    sums: &[Sum],
    dropped: Vec<bool>,
    chosen: usize,
    description: Option<usize>,
    best: usize,
) -> Vec<bool> {
    let nodes = &page.nodes;
    let mut removed = dropped;
    let mut inside = vec![false; nodes.len()];
    inside[chosen] = true;
    description.into_iter().for_each(|at| inside[at] = true);
    let siblings_of = nodes[chosen].parent as usize;
    // By index, whether an element is in a table of data, whose cells may be links.
    let mut of_data = vec![false; nodes.len()];
    for at in 1..nodes.len() {
        let parent = nodes[at].parent as usize;
        of_data[at] = match nodes[at].tag {
            Tag::Table => is_of_data(&sums[at]),
            _ => of_data[parent],
        };
        let is_cell = of_data[at] && nodes[at].tag == Tag::Cell;
        if at != chosen && Some(at) != description {
            let is_sibling = parent == siblings_of && parent != 0 && !removed[at];
            inside[at] =
                inside[parent] || is_sibling && belongs(&nodes[at], &sums[at], sums[best].score);
            let is_clutter = || is_clutter(&nodes[at], &sums[at], sums[chosen].bytes);
            removed[at] |= removed[parent] || inside[at] && !is_cell && is_clutter();
        }
    }
    inside.iter().zip(removed).map(|(inside, removed)| *inside && !removed).collect()
}

/// By index, whether an element is `chosen` or in it.
fn inside(page: &Page, chosen: usize) -> Vec<bool> {
    let mut inside = vec![false; page.nodes.len()];
    inside[chosen] = true;
    for at in chosen + 1..page.nodes.len() {
        inside[at] = inside[page.nodes[at].parent as usize];
    }
    inside
}

/// Teasers in the container of an article are dropped if they are at most this many times as long
/// as the article ...
const TEASER_TIMES_MAX: u64 = 8;
/// ... and the article has at least this many bytes and sentence marks.
const TEASED_BYTES_MIN: u64 = 150;
const TEASED_MARKS_MIN: u64 = 2;

/// Drops runs of teasers inside `chosen`, unless they are all that it holds: a list of articles is
/// a page of its own.
fn drop_teasers(page: &Page, sums: &[Sum], dropped: &mut [bool], teasers: &[bool], chosen: usize) {
    let nodes = &page.nodes;
    let mut inside = vec![false; nodes.len()];
    inside[chosen] = true;
    let (mut bytes, mut good, mut marks) = (0, 0, 0);
    let mut found = Vec::new();
    for at in chosen + 1..nodes.len() {
        let parent = nodes[at].parent as usize;
        inside[at] = inside[parent] && !teasers[at] && !dropped[at];
        if inside[parent] && teasers[at] && !dropped[at] {
            (bytes, good, marks) =
                (bytes + sums[at].bytes, good + sums[at].good_bytes, marks + sums[at].marks);
            found.push(at);
        }
    }
    let of_article = sums[chosen].good_bytes - good;
    let is_article = of_article >= TEASED_BYTES_MIN
        && sums[chosen].marks - marks >= TEASED_MARKS_MIN
        && bytes <= TEASER_TIMES_MAX * of_article;
    if !is_article {
        return;
    }
    found.iter().for_each(|at| dropped[*at] = true);
    for at in chosen + 1..nodes.len() {
        dropped[at] |= dropped[nodes[at].parent as usize];
    }
}

/// Whether a sibling of the chosen element is part of the main text.
fn belongs(node: &Node, sum: &Sum, best_score: i64) -> bool {
    let scores = sum.score * 5 >= best_score.max(50 * 7200);
    let reads = node.tag == Tag::Paragraph
        && (sum.bytes > 120 && !sum.is_linked_over(25)
            || sum.bytes > 30 && sum.link_bytes == 0 && sum.marks > 0);
    reads || scores && !node.hints.any(Hints::AGAINST) && !sum.is_linked_over(25)
}

/// With this many cells a table is one of data, which has few sentences.
const DATA_CELLS_MIN: u32 = 6;

/// Whether a table is one of data: of many cells, of which at most half are links.
fn is_of_data(sum: &Sum) -> bool {
    sum.cells >= DATA_CELLS_MIN && sum.linked_blocks * 2 <= sum.blocks
}

/// Whether an element inside the main text is not part of it: menus, link lists, boxes.
fn is_clutter(node: &Node, sum: &Sum, chosen_bytes: u64) -> bool {
    let is_small = sum.bytes * 2 < chosen_bytes;
    let says =
        |hint: Hints| node.hints.any(hint) && !node.hints.any(Hints::POSITIVE.with(Hints::BODY));
    let (is_negative, may_be_links) = (says(Hints::NEGATIVE), says(Hints::LINKS));
    match node.tag {
        Tag::List | Tag::Definitions => (is_negative || may_be_links) && sum.is_linked_over(20),
        Tag::Table => is_small && sum.is_linked_over(40) && !is_of_data(sum),
        Tag::Div
        | Tag::Section
        | Tag::Form
        | Tag::Header
        | Tag::Cell
        | Tag::Article
        | Tag::Figure
        | Tag::Quote => {
            is_small
                && (is_negative && sum.marks < 2 && sum.cells < DATA_CELLS_MIN
                    || (is_negative || may_be_links) && sum.is_linked_over(10)
                    || sum.is_linked_over(40)
                    || sum.is_linked_over(25) && sum.marks < 2 && sum.blocks > 2)
        }
        _ => false,
    }
}
