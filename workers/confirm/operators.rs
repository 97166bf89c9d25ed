//! Marks that say something: operators of formulas and of code, and signs for yes and no.
//!
//! Marks are no tokens, because copies of a text differ in them. So `C++` and `C#`, or `i < 5` and
//! `i > 5`, or `a + b` and `a - b` are aligned without a difference. Where the two texts have
//! different marks of this kind between equal tokens, the mark is a fact, like another number. A
//! mark that one text lacks is no fact, because conversions of pages lose marks. There are two
//! exceptions: `C` and `C++`, and marks between the digits of short numbers, as `1/2` is not `12`
//! and `2-1` is not `21`. Longer numbers are those of telephones, days and books, which are written
//! with marks or without.

use crate::confirm::align::Tokens;
use crate::confirm::align::digits::is_digit;
use crate::confirm::align::edits::{Span, equal_parts};
use crate::confirm::numbers::units::is_amount;
use crate::text::lists::lines;
use std::sync::OnceLock;

const OPERATORS: &str = include_str!("operators.txt");

/// Where a mark of a class counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// Between any two tokens.
    Compare,
    /// Between numbers and single letters.
    Count,
    /// Behind a letter, without a space.
    Behind,
    /// Anywhere among other marks.
    Sign,
}

/// Marks that exclude each other, each with all its forms.
struct Class {
    place: Place,
    marks: Vec<Vec<&'static str>>,
}

impl Class {
    /// The number of the mark that is `text`.
    fn mark(&self, text: &str) -> Option<usize> {
        self.marks.iter().position(|forms| forms.contains(&text))
    }

    /// The number of the only mark of which `text` has a form.
    fn mark_in(&self, text: &str) -> Option<usize> {
        let has = |forms: &Vec<&str>| forms.iter().any(|form| text.contains(form));
        let mut found = (0..self.marks.len()).filter(|at| has(&self.marks[*at]));
        found.next().filter(|_| found.next().is_none())
    }
}

fn classes() -> &'static [Class] {
    static CLASSES: OnceLock<Vec<Class>> = OnceLock::new();
    CLASSES.get_or_init(|| {
        let class = |line: &'static str| {
            let (place, marks) = line.split_once(' ')?;
            let place = match place {
                "compare" => Place::Compare,
                "count" => Place::Count,
                "behind" => Place::Behind,
                "sign" => Place::Sign,
                _ => return None,
            };
            let marks = marks.split(' ').map(|forms| forms.split(',').collect()).collect();
            Some(Class { place, marks })
        };
        lines(OPERATORS).filter_map(class).collect()
    })
}

/// Whether the marks of a text may say something.
fn may_say(tokens: &Tokens<'_>) -> bool {
    static FIRST: OnceLock<Vec<char>> = OnceLock::new();
    let first = FIRST.get_or_init(|| {
        let forms = classes().iter().flat_map(|class| class.marks.iter().flatten());
        let mut first: Vec<char> = forms.filter_map(|form| form.chars().next()).collect();
        // A dash says something only if the other text has another mark.
        first.retain(|c| !matches!(c, '-' | '−'));
        first.sort_unstable();
        first.dedup();
        first
    });
    first.iter().any(|mark| tokens.may_have(*mark))
}

/// The tokens around operators and signs that differ, in the equal parts between `spans`.
///
/// ```
/// use workers::confirm::align::Tokens;
/// use workers::confirm::operators::other_operators;
///
/// let found = |a: &str, b: &str| {
///     let (a, b) = (Tokens::of(a).unwrap(), Tokens::of(b).unwrap());
///     let found = other_operators(&a, &b, &[]);
///     found.first().map(|span| a.passage(&span.a).to_owned())
/// };
/// assert_eq!(found("wait while i < 5", "wait while i > 5").as_deref(), Some("i < 5"));
/// assert_eq!(found("on 2024-05-01", "on 2024/05/01"), None);
/// ```
pub fn other_operators(a: &Tokens<'_>, b: &Tokens<'_>, spans: &[Span]) -> Vec<Span> {
    let may_say = may_say(a) || may_say(b);
    let mut found = Vec::new();
    for part in equal_parts(spans, [a.len(), b.len()]) {
        // The gaps between equal tokens, and those at the edges of the texts.
        let first = usize::from((part.a.start, part.b.start) != (0, 0));
        let last = usize::from((part.a.end, part.b.end) == (a.len(), b.len()));
        for at in first..part.a.len() + last {
            let (i, j) = (part.a.start + at, part.b.start + at);
            let digits = is_between_digits(a, i) && is_between_digits(b, j);
            if !(may_say || digits) || a.gap(i) == b.gap(j) {
                continue;
            }
            if may_say && is_other((a, i), (b, j)) || digits && is_parted((a, i), (b, j)) {
                let around = |at: usize, len: usize| at.saturating_sub(1)..(at + 1).min(len);
                found.push(Span { a: around(i, a.len()), b: around(j, b.len()) });
            }
        }
    }
    // Two gaps beside one token would make spans that overlap.
    found.dedup_by(|next, last| next.a.start < last.a.end || next.b.start < last.b.end);
    found
}

