//! Says more exactly which facts and which furniture differ between two texts, for counts.
//!
//! A verdict does not use these details: for a verdict a date is a number like any other.

use crate::confirm::align::Tokens;
use crate::confirm::align::digits::is_numeral;
use crate::confirm::align::edits::Span;
use crate::confirm::furniture::{self, Furniture};
use crate::confirm::kinds::PartKind;
use crate::confirm::numbers::in_code::in_code;
use crate::confirm::numbers::models::model;
use crate::confirm::numbers::{any, joins};
use crate::confirm::options::Options;
use crate::confirm::parts::classified;
use crate::confirm::words::names_a_day;
use serde::Serialize;
use std::collections::BTreeSet;
use std::ops::Range;

/// What differs. If two of these fit a part, the first one counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// A number of a date: before 年, 月 or 日, beside the name of a month, or between two hyphens.
    Date,
    /// An ordinal number: behind 第, before 届 or 期, `3rd`.
    Ordinal,
    /// A number that Latin letters or joining marks touch: a model, a part number, a version.
    Model,
    /// A number in Chinese characters.
    ChineseNumeral,
    /// Any other number.
    Number,
    /// A name.
    Name,
    /// Another content word, in a short text.
    Word,
    /// A headline in front of one text.
    Headline,
    /// Words of the site behind one text.
    Tail,
    /// A copyright or licence line.
    CopyrightLine,
    /// A date line.
    DateLine,
    /// A clock.
    Clock,
    /// A counter.
    Counter,
    /// The name of a source, an author or an editor behind a label.
    Credit,
    /// A short link.
    Link,
    /// A bar of buttons that send the page to someone.
    ShareBar,
    /// A picture that is written as its name in brackets.
    Emoticon,
    /// The name of a character in HTML, such as `nbsp`.
    Entity,
    /// The same number in other characters.
    Variant,
    /// Any other edit.
    Edit,
    /// Punctuation and white space alone.
    Marks,
}

impl Detail {
    /// All of them.
    pub const ALL: [Detail; 21] = [
        Detail::Date,
        Detail::Ordinal,
        Detail::Model,
        Detail::ChineseNumeral,
        Detail::Number,
        Detail::Name,
        Detail::Word,
        Detail::Headline,
        Detail::Tail,
        Detail::CopyrightLine,
        Detail::DateLine,
        Detail::Clock,
        Detail::Counter,
        Detail::Credit,
        Detail::Link,
        Detail::ShareBar,
        Detail::Emoticon,
        Detail::Entity,
        Detail::Variant,
        Detail::Edit,
        Detail::Marks,
    ];

    /// The kind of the parts that have this detail.
    pub fn part(self) -> PartKind {
        match self {
            Detail::Date
            | Detail::Ordinal
            | Detail::Model
            | Detail::ChineseNumeral
            | Detail::Number => PartKind::Number,
            Detail::Name => PartKind::Name,
            Detail::Word => PartKind::Word,
            Detail::Headline => PartKind::Headline,
            Detail::Tail => PartKind::Tail,
            Detail::CopyrightLine
            | Detail::DateLine
            | Detail::Clock
            | Detail::Counter
            | Detail::Credit
            | Detail::Link
            | Detail::ShareBar
            | Detail::Emoticon
            | Detail::Entity => PartKind::Furniture,
            Detail::Variant => PartKind::Variant,
            Detail::Edit | Detail::Marks => PartKind::Edit,
        }
    }

    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Detail::Date => "date",
            Detail::Ordinal => "ordinal",
            Detail::Model => "model",
            Detail::ChineseNumeral => "chinese_numeral",
            Detail::Number => "number",
            Detail::Name => "name",
            Detail::Word => "word",
            Detail::Headline => "headline",
            Detail::Tail => "tail",
            Detail::CopyrightLine => "copyright_line",
            Detail::DateLine => "date_line",
            Detail::Clock => "clock",
            Detail::Counter => "counter",
            Detail::Credit => "credit",
            Detail::Link => "link",
            Detail::ShareBar => "share_bar",
            Detail::Emoticon => "emoticon",
            Detail::Entity => "entity",
            Detail::Variant => "variant",
            Detail::Edit => "edit",
            Detail::Marks => "marks",
        }
    }
}

/// What differs between two normalised texts that are not equal. None in the cases in which
/// [`crate::confirm::parts::parts`] does not align them. Symmetric.
///
/// ```
/// use workers::confirm::Options;
/// use workers::confirm::details::{Detail, details};
///
/// let found = |a, b| details(a, b, &Options::default()).unwrap().into_iter().collect::<Vec<_>>();
/// assert_eq!(found("第七次会议在北京举行", "第九次会议在北京举行"), [Detail::Ordinal]);
/// assert_eq!(found("今天最高气温30度", "今天最高气温21度"), [Detail::Number]);
/// ```
pub fn details(a: &str, b: &str, options: &Options) -> Option<BTreeSet<Detail>> {
    let (x, y) = (Tokens::of(a)?, Tokens::of(b)?);
    let found = classified(&x, &y, options)?;
    Some(match found.is_empty() {
        true => BTreeSet::from([Detail::Marks]),
        false => found.iter().map(|(span, kind)| detail(&x, &y, span, *kind)).collect(),
    })
}

fn detail(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span, kind: PartKind) -> Detail {
    let first = |of: fn(&Tokens<'_>, Range<usize>) -> Detail, otherwise: Detail| {
        let sides = [(a, &span.a), (b, &span.b)].into_iter().filter(|(_, range)| !range.is_empty());
        sides.map(|(tokens, range)| of(tokens, range.clone())).min().unwrap_or(otherwise)
    };
    match kind {
        PartKind::Number => first(of_fact, Detail::Number),
        PartKind::Furniture => first(of_furniture, Detail::Counter),
        PartKind::Name => Detail::Name,
        PartKind::Word => Detail::Word,
        PartKind::Headline => Detail::Headline,
        PartKind::Tail => Detail::Tail,
        PartKind::Variant => Detail::Variant,
        PartKind::Edit => Detail::Edit,
    }
}

