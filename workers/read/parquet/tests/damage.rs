//! Damaged files lose only what is damaged, cost no memory, and never stop the reader.

use super::*;

/// A text that is not UTF-8, and one over the limit, cost only their row, although the column's
/// type promises UTF-8. It was reported as a value of another type, with the advice to name another
/// field.
#[test]
fn bad_texts() {
    let columns = vec![("url", texts(["a", "b", "c"])), ("text", texts(["one", "#two", "three"]))];
    let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
    let bytes = replaced(&file(columns, 10, properties), b"#two", b"\xfftwo");
    assert_eq!(outcomes(&bytes), ["a text 3", "!bad_utf8", "c text 5"]);
    let mut options = Options::default();
    options.limits.record_bytes_max = 4;
    assert_eq!(words(&read_all("x", &bytes, &options).0), ["a text 3", "!bad_utf8", "!too_long"]);
}

/// A file that is cut short anywhere, packed or encrypted is an error that names it.
#[test]
fn no_footer() {
    let bytes = file(pages(20), 10, WriterProperties::default());
    for length in (0..bytes.len()).step_by(7) {
        fails(&bytes[..length]);
    }
    assert!(fails(&gzip(&bytes)).contains("unpack"));
    let encrypted = [&b"PARE"[..], &bytes[4..bytes.len() - 4], b"PARE"].concat();
    assert!(fails(&encrypted).contains("encrypted"));
}

/// A row group of absurd size is an error before anything is allocated for it.
#[test]
fn absurd_groups() {
    let bytes = plain(pages(20));
    let file = Temporary::new("x.parquet", &bytes);
    let reader = Parquet::open(&file.split(), &Options::default()).unwrap();
    let group = reader.metadata.row_group(0).clone();
    let column = group
        .column(2)
        .clone()
        .into_builder()
        .set_total_uncompressed_size(5 << 30)
        .build()
        .unwrap();
    let mut columns = group.columns().to_vec();
    columns[2] = column;
    let group = group.into_builder().set_column_metadata(columns).build().unwrap();
    let metadata = ParquetMetaData::new(reader.metadata.file_metadata().clone(), vec![group]);
    let why = row_groups(&metadata, &reader.selection, bytes.len() as u64, &Limits::default())
        .unwrap_err();
    assert!(why.contains("row group 0") && why.contains("5368709"), "{why}");
}

/// A dictionary repeats a text for a few bits, so a file of some kB had gigabytes of texts. Rows
/// that let a row group grow too much are lost and counted; other row groups are read.
#[test]
fn a_dictionary_is_no_bomb() {
    let repeated = "word ".repeat(20_000);
    let text =
        |n: usize| if (300..600).contains(&n) { repeated.clone() } else { format!("text {n}") };
    let columns =
        vec![("url", texts((0..900).map(|n| n.to_string()))), ("text", texts((0..900).map(text)))];
    let bytes = file(columns, 300, WriterProperties::default());
    let mut options = Options::default();
    (options.limits.ratio_max, options.limits.ratio_bytes_min) = (16, 3 << 20);
    let found = read_all("x.parquet", &bytes, &options).0;
    let lost = found
        .iter()
        .position(|entry| words(std::slice::from_ref(entry)) == ["!bomb"])
        .expect("a bomb");
    assert!(lost > 300 && found[lost].offset == lost as u64, "{lost}");
    let Item::Reject { detail, records, .. } = &found[lost].item else { panic!() };
    assert!(detail.starts_with(&format!("row group 1: {records} of 300 rows lost: ")), "{detail}");
    assert_eq!(*records, 600 - lost as u64);
    assert_eq!(found.len(), lost + 1 + 300);
    assert_eq!(read_all("x.parquet", &bytes, &Options::default()).0.len(), 900);
}

/// A damaged row group costs its own rows and states how many; the rows before and after it are
/// read.
#[test]
fn damaged_group() {
    let bytes = file(pages(300), 100, uncompressed());
    let want = outcomes(&bytes);
    let mut damaged = bytes.clone();
    let first = bytes.windows(20).position(|window| window == b"http://a.example/150").unwrap();
    damaged[first - 4..first].copy_from_slice(&[0xff; 4]);
    let found = entries(&damaged);
    let lost = found
        .iter()
        .position(|entry| words(std::slice::from_ref(entry)) == ["!bad_row_group"])
        .unwrap();
    let Item::Reject { detail, records, .. } = &found[lost].item else { panic!() };
    assert!(detail.starts_with("row group 1: 100 of 100 rows lost: "), "{detail}");
    assert_eq!(*records, 100);
    assert_eq!(found[lost].offset, 100);
    let rest: Vec<String> = words(&[&found[..lost], &found[lost + 1..]].concat());
    assert_eq!(rest, [&want[..100], &want[200..]].concat());
}

/// Reads a file that may be damaged. Every row that its footer states appears once, as itself or
/// among the lost ones.
fn account(bytes: &[u8]) -> bool {
    let file = Temporary::new("x.parquet", bytes);
    let mut reader = match Parquet::open(&file.split(), &Options::default()) {
        Ok(reader) => reader,
        Err(error) => {
            assert_eq!(error.kind(), Kind::Data, "{error}");
            return false;
        }
    };
    let stated: u64 = reader.groups.iter().map(|group| group.rows).sum();
    let mut next = 0;
    while let Some(entry) = reader.next().unwrap() {
        assert_eq!(entry.offset, next);
        next += entry.item.records();
    }
    assert_eq!(next, stated);
    assert_eq!(reader.consumed_bytes(), bytes.len() as u64);
    true
}

