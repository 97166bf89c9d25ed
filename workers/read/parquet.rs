//! Parquet: one page a row. In come the row groups whose first byte lies in a split, out goes an entry for each row, its
//! offset the row's number in the file. Only the columns that `[read.fields]` names are read; they mean what the fields
//! of a JSON line mean. A damaged row group costs its own rows: one `bad_row_group` tells how many. Never holds a row
//! group whole, never trusts a length it finds: see `parquet_checks` and `parquet_pages`.
//!
//! Texts are read as bytes, and each is checked for UTF-8 by itself, so that one bad text costs one row. They are views
//! of their page, not copies, so that a value that a dictionary repeats takes no more memory.

use super::parquet_checks::schema_is_sound;
use super::parquet_pages::{Group, Pieces, guarded};
use super::record::{Entry, Item, Notes};
use super::row::{self, Value};
use super::{Fields, Options, Reader, Split};
use crate::error::{Error, Kind, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Fields as Columns, TimeUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;
use parquet::arrow::{FieldLevels, ProjectionMask, parquet_to_arrow_field_levels, parquet_to_arrow_schema_by_columns};
use parquet::basic::{Repetition, Type as Physical};
use parquet::errors::{ParquetError, Result as Decoded};
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataReader};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// What the file begins and ends with.
pub const MAGIC: &[u8] = b"PAR1";

/// What it ends with if its footer is encrypted, and begins with if more is.
pub const MAGIC_ENCRYPTED: &[u8] = b"PARE";

/// A footer is read up to this size in bytes.
const FOOTER_BYTES_MAX: usize = 256 << 20;

/// A row group's columns that are read may say to take this much, in bytes once decompressed.
const GROUP_BYTES_MAX: u64 = 4 << 30;

/// Rows for each compressed byte of the columns that are read: a page has an address of its own, which takes bytes, while a run of nulls or of
/// one value has millions of rows in a few.
const ROWS_PER_BYTE_MAX: u64 = 16;

/// Rows of a row group that are free, so that a small file of nulls is told row by row.
const ROWS_FREE: u64 = 1 << 16;

/// Rows decoded at once.
const BATCH_ROWS_MAX: u64 = 256;

/// Bytes decoded at once, by the mean of the row group.
const BATCH_BYTES: u64 = 16 << 20;

/// Columns of a file that an error lists.
const LISTED_MAX: usize = 20;

/// A row group of the split.
#[derive(Clone, Copy, Debug)]
struct Share {
    index: usize,
    /// The number of its first row in the file.
    first_row: u64,
    rows: u64,
    /// As it lies in the file.
    bytes: u64,
    /// Rows decoded at once.
    batch_rows: usize,
}

/// The columns that are read.
struct Selection {
    /// Each one's place among a row group's columns, and whether it may be null.
    columns: Vec<(usize, bool)>,
    levels: FieldLevels,
    /// For each field, in the order of [`row::names`], the column that holds it.
    places: Vec<Option<usize>>,
}

/// A row group that is being decoded.
struct Open {
    share: Share,
    decoder: ParquetRecordBatchReader,
    /// Rows decoded so far.
    decoded: u64,
}

/// The reader of Parquet.
pub struct Parquet {
    pieces: Arc<Pieces>,
    metadata: ParquetMetaData,
    selection: Selection,
    options: Options,
    shares: VecDeque<Share>,
    open: Option<Open>,
    /// Decoded rows, from which on the next is to be taken, and the number in the file of the first.
    batch: Option<(RecordBatch, usize, u64)>,
    split_bytes: u64,
    done_bytes: u64,
    total_bytes: u64,
}

