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

/// Texts are read from every type of Arrow that holds them, by name and in any order; other columns
/// are ignored.
#[test]
fn types_of_texts() {
    let both = ["http://a/", "http://b/é"];
    let mut binary = BinaryBuilder::new();
    let mut dictionary = StringDictionaryBuilder::<types::Int8Type>::new();
    for text in both {
        binary.append_value(text);
        dictionary.append_value(text);
    }
    let binary = binary.finish();
    let columns: Vec<ArrayRef> = vec![
        texts(both),
        Arc::new(LargeStringArray::from_iter_values(both)),
        Arc::new(StringViewArray::from_iter_values(both)),
        Arc::new(LargeBinaryArray::from_iter_values(both)),
        Arc::new(BinaryViewArray::from_iter_values(both)),
        Arc::new(binary),
        Arc::new(dictionary.finish()),
    ];
    let list =
        ListArray::from_iter_primitive::<types::Int32Type, _, _>([Some(vec![Some(1)]), None]);
    for column in columns {
        let kind = column.data_type().clone();
        let other: ArrayRef = Arc::new(list.clone());
        let bytes = plain(vec![("text", column.clone()), ("links", other), ("url", column)]);
        assert_eq!(outcomes(&bytes), ["http://a/ text 9", "http://b/é text 11"], "{kind}");
    }
    let numbers: ArrayRef = Arc::new(UInt64Array::from(vec![7, u64::MAX]));
    assert_eq!(
        outcomes(&plain(vec![("url", numbers), ("html", texts(both))])),
        ["7 html 9", "18446744073709551615 html 11"]
    );
}

/// A moment is the same second in every type that can hold it. Outside the years 1 to 9999 there is
/// no date.
#[test]
fn types_of_dates() {
    let at = 1_209_588_505;
    let columns: Vec<ArrayRef> = vec![
        Arc::new(TimestampSecondArray::from(vec![at])),
        Arc::new(TimestampMillisecondArray::from(vec![at * 1000 + 999])),
        Arc::new(
            TimestampMicrosecondArray::from(vec![at * 1_000_000 + 999_999]).with_timezone("+02:00"),
        ),
        Arc::new(TimestampNanosecondArray::from(vec![at * 1_000_000_000 + 1])),
        Arc::new(Int64Array::from(vec![at])),
        Arc::new(Int64Array::from(vec![at * 1000 + 999])),
        Arc::new(Int64Array::from(vec![at * 1_000_000_000])),
        Arc::new(Int32Array::from(vec![at as i32])),
        Arc::new(UInt32Array::from(vec![at as u32])),
        Arc::new(UInt64Array::from(vec![at as u64])),
        Arc::new(Float64Array::from(vec![at as f64 + 0.5])),
        texts(["2008-04-30T20:48:25Z"]),
    ];
    for column in columns {
        let kind = column.data_type().clone();
        assert_eq!(dates(column), [Some(at)], "{kind}");
    }
    assert_eq!(
        dates(Arc::new(Date32Array::from(vec![14_000, -1]))),
        [Some(14_000 * 86_400), Some(-86_400)]
    );
    assert_eq!(
        dates(Arc::new(Date64Array::from(vec![at / 86_400 * 86_400_000]))),
        [Some(at / 86_400 * 86_400)]
    );
    assert_eq!(dates(Arc::new(TimestampMillisecondArray::from(vec![-1]))), [Some(-1)]);
    assert_eq!(dates(Arc::new(Int16Array::from(vec![7]))), [Some(7)]);
    assert_eq!(dates(Arc::new(Int64Array::from(vec![Some(at), None]))), [Some(at), None]);
    // A type says its unit, so a size tells nothing.
    assert_eq!(dates(Arc::new(TimestampSecondArray::from(vec![at * 1000]))), [None]);
    assert_eq!(dates(Arc::new(Float32Array::from(vec![f32::NAN]))), [None]);
    assert_eq!(dates(Arc::new(NullArray::new(1))), [None]);
}

