//! Damaged files of earlier epochs: `verify` names them, and they stop only what needs them.

use super::{bench, pages};
use crate::crash::strace::{self, Call};
use crate::workbench::failure;
use serde_json::{Value, json};
use std::path::Path;
use workers::store::manifest;

/// `rollback` refuses to return to damaged bytes and names `verify --full`, which said that nothing
/// was wrong, as it read the files of the head alone.
#[test]
fn verify_reads_what_a_rollback_needs() {
    let bench = bench("");
    for epoch in 0..6 {
        std::fs::write(bench.at(&format!("in/{epoch}.jsonl")), pages(epoch * 5, 5))
            .expect("written");
        bench.run_well(&[]);
    }
    let head = bench.head().manifest;
    let table = &head.tables["pages"];
    let of_head: Vec<_> =
        table.segments().map(|segment| format!("{}.arrow", segment.digest)).collect();
    let files = std::fs::read_dir(bench.at("store/data/pages")).expect("listed");
    let earlier = files
        .map(|file| file.expect("listed"))
        .find(|file| !of_head.contains(&file.file_name().to_string_lossy().into_owned()));
    let earlier = earlier.expect("runs were merged").path();
    let mut bytes = std::fs::read(&earlier).expect("readable");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&earlier, bytes).expect("written");
    assert!(bench.pagefold("verify", &[]).status.success());
    let output = bench.pagefold("verify", &["--full"]);
    assert_eq!(output.status.code(), Some(74), "{output:?}");
    let name = earlier.file_name().expect("a name").to_string_lossy().into_owned();
    assert!(String::from_utf8_lossy(&output.stdout).contains(&name), "{output:?}");
}

/// If the fsync of a merge's commit failed, the run warned and ended with 0, and the next epoch was
/// committed on a manifest that a power cut could still lose.
#[test]
fn a_merge_that_may_not_be_durable_ends_the_run() {
    if !strace::is_allowed() {
        return;
    }
    let bench = bench("");
    for epoch in 0..5 {
        let lines = pages(epoch * 5, 5);
        std::fs::write(bench.at(&format!("in/{epoch}.jsonl")), lines).expect("written");
        if epoch < 4 {
            bench.run_well(&[]);
        }
    }
    let path = "{folder}/store/manifest".to_owned();
    let second_fsync = Call {
        is_main: false,
        name: "fsync".into(),
        aim: path.clone(),
        path,
        to: String::new(),
        has_failed: false,
        began: 0,
        nth: 2,
        is_hidden: false,
    };
    let status = strace::struck(&bench, &second_fsync, "error=EIO");
    let stderr = std::fs::read_to_string(bench.at(strace::STDERR)).expect("readable");
    assert_eq!(status.code(), Some(74), "{stderr}");
    assert!(stderr.contains("epoch 5 is committed, and only the merge of its runs"), "{stderr}");
    assert!(bench.pagefold("verify", &["--full"]).status.success());
}

