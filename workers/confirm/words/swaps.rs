//! Tells exchanged roles from another order of words.
//!
//! `Derby beat Sheffield` does not say the same as `Sheffield beat Derby`, although no word is
//! replaced. Words side by side, such as `apples and pears` or the parts of a name, say the same in
//! either order.

use crate::confirm::align::edits::Span;
use crate::confirm::align::{Tokens, are_equal, is_han_token};
use crate::confirm::words::negations::has_negation;
use crate::confirm::words::span_words::SpanWords;
use crate::confirm::words::spelled::has_content;
use crate::confirm::words::{are_opposites, is_surname};
use crate::text::characters::is_han;
use crate::text::dictionary::UserDictionary;
use crate::text::lists::{WordSet, lines};
use std::ops::Range;
use std::sync::OnceLock;

/// Words between the members of a list.
const CONJUNCTIONS: &str = include_str!("conjunctions.txt");

/// The most tokens of a name.
const NAME_TOKENS_MAX: usize = 4;
/// The fewest Chinese characters of a name.
const HAN_MIN: usize = 2;

/// Marks between two clauses.
const CLAUSE_MARKS: [char; 6] = [',', '。', ';', '!', '?', ':'];

/// What two passages are that exchanged their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swap {
    /// Each has the role that the other one had.
    Roles,
    /// They stand in a list, or side by side.
    Order,
}

/// For each of `edits` the swap that it is part of, if it is part of one. Symmetric.
///
/// ```
/// use workers::confirm::align::{Tokens, spans};
/// use workers::confirm::words::swaps::{Swap, of};
///
/// let swaps = |a, b| {
///     let (a, b) = (Tokens::of(a).unwrap(), Tokens::of(b).unwrap());
///     let spans = spans(&a, &b, 9).unwrap();
///     of(&a, &b, &spans.iter().collect::<Vec<_>>(), None)
/// };
/// let roles = Some(Swap::Roles);
/// assert_eq!(swaps("derby has now beaten leeds", "leeds has now beaten derby"), [roles; 2]);
/// assert_eq!(swaps("a derby", "a leeds"), [None]);
/// ```
pub fn of(
    a: &Tokens<'_>,
    b: &Tokens<'_>,
    edits: &[&Span],
    dictionary: Option<&UserDictionary>,
) -> Vec<Option<Swap>> {
    let mut found: Vec<Option<Swap>> = edits.iter().map(|span| within(a, b, span)).collect();
    for (at, first) in edits.iter().enumerate() {
        let mut others = edits.iter().enumerate().skip(at + 1);
        let Some((to, last)) = others.find(|(_, last)| is_mirror(a, b, first, last)) else {
            continue;
        };
        if are_slips(a, b, [*first, *last], dictionary) {
            continue;
        }
        let between = [first.a.end..last.a.start, first.b.end..last.b.start];
        let swap = match is_list(a, &between[0]) && is_list(b, &between[1]) {
            true => Swap::Order,
            false => Swap::Roles,
        };
        (found[at], found[to]) = (Some(swap), Some(swap));
    }
    found
}

/// Whether `last` replaces the same passages as `first`, in the opposite direction.
fn is_mirror(a: &Tokens<'_>, b: &Tokens<'_>, first: &Span, last: &Span) -> bool {
    let lengths = [first.a.len(), first.b.len()];
    lengths == [last.b.len(), last.a.len()]
        && lengths.iter().all(|tokens| (1..=NAME_TOKENS_MAX).contains(tokens))
        && are_equal(a, &first.a, b, &last.b)
        && are_equal(a, &last.a, b, &first.b)
}

/// Whether each of two mirrored replacements is of one Chinese character by another, and one of
/// the four is in no word: then both are slips, such as 放人…入家 for 放入…人家.
fn are_slips(
    a: &Tokens<'_>,
    b: &Tokens<'_>,
    spans: [&Span; 2],
    dictionary: Option<&UserDictionary>,
) -> bool {
    let one_han = |tokens: &Tokens<'_>, side: &Range<usize>| {
        side.len() == 1 && is_han_token(tokens.token(side.start))
    };
    let in_no_word = |tokens: &Tokens<'_>, side: &Range<usize>| {
        SpanWords::around(tokens, side, dictionary).is_some_and(|words| !words.has_known())
    };
    spans.iter().all(|span| {
        let (i, j) = (span.a.start, span.b.start);
        one_han(a, &span.a)
            && one_han(b, &span.b)
            && !are_opposites((a, i), (b, j))
            && !(is_surname(a.token(i)) && is_surname(b.token(j)))
    }) && spans.iter().any(|span| in_no_word(a, &span.a) || in_no_word(b, &span.b))
}

/// The most tokens of a span that is searched for passages that change places, which may take time
/// in proportion to the third power of the tokens.
const SPAN_TOKENS_MAX: usize = 512;

