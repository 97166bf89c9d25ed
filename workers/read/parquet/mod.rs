//! Reads Parquet: one page in each row.
//!
//! A split owns the row groups whose first byte lies in it. The offset of an entry is the number of
//! its row in the file. Only the columns that `[read.fields]` names are read, including columns of
//! structs, and they mean the same as the fields of a JSON line. A damaged row group costs only its
//! own rows: one `bad_row_group` states how many. No row group is held as a whole, and no length in
//! the file is trusted: see `checks` and `pages`.
//!
//! Texts are read as bytes and checked for UTF-8 one by one, so a bad text costs one row. They are
//! views of their page, so a value that a dictionary repeats takes no more memory.

mod checks;
mod columns;
mod pages;

use crate::error::{Error, Kind, Result};
use crate::page_url::Naming;
use crate::read::fields::{Use, Wanted};
pub use crate::read::parquet::checks::PAGE_BYTES_MAX;
use crate::read::parquet::checks::schema_is_sound;
pub use crate::read::parquet::columns::{COLUMNS, NO_COLUMN, OF_KEY, OF_TEXT, OF_URL};
use crate::read::parquet::columns::{Selection, selection};
use crate::read::parquet::pages::{ColumnChunks, guarded};
pub use crate::read::parquet::pages::{PagedFile, pages};
use crate::read::record::{Body, Entry, Item, Notes, Record};
use crate::read::row::FieldRow;
use crate::read::value::Value;
use crate::read::{Limits, Options, Reader, Split};
use arrow_array::RecordBatch;
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

/// The first and last bytes of a file.
pub const MAGIC: &[u8] = b"PAR1";

/// The last bytes of a file whose footer is encrypted, and the first if more is.
pub const MAGIC_ENCRYPTED: &[u8] = b"PARE";

/// The largest footer that is read, in bytes.
const FOOTER_BYTES_MAX: usize = 256 << 20;

/// The columns of a row group that are read may decompress to this many bytes.
const GROUP_BYTES_MAX: u64 = 4 << 30;

/// Rows that a row group may have for each compressed byte of the columns that are read. Each web
/// page has its own URL, which takes bytes, while a run of nulls or of one value has millions of
/// rows in a few bytes.
const ROWS_PER_BYTE_MAX: u64 = 16;

/// Rows that a file may have in addition, so that a small file of nulls is rejected row by row. All
/// its row groups share them.
const ROWS_FREE: u64 = 1 << 16;

/// The most rows decoded at once.
const BATCH_ROWS_MAX: u64 = 256;

/// Bytes decoded at once, for rows of the mean size of the row group.
const BATCH_BYTES: u64 = 16 << 20;

/// A row group of the split.
#[derive(Clone, Copy, Debug)]
struct RowGroup {
    index: usize,
    /// The number of its first row in the file.
    first_row: u64,
    rows: u64,
    /// Its size in the file.
    bytes: u64,
    /// Rows decoded at once.
    batch_rows: usize,
    /// The bytes of texts that its rows may have together: a dictionary repeats a text for a bit.
    text_bytes_max: u64,
}

/// A row group that is being decoded.
struct OpenGroup {
    group: RowGroup,
    decoder: ParquetRecordBatchReader,
    /// Rows decoded so far.
    decoded: u64,
}

/// The reader of Parquet.
pub struct Parquet {
    file: Arc<PagedFile>,
    metadata: ParquetMetaData,
    /// Whether columns are encrypted; not known before a row group is lost.
    is_encrypted: Option<bool>,
    selection: Selection,
    options: Options,
    wanted: Wanted,
    notes: Notes,
    groups: VecDeque<RowGroup>,
    open: Option<OpenGroup>,
    /// Decoded rows, the next row to be read, and the number of the first row in the file.
    batch: Option<(RecordBatch, usize, u64)>,
    /// The bytes of the texts of the open row group so far.
    text_bytes: u64,
    split_bytes: u64,
    done_bytes: u64,
    total_bytes: u64,
}

