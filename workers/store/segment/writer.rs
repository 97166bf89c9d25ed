//! Writes a segment: rows into batches, batches into a file that is hashed on the way.

use crate::error::{Error, Kind, Result};
use crate::store::column::Key;
use crate::store::digest::HashingFile;
use crate::store::durable;
use crate::store::fsyncs::Fsyncs;
use crate::store::segment::filter::{self, FILTERS};
use crate::store::segment::footer::Batches;
use crate::store::segment::layout::ALIGNMENT;
use crate::store::segment::segment_ref::SegmentRef;
use crate::store::segment::spool::Spool;
use crate::store::table::{MultisetHash, Row};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_schema::{Schema, SchemaRef};
use std::io::Write;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// The size of the buffer in bytes.
const BUFFER_BYTES: usize = 1 << 20;

/// A file that also hashes each batch by itself, and counts its bytes.
struct BatchFile {
    file: HashingFile,
    batch: Xxh3,
    bytes: u64,
}

impl BatchFile {
    /// The digest of the bytes since the last call.
    fn cut(&mut self) -> u64 {
        std::mem::take(&mut self.batch).digest()
    }
}

impl Write for BatchFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.batch.update(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

/// The file of a segment while it is written. It does not depend on the type of the rows, so that
/// it is compiled once and not for each table.
struct SegmentFile {
    folder: PathBuf,
    aside: PathBuf,
    arrow: FileWriter<BatchFile>,
}

impl SegmentFile {
    fn create(folder: &Path, tag: &str, columns: &Schema) -> Result<SegmentFile> {
        durable::create_folder(folder)?;
        let file = HashingFile::create(&folder.join(tag), BUFFER_BYTES)?;
        let aside = file.path().to_owned();
        let sink = BatchFile { file, batch: Xxh3::new(), bytes: 0 };
        let options = IpcWriteOptions::try_new(ALIGNMENT, false, arrow_ipc::MetadataVersion::V5)
            .map_err(|e| arrow_error("write", &aside, e))?;
        let mut arrow = FileWriter::try_new_with_options(sink, columns, options)
            .map_err(|e| arrow_error("write", &aside, e))?;
        arrow.get_mut().cut();
        Ok(SegmentFile { folder: folder.to_owned(), aside, arrow })
    }

    /// Appends a batch. Returns the digest of its bytes.
    fn append(&mut self, columns: SchemaRef, arrays: Vec<ArrayRef>) -> Result<u64> {
        RecordBatch::try_new(columns, arrays)
            .and_then(|batch| self.arrow.write(&batch))
            .map_err(|e| arrow_error("write", &self.aside, e))?;
        Ok(self.arrow.get_mut().cut())
    }

    /// Appends the filters of its batches behind the last batch. Readers of Arrow files find
    /// batches by their places in the footer, and do not see the filters.
    fn append_filters(&mut self, filters: Spool) -> Result<()> {
        let sink = self.arrow.get_mut();
        let at = sink.bytes;
        filters.copy_to(sink)?;
        self.arrow.write_metadata(FILTERS, at.to_string());
        Ok(())
    }

    /// Makes the file durable under its digest, with these entries in its footer. Returns its
    /// digest and its size in bytes.
    fn finish(mut self, entries: [(&str, String); 2], fsyncs: &Fsyncs) -> Result<(String, u64)> {
        entries.into_iter().for_each(|(name, text)| self.arrow.write_metadata(name, text));
        let failed = |e| arrow_error("write", &self.aside, e);
        self.arrow.finish().map_err(failed)?;
        let sink = self.arrow.into_inner().map_err(failed)?.file;
        sink.place(fsyncs, |digest| self.folder.join(format!("{digest}.arrow")))
    }

    /// Removes the file. If that fails, the next run removes it.
    fn discard(self) {
        let _ = std::fs::remove_file(&self.aside);
    }
}

/// Writes a segment row by row.
pub struct SegmentWriter<R: Row> {
    file: SegmentFile,
    batch: Vec<R>,
    last: Option<R>,
    batches: Batches<R>,
    filters: Spool,
    rows: u64,
    live: i64,
    multiset: MultisetHash,
    scratch: Vec<u8>,
}

fn arrow_error(operation: &str, path: &Path, error: arrow_schema::ArrowError) -> Error {
    match error {
        arrow_schema::ArrowError::IoError(_, error) => Error::io(operation, path, error),
        error => {
            Error::new(Kind::Io, format!("cannot {operation} {}", path.display())).caused_by(error)
        }
    }
}

impl<R: Row> SegmentWriter<R> {
    /// Creates a writer in the table's `folder`. Writers that run at the same time need different
    /// tags, because the digest that names the file is known only at the end.
    pub fn create(folder: &Path, tag: &str) -> Result<SegmentWriter<R>> {
        Ok(SegmentWriter {
            file: SegmentFile::create(folder, tag, &R::schema())?,
            batch: Vec::new(),
            last: None,
            batches: Batches::default(),
            filters: Spool::new(folder, tag),
            rows: 0,
            live: 0,
            multiset: MultisetHash::default(),
            scratch: Vec::new(),
        })
    }

    /// Appends `row`, which must be greater than the row before it.
    pub fn push(&mut self, row: R) -> Result<()> {
        if self.batch.len() == R::BATCH_ROWS {
            self.flush()?;
        }
        if let Some(last) = self.batch.last().or(self.last.as_ref()) {
            assert!(*last < row, "{}: rows out of order: {last:?} then {row:?}", R::NAME);
        }
        self.live += i64::from(row.diff());
        self.multiset.add(&row, &mut self.scratch);
        self.batch.push(row);
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let digest = self.file.append(R::schema(), R::arrays(&self.batch))?;
        self.batches.push(digest, self.batch.first().map(Row::key));
        if R::FILTER_BITS > 0 {
            let keys: Vec<u64> = self.batch.iter().map(|row| row.key().leading()).collect();
            self.filters.append(&filter::of(&keys, R::FILTER_BITS))?;
        }
        self.rows += self.batch.len() as u64;
        self.last = self.batch.pop();
        self.batch.clear();
        Ok(())
    }

    /// Makes the segment durable under its digest, by `fsyncs`. Without rows there is no segment.
    pub fn finish(mut self, fsyncs: &Fsyncs) -> Result<Option<SegmentRef>> {
        if !self.batch.is_empty() {
            self.flush()?;
        }
        let [first, last] =
            [self.batches.firsts().first().copied(), self.last.as_ref().map(Row::key)]
                .map(|key| key.map_or(0, |key| key.leading()));
        if self.rows == 0 {
            self.file.discard();
            return Ok(None);
        }
        if R::FILTER_BITS > 0 {
            self.file.append_filters(self.filters)?;
        }
        let (digest, bytes) = self.file.finish(self.batches.to_texts(), fsyncs)?;
        let (rows, live, multiset) = (self.rows, self.live, self.multiset);
        Ok(Some(SegmentRef { digest, bytes, rows, live, multiset, first, last }))
    }
}

/// Writes the sorted `rows` as a segment in the table's `folder`.
pub fn write<R: Row>(
    folder: &Path,
    tag: &str,
    rows: impl IntoIterator<Item = R>,
) -> Result<Option<SegmentRef>> {
    write_by(&Fsyncs::default(), folder, tag, rows)
}

/// As [`write()`], made durable by `fsyncs`.
pub fn write_by<R: Row>(
    fsyncs: &Fsyncs,
    folder: &Path,
    tag: &str,
    rows: impl IntoIterator<Item = R>,
) -> Result<Option<SegmentRef>> {
    let mut rows = rows.into_iter().peekable();
    if rows.peek().is_none() {
        return Ok(None);
    }
    let mut writer = SegmentWriter::create(folder, tag)?;
    for row in rows {
        writer.push(row)?;
    }
    writer.finish(fsyncs)
}
