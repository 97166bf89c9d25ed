//! The near rule: which fingerprints within k bits are compared where very many are.
//!
//! The variants of a template, or texts made to collide, fill thousands of fingerprints near each
//! other. To compare them all would take quadratic time. Two near fingerprints meet in one bucket:
//! that of the lowest band on which they agree. The keys of a bucket are ordered by a hash. The
//! *earlier* keys of a key are those that are near it and come before it in this order. A key with
//! n earlier keys is compared with the first [`examined_before`]`(n)` of them, by the same function
//! as the content of rank n in a group: with all if n is less than [`PIVOTS`], and always with at
//! least [`PIVOTS_LEAST`](crate::candidates::pivots::PIVOTS_LEAST) if there are as many. So every
//! key is linked to the keys around it, and the number of pairs is linear in the number of keys.
//!
//! The rule reads the live keys of one bucket only, hence the live set only. If a key appears or
//! disappears, the rule changes only for the keys near it that come after it in the order. An epoch
//! that finds these keys and all their earlier keys knows every change.
//!
//! Each fingerprint may have many contents. The more earlier keys the later key of a pair has, the
//! fewer contents of the two fingerprints are compared: [`product_max`].

use crate::candidates::bands::Bands;
use crate::candidates::hamming::{self, Scratch};
use crate::candidates::pivots::{PIVOTS, Unexamined, examined_before};
use crate::text::hash::finish;
use std::collections::BTreeMap;

/// With fewer earlier keys than this, as many contents of two near fingerprints are compared as the
/// pivot rule allows.
pub const EARLIER_FEW: usize = 4;

/// The greatest product of the ranks, counted from 1, of two contents that are compared, if the
/// later of their near fingerprints has `earlier` earlier keys.
///
/// The product halves when the number of earlier keys doubles. So the number of comparisons of a
/// fingerprint hardly grows with it.
///
/// ```
/// use workers::candidates::near::product_max;
///
/// assert_eq!([0, 3, 4, 8, 16, 32, 64, 9_999].map(product_max), [64, 64, 32, 16, 8, 4, 2, 2]);
/// ```
pub fn product_max(earlier: usize) -> usize {
    let doublings = usize::BITS - (earlier / EARLIER_FEW).leading_zeros();
    (PIVOTS >> doublings.min(PIVOTS.ilog2())).max(2)
}

/// The place of a key in the order of its bucket. No two keys have the same one.
pub fn order(key: u64) -> u64 {
    finish(key)
}

/// What the rule leaves unexamined of a key with `earlier` earlier keys.
pub fn unexamined(earlier: usize) -> Unexamined {
    let pairs = (earlier - examined_before(earlier)) as u64;
    Unexamined { buckets: u64::from(pairs > 0), pairs }
}

/// A near pair of one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NearPair {
    later: u64,
    /// The place of `earlier`.
    order: u64,
    earlier: u64,
    /// Whether both keys are live: before a change, and after it.
    live: [bool; 2],
}

/// A pair that the rule examines, before a change or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExaminedPair {
    /// The key that comes later in the order of the bucket.
    pub later: u64,
    /// The key that comes earlier.
    pub earlier: u64,
    /// Whether both keys are live, before and after.
    pub live: [bool; 2],
    /// The greatest product of ranks of contents that are compared, before and after. If it is 0,
    /// the rule does not examine the pair.
    pub product_max: [usize; 2],
}

/// When as many pairs are held, those that the rule cannot examine any more are dropped.
const PAIRS_MAX: usize = 1 << 20;

/// Collects the earlier keys of each key of a bucket, and applies the rule to them.
///
/// Pairs come in any order, each once. Memory is bounded by the pairs that the rule examines, not
/// by all near pairs.
#[derive(Debug, Default)]
pub struct Neighbours {
    pairs: Vec<NearPair>,
    /// The live pairs that were dropped, by their later key.
    dropped: BTreeMap<u64, [usize; 2]>,
    pairs_max: usize,
}