impl Parquet {
    /// Opens the row groups whose first byte lies in `split`. Fails if the footer is not sound, a
    /// column is missing or has a type that its field cannot have, or a row group is absurdly
    /// large.
    pub fn open(split: &Split, options: &Options) -> Result<Parquet> {
        let file = Arc::new(PagedFile::open(&split.path, split.end)?);
        let spoiled = |why: &dyn std::fmt::Display| {
            Error::new(
                Kind::Data,
                format!("{}: no Parquet file, or a damaged one: {why}", split.path.display()),
            )
        };
        let metadata = metadata(&file)?.map_err(|why| match why == ENCRYPTED {
            true => Error::new(Kind::Data, format!("{}: {why}", split.path.display())),
            false => spoiled(&why),
        })?;
        let wanted = options.wanted();
        let selection = guarded(|| match selection(&metadata, &wanted)? {
            // No row is lost, whatever the columns are.
            Err(_) if all_rows(&metadata) == 0 => Selection::none().map(Ok),
            selection => Ok(selection),
        });
        let selection = selection
            .map_err(|why| spoiled(&why))?
            .map_err(|why| Error::new(Kind::Data, format!("{}: {why}", split.path.display())))?;
        let groups = row_groups(&metadata, &selection, file.size(), &options.limits)
            .map_err(|why| spoiled(&why))?;
        let groups: VecDeque<RowGroup> = groups
            .into_iter()
            .filter(|(place, _)| (split.start..split.end).contains(place))
            .map(|(_, s)| s)
            .collect();
        Ok(Parquet {
            file,
            metadata,
            is_encrypted: None,
            selection,
            options: options.clone(),
            wanted,
            notes: Notes::default(),
            split_bytes: split.end - split.start,
            done_bytes: 0,
            total_bytes: groups.iter().map(|group| group.bytes).sum(),
            groups,
            open: None,
            batch: None,
            text_bytes: 0,
        })
    }

    /// Decodes the next rows; returns the entry of rows that were lost, if any.
    fn advance(&mut self) -> Result<Option<Entry>> {
        let (file, metadata, selection) = (&self.file, &self.metadata, &self.selection);
        let (group, decoded, next) = match self.open.take() {
            Some(mut open) => {
                let next = guarded(|| Ok(open.decoder.next().transpose()?));
                (open.group, open.decoded, next.map(|batch| (open.decoder, batch)))
            }
            None => {
                let Some(group) = self.groups.pop_front() else { return Ok(None) };
                self.text_bytes = 0;
                let next = guarded(|| {
                    let columns = selection.columns.clone();
                    let chunks = ColumnChunks { file, metadata, index: group.index, columns };
                    let mut decoder = ParquetRecordBatchReader::try_new_with_row_groups(
                        &selection.levels,
                        &chunks,
                        group.batch_rows,
                        None,
                    )?;
                    let batch = decoder.next().transpose()?;
                    Ok((decoder, batch))
                });
                (group, 0, next)
            }
        };
        if let Some(failure) = self.file.take_failure() {
            return Err(failure);
        }
        let left = group.rows - decoded;
        let why = match next {
            Err(why) => why,
            Ok((_, None)) if left == 0 => {
                self.done_bytes += group.bytes;
                return Ok(None);
            }
            Ok((_, None)) => "its columns end early".into(),
            Ok((_, Some(batch))) if batch.num_rows() as u64 > left => {
                "its columns do not end in time".into()
            }
            Ok((decoder, Some(batch))) => {
                let rows = batch.num_rows() as u64;
                self.batch = Some((batch, 0, group.first_row + decoded));
                self.open = Some(OpenGroup { group, decoder, decoded: decoded + rows });
                return Ok(None);
            }
        };
        self.done_bytes += group.bytes;
        let is_encrypted = match self.is_encrypted {
            Some(is_encrypted) => is_encrypted,
            None => footer(&self.file)?.is_ok_and(|footer| checks::is_encrypted(&footer)),
        };
        self.is_encrypted = Some(is_encrypted);
        let why = if is_encrypted { ENCRYPTED.to_owned() } else { why };
        let detail =
            format!("row group {}: {left} of {} rows lost: {why}", group.index, group.rows);
        Ok(Some(Entry::at(
            group.first_row + decoded,
            Item::reject("bad_row_group", detail).of_records(left),
        )))
    }

