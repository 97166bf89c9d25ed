//! The fingerprints and keys of contents in memory: which of them a text is compared with.
//!
//! What shares a key, or is within k bits, is found as in a store: fingerprints meet in the bucket
//! of a band. The pivot rule bounds what is compared in a group or bucket, over these contents
//! alone, and so does a limit on near fingerprints. So more may be compared than an epoch compares,
//! which sees them together with the store's; answers say that they are provisional.

use crate::ask::candidates::Proposed;
use crate::ask::tables::BUCKET_CONTENTS_MAX;
use crate::candidates::bands::Bands;
use crate::candidates::pivots::PIVOTS;
use crate::document::Id;
use crate::tables::EvidenceRow;
use crate::tables::evidence::keys;
use crate::text::simhash;
use std::collections::{BTreeSet, HashMap};

/// Contents by what makes them meet.
pub struct Nearby {
    bands: Bands,
    /// The contents of a fingerprint.
    groups: HashMap<u64, BTreeSet<Id>>,
    /// The fingerprints of a bucket, by band.
    buckets: Vec<HashMap<u64, BTreeSet<u64>>>,
    /// The contents of a key, with the number of its signature.
    keys: HashMap<(u8, u64), BTreeSet<Id>>,
}

impl Nearby {
    /// Of no contents.
    pub fn new(bands: Bands) -> Nearby {
        let buckets = (0..bands.count()).map(|_| HashMap::new()).collect();
        Nearby { bands, groups: HashMap::new(), buckets, keys: HashMap::new() }
    }

    /// The bucket of a fingerprint in each band.
    fn places(&self, fingerprint: u64) -> impl Iterator<Item = u64> + use<> {
        let bands = self.bands.clone();
        (0..bands.count()).map(move |band| bands.bucket(band, bands.key(band, fingerprint)))
    }

    /// Adds a content.
    pub fn add(&mut self, evidence: &EvidenceRow) {
        let (content, fingerprint) = (evidence.content, evidence.fingerprint);
        self.groups.entry(fingerprint).or_default().insert(content);
        for (place, buckets) in self.places(fingerprint).zip(&mut self.buckets) {
            buckets.entry(place).or_default().insert(fingerprint);
        }
        for key in keys(&evidence.keys) {
            self.keys.entry(key).or_default().insert(content);
        }
    }

    /// Removes a content that was added.
    pub fn remove(&mut self, evidence: &EvidenceRow) {
        let (content, fingerprint) = (evidence.content, evidence.fingerprint);
        if remove(&mut self.groups, fingerprint, content) {
            for (place, buckets) in self.places(fingerprint).zip(&mut self.buckets) {
                remove(buckets, place, fingerprint);
            }
        }
        for key in keys(&evidence.keys) {
            remove(&mut self.keys, key, content);
        }
    }

    /// The other fingerprints within k bits of one, in their order.
    fn within(&self, fingerprint: u64) -> BTreeSet<u64> {
        let buckets = self
            .places(fingerprint)
            .zip(&self.buckets)
            .filter_map(|(place, buckets)| buckets.get(&place));
        let is_near = |other: &u64| {
            *other != fingerprint && simhash::distance(*other, fingerprint) <= self.bands.k()
        };
        buckets.flatten().copied().filter(is_near).collect()
    }

    /// Whether a content has this fingerprint, or one within k bits.
    pub fn has_near(&self, fingerprint: u64) -> bool {
        self.groups.contains_key(&fingerprint) || !self.within(fingerprint).is_empty()
    }

    /// With which contents a text is compared, by the number of their signatures.
    pub fn proposed(&self, evidence: &EvidenceRow) -> Proposed {
        let first = |all: Option<&BTreeSet<Id>>, most: usize| -> Vec<Id> {
            all.into_iter()
                .flatten()
                .copied()
                .filter(|id| *id != evidence.content)
                .take(most)
                .collect()
        };
        let mut proposed = Proposed::default();
        let own = self.groups.get(&evidence.fingerprint);
        proposed.add_bucket(&first(own, BUCKET_CONTENTS_MAX), evidence.content, 0);
        for near in self.within(evidence.fingerprint).into_iter().take(PIVOTS) {
            for content in first(self.groups.get(&near), PIVOTS) {
                proposed.add(content, 0);
            }
        }
        for (kind, key) in keys(&evidence.keys) {
            proposed.add_bucket(
                &first(self.keys.get(&(kind, key)), BUCKET_CONTENTS_MAX),
                evidence.content,
                kind,
            );
        }
        proposed
    }
}

/// Removes one of a set, and the set with its last. Returns whether it was the last.
fn remove<K: std::hash::Hash + Eq, V: Ord>(
    sets: &mut HashMap<K, BTreeSet<V>>,
    key: K,
    value: V,
) -> bool {
    let Some(set) = sets.get_mut(&key) else { return false };
    set.remove(&value);
    let is_empty = set.is_empty();
    if is_empty {
        sets.remove(&key);
    }
    is_empty
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn row(n: u64, fingerprint: u64, key: u64) -> EvidenceRow {
        let key = [&[1u8][..], &key.to_le_bytes()].concat();
        EvidenceRow::new(Id { high: n, low: 0 }, fingerprint, 1, key.into(), [].into(), [].into())
    }

    /// What is proposed is what brute force finds: all contents within k bits or with an equal key,
    /// while they are few, after any additions and removals.
    #[test]
    fn as_by_brute_force() {
        let mut random = Random::seeded();
        let bands = Bands::new(3, None).expect("bands");
        let mut nearby = Nearby::new(bands);
        let mut live: Vec<EvidenceRow> = Vec::new();
        for n in 1..600 {
            let base =
                live.get(random.below(live.len().max(1))).map_or(n << 40, |row| row.fingerprint);
            let flips =
                (0..random.below(6u64)).fold(0, |flips: u64, _| flips | 1 << random.below(64u64));
            let new = row(n, base ^ flips, random.below(200u64));
            let mut expected: BTreeSet<Id> = BTreeSet::new();
            for other in &live {
                let is_near = (other.fingerprint ^ new.fingerprint).count_ones() <= 3;
                if is_near || other.keys == new.keys {
                    expected.insert(other.content);
                }
            }
            let found: BTreeSet<Id> = nearby.proposed(&new).contents.into_keys().collect();
            assert_eq!(found, expected);
            let is_near =
                |other: &EvidenceRow| (other.fingerprint ^ new.fingerprint).count_ones() <= 3;
            assert_eq!(nearby.has_near(new.fingerprint), live.iter().any(is_near));
            nearby.add(&new);
            live.push(new);
            if live.len() > 50 {
                let gone = live.swap_remove(random.below(live.len()));
                nearby.remove(&gone);
            }
        }
        live.iter().for_each(|row| nearby.remove(row));
        assert!(
            nearby.groups.is_empty()
                && nearby.keys.is_empty()
                && nearby.buckets.iter().all(HashMap::is_empty)
        );
    }
}
