//! Reads the pages of a Parquet file's columns and checks each with [`super::checks`].
//!
//! The file is never mapped, and errors of the file system are kept apart from damage. Some damage
//! makes the decoder panic, so panics are caught.

use crate::error::{Error, Result};
use crate::read::input;
use crate::read::parquet::checks::{Shape, page_bytes, page_header_is_sound, page_is_sound};
use crate::{locks, panics};
use bytes::Bytes;
use parquet::arrow::arrow_reader::RowGroups;
use parquet::column::page::{Page, PageIterator, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result as Decoded};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Bytes read at once for the header of a page.
const HEADER_BYTES: usize = 4 << 10;

/// A file that is read at the places that its footer names.
pub struct PagedFile {
    path: PathBuf,
    file: Arc<File>,
    size: u64,
    failed: Mutex<Option<io::Error>>,
}

impl PagedFile {
    /// Opens `path`. Fails like [`input::open_file`].
    pub fn open(path: &Path, end: u64) -> Result<PagedFile> {
        let (file, size) = input::open_file(path, end)?;
        Ok(PagedFile {
            path: path.to_owned(),
            file: Arc::new(file),
            size,
            failed: Mutex::new(None),
        })
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file's size.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes of the file from `start` on; `None` if it has fewer.
    pub fn bytes(&self, start: u64, length: usize) -> io::Result<Option<Bytes>> {
        if start.checked_add(length as u64).is_none_or(|end| end > self.size) {
            return Ok(None);
        }
        let mut bytes = vec![0; length];
        match self.file.read_exact_at(&mut bytes, start) {
            Ok(()) => Ok(Some(bytes.into())),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The file itself, for code that copies its bytes without decoding them.
    pub fn unchecked(&self) -> &File {
        &self.file
    }

    /// The bytes to which the page at byte `at` of the file decodes; `None` if that cannot be
    /// known.
    pub fn page_bytes(&self, at: u64) -> Option<u64> {
        let mut head = [0; HEADER_BYTES];
        let length = self.file.read_at(&mut head, at).ok()?;
        u64::try_from(page_bytes(&head[..length])?).ok()
    }

    /// The file system's error that caused the decoder's last error, if it was one.
    pub fn take_failure(&self) -> Option<Error> {
        let mut failed = locks::lock(&self.failed);
        failed.take().map(|error| Error::io("read", &self.path, error))
    }

    fn fail(&self, error: io::Error) -> ParquetError {
        let shown = ParquetError::General(error.to_string());
        *locks::lock(&self.failed) = Some(error);
        shown
    }
}

impl Length for PagedFile {
    fn len(&self) -> u64 {
        self.size
    }
}

impl ChunkReader for PagedFile {
    type T = BufReader<Rest>;

    /// The decoder calls this at the start of each page, and for nothing else.
    fn get_read(&self, start: u64) -> Decoded<Self::T> {
        let mut reader =
            BufReader::with_capacity(HEADER_BYTES, Rest { file: self.file.clone(), at: start });
        let head = reader.fill_buf().map_err(|error| self.fail(error))?;
        if !page_header_is_sound(head) {
            return Err(ParquetError::General(format!("a page of absurd size at byte {start}")));
        }
        Ok(reader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Decoded<Bytes> {
        let bytes = self.bytes(start, length).map_err(|error| self.fail(error))?;
        bytes.ok_or_else(|| ParquetError::EOF(format!("no {length} bytes at byte {start}")))
    }
}

/// The bytes of a file from a place on.
pub struct Rest {
    file: Arc<File>,
    at: u64,
}

impl Read for Rest {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(into, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// Some columns of one row group.
pub struct ColumnChunks<'a> {
    /// The file.
    pub file: &'a Arc<PagedFile>,
    /// The file's footer.
    pub metadata: &'a ParquetMetaData,
    /// The number of the row group.
    pub index: usize,
    /// The place of each column in the row group.
    pub columns: Vec<usize>,
}

impl RowGroups for ColumnChunks<'_> {
    fn num_rows(&self) -> usize {
        self.metadata.row_group(self.index).num_rows() as usize
    }

    fn column_chunks(&self, i: usize) -> Decoded<Box<dyn PageIterator>> {
        let pages = pages(self.file, self.metadata, self.index, self.columns[i])?;
        Ok(Box::new(Once(Some(pages))))
    }

    fn row_groups(&self) -> Box<dyn Iterator<Item = &RowGroupMetaData> + '_> {
        Box::new(std::iter::once(self.metadata.row_group(self.index)))
    }

    fn metadata(&self) -> &ParquetMetaData {
        self.metadata
    }
}

/// The pages of column `column` in row group `group`, each checked.
pub fn pages(
    file: &Arc<PagedFile>,
    metadata: &ParquetMetaData,
    group: usize,
    column: usize,
) -> Decoded<Box<dyn PageReader>> {
    let group = metadata.row_group(group);
    let chunk = group
        .columns()
        .get(column)
        .ok_or_else(|| ParquetError::EOF("a column is missing".into()))?;
    let rows = group.num_rows() as usize;
    let pages = SerializedPageReader::new(file.clone(), chunk, rows, None)?;
    Ok(Box::new(Pages { pages, shape: Shape::of(chunk.column_descr()), ahead: None }))
}

/// One column chunk.
struct Once(Option<Box<dyn PageReader>>);

impl Iterator for Once {
    type Item = Decoded<Box<dyn PageReader>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.take().map(Ok)
    }
}

impl PageIterator for Once {}

/// The pages of a column chunk, each checked.
///
/// When the decoder peeks at a page, the page is decoded at once. Otherwise only its header would
/// be read, and then the file would be opened at its values, which are no header.
struct Pages {
    pages: SerializedPageReader<PagedFile>,
    shape: Shape,
    /// The next page, if the decoder peeked at it.
    ahead: Option<Page>,
}

impl Iterator for Pages {
    type Item = Decoded<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Decoded<Option<Page>> {
        if self.ahead.is_some() {
            return Ok(self.ahead.take());
        }
        let page = self.pages.get_next_page()?;
        match &page {
            Some(page) if !page_is_sound(page, self.shape) => {
                Err(ParquetError::General(format!("a page of {} that cannot be", page.encoding())))
            }
            _ => Ok(page),
        }
    }

    fn peek_next_page(&mut self) -> Decoded<Option<PageMetadata>> {
        self.ahead = self.get_next_page()?;
        Ok(self.ahead.as_ref().map(|page| match page {
            Page::DataPage { num_values, .. } => PageMetadata {
                num_rows: None,
                num_levels: Some(*num_values as usize),
                is_dict: false,
            },
            Page::DataPageV2 { num_values, num_rows, .. } => PageMetadata {
                num_rows: Some(*num_rows as usize),
                num_levels: Some(*num_values as usize),
                is_dict: false,
            },
            Page::DictionaryPage { .. } => {
                PageMetadata { num_rows: None, num_levels: None, is_dict: true }
            }
        }))
    }

    fn skip_next_page(&mut self) -> Decoded<()> {
        self.get_next_page().map(drop)
    }
}

/// The result of `work`, or the message with which it failed or panicked.
pub fn guarded<T>(work: impl FnOnce() -> Decoded<T>) -> std::result::Result<T, String> {
    panics::guarded(work).and_then(|decoded| decoded.map_err(|error| words(&error.to_string())))
}

/// A message of the decoder without the names of program parts.
fn words(message: &str) -> String {
    let parts =
        ["External: ", "Parquet argument error: ", "Parquet error: ", "Arrow: ", "EOF: ", "NYI: "];
    let mut rest = message;
    while let Some(inner) = parts.iter().find_map(|part| rest.strip_prefix(part)) {
        rest = inner;
    }
    rest.to_owned()
}
