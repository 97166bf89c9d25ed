//! What makes an epoch due: pages that expire, and a plan that was not finished.

use super::{DAY, NOW, bench, pages, run};
use crate::workbench::Bench;
use serde_json::{Value, json};
use workers::job::Job;
use workers::plan::plan;
use workers::store::Store;
use workers::store::manifest::Head;

/// Without input an epoch is due on the day on which pages expire and not before; a clock that is
/// set back expires nothing.
#[test]
fn expiry_makes_an_epoch_due() {
    let bench = bench("[pages]\nretain_days = 10\n");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 5)).expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    std::fs::write(bench.at("in/2.jsonl"), pages(3, 5)).expect("written");
    assert_eq!(run(&bench, NOW + 5 * DAY, &[]).0, Some(0));
    assert_eq!(bench.lines("members").len(), 8);
    for (now, epoch, left) in [
        (NOW + 10 * DAY, 2, 8),
        (NOW + 10 * DAY + 1, 3, 5),
        (NOW, 3, 5),
        (NOW + 15 * DAY, 3, 5),
        (NOW + 99 * DAY, 4, 0),
    ] {
        assert_eq!(run(&bench, now, &[]).0, Some(0));
        assert_eq!(
            (bench.head().manifest.epoch, bench.lines("members").len()),
            (epoch, left),
            "at {now}"
        );
    }
    assert_eq!(bench.summary()["counters"]["pages_expired"], 5);
}

/// The number of live pages with these numbers.
fn live(bench: &Bench, numbers: std::ops::Range<u64>) -> usize {
    let urls: Vec<String> = numbers.map(|number| format!("http://a.example/{number}")).collect();
    bench
        .lines("members")
        .iter()
        .filter(|row| urls.iter().any(|url| row["url"] == url.as_str()))
        .count()
}

/// A snapshot that was delivered unchanged each night lost all its pages when they expired. It is a
/// sight of its pages, and is read again before they expire, not each night.
#[test]
fn an_unchanged_snapshot_keeps_its_pages() {
    let complete = ["--set", "read.complete=true"];
    let crawl = ["--set", "read.source=\"web\"", "--set", "read.inputs=[\"crawl\"]"];
    for (retain, unread) in [("retain_days = 10", 10), ("retain_epochs = 3", 1)] {
        let bench = bench(&format!("[pages]\n{retain}\n"));
        std::fs::create_dir(bench.at("crawl")).expect("made");
        std::fs::write(bench.at("in/all.jsonl"), pages(0, 5)).expect("written");
        for night in 0..14 {
            let now = NOW + night * DAY;
            let (code, out, err) = run(&bench, now, &complete);
            assert_eq!((code, live(&bench, 0..5)), (Some(0), 5), "night {night}, {retain}: {err}");
            assert!(!(1..=unread).contains(&night) || out.contains("nothing due"), "{out}");
            let lines = pages(100 + night as u64, 1);
            std::fs::write(bench.at(&format!("crawl/{night}.jsonl")), lines).expect("written");
            assert_eq!(run(&bench, now, &crawl).0, Some(0));
            assert_eq!(live(&bench, 0..5), 5, "night {night}, {retain}");
        }
    }
}

