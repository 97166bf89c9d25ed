use crate::texts::text;
use crate::workbench::{Bench, copy_folder, failure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Delivers the pages of a file: their URLs and articles.
fn deliver(bench: &Bench, name: &str, pages: &[(&str, u64)]) {
    let line = |(url, article): &(&str, u64)| {
        format!("{}\n", json!({ "url": url, "text": text(*article, 0) }))
    };
    std::fs::create_dir_all(bench.at("in")).expect("made");
    std::fs::write(bench.at("in").join(name), pages.iter().map(line).collect::<String>())
        .expect("written");
}

/// The URLs of the rows in a folder of JSON lines.
fn urls(bench: &Bench, folder: &str) -> BTreeSet<String> {
    let files = std::fs::read_dir(bench.at(folder)).expect("a folder");
    let files = files.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_file());
    let text: String = files.map(|path| std::fs::read_to_string(path).expect("text")).collect();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    rows.map(|row| row["url"].as_str().expect("a URL").to_owned()).collect()
}

/// After a backup was restored, the next epoch had the number of one that was lost. Results and
/// filtered files of the lost epoch were taken for those of the new one: a text was in no file, and
/// nothing was said.
#[test]
fn numbers_of_epochs_come_again() {
    let bench = Bench::new(Path::new("in"), "");
    let filter = |to: &str, removed: &str| {
        let output = bench.pagefold("filter", &["--to", to, "--removed", removed]);
        assert!(output.status.success(), "{}", failure(&output.stderr));
    };
    deliver(&bench, "a.jsonl", &[("http://a.example/a", 1), ("http://a.example/b", 2)]);
    bench.run_well(&[]);
    copy_folder(&bench.at("store"), &bench.at("backup"));
    // The first page folds into one that is reached by https.
    deliver(&bench, "b.jsonl", &[("https://b.example/", 1)]);
    bench.run_well(&[]);
    filter("kept", "removed");
    assert!(!urls(&bench, "kept").contains("http://a.example/a"));
    for night in 0..2 {
        std::fs::remove_dir_all(bench.at("store")).expect("removed");
        copy_folder(&bench.at("backup"), &bench.at("store"));
        deliver(&bench, "b.jsonl", &[("https://b.example/", 3 + night)]);
        // As if the run was killed between its commit and the export.
        bench.run_well(&["--set", "output.export=\"on-demand\""]);
        assert_eq!(bench.head().manifest.epoch, 2);
        bench.run_well(&[]);
        let members = bench.lines("members");
        assert!(members.iter().all(|row| row["is_representative"] == true), "{members:?}");
        filter("kept", "removed");
        let fresh = format!("fresh-{night}");
        filter(&fresh, &format!("{fresh}-removed"));
        assert_eq!(urls(&bench, "kept"), urls(&bench, &fresh));
        assert_eq!(urls(&bench, "kept").len(), 3);
    }
    // An epoch behind the lost one was refused until the number was reached again.
    std::fs::remove_dir_all(bench.at("store")).expect("removed");
    copy_folder(&bench.at("backup"), &bench.at("store"));
    std::fs::remove_file(bench.at("in/b.jsonl")).expect("removed");
    let run = bench.run(&[]);
    let warned = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && warned.contains("the later epoch 2"), "{warned}");
    filter("kept", "removed");
    assert!(urls(&bench, "kept").contains("http://a.example/a"));
}

/// A filter whose note of one file was lost was undone without that file.
#[test]
fn a_lost_note_is_missed() {
    let bench = Bench::new(Path::new("in"), "");
    deliver(&bench, "a.jsonl", &[("http://a.example/a", 1)]);
    deliver(&bench, "b.jsonl", &[("http://b.example/b", 1)]);
    bench.run_well(&[]);
    let folders = ["--to", "kept", "--removed", "removed"];
    assert!(bench.pagefold("filter", &folders).status.success());
    std::fs::remove_file(bench.at("removed/_pagefold/b.jsonl.json")).expect("a note");
    let undo = bench.pagefold("filter", &[&folders[..], &["--undo", "again"]].concat());
    let said = failure(&undo.stderr);
    assert!(!undo.status.success() && said.contains("b.jsonl"), "{said}");
}

/// The file of a finished split had no digest: one changed bit stopped every run, or was counted.
#[test]
fn a_damaged_split_is_read_again() {
    let bench = Bench::new(Path::new("in"), "");
    let pages: Vec<(String, u64)> = (0..50).map(|n| (format!("http://a.example/{n}"), n)).collect();
    let pages: Vec<(&str, u64)> = pages.iter().map(|(url, n)| (&**url, *n)).collect();
    deliver(&bench, "a.jsonl", &pages);
    deliver(&bench, "bad.jsonl", &[]);
    std::fs::write(bench.at("in/bad.jsonl"), "{\n".repeat(60)).expect("written");
    let refused = bench.run(&[]);
    assert_eq!(refused.status.code(), Some(65), "{}", failure(&refused.stderr));
    let mut splits = Vec::new();
    let mut folders = vec![bench.at("store/attempt")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|of| of == "json") && folder.ends_with("split") {
                splits.push(path);
            }
        }
    }
    assert!(!splits.is_empty());
    for path in &splits {
        let text = std::fs::read_to_string(path).expect("text");
        let changed =
            text.replace("\"read\":50", "\"read\":51").replace("\"bytes\":1", "\"bytes\":2");
        assert_ne!(text, changed, "{text}");
        std::fs::write(path, changed).expect("written");
    }
    bench.run_well(&["--allow", "rejects"]);
    bench.assert_accounted();
    assert_eq!(bench.summary()["counters"]["read"], 110);
}
