//! Buckets: in come touched fingerprints under each band's key, out go pairs of fingerprints within k bits of which one is
//! touched. Every probing fingerprint is held against all that live in its bucket (old - gone + new); the lowest band on which
//! a pair agrees owns it, so each is found once (Manku, Jain, Das Sarma 2007, section 3; in place of their permuted tables a
//! bucket that is large is divided once more, see [`crate::hamming`]).

use crate::bands::Bands;
use crate::epoch::Epoch;
use crate::error::Result;
use crate::groups::{BORN, GONE, GroupRow, INSIDE, PROBE, Touched};
use crate::hamming::{self, Scratch};
use crate::store::runs::Table;
use crate::store::table::table;

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

/// Who stands in a bucket after the epoch: those that probe, and the others.
pub fn split_bucket(old: &[u64], touched: &[Touched], probing: &mut Vec<u64>, resting: &mut Vec<u64>) {
    probing.clear();
    resting.clear();
    let mut old = old.iter().copied().peekable();
    for touch in touched {
        while let Some(key) = old.next_if(|key| *key < touch.key) {
            resting.push(key);
        }
        old.next_if_eq(&touch.key);
        if touch.bits & GONE == 0 {
            if touch.bits & PROBE != 0 { &mut *probing } else { &mut *resting }.push(touch.key);
        }
    }
    resting.extend(old);
}

/// The live keys of a band in one bucket, as the epoch found them.
enum Before {
    Zero(Table<GroupRow>),
    Other(Table<BandRow>),
}

impl Before {
    fn open(epoch: &Epoch, band: usize) -> Result<Before> {
        Ok(match band {
            0 => Before::Zero(epoch.before("fingerprint_contents")?),
            _ => Before::Other(epoch.before(&band_table(band))?),
        })
    }

    fn bucket(&self, fixed: u64, key: u64) -> Vec<u64> {
        let (first, last) = (key & fixed, key | !fixed);
        let end = last.checked_add(1);
        match self {
            Before::Zero(table) if table.is_empty() => Vec::new(),
            Before::Other(table) if table.is_empty() => Vec::new(),
            Before::Zero(table) => {
                let mut keys: Vec<u64> = table.range(first, end).iter().map(|row| row.key).collect();
                keys.dedup();
                keys
            }
            Before::Other(table) => table.range(first, end).iter().map(|row| row.key).collect(),
        }
    }
}

/// Finds pairs in the buckets that this worker owns; `touched` are sorted.
pub fn buckets(
    epoch: &Epoch,
    bands: &Bands,
    touched: &[Touched],
    give: &mut dyn FnMut(NearFingerprints),
) -> Result<()> {
    let mut scratch = Scratch::new();
    let (mut probing, mut resting) = (Vec::new(), Vec::new());
    for touched in touched.chunk_by(|a, b| a.band == b.band) {
        let band = touched[0].band as usize;
        let (fixed, earlier) = (bands.key_fixed(band), bands.key_earlier(band));
        let before = Before::open(epoch, band)?;
        let in_band_0 = |key: u64| if band == 0 { key } else { bands.key(0, bands.unkey(band, key)) };
        let mut found = 0;
        let mut emit = |x: u64, y: u64| {
            let (x, y) = (in_band_0(x), in_band_0(y));
            give(NearFingerprints { a: x.min(y), b: x.max(y) });
            found += 1;
        };
        for touched in touched.chunk_by(|a, b| a.key & fixed == b.key & fixed) {
            let old = before.bucket(fixed, touched[0].key);
            split_bucket(&old, touched, &mut probing, &mut resting);
            hamming::between(&probing, &resting, bands.k(), fixed, &earlier, &mut scratch, &mut emit);
            hamming::within(&probing, bands.k(), fixed, &earlier, &mut scratch, &mut emit);
            if band == 0 {
                touched.iter().filter(|touch| touch.bits & INSIDE != 0).for_each(|touch| emit(touch.key, touch.key));
            }
        }
        epoch.count("fingerprint_pairs", found);
        if band > 0 {
            let row = |touch: &Touched| match touch.bits {
                bits if bits & BORN != 0 => Some(BandRow { key: touch.key, diff: 1 }),
                bits if bits & GONE != 0 => Some(BandRow { key: touch.key, diff: -1 }),
                _ => None,
            };
            epoch.write(&band_table(band), touched.iter().filter_map(row))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bucket after the epoch is what was there, less what is gone, with what is new; each key is on one side.
    #[test]
    fn old_less_gone_with_new() {
        let touch = |key, bits| Touched { band: 0, key, bits };
        let touched = [touch(1, BORN | PROBE), touch(4, GONE), touch(5, PROBE), touch(7, 0), touch(9, BORN | PROBE)];
        let (mut probing, mut resting) = (vec![99], vec![99]);
        split_bucket(&[2, 4, 5, 7, 8], &touched, &mut probing, &mut resting);
        assert_eq!((probing, resting), (vec![1, 5, 9], vec![2, 7, 8]));
    }
}
