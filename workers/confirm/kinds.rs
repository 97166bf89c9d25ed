//! Aligns two texts and says of what kind each span is in which they differ.
//!
//! The verdict ([`crate::confirm::texts`]) sums the spans up; [`crate::confirm::parts`] shows them
//! to people.

use crate::confirm::align::clauses::{CLAUSE_EDITS, clauses};
use crate::confirm::align::edits::Span;
use crate::confirm::align::{Tokens, spans};
use crate::confirm::differences::{Around, Counted, Difference, word_difference};
use crate::confirm::furniture::{self, Furniture};
use crate::confirm::headline::{FRAMED_CHARS_MIN, Headlines, has_tail};
use crate::confirm::numbers::other_signs::numbers_with_other_signs;
use crate::confirm::operators::other_operators;
use crate::confirm::options::{Facts, Options};
use crate::confirm::replaced_numbers::{may_be_slips, number_difference};
use crate::confirm::settle::settle;
use crate::confirm::words::are_all_opposites;
use crate::confirm::words::negations::{are_reversed, deny, is_misspelt, says_no};
use crate::confirm::words::passages::{are_other_questions, are_other_quotations};
use crate::confirm::words::swaps::{self, Swap};
use crate::confirm::words::synonyms;
use crate::confirm::words::template;
use crate::confirm::words::variants::are_variants;
use serde::Serialize;
use std::collections::HashMap;
use std::ops::Range;

/// The kind of a part of one text that the other text lacks or has in another form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PartKind {
    /// Another number: a fact.
    Number,
    /// Another name: a fact.
    Name,
    /// Another content word: a fact in a short text.
    Word,
    /// A headline in front of one text, or different headlines in front of both; left out.
    Headline,
    /// Words of the site behind one text; left out.
    Tail,
    /// What stands around an article ([`crate::confirm::furniture::Furniture`]); left out.
    Furniture,
    /// The same number in other characters; left out.
    Variant,
    /// Anything else.
    Edit,
}

impl PartKind {
    /// All kinds, facts first.
    pub const ALL: [PartKind; 8] = [
        PartKind::Number,
        PartKind::Name,
        PartKind::Word,
        PartKind::Headline,
        PartKind::Tail,
        PartKind::Furniture,
        PartKind::Variant,
        PartKind::Edit,
    ];

    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            PartKind::Number => "number",
            PartKind::Name => "name",
            PartKind::Word => "word",
            PartKind::Headline => "headline",
            PartKind::Tail => "tail",
            PartKind::Furniture => "furniture",
            PartKind::Variant => "variant",
            PartKind::Edit => "edit",
        }
    }

    /// Whether a part of this kind refuses a pair.
    pub fn is_fact(self) -> bool {
        self <= PartKind::Word
    }

    /// Whether the texts are compared without parts of this kind.
    pub(super) fn is_left_out(self) -> bool {
        (PartKind::Headline..=PartKind::Variant).contains(&self)
    }
}

/// The spans in which two texts differ, ascending, each with its kind.
///
/// At first names and words count as edits, because to look them up in a dictionary takes time, and
/// most pairs are decided without it.
pub(super) struct Kinds<'t> {
    texts: [&'t Tokens<'t>; 2],
    /// The characters of each text.
    pub lengths: [usize; 2],
    /// The spans and their kinds.
    pub spans: Vec<(Span, PartKind)>,
    headlines: Headlines,
}

