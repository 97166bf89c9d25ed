//! Keeps the order of categories.
//!
//! Readers of Arrow take the categories of a column and their order from its dictionary, also those
//! that no row has. A writer makes a dictionary of the values of its rows, in the order in which
//! they come. So it is given the categories before the rows, and the pages of these are left out.

use crate::filter::parquet::table::Outcome;
use bytes::{Buf, Bytes};
use parquet::arrow::{ARROW_SCHEMA_META_KEY, parquet_to_arrow_schema};
use parquet::basic::{PageType, Type};
use parquet::column::page::{CompressedPage, Page, PageReader, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnCloseResult, ColumnWriter, get_column_writer};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::FileMetaData;
use parquet::file::properties::WriterPropertiesPtr;
use parquet::file::writer::{SerializedPageWriter, SerializedRowGroupWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor};
use std::io::Write;
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The columns that readers of Arrow take for categories with an order.
pub(super) fn ordered(file: &FileMetaData) -> Vec<usize> {
    let pairs = file.key_value_metadata();
    if !pairs.is_some_and(|pairs| pairs.iter().any(|pair| pair.key == ARROW_SCHEMA_META_KEY)) {
        return Vec::new();
    }
    let Ok(schema) = parquet_to_arrow_schema(file.schema_descr(), pairs) else { return Vec::new() };
    let mut leaves = Vec::new();
    schema.fields().iter().for_each(|field| add_leaves(field, &mut leaves));
    let columns = file.schema_descr().columns();
    if leaves.len() != columns.len() {
        return Vec::new();
    }
    // Readers give no other type back as categories.
    let is_ordered =
        |&column: &usize| leaves[column] && columns[column].physical_type() == Type::BYTE_ARRAY;
    (0..columns.len()).filter(is_ordered).collect()
}

/// Adds for each column of `field` whether it has categories with an order.
fn add_leaves(field: &arrow_schema::Field, leaves: &mut Vec<bool>) {
    use arrow_schema::DataType::{
        FixedSizeList, LargeList, LargeListView, List, ListView, Map, Struct,
    };
    match field.data_type() {
        Struct(fields) => fields.iter().for_each(|field| add_leaves(field, leaves)),
        List(of)
        | LargeList(of)
        | ListView(of)
        | LargeListView(of)
        | FixedSizeList(of, _)
        | Map(of, _) => add_leaves(of, leaves),
        _ => leaves.push(field.dict_is_ordered().unwrap_or(false)),
    }
}

/// The values of the dictionary with which `pages` begin, in its order; none if there is no
/// dictionary.
pub(super) fn dictionary(pages: &mut dyn PageReader) -> Outcome<Vec<ByteArray>> {
    let Some(Page::DictionaryPage { mut buf, num_values, .. }) = pages.get_next_page()? else {
        return Ok(Vec::new());
    };
    let mut values = Vec::new();
    for _ in 0..num_values {
        let length = buf.try_get_u32_le().ok().map(|length| length as usize);
        let length = length.filter(|length| *length <= buf.len());
        let length = length.ok_or_else(|| ParquetError::EOF("a dictionary ends early".into()))?;
        values.push(ByteArray::from(buf.split_to(length)));
    }
    Ok(values)
}

/// Writes the next column of `group`, with a dictionary that begins with `categories`. Its rows are
/// written by `write`.
pub(super) fn write_column<W: Write + Send>(
    group: &mut SerializedRowGroupWriter<'_, W>,
    properties: &WriterPropertiesPtr,
    descriptor: &ColumnDescPtr,
    categories: &[ByteArray],
    write: impl FnOnce(&mut ColumnWriter<'_>) -> Outcome<()>,
) -> Outcome<()> {
    let mut sink = TrackedWrite::new(Vec::new());
    // Until their number is known all pages are of categories.
    let rows = AtomicU64::new(u64::MAX);
    let pages = PagesOfRows { sink: &mut sink, before: &rows, left_out: 0 };
    let mut writer = get_column_writer(descriptor.clone(), properties.clone(), Box::new(pages));
    let before = write_categories(&mut writer, categories, descriptor)?;
    rows.store(before, Relaxed);
    write(&mut writer)?;
    let close = without_first(writer.close()?, before)?;
    group.append_column(&Bytes::from(sink.into_inner()?), close)
}

/// Writes `categories` as rows, in pages of their own, and returns the number of these rows.
fn write_categories(
    writer: &mut ColumnWriter<'_>,
    categories: &[ByteArray],
    descriptor: &ColumnDescriptor,
) -> Outcome<u64> {
    let (ColumnWriter::ByteArrayColumnWriter(writer), Some(last)) = (writer, categories.last())
    else {
        return Ok(0);
    };
    let (definition, repetition) = (descriptor.max_def_level(), descriptor.max_rep_level());
    let definitions = vec![definition; categories.len()];
    let repetitions = vec![0; categories.len()];
    let definitions = (definition > 0).then_some(&definitions[..]);
    let repetitions = (repetition > 0).then_some(&repetitions[..]);
    writer.write_batch(categories, definitions, repetitions)?;
    let mut rows = categories.len() as u64;
    // The writer ends a page only when it is full.
    while writer.get_total_rows_written() < rows {
        let [definitions, repetitions] =
            [definitions, repetitions].map(|levels| Some(&levels?[..1]));
        writer.write_batch(slice::from_ref(last), definitions, repetitions)?;
        rows += 1;
    }
    Ok(rows)
}

/// What a writer says of a column, without its first `rows` rows, whose pages were left out.
fn without_first(mut close: ColumnCloseResult, rows: u64) -> Outcome<ColumnCloseResult> {
    close.rows_written -= rows;
    let Some(index) = &mut close.offset_index else { return Ok(close) };
    let pages = index.page_locations.len();
    index.page_locations.retain_mut(|page| {
        page.first_row_index -= rows as i64;
        page.first_row_index >= 0
    });
    let left_out = (pages - index.page_locations.len()) as i32;
    let mut encodings = close.metadata.page_encoding_stats().cloned().unwrap_or_default();
    if let Some(first) = encodings.iter_mut().find(|of| of.page_type != PageType::DICTIONARY_PAGE) {
        first.count -= left_out;
    }
    let metadata = close.metadata.into_builder().set_page_encoding_stats(encodings).build()?;
    Ok(ColumnCloseResult { metadata, ..close })
}

/// Writes the pages of a column, but not those of the values before its rows.
struct PagesOfRows<'a> {
    sink: &'a mut TrackedWrite<Vec<u8>>,
    /// The number of these values.
    before: &'a AtomicU64,
    /// Those that were left out so far.
    left_out: u64,
}

impl PageWriter for PagesOfRows<'_> {
    fn write_page(&mut self, page: CompressedPage) -> Outcome<PageWriteSpec> {
        if page.compressed_page().is_data_page() && self.left_out < self.before.load(Relaxed) {
            self.left_out += u64::from(page.num_values());
            let mut nothing = PageWriteSpec::new();
            nothing.page_type = page.page_type();
            nothing.offset = self.sink.bytes_written() as u64;
            return Ok(nothing);
        }
        SerializedPageWriter::new(self.sink).write_page(page)
    }

    fn close(&mut self) -> Outcome<()> {
        Ok(self.sink.flush()?)
    }
}
