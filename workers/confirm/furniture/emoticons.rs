//! Pictures that are written as their names in brackets: `明天见[微笑][doge]`. A copy on another site
//! has the pictures themselves, or none.

use crate::confirm::align::Tokens;
use crate::text::lists::{WordSet, lines};
use std::sync::OnceLock;

/// The names.
const NAMES: &str = include_str!("emoticons.txt");
/// The longest name, in bytes.
const NAME_BYTES_MAX: usize = 12;

/// The byte behind the bracketed name that begins with the token at `at`.
pub fn end(tokens: &Tokens<'_>, at: usize) -> Option<usize> {
    static ALL: OnceLock<WordSet> = OnceLock::new();
    if !tokens.gap(at).ends_with('[') {
        return None;
    }
    let start = tokens.places[at].start as usize;
    let length = tokens.text[start..].bytes().take(NAME_BYTES_MAX + 1).position(|b| b == b']')?;
    let names = ALL.get_or_init(|| lines(NAMES).flat_map(|line| line.split(' ')).collect());
    names.contains(&tokens.text[start..start + length]).then_some(start + length)
}

/// Names by which a reader agrees with something or does not. Lists of marks have them, too: `wifi
/// [ok]`.
const YES: [&str; 4] = ["强", "赞", "good", "ok"];
const NO: [&str; 2] = ["弱", "no"];

/// Whether one of two bracketed names says yes, and the other one no. Symmetric.
pub fn are_opposites((a, i): (&Tokens<'_>, usize), (b, j): (&Tokens<'_>, usize)) -> bool {
    let (x, y) = (a.token(i), b.token(j));
    let are_other = YES.contains(&x) && NO.contains(&y) || NO.contains(&x) && YES.contains(&y);
    are_other && end(a, i).is_some() && end(b, j).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_longer() {
        let mut names = lines(NAMES).flat_map(|line| line.split(' '));
        assert!(names.all(|name| (1..=NAME_BYTES_MAX).contains(&name.len())));
    }
}
