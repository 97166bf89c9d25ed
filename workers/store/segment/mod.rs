//! Segments: the immutable, sorted files of rows in which one worker stores its part of a run.
//!
//! A segment is an uncompressed Arrow IPC file that is memory-mapped when it is read, and its name
//! is the blake3 of its bytes. Rows are written in ascending order and read by position or by
//! galloping search. Every batch but the last has [`Row::BATCH_ROWS`] rows, so a row's batch
//! follows from its position.

mod batch_digests;
pub(in crate::store) mod layout;
mod writer;

pub use writer::{SegmentWriter, write};

use crate::error::Result;
use crate::gallop::gallop;
use crate::store::damage::end_reading;
use crate::store::segment::layout::{Layout, check_mapped, damaged, mapped, rows_after, undamaged};
use crate::store::table::{MultisetHash, Row};
use arrow_buffer::Buffer;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use xxhash_rust::xxh3::xxh3_64;

/// Every column begins at a multiple of this number of bytes.
const ALIGNMENT: usize = 64;

/// A segment as a manifest names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentRef {
    /// The blake3 of the file, in hex. The file is `data/<table>/<digest>.arrow`.
    pub digest: String,
    /// The size of the file.
    pub bytes: u64,
    /// The number of rows.
    pub rows: u64,
    /// The sum of the rows' diffs, which is the number of live rows that the segment adds.
    pub live: i64,
    /// The multiset hash of the rows.
    pub multiset: MultisetHash,
    /// The leading bits of the first row's key.
    pub first: u64,
    /// The leading bits of the last row's key.
    pub last: u64,
}

impl SegmentRef {
    /// The path of the file in the table's `folder`.
    pub fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.arrow", self.digest))
    }

    /// Whether it may have keys whose leading bits are in `[from, to)`, or from `from` on if there
    /// is no `to`.
    pub fn overlaps(&self, (from, to): (u64, Option<u64>)) -> bool {
        from <= self.last && to.is_none_or(|to| self.first < to)
    }
}

/// A mapped segment.
pub struct Segment<R: Row> {
    path: PathBuf,
    batches: Vec<Batch<R>>,
    /// The first key of each batch.
    firsts: Vec<R::Key>,
    /// The leading bits of the first and of the last key.
    leading: (u64, u64),
    rows: usize,
    has_retractions: bool,
}

/// A mapped batch.
struct Batch<R: Row> {
    columns: R::Columns,
    bytes: Buffer,
    digest: u64,
    /// Whether its bytes were found to be those of the digest.
    is_sound: AtomicBool,
}

