//! Rows with their cluster, tables of records, and tables that are refused.

use super::scene::{crawl, gzip, line, lines, plain_table, records};
use super::{content, decoded, files, filter, rows, word};
use crate::texts::text;
use crate::workbench::{Bench, failure, pagefold};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, DictionaryArray, Float32Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelector,
};
use parquet::basic::Encoding;
use parquet::file::metadata::PageIndexPolicy;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// With `--annotate` every row of JSON lines and Parquet stays, as it was but for its cluster,
/// which is that of `members`; names that a row has already and archives are refused.
#[test]
fn rows_get_their_cluster() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    crawl(&bench.at("in"));
    for name in
        ["d.warc", "e.warc.gz", "f.warc.gz", "g.warc.gz", "h.warc.zst", "i.arc.gz", "l.warc.lz4"]
    {
        std::fs::remove_file(bench.at("in").join(name)).expect("there");
    }
    bench.run_well(&["--set", "read.rejects_max=1"]);
    filter(&bench, &["--to", "labelled", "--annotate", "--records", "records"]);
    filter(&bench, &["--to", "others", "--annotate", "--names", "minhash"]);
    let rows = rows(&bench.at("records"));
    for (dir, cluster) in [("labelled", "cluster"), ("others", "minhash_cluster_id")] {
        let (originals, labelled) = (files(&bench.at("in")), files(&bench.at(dir)));
        for (name, bytes) in &labelled {
            let shown = name.to_str().expect("UTF-8");
            let clusters: Vec<&Value> = rows
                .iter()
                .filter(|row| word(row, "warc_filename") == shown)
                .map(|row| &row["cluster"])
                .collect();
            if shown.ends_with(".parquet") {
                let before = content(&bench.at("in").join(name)).2;
                let after = content(&bench.at(dir).join(name)).2;
                let columns = before[0].num_columns();
                assert_eq!(after[0].schema().field(columns).name(), cluster);
                assert_eq!(after[0].num_columns(), columns + 3);
                let found: Vec<Value> = after
                    .iter()
                    .flat_map(|batch| batch[cluster].as_string::<i32>().iter())
                    .map(|c| json!(c))
                    .collect();
                assert!(found.iter().collect::<Vec<_>>() == clusters, "{shown}");
                let left: Vec<RecordBatch> = after
                    .iter()
                    .map(|batch| batch.project(&(0..columns).collect::<Vec<_>>()).expect("columns"))
                    .collect();
                assert!(
                    left.iter().zip(&before).all(|(a, b)| a.columns() == b.columns()),
                    "{shown}"
                );
                continue;
            }
            let text = |bytes: &[u8]| String::from_utf8(decoded(bytes)).expect("UTF-8");
            let (before, after) = (text(&originals[name]), text(bytes));
            assert_eq!(before.lines().count(), after.lines().count(), "{shown}");
            assert_eq!(
                before.lines().filter(|line| !line.is_empty()).count(),
                clusters.len(),
                "{shown}"
            );
            let pairs = before.lines().zip(after.lines()).filter(|(before, _)| !before.is_empty());
            for ((before, after), of) in pairs.zip(&clusters) {
                let Ok(row) = serde_json::from_str::<Value>(after.trim_start_matches('\u{feff}'))
                else {
                    assert_eq!(before, after, "what is no row stays as it is");
                    continue;
                };
                assert_eq!(&&row[cluster], of, "{shown}: {row}");
                assert!(row.as_object().expect("an object").contains_key("representative"));
                assert!(after.starts_with(before.trim_end_matches('}')), "{before} {after}");
            }
        }
    }
    let refused = |arguments: &[&str], why: &str| {
        let output = bench.pagefold("filter", arguments);
        let stderr = failure(&output.stderr);
        assert!(output.status.code() == Some(64) && stderr.contains(why), "{stderr}");
    };
    let row = json!({ "url": "http://z.example/", "text": "one text of its own", "cluster": 1 });
    std::fs::write(bench.at("in/z.jsonl"), format!("{row}\n")).expect("written");
    bench.run_well(&["--set", "read.rejects_max=1"]);
    refused(&["--to", "labelled", "--annotate"], "z.jsonl: has a field `cluster` already");
    std::fs::write(bench.at("in/z.jsonl"), records(3).concat()).expect("written");
    bench.run_well(&["--set", "read.rejects_max=1"]);
    refused(&["--to", "labelled", "--annotate"], "z.jsonl is an archive");
}

