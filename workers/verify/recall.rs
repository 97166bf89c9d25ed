//! Finds near pairs, and pairs with a common key, that are not stored.
//!
//! Brute force on purpose: except for the near rule, it uses no band, no bucket and no Hamming
//! kernel. Each sampled fingerprint is compared with every live one in one pass over the table.
//! Likewise all pairs of a sample of shared keys are looked up.

use crate::candidates::near::NearRule;
use crate::candidates::pivots::{PIVOTS, examined_before, examined_between};
use crate::id::Id;
use crate::tables::PairRow;
use crate::tables::mapped::Mapped;
use crate::tables::pairs::proposed_by;
use crate::verify::findings::{Check, Recall};
use crate::verify::live::{Live, PORTION_ROWS, distinct};
use std::collections::{BTreeMap, BinaryHeap};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// The pairs of fingerprints that are held before their contents are looked up. Each fingerprint
/// has at most 64 pivots of 16 bytes.
const NEAR_MAX: usize = PORTION_ROWS / 16;

/// A random sample of `fingerprints` that depends on `seed`, ascending, and the number of
/// fingerprints.
pub fn choose(
    fingerprints: impl Iterator<Item = u64>,
    seed: &str,
    sample: usize,
) -> (Vec<u64>, u64) {
    let seed = xxh3_64(seed.as_bytes());
    let mut chosen: BinaryHeap<(u64, u64)> = BinaryHeap::new();
    let mut all = 0;
    for fingerprint in fingerprints {
        all += 1;
        let ranked = (xxh3_64_with_seed(&fingerprint.to_le_bytes(), seed), fingerprint);
        if chosen.len() < sample {
            chosen.push(ranked);
        } else if let Some(mut last) = chosen.peek_mut()
            && ranked < *last
        {
            *last = ranked;
        }
    }
    let mut chosen: Vec<u64> = chosen.into_iter().map(|(_, fingerprint)| fingerprint).collect();
    chosen.sort_unstable();
    (chosen, all)
}

/// Calls `found` for each fingerprint of `sample` (ascending) within `k` bits of `fingerprint`,
/// itself included. A pair of two sampled fingerprints is reported for the greater one only.
fn near(sample: &[u64], fingerprint: u64, k: u32, mut found: impl FnMut(u64)) {
    let is_near = |&&other: &&u64| (other ^ fingerprint).count_ones() <= k;
    // Nearly all fingerprints have none, and counting needs no branch.
    if sample.iter().filter(is_near).count() == 0 {
        return;
    }
    let sampled = sample.binary_search(&fingerprint).is_ok();
    sample
        .iter()
        .filter(is_near)
        .filter(|&&other| !sampled || other <= fingerprint)
        .for_each(|other| found(*other));
}

/// Every near pair that the near rule and the pivot rule examine and that involves one of `sample`
/// fingerprints is stored. `seed` chooses the sample.
pub fn recall(tables: &Mapped, rule: &NearRule, seed: &str, sample: usize) -> (Check, Recall) {
    let fingerprints = || {
        distinct(Live::of(&tables.groups).map(|row| row.key)).map(|key| tables.bands.unkey(0, key))
    };
    let (sample, all) = choose(fingerprints(), seed, sample);
    let recall = Recall { sampled: sample.len() as u64, fingerprints: all, ..Recall::default() };
    let mut seeker = Seeker {
        tables,
        check: Check::new("recall"),
        recall,
        near: Vec::new(),
        wanted: Vec::new(),
    };
    for fingerprint in fingerprints() {
        near(&sample, fingerprint, tables.bands.k(), |sampled| {
            let product_max = if sampled == fingerprint {
                PIVOTS
            } else {
                rule.product_max(sampled, fingerprint)
            };
            if product_max > 0 {
                seeker.near(sampled, fingerprint, product_max);
            }
        });
    }
    seeker.examine();
    seeker.look_up();
    (seeker.check, seeker.recall)
}

/// Every pair that the pivot rule examines and that shares one of `sample` keys is stored as
/// proposed by the key's signature. `seed` chooses the sample among keys of several contents.
pub fn key_recall(tables: &Mapped, seed: &str, sample: usize) -> Check {
    let mut check = Check::new("key_recall");
    let mut rows = Live::of(&tables.keys).map(|row| (row.key, row.kind)).peekable();
    let shared = std::iter::from_fn(|| {
        loop {
            let row = rows.next()?;
            if rows.next_if_eq(&row).is_some() {
                while rows.next_if_eq(&row).is_some() {}
                return Some(row.0);
            }
        }
    });
    let (mut keys, _) = choose(shared, seed, sample);
    keys.dedup();
    let mut wanted: Vec<(Id, Id, u8)> = Vec::new();
    let mut rows = Live::of(&tables.keys);
    for key in keys {
        rows.seek(|row| row.key.cmp(&key));
        let (mut kind, mut rank, mut pivots) = (0, 0, Vec::new());
        while let Some(row) = rows.next_if(|row| row.key.cmp(&key)) {
            if row.kind != kind {
                (kind, rank, pivots) = (row.kind, 0, Vec::new());
            }
            // Contents ascend, so this is the order of ranks.
            wanted.extend(
                pivots.iter().take(examined_before(rank)).map(|pivot| (*pivot, row.content, kind)),
            );
            if pivots.len() < PIVOTS {
                pivots.push(row.content);
            }
            rank += 1;
            if wanted.len() >= PORTION_ROWS {
                keyed_pairs(tables, &mut wanted, &mut check);
            }
        }
    }
    keyed_pairs(tables, &mut wanted, &mut check);
    check
}