impl Neighbours {
    /// Adds a near pair. `live` says whether both keys are live before a change and after it.
    pub fn add(&mut self, a: u64, b: u64, live: [bool; 2]) {
        let (earlier, later) = if order(a) < order(b) { (a, b) } else { (b, a) };
        self.pairs.push(NearPair { later, order: order(earlier), earlier, live });
        if self.pairs.len() >= self.pairs_max.max(PAIRS_MAX) {
            self.compact();
            self.pairs_max = 2 * self.pairs.len();
        }
    }

    /// Drops the pairs that the rule will not examine, whichever pairs are added later.
    fn compact(&mut self) {
        self.pairs.sort_unstable();
        let mut kept = Vec::with_capacity(self.pairs.len() / 2);
        for pairs in self.pairs.chunk_by(|a, b| a.later == b.later) {
            let dropped = self.dropped.entry(pairs[0].later).or_default();
            // From `PIVOTS` on, the more earlier keys there are, the fewer are examined.
            let first =
                totals(pairs, *dropped).map(|n| if n < PIVOTS { n } else { examined_before(n) });
            for (pair, rank) in ranked(pairs) {
                if (0..2).any(|time| pair.live[time] && rank[time] < first[time]) {
                    kept.push(*pair);
                } else {
                    (0..2).for_each(|time| dropped[time] += usize::from(pair.live[time]));
                }
            }
        }
        self.pairs = kept;
    }

    /// Calls `examined` with each pair that the rule examines before or after, and `counted` with
    /// the number of earlier keys of each later key, before and after.
    pub fn finish(
        &mut self,
        mut examined: impl FnMut(ExaminedPair),
        mut counted: impl FnMut(u64, [usize; 2]),
    ) {
        self.pairs.sort_unstable();
        for pairs in self.pairs.chunk_by(|a, b| a.later == b.later) {
            let totals =
                totals(pairs, self.dropped.get(&pairs[0].later).copied().unwrap_or_default());
            counted(pairs[0].later, totals);
            for (&NearPair { later, earlier, live, .. }, rank) in ranked(pairs) {
                let products = [0, 1].map(|time| {
                    match live[time] && rank[time] < examined_before(totals[time]) {
                        true => product_max(totals[time]),
                        false => 0,
                    }
                });
                if products != [0; 2] {
                    examined(ExaminedPair { later, earlier, live, product_max: products });
                }
            }
        }
        self.pairs.clear();
        self.dropped.clear();
        self.pairs_max = 0;
    }
}

/// The live pairs of one later key, before and after.
fn totals(pairs: &[NearPair], dropped: [usize; 2]) -> [usize; 2] {
    [0, 1].map(|time| dropped[time] + pairs.iter().filter(|pair| pair.live[time]).count())
}

/// The pairs of one later key, each with its rank among the live ones, before and after.
fn ranked(pairs: &[NearPair]) -> impl Iterator<Item = (&NearPair, [usize; 2])> {
    pairs.iter().scan([0; 2], |next, pair| {
        let rank = *next;
        (0..2).for_each(|time| next[time] += usize::from(pair.live[time]));
        Some((pair, rank))
    })
}

/// The near rule over a whole live set: the plain form of what epochs bring up to date.
///
/// ```
/// use workers::candidates::bands::Bands;
/// use workers::candidates::near::NearRule;
///
/// // All pairs are examined where fewer than 64 fingerprints are near one.
/// let few: Vec<u64> = (0..8).collect();
/// let rule = NearRule::of(Bands::new(3, None)?, few);
/// assert!(rule.product_max(1, 2) == 32 && rule.unexamined().pairs == 0);
/// // 1,024 fingerprints in ten bits have up to 175 others within three bits.
/// let many: Vec<u64> = (0..1024).collect();
/// assert!(NearRule::of(Bands::new(3, None)?, many).unexamined().pairs > 0);
/// # Ok::<(), String>(())
/// ```
pub struct NearRule {
    bands: Bands,
    masks: Vec<u64>,
    /// By band and later key: the place of the last earlier key that is examined, and the greatest
    /// product of ranks. Only keys that have many earlier keys are here.
    crowded: BTreeMap<(usize, u64), (u64, usize)>,
    unexamined: Unexamined,
    scratch: Scratch,
    neighbours: Neighbours,
}

