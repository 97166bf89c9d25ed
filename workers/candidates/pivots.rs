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

/// Calls `count` with what an epoch counts of a bucket that had `before` contents and has `after`.
pub fn counters(signature: u8, before: usize, after: usize, mut count: impl FnMut(&str, u64)) {
    let (before, after) = (unexamined(before), unexamined(after));
    for (what, before, after) in [("buckets", before.buckets, after.buckets), ("pairs", before.pairs, after.pairs)] {
        let way = if before < after { "more" } else { "less" };
        if before != after {
            count(&format!("unexamined_{what}_{way}.{}", name(signature)), before.abs_diff(after));
        }
    }
}

/// What is unexamined after an epoch that counted `counters`, if it was `before`.
pub fn after(before: &BySignature, counters: &BTreeMap<String, u64>) -> BySignature {
    let mut after = BySignature::new();
    for signature in 0..=Kind::ALL.len() as u8 {
        let name = name(signature);
        let sum = |what: &str, before: u64| {
            let counted = |way: &str| counters.get(&format!("unexamined_{what}_{way}.{name}")).copied().unwrap_or(0);
            // A store of a time when nobody counted begins at 0; a deep look tells what is left of that.
            before.saturating_add(counted("more")).saturating_sub(counted("less"))
        };
        let old = before.get(name).copied().unwrap_or_default();
        let new = Unexamined { buckets: sum("buckets", old.buckets), pairs: sum("pairs", old.pairs) };
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

    /// Sums follow what epochs count, and a signature that leaves nothing any more is not named.
    #[test]
    fn sums_follow() {
        let counters = |list: &[(&str, u64)]| list.iter().map(|(name, n)| ((*name).to_owned(), *n)).collect();
        let first = counters(&[("unexamined_buckets_more.minhash", 2), ("unexamined_pairs_more.minhash", 9)]);
        let one = after(&BySignature::new(), &first);
        assert_eq!(one, BySignature::from([("minhash".to_owned(), Unexamined { buckets: 2, pairs: 9 })]));
        let second = counters(&[("unexamined_pairs_less.minhash", 9), ("unexamined_buckets_less.minhash", 2)]);
        assert_eq!(after(&one, &second), BySignature::new());
        assert_eq!(after(&one, &BTreeMap::new()), one);
    }
}
