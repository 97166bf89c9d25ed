//! Finds the pairs of fingerprints within k bits that involve a changed fingerprint.
//!
//! Two fingerprints within k bits agree in at least one band, so only fingerprints in the same
//! bucket are compared (Manku, Jain, Das Sarma 2007, section 3). A pair may agree in several bands;
//! the lowest of them reports it, so each pair is found once. Where the paper keeps permuted
//! tables, we split a large bucket once more: see [`crate::candidates::hamming`].

use crate::candidates::bands::Bands;
use crate::candidates::hamming::{self, Scratch};
use crate::error::Result;
use crate::fold::counters::Counter;
use crate::fold::epoch::Epoch;
use crate::fold::groups::{CREATED, DELETED, INSIDE, PROBE, Touched};
use crate::store::cursor::Keys;
use crate::store::runs::Table;
use crate::store::table::Row;
use crate::tables::{BandRow, GroupRow};

/// Two fingerprints within k bits, or one fingerprint twice if its group must be examined inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct NearFingerprints {
    /// The lesser fingerprint, as the sort key of band 0.
    pub a: u64,
    /// The greater fingerprint, as the sort key of band 0.
    pub b: u64,
}

/// Calls `emit` once with each pair that `band` reports: a probing fingerprint and another one that
/// is live after the epoch, as keys of the band.
///
/// `touched` ascend, and `before` is the band's table before the epoch. Only buckets with a probing
/// fingerprint are read. Whether an old key is still live is looked up only for keys within k bits,
/// because they are few. Memory is 8 bytes for each row of the largest bucket and 16 bytes for each
/// pair in it.
pub fn near<R: Row<Key = u64>>(
    before: &Table<R>,
    touched: &[Touched],
    bands: &Bands,
    band: usize,
    scratch: &mut Scratch,
    emit: &mut impl FnMut(u64, u64),
) {
    let (fixed, earlier) = (bands.key_fixed(band), bands.key_earlier(band));
    let mut old = Keys::new(before);
    let (mut probing, mut resting, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    for touched in touched.chunk_by(|a, b| a.key & fixed == b.key & fixed) {
        probing.clear();
        probing.extend(touched.iter().filter(|touch| probes(touch)).map(|touch| touch.key));
        let Some(key) = probing.first().copied() else { continue };
        resting.clear();
        old.range(key & fixed..=key | !fixed, |keys| resting.extend_from_slice(keys));
        hamming::between(&probing, &resting, bands.k(), fixed, &earlier, scratch, &mut |a, b| pairs.push((a, b)));
        // A key that several runs contain was compared several times.
        pairs.sort_unstable();
        pairs.dedup();
        for (a, b) in pairs.drain(..) {
            let touch = touched.binary_search_by_key(&b, |touch| touch.key).map(|at| &touched[at]);
            if touch.map_or(true, |touch| touch.bits & DELETED == 0 && !probes(touch)) && old.is_live(b) {
                emit(a, b);
            }
        }
        hamming::within(&probing, bands.k(), fixed, &earlier, scratch, emit);
    }
}

/// Whether a touched fingerprint is compared with all others of its bucket.
fn probes(touch: &Touched) -> bool {
    touch.bits & DELETED == 0 && touch.bits & PROBE != 0
}

/// Emits the near pairs of the buckets that this worker owns, and stores the changed fingerprints.
pub fn buckets(
    epoch: &Epoch,
    bands: &Bands,
    touched: &[Touched],
    emit: &mut dyn FnMut(NearFingerprints),
) -> Result<()> {
    let mut scratch = Scratch::new();
    for touched in touched.chunk_by(|a, b| a.band == b.band) {
        let band = touched[0].band as usize;
        let in_band_0 = |key: u64| if band == 0 { key } else { bands.key(0, bands.unkey(band, key)) };
        let mut found = 0;
        let mut emit_keys = |x: u64, y: u64| {
            let (x, y) = (in_band_0(x), in_band_0(y));
            emit(NearFingerprints { a: x.min(y), b: x.max(y) });
            found += 1;
        };
        if band == 0 {
            let before = epoch.before::<GroupRow>()?;
            near(&before, touched, bands, band, &mut scratch, &mut emit_keys);
            touched.iter().filter(|touch| touch.bits & INSIDE != 0).for_each(|touch| emit_keys(touch.key, touch.key));
        } else {
            let before = epoch.band_before(band)?;
            near(&before, touched, bands, band, &mut scratch, &mut emit_keys);
            let row = |touch: &Touched| match touch.bits {
                bits if bits & CREATED != 0 => Some(BandRow { key: touch.key, diff: 1 }),
                bits if bits & DELETED != 0 => Some(BandRow { key: touch.key, diff: -1 }),
                _ => None,
            };
            epoch.write_band(band, touched.iter().filter_map(row))?;
        }
        epoch.count(Counter::FingerprintPairs, found);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidates::hamming::tests::sorted;
    use crate::random::Random;
    use crate::store::segment::{Segment, write};
    use std::collections::BTreeSet;

    /// The pairs equal those of brute force, each once, for any history of runs and any touched
    /// fingerprints.
    #[test]
    fn near_is_brute_force() {
        println!("seeds 1 to 40");
        for seed in 1..=40 {
            let mut random = Random(seed);
            let (k, band) = (random.below(4) as u32, random.below(4));
            let bands = Bands::new(k, Some(4)).expect("bands");
            // Few distinct keys in three buckets, so that many are added again after a removal, and
            // many are near each other.
            let mut draw = |count: usize| -> BTreeSet<u64> {
                let key = |_| (random.below(3) as u64) << 60 | (random.next() & random.next() & 0x8421_0842_1084);
                (0..count).map(key).collect()
            };
            let folder = tempfile::tempdir().expect("a folder");
            let (mut table, mut live) = (Table::<BandRow>::default(), BTreeSet::new());
            for count in [600, 100, 0, 100, 100] {
                let change =
                    |key: u64| BandRow { key, diff: if live.remove(&key) { -1 } else { i8::from(live.insert(key)) } };
                let rows: Vec<BandRow> = draw(count).into_iter().map(change).collect();
                if let Some(written) = write(folder.path(), "test", rows).expect("written") {
                    table.push(Segment::open(folder.path(), &written).expect("opened"));
                }
            }
            let touch = |key| {
                let bits = match (live.contains(&key), key % 3) {
                    (false, _) => CREATED | PROBE,
                    (true, 0) => DELETED,
                    (true, 1) => PROBE,
                    (true, _) => 0,
                };
                Touched { band: band as u64, key, bits }
            };
            let touched: Vec<Touched> = draw(150).into_iter().map(touch).collect();
            let mut found = Vec::new();
            near(&table, &touched, &bands, band, &mut Scratch::new(), &mut |a, b| found.push((a.min(b), a.max(b))));

            let after = |bits: u64| touched.iter().filter(move |touch| touch.bits & bits != 0).map(|touch| touch.key);
            let deleted: BTreeSet<u64> = after(DELETED).collect();
            let lives: BTreeSet<u64> =
                live.iter().copied().chain(after(CREATED)).filter(|key| !deleted.contains(key)).collect();
            let earlier = bands.key_earlier(band);
            let owns = |difference: u64| {
                difference != 0
                    && difference.count_ones() <= k
                    && difference & bands.key_fixed(band) == 0
                    && earlier.iter().all(|mask| difference & mask != 0)
            };
            let pairs = after(PROBE).flat_map(|a| lives.iter().map(move |&b| (a, b)));
            let expected: BTreeSet<(u64, u64)> =
                pairs.filter(|(a, b)| owns(a ^ b)).map(|(a, b)| (a.min(b), a.max(b))).collect();
            assert!(!expected.is_empty() || k == 0 || band > 0, "seed {seed}: nothing to find");
            assert_eq!(sorted(found), Vec::from_iter(expected), "seed {seed}");
        }
    }
}
