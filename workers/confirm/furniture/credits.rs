//! Credits: who wrote, photographed, edited or sent a text, and the lead that an agency puts in
//! front of it.
//!
//! A copy of an article names another editor, and another agency sends it from another place. Names
//! and dates in a sentence are facts, so a credit is recognised by its frame: a label with a colon,
//! a bracket that a byline opens, the first clause of a text, or its last words.

use crate::confirm::align::Tokens;
use crate::confirm::align::digits::is_digit;
use crate::confirm::furniture::frames::is_free_before;
use crate::confirm::furniture::labels::{Kind, Labels, is_spaced, starts_own_word};
use crate::text::characters::is_han;

/// The most tokens of a name in a credit, and the most words of one in Latin letters.
const NAME_TOKENS_MAX: usize = 12;
pub const NAME_WORDS_MAX: usize = 4;
/// The most tokens of the label of a credit.
const LABEL_TOKENS_MAX: usize = 4;
/// The most characters of a name in Latin letters.
const NAME_CHARS_MAX: usize = 80;
/// What a review or a court says. Behind a label such as `审核:` it is no name.
const RESULTS: [&str; 29] = [
    "通过", "驳回", "合格", "有罪", "无罪", "维持", "改判", "退回", "同意", "撤销", "淘汰", "完成",
    "胜诉", "败诉", "撤诉", "上诉", "批准", "拒绝", "否决", "支持", "待定", "有效", "无效", "死刑",
    "缓刑", "无期", "元", "输入", "感染",
];
/// The characters of a Chinese name.
const HAN_NAME_CHARS: std::ops::RangeInclusive<usize> = 2..=4;
/// The most characters of the first clause, if it is the lead of an agency.
const LEAD_CHARS_MAX: usize = 24;
/// The most characters of a bracket with a byline.
const BRACKET_CHARS_MAX: usize = 30;
/// The most characters in front of `记者` in such a bracket, for example the name of an agency.
const AGENCY_CHARS_MAX: usize = 6;
/// The most characters of the credits that end a text.
const CLOSING_CHARS_MAX: usize = 60;

const OPEN: [char; 4] = ['(', '[', '【', '〔'];
const CLOSE: [char; 4] = [')', ']', '】', '〕'];
/// Marks that end a sentence in front of a credit, where a full stop needs no space behind it.
const SENTENCE_ENDS: [char; 5] = ['。', '!', '?', ';', '.'];

/// The token behind the credit that has the token at `at`, in its label or its name.
pub fn end(tokens: &Tokens<'_>, at: usize) -> Option<usize> {
    labelled(tokens, at).or_else(|| {
        let (text, place) = (tokens.text.as_ref(), tokens.places[at].start as usize);
        let in_lead = || lead(text).or_else(|| byline(text)).filter(|end| place < *end);
        let in_bracket = || {
            // Most texts have none.
            let may_be = OPEN.iter().any(|mark| tokens.may_have(*mark));
            if may_be { bracketed(text, place) } else { None }
        };
        let closes = || is_in_closing(text, place).then_some(text.len());
        let end = in_lead().or_else(in_bracket).or_else(closes)?;
        let behind = |at: &usize| tokens.places[*at].start as usize >= end;
        Some((at..tokens.len()).find(behind).unwrap_or(tokens.len()))
    })
}

/// The token behind a credit that has the token at `at` and a label of the list: `编辑:王芳`.
fn labelled(tokens: &Tokens<'_>, at: usize) -> Option<usize> {
    let first = at.saturating_sub(NAME_TOKENS_MAX);
    let last = (at + LABEL_TOKENS_MAX).min(tokens.len() - 1);
    // Texts have many edits, and few edits stand behind anything that may be such a label.
    let may_be = |from: &usize| {
        let gap = tokens.gap(*from);
        gap.contains(':') || gap == " " && *from > 0 && tokens.token(*from - 1) == "by"
    };
    (first..=last).rev().filter(may_be).find_map(|from| {
        let (kind, start) = label_before(&tokens.text[..tokens.places[from].start as usize])?;
        let end = name_end(tokens, from, kind);
        if end > from && is_result(tokens.passage(&(from..end))) {
            return None;
        }
        (end > at && start <= tokens.places[at].start as usize).then_some(end)
    })
}

