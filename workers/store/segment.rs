//! A segment: one worker's share of a run, an Arrow IPC file of fixed-width columns, uncompressed, sorted, and mapped when read. Its
//! name is the blake3 of its bytes. Rows go in ascending and come out by position or by galloping search; a segment never
//! changes.
//!
//! Every batch but the last has [`BATCH_ROWS`] rows, so a row's batch and place follow from its position.

use crate::error::{Error, Kind, Result};
use crate::panics::guarded;
use crate::store::durable;
use crate::store::map::map;
use crate::store::table::{MultisetHash, Row};
use arrow_array::{Array, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a batch: a batch of 16-byte ids is 1 MiB, and a segment of 50 million rows has 763 fences.
pub const BATCH_ROWS: usize = 1 << 16;
/// Bytes to a multiple of which every column begins.
const ALIGNMENT: usize = 64;

/// What the manifest remembers of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentRef {
    /// blake3 of the file, in hex; the file is `data/<table>/<digest>.arrow`.
    pub digest: String,
    /// Size of the file.
    pub bytes: u64,
    /// Rows.
    pub rows: u64,
    /// Sum of the rows' diffs: the live rows it adds.
    pub live: i64,
    /// Its rows' multiset hash, in hex.
    pub multiset: String,
}

impl SegmentRef {
    /// Its file in the table's `folder`.
    pub fn path(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.arrow", self.digest))
    }
}

/// Writes a segment row by row.
pub struct SegmentWriter<R: Row> {
    folder: PathBuf,
    aside: PathBuf,
    arrow: FileWriter<Hashing>,
    batch: Vec<R>,
    last: Option<R>,
    rows: u64,
    live: i64,
    multiset: MultisetHash,
    scratch: Vec<u8>,
}

/// A file that is hashed while it is written.
struct Hashing {
    file: BufWriter<File>,
    hasher: blake3::Hasher,
    bytes: u64,
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = self.file.write(bytes)?;
        self.hasher.update(&bytes[..n]);
        self.bytes += n as u64;
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

fn arrow_error(operation: &str, path: &Path, error: arrow_schema::ArrowError) -> Error {
    match error {
        arrow_schema::ArrowError::IoError(_, error) => Error::io(operation, path, error),
        error => Error::new(Kind::Io, format!("cannot {operation} {}", path.display())).caused_by(error),
    }
}

impl<R: Row> SegmentWriter<R> {
    /// A writer of a segment in the table's `folder`; `tag` keeps writers apart until the digest names the file.
    pub fn create(folder: &Path, tag: &str) -> Result<SegmentWriter<R>> {
        durable::create_folder(folder)?;
        let aside = folder.join(format!("{tag}.writing"));
        let file = File::create(&aside).map_err(|e| Error::io("create", &aside, e).with_kind(Kind::Io))?;
        let sink = Hashing { file: BufWriter::with_capacity(1 << 20, file), hasher: blake3::Hasher::new(), bytes: 0 };
        let options = IpcWriteOptions::try_new(ALIGNMENT, false, arrow_ipc::MetadataVersion::V5)
            .map_err(|e| arrow_error("write", &aside, e))?;
        let arrow = FileWriter::try_new_with_options(sink, &R::schema(), options)
            .map_err(|e| arrow_error("write", &aside, e))?;
        Ok(SegmentWriter {
            folder: folder.to_owned(),
            aside,
            arrow,
            batch: Vec::new(),
            last: None,
            rows: 0,
            live: 0,
            multiset: MultisetHash::default(),
            scratch: Vec::new(),
        })
    }

    /// Appends `row`, which must be greater than the one before.
    pub fn push(&mut self, row: R) -> Result<()> {
        if self.batch.len() == BATCH_ROWS {
            self.flush()?;
        }
        if let Some(last) = self.batch.last().or(self.last.as_ref()) {
            assert!(*last < row, "{}: rows out of order: {last:?} then {row:?}", R::TABLE);
        }
        self.live += i64::from(row.diff());
        self.multiset.add(&row, &mut self.scratch);
        self.batch.push(row);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let batch = RecordBatch::try_new(R::schema(), R::arrays(&self.batch))
            .and_then(|batch| self.arrow.write(&batch))
            .map_err(|e| arrow_error("write", &self.aside, e));
        self.rows += self.batch.len() as u64;
        self.last = self.batch.pop();
        self.batch.clear();
        batch
    }