impl Parquet {
    /// Opens the row groups whose first byte lies in `split`. An error if the file has no sound footer, lacks a column
    /// that is needed, holds one of a type that its field cannot have, or a row group beyond all measure.
    pub fn open(split: &Split, options: &Options) -> Result<Parquet> {
        let pieces = Arc::new(Pieces::open(&split.path, split.end)?);
        let spoiled = |why: &dyn std::fmt::Display| {
            Error::new(Kind::Data, format!("{}: no Parquet file, or a damaged one: {why}", split.path.display()))
        };
        let footer = footer(&pieces)?.map_err(|why| spoiled(&why))?;
        if !schema_is_sound(&footer) {
            return Err(spoiled(&"its footer holds no sound schema"));
        }
        let decoded = guarded(|| {
            let metadata = ParquetMetaDataReader::decode_metadata(&footer)?;
            let selection = selection(&metadata, &options.fields)?;
            Ok((metadata, selection))
        });
        let (metadata, selection) = decoded.map_err(|why| spoiled(&why))?;
        let selection = selection.map_err(|why| Error::new(Kind::Data, format!("{}: {why}", split.path.display())))?;
        let shares = shares(&metadata, &selection, pieces.size()).map_err(|why| spoiled(&why))?;
        let shares: VecDeque<Share> =
            shares.into_iter().filter(|(place, _)| (split.start..split.end).contains(place)).map(|(_, s)| s).collect();
        Ok(Parquet {
            pieces,
            metadata,
            selection,
            options: options.clone(),
            split_bytes: split.end - split.start,
            done_bytes: 0,
            total_bytes: shares.iter().map(|share| share.bytes).sum(),
            shares,
            open: None,
            batch: None,
        })
    }

    /// The next rows, or the entry that tells of those that were lost; none at the end.
    fn advance(&mut self) -> Result<Option<Entry>> {
        let (pieces, metadata, selection) = (&self.pieces, &self.metadata, &self.selection);
        let (share, decoded, next) = match self.open.take() {
            Some(mut open) => {
                let next = guarded(|| Ok(open.decoder.next().transpose()?));
                (open.share, open.decoded, next.map(|batch| (open.decoder, batch)))
            }
            None => {
                let Some(share) = self.shares.pop_front() else { return Ok(None) };
                let next = guarded(|| {
                    let group = Group { pieces, metadata, index: share.index, columns: selection.columns.clone() };
                    let mut decoder = ParquetRecordBatchReader::try_new_with_row_groups(
                        &selection.levels,
                        &group,
                        share.batch_rows,
                        None,
                    )?;
                    let batch = decoder.next().transpose()?;
                    Ok((decoder, batch))
                });
                (share, 0, next)
            }
        };
        if let Some(failure) = self.pieces.take_failure() {
            return Err(failure);
        }
        let left = share.rows - decoded;
        let why = match next {
            Err(why) => why,
            Ok((_, None)) if left == 0 => {
                self.done_bytes += share.bytes;
                return Ok(None);
            }
            Ok((_, None)) => "its columns end early".into(),
            Ok((_, Some(batch))) if batch.num_rows() as u64 > left => "its columns do not end in time".into(),
            Ok((decoder, Some(batch))) => {
                let rows = batch.num_rows() as u64;
                self.batch = Some((batch, 0, share.first_row + decoded));
                self.open = Some(Open { share, decoder, decoded: decoded + rows });
                return Ok(None);
            }
        };
        self.done_bytes += share.bytes;
        let detail = format!("row group {}: {left} of {} rows lost: {why}", share.index, share.rows);
        Ok(Some(Entry { offset: share.first_row + decoded, item: Item::reject("bad_row_group", detail) }))
    }

    /// What row `at` of `batch` says.
    fn item(&self, batch: &RecordBatch, at: usize) -> Item {
        let most = self.options.limits.record_bytes_max;
        let mut values = Vec::with_capacity(self.selection.places.len());
        for (&place, name) in self.selection.places.iter().zip(row::names(&self.options.fields)) {
            let value = place.map_or(Value::Null, |place| value(batch.column(place), at));
            if let Value::Text(text) = &value
                && text.len() > most
            {
                let detail = format!("`{name}` has {} bytes, more than {most}", text.len());
                return Item::reject("too_long", detail);
            }
            values.push(value);
        }
        row::item(values, &self.options.fields)
    }
}

impl Reader for Parquet {
    fn next(&mut self) -> Result<Option<Entry>> {
        loop {
            if let Some((batch, at, first_row)) = self.batch.take() {
                if at < batch.num_rows() {
                    let entry = Entry { offset: first_row + at as u64, item: self.item(&batch, at) };
                    self.batch = Some((batch, at + 1, first_row));
                    return Ok(Some(entry));
                }
            } else if self.open.is_none() && self.shares.is_empty() {
                return Ok(None);
            }
            if let Some(lost) = self.advance()? {
                return Ok(Some(lost));
            }
        }
    }

