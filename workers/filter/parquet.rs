//! Copies the rows of a Parquet file to the file of what is kept and the file of what is removed.
//!
//! Schema, key-value metadata, codecs, encodings and the division into row groups stay. Rows are
//! copied by their levels and values, a column at a time, so nested columns and every physical type
//! stay as they are. A row group that goes to one place is copied without decoding it.

use crate::error::{Error, Kind, Result};
use crate::filter::copy::{Copied, Copier, Parts, Spot};
use crate::filter::order::{Run, Runs, Side};
use crate::filter::part::{Failure, Part};
use crate::panics::guarded;
use crate::read;
use crate::read::parquet::{PAGE_BYTES_MAX, PagedFile};
use parquet::basic::{Encoding, Type};
use parquet::column::page::Page;
use parquet::column::reader::{ColumnReader, ColumnReaderImpl, get_column_reader};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, ColumnWriterImpl};
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::properties::{
    DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT, WriterProperties, WriterPropertiesPtr, WriterVersion,
};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{ColumnDescriptor, TypePtr};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most rows of one column that are in memory at once.
const BATCH_ROWS_MAX: u64 = 1024;
/// Their bytes, for rows of the mean size of the column in its row group.
const BATCH_BYTES: u64 = 16 << 20;

/// The result of the decoder.
pub type Outcome<T> = std::result::Result<T, ParquetError>;

/// A Parquet file that is read.
pub struct Table {
    path: PathBuf,
    file: Arc<PagedFile>,
    metadata: ParquetMetaData,
}

impl Table {
    /// Opens the file at `path`.
    pub fn open(path: &Path) -> Result<Table> {
        let file = PagedFile::open(path, 0)?;
        let metadata = read::parquet::metadata(&file)?;
        let metadata = sound(path, &[], || metadata.map_err(ParquetError::General))?;
        Ok(Table { path: path.to_owned(), file: Arc::new(file), metadata })
    }

    /// Reads column `column` of row group `group`.
    fn column(&self, group: usize, column: usize) -> Outcome<ColumnReader> {
        let pages = read::parquet::pages(&self.file, &self.metadata, group, column)?;
        let descriptor = self.metadata.file_metadata().schema_descr().column(column);
        Ok(get_column_reader(descriptor, pages))
    }