/// Looks up pairs that a key of the given signature proposes.
fn keyed_pairs(tables: &Mapped, wanted: &mut Vec<(Id, Id, u8)>, check: &mut Check) {
    wanted.sort_unstable();
    wanted.dedup();
    let mut pairs = Live::of(&tables.pairs);
    for same in wanted.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)) {
        let (a, b, _) = same[0];
        let proposals =
            pairs.find(|row| (row.content, row.other).cmp(&(a, b))).map_or(0, |row| row.proposals);
        if same.iter().any(|(_, _, kind)| proposed_by(proposals, *kind) == 0) {
            check.find::<PairRow>(
                format_args!("{a} {b}"),
                "missing, though the contents share a key",
            );
        }
    }
    wanted.clear();
}

/// Looks up near pairs in the store, some at a time.
struct Seeker<'a> {
    tables: &'a Mapped,
    check: Check,
    recall: Recall,
    /// Near fingerprints as keys of band 0, and the greatest product of ranks of their contents.
    near: Vec<(u64, u64, usize)>,
    /// Contents that must be a stored pair, the lesser first.
    wanted: Vec<(Id, Id)>,
}

/// The first contents of a group, and whether it has more.
type Pivots = (Vec<Id>, bool);

impl Seeker<'_> {
    fn near(&mut self, a: u64, b: u64, product_max: usize) {
        let bands = &self.tables.bands;
        self.near.push((bands.key(0, a), bands.key(0, b), product_max));
        if self.near.len() == NEAR_MAX {
            self.examine();
        }
    }

    /// Expands near fingerprints to the pairs of contents that the pivot rule examines.
    fn examine(&mut self) {
        let near = std::mem::take(&mut self.near);
        let groups = self.groups(&near);
        for (a, b, product_max) in near {
            let (Some((pivots_a, larger)), Some((pivots_b, _))) = (groups.get(&a), groups.get(&b))
            else {
                continue;
            };
            for (i, first) in pivots_a.iter().enumerate() {
                for (j, other) in pivots_b.iter().enumerate() {
                    if if a == b { i < j } else { examined_between(i, j, product_max) } {
                        self.want(*first, *other);
                    }
                }
            }
            if a == b && *larger {
                self.rest(a, pivots_a);
            }
        }
    }

    fn groups(&self, near: &[(u64, u64, usize)]) -> BTreeMap<u64, Pivots> {
        let mut keys: Vec<u64> = near.iter().flat_map(|(a, b, _)| [*a, *b]).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut groups = Live::of(&self.tables.groups);
        let mut group = |key: u64| {
            groups.seek(|row| row.key.cmp(&key));
            let mut next = || groups.next_if(|row| row.key.cmp(&key)).map(|row| row.content);
            let pivots: Vec<Id> = std::iter::from_fn(&mut next).take(PIVOTS).collect();
            (key, (pivots, next().is_some()))
        };
        keys.into_iter().map(&mut group).collect()
    }

    /// Adds the pairs of the contents of group `key` after its `pivots` with the pivots that the
    /// rule compares them with.
    fn rest(&mut self, key: u64, pivots: &[Id]) {
        let tables = self.tables;
        let mut group = Live::of(&tables.groups);
        group.seek(|row| row.key.cmp(&key));
        for (rank, row) in
            std::iter::from_fn(|| group.next_if(|row| row.key.cmp(&key))).enumerate().skip(PIVOTS)
        {
            pivots
                .iter()
                .take(examined_before(rank))
                .for_each(|pivot| self.want(row.content, *pivot));
        }
    }

    fn want(&mut self, a: Id, b: Id) {
        self.wanted.push((a.min(b), a.max(b)));
        if self.wanted.len() == PORTION_ROWS {
            self.look_up();
        }
    }

    fn look_up(&mut self) {
        self.wanted.sort_unstable();
        let mut pairs = Live::of(&self.tables.pairs);
        for (a, b) in self.wanted.drain(..) {
            self.recall.near_pairs += 1;
            match pairs.find(|row| (row.content, row.other).cmp(&(a, b))) {
                Some(row) if proposed_by(row.proposals, 0) > 0 => self.recall.stored += 1,
                _ => self.check.find::<PairRow>(
                    format_args!("{a} {b}"),
                    "missing, though the fingerprints are within k",
                ),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A sample has the requested size, consists of the given fingerprints, and differs for another
    /// seed.
    #[test]
    fn samples() {
        let all: Vec<u64> = (0..1000u64).map(|n| n * n).collect();
        let (one, n) = choose(all.iter().copied(), "one", 50);
        assert_eq!((one.len(), n), (50, 1000));
        assert!(one.is_sorted_by(|a, b| a < b) && one.iter().all(|f| all.contains(f)));
        assert_eq!(choose(all.iter().rev().copied(), "one", 50).0, one);
        assert_ne!(choose(all.iter().copied(), "two", 50).0, one);
        assert_eq!(choose(all.iter().copied(), "one", 5000).0, all);
        assert!(choose(all.iter().copied(), "one", 0).0.is_empty());
    }

    /// Each near pair with a sampled side is reported once; a fingerprint is near itself.
    #[test]
    fn near_once() {
        let mut random = Random(3);
        let mut all: Vec<u64> = (0..300).map(|_| random.next() & 0x3ff).collect();
        all.sort_unstable();
        all.dedup();
        let sample: Vec<u64> = all.iter().copied().step_by(3).collect();
        let mut found = Vec::new();
        all.iter().for_each(|&f| near(&sample, f, 2, |s| found.push((s.min(f), s.max(f)))));
        found.sort_unstable();
        let mut plain = Vec::new();
        for (at, &a) in all.iter().enumerate() {
            for &b in &all[at..] {
                let sampled = sample.contains(&a) || sample.contains(&b);
                if sampled && (a ^ b).count_ones() <= 2 {
                    plain.push((a, b));
                }
            }
        }
        assert_eq!(found, plain);
    }
}