    /// Adds the bytes of the texts of row `at`. If the row group then has too many, the rows from
    /// this one on are lost, and one entry says so.
    fn bomb(&mut self, batch: &RecordBatch, at: usize, row: u64) -> Option<Entry> {
        self.text_bytes += self.selection.text_bytes(batch, at);
        let OpenGroup { group, .. } =
            self.open.take_if(|open| self.text_bytes > open.group.text_bytes_max)?;
        self.done_bytes += group.bytes;
        let left = group.first_row + group.rows - row;
        let (grown, bytes) = (self.text_bytes, group.bytes);
        let why = format!("{bytes} bytes grew to {grown} of texts");
        let detail =
            format!("row group {}: {left} of {} rows lost: {why}", group.index, group.rows);
        Some(Entry::at(row, Item::reject("bomb", detail).of_records(left)))
    }

    /// The item of row `at` of `batch`, the row number `row` of the file.
    fn item(&mut self, batch: &RecordBatch, at: usize, row: u64) -> Item {
        let most = self.options.limits.record_bytes_max;
        let mut values = Vec::with_capacity(self.selection.places.len());
        let mut too_long: Option<(Use, Item)> = None;
        for (place, name) in self.selection.places.iter().zip(&self.wanted.names) {
            let value = place.as_ref().map(|place| place.value(batch, at));
            if let Some(Value::Text(text)) = &value
                && text.len() > most
            {
                let detail = format!("`{}` has {} bytes, more than {most}", name.path, text.len());
                too_long.get_or_insert((name.is_for, Item::reject("too_long", detail)));
                values.push(Some(Value::Null));
            } else {
                values.push(value);
            }
        }
        self.selection.unfit.iter().for_each(|word| self.notes.add(word));
        let has_text = values.iter().zip(&self.wanted.names).any(|(value, name)| {
            let is_text = matches!(value, Some(Value::Text(text)) if !text.trim().is_empty());
            name.is_for == Use::Text && is_text
        });
        let item = FieldRow::new(values, &self.wanted).item(row, |word| self.notes.add(word));
        match (too_long, item) {
            (None, item) => item,
            // A field that is not used may have any length, as in JSON lines.
            (Some(_), item @ Item::Record(Record { body: Body::Removed, .. })) => item,
            (Some((Use::Html, _)), item) if has_text => item,
            (
                Some((_, too_long)),
                Item::Record(Record { url, .. }) | Item::Reject { url: Some(url), .. },
            ) => too_long.about(&url),
            (Some((_, too_long)), _) => too_long,
        }
    }
}

impl Reader for Parquet {
    fn next(&mut self) -> Result<Option<Entry>> {
        loop {
            if let Some((batch, at, first_row)) = self.batch.take() {
                if at < batch.num_rows() {
                    let row = first_row + at as u64;
                    if let Some(bomb) = self.bomb(&batch, at, row) {
                        return Ok(Some(bomb));
                    }
                    let entry = Entry::at(row, self.item(&batch, at, row));
                    self.batch = Some((batch, at + 1, first_row));
                    return Ok(Some(entry));
                }
            } else if self.open.is_none() && self.groups.is_empty() {
                return Ok(None);
            }
            if let Some(lost) = self.advance()? {
                return Ok(Some(lost));
            }
        }
    }

    fn consumed_bytes(&self) -> u64 {
        if self.open.is_none() && self.groups.is_empty() {
            return self.split_bytes;
        }
        let open = self
            .open
            .as_ref()
            .map_or(0, |open| part(open.group.bytes, open.decoded, open.group.rows));
        part(self.split_bytes, self.done_bytes + open, self.total_bytes)
    }

    fn notes(&self) -> Notes {
        self.notes.clone()
    }