impl<R: Row> Segment<R> {
    /// Maps the segment in the table's `folder`. Blocks, schema, row count and the first keys of
    /// batches are checked here, and a batch when it is first read; the digest of all bytes is
    /// checked by `verify`.
    pub fn open(folder: &Path, segment: &SegmentRef) -> Result<Segment<R>> {
        let path = segment.path(folder);
        let bytes = mapped(&path, segment)?;
        let (batches, firsts, rows) = undamaged(&path, || decode::<R>(bytes))?;
        if rows as u64 != segment.rows {
            return Err(damaged(&path, &format!("{rows} rows, the manifest says {}", segment.rows)));
        }
        let has_retractions = i128::from(segment.live) != i128::from(segment.rows);
        Ok(Segment { path, batches, firsts, leading: (segment.first, segment.last), rows, has_retractions })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether it has no rows. A segment that was written always has some.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The leading bits of the first and of the last row's key.
    pub fn leading(&self) -> (u64, u64) {
        self.leading
    }

    /// Whether some of its rows have diff -1, by the counts in the manifest. The segments of a
    /// first run and of merged runs have none.
    pub fn has_retractions(&self) -> bool {
        self.has_retractions
    }

    /// The row at `position`.
    pub fn row(&self, position: usize) -> R {
        R::row(self.batch(position / R::BATCH_ROWS), position % R::BATCH_ROWS)
    }

    /// The key of the row at `position`.
    #[inline]
    pub fn key(&self, position: usize) -> R::Key {
        R::key_at(self.batch(position / R::BATCH_ROWS), position % R::BATCH_ROWS)
    }

    /// The mapped columns of the batch with the row at `position`, and the row's place in them.
    #[inline]
    pub fn place(&self, position: usize) -> (&R::Columns, usize) {
        (self.batch(position / R::BATCH_ROWS), position % R::BATCH_ROWS)
    }

    /// The number of batches.
    pub fn batches(&self) -> usize {
        self.batches.len()
    }

    /// The mapped columns of a batch. A damaged one ends the reading.
    #[inline]
    pub fn batch(&self, number: usize) -> &R::Columns {
        let batch = &self.batches[number];
        if !batch.is_sound.load(Ordering::Relaxed) {
            self.check(batch);
        }
        &batch.columns
    }

    #[cold]
    fn check(&self, batch: &Batch<R>) {
        if xxh3_64(&batch.bytes) != batch.digest {
            end_reading(damaged(&self.path, "a batch is not as it was written"));
        }
        batch.is_sound.store(true, Ordering::Relaxed);
    }

    /// The first position at or after `from` whose key is not less than `key`. Galloping search
    /// costs the logarithm of the distance, so near targets are cheap. Only one batch is read.
    pub fn seek(&self, key: R::Key, from: usize) -> usize {
        if from >= self.rows {
            return self.rows;
        }
        // Behind the batch of `from`, the batches that begin before `key`.
        let batch = gallop(self.firsts.len(), from / R::BATCH_ROWS + 1, |batch| self.firsts[batch] < key) - 1;
        let start = from.max(batch * R::BATCH_ROWS);
        gallop(self.rows.min((batch + 1) * R::BATCH_ROWS), start, |position| self.key(position) < key)
    }

    /// The first position at or after `from` whose key is greater than `key`, likewise.
    pub fn seek_past(&self, key: R::Key, from: usize) -> usize {
        if from >= self.rows {
            return self.rows;
        }
        let batch = gallop(self.firsts.len(), from / R::BATCH_ROWS + 1, |batch| self.firsts[batch] <= key) - 1;
        let start = from.max(batch * R::BATCH_ROWS);
        gallop(self.rows.min((batch + 1) * R::BATCH_ROWS), start, |position| self.key(position) <= key)
    }

    /// The sum of the diffs of the rows at `positions`, without reading their other columns.
    pub fn sum_of_diffs(&self, positions: Range<usize>) -> i64 {
        if !self.has_retractions {
            return positions.len() as i64;
        }
        let (mut sum, mut from) = (0, positions.start);
        while from < positions.end {
            let batch = from / R::BATCH_ROWS;
            let to = positions.end.min((batch + 1) * R::BATCH_ROWS);
            let diffs = &R::diffs(self.batch(batch))[from - batch * R::BATCH_ROWS..to - batch * R::BATCH_ROWS];
            sum += diffs.iter().map(|&diff| i64::from(diff)).sum::<i64>();
            from = to;
        }
        sum
    }

    /// The first position at or after `from` for which `before` is false.
    pub fn seek_by(&self, from: usize, before: impl Fn(usize) -> bool) -> usize {
        gallop(self.rows, from, before)
    }
}

/// The batches, the first key of each, and the number of rows.
type Decoded<R> = (Vec<Batch<R>>, Vec<<R as Row>::Key>, usize);

fn decode<R: Row>(bytes: bytes::Bytes) -> std::result::Result<Decoded<R>, String> {
    let layout = Layout::read(bytes, &R::schema())?;
    let decoder = layout.decoder();
    let (mut batches, mut firsts) = (Vec::new(), Vec::new());
    let mut rows = 0;
    for (span, digest) in layout.spans.iter().zip(&layout.digests) {
        let (bytes, batch) = layout.batch(span, &decoder)?;
        rows = rows_after::<R>(rows, batch.num_rows())?;
        check_mapped(&batch, &bytes, span.meta)?;
        let columns = R::columns(&batch).ok_or("another table's columns")?;
        firsts.push(R::key_at(&columns, 0));
        batches.push(Batch { columns, bytes, digest: *digest, is_sound: AtomicBool::new(false) });
    }
    match batch_digests::of_keys(&firsts) == layout.firsts {
        true => Ok((batches, firsts, rows)),
        false => Err("the first key of a batch is not as it was written".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Id;
    use crate::random::Random;
    use crate::store::damage::caught;
    use crate::store::table::BATCH_ROWS;
    use crate::tables::{ContentPageRow, EvidenceRow};
    use arrow_array::RecordBatch;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions};

    fn rows(n: u64) -> Vec<ContentPageRow> {
        let id = |high| Id { high, low: 7 };
        let row = |n| ContentPageRow { content: id(n / 3 * 5), doc: id(n), diff: if n % 4 == 0 { -1 } else { 1 } };
        (0..n).map(row).collect()
    }

    /// The rows that are read are those that were written, over several batches. A seek finds the
    /// first row of a key, or the position where the key would be.
    #[test]
    fn reads_what_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = rows(2 * BATCH_ROWS as u64 + 10);
        let written = write(folder.path(), "test", rows.clone()).expect("written").expect("rows");
        let segment = Segment::<ContentPageRow>::open(folder.path(), &written).expect("opened");
        assert_eq!((segment.len(), written.live), (rows.len(), rows.iter().map(|row| i64::from(row.diff)).sum()));
        assert!((0..rows.len()).all(|at| segment.row(at) == rows[at]));
        for high in [0, 1, 5, 6, 25_000, 54_615, u64::MAX] {
            let key = Id { high, low: high % 2 * 7 };
            for from in [0, 1, BATCH_ROWS + 4_464] {
                let plain = (from..rows.len()).find(|&at| rows[at].content >= key).unwrap_or(rows.len());
                assert_eq!(segment.seek(key, from), plain, "key {high} from {from}");
                let past = (from..rows.len()).find(|&at| rows[at].content > key).unwrap_or(rows.len());
                assert_eq!(segment.seek_past(key, from), past, "key {high} from {from}");
                let sum = rows[from..past].iter().map(|row| i64::from(row.diff)).sum::<i64>();
                assert_eq!(segment.sum_of_diffs(from..past), sum, "key {high} from {from}");
            }
        }
    }

    /// The same for a table with smaller batches and byte strings of all lengths.
    #[test]
    fn reads_small_batches_as_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let bytes = |byte: u8, count: usize| vec![byte; count].into();
        let row = |n: usize| {
            let content = Id { high: n as u64 / 2 * 3, low: n as u64 };
            EvidenceRow::new(content, n as u64, 7, bytes(1, n % 5 * 9), bytes(2, n % 7), bytes(3, n % 300))
        };
        let rows: Vec<EvidenceRow> = (0..2 * EvidenceRow::BATCH_ROWS + 10).map(row).collect();
        let written = write(folder.path(), "test", rows.clone()).expect("written").expect("rows");
        let segment = Segment::<EvidenceRow>::open(folder.path(), &written).expect("opened");
        assert_eq!((segment.len(), segment.batches()), (rows.len(), 3));
        for (at, row) in rows.iter().enumerate() {
            assert_eq!((segment.row(at), segment.key(at)), (row.clone(), row.content));
            let (columns, place) = segment.place(at);
            assert_eq!(EvidenceRow::row(columns, place), *row);
        }
        let last = rows[rows.len() - 1].content;
        assert_eq!(segment.seek(Id { low: 0, ..last }, 0), rows.len() - 2);
    }

