//! Recognises the marks that a forum puts beside each post: buttons to reply, and the floor of the
//! post.

use crate::extract::furniture;
use crate::extract::times::{AGO, says_time};

const BUTTONS: [&str; 7] = ["回复", "回覆", "引用", "举报", "舉報", "回帖", "檢舉"];
/// Other words in such a row of buttons.
const BESIDE_BUTTONS: [&str; 14] = [
    "点赞", "點讚", "赞", "讚", "顶", "踩", "支持", "反对", "反對", "分享", "收藏", "编辑", "編輯",
    "删除",
];
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
/// Words beside a number that says how often a page was read. Such a line counts its replies, too.
const VIEWS: [&str; 7] = ["阅读", "查看", "浏览", "点击", "閱讀", "瀏覽", "點擊"];
/// The most bytes of a row of buttons in English.
const LATIN_BYTES_MAX: usize = 48;
/// The most bytes of a line with a time and `#2`. A longer line is a sentence.
const FLOOR_LINE_BYTES_MAX: usize = 48;
/// The names of the second, third and fourth floor.
const FLOORS: [&str; 3] = ["沙发", "板凳", "地板"];

/// Whether a line has a button to reply, and the floor that it names.
pub fn reply_marks(line: &str) -> (bool, Option<u32>) {
    // Hardly any line has one of these, and words take long to look at.
    let is_latin =
        |part: &[u8]| part.eq_ignore_ascii_case(b"eply") || part.eq_ignore_ascii_case(b"uote");
    let chinese = ['回', '引', '举', '舉', '檢', '楼', '樓', '沙', '板'];
    let may_have_mark = line.contains('#')
        || line.len() <= LATIN_BYTES_MAX && line.as_bytes().windows(4).any(is_latin)
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
    let (mut button, mut replies, mut has_more) = (false, false, false);
    for word in words() {
        let Some(marks) = Marks::of(word) else {
            has_more = true;
            continue;
        };
        let at = word.as_ptr() as usize - line.as_ptr() as usize;
        // `12回复` is how many replies there are, unless the number is the end of a clock.
        let is_count = marks.begins_with_number && !line[..at].ends_with(':');
        if !is_count && !is_label(&line[at + word.len()..]) {
            button |= marks.button;
            replies |= marks.replies;
        }
        floor = floor.or(marks.floor).filter(|_| is_short || !word.contains('#'));
    }
    // In English such words are also words of titles, so the line must have nothing else. Houses
    // have floors, too: `1楼 阅览室`.
    let floor = floor.filter(|_| !has_more || line.contains('#') || says_time(line));
    (button && !counts_views(line) || replies && !has_more, floor)
}

