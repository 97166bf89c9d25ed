use crate::texts::text;
use crate::workbench::{Bench, demo_inputs};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::Path;

/// The answer is the same anywhere: 1x1, 1x4, 2x2 and 4x1 processes x workers, and renamed inputs
/// in another order, give the same bytes, and every table of the store is the same multiset of
/// rows.
#[test]
fn same_answer_anywhere() {
    let reference = Bench::new(&demo_inputs(), "");
    reference.run_well(&["--threads", "1"]);
    assert!(reference.lines("pairs").len() > 200, "{} pairs", reference.lines("pairs").len());
    let (tables, changes, multisets) =
        (reference.tables(), reference.changes(), reference.multisets());
    for (processes, workers) in [(1, 4), (2, 2), (4, 1)] {
        let bench = Bench::new(&demo_inputs(), "");
        let cluster = bench.cluster(processes, workers);
        bench.run_well(&["--cluster", &cluster]);
        assert!(bench.tables() == tables, "{processes} x {workers}: exports differ");
        assert!(bench.history() == reference.history(), "{processes} x {workers}: history differs");
        assert!(bench.changes() == changes, "{processes} x {workers}: changes differ");
        assert_eq!(bench.multisets(), multisets, "{processes} x {workers}");
    }
    let renamed = tempfile::tempdir().expect("a folder");
    let mut files: Vec<_> = std::fs::read_dir(demo_inputs())
        .expect("a folder")
        .map(|e| e.expect("an entry").path())
        .collect();
    files.sort();
    for (n, file) in files.iter().rev().enumerate() {
        let name = file.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        let (_, ending) = name.split_once('.').expect("an ending");
        std::fs::copy(file, renamed.path().join(format!("{n:02}-renamed.{ending}")))
            .expect("copied");
    }
    let bench = Bench::new(renamed.path(), "");
    bench.run_well(&["--threads", "3"]);
    assert!(bench.tables() == tables, "renamed inputs: exports differ");
    assert!(bench.history() == reference.history(), "renamed inputs: history differs");
    assert!(bench.changes() == changes, "renamed inputs: changes differ");
    assert_eq!(bench.multisets(), multisets, "renamed inputs");
}

/// The same lines give the same bytes in one file, in several, and compressed.
#[test]
fn same_answer_from_any_cut() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut lines = String::new();
    for n in 0..3000 {
        let words: Vec<String> =
            (0..40).map(|w| format!("word{}", (n / 3 * 7919 + w * (n % 3 + 1)) % 5000)).collect();
        lines.push_str(&format!(
            "{{\"url\":\"http://h{}.example/{n}\",\"text\":\"{}\"}}\n",
            n % 7,
            words.join(" ")
        ));
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
    let packed = folder.path().join("all.jsonl.gz");
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(lines.as_bytes()).expect("in memory");
    std::fs::write(&packed, encoder.finish().expect("in memory")).expect("written");
    for inputs in [parts, packed] {
        let bench = Bench::new(&inputs, "");
        bench.run_well(&["--threads", "4"]);
        bench.assert_same_tables(&whole, &inputs.display().to_string());
        assert!(bench.changes() == whole.changes());
        assert_eq!(bench.multisets(), whole.multisets());
    }
}

/// With a radius that splits components, and a keep rule that reads who represented before, any
/// number of processes and workers gives the same bytes, also of the second epoch's changes and of
/// the reports on large clusters and unexamined buckets.
#[test]
fn same_answer_with_a_radius_and_incumbents() {
    let more = "[confirm]\nfacts = \"off\"\n[clusters]\nradius = 1\npages_warn = 5\n[keep]\nby = [\"incumbent\", \"newest\"]\n";
    let night = |bench: &Bench, night: u64| {
        let mut lines = String::new();
        for page in 0..200 - 80 * night {
            let text = text(page % 4, page / 4 % (12 + night));
            let (url, date) = (
                format!("http://h{}.example/{page}", page % 3),
                1 + 10 * night + (page + night) % 5,
            );
            lines.push_str(&format!("{{\"url\":\"{url}\",\"date\":{date},\"text\":\"{text}\"}}\n"));
        }
        for page in (120..200).filter(|page| night == 1 && page % 3 > 0) {
            lines.push_str(&format!(
                "{{\"url\":\"http://h{}.example/{page}\",\"deleted\":true}}\n",
                page % 3
            ));
        }
        std::fs::create_dir_all(bench.at("in")).expect("made");
        std::fs::write(bench.at(&format!("in/{night}.jsonl")), lines).expect("written");
    };
    let mut references = Vec::new();
    for (processes, workers) in [(1, 1), (1, 4), (2, 2)] {
        let bench = Bench::new(Path::new("in"), more);
        let cluster = bench.cluster(processes, workers);
        let mut results = Vec::new();
        for number in 0..2 {
            night(&bench, number);
            bench.run_well(&["--cluster", &cluster]);
            let summary = bench.summary();
            results.push((
                bench.tables(),
                bench.changes(),
                bench.multisets(),
                summary["large"].clone(),
                summary["unexamined"].clone(),
                bench.history(),
                summary["dead_links"].as_u64(),
            ));
        }
        assert!(
            !results[0].3["clusters"].as_array().expect("a list").is_empty(),
            "some cluster is large"
        );
        assert!(results[0].2["leaders"].0 > 0, "contents are led");
        assert!(results[1].6 > Some(0), "links are dead");
        bench.run_well(&["--cluster", &cluster, "--set", "keep.by=[\"newest\"]"]);
        assert!(bench.tables() != results[1].0, "incumbents held");
        references.push(results);
        assert!(references[0] == references[references.len() - 1], "{processes} x {workers}");
    }
}
