//! Reads a Parquet file that is copied, and makes files like it.

use crate::error::{Error, Kind, Result};
use crate::filter::parquet::categories;
use crate::filter::part::Failure;
use crate::panics::guarded;
use crate::read;
use crate::read::parquet::{PAGE_BYTES_MAX, PagedFile};
use parquet::basic::{Encoding, Type};
use parquet::column::page::Page;
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::column::writer::ColumnCloseResult;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use parquet::file::properties::{
    DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT, EnabledStatistics, WriterProperties, WriterPropertiesPtr,
    WriterVersion,
};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::TypePtr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The most rows of one column that are in memory at once.
pub(super) const BATCH_ROWS_MAX: u64 = 1024;
/// Their bytes, for rows of the mean size of the column in its row group.
const BATCH_BYTES: u64 = 16 << 20;

/// The result of the decoder.
pub type Outcome<T> = std::result::Result<T, ParquetError>;

/// A Parquet file that is read.
pub struct Table {
    path: PathBuf,
    file: Arc<PagedFile>,
    metadata: ParquetMetaData,
    /// The columns of categories that have an order.
    ordered: Vec<usize>,
}

impl Table {
    /// Opens the file at `path`.
    pub fn open(path: &Path) -> Result<Table> {
        let file = PagedFile::open(path, 0)?;
        let metadata = read::parquet::metadata(&file)?;
        let metadata = sound(path, &[], || metadata.map_err(ParquetError::General))?;
        // What is damaged in what is said of Arrow alone is no damage of the rows.
        let ordered = guarded(|| categories::ordered(metadata.file_metadata())).unwrap_or_default();
        Ok(Table { path: path.to_owned(), file: Arc::new(file), metadata, ordered })
    }

    /// Reads column `column` of row group `group`.
    pub(super) fn column(&self, group: usize, column: usize) -> Outcome<ColumnReader> {
        let pages = read::parquet::pages(&self.file, &self.metadata, group, column)?;
        let descriptor = self.metadata.file_metadata().schema_descr().column(column);
        Ok(get_column_reader(descriptor, pages))
    }

    /// The categories of column `column` of row group `group`, if they have an order: the values of
    /// its dictionary.
    pub(super) fn categories(&self, group: usize, column: usize) -> Outcome<Vec<ByteArray>> {
        if !self.ordered.contains(&column) {
            return Ok(Vec::new());
        }
        let mut pages = read::parquet::pages(&self.file, &self.metadata, group, column)?;
        categories::dictionary(&mut *pages)
    }

    /// The rows of column `column` of row group `group` that are copied at once.
    pub(super) fn batch_rows(&self, group: usize, column: usize) -> u64 {
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
                    .set_column_dictionary_page_size_limit(
                        path.clone(),
                        self.dictionary_bytes(column),
                    );
                if self.ordered.contains(&column) {
                    // They would be those of all categories, not of the rows.
                    properties =
                        properties.set_column_statistics_enabled(path, EnabledStatistics::None);
                }
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
    pub(super) fn like<W: Write + Send>(&self, sink: W) -> Outcome<SerializedFileWriter<W>> {
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