fn is_between_digits(tokens: &Tokens<'_>, at: usize) -> bool {
    at > 0 && at < tokens.len() && tokens.is_bare_digit(at - 1) && tokens.is_bare_digit(at)
}

/// The numbers between `spans` that are equal but for the marks between their digits: `10:30` and
/// `1030`. They are no facts, but a reader wants to see them.
pub fn other_marks(a: &Tokens<'_>, b: &Tokens<'_>, spans: &[Span]) -> Vec<Span> {
    let mut found = Vec::<Span>::new();
    let is_space = |c: char| c.is_whitespace();
    for part in equal_parts(spans, [a.len(), b.len()]) {
        let mut start = 0;
        for at in 1..part.a.len() {
            let (i, j) = (part.a.start + at, part.b.start + at);
            // A number and those that one mark joins with it are shown as one.
            let joined = |tokens: &Tokens<'_>, at: usize| tokens.gap(at).chars().nth(1).is_none();
            if !is_between_digits(a, i) || !is_between_digits(b, j) {
                start = at;
                continue;
            }
            if !joined(a, i) && !joined(b, j) {
                start = at;
            }
            if a.gap(i).trim_matches(is_space) != b.gap(j).trim_matches(is_space) {
                let span = |from: usize| from + start.min(at - 1)..from + at + 1;
                let span = Span { a: span(part.a.start), b: span(part.b.start) };
                match found.last_mut() {
                    Some(last) if last.a.end > span.a.start && last.b.end > span.b.start => {
                        (last.a.end, last.b.end) = (span.a.end, span.b.end);
                    }
                    _ => found.push(span),
                }
            } else if let Some(last) = found.last_mut()
                && (last.a.end, last.b.end) == (i, j)
                && start < at
            {
                (last.a.end, last.b.end) = (i + 1, j + 1);
            }
        }
    }
    found
}

/// The most digits of a short number. A longer number is the same with other marks in it.
const PARTED_DIGITS_MAX: usize = 6;

/// Whether a mark parts two digits of a short number in one text, and the digits touch in the
/// other. White space and the marks of thousands do not count.
fn is_parted((a, i): (&Tokens<'_>, usize), (b, j): (&Tokens<'_>, usize)) -> bool {
    let (marked, at) = match (a.gap(i).is_empty(), b.gap(j).is_empty()) {
        (false, true) => (a, i),
        (true, false) => (b, j),
        _ => return false,
    };
    let mut marks = marked.gap(at).trim().chars();
    let parts = |c: char| "-−‐‑–—:∶/~〜*×+^".contains(c);
    if !marks.next().is_some_and(parts) || marks.next().is_some() {
        return false;
    }
    let goes_on = |at: usize| {
        let mut marks = marked.gap(at).trim().chars();
        marks.next().is_none_or(parts) && marks.next().is_none()
    };
    let is_digit = |at: &usize| *at < marked.len() && is_digit(marked.token(*at));
    let before = (0..at).rev().take(PARTED_DIGITS_MAX + 1).take_while(is_digit);
    let before = before.take_while(|before| *before + 1 == at || goes_on(before + 1)).count();
    let behind = (at..at + PARTED_DIGITS_MAX + 1).take_while(is_digit);
    let behind = behind.take_while(|behind| *behind == at || goes_on(*behind)).count();
    before + behind <= PARTED_DIGITS_MAX && !is_clock(marked, at, (before, behind))
}

/// Whether a colon parts two digits of an hour from two digits of minutes, as in 10:30. Some write
/// 1030 for it.
fn is_clock(tokens: &Tokens<'_>, at: usize, (before, behind): (usize, usize)) -> bool {
    let digits = |at: usize| tokens.token(at).parse::<u32>().unwrap_or(u32::MAX);
    let value = |at: usize| digits(at).saturating_mul(10).saturating_add(digits(at + 1));
    (before, behind) == (2, 2)
        && tokens.gap(at) == ":"
        && tokens.gap(at - 1).is_empty()
        && tokens.gap(at + 1).is_empty()
        && value(at - 2) < 24
        && value(at) < 60
}

