//! Segments: the immutable, sorted files of rows in which one worker stores its part of a run.
//!
//! A segment is an uncompressed Arrow IPC file that is memory-mapped when it is read, and its name
//! is the blake3 of its bytes. Rows are written in ascending order and read by position or by
//! galloping search. Every batch but the last has [`Row::BATCH_ROWS`] rows, so a row's batch
//! follows from its position.

mod filter;
mod footer;
mod layout;
mod segment_ref;
mod spool;
mod writer;

pub use crate::store::segment::segment_ref::SegmentRef;
pub use crate::store::segment::writer::{SegmentWriter, write, write_by};

use crate::error::Result;
use crate::gallop::{gallop, gallop_around};
use crate::id::Id;
use crate::store::column::{Key, KeyRange};
use crate::store::damage::end_reading;
use crate::store::map::Access;
use crate::store::segment::filter::Filters;
use crate::store::segment::layout::{FirstKeys, Layout, damaged};
use crate::store::table::Row;
use std::ops::Range;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// If a key is expected at most this many rows ahead, the search gallops from the present row,
/// because merges move forward in small steps.
const NEAR_ROWS: usize = 64;
/// The batches that are fetched at once where batches are read one after another.
const BATCHES_AHEAD: usize = 8;
const BATCHES_BEHIND: usize = 3;

/// A mapped segment. Its batches are decoded when they are first read.
pub struct Segment<R: Row> {
    layout: Layout,
    batches: Vec<Batch<R>>,
    /// The first key of each batch.
    firsts: Vec<R::Key>,
    /// The filters of the batches, if the table has filters and the file is not too old to have
    /// them.
    filters: Option<Filters>,
    /// The leading bits of the first and of the last key.
    leading: (u64, u64),
    /// Whether some rows have diff -1, by the counts in the manifest. The segments of a first run
    /// and of merged runs have none.
    has_retractions: bool,
}

/// What was read of a batch. There are many batches, and most are never read.
struct Batch<R: Row> {
    /// Its mapped columns.
    columns: OnceLock<Box<R::Columns>>,
    /// Whether its digest was compared, once there are columns.
    is_sound: AtomicBool,
}

impl<R: Row> Segment<R> {
    /// Maps the segment in the table's `folder`, most of which is going to be read. The footer is
    /// read and checked here, and a batch when it is first read; the digest of all bytes is checked
    /// by `verify`.
    pub fn open(folder: &Path, segment: &SegmentRef) -> Result<Segment<R>> {
        Segment::open_for(folder, segment, Access::Most)
    }

    /// As [`Segment::open`], for another [`Access`].
    pub fn open_for(folder: &Path, segment: &SegmentRef, access: Access) -> Result<Segment<R>> {
        let path = segment.path(folder);
        let (layout, firsts) = Layout::open(path, segment, &R::schema(), R::BATCH_ROWS, access)?;
        let batches = (0..layout.batches())
            .map(|_| Batch { columns: OnceLock::new(), is_sound: AtomicBool::new(false) });
        let batches = batches.collect();
        let leading = (segment.first, segment.last);
        let has_retractions = i128::from(segment.live) != i128::from(segment.rows);
        let (no_firsts, filters) = (Vec::new(), layout.filters(R::FILTER_BITS)?);
        let mut segment =
            Segment { layout, batches, firsts: no_firsts, filters, leading, has_retractions };
        segment.firsts = segment.first_keys(firsts)?;
        Ok(segment)
    }

