//! Finds the pairs of texts that a signature would propose, from their fingerprints or keys.
//!
//! The pivot rule is that of epochs ([`crate::candidates::pivots`]). The near rule
//! ([`crate::candidates::near`]) is not applied, because it differs for each k. These are pure
//! functions, tested against all pairs one by one.

use crate::candidates::hamming::{BucketRule, Scratch, within};
use crate::candidates::pivots::{PIVOTS, examined_before, examined_between};
use crate::distinct::distinct;
use crate::id::Id;
use crate::text::simhash;
use std::collections::BTreeMap;

/// The greatest number of candidates of one setting. A setting with more is left out.
pub const CANDIDATES_MAX: usize = 1 << 24;

/// A text and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Numbered {
    /// The content; its order gives the ranks.
    pub content: Id,
    /// The text's number.
    pub text: u32,
}

/// The pairs of texts within `k` bits that the pivot rule examines, the lesser number first, with
/// their distances, in no order. `None` if there are more than [`CANDIDATES_MAX`].
pub fn near(texts: &[(u64, Numbered)], k: u32) -> Option<Vec<(u32, u32, u32)>> {
    let mut groups: BTreeMap<u64, Vec<Numbered>> = BTreeMap::new();
    texts
        .iter()
        .for_each(|(fingerprint, text)| groups.entry(*fingerprint).or_default().push(*text));
    groups.values_mut().for_each(|group| group.sort_unstable());
    let mut pairs = Vec::new();
    let mut emit = |a: u32, b: u32, distance: u32| {
        if pairs.len() <= CANDIDATES_MAX {
            pairs.push((a.min(b), a.max(b), distance));
        }
    };
    for group in groups.values() {
        inside(group, |a, b| emit(a, b, 0));
    }
    let fingerprints: Vec<u64> = groups.keys().copied().collect();
    let rule = BucketRule { k, fixed: 0, earlier: &[] };
    within(&fingerprints, rule, &mut Scratch::new(), &mut |a, b| {
        let distance = simhash::distance(a, b);
        let (a, b) = (&groups[&a], &groups[&b]);
        for (i, x) in a.iter().take(PIVOTS).enumerate() {
            let others = b.iter().enumerate().take_while(|(j, _)| examined_between(i, *j, PIVOTS));
            others.for_each(|(_, y)| emit(x.text, y.text, distance));
        }
    });
    (pairs.len() <= CANDIDATES_MAX).then_some(pairs)
}

/// The pairs of a group that the pivot rule examines; `group` ascends.
fn inside(group: &[Numbered], mut emit: impl FnMut(u32, u32)) {
    for (rank, text) in group.iter().enumerate() {
        group[..examined_before(rank)].iter().for_each(|other| emit(other.text, text.text));
    }
}

/// The pairs of texts that share a key and that the pivot rule examines, the lesser number first,
/// ascending, each once. `None` if there are more than [`CANDIDATES_MAX`], counting a pair for each
/// common key.
pub fn keyed(mut keys: Vec<(u64, Numbered)>) -> Option<Vec<(u32, u32)>> {
    keys.sort_unstable();
    let (mut pairs, mut group) = (Vec::new(), Vec::new());
    for bucket in keys.chunk_by(|a, b| a.0 == b.0) {
        group.clear();
        group.extend(bucket.iter().map(|(_, text)| *text));
        inside(&group, |a, b| pairs.push((a.min(b), a.max(b))));
        if pairs.len() > CANDIDATES_MAX {
            return None;
        }
    }
    Some(distinct(pairs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbered(text: u32) -> Numbered {
        // Digests have another order than numbers.
        Numbered { content: Id::of(&text.to_le_bytes()), text }
    }

    /// Whether the rule examines two texts by their ranks from 1 among the texts with their keys.
    fn examined(all: &[(u64, Numbered)], a: (u64, Numbered), b: (u64, Numbered)) -> bool {
        let rank = |one: (u64, Numbered)| {
            all.iter().filter(|other| other.0 == one.0 && other.1.content <= one.1.content).count()
        };
        let (a, b, same) = (rank(a), rank(b), a.0 == b.0);
        if same { a.min(b) <= 4 || a * b <= 64 * 64 } else { a * b <= 64 }
    }

    proptest! {
        /// The pairs found are the same as by a test of all pairs one by one, also in groups with
        /// more texts than pivots.
        #[test]
        fn found_are_those_of_all_pairs(
            few in prop::collection::vec(any::<u64>(), 1..5),
            texts in prop::collection::vec((0usize..5, prop::collection::vec(0u32..64, 0..3)), 0..150),
            k in 0u32..=8,
        ) {
            let fingerprint = |(base, flips): &(usize, Vec<u32>)| {
                flips.iter().fold(few[base % few.len()], |fingerprint, bit| fingerprint ^ 1 << bit)
            };
            let all: Vec<(u64, Numbered)> = (0..).zip(&texts).map(|(n, text)| (fingerprint(text), numbered(n))).collect();
            let (mut near_pairs, mut key_pairs) = (Vec::new(), Vec::new());
            for (at, a) in all.iter().enumerate() {
                for b in &all[at + 1..] {
                    let distance = (a.0 ^ b.0).count_ones();
                    if distance <= k && examined(&all, *a, *b) {
                        near_pairs.push((a.1.text, b.1.text, distance));
                    }
                    if distance == 0 && examined(&all, *a, *b) {
                        key_pairs.push((a.1.text, b.1.text));
                    }
                }
            }
            let mut found = near(&all, k).expect("few");
            found.sort_unstable();
            prop_assert_eq!(found, near_pairs);
            prop_assert_eq!(keyed(all).expect("few"), key_pairs);
        }
    }
}
