//! Normalises a page's text to the string from which digest, features, evidence and length derive.
//!
//! The normal form is NFKC (Unicode Standard Annex 15) in lower case, with every run of white space
//! as one space, without invisible characters, without the optional vowel signs of Arabic and
//! Hebrew, with one letter for each of the Arabic and Persian kaf and yeh, and with simplified
//! Chinese characters instead of traditional ones.
//!
//! Both the text and its normal form are cut at [`TEXT_USED_BYTES_MAX`]. A content is named by its
//! normal form and, if it was cut, by its whole text (`visit/mod.rs`).
//!
//! The mapping of scripts serves comparison, not reading. It maps character by character, so that a
//! text in either script gets the same normal form. If a traditional character has two simplified
//! forms, the mapping does not choose by meaning. Alef maksura is mapped to yeh in the same way: it
//! is a yeh without dots, and in Egypt the usual form of a final yeh.

use crate::text::characters::is_han;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::OnceLock;
use unicode_normalization::{
    IsNormalized, UnicodeNormalization, char::canonical_combining_class, is_nfkc_quick,
};

/// The version of these rules; part of a store's identity.
pub const VERSION: u32 = 5;

/// The most bytes of a text, before and after it is normalised. What follows is cut off, so that
/// one document costs a bounded time and memory: one character may become 18, and words and
/// shingles take many times the bytes of their text. The longest novels are about this long. What
/// is cut off counts for whether two texts are identical.
pub const TEXT_USED_BYTES_MAX: usize = 2 << 20;

/// The job file's `[normalize]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    /// Fold traditional Chinese characters to simplified ones. Default: true.
    pub simplified: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options { simplified: true }
    }
}

/// The normal form of one character of the basic plane, where its neighbours cannot change it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fold(u32);

impl Fold {
    /// Neighbours may change the character, or it becomes several characters. It needs the slow
    /// path.
    const SLOW: Fold = Fold(u32::MAX);
    /// The character is dropped.
    const DROP: Fold = Fold(u32::MAX - 1);
}

/// Traditional characters and variants, each with its simplified character. The conversion library
/// lacks them, gives them a rarer form, or maps them only next to certain others; for comparison
/// they are always mapped. Most are the pairs of OpenCC's table `TSCharacters` whose simplified
/// character is in GB 2312.
const SIMPLIFIED: &str = include_str!("simplified.txt");

/// The combining dot that the lower case of the Turkish İ has in addition to the dot of the i.
const DOT_ABOVE: char = '\u{307}';

fn simplify(c: char) -> char {
    static PAIRS: OnceLock<HashMap<char, char>> = OnceLock::new();
    if !is_han(c) {
        return c;
    }
    let pair = |pair: &str| {
        let mut both = pair.chars();
        both.next().zip(both.next()).expect("two characters")
    };
    let pairs = PAIRS.get_or_init(|| SIMPLIFIED.split_whitespace().map(pair).collect());
    if let Some(simple) = pairs.get(&c) {
        return *simple;
    }
    let mut bytes = [0; 4];
    let converted = fast2s::convert(c.encode_utf8(&mut bytes));
    converted.chars().next().unwrap_or(c)
}

/// The letter that stands for `c` in a normal form: one form of the letters that Arabic and Persian
/// keyboards write with different characters, the Greek sigma that does not end a word, as capitals
/// have one, and the simplified Chinese character, if wanted.
fn unify(c: char, simplified: bool) -> char {
    match c {
        'ς' => 'σ',
        'ي' | 'ى' => 'ی',
        'ك' => 'ک',
        _ if simplified => simplify(c),
        _ => c,
    }
}

/// Whether `c` is dropped from the normal form: it is not displayed, or is a sign that most texts
/// leave out.
fn is_dropped(c: char) -> bool {
    match c {
        '\0'..'\u{ad}' => c.is_control() && !c.is_whitespace(),
        '\u{ad}'..'\u{34f}' => c == '\u{ad}',
        _ => is_ignorable(c) || is_optional(c),
    }
}

