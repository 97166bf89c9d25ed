//! Chinese characters that look different and mean the same, such as 沉 and 沈 or 峰 and 峯.

use crate::confirm::align::Tokens;
use crate::confirm::align::edits::Span;
use crate::text::lists::{CharMap, lines};
use std::sync::OnceLock;

/// Characters of one meaning, a class a line.
const VARIANTS: &str = include_str!("variants.txt");

/// The character that stands for all of its class; itself if it is in none.
pub fn first_of_class(c: char) -> char {
    static FIRST: OnceLock<CharMap<char>> = OnceLock::new();
    let first = FIRST.get_or_init(|| {
        let of_line = |line: &'static str| {
            let mut class = line.chars().filter(|c| *c != ' ').peekable();
            let first = class.peek().copied().unwrap_or_default();
            class.map(move |c| (c, first))
        };
        lines(VARIANTS).flat_map(of_line).collect()
    });
    first.get(&c).copied().unwrap_or(c)
}

/// Whether the sides of a span are the same characters, of which some are written otherwise.
/// Symmetric.
pub fn are_variants(a: &Tokens<'_>, b: &Tokens<'_>, span: &Span) -> bool {
    let same = |x: &str, y: &str| x.chars().map(first_of_class).eq(y.chars().map(first_of_class));
    let mut pairs = span.a.clone().zip(span.b.clone());
    !span.a.is_empty()
        && span.a.len() == span.b.len()
        && pairs.all(|(i, j)| same(a.token(i), b.token(j)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confirm::align::is_han_token;
    use crate::confirm::settle::settled;

    /// Each character is in one class. (That each is its own normal form is tested of all lists.)
    #[test]
    fn a_character_has_one_class() {
        let mut characters: Vec<&str> = lines(VARIANTS).flat_map(|line| line.split(' ')).collect();
        let all = characters.len();
        for character in &characters {
            assert!(is_han_token(character), "{character}");
        }
        characters.sort_unstable();
        characters.dedup();
        assert_eq!(characters.len(), all);
        assert!(all > 300);
    }

    /// Another edition writes other characters; another word has other ones.
    #[test]
    fn editions_and_words() {
        for (a, b, expected) in [
            ("日落沈沈水拍船", "日落沉沉水拍船", true),
            ("窗下听雨", "牕下听雨", true),
            ("窗前明月光", "床前明月光", false),
            ("窗下听雨", "牕上听雨", false),
            ("窗下听雨", "牕听雨", false),
        ] {
            let (x, y) = (Tokens::of(a).expect("short"), Tokens::of(b).expect("short"));
            let spans = settled(&x, &y);
            let found = spans.iter().all(|span| are_variants(&x, &y, span));
            assert_eq!(found, expected, "{a} {b}");
        }
    }
}
