//! Shows people what differs between two texts: the spans by which a verdict was decided, with
//! their place.

use crate::confirm::align::edits::Span;
use crate::confirm::align::{Tokens, are_equal};
use crate::confirm::kinds::{Kinds, PartKind};
use crate::confirm::operators::other_marks;
use crate::confirm::options::Options;
use serde::Serialize;
use std::ops::Range;

/// A place where two texts differ, with some of the first text around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Part {
    /// What kind of part it is.
    pub kind: PartKind,
    /// What stands before it in both texts.
    pub before: String,
    /// What the first text has there.
    pub a: String,
    /// What the second text has there.
    pub b: String,
    /// What stands after it in both texts.
    pub after: String,
}

/// The characters around a part.
const CONTEXT_CHARS: usize = 24;
/// The most characters of one side of a part. The middle of a longer side is left out.
const SIDE_CHARS: usize = 160;

/// The parts in which two normalised texts differ, in order. `None` if the texts are too long to be
/// aligned, or so different that the rules do not align them.
///
/// ```
/// use workers::confirm::Options;
/// use workers::confirm::kinds::PartKind;
/// use workers::confirm::parts::parts;
///
/// let (a, b) = ("rain on monday, 11 degrees", "rain on monday, 12 degrees");
/// let found = &parts(a, b, &Options::default()).unwrap()[0];
/// assert_eq!((found.kind, found.a.as_str(), found.b.as_str()), (PartKind::Number, "11", "12"));
/// ```
pub fn parts(a: &str, b: &str, options: &Options) -> Option<Vec<Part>> {
    let (x, y) = (Tokens::of(a)?, Tokens::of(b)?);
    let mut found = classified(&x, &y, options)?;
    // Digits with other marks between them decide nothing, but a reader sees more in them than
    // marks. Tokens that are part of a fact or of another part are shown already.
    let spans: Vec<Span> = found.iter().map(|(span, _)| span.clone()).collect();
    let has_words = |span: &&Span| !are_equal(&x, &span.a, &y, &span.b);
    let between: Vec<Span> = spans.iter().filter(has_words).cloned().collect();
    let apart = |mark: &Span| !spans.iter().any(|span| touch(span, mark));
    let marks = other_marks(&x, &y, &between).into_iter().filter(apart);
    found.extend(marks.map(|span| (span, PartKind::Variant)));
    found.sort_by_key(|(span, _)| (span.a.start, span.b.start));
    Some(found.iter().map(|(span, kind)| part(&x, &y, span, *kind)).collect())
}

fn touch(one: &Span, other: &Span) -> bool {
    one.a.start <= other.a.end && other.a.start <= one.a.end
}

/// The spans of both texts in which they differ, with their kinds.
pub(super) fn classified(
    a: &Tokens<'_>,
    b: &Tokens<'_>,
    options: &Options,
) -> Option<Vec<(Span, PartKind)>> {
    let of = |x, y| {
        let mut found = Kinds::of(x, y, options)?;
        found.settle_frame(options);
        Some(found.with_words(options))
    };
    if a.text <= b.text {
        return of(a, b);
    }
    // The verdict reads the texts in one order, too.
    let mut found = of(b, a)?;
    found.iter_mut().for_each(|(span, _)| std::mem::swap(&mut span.a, &mut span.b));
    Some(found)
}

fn part(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span, kind: PartKind) -> Part {
    let [x, y] = match !span.a.is_empty() && a.passage(&span.a) == b.passage(&span.b) {
        true => with_marks(a, b, span),
        false => [bytes(a, &span.a), bytes(b, &span.b)],
    };
    let (text, range) = if span.a.is_empty() { (&b.text, &y) } else { (&a.text, &x) };
    let (head, tail) = (&text[..range.start], &text[range.end..]);
    let start = head.char_indices().rev().nth(CONTEXT_CHARS - 1).map_or(0, |(at, _)| at);
    let before = if start > 0 { format!("…{}", &head[start..]) } else { head.to_owned() };
    let after = match tail.char_indices().nth(CONTEXT_CHARS) {
        Some((end, _)) => format!("{}…", &tail[..end]),
        None => tail.to_owned(),
    };
    Part { kind, before, a: shortened(&a.text[x]), b: shortened(&b.text[y]), after }
}