/// A row that a run rejected stayed in annotated lines without the fields that all others got. It
/// gets them as null, what is no JSON stays as it is, and all are counted. A number that no parser
/// holds, in a field that the job does not read, rejected its row; it is written as it came.
#[test]
fn rejected_rows_get_fields_too() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let long = "9".repeat(400);
    let good = |host: &str, n| {
        let row = json!({ "text": text(n, 0), "url": format!("http://{host}.example/") });
        row.to_string().replacen('{', &format!("{{\"x\":1e999,\"y\":{long},"), 1)
    };
    let objects = [
        r#"{"url":"http://b.example/","x":-1e999}"#,
        r#"{"url":null,"text":"some words"}"#,
        r#"{"url":"http://b.example/","text":[]}"#,
        r#"{"url":"http://b.example/","text":"a","text":"b"}"#,
        "{ }",
    ];
    let others = [r#"{"url":"a","text":"b"}{"url":"c","text":"d"}"#, "[1]", "{\"url\": \"x", "}"];
    let files = [("a.jsonl", "a", 1), ("b.jsonl.gz", "c", 2)].map(|(name, host, n)| {
        let lines: Vec<String> = std::iter::once(good(host, n))
            .chain(objects.into_iter().chain(others).map(str::to_owned))
            .collect();
        let bytes = lines.join("\n").into_bytes();
        let bytes = if name.ends_with("gz") { gzip(&bytes) } else { bytes };
        std::fs::write(bench.at("in").join(name), bytes).expect("written");
        (name, host, lines)
    });
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let report = filter(&bench, &["--to", "labelled", "--annotate"]);
    assert_eq!((&report["records"]["rejected"], &report["files_whole"]), (&json!(18), &json!([])));
    for (name, host, lines) in files {
        let found = std::fs::read(bench.at("labelled").join(name)).expect("written");
        let found = String::from_utf8(decoded(&found)).expect("UTF-8");
        assert_eq!(found.lines().count(), lines.len());
        for (n, (before, after)) in lines.iter().zip(found.lines()).enumerate() {
            let fields = match n {
                0 => format!("\"cluster_size\":1,\"representative\":\"http://{host}.example/\"}}"),
                1..6 => r#""cluster":null,"cluster_size":null,"representative":null}"#.into(),
                _ => String::new(),
            };
            let own = before.strip_suffix('}').filter(|_| n < 6).unwrap_or(before);
            assert!(after.starts_with(own) && after.ends_with(&fields), "{name}: {after}");
            assert!(n < 6 || after == before, "{name}: {after}");
        }
    }
}

