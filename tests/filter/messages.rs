//! The messages and the exit codes of a filter.

use super::filter;
use super::scene::{gzip, line};
use crate::texts::text;
use crate::workbench::{Bench, failure};
use serde_json::{Value, json};
use std::path::Path;

fn lines(pages: std::ops::Range<u64>) -> String {
    let page = |n| line(&(format!("http://a.example/{n}"), "2024-01-01", Some(text(n / 2, 0))));
    pages.map(page).collect()
}

/// A bench whose input is one file with these pages.
fn crawl(pages: std::ops::Range<u64>) -> Bench {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/a.jsonl"), lines(pages)).expect("written");
    bench
}

/// `--quiet` was no option of it, and a script had to drop its report. Warnings and errors stay.
#[test]
fn quiet() {
    let bench = crawl(0..8);
    bench.run_well(&[]);
    let output = bench.pagefold("filter", &["--to", "kept", "--quiet"]);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert!(output.stderr.is_empty() && bench.at("kept/a.jsonl").exists(), "{output:?}");
    let refused = bench.pagefold("filter", &["--to", "in/kept", "--quiet"]);
    assert!(failure(&refused.stderr).contains("lies in [read] inputs"), "{refused:?}");
}

/// A filter of a job with another `[keep]` wrote what the last epoch had decided, without a word.
#[test]
fn a_job_that_decides_otherwise() {
    let bench = crawl(0..8);
    bench.run_well(&[]);
    let arguments = ["--to", "kept", "--set", "keep.hosts=['a.example']"];
    let refused = bench.pagefold("filter", &arguments);
    let said = failure(&refused.stderr);
    assert_eq!(refused.status.code(), Some(78), "{said}");
    assert!(said.contains("run the job first") && !bench.at("kept").exists(), "{said}");
    bench.run_well(&arguments[2..]);
    filter(&bench, &arguments);
}

/// Two empty files, one of which has the name of a table, blocked each filter: the store counts a
/// reject for one of their names.
#[test]
fn empty_files() {
    let bench = crawl(0..400);
    for name in ["b.parquet", "c.done"] {
        std::fs::write(bench.at("in").join(name), "").expect("written");
    }
    bench.run_well(&[]);
    filter(&bench, &["--to", "kept"]);
    assert!(bench.at("kept/a.jsonl").exists());
}

/// A filter without the `--removed` of the filter before it called that filter's file foreign,
/// although the note was in the other folder. It says which options to repeat.
#[test]
fn without_the_folder_of_the_notes() {
    let bench = crawl(0..8);
    bench.run_well(&[]);
    filter(&bench, &["--to", "kept", "--removed", "removed"]);
    let refused = bench.pagefold("filter", &["--to", "kept"]);
    let said = failure(&refused.stderr);
    assert_eq!(refused.status.code(), Some(73), "{said}");
    assert!(said.contains("name all folders that were named then (--removed"), "{said}");
}

