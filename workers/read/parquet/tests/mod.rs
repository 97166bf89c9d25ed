//! What the tests of Parquet share: small files, and what a reader finds in them.

mod columns;
mod damage;
mod rows;
mod structs;

use super::*;
use crate::random::Random;
use crate::read::testing::{Temporary, gzip, read_all, words};
use crate::read::{Fields, PageKey, open, splits};
use arrow_array::builder::{BinaryBuilder, StringDictionaryBuilder};
use arrow_array::cast::AsArray;
use arrow_array::*;
use arrow_schema::{DataType, Field};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int96, Int96Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::writer::SerializedFileWriter;
use proptest::prelude::*;

type Column = (&'static str, ArrayRef);

/// A file of these columns in row groups of `rows`.
fn file(columns: Vec<Column>, rows: usize, properties: WriterProperties) -> Vec<u8> {
    let nullable =
        |column: &ArrayRef| column.null_count() > 0 || *column.data_type() == DataType::Null;
    let columns =
        columns.into_iter().map(|(name, column)| (name, column.clone(), nullable(&column)));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    for from in (0..batch.num_rows()).step_by(rows) {
        writer.write(&batch.slice(from, rows.min(batch.num_rows() - from))).unwrap();
        writer.flush().unwrap();
    }
    writer.into_inner().unwrap()
}

fn plain(columns: Vec<Column>) -> Vec<u8> {
    file(columns, 1000, WriterProperties::default())
}

fn texts(texts: impl IntoIterator<Item = impl Into<String>>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(texts.into_iter().map(Into::into)))
}

fn entries(bytes: &[u8]) -> Vec<Entry> {
    read_all("x.parquet", bytes, &Options::default()).0
}

fn outcomes(bytes: &[u8]) -> Vec<String> {
    words(&entries(bytes))
}

/// The dates of the pages of a file with this column of dates.
fn dates(column: ArrayRef) -> Vec<Option<i64>> {
    let pages = || texts((0..column.len()).map(|n| n.to_string()));
    let bytes = plain(vec![("url", pages()), ("text", pages()), ("date", column.clone())]);
    let date = |entry: Entry| match entry.item {
        Item::Record(record) => record.date,
        other => panic!("{other:?}"),
    };
    entries(&bytes).into_iter().map(date).collect()
}

/// The error with which a file is refused.
fn fails(bytes: &[u8]) -> String {
    let file = Temporary::new("x.parquet", bytes);
    let error = open(&file.split(), &Options::default()).err().expect("an error");
    assert_eq!(error.kind(), Kind::Data, "{error}");
    assert!(error.to_string().contains("x.parquet"), "{error}");
    error.to_string()
}

/// `n` rows with texts that hardly compress.
fn pages(n: usize) -> Vec<Column> {
    let mut random = Random(1);
    let mut text = || String::from_utf8(random.ascii(20)).unwrap();
    vec![
        ("url", texts((0..n).map(|n| format!("http://a.example/{n}")))),
        ("id", Arc::new(Int32Array::from_iter_values(0..n as i32)) as ArrayRef),
        ("text", texts((0..n).map(|_| text()))),
        (
            "date",
            Arc::new(TimestampMillisecondArray::from_iter_values((0..n as i64).map(|n| n * 1000))),
        ),
    ]
}

/// A struct of these columns; rows in `nulls` have none.
fn group(columns: Vec<Column>, nulls: &[usize]) -> ArrayRef {
    let rows = columns[0].1.len();
    let valid: Vec<bool> = (0..rows).map(|row| !nulls.contains(&row)).collect();
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, column)| Field::new(*name, column.data_type().clone(), true))
        .collect();
    let columns = columns.into_iter().map(|(_, column)| column).collect();
    Arc::new(StructArray::new(fields.into(), columns, Some(valid.into())))
}

fn uncompressed() -> WriterProperties {
    WriterProperties::builder().set_compression(Compression::UNCOMPRESSED).build()
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for at in 0..bytes.len().saturating_sub(from.len()) {
        if bytes[at..].starts_with(from) {
            bytes[at..at + to.len()].copy_from_slice(to);
        }
    }
    bytes
}