/// Whether `c` is a `Default_Ignorable_Code_Point` of Unicode 16 (`DerivedCoreProperties.txt`):
/// zero width, marks and isolates of the direction of writing, fillers, tags, and variation
/// selectors.
fn is_ignorable(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Whether `c` is a vowel sign or point of Hebrew, a vowel sign, a mark of recitation or the
/// lengthening stroke of Arabic. Hamza and madda (U+0653 to U+0655) are not: they compose with
/// their letters.
fn is_optional(c: char) -> bool {
    matches!(c, '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}'
        | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{652}' | '\u{656}'..='\u{658}' | '\u{670}'
        | '\u{6d6}'..='\u{6dc}' | '\u{6df}'..='\u{6e4}' | '\u{6e7}' | '\u{6e8}' | '\u{6ea}'..='\u{6ed}')
}

fn table(simplified: bool) -> &'static [Fold; 0x10000] {
    static TABLES: [OnceLock<Box<[Fold; 0x10000]>>; 2] = [OnceLock::new(), OnceLock::new()];
    TABLES[usize::from(simplified)].get_or_init(|| {
        let mut table = Box::new([Fold::SLOW; 0x10000]);
        for (code, fold) in (0..).zip(table.iter_mut()) {
            if let Some(c) = char::from_u32(code) {
                *fold = fold_alone(c, simplified);
            }
        }
        table
    })
}

/// Whether `c` is in a range whose characters are all displayed, have no case and are their own
/// NFKC: Chinese characters except those for compatibility, Hangul syllables, private use. Two of
/// three characters of the table are in such ranges; to examine each would take most of the start
/// of a small run.
fn is_plain(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{e000}'..='\u{f8ff}')
}

/// The fold of `c` if it is a starter, composes with nothing before it and becomes one character.
fn fold_alone(c: char, simplified: bool) -> Fold {
    if is_plain(c) {
        return Fold(u32::from(unify(c, simplified)));
    }
    if is_dropped(c) {
        return Fold::DROP;
    }
    if c.is_whitespace() {
        return Fold(u32::from(' '));
    }
    let narrow = match c {
        // Fullwidth ASCII decomposes to one starter that never composes backwards.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        _ if canonical_combining_class(c) == 0
            && is_nfkc_quick(std::iter::once(c)) == IsNormalized::Yes =>
        {
            c
        }
        _ => return Fold::SLOW,
    };
    let mut lower = narrow.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) => Fold(u32::from(unify(lower, simplified))),
        _ => Fold::SLOW,
    }
}

/// Whether `c`, which folds to `folded`, stays as it is in every place. A space does not, because
/// it may be dropped.
fn is_same(c: char, folded: Fold) -> bool {
    folded == Fold(u32::from(c)) && c != ' '
}

/// Writes the normal form of `text` to `out`, which is cleared first. Returns whether it was cut.
///
/// Most characters fold alone, by one look into a table. The others and their neighbours take the
/// slow path, which is the definition.
///
/// ```
/// use workers::text::normalize::{Options, normalize};
///
/// let mut normal = String::new();
/// normalize("　Ｈｅｌｌｏ，\tＷｏｒｌｄ！\n", &Options::default(), &mut normal);
/// assert_eq!(normal, "hello, world!");
/// normalize("臺灣", &Options::default(), &mut normal);
/// assert_eq!(normal, "台湾");
/// ```
pub fn normalize(text: &str, options: &Options, out: &mut String) -> bool {
    normalize_within(TEXT_USED_BYTES_MAX, text, options, out)
}

/// As [`normalize`], cut at `bytes_max`.
fn normalize_within(bytes_max: usize, text: &str, options: &Options, out: &mut String) -> bool {
    let is_cut = text.len() > bytes_max;
    let text = &text[..text.floor_char_boundary(bytes_max)];
    let table = table(options.simplified);
    let fold = |c: char| table.get(c as usize).copied().unwrap_or(Fold::SLOW);
    out.clear();
    out.reserve(text.len());
    let mut sink = Sink { out, bytes_max, space: false };
    // The last character of the fast path is held back, because the next character may compose with
    // it.
    let mut held: Option<(usize, Fold)> = None;
    let mut at = 0;
    while !sink.is_full()
        && let Some(c) = text[at..].chars().next()
    {
        let folded = fold(c);
        if is_same(c, folded) {
            // A run of characters that are their own normal form is copied as a whole.
            if let Some((_, before)) = held.take() {
                sink.fold(before);
            }
            let run = text[at..].char_indices().take_while(|(_, c)| is_same(*c, fold(*c)));
            let (last, c) = run.last().unwrap_or((0, c));
            sink.push_run(&text[at..at + last]);
            held = Some((at + last, fold(c)));
            at += last + c.len_utf8();
        } else if folded == Fold::SLOW {
            let start = held.take().map_or(at, |(at, _)| at);
            let rest = &text[at..];
            // A digit may be parted from the one before it.
            let is_slow = |c| matches!(fold(c), Fold::SLOW | Fold::DROP) || is_digit(c);
            at += rest.find(|c| !is_slow(c)).unwrap_or(rest.len());
            sink.slow(&text[start..at], options.simplified);
        } else {
            // A dropped character does not separate a letter from a mark that follows it.
            if folded != Fold::DROP
                && let Some((_, before)) = held.replace((at, folded))
            {
                sink.fold(before);
            }
            at += c.len_utf8();
        }
    }
    if let Some((_, last)) = held {
        sink.fold(last);
    }
    cut(out, bytes_max) || is_cut
}

