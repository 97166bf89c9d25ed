//! Which record is kept if the record that represented a text is in no input any more.

use super::scene::{gzip, line};
use super::{assert_undone, files, filter, rows, word};
use crate::texts::text;
use crate::workbench::Bench;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// A bench whose rows have the key `key`, with an empty folder `in`.
fn bench(key: &str) -> Bench {
    let bench = Bench::new(Path::new("in"), "");
    let job = std::fs::read_to_string(bench.at("job.toml")).expect("there");
    let job = job.replace("[read]\n", &format!("[read]\nkey = \"{key}\"\n"));
    std::fs::write(bench.at("job.toml"), job).expect("written");
    std::fs::create_dir(bench.at("in")).expect("made");
    bench
}

fn put(bench: &Bench, name: &str, bytes: impl AsRef<[u8]>) {
    std::fs::write(bench.at("in").join(name), bytes).expect("written");
}

/// Rows with the texts of `numbers`; each has the id that `id` makes of the number.
fn corpus(numbers: impl Iterator<Item = u64>, id: impl Fn(u64) -> String) -> String {
    numbers.map(|n| format!("{}\n", json!({ "id": id(n), "text": text(n, 0) }))).collect()
}

/// The texts of the lines that were kept below `kept`.
fn texts(bench: &Bench) -> Vec<String> {
    let kept = files(&bench.at("kept")).into_values().map(|bytes| super::decoded(&bytes));
    let lines = String::from_utf8(kept.collect::<Vec<_>>().concat()).expect("UTF-8");
    let rows = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    rows.map(|row| word(&row, "text").to_owned()).collect()
}

/// Asserts that each text that the inputs have is kept once.
fn assert_each_once(bench: &Bench, count: usize) {
    let kept = texts(bench);
    let different: BTreeSet<&String> = kept.iter().collect();
    assert_eq!((kept.len(), different.len()), (count, count), "texts kept, and different ones");
}

/// A row was appended to a file whose rows are the pages. The store still had the rows of the
/// former file, and they represented the clusters: of 401 rows one was kept, with exit code 0. The
/// same happened with a file that was compressed: none of 50 rows was kept.
#[test]
fn rows_of_changed_files() {
    let bench = bench("row");
    put(&bench, "c.jsonl", corpus(0..40, |n| n.to_string()));
    bench.run_well(&[]);
    let whole = corpus(0..41, |n| n.to_string());
    put(&bench, "c.jsonl", &whole);
    bench.run_well(&[]);
    let report = filter(&bench, &["--to", "kept", "--removed", "removed", "--records", "records"]);
    assert_eq!(report["records"], json!({ "kept": 41 }));
    assert_eq!((&report["promoted"], &report["pages_elsewhere"]), (&json!(40), &json!(40)));
    assert_each_once(&bench, 41);
    for row in rows(&bench.at("records")) {
        assert_eq!(
            (&row["representative"], &row["relation"]),
            (&row["url"], &Value::Null),
            "{row}"
        );
    }
    std::fs::remove_file(bench.at("in/c.jsonl")).expect("there");
    put(&bench, "c.jsonl.gz", gzip(whole.as_bytes()));
    bench.run_well(&[]);
    clear(&bench);
    let report = filter(&bench, &["--to", "kept"]);
    assert_eq!(report["records"], json!({ "kept": 41 }));
    assert_each_once(&bench, 41);
}

/// Removes what filters wrote.
fn clear(bench: &Bench) {
    for folder in ["kept", "removed", "records", "again"] {
        let _ = std::fs::remove_dir_all(bench.at(folder));
    }
}