/// Sorted ids and times took hundreds of times as many bytes in what is kept as in the input: a row
/// group that loses a row was written without its encodings.
#[test]
fn encodings_stay() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let rows = 4000;
    // The last row has the text of the first.
    let texts = (0..rows).map(|n| Some(text(n % (rows - 1), 30)));
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from_iter_values(0..rows as i64)) as ArrayRef),
        ("text", Arc::new(StringArray::from_iter(texts))),
        ("x", Arc::new(Float32Array::from_iter_values((0..rows).map(|n| n as f32)))),
    ])
    .expect("a batch");
    let encodings = [
        ("id", Encoding::DELTA_BINARY_PACKED),
        ("text", Encoding::DELTA_LENGTH_BYTE_ARRAY),
        ("x", Encoding::BYTE_STREAM_SPLIT),
    ];
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let properties =
            WriterProperties::builder().set_dictionary_enabled(false).set_writer_version(version);
        let properties = encodings.iter().fold(properties, |properties, (name, encoding)| {
            properties.set_column_encoding((*name).into(), *encoding)
        });
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties.build()))
            .expect("in memory");
        writer.write(&batch).expect("in memory");
        let name = format!("{}.parquet", version.as_num());
        std::fs::write(bench.at("in").join(&name), writer.into_inner().expect("in memory"))
            .expect("written");
    }
    let key = ["--set", "read.key=row"];
    bench.run_well(&key);
    filter(&bench, &[&["--to", "kept"], &key[..]].concat());
    for version in [1, 2] {
        let file = std::fs::File::open(bench.at(&format!("kept/{version}.parquet")));
        let reader = SerializedFileReader::new(file.expect("written")).expect("Parquet");
        let metadata = reader.metadata();
        assert_eq!(metadata.file_metadata().version(), version);
        let Some(group) = metadata.row_groups().first() else { continue };
        assert!(group.num_rows() < rows as i64, "a row folds");
        for (chunk, (name, encoding)) in group.columns().iter().zip(encodings) {
            assert!(chunk.encodings().any(|found| found == encoding), "{name}, {version}");
        }
    }
}

/// Categories lost their order in a row group that loses a row: readers take it from the
/// dictionary, which had the values in the order in which they came. Each row group keeps all
/// categories.
#[test]
fn orders_of_categories_stay() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    // One row has the first category, so one of the two tables lacks it.
    let grade = |n: usize| match n {
        0 => Some("low"),
        1 => Some("mid"),
        _ => [None, Some("high"), Some("mid")][n % 3],
    };
    let grades = DictionaryArray::<Int32Type>::from_iter((0..60).map(grade));
    let texts = StringArray::from_iter_values((0..60).map(|n| text(n % 7, 30)));
    let plain = RecordBatch::try_from_iter([
        ("grade", Arc::new(grades) as ArrayRef),
        ("text", Arc::new(texts) as ArrayRef),
    ])
    .expect("a batch");
    let mut schema = plain.schema().as_ref().clone();
    schema.fields =
        schema.fields.iter().map(|of| of.as_ref().clone().with_dict_is_ordered(true)).collect();
    let batch = RecordBatch::try_new(Arc::new(schema), plain.columns().to_vec()).expect("a batch");
    for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
        let properties = WriterProperties::builder().set_writer_version(version).build();
        let mut writer =
            ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).expect("in memory");
        writer.write(&batch).expect("in memory");
        let name = format!("in/{}.parquet", version.as_num());
        std::fs::write(bench.at(&name), writer.into_inner().expect("in memory")).expect("written");
    }
    let arguments = ["--to", "kept", "--removed", "removed", "--set", "read.key=row"];
    bench.run_well(&arguments[4..]);
    filter(&bench, &arguments);
    filter(&bench, &[&arguments[..], &["--undo", "again"]].concat());
    // A representative may be in either file.
    let mut rows = 0;
    for dir in ["kept", "removed", "again"] {
        for version in [1, 2] {
            let path = bench.at(&format!("{dir}/{version}.parquet"));
            let (.., batches) = content(&path);
            let Some(batch) = batches.first() else { continue };
            rows += batch.num_rows();
            let grades = batch["grade"].as_dictionary::<Int32Type>();
            let categories = grades.values().as_string::<i32>().iter().flatten();
            assert_eq!(categories.collect::<Vec<_>>(), ["low", "mid", "high"], "{path:?}");
            // The pages that were left out are in no index.
            let file = std::fs::File::open(&path).expect("there");
            let options =
                ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Required);
            let last = vec![RowSelector::skip(batch.num_rows() - 1), RowSelector::select(1)];
            let mut reader = ParquetRecordBatchReaderBuilder::try_new_with_options(file, options)
                .and_then(|builder| builder.with_row_selection(last.into()).build())
                .expect("readable");
            let read = reader.next().expect("a row").expect("readable");
            assert!(read == batch.slice(batch.num_rows() - 1, 1), "{path:?}");
        }
    }
    assert_eq!(rows, 2 * 120);
    for name in ["1.parquet", "2.parquet"] {
        assert!(content(&bench.at("again").join(name)) == content(&bench.at("in").join(name)));
    }
}

