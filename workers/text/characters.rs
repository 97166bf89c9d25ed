//! Tells the classes of characters that several rules on texts share.

use unicode_normalization::char::is_combining_mark;

/// Whether `c` is a Chinese character.
pub fn is_han(c: char) -> bool {
    matches!(c, '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' | '\u{20000}'..='\u{323af}' | '\u{f900}'..='\u{faff}' | '々' | '〇')
}

/// Whether `c` is hiragana or katakana.
pub fn is_kana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}')
}

/// Whether `c` is a Chinese character or kana, which are written without spaces between words.
pub fn stands_alone(c: char) -> bool {
    is_han(c) || is_kana(c)
}

/// Whether `c` is of a script of South-East Asia that is written without spaces between words:
/// Thai, Lao, Burmese, Khmer.
pub fn is_southeast_asian(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}')
}

/// Whether letters of the script of `c` run on over several words: no spaces part words in Chinese,
/// Japanese, Thai, Lao, Burmese and Khmer, and a Korean word ends with its particles.
pub fn runs_on(c: char) -> bool {
    stands_alone(c) || is_southeast_asian(c) || matches!(c, '\u{ac00}'..='\u{d7a3}')
}

/// Whether `c` is a letter of a script in which spaces part all words.
pub fn is_spaced_letter(c: char) -> bool {
    c.is_alphabetic() && !runs_on(c)
}

/// Whether a Chinese character of the most frequent range, U+4E00 to U+9FFF, begins at byte `at`.
///
/// Two of its three bytes are enough to tell, so a character need not be decoded to be counted.
#[inline(always)]
fn is_frequent_han(text: &str, at: usize) -> bool {
    let bytes = text.as_bytes().get(at..).and_then(|rest| rest.first_chunk());
    bytes.is_some_and(|two| matches!(u16::from_be_bytes(*two), 0xe4b8..=0xe9bf))
}

/// Where the run of Chinese characters of the most frequent range ends that begins at byte `at`.
#[inline(always)]
pub fn end_of_frequent_han(text: &str, mut at: usize) -> usize {
    while is_frequent_han(text, at) {
        at += 3;
    }
    at
}

/// Whether `c` is a letter or digit of any script: like `char::is_alphanumeric`, but faster for
/// frequent characters.
///
/// ```
/// use workers::text::characters::{is_han, is_letter};
///
/// assert!(is_letter('好') && is_letter('é') && is_letter('7'));
/// assert!(!is_letter('。') && !is_letter(' '));
/// assert!(is_han('好') && !is_han('é') && !is_han('。'));
/// ```
#[inline]
pub fn is_letter(c: char) -> bool {
    // A look into Unicode's tables takes longer than hashing the character.
    match c {
        '\u{0}'..='\u{7f}' => c.is_ascii_alphanumeric(),
        '\u{4e00}'..='\u{9fff}' => true,
        // Dashes, quotes and dots, and Chinese punctuation.
        '\u{2010}'..='\u{203b}' | '\u{3000}'..='\u{3002}' | '\u{3008}'..='\u{3011}' => false,
        _ => c.is_alphanumeric(),
    }
}

/// Whether `c` is a mark that belongs to the letter before it, such as a tone mark of Thai or the
/// virama and nukta of India. Variation selectors are not.
#[inline]
pub fn is_mark_of_letter(c: char) -> bool {
    // Frequent punctuation need not be looked up.
    c >= '\u{300}'
        && !matches!(c, '\u{2010}'..='\u{203b}' | '\u{3000}'..='\u{3011}' | '\u{fe00}'..='\u{fe0f}')
        && is_combining_mark(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two bytes tell exactly the characters of the frequent range. All of these are letters of
    /// three bytes.
    #[test]
    fn frequent_characters() {
        for c in '\0'..=char::MAX {
            let is_frequent = matches!(c, '\u{4e00}'..='\u{9fff}');
            assert_eq!(is_frequent_han(&String::from(c), 0), is_frequent, "{c}");
            assert!(!is_frequent || is_han(c) && is_letter(c) && c.len_utf8() == 3);
        }
        assert!(!is_frequent_han("", 0) && !is_frequent_han("a", 0) && !is_frequent_han("a", 1));
    }

    /// The short cuts of `is_letter` change the answer for no character.
    #[test]
    fn letters_are_alphanumeric() {
        assert!(('\0'..=char::MAX).all(|c| is_letter(c) == c.is_alphanumeric()));
    }
}
