//! Buckets: in come touched fingerprints under each band's key, out go pairs of fingerprints within k bits of which one is
//! touched. Every probing fingerprint is held against all that live in its bucket (old - gone + new); the lowest band on which
//! a pair agrees owns it, so each is found once (Manku, Jain, Das Sarma 2007, section 3; in place of their permuted tables a
//! bucket that is large is divided once more, see [`crate::candidates::hamming`]).

use crate::candidates::bands::Bands;
use crate::candidates::hamming::{self, Scratch};
use crate::error::Result;
use crate::fold::epoch::Epoch;
use crate::fold::groups::{BORN, GONE, GroupRow, INSIDE, PROBE, Touched};
use crate::store::cursor::Keys;
use crate::store::runs::Table;
use crate::store::table::{Row, table};

table! {
    /// A distinct live fingerprint in a band above 0.
    pub struct BandRow in "band", columns BandColumns {
        key { /// The fingerprint as the band's sort key.
              key: u64 }
        value { }
        history { }
    }
}

/// The name of the table of `band`, 1 and up.
pub fn band_table(band: usize) -> String {
    format!("band_{band}")
}

/// Two fingerprints within k bits, or one and itself where a group is to be examined inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct NearFingerprints {
    /// The one with the lesser key of band 0, as that key.
    pub a: u64,
    /// The other, likewise.
    pub b: u64,
}

/// Calls `emit` with the pairs that `band` owns of its `touched`, which ascend, and all that live in their buckets after the epoch
/// (old - gone + new): keys of the band that differ in at most k bits, each pair once. `before` is the band's table as
/// the epoch found it; only buckets in which something probes are read, and whether an old key lives is looked up for
/// those within k alone, since they are few. Needs 8 bytes a row of the largest bucket, and 16 bytes a pair in it.
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
        // An old key that several runs have was met several times.
        pairs.sort_unstable();
        pairs.dedup();
        for (a, b) in pairs.drain(..) {
            let touch = touched.binary_search_by_key(&b, |touch| touch.key).map(|at| &touched[at]);
            if touch.map_or(true, |touch| touch.bits & GONE == 0 && !probes(touch)) && old.lives(b) {
                emit(a, b);
            }
        }
        hamming::within(&probing, bands.k(), fixed, &earlier, scratch, emit);
    }
}

/// Whether a touched fingerprint is held against all others of its bucket.
fn probes(touch: &Touched) -> bool {
    touch.bits & GONE == 0 && touch.bits & PROBE != 0
}

/// Finds pairs in the buckets that this worker owns; `touched` are sorted.
pub fn buckets(
    epoch: &Epoch,
    bands: &Bands,
    touched: &[Touched],
    give: &mut dyn FnMut(NearFingerprints),
) -> Result<()> {
    let mut scratch = Scratch::new();
    for touched in touched.chunk_by(|a, b| a.band == b.band) {
        let band = touched[0].band as usize;
        let in_band_0 = |key: u64| if band == 0 { key } else { bands.key(0, bands.unkey(band, key)) };
        let mut found = 0;
        let mut emit = |x: u64, y: u64| {
            let (x, y) = (in_band_0(x), in_band_0(y));
            give(NearFingerprints { a: x.min(y), b: x.max(y) });
            found += 1;
        };
        if band == 0 {
            let before = epoch.before::<GroupRow>("fingerprint_contents")?;
            near(&before, touched, bands, band, &mut scratch, &mut emit);
            touched.iter().filter(|touch| touch.bits & INSIDE != 0).for_each(|touch| emit(touch.key, touch.key));
        } else {
            let before = epoch.before::<BandRow>(&band_table(band))?;
            near(&before, touched, bands, band, &mut scratch, &mut emit);
            let row = |touch: &Touched| match touch.bits {
                bits if bits & BORN != 0 => Some(BandRow { key: touch.key, diff: 1 }),
                bits if bits & GONE != 0 => Some(BandRow { key: touch.key, diff: -1 }),
                _ => None,
            };
            epoch.write(&band_table(band), touched.iter().filter_map(row))?;
        }
        epoch.count("fingerprint_pairs", found);
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

    /// Exact: the pairs are those of brute force, each once, between what probes and what lives after the epoch, whatever runs added
    /// and took back before and whatever is touched.
    #[test]
    fn near_is_brute_force() {
        println!("seeds 1 to 40");
        for seed in 1..=40 {
            let mut random = Random(seed);
            let (k, band) = (random.below(4) as u32, random.below(4));
            let bands = Bands::new(k, Some(4)).expect("bands");
            // Few distinct keys in three buckets, so that they come, go and come again, and are near each other.
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
                    (false, _) => BORN | PROBE,
                    (true, 0) => GONE,
                    (true, 1) => PROBE,
                    (true, _) => 0,
                };
                Touched { band: band as u64, key, bits }
            };
            let touched: Vec<Touched> = draw(150).into_iter().map(touch).collect();
            let mut found = Vec::new();
            near(&table, &touched, &bands, band, &mut Scratch::new(), &mut |a, b| found.push((a.min(b), a.max(b))));

            let after = |bits: u64| touched.iter().filter(move |touch| touch.bits & bits != 0).map(|touch| touch.key);
            let gone: BTreeSet<u64> = after(GONE).collect();
            let lives: BTreeSet<u64> =
                live.iter().copied().chain(after(BORN)).filter(|key| !gone.contains(key)).collect();
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