/// A table that its reader refuses, as it states more rows than its bytes can hold, is copied
/// whole: each of these rows got a label in memory.
#[test]
fn refused_tables_are_copied_whole() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let nulls = || Arc::new(StringArray::new_null(200_000)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("url", nulls()), ("text", nulls())]).expect("a batch");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("in memory");
    writer.write(&batch).expect("in memory");
    std::fs::write(bench.at("in/a.parquet"), writer.into_inner().expect("in memory"))
        .expect("written");
    std::fs::write(bench.at("in/b.jsonl"), lines(0)).expect("written");
    bench.run_well(&["--set", "read.rejects_max=1"]);
    for (dir, more) in [("kept", &[][..]), ("labelled", &["--annotate"])] {
        let report = filter(&bench, &[&["--to", dir, "--allow-whole"], more].concat());
        assert_eq!(report["files_whole"].as_array().map(Vec::len), Some(1), "{report}");
        let copied = std::fs::read(bench.at(dir).join("a.parquet")).expect("copied");
        assert!(copied == std::fs::read(bench.at("in/a.parquet")).expect("there"));
    }
}

/// A table of records is written wherever it is missing, also in another folder, and no file of
/// somebody else is replaced by it.
#[test]
fn tables_of_records_in_any_folder() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/a.jsonl"), lines(0)).expect("written");
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let run = |records: &str| {
        filter(&bench, &["--to", "kept", "--records", records])["files_before"].clone()
    };
    assert_eq!((run("one"), run("two")), (json!(0), json!(0)));
    let whole = files(&bench.at("one"));
    assert!(!whole.is_empty() && files(&bench.at("two")) == whole);
    std::fs::remove_file(bench.at("two/a.jsonl.parquet")).expect("there");
    assert_eq!((run("two"), run("two")), (json!(0), json!(1)));
    assert!(files(&bench.at("two")) == whole);
    std::fs::create_dir(bench.at("three")).expect("made");
    std::fs::write(bench.at("three/a.jsonl.parquet"), "not ours").expect("written");
    for to in ["kept", "new"] {
        let refused = bench.pagefold("filter", &["--to", to, "--records", "three"]);
        let stderr = failure(&refused.stderr);
        assert!(
            refused.status.code() == Some(73) && stderr.contains("not written by this filter"),
            "{stderr}"
        );
        assert_eq!(std::fs::read(bench.at("three/a.jsonl.parquet")).expect("there"), b"not ours");
    }
}

/// A table that could not be written was taken for a damaged one and copied whole, with exit code
/// 0; `--undo` called its inputs damaged. The error must name the output.
#[cfg(unix)]
#[test]
fn tables_that_cannot_be_written() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    // Of two rows one folds, and a label is as long as a URL.
    let url = |n: u64| format!("http://h.example/{n}/{}", "x".repeat(1500));
    let table = plain_table(600, url, |n| text(n / 2, 0).repeat(7));
    std::fs::write(bench.at("in/a.parquet"), &table).expect("written");
    bench.run_well(&[]);
    let assert_refused = |bytes: usize, arguments: &str| {
        let limit = format!("ulimit -f {}", bytes / 512);
        let line = format!("{limit}; exec {} filter job.toml {arguments}", pagefold());
        let mut shell = std::process::Command::new("sh");
        let output = shell.args(["-c", &line]).current_dir(bench.at("")).output().expect("started");
        let stderr = failure(&output.stderr);
        assert!(output.status.code() == Some(73), "{:?} {stderr}", output.status);
        assert!(stderr.contains("a.parquet") && stderr.contains("large"), "{stderr}");
    };
    // Room for the table as it is, and not for its labels.
    assert_refused(table.len() + (64 << 10), "--to labelled --annotate");
    filter(&bench, &["--to", "kept", "--removed", "removed"]);
    assert_refused(table.len() * 3 / 4, "--to kept --removed removed --undo again");
    assert!(!bench.at("labelled/a.parquet").exists() && !bench.at("again/a.parquet").exists());
}