/// Whether the word before `behind` is a label, such as `回复：` before an answer. Behind the label of
/// a count is a number.
fn is_label(behind: &str) -> bool {
    let value = behind.strip_prefix([':', '：']).map(str::trim_start);
    value.is_some_and(|value| !value.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a line says how often a page was read: `阅读(12)`, `浏览量：12`, `12次点击`.
fn counts_views(line: &str) -> bool {
    let digit = |c: char| c.is_ascii_digit();
    let is_count = |at: usize, word: &str| {
        let behind = line[at + word.len()..]
            .trim_start_matches(['量', '数', '數', '次', '(', '（', ':', '：', ' ']);
        let before = &line[..at];
        behind.starts_with(digit)
            || before.strip_suffix('次').map_or(before, str::trim_end).ends_with(digit)
    };
    VIEWS.iter().any(|word| line.match_indices(*word).any(|(at, word)| is_count(at, word)))
}

/// The marks in a word that consists only of buttons, floors and numbers. Between the elements of a
/// row of buttons there is often no blank, so that a word may be `1楼回复` or `LikeReply`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Marks {
    /// A button to reply or the like, in Chinese.
    button: bool,
    /// A button to reply, in English.
    replies: bool,
    /// The first floor.
    floor: Option<u32>,
    /// The word begins with a number that is no floor and no time.
    begins_with_number: bool,
}

impl Marks {
    fn of(word: &str) -> Option<Marks> {
        let mut marks = Marks::default();
        let behind = |rest: &str, known: &[&str]| {
            known.iter().find_map(|known| {
                let start = rest.get(..known.len())?;
                start.eq_ignore_ascii_case(known).then_some(known.len())
            })
        };
        let mut rest = word;
        if furniture::begins_with_date(word.as_bytes()) {
            rest = word.trim_start_matches(|c: char| c.is_ascii_digit() || "-.年月日".contains(c));
        }
        while !rest.is_empty() {
            let bytes = if let Some(bytes) = behind(rest, &BUTTONS) {
                marks.button = true;
                bytes
            } else if let Some((floor, bytes)) = floor_at(rest) {
                marks.floor = marks.floor.or(Some(floor));
                bytes
            } else if let Some(bytes) = behind(rest, &["reply", "quote"]) {
                marks.replies = true;
                bytes
            } else if let Some(bytes) =
                behind(rest, &BESIDE_BUTTONS).or_else(|| behind(rest, &BUTTONS_LATIN))
            {
                bytes
            } else {
                let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
                if number.len() == rest.len() {
                    return None;
                }
                let unit = number.trim_start_matches('个');
                let ago = behind(unit, &AGO).filter(|_| !unit.is_ascii());
                marks.begins_with_number |= rest.len() == word.len() && ago.is_none();
                ago.map_or(rest.len() - number.len(), |ago| rest.len() - unit.len() + ago)
            };
            rest = &rest[bytes..];
        }
        Some(marks)
    }
}

/// The floor that `text` begins with, such as `2楼`, `#2` or `2#`, and how many bytes name it.
fn floor_at(text: &str) -> Option<(u32, usize)> {
    if let Some(at) = FLOORS.iter().position(|floor| text.starts_with(floor)) {
        return Some((at as u32 + 2, FLOORS[at].len()));
    }
    let number = text.strip_prefix(['#', '第']).unwrap_or(text);
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    let end = match text.starts_with('#') {
        true => "",
        false => {
            // In `2020#1` the floor is 1.
            let is_number = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
            let behind = |end: &str| number[digits..].strip_prefix(end);
            let ends = ["楼", "樓", "#"].into_iter();
            ends.clone()
                .find(|end| behind(end).is_some_and(|rest| *end != "#" || !is_number(rest)))?
        }
    };
    let floor = (1..=5).contains(&digits).then(|| number[..digits].parse().ok()).flatten()?;
    Some((floor, text.len() - number.len() + digits + end.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a front page each post with a count of its readers and of its replies was a reply.
    #[test]
    fn counts_of_readers_are_no_buttons() {
        for line in [
            "2024-03-05 阅读(12) 回复(3)",
            "浏览：12 | 回复：3",
            "12次点击 回复 3",
            "3月5日 瀏覽量 1,024 回覆 7",
        ] {
            assert_eq!(reply_marks(line), (false, None), "{line}");
        }
        for line in ["2024-03-05 10:20 点击回复", "回复(3) 查看", "回复 | 查看原图"] {
            assert!(reply_marks(line).0 == line.starts_with('回'), "{line}");
        }
    }

    /// The label of an answer was a button, and the floor of a library was that of a post. Pages of
    /// questions and lists of rooms lost all but the first.
    #[test]
    fn labels_and_floors_of_houses() {
        for line in ["回复：", "回复：已处理", "1楼 阅览室", "1楼 两室一厅 80平米"]
        {
            assert_eq!(reply_marks(line), (false, None), "{line}");
        }
        for (line, button, floor) in [
            ("回复：3", true, None),
            ("回复(3)", true, None),
            ("2楼 发表于 2024-03-01 10:20", false, Some(2)),
            ("2楼 2024-03-01 10:20", false, Some(2)),
        ] {
            assert_eq!(reply_marks(line), (button, floor), "{line}");
        }
    }

    /// Buttons and floors without a blank between them were none.
    #[test]
    fn marks_without_blanks() {
        for (line, button, floor) in [
            ("1楼回复", true, Some(1)),
            ("回复2楼", true, Some(2)),
            ("赞回复", true, None),
            ("点赞12回复(3)", true, None),
            ("引用回复举报", true, None),
            ("2026-03-01 10:20回复", true, None),
            ("2026-03-01回复", true, None),
            ("3个月前回复", true, None),
            ("沙发回复", true, Some(2)),
            ("LikeReply", true, None),
            ("Reply3Share", true, None),
            ("Reply#2", true, Some(2)),
            ("2020-03-01#1", false, Some(1)),
            // As before, with blanks.
            ("2楼", false, Some(2)),
            ("第2楼 回复", true, Some(2)),
            ("Reply Quote", true, None),
            ("回复 | 举报", true, None),
        ] {
            assert_eq!(reply_marks(line), (button, floor), "{line}");
        }
        for line in [
            "12回复",
            "回复率上升",
            "我回复了",
            "2楼的邻居",
            "沙发床",
            "No reply",
            "Replying",
            "likely",
            "a#2b",
            "##2",
        ] {
            assert_eq!(reply_marks(line), (false, None), "{line}");
        }
    }
}
