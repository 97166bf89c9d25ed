//! Filters of batches: they tell which batches need not be read for a key because they do not have
//! it.
//!
//! Most keys of a new text are in no batch. To find that out from a batch takes a read of 53 KB if
//! it is on disk, and several cache misses if it is in memory. Its filter has 2.6 KB, of which one
//! cache line is read. Of a hundred keys that the batch does not have, about one passes the filter
//! nevertheless.
//!
//! A filter is a split block Bloom filter (Putze, Sanders, Singler: Cache-, Hash- and
//! Space-Efficient Bloom Filters, 2007), with the blocks of the Parquet format: 256 bits, of which
//! a key sets one in each word of 32 bits.

use crate::store::map::Map;
use bytes::Bytes;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use xxhash_rust::xxh3::xxh3_64;

/// The name of the footer entry that says where filters begin in the file.
pub(in crate::store) const FILTERS: &str = "filters_at";

/// A block.
type Block = [u32; 8];
const BLOCK_BYTES: usize = size_of::<Block>();
/// The size of the xxh3 behind the blocks of a batch.
const DIGEST_BYTES: usize = 8;
/// The multipliers of the Parquet format.
const SALTS: Block = [
    0x47b6_137b,
    0x4497_4d91,
    0x8824_ad5b,
    0xa2b7_289d,
    0x7054_95c7,
    0x2df1_424b,
    0x9efc_4947,
    0x5c6b_fb31,
];

/// The size of the filter of a batch of this many rows, with this many bits for each, in bytes.
pub(in crate::store) fn bytes(rows: usize, bits: usize) -> usize {
    blocks(rows, bits) * BLOCK_BYTES + DIGEST_BYTES
}

fn blocks(rows: usize, bits: usize) -> usize {
    (rows * bits).div_ceil(8 * BLOCK_BYTES)
}

/// The filter of a batch with a row for each of these `keys`, with this many bits for each.
pub(in crate::store) fn of(keys: &[u64], bits: usize) -> Vec<u8> {
    let mut blocks = vec![Block::default(); blocks(keys.len(), bits)];
    for key in keys {
        let (block, mask) = place(*key, blocks.len());
        blocks[block].iter_mut().zip(mask).for_each(|(word, bit)| *word |= bit);
    }
    let mut bytes: Vec<u8> =
        blocks.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    bytes
}

/// The block of a key among this many, and its bits there.
fn place(key: u64, blocks: usize) -> (usize, Block) {
    let hash = xxh3_64(&key.to_le_bytes());
    let block = ((hash >> 32) * blocks as u64) >> 32;
    (block as usize, SALTS.map(|salt| 1 << ((hash as u32).wrapping_mul(salt) >> 27)))
}

/// Whether the `filter` of a batch lets a key pass.
fn passes(filter: &[u8], key: u64) -> bool {
    let (blocks, _) = filter.as_chunks::<BLOCK_BYTES>();
    let (block, mask) = place(key, blocks.len());
    let (words, _) = blocks[block].as_chunks::<4>();
    words.iter().zip(mask).all(|(word, bit)| u32::from_le_bytes(*word) & bit != 0)
}

/// The mapped filters of a segment.
pub(in crate::store) struct Filters {
    map: Map,
    all: Bytes,
    /// Where they begin in the file.
    start: usize,
    /// The size in bytes of each filter but the last.
    each: usize,
    /// Whether the digest of a filter was compared.
    checked: Box<[AtomicBool]>,
}

impl Filters {
    /// The filters at the bytes `at` of a file. Each but the last has `each` bytes.
    pub(in crate::store) fn new(map: Map, at: Range<usize>, each: usize) -> Filters {
        let all = map.bytes().slice(at.clone());
        let checked = all.chunks(each).map(|_| AtomicBool::new(false)).collect();
        Filters { map, all, start: at.start, each, checked }
    }

    /// Whether the batch of this number may have `key`; `None` if its filter is damaged.
    #[inline]
    pub(in crate::store) fn passes(&self, number: usize, key: u64) -> Option<bool> {
        let at = number * self.each..self.all.len().min((number + 1) * self.each);
        if !self.checked[number].load(Ordering::Acquire) {
            self.check(number, at.clone())?;
        }
        Some(passes(&self.all[at.start..at.end - DIGEST_BYTES], key))
    }

