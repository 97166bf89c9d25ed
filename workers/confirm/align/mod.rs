//! Aligns two normalised texts and gives what differs between them as spans.
//!
//! The unit is a token: a Chinese character, a digit, or a word of another script with its vowel
//! and tone marks. Punctuation and white space are not tokens, so they never differ. But a decimal
//! point, a decimal comma or a minus sign is part of the digit behind it, because without it the
//! number is another one. A comma between thousands stays between tokens
//! ([`thousands`]). The alignment is a shortest edit script. If there are few
//! edits, it is found by the algorithm of Myers ("An O(ND) difference algorithm and its
//! variations", Algorithmica 1, 1986; with the division at the middle of section 4b, so that memory
//! is linear). If there are many, it is found by bit operations ([`edits`]).
//!
//! Of several shortest scripts one is chosen by the order of the texts, and the texts are put in
//! order first. So the result for (b, a) is the result for (a, b) with the sides exchanged.

pub(super) mod clauses;
pub(super) mod digits;
pub mod edits;
pub mod lcs;
pub(super) mod thousands;
pub(super) mod value;

use crate::confirm::align::digits::{
    HAN_DIGITS, HAN_MAGNITUDES, HAN_ZEROS, digit_value, is_circle, is_decimal_mark, is_minus_sign,
};
use crate::confirm::align::edits::Span;
use crate::confirm::align::lcs::common;
use crate::confirm::align::thousands::Thousands;
use crate::text::characters::{is_han, is_letter, is_mark_of_letter};
use std::borrow::Cow;
use std::ops::Range;
use xxhash_rust::xxh3::xxh3_64;

/// Texts with more tokens are not aligned.
pub const TOKENS_MAX: usize = 1 << 15;

/// Of a text with as many different marks nothing more is known: it may have any mark.
const MARKS_MAX: usize = 64;

/// The greatest product of the tokens of both texts and the edits, where texts are too long for the
/// second way of [`spans`].
const STEPS_MAX: usize = 1 << 28;

/// The tokens of a normalised text.
#[derive(Clone, Debug, Default)]
pub struct Tokens<'a> {
    /// The text.
    pub text: Cow<'a, str>,
    /// The bytes of each token in the text.
    pub places: Vec<Range<u32>>,
    /// A number for each token: its character, or the hash of a longer word with the top bit set.
    /// Two different words have the same number by chance once in 2^63 cases.
    codes: Vec<u64>,
    /// The number of characters in the tokens before each token, and at the end in all tokens.
    before: Vec<u32>,
    /// The characters that stand between tokens, each once.
    marks: Vec<char>,
}

/// Some tokens of a text.
#[derive(Clone, Copy)]
pub struct Passage<'t> {
    /// All tokens of the text.
    pub tokens: &'t Tokens<'t>,
    /// The tokens of the passage, by number.
    pub range: &'t Range<usize>,
}

impl<'a> Tokens<'a> {
    /// The tokens of `text`, borrowed or owned; `None` if there are more than [`TOKENS_MAX`].
    pub fn of(text: impl Into<Cow<'a, str>>) -> Option<Tokens<'a>> {
        let text = text.into();
        let mut tokens = Tokens::cut(&text)?;
        tokens.text = text;
        Some(tokens)
    }

    /// The tokens of `range`.
    pub fn within<'t>(&'t self, range: &'t Range<usize>) -> Passage<'t> {
        Passage { tokens: self, range }
    }

    /// The text from the first to the last token of `range`.
    pub fn passage(&self, range: &Range<usize>) -> &str {
        match self.places.get(range.clone()) {
            Some([first, .., last]) => &self.text[first.start as usize..last.end as usize],
            Some([only]) => &self.text[only.start as usize..only.end as usize],
            _ => "",
        }
    }

    /// The tokens of `text`, without the text itself, which is put in afterwards.
    fn cut(text: &str) -> Option<Tokens<'a>> {
        // Most tokens are Chinese characters of three bytes, or longer words.
        let likely = text.len().min(3 * TOKENS_MAX) / 3 + 1;
        let mut tokens = Tokens {
            text: Cow::default(),
            places: Vec::with_capacity(likely),
            codes: Vec::with_capacity(likely),
            before: Vec::with_capacity(likely + 1),
            marks: Vec::new(),
        };
        let (mut word, mut chars) = (None, 0);
        let mut thousands = Thousands::default();
        for (at, c) in text.char_indices() {
            let is_digit = digit_value(c).is_some();
            let alone = is_han(c) || is_digit || tokens.is_zero(at, c);
            if !alone && (is_letter(c) || word.is_some() && is_mark_of_letter(c)) {
                word.get_or_insert((at, chars));
                chars += 1;
                continue;
            }
            if let Some((start, before)) = word.take() {
                tokens.push(text, start, at, before);
            }
            if is_han(c) {
                tokens.add(u64::from(u32::from(c)), at, at + c.len_utf8(), chars);
                chars += 1;
            } else if alone {
                let mark = if is_digit { mark_before(text, at, &mut thousands) } else { 0 };
                tokens.push(text, at - mark, at + c.len_utf8(), chars);
                chars += 1;
            } else if !tokens.marks.contains(&c) && tokens.marks.len() < MARKS_MAX {
                tokens.marks.push(c);
            }
            if tokens.len() > TOKENS_MAX {
                return None;
            }
        }
        if let Some((start, before)) = word {
            tokens.push(text, start, text.len(), before);
        }
        tokens.before.push(chars);
        (tokens.len() <= TOKENS_MAX).then_some(tokens)
    }

