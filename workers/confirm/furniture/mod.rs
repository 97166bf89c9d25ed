//! Furniture: what stands around an article and is no part of its content. [`Furniture`] has the
//! list.
//!
//! The same words and figures stand in sentences, too: a mill has `5,000 shares`, a session opens
//! on `2024-10-05`. Furniture is distinguished from sentences by its frame. A label or a date is
//! furniture where it is a line of its own. It is one if on each side there is the edge of the
//! text, a mark, white space that no Latin sentence runs through, or another label.

mod counters;
mod credits;
mod date_lines;
mod emoticons;
mod entities;
mod frames;
mod group;
mod labels;
mod links;
mod piece;
mod relative_days;
mod shares;

use crate::confirm::align::digits::is_digit;
use crate::confirm::align::{Passage, Tokens};
use crate::confirm::furniture::group::Group;
pub use crate::confirm::furniture::piece::Furniture;
use crate::confirm::numbers::times::is_digit_or_day;
use std::ops::Range;

/// The most tokens between a number and the far side of its label.
const PIECE_TOKENS_MAX: usize = 12;

/// The kind of furniture of the tokens of `range`, if all of them are furniture. If there are
/// several kinds, the first one.
pub fn of(tokens: &Tokens<'_>, range: Range<usize>) -> Option<Furniture> {
    let (mut first, mut at) = (None, range.start);
    while at < range.end {
        let (found, end) = piece_at(tokens, at)?;
        first = first.or(Some(found));
        at = end.max(at + 1);
    }
    first
}

/// Whether two pieces of furniture say the opposite of each other: `[强]` and `[弱]`, `&lt;` and
/// `&gt;`. Symmetric.
pub fn are_opposites(one: Passage<'_>, other: Passage<'_>) -> bool {
    let (Passage { tokens: a, range: x }, Passage { tokens: b, range: y }) = (one, other);
    x.len() == 1
        && y.len() == 1
        && (entities::are_opposites((a, x.start), (b, y.start))
            || emoticons::are_opposites((a, x.start), (b, y.start)))
}

/// Whether the digit at `at` is part of a date that names its month or of a date in digits.
pub(super) fn is_date(tokens: &Tokens<'_>, at: usize) -> bool {
    is_digit(tokens.token(at)) && Group::around(tokens, at).date
}