    fn consumed_bytes(&self) -> u64 {
        if self.open.is_none() && self.shares.is_empty() {
            return self.split_bytes;
        }
        let open = self.open.as_ref().map_or(0, |open| part(open.share.bytes, open.decoded, open.share.rows));
        part(self.split_bytes, self.done_bytes + open, self.total_bytes)
    }

    fn notes(&self) -> Notes {
        Notes::default()
    }
}

/// `whole` times `part` over `of`.
fn part(whole: u64, part: u64, of: u64) -> u64 {
    (u128::from(whole) * u128::from(part) / u128::from(of.max(1))) as u64
}

/// The bytes of the footer, or why there are none.
fn footer(pieces: &Pieces) -> Result<std::result::Result<bytes::Bytes, String>> {
    let failed = |e| Error::io("read", pieces.path(), e);
    let Some(at) = pieces.size().checked_sub(8) else { return Ok(Err("it is too short".into())) };
    let Some(tail) = pieces.bytes(at, 8).map_err(failed)? else { return Ok(Err("it has no end".into())) };
    if !tail.ends_with(MAGIC) {
        let encrypted = tail.ends_with(MAGIC_ENCRYPTED);
        return Ok(Err(if encrypted { "it is encrypted" } else { "it does not end with `PAR1`" }.into()));
    }
    let length = tail.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)) as usize;
    if length > FOOTER_BYTES_MAX || length as u64 > at {
        return Ok(Err(format!("its footer says to have {length} bytes")));
    }
    Ok(pieces.bytes(at - length as u64, length).map_err(failed)?.ok_or_else(|| "it has no footer".into()))
}

/// The file's row groups in order, each with its place: the first byte of its first column, or one that belongs to some
/// split if the footer says nothing sensible. The error tells what in the footer cannot be.
fn shares(
    metadata: &ParquetMetaData,
    selection: &Selection,
    size: u64,
) -> std::result::Result<Vec<(u64, Share)>, String> {
    let columns = metadata.file_metadata().schema_descr().num_columns();
    let mut first_row = 0u64;
    let mut shares = Vec::with_capacity(metadata.num_row_groups());
    for (index, group) in metadata.row_groups().iter().enumerate() {
        let absurd = |what: &str| format!("row group {index} says to have {what}");
        let rows = u64::try_from(group.num_rows()).map_err(|_| absurd("less than no rows"))?;
        if group.num_columns() != columns {
            return Err(absurd("other columns than the file"));
        }
        let chunks = group.columns();
        let place = chunks.iter().map(|chunk| chunk.data_page_offset()).min().unwrap_or(0);
        let place = u64::try_from(place).unwrap_or(0).min(size.saturating_sub(1));
        let compressed = |chunk: &ColumnChunkMetaData| u64::try_from(chunk.compressed_size()).unwrap_or(0).min(size);
        let bytes: u64 = chunks.iter().map(compressed).sum();
        let mut decoded = 0u64;
        for &(column, _) in &selection.columns {
            let bytes = u64::try_from(chunks[column].uncompressed_size()).map_err(|_| absurd("less than no bytes"))?;
            decoded = decoded.saturating_add(bytes);
        }
        let needed: u64 = selection.columns.iter().map(|&(column, _)| compressed(&chunks[column])).sum();
        if rows > ROWS_FREE + needed.saturating_mul(ROWS_PER_BYTE_MAX) {
            return Err(absurd(&format!("{rows} rows in {needed} bytes of the columns needed")));
        }
        if decoded > GROUP_BYTES_MAX {
            return Err(absurd(&format!("{decoded} bytes in the columns needed, more than {GROUP_BYTES_MAX}")));
        }
        let batch_rows = (BATCH_BYTES / (decoded / rows.max(1)).max(1)).clamp(1, BATCH_ROWS_MAX) as usize;
        shares.push((place, Share { index, first_row, rows, bytes, batch_rows }));
        first_row = first_row.checked_add(rows).ok_or_else(|| absurd("too many rows"))?;
    }
    Ok(shares)
}

