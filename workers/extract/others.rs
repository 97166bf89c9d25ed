//! Recognises text of others in an article's container: replies of a thread, teasers of other
//! articles, and what follows a heading such as `Comments` or `相关阅读`.
//!
//! Each sign is a sign of form, not of length, because replies are often longer than the text that
//! they reply to. If a sign is missing, the text stays, because no later stage can bring it back.
//!
//! - **A reply** has a time, however brief, and a button to reply or a floor number. Of siblings of
//!   one shape that have both, the first is the thread's own post, unless its floor says otherwise.
//!   A log of an event and the front page of a blog have only times and stay whole. Answers and
//!   FAQs stay whole, too.
//! - **A teaser** begins with a linked title and has a time, or is an `article` of its own. Three
//!   of them make a run. Lists of links and tables of a reference have no times and stay whole.
//! - **A heading** counts if nothing but links with summaries, or comments with times, follows it
//!   up to the end. So the chapter `Comments` of a manual stays.

use crate::extract::reply_marks::reply_marks;
use crate::extract::score::is_paragraph;
use crate::extract::tags::Tag;
use crate::extract::times::{is_stamp, says_time};
use crate::extract::tree::{Block, Node, Page};

/// The most bytes of a line with a time, a floor or a button.
const LINE_BYTES_MAX: u32 = 96;
/// Teasers of a run.
const TEASERS_MIN: u16 = 3;
/// Blocks and bytes of a teaser.
const TEASER_BLOCKS_MAX: u32 = 8;
const TEASER_BYTES_MAX: u32 = 1500;
/// Bytes of a linked title: four Chinese characters.
const TITLE_BYTES_MIN: u32 = 12;
/// Bytes of a summary behind a linked title.
const SUMMARY_BYTES_MAX: u32 = 600;
/// Blocks at the head of a reply: who wrote it, when, and on which floor.
const HEAD_BLOCKS: u32 = 8;
/// Blocks of one comment.
const COMMENT_BLOCKS_MAX: u32 = 8;
/// The fewest bytes in front of a heading. A shorter text there is not the article.
const ARTICLE_BYTES_MIN: u64 = 60;

/// The signs in the lines of an element.
#[derive(Clone, Copy, Debug)]
struct Lines {
    /// The number of its first block.
    first: u32,
    blocks: u32,
    bytes: u32,
    /// One says a time.
    time: bool,
    /// One is marked as a time, or says one so briefly that it counts only beside a sign of a
    /// reply: `4h`, `Mar 3`.
    stamp: bool,
    /// One is a button to reply.
    button: bool,
    /// The first block with a floor, and that floor.
    floor: (u32, u32),
    /// The first block with a sentence.
    prose: u32,
}

impl Lines {
    const NONE: Lines = Lines {
        first: u32::MAX,
        blocks: 0,
        bytes: 0,
        time: false,
        stamp: false,
        button: false,
        floor: (u32::MAX, 0),
        prose: u32::MAX,
    };

    fn of(page: &Page, number: u32, block: &Block) -> Lines {
        let mut lines = Lines { first: number, blocks: 1, bytes: block.bytes, ..Lines::NONE };
        if is_paragraph(block) && block.marks > 0 {
            lines.prose = number;
        }
        if let Some(line) = line(page, block) {
            lines.time = says_time(line);
            lines.stamp = block.has_time || is_stamp(line);
            // A heading with a number is that of a part of the text.
            let (button, floor) = if block.in_heading { (false, None) } else { reply_marks(line) };
            lines.button = button;
            lines.floor = floor.map_or(Lines::NONE.floor, |floor| (number, floor));
        }
        lines
    }

    fn add(&mut self, other: Lines) {
        *self = Lines {
            first: self.first.min(other.first),
            blocks: self.blocks + other.blocks,
            bytes: self.bytes.saturating_add(other.bytes),
            time: self.time || other.time,
            stamp: self.stamp || other.stamp,
            button: self.button || other.button,
            floor: self.floor.min(other.floor),
            prose: self.prose.min(other.prose),
        };
    }

    fn is_reply(&self) -> bool {
        (self.time || self.stamp) && (self.button || self.has_floor()) && self.blocks >= 2
    }

    /// Whether there is a floor at the head, before any sentence. A floor further down belongs to
    /// another post.
    fn has_floor(&self) -> bool {
        self.floor.1 > 0 && self.floor.0 - self.first < HEAD_BLOCKS && self.floor.0 <= self.prose
    }

    fn is_teaser(&self, page: &Page, tag: Tag) -> bool {
        let is_titled = |at: u32| {
            let block = &page.blocks[(self.first + at) as usize];
            block.bytes >= TITLE_BYTES_MIN && block.link_bytes * 10 >= block.bytes * 9
        };
        (2..=TEASER_BLOCKS_MAX).contains(&self.blocks)
            && self.bytes <= TEASER_BYTES_MAX
            && (self.time || tag == Tag::Article)
            && !self.button
            && (is_titled(0) || is_titled(1))
    }
}

