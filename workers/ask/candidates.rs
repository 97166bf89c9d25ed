//! Finds the stored contents that an epoch would compare with a text that is added.
//!
//! The text's fingerprint is looked up in one bucket of each band, and its keys in their buckets.
//! The near rule is applied to the same buckets by the code of an epoch. The pivot rule ranks the
//! text among the contents that are there, as an epoch would.

use crate::ask::tables::{BUCKET_CONTENTS_MAX, Tables};
use crate::candidates::hamming::Scratch;
use crate::candidates::pivots::{PIVOTS, PIVOTS_LEAST, examined_before, examined_between};
use crate::document::Id;
use crate::fold::buckets::{PairSink, changed_pairs};
use crate::fold::groups::{GroupTouch, TouchedFingerprint};
use std::collections::{BTreeMap, BTreeSet};

/// What a text would be compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposed {
    /// The contents, with [`crate::tables::PairRow::proposals`].
    pub contents: BTreeMap<Id, u64>,
    /// Contents whose ranks the text would move, so that other pairs of them may be compared.
    pub moved: BTreeSet<Id>,
    /// The stored fingerprints that are near its own.
    pub near: BTreeSet<u64>,
    /// Whether a bucket has more contents than were read, and the text is compared with all.
    pub is_cut: bool,
}

impl Proposed {
    /// Adds a content that this signature proposes.
    pub fn add(&mut self, content: Id, signature: u8) {
        let byte = 8 * u32::from(signature);
        *self.contents.entry(content).or_default() += 1 << byte;
    }

    /// Adds the contents of one group or bucket with which `added` is compared. `first` are the
    /// first contents of the bucket, ascending.
    pub fn add_bucket(&mut self, first: &[Id], added: Id, signature: u8) {
        let is_whole = first.len() < BUCKET_CONTENTS_MAX;
        let rank = first.partition_point(|content| *content < added);
        let before = &first[..examined_before(rank)];
        // The ranks of contents after it grow by one.
        let after = first[rank..]
            .iter()
            .enumerate()
            .filter(|(at, _)| rank < examined_before(rank + at + 1));
        before
            .iter()
            .chain(after.map(|(_, content)| content))
            .for_each(|content| self.add(*content, signature));
        if first.len() >= PIVOTS && rank < first.len() {
            self.moved.extend(first);
        }
        self.is_cut |= !is_whole && rank < PIVOTS_LEAST;
    }

    /// Adds the contents of the group of a near fingerprint that are compared with a content which
    /// has this `rank` in a group with `others` other contents. `first` are the first contents of
    /// the near group.
    fn add_near(&mut self, first: &[Id], rank: usize, others: usize, product_max: usize) {
        let compared =
            first.iter().enumerate().take_while(|(at, _)| examined_between(rank, *at, product_max));
        compared.for_each(|(_, content)| self.add(*content, 0));
        // Contents behind it are compared with fewer contents.
        if rank < others && (others + 1) * first.len() > product_max {
            self.moved.extend(first);
        }
    }
}

/// The fingerprints near a given one, in one band.
struct NearOf {
    key: u64,
    /// The near keys, each with the greatest product of ranks.
    found: Vec<(u64, usize)>,
    /// Other pairs whose products change, with the lesser product.
    others: Vec<(u64, u64, usize)>,
}

impl PairSink for NearOf {
    fn pair(&mut self, a: u64, b: u64, [before, after]: [usize; 2]) {
        if a != self.key && b != self.key {
            self.others.push((a, b, before.min(after)));
        } else if after > 0 && a != b {
            self.found.push((if a == self.key { b } else { a }, after));
        }
    }

    fn earlier(&mut self, _before: usize, _after: usize) {}
}

