//! Tells whether words of letters and syllables are replaced by other words, in every script but
//! Chinese.
//!
//! The words are the tokens of the alignment. In scripts without spaces a token is a whole clause,
//! and in Korean a word ends with its particles. So in these scripts the equal begin and the equal
//! end of both passages are left out first. An inflection or a misspelling keeps most letters of a
//! word; another word does not.

use crate::confirm::align::digits::is_digit;
use crate::confirm::align::lcs::common;
use crate::confirm::align::{Passage, Tokens};
use crate::confirm::words::likeness::{share_few_letters, without_eszett};
use crate::confirm::words::negations::{is_inside, is_prefixed};
use crate::confirm::words::{are_opposites, holds_together};
use crate::text::characters::{is_han, is_mark_of_letter, is_spaced_letter, runs_on};
use std::ops::Range;
use unicode_normalization::UnicodeNormalization;

/// More words than these are a clause.
pub const FACT_WORDS_MAX: usize = 3;
/// The most letters of a passage. A longer one holds something that is no word, such as encoded
/// data.
const LETTERS_MAX: usize = 256;
/// The same in scripts without spaces, where the number of words is not known.
const SPACELESS_LETTERS_MAX: usize = 20;

/// The fewest letters of a content word ...
const CONTENT_LETTERS_MIN: usize = 3;
/// ... and the fewest syllables in Korean, letters in Katakana, which Japanese uses for names, or
/// letters of a Japanese word with Chinese characters.
const CONTENT_SYLLABLES_MIN: usize = 2;

/// Whether two passages have other words. None has a Chinese character, or both are Japanese.
/// Symmetric.
///
/// ```
/// use workers::confirm::align::Tokens;
/// use workers::confirm::words::spelled::are_other_words;
///
/// let are_other = |a, b| {
///     let (a, b) = (Tokens::of(a).unwrap(), Tokens::of(b).unwrap());
///     are_other_words(a.within(&(0..a.len())), b.within(&(0..b.len())))
/// };
/// assert!(are_other("köln", "hamburg"));
/// assert!(are_other("서울시는", "부산시는"));
/// assert!(!are_other("говорит", "говорил"));
/// ```
pub fn are_other_words(one: Passage<'_>, other: Passage<'_>) -> bool {
    let (Passage { tokens: a, range: x }, Passage { tokens: b, range: y }) = (one, other);
    let counts = [count(a, x).max(1), count(b, y).max(1)];
    let (fewer, more) = (counts[0].min(counts[1]), counts[0].max(counts[1]));
    if more > FACT_WORDS_MAX || more > 2 * fewer {
        return false;
    }
    let chars = a.chars(x.clone()).max(b.chars(y.clone()));
    if chars > LETTERS_MAX {
        return false;
    }
    let says_otherwise = |(i, j): &(Range<usize>, Range<usize>)| {
        i.len() == 1
            && j.len() == 1
            && (is_prefixed(a.token(i.start), b.token(j.start))
                || are_opposites((a, i.start), (b, j.start)))
    };
    if pairs(x, y).iter().any(says_otherwise) {
        return true;
    }
    let hold_together = |tokens: &Tokens<'_>, range: &Range<usize>| {
        range.clone().all(|at| holds_together(tokens.token(at)))
    };
    if hold_together(a, x) && hold_together(b, y) {
        return false;
    }
    let (p, q) = (letters(a, x), letters(b, y));
    if !p.iter().chain(&q).any(|c| runs_on(*c)) {
        return has_content(a, x) && has_content(b, y) && are_parted(&p, &q);
    }
    let (p, q) = own_letters(one, other);
    let negates = |own: &[char], other: &[char]| {
        other.is_empty()
            && own.len() <= CONTENT_LETTERS_MIN
            && is_inside(&own.iter().collect::<String>())
    };
    if are_verbs_denied(&p, &q) || are_verbs_denied(&q, &p) {
        return true;
    }
    let is_syllable = |c: &char| matches!(c, '\u{ac00}'..='\u{d7a3}' | '\u{30a0}'..='\u{30ff}');
    let are_syllables = p.iter().chain(&q).all(is_syllable);
    let have_han = p.iter().chain(&q).any(|c| is_han(*c));
    let says_something = |side: &[char]| {
        let is_dense =
            are_syllables || have_han && side.iter().all(|c| is_han(*c) || is_syllable(c));
        side.len() >= if is_dense { CONTENT_SYLLABLES_MIN } else { CONTENT_LETTERS_MIN }
    };
    negates(&p, &q)
        || negates(&q, &p)
        || says_something(&p)
            && says_something(&q)
            && p.len().max(q.len()) <= SPACELESS_LETTERS_MAX
            && !is_spelling(&p, &q)
            && !is_spelling(&q, &p)
            && are_parted(&p, &q)
}

