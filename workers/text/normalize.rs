//! Normalisation: in comes a page's text, out goes the one string from which digest, features, evidence and length all derive. NFKC, lower
//! case, white space folded to single spaces, invisible characters dropped, traditional Chinese folded to simplified.
//!
//! The script fold serves comparison, not reading: it maps character by character so that a text in either script folds to the
//! same string, and does not choose the right simplified character where one traditional form has two.

use serde::{Deserialize, Serialize};
use std::sync::OnceLock;
use unicode_normalization::{IsNormalized, UnicodeNormalization, char::canonical_combining_class, is_nfkc_quick};

/// The version of these rules; part of a store's identity.
pub const VERSION: u32 = 1;

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

/// What a character of the basic plane becomes when its neighbours cannot matter.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Fold(u32);

impl Fold {
    /// Neighbours may matter, or it becomes several characters: the slow road.
    const SLOW: Fold = Fold(u32::MAX);
    /// Nothing is left of it.
    const DROP: Fold = Fold(u32::MAX - 1);
}

/// Characters that the conversion library maps only next to certain others; a fold for comparison maps them always.
const ALWAYS: [(char, char); 10] = [
    ('乾', '干'),
    ('著', '着'),
    ('藉', '借'),
    ('瞭', '了'),
    ('麽', '么'),
    ('於', '于'),
    ('兒', '儿'),
    ('覆', '复'),
    ('夥', '伙'),
    ('鍾', '钟'),
];

fn simplify(c: char) -> char {
    if let Some(&(_, simple)) = ALWAYS.iter().find(|(traditional, _)| *traditional == c) {
        return simple;
    }
    if !is_han(c) {
        return c;
    }
    let mut bytes = [0; 4];
    let converted = fast2s::convert(c.encode_utf8(&mut bytes));
    converted.chars().next().unwrap_or(c)
}

/// Whether `c` is a Chinese character.
pub fn is_han(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{323af}' | '\u{f900}'..='\u{faff}' | '々' | '〇')
}

/// Format characters that no reader sees: soft hyphen, zero-width and bidirectional marks, byte order marks, controls.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
        || (c.is_control() && !c.is_whitespace())
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

/// The fold of `c`, if it is a starter that composes with nothing before it and becomes one character.
fn fold_alone(c: char, simplified: bool) -> Fold {
    if is_invisible(c) {
        return Fold::DROP;
    }
    if c.is_whitespace() {
        return Fold(u32::from(' '));
    }
    let narrow = match c {
        // Fullwidth ASCII decomposes to one starter that never composes backwards.
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        _ if canonical_combining_class(c) == 0 && is_nfkc_quick(std::iter::once(c)) == IsNormalized::Yes => c,
        _ => return Fold::SLOW,
    };
    let mut lower = narrow.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) => Fold(u32::from(if simplified { simplify(lower) } else { lower })),
        _ => Fold::SLOW,
    }
}

/// Writes the normal form of `text` to `out`, which is cleared first.
pub fn normalize(text: &str, options: &Options, out: &mut String) {
    let table = table(options.simplified);
    let fold = |c: char| table.get(c as usize).copied().unwrap_or(Fold::SLOW);
    out.clear();
    out.reserve(text.len());
    let mut sink = Sink { out, space: false };
    // The last character of the fast road is held back: what follows may compose with it.
    let mut held: Option<(usize, Fold)> = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let folded = fold(c);
        if folded == Fold::SLOW {
            let start = held.take().map_or(at, |(at, _)| at);
            let rest = &text[at..];
            at += rest.find(|c| !matches!(fold(c), Fold::SLOW | Fold::DROP)).unwrap_or(rest.len());
            sink.slow(&text[start..at], options.simplified);
        } else {
            // What is dropped does not part a letter from the mark behind it.
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
}

/// The normal form, the plain way: the oracle of [`normalize`].
#[cfg(test)]
fn normalize_plainly(text: &str, options: &Options) -> String {
    let mut out = String::new();
    let mut sink = Sink { out: &mut out, space: false };
    sink.slow(text, options.simplified);
    out
}

/// Where normal characters go; white space waits here until something follows it.
struct Sink<'a> {
    out: &'a mut String,
    space: bool,
}

impl Sink<'_> {
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

    #[inline]
    fn fold(&mut self, fold: Fold) {
        if let Some(c) = char::from_u32(fold.0) {
            self.push(c);
        }
    }

    /// The definition: NFKC of what can be seen, lower case, white space as spaces, simplified.
    fn slow(&mut self, text: &str, simplified: bool) {
        for c in text.chars().filter(|c| !is_invisible(*c)).nfkc().flat_map(char::to_lowercase) {
            let c = if c.is_whitespace() { ' ' } else { c };
            if !is_invisible(c) {
                self.push(if simplified { simplify(c) } else { c });
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
        /// The fast road writes what the definition writes, over the scripts and marks that try it most.
        #[test]
        fn fast_is_plain(text in "[a-zA-ZÀ-ɏ\u{300}-\u{315}　 \n\u{200b}\u{ad}，。！Ａ-ｚｦ-ﾟ가-힣\u{1100}-\u{1112}\u{11a8}-\u{11c2}ぁ-ん\u{3099}ァ-ヶ一-鿿豈-龜ﬁ①㎞Σΐİẞ]{0,40}") {
            for simplified in [true, false] {
                let options = Options { simplified };
                let mut out = String::new();
                normalize(&text, &options, &mut out);
                prop_assert_eq!(out, normalize_plainly(&text, &options));
            }
        }

        /// The same over all of Unicode.
        #[test]
        fn fast_is_plain_anywhere(text in "\\PC{0,40}") {
            prop_assert_eq!(normal(&text), normalize_plainly(&text, &Options::default()));
        }
    }

    /// Width, case, script, white space and invisible marks do not make two texts of one.
    #[test]
    fn what_folds() {
        assert_eq!(normal("　Ｈｅｌｌｏ，\t\u{200b}World！\n"), "hello, world!");
        assert_eq!(normal("憂鬱的臺灣烏龜，乾燥著"), normal("忧郁的台湾乌龟，干燥着"));
        assert_eq!(normal("e\u{301}t\u{e9}"), "\u{e9}t\u{e9}");
        assert_eq!(normal(" \n\u{feff} "), "");
    }

    /// With the fold of scripts switched off traditional characters stay.
    #[test]
    fn scripts_apart() {
        let mut out = String::new();
        normalize("臺灣", &Options { simplified: false }, &mut out);
        assert_eq!(out, "臺灣");
    }
}