/// The swap within a span whose sides have the same tokens, if there is one: the passages at its
/// ends change places around the tokens between them, of which there may be none.
fn within(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> Option<Swap> {
    let (x, y) = (&span.a, &span.b);
    if x.len() != y.len() || !(2..=SPAN_TOKENS_MAX).contains(&x.len()) {
        return None;
    }
    let shorter = |tokens: &usize| 2 * tokens <= x.len();
    for front in 1..x.len() {
        let first = x.start..x.start + front;
        if front > NAME_TOKENS_MAX && !shorter(&front) {
            break;
        }
        if !are_equal(a, &first, b, &(y.end - front..y.end)) {
            continue;
        }
        for back in (1..=x.len() - front).rev() {
            let last = x.end - back..x.end;
            let between = first.end..last.start;
            if !are_equal(a, &last, b, &(y.start..y.start + back))
                || !are_equal(a, &between, b, &(y.start + back..y.end - front))
            {
                continue;
            }
            let is_name = |range: &Range<usize>| {
                let han = range.clone().filter(|at| a.token(*at).starts_with(is_han)).count();
                range.len() <= NAME_TOKENS_MAX && (han >= HAN_MIN || has_content(a, range))
            };
            // A negation that moves to another clause denies something else.
            let is_parted = [(a, x), (b, y)].iter().any(|(tokens, side)| {
                (side.start + 1..side.end).any(|at| tokens.gap(at).contains(CLAUSE_MARKS))
            });
            if is_parted && [&first, &last].iter().any(|side| has_negation(a.within(side))) {
                return Some(Swap::Roles);
            }
            let moved = between.is_empty() || is_list(a, &between);
            let names = is_name(&first) && is_name(&last);
            let directions = first.len() == 1
                && last.len() == 1
                && are_opposites((a, first.start), (a, last.start));
            return match moved || !names && !directions {
                true => Some(Swap::Order),
                false => Some(Swap::Roles),
            };
        }
    }
    None
}

/// Whether the passages before and behind the tokens of `between` are members of one list: commas
/// or conjunctions part both from the members between them.
fn is_list(tokens: &Tokens<'_>, between: &Range<usize>) -> bool {
    static WORDS: OnceLock<WordSet> = OnceLock::new();
    let words =
        WORDS.get_or_init(|| lines(CONJUNCTIONS).flat_map(|line| line.split(' ')).collect());
    let parts = |at: usize| tokens.gap(at).contains([',', '、', ';', '/', '&', '+', '·', '|']);
    let joins = |at: usize| words.contains(tokens.token(at));
    let (start, end) = (between.start, between.end);
    between.is_empty() || (parts(start) || joins(start)) && (parts(end) || joins(end - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::settle::settled;

    fn found(a: &str, b: &str) -> Vec<Option<Swap>> {
        let of = |a: &str, b: &str| {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            of(&x, &y, &settled(&x, &y).iter().collect::<Vec<_>>(), None)
        };
        assert_eq!(of(a, b), of(b, a), "{a} | {b}");
        of(a, b)
    }

    /// Two texts of a game were one, though the winner of one is the loser of the other.
    #[test]
    fn exchanged_roles() {
        for (a, b) in [
            ("on sunday sheffield beat derby at home", "on sunday derby beat sheffield at home"),
            ("вчера спартак обыграл зенит дома", "вчера зенит обыграл спартак дома"),
            ("فوز الأهلي على الزمالك أمس", "فوز الزمالك على الأهلي أمس"),
            ("trains from york to hull are late", "trains from hull to york are late"),
            ("昨晚巴西胜阿根廷晋级", "昨晚阿根廷胜巴西晋级"),
            ("这条路由北向南封闭", "这条路由南向北封闭"),
            ("教育局昨天约谈了体育局", "体育局昨天约谈了教育局"),
            ("赵某昨天打伤了钱某", "钱某昨天打伤了赵某"),
            ("送保是可以的,不需要付钱", "送保是不可以的,需要付钱"),
            (
                "manchester united have at last beaten real madrid",
                "real madrid have at last beaten manchester united",
            ),
        ] {
            assert!(found(a, b).contains(&Some(Swap::Roles)), "{a} | {b}");
        }
    }

    /// Members of a list, parts of a name and words that moved say the same in another order.
    #[test]
    fn another_order() {
        for (a, b) in [
            ("we sell apples and pears here", "we sell pears and apples here"),
            ("we sell apples, pears and plums", "we sell pears, apples and plums"),
            ("we sell apples, plums and pears", "we sell pears, plums and apples"),
            ("met by maria lopez today", "met by lopez maria today"),
            ("then the council met", "the council then met"),
            ("мэрия сообщила об этом", "сообщила мэрия об этом"),
            ("市场上有苹果和鸭梨出售", "市场上有鸭梨和苹果出售"),
            ("夜来江水平", "夜来水江平"),
            ("把书放入柜子,等人家来拿", "把书放人柜子,等入家来拿"),
        ] {
            assert!(!found(a, b).contains(&Some(Swap::Roles)), "{a} | {b}");
        }
    }
}
