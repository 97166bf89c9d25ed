//! Finds the stored contents that an epoch would compare with a text that is added, and those whose
//! comparisons change if a text goes.
//!
//! The text's fingerprint is looked up in one bucket of each band, and its keys in their buckets.
//! The near rule is applied to the same buckets by the code of an epoch. The pivot rule ranks the
//! text among the contents that are there, as an epoch would.

use crate::ask::tables::{BUCKET_CONTENTS_MAX, Tables};
use crate::candidates::hamming::Scratch;
use crate::candidates::pivots::{PIVOTS, PIVOTS_LEAST, examined_before, examined_between};
use crate::fold::buckets::{PairSink, changed_pairs};
use crate::fold::groups::{GroupTouch, TouchedFingerprint};
use crate::id::Id;
use std::collections::{BTreeMap, BTreeSet};

/// What a text would be compared with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposed {
    /// The contents, with [`crate::tables::PairRow::proposals`].
    pub contents: BTreeMap<Id, u64>,
    /// Contents of which other pairs may be compared if the text comes or goes, because it moves
    /// their ranks.
    pub moved: BTreeSet<Id>,
    /// The stored fingerprints that are near its own.
    pub near: BTreeSet<u64>,
    /// Whether a bucket has more contents than were read, and the text is compared with all.
    pub is_cut: bool,
    /// Whether the rules leave contents out with which the text would be compared if others went.
    pub leaves_out: bool,
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
        let mut compared = 0;
        for content in before.iter().chain(after.map(|(_, content)| content)) {
            self.add(*content, signature);
            compared += 1;
        }
        self.leaves_out |= compared < first.len() || !is_whole;
        self.move_behind(first, rank);
        self.is_cut |= !is_whole && rank < PIVOTS_LEAST;
    }

    /// Notes the contents of one group or bucket of which other pairs are compared without `gone`.
    /// `first` are the first contents of the bucket, ascending.
    fn leave_bucket(&mut self, first: &[Id], gone: Id) {
        let rank = first.partition_point(|content| *content < gone);
        let others: Vec<Id> = first.iter().copied().filter(|content| *content != gone).collect();
        self.move_behind(&others, rank);
        self.is_cut |= first.len() >= BUCKET_CONTENTS_MAX && rank < PIVOTS_LEAST;
    }

    /// Notes the pairs among `others`, the other contents of a bucket, that are compared only
    /// without a content of this `rank`: its place moves the contents behind it by one rank.
    fn move_behind(&mut self, others: &[Id], rank: usize) {
        for (at, content) in others.iter().enumerate().skip(rank) {
            let with = examined_before(at + 1);
            // If the content comes before the last of them, it is one of them.
            let left_out = &others[..examined_before(at)][with - usize::from(rank < with)..];
            if !left_out.is_empty() {
                self.moved.insert(*content);
                self.moved.extend(left_out);
            }
        }
    }

    /// Adds the contents of the group of a near fingerprint that are compared with a content which
    /// has this `rank` in a group with `others` other contents. `first` are the first contents of
    /// the near group.
    fn add_near(&mut self, first: &[Id], rank: usize, others: usize, product_max: usize) {
        let compared =
            first.iter().enumerate().take_while(|(at, _)| examined_between(rank, *at, product_max));
        compared.for_each(|(_, content)| self.add(*content, 0));
        // Only a part of the group was read.
        self.leaves_out |= first.len() >= PIVOTS || (rank + 1) * first.len() > product_max;
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
    /// Whether the near rule leaves out fingerprints.
    leaves_out: bool,
}

impl Proposed {
    /// Finds what changes in the buckets if `fingerprint` is touched as `touch` says. Calls `near`
    /// with each near fingerprint, the first contents of its group, and the greatest product of
    /// ranks. Notes the contents of other pairs whose comparisons change.
    fn in_buckets(
        &mut self,
        tables: &Tables,
        fingerprint: u64,
        touch: GroupTouch,
        mut near: impl FnMut(&mut Proposed, u64, &[Id], usize),
    ) {
        let bands = &tables.mapped.bands;
        let mut scratch = Scratch::new();
        for band in 0..bands.count() {
            let key = bands.key(band, fingerprint);
            let touched = [TouchedFingerprint { band: band as u64, key, group: touch }];
            let mut found =
                NearOf { key, found: Vec::new(), others: Vec::new(), leaves_out: false };
            let (scratch, sink) = (&mut scratch, &mut found);
            match band.checked_sub(1) {
                None => changed_pairs(&tables.mapped.groups, &touched, bands, band, scratch, sink),
                Some(at) => {
                    changed_pairs(&tables.mapped.band[at], &touched, bands, band, scratch, sink);
                }
            }
            // At most the pivots of another group are compared.
            let group = |key: u64| tables.group(bands.unkey(band, key), PIVOTS);
            for (other, product_max) in found.found {
                near(self, bands.unkey(band, other), &group(other), product_max);
            }
            for (a, b, product_max) in found.others {
                let contents = [a, b].map(group);
                if contents[0].len() * contents[1].len() > product_max {
                    self.moved.extend(contents.iter().flatten());
                }
            }
            self.leaves_out |= found.leaves_out;
        }
    }
}

