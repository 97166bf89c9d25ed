//! Counts how often each hash occurs.

use crate::text::shingles;

/// The most looks into the table for each hash on average, many times what is usual. The hashes of
/// a text that is made to need more are sorted.
const LOOKS_MAX: usize = 8;

/// Writes to `out` each different hash of `hashes` and how often it occurs. Their order is a
/// function of the hashes, which are uniform, or may be sorted and are in another order then.
///
/// `places` is a buffer: a hash table with open addressing, at most half full, of the places in
/// `out`, counted from 1; 0 is an empty place.
pub fn tally(hashes: &mut Vec<u64>, places: &mut Vec<u32>, out: &mut Vec<(u64, u32)>) {
    out.clear();
    let bits = (2 * hashes.len()).next_power_of_two().ilog2().clamp(1, u32::BITS);
    places.clear();
    places.resize(1 << bits, 0);
    let last = places.len() - 1;
    let mut looks_left = LOOKS_MAX * hashes.len();
    for hash in &*hashes {
        let mut at = (hash >> (u64::BITS - bits)) as usize;
        loop {
            let place = &mut places[at];
            if *place == 0 {
                out.push((*hash, 1));
                *place = out.len() as u32;
                break;
            }
            let (found, count) = &mut out[*place as usize - 1];
            if found == hash {
                *count += 1;
                break;
            }
            at = (at + 1) & last;
            if looks_left == 0 {
                return tally_sorted(hashes, out);
            }
            looks_left -= 1;
        }
    }
}

/// As [`tally`], by sorting.
fn tally_sorted(hashes: &mut Vec<u64>, out: &mut Vec<(u64, u32)>) {
    out.clear();
    shingles::sort(hashes);
    out.extend(hashes.chunk_by(|a, b| a == b).map(|equal| (equal[0], equal.len() as u32)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Any hashes are counted as their definition says: few that repeat, and many that collide
        /// in the table. Nothing of earlier hashes remains.
        #[test]
        fn counts_are_plain(
            few in prop::collection::vec(prop_oneof![Just(0u64), 0..50u64, any::<u64>()], 0..300),
            crowded in 0..1500u64,
        ) {
            let mut hashes = few;
            hashes.extend((0..crowded).flat_map(|n| [(7 << 40) + n, (7 << 40) + n / 2]));
            let mut expected = BTreeMap::new();
            hashes.iter().for_each(|hash| *expected.entry(*hash).or_insert(0) += 1);
            let mut counts = vec![(1, 1); 3];
            tally(&mut hashes, &mut vec![9; 5], &mut counts);
            counts.sort_unstable();
            prop_assert_eq!(counts, Vec::from_iter(expected));
        }
    }
}
