//! Pivots: the rule that says which contents of one fingerprint or of one key, and of two near fingerprints, are held against each other; and how
//! many it leaves unexamined. Contents rank by digest, and the rule reads nothing but ranks, hence nothing but the live set:
//!
//! - of one group or bucket, if the lesser rank is below [`PIVOTS_LEAST`], or the product of both, counted from 1, is at most [`PIVOTS`] squared. Up to
//!   [`PIVOTS`] contents it is exhaustive, and beyond the share that a content is held against falls as the bucket grows: a template with a
//!   million variants costs four million comparisons and not half a trillion.
//! - of two groups of near fingerprints, if the product is at most [`PIVOTS`]: exhaustive while there are at most so many pairs, and never
//!   more than 280 of them, since variants of a template fill hundreds of fingerprints that are near each other.
//!
//! What is unexamined goes from manifest to manifest, so that it is that of the whole live set and costs a subtraction for each touched
//! bucket. A pair counts in every bucket that does not examine it, though another bucket may; pairs between two groups are not counted.

use crate::text::signatures::Kind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Contents up to which a group is exhaustive; of each pair that is examined one ranks below this.
pub const PIVOTS: usize = 64;
/// The first contents of a group, against which every other is held, however large it is.
pub const PIVOTS_LEAST: usize = 4;

/// How many of the first contents of a group or bucket the one of rank `rank` is held against.
pub fn examined_before(rank: usize) -> usize {
    rank.min((PIVOTS * PIVOTS / (rank + 1)).max(PIVOTS_LEAST))
}

/// Whether contents of these ranks in two groups are held against each other.
pub fn examined_between(a: usize, b: usize) -> bool {
    (a + 1) * (b + 1) <= PIVOTS
}

/// Buckets of one signature with more contents than pivots; SimHash's are groups of equal fingerprints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unexamined {
    /// Such buckets.
    pub buckets: u64,
    /// Pairs in them whose ranks are such that the rule does not examine them.
    pub pairs: u64,
}

/// What is unexamined, by the signature's name; one that examines all is not there.
pub type BySignature = BTreeMap<String, Unexamined>;

/// The rank from which on every content is held against the same few.
const RANK_FLAT: usize = PIVOTS * PIVOTS / PIVOTS_LEAST;

/// What a bucket of so many contents leaves unexamined.
pub fn unexamined(contents: usize) -> Unexamined {
    let steep: usize = (PIVOTS..contents.min(RANK_FLAT)).map(|rank| rank - examined_before(rank)).sum();
    let flat = (RANK_FLAT.max(PIVOTS)..contents.max(RANK_FLAT)).len() as u64;
    // From RANK_FLAT on the ranks themselves, less those that are held against each.
    let flat = flat * (RANK_FLAT - PIVOTS_LEAST) as u64 + flat * flat.saturating_sub(1) / 2;
    Unexamined { buckets: u64::from(contents > PIVOTS), pairs: steep as u64 + flat }
}

/// The name of the signature of that number, 0 for SimHash.
pub fn name(signature: u8) -> &'static str {
    Kind::of_number(signature).map_or("simhash", Kind::name)
}

/// How an epoch changed what the buckets of one signature leave unexamined. A bucket that grows and another that shrinks count apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnexaminedChange {
    buckets_more: u64,
    buckets_less: u64,
    pairs_more: u64,
    pairs_less: u64,
}

impl UnexaminedChange {
    /// The change of a bucket that had `before` contents and has `after`.
    pub fn of(before: usize, after: usize) -> UnexaminedChange {
        let (before, after) = (unexamined(before), unexamined(after));
        UnexaminedChange {
            buckets_more: after.buckets.saturating_sub(before.buckets),
            buckets_less: before.buckets.saturating_sub(after.buckets),
            pairs_more: after.pairs.saturating_sub(before.pairs),
            pairs_less: before.pairs.saturating_sub(after.pairs),
        }
    }

    /// Adds another bucket's change.
    pub fn add(&mut self, other: UnexaminedChange) {
        self.buckets_more += other.buckets_more;
        self.buckets_less += other.buckets_less;
        self.pairs_more += other.pairs_more;
        self.pairs_less += other.pairs_less;
    }

    /// The four counts with their names.
    pub fn named(&self) -> [(&'static str, u64); 4] {
        [
            ("buckets_more", self.buckets_more),
            ("buckets_less", self.buckets_less),
            ("pairs_more", self.pairs_more),
            ("pairs_less", self.pairs_less),
        ]
    }
}

/// What is unexamined after an epoch that made `changes`, by the signature's number, if it was `before`.
pub fn after(before: &BySignature, changes: &BTreeMap<u8, UnexaminedChange>) -> BySignature {
    let mut after = BySignature::new();
    for signature in 0..=Kind::ALL.len() as u8 {
        let name = name(signature);
        let old = before.get(name).copied().unwrap_or_default();
        let change = changes.get(&signature).copied().unwrap_or_default();
        // A store that is older than these counts began at 0, so a sum may fall short; `verify --deep` tells by how much.
        let new = Unexamined {
            buckets: old.buckets.saturating_add(change.buckets_more).saturating_sub(change.buckets_less),
            pairs: old.pairs.saturating_add(change.pairs_more).saturating_sub(change.pairs_less),
        };
        if new != Unexamined::default() {
            after.insert(name.to_owned(), new);
        }
    }
    after
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a bucket leaves unexamined is what the rule's definition says, pair by pair.
    #[test]
    fn equals_the_rule() {
        for contents in
            [0, 1, 2, PIVOTS - 1, PIVOTS, PIVOTS + 1, PIVOTS + 2, 3 * PIVOTS, RANK_FLAT, RANK_FLAT + 1, 1500]
        {
            let pairs = (1..=contents).flat_map(|a| (a + 1..=contents).map(move |b| (a, b)));
            let left = pairs.filter(|(a, b)| *a > 4 && a * b > 64 * 64).count() as u64;
            let expected = Unexamined { buckets: u64::from(contents > 64), pairs: left };
            assert_eq!(unexamined(contents), expected, "{contents} contents");
        }
    }

    /// Sums follow the changes of epochs, and a signature that leaves nothing unexamined any more is not named.
    #[test]
    fn sums_follow() {
        let minhash = Kind::MinHash.number();
        let change = |before, after| BTreeMap::from([(minhash, UnexaminedChange::of(before, after))]);
        let one = after(&BySignature::new(), &change(0, PIVOTS + 9));
        assert_eq!(one, BySignature::from([("minhash".to_owned(), unexamined(PIVOTS + 9))]));
        assert_eq!(after(&one, &change(PIVOTS + 9, 0)), BySignature::new());
        assert_eq!(after(&one, &BTreeMap::new()), one);
        let mut both = UnexaminedChange::of(0, PIVOTS + 9);
        both.add(UnexaminedChange::of(PIVOTS + 9, 0));
        assert_eq!(after(&one, &BTreeMap::from([(minhash, both)])), one);
    }
}
