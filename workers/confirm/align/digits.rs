//! The digits of all scripts, Chinese numerals, and the marks that are part of a number.

use crate::text::characters::is_han;

/// The Chinese numerals of 1 to 9, in order.
pub const HAN_DIGITS: &str = "一二三四五六七八九";
/// The Chinese numerals of zero.
pub const HAN_ZEROS: &str = "零〇";
/// The Chinese numerals that multiply what stands before them. 兆 does so, too, but is more often
/// mega or a part of a word.
pub const HAN_MAGNITUDES: &str = "十百千万亿";
/// The code points of the zeros of scripts with digits of their own, in order. Those of mathematics
/// and of full width are ASCII in the normal form.
const ZEROS: [u32; 58] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
    0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50,
    0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0x104a0,
    0x10d30, 0x11066, 0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0,
    0x11730, 0x118e0, 0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1e140,
    0x1e2f0, 0x1e950,
];

/// The value of a decimal digit of any of these scripts, or of an ASCII digit.
#[inline]
pub fn digit_value(c: char) -> Option<u32> {
    if c.is_ascii() {
        return c.to_digit(10);
    }
    // Most characters are Chinese, or letters before the first of these scripts.
    let code = u32::from(c);
    if code < ZEROS[0] || is_han(c) {
        return None;
    }
    let zero = ZEROS[..ZEROS.partition_point(|zero| *zero <= code)].last()?;
    Some(code - zero).filter(|value| *value < 10)
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
#[inline]
pub fn is_numeral(token: &str) -> bool {
    // All of them have three bytes.
    token.len() == 3 && token.starts_with(is_one_numeral)
}

/// Whether a character is a Chinese numeral: [`HAN_DIGITS`], [`HAN_ZEROS`], [`HAN_MAGNITUDES`], 兆,
/// 两, the numerals of contracts, a short form of twenty, or a circle.
fn is_one_numeral(c: char) -> bool {
    match c {
        '一' | '二' | '三' | '四' | '五' | '六' | '七' | '八' | '九' => true,
        '零' | '〇' | '十' | '百' | '千' | '万' | '亿' | '兆' | '两' | '廿' => true,
        '壹' | '贰' | '叁' | '肆' | '伍' | '陆' | '柒' | '捌' | '玖' | '拾' | '佰' | '仟' => {
            true
        }
        _ => is_circle(c),
    }
}

/// Whether `token` is a digit or a Chinese numeral.
pub fn is_digit_or_numeral(token: &str) -> bool {
    is_digit(token) || is_numeral(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The characters of the lists are numerals, and words of several are none.
    #[test]
    fn numerals() {
        let listed = [HAN_DIGITS, HAN_ZEROS, HAN_MAGNITUDES].concat();
        assert!(listed.chars().all(|c| is_numeral(c.encode_utf8(&mut [0; 4]))));
        assert!(is_numeral("○") && is_numeral("仟"));
        for token in ["", "3", "abc", "十一", "个", "é1"] {
            assert!(!is_numeral(token), "{token}");
        }
    }

    /// The digits of a script are the ten characters behind its zero, as Unicode has them.
    #[test]
    fn digits_of_scripts() {
        assert!(ZEROS.is_sorted());
        for zero in ZEROS {
            for value in 0..10 {
                let c = char::from_u32(zero + value).expect("a character");
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
