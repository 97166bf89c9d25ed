//! Which types of columns hold texts and dates, and columns that cannot be used.

use super::*;

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
    // The type states its unit, so the size of a number does not matter.
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

/// A row without a URL is rejected under the same reason as such a JSON line. A row whose texts are
/// null is empty.
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

/// A file was refused because of a column that it does not need, with the default name of a field
/// but other contents. Such a column is passed by and noted. A column that the job names is still
/// refused.
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
    // A column that may say that pages are gone is not passed by.
    for (field, column, kind) in [("op", yes(), "Boolean"), ("deleted", one(), "Utf8")] {
        let why = fails(&plain(vec![("url", one()), ("text", one()), (field, column)]));
        assert!(why.contains(field) && why.contains(kind), "{why}");
    }
    // Without a text all rows would be bad, whatever else the file has.
    let why = fails(&plain(vec![("url", one()), ("text", yes()), ("op", one())]));
    assert!(why.contains("`text`") && why.contains("Boolean"), "{why}");
}
