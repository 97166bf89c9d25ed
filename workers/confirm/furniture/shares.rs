//! Bars of buttons that send a page to someone else: `分享到:微信 微博`, `share on facebook | email`.

use crate::confirm::align::Tokens;
use crate::confirm::furniture::frames::is_free_before;
use crate::confirm::furniture::labels::is_spaced;
use crate::text::lists::longest_first;
use std::sync::OnceLock;

/// The words that begin a bar, and the names of its buttons.
const SHARES: &str = include_str!("shares.txt");

/// The most buttons of a bar.
const BUTTONS_MAX: usize = 24;

struct Lists {
    opens: Vec<&'static str>,
    buttons: Vec<&'static str>,
}

fn lists() -> &'static Lists {
    static LISTS: OnceLock<Lists> = OnceLock::new();
    LISTS.get_or_init(|| {
        // `qq空间` is one button.
        let [opens, buttons] = ["open", "button"].map(|kind| longest_first(SHARES, kind));
        Lists { opens, buttons }
    })
}

/// The byte behind the bar that begins with the token at `at`. It is no bar if a sentence goes on
/// behind the last button: `share on facebook what you saw`.
pub fn end(tokens: &Tokens<'_>, at: usize) -> Option<usize> {
    let start = tokens.places[at].start as usize;
    let (before, text) = tokens.text.split_at(start);
    let mut rest = without_word(text, &lists().opens)?;
    if !is_free_before(before, false) {
        return None;
    }
    let mut buttons = 0;
    while buttons < BUTTONS_MAX
        && let Some(behind) = without_word(without_marks(rest), &lists().buttons)
    {
        rest = behind;
        buttons += 1;
    }
    let ends = without_marks(rest).is_empty()
        || !rest.trim_start_matches(' ').starts_with(char::is_alphanumeric);
    (buttons > 0 && ends).then_some(tokens.text.len() - rest.len())
}

fn without_marks(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_alphanumeric())
}

/// `text` without the longest of `words` that it begins with, if that is a whole word.
fn without_word<'t>(text: &'t str, words: &[&str]) -> Option<&'t str> {
    let found = words.iter().find_map(|word| text.strip_prefix(word).map(|rest| (word, rest)));
    let (word, rest) = found?;
    let cut = word.ends_with(is_spaced) && rest.starts_with(is_spaced);
    (!cut).then_some(rest)
}