/// By index, the elements that begin a reply, and those that begin a teaser.
#[derive(Debug)]
pub struct Others {
    /// Whether an element is a reply.
    pub replies: Vec<bool>,
    /// Whether an element is a teaser in a run.
    pub teasers: Vec<bool>,
}

impl Others {
    /// Both.
    pub fn either(&self) -> Vec<bool> {
        self.replies.iter().zip(&self.teasers).map(|(reply, teaser)| *reply || *teaser).collect()
    }
}

/// Looks through `page` for replies and teasers. Visits each node four times and each block once.
pub fn of(page: &Page) -> Others {
    let nodes = &page.nodes;
    let mut lines = vec![Lines::NONE; nodes.len()];
    for (number, block) in (0..).zip(&page.blocks) {
        lines[block.node as usize].add(Lines::of(page, number, block));
    }
    // The innermost elements that have the signs of a reply, by the elements around them.
    let mut posts = vec![0u32; nodes.len()];
    for at in (1..nodes.len()).rev() {
        if posts[at] == 0 && is_item(&nodes[at]) && lines[at].is_reply() {
            posts[at] = 1;
        }
        let (parent, own) = (nodes[at].parent as usize, lines[at]);
        lines[parent].add(own);
        posts[parent] += posts[at];
    }
    let items = || nodes.iter().enumerate().skip(1).filter(|(_, node)| is_item(node));
    let mut replies = vec![false; nodes.len()];
    // By parent: the tag and shape of its first post; the number of its teasers with the tag and
    // shape of the first.
    let mut thread = vec![None; nodes.len()];
    let mut runs = vec![(None, 0u16); nodes.len()];
    for (at, node) in items() {
        let (parent, form) = (node.parent as usize, Some((node.tag, node.shape)));
        if posts[at] == 1 && (node.shape != 0 || lines[at].has_floor()) {
            let is_first = thread[parent].is_none();
            if is_first {
                thread[parent] = form;
            }
            replies[at] = thread[parent] == form
                && (!is_first || lines[at].has_floor() && lines[at].floor.1 > 1);
        } else if posts[at] == 0 && lines[at].is_teaser(page, node.tag) {
            let (first, count) = &mut runs[parent];
            if *count == 0 {
                *first = form;
            }
            *count = count.saturating_add(u16::from(*first == form));
        }
    }
    let mut teasers = vec![false; nodes.len()];
    for (at, node) in items() {
        let (form, count) = runs[node.parent as usize];
        let is_one = form == Some((node.tag, node.shape)) && posts[at] == 0;
        teasers[at] = count >= TEASERS_MIN && is_one && lines[at].is_teaser(page, node.tag);
    }
    Others { replies, teasers }
}

/// Elements that hold one of several posts.
fn is_item(node: &Node) -> bool {
    matches!(node.tag, Tag::Div | Tag::Item | Tag::Article | Tag::Section | Tag::Table | Tag::Row)
}

/// The text of a block that is short and no sentence.
fn line<'p>(page: &'p Page, block: &Block) -> Option<&'p str> {
    if block.bytes > LINE_BYTES_MAX {
        return None;
    }
    let line = str::from_utf8(page.text_of(block)).ok()?.trim();
    (!line.ends_with(['。', '！', '？', '.', '!', '?', '；', '…'])).then_some(line)
}

/// The most bytes of a heading of such a list.
const HEADING_BYTES_MAX: usize = 48;

/// What follows a heading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heading {
    Links,
    Comments,
}

const LINKS: [&str; 50] = [
    "相关阅读",
    "相关新闻",
    "相关文章",
    "相关推荐",
    "相关报道",
    "相关内容",
    "相关资讯",
    "相关稿件",
    "相关专题",
    "推荐阅读",
    "推荐文章",
    "推荐新闻",
    "延伸阅读",
    "热门推荐",
    "热门文章",
    "热门新闻",
    "热点新闻",
    "热点推荐",
    "精彩推荐",
    "猜你喜欢",
    "为您推荐",
    "为你推荐",
    "更多阅读",
    "更多新闻",
    "更多文章",
    "最新文章",
    "最新新闻",
    "编辑推荐",
    "大家都在看",
    "相關閱讀",
    "相關新聞",
    "相關文章",
    "推薦閱讀",
    "延伸閱讀",
    "related",
    "related articles",
    "related posts",
    "related stories",
    "related news",
    "related content",
    "recommended",
    "recommended for you",
    "recommended articles",
    "you may also like",
    "you might also like",
    "more stories",
    "more news",
    "more articles",
    "read next",
    "up next",
];
const COMMENTS: [&str; 35] = [
    "网友评论",
    "网友跟帖",
    "网友留言",
    "全部评论",
    "所有评论",
    "最新评论",
    "热门评论",
    "精彩评论",
    "精选评论",
    "用户评论",
    "读者评论",
    "文章评论",
    "评论列表",
    "评论",
    "发表评论",
    "我要评论",
    "留言",
    "跟帖",
    "網友評論",
    "評論",
    "comment",
    "comments",
    "reader comments",
    "responses",
    "response",
    "replies",
    "reply",
    "leave a comment",
    "leave a reply",
    "post a comment",
    "add a comment",
    "write a comment",
    "join the conversation",
    "join the discussion",
    "回复列表",
];