/// The 96-bit dates of older writers are read, also beyond the year 2262.
#[test]
fn dates_of_96_bits() {
    let schema =
        "message m { required binary url (UTF8); required binary text; optional int96 date; }";
    let schema = Arc::new(parquet::schema::parser::parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for _ in 0..2 {
        let mut column = group.next_column().unwrap().unwrap();
        column
            .typed::<ByteArrayType>()
            .write_batch(&[ByteArray::from("a"), ByteArray::from("b")], None, None)
            .unwrap();
        column.close().unwrap();
    }
    let mut column = group.next_column().unwrap().unwrap();
    let both = [int96(1_209_588_505), int96(32_503_680_000)];
    column.typed::<Int96Type>().write_batch(&both, Some(&[1, 1]), None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    let entries = entries(&writer.into_inner().unwrap());
    let dates = entries.iter().map(|entry| match &entry.item {
        Item::Record(record) => record.date,
        other => panic!("{other:?}"),
    });
    assert_eq!(dates.collect::<Vec<_>>(), [Some(1_209_588_505), Some(32_503_680_000)]);
}

/// The nanoseconds of the day and the Julian day.
fn int96(seconds: i64) -> Int96 {
    let (day, nanos) =
        (seconds.div_euclid(86_400) + 2_440_588, seconds.rem_euclid(86_400) as u64 * 1_000_000_000);
    let mut date = Int96::new();
    date.set_data(nanos as u32, (nanos >> 32) as u32, day as u32);
    date
}

/// A row without a URL is rejected under the reason of such a JSON line. One whose texts are null is
/// empty.
#[test]
fn nulls() {
    let url = StringArray::from(vec![Some("a"), None, Some(" "), Some("d"), Some("e")]);
    let text = StringArray::from(vec![Some("1"), Some("2"), Some("3"), None, None]);
    let html = StringArray::from(vec![None, None, None, None, Some("<p>")]);
    let columns: Vec<Column> =
        vec![("url", Arc::new(url)), ("text", Arc::new(text)), ("html", Arc::new(html))];
    assert_eq!(
        outcomes(&plain(columns)),
        ["a text 1", "!no_url", "!no_url", "d text 0", "e html 3"]
    );
}

/// Rows may remove pages, and a file of removals needs neither text nor HTML.
#[test]
fn removals() {
    let deleted: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]));
    let numbers: ArrayRef = Arc::new(Int8Array::from(vec![1, 0, 2]));
    let url = || texts(["a", "b", "c"]);
    assert_eq!(
        outcomes(&plain(vec![("url", url()), ("deleted", deleted)])),
        ["a removed", "!no_text", "!no_text"]
    );
    assert_eq!(
        outcomes(&plain(vec![("url", url()), ("deleted", numbers)])),
        ["a removed", "!no_text", "!bad_field"]
    );
    assert_eq!(
        outcomes(&plain(vec![("url", url()), ("op", texts(["remove", "", "x"]))]))[0],
        "a removed"
    );
}

/// A column that is missing, nested, present twice or of the wrong type is an error that names the
/// file, the column and the key of the job file.
#[test]
fn unfit_columns() {
    let one = || texts(["a"]);
    let why = fails(&plain(vec![("uri", one()), ("text", one())]));
    assert!(
        why.contains("`url`") && why.contains("[read.fields] url") && why.contains("uri, text"),
        "{why}"
    );
    let why = fails(&plain(vec![("url", one()), ("body", one())]));
    assert!(
        why.contains("`text`") && why.contains("`html`") && why.contains("[read.fields] text"),
        "{why}"
    );
    let number = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    let why = fails(&plain(vec![("url", one()), ("body", one()), ("text", number())]));
    assert!(why.contains("`text`") && why.contains("Int64"), "{why}");
    let twice = file(vec![("url", one()), ("tExt", one()), ("text", one())], 1, uncompressed());
    let twice = replaced(&twice, b"tExt", b"text");
    assert!(fails(&twice).contains("two columns"));
}