/// The pages of an unchanged snapshot did not come back if another job let them expire, nor did one
/// that another snapshot had, too, and lacked later. A rollback makes nothing due that it undid.
#[test]
fn an_unchanged_snapshot_brings_back_what_others_lost() {
    let bench = bench("");
    std::fs::create_dir(bench.at("b")).expect("made");
    let a = ["--set", "read.complete=true"];
    let b = [&a[..], &["--set", "read.source=\"b\"", "--set", "read.inputs=[\"b\"]"]].concat();
    std::fs::write(bench.at("in/all.jsonl"), pages(0, 2)).expect("written");
    std::fs::write(bench.at("b/all.jsonl"), pages(1, 2)).expect("written");
    let run = |more: &[&str], pages: usize, is_due: bool| {
        let (code, out, err) = run(&bench, NOW, more);
        assert_eq!((code, live(&bench, 0..3)), (Some(0), pages), "{err}");
        assert_eq!(!out.contains("nothing due"), is_due, "{out}");
    };
    run(&a, 2, true);
    run(&b, 3, true);
    std::fs::write(bench.at("b/all.jsonl"), pages(2, 1)).expect("written");
    run(&b, 2, true);
    assert!(bench.pagefold("rollback", &["2"]).status.success());
    run(&a, 3, false);
    run(&b, 3, false);
    assert!(bench.pagefold("rollback", &["3"]).status.success());
    run(&a, 3, true);
    run(&a, 3, false);
    run(&b, 3, false);

    let late = NOW + 11 * DAY;
    let crawl = ["--set", "read.source=\"web\"", "--set", "read.inputs=[\"crawl\"]"];
    let expires = [&crawl[..], &["--set", "pages.retain_days=10"]].concat();
    std::fs::create_dir(bench.at("crawl")).expect("made");
    std::fs::write(bench.at("crawl/1.jsonl"), pages(9, 1)).expect("written");
    assert_eq!(super::run(&bench, late, &expires).0, Some(0));
    assert_eq!(live(&bench, 0..3), 0);
    assert_eq!(super::run(&bench, late, &a).0, Some(0));
    assert_eq!(live(&bench, 0..3), 2);
}

/// A page that a record removed when it would expire was reported as expired, not as removed.
#[test]
fn a_removal_is_no_expiry() {
    let bench = bench("[pages]\nretain_days = 10\n");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 3)).expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    let removal = "{\"url\":\"http://a.example/1\",\"deleted\":true}\n";
    std::fs::write(bench.at("in/2.jsonl"), removal).expect("written");
    assert_eq!(run(&bench, NOW + 11 * DAY, &[]).0, Some(0));
    let counters = &bench.summary()["counters"];
    assert_eq!((&counters["pages_removed"], &counters["pages_expired"]), (&json!(1), &json!(2)));
    let changes = bench.lines("changes");
    let removed: Vec<&Value> =
        changes.iter().filter(|row| row["change"] == "removed").map(|row| &row["url"]).collect();
    assert_eq!(removed, [&json!("http://a.example/1")], "{changes:?}");
}

/// An epoch whose inputs were all useless counted as one that read, so that pages expired of which
/// nothing newer was known.
#[test]
fn an_epoch_that_read_nothing_expires_nothing() {
    let bench = bench("[pages]\nretain_epochs = 1\n");
    let reads = ["--set", "read.rejects_max=1.0"];
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 5)).expect("written");
    assert_eq!(run(&bench, NOW, &reads).0, Some(0));
    std::fs::write(bench.at("in/2.jsonl"), "garbage\n").expect("written");
    assert_eq!(run(&bench, NOW, &reads).0, Some(0));
    assert_eq!(bench.lines("members").len(), 5);
    std::fs::write(bench.at("in/3.jsonl"), pages(5, 2)).expect("written");
    let (code, _, err) = run(&bench, NOW, &[&reads[..], &["--allow", "expired"]].concat());
    assert_eq!((code, bench.lines("members").len()), (Some(0), 2), "{err}");
}

/// An epoch of empty files, or of files whose records are all skipped, counted as one that read, so
/// that pages expired of which nothing newer was known.
#[test]
fn an_epoch_without_an_accepted_record_expires_nothing() {
    for (epochs, left) in [(1, 2), (2, 7)] {
        let bench = bench(&format!("[pages]\nretain_epochs = {epochs}\n"));
        std::fs::write(bench.at("in/1.jsonl"), pages(0, 5)).expect("written");
        assert_eq!(run(&bench, NOW, &[]).0, Some(0));
        std::fs::write(bench.at("in/2.jsonl"), "").expect("written");
        let (code, _, err) = run(&bench, NOW, &[]);
        assert_eq!((code, bench.lines("members").len()), (Some(0), 5), "{err}");
        assert_eq!(bench.head().manifest.epoch, 2);
        std::fs::write(bench.at("in/3.jsonl"), pages(5, 2)).expect("written");
        let (code, _, err) = run(&bench, NOW, &["--allow", "expired"]);
        assert_eq!((code, bench.lines("members").len()), (Some(0), left), "{err}");
    }
}

