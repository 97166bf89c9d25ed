//! Finds the different hashes among hashes that are uniform, and counts them, without sorting.

use crate::text::shingles;

/// The most hashes for which a table is used. More hashes are sorted, because their table would not
/// fit the cache.
const TABLE_MAX: usize = 1 << 14;
/// The most looks into the table for each hash on average, many times what is usual. The hashes of
/// a text that is made to need more are sorted.
const LOOKS_MAX: usize = 8;

/// Memory that is reused from text to text.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    /// A hash table with open addressing, at most half full, of the places of the different hashes,
    /// counted from 1; 0 is an empty place.
    table: Vec<u32>,
    /// The different hashes, in the order of their first occurrence.
    different: Vec<u64>,
}

impl Buffers {
    /// Finds the different ones of `hashes`, and calls `met` with each hash and its place among
    /// them. Returns whether it did: too many hashes, or ones that collide, are to be sorted.
    #[inline]
    fn find(&mut self, hashes: &[u64], mut met: impl FnMut(u64, usize)) -> bool {
        let Buffers { table, different } = self;
        different.clear();
        if hashes.len() > TABLE_MAX {
            return false;
        }
        let bits = (2 * hashes.len()).next_power_of_two().ilog2().max(1);
        table.clear();
        table.resize(1 << bits, 0);
        let last = table.len() - 1;
        let mut looks_left = LOOKS_MAX * hashes.len();
        for hash in hashes {
            let mut at = (hash >> (u64::BITS - bits)) as usize;
            let place = loop {
                let place = table[at] as usize;
                if place == 0 {
                    different.push(*hash);
                    table[at] = different.len() as u32;
                    break different.len() - 1;
                }
                if different[place - 1] == *hash {
                    break place - 1;
                }
                if looks_left == 0 {
                    return false;
                }
                looks_left -= 1;
                at = (at + 1) & last;
            };
            met(*hash, place);
        }
        true
    }
}

/// Removes duplicates from hashes. The order of the result is a function of the hashes.
pub fn distinct(hashes: &mut Vec<u64>, buffers: &mut Buffers) {
    if buffers.find(hashes, |_, _| ()) {
        std::mem::swap(hashes, &mut buffers.different);
    } else {
        shingles::distinct(hashes);
    }
}

/// Writes to `out` each different hash of `hashes` and how often it occurs. Their order is a
/// function of the hashes, which may be in another order then.
pub fn tally(hashes: &mut Vec<u64>, buffers: &mut Buffers, out: &mut Vec<(u64, u32)>) {
    out.clear();
    let count = |hash: u64, place: usize| match out.get_mut(place) {
        Some((_, count)) => *count += 1,
        None => out.push((hash, 1)),
    };
    if !buffers.find(hashes, count) {
        out.clear();
        shingles::sort(hashes);
        out.extend(hashes.chunk_by(|a, b| a == b).map(|equal| (equal[0], equal.len() as u32)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Any hashes are counted, and lose their duplicates, as the definition says: with 0, with
        /// few different ones, and with many that collide in the table. Nothing of earlier hashes
        /// remains.
        #[test]
        fn counts_are_plain(
            few in prop::collection::vec(prop_oneof![Just(0u64), 0..50u64, any::<u64>()], 0..300),
            crowded in 0..1500u64,
        ) {
            let mut hashes = few;
            hashes.extend((0..crowded).flat_map(|n| [(7 << 40) + n, (7 << 40) + n / 2]));
            let mut expected = BTreeMap::new();
            hashes.iter().for_each(|hash| *expected.entry(*hash).or_insert(0) += 1);
            let mut buffers = Buffers { table: vec![9; 5], different: vec![7; 3] };
            let (mut set, mut counts) = (hashes.clone(), vec![(1, 1); 3]);
            distinct(&mut set, &mut buffers);
            set.sort_unstable();
            prop_assert_eq!(set, Vec::from_iter(expected.keys().copied()));
            tally(&mut hashes, &mut buffers, &mut counts);
            counts.sort_unstable();
            prop_assert_eq!(counts, Vec::from_iter(expected));
        }
    }
}
