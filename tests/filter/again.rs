//! Filters that are interrupted and run again, side by side, and undone.

use super::scene::{crawl, gzip, lines, plain_table, records};
use super::{files, filter};
use crate::random::Random;
use crate::texts::text;
use crate::workbench::{Bench, failure, number};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// A filter that was interrupted continues, and gives the bytes of an uninterrupted one, with any
/// number of threads and processes. It never replaces a file of another program.
#[test]
fn it_goes_on_where_it_was() {
    let bench = Bench::new(Path::new("in"), "");
    crawl(&bench.at("in"));
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let arguments = |dir: &str| {
        ["--to".to_owned(), format!("{dir}/kept"), "--removed".into(), format!("{dir}/removed")]
    };
    let run = |dir: &str, more: &[&str]| {
        let arguments = arguments(dir);
        let arguments: Vec<&str> =
            arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
        filter(&bench, &arguments)
    };
    let first = run("one", &["--threads", "1"]);
    let whole = files(&bench.at("one"));
    // What a killed filter leaves: files without a note, and files that are not whole.
    for name in ["a.jsonl.json", "d.warc.json"] {
        std::fs::remove_file(bench.at("one/removed/_pagefold").join(name)).expect("there");
    }
    std::fs::remove_file(bench.at("one/kept/d.warc")).expect("there");
    let refused = bench.pagefold("filter", &["--to", "one/kept", "--removed", "one/removed"]);
    assert_eq!(refused.status.code(), Some(73), "a file without a note is not ours");
    for name in ["a.jsonl", "e.warc.gz"] {
        std::fs::remove_file(bench.at("one/kept").join(name)).expect("there");
    }
    for dir in ["one/removed/a.jsonl", "one/removed/d.warc"] {
        std::fs::remove_file(bench.at(dir)).expect("there");
    }
    let second = run("one", &[]);
    assert_eq!(second["files_before"], first["files"].as_u64().expect("a count") - 3);
    assert!(files(&bench.at("one")) == whole);
    assert_eq!(second["records"], first["records"]);
    // Several processes at once share the files.
    let mut children: Vec<_> = (0..3)
        .map(|_| {
            let mut command = std::process::Command::new(crate::workbench::pagefold());
            command.args(["filter", "job.toml"]).args(arguments("two")).args(["--threads", "2"]);
            command.current_dir(bench.at("")).stdout(std::process::Stdio::null());
            command.spawn().expect("started")
        })
        .collect();
    assert!(children.iter_mut().all(|child| child.wait().expect("ended").success()));
    assert!(files(&bench.at("two")) == whole);
}

/// A filter that is killed at any moment and run again gives the bytes of one that was not, and
/// leaves no parts of files.
#[test]
fn killed_at_any_moment() {
    let bench = Bench::new(Path::new("in"), "");
    crawl(&bench.at("in"));
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let arguments = |dir: &str| {
        let [to, removed, records] =
            ["kept", "removed", "records"].map(|name| format!("{dir}/{name}"));
        [
            "--to".into(),
            to,
            "--removed".into(),
            removed,
            "--records".into(),
            records,
            "--revisits".into(),
        ]
    };
    let undisturbed = arguments("whole");
    let started = std::time::Instant::now();
    filter(&bench, &undisturbed.each_ref().map(String::as_str));
    let took_us = started.elapsed().as_micros() as u64;
    let whole = files(&bench.at("whole"));
    let (mut random, mut killed) = (Random::seeded(), 0);
    for round in 0..number("PAGEFOLD_KILLS", 25).div_ceil(5) {
        let dir = format!("round{round}");
        let arguments = arguments(&dir);
        for _ in 0..5 {
            let mut command = std::process::Command::new(crate::workbench::pagefold());
            command.args(["filter", "job.toml"]).args(&arguments).current_dir(bench.at(""));
            let mut child = command.stdout(std::process::Stdio::null()).spawn().expect("started");
            std::thread::sleep(std::time::Duration::from_micros(random.below(took_us)));
            // A process that has ended already is not killed.
            let _ = child.kill();
            let code = child.wait().expect("waited").code();
            assert!(code.is_none_or(|code| code == 0), "{code:?}");
            killed += u64::from(code.is_none());
        }
        filter(&bench, &arguments.each_ref().map(String::as_str));
        assert!(files(&bench.at(&dir)) == whole, "round {round}");
    }
    println!("{killed} filters were killed");
    assert!(killed > 0, "no filter was killed");
}

/// An original gets its name only if its bytes are right, and one that is there and right is not in
/// the way.
#[test]
fn originals_are_right_or_not_there() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/a.jsonl"), lines(0)).expect("written");
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let arguments = ["--to", "kept", "--removed", "removed"];
    filter(&bench, &arguments);
    let undo = [&arguments[..], &["--undo", "again"]].concat();
    let original = std::fs::read(bench.at("kept/a.jsonl")).expect("kept");
    let mut wrong = original.clone();
    wrong[20] ^= 1;
    std::fs::write(bench.at("kept/a.jsonl"), wrong).expect("written");
    let refused = bench.pagefold("filter", &undo);
    assert_eq!(refused.status.code(), Some(65), "{}", String::from_utf8_lossy(&refused.stderr));
    assert!(files(&bench.at("again")).is_empty());
    std::fs::write(bench.at("kept/a.jsonl"), original).expect("written");
    // What a process leaves that is killed after it placed the file and before it said so.
    std::fs::write(bench.at("again/a.jsonl"), lines(0)).expect("written");
    assert_eq!(filter(&bench, &undo)["equal"], 1);
    std::fs::remove_file(bench.at("again/a.jsonl")).expect("there");
    assert_eq!(filter(&bench, &undo)["equal"], 1);
    assert_eq!(std::fs::read(bench.at("again/a.jsonl")).expect("made"), lines(0).into_bytes());
    std::fs::write(bench.at("again/a.jsonl"), lines(0).replace("2024", "2025")).expect("written");
    let refused = bench.pagefold("filter", &undo);
    let stderr = failure(&refused.stderr);
    assert!(
        refused.status.code() == Some(73) && stderr.contains("is there already"),
        "an original of the right size and with wrong bytes: {stderr}"
    );
}