/// Whether one of two passages has Chinese characters where the other one has hiragana, which may
/// spell the same Japanese word: `我々`, `われわれ`. Symmetric.
pub fn are_spellings(one: Passage<'_>, other: Passage<'_>) -> bool {
    let (p, q) = own_letters(one, other);
    is_spelling(&p, &q) || is_spelling(&q, &p)
}

fn is_spelling(one: &[char], other: &[char]) -> bool {
    !one.is_empty()
        && !other.is_empty()
        && one.iter().all(|c| is_han(*c))
        && other.iter().all(|c| matches!(c, '\u{3040}'..='\u{309f}'))
}

/// The tokens of two passages that stand in the same places of both; if one has more tokens, the
/// whole passages.
fn pairs(x: &Range<usize>, y: &Range<usize>) -> Vec<(Range<usize>, Range<usize>)> {
    match x.len() == y.len() {
        true => x.clone().zip(y.clone()).map(|(i, j)| (i..i + 1, j..j + 1)).collect(),
        false => vec![(x.clone(), y.clone())],
    }
}

/// The letters of two passages without those with which both begin or end. Each word has its own
/// particles.
pub fn own_letters(one: Passage<'_>, other: Passage<'_>) -> (Vec<char>, Vec<char>) {
    let (mut p, mut q) = (Vec::new(), Vec::new());
    for (i, j) in pairs(one.range, other.range) {
        let (own, others) = (letters(one.tokens, &i), letters(other.tokens, &j));
        let (own, others) = without_equal_ends(&own, &others);
        p.extend_from_slice(own);
        q.extend_from_slice(others);
    }
    (p, q)
}

/// Whether two passages of any length, without a Chinese character, have no word in common, and
/// both say something. Symmetric.
pub fn are_other_passages(one: Passage<'_>, other: Passage<'_>) -> bool {
    let (Passage { tokens: a, range: x }, Passage { tokens: b, range: y }) = (one, other);
    // A number may be written in words of any language.
    let digits =
        [(a, x), (b, y)].map(|(tokens, range)| range.clone().any(|at| is_digit(tokens.token(at))));
    let (p, q) = (letters(a, x), letters(b, y));
    let is_shared = |i: usize| y.clone().any(|j| a.token(i) == b.token(j));
    digits[0] == digits[1]
        && has_content(a, x)
        && has_content(b, y)
        && p.len().max(q.len()) <= LETTERS_MAX
        && !p.iter().chain(&q).any(|c| runs_on(*c))
        && !x.clone().any(is_shared)
        && are_parted(&p, &q)
}

/// The words among the tokens of `range` that are not Chinese: a number is one.
pub fn count(tokens: &Tokens<'_>, range: &Range<usize>) -> usize {
    let digit = |at: usize| is_digit(tokens.token(at));
    let begins = |at: &usize| *at == range.start || !digit(*at) || !digit(*at - 1);
    range.clone().filter(begins).filter(|at| !tokens.token(*at).starts_with(is_han)).count()
}

/// Whether a token of `range` is a content word of a script with spaces.
pub fn has_content(tokens: &Tokens<'_>, range: &Range<usize>) -> bool {
    range.clone().any(|at| {
        // Most are of one script.
        let letters = tokens.token(at).chars().filter(|c| is_spaced_letter(*c));
        letters.take(CONTENT_LETTERS_MIN).count() == CONTENT_LETTERS_MIN
    })
}

/// Whether two words share so few letters that neither is an inflection, a misspelling or a short
/// form of the other. `hex` is a short form of `hexadecimal`.
pub fn are_parted(p: &[char], q: &[char]) -> bool {
    let (short, long) = if p.len() < q.len() { (p, q) } else { (q, p) };
    let begins = short.len() >= CONTENT_LETTERS_MIN && long.starts_with(short);
    !begins && share_few_letters(p, q)
}

/// The letters and digits of the tokens of `range`, with their marks.
///
/// Accents are left out, because copies lose them (`été`, `ete`), most of all in capitals.
fn letters(tokens: &Tokens<'_>, range: &Range<usize>) -> Vec<char> {
    let is_accent = |c: &char| matches!(c, '\u{300}'..='\u{36f}');
    let chars = range.clone().flat_map(|at| tokens.token(at).nfd()).filter(|c| !is_accent(c));
    let letters = chars.nfc().filter(|c| c.is_alphanumeric() || is_mark_of_letter(*c));
    letters.flat_map(without_eszett).collect()
}