/// Whether the gaps before two tokens have different marks of one class.
fn is_other((a, i): (&Tokens<'_>, usize), (b, j): (&Tokens<'_>, usize)) -> bool {
    let (x, y) = (a.gap(i), b.gap(j));
    let inside = i > 0 && j > 0 && i < a.len() && j < b.len();
    let differ = |x: Option<usize>, y: Option<usize>| x.zip(y).is_some_and(|(x, y)| x != y);
    classes().iter().any(|class| match class.place {
        Place::Sign => differ(class.mark_in(x), class.mark_in(y)),
        Place::Compare => inside && differ(class.mark(x.trim()), class.mark(y.trim())),
        Place::Behind => i > 0 && j > 0 && differ_behind(class, (a, i), (b, j)),
        Place::Count => inside && differ_in_count(class, (a, i), (b, j)),
    })
}

/// Whether different marks touch the tokens before two gaps, or a mark touches a single letter in
/// one text alone.
fn differ_behind(
    class: &Class,
    (a, i): (&Tokens<'_>, usize),
    (b, j): (&Tokens<'_>, usize),
) -> bool {
    let touching = |gap: &str| {
        let end = gap.find(|c: char| !"+-#".contains(c)).unwrap_or(gap.len());
        class.mark(&gap[..end])
    };
    let is_letter = |tokens: &Tokens<'_>, at: usize| is_single_letter(tokens.token(at - 1));
    match (touching(a.gap(i)), touching(b.gap(j))) {
        (Some(x), Some(y)) => x != y,
        (None, None) => false,
        // `c` and `c--` may be a dash.
        (Some(mark), None) | (None, Some(mark)) => mark != 1 && is_letter(a, i) && is_letter(b, j),
    }
}

/// Whether two numbers or letters are counted together in other ways.
fn differ_in_count(
    class: &Class,
    (a, i): (&Tokens<'_>, usize),
    (b, j): (&Tokens<'_>, usize),
) -> bool {
    let digits = is_digit(a.token(i - 1)) && is_digit(a.token(i));
    let (x, y) = (a.gap(i), b.gap(j));
    if digits && [x, y].iter().any(|gap| gap.is_empty()) {
        return false;
    }
    let is_operand = |token: &str| is_digit(token) || is_single_letter(token);
    // Behind a mark that begins an item of a list, the letter may be an article.
    let spaced = x.ends_with(' ') || y.ends_with(' ');
    let is_article = spaced && matches!(a.token(i), "a" | "i");
    let (Some(x), Some(y)) = (class.mark(x.trim()), class.mark(y.trim())) else { return false };
    // Dates have dashes or slashes.
    let of_date = digits
        && [x, y].iter().all(|mark| matches!(class.marks[*mark][0], "-" | "/"))
        && !(is_part_of_amount(a, i) || is_part_of_amount(b, j));
    x != y && is_operand(a.token(i - 1)) && is_operand(a.token(i)) && !is_article && !of_date
}

/// Whether the digits before and at `at` are a fraction or a range of something: `1/2片`, `1-2片`.
/// Parts of longer numbers, and what `第` orders, are none.
fn is_part_of_amount(tokens: &Tokens<'_>, at: usize) -> bool {
    let goes_on = |at: usize| {
        let is_digit = |at: usize| at < tokens.len() && is_digit(tokens.token(at));
        is_digit(at - 1) && is_digit(at) && matches!(tokens.gap(at), "" | "-" | "/" | ".")
    };
    let first = at - 1;
    let is_joined = first > 0 && (goes_on(first) || tokens.token(first - 1) == "第");
    !is_joined
        && !goes_on(at + 1)
        && tokens.token(first) < tokens.token(at)
        && is_amount(tokens, at)
}

fn is_single_letter(token: &str) -> bool {
    token.len() == 1 && token.bytes().all(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differ(a: &str, b: &str) -> bool {
        let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
        let found = other_operators(&x, &y, &[]).len();
        assert_eq!(other_operators(&y, &x, &[]).len(), found, "{a} | {b}");
        assert!(other_operators(&x, &x, &[]).is_empty(), "{a}");
        found > 0
    }

    /// Texts that differed in an operator alone were folded as equal but for marks.
    #[test]
    fn operators_are_facts() {
        for (a, b) in [
            ("we look for a c++ developer", "we look for a c# developer"),
            ("he writes c++", "he writes c"),
            ("if user.role == admin", "if user.role != admin"),
            ("run while i < 5", "run while i > 5"),
            ("run while i<=5", "run while i<5"),
            ("the sum is a + b", "the sum is a - b"),
            ("x = 3 + 2i", "x = 3 - 2i"),
            ("2a*b", "2a/b"),
            ("每次服用1/2片", "每次服用1-2片"),
            ("add 1/2 cups of milk", "add 1-2 cups of milk"),
            ("i++ in the loop", "i-- in the loop"),
            ("add 1/2 cup of milk", "add 12 cup of milk"),
            ("wifi ✓ parking", "wifi ✗ parking"),
            ("✅ pets", "❌ pets"),
            ("the film 👍", "the film 👎"),
            ("total += price", "total -= price"),
            ("total += price", "total = price"),
            ("if ready && open", "if ready || open"),
            ("the map a → b", "the map a ← b"),
            ("let a ⊂ b", "let a ⊃ b"),
        ] {
            assert!(differ(a, b), "{a} | {b}");
        }
    }

    /// Two numbers that differ in the marks between their digits are found whole.
    #[test]
    fn other_marks_are_found() {
        let found = |a: &str, b: &str| -> Vec<[String; 2]> {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            let of = |span: &Span| [x.passage(&span.a), y.passage(&span.b)].map(str::to_owned);
            other_marks(&x, &y, &[]).iter().map(of).collect()
        };
        assert_eq!(found("at 10:30 now", "at 1030 now"), [["10:30", "1030"]]);
        assert_eq!(
            found("on 2024-10-05 to 7", "on 2024/10/05 to 7"),
            [["2024-10-05", "2024/10/05"]]
        );
        assert_eq!(found("1 000, or 2; 3", "1000 or 2 3"), [["2; 3", "2 3"]]);
        assert_eq!(found("one, two. 5 men", "one two 5 men"), [[""; 2]; 0]);
    }

    /// Scores, ranges and times were equal to the number of their digits: `2-1` was 21.
    #[test]
    fn marks_part_short_numbers() {
        for (a, b) in [
            ("they won 2-1 at last", "they won 21 at last"),
            ("they won 2:1 at last", "they won 21 at last"),
            ("it starts at 1:50 now", "it starts at 15:0 now"),
            ("take 5 - 10 of them", "take 510 of them"),
            ("in 2024/25 they met", "in 202425 they met"),
            ("٢-١ في المباراة", "٢١ في المباراة"),
        ] {
            assert!(differ(a, b), "{a} | {b}");
        }
        for (a, b) in [
            ("it starts at 10:30 now", "it starts at 1030 now"),
            ("call 555-1234 now", "call 5551234 now"),
            ("call 040-123 45 67 now", "call 040123 45 67 now"),
            ("on 2024-10-05 they met", "on 20241005 they met"),
            ("isbn 978-3-16-148410-0", "isbn 9783161484100"),
            ("they paid 1 000 of them", "they paid 1000 of them"),
            ("they paid 1,000 of them", "they paid 1000 of them"),
            ("they paid 1'000 of them", "they paid 1000 of them"),
            ("they won 2-1 at last", "they won 2 1 at last"),
            ("they won 2–1 at last", "they won 2-1 at last"),
        ] {
            assert!(!differ(a, b), "{a} | {b}");
        }
    }

    /// Marks that copies have in other forms, and that converting a page adds or drops, are none.
    #[test]
    fn punctuation_is_none() {
        for (a, b) in [
            ("on 2024-05-01", "on 2024/05/01"),
            ("5/6月的天气", "5-6月的天气"),
            ("2023/24年度", "2023-24年度"),
            ("第1/2片", "第1-2片"),
            ("on 3/5 we met", "on 3-5 we met"),
            ("call 010-6555 1234", "call 010-65551234"),
            ("milk - a litre - bread", "milk * a litre * bread"),
            ("# title of the page", "title of the page"),
            ("a ≤ b and c ≠ d", "a <= b and c != d"),
            ("home > docs > start", "home / docs / start"),
            ("a == b", "a = b"),
            ("3 × 4", "3 * 4"),
            ("the **bold** word", "the bold word"),
            ("one, two; three!", "one two. three"),
            ("see c. then d", "see c then d"),
            ("★ news ★", "● news ●"),
        ] {
            assert!(!differ(a, b), "{a} | {b}");
        }
    }
}
