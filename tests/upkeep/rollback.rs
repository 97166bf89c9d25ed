//! A rollback returns to an earlier epoch, with its sources and its export `changes`.

use super::{NOW, bench, pages, run};

/// `gc` deleted the manifest before a rollback, from which its `changes` are made, and no export
/// succeeded any more. Now it is kept; if it is gone nevertheless, `changes` is empty.
#[test]
fn a_rollback_can_always_be_exported() {
    let bench = bench("");
    for night in 0..4 {
        std::fs::write(bench.at(&format!("in/{night}.jsonl")), pages(night * 5, 5))
            .expect("written");
        assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    }
    let succeeds = |name: &str, more: &[&str]| {
        let output = bench.pagefold(name, more);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    };
    succeeds("rollback", &["2"]);
    let changes = bench.changes();
    assert_eq!(bench.lines("changes").len(), 10);
    succeeds("gc", &["--delete", "--keep-epochs", "1", "--keep-days", "0"]);
    succeeds("export", &[]);
    assert!(bench.changes() == changes);
    let version = bench.head().manifest.version;
    std::fs::remove_file(workers::store::manifest::path(&bench.at("store"), version - 1))
        .expect("removed");
    succeeds("export", &[]);
    assert_eq!((bench.lines("changes").len(), bench.lines("members").len()), (0, 10));
}

/// A rollback to an epoch that an earlier one had forgotten gave its pages to another source, whose
/// next complete snapshot removed them. Its inputs are consumed again, too.
#[test]
fn sources_come_back_with_their_pages() {
    let bench = bench("");
    let read = |source: &str, from: u64, more: &[&str]| {
        std::fs::write(bench.at(&format!("in/{source}.jsonl")), pages(from, 3)).expect("written");
        let sets =
            [format!("read.source=\"{source}\""), format!("read.inputs=[\"in/{source}.jsonl\"]")];
        let sets: Vec<&str> =
            sets.iter().flat_map(|set| ["--set", set]).chain(more.iter().copied()).collect();
        let (code, out, err) = run(&bench, NOW, &sets);
        assert_eq!(code, Some(0), "{err}");
        (out.contains("nothing due"), bench.lines("members").len())
    };
    let back = |more: &[&str]| assert!(bench.pagefold("rollback", more).status.success());
    assert_eq!((read("a", 0, &[]), read("b", 10, &[])), ((false, 3), (false, 6)));
    back(&["1", "--forget-inputs"]);
    assert_eq!(read("c", 20, &[]), (false, 6));
    back(&["2"]);
    let names: Vec<String> =
        bench.head().manifest.sources.into_iter().map(|source| source.name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    for source in ["a", "b", "c"] {
        let from = if source == "a" {
            0
        } else if source == "b" {
            10
        } else {
            20
        };
        assert_eq!(read(source, from, &[]), (true, 6), "{source} is consumed");
    }
    assert_eq!(read("c", 21, &["--set", "read.complete=true"]), (false, 9));
}

/// A rollback keeps inputs consumed; with `--forget-inputs` the next run reads the later ones
/// again.
#[test]
fn forgotten_inputs_are_read_again() {
    let bench = bench("");
    for night in 0..2 {
        std::fs::write(bench.at(&format!("in/{night}.jsonl")), pages(night * 10, 10))
            .expect("written");
        assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    }
    for (more, left) in [(vec!["1"], 10), (vec!["1", "--forget-inputs"], 20)] {
        assert!(bench.pagefold("rollback", &more).status.success());
        assert_eq!(run(&bench, NOW, &[]).0, Some(0));
        assert_eq!(bench.lines("members").len(), left);
    }
}

/// What an epoch read counts again for retention after a rollback to it that undoes an earlier
/// rollback.
#[test]
fn a_rollback_forward_redoes() {
    let bench = bench("[pages]\nretain_epochs = 2\n");
    for night in 1..=2 {
        std::fs::write(bench.at(&format!("in/{night}.jsonl")), pages(night, 1)).expect("written");
        assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    }
    for epoch in ["1", "2"] {
        let output = bench.pagefold("rollback", &[epoch]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    std::fs::write(bench.at("in/3.jsonl"), pages(3, 1)).expect("written");
    assert_eq!(run(&bench, NOW, &[]).0, Some(0));
    let urls: Vec<String> =
        bench.lines("members").iter().map(|row| row["url"].to_string()).collect();
    assert_eq!(urls.len(), 2, "two epochs have read since the first page was seen: {urls:?}");
}

/// A rollback exported an epoch by a job that decides otherwise, which `export` refuses, and found
/// only after its commit that its results cannot be written where they go.
#[test]
fn a_rollback_exports_only_what_export_would() {
    let bench = bench("");
    let rule = ["--set", "keep.by=newest"];
    for (night, more) in [&[][..], &rule[..]].into_iter().enumerate() {
        std::fs::write(bench.at(&format!("in/{night}.jsonl")), pages(night as u64 * 5, 5))
            .expect("written");
        assert_eq!(run(&bench, NOW, more).0, Some(0));
    }
    std::fs::create_dir(bench.at("theirs")).expect("made");
    std::fs::write(bench.at("theirs/run.json"), "{\"runs\":[1]}").expect("written");
    let back = |more: &[&str]| {
        let output = bench.pagefold("rollback", &[&["1"][..], &rule, more].concat());
        (output.status.code(), String::from_utf8(output.stderr).expect("UTF-8"))
    };
    let (code, said) = back(&["--set", "output.dir=theirs"]);
    assert!(code == Some(73) && said.contains("run.json"), "{said}");
    assert_eq!(bench.head().manifest.epoch, 2);
    let (code, said) = back(&[]);
    assert!(code == Some(0) && said.contains("nothing is exported: "), "{said}");
    assert_eq!((bench.head().manifest.epoch, bench.lines("members").len()), (3, 10));
    assert!(bench.pagefold("export", &[]).status.success());
    assert_eq!(bench.lines("members").len(), 5);
}
