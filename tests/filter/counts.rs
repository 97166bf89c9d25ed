//! What a filter counts.

use super::filter;
use super::scene::gzip;
use crate::texts::text;
use crate::workbench::{Bench, failure};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// Writes a table with these columns to the inputs of `bench`.
fn put_table(bench: &Bench, name: &str, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let file = std::fs::File::create(bench.at("in").join(name)).expect("created");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("whole");
}

fn texts(all: impl Iterator<Item = String>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(all))
}

/// Of rows of Parquet, half of which fold, the report said that 0 bytes were left out, and of lines
/// in gzip more than the file had. They have their share of the file.
#[test]
fn bytes_that_are_left_out() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let url = |host: &str, n: u64| format!("http://{host}.example/{n}");
    let rows = 0..200u64;
    let columns = vec![
        ("url", texts(rows.clone().map(|n| url("table", n)))),
        ("text", texts(rows.clone().map(|n| text(n / 2, 0)))),
    ];
    put_table(&bench, "a.parquet", columns);
    let line = |n: u64| json!({ "url": url("lines", n), "text": text(1000 + n / 2, 0) });
    let lines: String = rows.map(|n| format!("{}\n", line(n))).collect();
    std::fs::write(bench.at("in/b.jsonl.gz"), gzip(lines.as_bytes())).expect("written");
    bench.run_well(&[]);
    let report = filter(&bench, &["--to", "kept"]);
    assert_eq!(report["records"], json!({ "folded": 200, "kept": 200 }));
    for (host, file) in [("table", "a.parquet"), ("lines", "b.jsonl.gz")] {
        let saved = &report["hosts"][format!("{host}.example")];
        let size = bench.at("in").join(file).metadata().expect("there").len();
        assert_eq!(saved["records"], 100, "{saved}");
        let bytes = saved["bytes"].as_u64().expect("a number");
        assert!(bytes.abs_diff(size / 2) < size / 20, "{host}: {bytes} of {size}");
    }
    let of_hosts: u64 = ["table", "lines"]
        .map(|host| report["hosts"][format!("{host}.example")]["bytes"].as_u64().unwrap_or(0))
        .iter()
        .sum();
    assert_eq!(report["sources"]["crawl"]["bytes"], of_hosts);
}

/// A row group that is lost counted as one row, so that the few rows that fold in another group got
/// most of the bytes of the file: of 1,010 rows 5 fold, and have 5 of 1,010 parts of it.
#[test]
fn bytes_beside_a_row_group_that_is_lost() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let columns = vec![
        ("url", texts((0..1010).map(|n| format!("http://a.example/{n}")))),
        ("text", texts((0..1010).map(|n| text(if n < 1000 { n } else { n / 2 }, 0)))),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_max_row_group_row_count(Some(1000))
        .build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("in memory");
    let mut bytes = writer.into_inner().expect("in memory");
    // The first page stands behind the mark of the format.
    bytes[4..16].fill(0xff);
    std::fs::write(bench.at("in/a.parquet"), &bytes).expect("written");
    bench.run_well(&["--allow", "rejects"]);
    let report = filter(&bench, &["--to", "kept"]);
    assert_eq!(report["records"], json!({ "folded": 5, "kept": 5, "rejected": 1000 }));
    assert_eq!(report["sources"]["crawl"]["bytes"], bytes.len() as u64 * 5 / 1010);
}

/// A table without the column of the key is one reject for all its rows. A run counted two of them,
/// a filter one.
#[test]
fn rejects_of_several_rows() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let ids = Arc::new(Int64Array::from_iter_values(0..2)) as ArrayRef;
    put_table(&bench, "a.parquet", vec![("id", ids), ("text", texts((0..2).map(|n| text(n, 0))))]);
    let columns = vec![
        ("url", texts((0..40).map(|n| format!("http://a.example/{n}")))),
        ("text", texts((0..40).map(|n| text(n, 0)))),
    ];
    put_table(&bench, "b.parquet", columns);
    let message = bench.run_well(&[]);
    assert!(message.contains("rejected   2 "), "{message}");
    assert_eq!(filter(&bench, &["--records", "records"])["records"]["rejected"], 2);
}

/// A signal ended a filter without a message, and without an exit code by which a script knows what
/// to do. It is SIGTERM here: a shell lets its background jobs ignore SIGINT.
#[test]
fn a_signal_is_reported() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let line = json!({ "url": "http://a.example/", "text": text(1, 0) });
    std::fs::write(bench.at("in/a.jsonl"), format!("{line}\n")).expect("written");
    bench.run_well(&[]);
    // A filter that waits for another one is at work for as long as the test needs.
    let lock = bench.at("kept/_pagefold/a.jsonl.lock");
    std::fs::create_dir_all(lock.parent().expect("a folder")).expect("made");
    let held = workers::store::Lock::try_take(&lock).expect("opened").expect("free");
    let mut command = bench.other("filter", &["--to", "kept"]);
    let child = command.stderr(std::process::Stdio::piped()).spawn().expect("started");
    crate::stop::until_it_heeds(&child);
    crate::workbench::signal("TERM", &child.id().to_string());
    let output = child.wait_with_output().expect("ended");
    let message = failure(&output.stderr);
    assert!(output.status.code() == Some(75) && message.contains("run again"), "{message}");
    drop(held);
    assert_eq!(filter(&bench, &["--to", "kept"])["records"]["kept"], 1);
}
