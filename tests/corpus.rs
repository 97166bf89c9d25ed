use crate::texts::text;
use crate::workbench::Bench;
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