/// Whether `c` is one of the digits 0 to 9 that make a number with those beside them.
fn is_digit(c: char) -> bool {
    matches!(c, '0'..='9' | '０'..='９' | '\u{1d7ce}'..='\u{1d7ff}' | '\u{1fbf0}'..='\u{1fbf9}')
}

fn is_raised(c: char) -> bool {
    matches!(c, '⁰' | '¹' | '²' | '³' | '⁴'..='⁹' | '⁺' | '⁻')
}

fn is_lowered(c: char) -> bool {
    matches!(c, '₀'..='₉')
}

/// What parts two neighbours whose normal forms would be one number and are not: a `^` between a
/// digit and a superscript, a space between a digit and another sign that has digits, such as a
/// number in a circle, a fraction or a month.
fn between_digits(before: char, c: char) -> Option<char> {
    if is_raised(c) && (is_digit(before) || is_lowered(before)) {
        return Some('^');
    }
    let alike = |is_one: fn(char) -> bool| is_one(before) && is_one(c);
    let is_ascii = before.is_ascii() && c.is_ascii();
    if is_ascii || alike(is_digit) || alike(is_raised) || alike(is_lowered) {
        return None;
    }
    let ends = [before].into_iter().nfkc().last().is_some_and(|c| c.is_ascii_digit());
    let begins = || [c].into_iter().nfkc().next().is_some_and(|c| c.is_ascii_digit());
    (ends && begins()).then_some(' ')
}

/// The characters of `text` that are not dropped, with what parts their numbers: `10⁵` has the form
/// of `10^5`, and `图5①` that of `图5 1`, not of `105` and `图51`.
fn with_parted_digits(text: &str) -> impl Iterator<Item = char> {
    let mut before = ' ';
    text.chars().filter(|c| !is_dropped(*c)).flat_map(move |c| {
        let between = between_digits(before, c);
        before = c;
        between.into_iter().chain([c])
    })
}

/// Cuts a normal form that is too long. Returns whether it was.
fn cut(normal: &mut String, bytes_max: usize) -> bool {
    let is_cut = normal.len() > bytes_max;
    normal.truncate(normal.floor_char_boundary(bytes_max));
    normal.truncate(normal.trim_end_matches(' ').len());
    is_cut
}

/// The normal form by its definition: the oracle of [`normalize`].
#[cfg(test)]
fn normalize_plainly(bytes_max: usize, text: &str, options: &Options) -> String {
    let text = &text[..text.floor_char_boundary(bytes_max)];
    let mut out = String::new();
    for c in with_parted_digits(text).nfkc().flat_map(char::to_lowercase) {
        let c = if c.is_whitespace() { ' ' } else { c };
        let is_second_space = c == ' ' && (out.is_empty() || out.ends_with(' '));
        let is_second_dot = c == DOT_ABOVE && out.ends_with('i');
        if !(is_dropped(c) || is_second_space || is_second_dot) {
            out.push(unify(c, options.simplified));
        }
    }
    out.truncate(out.floor_char_boundary(bytes_max));
    out.trim_end_matches(' ').to_owned()
}

/// Appends normal characters. A space is written only when a character follows it.
struct Sink<'a> {
    out: &'a mut String,
    bytes_max: usize,
    space: bool,
}

