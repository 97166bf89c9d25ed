//! Recognises text of others in an article's container: replies of a thread, teasers of other
//! articles, and what follows a heading such as `Comments` or `相关阅读`.
//!
//! Each sign is one of form, not of length: replies are often longer than what they reply to. Where
//! a sign is missing the text stays, because no later stage can bring it back.
//!
//! - **A reply** has a time, and a button to reply or a floor number. Of siblings of one shape that
//!   have both, the first is the thread's own post, unless its floor says otherwise. A log of an
//!   event and the front page of a blog have times alone and stay whole; so do answers and FAQs.
//! - **A teaser** begins with a linked title and has a time, or is an `article` of its own. Three
//!   of them make a run. Lists of links and tables of a reference have no times and stay whole.
//! - **A heading** counts if nothing but links with summaries, or comments with times, follows it
//!   up to the end. So the chapter `Comments` of a manual stays.

use super::furniture;
use super::score::is_paragraph;
use super::tags::Tag;
use super::tree::{Block, Node, Page};

/// A longer block is no line with a time, a floor or a button.
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
/// Text in front of a heading has so many bytes, or it is not the article.
const ARTICLE_BYTES_MIN: u64 = 60;

/// What the lines of an element say.
#[derive(Clone, Copy, Debug)]
struct Lines {
    /// The number of its first block.
    first: u32,
    blocks: u32,
    bytes: u32,
    /// One says a time.
    time: bool,
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
            let (button, floor) = reply_marks(line);
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
            button: self.button || other.button,
            floor: self.floor.min(other.floor),
            prose: self.prose.min(other.prose),
        };
    }

    fn is_reply(&self) -> bool {
        self.time && (self.button || self.has_floor()) && self.blocks >= 2
    }

    /// Whether a floor stands at the head, before any sentence. Further down it is that of another.
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
    // By parent: the tag and shape of its first post; its teasers of the tag and shape of the
    // first.
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

/// The ends of words behind a number that say how long ago something was.
const AGO: [&str; 14] = [
    "秒前",
    "分钟前",
    "小时前",
    "天前",
    "周前",
    "月前",
    "年前",
    "分鐘前",
    "小時前",
    "minute",
    "hour",
    "day",
    "week",
    "month",
];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// Whether a line has a clock, a day or `3 hours ago`.
fn says_time(line: &str) -> bool {
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(found) = bytes[at..].iter().position(u8::is_ascii_digit) {
        let start = at + found;
        let digits = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        at = start + digits;
        let behind = &line[at..];
        let two_digits =
            behind.get(1..3).is_some_and(|two| two.bytes().all(|byte| byte.is_ascii_digit()));
        let is_clock = digits <= 2 && behind.starts_with(':') && two_digits;
        let is_day = digits <= 2 && behind.starts_with('月') && behind.contains('日');
        if is_clock || is_day || furniture::begins_with_date(&bytes[start..]) {
            return true;
        }
        let word = behind.trim_start().trim_start_matches("个");
        if AGO.iter().any(|ago| word.starts_with(ago) && (!ago.is_ascii() || word.contains(" ago")))
        {
            return true;
        }
        // `5 March 2024` and `March 5, 2024`.
        let is_month = |word: &str| {
            word.get(..3).is_some_and(|start| MONTHS.contains(&&*start.to_ascii_lowercase()))
        };
        let before = line[..start].trim_end().rsplit(' ').next().unwrap_or_default();
        if digits <= 2 && (is_month(word) || is_month(before)) && has_year(line) {
            return true;
        }
    }
    false
}

/// Whether a line has a number of four digits.
fn has_year(line: &str) -> bool {
    line.split(|c: char| !c.is_ascii_digit()).any(|number| number.len() == 4)
}

const BUTTONS: [&str; 7] = ["回复", "回覆", "引用", "举报", "舉報", "回帖", "檢舉"];
const BUTTONS_LATIN: [&str; 10] = [
    "reply",
    "quote",
    "report",
    "with",
    "like",
    "share",
    "edit",
    "permalink",
    "upvote",
    "downvote",
];
/// A longer line with a time and `#2` is about something.
const FLOOR_LINE_BYTES_MAX: usize = 48;
/// What the second, third and fourth floor are called.
const FLOORS: [&str; 3] = ["沙发", "板凳", "地板"];

