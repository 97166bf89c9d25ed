//! Recognises lines that a site puts above and below its articles: credits, share bars, links to
//! more.
//!
//! They are the same on every page of a site and differ between sites, so they would make copies
//! look different and different pages look alike. Only whole short lines are recognised, and never
//! lines between sentences.

use memchr::memmem;

/// The most bytes of such a line. A longer line is a sentence of the article, whatever its
/// beginning.
const LINE_BYTES_MAX: usize = 96;

/// The beginnings of such lines, in lower case; brackets and blanks before them do not count.
const BEGINNINGS: [&str; 44] = [
    "责任编辑",
    "编辑:",
    "编辑：",
    "审核:",
    "审核：",
    "校对:",
    "校对：",
    "作者:",
    "作者：",
    "记者:",
    "来源:",
    "来源：",
    "来源 :",
    "文章来源",
    "本文来源",
    "原标题",
    "更新时间",
    "发布时间",
    "发布日期",
    "分享到",
    "分享至",
    "扫一扫",
    "关闭窗口",
    "相关阅读",
    "相关文章",
    "相关新闻",
    "相关稿件",
    "相关推荐",
    "延伸阅读",
    "推荐阅读",
    "版权声明",
    "版权所有",
    "免责声明",
    "share this",
    "posted on",
    "posted by",
    "published on",
    "published:",
    "updated:",
    "last updated",
    "written by",
    "©",
    "all rights reserved",
    "related articles",
];
/// Beginnings that are also parts of words and of sentences. No letter may follow them, unless it
/// begins another one: `点赞收藏`.
const WORDS: [&str; 11] = [
    "责编",
    "初审",
    "终审",
    "扫码",
    "点赞",
    "收藏",
    "字号",
    "打印本页",
    "上一篇",
    "下一篇",
    "分享",
];

/// Whether `line` belongs to the site and not to the article.
pub fn is_furniture(line: &[u8]) -> bool {
    if line.len() > LINE_BYTES_MAX {
        return false;
    }
    let lower = line.to_ascii_lowercase();
    let start = ["（", "【", "[", "(", "《", " "];
    let mut rest = &lower[..];
    while let Some(stripped) = start.iter().find_map(|open| rest.strip_prefix(open.as_bytes())) {
        rest = stripped;
    }
    // With a full stop inside it is prose with such a beginning.
    let is_prose =
        memmem::find(rest, "。".as_bytes()).is_some() || memmem::find(rest, b". ").is_some();
    !is_prose
        && (begins_with_date(rest)
            || BEGINNINGS.iter().any(|beginning| rest.starts_with(beginning.as_bytes()))
            || begins_with_words(rest))
}

fn begins_with_words(line: &[u8]) -> bool {
    let Ok(line) = str::from_utf8(line) else { return false };
    let mut rest = line;
    while let Some(stripped) = WORDS.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = stripped;
    }
    let goes_on = rest.starts_with(|c: char| c.is_alphabetic());
    rest.len() < line.len() && !goes_on
}

/// Whether a line begins with a day such as `2024-01-03`, `2024/1/3` or `2024年1月3日`.
pub(super) fn begins_with_date(line: &[u8]) -> bool {
    let number = |line: &mut &[u8], digits_max: usize| {
        let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
        *line = &line[digits..];
        (1..=digits_max).contains(&digits)
    };
    let mark = |line: &mut &[u8], marks: [&str; 4]| {
        let rest = marks.iter().find_map(|mark| line.strip_prefix(mark.as_bytes()));
        *line = rest.unwrap_or(line);
        rest.is_some()
    };
    let mut rest = line;
    number(&mut rest, 4)
        && line.len() - rest.len() == 4
        && mark(&mut rest, ["-", "/", ".", "年"])
        && number(&mut rest, 2)
        && mark(&mut rest, ["-", "/", ".", "月"])
        && number(&mut rest, 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A credit is recognised, and a sentence that begins like one is not.
    #[test]
    fn credits_are_not_sentences() {
        for line in [
            "（责任编辑：王小二）",
            "编辑：刘珊 责任编辑：刘亮",
            "© 2024 Example Ltd",
            "Share this article",
            "相关稿件",
            "点赞 12",
            "点赞收藏分享",
            "责编：王小二",
            "上一篇：新桥通车",
            "字号 大 中 小",
        ] {
            assert!(is_furniture(line.as_bytes()), "{line}");
        }
        for line in [
            "收藏家说，这件瓷器出自景德镇。",
            "编辑部今天发表文章",
            // Leads without a full stop were removed.
            "收藏家王先生向博物馆捐赠三百件文物",
            "点赞新时代的志愿者",
            "分享一个办法",
            "Shares fell",
            "1949年10月1日，中华人民共和国成立。",
            "2024 was dry",
            "12-1-2",
            "",
        ] {
            assert!(!is_furniture(line.as_bytes()), "{line}");
        }
    }
}
