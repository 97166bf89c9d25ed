//! The pivot rule: which contents of equal or near fingerprints, or of equal keys, are compared.
//!
//! Contents are ranked by digest. The rule depends on ranks only, hence on the live set only:
//!
//! - In one group (a fingerprint) or bucket (a key) two contents are compared if the lesser rank is
//!   below [`PIVOTS_LEAST`], or if the product of both ranks, counted from 1, is at most [`PIVOTS`]
//!   squared. Of up to [`PIVOTS`] contents all pairs are compared. In larger buckets a content is
//!   compared with ever fewer others: a template with a million variants costs four million
//!   comparisons, not half a trillion.
//! - In two groups of near fingerprints two contents are compared if the product of their ranks is
//!   at most [`PIVOTS`], or less where many fingerprints are near one
//!   ([`crate::candidates::near::product_max`]). So all pairs are compared if there are at most
//!   that many, and never more than 280. Such a low limit is needed because the variants of a
//!   template fill hundreds of fingerprints near each other.
//!
//! The number of pairs that are not compared (unexamined) is carried from manifest to manifest. It
//! counts the pairs of the whole live set, and an epoch updates it by a subtraction for each
//! changed bucket. A pair counts in every bucket that does not compare it, even if another bucket
//! does. Pairs between two groups are not counted. Pairs of near fingerprints that the near rule
//! ([`crate::candidates::near`]) does not compare are counted under a name of their own.

use crate::text::signatures::SignatureKind;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The number of contents up to which all pairs of a group are compared. In every pair that is
/// compared, one content is a pivot: its rank is below this.
pub const PIVOTS: usize = 64;
/// The number of first contents with which every other content of the group is compared.
pub const PIVOTS_LEAST: usize = 4;

/// The number of first contents of a group or bucket with which the content of rank `rank` is
/// compared.
///
/// ```
/// use workers::candidates::pivots::{PIVOTS, examined_before, examined_between};
///
/// // Up to 64 contents each is compared with all before it; content 1,000 only with 4.
/// assert_eq!([1, 63, 100, 1_000].map(examined_before), [1, 63, 40, 4]);
/// // Contents of two near fingerprints, by their ranks from 0.
/// assert!(examined_between(0, PIVOTS - 1, PIVOTS) && !examined_between(1, PIVOTS - 1, PIVOTS));
/// ```
pub fn examined_before(rank: usize) -> usize {
    rank.min((PIVOTS * PIVOTS / (rank + 1)).max(PIVOTS_LEAST))
}

/// Whether contents of these ranks in two groups are compared. `product_max` is that of their
/// fingerprints: at most [`PIVOTS`], 0 if no contents of the two are compared.
pub fn examined_between(a: usize, b: usize, product_max: usize) -> bool {
    (a + 1) * (b + 1) <= product_max
}

/// The buckets of one signature with more contents than pivots. SimHash's buckets are groups of
/// equal fingerprints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unexamined {
    /// The number of such buckets.
    pub buckets: u64,
    /// The number of their pairs that the rule does not compare.
    pub pairs: u64,
}

/// The unexamined pairs by the signature's name. Signatures without any are left out.
pub type BySignature = BTreeMap<String, Unexamined>;

/// The rank from which on every content is compared with the same [`PIVOTS_LEAST`] contents.
const RANK_FLAT: usize = PIVOTS * PIVOTS / PIVOTS_LEAST;

/// What a bucket with `contents` contents leaves unexamined.
pub fn unexamined(contents: usize) -> Unexamined {
    let steep: usize =
        (PIVOTS..contents.min(RANK_FLAT)).map(|rank| rank - examined_before(rank)).sum();
    let flat = (RANK_FLAT.max(PIVOTS)..contents.max(RANK_FLAT)).len() as u64;
    // The sum of rank - PIVOTS_LEAST over the ranks from RANK_FLAT on.
    let flat = flat * (RANK_FLAT - PIVOTS_LEAST) as u64 + flat * flat.saturating_sub(1) / 2;
    Unexamined { buckets: u64::from(contents > PIVOTS), pairs: steep as u64 + flat }
}

/// The number under which pairs of near fingerprints that are not compared are counted.
pub const NEAR: u8 = u8::MAX;

/// The name of a signature by its number, which is 0 for SimHash, or the name of [`NEAR`].
pub fn name(signature: u8) -> &'static str {
    if signature == NEAR {
        return "simhash_near";
    }
    SignatureKind::of_number(signature).map_or("simhash", SignatureKind::name)
}

/// How an epoch changed what the buckets of one signature leave unexamined. Buckets that grow and
/// buckets that shrink are counted apart.
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
        UnexaminedChange::between(unexamined(before), unexamined(after))
    }

    /// The change from what was left unexamined `before` to what is `after`.
    pub fn between(before: Unexamined, after: Unexamined) -> UnexaminedChange {
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

/// The unexamined pairs after an epoch with these `changes`, by the signature's number, from those
/// `before` it.
pub fn after(before: &BySignature, changes: &BTreeMap<u8, UnexaminedChange>) -> BySignature {
    let mut after = BySignature::new();
    for signature in (0..=SignatureKind::ALL.len() as u8).chain([NEAR]) {
        let name = name(signature);
        let old = before.get(name).copied().unwrap_or_default();
        let change = changes.get(&signature).copied().unwrap_or_default();
        // A store older than these counts starts at 0; `status --pivots` counts anew.
        let new = Unexamined {
            buckets: old
                .buckets
                .saturating_add(change.buckets_more)
                .saturating_sub(change.buckets_less),
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

    /// What a bucket leaves unexamined equals the rule's definition, pair by pair.
    #[test]
    fn equals_the_rule() {
        for contents in [
            0,
            1,
            2,
            PIVOTS - 1,
            PIVOTS,
            PIVOTS + 1,
            PIVOTS + 2,
            3 * PIVOTS,
            RANK_FLAT,
            RANK_FLAT + 1,
            1500,
        ] {
            let pairs = (1..=contents).flat_map(|a| (a + 1..=contents).map(move |b| (a, b)));
            let left = pairs.filter(|(a, b)| *a > 4 && a * b > 64 * 64).count() as u64;
            let expected = Unexamined { buckets: u64::from(contents > 64), pairs: left };
            assert_eq!(unexamined(contents), expected, "{contents} contents");
        }
    }

    /// Sums follow the changes of epochs, and a signature without unexamined pairs is left out.
    #[test]
    fn sums_follow() {
        let minhash = SignatureKind::MinHash.number();
        let change =
            |before, after| BTreeMap::from([(minhash, UnexaminedChange::of(before, after))]);
        let one = after(&BySignature::new(), &change(0, PIVOTS + 9));
        assert_eq!(one, BySignature::from([("minhash".to_owned(), unexamined(PIVOTS + 9))]));
        assert_eq!(after(&one, &change(PIVOTS + 9, 0)), BySignature::new());
        assert_eq!(after(&one, &BTreeMap::new()), one);
        let mut both = UnexaminedChange::of(0, PIVOTS + 9);
        both.add(UnexaminedChange::of(PIVOTS + 9, 0));
        assert_eq!(after(&one, &BTreeMap::from([(minhash, both)])), one);
    }
}