/// The kind and the first byte of the label of a credit that ends `before`.
fn label_before(before: &str) -> Option<(Kind, usize)> {
    let trimmed = before.trim_end();
    let labelled = trimmed.strip_suffix(':').map(str::trim_end);
    if labelled.is_none() && trimmed.len() == before.len() {
        return None;
    }
    let text = labelled.unwrap_or(trimmed);
    Labels::ending(text).iter().find_map(|(label, kind)| {
        let rest = text.strip_suffix(label)?;
        let is_free = starts_own_word(rest, label) && is_free_before(rest, false);
        // `edited by anna smith` needs no colon, and may have one.
        let has_form = match kind {
            Kind::CreditBy => true,
            Kind::Credit | Kind::Byline => labelled.is_some(),
            _ => false,
        };
        let kind = if labelled.is_some() { Kind::Credit } else { Kind::CreditBy };
        (has_form && is_free).then_some((kind, rest.len()))
    })
}

/// The token behind the name that begins at `from`. A name ends at white space; a name in Latin
/// letters has spaces, so it ends at a mark. The result is `from` if the name would be too long.
fn name_end(tokens: &Tokens<'_>, from: usize, kind: Kind) -> usize {
    let latin = tokens.token(from).starts_with(is_spaced);
    let mut end = from + 1;
    while end < tokens.len() {
        let gap = tokens.gap(end);
        let goes_on = match latin {
            true => gap == " " && tokens.token(end).starts_with(is_spaced),
            false => gap.is_empty(),
        };
        if !goes_on || is_digit(tokens.token(end)) {
            break;
        }
        end += 1;
    }
    let max = if latin { NAME_WORDS_MAX } else { NAME_TOKENS_MAX };
    // Without a colon, what follows may be a sentence and no name.
    let is_open = kind == Kind::CreditBy && end < tokens.len() && tokens.gap(end) == " ";
    if end - from > max || is_open { from } else { end }
}

/// Whether what stands behind a label says what a review or a court says.
fn is_result(name: &str) -> bool {
    RESULTS.iter().any(|result| name.ends_with(result))
}

/// Whether Chinese text names a news agency, a site or a paper.
pub fn names_an_agency(text: &str) -> bool {
    text.contains(['社', '网', '报'])
}

/// The end of the lead of an agency, in bytes: `新华社北京5月6日电`, `光明网讯`, `央视网消息:`,
/// `据新华社报道,`.
fn lead(text: &str) -> Option<usize> {
    for (at, c) in text.char_indices().take(LEAD_CHARS_MAX) {
        let (before, rest) = (&text[..at], &text[at..]);
        let next = |len: usize| rest[len..].chars().next();
        let is_mark = |c: Option<char>| c.is_none_or(|c| ":,( \n".contains(c));
        let chars_before = || before.chars().count();
        let ends_with_day =
            || before.ends_with('日') && before.contains(|c: char| c.is_ascii_digit());
        let is_agency = || names_an_agency(before);
        let found = match c {
            // `5月6日电话通知` is a sentence.
            '电' => ends_with_day() && (is_agency() || is_mark(next('电'.len_utf8()))),
            '讯' => {
                at > 0
                    && is_mark(next('讯'.len_utf8()))
                    && !before
                        .ends_with(['喜', '资', '通', '音', '审', '问', '简', '传', '死', '噩'])
            }
            _ => false,
        };
        if found {
            return Some(at + c.len_utf8());
        }
        let (word, chars_max) = match c {
            '消' => ("消息", 18),
            '报' if before.starts_with('据') => ("报道", 18),
            '获' => ("获悉", 8),
            _ => ("", 0),
        };
        if at > 0
            && chars_max > 0
            && let Some(behind) = rest.strip_prefix(word)
        {
            // In `记者从气象局获悉` the name is part of what the text says.
            let is_short = chars_before() <= chars_max
                && !before.contains(['从', '在', '向'])
                && !before.ends_with(['的', '好', '坏', '假', '新']);
            if is_short && behind.starts_with([':', ',']) {
                return Some(at + word.len() + 1);
            }
        }
        if SENTENCE_ENDS.contains(&c) || ",:".contains(c) {
            return None;
        }
    }
    None
}