/// A filter of an earlier epoch replaced files of a filter of a later epoch, which had begun after
/// it: the folder was of two epochs, and a text could be in none of its files. Now the earlier
/// filter ends.
#[test]
fn a_later_epoch_is_not_replaced() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/a.jsonl"), lines(0)).expect("written");
    bench.run_well(&["--set", "read.rejects_max=1"]);
    filter(&bench, &["--to", "kept"]);
    let path = bench.at("kept/_pagefold/a.jsonl.json");
    let mut note: Value =
        serde_json::from_slice(&std::fs::read(&path).expect("a note")).expect("JSON");
    let finished = note["digest"].clone();
    // A file that is finished, and one at which the other process is still at work.
    for (night, digest) in [(2, finished), (3, json!(""))] {
        let lock = bench.at("kept/_pagefold/a.jsonl.lock");
        let held = std::fs::File::options().write(true).open(&lock).expect("a lock");
        held.lock().expect("locked");
        let mut earlier = bench.other("filter", &["--to", "kept"]);
        let mut earlier =
            earlier.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().expect("started");
        // It has read the head when it waits for the file.
        let waits = |id: u32| {
            let open = std::fs::read_dir(format!("/proc/{id}/fd")).expect("a process");
            let open = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
            open.into_iter().any(|path| path.ends_with("a.jsonl.lock"))
        };
        while !waits(earlier.id()) {
            assert!(earlier.try_wait().expect("asked").is_none(), "it ended and did not wait");
            std::thread::sleep(Duration::from_millis(5));
        }
        let line =
            json!({ "url": format!("http://n.example/{night}"), "text": text(90 + night, 0) });
        std::fs::write(bench.at(&format!("in/{night}.jsonl")), format!("{line}\n"))
            .expect("written");
        bench.run_well(&["--set", "read.rejects_max=1"]);
        note["digest"] = digest;
        note["manner"]["epoch"] = json!(night);
        std::fs::write(&path, note.to_string()).expect("written");
        drop(held);
        let refused = earlier.wait_with_output().expect("ended");
        let stderr = failure(&refused.stderr);
        assert!(refused.status.code() == Some(75) && stderr.contains("a later epoch"), "{stderr}");
        assert_eq!(std::fs::read_to_string(&path).expect("there"), note.to_string());
    }
    filter(&bench, &["--to", "another"]);
}

/// The kept and removed parts of a table, or of an archive whose members were compressed again,
/// were joined even if they, or the order of both, had been changed since: the rows of another
/// order were called alike. Now they are compared with what was written.
#[test]
fn parts_are_as_they_were_written() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/a.warc.gz"), gzip(&records(5).concat())).expect("written");
    let url = |n: u64| format!("http://table.example/{n}");
    let table = plain_table(20, url, |n| text(n / 2 + 50, 0));
    std::fs::write(bench.at("in/b.parquet"), table).expect("written");
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let arguments = ["--to", "kept", "--removed", "removed"];
    filter(&bench, &arguments);
    let undo = |to: &'static str| [&arguments[..], &["--undo", to]].concat();
    for part in ["kept", "removed"] {
        for name in ["a.warc.gz", "b.parquet"] {
            let path = bench.at(part).join(name);
            let sound = std::fs::read(&path).expect("written");
            let mut wrong = sound.clone();
            let url = wrong.windows(13).position(|bytes| bytes == b"table.example");
            let at = url.unwrap_or(wrong.len() - 20);
            wrong[at] ^= 1;
            std::fs::write(&path, wrong).expect("written");
            let refused = bench.pagefold("filter", &undo("wrong"));
            let stderr = failure(&refused.stderr);
            assert_eq!(refused.status.code(), Some(65), "{part} {name} {stderr}");
            assert!(!bench.at("wrong").join(name).exists(), "{part} {name}");
            std::fs::remove_dir_all(bench.at("wrong")).expect("there");
            std::fs::write(&path, sound).expect("written");
        }
    }
    for name in ["a.warc.gz", "b.parquet"] {
        let path = bench.at("removed/_pagefold").join(format!("{name}.order"));
        let sound = std::fs::read(&path).expect("written");
        for at in 0..sound.len() {
            let mut wrong = sound.clone();
            wrong[at] ^= 1;
            std::fs::write(&path, wrong).expect("written");
            let refused = bench.pagefold("filter", &undo("wrong"));
            let stderr = failure(&refused.stderr);
            assert_eq!(refused.status.code(), Some(65), "{name} {at} {stderr}");
            assert!(!bench.at("wrong").join(name).exists(), "{name} {at}");
            std::fs::remove_dir_all(bench.at("wrong")).expect("there");
        }
        std::fs::write(&path, sound).expect("written");
    }
    for _ in 0..2 {
        assert_eq!(filter(&bench, &undo("again"))["alike"], 2);
    }
    // What was made counted as right by its size alone.
    let path = bench.at("again/b.parquet");
    let mut wrong = std::fs::read(&path).expect("made");
    wrong[100] ^= 1;
    std::fs::write(&path, wrong).expect("written");
    let refused = bench.pagefold("filter", &undo("again"));
    assert_eq!(refused.status.code(), Some(73), "{}", failure(&refused.stderr));
}
