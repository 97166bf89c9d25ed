//! Passages that are replaced as a whole: a question, a turn of a conversation, and what stands
//! between two quotation marks.
//!
//! Below one text of a lesson stand different questions, and in one frame different names and
//! titles. Such a passage may have more words than a fact, but it is not a rewritten clause: it has
//! marks of its own, and little of the old passage is left.

use crate::confirm::align::edits::Span;
use crate::confirm::align::{Passage, Tokens};
use crate::confirm::words::likeness::letters;
use crate::confirm::words::spelled::are_parted;
use std::ops::Range;

/// The most tokens of a question or a quotation.
const PASSAGE_TOKENS_MAX: usize = 60;
/// The most tokens of a turn of a conversation.
const TURN_TOKENS_MAX: usize = 240;
/// The fewest tokens of a question.
const QUESTION_TOKENS_MIN: usize = 3;

/// Opening quotation marks, and those that close them.
const QUOTES: [(char, char); 9] = [
    ('“', '”'),
    ('„', '“'),
    ('‘', '’'),
    ('"', '"'),
    ('「', '」'),
    ('『', '』'),
    ('《', '》'),
    ('«', '»'),
    ('【', '】'),
];

/// Marks that end a passage: the ends of sentences, of a line and of its label.
const PASSAGE_ENDS: [char; 9] = ['。', '!', '?', ';', '…', '\n', ':', '؟', '|'];

/// The tokens of both texts from the first to the last edit of a clause.
fn extent(clause: &[&Span]) -> Option<(Range<usize>, Range<usize>)> {
    let (first, last) = (clause.first()?, clause.last()?);
    Some((first.a.start..last.a.end, first.b.start..last.b.end))
}

/// Whether the edits of a clause replace a question or a turn by another. `edits` are all edits of
/// the two texts, in order; the edits of the passage are found by their place in the first text.
pub fn are_other_questions(
    (a, b): (&Tokens<'_>, &Tokens<'_>),
    clause: &[&Span],
    edits: &[&Span],
) -> bool {
    let Some((x, y)) = extent(clause) else { return false };
    // Most edits are shorter.
    if x.len().min(y.len()) < QUESTION_TOKENS_MIN {
        return false;
    }
    let both =
        |of: fn(&Tokens<'_>, &Range<usize>) -> Option<Range<usize>>| of(a, &x).zip(of(b, &y));
    let Some((x, y)) = both(turn).or_else(|| both(question)) else { return false };
    let inside = edits.iter().filter(|edit| edit.a.start >= x.start && edit.a.end <= x.end);
    let edited = inside.fold((0, 0), |(a, b), edit| (a + edit.a.len(), b + edit.b.len()));
    2 * edited.0 >= x.len() && 2 * edited.1 >= y.len()
}

/// The tokens of the question that `range` is a part of, if it is part of one.
fn question(tokens: &Tokens<'_>, range: &Range<usize>) -> Option<Range<usize>> {
    let ends = |at: &usize| {
        let gap = tokens.gap(*at);
        gap.contains(PASSAGE_ENDS) || gap.contains(". ")
    };
    let end = (range.end.max(1)..=tokens.len()).take(PASSAGE_TOKENS_MAX).find(ends)?;
    let start = (0..=range.start).rev().take(PASSAGE_TOKENS_MAX).find(|at| *at == 0 || ends(at))?;
    asks(tokens.gap(end)).then_some(start..end)
}

/// Whether a mark of a question ends a sentence in `gap`. In code it stands before other marks.
fn asks(gap: &str) -> bool {
    let behind = gap.split(['?', '؟']).nth(1);
    behind.is_some_and(|behind| {
        behind.chars().next().is_none_or(|c| c.is_whitespace() || "?!\"”’」)<".contains(c))
    })
}

/// Names of speakers, and labels before a question or an answer in a corpus.
const TURNS: [&str; 22] = [
    "user",
    "human",
    "assistant",
    "system",
    "question",
    "answer",
    "prompt",
    "instruction",
    "input",
    "response",
    "output",
    "customer",
    "用户",
    "客户",
    "助手",
    "问",
    "答",
    "问题",
    "提问",
    "回答",
    "输入",
    "输出",
];

/// Marks behind the name of a speaker.
const BEHIND_SPEAKER: [char; 5] = [':', '|', '>', ']', '*'];

/// The tokens of the turn of a conversation that `range` is a part of, if there is one: from the
/// name of the speaker to the next such name, or to the end.
fn turn(tokens: &Tokens<'_>, range: &Range<usize>) -> Option<Range<usize>> {
    if !BEHIND_SPEAKER.iter().any(|mark| tokens.may_have(*mark)) {
        return None;
    }
    let text = &tokens.text;
    let begins = |at: &usize| {
        // Most tokens stand behind no such mark.
        let has_mark = tokens.gap(*at).trim_end().ends_with(BEHIND_SPEAKER);
        let before = text[..tokens.places[*at].start as usize].trim_end();
        let name = before.trim_end_matches(BEHIND_SPEAKER);
        has_mark
            && TURNS.iter().any(|turn| {
                name.strip_suffix(turn).is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
            })
    };
    let is_start = |at: &usize| *at < tokens.len() && begins(at);
    let start = (0..=range.start).rev().take(TURN_TOKENS_MAX).find(is_start)?;
    let last = tokens.len().min(start + TURN_TOKENS_MAX);
    let end = (range.end.max(start + 1)..last).find(begins);
    let end = end.or((last == tokens.len()).then_some(last))?;
    Some(start..end)
}

/// Whether the edits of a clause replace all text between two quotation marks: another name, title
/// or saying. Symmetric.
pub fn are_other_quotations((a, b): (&Tokens<'_>, &Tokens<'_>), clause: &[&Span]) -> bool {
    let Some((x, y)) = extent(clause) else { return false };
    let fits = |range: &Range<usize>| (1..=PASSAGE_TOKENS_MAX).contains(&range.len());
    let of = |tokens: &Tokens<'_>, range: &Range<usize>| -> Vec<char> {
        letters(tokens.passage(range)).collect()
    };
    fits(&x)
        && fits(&y)
        && are_quoted(a.within(&x), b.within(&y))
        && are_parted(&of(a, &x), &of(b, &y))
}