/// Those of them that are also names of chapters: of an API, of what a program needs.
const CHAPTERS: [&str; 7] =
    ["related", "recommended", "response", "responses", "reply", "replies", "comment"];

impl Heading {
    /// The heading that a block is, without marks and counts: `【相关阅读】`, `3 Comments`, `评论(12)`; and
    /// whether it may be that of a chapter.
    fn of(page: &Page, block: &Block) -> Option<(Heading, bool)> {
        let line = line(page, block).filter(|line| line.len() <= HEADING_BYTES_MAX)?;
        let marks = |c: char| !c.is_alphabetic();
        let mut words = line.trim_matches(marks).to_lowercase();
        words = words.trim_end_matches('条').trim_end_matches(marks).to_owned();
        let heading = match &*words {
            words if LINKS.contains(&words) => Heading::Links,
            words if COMMENTS.contains(&words) => Heading::Comments,
            _ => return None,
        };
        Some((heading, CHAPTERS.contains(&&*words)))
    }
}

/// A heading whose following blocks were as expected so far.
struct Tail {
    /// The place of the heading.
    start: usize,
    heading: Heading,
    /// Whether it may be the heading of a chapter.
    may_be_chapter: bool,
    /// Blocks that follow, except headings of such lists.
    blocks: u32,
    /// Blocks since the last link, or the last time.
    since: u32,
    /// Links, or times.
    found: u32,
    /// Blocks that are neither links nor times nor short lines.
    written: u32,
}

impl Tail {
    fn of(start: usize, (heading, may_be_chapter): (Heading, bool)) -> Tail {
        Tail { start, heading, may_be_chapter, blocks: 0, since: 0, found: 0, written: 0 }
    }

    /// Whether `block` may follow.
    fn takes(&mut self, page: &Page, block: &Block) -> bool {
        self.blocks += 1;
        let is_line = line(page, block).is_some() && block.marks == 0 && !block.in_heading;
        let is_linked = block.link_bytes * 2 > block.bytes;
        let is_sign = match self.heading {
            Heading::Links => is_linked,
            Heading::Comments => {
                line(page, block).is_some_and(|line| block.has_time || says_time(line))
            }
        };
        if is_sign {
            (self.since, self.found) = (0, self.found + 1);
            return true;
        }
        if is_line && self.heading == Heading::Links {
            return true;
        }
        self.since += 1;
        self.written += u32::from(!is_line);
        match self.heading {
            Heading::Links => self.found > 0 && self.since == 1 && block.bytes <= SUMMARY_BYTES_MAX,
            Heading::Comments => is_linked || self.since <= COMMENT_BLOCKS_MAX,
        }
    }

    /// Whether the blocks that followed are text of others. Links may stand within an article,
    /// before its last paragraph, and one summary is no list.
    fn is_of_others(&self) -> bool {
        !self.is_chapter()
            && match self.heading {
                Heading::Links => self.written != 1,
                Heading::Comments => self.found > 0 || self.written == 0,
            }
    }

    /// Whether the heading is so far that of a chapter: neither links nor times follow, but other
    /// text.
    fn is_chapter(&self) -> bool {
        self.may_be_chapter && self.found == 0 && self.blocks > 0
    }
}

/// The number of `blocks` before a heading after which only links, or only comments, follow; the
/// number of all blocks if there is no such heading.
pub fn before_others(page: &Page, blocks: &[Block]) -> usize {
    let mut tail: Option<Tail> = None;
    let (mut bytes, mut sentences) = (0, false);
    for (at, block) in blocks.iter().enumerate() {
        if let Some(heading) = Heading::of(page, block) {
            match &mut tail {
                Some(tail) if !tail.is_chapter() => {
                    (tail.heading, tail.since) = (heading.0, 0);
                    tail.may_be_chapter &= heading.1;
                }
                None if bytes < ARTICLE_BYTES_MIN || !sentences => {}
                _ => tail = Some(Tail::of(at, heading)),
            }
        } else if tail.as_mut().is_some_and(|tail| !tail.takes(page, block)) {
            tail = None;
        }
        bytes += u64::from(block.bytes);
        sentences |= is_paragraph(block) && block.marks > 0;
    }
    tail.filter(Tail::is_of_others).map_or(blocks.len(), |tail| tail.start)
}