    /// The first key of each batch, from the footer. Old files do not have them there, so each
    /// batch is read.
    fn first_keys(&self, said: FirstKeys) -> Result<Vec<R::Key>> {
        let firsts = match said.text {
            Some(text) => footer::parse_firsts(&text).unwrap_or_default(),
            None => {
                let first = |number| Ok(R::key_at(self.unchecked(number)?, 0));
                (0..self.batches()).map(first).collect::<Result<_>>()?
            }
        };
        match footer::of_keys(&firsts) == said.digest && firsts.len() == self.batches() {
            true => Ok(firsts),
            false => {
                Err(damaged(&self.layout.path, "the first key of a batch is not as it was written"))
            }
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.layout.rows()
    }

    /// Whether it has no rows. A segment that was written always has some.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The leading bits of the first and of the last row's key.
    pub fn leading(&self) -> (u64, u64) {
        self.leading
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

    /// All rows, in their order.
    pub fn all_rows(&self) -> impl Iterator<Item = R> {
        (0..self.len()).map(|position| self.row(position))
    }

    /// The keys of all rows, in their order.
    pub fn all_keys(&self) -> impl Iterator<Item = R::Key> {
        (0..self.len()).map(|position| self.key(position))
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
        match self.batches[number].columns.get() {
            Some(columns) if self.is_read(number) => columns,
            _ => self.check(number),
        }
    }

    #[cold]
    fn check(&self, number: usize) -> &R::Columns {
        // A reader that goes on from one batch to the next will read more of them. Scattered
        // look-ups may have read one batch before this by chance, but hardly ever several.
        let goes_on = number >= BATCHES_BEHIND
            && (number - BATCHES_BEHIND..number).all(|before| self.is_read(before));
        let ahead = if goes_on { BATCHES_AHEAD } else { 1 };
        self.layout.prefetch(number..(number + ahead).min(self.batches()));
        if !self.layout.is_sound(number) {
            end_reading(damaged(&self.layout.path, "a batch is not as it was written"));
        }
        let columns = self.unchecked(number).unwrap_or_else(|error| end_reading(error));
        self.batches[number].is_sound.store(true, Ordering::Release);
        columns
    }

    /// Whether a batch was read and checked.
    fn is_read(&self, number: usize) -> bool {
        self.batches[number].is_sound.load(Ordering::Acquire)
    }

    /// The mapped columns of a batch whose digest is not compared, so that few rows of it can be
    /// read without reading the others. The caller compares digests of the rows.
    ///
    /// # Errors
    ///
    /// `Io` if the batch is not laid out as it was written.
    pub fn unchecked(&self, number: usize) -> Result<&R::Columns> {
        let kept = &self.batches[number].columns;
        if let Some(columns) = kept.get() {
            return Ok(columns);
        }
        let columns = self.layout.batch(number, R::columns)?;
        Ok(kept.get_or_init(|| Box::new(columns)))
    }

    /// The mapped columns of all batches with rows at `positions`, each with its number. Each is
    /// fetched in one go.
    pub fn scan(&self, positions: Range<usize>) -> impl Iterator<Item = (usize, &R::Columns)> {
        (positions.start / R::BATCH_ROWS..positions.end.div_ceil(R::BATCH_ROWS)).map(|number| {
            self.layout.prefetch(number..number + 1);
            (number, self.batch(number))
        })
    }

    /// The keys of some rows at `positions`: of the first row, and then about every `rows` rows.
    /// Keys that are in the footer need no batch.
    pub fn cuts(&self, positions: Range<usize>, rows: usize) -> Vec<R::Key> {
        if positions.is_empty() || rows < R::BATCH_ROWS {
            return positions.step_by(rows).map(|position| self.key(position)).collect();
        }
        let batches = positions.start / R::BATCH_ROWS..positions.end.div_ceil(R::BATCH_ROWS);
        let others = batches.step_by(rows / R::BATCH_ROWS).skip(1).map(|batch| self.firsts[batch]);
        [self.key(positions.start)].into_iter().chain(others).collect()
    }

    /// Tells the system that all rows at `positions` are going to be read.
    pub fn prefetch(&self, positions: Range<usize>) {
        if !positions.is_empty() {
            self.layout
                .prefetch(positions.start / R::BATCH_ROWS..positions.end.div_ceil(R::BATCH_ROWS));
        }
    }

    /// Reads and checks batches that were not read yet, until `until`. Returns whether none is
    /// left.
    pub fn warm(&self, until: Instant) -> bool {
        let cold = |number: &usize| !self.is_read(*number);
        (0..self.batches()).filter(cold).all(|number| {
            let in_time = Instant::now() < until;
            if in_time {
                self.check(number);
                // Any key will do: this reads the filter.
                self.filters.as_ref().map(|filters| filters.passes(number, 0));
            }
            in_time
        })
    }

    /// A position at or after `from`, from which on a row may have `key`. If there is none, no row
    /// from `from` on has it, and no batch was read to find this out.
    pub fn start_of(&self, key: R::Key, from: usize) -> Option<usize> {
        let leading = key.leading();
        if leading < self.leading.0 || leading > self.leading.1 || from >= self.len() {
            return None;
        }
        let Some(filters) = &self.filters else { return Some(from) };
        let batch = self.batch_before(key, from / R::BATCH_ROWS, |first| *first < key);
        let begins_next = self.firsts.get(batch + 1) == Some(&key);
        let why = "a filter is not as it was written";
        let may_have = begins_next
            || filters
                .passes(batch, leading)
                .unwrap_or_else(|| end_reading(damaged(&self.layout.path, why)));
        may_have.then(|| from.max(batch * R::BATCH_ROWS))
    }

    /// The last batch, at or after batch `from`, that begins before a bound, or else batch `from`.
    /// Keys up to the bound are `before`. It is about where `key` is.
    #[inline]
    fn batch_before(&self, key: R::Key, from: usize, before: impl Fn(&R::Key) -> bool) -> usize {
        let is_before = |batch: usize| before(&self.firsts[batch]);
        let (next, batches) = (from + 1, self.firsts.len());
        if next >= batches || !is_before(next) {
            return from;
        }
        let guess = share(key.leading(), self.leading, batches).max(next + 1);
        gallop_around(next + 1..batches, guess, is_before) - 1
    }

    /// The first position at or after `from` whose key is not less than `key`. Galloping search
    /// costs the logarithm of the distance, so near targets are cheap. Only one batch is read.
    pub fn seek(&self, key: R::Key, from: usize) -> usize {
        self.seek_in(from, key, |other| *other < key, |batch| self.batch(batch))
    }

    /// The first position at or after `from` whose key is greater than `key`, at the same cost.
    pub fn seek_past(&self, key: R::Key, from: usize) -> usize {
        self.seek_in(from, key, |other| *other <= key, |batch| self.batch(batch))
    }

    /// The positions of the rows with keys in `range`.
    pub fn within_range(&self, range: KeyRange) -> Range<usize>
    where
        R: Row<Key = Id>,
    {
        let (from, to) = range.ids();
        self.within(from, to)
    }

    /// The positions of the rows with keys in `[from, to)`, or from `from` on if there is no `to`.
    pub fn within(&self, from: R::Key, to: Option<R::Key>) -> Range<usize> {
        let start = self.seek(from, 0);
        start..to.map_or(self.len(), |to| self.seek(to, start))
    }

    /// The first position at or after `from` with a key that is not `before`, which is about where
    /// `key` is. `columns` reads a batch.
    ///
    /// Keys are digests, or as evenly spread as digests, so the value of a key tells about where it
    /// lies in a batch. A search that begins there touches one or two pages; bisection would touch
    /// a page in nearly each step.
    #[inline]
    pub fn seek_in<'a>(
        &'a self,
        from: usize,
        key: R::Key,
        before: impl Fn(&R::Key) -> bool,
        columns: impl FnOnce(usize) -> &'a R::Columns,
    ) -> usize {
        if from >= self.len() {
            return self.len();
        }
        let batch = self.batch_before(key, from / R::BATCH_ROWS, &before);
        let start = batch * R::BATCH_ROWS;
        let columns = columns(batch);
        let end = self.len().min(start + R::BATCH_ROWS);
        let before = |position: usize| before(&R::key_at(columns, position - start));
        let from = from.max(start);
        let first = self.firsts[batch].leading();
        let last = self.firsts.get(batch + 1).map_or(self.leading.1, |next| next.leading());
        let share = |key: u64| share(key, (first, last), end - start);
        let rows = share(key.leading());
        if start + rows <= from + NEAR_ROWS {
            return gallop(end, from, before);
        }
        // The key that is there tells how far away the bound is.
        let there = R::key_at(columns, rows.min(end - start - 1)).leading();
        let guess = (start + 2 * rows).saturating_sub(share(there));
        gallop_around(from..end, guess.max(from), before)
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
            let diffs = &R::diffs(self.batch(batch))
                [from - batch * R::BATCH_ROWS..to - batch * R::BATCH_ROWS];
            sum += diffs.iter().map(|&diff| i64::from(diff)).sum::<i64>();
            from = to;
        }
        sum
    }