/// The piece that the token at `at` belongs to, and the token behind that piece.
fn piece_at(tokens: &Tokens<'_>, at: usize) -> Option<(Furniture, usize)> {
    let is_number = |at: &usize| is_digit_or_day(tokens.token(*at));
    let place = |at: usize| tokens.places[at].start as usize;
    let behind =
        |end: usize| (at..tokens.len()).find(|at| place(*at) >= end).unwrap_or(tokens.len());
    if let Some(end) = links::end(&tokens.text, place(at)) {
        return Some((Furniture::Link, behind(end)));
    }
    if let Some(end) = shares::end(tokens, at) {
        return Some((Furniture::Share, behind(end)));
    }
    if let Some(end) = emoticons::end(tokens, at) {
        return Some((Furniture::Emoticon, behind(end)));
    }
    if entities::is_entity(tokens, at) {
        return Some((Furniture::Entity, at + 1));
    }
    if date_lines::is_today(tokens, at) {
        return Some((Furniture::DateLine, at + 1));
    }
    if let Some(end) = relative_days::end(tokens, at) {
        return Some((Furniture::DateLine, behind(end)));
    }
    // A label or a unit belongs to the number in front of it or behind it.
    let next = (at..tokens.len().min(at + PIECE_TOKENS_MAX)).find(is_number);
    let last = (at.saturating_sub(PIECE_TOKENS_MAX)..at).rev().find(is_number);
    let of_number = next.into_iter().chain(last).find_map(|number| {
        let (found, bytes) = Group::around(tokens, number).furniture()?;
        let behind = behind(bytes.end);
        (place(at) >= bytes.start && behind > at).then_some((found, behind))
    });
    of_number.or_else(|| credits::end(tokens, at).map(|end| (Furniture::Credit, end)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn furniture(text: &str, part: &str) -> Option<Furniture> {
        let tokens = Tokens::of(text).expect("short");
        of(&tokens, tokens.range_of(part))
    }

    /// A label, a date or a name is furniture in a line of its own.
    #[test]
    fn lines_are_furniture() {
        use Furniture::*;
        for (text, part, kind) in [
            ("正文。 阅读 1234 评论 5", "1234", Counter),
            ("阅读(1234) 评论(5) 正文", "5", Counter),
            ("查看: 1234|回复: 56 正文", "56", Counter),
            ("您是第 12345 位访客 正文", "12345", Counter),
            ("浏览次数:123次 正文", "123", Counter),
            ("明天见[微笑][doge]", "微笑][doge", Emoticon),
            ("好久不见[泪]我很想你", "泪", Emoticon),
            ("正文。 播放 12.3万", "12.3万", Counter),
            ("转载于 2025,已有 8796 次浏览,39 人点赞 正文", "8796", Counter),
            ("the text. 41012 views, 7 comments", "7 comments", Counter),
            ("the text without a mark 41012 views, 7 comments", "41012", Counter),
            ("viewed 1234 times. the text", "1234", Counter),
            ("views 1234 the council met", "1234", Counter),
            ("1,234 views the council met", "1,234", Counter),
            ("1.2k views the council met", "1", Counter),
            ("4 min read the council met", "4", Counter),
            ("the council met by the river views 1234", "1234", Counter),
            ("访问数:12345 当前时间:10:02:33 正文", "02", Clock),
            ("10:30 2024-10-05 正文", "30", DateLine),
            ("2024-10-05 08:30 来源:本站 正文", "10", DateLine),
            ("2024年10月5日 08:30 来源:新华网 正文", "5", DateLine),
            ("正文。发布时间:2024年10月5日", "10", DateLine),
            ("发布时间:2024年10月5日 日下正文", "5", DateLine),
            ("posted on october 5, 2024 by admin. the text", "october 5", DateLine),
            ("the text. last modified: 5 october 2024, 10:22.", "22", DateLine),
            ("published: 2024-10-05 $names of the text", "05", DateLine),
            ("3天前 正文", "3天", Clock),
            ("the text. 5 minutes ago", "5", Clock),
            ("(石桥镇,3月5日)今年的庙会办得热闹。", "5", DateLine),
            ("dover, 5 march — the harbour was full.", "5", DateLine),
            ("dover, march 5 -- the harbour was full.", "5", DateLine),
            ("dover, 5 march 2025 the harbour was full.", "dover", DateLine),
            ("by j. smith, 5 march 2025 the harbour was full.", "smith", DateLine),
            ("reposted on 5 march 2025, 12 views. the text", "5 march", DateLine),
            ("走过柳湾老街:一条石板路的前世今生 (柳湾,4月3日)老街只有480米长。", "3", DateLine),
            ("正文 版权所有 © 2023 京icp备00000001号", "2023", Copyright),
            ("正文 京icp备00000001号-1", "1", Copyright),
            ("copyright (c) 2019-2023 by the authors", "2019", Copyright),
            ("copyright 2025 the herald. all rights reserved. the text", "herald", Copyright),
            ("正文。责任编辑:张伟", "张伟", Credit),
            ("(责任编辑:张建国)", "建", Credit),
            ("今天是星期二 首页 正文", "二", DateLine),
            ("现在是北京时间 14:05:33,欢迎访问本站 正文", "05", Clock),
            ("[ 1 user online ] [ 20,113 hits since 2004 ] the text", "20,113", Counter),
            ("正文。分享到:微信 微博 qq空间", "分享到:微信 微博 qq空间", Share),
            ("the text. share on facebook | tweet this | email", "share on facebook", Share),
            ("他说:&ldquo;好&rdquo; 正文", "rdquo", Entity),
            ("来源:央视新闻 正文", "来源:央视新闻", Credit),
            ("更新:17分钟前 正文", "17", Clock),
            ("回复率 98% · 已有 236 人收藏 正文", "98", Counter),
            ("累积人气:20,415 今日人气:17 正文", "17", Counter),
            ("324 人赞同了该回答 · 编辑于 昨天 正文", "324", Counter),
            ("324 人赞同了该回答 · 编辑于 昨天 正文", "昨", DateLine),
            ("文件大小:2.4 mb 评分:4.5 正文", "4.5", Counter),
            ("posted 2 hours ago · 14 views · 0 comments selling my lathe", "0", Counter),
            ("★★★★☆ 37 people found this helpful the kettle boils", "37", Counter),
            ("last seen 5 min ago | reputation 1,204 | viewed 88 times why does", "5", Clock),
            ("last seen 5 min ago | reputation 1,204 | viewed 88 times why does", "204", Counter),
            ("last seen 5 min ago | reputation 1,204 | viewed 88 times why does", "88", Counter),
            ("the text. edited by john smith.", "john smith", Credit),
            ("the text. views: 1,234,567", "1,234,567", Counter),
            ("the text. 512 shares", "512", Counter),
            ("lectures : 1234 the text", "1234", Counter),
            ("点击率:3.5% 正文", "3", Counter),
            ("12 views | yesterday the text", "yesterday", DateLine),
            ("12 views | 昨天10:25 正文", "昨", DateLine),
            ("views: 1,234 a year after the storm the town", "234", Counter),
            ("source: the herald. the text", "herald", Credit),
        ] {
            assert_eq!(furniture(text, part), Some(kind), "{text}");
        }
    }

    /// Labels were known in Chinese and English alone, so that a copy with another counter or date
    /// was refused in all other languages. Sentences with the same words say facts there, too.
    #[test]
    fn labels_of_many_languages() {
        use Furniture::{Counter, DateLine};
        for (text, part, expected) in [
            ("조회수 1,234 댓글 56 시장은 예산을 발표했다.", "234", Some(Counter)),
            ("조회 45 추천 2 댓글 0 | 방금 전 냉장고를 바꾸려고", "2", Some(Counter)),
            ("조회 45 추천 2 댓글 0 | 방금 전 냉장고를 바꾸려고", "방금 전", Some(DateLine)),
            ("просмотров: 96 | комментариев: 1 | вчера в 11:20 ищу", "вчера", Some(DateLine)),
            ("мы ездили вчера на озеро", "вчера", None),
            ("阅览数 1,234 コメント 5件 市长は予算を発表した。", "234", Some(Counter)),
            ("просмотров: 1234 мэр объявил бюджет.", "1234", Some(Counter)),
            ("мэр объявил бюджет. 12 комментариев", "12", Some(Counter)),
            ("aufrufe: 1.234 der rat beriet den haushalt.", "234", Some(Counter)),
            ("vues : 1 234 le conseil a voté le budget.", "1", Some(Counter)),
            ("lượt xem: 1.234 hội đồng đã họp.", "234", Some(Counter)),
            ("عدد المشاهدات: 1234 اجتمع المجلس.", "1234", Some(Counter)),
            ("正文 浏览人次:1234", "1234", Some(Counter)),
            ("stand: 12.11.2024 der rat beriet.", "11", Some(DateLine)),
            ("publié le 12/11/2024 le conseil a voté.", "11", Some(DateLine)),
            ("опубликовано 12.11.2024 мэр объявил.", "11", Some(DateLine)),
            ("фильм получил 12 комментариев от зрителей", "12", None),
            ("der rat bekam 12 kommentare aus der stadt", "12", None),
            ("시장은 댓글 56 개를 읽었다", "56", None),
            ("les lectures 12 et 13 du conseil", "12", None),
        ] {
            assert_eq!(furniture(text, part), expected, "{text}");
        }
    }

    /// A date with its clock was one line only where a space parted both, and a line of an agency
    /// only with its dash directly behind the date.
    #[test]
    fn dates_with_clocks() {
        use Furniture::*;
        for (text, part, kind) in [
            ("12.11.2024 - 10:45 the text", "10:45", DateLine),
            ("12.11.2024, 10:45 the text", "45", DateLine),
            ("the text. 2024-11-03t10:25:12z", "12z", DateLine),
            ("2024-11-03t10:25:12+08:00 the text", "03", DateLine),
            ("2024.11.12. 10:45 the text", "45", DateLine),
            ("۱۴۰۳/۰۸/۱۲ - ۱۰:۲۵ the text", "۱۰", DateLine),
            ("november 3, 2024 at 10:25 am the text", "25", DateLine),
            ("updated: 10:25 gmt, 3 november 2024 the text", "3", DateLine),
            ("3h ago the text", "3", Clock),
            ("the text. 5 mins ago", "5", Clock),
            ("london, nov 3 (reuters) - the mayor said", "3", DateLine),
            ("新华社北京11月3日电 正文", "3", DateLine),
            ("市长谈新桥 中新网上海11月3日电(记者 王明)正文", "3", DateLine),
        ] {
            assert_eq!(furniture(text, part), Some(kind), "{text}");
        }
        for (text, part) in [
            ("on 12.11.2024, 10:45 people came", "12"),
            ("北京11月3日电影节开幕", "3"),
            ("市长说,11月3日电网检修", "3"),
            ("the vote is on november 3, 2024 at 10:25 in the hall", "10"),
            ("the report of nov 3 (reuters) says that he left", "3"),
            ("3h of rain fell ago", "3"),
        ] {
            assert_eq!(furniture(text, part), None, "{text}");
        }
    }

    /// The same words and figures in a sentence are facts.
    #[test]
    fn sentences_are_not() {
        for (text, part) in [
            ("今天最高气温30度", "30"),
            ("市长昨天到访", "昨"),
            ("the kettle has 2 views on this · he counted 0 comments", "2"),
            ("五分之一的人气得说不出话", "一"),
            ("会议改在星期二举行", "二"),
            ("北京时间14:05,火箭点火", "05"),
            ("please share on facebook what you saw", "share on facebook"),
            ("他在会上分享微信营销的经验", "分享微信"),
            ("储备12万吨粮食", "12"),
            ("采购设备30台", "30"),
            ("国务院发布12项措施", "12"),
            ("本次更新3个品种", "3"),
            ("收藏3000册图书", "3000"),
            ("粉丝12万人,创下纪录", "12"),
            ("该校招生人数500", "500"),
            ("考试时间:3月5日上午", "5"),
            ("开庭日期:2024-03-05", "05"),
            ("定于 2024-10-05 召开", "10"),
            ("主队以 3:1 战胜客队", "3"),
            ("3月6日0—24时,我市无新增病例", "6"),
            ("将于3月5日在北京召开", "5"),
            ("今天(12月19日)出版", "19"),
            ("in dover, 5 march 2025 was a holiday", "5"),
            ("dover, 5 march 2025, is where and when", "5"),
            ("dover, 5 march was a holiday", "5"),
            ("the choir of the old harbour town sings (dover, 5 march) in the hall", "5"),
            ("资金来源:财政拨款", "财政"),
            ("电话 400-123-4567", "4567"),
            ("he sold 5,000 shares", "5,000"),
            ("the mill posted 12 percent growth", "12"),
            ("the fair drew 12,000 visitors", "12,000"),
            ("parliament published 12 laws", "12"),
            ("it hits 40 degrees", "40"),
            ("the index hits 4000", "4000"),
            ("he counted 12 hits", "12"),
            ("comments 3 to 5 were struck", "3"),
            ("12 comments were struck", "12"),
            ("1234 shares changed hands", "1234"),
            ("the train leaves at 10:30 from platform two", "10"),
            ("the vote is on 2024-10-05 at noon", "10"),
            ("it was posted on 5 march by the mayor", "5"),
            ("a profit (12 million dollars) again", "12"),
            ("john smith (32) took the chair", "32"),
            ("police: 5 dead in crash — officials say", "5"),
            ("the report was edited by john smith in may", "smith"),
            ("【停水通知】今天8时起停水", "今"),
            ("| 昨天8时起停水", "昨"),
            ("type: sale. amount: 5,000 shares. reason: none", "5,000"),
            ("content: 12 lectures, 5 workshops. teacher: anna", "12"),
            ("opened in may. visitors: 1,200,000 a year. rooms: open", "1,200,000"),
            ("投放覆盖三个城市。点击率:3.5%。转化情况良好", "3"),
        ] {
            assert_eq!(furniture(text, part), None, "{text}");
        }
    }
}
