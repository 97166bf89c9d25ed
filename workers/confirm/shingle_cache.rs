//! Keeps the shingles of texts that are compared again and again.
//!
//! A page of a template is a borderline case with dozens of others. To unpack and shingle a text
//! takes ten times as long as to compare two sets of shingles, so a worker keeps the sets that it
//! used lately, up to a limit in bytes. There are two generations: when the young one is full it
//! becomes the old one, and the old one is dropped. A set that is used moves to the young one. What
//! is kept changes no verdict.

use crate::document::Id;
use crate::text::hash::BuildAsIs;
use std::collections::HashMap;
use std::rc::Rc;

/// The bytes of shingles that a worker keeps.
pub const SHINGLES_BYTES_MAX: usize = 1 << 26;

/// Long shingles of contents; none where the text is not kept.
type Kept = Option<Rc<[u64]>>;

/// The shingles of the contents that were compared last.
#[derive(Default)]
pub struct ShingleCache {
    young: HashMap<u64, (Id, Kept), BuildAsIs>,
    old: HashMap<u64, (Id, Kept), BuildAsIs>,
    /// Of the young generation.
    bytes: usize,
}

impl ShingleCache {
    /// The shingles of `content`, which `make` computes if they are not kept.
    pub fn get(&mut self, content: Id, make: impl FnOnce() -> Option<Vec<u64>>) -> Kept {
        let is_its = |entry: &&(Id, Kept)| entry.0 == content;
        if let Some((_, kept)) = self.young.get(&content.high).filter(is_its) {
            return kept.clone();
        }
        let kept = match self.old.remove(&content.high).filter(|entry| is_its(&entry)) {
            Some((_, kept)) => kept,
            None => make().map(Rc::from),
        };
        self.bytes += size_of::<(u64, (Id, Kept))>() + kept.as_ref().map_or(0, |kept| size_of_val(&**kept));
        self.young.insert(content.high, (content, kept.clone()));
        if self.bytes > SHINGLES_BYTES_MAX / 2 {
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

    /// A set is computed once while it is used, and an id with the same first bits has its own.
    #[test]
    fn sets_are_kept() {
        let mut cache = ShingleCache::default();
        let mut made = 0;
        for round in 0..3 {
            for high in 0..100 {
                let make = || {
                    made += 1;
                    (high % 3 > 0).then(|| vec![high; 4])
                };
                let kept = cache.get(id(high, 1), make);
                assert_eq!(kept.as_deref(), (high % 3 > 0).then_some(&[high; 4][..]), "round {round}");
            }
        }
        assert_eq!(made, 100);
        assert_eq!(cache.get(id(7, 2), || Some(vec![9])).as_deref(), Some(&[9][..]));
        assert_eq!(cache.get(id(7, 1), || Some(vec![7])).as_deref(), Some(&[7][..]));
    }

    /// The sets that are kept have a limit, and the one that is used all the time stays.
    #[test]
    fn sets_have_a_limit() {
        let mut cache = ShingleCache::default();
        let many = SHINGLES_BYTES_MAX / 8 / 100;
        cache.get(id(0, 0), || Some(vec![5]));
        for high in 1..1000 {
            cache.get(id(high, 0), || Some(vec![high; many]));
            assert_eq!(cache.get(id(0, 0), || None).as_deref(), Some(&[5][..]), "after {high} sets");
            let all = cache.young.values().chain(cache.old.values());
            let bytes: usize = all.filter_map(|(_, kept)| kept.as_ref()).map(|kept| 8 * kept.len()).sum();
            assert!(bytes <= SHINGLES_BYTES_MAX + 8 * many);
        }
    }
}