    fn naming(&self) -> Naming {
        self.wanted.key.naming()
    }
}

/// The paths of the columns that are not in lists; empty if the file is no sound Parquet.
pub fn names(path: &Path, end: u64) -> Result<Vec<String>> {
    let file = PagedFile::open(path, end)?;
    Ok(metadata(&file)?.map_or(Vec::new(), |metadata| columns::names(&metadata)))
}

/// The top-level columns that are or contain lists; empty if the file is no sound Parquet.
pub fn lists(path: &Path, end: u64) -> Result<Vec<String>> {
    let file = PagedFile::open(path, end)?;
    let of = |metadata: ParquetMetaData| {
        let columns = metadata.file_metadata().schema_descr().columns().iter();
        let lists = columns.filter(|column| column.max_rep_level() > 0);
        let mut lists: Vec<String> =
            lists.filter_map(|column| column.path().parts().first().cloned()).collect();
        lists.dedup();
        lists
    };
    Ok(metadata(&file)?.map_or(Vec::new(), of))
}

/// The number of rows of a sound file whose columns do not fit the fields of the job, at most as
/// many as a file of its size may have; `None` for any other file.
pub fn unfit_rows(split: &Split, options: &Options) -> Option<u64> {
    let file = PagedFile::open(&split.path, split.end).ok()?;
    let metadata = metadata(&file).ok()?.ok()?;
    guarded(|| selection(&metadata, &options.wanted())).ok()?.err()?;
    let most = file.size().saturating_mul(ROWS_PER_BYTE_MAX).saturating_add(ROWS_FREE);
    Some(all_rows(&metadata).min(most))
}

/// The sum of the rows that the row groups claim.
fn all_rows(metadata: &ParquetMetaData) -> u64 {
    let of_all =
        metadata.row_groups().iter().map(|group| u64::try_from(group.num_rows()).unwrap_or(0));
    of_all.fold(0, u64::saturating_add)
}

/// What is wrong with a file whose columns or footer are encrypted.
pub const ENCRYPTED: &str = "Parquet that is encrypted: write it again without encryption";

/// The contents of the footer of `file`, checked before the decoder allocates or recurses because
/// of it. The inner error states what is wrong with it.
pub fn metadata(file: &PagedFile) -> Result<std::result::Result<ParquetMetaData, String>> {
    Ok(footer(file)?.and_then(|footer| match schema_is_sound(&footer) {
        true => guarded(|| ParquetMetaDataReader::decode_metadata(&footer)),
        false => Err("its footer holds no sound schema".into()),
    }))
}

/// `whole * part / of`, without overflow.
fn part(whole: u64, part: u64, of: u64) -> u64 {
    (u128::from(whole) * u128::from(part) / u128::from(of.max(1))) as u64
}

/// The bytes of the footer. The inner error states what is wrong with it.
fn footer(file: &PagedFile) -> Result<std::result::Result<bytes::Bytes, String>> {
    let failed = |e| Error::io("read", file.path(), e);
    let Some(at) = file.size().checked_sub(8) else { return Ok(Err("it is too short".into())) };
    let Some(tail) = file.bytes(at, 8).map_err(failed)? else {
        return Ok(Err("it has no end".into()));
    };
    if !tail.ends_with(MAGIC) {
        let encrypted = tail.ends_with(MAGIC_ENCRYPTED);
        return Ok(Err(if encrypted { ENCRYPTED } else { "it does not end with `PAR1`" }.into()));
    }
    let length = tail.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)) as usize;
    if length > FOOTER_BYTES_MAX || length as u64 > at {
        return Ok(Err(format!("its footer says to have {length} bytes")));
    }
    Ok(file
        .bytes(at - length as u64, length)
        .map_err(failed)?
        .ok_or_else(|| "it has no footer".into()))
}