/// An unfinished plan is finished first, as it was planned; newer inputs are the next epoch of the
/// same run.
#[test]
fn the_unfinished_comes_first() {
    let bench = bench("");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 10)).expect("written");
    let job: Job = serde_json::from_value(json!({
        "store": bench.at("store"), "read": { "inputs": [bench.at("in")] }, "output": { "dir": bench.at("out") },
    }))
    .expect("a job");
    let store =
        Store::open_or_create(&job.store, &job.identity().expect("an identity")).expect("made");
    let plan = plan(&job, &store, None, NOW).expect("planned").expect("something new");
    let plan = plan.freeze(&job.store, 1).expect("frozen");
    std::fs::write(bench.at("in/2.jsonl"), pages(5, 10)).expect("written");
    let (code, out, err) = run(&bench, NOW + DAY, &["--json"]);
    assert_eq!(code, Some(0), "{err}");
    let epochs: Vec<Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let committed: Vec<_> = epochs.iter().map(|epoch| (&epoch["epoch"], &epoch["pages"])).collect();
    assert_eq!(committed, [(&1.into(), &10.into()), (&2.into(), &15.into())]);
    // A plan that cannot be carried out any more is given up.
    let other =
        workers::plan::Plan { digest: "0000000000000000".into(), previous: "gone".into(), ..plan };
    other.freeze(&job.store, 1).expect("frozen");
    assert!(run(&bench, NOW + DAY, &[]).1.contains("nothing due"));
    assert!(
        std::fs::read_dir(bench.at("store/attempt"))
            .is_ok_and(|mut attempts| attempts.next().is_none())
    );
}

/// A dry run and `status` promised to resume an epoch that the run gives up, because the job has
/// changed since. For one that is resumed a dry run named a stop that the run does not check again.
#[test]
fn what_is_resumed_is_reported() {
    let bench = bench("");
    std::fs::create_dir(bench.at("empty")).expect("made");
    std::fs::write(bench.at("in/1.jsonl"), pages(0, 10)).expect("written");
    let job: Job = serde_json::from_value(json!({
        "store": bench.at("store"),
        "read": { "inputs": [bench.at("in"), bench.at("empty")], "complete": true },
        "output": { "dir": bench.at("out") },
    }))
    .expect("a job");
    let store =
        Store::open_or_create(&job.store, &job.identity().expect("an identity")).expect("made");
    let freeze = |head: Option<&Head>| {
        let plan = plan(&job, &store, head, NOW).expect("planned").expect("something new");
        plan.freeze(&job.store, 1).expect("frozen")
    };
    assert_eq!(freeze(None).absent.len(), 1);
    let same = ["--set", "read.complete=true", "--set", "read.inputs=[\"in\", \"empty\"]"];
    let changed = [&same[..], &["--set", "confirm.facts=off"]].concat();
    let dry = |sets: &[&str]| {
        let output = bench.run(&[sets, &["--dry-run", "--json"]].concat());
        let shown: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (shown["resumes"].clone(), shown["absent_error"].is_null())
    };
    assert_eq!((dry(&same), dry(&changed)), ((true.into(), true), (false.into(), false)));
    assert_eq!(run(&bench, NOW, &same).0, Some(0));
    std::fs::write(bench.at("in/2.jsonl"), pages(10, 10)).expect("written");
    freeze(store.head().expect("readable").as_ref());
    let unfinished = |sets: &[&str]| {
        let output = bench.pagefold("status", &[sets, &["--json"]].concat());
        let shown: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        shown["attempts_unfinished"].clone()
    };
    assert_eq!((unfinished(&same), unfinished(&changed)), (1.into(), 0.into()));
}
