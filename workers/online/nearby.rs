//! The fingerprints and keys of contents in memory, to find the contents that a text is compared
//! with.
//!
//! Contents that share a key or are within k bits are found as in a store: fingerprints meet in the
//! bucket of a band. The pivot rule and a limit on near fingerprints bound how many are compared,
//! counting only these contents. So more pairs may be compared than by an epoch, which counts these
//! contents together with those of the store. Such answers are provisional.
//!
//! Most keys have one content, so each table is one ordered set of rows. A set for each key would
//! take five times the memory.

use crate::ask::candidates::Proposed;
use crate::ask::tables::BUCKET_CONTENTS_MAX;
use crate::candidates::bands::Bands;
use crate::candidates::pivots::PIVOTS;
use crate::id::Id;
use crate::tables::EvidenceRow;
use crate::tables::evidence::keys;
use crate::text::simhash;
use std::collections::BTreeSet;

/// Contents by their fingerprints, bands and keys.
pub struct Nearby {
    bands: Bands,
    /// Fingerprints and their contents.
    groups: BTreeSet<(u64, Id)>,
    /// Buckets and their fingerprints, by band.
    buckets: Vec<BTreeSet<(u64, u64)>>,
    /// The numbers of signatures, the keys, and their contents.
    keys: BTreeSet<(u8, u64, Id)>,
}

impl Nearby {
    /// Tables without contents.
    pub fn new(bands: Bands) -> Nearby {
        let buckets = (0..bands.count()).map(|_| BTreeSet::new()).collect();
        Nearby { bands, groups: BTreeSet::new(), buckets, keys: BTreeSet::new() }
    }

    /// About the bytes that a content takes here.
    pub fn bytes(&self, evidence: &EvidenceRow) -> usize {
        // A node of an ordered set is two thirds full.
        let of = |count: usize, row_bytes: usize| count * row_bytes * 3 / 2;
        of(1, size_of::<(u64, Id)>())
            + of(self.buckets.len(), size_of::<(u64, u64)>())
            + of(keys(&evidence.keys).count(), size_of::<(u8, u64, Id)>())
    }

    /// The contents of a fingerprint, ascending.
    fn group(&self, fingerprint: u64) -> impl Iterator<Item = Id> + '_ {
        let range = (fingerprint, Id::NONE)..=(fingerprint, Id::MAX);
        self.groups.range(range).map(|(_, content)| *content)
    }

    /// The contents of a key, ascending.
    fn bucket(&self, (kind, key): (u8, u64)) -> impl Iterator<Item = Id> + '_ {
        let range = (kind, key, Id::NONE)..=(kind, key, Id::MAX);
        self.keys.range(range).map(|(.., content)| *content)
    }

    /// The bucket of a fingerprint in each band.
    fn places(&self, fingerprint: u64) -> impl Iterator<Item = u64> + use<> {
        let bands = self.bands.clone();
        (0..bands.count()).map(move |band| bands.bucket(band, bands.key(band, fingerprint)))
    }

    /// Adds a content.
    pub fn add(&mut self, evidence: &EvidenceRow) {
        let (content, fingerprint) = (evidence.content, evidence.fingerprint);
        self.groups.insert((fingerprint, content));
        for (place, buckets) in self.places(fingerprint).zip(&mut self.buckets) {
            buckets.insert((place, fingerprint));
        }
        self.keys.extend(keys(&evidence.keys).map(|(kind, key)| (kind, key, content)));
    }

    /// Removes a content that was added.
    pub fn remove(&mut self, evidence: &EvidenceRow) {
        let (content, fingerprint) = (evidence.content, evidence.fingerprint);
        self.groups.remove(&(fingerprint, content));
        if self.group(fingerprint).next().is_none() {
            for (place, buckets) in self.places(fingerprint).zip(&mut self.buckets) {
                buckets.remove(&(place, fingerprint));
            }
        }
        for (kind, key) in keys(&evidence.keys) {
            self.keys.remove(&(kind, key, content));
        }
    }

    /// The other fingerprints within k bits of one, in the order of each band. One may come in
    /// several bands.
    fn within(&self, fingerprint: u64) -> impl Iterator<Item = u64> + '_ {
        let buckets = self.places(fingerprint).zip(&self.buckets);
        let buckets = buckets.flat_map(|(place, rows)| rows.range((place, 0)..=(place, u64::MAX)));
        let is_near = move |other: &u64| {
            *other != fingerprint && simhash::distance(*other, fingerprint) <= self.bands.k()
        };
        buckets.map(|(_, other)| *other).filter(is_near)
    }

    /// Whether a content has this fingerprint, or one within k bits.
    pub fn has_near(&self, fingerprint: u64) -> bool {
        self.group(fingerprint).next().is_some() || self.within(fingerprint).next().is_some()
    }

    /// The contents that a text is compared with, each with the signatures that propose it.
    pub fn proposed(&self, evidence: &EvidenceRow) -> Proposed {
        let is_other = |id: &Id| *id != evidence.content;
        let first = |all: &mut dyn Iterator<Item = Id>| -> Vec<Id> {
            all.filter(is_other).take(BUCKET_CONTENTS_MAX).collect()
        };
        let mut proposed = Proposed::default();
        let own = first(&mut self.group(evidence.fingerprint));
        proposed.add_bucket(&own, evidence.content, 0);
        let near: BTreeSet<u64> = self.within(evidence.fingerprint).collect();
        for near in near.into_iter().take(PIVOTS) {
            for content in self.group(near).filter(is_other).take(PIVOTS) {
                proposed.add(content, 0);
            }
        }
        for key in keys(&evidence.keys) {
            proposed.add_bucket(&first(&mut self.bucket(key)), evidence.content, key.0);
        }
        proposed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn row(n: u64, fingerprint: u64, key: u64) -> EvidenceRow {
        let key = [&[1u8][..], &key.to_le_bytes()].concat();
        EvidenceRow::new(Id { high: n, low: 0 }, fingerprint, 1, key.into(), [].into(), [].into())
    }

    /// While contents are few, the proposed ones are those that brute force finds: all within k
    /// bits or with an equal key, after any additions and removals.
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
                && nearby.buckets.iter().all(BTreeSet::is_empty)
        );
    }
}