    fn push(&mut self, text: &str, start: usize, end: usize, before: u32) {
        let token = &text[start..end];
        let mut chars = token.chars();
        // A digit is the same in all scripts.
        let digit = |value: u32| u64::from(b'0') + u64::from(value);
        let code = match (chars.next(), chars.next()) {
            (Some(c), None) if is_circle(c) => u64::from(u32::from('〇')),
            (Some(c), None) => digit_value(c).map_or(u64::from(u32::from(c)), digit),
            // A decimal comma is the same as a point, and a minus sign the same as a hyphen.
            (Some(mark), Some(c)) => match digit_value(c) {
                Some(value) => {
                    let mark = if is_decimal_mark(mark) { '.' } else { '-' };
                    u64::from(u32::from(mark)) << 32 | digit(value)
                }
                None => xxh3_64(token.as_bytes()) | 1 << 63,
            },
            _ => 0,
        };
        self.add(code, start, end, before);
    }

    fn add(&mut self, code: u64, start: usize, end: usize, before: u32) {
        self.codes.push(code);
        self.places.push(start as u32..end as u32);
        self.before.push(before);
    }

    /// Whether the character `c` at `at` is a circle behind a Chinese digit, which stands for 〇.
    fn is_zero(&self, at: usize, c: char) -> bool {
        let mut digits = HAN_ZEROS.chars().chain(HAN_DIGITS.chars());
        is_circle(c)
            && self.places.last().is_some_and(|last| last.end as usize == at)
            && self
                .codes
                .last()
                .is_some_and(|code| digits.any(|c| u64::from(u32::from(c)) == *code))
    }

    /// Whether `mark` may stand between tokens.
    pub fn may_have(&self, mark: char) -> bool {
        self.marks.contains(&mark) || self.marks.len() == MARKS_MAX
    }

    /// Whether token number `at` is a digit without a mark.
    pub fn is_bare_digit(&self, at: usize) -> bool {
        (u64::from(b'0')..=u64::from(b'9')).contains(&self.codes[at])
    }

    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The number of characters in the tokens of `range`.
    pub fn chars(&self, range: Range<usize>) -> usize {
        (self.before[range.end] - self.before[range.start]) as usize
    }

    /// The bytes of memory that the tokens and their text take.
    pub fn bytes(&self) -> usize {
        let a_token = size_of::<Range<u32>>() + size_of::<u64>() + size_of::<u32>();
        self.text.len() + self.places.capacity() * a_token
    }

    /// Token number `at`.
    pub fn token(&self, at: usize) -> &str {
        let place = &self.places[at];
        &self.text[place.start as usize..place.end as usize]
    }

    /// What stands between the token before `at` and token `at`: marks and white space.
    pub fn gap(&self, at: usize) -> &str {
        let from = if at == 0 { 0 } else { self.places[at - 1].end as usize };
        let to = self.places.get(at).map_or(self.text.len(), |place| place.start as usize);
        &self.text[from..to]
    }

