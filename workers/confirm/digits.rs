//! The digits of all scripts, Chinese numerals, and the marks that are part of a number.

use crate::text::characters::is_han;

/// The Chinese numerals of 1 to 9, in order.
pub const HAN_DIGITS: &str = "一二三四五六七八九";
/// The Chinese numerals of zero.
pub const HAN_ZEROS: &str = "零〇";
/// The Chinese numerals that multiply what stands before them. 兆 does so, too, but is more often
/// mega or a part of a word.
pub const HAN_MAGNITUDES: &str = "十百千万亿";
/// Other numerals: 兆, 两, the numerals of contracts, and a short form of twenty.
const OTHER_NUMERALS: &str = "兆两壹贰叁肆伍陆柒捌玖拾佰仟廿";

/// The zeros of scripts with digits of their own, in Unicode's order. Those of mathematics and of full
/// width are ASCII in the normal form.
const ZEROS: [char; 58] = [
    '\u{660}',
    '\u{6f0}',
    '\u{7c0}',
    '\u{966}',
    '\u{9e6}',
    '\u{a66}',
    '\u{ae6}',
    '\u{b66}',
    '\u{be6}',
    '\u{c66}',
    '\u{ce6}',
    '\u{d66}',
    '\u{de6}',
    '\u{e50}',
    '\u{ed0}',
    '\u{f20}',
    '\u{1040}',
    '\u{1090}',
    '\u{17e0}',
    '\u{1810}',
    '\u{1946}',
    '\u{19d0}',
    '\u{1a80}',
    '\u{1a90}',
    '\u{1b50}',
    '\u{1bb0}',
    '\u{1c40}',
    '\u{1c50}',
    '\u{a620}',
    '\u{a8d0}',
    '\u{a900}',
    '\u{a9d0}',
    '\u{a9f0}',
    '\u{aa50}',
    '\u{abf0}',
    '\u{104a0}',
    '\u{10d30}',
    '\u{11066}',
    '\u{110f0}',
    '\u{11136}',
    '\u{111d0}',
    '\u{112f0}',
    '\u{11450}',
    '\u{114d0}',
    '\u{11650}',
    '\u{116c0}',
    '\u{11730}',
    '\u{118e0}',
    '\u{11950}',
    '\u{11c50}',
    '\u{11d50}',
    '\u{11da0}',
    '\u{16a60}',
    '\u{16ac0}',
    '\u{16b50}',
    '\u{1e140}',
    '\u{1e2f0}',
    '\u{1e950}',
];

/// The value of a decimal digit of any of these scripts, or of an ASCII digit.
#[inline]
pub fn digit_value(c: char) -> Option<u32> {
    if c.is_ascii() {
        return c.to_digit(10);
    }
    // Most characters are Chinese, or letters before the first of these scripts.
    if c < ZEROS[0] || is_han(c) {
        return None;
    }
    let zero = ZEROS[..ZEROS.partition_point(|zero| *zero <= c)].last()?;
    Some(c as u32 - *zero as u32).filter(|value| *value < 10)
}

/// Whether a mark is a circle, small or large. Official texts write it for 〇.
pub fn is_circle(c: char) -> bool {
    matches!(c, '○' | '◯')
}

/// Whether a mark is a minus sign, or a hyphen in its place.
pub fn is_minus_sign(c: char) -> bool {
    matches!(c, '-' | '−')
}

/// Whether a mark may part the digits of a whole number from those of its fraction.
pub fn is_decimal_mark(c: char) -> bool {
    matches!(c, '.' | ',' | '٫')
}

/// Whether `token` is a digit, perhaps with a decimal mark or a minus sign before it.
pub fn is_digit(token: &str) -> bool {
    match token.as_bytes() {
        [.., last] if last.is_ascii() => last.is_ascii_digit(),
        // The digits of other scripts have two to four bytes, and a mark has at most three.
        bytes => {
            (2..=7).contains(&bytes.len())
                && token.chars().next_back().is_some_and(|c| digit_value(c).is_some())
        }
    }
}

/// Whether `token` is a Chinese numeral.
pub fn is_numeral(token: &str) -> bool {
    const ALL: [&str; 4] = [HAN_DIGITS, HAN_ZEROS, HAN_MAGNITUDES, OTHER_NUMERALS];
    let mut chars = token.chars();
    let is_one = |c| is_circle(c) || ALL.iter().any(|numerals| numerals.contains(c));
    chars.next().is_some_and(is_one) && chars.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The digits of a script are the ten characters behind its zero, as Unicode has them.
    #[test]
    fn digits_of_scripts() {
        assert!(ZEROS.is_sorted());
        for zero in ZEROS {
            for value in 0..10 {
                let c = char::from_u32(zero as u32 + value).expect("a character");
                assert!(c.is_numeric(), "{c}");
                assert_eq!(digit_value(c), Some(value));
                assert!(is_digit(c.encode_utf8(&mut [0; 4])));
            }
        }
        for c in ['a', '٪', 'ก', '〇', '①'] {
            assert_eq!(digit_value(c), None, "{c}");
        }
    }
}
