//! What a filter says, and with which exit code it ends.

use super::filter;
use super::scene::line;
use crate::texts::text;
use crate::workbench::{Bench, failure};
use std::path::Path;

fn lines(pages: std::ops::Range<u64>) -> String {
    let page = |n| line(&(format!("http://a.example/{n}"), "2024-01-01", Some(text(n / 2, 0))));
    pages.map(page).collect()
}

/// `--quiet` was no option of it, and a script had to drop its report. Warnings and errors stay.
#[test]
fn quiet() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/a.jsonl"), lines(0..8)).expect("written");
    bench.run_well(&[]);
    let output = bench.pagefold("filter", &["--to", "kept", "--quiet"]);
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    assert!(output.stderr.is_empty() && bench.at("kept/a.jsonl").exists(), "{output:?}");
    let refused = bench.pagefold("filter", &["--to", "in/kept", "--quiet"]);
    assert!(failure(&refused.stderr).contains("lies in [read] inputs"), "{refused:?}");
}

/// A filter without the `--removed` of the one before it called the file of that one foreign, though
/// the note lay in the other folder. It says which options to repeat.
#[test]
fn without_the_folder_of_the_notes() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/a.jsonl"), lines(0..8)).expect("written");
    bench.run_well(&[]);
    filter(&bench, &["--to", "kept", "--removed", "removed"]);
    let refused = bench.pagefold("filter", &["--to", "kept"]);
    let said = failure(&refused.stderr);
    assert_eq!(refused.status.code(), Some(73), "{said}");
    assert!(said.contains("name all folders that were named then (--removed"), "{said}");
}