/// The detail of the numbers of `range`, which are a fact.
fn of_fact(tokens: &Tokens<'_>, range: Range<usize>) -> Detail {
    let numbers = range.filter(|at| any(tokens, *at..at + 1));
    numbers.map(|at| of_number(tokens, at)).min().unwrap_or(Detail::Number)
}

/// The detail of the number that the token at `at` belongs to.
fn of_number(tokens: &Tokens<'_>, at: usize) -> Detail {
    let (mut from, mut to) = (at, at + 1);
    while joins(tokens, from) {
        from -= 1;
    }
    while joins(tokens, to) {
        to += 1;
    }
    let behind = if from > 0 { (tokens.token(from - 1), tokens.gap(from)) } else { ("", "") };
    let next = if to < tokens.len() { (tokens.token(to), tokens.gap(to)) } else { ("", "") };
    let touching =
        |(token, gap): (&str, &str), all: &[&str]| gap.is_empty() && all.contains(&token);
    if touching(next, &["年", "月", "日"])
        || names_a_day(behind.0)
        || names_a_day(next.0)
        || names_a_day(tokens.token(at))
        || furniture::is_date(tokens, at)
    {
        return Detail::Date;
    }
    if touching(behind, &["第"]) || touching(next, &["届", "期", "st", "nd", "rd", "th"]) {
        return Detail::Ordinal;
    }
    let bytes = tokens.places[from].start as usize..tokens.places[to - 1].end as usize;
    if in_code(tokens, from..to) || model(&tokens.text, bytes).is_some() {
        return Detail::Model;
    }
    if is_numeral(tokens.token(at)) { Detail::ChineseNumeral } else { Detail::Number }
}

/// The detail of the tokens of `range`, which are furniture.
fn of_furniture(tokens: &Tokens<'_>, range: Range<usize>) -> Detail {
    match furniture::of(tokens, range) {
        Some(Furniture::Copyright) => Detail::CopyrightLine,
        Some(Furniture::DateLine) => Detail::DateLine,
        Some(Furniture::Clock) => Detail::Clock,
        Some(Furniture::Credit) => Detail::Credit,
        Some(Furniture::Link) => Detail::Link,
        Some(Furniture::Share) => Detail::ShareBar,
        Some(Furniture::Emoticon) => Detail::Emoticon,
        Some(Furniture::Entity) => Detail::Entity,
        Some(Furniture::Counter) | None => Detail::Counter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(a: &str, b: &str) -> Vec<Detail> {
        let of = |a, b| -> Vec<Detail> {
            details(a, b, &Options::default()).expect("aligned").into_iter().collect()
        };
        assert_eq!(of(a, b), of(b, a), "{a} | {b}");
        of(a, b)
    }

    /// Each kind of fact and of furniture is distinguished from the others, in both orders.
    #[test]
    fn each_detail() {
        use Detail::*;
        let body = "the council met and spoke of the bridge over the river and of the new school";
        for (a, b, detail) in [
            ("会议将于3月5日在北京召开", "会议将于3月8日在北京召开", Date),
            ("he came on july 12 to the village", "he came on july 19 to the village", Date),
            ("第七次会议在北京举行", "第九次会议在北京举行", Ordinal),
            ("the 3rd meeting of the council", "the 5th meeting of the council", Ordinal),
            ("型号 kx-31 的灯具已经上市", "型号 kx-77 的灯具已经上市", Model),
            ("sales rose in q1 as hoped", "sales rose in q2 as hoped", Model),
            ("今天有三百人到场", "今天有五百人到场", ChineseNumeral),
            ("今天最高气温30度", "今天最高气温21度", Number),
            ("中国式现代化甘肃篇章", "中国式现代化湖南篇章", Name),
            ("现面向社会诚聘会计三名", "现面向社会诚聘厨师三名", Word),
            ("第二十次会议在北京举行", "第20次会议在北京举行", Variant),
            (
                body,
                "the council met, and spoke of the bridge over the river; and of the new school.",
                Marks,
            ),
            (
                body,
                "the council met and spoke of the bridges over the river and of the new school",
                Edit,
            ),
        ] {
            assert_eq!(found(a, b), [detail], "{a} | {b}");
        }
        let with = |line: &str| format!("{body}.\n{line}");
        for (a, b, detail) in [
            ("阅读 1234", "阅读 98", Counter),
            ("41012 views", "7 views", Counter),
            ("当前时间:10:02:33", "当前时间:11:45:58", Clock),
            ("2024-10-05 08:30 来源:本站", "2019-03-17 21:44 来源:本站", DateLine),
            ("copyright 2019", "copyright 2023", CopyrightLine),
            ("source: the herald", "source: the tribune", Credit),
            ("https://t.co/qdw4zb1s9k", "https://t.co/a7xk0pq2mn", Link),
        ] {
            assert_eq!(found(&with(a), &with(b)), [detail], "{a} | {b}");
        }
        assert_eq!(found(&format!("latest news. {body}"), body), [Headline]);
    }

    /// Every detail is in the list, once, and a name belongs to one alone.
    #[test]
    fn names_are_distinct() {
        let names: BTreeSet<&str> = Detail::ALL.iter().map(|detail| detail.name()).collect();
        assert_eq!(names.len(), Detail::ALL.len());
        assert!(Detail::ALL.is_sorted());
    }
}