    /// A flipped bit gave wrong rows or a panic: in the footer or in a batch's metadata, which
    /// `open` trusted, and in columns, which nothing checked. Such a file is refused, the reading
    /// ends, or the rows are those that were written.
    #[test]
    fn flipped_bits_change_no_row() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = rows(BATCH_ROWS as u64 + 5_000);
        let written = write(folder.path(), "test", rows.clone()).expect("written").expect("rows");
        let path = written.path(folder.path());
        let bytes = std::fs::read(&path).expect("readable");
        let length = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
        // A message has a mark, a length and metadata. The schema has no body; the first batch
        // follows it.
        let schema = (8..).find(|&at| bytes[at..at + 4] == [0xff; 4]).expect("a message");
        let batch = schema + 8 + length(schema + 4);
        let metadata = batch..batch + 8 + length(batch + 4);
        let footer = bytes.len() - 10 - length(bytes.len() - 10)..bytes.len();
        let (mut refused, mut ended, mut same) = (0, 0, 0);
        let mut random = Random(5);
        let columns: Vec<usize> = (0..500).map(|_| random.below(bytes.len())).collect();
        let places = metadata.chain(footer).chain(columns);
        for (at, bit) in places.flat_map(|at| (0..8).map(move |bit| (at, bit))) {
            let file = std::fs::OpenOptions::new().write(true).open(&path).expect("opened");
            let put = |byte| std::os::unix::fs::FileExt::write_all_at(&file, &[byte], at as u64).expect("written");
            put(bytes[at] ^ 1 << bit);
            match Segment::<ContentPageRow>::open(folder.path(), &written) {
                Err(error) => {
                    assert!(error.to_string().contains("damaged segment"), "{error}");
                    refused += 1;
                }
                Ok(segment) => {
                    let positions = (0..rows.len()).step_by(997).chain(BATCH_ROWS - 1..rows.len());
                    let read = caught(|| {
                        for position in positions {
                            assert_eq!(segment.row(position), rows[position], "byte {at}, bit {bit}: row {position}");
                        }
                        let far = (BATCH_ROWS + 100) / 3 * 3;
                        assert_eq!(segment.seek(rows[far + 1].content, 3), far, "byte {at}, bit {bit}");
                        Ok(())
                    });
                    if let Err(error) = read {
                        assert!(error.to_string().contains("run `pagefold verify`"), "{error}");
                        ended += 1;
                    } else {
                        same += 1;
                    }
                }
            }
            put(bytes[at]);
        }
        assert!(refused > 1000 && ended > 1000, "{refused} refused, {ended} ended, {same} without effect");
    }

    /// Rows out of order, within a batch or from one to the next, must never reach a disk.
    #[test]
    #[should_panic(expected = "rows out of order")]
    fn order_is_asserted() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut rows = rows(BATCH_ROWS as u64 + 1);
        rows[BATCH_ROWS].content = Id::NONE;
        let _ = write(folder.path(), "test", rows);
    }

    /// A file with batches of other sizes was accepted, and reading its rows panicked or gave wrong
    /// rows.
    #[test]
    fn batches_of_another_size_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        for sizes in [vec![0, 3], vec![3, 3], vec![BATCH_ROWS, 0, 3], vec![BATCH_ROWS + 1], vec![2 * BATCH_ROWS, 3]] {
            let all = rows(sizes.iter().sum::<usize>() as u64);
            let options = IpcWriteOptions::try_new(64, false, arrow_ipc::MetadataVersion::V5).expect("options");
            let schema = ContentPageRow::schema();
            let mut writer = FileWriter::try_new_with_options(Vec::new(), &schema, options).expect("a writer");
            let mut from = 0;
            for size in sizes {
                let arrays = ContentPageRow::arrays(&all[from..from + size]);
                writer.write(&RecordBatch::try_new(schema.clone(), arrays).expect("a batch")).expect("written");
                from += size;
            }
            writer.finish().expect("written");
            let bytes = writer.into_inner().expect("bytes");
            std::fs::write(folder.path().join("odd.arrow"), &bytes).expect("written");
            let odd = SegmentRef {
                digest: "odd".into(),
                bytes: bytes.len() as u64,
                rows: all.len() as u64,
                live: 0,
                multiset: MultisetHash::default(),
                first: 0,
                last: u64::MAX,
            };
            let error = Segment::<ContentPageRow>::open(folder.path(), &odd).err().expect("refused");
            assert!(error.to_string().contains("damaged segment"), "{error}");
        }
    }
}