/// After a filter that did not finish a file, all files at its places counted as ours, in any
/// folder: a file of another program was replaced. And a table of an earlier filter no longer
/// counted as ours.
#[cfg(unix)]
#[test]
fn unfinished_files_are_ours_in_their_folders() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/a.jsonl"), lines(0)).expect("written");
    bench.run_well(&["--set", "read.rejects_max=1"]);
    // There is room for the note alone, so the file is begun and not finished.
    let begin = |records: &str| {
        let arguments = format!("--to kept --records {records}");
        let line = format!("ulimit -f 4; exec {} filter job.toml {arguments}", pagefold());
        let mut shell = std::process::Command::new("sh");
        let output = shell.args(["-c", &line]).current_dir(bench.at("")).output().expect("started");
        assert_eq!(output.status.code(), Some(73), "{}", failure(&output.stderr));
    };
    begin("one");
    std::fs::create_dir(bench.at("other")).expect("made");
    std::fs::write(bench.at("other/a.jsonl.parquet"), "not ours").expect("written");
    let refused = bench.pagefold("filter", &["--to", "kept", "--records", "other"]);
    let stderr = failure(&refused.stderr);
    assert!(refused.status.code() == Some(73) && stderr.contains("was not written"), "{stderr}");
    assert_eq!(std::fs::read(bench.at("other/a.jsonl.parquet")).expect("there"), b"not ours");
    filter(&bench, &["--to", "kept", "--records", "one"]);
    let table = std::fs::read(bench.at("one/a.jsonl.parquet")).expect("written");
    begin("two");
    filter(&bench, &["--to", "kept"]);
    filter(&bench, &["--to", "kept", "--records", "one"]);
    assert!(std::fs::read(bench.at("one/a.jsonl.parquet")).expect("there") == table);
}

/// Two inputs whose names differ in bytes that are not UTF-8 had one name in the tables of records,
/// so that a row was of no known file.
#[test]
fn names_that_are_not_utf8() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let names = [&b"in/\xd0\xc2.jsonl"[..], b"in/\xcc\xe5.jsonl", b"in/z.jsonl"];
    let names = names.map(OsStr::from_bytes);
    for (name, n) in names.iter().zip(0..) {
        let page = (format!("http://a.example/{n}"), "2024-01-01", Some(text(n, 0)));
        std::fs::write(bench.at("").join(name), line(&page)).expect("written");
    }
    bench.run_well(&[]);
    filter(&bench, &["--to", "kept", "--records", "records"]);
    let rows = rows(&bench.at("records"));
    let found: Vec<_> =
        rows.iter().map(|row| (word(row, "warc_filename"), word(row, "url"))).collect();
    assert_eq!(
        found,
        [
            ("z.jsonl", "http://a.example/2"),
            ("file://%CC%E5.jsonl", "http://a.example/1"),
            ("file://%D0%C2.jsonl", "http://a.example/0"),
        ]
    );
    assert_eq!(files(&bench.at("kept")), files(&bench.at("in")));
    for name in &names[..2] {
        std::fs::remove_file(bench.at("").join(name)).expect("there");
    }
    let report = filter(&bench, &["--to", "kept", "--records", "records", "--prune"]);
    assert_eq!(report["files_pruned"], json!(["file://%CC%E5.jsonl", "file://%D0%C2.jsonl"]));
}
