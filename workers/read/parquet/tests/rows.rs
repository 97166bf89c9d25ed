//! Rows are the same in every encoding, however a file is cut, and as JSON lines.

use super::*;

/// Every codec and every encoding of texts that writers use reads the same, with any division into
/// pages.
#[test]
fn codecs_and_encodings() {
    let want = entries(&file(pages(700), 300, uncompressed()));
    assert_eq!(want.len(), 700);
    assert!(want.iter().enumerate().all(|(n, entry)| entry.offset == n as u64));
    for codec in [
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        let properties = WriterProperties::builder().set_compression(codec).build();
        assert_eq!(entries(&file(pages(700), 300, properties)), want, "{codec}");
    }
    // Some rows and one whole page without a text.
    let holes = || {
        let mut columns = pages(700);
        let all = columns[2].1.as_string::<i32>().clone();
        let texts = (0..700).map(|n| (n % 5 > 0 && !(300..450).contains(&n)).then(|| all.value(n)));
        columns[2].1 = Arc::new(texts.collect::<StringArray>());
        columns
    };
    for columns in [|| pages(700), holes] {
        let want = entries(&file(columns(), 300, uncompressed()));
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for encoding in
                [Encoding::PLAIN, Encoding::DELTA_LENGTH_BYTE_ARRAY, Encoding::DELTA_BYTE_ARRAY]
            {
                let properties = WriterProperties::builder()
                    .set_writer_version(version)
                    .set_dictionary_enabled(false)
                    .set_column_encoding("url".into(), encoding)
                    .set_column_encoding("text".into(), encoding)
                    .set_write_batch_size(50)
                    .set_data_page_row_count_limit(150)
                    .build();
                assert_eq!(
                    entries(&file(columns(), 300, properties)),
                    want,
                    "{version:?} {encoding}"
                );
            }
        }
    }
}

/// A value that a dictionary repeats is held once: 300 rows of 4 MiB each decode in batches of 256.
#[test]
fn repeated_values() {
    let text = "x".repeat(4 << 20);
    let mut texts_column = StringDictionaryBuilder::<types::Int32Type>::new();
    (0..300).for_each(|_| texts_column.append_value(&text));
    let properties = WriterProperties::builder().set_dictionary_page_size_limit(16 << 20).build();
    let columns =
        vec![("url", texts(vec!["a"; 300])), ("text", Arc::new(texts_column.finish()) as ArrayRef)];
    let bytes = file(columns, 300, properties);
    let file = Temporary::new("x.parquet", &bytes);
    let mut reader = Parquet::open(&file.split(), &Options::default()).unwrap();
    assert!(reader.advance().unwrap().is_none());
    let (batch, ..) = reader.batch.as_ref().unwrap();
    assert_eq!(batch.num_rows(), 256);
    assert!(batch.get_array_memory_size() < 32 << 20, "{}", batch.get_array_memory_size());
}

/// However a file is cut, each of its rows is read once, by the split in which its row group
/// starts. Progress only grows, up to the whole split.
#[test]
fn cuts() {
    let bytes = file(pages(900), 70, WriterProperties::default());
    let want = entries(&bytes);
    assert_eq!(want.len(), 900);
    let file = Temporary::new("x.parquet", &bytes);
    let size = bytes.len() as u64;
    for split_bytes in [1, 97, 1000, 4096, size / 2, size - 1, size, size + 1] {
        let mut found = Vec::new();
        for split in splits(&file.0, size, split_bytes)
            .unwrap()
            .into_iter()
            .filter(|split| split.end > split.start)
        {
            let mut reader = open(&split, &Options::default()).unwrap();
            let mut consumed = 0;
            while let Some(entry) = reader.next().unwrap() {
                found.push(entry);
                assert!(reader.consumed_bytes() >= consumed);
                consumed = reader.consumed_bytes();
            }
            assert_eq!(reader.consumed_bytes(), split.end - split.start);
            if split_bytes == 1 && found.len() > 200 {
                break;
            }
        }
        assert_eq!(found[..], want[..found.len()], "{split_bytes}");
        assert!(split_bytes == 1 || found.len() == want.len(), "{split_bytes}");
    }
}

fn some(pattern: &'static str) -> impl Strategy<Value = Option<String>> {
    proptest::option::of(pattern)
}

proptest! {
    /// A page reads the same from a JSON line and from a Parquet row.
    #[test]
    fn same_as_json(
        rows in proptest::collection::vec(
            (some("[a-z:/ \\u{1}é]{0,9}"), some("\\PC{0,9}"), some("[<p>a]{0,5}"), some("[0-9TZ:-]{0,20}"),
             proptest::option::of(any::<bool>()), some("remove|add")),
            1..20,
        ),
    ) {
        let mut lines = String::new();
        for (url, text, html, date, deleted, op) in &rows {
            let line = serde_json::json!(
                { "url": url, "text": text, "html": html, "date": date, "deleted": deleted, "op": op });
            lines.push_str(&format!("{line}\n"));
        }
        macro_rules! column {
            ($at:tt) => { Arc::new(rows.iter().map(|row| row.$at.clone()).collect::<StringArray>()) as ArrayRef };
        }
        let deleted: ArrayRef = Arc::new(rows.iter().map(|row| row.4).collect::<BooleanArray>());
        let bytes = plain(vec![
            ("op", column!(5)), ("url", column!(0)), ("text", column!(1)), ("html", column!(2)), ("date", column!(3)),
            ("deleted", deleted),
        ]);
        let from_json = read_all("x.jsonl", lines.as_bytes(), &Options::default()).0;
        // The reject of a line also lists the fields that it has.
        let item = |entry: Entry| match entry.item {
            Item::Reject { reason, mut detail, url, records } => {
                detail.truncate(detail.find("; it has ").unwrap_or(detail.len()));
                Item::Reject { reason, detail, url, records }
            }
            item => item,
        };
        let items = |entries: Vec<Entry>| entries.into_iter().map(item).collect::<Vec<_>>();
        prop_assert_eq!(items(entries(&bytes)), items(from_json));
    }
}
