//! A text as signatures and sketches read it: the normal form, the words, and cached shingles.
//!
//! Several signatures and the sketch use the same letters and shingles. Shingles are made on first
//! use, once for each text.

use crate::text::letters::Letters;
use crate::text::shingles::{ShingleKind, Shingles};
use crate::text::tally::Buffers;

/// The most keys that one signature makes for a text. A text has at most five times as many in all.
pub const KEYS_MAX: usize = 64;

/// Names the shingles that are made of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recipe {
    Set(usize),
    Multiset(usize),
    Weighed,
}

/// The cache of [`Text`], whose memory is reused from text to text.
#[derive(Clone, Debug, Default)]
pub struct Shinglings {
    letters: Letters,
    shingled: Shingled,
}

#[derive(Clone, Debug, Default)]
struct Shingled {
    made: Vec<(Recipe, Shingles)>,
    /// How many of `made` belong to the present text. The rest is memory for reuse.
    fresh: usize,
    /// Memory for making sets.
    buffers: Buffers,
}

/// One text.
pub struct Text<'a> {
    /// The normal form.
    pub normal: &'a str,
    /// The hashes of its words in order; empty where no signature uses them.
    pub words: &'a [u64],
    /// Its letters and digits.
    pub letters: &'a Letters,
    shingled: &'a mut Shingled,
}

impl<'a> Text<'a> {
    /// The text of `normal`, whose words are `words`. Clears what `shinglings` holds of another
    /// text.
    pub fn new(normal: &'a str, words: &'a [u64], shinglings: &'a mut Shinglings) -> Text<'a> {
        let Shinglings { letters, shingled } = shinglings;
        letters.read(normal);
        Text::of(normal, words, letters, shingled)
    }

    /// As [`Text::new`], if its letters were read already.
    pub fn with(
        normal: &'a str,
        words: &'a [u64],
        letters: &'a Letters,
        shinglings: &'a mut Shinglings,
    ) -> Text<'a> {
        Text::of(normal, words, letters, &mut shinglings.shingled)
    }

    fn of(
        normal: &'a str,
        words: &'a [u64],
        letters: &'a Letters,
        shingled: &'a mut Shingled,
    ) -> Text<'a> {
        shingled.fresh = 0;
        Text { normal, words, letters, shingled }
    }

    /// The hashes of the set of q-grams, in no order.
    pub fn set(&mut self, q: usize) -> &[u64] {
        self.shingled(Recipe::Set(q))
    }

    /// The hashes of the multiset of q-grams, in no order.
    pub fn multiset(&mut self, q: usize) -> &[u64] {
        self.shingled(Recipe::Multiset(q))
    }

    /// The hashes of the multiset of weighed grams, in no order.
    pub fn weighed(&mut self) -> &[u64] {
        // The sketch of a short text needs its 2-grams, too.
        match self.letters.are_heavy() {
            true => self.multiset(ShingleKind::Short.q()),
            false => self.shingled(Recipe::Weighed),
        }
    }

    /// The hashes of the shingles of `kind`, in no order.
    pub fn shingles(&mut self, kind: ShingleKind) -> &[u64] {
        match kind {
            ShingleKind::Short => self.multiset(kind.q()),
            ShingleKind::Long => self.set(kind.q()),
        }
    }

    fn shingled(&mut self, recipe: Recipe) -> &[u64] {
        let Shingled { made, fresh, buffers } = &mut *self.shingled;
        let at = match made[..*fresh].iter().position(|(made, _)| *made == recipe) {
            Some(at) => at,
            None => {
                if made.len() == *fresh {
                    made.push((recipe, Shingles::default()));
                }
                let (made, shingles) = &mut made[*fresh];
                *made = recipe;
                match recipe {
                    Recipe::Set(q) => shingles.unordered_set(self.letters, q, buffers),
                    Recipe::Multiset(q) => shingles.multiset(self.letters, q),
                    Recipe::Weighed => shingles.weighed(self.letters),
                }
                *fresh += 1;
                *fresh - 1
            }
        };
        &made[at].1.hashes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Cached shingles equal fresh ones, and nothing of the text before remains.
    #[test]
    fn cached_is_fresh() {
        let mut shinglings = Shinglings::default();
        for normal in ["one, two, three, two", "two three", "", "春眠不觉晓 处处闻啼鸟"] {
            let mut text = Text::new(normal, &[], &mut shinglings);
            let (letters, mut fresh) = (Letters::of(normal), Shingles::default());
            let sorted = |hashes: &[u64]| {
                BTreeSet::from_iter(hashes.iter().copied()).into_iter().collect::<Vec<_>>()
            };
            for q in [5, 2, 5, 3, 2] {
                fresh.set(&letters, q);
                assert_eq!(
                    (text.set(q).len(), sorted(text.set(q))),
                    (fresh.hashes.len(), fresh.hashes.clone())
                );
                fresh.multiset(&letters, q);
                assert_eq!(sorted(text.multiset(q)), fresh.hashes);
            }
            fresh.weighed(&letters);
            assert_eq!(sorted(text.weighed()), fresh.hashes);
        }
        assert_eq!(shinglings.shingled.made.len(), 7);
    }
}
