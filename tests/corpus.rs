use crate::texts::text;
use crate::workbench::{Bench, failure};
use serde_json::json;
use std::path::Path;

/// A bench whose inputs are the folder `in`, with `read` among the keys of [read].
fn bench(read: &str) -> Bench {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let job = std::fs::read_to_string(bench.at("job.toml")).expect("a job");
    let job = job.replace("[read]\n", &format!("[read]\n{read}\n"));
    std::fs::write(bench.at("job.toml"), job).expect("written");
    bench
}

fn put(bench: &Bench, name: &str, rows: impl IntoIterator<Item = serde_json::Value>) {
    let lines: String = rows.into_iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(bench.at("in").join(name), lines).expect("written");
}

/// What a filter to `kept` and `removed` prints.
fn filtered(bench: &Bench) -> String {
    let output = bench.pagefold("filter", &["--to", "kept", "--removed", "removed"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Rows that a column of data named `op` removed were in no line of the report, and those that were
/// accepted and the pages did not add up. The line names the column, in the report of a filter,
/// too.
#[test]
fn rows_that_remove_pages_are_told() {
    let bench = bench("key = \"id\"");
    let op = |n: u64| match n % 3 {
        0 => "remove",
        1 => "add",
        _ => "keep",
    };
    let row = |n: u64| json!({ "id": n, "text": text(n, 0), "op": op(n) });
    let removed = json!({ "id": 1, "deleted": true });
    put(&bench, "a.jsonl", (0..30).map(row).chain([removed]));
    let said = bench.run_well(&[]);
    for line in [
        "accepted   31",
        "superseded 1        by another record of the same `id`",
        "removals   11       rows: 1 by `deleted`, 10 by `op`; not known before: 11 pages that inputs remove or only see",
        "pages      19       19 distinct texts",
    ] {
        assert!(said.contains(line), "{line:?} is not in\n{said}");
    }
    assert!(!said.contains("removed_by"), "told once:\n{said}");
    let said = filtered(&bench);
    let line = "removed    12       11 remove their page (1 by `deleted`, 10 by `op`), 1 of pages that are gone";
    assert!(said.contains(line), "{said}");
}

/// Three files whose ids begin at 0, and a column of dates that no job names.
fn shards(bench: &Bench, shards: impl IntoIterator<Item = u64>) {
    for shard in shards {
        let row = |id: u64| json!({ "id": id, "date": format!("2024-01-0{}", 1 + shard), "text": text(shard * 1000 + id, 0) });
        put(bench, &format!("s{shard}.jsonl"), (0..40).map(row));
    }
}

/// A column of dates made the ids of each file versions of those of the others, and two thirds of a
/// corpus were lost in silence. The run stops and names a remedy that keeps all; rows of URLs, and
/// a job that says that they are versions, pass.
#[test]
fn ids_that_begin_anew_with_dates() {
    let corpus = bench("key = \"id\"");
    shards(&corpus, 0..3);
    let refused = corpus.run(&[]);
    let said = failure(&refused.stderr);
    assert_eq!(refused.status.code(), Some(65), "{said}");
    for part in ["80 of 120 rows would be lost", "the same `id`", "a later date", "key = \"row\""] {
        assert!(said.contains(part), "{part} in {said}");
    }
    let said = corpus.run_well(&["--set", "guards.overwritten_max=0.7"]);
    let line = "superseded 80       by another record of the same `id`, 80 with another text\n";
    assert!(said.contains(line), "{said}");
    let rows = bench("key = \"row\"");
    shards(&rows, 0..3);
    assert!(rows.run_well(&[]).contains("pages      120"));
    let crawl = bench("fields.url = [\"id\"]");
    shards(&crawl, 0..3);
    assert!(crawl.run_well(&[]).contains("same URL, 80 with another text\n"));
}

/// A new file took the pages of an older one that was still there, run after run, and no report
/// said so. Where the older file is gone the rows are versions.
#[test]
fn ids_that_begin_anew_in_each_run() {
    let corpus = bench("key = \"id\"");
    shards(&corpus, [0]);
    assert!(!corpus.run_well(&[]).contains("changed"));
    shards(&corpus, [1]);
    let said = corpus.run_well(&[]);
    let line = "changed    40       pages have another text now; the former rows of 40 are in inputs that are still there";
    assert!(said.contains(line) && said.contains("key = \"row\""), "{said}");
    std::fs::remove_file(corpus.at("in/s1.jsonl")).expect("removed");
    shards(&corpus, [2]);
    let said = corpus.run_well(&[]);
    assert!(said.contains("changed    40       pages have another text now\n"), "{said}");
}

/// Python writes `NaN` where pandas has nothing, and a corpus with such scores could not be read. It
/// is, also with labels beside its fields, and its lines stay as they are.
#[test]
fn rows_with_numbers_of_python() {
    let corpus = bench("key = \"id\"");
    let line = |n: u64| {
        let scores = ["NaN", "-Infinity", "0.5"][n as usize % 3];
        format!("{{\"id\":{n},\"score\": {scores} ,\"text\":\"{}\"}}\n", text(n, 0))
    };
    let lines: String = (0..30).map(line).collect();
    std::fs::write(corpus.at("in/a.jsonl"), &lines).expect("written");
    let said = corpus.run_well(&[]);
    assert!(said.contains("noted      20       nan 20") && !said.contains("rejected"), "{said}");
    filtered(&corpus);
    assert_eq!(std::fs::read_to_string(corpus.at("kept/a.jsonl")).expect("kept"), lines);
    let output = corpus.pagefold("filter", &["--to", "labelled", "--annotate"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let labelled = std::fs::read_to_string(corpus.at("labelled/a.jsonl")).expect("written");
    for (labelled, line) in labelled.lines().zip(lines.lines()) {
        let own = line.strip_suffix('}').expect("an object");
        assert!(labelled.starts_with(own) && labelled.contains("\"cluster\":"), "{labelled}");
    }
}
