//! What `gc` and a commit delete, and what they leave.

use super::{NOW, bench, pages, run};
use crate::workbench::failure;

/// `gc` names what no kept epoch needs without touching it, deletes it with `--delete`, and never
/// prevents a rollback to a kept epoch.
#[test]
fn garbage_is_named_then_deleted() {
    let bench = bench("");
    for night in 0..9 {
        std::fs::write(bench.at(&format!("in/{night}.jsonl")), pages(night * 10, 20))
            .expect("written");
        assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    }
    std::fs::write(bench.at("store/data/pages/stray.txt"), "not ours").expect("written");
    let gc = |more: &[&str]| {
        let output = bench.pagefold(
            "gc",
            &[&["--keep-days", "0", "--keep-epochs", "2", "--json"], more].concat(),
        );
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<serde_json::Value>(&output.stdout).expect("JSON")
    };
    // It listed no file, only their number.
    let listed = bench.pagefold("gc", &["--keep-days", "0", "--keep-epochs", "2"]);
    let listed = String::from_utf8(listed.stdout).expect("UTF-8");
    let listed: Vec<&str> = listed.lines().collect();
    let (sum, listed) = listed.split_last().expect("a sum");
    assert!(sum.starts_with("could delete ") && listed.iter().all(|path| bench.at(path).exists()));
    let versions = || workers::store::manifest::versions(&bench.at("store")).expect("listed").len();
    let before = versions();
    let named = gc(&[]);
    assert_eq!(versions(), before);
    assert_eq!(named["paths"], serde_json::json!(listed));
    let counts = ["commits", "files"].map(|of| named[of].as_u64().expect("a number"));
    assert_eq!(listed.len() as u64, counts.iter().sum::<u64>());
    let deleted = gc(&["--delete"]);
    assert_eq!((&named["commits"], &named["files"]), (&deleted["commits"], &deleted["files"]));
    assert!(versions() < before && deleted["files"].as_u64() > Some(0));
    assert_eq!(gc(&[])["files"], 0);
    assert!(bench.at("store/data/pages/stray.txt").exists());
    assert!(bench.pagefold("verify", &["--full"]).status.success());
    let tables = bench.tables();
    assert!(bench.pagefold("rollback", &["8"]).status.success());
    assert_eq!(bench.lines("members").len(), 90);
    assert!(bench.pagefold("rollback", &["9"]).status.success());
    assert!(bench.tables() == tables);
    let output = bench.pagefold("rollback", &["2"]);
    assert_eq!(output.status.code(), Some(64));
    assert!(failure(&output.stderr).contains("no epoch 2 to go back to; kept are 8, 9, 10, 11"));
}

/// A user who may not write the store got no list of its garbage. Only who deletes needs the lock.
#[test]
fn a_list_of_garbage_needs_no_lock() {
    let bench = bench("");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 5)).expect("written");
    bench.run_well(&[]);
    // The tests may run as root, whom no permission stops; nobody can open a folder as a lock.
    std::fs::remove_file(bench.at("store/LOCK")).expect("removed");
    std::fs::create_dir(bench.at("store/LOCK")).expect("made");
    assert!(bench.pagefold("gc", &[]).status.success());
    assert_eq!(bench.pagefold("gc", &["--delete"]).status.code(), Some(74));
}

/// The next commit deleted files that a person had put beside the attempts.
#[test]
fn a_commit_deletes_attempts_alone() {
    let bench = bench("");
    std::fs::create_dir_all(bench.at("store/attempt/notes")).expect("made");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 5)).expect("written");
    bench.run_well(&[]);
    let left = std::fs::read_dir(bench.at("store/attempt")).expect("listed");
    let left: Vec<_> = left.map(|entry| entry.expect("listed").file_name()).collect();
    assert_eq!(left, ["notes"]);
}