/// The contents with which a text of this digest, fingerprint and keys is compared. The text is in
/// no table yet.
pub fn proposed(
    tables: &Tables,
    added: Id,
    fingerprint: u64,
    keys: impl Iterator<Item = (u8, u64)>,
) -> Proposed {
    let mut proposed = Proposed::default();
    let bands = &tables.mapped.bands;
    let own = tables.group(fingerprint, BUCKET_CONTENTS_MAX);
    proposed.add_bucket(&own, added, 0);
    let rank = own.partition_point(|content| *content < added);
    let mut scratch = Scratch::new();
    for band in 0..bands.count() {
        let key = bands.key(band, fingerprint);
        let touched = [TouchedFingerprint {
            band: band as u64,
            key,
            group: if own.is_empty() {
                GroupTouch::CREATED | GroupTouch::PROBE
            } else {
                GroupTouch::PROBE
            },
        }];
        let mut found = NearOf { key, found: Vec::new(), others: Vec::new() };
        match band {
            0 => changed_pairs(
                &tables.mapped.groups,
                &touched,
                bands,
                band,
                &mut scratch,
                &mut found,
            ),
            _ => changed_pairs(
                &tables.mapped.band[band - 1],
                &touched,
                bands,
                band,
                &mut scratch,
                &mut found,
            ),
        }
        let group = |key: u64| tables.group(bands.unkey(band, key), PIVOTS);
        for (other, product_max) in found.found {
            // At most the pivots of another group are compared.
            proposed.add_near(&group(other), rank, own.len(), product_max);
            proposed.near.insert(bands.unkey(band, other));
        }
        for (a, b, product_max) in found.others {
            let contents = [a, b].map(group);
            if contents[0].len() * contents[1].len() > product_max {
                proposed.moved.extend(contents.iter().flatten());
            }
        }
    }
    for (kind, key) in keys {
        proposed.add_bucket(&tables.bucket(kind, key), added, kind);
    }
    proposed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::ranks::{changes_between, changes_within, members};
    use proptest::prelude::*;

    fn id(high: u64) -> Id {
        Id { high, low: 0 }
    }

    proptest! {
        /// The contents that are compared with a text that is added to a bucket, or near a group,
        /// are those that an epoch begins to compare with it. If the epoch begins or ceases to
        /// compare other pairs, the answer says so.
        #[test]
        fn added_as_by_an_epoch(count in 0u64..200, at in 0u64..201, others in 0u64..80, doublings in 0u32..6) {
            let product_max = PIVOTS >> doublings;
            let before: Vec<Id> = (0..count).map(|n| id(2 * n + 1)).collect();
            let added = id(2 * at.min(count));
            let mut after = before.clone();
            after.insert(at.min(count) as usize, added);
            let changed = members(&before, &after, |content| *content);
            let near: Vec<Id> = (0..others).map(|n| id(1000 + n)).collect();
            let of = |proposed: &Proposed| proposed.contents.keys().copied().collect::<Vec<Id>>();

            let (mut with, mut elsewhere) = (Vec::new(), false);
            let mut note = |a: Id, b: Id, diff: i32| match diff {
                1 if a == added => with.push(b),
                1 if b == added => with.push(a),
                _ => elsewhere = true,
            };
            changes_within(&changed, &mut note);
            with.sort_unstable();
            let mut proposed = Proposed::default();
            proposed.add_bucket(&before, added, 1);
            prop_assert_eq!(of(&proposed), with);
            prop_assert!(!proposed.moved.is_empty() || !elsewhere);

            let (mut with, mut elsewhere) = (Vec::new(), false);
            let mut note = |a: Id, b: Id, diff: i32| match diff {
                1 if a == added => with.push(b),
                1 if b == added => with.push(a),
                _ => elsewhere = true,
            };
            let others = members(&near, &near, |content| *content);
            changes_between(&changed, &others, [product_max; 2], &mut note);
            with.sort_unstable();
            let mut proposed = Proposed::default();
            let rank = before.partition_point(|content| *content < added);
            proposed.add_near(&near[..near.len().min(PIVOTS)], rank, before.len(), product_max);
            prop_assert_eq!(of(&proposed), with);
            prop_assert!(!proposed.moved.is_empty() || !elsewhere);
        }
    }
}