impl NearRule {
    /// The rule over no fingerprints.
    pub fn new(bands: Bands) -> NearRule {
        NearRule {
            masks: bands.masks(),
            bands,
            crowded: BTreeMap::new(),
            unexamined: Unexamined::default(),
            scratch: Scratch::new(),
            neighbours: Neighbours::default(),
        }
    }

    /// The rule over distinct `fingerprints`.
    pub fn of(bands: Bands, fingerprints: Vec<u64>) -> NearRule {
        let mut rule = NearRule::new(bands);
        for band in 0..rule.bands.count() {
            let mut keys: Vec<u64> =
                fingerprints.iter().map(|one| rule.bands.key(band, *one)).collect();
            keys.sort_unstable();
            rule.add_band(band, keys.into_iter());
        }
        rule
    }

    /// Adds the keys of `band` of all live fingerprints, which ascend.
    pub fn add_band(&mut self, band: usize, keys: impl Iterator<Item = u64>) {
        let fixed = self.bands.key_fixed(band);
        let mut bucket: Vec<u64> = Vec::new();
        for key in keys {
            if bucket.last().is_some_and(|last| last & fixed != key & fixed) {
                self.add_bucket(band, &bucket);
                bucket.clear();
            }
            bucket.push(key);
        }
        self.add_bucket(band, &bucket);
    }

    fn add_bucket(&mut self, band: usize, bucket: &[u64]) {
        if bucket.len() <= EARLIER_FEW {
            return;
        }
        let NearRule { bands, crowded, unexamined: sum, scratch, neighbours, .. } = self;
        let earlier = bands.key_earlier(band);
        let mut add = |a, b| neighbours.add(a, b, [false, true]);
        hamming::within(bucket, bands.rule(band, &earlier), scratch, &mut add);
        let mut examined: BTreeMap<u64, u64> = BTreeMap::new();
        let mut many = Vec::new();
        neighbours.finish(
            |pair| {
                let place = examined.entry(pair.later).or_default();
                *place = order(pair.earlier).max(*place);
            },
            |later, [_, earlier]| {
                let left = unexamined(earlier);
                (sum.buckets, sum.pairs) = (sum.buckets + left.buckets, sum.pairs + left.pairs);
                if earlier >= EARLIER_FEW {
                    many.push((later, product_max(earlier)));
                }
            },
        );
        let of = |(later, product): &(u64, usize)| {
            Some(((band, *later), (*examined.get(later)?, *product)))
        };
        crowded.extend(many.iter().filter_map(of));
    }

    /// The greatest product of the ranks, counted from 1, of two contents that are compared, for
    /// two fingerprints within k bits. If it is 0, none are compared.
    pub fn product_max(&self, a: u64, b: u64) -> usize {
        let Some(band) = self.masks.iter().position(|mask| (a ^ b) & mask == 0) else {
            return PIVOTS;
        };
        let (a, b) = (self.bands.key(band, a), self.bands.key(band, b));
        let (earlier, later) = if order(a) < order(b) { (a, b) } else { (b, a) };
        match self.crowded.get(&(band, later)) {
            Some((last, _)) if order(earlier) > *last => 0,
            Some((_, product)) => *product,
            None => PIVOTS,
        }
    }

