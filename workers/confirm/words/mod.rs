//! Words that are facts although they are short or look alike: numbers and dates that are written
//! out, such as `twelve`, `march` and `壹`, opposites, and surnames.

pub(super) mod likeness;
pub mod negations;
pub(super) mod passages;
pub(super) mod span_words;
pub mod spelled;
pub mod swaps;
pub(super) mod synonyms;
pub(super) mod template;
pub(super) mod variants;

use crate::confirm::align::Tokens;
use crate::confirm::align::digits::HAN_DIGITS;
use crate::confirm::align::edits::Span;
use crate::text::characters::is_han;
use crate::text::lists::{WordMap, WordSet, lines};
use std::sync::OnceLock;

/// Words that are numbers, and their numerals.
const NUMBER_WORDS: &str = include_str!("number_words.txt");
/// The longest of them, in bytes, is the Russian Monday.
const NUMBER_WORD_BYTES_MAX: usize = 24;
/// Words of which one stands against the other, a class a line.
const OPPOSITES: &str = include_str!("opposites.txt");
/// The most characters of a Chinese opposite.
const OPPOSITE_CHARS_MAX: usize = 2;
/// Chinese surnames. Two different surnames count as opposites.
const SURNAMES: &str = include_str!("surnames.txt");
/// How its line of surnames begins that are other words as well.
const ALSO_WORDS: &str = "also ";
/// English words that hold a sentence together.
const FUNCTION_WORDS: &str = include_str!("function_words.txt");

/// The words of a list of classes, a class a line, and the lines that each is in.
pub fn classes(list: &'static str) -> WordMap<Vec<usize>> {
    let mut classes = WordMap::<Vec<usize>>::default();
    for (class, line) in lines(list).enumerate() {
        line.split(' ').for_each(|word| classes.entry(word).or_default().push(class));
    }
    classes
}

/// Whether two words have the same classes, and one at least.
pub fn are_of_one_class(classes: &WordMap<Vec<usize>>, x: &str, y: &str) -> bool {
    classes.get(x).is_some_and(|found| classes.get(y) == Some(found))
}

/// The end of each day of the week.
const KOREAN_DAY: &str = "요일";

/// The numeral, in digits or Chinese characters, that a word stands for.
///
/// ```
/// use workers::confirm::words::numeral;
///
/// assert_eq!([numeral("twelve"), numeral("twelfth")], [Some("十二"); 2]);
/// assert_eq!(numeral("october"), numeral("oct"));
/// assert_eq!(numeral("often"), None);
/// ```
pub fn numeral(word: &str) -> Option<&'static str> {
    static WORDS: OnceLock<WordMap<&str>> = OnceLock::new();
    let words =
        WORDS.get_or_init(|| lines(NUMBER_WORDS).filter_map(|line| line.split_once(' ')).collect());
    // Behind a day of the week in Korean there may be a particle.
    let is_korean = word.as_bytes().first().is_some_and(|byte| *byte >= 0xea);
    let day = if is_korean { word.find(KOREAN_DAY) } else { None };
    let word = day.map_or(word, |at| &word[..at + KOREAN_DAY.len()]);
    // Most tokens are no numerals, and this function is called often.
    if !(3..=NUMBER_WORD_BYTES_MAX).contains(&word.len()) {
        return None;
    }
    words.get(word).copied()
}

/// Whether `token` is a word of letters that is a number, a month or a day of the week.
pub fn is_number_word(token: &str) -> bool {
    !token.starts_with(is_han) && numeral(token).is_some()
}

/// Whether `word` is a month.
pub fn names_a_month(word: &str) -> bool {
    may_name_a_day(word) && numeral(word).is_some_and(|numeral| numeral.starts_with("99000"))
}

/// Whether `word` is a month or a day of the week.
pub fn names_a_day(word: &str) -> bool {
    may_name_a_day(word) && numeral(word).is_some_and(|numeral| numeral.starts_with("9900"))
}

/// Whether `word` is an English word that holds a sentence together.
pub fn holds_together(word: &str) -> bool {
    static WORDS: OnceLock<WordSet> = OnceLock::new();
    WORDS.get_or_init(|| lines(FUNCTION_WORDS).collect()).contains(word)
}

