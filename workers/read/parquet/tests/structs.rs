//! Fields in structs are named by paths, as in JSON lines.

use super::*;

/// Columns of structs are read as fields of nested objects of JSON lines are, at any depth, with
/// any of them null and in row groups of any size: files of datatrove and FineWeb can be read
/// without naming a field. A list stays nested.
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
