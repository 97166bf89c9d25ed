//! The labels of furniture, such as `views` and `来源`, and the search for a label at the beginning
//! of a text.

use crate::text::characters::stands_alone;
use crate::text::lists::{self, CharMap};
use std::sync::OnceLock;

/// What a label of the list stands beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Count,
    Date,
    /// The moment when a page was read. The line may go on behind it.
    Now,
    Right,
    Record,
    Credit,
    CreditBy,
    Byline,
}

/// The labels and their kinds.
const FURNITURE_WORDS: &str = include_str!("words.txt");

/// A label and its kind.
pub type KnownLabel = (&'static str, Kind);

/// All labels, by their last character and by their first one: they are looked for beside each
/// number in which two texts differ.
#[derive(Default)]
pub struct Labels {
    by_last: CharMap<Vec<KnownLabel>>,
    by_first: CharMap<Vec<KnownLabel>>,
}

impl Labels {
    fn get() -> &'static Labels {
        static LABELS: OnceLock<Labels> = OnceLock::new();
        LABELS.get_or_init(|| {
            let mut labels = Labels::default();
            for (label, kind) in lists::lines(FURNITURE_WORDS).filter_map(label_of_line) {
                let mut chars = label.chars();
                let Some(first) = chars.next() else { continue };
                let last = chars.next_back().unwrap_or(first);
                labels.by_last.entry(last).or_default().push((label, kind));
                labels.by_first.entry(first).or_default().push((label, kind));
            }
            labels
        })
    }

    /// The labels that may end `text`: those with its last character.
    pub fn ending(text: &str) -> &'static [KnownLabel] {
        let last = text.chars().next_back();
        last.and_then(|last| Labels::get().by_last.get(&last)).map_or(&[], Vec::as_slice)
    }

    /// The labels that may begin `text`: those with its first character.
    pub fn beginning(text: &str) -> &'static [KnownLabel] {
        let first = text.chars().next();
        first.and_then(|first| Labels::get().by_first.get(&first)).map_or(&[], Vec::as_slice)
    }
}

fn label_of_line(line: &'static str) -> Option<KnownLabel> {
    let (kind, label) = line.split_once(' ')?;
    let kind = match kind {
        "count" => Kind::Count,
        "date" => Kind::Date,
        "now" => Kind::Now,
        "right" => Kind::Right,
        "record" => Kind::Record,
        "credit" => Kind::Credit,
        "credit-by" => Kind::CreditBy,
        "byline" => Kind::Byline,
        _ => return None,
    };
    Some((label, kind))
}

/// The longest label that begins `after`, white space and bars left out, and what stands behind it.
pub fn label_after(after: &str) -> Option<(Kind, &str)> {
    let after = after.trim_start_matches(|c: char| c.is_whitespace() || "|·".contains(c));
    let found = Labels::beginning(after).iter().filter_map(|(label, kind)| {
        let rest = after.strip_prefix(label)?;
        let whole = ends_own_word(rest, label);
        (whole && !matches!(kind, Kind::Right | Kind::Record | Kind::Byline))
            .then_some((*kind, rest))
    });
    found.min_by_key(|(_, rest)| rest.len())
}

/// Whether `c` is a letter of a script that parts words by white space.
pub fn is_spaced(c: char) -> bool {
    c.is_alphabetic() && !stands_alone(c)
}

/// Whether a label with `rest` before it does not begin inside a word.
pub fn starts_own_word(rest: &str, label: &str) -> bool {
    !label.starts_with(is_spaced) || !rest.ends_with(is_spaced)
}

/// Whether a label with `rest` behind it does not end inside a word.
pub fn ends_own_word(rest: &str, label: &str) -> bool {
    !label.ends_with(is_spaced) || !rest.starts_with(is_spaced)
}
