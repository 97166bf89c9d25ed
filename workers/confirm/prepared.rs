//! Keeps what is computed from one text, for texts that are compared again and again.
//!
//! A page of a template is compared with dozens of others. To unpack a text, to shingle it and to
//! cut it into tokens takes several times as long as to compare it with another, so a worker keeps
//! what it used lately, up to a limit in bytes. There are two generations: when the young
//! generation is full it becomes the old one, and the old one is dropped. A text that is used moves
//! to the young generation. This memory changes no verdict.

use crate::confirm::align::{TOKENS_MAX, Tokens};
use crate::confirm::repetitive;
use crate::id::Id;
use crate::text::hash::BuildSeeded;
use crate::text::letters::Letters;
use crate::text::shingles::{ShingleKind, Shingles};
use std::cell::OnceCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The bytes of prepared texts that a worker keeps.
pub const PREPARED_BYTES_MAX: usize = 1 << 26;

/// A text, ready to be compared.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The shingles by which long texts are compared, once they are asked for.
    shingles: OnceCell<Vec<u64>>,
    /// The passages by which texts of few symbols are compared, once they are asked for.
    passages: OnceCell<Vec<u64>>,
    /// The tokens; `None` if there are too many to be aligned.
    pub tokens: Option<Tokens<'static>>,
}

impl Prepared {
    /// Prepares a normalised text.
    pub fn of(text: String) -> Prepared {
        let (shingles, passages) = (OnceCell::new(), OnceCell::new());
        // A text of fewer bytes is kept with its tokens, and shingled when it has to be.
        if text.len() > TOKENS_MAX {
            shingles.get_or_init(|| shingles_of(&text));
            passages.get_or_init(|| repetitive::passages(&Letters::of(&text)));
        }
        Prepared { shingles, passages, tokens: Tokens::of(text) }
    }

    /// The shingles by which long texts are compared.
    pub fn shingles(&self) -> &[u64] {
        let text = || self.tokens.as_ref().map_or("", |tokens| &*tokens.text);
        self.shingles.get_or_init(|| shingles_of(text()))
    }

    /// The passages by which texts of few symbols are compared.
    pub fn passages(&self) -> &[u64] {
        let text = || self.tokens.as_ref().map_or("", |tokens| &*tokens.text);
        self.passages.get_or_init(|| repetitive::passages(&Letters::of(text())))
    }

    fn bytes(&self) -> usize {
        let chars = self.tokens.as_ref().map_or(0, |tokens| tokens.chars(0..tokens.len()));
        // There are at most as many shingles as characters.
        let shingles = self.shingles.get().map_or(chars, Vec::len) * size_of::<u64>();
        let passages = self.passages.get().map_or(0, Vec::len) * size_of::<u64>();
        shingles + passages + self.tokens.as_ref().map_or(0, Tokens::bytes)
    }
}

fn shingles_of(text: &str) -> Vec<u64> {
    let mut shingles = Shingles::default();
    ShingleKind::Long.shingles(&Letters::of(text), &mut shingles);
    // The list has up to twice its length while duplicates are removed.
    shingles.hashes.shrink_to_fit();
    shingles.hashes
}

/// A prepared text; `None` where the store does not keep the text.
type Kept = Option<Rc<Prepared>>;

/// The texts that were compared last.
#[derive(Default)]
pub struct PreparedTexts {
    young: HashMap<u64, (Id, Kept), BuildSeeded>,
    old: HashMap<u64, (Id, Kept), BuildSeeded>,
    /// The bytes of the young generation.
    bytes: usize,
}

impl PreparedTexts {
    /// The prepared text of `content`. `text` reads the text if it is not here yet.
    pub fn get(&mut self, content: Id, text: impl FnOnce() -> Option<String>) -> Kept {
        let is_its = |entry: &&(Id, Kept)| entry.0 == content;
        if let Some((_, kept)) = self.young.get(&content.high).filter(is_its) {
            return kept.clone();
        }
        let kept = match self.old.remove(&content.high).filter(|entry| is_its(&entry)) {
            Some((_, kept)) => kept,
            None => text().map(|text| Rc::new(Prepared::of(text))),
        };
        self.bytes += size_of::<(u64, (Id, Kept))>() + kept.as_ref().map_or(0, |kept| kept.bytes());
        self.young.insert(content.high, (content, kept.clone()));
        if self.bytes > PREPARED_BYTES_MAX / 2 {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(high: u64, low: u64) -> Id {
        Id { high, low }
    }

    fn text(kept: &Kept) -> Option<&str> {
        kept.as_ref().and_then(|kept| kept.tokens.as_ref()).map(|tokens| &*tokens.text)
    }

    /// A text is prepared once while it is used, and an id with the same first bits has its own.
    #[test]
    fn texts_are_kept() {
        let mut texts = PreparedTexts::default();
        let mut read = 0;
        for round in 0..3 {
            for high in 0..100 {
                let expected = (high % 3 > 0).then(|| format!("text {high}"));
                let kept = texts.get(id(high, 1), || {
                    read += 1;
                    expected.clone()
                });
                assert_eq!(text(&kept), expected.as_deref(), "round {round}");
            }
        }
        assert_eq!(read, 100);
        assert_eq!(text(&texts.get(id(7, 2), || Some("other".into()))), Some("other"));
        assert_eq!(text(&texts.get(id(7, 1), || Some("again".into()))), Some("again"));
    }

    /// The texts that are kept have a limit, and the one that is used all the time stays.
    #[test]
    fn texts_have_a_limit() {
        let mut texts = PreparedTexts::default();
        texts.get(id(0, 0), || Some("the first".into()));
        let large: String = ('\u{4e00}'..'\u{9000}').collect();
        let one = Prepared::of(large.clone()).bytes();
        assert!(one > large.len() * 4, "{one} bytes");
        for high in 1..200 {
            texts.get(id(high, 0), || Some(large.clone()));
            assert_eq!(
                text(&texts.get(id(0, 0), || None)),
                Some("the first"),
                "after {high} texts"
            );
            let all = texts.young.values().chain(texts.old.values());
            let bytes: usize =
                all.filter_map(|(_, kept)| kept.as_ref()).map(|kept| kept.bytes()).sum();
            assert!(bytes <= PREPARED_BYTES_MAX + one, "{bytes}");
        }
    }
}