    /// Makes the segment durable under its digest; none if it has no rows.
    pub fn finish(mut self) -> Result<Option<SegmentRef>> {
        if !self.batch.is_empty() {
            self.flush()?;
        }
        let failed = |e| arrow_error("write", &self.aside, e);
        self.arrow.finish().map_err(failed)?;
        let sink = self.arrow.into_inner().map_err(|e| arrow_error("write", &self.aside, e))?;
        let file = sink.file.into_inner().map_err(|e| Error::io("write", &self.aside, e.into_error()))?;
        if self.rows == 0 {
            std::fs::remove_file(&self.aside).map_err(|e| Error::io("remove", &self.aside, e))?;
            return Ok(None);
        }
        let digest = sink.hasher.finalize().to_hex().to_string();
        durable::place(&file, &self.aside, &self.folder.join(format!("{digest}.arrow")))?;
        let multiset = format!("{:032x}", self.multiset.0);
        Ok(Some(SegmentRef { digest, bytes: sink.bytes, rows: self.rows, live: self.live, multiset }))
    }
}

/// Writes `rows`, which are sorted, as a segment in the table's `folder`.
pub fn write<R: Row>(folder: &Path, tag: &str, rows: impl IntoIterator<Item = R>) -> Result<Option<SegmentRef>> {
    let mut writer = SegmentWriter::create(folder, tag)?;
    for row in rows {
        writer.push(row)?;
    }
    writer.finish()
}

/// A mapped segment.
pub struct Segment<R: Row> {
    batches: Vec<R::Columns>,
    rows: usize,
    takes_back: bool,
}

impl<R: Row> Segment<R> {
    /// Maps `<digest>.arrow` in the table's `folder`. Blocks, schema and row count are checked here, the bytes' digest by
    /// `verify`.
    pub fn open(folder: &Path, segment: &SegmentRef) -> Result<Segment<R>> {
        let path = segment.path(folder);
        let damaged = |why: &str| {
            Error::new(Kind::Io, format!("{}: damaged segment ({why}); run `pagefold verify`", path.display()))
        };
        let bytes = map(&path)?;
        if bytes.len() as u64 != segment.bytes {
            return Err(damaged(&format!("{} bytes, the manifest says {}", bytes.len(), segment.bytes)));
        }
        // arrow panics on some damaged metadata; a damaged file is an error that names the file.
        let decoded = guarded(|| decode::<R>(bytes)).map_err(|why| damaged(&why))?;
        let (batches, rows) = decoded.map_err(|why| damaged(&why))?;
        if rows as u64 != segment.rows {
            return Err(damaged(&format!("{rows} rows, the manifest says {}", segment.rows)));
        }
        Ok(Segment { batches, rows, takes_back: i128::from(segment.live) != i128::from(segment.rows) })
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether it has no rows; a written segment always has some.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether some of its rows have diff -1, as the manifest tells; a segment of a first or a merged run has none.
    pub fn takes_back(&self) -> bool {
        self.takes_back
    }

    /// Row `position`.
    pub fn row(&self, position: usize) -> R {
        R::row(&self.batches[position / BATCH_ROWS], position % BATCH_ROWS)
    }

    /// The key of row `position`.
    #[inline]
    pub fn key(&self, position: usize) -> R::Key {
        R::key_at(&self.batches[position / BATCH_ROWS], position % BATCH_ROWS)
    }

    /// The mapped columns, batch by batch.
    pub fn batches(&self) -> &[R::Columns] {
        &self.batches
    }

    /// The first position at or after `from` whose key is not less than `key`, by galloping: a near target costs little, a far
    /// one the logarithm of its distance.
    pub fn seek(&self, key: R::Key, from: usize) -> usize {
        self.seek_by(from, |position| self.key(position) < key)
    }

    /// The first position at or after `from` that is not `before` what is sought, likewise.
    pub fn seek_by(&self, from: usize, before: impl Fn(usize) -> bool) -> usize {
        let mut step = 1;
        let mut low = from;
        while low + step <= self.rows && before(low + step - 1) {
            low += step;
            step *= 2;
        }
        let mut high = (low + step).min(self.rows);
        while low < high {
            let middle = low + (high - low) / 2;
            if before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

fn decode<R: Row>(bytes: bytes::Bytes) -> std::result::Result<(Vec<R::Columns>, usize), String> {
    let text = |e: arrow_schema::ArrowError| e.to_string();
    let whole = Buffer::from(bytes);
    let Some(trailer) = whole.len().checked_sub(10) else { return Err("too short".into()) };
    let trailer_bytes = whole[trailer..].try_into().map_err(|_| "no trailer")?;
    let footer_bytes = read_footer_length(trailer_bytes).map_err(text)?;
    let Some(start) = trailer.checked_sub(footer_bytes) else { return Err("footer out of bounds".into()) };
    let footer = arrow_ipc::root_as_footer(&whole[start..trailer]).map_err(|e| e.to_string())?;
    let schema = try_fb_to_schema(footer.schema().ok_or("no schema")?).map_err(text)?;
    if schema != *R::schema() {
        return Err("another table's columns".into());
    }
    let decoder = FileDecoder::new(Arc::new(schema), footer.version()).with_require_alignment(true);
    let mut batches = Vec::new();
    let (mut rows, mut after) = (0, None);
    for block in footer.recordBatches().ok_or("no batches")? {
        let (Ok(at), Ok(meta), Ok(body)) = (
            usize::try_from(block.offset()),
            usize::try_from(block.metaDataLength()),
            usize::try_from(block.bodyLength()),
        ) else {
            return Err("block out of bounds".into());
        };
        let end = at.checked_add(meta).and_then(|n| n.checked_add(body)).filter(|&end| end <= start);
        let Some(end) = end else { return Err("block out of bounds".into()) };
        // Blocks follow one another, and each begins by saying how long its metadata is: what a damaged footer points at is no block.
        let says = [&[0xff; 4][..], &(meta as u32).wrapping_sub(8).to_le_bytes()].concat();
        if after.is_some_and(|after| at != after) || !whole[at..end].starts_with(&says) {
            return Err("no block where the footer says".into());
        }
        after = Some(end);
        let data = whole.slice_with_length(at, end - at);
        let batch = decoder.read_record_batch(block, &data).map_err(text)?.ok_or("empty block")?;
        // A row's batch follows from its position only while every batch but the last is full.
        if batch.num_rows() == 0 || batch.num_rows() > BATCH_ROWS || rows % BATCH_ROWS != 0 {
            return Err("batches of another size".into());
        }
        rows += batch.num_rows();
        check_mapped(&batch, &data, meta)?;
        batches.push(R::columns(&batch).ok_or("another table's columns")?);
    }
    Ok((batches, rows))
}

/// A compressed or misaligned file would be copied to the heap without a word; segments are mapped or refused. Columns follow one another
/// behind the `meta` bytes of the block, as the writer puts them: damaged metadata that says otherwise is refused, too.
fn check_mapped(batch: &RecordBatch, block: &Buffer, meta: usize) -> std::result::Result<(), String> {
    let mut at = block.as_ptr().wrapping_add(meta);
    for column in batch.columns() {
        if column.nulls().is_some() {
            return Err("a column has nulls".into());
        }
        for buffer in column.to_data().buffers() {
            if !buffer.is_empty() && buffer.as_ptr() != at {
                return Err("a column is not mapped, or not in its place".into());
            }
            at = at.wrapping_add(buffer.len().next_multiple_of(ALIGNMENT));
        }
    }
    if at != block.as_ptr_range().end { Err("a block is longer than its columns".into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contents::ContentPageRow;
    use crate::document::Id;

    fn rows(n: u64) -> Vec<ContentPageRow> {
        let id = |high| Id { high, low: 7 };
        let row = |n| ContentPageRow { content: id(n / 3 * 5), doc: id(n), diff: if n % 4 == 0 { -1 } else { 1 } };
        (0..n).map(row).collect()
    }

    /// What goes in comes out, over several batches, and a seek finds the first row of a key or the place where it would stand.
    #[test]
    fn rows_come_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = rows(2 * BATCH_ROWS as u64 + 10);
        let written = write(folder.path(), "test", rows.clone()).expect("written").expect("rows");
        let segment = Segment::<ContentPageRow>::open(folder.path(), &written).expect("opened");
        assert_eq!((segment.len(), written.live), (rows.len(), rows.iter().map(|row| i64::from(row.diff)).sum()));
        assert!((0..rows.len()).all(|at| segment.row(at) == rows[at]));
        for high in [0, 1, 5, 6, 100_000, 218_460, u64::MAX] {
            let key = Id { high, low: 0 };
            for from in [0, 1, 70_000] {
                let plain = (from..rows.len()).find(|&at| rows[at].content >= key).unwrap_or(rows.len());
                assert_eq!(segment.seek(key, from), plain, "key {high} from {from}");
            }
        }
    }

    /// A flipped bit in a footer or in a batch's metadata, which `open` trusts, gave other rows than were written. It is refused, or changes nothing.
    #[test]
    fn flipped_metadata_changes_no_row() {
        let folder = tempfile::tempdir().expect("a folder");
        let rows = rows(BATCH_ROWS as u64 + 10);
        let written = write(folder.path(), "test", rows.clone()).expect("written").expect("rows");
        let path = written.path(folder.path());
        let bytes = std::fs::read(&path).expect("readable");
        let length = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize;
        // Each message is a mark, its length and its metadata; a schema has no body, and the first batch follows.
        let schema = (8..).find(|&at| bytes[at..at + 4] == [0xff; 4]).expect("a message");
        let batch = schema + 8 + length(schema + 4);
        let metadata = batch..batch + 8 + length(batch + 4);
        let footer = bytes.len() - 10 - length(bytes.len() - 10)..bytes.len();
        let (mut refused, mut same) = (0, 0);
        for (at, bit) in metadata.chain(footer).flat_map(|at| (0..8).map(move |bit| (at, bit))) {
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
                    for position in positions {
                        assert_eq!(segment.row(position), rows[position], "byte {at}, bit {bit}: row {position}");
                    }
                    same += 1;
                }
            }
            put(bytes[at]);
        }
        assert!(refused > 1000, "{refused} refused, {same} without effect");
    }

    /// Rows out of order, within a batch or from one to the next, are a fault that must never reach a disk.
    #[test]
    #[should_panic(expected = "rows out of order")]
    fn order_is_asserted() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut rows = rows(BATCH_ROWS as u64 + 1);
        rows[BATCH_ROWS].content = Id::NONE;
        let _ = write(folder.path(), "test", rows);
    }

    /// A file whose batches have other sizes than ours was accepted, and reading its rows panicked or gave another row.
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
                multiset: String::new(),
            };
            let error = Segment::<ContentPageRow>::open(folder.path(), &odd).err().expect("refused");
            assert!(error.to_string().contains("damaged segment"), "{error}");
        }
    }
}
