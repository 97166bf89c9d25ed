//! Tests of the copier of Parquet files.

use crate::error::Kind;
use crate::filter::copy::{Copier, Parts, Spot};
use crate::filter::order::Side;
use crate::filter::parquet::Rows;
use crate::filter::parquet::table::{BATCH_ROWS_MAX, Table, sound};
use crate::read::parquet::PAGE_BYTES_MAX;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::column::reader::ColumnReader;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// Removes one of the `rows` rows of the file at `path`. What is kept takes hardly more bytes.
fn keeps_its_size(path: &Path, rows: u64) {
    let parts = Parts::create(&path.with_file_name("kept"), None).expect("a file");
    let mut copied = Box::new(Rows::open(path, parts).expect("rows"));
    for position in 0..rows {
        let side = if position == 50 { Side::Removed } else { Side::Kept };
        let spot = Spot {
            position,
            member: None,
            side,
            instead: None,
            labels: None,
            is_row: true,
            is_bomb: false,
        };
        copied.push(spot).expect("copied");
    }
    let kept = copied.finish().expect("whole").kept.bytes();
    let original = path.metadata().expect("a file").len();
    assert!(kept < original + 1000, "{kept} {original}");
}

/// A row group that is written anew keeps its dictionary. A dictionary over the writer's own
/// limit was given up, and each value written out.
#[test]
fn dictionaries_stay() {
    let text = |n: usize| format!("{n} {}", "x".repeat(300_000));
    let (_folder, path) = texts((0..90).map(|n| text(n % 9)), with_dictionary());
    keeps_its_size(&path, 90);
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
    keeps_its_size(&behind, 300);
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
    assert!(error.kind() == Kind::Data && error.to_string().contains("no sound schema"), "{error}");
}
