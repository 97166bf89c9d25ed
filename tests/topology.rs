use crate::workbench::{Bench, demo_inputs};

/// The same bytes from 1x1, 1x4, 2x2 and 4x1 processes x workers, and from inputs under other names in another order; and every table of the
/// store is the same multiset of rows.
#[test]
fn same_answer_anywhere() {
    let reference = Bench::new(&demo_inputs(), "");
    reference.run_well(&["--threads", "1"]);
    let (tables, changes, multisets) = (reference.tables(), reference.changes(), reference.multisets());
    for (processes, workers) in [(1, 4), (2, 2), (4, 1)] {
        let bench = Bench::new(&demo_inputs(), "");
        let cluster = bench.cluster(processes, workers);
        bench.run_well(&["--cluster", &cluster]);
        assert!(bench.tables() == tables, "{processes} x {workers}: exports differ");
        assert!(bench.changes() == changes, "{processes} x {workers}: changes differ");
        assert_eq!(bench.multisets(), multisets, "{processes} x {workers}");
    }
    let renamed = tempfile::tempdir().expect("a folder");
    let mut files: Vec<_> =
        std::fs::read_dir(demo_inputs()).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    files.sort();
    for (n, file) in files.iter().rev().enumerate() {
        let name = file.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        let (_, ending) = name.split_once('.').expect("an ending");
        std::fs::copy(file, renamed.path().join(format!("{n:02}-renamed.{ending}"))).expect("copied");
    }
    let bench = Bench::new(renamed.path(), "");
    bench.run_well(&["--threads", "3"]);
    assert!(bench.tables() == tables, "renamed inputs: exports differ");
    assert!(bench.changes() == changes, "renamed inputs: changes differ");
    assert_eq!(bench.multisets(), multisets, "renamed inputs");
}

/// A file of lines is the same pages whether it is read as one share or, being large, as several, and whether it is compressed or not.
#[test]
fn same_answer_from_any_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut lines = String::new();
    for n in 0..3000 {
        let words: Vec<String> = (0..40).map(|w| format!("word{}", (n / 3 * 7919 + w * (n % 3 + 1)) % 5000)).collect();
        lines.push_str(&format!("{{\"url\":\"http://h{}.example/{n}\",\"text\":\"{}\"}}\n", n % 7, words.join(" ")));
    }
    std::fs::write(folder.path().join("all.jsonl"), &lines).expect("written");
    let whole = Bench::new(&folder.path().join("all.jsonl"), "");
    whole.run_well(&["--threads", "2"]);
    let parts = folder.path().join("parts");
    std::fs::create_dir(&parts).expect("made");
    let cut: Vec<&str> = lines.split_inclusive('\n').collect();
    for (n, part) in cut.chunks(700).enumerate() {
        std::fs::write(parts.join(format!("{n}.jsonl")), part.concat()).expect("written");
    }
    let bench = Bench::new(&parts, "");
    bench.run_well(&["--threads", "4"]);
    assert!(bench.tables() == whole.tables());
    assert!(bench.changes() == whole.changes());
    assert_eq!(bench.multisets(), whole.multisets());
}