impl PairSink for NearOf {
    fn pair(&mut self, a: u64, b: u64, [before, after]: [usize; 2]) {
        if a != self.key && b != self.key {
            self.others.push((a, b, before.min(after)));
        } else if after > 0 && a != b {
            self.found.push((if a == self.key { b } else { a }, after));
        }
    }

    fn earlier(&mut self, _before: usize, after: usize) {
        // With fewer earlier fingerprints all are compared.
        self.leaves_out |= after >= PIVOTS;
    }
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
    let own = tables.group(fingerprint, BUCKET_CONTENTS_MAX);
    proposed.add_bucket(&own, added, 0);
    let rank = own.partition_point(|content| *content < added);
    let touch = match own.is_empty() {
        true => GroupTouch::CREATED | GroupTouch::PROBE,
        false => GroupTouch::PROBE,
    };
    proposed.in_buckets(tables, fingerprint, touch, |proposed, near, first, product_max| {
        proposed.add_near(first, rank, own.len(), product_max);
        proposed.near.insert(near);
    });
    for (kind, key) in keys {
        proposed.add_bucket(&tables.bucket(kind, key), added, kind);
    }
    proposed
}

/// The contents of which other pairs may be compared if the content `gone`, of this fingerprint and
/// these keys, goes. Nothing is proposed.
pub fn moved_without(
    tables: &Tables,
    gone: Id,
    fingerprint: u64,
    keys: impl Iterator<Item = (u8, u64)>,
) -> Proposed {
    let mut proposed = Proposed::default();
    let own = tables.group(fingerprint, BUCKET_CONTENTS_MAX);
    proposed.leave_bucket(&own, gone);
    let touch = if own.len() > 1 { GroupTouch::PROBE } else { GroupTouch::DELETED };
    proposed.in_buckets(tables, fingerprint, touch, |proposed, _, first, product_max| {
        if own.len() * first.len() > product_max {
            proposed.moved.extend(own.iter().take(PIVOTS + 1).chain(first));
        }
    });
    for (kind, key) in keys {
        proposed.leave_bucket(&tables.bucket(kind, key), gone);
    }
    proposed.moved.remove(&gone);
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

    /// Of a bucket of which not all contents were read, the first four are compared with more.
    #[test]
    fn a_bucket_that_was_cut() {
        let first: Vec<Id> = (0..BUCKET_CONTENTS_MAX as u64).map(|n| id(2 * n + 1)).collect();
        for (added, is_cut) in [(0, true), (6, true), (8, false), (99_999, false)] {
            let mut proposed = Proposed::default();
            proposed.add_bucket(&first, id(added), 1);
            assert!(proposed.is_cut == is_cut && proposed.leaves_out, "{added}");
        }
    }

    proptest! {
        /// The contents that are compared with a text that is added to a bucket, or near a group,
        /// are those that an epoch begins to compare with it. If the epoch begins or ceases to
        /// compare other pairs, the answer says so; of a bucket it names exactly their contents.
        #[test]
        fn added_as_by_an_epoch(count in prop_oneof![0u64..200, 900..1200u64], at in prop_oneof![0u64..201, 0..1201u64], others in 0u64..80, doublings in 0u32..6, gone in 0u64..200) {
            let product_max = PIVOTS >> doublings;
            let before: Vec<Id> = (0..count).map(|n| id(2 * n + 1)).collect();
            let added = id(2 * at.min(count));
            let mut after = before.clone();
            after.insert(at.min(count) as usize, added);
            let changed = members(&before, &after, |content| *content);
            let near: Vec<Id> = (0..others).map(|n| id(1000 + n)).collect();
            let of = |proposed: &Proposed| proposed.contents.keys().copied().collect::<Vec<Id>>();

            let (mut with, mut moved) = (Vec::new(), BTreeSet::new());
            let mut note = |a: Id, b: Id, diff: i32| match diff {
                1 if a == added => with.push(b),
                1 if b == added => with.push(a),
                _ => moved.extend([a, b]),
            };
            changes_within(&changed, &mut note);
            with.sort_unstable();
            let mut proposed = Proposed::default();
            proposed.add_bucket(&before, added, 1);
            prop_assert_eq!(of(&proposed), with);
            prop_assert_eq!(&proposed.moved, &moved);
            // If another content goes, the text is compared with no further content unless the
            // answer says that some are left out.
            if !proposed.leaves_out && count > 0 {
                let mut rest = before.clone();
                rest.remove(gone as usize % before.len());
                let mut without = Proposed::default();
                without.add_bucket(&rest, added, 1);
                prop_assert!(without.contents.keys().all(|id| proposed.contents.contains_key(id)));
            }
            // A content that goes changes the same pairs.
            let mut left = Proposed::default();
            left.leave_bucket(&after, added);
            prop_assert_eq!(&left.moved, &moved);

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
            // Without another content of either group the rank or the group is less by one.
            if !proposed.leaves_out {
                let less = &near[..near.len().saturating_sub(1)];
                for (group, rank) in [(less, rank), (&near[..], rank.saturating_sub(1))] {
                    let mut without = Proposed::default();
                    without.add_near(&group[..group.len().min(PIVOTS)], rank, before.len(), PIVOTS);
                    let mut of = without.contents.keys();
                    prop_assert!(of.all(|id| proposed.contents.contains_key(id)));
                }
            }
        }
    }
}
