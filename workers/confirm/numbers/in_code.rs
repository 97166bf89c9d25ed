//! Tells numbers of code, paths and versions from those of sentences.

use crate::confirm::align::Tokens;
use crate::confirm::numbers::joins;
use crate::confirm::numbers::models;
use crate::text::characters::is_han;
use std::ops::Range;

/// Units that stand behind a number without a space. Such a number is no code.
const TOUCHING_UNITS: [&str; 33] = [
    "kg", "g", "mg", "t", "km", "m", "cm", "mm", "l", "ml", "w", "kw", "mw", "kwh", "v", "a", "gb",
    "mb", "kb", "tb", "hz", "ghz", "mhz", "h", "st", "nd", "rd", "th", "mins", "secs", "kcal",
    "mbps", "gbps",
];

/// Words before the number of a version. Behind any other word a number with a point is a price, a
/// measure or a score.
const VERSIONS: [&str; 6] = ["version", "versions", "release", "license", "licence", "v"];

/// Words with a point before the number of a thing.
const NUMBERED: [&str; 9] = ["no.", "nr.", "vol.", "art.", "sec.", "fig.", "ch.", "p.", "pp."];

/// The most digits before the point of a version.
const VERSION_DIGITS_MAX: usize = 2;

/// The bytes on each side of a number that are looked at.
const BESIDE_BYTES: usize = 64;

/// Whether a number belongs to code, a path or a version. It does if Latin letters or marks of code
/// touch it or the numbers joined with it. It also does if it stands behind a word for a version
/// and has a point with few digits before it.
///
/// Not in code are a number whose unit touches it, a flight or a model that stands between Chinese
/// characters or is a word of a sentence, and the numbers of `Size 47` and `July 12`.
pub fn in_code(tokens: &Tokens<'_>, range: Range<usize>) -> bool {
    let (start, end) =
        (tokens.places[range.start].start as usize, tokens.places[range.end - 1].end as usize);
    let (left, right) = (&tokens.text[..start], &tokens.text[end..]);
    let left = &left[left.ceil_char_boundary(left.len().saturating_sub(BESIDE_BYTES))..];
    let right = &right[..right.floor_char_boundary(BESIDE_BYTES)];
    // A value of a record in JSON is data.
    let is_value = left.trim_end().ends_with("\":") && right.trim_start().starts_with([',', '}']);
    if is_value
        || is_name_between_characters(left, right)
        || is_document_number(left, &tokens.text[start..end], right)
        || models::model(&tokens.text, start..end).is_some()
    {
        return false;
    }
    let joined = |c: char| c.is_ascii_digit() || "-/.+".contains(c);
    let touches = |c: char| c.is_ascii_alphabetic() || "_=[]{}`#\\".contains(c);
    let before = left.trim_end_matches(joined);
    let behind = (before.ends_with(touches) || ends_with_mark(before))
        && !NUMBERED.iter().any(|word| is_last_word(left, word));
    let measured = TOUCHING_UNITS.iter().any(|unit| {
        right.strip_prefix(unit).is_some_and(|rest| {
            !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || touches(c))
        })
    });
    let after = right.trim_start_matches(joined);
    let follows = !measured
        && (after.starts_with(touches) || begins_with_mark(after))
        && !is_compound(left, right);
    let behind_word = range.start > 0
        && tokens.gap(range.start) == " "
        && VERSIONS.contains(&tokens.token(range.start - 1));
    let mut rest = (range.start + 1..range.end).take_while(|at| joins(tokens, *at));
    let version = behind_word
        && !right.starts_with('%')
        && rest
            .find(|at| tokens.token(*at).starts_with('.'))
            .is_some_and(|point| point - range.start <= VERSION_DIGITS_MAX);
    behind || follows || version
}

/// Whether a mark of code ends `before`: a quotation mark of a value, or an angle bracket that
/// touches something.
fn ends_with_mark(before: &str) -> bool {
    let of_value = before.strip_suffix('"').map(str::trim_end);
    let of_tag = before.strip_suffix(['<', '>']);
    of_value.is_some_and(|before| before.ends_with(['=', '[', '{']))
        || of_tag.is_some_and(|before| {
            before.ends_with(|c: char| c.is_ascii_alphabetic() || "/\"]".contains(c))
        })
}

/// Whether an angle bracket that touches something begins `after`.
fn begins_with_mark(after: &str) -> bool {
    let behind = after.strip_prefix(['<', '>']);
    behind.is_some_and(|behind| {
        behind.starts_with(|c: char| c.is_ascii_alphabetic() || "/\"".contains(c))
    })
}

/// Whether the number is part of a compound or of a price: `a 20-storey tower`, `$15/month`.
fn is_compound(left: &str, right: &str) -> bool {
    let word = right.strip_prefix(['-', '/']).unwrap_or_default();
    let rest = word.trim_start_matches(|c: char| c.is_alphabetic() || c == '-');
    let begins = |c: char| c.is_whitespace() || "($€£¥".contains(c);
    rest.len() < word.len()
        && left.chars().next_back().is_none_or(begins)
        && !rest.starts_with(|c: char| c.is_alphanumeric() || "_=<>[]{}`#\\/.:".contains(c))
}

