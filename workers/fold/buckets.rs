//! Finds the pairs of fingerprints within k bits that involve a changed fingerprint.
//!
//! Two fingerprints within k bits agree in at least one band, so only fingerprints in the same
//! bucket are compared (Manku, Jain, Das Sarma 2007, section 3). A pair may agree in several bands;
//! the lowest of them reports it, so each pair is found once. The paper keeps permuted tables; we
//! split a large bucket once more instead: see [`crate::candidates::hamming`]. Where very many
//! fingerprints are near one, the near rule ([`mod@crate::candidates::near`]) leaves most out.

use crate::candidates::bands::Bands;
use crate::candidates::hamming::{self, BucketRule, Scratch};
use crate::candidates::near::{self, EARLIER_FEW, ExaminedPair, Neighbours};
use crate::candidates::pivots::PIVOTS;
use crate::error::Result;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::fold::groups::{GroupTouch, TouchedFingerprint};
use crate::store::cursor::Keys;
use crate::store::runs::Table;
use crate::store::table::Row;
use crate::tables::{BandRow, GroupRow};

/// Two fingerprints within k bits that the near rule examines or examined, or one fingerprint twice
/// if its group must be examined inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct NearFingerprints {
    /// The lesser fingerprint, as the sort key of band 0.
    pub a: u64,
    /// The greater fingerprint, as the sort key of band 0.
    pub b: u64,
    /// The greatest product of ranks of contents that are compared, before the epoch and after it.
    pub product_max: [u32; 2],
}

/// Takes what [`changed_pairs`] finds.
pub trait PairSink {
    /// Two keys whose contents must be compared anew, and the greatest product of ranks that the
    /// near rule allows, before the epoch and after it. The product before the epoch has no meaning
    /// if one of the keys was not live then.
    fn pair(&mut self, a: u64, b: u64, product_max: [usize; 2]);

    /// A key had `before` earlier keys by the near rule before the epoch, and has `after` of them
    /// after it.
    fn earlier(&mut self, before: usize, after: usize);
}

/// Reports each pair of `band` whose comparison may change, as keys of the band. These are the
/// pairs of a probing fingerprint and another live one that the near rule
/// ([`crate::candidates::near`]) examines after the epoch, and all pairs that it begins or ceases
/// to examine.
///
/// `touched` ascend, and `before` is the band's table before the epoch. Only buckets with a probing
/// or deleted fingerprint are read. Memory is 8 bytes for each key of the largest bucket, and what
/// the near rule needs.
pub fn changed_pairs<R: Row<Key = u64>>(
    before: &Table<R>,
    touched: &[TouchedFingerprint],
    bands: &Bands,
    band: usize,
    scratch: &mut Scratch,
    found: &mut impl PairSink,
) {
    let (fixed, earlier) = (bands.key_fixed(band), bands.key_earlier(band));
    let rule = bands.rule(band, &earlier);
    let mut old = Keys::new(before);
    let (mut live, mut neighbours) = (Vec::new(), Neighbours::default());
    for touched in touched.chunk_by(|a, b| a.key & fixed == b.key & fixed) {
        let key = touched[0].key;
        if !touched.iter().any(|touch| touch.group.concerns_buckets()) {
            continue;
        }
        live.clear();
        old.live(key & fixed..=key | !fixed, &mut live);
        let keys = |is: fn(GroupTouch) -> bool| {
            touched.iter().filter(move |touch| is(touch.group)).map(|touch| touch.key)
        };
        let probing: Vec<u64> = keys(GroupTouch::is_probing).collect();
        if live.len() + keys(GroupTouch::is_created).count() <= EARLIER_FEW {
            // No key can have so many earlier keys that the near rule leaves a pair out.
            let seeds: Vec<u64> = keys(GroupTouch::concerns_buckets).collect();
            let others = without(&live, &seeds);
            let mut pair = |a, b| found.pair(a, b, [PIVOTS; 2]);
            hamming::between(&probing, &others, rule, scratch, &mut pair);
            hamming::within(&probing, rule, scratch, &mut pair);
            continue;
        }
        let bucket = Bucket { touched, probing, live: &live, rule };
        bucket.crowded(scratch, &mut neighbours, found);
    }
}