/// A cheap test before the look-up, because most tokens fail it.
fn may_name_a_day(word: &str) -> bool {
    (3..=NUMBER_WORD_BYTES_MAX).contains(&word.len()) && !word.starts_with(is_han)
}

/// Whether two English number words in a row are one number: `twenty-one`, `five million`.
pub fn make_one_number(left: &str, right: &str) -> bool {
    let is_magnitude = |numeral: &str| numeral.ends_with(['百', '千', '万', '亿']);
    let is_ten = |numeral: &str| numeral.ends_with('十') && numeral.chars().count() == 2;
    let is_number = |numeral: &str| !numeral.starts_with('9');
    let Some(behind) = numeral(right).filter(|_| right.is_ascii()) else { return false };
    // A digit behind a point has the point: `1.2 million`.
    let digit = left.bytes().next_back().is_some_and(|byte| byte.is_ascii_digit());
    match numeral(left).filter(|_| left.is_ascii()) {
        Some(before) if is_ten(before) && !is_magnitude(behind) => HAN_DIGITS.contains(behind),
        Some(before) => is_number(before) && is_magnitude(behind),
        None => digit && is_magnitude(behind),
    }
}

/// Whether the tokens at `i` and `j` are two opposites, where Chinese characters may need their
/// neighbours: `男` and `女`, `美元` and `日元`, `import` and `export`.
pub fn are_opposites((a, i): (&Tokens<'_>, usize), (b, j): (&Tokens<'_>, usize)) -> bool {
    let left = words_of_classes(a, i);
    // Most tokens are none.
    if left.is_empty() {
        return false;
    }
    are_other_words_of_one_class(&left, &words_of_classes(b, j))
}

/// Whether the sides have as many tokens, and each that is another is an opposite, as in lists of
/// days.
pub fn are_all_opposites(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let pairs = span.a.clone().zip(span.b.clone());
    span.a.len() == span.b.len()
        && pairs
            .filter(|(i, j)| a.token(*i) != b.token(*j))
            .all(|(i, j)| are_opposites((a, i), (b, j)))
}

/// A word of a class of opposites: the number of the class, and of the word, or of all that mean
/// the same, in it.
pub type ClassWord = (usize, usize);

/// Whether two words are in one class and are others there.
pub fn are_other_words_of_one_class(left: &[ClassWord], right: &[ClassWord]) -> bool {
    left.iter().any(|(class, x)| right.iter().any(|(other, y)| class == other && x != y))
}

/// The places of each word in `classes`, whose members are words of one meaning.
pub fn class_words<Class, Member>(classes: impl Iterator<Item = Class>) -> WordMap<Vec<ClassWord>>
where
    Class: Iterator<Item = Member>,
    Member: Iterator<Item = &'static str>,
{
    let mut words = WordMap::<Vec<ClassWord>>::default();
    for (class, members) in classes.enumerate() {
        for (number, member) in members.enumerate() {
            member.for_each(|word| words.entry(word).or_default().push((class, number)));
        }
    }
    words
}

/// The words of opposites that the token at `at` is part of: for each class the first one.
fn words_of_classes(tokens: &Tokens<'_>, at: usize) -> Vec<ClassWord> {
    static WORDS: OnceLock<WordMap<Vec<ClassWord>>> = OnceLock::new();
    let words = WORDS.get_or_init(|| {
        let surnames = lines(SURNAMES).filter(|line| !line.starts_with(ALSO_WORDS));
        let classes = lines(OPPOSITES).chain(surnames);
        class_words(classes.map(|line| line.split(' ').map(std::iter::once)))
    });
    let place = &tokens.places[at];
    let (start, end) = (place.start as usize, place.end as usize);
    let text = tokens.text.as_ref();
    let mut found: Vec<ClassWord> = Vec::new();
    let mut add = |word: &str| found.extend(words.get(word).into_iter().flatten());
    if text[start..end].starts_with(is_han) {
        let ends = text[start..].char_indices().map(|(at, c)| start + at + c.len_utf8());
        ends.take(OPPOSITE_CHARS_MAX).for_each(|behind| add(&text[start..behind]));
        let starts = text[..end].char_indices().rev().map(|(at, _)| at);
        starts.take(OPPOSITE_CHARS_MAX).for_each(|before| add(&text[before..end]));
    } else {
        add(&text[start..end]);
    }
    found.sort_unstable();
    found.dedup_by_key(|(class, _)| *class);
    found
}