/// A flipped bit anywhere in a file causes no panic and hides no row: the file is refused as a
/// whole, or each row is read or reported lost.
#[test]
fn flipped_bits() {
    let delta = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_dictionary_enabled(false)
        .set_column_encoding("text".into(), Encoding::DELTA_BYTE_ARRAY)
        .set_column_encoding("url".into(), Encoding::DELTA_LENGTH_BYTE_ARRAY)
        .build();
    let snappy = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut random = Random(7);
    for (properties, bits) in [(delta, [0, 7]), (snappy, [6, 7]), (uncompressed(), [1, 7])] {
        let bytes = file(pages(12), 6, properties);
        assert!(account(&bytes));
        let (mut read, mut refused) = (0, 0);
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bits[random.below(2)];
            *(if account(&damaged) { &mut read } else { &mut refused }) += 1;
        }
        assert!(read > 0 && refused > 0, "{read} {refused}");
    }
}

/// A few bytes of nulls claimed millions of rows, and each became a reject. Such a row group is
/// refused by its footer.
#[test]
fn rows_out_of_nothing() {
    let rows = (ROWS_FREE + 100_000) as usize;
    let nulls = || Arc::new(StringArray::new_null(rows)) as ArrayRef;
    let bytes = file(vec![("url", nulls()), ("text", nulls())], rows, WriterProperties::default());
    assert!(bytes.len() < 5000);
    assert!(fails(&bytes).contains("rows in"), "{}", fails(&bytes));
}

/// Each of many row groups had as many free rows as a whole file, so that 18 kB were millions of
/// rejects. The row groups of a file share them.
#[test]
fn rows_out_of_nothing_in_many_groups() {
    let nulls = |rows| Arc::new(StringArray::new_null(rows)) as ArrayRef;
    let of = |rows, groups: usize| {
        let columns = vec![("url", nulls(rows)), ("text", nulls(rows))];
        file(columns, rows.div_ceil(groups), WriterProperties::default())
    };
    let rows = ROWS_FREE as usize;
    let sound = Temporary::new("x.parquet", &of(rows, 4));
    assert!(open(&sound.split(), &Options::default()).is_ok());
    assert!(fails(&of(4 * rows, 4)).contains("rows in"));
}

/// Row groups that name the same pages are refused: 387 kB were 102,400 accepted rows.
#[test]
fn shared_pages() {
    let bytes = file(pages(200), 100, WriterProperties::default());
    let file = Temporary::new("x.parquet", &bytes);
    let reader = Parquet::open(&file.split(), &Options::default()).unwrap();
    let [first, second] = [0, 1].map(|group| reader.metadata.row_group(group).clone());
    let groups = |groups: Vec<_>| {
        let metadata = ParquetMetaData::new(reader.metadata.file_metadata().clone(), groups);
        row_groups(&metadata, &reader.selection, bytes.len() as u64, &Limits::default())
    };
    assert_eq!(groups(vec![first.clone(), second.clone()]).unwrap().len(), 2);
    let why = groups(vec![first.clone(), second, first]).unwrap_err();
    assert!(why.contains("belongs to two columns"), "{why}");
}

/// A file was refused because of the columns of a row group without rows, which some writers leave
/// behind.
#[test]
fn row_groups_without_rows() {
    let bytes = file(pages(200), 100, WriterProperties::default());
    let file = Temporary::new("x.parquet", &bytes);
    let reader = Parquet::open(&file.split(), &Options::default()).unwrap();
    let [first, second] = [0, 1].map(|group| reader.metadata.row_group(group).clone());
    // It has the pages of another row group.
    let empty = || first.clone().into_builder().set_num_rows(0).build().unwrap();
    let all = vec![empty(), first.clone(), empty(), second, empty()];
    let metadata = ParquetMetaData::new(reader.metadata.file_metadata().clone(), all);
    let groups = row_groups(&metadata, &reader.selection, bytes.len() as u64, &Limits::default());
    let read: Vec<_> = groups.unwrap().iter().map(|(_, of)| (of.index, of.first_row)).collect();
    assert_eq!(read, [(1, 0), (3, 100)]);
    let schema = reader.metadata.file_metadata().schema_descr().root_schema_ptr();
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    while let Some(column) = group.next_column().unwrap() {
        column.close().unwrap();
    }
    group.close().unwrap();
    assert!(outcomes(&writer.into_inner().unwrap()).is_empty());
}

/// A decoder that panics or fails becomes an error message, and its thread goes on.
#[test]
fn panics_are_caught() {
    assert_eq!(guarded(|| Ok(7)), Ok(7));
    let why = guarded::<()>(|| panic!("at {}", 7)).unwrap_err();
    assert!(why.contains("at 7"), "{why}");
    let why = guarded::<()>(|| Err(ParquetError::General("torn".into()))).unwrap_err();
    assert!(why.contains("torn"), "{why}");
}
