//! Outputs of inputs that are gone are deleted with `--prune`.

use super::scene::{gzip, line};
use super::{files, filter};
use crate::texts::text;
use crate::workbench::{Bench, failure};
use serde_json::json;
use std::path::Path;

fn page(n: u64) -> String {
    line(&(format!("http://a.example/{n}"), "2024-01-01", Some(text(n / 2, 0))))
}

/// After a file was compressed, the kept part of the old file stayed beside that of the new one,
/// and a reader of the folder read each row twice. `--prune` deletes the outputs of such inputs
/// that filters of this store wrote, and nothing else.
#[test]
fn what_is_left_over() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let lines: String = (0..8).map(page).collect();
    for name in ["a.jsonl", "b.jsonl", "c.jsonl"] {
        let more = page(100 + u64::from(name.as_bytes()[0]));
        std::fs::write(bench.at("in").join(name), lines.clone() + &more).expect("written");
    }
    bench.run_well(&[]);
    let arguments = ["--to", "kept", "--removed", "removed", "--records", "records"];
    filter(&bench, &arguments);
    for name in ["a.jsonl", "b.jsonl"] {
        let bytes = std::fs::read(bench.at("in").join(name)).expect("there");
        std::fs::write(bench.at(&format!("in/{name}.gz")), gzip(&bytes)).expect("written");
        std::fs::remove_file(bench.at("in").join(name)).expect("there");
    }
    // One is not as the filter wrote it, and one was never written by it.
    std::fs::write(bench.at("kept/b.jsonl"), "mine").expect("written");
    std::fs::write(bench.at("kept/notes.txt"), "mine").expect("written");
    bench.run_well(&[]);
    let output = bench.pagefold("filter", &arguments);
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(said.contains("left over  2 files") && said.contains("--prune"), "{said}");
    // Without the tables of records their notes stay, since these say that they are ours.
    let report = filter(&bench, &["--to", "kept", "--removed", "removed", "--prune"]);
    assert_eq!(report["files_pruned"], json!(["a.jsonl"]), "{report}");
    assert_eq!(report["files_left_over"], json!(["b.jsonl"]), "{report}");
    let names = |folder: &str| -> Vec<String> {
        files(&bench.at(folder)).keys().map(|name| name.display().to_string()).collect()
    };
    assert_eq!(names("kept"), ["a.jsonl.gz", "b.jsonl", "b.jsonl.gz", "c.jsonl", "notes.txt"]);
    assert!(!names("removed").contains(&"a.jsonl".to_owned()));
    assert!(names("records").contains(&"a.jsonl.parquet".to_owned()));
    let report = filter(&bench, &[&arguments[..], &["--prune"]].concat());
    assert_eq!(report["files_pruned"], json!(["a.jsonl"]), "{report}");
    assert!(!names("records").contains(&"a.jsonl.parquet".to_owned()));
    assert!(!bench.at("removed/_pagefold/a.jsonl.json").exists());
    assert_eq!(std::fs::read_to_string(bench.at("kept/b.jsonl")).expect("there"), "mine");
}

/// A disk that is not mounted has no file, and the outputs of its files are not deleted.
#[test]
fn a_folder_without_a_file_prunes_nothing() {
    let bench = Bench::new(Path::new("in"), "");
    for folder in ["one", "two"] {
        std::fs::create_dir_all(bench.at("in").join(folder)).expect("made");
        let n = u64::from(folder.as_bytes()[0]);
        std::fs::write(bench.at("in").join(folder).join("a.jsonl"), page(n)).expect("written");
    }
    let job = std::fs::read_to_string(bench.at("job.toml")).expect("a job");
    let job = job.replace("inputs = [\"in\"]", "inputs = [\"in/one\", \"in/two\"]");
    std::fs::write(bench.at("job.toml"), job).expect("written");
    bench.run_well(&[]);
    filter(&bench, &["--to", "kept"]);
    std::fs::remove_file(bench.at("in/two/a.jsonl")).expect("there");
    let refused = bench.pagefold("filter", &["--to", "kept", "--prune"]);
    let said = failure(&refused.stderr);
    assert!(refused.status.code() == Some(66) && said.contains("in/two"), "{said}");
    assert!(bench.at("kept/two/a.jsonl").exists());
}

/// What was filtered of an inbox was deleted when its disk was not mounted. An inbox of which
/// nothing was filtered may be empty.
#[test]
fn an_inbox_that_is_empty_now_prunes_nothing() {
    let bench = Bench::new(Path::new("in"), "[serve]\ninbox = \"inbox\"\n");
    for folder in ["in", "inbox"] {
        std::fs::create_dir(bench.at(folder)).expect("made");
    }
    std::fs::write(bench.at("in/a.jsonl"), page(0)).expect("written");
    std::fs::write(bench.at("in/b.jsonl"), page(2)).expect("written");
    bench.run_well(&[]);
    filter(&bench, &["--to", "kept"]);
    std::fs::remove_file(bench.at("in/b.jsonl")).expect("there");
    let report = filter(&bench, &["--to", "kept", "--prune"]);
    assert_eq!(report["files_pruned"], json!(["in/b.jsonl"]));
    std::fs::write(bench.at("inbox/00000001.jsonl"), page(4)).expect("written");
    bench.run_well(&[]);
    filter(&bench, &["--to", "kept"]);
    std::fs::rename(bench.at("inbox"), bench.at("elsewhere")).expect("renamed");
    std::fs::create_dir(bench.at("inbox")).expect("made");
    let refused = bench.pagefold("filter", &["--to", "kept", "--prune"]);
    let said = failure(&refused.stderr);
    assert!(refused.status.code() == Some(66) && said.contains("inbox/*.jsonl"), "{said}");
    assert!(bench.at("kept/inbox/00000001.jsonl").exists());
}