/// Whether `text` ends with this word.
fn is_last_word(text: &str, word: &str) -> bool {
    text.strip_suffix(word).is_some_and(|before| !before.ends_with(|c: char| c.is_alphanumeric()))
}

/// What stands before the word of a number between `left` and `right`, its letters, digits and
/// hyphens in front of the number and behind it, and what stands behind the word.
fn word_around<'t>(left: &'t str, right: &'t str) -> [&'t str; 4] {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let (before, after) = (left.trim_end_matches(inside), right.trim_start_matches(inside));
    [before, &left[before.len()..], &right[..right.len() - after.len()], after]
}

/// Whether a number between `left` and `right` stands between Chinese characters or at the end of a
/// Chinese sentence, alone or as part of a name such as `ca1234`. `v2` names a version.
fn is_name_between_characters(left: &str, right: &str) -> bool {
    let [before, name, _, after] = word_around(left, right);
    let is_version = name.starts_with('v') && name[1..].bytes().all(|byte| byte.is_ascii_digit());
    let ends = after.chars().next().is_none_or(|c| is_han(c) || "。,;!?、".contains(c));
    before.ends_with(is_han) && ends && !is_version
}

/// The fewest digits of the number of a document, with those of its year, and the most letters in
/// front of it.
const DOCUMENT_DIGITS_MIN: usize = 5;
const DOCUMENT_LETTERS_MAX: usize = 4;

/// Whether a number is that of a document in a Chinese text, behind a colon or in brackets:
/// `(编号zc2025-626)`, `护照号(e12345678)`. A word of few digits, such as `utf8`, is code, and so is a
/// version.
fn is_document_number(left: &str, number: &str, right: &str) -> bool {
    let [before, front, back, after] = word_around(left, right);
    let parts = [front, number, back];
    let digits = parts.iter().flat_map(|part| part.bytes()).filter(u8::is_ascii_digit).count();
    let letters = front.bytes().take_while(u8::is_ascii_alphabetic).count();
    let has_form = (1..=DOCUMENT_LETTERS_MAX).contains(&letters)
        && !(letters == 1 && front.starts_with('v'))
        && parts[1..].iter().all(|part| !part.contains(|c: char| c.is_ascii_alphabetic()));
    let label = before.trim_end_matches([':', '(', '[', '【', '〔', ' ']);
    let ends = |c: char| is_han(c) || "。,;!?、)]】〕:|".contains(c);
    digits >= DOCUMENT_DIGITS_MIN
        && has_form
        && label.ends_with(is_han)
        && after.trim_start().chars().next().is_none_or(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_code(text: &str, number: &str) -> bool {
        let tokens = Tokens::of(text).expect("short");
        in_code(&tokens, tokens.range_of(number))
    }

    /// Numbers of versions, paths and code are distinguished from numbers of sentences.
    #[test]
    fn code_and_sentences() {
        for (text, number) in [
            ("see version 2.10 of it", "2.10"),
            ("let a = [12]", "12"),
            ("型号 `kx-31` 的灯", "31"),
            ("从v2升级", "2"),
            ("文件 /2024/x.html 已删", "2024"),
            ("width=30kg", "30"),
            ("width=\"30\"", "30"),
            ("<td>30</td>", "30"),
            ("see node-20-alpine", "20"),
            ("编码(utf8)的文件", "8"),
            ("新版(v2024-05)已经发布", "05"),
            ("a/20/b.html", "20"),
        ] {
            assert!(is_code(text, number), "{text}");
        }
        for (text, number) in [
            ("今天气温30度", "30"),
            // Marks and compounds of sentences were marks of code.
            ("he said \"12 people were hurt\"", "12"),
            ("他说\"12名工人受伤\"", "12"),
            ("a risk of >50% was seen", "50"),
            ("it was small (p <0.05) again", "0.05"),
            ("a 20-storey tower", "20"),
            ("it costs $15/month", "15"),
            ("take bus no.5 from here", "5"),
            ("共有 12 人", "12"),
            ("型号 kx-31 的灯", "31"),
            ("sales rose in q1 as hoped", "1"),
            ("a shirt of size 47 in", "47"),
            ("size 47. price 10.9", "47. price 10.9"),
            ("the price 10.90 includes tax", "10.90"),
            ("a loss of 1.5 million", "1.5"),
            ("it has a ph 7.1 at noon", "7.1"),
            ("已在 rust 1.55 中", "1.55"),
            ("it came to 199.20 in all", "199.20"),
            ("股东会定于2024-10-05召开", "10"),
            ("全长120km的公路", "120"),
            ("该机重量 30kg。", "30"),
            ("国家标准gb/t 1234-2008。", "1234"),
            ("航班ca1234起飞", "1234"),
            ("联系电话010-65551234。", "010"),
            ("利率降至-0.5%。", "0.5"),
            // `ä` ended the word, so that the age was code.
            ("den 43-jährigen fahrer", "43"),
            ("项目(编号zc2025-626)招标", "626"),
            ("项目(编号zc2025-626)招标", "2025"),
            ("护照号:e12345678 正文", "12345678"),
        ] {
            assert!(!is_code(text, number), "{text}");
        }
    }
}