/// The end of the name of the author in front of a text, in bytes: `本报记者 王芳 `, `by anna smith.`
fn byline(text: &str) -> Option<usize> {
    if let Some(rest) = text.strip_prefix("by ") {
        let near = rest.char_indices().nth(NAME_CHARS_MAX).map_or(rest, |(at, _)| &rest[..at]);
        let name = near.split(['.', '\n']).next()?;
        let mut words = name.split(' ');
        let is_name = words.clone().all(|word| word.len() > 1 && word.chars().all(is_spaced));
        let ends = rest[name.len()..].starts_with('.');
        let count = words.by_ref().count();
        return (ends && is_name && (2..=NAME_WORDS_MAX).contains(&count))
            .then_some("by ".len() + name.len());
    }
    let at = with_agency(text).find("记者")? + "记者".len();
    let name = &text[at..];
    let spaced = name.trim_start_matches(' ');
    let chars = spaced.chars().take_while(|c| is_han(*c)).count();
    let behind = &spaced[spaced.chars().take(chars).map(char::len_utf8).sum::<usize>()..];
    let is_name = spaced.len() < name.len() && HAN_NAME_CHARS.contains(&chars);
    (is_name && behind.starts_with([' ', ':', '/'])).then_some(text.len() - behind.len())
}

/// The end of the bracket that has the byte at `place`, in bytes, if a byline opens it:
/// `(记者 王芳)`, `(文/图 李强)`.
fn bracketed(text: &str, place: usize) -> Option<usize> {
    let before = text[..place].char_indices().rev().take(BRACKET_CHARS_MAX);
    let open = before.take_while(|(_, c)| !CLOSE.contains(c)).find(|(_, c)| OPEN.contains(c))?;
    let from = open.0 + open.1.len_utf8();
    let mut inside = text[from..].char_indices().take(BRACKET_CHARS_MAX + 1);
    let close = inside.find(|(_, c)| CLOSE.contains(c) || SENTENCE_ENDS.contains(c))?;
    let said = text[from..from + close.0].trim();
    let is_credit = opens_a_credit(said) || said.ends_with('摄') || said.ends_with("供图");
    (CLOSE.contains(&close.1) && is_credit).then_some(from + close.0 + close.1.len_utf8())
}

/// Words for a reporter, behind which a name stands without a mark.
const REPORTERS: [&str; 3] = ["记者", "通讯员", "实习生"];

/// Whether what stands in a bracket begins with a byline, or with an agency and `记者`.
fn opens_a_credit(said: &str) -> bool {
    let is_label = |(label, kind): &(&str, Kind)| {
        matches!(kind, Kind::Byline | Kind::Credit | Kind::CreditBy)
            && said.strip_prefix(label).is_some_and(|rest| {
                // A name may touch the word for a reporter. Other labels begin other words:
                // `一审判处`, `审核结果`.
                let name = rest.trim_start_matches([' ', ':', '/', '、']);
                let is_name = !name.starts_with(|c: char| c.is_numeric()) && !is_result(name);
                rest.len() > name.len() && is_name
                    || REPORTERS.iter().any(|reporter| label.ends_with(reporter))
            })
    };
    // `3名记者受伤` is a part of the text.
    let has_reporter = with_agency(said).split_once("记者").is_some_and(|(agency, _)| {
        !agency.contains(char::is_numeric)
            && !agency.ends_with(['名', '位', '个', '的', '多', '中', '对', '向'])
    });
    has_reporter || Labels::beginning(said).iter().any(is_label)
}

/// The beginning of `text` that has room for the name of an agency and `记者`.
fn with_agency(text: &str) -> &str {
    text.char_indices().nth(AGENCY_CHARS_MAX + 2).map_or(text, |(at, _)| &text[..at])
}

/// Whether the byte at `place` is in the credits that end `text`. Behind the first label there are
/// only labels, names and a code: `编辑 王芳 校对 赵六`.
fn is_in_closing(text: &str, place: usize) -> bool {
    let tail = text.char_indices().rev().take(CLOSING_CHARS_MAX).map(|(at, _)| at);
    // Most edits are farther from the end than credits begin.
    let mut starts = tail.skip_while(|at| *at > place);
    starts.any(|at| are_credits(&text[at..]) && is_free_before(&text[..at], false))
}

/// What stands behind the longest label at the beginning of `text` that credits at the end have.
fn behind_label(text: &str) -> Option<&str> {
    let labels = Labels::beginning(text).iter();
    let labels = labels.filter(|(_, kind)| matches!(kind, Kind::Byline | Kind::Credit));
    labels.filter_map(|(label, _)| text.strip_prefix(label)).min_by_key(|rest| rest.len())
}