/// A file was removed whose rows represented those of another one, with the same ids or with
/// others: none of 100 rows was left. What folds into a promoted row names it, from any number of
/// threads, and all can be undone. What an earlier filter kept of other files is made again.
#[test]
fn representatives_of_removed_files() {
    let arguments = ["--to", "kept", "--removed", "removed", "--records", "records"];
    for is_other in [false, true] {
        let bench = bench("id");
        let id = |n: u64| if is_other { format!("other {n}") } else { n.to_string() };
        put(&bench, "a.jsonl", corpus(0..30, |n| n.to_string()));
        if is_other {
            // The keep rule prefers what was there before.
            bench.run_well(&[]);
        }
        put(&bench, "b.jsonl", corpus(0..30, id) + &corpus(0..10, |n| format!("again {n}")));
        put(&bench, "c.jsonl", corpus(5..35, |n| format!("third {n}")));
        bench.run_well(&[]);
        filter(&bench, &arguments);
        assert_each_once(&bench, 35);
        for name in ["a.jsonl", "b.jsonl"] {
            let bytes = std::fs::read(bench.at("in").join(name)).expect("there");
            std::fs::remove_file(bench.at("in").join(name)).expect("there");
            let mut answers = BTreeSet::new();
            for threads in ["1", "3"] {
                let folders = ["kept", "removed", "records", "removed/_pagefold"];
                for folder in folders.map(|folder| bench.at(folder)) {
                    for ending in ["", ".parquet", ".json", ".lock", ".order"] {
                        let _ = std::fs::remove_file(folder.join(format!("{name}{ending}")));
                    }
                }
                let arguments = [&arguments[..], &["--threads", threads]].concat();
                let report = filter(&bench, &arguments);
                assert_each_once(&bench, 35);
                let found = rows(&bench.at("records"));
                let kept: BTreeSet<&str> = found
                    .iter()
                    .filter(|row| word(row, "verdict") == "kept")
                    .map(|row| word(row, "url"))
                    .collect();
                for row in found.iter().filter(|row| word(row, "verdict") == "folded") {
                    assert!(kept.contains(word(row, "representative")), "{row}");
                }
                answers.insert(files(&bench.at("kept")));
                assert_eq!(report["files"], 2);
                assert_undone(&bench);
                clear(&bench);
            }
            assert_eq!(answers.len(), 1, "from one thread and from several");
            put(&bench, name, bytes);
            filter(&bench, &arguments);
            assert_each_once(&bench, 35);
        }
    }
}

/// The record that holds a URL was removed with its file. An earlier record of the URL, of which
/// the store knows only that it lost, was left out, so that no version was kept. Now it is kept, in
/// addition to a record with the text of the removed one.
#[test]
fn other_versions_of_a_page() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let of = |url: &str, date, n| line(&(format!("http://{url}.example/"), date, Some(text(n, 0))));
    put(&bench, "1.jsonl", of("a", "2023-01-01", 1) + &of("a", "2024-01-01", 2));
    put(&bench, "2.jsonl", of("a", "2022-01-01", 3) + &of("b", "2024-01-01", 4));
    put(&bench, "3.jsonl", of("a", "2024-03-01", 4));
    bench.run_well(&[]);
    filter(&bench, &["--to", "kept", "--records", "records"]);
    assert_eq!(texts(&bench), [text(4, 0)]);
    std::fs::remove_file(bench.at("in/3.jsonl")).expect("there");
    clear(&bench);
    let report = filter(&bench, &["--to", "kept", "--records", "records"]);
    assert_eq!(texts(&bench), [text(2, 0), text(4, 0)]);
    assert_eq!(report["promoted"], 2);
    let found = rows(&bench.at("records"));
    let verdicts: Vec<_> =
        found.iter().map(|row| (word(row, "verdict"), word(row, "reason"))).collect();
    let (superseded, promoted) = (("superseded", ""), ("kept", "promoted"));
    assert_eq!(verdicts, [superseded, promoted, superseded, promoted]);
    assert!(found[1]["cluster"].is_null() && found[3]["representative"] == "http://b.example/");
}

/// A record that took the place of another was kept beside a page with its text, so that the text
/// was there twice. It folds into that page.
#[test]
fn other_versions_that_another_page_has() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let of = |url: &str, date, n| line(&(format!("http://{url}.example/"), date, Some(text(n, 0))));
    let first = ["a", "b"].map(|url| of(url, "2023-01-01", 1)).concat();
    put(&bench, "1.jsonl", first + &of("c", "2023-01-01", 2));
    put(&bench, "2.jsonl", of("a", "2024-01-01", 3));
    bench.run_well(&[]);
    std::fs::remove_file(bench.at("in/2.jsonl")).expect("there");
    let report = filter(&bench, &["--to", "kept", "--records", "records"]);
    assert_each_once(&bench, 2);
    assert_eq!(report["records"], json!({ "folded": 1, "kept": 2 }));
    let found = rows(&bench.at("records"));
    let b = "http://b.example/";
    assert_eq!((word(&found[0], "relation"), word(&found[0], "representative")), ("identical", b));
}