/// A file that was cut off was copied with all records that fold, and a script continued with exit
/// code 0 and the counts of records that should have been left out. The counts say what stays, and
/// the exit code is always that of damaged data, unless the user allows it.
#[test]
fn a_file_that_is_copied_whole() {
    let bench = crawl(0..8);
    let mut cut = gzip(lines(8..400).as_bytes());
    cut.truncate(cut.len() / 2);
    std::fs::write(bench.at("in/b.jsonl.gz"), &cut).expect("written");
    bench.run_well(&[]);
    let arguments = ["--to", "kept", "--removed", "removed"];
    for _ in 0..2 {
        let output = bench.pagefold("filter", &[&arguments[..], &["--json"]].concat());
        let said = failure(&output.stderr);
        assert_eq!(output.status.code(), Some(65), "{said}");
        let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let (stay, folded) = (&report["records_stay"], &report["records"]["folded"]);
        assert_eq!(stay.as_u64().map(|stay| stay + 4), folded.as_u64(), "{report}");
        assert!(
            said.starts_with(&format!("{stay} records that should be left out stay")),
            "{said}"
        );
        assert!(said.contains("b.jsonl.gz") && said.contains("--allow-whole"), "{said}");
        assert_eq!(report["files_whole"], json!(["in/b.jsonl.gz"]));
    }
    let kept = std::fs::read_to_string(bench.at("kept/a.jsonl")).expect("kept");
    assert_eq!(kept.lines().count(), 4, "the other file is filtered");
    let output = bench.pagefold("filter", &[&arguments[..], &["--allow-whole"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(said.contains("of those above that should be left out"), "{said}");
}

/// A file whose name leaves no room for the names beside it stopped a filter in the middle.
#[test]
fn a_long_name_is_refused_at_first() {
    let bench = crawl(0..8);
    let name = format!("{}.jsonl", "漢".repeat(70));
    std::fs::rename(bench.at("in/a.jsonl"), bench.at("in").join(&name)).expect("renamed");
    bench.run_well(&[]);
    let refused = bench.pagefold("filter", &["--to", "kept"]);
    let said = failure(&refused.stderr);
    assert!(refused.status.code() == Some(73) && said.contains("of at most 201"), "{said}");
    assert!(!bench.at("kept").exists());
    std::fs::rename(bench.at("in").join(&name), bench.at("in/b.jsonl")).expect("renamed");
    filter(&bench, &["--to", "kept"]);
}

/// An input stopped each filter in the middle if its note, or its table of records, had the name of
/// a folder of other inputs. Spark gives folders such names.
#[test]
fn a_folder_with_the_name_of_a_note() {
    let bench = crawl(0..8);
    for (n, folder) in (1..).zip(["a.jsonl.json", "a.jsonl.parquet"]) {
        std::fs::create_dir(bench.at("in").join(folder)).expect("made");
        std::fs::write(bench.at("in").join(folder).join("part-0"), lines(10 * n..10 * n + 8))
            .expect("written");
    }
    bench.run_well(&[]);
    let refused = bench.pagefold("filter", &["--to", "kept"]);
    let said = failure(&refused.stderr);
    assert!(refused.status.code() == Some(73) && said.contains("the name a.jsonl.json"), "{said}");
    assert!(!bench.at("kept").exists());
    std::fs::rename(bench.at("in/a.jsonl.json"), bench.at("in/json")).expect("renamed");
    filter(&bench, &["--to", "kept"]);
    let refused = bench.pagefold("filter", &["--to", "kept", "--records", "records"]);
    let said = failure(&refused.stderr);
    assert!(refused.status.code() == Some(73) && said.contains("a.jsonl.parquet"), "{said}");
}

/// A page of an error and a pointer of Git LFS, saved as Parquet, were copied, and the exit code
/// was 0, although nobody knows what such files should have had. An empty file has nothing.
#[test]
fn a_file_of_which_nothing_is_read() {
    let bench = crawl(0..8);
    std::fs::write(bench.at("in/none.jsonl"), "").expect("written");
    bench.run_well(&[]);
    filter(&bench, &["--to", "kept"]);
    std::fs::write(bench.at("in/x.parquet"), "<?xml version='1.0'?><Error>no</Error>")
        .expect("written");
    std::fs::write(
        bench.at("in/y.parquet"),
        "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 9\n",
    )
    .expect("written");
    let run = bench.pagefold("run", &["--allow", "rejects"]);
    let warned = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success(), "{}", failure(&run.stderr));
    assert!(warned.contains("git lfs pull"), "{warned}");
    let output = bench.pagefold("filter", &["--to", "kept"]);
    let said = failure(&output.stderr);
    assert_eq!(output.status.code(), Some(65), "{said}");
    assert!(said.starts_with("no record of in/x.parquet and 1 other file could be read"), "{said}");
    filter(&bench, &["--to", "kept", "--allow-whole"]);
}

/// Filters of two parts of a crawl to one folder wrote files of the same names over one another. A
/// file that has changed since is filtered anew.
#[test]
fn two_inputs_of_one_name() {
    let bench = Bench::new(Path::new("in"), "");
    for (part, pages) in [("in/zh", 0..8), ("in/en", 8..20)] {
        std::fs::create_dir_all(bench.at(part)).expect("made");
        std::fs::write(bench.at(part).join("a.jsonl"), lines(pages)).expect("written");
    }
    bench.run_well(&[]);
    filter(&bench, &["--to", "kept", "--set", "read.inputs=['in/zh']"]);
    let zh = std::fs::read(bench.at("kept/a.jsonl")).expect("there");
    let arguments = ["--to", "kept", "--set", "read.inputs=['in/en']"];
    let refused = bench.pagefold("filter", &arguments);
    let said = failure(&refused.stderr);
    assert_eq!(refused.status.code(), Some(73), "{said}");
    assert!(said.contains("filtered of the input") && said.contains("in/zh/a.jsonl"), "{said}");
    assert_eq!(std::fs::read(bench.at("kept/a.jsonl")).expect("there"), zh);
    std::fs::write(bench.at("in/zh/a.jsonl"), lines(0..30)).expect("written");
    bench.run_well(&[]);
    filter(&bench, &["--to", "kept", "--set", "read.inputs=['in/zh']"]);
    assert_ne!(std::fs::read(bench.at("kept/a.jsonl")).expect("there"), zh);
}