    /// Whether there is a token at `at` that follows the one before it directly.
    pub fn touches(&self, at: usize) -> bool {
        at < self.len() && self.gap(at).is_empty()
    }
}

#[cfg(test)]
impl Tokens<'_> {
    /// The tokens that begin in the first `part` of the text.
    pub fn range_of(&self, part: &str) -> Range<usize> {
        let start = self.text.find(part).expect("it is there");
        let is_inside =
            |place: &Range<u32>| (start..start + part.len()).contains(&(place.start as usize));
        let at = |at: Option<usize>| at.expect("it has a token");
        let first = at(self.places.iter().position(is_inside));
        let last = at(self.places.iter().rposition(is_inside));
        first..last + 1
    }
}

/// Whether a token is a Chinese character.
pub fn is_han_token(token: &str) -> bool {
    token.chars().all(is_han)
}

/// Whether two passages have the same tokens.
pub fn are_equal(a: &Tokens<'_>, x: &Range<usize>, b: &Tokens<'_>, y: &Range<usize>) -> bool {
    x.len() == y.len() && x.clone().zip(y.clone()).all(|(i, j)| a.token(i) == b.token(j))
}

/// The bytes before the digit at `at` that belong to it: a decimal point or comma, or a minus sign.
fn mark_before(text: &str, at: usize, thousands: &mut Thousands) -> usize {
    let mut before = text[..at].chars().rev();
    let Some(mark) = before.next() else { return 0 };
    let head = &text[..at - mark.len_utf8()];
    let belongs = match mark {
        _ if is_minus_sign(mark) => is_minus(head, mark, &text[at..]),
        '.' if begins_decimal(head) => true,
        _ if !is_decimal_mark(mark) || before.next().and_then(digit_value).is_none() => false,
        ',' => !thousands.have_comma(text, at - 1),
        _ => true,
    };
    if belongs { mark.len_utf8() } else { 0 }
}

/// Whether a point behind `head` may begin a number without a zero in front, such as `.5 mg`.
fn begins_decimal(head: &str) -> bool {
    head.chars().next_back().is_none_or(|c| c.is_whitespace() || "([{\"“=<>~≤≥+-−$€£¥".contains(c))
}

/// Units and signs of quantities that may be below zero, or may fall.
const SIGNED: [&str; 8] = ["%", "‰", "°", "度", "元", "万", "亿", "degree"];

/// The most characters of a range, behind its dash, before its unit. Without a limit a text of
/// nothing but digits and dashes would take quadratic time.
const RANGE_CHARS_MAX: usize = 32;

/// Whether a dash between `before` and the number at the beginning of `after` is a minus sign.
/// Between two numbers a dash means "to"; elsewhere it may begin an item of a list, with a space
/// behind it, or join two words.
fn is_minus(before: &str, dash: char, after: &str) -> bool {
    let joins = |c: char| c.is_ascii_alphanumeric() || is_minus_sign(c);
    let is_of_number =
        |c: char| digit_value(c).is_some() || HAN_DIGITS.contains(c) || HAN_MAGNITUDES.contains(c);
    let opens = |c: char| c.is_whitespace() || "([{（「『“\":=".contains(c);
    // Behind the mark of a range a dash does not mean "to".
    let in_range = before.ends_with(['~', '〜', '/', '至', '到']);
    let is_free = || dash == '−' || before.chars().next_back().is_none_or(opens);
    let is_of_range = |c: char| {
        digit_value(c).is_some() || is_decimal_mark(c) || is_minus_sign(c) || "~〜至到".contains(c)
    };
    let is_signed = || {
        let mut range = after.char_indices().take(RANGE_CHARS_MAX);
        let unit = range.find(|(_, c)| !is_of_range(*c)).map_or("", |(at, _)| &after[at..]);
        SIGNED.iter().any(|signed| unit.trim_start().starts_with(signed))
    };
    let is_exponent = || {
        let base = before.strip_suffix(['e', 'E']);
        before.ends_with('^')
            || base.is_some_and(|base| base.ends_with(|c| digit_value(c).is_some()))
    };
    is_exponent()
        || !before.ends_with(joins)
            && (in_range || !before.chars().rev().take(4).any(is_of_number))
            && (is_free() || is_signed())
}