/// A bucket that is large enough for the near rule to leave something out.
struct Bucket<'a> {
    touched: &'a [TouchedFingerprint],
    probing: Vec<u64>,
    /// The keys before the epoch.
    live: &'a [u64],
    rule: BucketRule<'a>,
}

impl Bucket<'_> {
    /// Whether a key is live, before the epoch and after it.
    fn is_live(&self, key: u64) -> [bool; 2] {
        match self.touched.binary_search_by_key(&key, |touch| touch.key) {
            Ok(at) if self.touched[at].group.is_created() => [false, true],
            Ok(at) if self.touched[at].group.is_deleted() => [true, false],
            _ => [true, true],
        }
    }

    /// Finds the earlier keys of every key whose earlier keys, or whose comparisons with them, may
    /// change.
    ///
    /// A key that is created, deleted or probing changes something for itself and for the keys near
    /// it that come later. For all of these, all earlier keys are needed.
    fn crowded(
        &self,
        scratch: &mut Scratch,
        neighbours: &mut Neighbours,
        found: &mut impl PairSink,
    ) {
        let rule = self.rule;
        let seeds: Vec<u64> = self
            .touched
            .iter()
            .filter(|touch| touch.group.concerns_buckets())
            .map(|touch| touch.key)
            .collect();
        let others = without(self.live, &seeds);
        // Pairs of two created keys are the bulk of a first build.
        let is_new = self.live.is_empty();
        let both = |a: u64, b: u64| {
            if is_new {
                return [false, true];
            }
            let (a, b) = (self.is_live(a), self.is_live(b));
            [a[0] && b[0], a[1] && b[1]]
        };
        let mut later: Vec<u64> = Vec::new();
        let mut later_max = others.len();
        hamming::between(&seeds, &others, rule, scratch, &mut |seed, other| {
            neighbours.add(seed, other, both(seed, other));
            if near::order(seed) < near::order(other) {
                later.push(other);
                if later.len() > 2 * later_max {
                    later.sort_unstable();
                    later.dedup();
                    later_max = later_max.max(later.len());
                }
            }
        });
        hamming::within(&seeds, rule, scratch, &mut |a, b| neighbours.add(a, b, both(a, b)));
        if !later.is_empty() {
            later.sort_unstable();
            later.dedup();
            let rest = without(&others, &later);
            hamming::between(&later, &rest, rule, scratch, &mut |later, other| {
                if near::order(other) < near::order(later) {
                    neighbours.add(later, other, [true; 2]);
                }
            });
            hamming::within(&later, rule, scratch, &mut |a, b| neighbours.add(a, b, [true; 2]));
        }
        let probes = |key: u64| self.probing.binary_search(&key).is_ok();
        let mut counts = Vec::new();
        neighbours.finish(
            |ExaminedPair { later, earlier, live, product_max }| {
                let changes = product_max[0] != product_max[1];
                if live[1] && (changes || probes(later) || probes(earlier)) {
                    found.pair(later, earlier, product_max);
                }
            },
            |_, [before, after]| {
                if before != after {
                    counts.push([before, after]);
                }
            },
        );
        counts.into_iter().for_each(|[before, after]| found.earlier(before, after));
    }
}

/// The `keys` that are not in `others`. Both ascend.
fn without(keys: &[u64], others: &[u64]) -> Vec<u64> {
    let mut others = others.iter().peekable();
    let is_other = |key: u64| {
        while others.next_if(|other| **other < key).is_some() {}
        others.peek().is_some_and(|other| **other == key)
    };
    let mut is_other = is_other;
    keys.iter().copied().filter(|key| !is_other(*key)).collect()
}