fn are_quoted(a: Passage<'_>, b: Passage<'_>) -> bool {
    QUOTES.iter().any(|(open, close)| {
        let between = |Passage { tokens, range }: Passage<'_>| {
            tokens.gap(range.start).ends_with(*open) && tokens.gap(range.end).contains(*close)
        };
        between(a) && between(b)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::settle::settled;

    fn is_other(a: &str, b: &str) -> bool {
        let of = |a: &str, b: &str| {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            let spans = settled(&x, &y);
            let edits: Vec<&Span> = spans.iter().collect();
            are_other_questions((&x, &y), &edits, &edits) || are_other_quotations((&x, &y), &edits)
        };
        assert_eq!(of(a, b), of(b, a), "{a} | {b}");
        of(a, b)
    }

    /// One lesson with another question, and one frame with another title, were copies.
    #[test]
    fn other_passages() {
        for (a, b) in [
            (
                "the ferry was late. question 1: why did the ferry stop?",
                "the ferry was late. question 1: who sold the house of the widow?",
            ),
            ("渡船来晚了。问题:渡船为什么停下?", "渡船来晚了。问题:是谁卖掉了那座老房子?"),
            (
                "be kind. user: what grows in the shade of an oak? assistant: ferns do.",
                "be kind. user: my parcel is late, please help. assistant: ferns do.",
            ),
            ("商品“青瓷荷口盘(八寸)”已经下架", "商品“黄杨木梳(细齿)”已经下架"),
            ("he read \"the mill on the hill\" again", "he read \"a winter by the sea\" again"),
        ] {
            assert!(is_other(a, b), "{a} | {b}");
        }
    }

    /// A question with one other word, a sentence that was rewritten, and a quotation with slips
    /// are no other passages.
    #[test]
    fn the_same_passages() {
        for (a, b) in [
            ("so: why did the old ferry stop there?", "so: why did the old boat stop there?"),
            ("it was late. the ferry had to stop.", "it was late. someone sold an old house."),
            ("he read “the mill on the hill” again", "he read “the mil on the hil” again"),
            (
                "how does the ferry run? it is slow.",
                "news of the day: how does the ferry run? it is slow.",
            ),
            ("let title?: string; // unused here", "let title?: string; // 这里没有用到"),
            ("商品“青瓷荷口盘”已经下架", "商品“青瓷荷口盆”已经下架"),
        ] {
            assert!(!is_other(a, b), "{a} | {b}");
        }
    }
}