    #[cold]
    fn check(&self, number: usize, at: Range<usize>) -> Option<()> {
        self.map.prefetch(self.start + at.start..self.start + at.end);
        let (blocks, digest) = self.all[at].split_last_chunk()?;
        let is_sound = xxh3_64(blocks) == u64::from_le_bytes(*digest);
        self.checked[number].store(is_sound, Ordering::Release);
        is_sound.then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::random::Random;
    use crate::store::damage::caught;
    use crate::store::segment::{Segment, SegmentRef, write};
    use crate::store::table::BATCH_ROWS;
    use crate::store::testing::FilteredRow;
    use std::path::Path;

    /// Each key passes the filter of its batch. Of other keys about one in a hundred passes,
    /// whether they are digests or consecutive numbers.
    #[test]
    fn its_keys_pass_and_few_others() {
        let mut random = Random::seeded();
        for rows in [1, 2, 25, 26, 300, 2048] {
            let digests: Vec<u64> = (0..rows).map(|_| random.next()).collect();
            for keys in [digests, (7..7 + rows as u64).collect()] {
                let filter = of(&keys, 10);
                assert_eq!(filter.len(), bytes(rows, 10));
                let blocks = &filter[..filter.len() - DIGEST_BYTES];
                assert!(keys.iter().all(|key| passes(blocks, *key)));
                let others = (0..10_000).filter(|n| passes(blocks, 1 << 40 | *n << 3)).count();
                assert!(others < 300, "{others} of 10,000 pass {rows} rows");
            }
        }
    }

    /// A segment of some batches. Each key has one row, but every 500th has many, over the ends of
    /// batches.
    fn segment(folder: &Path) -> (SegmentRef, Vec<u64>) {
        let mut random = Random::seeded();
        let mut keys: Vec<u64> = (0..6_000).map(|_| random.next()).collect();
        keys.sort_unstable();
        keys.dedup();
        let rows = |at: usize| if at.is_multiple_of(500) { 3 * BATCH_ROWS as u64 / 2 } else { 1 };
        let row = |key, low| FilteredRow { key, id: Id { high: 0, low }, diff: 1 };
        let all = keys.iter().enumerate();
        let all = all.flat_map(|(at, key)| (0..rows(at)).map(move |low| row(*key, low)));
        (write(folder, "test", all).expect("written").expect("rows"), keys)
    }

    /// `start_of` says of all keys of a segment that the segment may have them, and of few other
    /// keys between them.
    #[test]
    fn segments_may_have_their_keys() {
        let folder = tempfile::tempdir().expect("a folder");
        let (written, keys) = segment(folder.path());
        let open = || Segment::<FilteredRow>::open(folder.path(), &written).expect("opened");
        let segment = open();
        assert!(
            segment.batches() > 10 && keys.iter().all(|key| segment.start_of(*key, 0).is_some())
        );
        let others = keys.windows(2).map(|two| two[0] + (two[1] - two[0]) / 2);
        let passed = others.filter(|key| segment.start_of(*key, 0).is_some()).count();
        assert!(passed < 6_000 / 30, "{passed} of 6,000 pass");
        assert!(
            segment.start_of(keys[0] - 1, 0).is_none()
                && segment.start_of(keys[5_999] + 1, 0).is_none()
        );
    }

    /// A damaged filter would hide rows. So it ends the reading, and no batch is read or left out
    /// because of it.
    #[test]
    fn damaged_filters_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let (written, keys) = segment(folder.path());
        let path = written.path(folder.path());
        let mut bytes = std::fs::read(&path).expect("readable");
        // The filters end where the footer begins, which has this mark and no batch behind it.
        let end = bytes.windows(8).rposition(|eight| eight == [255, 255, 255, 255, 0, 0, 0, 0]);
        bytes[end.expect("a mark") - 20] ^= 1;
        std::fs::write(&path, bytes).expect("written");
        let segment = Segment::<FilteredRow>::open(folder.path(), &written).expect("opened");
        let last = keys[keys.len() - 1];
        let error = caught(|| Ok(segment.start_of(last, 0))).expect_err("damaged").to_string();
        assert!(error.contains("a filter is not as it was written"), "{error}");
        assert!(segment.start_of(keys[1], 0).is_some());
    }
}