/// Which columns of the file hold the fields. The inner error says which are missing or of no use, the outer that the
/// footer is damaged.
fn selection(metadata: &ParquetMetaData, fields: &Fields) -> Decoded<std::result::Result<Selection, String>> {
    let schema = metadata.file_metadata().schema_descr();
    let roots = schema.root_schema().get_fields();
    if let Err(why) = check_names(roots, fields) {
        return Ok(Err(why));
    }
    let wanted: Vec<usize> =
        (0..roots.len()).filter(|&root| row::names(fields).any(|name| name == roots[root].name())).collect();
    if let Some(&nested) = wanted.iter().find(|&&root| is_nested(&roots[root])) {
        let name = roots[nested].name();
        return Ok(Err(format!("the column `{name}`, which [read.fields] names, is nested; a plain one is needed")));
    }
    // The schema that Arrow's writers embed knows a few types that Parquet's does not; without it the file can be read.
    let mask = || ProjectionMask::roots(schema, wanted.iter().copied());
    let embedded = metadata.file_metadata().key_value_metadata();
    let arrow = parquet_to_arrow_schema_by_columns(schema, mask(), embedded)
        .or_else(|_| parquet_to_arrow_schema_by_columns(schema, mask(), None))?;
    if arrow.fields().len() != wanted.len() {
        return Err(ParquetError::General("its schema is in disorder".into()));
    }
    let (mut columns, mut types, mut hints) = (Vec::new(), Vec::<TypePtr>::new(), Vec::new());
    for (&root, found) in wanted.iter().zip(arrow.fields()) {
        let (name, optional) = (found.name(), roots[root].get_basic_info().repetition() == Repetition::OPTIONAL);
        let Some(hint) = read_as(found.data_type(), roots[root].get_physical_type()) else {
            return Ok(Err(unfit(name, found.data_type())));
        };
        if !fits(name, &hint, fields) {
            return Ok(Err(unfit(name, found.data_type())));
        }
        // Without its logical type the decoder takes a text for bytes, and leaves the check for UTF-8 to each value.
        types.push(match hint {
            DataType::BinaryView => {
                let plain = Type::primitive_type_builder(name, Physical::BYTE_ARRAY);
                plain.with_repetition(roots[root].get_basic_info().repetition()).build()?.into()
            }
            _ => roots[root].clone(),
        });
        hints.push(Field::new(name, hint, optional));
        let leaf = (0..schema.num_columns()).find(|&leaf| schema.get_column_root_idx(leaf) == root);
        columns.push((leaf.ok_or_else(|| ParquetError::General(format!("`{name}` has no data")))?, optional));
    }
    let places = row::names(fields).map(|name| hints.iter().position(|hint| hint.name() == name)).collect();
    let chosen = SchemaDescriptor::new(Arc::new(Type::group_type_builder("chosen").with_fields(types).build()?));
    let levels = parquet_to_arrow_field_levels(&chosen, ProjectionMask::all(), Some(&Columns::from(hints)))?;
    Ok(Ok(Selection { columns, levels, places }))
}

/// Whether the columns that are needed are there, each once.
fn check_names(roots: &[TypePtr], fields: &Fields) -> std::result::Result<(), String> {
    let listed = || {
        let names: Vec<&str> = roots.iter().map(|root| root.name()).take(LISTED_MAX).collect();
        let more = if roots.len() > LISTED_MAX { ", ..." } else { "" };
        format!("; its columns are {}{more}", names.join(", "))
    };
    let count = |name: &str| roots.iter().filter(|root| root.name() == name).count();
    if let Some(twice) = row::names(fields).find(|name| count(name) > 1) {
        return Err(format!("two columns have the name `{twice}`"));
    }
    if let Some(missing) = fields.url.iter().find(|name| count(name) == 0) {
        return Err(format!("no column `{missing}`, which [read.fields] url names{}", listed()));
    }
    let Fields { text, html, deleted, op, .. } = fields;
    if [text, html, deleted, op].iter().all(|name| count(name) == 0) {
        let wanted = format!("neither `{text}` nor `{html}`, which [read.fields] text and html name");
        return Err(format!("no column {wanted}{}", listed()));
    }
    Ok(())
}