/// The row groups of the file in order, each with its place: the first byte of its first column, or
/// a byte of some split if the footer states nothing sensible. The error names the impossible
/// value.
fn row_groups(
    metadata: &ParquetMetaData,
    selection: &Selection,
    size: u64,
    limits: &Limits,
) -> std::result::Result<Vec<(u64, RowGroup)>, String> {
    let columns = metadata.file_metadata().schema_descr().num_columns();
    let all_rows = all_rows(metadata);
    let mut first_row = 0u64;
    let mut groups = Vec::with_capacity(metadata.num_row_groups());
    for (index, group) in metadata.row_groups().iter().enumerate() {
        let absurd = |what: &str| format!("row group {index} says to have {what}");
        let rows = u64::try_from(group.num_rows()).map_err(|_| absurd("less than no rows"))?;
        // The claims of a row group without rows about its columns mean nothing.
        if rows == 0 {
            continue;
        }
        if group.num_columns() != columns {
            return Err(absurd("other columns than the file"));
        }
        let chunks = group.columns();
        let place = chunks.iter().map(|chunk| chunk.data_page_offset()).min().unwrap_or(0);
        let place = u64::try_from(place).unwrap_or(0).min(size.saturating_sub(1));
        let compressed = |chunk: &ColumnChunkMetaData| {
            u64::try_from(chunk.compressed_size()).unwrap_or(0).min(size)
        };
        let bytes: u64 = chunks.iter().map(compressed).sum();
        let mut decoded = 0u64;
        for &column in &selection.columns {
            let bytes = u64::try_from(chunks[column].uncompressed_size())
                .map_err(|_| absurd("less than no bytes"))?;
            decoded = decoded.saturating_add(bytes);
        }
        let needed: u64 = selection.columns.iter().map(|&column| compressed(&chunks[column])).sum();
        let rows_free = part(ROWS_FREE, rows, all_rows);
        if rows > rows_free.saturating_add(needed.saturating_mul(ROWS_PER_BYTE_MAX)) {
            return Err(absurd(&format!("{rows} rows in {needed} bytes of the columns needed")));
        }
        if decoded > GROUP_BYTES_MAX {
            return Err(absurd(&format!(
                "{decoded} bytes in the columns needed, more than {GROUP_BYTES_MAX}"
            )));
        }
        let batch_rows =
            (BATCH_BYTES / (decoded / rows.max(1)).max(1)).clamp(1, BATCH_ROWS_MAX) as usize;
        // The row groups of a file share the growth that any file may have regardless of its size.
        let text_bytes_max = needed.saturating_mul(limits.ratio_max).saturating_add(part(
            limits.ratio_bytes_min,
            rows,
            all_rows,
        ));
        groups
            .push((place, RowGroup { index, first_row, rows, bytes, batch_rows, text_bytes_max }));
        first_row = first_row.checked_add(rows).ok_or_else(|| absurd("too many rows"))?;
    }
    match shared_byte(metadata, selection) {
        Some(byte) => Err(format!("byte {byte} belongs to two columns that are read")),
        None => Ok(groups),
    }
}

/// A byte that two column chunks that are read have in common. Otherwise a few pages could be the
/// rows of any number of row groups, each within its limits.
fn shared_byte(metadata: &ParquetMetaData, selection: &Selection) -> Option<i64> {
    let range = |chunk: &ColumnChunkMetaData| {
        let data = chunk.data_page_offset();
        // Some writers state a position where no dictionary can be.
        let dictionary = chunk.dictionary_page_offset().filter(|at| (4..data).contains(at));
        let start = dictionary.unwrap_or(data);
        (start, start.saturating_add(chunk.compressed_size()))
    };
    let groups = metadata.row_groups().iter().filter(|group| group.num_rows() > 0);
    let chunks = groups.flat_map(|group| {
        selection.columns.iter().filter_map(|&column| group.columns().get(column))
    });
    let mut ranges: Vec<(i64, i64)> = chunks.map(range).filter(|(from, to)| from < to).collect();
    ranges.sort_unstable();
    ranges.windows(2).find(|pair| pair[0].1 > pair[1].0).map(|pair| pair[1].0)
}

#[cfg(test)]
mod tests;