/// A column that has the default name of a field and holds something else refused the file, which
/// does not need it. It is passed by and noted; one that the job names is still refused.
#[test]
fn columns_of_other_meaning() {
    let one = || texts(["a"]);
    let list: ArrayRef =
        Arc::new(ListArray::from_iter_primitive::<types::Int32Type, _, _>([Some(vec![Some(1)])]));
    let fixed: ArrayRef =
        Arc::new(FixedSizeBinaryArray::try_from_iter([[0u8; 4]].into_iter()).unwrap());
    let yes = || Arc::new(BooleanArray::from(vec![true])) as ArrayRef;
    for (field, column, kind, note) in [
        ("html", fixed, "FixedSizeBinary(4)", "html_unfit"),
        ("date", list, "nested", "date_unfit"),
        ("date", yes(), "Boolean", "date_unfit"),
        ("date", Arc::new(Decimal128Array::from(vec![1])), "Decimal128", "date_unfit"),
        ("date", group(vec![("year", one())], &[]), "nested", "date_unfit"),
    ] {
        let of = |name| plain(vec![("url", one()), ("text", one()), (name, column.clone())]);
        let (found, notes) = read_all("x.parquet", &of(field), &Options::default());
        assert_eq!(words(&found), ["a text 1"], "{field}");
        assert_eq!(notes.iter().collect::<Vec<_>>(), [(note, 1)]);
        let fields = serde_json::from_value(serde_json::json!({ field: "own" })).unwrap();
        let file = Temporary::new("x.parquet", &of("own"));
        let options = Options { fields, ..Options::default() };
        let why = open(&file.split(), &options).err().expect("an error").to_string();
        assert!(why.contains("`own`") && why.contains(kind), "{why}");
    }
    let columns = vec![("url", one()), ("text", yes()), ("content", one())];
    assert_eq!(outcomes(&plain(columns)), ["a text 1"], "by its next name");
    // What may say that pages are gone is not passed by.
    for (field, column, kind) in [("op", yes(), "Boolean"), ("deleted", one(), "Utf8")] {
        let why = fails(&plain(vec![("url", one()), ("text", one()), (field, column)]));
        assert!(why.contains(field) && why.contains(kind), "{why}");
    }
    // Without a text all rows would be bad, whatever else the file has.
    let why = fails(&plain(vec![("url", one()), ("text", yes()), ("op", one())]));
    assert!(why.contains("`text`") && why.contains("Boolean"), "{why}");
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

/// Columns of structs are read as fields of nested objects of JSON lines are, at any depth, with
/// any of them null and in row groups of any size: the shape of datatrove's and FineWeb's files
/// needs no field named. What is a list stays nested.
#[test]
fn columns_of_structs() {
    let urls: ArrayRef = Arc::new(StringArray::from(vec![
        Some("http://a/"),
        None,
        Some("http://c/"),
        Some("http://d/"),
    ]));
    let dates = texts(["2020-01-01", "2020-01-02", "2020-01-03", "no date"]);
    let list = ListArray::from_iter_primitive::<types::Int32Type, _, _>(
        (0..4).map(|n| Some(vec![Some(n)])),
    );
    let metadata = |nulls: &[usize]| {
        let other: ArrayRef = Arc::new(list.clone());
        group(vec![("tags", other), ("date", dates.clone()), ("url", urls.clone())], nulls)
    };
    let text = || texts(["a", "bb", "ccc", "dddd"]);
    for rows in [1, 3, 4] {
        let bytes = file(
            vec![("text", text()), ("id", text()), ("metadata", metadata(&[2]))],
            rows,
            uncompressed(),
        );
        let (entries, notes) = read_all("x.parquet", &bytes, &Options::default());
        assert_eq!(words(&entries), ["http://a/ text 1", "!no_url", "!no_url", "http://d/ text 4"]);
        let dates = entries.iter().filter_map(|entry| match &entry.item {
            Item::Record(record) => Some((record.date, record.bad_date)),
            _ => None,
        });
        assert_eq!(dates.collect::<Vec<_>>(), [(Some(1_577_836_800), false), (None, true)]);
        assert_eq!(
            notes.iter().collect::<Vec<_>>(),
            [("date_in_metadata.date", 4), ("url_in_metadata.url", 4)]
        );
        // Two levels, a number for a key, and a column whose own name has the dot.
        let deep = group(
            vec![("meta", metadata(&[])), ("n", Arc::new(Int32Array::from_iter_values(0..4)))],
            &[1],
        );
        let flat = texts(["w", "x", "y", "z"]);
        let bytes =
            file(vec![("x", deep), ("body", text()), ("x.meta.date", flat)], rows, uncompressed());
        let fields = Fields {
            url: vec!["x.meta.url".into(), "x.n".into()],
            text: "x.meta.date".into(),
            date: "none".into(),
            ..Fields::default()
        };
        let mut options = Options { fields, ..Options::default() };
        let outcomes = words(&read_all("x.parquet", &bytes, &options).0);
        assert_eq!(
            outcomes,
            ["http://a//0 text 1", "!no_url", "http://c//2 text 1", "http://d//3 text 1"]
        );
        options.fields.text = "x.meta.tags".into();
        let file = Temporary::new("x.parquet", &bytes);
        assert!(
            open(&file.split(), &options).err().expect("refused").to_string().contains("nested")
        );
    }
    // FineWeb's columns.
    let bytes = plain(vec![
        ("text", text()),
        ("id", text()),
        ("dump", text()),
        ("url", texts(["a", "b", "c", "d"])),
        ("date", dates),
    ]);
    assert_eq!(outcomes(&bytes), ["a text 1", "b text 2", "c text 3", "d text 4"]);
}

/// Struct columns are read as JSON lines of the same rows are, nulls and missing parts included.
#[test]
fn structs_equal_json_lines() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let rows = 1 + random.below(30);
        let mut value =
            |some: usize| (random.below(3) < some).then(|| format!("v{}", random.below(5)));
        let (url, text, id): (Vec<_>, Vec<_>, Vec<_>) = (
            (0..rows).map(|_| value(2)).collect(),
            (0..rows).map(|_| value(2)).collect(),
            (0..rows).map(|_| value(2)).collect(),
        );
        let nulls: Vec<usize> = (0..rows).filter(|_| value(1).is_some()).collect();
        let strings =
            |values: &Vec<Option<String>>| Arc::new(StringArray::from(values.clone())) as ArrayRef;
        let columns = vec![
            ("m", group(vec![("url", strings(&url)), ("id", strings(&id))], &nulls)),
            ("text", strings(&text)),
        ];
        let lines: String = (0..rows)
            .map(|n| {
                let m = (!nulls.contains(&n))
                    .then(|| serde_json::json!({ "url": url[n], "id": id[n] }));
                format!("{}\n", serde_json::json!({ "m": m, "text": text[n] }))
            })
            .collect();
        for key in [PageKey::Url, PageKey::Field("m.id".into())] {
            let fields = Fields { url: vec!["m.url".into()], ..Fields::default() };
            let options = Options { fields, key, ..Options::default() };
            let read = |name: &str, bytes: &[u8]| words(&read_all(name, bytes, &options).0);
            let parquet = file(columns.clone(), 1 + random.below(9), WriterProperties::default());
            assert_eq!(
                read("x.parquet", &parquet),
                read("x.jsonl", lines.as_bytes()),
                "seed {seed}: {lines}"
            );
        }
    }
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

/// A text that is not UTF-8, and one over the limit, cost only their row, although the column's
/// type promises UTF-8. It was told as a value of another type, with the advice to name another
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

/// A file cut short anywhere is an error that names it, and so is one that is packed or encrypted.
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

/// A few bytes of nulls stated millions of rows, and each became a reject. Such a row group is
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

/// A row group without rows, as some writers leave behind, refused a file by what it says of its
/// columns.
#[test]
fn row_groups_without_rows() {
    let bytes = file(pages(200), 100, WriterProperties::default());
    let file = Temporary::new("x.parquet", &bytes);
    let reader = Parquet::open(&file.split(), &Options::default()).unwrap();
    let [first, second] = [0, 1].map(|group| reader.metadata.row_group(group).clone());
    // It has the pages of another one.
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