impl Sink<'_> {
    /// Whether the form is too long already: what follows is cut off.
    fn is_full(&self) -> bool {
        self.out.len() > self.bytes_max
    }

    #[inline]
    fn push(&mut self, c: char) {
        if c == ' ' {
            self.space = !self.out.is_empty();
        } else {
            if self.space {
                self.out.push(' ');
                self.space = false;
            }
            self.out.push(c);
        }
    }

    /// Appends characters of which none is a space.
    fn push_run(&mut self, run: &str) {
        if self.space && !run.is_empty() {
            self.out.push(' ');
            self.space = false;
        }
        self.out.push_str(run);
    }

    #[inline]
    fn fold(&mut self, fold: Fold) {
        if let Some(c) = char::from_u32(fold.0) {
            self.push(c);
        }
    }

    /// The definition: NFKC of what is not dropped, lower case, white space as spaces, one form of
    /// each letter, and no second dot on an i.
    fn slow(&mut self, text: &str, simplified: bool) {
        for c in with_parted_digits(text).nfkc().flat_map(char::to_lowercase) {
            let c = if c.is_whitespace() { ' ' } else { c };
            let is_second_dot = c == DOT_ABOVE && !self.space && self.out.ends_with('i');
            if !is_dropped(c) && !is_second_dot {
                self.push(unify(c, simplified));
            }
            if self.is_full() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn normal(text: &str) -> String {
        let mut out = String::new();
        normalize(text, &Options::default(), &mut out);
        out
    }

    proptest! {
        /// The fast path equals the definition, on the scripts and marks that are hardest for it.
        #[test]
        fn fast_is_plain(text in "[a-z0-9⁰¹²⁻⁴₂A-ZÀ-ɏ\u{300}-\u{315}　 \n\u{200b}\u{ad}，。！Ａ-ｚｦ-ﾟ가-힣\u{1100}-\u{1112}\u{11a8}-\u{11c2}ぁ-ん\u{3099}ァ-ヶ一-鿿豈-龜ﬁ①㎞Σΐİẞiiا-ي\u{640}-\u{658}ککی\u{fe70}-\u{fe7f}\u{fef0}-\u{fefc}א-ת\u{5b0}-\u{5c7}\u{fb1d}-\u{fb4f}\u{fe0f}\u{2066}\u{3164}\u{e0100}]{0,40}") {
            for simplified in [true, false] {
                let options = Options { simplified };
                let mut out = String::new();
                normalize(&text, &options, &mut out);
                prop_assert_eq!(out, normalize_plainly(TEXT_USED_BYTES_MAX, &text, &options));
            }
        }

        /// The fast path equals the definition on any text.
        #[test]
        fn fast_is_plain_anywhere(text in "\\PC{0,40}") {
            prop_assert_eq!(normal(&text), normalize_plainly(TEXT_USED_BYTES_MAX, &text, &Options::default()));
        }
    }

    /// The claims about ranges hold for each of their characters.
    #[test]
    fn plain_characters() {
        let plain: Vec<char> = ('\0'..='\u{ffff}').filter(|c| is_plain(*c)).collect();
        assert!(plain.len() > 40_000);
        for c in plain {
            assert!(
                !is_dropped(c) && !c.is_whitespace() && canonical_combining_class(c) == 0,
                "{c}"
            );
            assert_eq!(is_nfkc_quick([c].into_iter()), IsNormalized::Yes, "{c}");
            assert!(c.to_lowercase().eq([c]), "{c}");
        }
    }

    /// `10⁵` and `105` were one text: a superscript behind a digit is no digit of the same number.
    #[test]
    fn powers_are_no_digits() {
        assert_eq!(normal("10⁵"), "10^5");
        assert_eq!(normal("１０\u{200b}²³ 2⁻¹"), "10^23 2^\u{2212}1");
        assert_eq!(normal("x₁²"), "x1^2");
    }

    /// `图5①` and `图51` were one text: a number in a circle, a fraction, an index or a month beside
    /// a digit is another number.
    #[test]
    fn other_numbers_are_parted() {
        for (text, expected) in [
            ("图5①", "图5 1"),
            ("①5个 ①②", "1 5个 1 2"),
            ("①\u{200b}5①", "1 5 1"),
            ("1½", "1 1\u{2044}2"),
            ("10₂₃ 2㋀", "10 23 2 1月"),
            ("五① ①", "五1 1"),
            ("１２\u{1d7d8}", "120"),
            ("⒈5", "1.5"),
        ] {
            assert_eq!(normal(text), expected, "{text}");
        }
    }

    /// Some traditional characters had another form than their simplified ones.
    #[test]
    fn simplified_characters() {
        for pair in SIMPLIFIED.split_whitespace() {
            let (traditional, simple) =
                pair.split_at(pair.chars().next().map_or(0, char::len_utf8));
            assert_eq!(simple.chars().count(), 1, "{pair}");
            assert_eq!(normal(traditional), simple);
            assert_eq!(normal(simple), simple);
        }
        assert_eq!(normal("北京諮詢、瀋陽、重疊、打拚"), normal("北京咨询、沈阳、重叠、打拼"));
        assert_eq!(normal("ΝΕΟΣ"), normal("νεος"));
    }

    /// Texts that differ only in width, case, script, white space or invisible marks have one form.
    #[test]
    fn equal_forms() {
        assert_eq!(normal("　Ｈｅｌｌｏ，\t\u{200b}World！\n"), "hello, world!");
        assert_eq!(normal("憂鬱的臺灣烏龜，乾燥著"), normal("忧郁的台湾乌龟，干燥着"));
        assert_eq!(normal("e\u{301}t\u{e9}"), "\u{e9}t\u{e9}");
        assert_eq!(normal("m²，H₂O"), "m2,h2o");
        assert_eq!(normal(" \n\u{feff} "), "");
    }

    /// These were other texts than their plain forms: a text with vowel signs, Persian from an
    /// Arabic keyboard, a lengthened word, Turkish in capitals, and a text with isolates.
    #[test]
    fn optional_signs() {
        for (written, plain) in [
            ("قَالَ رَئِيسُ المَجْلِسِ", "قال رئيس المجلس"),
            ("مـــصـر", "مصر"),
            ("هٰذا", "هذا"),
            ("شَאלוֹם", "شאלום"),
            ("שָׁלוֹם", "שלום"),
            ("\u{fb2a}ל\u{fb4b}ם", "שלום"),
            ("كتاب علي", "کتاب علی"),
            ("على", "علي"),
            ("\u{feeb}\u{fef2}", "هی"),
            ("\u{fe77}", ""),
            ("İZMİR", "izmir"),
            ("I\u{307}stanbul", "istanbul"),
            ("\u{2067}مصر\u{2069} \u{61c}7", "مصر 7"),
            ("葛\u{e0100}飾 ❤\u{fe0f} a\u{34f}b \u{180e}c\u{3164}", "葛飾 ❤ ab c"),
        ] {
            assert_eq!(normal(written), normal(plain), "{written}");
        }
        // Hamza and madda make other letters, however they are written. A dot on other letters
        // does, too.
        assert_eq!(normal("ئ آ أ"), normal("ي\u{654} ا\u{653} ا\u{654}"));
        assert_eq!(normal("ئ آ"), "ئ آ");
        assert_ne!(normal("رأي"), normal("راي"));
        assert_eq!(normal("ż i \u{307}"), "\u{17c} i \u{307}");
        let mut out = String::new();
        normalize("علي 臺", &Options { simplified: false }, &mut out);
        assert_eq!(out, "علی 臺");
    }

    /// A text without end took seconds and gigabytes. It is cut before it is normalised, and again
    /// afterwards, because one character may become many. The fast and the slow path cut in the
    /// same place.
    #[test]
    fn long_texts_are_cut() {
        let (options, mut out) = (Options::default(), String::new());
        for unit in ["a", "漢 ", "\u{fdfa}", "ab\u{301} ", "x\u{fdfa}", " "] {
            for bytes_max in 4096..4096usize + 24 {
                for bytes in [bytes_max, bytes_max + 1, bytes_max + 3000] {
                    let text = unit.repeat(bytes.div_ceil(unit.len()));
                    let is_cut = normalize_within(bytes_max, &text, &options, &mut out);
                    assert!(
                        out == normalize_plainly(bytes_max, &text, &options),
                        "{unit:?} {bytes}"
                    );
                    assert!(out.len() <= bytes_max && !out.ends_with(' '));
                    let must_cut = text.len() > bytes_max || unit.contains('\u{fdfa}');
                    assert_eq!(is_cut, must_cut, "{unit:?} {bytes}");
                }
            }
        }
        let long = "漢 ".repeat(TEXT_USED_BYTES_MAX / 4 + 1);
        assert!(normalize(&long, &options, &mut out) && out.len() <= TEXT_USED_BYTES_MAX);
    }

    /// Without the mapping of scripts traditional characters stay.
    #[test]
    fn scripts_unmapped() {
        let mut out = String::new();
        normalize("臺灣", &Options { simplified: false }, &mut out);
        assert_eq!(out, "臺灣");
    }
}