/// `verify` advised a rollback, which undoes epochs, although only a manifest of the past was
/// missing; and its commands were about another store than the one that `--set` named.
#[test]
fn a_whole_head_needs_no_rollback() {
    let bench = bench("");
    let other = ["--set", "store=other"];
    for epoch in 0..3 {
        let lines = pages(epoch * 5, 5);
        std::fs::write(bench.at(&format!("in/{epoch}.jsonl")), lines).expect("written");
        bench.run_well(&other);
    }
    let shown = |more: &[&str]| {
        let output = bench.pagefold("verify", &[&other[..], more].concat());
        assert_eq!(output.status.code(), Some(74), "{output:?}");
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let whole_epoch = || {
        let out = shown(&["--json"]);
        let found: Value = serde_json::from_str(out.lines().next().expect("a line")).expect("JSON");
        found["whole_epoch"].clone()
    };
    let second = manifest::path(&bench.at("other"), 2);
    let sound = std::fs::read(&second).expect("readable");
    std::fs::remove_file(&second).expect("removed");
    let out = shown(&[]);
    assert!(out.contains("runs go on") && !out.contains("pagefold "), "{out}");
    assert_eq!(whole_epoch(), Value::Null);
    std::fs::write(&second, sound).expect("written");
    let head = manifest::head(&bench.at("other")).expect("readable").expect("a head");
    let newest = &head.manifest.tables["pages"].runs.last().expect("a run").segments[0];
    std::fs::remove_file(newest.path(&bench.at("other/data/pages"))).expect("removed");
    let out = shown(&[]);
    for command in ["rebuild job.toml --set store=other`", "rollback job.toml --set store=other 2 "]
    {
        assert!(out.contains(&format!("`pagefold {command}")), "{out}");
    }
    assert_eq!(whole_epoch(), json!(2));
}

/// The cause of an error kept the word JOB in its command, which the shell then ran for a job of
/// that name, and behind it stood an export that failed by the same missing file.
#[test]
fn a_missing_file_is_told_with_the_job() {
    let bench = bench("");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 5)).expect("written");
    bench.run_well(&[]);
    let table = &bench.head().manifest.tables["pages"];
    let segment = table.runs[0].segments[0].path(&bench.at("store/data/pages"));
    std::fs::remove_file(segment).expect("removed");
    std::fs::remove_dir_all(bench.at("out")).expect("removed");
    let output = bench.run(&[]);
    let said = failure(&output.stderr);
    assert_eq!(output.status.code(), Some(74), "{said}");
    assert!(said.contains("`pagefold verify job.toml` says what helps"), "{said}");
    assert!(!said.contains("JOB") && !said.contains("pagefold export"), "{said}");
    let checked = bench.pagefold("check", &[]).stdout;
    let checked = String::from_utf8(checked).expect("UTF-8");
    assert!(checked.contains("pagefold verify job.toml") && !checked.contains("JOB"), "{checked}");
    let manifest = manifest::path(&bench.at("store"), 1);
    std::fs::write(&manifest, "{}").expect("written");
    let checked = bench.pagefold("check", &[]).stdout;
    let checked = String::from_utf8(checked).expect("UTF-8");
    let name = manifest.file_name().expect("a name").to_string_lossy();
    assert_eq!(checked.matches(&*name).count(), 1, "{checked}");
}

/// One flipped byte in a manifest of the past stopped every rollback and every `gc`, and `verify`
/// called all manifests before a missing one sound. A damaged manifest stops only what needs it.
#[test]
fn a_damaged_old_manifest_stops_nothing_else() {
    let bench = bench("");
    for epoch in 0..4 {
        std::fs::write(bench.at(&format!("in/{epoch}.jsonl")), pages(epoch * 5, 5))
            .expect("written");
        bench.run_well(&[]);
    }
    let manifest = |version: u64| manifest::path(&bench.at("store"), version);
    let flip = |path: &Path| {
        let mut bytes = std::fs::read(path).expect("readable");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(path, bytes).expect("written");
    };
    let outcome = |name: &str, more: &[&str]| {
        let output = bench.pagefold(name, more);
        let out = String::from_utf8(output.stdout).expect("UTF-8");
        (output.status.code(), out, failure(&output.stderr))
    };
    flip(&manifest(1));
    assert_eq!(outcome("rollback", &["3"]).0, Some(0));
    let (code, _, err) = outcome("rollback", &["1"]);
    assert!(code == Some(74) && err.contains("kept are 2, 3, 4, 5"), "{err}");
    assert_eq!(outcome("gc", &[]).0, Some(0));
    assert!(manifest(1).exists(), "without --delete nothing is deleted");
    // What `verify` finds: a missing manifest, and the damage before it.
    let third = std::fs::read(manifest(3)).expect("readable");
    std::fs::remove_file(manifest(3)).expect("removed");
    let (code, out, _) = outcome("verify", &[]);
    let name = |version| manifest(version).file_name().expect("a name").display().to_string();
    assert_eq!(code, Some(74), "{out}");
    assert!(out.contains(&name(3)) && out.contains(&name(1)) && !out.contains(&name(2)), "{out}");
    std::fs::write(manifest(3), third).expect("written");
    assert_eq!(outcome("gc", &["--delete"]).0, Some(0));
    assert!(!manifest(1).exists() && manifest(2).exists());
    assert_eq!(outcome("verify", &[]).0, Some(0));
    // One in the range that is kept stops it.
    flip(&manifest(3));
    let (code, _, err) = outcome("gc", &["--delete"]);
    assert!(code == Some(74) && err.contains("nothing is deleted"), "{err}");
}