/// Ends that deny a Japanese verb or adjective, and the most letters of an end that does not:
/// `洗えません` and `洗えます`.
const DENYING_ENDS: [&str; 4] = ["ない", "せん", "なかった", "せんでした"];
const VERB_END_LETTERS_MAX: usize = 3;

/// Whether `p` is the end of a verb that is denied, and `q` that of one that is not.
fn are_verbs_denied(p: &[char], q: &[char]) -> bool {
    let denies = |end: &[char]| {
        let end: String = end.iter().collect();
        DENYING_ENDS.iter().any(|denying| end.ends_with(denying))
    };
    let is_end = |end: &[char]| {
        (1..=VERB_END_LETTERS_MAX).contains(&end.len())
            && end.iter().all(|c| matches!(c, 'ぁ'..='ゖ'))
    };
    denies(p) && is_end(q) && !denies(q)
}

fn without_equal_ends<'p>(p: &'p [char], q: &'p [char]) -> (&'p [char], &'p [char]) {
    let front = common(p.iter(), q.iter());
    let (p, q) = (&p[front..], &q[front..]);
    let back = common(p.iter().rev(), q.iter().rev());
    (&p[..p.len() - back], &q[..q.len() - back])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::settle::settled;

    fn is_other(a: &str, b: &str) -> bool {
        let of = |a: &str, b: &str| {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            settled(&x, &y).iter().any(|span| are_other_words(x.within(&span.a), y.within(&span.b)))
        };
        assert_eq!(of(a, b), of(b, a), "{a} | {b}");
        of(a, b)
    }

    /// Names and words of other letters than ASCII were edits: another town, person or thing
    /// folded in most languages.
    #[test]
    fn words_of_every_script() {
        for (a, b) in [
            ("the mayor of hamburg said", "the mayor of köln said"),
            ("burmistrz miasta kraków powiedział", "burmistrz miasta łódź powiedział"),
            ("мэрия екатеринбурга сообщила", "мэрия новосибирска сообщила"),
            ("ο δήμαρχος της αθήνας είπε", "ο δήμαρχος της πάτρας είπε"),
            ("قالت مدينة الإسكندرية اليوم", "قالت مدينة أسوان اليوم"),
            ("עיריית ירושלים הודיעה", "עיריית חיפה הודיעה"),
            ("लखनऊ में बारिश होगी", "जयपुर में बारिश होगी"),
            ("ủy ban đà nẵng cho biết", "ủy ban hải phòng cho biết"),
            ("서울시는 3일 밝혔다", "부산시는 3일 밝혔다"),
            ("함께 일할 간호사를 모집", "함께 일할 요리사를 모집"),
            ("この色はブラックです", "この色はホワイトです"),
            ("パリに着いた", "ローマに着いた"),
            ("ฝนตกที่เชียงใหม่วันนี้", "ฝนตกที่ภูเก็ตวันนี้"),
            ("ฝนจะตกวันนี้", "ฝนจะไม่ตกวันนี้"),
            ("prices increased again", "prices decreased again"),
            ("it was a lawful act", "it was an unlawful act"),
            ("it was lawful again", "it was unlawful again"),
        ] {
            assert!(is_other(a, b), "{a} | {b}");
        }
    }

    /// Inflections, misspellings, other endings and words that hold a sentence together are no
    /// other words, in any script.
    #[test]
    fn forms_of_words() {
        for (a, b) in [
            ("город будет построен", "города будут построены"),
            ("она сообщила сегодня", "она сообщает сегодня"),
            ("die städte wachsen", "die stadt wächst"),
            ("gdańsk jest piękny", "gdansk jest piekny"),
            ("l'école d'été commence", "l'ecole d'ete commence"),
            ("er sagt, daß sie zu fuß geht", "er sagt, dass sie zu fuss geht"),
            ("요금을 인상한다고 밝혔다", "요금을 인상했다고 밝혔습니다"),
            ("コンピュータを買う", "コンピューターを買う"),
            ("検討しています", "検討しております"),
            ("เสื้อตัวนี้สวย", "เสือตัวนี้สวย"),
            ("он живёт в доме", "он живёт на доме"),
            ("it is the best of them", "it is this best of them"),
            ("a talk about the sea", "a talk around the sea"),
            ("the man who came", "the man that came"),
        ] {
            assert!(!is_other(a, b), "{a} | {b}");
        }
    }
}