impl<'t> Kinds<'t> {
    /// `None` if the texts are so different that the rules do not align them.
    pub fn of(a: &'t Tokens<'t>, b: &'t Tokens<'t>, options: &Options) -> Option<Kinds<'t>> {
        let texts = [a, b];
        let lengths = texts.map(|text| text.chars(0..text.len()));
        let mut found = settle(a, b, &spans(a, b, edits_max(texts, lengths, options))?);
        if options.furniture {
            part_begins(a, b, &mut found);
        }
        let headlines = Headlines::of(&found, lengths, texts, options);
        let has_tail = options.furniture && has_tail(&found, lengths, texts, options);
        let short = is_short(lengths, options);
        let kind = |at: usize, span: &Span| match number_difference(a, b, span, short) {
            _ if headlines == Headlines::OfOne && at == 0 => PartKind::Headline,
            Difference::Variant => PartKind::Variant,
            Difference::Furniture | Difference::Credit if options.furniture => PartKind::Furniture,
            Difference::Number | Difference::Furniture if options.facts >= Facts::Numbers => {
                PartKind::Number
            }
            _ if are_variants(a, b, span) || synonyms::are_replaced(a, b, span) => {
                PartKind::Variant
            }
            Difference::Edit if has_tail && at + 1 == found.len() => PartKind::Tail,
            _ => PartKind::Edit,
        };
        let kinds: Vec<PartKind> =
            found.iter().enumerate().map(|(at, span)| kind(at, span)).collect();
        let (mut signs, mut operators) = (Vec::new(), Vec::new());
        if options.facts >= Facts::Numbers {
            signs = numbers_with_other_signs(a, b, &found);
            operators = other_operators(a, b, &found);
            operators.retain(|one| !signs.iter().any(|sign| overlap(one, sign)));
        }
        let mut spans: Vec<_> = found.into_iter().zip(kinds).collect();
        spans.extend(signs.into_iter().chain(operators).map(|span| (span, PartKind::Number)));
        spans.sort_by_key(|(span, _)| (span.a.start, span.b.start));
        Some(Kinds { texts, lengths, spans, headlines })
    }

    /// Makes furniture a fact if one text is hardly more than what is left out of it. If a text is
    /// only a headline or a date line, its date is a fact. A picture is never one.
    pub fn settle_frame(&mut self, options: &Options) {
        let left = [0, 1].map(|side| {
            let left_out = self.spans.iter().filter(|(_, kind)| kind.is_left_out());
            self.lengths[side] - left_out.map(|(span, _)| self.chars(span)[side]).sum::<usize>()
        });
        if left[0].min(left[1]) < FRAMED_CHARS_MIN && options.facts >= Facts::Numbers {
            let [a, b] = self.texts;
            let is_picture = |tokens: &Tokens<'_>, range: &Range<usize>| {
                range.is_empty()
                    || furniture::of(tokens, range.clone()) == Some(Furniture::Emoticon)
            };
            for (span, kind) in &mut self.spans {
                if *kind == PartKind::Furniture
                    && !(is_picture(a, &span.a) && is_picture(b, &span.b))
                {
                    *kind = PartKind::Number;
                }
            }
        }
    }

    /// The characters of each text without what is left out.
    fn own_lengths(&self) -> [usize; 2] {
        let mut lengths = self.lengths;
        for (span, _) in self.spans.iter().filter(|(span, kind)| self.is_left_out(span, *kind)) {
            let chars = self.chars(span);
            (0..2).for_each(|side| lengths[side] -= chars[side]);
        }
        lengths
    }

    /// Whether the texts are compared without a span. Edits in the headlines of both texts are left
    /// out, but another name in a headline is a fact.
    pub fn is_left_out(&self, span: &Span, kind: PartKind) -> bool {
        in_headlines(self.headlines, span, kind).is_left_out()
    }

    /// Whether a headline of one text, or the headlines of both, are left out.
    pub fn has_headline(&self) -> bool {
        self.headlines != Headlines::None
    }

    /// The spans of a kind.
    pub fn spans_of(&self, kind: PartKind) -> impl Iterator<Item = &Span> {
        self.spans.iter().filter(move |(_, other)| *other == kind).map(|(span, _)| span)
    }

    /// Whether what makes another number may be slips ([`may_be_slips`]).
    pub fn may_be_slips(&self, span: &Span) -> bool {
        may_be_slips(self.texts[0], self.texts[1], span)
    }

    /// The characters of both sides of a span.
    pub fn chars(&self, span: &Span) -> [usize; 2] {
        [self.texts[0].chars(span.a.clone()), self.texts[1].chars(span.b.clone())]
    }

    /// The edits that replace a name or a word by another, or that exchange two names or words in a
    /// short text. Three edits close to each other are a rewritten clause and no facts, unless they
    /// make another question or another quotation.
    pub fn replaced_words(&self, options: &Options) -> Vec<(&Span, Difference)> {
        let [a, b] = self.texts;
        let lengths = self.own_lengths();
        let counted = match options.facts {
            Facts::Words if is_short(lengths, options) => Counted::All,
            Facts::Words => Counted::Negations,
            _ => Counted::None,
        };
        let words = counted == Counted::All;
        let edits = if options.facts < Facts::Names { Vec::new() } else { self.edits() };
        let (passages, others): (Vec<&[&Span]>, Vec<_>) = clauses(&edits).partition(|clause| {
            counted > Counted::None && are_other_questions((a, b), clause, &edits)
                || words && are_other_quotations((a, b), clause)
        });
        // A rewritten clause may say the opposite.
        let reverses = |span: &&&Span| {
            let (one, other) = (a.within(&span.a), b.within(&span.b));
            let is_bare = span.a.is_empty() || span.b.is_empty();
            are_reversed(one, other)
                || words && is_bare && deny(one, other)
                || words && are_all_opposites(a, b, span)
        };
        let (mut kept, mut alone) = (Vec::new(), Vec::new());
        let mut denied: Vec<&Span> = Vec::new();
        // Headlines are always in other words.
        let may_deny = |clause: &[&Span]| {
            counted > Counted::None
                && lengths[0].max(lengths[1]) <= OPPOSITE_CHARS_MAX
                && !clause.iter().any(|span| self.headlines.of_both_have(span))
        };
        for clause in others {
            if may_deny(clause) && says_the_opposite((a, b), clause) {
                denied.extend(clause.iter().copied());
                continue;
            }
            match clause.len() < CLAUSE_EDITS {
                true => kept.extend(clause.iter().copied()),
                false => kept.extend(clause.iter().filter(reverses).copied()),
            }
            alone.resize(kept.len(), clause.len() == 1);
        }
        let swaps = swaps::of(a, b, &kept, options.dictionary.as_deref());
        let replaced = |span: &Span| [a.passage(&span.a), b.passage(&span.b)];
        let mut times = HashMap::<[&str; 2], usize>::new();
        kept.iter().for_each(|span| *times.entry(replaced(span)).or_default() += 1);
        let kinds = kept.iter().zip(alone).zip(swaps).map(|((span, alone), swap)| match swap {
            Some(Swap::Roles) if words => Difference::Word,
            Some(Swap::Order) => Difference::Edit,
            _ => {
                let around = Around { counted, alone, repeated: times[&replaced(span)] > 1 };
                word_difference(a, b, span, around, options.dictionary.as_deref())
            }
        });
        let is_fact = |(_, difference): &(&Span, Difference)| {
            matches!(difference, Difference::Name | Difference::Word)
        };
        let mut found: Vec<_> = kept.iter().copied().zip(kinds).filter(is_fact).collect();
        // A long text may deny the same thing with other words: then each side has a negation.
        let denies = |side: fn(&Span) -> bool| found.iter().any(|(span, _)| side(span));
        if !words && denies(|span| span.a.is_empty()) && denies(|span| span.b.is_empty()) {
            found.retain(|(span, _)| !span.a.is_empty() && !span.b.is_empty());
        }
        let passages = passages.concat().into_iter().chain(denied);
        found.extend(passages.map(|span| (span, Difference::Word)));
        found
    }

    /// The edits that are the slots of a template.
    pub fn slots(&self, options: &Options) -> Vec<&Span> {
        let [a, b] = self.texts;
        match options.facts < Facts::Words {
            true => Vec::new(),
            false => {
                // Pages of one template end alike, so a tail speaks against slots.
                let mut edits = self.edits();
                edits.extend(self.spans_of(PartKind::Tail));
                template::slots(a, b, &edits, options.dictionary.as_deref())
            }
        }
    }

    /// Each span with its kind, with names and words distinguished from edits.
    pub fn with_words(mut self, options: &Options) -> Vec<(Span, PartKind)> {
        let slots = self.slots(options).into_iter().map(|span| (span, Difference::Word));
        let words = slots.chain(self.replaced_words(options));
        let words: Vec<_> = words.map(|(span, what)| (span.a.start, span.b.start, what)).collect();
        for (span, kind) in &mut self.spans {
            *kind = in_headlines(self.headlines, span, *kind);
        }
        for (a, b, what) in words {
            let at =
                self.spans.partition_point(|(other, _)| other.a.start < a || other.b.start < b);
            self.spans[at].1 = match what {
                Difference::Name => PartKind::Name,
                _ => PartKind::Word,
            };
        }
        self.spans
    }

    fn edits(&self) -> Vec<&Span> {
        self.spans_of(PartKind::Edit).collect()
    }
}