/// With more edits the first way is slower than the second in a text of any length.
const FEW_EDITS: usize = 64;

/// The number of edits up to which the first way is faster. The first way takes time in proportion
/// to the square of the edits, the second to the product of the lengths divided by 64.
fn few_edits(a: usize, b: usize) -> usize {
    (a * b).isqrt().div_ceil(8).clamp(8, FEW_EDITS)
}

/// The spans in which two texts differ, ascending; `None` if more than `edits_max` tokens would be
/// deleted and inserted. The limit is lower for texts so long that a pair would take seconds: 4,096
/// for two texts of [`TOKENS_MAX`] tokens.
///
/// ```
/// use workers::confirm::align::{Tokens, spans};
///
/// let (a, b) = ("rain on monday, at 3 degrees", "rain on friday: at 5 degrees");
/// let (a, b) = (Tokens::of(a).unwrap(), Tokens::of(b).unwrap());
/// let spans = spans(&a, &b, 100).unwrap();
/// assert_eq!(spans.len(), 2);
/// assert_eq!((a.token(spans[0].a.start), b.token(spans[0].b.start)), ("monday", "friday"));
/// assert_eq!((a.token(spans[1].a.start), b.token(spans[1].b.start)), ("3", "5"));
/// ```
pub fn spans(a: &Tokens<'_>, b: &Tokens<'_>, edits_max: usize) -> Option<Vec<Span>> {
    if b.text < a.text {
        let mut spans = spans(b, a, edits_max)?;
        spans.iter_mut().for_each(|span| std::mem::swap(&mut span.a, &mut span.b));
        return Some(spans);
    }
    let (x, y) = (&a.codes, &b.codes);
    let few = edits_max.min(few_edits(x.len(), y.len()));
    let mut aligner = Aligner {
        a: x,
        b: y,
        edits_max: few,
        forward: Vec::new(),
        backward: Vec::new(),
        spans: Vec::new(),
    };
    if aligner.align(0..x.len(), 0..y.len()).is_some() {
        return Some(aligner.spans);
    }
    if few == edits_max {
        return None;
    }
    if edits::has_room(x.len(), y.len()) {
        // Its tables may be large.
        let is_possible = x.len().abs_diff(y.len()) <= edits_max;
        return if is_possible { edits::spans(x, y, edits_max) } else { None };
    }
    aligner.edits_max = edits_max.min(STEPS_MAX / (x.len() + y.len()));
    if aligner.edits_max <= few {
        return None;
    }
    aligner.align(0..x.len(), 0..y.len())?;
    Some(aligner.spans)
}

struct Aligner<'a> {
    a: &'a [u64],
    b: &'a [u64],
    edits_max: usize,
    /// The farthest column reached on each diagonal, from the first corner and from the last.
    forward: Vec<usize>,
    backward: Vec<usize>,
    spans: Vec<Span>,
}