/// Whether a line has a button to reply, and the floor that it names.
fn reply_marks(line: &str) -> (bool, Option<u32>) {
    // Hardly any line has one of these, and words take long to look at.
    let is_latin =
        |part: &[u8]| part.eq_ignore_ascii_case(b"eply") || part.eq_ignore_ascii_case(b"uote");
    let chinese = ['回', '引', '举', '舉', '檢', '楼', '樓', '沙', '板'];
    let may_have_mark = line.contains('#')
        || line.len() <= HEADING_BYTES_MAX && line.as_bytes().windows(4).any(is_latin)
        || !line.is_ascii() && line.contains(chinese);
    if !may_have_mark {
        return (false, None);
    }
    let words = || {
        line.split(|c: char| c.is_whitespace() || "|·/()（）[]【】:：".contains(c))
            .filter(|w| !w.is_empty())
    };
    // `#2` is also part of titles, so the line must have hardly more than a time besides.
    let is_short =
        words().nth(1).is_none() || line.len() <= FLOOR_LINE_BYTES_MAX && says_time(line);
    let mut floor = None;
    let mut button = false;
    for word in words() {
        button |= BUTTONS.contains(&word);
        floor = floor.or_else(|| floor_of(word)).filter(|_| is_short || !word.contains('#'));
    }
    // In English such words are also words of titles, so the line must have nothing else.
    let is_button = |word: &str| BUTTONS_LATIN.iter().any(|known| known.eq_ignore_ascii_case(word));
    let replies =
        |word: &str| ["reply", "quote"].iter().any(|known| known.eq_ignore_ascii_case(word));
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    button |= words().any(replies) && words().all(|word| is_button(word) || is_number(word));
    (button, floor)
}

/// The floor that a word such as `2楼`, `#2` or `2#` names.
fn floor_of(word: &str) -> Option<u32> {
    if let Some(at) = FLOORS.iter().position(|floor| *floor == word) {
        return Some(at as u32 + 2);
    }
    let number = match word.strip_prefix('#') {
        Some(number) => number,
        None => word.trim_start_matches('第').strip_suffix(['楼', '樓', '#'])?,
    };
    let is_number =
        (1..=5).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| number.parse().ok()).flatten()
}

/// A longer line is no heading of such a list, and no row of buttons in English.
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

impl Heading {
    /// The heading that a block is, without marks and counts: `【相关阅读】`, `3 Comments`, `评论(12)`.
    fn of(page: &Page, block: &Block) -> Option<Heading> {
        let line = line(page, block).filter(|line| line.len() <= HEADING_BYTES_MAX)?;
        let marks = |c: char| !c.is_alphabetic();
        let mut words = line.trim_matches(marks).to_lowercase();
        words = words.trim_end_matches('条').trim_end_matches(marks).to_owned();
        match &*words {
            words if LINKS.contains(&words) => Some(Heading::Links),
            words if COMMENTS.contains(&words) => Some(Heading::Comments),
            _ => None,
        }
    }
}

/// A heading whose following blocks were as expected so far.
struct Tail {
    /// The place of the heading.
    start: usize,
    heading: Heading,
    /// Blocks since the last link, or the last time.
    since: u32,
    /// Links, or times.
    found: u32,
    /// Blocks that are neither these nor short lines.
    written: u32,
}

impl Tail {
    /// Whether `block` may follow.
    fn takes(&mut self, page: &Page, block: &Block) -> bool {
        let is_line = line(page, block).is_some() && block.marks == 0 && !block.in_heading;
        let is_linked = block.link_bytes * 2 > block.bytes;
        let is_sign = match self.heading {
            Heading::Links => is_linked,
            Heading::Comments => line(page, block).is_some_and(says_time),
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

    /// Whether what followed was of others. Links may stand within an article, before its last
    /// paragraph; one summary is no list. What a heading alone stood for was told by its name.
    fn is_of_others(&self) -> bool {
        match self.heading {
            Heading::Links => self.written != 1,
            Heading::Comments => self.found > 0 || self.written == 0,
        }
    }
}

/// The number of `blocks` before a heading after which only links, or only comments, follow; all of
/// them if there is none.
pub fn before_others(page: &Page, blocks: &[Block]) -> usize {
    let mut tail: Option<Tail> = None;
    let (mut bytes, mut sentences) = (0, false);
    for (at, block) in blocks.iter().enumerate() {
        if let Some(heading) = Heading::of(page, block) {
            match &mut tail {
                Some(tail) => (tail.heading, tail.since) = (heading, 0),
                None if bytes >= ARTICLE_BYTES_MIN && sentences => {
                    tail = Some(Tail { start: at, heading, since: 0, found: 0, written: 0 });
                }
                None => {}
            }
        } else if tail.as_mut().is_some_and(|tail| !tail.takes(page, block)) {
            tail = None;
        }
        bytes += u64::from(block.bytes);
        sentences |= is_paragraph(block) && block.marks > 0;
    }
    tail.filter(Tail::is_of_others).map_or(blocks.len(), |tail| tail.start)
}