fn is_nested(root: &TypePtr) -> bool {
    root.is_group() || root.get_basic_info().repetition() == Repetition::REPEATED
}

/// The type as which a column of type `found` is read; none if no field has a use for it.
fn read_as(found: &DataType, physical: Physical) -> Option<DataType> {
    use DataType::*;
    match found {
        Dictionary(_, values) => read_as(values, physical),
        Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView => {
            (physical == Physical::BYTE_ARRAY).then_some(BinaryView)
        }
        // Nanoseconds since 1970 end in 2262, INT96 does not.
        Timestamp(TimeUnit::Nanosecond, None) if physical == Physical::INT96 => Some(Timestamp(TimeUnit::Second, None)),
        Null | Boolean | Float32 | Float64 | Date32 | Date64 | Timestamp(..) => Some(found.clone()),
        found if found.is_integer() => Some(found.clone()),
        _ => None,
    }
}

/// Whether the field that the column `name` holds can have values of type `found`.
fn fits(name: &str, found: &DataType, fields: &Fields) -> bool {
    let number = found.is_integer();
    match found {
        DataType::Null => true,
        DataType::BinaryView => name != fields.deleted,
        _ if name == fields.date => *found != DataType::Boolean,
        _ if name == fields.deleted => number || *found == DataType::Boolean,
        _ => number && fields.url.iter().any(|part| part == name),
    }
}

fn unfit(name: &str, found: &DataType) -> String {
    format!("the column `{name}`, which [read.fields] names, is of type {found}, which does not fit")
}

/// The value in row `at`. Dates come as seconds since 1970, those without a time zone as if in UTC.
fn value(column: &dyn Array, at: usize) -> Value<'_> {
    use DataType::*;
    if column.is_null(at) {
        return Value::Null;
    }
    match column.data_type() {
        Null => Value::Null,
        BinaryView => match std::str::from_utf8(column.as_binary_view().value(at)) {
            Ok(text) => Value::Text(Cow::Borrowed(text)),
            Err(_) => Value::Other,
        },
        Boolean => Value::Bool(column.as_boolean().value(at)),
        Int8 => Value::Integer(column.as_primitive::<Int8Type>().value(at).into()),
        Int16 => Value::Integer(column.as_primitive::<Int16Type>().value(at).into()),
        Int32 => Value::Integer(column.as_primitive::<Int32Type>().value(at).into()),
        Int64 => Value::Integer(column.as_primitive::<Int64Type>().value(at)),
        UInt8 => Value::Integer(column.as_primitive::<UInt8Type>().value(at).into()),
        UInt16 => Value::Integer(column.as_primitive::<UInt16Type>().value(at).into()),
        UInt32 => Value::Integer(column.as_primitive::<UInt32Type>().value(at).into()),
        UInt64 => i64::try_from(column.as_primitive::<UInt64Type>().value(at)).map_or(Value::Other, Value::Integer),
        Float32 => Value::Float(column.as_primitive::<Float32Type>().value(at).into()),
        Float64 => Value::Float(column.as_primitive::<Float64Type>().value(at)),
        Date32 => Value::Integer(i64::from(column.as_primitive::<Date32Type>().value(at)) * 86_400),
        Date64 => Value::Integer(column.as_primitive::<Date64Type>().value(at).div_euclid(1000)),
        Timestamp(unit, _) => Value::Integer(match unit {
            TimeUnit::Second => column.as_primitive::<TimestampSecondType>().value(at),
            TimeUnit::Millisecond => column.as_primitive::<TimestampMillisecondType>().value(at).div_euclid(1000),
            TimeUnit::Microsecond => column.as_primitive::<TimestampMicrosecondType>().value(at).div_euclid(1_000_000),
            TimeUnit::Nanosecond => {
                column.as_primitive::<TimestampNanosecondType>().value(at).div_euclid(1_000_000_000)
            }
        }),
        _ => Value::Other,
    }
}

#[cfg(test)]
#[path = "parquet_tests.rs"]
mod tests;