/// Parts the first of `spans` if it replaces furniture at the beginning of one text by something
/// else at the beginning of the other: a source line in front of one text and a headline in front
/// of the other replace nothing.
fn part_begins(a: &Tokens<'_>, b: &Tokens<'_>, spans: &mut Vec<Span>) {
    let Some(Span { a: x, b: y }) = spans.first().cloned() else { return };
    if x.start > 0 || y.start > 0 || x.is_empty() || y.is_empty() {
        return;
    }
    let is_furniture =
        [furniture::of(a, x.clone()), furniture::of(b, y.clone())].map(|of| of.is_some());
    let parts = match is_furniture {
        [true, false] => [Span { a: 0..0, b: y.clone() }, Span { a: x, b: y.end..y.end }],
        [false, true] => [Span { a: x.clone(), b: 0..0 }, Span { a: x.end..x.end, b: y }],
        _ => return,
    };
    spans.splice(..1, parts);
}

/// Up to this length, in characters, a clause in other words may say the opposite. In a longer text
/// more is rewritten.
const OPPOSITE_CHARS_MAX: usize = 600;
/// The most tokens of an edit that may turn a sentence into its opposite. A longer one is a
/// sentence in other words.
const OPPOSITE_TOKENS_MAX: usize = 8;

/// Whether a rewritten clause has a word that denies in one text and none in the other: `未造成人员伤亡`
/// and `造成2人死亡`. What it denies stands behind it, in both texts.
fn says_the_opposite((a, b): (&Tokens<'_>, &Tokens<'_>), clause: &[&Span]) -> bool {
    let goes_on = |tokens: &Tokens<'_>, range: &Range<usize>| {
        range.end < tokens.len() && !tokens.gap(range.end).contains(CLAUSE_MARKS)
    };
    let counts = |span: &&&Span| {
        span.a.len().max(span.b.len()) <= OPPOSITE_TOKENS_MAX
            && !is_misspelt(a.within(&span.a), b.within(&span.b))
            && goes_on(a, &span.a)
            && goes_on(b, &span.b)
    };
    let denies = |tokens: &Tokens<'_>, side: fn(&Span) -> &Range<usize>| {
        clause.iter().filter(counts).any(|span| says_no(tokens.within(side(span))))
    };
    denies(a, |span| &span.a) != denies(b, |span| &span.b)
}