/// Whether `text` is labels, each with one name or more.
fn are_credits(text: &str) -> bool {
    let between = |c: char| c.is_whitespace() || ":、,/|".contains(c) || OPEN.contains(&c);
    let behind = |c: char| between(c) || CLOSE.contains(&c) || SENTENCE_ENDS.contains(&c);
    let mut rest = text;
    while !rest.is_empty() {
        let Some(named) = behind_label(rest) else { return false };
        let mut names = 0;
        rest = named.trim_start_matches(between);
        if rest.len() == named.len() {
            return false;
        }
        loop {
            let is_label = behind_label(rest).is_some();
            let name = rest.chars().take_while(|c| is_han(*c)).count();
            let code = rest.chars().take_while(char::is_ascii_alphanumeric).count();
            let len = match name {
                0 if (1..=8).contains(&code) && names > 0 => code,
                n if HAN_NAME_CHARS.contains(&n) && !is_label => {
                    rest.chars().take(n).map(char::len_utf8).sum()
                }
                _ => break,
            };
            if is_result(&rest[..len]) {
                return false;
            }
            names += 1;
            rest = rest[len..].trim_start_matches(behind);
        }
        if names == 0 {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_credit(text: &str, part: &str) -> bool {
        let tokens = Tokens::of(text).expect("short");
        let range = tokens.range_of(part);
        let mut next = range.start;
        while next < range.end {
            match end(&tokens, next) {
                Some(behind) => next = behind.max(next + 1),
                None => return false,
            }
        }
        true
    }

    /// Two copies of one article were refused because they name another reporter, editor or agency
    /// in front, behind, or in a bracket: only labels with a colon were known.
    #[test]
    fn credits_of_many_forms() {
        for (text, part) in [
            ("本报讯(记者王芳)市政府昨天发布了预算。", "王芳"),
            ("市政府昨天发布了预算。(记者 李大伟)", "李大伟"),
            ("市政府昨天发布了预算。(文/图 王芳)", "王芳"),
            ("市政府昨天发布了预算。(责编:王芳、赵六)", "赵六"),
            ("(中央社记者王大明台北3日电)市政府发布了预算。", "王大明"),
            ("〔记者王大明/台北报导〕市政府发布了预算。", "台北"),
            ("市政府昨天发布了预算。编辑 王芳 校对 赵六", "王芳"),
            ("市政府昨天发布了预算。责任编辑:王芳 pn041", "041"),
            ("市政府昨天发布了预算。(张三 摄)", "张三"),
            ("新华社郑州5月6日电 市政府发布了预算。", "郑州5月6"),
            ("央视网消息:市政府发布了预算。", "央视网"),
            ("光明网讯 市政府发布了预算。", "光明"),
            ("据新华社报道,市政府发布了预算。", "新华社"),
            ("36氪获悉,市政府发布了预算。", "36氪"),
            ("澎湃新闻记者 王芳 市政府发布了预算。", "王芳"),
            ("by anna smith. the council has a budget.", "anna smith"),
            ("the council has a budget. edited by anna smith", "anna smith"),
            ("the council has a budget. edited by: anna smith", "anna smith"),
            ("the council has a budget. (reporting by anna smith)", "anna smith"),
            ("the council has a budget. reporting by anna smith; editing by li lei", "anna smith"),
        ] {
            assert!(is_credit(text, part), "{text}");
        }
    }

    /// The same words in a sentence are facts.
    #[test]
    fn sentences_are_no_credits() {
        for (text, part) in [
            ("气象局5月6日电话通知各校停课。", "6"),
            ("记者5月6日从市气象局获悉,明天有雨。", "6"),
            ("他向记者王芳介绍了预算。", "王芳"),
            ("市长(王芳)发布了预算。", "王芳"),
            ("市政府(文化局)发布了预算。", "文化局"),
            ("市政府请编辑王芳写了一本书。", "王芳"),
            ("他说:消息是真的。王芳也这样说。", "王芳"),
            ("by next week the council has a budget.", "next week"),
            ("the council was sued by anna smith.", "anna smith"),
            ("the council has a budget. by anna smith", "anna smith"),
        ] {
            assert!(!is_credit(text, part), "{text}");
        }
    }
}