    /// What the rule leaves unexamined: the keys that have too many earlier keys, and their pairs.
    pub fn unexamined(&self) -> Unexamined {
        self.unexamined
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;
    use std::collections::BTreeSet;

    /// The product of ranks by its definition: 64 below 4 earlier ones, halved with each doubling.
    fn product_of(earlier: usize) -> usize {
        [(64, 2), (32, 4), (16, 8), (8, 16), (4, 32)]
            .into_iter()
            .find_map(|(from, product)| (earlier >= from).then_some(product))
            .unwrap_or(64)
    }

    /// The rule over a whole set is its definition, pair by pair.
    #[test]
    fn equals_the_definition() {
        println!("seeds 1 to 6");
        for seed in 1..=6 {
            let mut random = Random(seed);
            let bands = Bands::new(3, [None, Some(6)][seed as usize % 2]).expect("bands");
            // Ten bits vary: in one band, in another, in two.
            let free = [0x03ff, 0x03ff << 16, 0x001f_0000_001f][seed as usize % 3];
            let all: BTreeSet<u64> = (0..1500).map(|_| random.next() & free).collect();
            let list: Vec<u64> = all.iter().copied().collect();
            let rule = NearRule::of(bands.clone(), list.clone());
            let masks = bands.masks();
            let band =
                |a: u64, b: u64| masks.iter().position(|mask| (a ^ b) & mask == 0).expect("near");
            let near = |a: u64, b: u64| a != b && (a ^ b).count_ones() <= 3;
            let (mut left, mut crowded) = (0, BTreeSet::new());
            for &later in &list {
                for of in 0..bands.count() {
                    let place = |one: u64| order(bands.key(of, one));
                    let earlier = list
                        .iter()
                        .copied()
                        .filter(|&one| near(one, later) && band(one, later) == of);
                    let mut earlier: Vec<u64> =
                        earlier.filter(|&one| place(one) < place(later)).collect();
                    earlier.sort_unstable_by_key(|&one| place(one));
                    let n = earlier.len();
                    let first = if n < 64 { n } else { (64 * 64 / (n + 1)).max(4) };
                    for (rank, &one) in earlier.iter().enumerate() {
                        let product = if rank < first { product_of(n) } else { 0 };
                        assert_eq!(rule.product_max(one, later), product, "seed {seed}");
                        assert_eq!(rule.product_max(later, one), product, "seed {seed}");
                    }
                    left += (n - first) as u64;
                    if n > first {
                        crowded.insert((of, later));
                    }
                }
            }
            assert!(left > 100, "seed {seed}: too few are near");
            let sum = Unexamined { buckets: crowded.len() as u64, pairs: left };
            assert_eq!(rule.unexamined(), sum, "seed {seed}");
        }
    }

    /// Pairs that are dropped while others are added change nothing.
    #[test]
    fn dropped_pairs_are_counted() {
        let mut random = Random(9);
        let keys: Vec<u64> = (0..300).map(|_| random.next()).collect();
        let times = |n: u64| [[true, true], [true, false], [false, true]][n as usize % 3];
        let collected = |compact_each: usize| {
            let mut neighbours = Neighbours::default();
            let (mut pairs, mut counts) = (Vec::new(), Vec::new());
            let mut added = 0;
            for (at, &a) in keys.iter().enumerate() {
                for &b in &keys[..at] {
                    neighbours.add(a, b, times(a ^ b));
                    added += 1;
                    if added % compact_each == 0 {
                        neighbours.compact();
                    }
                }
            }
            neighbours.finish(|pair| pairs.push(pair), |_, count| counts.push(count));
            (pairs, counts)
        };
        let plain = collected(usize::MAX);
        assert_eq!(plain.1.iter().flatten().sum::<usize>(), {
            let all = (0..300).flat_map(|at: usize| (0..at).map(move |b| (at, b)));
            all.map(|(a, b)| times(keys[a] ^ keys[b]).iter().filter(|live| **live).count())
                .sum::<usize>()
        });
        for each in [1000, 77, 5000] {
            assert!(collected(each) == plain, "compacted after each {each}");
        }
    }
}