/// After a rollback because of a damaged head nothing could be exported: `changes` read the damaged
/// epoch, and the message advised to roll back.
#[test]
fn a_damaged_epoch_that_was_undone_ends_no_export() {
    let bench = bench("");
    for epoch in 0..2 {
        let lines = pages(epoch * 5, 5);
        std::fs::write(bench.at(&format!("in/{epoch}.jsonl")), lines).expect("written");
        bench.run_well(&[]);
    }
    let table = &bench.head().manifest.tables["pages"];
    let newest = table.runs.last().expect("a run").segments[0].clone();
    let path = newest.path(&bench.at("store/data/pages"));
    let sound = std::fs::read(&path).expect("readable");
    let damaged: Vec<u8> = sound.iter().map(|byte| byte ^ 1).collect();
    std::fs::write(&path, damaged).expect("written");
    let output = bench.pagefold("rollback", &["1"]);
    assert!(output.status.success(), "{output:?}");
    let output = bench.pagefold("export", &[]);
    let err = String::from_utf8(output.stderr).expect("UTF-8");
    assert!(output.status.success() && err.contains("take all of `members` once"), "{err}");
    assert_eq!((bench.lines("members").len(), bench.lines("changes").len()), (5, 0));
    // With sound bytes it tells what went.
    std::fs::write(&path, sound).expect("written");
    assert!(bench.pagefold("export", &[]).status.success());
    assert_eq!(bench.lines("changes").len(), 5);
}

/// `verify --full` did not read the list of rejected records of an earlier epoch, for which a
/// rollback refused. It names the list, and the rollback does without it.
#[test]
fn a_damaged_list_of_rejects_stops_no_rollback() {
    let bench = bench("");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 5) + "no record\n").expect("written");
    bench.run_well(&["--set", "read.rejects_max=1.0"]);
    std::fs::write(bench.at("in/2.jsonl"), pages(5, 5)).expect("written");
    bench.run_well(&[]);
    let mut lists = std::fs::read_dir(bench.at("store/data/rejects")).expect("listed");
    let list = lists.next().expect("one list").expect("listed").path();
    std::fs::write(&list, "{}").expect("written");
    let output = bench.pagefold("verify", &["--full"]);
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    let name = list.file_name().expect("a name").display().to_string();
    assert!(output.status.code() == Some(74) && out.contains(&name), "{out}");
    assert!(bench.pagefold("rollback", &["1"]).status.success());
    assert_eq!(bench.head().manifest.rejects, None);
}

/// `verify` advised a rebuild for a lost list of inputs, without which no rebuild knows what to
/// read. `check` said that all was well with a store of which a file was missing.
#[test]
fn a_lost_list_of_inputs() {
    let bench = bench("");
    for epoch in 0..2 {
        std::fs::write(bench.at(&format!("in/{epoch}.jsonl")), pages(epoch * 5, 5))
            .expect("written");
        bench.run_well(&[]);
    }
    let check = || {
        let output = bench.pagefold("check", &[]);
        (output.status.code(), String::from_utf8(output.stdout).expect("UTF-8"))
    };
    let (code, out) = check();
    assert!(code == Some(0) && out.contains("head      epoch 2 has its "), "{out}");
    assert!(out.contains("space     enough for 0 inputs"), "{out}");
    let list = bench.head().manifest.consumed[0].file.digest.clone();
    let list = bench.at(&format!("store/data/consumed/{list}.jsonl"));
    let lines = std::fs::read(&list).expect("there");
    std::fs::remove_file(&list).expect("removed");
    let output = bench.pagefold("verify", &[]);
    assert_eq!(output.status.code(), Some(74), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("no rebuild is possible") && said.contains("--allow store"), "{said}");
    let (code, out) = check();
    assert!(code == Some(74) && out.contains("FAIL  launcher  head"), "{out}");
    std::fs::write(&list, lines).expect("written");
    assert_eq!(check().0, Some(0));
}