/// Whether a Chinese word begins with a surname.
pub fn begins_with_surname(word: &str) -> bool {
    let first = word.chars().next();
    let surnames = || lines(SURNAMES).map(|line| line.trim_start_matches(ALSO_WORDS));
    first.is_some_and(|c| surnames().any(|surnames| surnames.contains(c)))
}

/// Titles that stand before or behind a person's name.
const TITLES: &str = include_str!("titles.txt");

/// Whether a title stands directly before or behind a name, between `before` and `behind`. A colon
/// may be between them.
pub fn has_title(before: &str, behind: &str) -> bool {
    let before = before.trim_end_matches([':', ' ']);
    let mut titles = lines(TITLES).flat_map(|titles| titles.split(' '));
    titles.any(|title| before.ends_with(title) || behind.starts_with(title))
}

/// Whether a Chinese word is a surname.
pub fn is_surname(word: &str) -> bool {
    word.chars().nth(1).is_none() && begins_with_surname(word)
}

/// Whether two tokens of one or two Latin letters name two things, such as `c` and `d` behind
/// `vitamin`, or the halves of a day. If both are single letters, neither is taken for an article.
pub fn are_short_names(a: &str, b: &str) -> bool {
    let is_short =
        |token: &str| token.len() <= 2 && token.bytes().all(|byte| byte.is_ascii_alphabetic());
    let letters = a.len() == 1 && b.len() == 1;
    let of_day = matches!((a, b), ("am", "pm") | ("pm", "am"));
    is_short(a) && is_short(b) && (letters || of_day || !holds_together(a) && !holds_together(b))
}

/// Whether two letters are one Spanish conjunction before another vowel: `y` and `e` (and) before
/// an i, `o` and `u` (or) before an o. Symmetric.
pub fn are_one_conjunction(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let vowel = match (a.passage(&span.a), b.passage(&span.b)) {
        ("y", "e") | ("e", "y") => 'i',
        ("o", "u") | ("u", "o") => 'o',
        _ => return false,
    };
    let goes_on = |tokens: &Tokens<'_>, at: usize| {
        at < tokens.len() && tokens.gap(at) == " " && {
            let word = tokens.token(at);
            // `y in` is no Spanish.
            word.strip_prefix('h').unwrap_or(word).starts_with(vowel) && !holds_together(word)
        }
    };
    goes_on(a, span.a.end) && goes_on(b, span.b.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two words of one class are opposites, in whatever place of their texts, and no other words.
    #[test]
    fn opposites() {
        let words = lines(OPPOSITES).flat_map(|class| class.split(' '));
        let han = words.filter(|word| word.starts_with(is_han));
        assert!(han.map(|word| word.chars().count()).max() <= Some(OPPOSITE_CHARS_MAX));
        let one_differs = |a: &str, b: &str| {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            let at = (0..x.len()).find(|at| x.token(*at) != y.token(*at)).expect("one differs");
            are_opposites((&x, at), (&y, at))
        };
        for (a, b, expected) in [
            ("他在上周来", "他在下周来", true),
            ("价格是美元", "价格是日元", true),
            ("男队", "女队", true),
            ("import of rice", "export of rice", true),
            ("男队", "甲队", false),
            ("import of rice", "minimum of rice", false),
            ("他在上山来", "他在下周来", true),
            ("important rice", "exported rice", false),
        ] {
            assert_eq!((one_differs(a, b), one_differs(b, a)), (expected, expected), "{a}, {b}");
        }
    }

    /// Words of one number belong together, and no others.
    #[test]
    fn numbers_of_words() {
        for (left, right, expected) in [
            ("twenty", "one", true),
            ("five", "million", true),
            ("5", "million", true),
            ("five", "six", false),
            ("march", "million", false),
            ("twenty", "ten", false),
            ("the", "million", false),
        ] {
            assert_eq!(make_one_number(left, right), expected, "{left} {right}");
        }
    }
}