/// Emits the pairs that [`changed_pairs`] finds in one band.
struct Emitter<'a> {
    epoch: &'a Epoch,
    bands: &'a Bands,
    band: usize,
    emit: &'a mut dyn FnMut(NearFingerprints),
    found: u64,
}

impl PairSink for Emitter<'_> {
    fn pair(&mut self, a: u64, b: u64, product_max: [usize; 2]) {
        let in_band_0 = |key| match self.band {
            0 => key,
            band => self.bands.key(0, self.bands.unkey(band, key)),
        };
        let (a, b) = (in_band_0(a), in_band_0(b));
        let product_max = product_max.map(|product| product as u32);
        (self.emit)(NearFingerprints { a: a.min(b), b: a.max(b), product_max });
        self.found += 1;
    }

    fn earlier(&mut self, before: usize, after: usize) {
        self.epoch.count_near(before, after);
    }
}

/// Emits the near pairs of the buckets that this worker owns, and stores the changed fingerprints.
pub fn buckets(
    epoch: &Epoch,
    bands: &Bands,
    touched: &[TouchedFingerprint],
    emit: &mut dyn FnMut(NearFingerprints),
) -> Result<()> {
    let mut scratch = Scratch::new();
    for touched in touched.chunk_by(|a, b| a.band == b.band) {
        let band = touched[0].band as usize;
        let mut found = Emitter { epoch, bands, band, emit, found: 0 };
        if band == 0 {
            let before = epoch.before::<GroupRow>()?;
            changed_pairs(&before, touched, bands, band, &mut scratch, &mut found);
            let inside = touched.iter().filter(|touch| touch.group.is_inside());
            inside.for_each(|touch| found.pair(touch.key, touch.key, [PIVOTS; 2]));
        } else {
            let before = epoch.band_before(band)?;
            changed_pairs(&before, touched, bands, band, &mut scratch, &mut found);
            let row = |touch: &TouchedFingerprint| match touch.group {
                group if group.is_created() => Some(BandRow { key: touch.key, diff: 1 }),
                group if group.is_deleted() => Some(BandRow { key: touch.key, diff: -1 }),
                _ => None,
            };
            epoch.write_band(band, touched.iter().filter_map(row))?;
        }
        epoch.count(Counter::FingerprintPairs, found.found);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::hamming::tests::sorted;
    use crate::random::Random;
    use crate::store::segment::{Segment, write};
    use std::collections::{BTreeMap, BTreeSet};

    #[derive(Default)]
    struct Collected {
        pairs: Vec<(u64, u64, [usize; 2])>,
        change: i64,
    }

    impl PairSink for Collected {
        fn pair(&mut self, a: u64, b: u64, product_max: [usize; 2]) {
            self.pairs.push((a.min(b), a.max(b), product_max));
        }

        fn earlier(&mut self, before: usize, after: usize) {
            let [before, after] = [before, after].map(|n| near::unexamined(n).pairs as i64);
            self.change += after - before;
        }
    }

    /// The pairs that the near rule examines among the `live` keys of a bucket, by its definition,
    /// each with its greatest product of ranks, and the number of pairs that it does not examine.
    fn examined(
        live: &BTreeSet<u64>,
        is_near: impl Fn(u64, u64) -> bool,
    ) -> (BTreeMap<(u64, u64), usize>, i64) {
        let (mut pairs, mut left) = (BTreeMap::new(), 0);
        for &later in live {
            let is_earlier =
                |one: &u64| near::order(*one) < near::order(later) && is_near(*one, later);
            let mut earlier: Vec<u64> = live.iter().copied().filter(is_earlier).collect();
            earlier.sort_unstable_by_key(|one| near::order(*one));
            let first = if earlier.len() < 64 {
                earlier.len()
            } else {
                (64 * 64 / (earlier.len() + 1)).max(4)
            };
            left += (earlier.len() - first) as i64;
            let product = near::product_max(earlier.len());
            pairs.extend(
                earlier[..first].iter().map(|&one| ((one.min(later), one.max(later)), product)),
            );
        }
        (pairs, left)
    }

    /// To compare many keys that are near each other would take quadratic time. When some of them
    /// come and go, exactly the pairs that change by the rule's definition are reported, and the
    /// pairs of probing keys.
    #[test]
    fn the_near_rule_is_followed_through_changes() {
        println!("seeds 1 to 12");
        for seed in 1..=12 {
            let mut random = Random(seed);
            let bands = Bands::new(3, None).expect("bands");
            let band = seed as usize % 4;
            let is_near = |a: u64, b: u64| {
                let difference = a ^ b;
                let is_first = bands.key_earlier(band).iter().all(|mask| difference & mask != 0);
                difference != 0
                    && difference.count_ones() <= 3
                    && difference & bands.key_fixed(band) == 0
                    && is_first
            };
            // Twelve bits vary, in the earlier bands if there are any, so that the band owns the
            // pairs.
            let earlier = bands.key_earlier(band);
            let low = |mask: &u64| ((1 << (12 / earlier.len())) - 1) << mask.trailing_zeros();
            let free = if band == 0 {
                0x0fff
            } else {
                earlier.iter().map(low).fold(0, |free, bits: u64| free | bits)
            };
            let mut draw = |count: usize| -> BTreeSet<u64> {
                (0..count).map(|_| random.next() & free).collect()
            };
            let folder = tempfile::tempdir().expect("a folder");
            let (mut table, mut live) = (Table::<BandRow>::default(), BTreeSet::new());
            let mut changed = 0;
            for (round, count) in [700, 60, 3, 200, 1].into_iter().enumerate() {
                let keys = draw(count);
                let touch = |&key: &u64| {
                    let group = match (live.contains(&key), key % 5) {
                        (false, _) => GroupTouch::CREATED | GroupTouch::PROBE,
                        (true, 0) => GroupTouch::PROBE,
                        (true, 1) => GroupTouch::NONE,
                        (true, _) => GroupTouch::DELETED,
                    };
                    TouchedFingerprint { band: band as u64, key, group }
                };
                let touched: Vec<TouchedFingerprint> = keys.iter().map(touch).collect();
                let mut found = Collected::default();
                changed_pairs(&table, &touched, &bands, band, &mut Scratch::new(), &mut found);
                let before = live.clone();
                for touch in &touched {
                    match touch.group {
                        group if group.is_created() => _ = live.insert(touch.key),
                        group if group.is_deleted() => _ = live.remove(&touch.key),
                        _ => {}
                    }
                }
                let (old, left_before) = examined(&before, is_near);
                let (new, left_after) = examined(&live, is_near);
                let probes = |key: u64| {
                    touched.iter().any(|touch| touch.key == key && touch.group.is_probing())
                };
                let mut expected = Vec::new();
                let both: BTreeSet<(u64, u64)> = old.keys().chain(new.keys()).copied().collect();
                for &(a, b) in both.iter().filter(|(a, b)| live.contains(a) && live.contains(b)) {
                    let is = [&old, &new].map(|pairs| pairs.get(&(a, b)).copied().unwrap_or(0));
                    if is[0] != is[1] || probes(a) || probes(b) {
                        expected.push((a, b, is));
                    }
                }
                // The state of a pair before does not matter if one of its keys was not live.
                let were = |a, b| before.contains(&a) && before.contains(&b);
                let known = |&(a, b, [old, new]): &(u64, u64, [usize; 2])| {
                    (a, b, [if were(a, b) { old } else { 0 }, new])
                };
                let mut pairs: Vec<_> = found.pairs.iter().map(known).collect();
                pairs.sort_unstable();
                assert!(
                    pairs == expected,
                    "seed {seed}, round {round}: {} of {}",
                    pairs.len(),
                    expected.len()
                );
                assert_eq!(found.change, left_after - left_before, "seed {seed}, round {round}");
                changed += expected.iter().filter(|(_, _, is)| is[0] > 0 && is[1] == 0).count();
                let rows: Vec<BandRow> = touched
                    .iter()
                    .filter(|touch| touch.group.is_created() || touch.group.is_deleted())
                    .map(|touch| BandRow {
                        key: touch.key,
                        diff: if touch.group.is_created() { 1 } else { -1 },
                    })
                    .collect();
                if let Some(written) = write(folder.path(), "test", rows).expect("written") {
                    table.push(Segment::open(folder.path(), &written).expect("opened"));
                }
            }
            assert!(changed > 0 || band > 0, "seed {seed}: the rule left out nothing");
        }
    }

    /// The pairs equal those of brute force and the near rule, each once, for any history of runs
    /// and any touched fingerprints.
    #[test]
    fn changed_pairs_are_those_of_brute_force() {
        println!("seeds 1 to 40");
        for seed in 1..=40 {
            let mut random = Random(seed);
            let (k, band) = (random.below(4) as u32, random.below(4));
            let bands = Bands::new(k, Some(4)).expect("bands");
            // Few distinct keys in three buckets, so that many are added again after a removal, and
            // many are near each other.
            let mut draw = |count: usize| -> BTreeSet<u64> {
                let key = |_| {
                    (random.below(3) as u64) << 60
                        | (random.next() & random.next() & 0x8421_0842_1084)
                };
                (0..count).map(key).collect()
            };
            let folder = tempfile::tempdir().expect("a folder");
            let (mut table, mut live) = (Table::<BandRow>::default(), BTreeSet::new());
            for count in [600, 100, 0, 100, 100] {
                let change = |key: u64| BandRow {
                    key,
                    diff: if live.remove(&key) { -1 } else { i8::from(live.insert(key)) },
                };
                let rows: Vec<BandRow> = draw(count).into_iter().map(change).collect();
                if let Some(written) = write(folder.path(), "test", rows).expect("written") {
                    table.push(Segment::open(folder.path(), &written).expect("opened"));
                }
            }
            let touch = |key| {
                let group = match (live.contains(&key), key % 3) {
                    (false, _) => GroupTouch::CREATED | GroupTouch::PROBE,
                    (true, 0) => GroupTouch::DELETED,
                    (true, 1) => GroupTouch::PROBE,
                    (true, _) => GroupTouch::NONE,
                };
                TouchedFingerprint { band: band as u64, key, group }
            };
            let touched: Vec<TouchedFingerprint> = draw(150).into_iter().map(touch).collect();
            let mut found = Collected::default();
            changed_pairs(&table, &touched, &bands, band, &mut Scratch::new(), &mut found);
            let found = found.pairs;

            let after = |flag: GroupTouch| {
                touched.iter().filter(move |touch| touch.group.has(flag)).map(|touch| touch.key)
            };
            let deleted: BTreeSet<u64> = after(GroupTouch::DELETED).collect();
            let lives: BTreeSet<u64> = live
                .iter()
                .copied()
                .chain(after(GroupTouch::CREATED))
                .filter(|key| !deleted.contains(key))
                .collect();
            let earlier = bands.key_earlier(band);
            let owns = |difference: u64| {
                difference != 0
                    && difference.count_ones() <= k
                    && difference & bands.key_fixed(band) == 0
                    && earlier.iter().all(|mask| difference & mask != 0)
            };
            let (mut expected, _) = examined(&lives, |a, b| owns(a ^ b));
            let probing: BTreeSet<u64> = after(GroupTouch::PROBE).collect();
            let is_probed = |a: u64, b: u64| probing.contains(&a) || probing.contains(&b);
            expected.retain(|&(a, b), _| is_probed(a, b));
            let found =
                found.into_iter().filter(|&(a, b, [_, after])| after > 0 && is_probed(a, b));
            let found: Vec<(u64, u64)> = found.map(|(a, b, _)| (a, b)).collect();
            assert!(!expected.is_empty() || k == 0 || band > 0, "seed {seed}: nothing to find");
            assert_eq!(sorted(found), Vec::from_iter(expected.into_keys()), "seed {seed}");
        }
    }
}