/// Marks between two clauses.
const CLAUSE_MARKS: [char; 10] = [',', '。', ';', '!', '?', '、', ':', '\n', '.', '…'];

/// The kind of a span, where an edit in the headlines of both texts counts as part of them.
fn in_headlines(headlines: Headlines, span: &Span, kind: PartKind) -> PartKind {
    match kind {
        PartKind::Edit if headlines.of_both_have(span) => PartKind::Headline,
        _ => kind,
    }
}

fn overlap(one: &Span, other: &Span) -> bool {
    one.a.start < other.a.end && other.a.start < one.a.end
}

/// Whether one replaced word refuses texts of these lengths.
fn is_short(lengths: [usize; 2], options: &Options) -> bool {
    lengths[0].max(lengths[1]) <= options.words_chars_max as usize
}

/// The most tokens that are deleted and inserted in two texts of these `lengths`.
///
/// If more than three of ten tokens are edited, the least similarity cannot be reached. In a text
/// so long that its facts do not matter, only slips are looked for, and many edits would take long.
fn edits_max(tokens: [&Tokens<'_>; 2], lengths: [usize; 2], options: &Options) -> usize {
    let of_tokens = (tokens[0].len() + tokens[1].len()) * 3 / 10
        + 2 * options.leading_tokens_max as usize
        + 100;
    match lengths[0].max(lengths[1]) <= options.facts_chars_max as usize {
        true => of_tokens,
        false => of_tokens.min((lengths[0] + lengths[1]) / 12),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::texts::{SharedGrams, compare};

    /// A source line in front of one copy and a headline in front of the other were one
    /// replacement, and so other names or words.
    #[test]
    fn a_headline_for_a_source_line() {
        let options = Options::default();
        let body =
            "本市三条公交线路从下周起延长运营时间,末班车推迟到夜里十一点,票价不变,请乘客留意站牌";
        for (a, b) in
            [("来源:城市晚报 ", "公交线路末班车推迟 "), ("2024-05-03 10:20 ", "末班车推迟 ")]
        {
            let (a, b) = (format!("{a}{body}"), format!("{b}{body}"));
            let (x, y) = (Tokens::of(&*a).expect("short"), Tokens::of(&*b).expect("short"));
            for (x, y) in [(&x, &y), (&y, &x)] {
                let kinds = Kinds::of(x, y, &options).expect("near").with_words(&options);
                let kinds: Vec<PartKind> = kinds.into_iter().map(|(_, kind)| kind).collect();
                assert_eq!(kinds, [PartKind::Headline, PartKind::Furniture], "{a}");
            }
        }
    }

    /// A reworded clause that says the opposite was an edit, because three edits side by side are
    /// one clause in other words. A clause that one text has more, and a hyphen, say no opposite.
    #[test]
    fn clauses_that_say_the_opposite() {
        let frame = "市消防支队立即调派六辆消防车赶赴现场,明火很快被扑灭,过火面积约三百平方米,";
        let zh = |clause: &str| {
            format!("{frame}{clause}。起火原因正在进一步调查,附近道路已经恢复通行。")
        };
        let en = |clause: &str| {
            format!(
                "all plans are billed monthly. {clause} you may change your plan in the settings."
            )
        };
        let opposite = |a: &str, b: &str| {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            let of = |x: &Tokens<'_>, y: &Tokens<'_>| {
                let options = Options { words_chars_max: 0, ..Options::default() };
                let kinds = Kinds::of(x, y, &options).expect("near");
                !kinds.replaced_words(&options).is_empty()
            };
            assert_eq!(of(&x, &y), of(&y, &x), "{a} | {b}");
            of(&x, &y)
        };
        for (a, b, expected) in [
            (zh("火灾未造成人员伤亡"), zh("火灾造成两人死亡、一人受伤"), true),
            (zh("当晚各校照常上课"), zh("当晚各校停止上课"), true),
            (zh("当晚各校照常上课"), zh("当晚各校照常上课,家长不必来接"), false),
            (zh("不少市民前来围观"), zh("许多路人前来围观"), false),
            (
                en("fees are non-refundable, except by law. we do not give credits."),
                en("fees are refundable pro rata. we give credits."),
                true,
            ),
            (en("fees are non-refundable."), en("fees are nonrefundable."), false),
        ] {
            assert_eq!(opposite(&a, &b), expected, "{a} | {b}");
        }
    }

    /// A verdict does not depend on the order of two texts: an edit beside furniture that is longer
    /// on one side is near the next edit on both sides or on none.
    #[test]
    fn furniture_between_edits() {
        let options = Options::default();
        let of = |words: &str| format!("there it chose {words} when the council met in the hall");
        let (a, b) =
            (of("alpha and 5 views walker in garden"), of("delta and 1234 views potter in oxford"));
        let (x, y) = (Tokens::of(&*a).expect("short"), Tokens::of(&*b).expect("short"));
        let replaced = |x: &Tokens<'_>, y: &Tokens<'_>| {
            Kinds::of(x, y, &options).expect("near").replaced_words(&options).len()
        };
        assert_eq!(replaced(&x, &y), 3);
        assert_eq!(replaced(&y, &x), 3);
        let grams = SharedGrams { common: 0, all: 1 };
        assert_eq!(compare(&x, &y, grams, &options), compare(&y, &x, grams, &options));
    }
}