    /// The rows of column `column` of row group `group` that are copied at once.
    fn batch_rows(&self, group: usize, column: usize) -> u64 {
        let group = self.metadata.row_group(group);
        let of = |number: i64| u64::try_from(number).unwrap_or(0);
        let mean = of(group.column(column).uncompressed_size()) / of(group.num_rows()).max(1);
        (BATCH_BYTES / mean.max(1)).clamp(1, BATCH_ROWS_MAX)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its metadata.
    pub fn metadata(&self) -> &ParquetMetaData {
        &self.metadata
    }

    /// The schema.
    pub fn schema(&self) -> TypePtr {
        self.metadata().file_metadata().schema_descr().root_schema_ptr()
    }

    /// The properties of a file like this one.
    fn properties(&self) -> WriterPropertiesPtr {
        let file = self.metadata().file_metadata();
        let mut properties = WriterProperties::builder()
            .set_key_value_metadata(file.key_value_metadata().cloned())
            .set_created_by(file.created_by().unwrap_or("pagefold").to_owned());
        // A row group without rows has no dictionary, even if the others have one.
        let mut groups = self.metadata().row_groups().iter().filter(|group| group.num_rows() > 0);
        if let Some(group) = groups.next() {
            // The writer says of each row group that it is sorted.
            let sorting = group.sorting_columns();
            let of_all = groups.all(|group| group.sorting_columns() == sorting);
            properties = properties
                .set_sorting_columns(sorting.filter(|_| of_all).cloned())
                .set_writer_version(self.version());
            for (column, chunk) in group.columns().iter().enumerate() {
                let path = chunk.column_path().clone();
                let has_dictionary = chunk.dictionary_page_offset().is_some();
                properties = properties
                    .set_column_compression(path.clone(), chunk.compression())
                    .set_column_encoding(path.clone(), encoding(chunk))
                    .set_column_dictionary_enabled(path.clone(), has_dictionary)
                    .set_column_dictionary_page_size_limit(path, self.dictionary_bytes(column));
            }
        }
        Arc::new(properties.build())
    }

    /// The version of a file with pages like those of this one. A writer of version 2 writes pages
    /// of the second form, which not all readers know. Many files claim version 2 and have pages of
    /// the first form.
    fn version(&self) -> WriterVersion {
        let mut groups = self.metadata().row_groups().iter();
        let with_rows = groups.position(|group| group.num_rows() > 0);
        let second = with_rows.is_some_and(|group| {
            let pages = read::parquet::pages(&self.file, &self.metadata, group, 0);
            pages.is_ok_and(|mut pages| {
                std::iter::from_fn(|| pages.get_next_page().ok().flatten())
                    .find(Page::is_data_page)
                    .is_some_and(|page| matches!(page, Page::DataPageV2 { .. }))
            })
        });
        if second { WriterVersion::PARQUET_2_0 } else { WriterVersion::PARQUET_1_0 }
    }

    /// The bytes up to which a dictionary of column `column` may grow. When a dictionary is too
    /// long, a writer gives it up and writes each value out. So the limit has room for the largest
    /// dictionary of this file.
    fn dictionary_bytes(&self, column: usize) -> usize {
        let chunks =
            self.metadata.row_groups().iter().filter_map(|group| group.columns().get(column));
        let largest = chunks
            .filter(|chunk| chunk.uncompressed_size() >= DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT as i64)
            .filter_map(|chunk| u64::try_from(chunk.dictionary_page_offset()?).ok())
            .filter_map(|at| self.file.page_bytes(at))
            .filter(|bytes| *bytes <= PAGE_BYTES_MAX)
            .max();
        DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT.max(largest.map_or(0, |bytes| bytes as usize + 1))
    }

    /// A file like this one, without rows, that is written to `sink`.
    fn like<W: Write + Send>(&self, sink: W) -> Outcome<SerializedFileWriter<W>> {
        SerializedFileWriter::new(sink, self.schema(), self.properties())
    }

    /// Copies row group `index` to `group` without decoding it.
    pub fn append<W: Write + Send>(
        &self,
        index: usize,
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Outcome<()> {
        for chunk in self.metadata().row_group(index).columns() {
            // Some writers state a position where no dictionary can be.
            let dictionary = chunk
                .dictionary_page_offset()
                .filter(|at| (4..chunk.data_page_offset()).contains(at));
            let chunk =
                chunk.clone().into_builder().set_dictionary_page_offset(dictionary).build()?;
            let close = ColumnCloseResult {
                bytes_written: chunk.compressed_size() as u64,
                rows_written: self.metadata().row_group(index).num_rows() as u64,
                metadata: chunk,
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            group.append_column(self.file.unchecked(), close)?;
        }
        Ok(())
    }
}

/// The encoding of the values of `chunk` that are in no dictionary. Without their encoding, sorted
/// ids and times take hundreds of times as many bytes.
fn encoding(chunk: &ColumnChunkMetaData) -> Encoding {
    use Encoding::{BYTE_STREAM_SPLIT, DELTA_BINARY_PACKED, DELTA_BYTE_ARRAY, PLAIN, RLE};
    let has = |encoding: &Encoding| chunk.encodings().any(|found| found == *encoding);
    let known: &[Encoding] = match chunk.column_type() {
        // Levels are written with RLE, too.
        Type::BOOLEAN if !has(&PLAIN) => &[RLE],
        Type::INT32 | Type::INT64 => &[DELTA_BINARY_PACKED, BYTE_STREAM_SPLIT],
        Type::FLOAT | Type::DOUBLE => &[BYTE_STREAM_SPLIT],
        Type::BYTE_ARRAY => &[DELTA_BYTE_ARRAY, Encoding::DELTA_LENGTH_BYTE_ARRAY],
        Type::FIXED_LEN_BYTE_ARRAY => &[DELTA_BYTE_ARRAY, BYTE_STREAM_SPLIT],
        Type::BOOLEAN | Type::INT96 => &[],
    };
    known.iter().find(|encoding| has(encoding)).copied().unwrap_or(PLAIN)
}

/// Does `work` on the file at `path`. A damaged file is an error of kind `Data`, also if its
/// decoder panics. Errors of writes are in `outputs`.
pub fn sound<T>(path: &Path, outputs: &[Failure], work: impl FnOnce() -> Outcome<T>) -> Result<T> {
    let failed = |why: String| {
        outputs.iter().find_map(Failure::take).unwrap_or_else(|| {
            Error::new(Kind::Data, format!("{}: cannot copy its rows: {why}", path.display()))
        })
    };
    match guarded(work) {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(panic) => Err(failed(panic)),
    }
}

fn external(error: Error) -> ParquetError {
    ParquetError::External(Box::new(error))
}

/// The buffers by which rows of one column are copied.
struct Column<T: DataType> {
    values: Vec<T::T>,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    batch_rows: u64,
}

impl<T: DataType> Column<T> {
    fn new(batch_rows: u64) -> Self {
        let (values, definitions, repetitions) = Default::default();
        Column { values, definitions, repetitions, batch_rows }
    }

    /// Copies the next `rows` rows of `from` to `to`. Without `to` they are passed over.
    fn copy(
        &mut self,
        from: &mut ColumnReaderImpl<T>,
        to: Option<&mut ColumnWriterImpl<'_, T>>,
        descriptor: &ColumnDescriptor,
        rows: u64,
    ) -> Outcome<()> {
        let Some(to) = to else {
            return match from.skip_records(rows as usize)? as u64 {
                skipped if skipped == rows => Ok(()),
                _ => Err(ParquetError::EOF("a column ends early".into())),
            };
        };
        let mut left = rows;
        while left > 0 {
            self.values.clear();
            self.definitions.clear();
            self.repetitions.clear();
            let (definitions, repetitions) = (&mut self.definitions, &mut self.repetitions);
            let most = left.min(self.batch_rows) as usize;
            let (read, ..) =
                from.read_records(most, Some(definitions), Some(repetitions), &mut self.values)?;
            if read == 0 {
                return Err(ParquetError::EOF("a column ends early".into()));
            }
            let definitions = (descriptor.max_def_level() > 0).then_some(&self.definitions[..]);
            let repetitions = (descriptor.max_rep_level() > 0).then_some(&self.repetitions[..]);
            to.write_batch(&self.values, definitions, repetitions)?;
            left -= read as u64;
        }
        Ok(())
    }
}

/// A run of rows that is copied.
struct Passage {
    /// The place of its reader and that of its writer.
    from: usize,
    to: usize,
    rows: u64,
}

/// Copies the rows of one column, run by run and at most `batch_rows` at once, from one or two
/// readers to one or two writers.
fn transfer(
    readers: [Option<&mut ColumnReader>; 2],
    writers: [Option<&mut ColumnWriter<'_>>; 2],
    descriptor: &ColumnDescriptor,
    runs: &[Passage],
    batch_rows: u64,
) -> Outcome<()> {
    let other = || ParquetError::General("columns of two types".into());
    macro_rules! typed {
        ($($physical:ident, $reader:ident, $writer:ident, $type:ident;)*) => {
            match descriptor.physical_type() {
                $(Type::$physical => {
                    let [one, two] = readers.map(|reader| match reader {
                        Some(ColumnReader::$reader(reader)) => Ok(Some(reader)),
                        None => Ok(None),
                        Some(_) => Err(other()),
                    });
                    let mut readers = [one?, two?];
                    let [one, two] = writers.map(|writer| match writer {
                        Some(ColumnWriter::$writer(writer)) => Ok(Some(writer)),
                        None => Ok(None),
                        Some(_) => Err(other()),
                    });
                    let mut writers = [one?, two?];
                    let mut column = Column::<parquet::data_type::$type>::new(batch_rows);
                    for &Passage { from, to, rows } in runs {
                        let from = readers[from].as_deref_mut().ok_or_else(other)?;
                        column.copy(from, writers[to].as_deref_mut(), descriptor, rows)?;
                    }
                    Ok(())
                })*
            }
        };
    }
    typed! {
        BOOLEAN, BoolColumnReader, BoolColumnWriter, BoolType;
        INT32, Int32ColumnReader, Int32ColumnWriter, Int32Type;
        INT64, Int64ColumnReader, Int64ColumnWriter, Int64Type;
        INT96, Int96ColumnReader, Int96ColumnWriter, Int96Type;
        FLOAT, FloatColumnReader, FloatColumnWriter, FloatType;
        DOUBLE, DoubleColumnReader, DoubleColumnWriter, DoubleType;
        BYTE_ARRAY, ByteArrayColumnReader, ByteArrayColumnWriter, ByteArrayType;
        FIXED_LEN_BYTE_ARRAY, FixedLenByteArrayColumnReader, FixedLenByteArrayColumnWriter, FixedLenByteArrayType;
    }
}

/// Copies the rows of a file.
pub struct Rows {
    table: Table,
    kept: Option<SerializedFileWriter<Part>>,
    removed: Option<SerializedFileWriter<Part>>,
    parts: Parts,
    /// The errors of writes to what is kept and what is removed.
    failures: Vec<Failure>,
    /// The row group that is being collected, the rows of it so far, and their runs.
    group: usize,
    rows: u64,
    runs: Vec<(Side, u64)>,
    /// The open record: its row and where it goes.
    open: (u64, Side),
    is_recoded: bool,
}

impl Rows {
    /// A copier of the file at `path`.
    pub fn open(path: &Path, parts: Parts) -> Result<Rows> {
        let (table, mut parts) = (Table::open(path)?, parts.hashed());
        let kept = parts.take(Side::Kept)?;
        let failures = vec![kept.failure()];
        let kept = sound(path, &failures, || table.like(kept))?;
        Ok(Rows {
            table,
            kept: Some(kept),
            removed: None,
            parts,
            failures,
            group: 0,
            rows: 0,
            runs: Vec::new(),
            open: (0, Side::Kept),
            is_recoded: false,
        })
    }

    /// Ends the open record before `row`.
    fn end_record(&mut self, row: u64) -> Result<()> {
        let (from, side) = self.open;
        let mut left = row - from;
        self.parts.note(Run::Of(side), left)?;
        while left > 0 {
            let groups = self.table.metadata().row_groups();
            let Some(group) = groups.get(self.group) else { return Ok(()) };
            let room = (group.num_rows() as u64).saturating_sub(self.rows);
            let take = left.min(room);
            match self.runs.last_mut() {
                _ if take == 0 => {}
                Some((last, rows)) if *last == side => *rows += take,
                _ => self.runs.push((side, take)),
            }
            self.rows += take;
            left -= take;
            if take == room {
                self.end_group()?;
            }
        }
        Ok(())
    }

    fn end_group(&mut self) -> Result<()> {
        let runs = std::mem::take(&mut self.runs);
        let index = self.group;
        (self.group, self.rows) = (index + 1, 0);
        let has = |side: Side| runs.iter().any(|(of, _)| *of == side);
        let (has_kept, has_removed) = (has(Side::Kept), has(Side::Removed));
        let runs: Vec<Passage> = runs
            .into_iter()
            .map(|(side, rows)| Passage { from: 0, to: side as usize, rows })
            .collect();
        let path = self.table.path.clone();
        if has_removed && self.parts.has(Side::Removed) && self.removed.is_none() {
            let part = self.parts.take(Side::Removed)?;
            self.failures.push(part.failure());
            self.removed = Some(sound(&path, &self.failures, || self.table.like(part))?);
        }
        let Rows { table, kept, removed, failures, .. } = self;
        let mut kept = kept.as_mut().filter(|_| has_kept);
        let mut removed = removed.as_mut().filter(|_| has_removed);
        let is_mixed = has_kept && has_removed;
        self.is_recoded |= is_mixed;
        sound(&path, failures, || {
            let mut kept = kept.as_mut().map(|file| file.next_row_group()).transpose()?;
            let mut removed = removed.as_mut().map(|file| file.next_row_group()).transpose()?;
            if is_mixed {
                let descriptors = table.metadata().file_metadata().schema_descr().columns();
                for (column, descriptor) in descriptors.iter().enumerate() {
                    let mut reader = table.column(index, column)?;
                    let mut one =
                        kept.as_mut().map(|group| group.next_column()).transpose()?.flatten();
                    let mut other =
                        removed.as_mut().map(|group| group.next_column()).transpose()?.flatten();
                    let writers =
                        [one.as_mut().map(|c| c.untyped()), other.as_mut().map(|c| c.untyped())];
                    let batch_rows = table.batch_rows(index, column);
                    transfer([Some(&mut reader), None], writers, descriptor, &runs, batch_rows)?;
                    one.map(|column| column.close()).transpose()?;
                    other.map(|column| column.close()).transpose()?;
                }
            } else {
                kept.as_mut().map(|group| table.append(index, group)).transpose()?;
                removed.as_mut().map(|group| table.append(index, group)).transpose()?;
            }
            kept.map(|group| group.close()).transpose()?;
            removed.map(|group| group.close()).transpose()?;
            Ok(())
        })
    }
}

impl Copier for Rows {
    fn push(&mut self, spot: Spot) -> Result<()> {
        self.end_record(spot.position)?;
        self.open = (spot.position, spot.side);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Copied> {
        let groups = self.table.metadata().row_groups();
        let groups: Vec<u64> = groups.iter().map(|group| group.num_rows() as u64).collect();
        self.end_record(groups.iter().sum())?;
        let path = self.table.path.clone();
        let kept = self.kept.take().ok_or_else(|| Error::internal("a file is finished twice"))?;
        let kept = sound(&path, &self.failures, || kept.into_inner())?;
        let removed = self.removed.take();
        let removed =
            removed.map(|file| sound(&path, &self.failures, || file.into_inner())).transpose()?;
        let is_recoded = self.is_recoded;
        let copied = self.parts.finish(Some(kept), removed, is_recoded)?;
        Ok(Copied { groups, ..copied })
    }
}

/// Makes a file of the rows of `kept` and `removed`, in the order of `runs` and with row groups of
/// so many rows, and writes it to `sink`.
pub fn join(
    kept: &Path,
    removed: Option<&Path>,
    groups: &[u64],
    runs: &mut Runs,
    sink: Part,
) -> Result<Part> {
    let tables = [Some(Table::open(kept)?), removed.map(Table::open).transpose()?];
    let of = |side: Side| {
        let lacks = || {
            Error::new(
                Kind::Data,
                format!("{}: what was removed from it is not there", kept.display()),
            )
        };
        tables[side as usize].as_ref().ok_or_else(lacks)
    };
    let outputs = [sink.failure()];
    let mut file = sound(kept, &outputs, || of(Side::Kept).map_err(external)?.like(sink))?;
    let mut next = [0; 2];
    let mut open = None;
    for &rows in groups {
        let of_group = next_rows(runs, &mut open, rows)?;
        let rows_of = |side: Side| -> u64 {
            of_group.iter().filter(|(of, _)| *of == side).map(|(_, rows)| rows).sum()
        };
        let mut sources = Vec::new();
        for side in [Side::Kept, Side::Removed] {
            let (rows, index) = (rows_of(side), next[side as usize]);
            if rows == 0 {
                continue;
            }
            let table = of(side)?;
            let group = table.metadata.row_groups().get(index);
            if group.is_none_or(|group| group.num_rows() as u64 != rows) {
                return Err(not_in_order(kept));
            }
            sources.push((table, index));
            next[side as usize] += 1;
        }
        if sources.is_empty() {
            continue;
        }
        sound(kept, &outputs, || {
            let mut group = file.next_row_group()?;
            if let [(table, index)] = sources[..] {
                table.append(index, &mut group)?;
            } else {
                let passages: Vec<Passage> = of_group
                    .iter()
                    .map(|&(side, rows)| Passage { from: side as usize, to: 0, rows })
                    .collect();
                let read = |side: Side, column| {
                    let (table, index) = sources[side as usize];
                    table.column(index, column)
                };
                let descriptors = sources[0].0.metadata().file_metadata().schema_descr().columns();
                for (column, descriptor) in descriptors.iter().enumerate() {
                    let (mut one, mut two) =
                        (read(Side::Kept, column)?, read(Side::Removed, column)?);
                    let Some(mut writer) = group.next_column()? else { break };
                    let readers = [Some(&mut one), Some(&mut two)];
                    let writers = [Some(writer.untyped()), None];
                    let batch_rows =
                        sources.iter().map(|(table, index)| table.batch_rows(*index, column));
                    let batch_rows = batch_rows.min().unwrap_or(1);
                    transfer(readers, writers, descriptor, &passages, batch_rows)?;
                    writer.close()?;
                }
            }
            group.close().map(drop)
        })?;
    }
    if open.is_some() || runs.next()?.is_some() {
        return Err(not_in_order(kept));
    }
    sound(kept, &outputs, || file.into_inner())
}

/// The next `rows` rows of the order: the rest of the run `open`, then the next of `runs`.
fn next_rows(
    runs: &mut Runs,
    open: &mut Option<(Side, u64)>,
    rows: u64,
) -> Result<Vec<(Side, u64)>> {
    let (mut of_group, mut left) = (Vec::new(), rows);
    while left > 0 {
        let (side, run) = match open.take() {
            Some(run) => run,
            None => match runs.next()? {
                Some((Run::Of(side), rows)) => (side, rows),
                Some((Run::Added, _)) => return Err(runs.damaged()),
                None => return Err(Error::new(Kind::Data, "the order of rows ends early")),
            },
        };
        let take = left.min(run);
        *open = (take < run).then_some((side, run - take));
        left -= take;
        of_group.push((side, take));
    }
    Ok(of_group)
}

/// The error for a table that has other rows than the order of what was kept and removed says.
fn not_in_order(kept: &Path) -> Error {
    let why = "it, what was removed from it or the order of both has changed since it was filtered";
    Error::new(Kind::Data, format!("{}: {why}", kept.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, RecordBatch, StringArray};
    use parquet::arrow::ArrowWriter;

    /// Writes all values to a dictionary.
    fn with_dictionary() -> WriterProperties {
        let limit = PAGE_BYTES_MAX as usize;
        WriterProperties::builder().set_dictionary_page_size_limit(limit).build()
    }

    /// A file of a column of these texts.
    fn texts(
        texts: impl Iterator<Item = String>,
        properties: WriterProperties,
    ) -> (tempfile::TempDir, PathBuf) {
        let column: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        let batch = RecordBatch::try_from_iter([("x", column)]).expect("a batch");
        let mut writer =
            ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).expect("a writer");
        writer.write(&batch).expect("written");
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.parquet");
        std::fs::write(&path, writer.into_inner().expect("a file")).expect("written");
        (folder, path)
    }

    /// The pages of all columns are checked, not only of those that the job names: a dictionary of
    /// 141 kB that claimed 200,000,000 values ended the process.
    #[test]
    fn pages_are_checked() {
        let (_folder, path) = texts((0..20_000).map(|n| n.to_string()), with_dictionary());
        let mut bytes = std::fs::read(&path).expect("a file");
        // The header of the dictionary has the number of its values, 20,000, and then its encoding.
        let [number, more] = [20_000u32, 1_000_000].map(|number| {
            let number = number << 1;
            [number | 0x80, number >> 7 | 0x80, number >> 14].map(|byte| byte as u8)
        });
        let at = bytes.windows(3).position(|window| window == number).expect("a header");
        bytes[at..at + 3].copy_from_slice(&more);
        std::fs::write(&path, &bytes).expect("written");
        let column = Table::open(&path).and_then(|table| {
            sound(&path, &[], || {
                let ColumnReader::ByteArrayColumnReader(mut column) = table.column(0, 0)? else {
                    panic!("another type")
                };
                column.read_records(1, None, None, &mut Vec::new())
            })
        });
        let error = column.expect_err("an error");
        assert_eq!(error.kind(), Kind::Data, "{error}");
        assert!(error.to_string().contains("that cannot be"), "{error}");
    }

    /// Rows are passed over whatever their bytes are. A page was taken for damaged if its values
    /// look like a header with an absurd size: 0x25, then 0x01.
    #[test]
    fn pages_are_passed_over() {
        let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
        let (_folder, path) = texts((0..3).map(|n| n.to_string().repeat(0x125)), properties);
        let mut found = Vec::new();
        let read = Table::open(&path).and_then(|table| {
            sound(&path, &[], || {
                let ColumnReader::ByteArrayColumnReader(mut column) = table.column(0, 0)? else {
                    panic!("another type")
                };
                assert_eq!(column.skip_records(2)?, 2);
                column.read_records(1, None, None, &mut found)
            })
        });
        assert_eq!(read.expect("read"), (1, 1, 1));
        assert_eq!(found[0].data(), "2".repeat(0x125).as_bytes());
    }

    /// A row group that is written anew keeps its dictionary. A dictionary over the writer's own
    /// limit was given up, and each value written out.
    #[test]
    fn dictionaries_stay() {
        let text = |n: usize| format!("{n} {}", "x".repeat(300_000));
        let (folder, path) = texts((0..90).map(|n| text(n % 9)), with_dictionary());
        let parts = Parts::create(&folder.path().join("kept"), None).expect("a file");
        let mut rows = Box::new(Rows::open(&path, parts).expect("rows"));
        for position in 0..90 {
            let side = if position == 50 { Side::Removed } else { Side::Kept };
            rows.push(Spot {
                position,
                member: None,
                side,
                instead: None,
                labels: None,
                is_row: true,
                is_bomb: false,
            })
            .expect("copied");
        }
        let kept = rows.finish().expect("whole").kept.bytes();
        let original = path.metadata().expect("a file").len();
        assert!(kept < original + 1000, "{kept} {original}");
    }

    /// 1,024 rows were copied at once, however large: a table of 284 kB that is filtered took 716
    /// MB of memory.
    #[test]
    fn large_rows_are_copied_by_few() {
        let batch_rows = |bytes: usize| {
            let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
            let (_folder, path) = texts((0..4).map(|_| "x".repeat(bytes)), properties);
            Table::open(&path).expect("a table").batch_rows(0, 0)
        };
        assert_eq!(batch_rows(9), BATCH_ROWS_MAX);
        assert!((14..=16).contains(&batch_rows(1 << 20)), "{}", batch_rows(1 << 20));
    }

    /// The first row group shows dictionaries and codecs only if it has rows. If it had none, each
    /// value was written out, uncompressed.
    #[test]
    fn a_first_row_group_without_rows() {
        let text = |n: usize| format!("{n} {}", "x".repeat(1000));
        let (folder, path) = texts((0..300).map(|n| text(n % 9)), with_dictionary());
        let table = Table::open(&path).expect("a table");
        let behind = folder.path().join("behind.parquet");
        let file = std::fs::File::create(&behind).expect("made");
        let mut file =
            SerializedFileWriter::new(file, table.schema(), Default::default()).expect("a writer");
        let mut group = file.next_row_group().expect("a group");
        while let Some(column) = group.next_column().expect("a column") {
            column.close().expect("closed");
        }
        group.close().expect("closed");
        let mut group = file.next_row_group().expect("a group");
        table.append(0, &mut group).expect("copied");
        group.close().expect("closed");
        file.close().expect("whole");
        let parts = Parts::create(&folder.path().join("kept"), None).expect("a file");
        let mut rows = Box::new(Rows::open(&behind, parts).expect("rows"));
        for position in 0..300 {
            let side = if position == 50 { Side::Removed } else { Side::Kept };
            rows.push(Spot {
                position,
                member: None,
                side,
                instead: None,
                labels: None,
                is_row: true,
                is_bomb: false,
            })
            .expect("copied");
        }
        let kept = rows.finish().expect("whole").kept.bytes();
        let original = behind.metadata().expect("a file").len();
        assert!(kept < original + 1000, "{kept} {original}");
    }

    /// A footer that claims more groups in its schema than there can be is an error of the file, as
    /// for the reader. The decoder would end the process.
    #[test]
    fn absurd_schemas() {
        let mut footer = vec![0x15, 2, 0x19, 0xfc, 99];
        for _ in 0..99 {
            footer.extend([0x48, 1, b'x', 0x15, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0]);
        }
        footer.push(0);
        let length = (footer.len() as u32).to_le_bytes();
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), [b"PAR1", &footer[..], &length, b"PAR1"].concat())
            .expect("written");
        let error = Table::open(file.path()).err().expect("an error");
        assert!(
            error.kind() == Kind::Data && error.to_string().contains("no sound schema"),
            "{error}"
        );
    }
}