/// The bytes of the tokens of `range`; none, where they would be, if it is empty.
fn bytes(tokens: &Tokens<'_>, range: &Range<usize>) -> Range<usize> {
    let start =
        tokens.places.get(range.start).map_or(tokens.text.len(), |place| place.start as usize);
    start..start + tokens.passage(range).len()
}

/// The bytes of equal tokens with the marks beside them in which the texts differ: signs of money
/// and of shares, and marks at the beginning or the end of the texts.
fn with_marks(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> [Range<usize>; 2] {
    let equal = |(x, y): &(char, char)| x == y;
    let sum = |sum: usize, (c, _): (char, char)| sum + c.len_utf8();
    let [x, y] = [a.gap(span.a.start), b.gap(span.b.start)];
    let shared = x.chars().zip(y.chars()).take_while(equal).fold(0, sum);
    let before = [x, y].map(|gap| gap[shared..].trim_start().len());
    let [x, y] = [a.gap(span.a.end), b.gap(span.b.end)];
    let shared = x.chars().rev().zip(y.chars().rev()).take_while(equal).fold(0, sum);
    let after = [x, y].map(|gap| gap[..gap.len() - shared].trim_end().len());
    let [x, y] = [bytes(a, &span.a), bytes(b, &span.b)];
    [x.start - before[0]..x.end + after[0], y.start - before[1]..y.end + after[1]]
}

/// `text`, without its middle if it is long.
fn shortened(text: &str) -> String {
    let half = SIDE_CHARS / 2;
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    match starts.len() > SIDE_CHARS {
        true => format!("{} … {}", &text[..starts[half]], &text[starts[starts.len() - half]..]),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::differences::Difference;
    use crate::confirm::texts::{SharedGrams, compare};
    use proptest::prelude::*;

    /// Each kind is named where it stands, with both sides and what is around them.
    #[test]
    fn each_kind_has_its_place() {
        let body = "the council met and spoke of the bridge over the river and of the new school";
        let kinds = |a: &str, b: &str| -> Vec<(PartKind, String, String)> {
            let found = parts(a, b, &Options::default()).expect("aligned");
            found.into_iter().map(|part| (part.kind, part.a, part.b)).collect()
        };
        let own = |kind, a: &str, b: &str| vec![(kind, a.to_owned(), b.to_owned())];
        assert_eq!(
            kinds("第二十次会议在北京举行", "第20次会议在北京举行"),
            own(PartKind::Variant, "二十", "20")
        );
        assert_eq!(
            kinds(&format!("latest news. {body}"), body),
            own(PartKind::Headline, "latest news", "")
        );
        assert_eq!(
            kinds("现面向社会诚聘会计三名", "现面向社会诚聘厨师三名"),
            own(PartKind::Word, "会计", "厨师")
        );
        assert_eq!(
            kinds(body, &body.replace("school", "schools")),
            own(PartKind::Edit, "school", "schools")
        );
        let read = |times: u32| format!("{body} 阅读 {times}");
        assert_eq!(kinds(&read(1234), &read(98)), own(PartKind::Furniture, "1234", "98"));
        assert_eq!(kinds("阅读 1234", "阅读 98"), own(PartKind::Number, "1234", "98"));
        assert_eq!(kinds("定价¥49起售", "定价 $49 起售"), own(PartKind::Number, "¥49", "$49"));
        let long = "很".repeat(900);
        let cut = parts(&format!("{body} {long} 7"), &format!("{body} 7"), &Options::default())
            .expect("aligned");
        assert!(
            cut.len() == 1 && cut[0].a.contains(" … ") && cut[0].a.chars().count() < 200,
            "{cut:?}"
        );
        let other = |word: &str| (0..900).map(|n| format!("{word}{n} ")).collect::<String>();
        let unlike = parts(&other("left"), &other("right"), &Options::default());
        assert!(unlike.is_none(), "too different: {unlike:?}");
    }

    /// A sign at an end of the texts was shown as `[-室-]{+室+} ✓`, as if both had it, and a sign of
    /// money twice, as `$[-$5-]{+€5+}`.
    #[test]
    fn signs_at_the_ends_are_shown() {
        for (a, b, before, [x, y], after) in [
            (
                "请把材料交到办公室 ✓",
                "请把材料交到办公室 ✗",
                "请把材料交到办公",
                ["室 ✓", "室 ✗"],
                "",
            ),
            ("✓ 今天去 ", "✗ 今天去", "", ["✓ 今", "✗ 今"], "天去 "),
            ("(👍) 今天去", "(👎) 今天去", "(", ["👍) 今", "👎) 今"], "天去"),
            ("he writes c++.", "he writes c#.", "he writes ", ["c++", "c#"], "."),
            ("$5 for all", "€5 for all", "", ["$5", "€5"], " for all"),
            (
                "the fee is 49,90 € now",
                "the fee is 49,90 £ now",
                "the fee is ",
                ["49,90 €", "49,90 £"],
                " now",
            ),
            ("定价(¥49)起售", "定价($49)起售", "定价(", ["¥49", "$49"], ")起售"),
        ] {
            let found = parts(a, b, &Options::default()).expect("aligned");
            let found: Vec<[&str; 4]> =
                found.iter().map(|part| [&*part.before, &part.a, &part.b, &part.after]).collect();
            assert_eq!(found, [[before, x, y, after]]);
        }
    }

    /// Texts with other marks between digits differed in "nothing but marks and spaces", and a
    /// reader did not see which.
    #[test]
    fn marks_between_digits_are_shown() {
        let kinds = |a: &str, b: &str| -> Vec<(PartKind, String, String)> {
            let found = parts(a, b, &Options::default()).expect("aligned");
            found.into_iter().map(|part| (part.kind, part.a, part.b)).collect()
        };
        let body = "the council met by the river";
        for (kind, a, b) in [
            (PartKind::Variant, "10:30", "1030"),
            (PartKind::Variant, "2024-10-05", "2024/10/05"),
            (PartKind::Number, "2-1", "21"),
            (PartKind::Number, "149,90", "14,990"),
            (PartKind::Number, "-5", "5"),
        ] {
            let of = |number: &str| format!("{body} with {number} of the guests");
            assert_eq!(kinds(&of(a), &of(b)), [(kind, a.to_owned(), b.to_owned())]);
        }
    }

    proptest! {
        /// A verdict that names a fact is explained by a part of that kind, and one that names none
        /// by no number.
        #[test]
        fn facts_are_those_of_the_verdict(a in "[会议于在京召开张李三12]{10,40}", at in 0usize..9, other in "[王五赵6]{1,2}") {
            let from = a.char_indices().nth(at).map_or(0, |(from, _)| from);
            let to = a.char_indices().nth(at + 2).map_or(a.len(), |(to, _)| to);
            let b = format!("{}{other}{}", &a[..from], &a[to..]);
            let options = Options::default();
            let Some(found) = parts(&a, &b, &options) else { return Ok(()) };
            let (x, y) = (Tokens::of(&a).expect("short"), Tokens::of(&b).expect("short"));
            let fact = compare(&x, &y, SharedGrams { common: 0, all: 1 }, &options).fact;
            let has = |kind| found.iter().any(|part| part.kind == kind);
            match fact {
                Some(Difference::Number) => prop_assert!(has(PartKind::Number)),
                Some(Difference::Name) => prop_assert!(has(PartKind::Name)),
                Some(_) => prop_assert!(has(PartKind::Word)),
                None => prop_assert!(!has(PartKind::Number)),
            }
        }
    }
}