impl Aligner<'_> {
    /// Adds a span, or lengthens the last span if the two touch.
    fn emit(&mut self, a: Range<usize>, b: Range<usize>) {
        match self.spans.last_mut() {
            Some(last) if last.a.end == a.start && last.b.end == b.start => {
                last.a.end = a.end;
                last.b.end = b.end;
            }
            _ if a.is_empty() && b.is_empty() => {}
            _ => self.spans.push(Span { a, b }),
        }
    }

    /// Emits the spans of a box.
    fn align(&mut self, mut a: Range<usize>, mut b: Range<usize>) -> Option<()> {
        let prefix = common(self.a[a.clone()].iter(), self.b[b.clone()].iter());
        a.start += prefix;
        b.start += prefix;
        let suffix = common(self.a[a.clone()].iter().rev(), self.b[b.clone()].iter().rev());
        a.end -= suffix;
        b.end -= suffix;
        if a.is_empty() || b.is_empty() {
            self.emit(a, b);
            return Some(());
        }
        let (x, y) = self.middle(a.clone(), b.clone())?;
        self.align(a.start..x, b.start..y)?;
        self.align(x..a.end, y..b.end)
    }

    /// A point on a shortest path through a box whose corners do not match.
    fn middle(&mut self, a: Range<usize>, b: Range<usize>) -> Option<(usize, usize)> {
        let (old, new) = (&self.a[a.clone()], &self.b[b.clone()]);
        let (n, m) = (old.len() as isize, new.len() as isize);
        let delta = n - m;
        let most = (n + m + 1) / 2 + 1;
        let at = |k: isize| (k + most + 1) as usize;
        for row in [&mut self.forward, &mut self.backward] {
            row.clear();
            row.resize(at(most + 1) + 1, 0);
        }
        let next = |row: &[usize], k: isize, d: isize| match k == -d
            || k != d && row[at(k - 1)] < row[at(k + 1)]
        {
            true => row[at(k + 1)] as isize,
            false => row[at(k - 1)] as isize + 1,
        };
        for d in 0..=most {
            if 2 * d > self.edits_max as isize + 1 {
                return None;
            }
            for k in (-d..=d).rev().step_by(2) {
                let x = next(&self.forward, k, d);
                let y = x - k;
                let inside = x < n && (0..m).contains(&y);
                let run = if inside {
                    common(old[x as usize..].iter(), new[y as usize..].iter())
                } else {
                    0
                };
                self.forward[at(k)] = x as usize + run;
                let other = delta - k;
                if delta % 2 != 0
                    && other.abs() < d
                    && (self.forward[at(k)] + self.backward[at(other)]) as isize >= n
                {
                    return Some((a.start + x as usize, b.start + y as usize));
                }
            }
            for k in (-d..=d).rev().step_by(2) {
                let x = next(&self.backward, k, d);
                let y = x - k;
                let inside = x < n && (0..m).contains(&y);
                let run = match inside {
                    true => common(
                        old[..(n - x) as usize].iter().rev(),
                        new[..(m - y) as usize].iter().rev(),
                    ),
                    false => 0,
                };
                self.backward[at(k)] = x as usize + run;
                let other = delta - k;
                if delta % 2 == 0
                    && other.abs() <= d
                    && (self.backward[at(k)] + self.forward[at(other)]) as isize >= n
                {
                    return Some((a.end - x as usize - run, (b.end as isize - y) as usize - run));
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The fewest deleted and inserted tokens, by the quadratic table.
    fn distance(a: &[&str], b: &[&str]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut corner = i;
            row[0] = i + 1;
            for (j, y) in b.iter().enumerate() {
                let above = row[j + 1];
                row[j + 1] = if x == y { corner } else { 1 + above.min(row[j]) };
                corner = above;
            }
        }
        row[b.len()]
    }

    fn list<'a>(tokens: &'a Tokens<'_>) -> Vec<&'a str> {
        (0..tokens.len()).map(|at| tokens.token(at)).collect()
    }

    proptest! {
        /// What is left between the spans is equal, the script is a shortest one, and both orders
        /// give the same spans. What is within the limit is found. More than one edit above it is
        /// refused, unless it is one passage on one side alone.
        #[test]
        fn shortest_and_symmetric(a in "[一-五0-2 a，]{0,60}", b in "[一-五0-2 a，]{0,60}", max in 0usize..60) {
            let (x, y) = (Tokens::of(&a).expect("short"), Tokens::of(&b).expect("short"));
            let found = spans(&x, &y, 1000).expect("below the limit");
            let edits: usize = found.iter().map(|span| span.a.len() + span.b.len()).sum();
            prop_assert_eq!(edits, distance(&list(&x), &list(&y)));
            let (mut i, mut j) = (0, 0);
            let last = Span { a: x.len()..x.len(), b: y.len()..y.len() };
            for span in found.iter().chain([&last]) {
                prop_assert_eq!(&list(&x)[i..span.a.start], &list(&y)[j..span.b.start]);
                (i, j) = (span.a.end, span.b.end);
            }
            let mirrored: Vec<Span> = found.iter().map(|span| Span { a: span.b.clone(), b: span.a.clone() }).collect();
            prop_assert_eq!(spans(&y, &x, 1000), Some(mirrored));
            let is_one_passage = found.len() < 2
                && found.iter().all(|span| span.a.is_empty() || span.b.is_empty());
            let is_found = spans(&x, &y, max).is_some();
            prop_assert!(is_found || edits > max, "{} edits, at most {}", edits, max);
            prop_assert!(!is_found || is_one_passage || edits <= max + 1, "{} edits, at most {}", edits, max);
        }
    }

    /// Two long texts of other words are given up early, and small edits of them are found.
    #[test]
    fn long_texts() {
        let text = |from: u32| -> String {
            (from..from + 16_000).filter_map(|n| char::from_u32(0x20000 + n)).collect()
        };
        let of = |text: String| Tokens::of(text).expect("short");
        let (a, b) = (of(text(0)), of(text(16_000)));
        assert!(!edits::has_room(a.len(), b.len()));
        assert_eq!(spans(&a, &b, usize::MAX), None);
        assert_eq!(spans(&a, &of(text(100)), 1000).map(|spans| spans.len()), Some(2));
    }

    /// Words, digits and Chinese characters are tokens; marks and spaces stand between them.
    #[test]
    fn tokens_of_a_text() {
        let tokens = Tokens::of("第12届 hello-world，好。").expect("short");
        assert_eq!(list(&tokens), ["第", "1", "2", "届", "hello", "world", "好"]);
        assert_eq!((tokens.gap(4), tokens.gap(6), tokens.gap(7)), (" ", "，", "。"));
    }

    /// A digit is the same with any decimal mark and any minus sign, in all scripts.
    #[test]
    fn marks_of_one_meaning() {
        let codes = |text: &str| Tokens::of(text).map(|tokens| tokens.codes);
        assert_eq!(codes("3,5 und −4"), codes("3.5 und -4"));
        assert_eq!(codes("٣٫٥"), codes("3.5"));
        assert_ne!(codes("3,5"), codes("35"));
    }

    /// Thai tone marks parted words, and two words with other ones were equal: `ข้าว` is rice and
    /// `ข่าว` news. A mark belongs to the letter before it, but not to a digit or a character.
    #[test]
    fn marks_of_letters() {
        let of = |text: &str| -> String { list(&Tokens::of(text).expect("short")).join(" ") };
        assert_eq!(of("ขายข้าว ขายข่าว"), "ขายข้าว ขายข่าว");
        assert_eq!(of("हिन्दी, i\u{307}zmir"), "हिन्दी i\u{307}zmir");
        assert_eq!(of("1\u{20e3} 好\u{fe00}人 x\u{fe0f}y"), "1 好 人 x y");
    }

    /// A circle within a Chinese numeral is its zero; elsewhere it is a mark.
    #[test]
    fn a_circle_is_zero_within_a_numeral() {
        let codes = |text: &str| Tokens::of(text).map(|tokens| tokens.codes);
        assert_eq!(codes("二○二四年，一○○号"), codes("二〇二四年，一〇〇号"));
        assert_eq!(codes("二◯二四年"), codes("二〇二四年"));
        assert_eq!(codes("○○公司○五"), codes("公司五"));
    }

    /// `149,90` and `14,990` were one text, as commas were marks. A decimal point or comma and a
    /// minus sign are part of a digit; full stops, commas between thousands, dashes of ranges,
    /// dates and lists are not.
    #[test]
    fn marks_of_numbers() {
        let of = |text: &str| -> String { list(&Tokens::of(text).expect("short")).join(" ") };
        for (text, tokens) in [
            ("3.5% in 2019. 12", "3 .5 in 2 0 1 9 1 2"),
            ("降至-5度", "降 至 -5 度"),
            ("cpi (−0.1%)", "cpi −0 .1"),
            ("3-5度，2024-10-05", "3 5 度 2 0 2 4 1 0 0 5"),
            ("149,90 14,990 3,50", "1 4 9 ,9 0 1 4 9 9 0 3 ,5 0"),
            ("1.234,56 1,234.56 ٣٫٥", "1 .2 3 4 ,5 6 1 2 3 4 .5 6 ٣ ٫٥"),
            ("it will be −5 or (-3) or -2", "it will be −5 or -3 or -2"),
            ("5日-8日 五度-8度 kx-31元", "5 日 8 日 五 度 8 度 kx 3 1 元"),
            ("- 5 apples", "5 apples"),
            ("b-5 10 -15", "b 5 1 0 1 5"),
        ] {
            assert_eq!(of(text), tokens, "{text}");
        }
    }
}
