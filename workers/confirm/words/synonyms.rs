//! Words of a list that mean the same in different regions, or are spelled in two ways: `软件` and
//! `软体`, `colour` and `color`, `珈琲` and `コーヒー`. A copy for readers of another region has the other
//! word everywhere.

use crate::confirm::align::edits::Span;
use crate::confirm::align::{Passage, Tokens};
use crate::confirm::words::spelled::own_letters;
use crate::confirm::words::{are_of_one_class, classes};
use crate::text::characters::{is_han, is_kana};
use crate::text::lists::{CharSet, WordMap, lines};
use std::ops::Range;
use std::sync::OnceLock;

/// Words of one meaning, a class a line.
const SYNONYMS: &str = include_str!("synonyms.txt");

/// The most tokens of a word that differ, and the most equal tokens that it has on either side of
/// them.
const TOKENS_MAX: usize = 6;
const SHARED_MAX: usize = 3;

/// Particles behind a word, which an editor leaves out with it: 公布的, 发布.
const PARTICLES: [char; 3] = ['的', '了', '着'];

/// The class of each word.
fn all() -> &'static WordMap<Vec<usize>> {
    static CLASSES: OnceLock<WordMap<Vec<usize>>> = OnceLock::new();
    CLASSES.get_or_init(|| classes(SYNONYMS))
}

/// Whether a token may be part of a word of the list. This is a cheap test before the look-ups,
/// because the characters of most edits are in no word of the list.
fn is_in_list(token: &str) -> bool {
    static CHARACTERS: OnceLock<CharSet> = OnceLock::new();
    let characters = CHARACTERS.get_or_init(|| {
        let listed = lines(SYNONYMS).flat_map(str::chars).filter(|c| is_han(*c));
        listed.chain(PARTICLES).collect()
    });
    token.chars().next().is_some_and(|c| !is_han(c) || characters.contains(&c))
}

/// Whether a span replaces a word by another one of its class. Characters that both words begin or
/// end with are not in the span. Symmetric.
pub fn are_replaced(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let (x, y) = (&span.a, &span.b);
    // Of `冷气` and `冷气机` the span has only 机.
    let most = if x.is_empty() || y.is_empty() { SHARED_MAX } else { TOKENS_MAX };
    let are_in_list = |tokens: &Tokens<'_>, range: &Range<usize>| {
        range.clone().all(|at| is_in_list(tokens.token(at)))
    };
    x.len().max(y.len()) <= most
        && are_in_list(a, x)
        && are_in_list(b, y)
        && (are_spelled_otherwise(a.within(x), b.within(y))
            || around(a, b, span).any(|(x, y)| {
                let [left, right] =
                    [a.passage(&x), b.passage(&y)].map(|word| word.trim_end_matches(PARTICLES));
                are_of_one_class(all(), left, right)
            }))
}

/// Whether two passages are one Japanese word in Chinese characters and in kana. Particles may
/// touch the kana, so that both are one token: `には珈琲が`, `にはコーヒーが`.
fn are_spelled_otherwise(one: Passage<'_>, other: Passage<'_>) -> bool {
    let has_kana = |side: Passage<'_>| side.tokens.passage(side.range).contains(is_kana);
    (has_kana(one) || has_kana(other)) && {
        let (p, q) = own_letters(one, other);
        are_of_one_class(all(), &String::from_iter(p), &String::from_iter(q))
    }
}

/// The span with up to [`SHARED_MAX`] more tokens on either side, which are the same in both texts.
fn around<'s>(
    a: &'s Tokens<'_>,
    b: &'s Tokens<'_>,
    span: &'s Span,
) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + 's {
    let equal = |i: usize, j: usize| {
        i < a.len() && j < b.len() && a.token(i) == b.token(j) && a.token(i).starts_with(is_han)
    };
    let before = (0..SHARED_MAX.min(span.a.start).min(span.b.start))
        .take_while(move |n| equal(span.a.start - 1 - n, span.b.start - 1 - n));
    let behind = (0..SHARED_MAX).take_while(move |n| equal(span.a.end + n, span.b.end + n));
    let (before, behind) = (before.count(), behind.count());
    let widths = (0..=before).flat_map(move |left| (0..=behind).map(move |right| (left, right)));
    widths.map(move |(left, right)| {
        (span.a.start - left..span.a.end + right, span.b.start - left..span.b.end + right)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::settle::settled;

    /// Each word is in one class, and is one token or Chinese characters.
    #[test]
    fn a_word_has_one_class() {
        let words: Vec<&str> = lines(SYNONYMS).flat_map(|line| line.split(' ')).collect();
        for (class, line) in lines(SYNONYMS).enumerate() {
            for word in line.split(' ') {
                assert_eq!(all()[word], [class], "{word}");
                let tokens = Tokens::of(word).expect("short");
                let is_han = (0..tokens.len()).all(|at| tokens.token(at).starts_with(is_han));
                let is_one = tokens.len() == 1 || word.contains(is_kana);
                assert!(is_one || is_han || word == "u盘", "{word}");
            }
        }
        assert!(words.len() > 200);
    }

    /// A word of another region is no other word, whatever characters both share; other words are.
    #[test]
    fn words_of_other_regions() {
        for (a, b, expected) in [
            ("他买了软件。", "他买了软体。", true),
            ("他乘计程车去。", "他乘的士去。", true),
            ("切好土豆丝", "切好洋芋丝", true),
            ("开冷气睡觉", "开冷气机睡觉", true),
            ("用u盘拷贝", "用随身碟拷贝", true),
            ("the colour of it", "the color of it", true),
            ("今天公布的数据", "今天发布数据", true),
            // A word in katakana was another word than the same one in Chinese characters.
            ("店には林檎があり", "店にはリンゴがあり", true),
            ("绮丽な花だ", "キレイな花だ", true),
            ("店の眼镜屋", "店のメガネ屋", true),
            ("これは我々の家だ", "これは私たちの家だ", true),
            ("店には林檎があり", "店にはミカンがあり", false),
            ("他买了软件。", "他买了硬体。", false),
            ("他买了软件。", "他买了软糖。", false),
            ("切好土豆丝", "切好萝卜丝", false),
            ("the colour of it", "the favor of it", false),
        ] {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            let spans = settled(&x, &y);
            let found = spans.iter().all(|span| are_replaced(&x, &y, span));
            assert_eq!(found, expected, "{a} {b}");
        }
    }
}