    /// The first position at or after `from` for which `before` is false.
    pub fn seek_by(&self, from: usize, before: impl Fn(usize) -> bool) -> usize {
        gallop(self.len(), from, before)
    }
}

/// About how many of `count` evenly spread keys between the two bounds come before `key`.
fn share(key: u64, (first, last): (u64, u64), count: usize) -> usize {
    let share = key.saturating_sub(first) as f64 / last.saturating_sub(first).max(1) as f64;
    ((share * count as f64) as usize).min(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Id;
    use crate::random::Random;
    use crate::store::damage::caught;
    use crate::store::table::BATCH_ROWS;
    use crate::store::table::MultisetHash;
    use crate::store::testing::{BytesRow, IdsRow};
    use arrow_array::RecordBatch;
    use arrow_ipc::writer::{FileWriter, IpcWriteOptions};

    fn rows(n: u64) -> Vec<IdsRow> {
        let id = |high| Id { high, low: 7 };
        let row =
            |n| IdsRow { id: id(n / 3 * 5), other: id(n), diff: if n % 4 == 0 { -1 } else { 1 } };
        (0..n).map(row).collect()
    }

    /// Batches are read before they are needed as far as time allows, and none twice.
    #[test]
    fn warms_what_is_cold() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = rows(2 * BATCH_ROWS as u64 + 10);
        let written = write(folder.path(), "test", rows.clone()).expect("written").expect("rows");
        let segment = Segment::<IdsRow>::open(folder.path(), &written).expect("opened");
        let sound = || (0..segment.batches()).filter(|number| segment.is_read(*number)).count();
        let past = Instant::now();
        assert!(!segment.warm(past) && sound() == 0);
        assert_eq!(segment.row(BATCH_ROWS), rows[BATCH_ROWS]);
        assert!(segment.warm(past + std::time::Duration::from_secs(3600)) && sound() == 3);
        assert!(segment.warm(past), "nothing is left");
    }

    /// The rows that are read are those that were written, over several batches. A seek finds the
    /// first row of a key, or the position where the key would be.
    #[test]
    fn reads_what_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = rows(2 * BATCH_ROWS as u64 + 10);
        let written = write(folder.path(), "test", rows.clone()).expect("written").expect("rows");
        let segment = Segment::<IdsRow>::open(folder.path(), &written).expect("opened");
        assert_eq!(
            (segment.len(), written.live),
            (rows.len(), rows.iter().map(|row| i64::from(row.diff)).sum())
        );
        assert!((0..rows.len()).all(|at| segment.row(at) == rows[at]));
        for high in [0, 1, 5, 6, 3_415, 6_840, u64::MAX] {
            let key = Id { high, low: high % 2 * 7 };
            for from in [0, 1, BATCH_ROWS + 464] {
                let plain = (from..rows.len()).find(|&at| rows[at].id >= key).unwrap_or(rows.len());
                assert_eq!(segment.seek(key, from), plain, "key {high} from {from}");
                let past = (from..rows.len()).find(|&at| rows[at].id > key).unwrap_or(rows.len());
                assert_eq!(segment.seek_past(key, from), past, "key {high} from {from}");
                let sum = rows[from..past].iter().map(|row| i64::from(row.diff)).sum::<i64>();
                assert_eq!(segment.sum_of_diffs(from..past), sum, "key {high} from {from}");
            }
        }
    }

    /// Cuts divide any part of a segment into pieces of about as many rows as are asked for, and
    /// the first is the first key.
    #[test]
    fn cuts_are_even() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = rows(5 * BATCH_ROWS as u64 + 10);
        let written = write(folder.path(), "test", rows.clone()).expect("written").expect("rows");
        let segment = Segment::<IdsRow>::open(folder.path(), &written).expect("opened");
        for positions in
            [0..0, 0..rows.len(), 7..rows.len() - 4, 7..9, BATCH_ROWS + 5..3 * BATCH_ROWS]
        {
            for size in [1000, BATCH_ROWS, 2 * BATCH_ROWS + 7] {
                let cuts = segment.cuts(positions.clone(), size);
                let first = (!positions.is_empty()).then(|| segment.key(positions.start));
                assert_eq!(cuts.first().copied(), first, "{positions:?}");
                let ends =
                    cuts.iter().skip(1).map(|cut| segment.seek(*cut, 0)).chain([positions.end]);
                let mut from = positions.start;
                for end in ends.filter(|_| !positions.is_empty()) {
                    // Rows of one key are not divided.
                    assert!(
                        (1..=size + BATCH_ROWS + 3).contains(&(end - from)),
                        "{positions:?}, {size}: {from} to {end}"
                    );
                    from = end;
                }
            }
        }
    }

    /// The same for a table with smaller batches and byte strings of all lengths.
    #[test]
    fn reads_small_batches_as_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let bytes = |byte: u8, count: usize| vec![byte; count].into();
        let row = |n: usize| {
            let id = Id { high: n as u64 / 2 * 3, low: n as u64 };
            let (first, second) = (bytes(1, n % 5 * 9), bytes(2, n % 7));
            BytesRow { id, number: n as u64, first, second, third: bytes(3, n % 300), diff: 1 }
        };
        let rows: Vec<BytesRow> = (0..2 * BytesRow::BATCH_ROWS + 10).map(row).collect();
        let written = write(folder.path(), "test", rows.clone()).expect("written").expect("rows");
        let segment = Segment::<BytesRow>::open(folder.path(), &written).expect("opened");
        assert_eq!((segment.len(), segment.batches()), (rows.len(), 3));
        for (at, row) in rows.iter().enumerate() {
            assert_eq!((segment.row(at), segment.key(at)), (row.clone(), row.id));
            let (columns, place) = segment.place(at);
            assert_eq!(BytesRow::row(columns, place), *row);
        }
        let last = rows[rows.len() - 1].id;
        assert_eq!(segment.seek(Id { low: 0, ..last }, 0), rows.len() - 2);
    }

    /// A flipped bit gave wrong rows or a panic: `open` trusted the footer and the metadata of
    /// batches, and nothing checked the columns. Now such a file is refused, the reading ends, or
    /// the rows are those that were written.
    #[test]
    fn flipped_bits_change_no_row() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = rows(BATCH_ROWS as u64 + 5_000);
        let written = write(folder.path(), "test", rows.clone()).expect("written").expect("rows");
        let path = written.path(folder.path());
        let bytes = std::fs::read(&path).expect("readable");
        let length = |at: usize| {
            u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
        };
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
            let put = |byte| {
                std::os::unix::fs::FileExt::write_all_at(&file, &[byte], at as u64)
                    .expect("written")
            };
            put(bytes[at] ^ 1 << bit);
            match Segment::<IdsRow>::open(folder.path(), &written) {
                Err(error) => {
                    assert!(error.to_string().contains("damaged segment"), "{error}");
                    refused += 1;
                }
                Ok(segment) => {
                    let positions = (0..rows.len()).step_by(997).chain(BATCH_ROWS - 1..rows.len());
                    let read = caught(|| {
                        for position in positions {
                            assert_eq!(
                                segment.row(position),
                                rows[position],
                                "byte {at}, bit {bit}: row {position}"
                            );
                        }
                        let far = (BATCH_ROWS + 100) / 3 * 3;
                        assert_eq!(segment.seek(rows[far + 1].id, 3), far, "byte {at}, bit {bit}");
                        Ok(())
                    });
                    if let Err(error) = read {
                        assert!(
                            error
                                .to_string()
                                .contains("`pagefold verify JOB --full` says what helps"),
                            "{error}"
                        );
                        ended += 1;
                    } else {
                        same += 1;
                    }
                }
            }
            put(bytes[at]);
        }
        assert!(
            refused > 1000 && ended > 1000,
            "{refused} refused, {ended} ended, {same} without effect"
        );
    }

    /// Rows out of order, within a batch or from one to the next, must never reach a disk.
    #[test]
    #[should_panic(expected = "rows out of order")]
    fn order_is_asserted() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut rows = rows(BATCH_ROWS as u64 + 1);
        rows[BATCH_ROWS].id = Id::NONE;
        let _ = write(folder.path(), "test", rows);
    }

    /// A file with `rows` in batches of these sizes, with the first `entries` of its footer.
    fn odd(folder: &Path, rows: &[IdsRow], sizes: &[usize], entries: usize) -> SegmentRef {
        let options =
            IpcWriteOptions::try_new(64, false, arrow_ipc::MetadataVersion::V5).expect("options");
        let schema = IdsRow::schema();
        let mut writer =
            FileWriter::try_new_with_options(Vec::new(), &schema, options).expect("a writer");
        let mut batches = footer::Batches::<IdsRow>::default();
        let mut from = 0;
        for size in sizes {
            let before = writer.get_ref().len();
            let arrays = IdsRow::arrays(&rows[from..from + size]);
            writer
                .write(&RecordBatch::try_new(schema.clone(), arrays).expect("a batch"))
                .expect("written");
            let first = rows[from..from + size].first().map(|row| row.id);
            batches.push(xxhash_rust::xxh3::xxh3_64(&writer.get_ref()[before..]), first);
            from += size;
        }
        batches
            .to_texts()
            .into_iter()
            .take(entries)
            .for_each(|(name, text)| writer.write_metadata(name, text));
        writer.finish().expect("written");
        let bytes = writer.into_inner().expect("bytes");
        std::fs::write(folder.join("odd.arrow"), &bytes).expect("written");
        let (digest, multiset) = ("odd".into(), MultisetHash::default());
        let (bytes, rows, live) = (bytes.len() as u64, rows.len() as u64, rows.len() as i64);
        SegmentRef { digest, bytes, rows, live, multiset, first: 0, last: u64::MAX }
    }

    /// A file with batches of other sizes was accepted, and reading its rows panicked or gave wrong
    /// rows.
    #[test]
    fn batches_of_another_size_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        for sizes in [
            vec![0, 3],
            vec![3, 3],
            vec![BATCH_ROWS, 0, 3],
            vec![BATCH_ROWS + 1],
            vec![2 * BATCH_ROWS, 3],
        ] {
            let rows = rows(sizes.iter().sum::<usize>() as u64);
            let odd = odd(folder.path(), &rows, &sizes, 2);
            let read = caught(|| {
                let segment = Segment::<IdsRow>::open(folder.path(), &odd)?;
                (0..segment.len()).for_each(|position| _ = segment.row(position));
                Ok(())
            });
            let error = read.expect_err("refused").to_string();
            assert!(error.contains("damaged segment"), "{sizes:?}: {error}");
        }
    }

    /// A file that was written before first keys stood in footers is read, and one without digests
    /// is refused.
    #[test]
    fn footers_without_first_keys_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let (rows, sizes) = (rows(BATCH_ROWS as u64 + 9), [BATCH_ROWS, 9]);
        for entries in [1, 2] {
            let old = odd(folder.path(), &rows, &sizes, entries);
            let segment = Segment::<IdsRow>::open(folder.path(), &old).expect("opened");
            assert!((0..rows.len()).all(|at| segment.row(at) == rows[at]));
            assert_eq!(segment.seek(rows[BATCH_ROWS + 5].id, 0), (BATCH_ROWS + 5) / 3 * 3);
        }
        let none = odd(folder.path(), &rows, &sizes, 0);
        assert!(Segment::<IdsRow>::open(folder.path(), &none).is_err());
    }

    /// Opening a segment reads its footer alone, so that a server over a large store starts at
    /// once. A damaged batch is found when it is read, and the other batches are read.
    #[test]
    fn opening_reads_no_batch() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = rows(2 * BATCH_ROWS as u64);
        let written = write(folder.path(), "test", rows.clone()).expect("written").expect("rows");
        let path = written.path(folder.path());
        let mut bytes = std::fs::read(&path).expect("readable");
        // The first batch, with its metadata.
        bytes[1_000..BATCH_ROWS * 33].fill(0);
        std::fs::write(&path, bytes).expect("written");
        let segment = Segment::<IdsRow>::open(folder.path(), &written).expect("opened");
        assert_eq!(segment.row(BATCH_ROWS + 7), rows[BATCH_ROWS + 7]);
        assert!(caught(|| Ok(segment.row(7))).is_err());
    }
}
