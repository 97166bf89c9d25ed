use crate::workbench::{Bench, demo_inputs, failure, pagefold};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

fn estimate(arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(pagefold());
    let output =
        command.current_dir(env!("CARGO_MANIFEST_DIR")).arg("estimate").args(arguments).output();
    let output = output.expect("started");
    (
        output.status.code(),
        String::from_utf8(output.stdout).expect("UTF-8") + &failure(&output.stderr),
    )
}

/// If the sample has all records of the inputs, the forecast has the number of pages that a run
/// accepts. `run --dry-run` says what such inputs cost. `run.json` has the bytes of the store, and
/// no forecast for so few inputs.
#[test]
fn pages_of_inputs() {
    let bench = Bench::new(&demo_inputs(), "");
    let output = bench.pagefold("estimate", &["--json", "--threads", "2"]);
    let estimated: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let dry = bench.run_well(&["--dry-run"]);
    assert!(dry.contains("\ncosts      about "), "{dry}");
    bench.run_well(&[]);
    let accepted = bench.summary()["counters"]["accepted"].as_u64();
    assert_eq!(estimated["load"]["pages"].as_u64(), accepted);
    assert_eq!(estimated["machines"], serde_json::json!({ "hosts": 1, "workers": 2 }));
    let run: Value =
        serde_json::from_slice(&std::fs::read(bench.at("out/run.json")).expect("written"))
            .expect("JSON");
    assert!(run["forecast"].is_null(), "{run}");
    let stored: u64 = bench.head().manifest.tables.values().map(|table| table.bytes()).sum();
    assert_eq!(run["store_bytes"].as_u64(), Some(stored));
}

/// A forecast needs both the number and the size of pages, or inputs that are there.
#[test]
fn mistakes() {
    let refused = |arguments: &[&str], code: i32, words: &str| {
        let (found, estimated) = estimate(arguments);
        assert_eq!(found, Some(code), "{estimated}");
        assert!(estimated.contains(words), "{estimated}");
    };
    refused(&["jobs/demo.toml", "--pages", "5"], 64, "--bytes <BYTES-PER-PAGE>");
    refused(&["jobs/demo.toml", "--hosts", "2", "--cluster", "cluster.toml"], 64, "--cluster");
    refused(&["jobs/demo.toml", "--set", "read.inputs=[\"nowhere\"]"], 66, "nowhere");
}

/// The page of measurements has a table of forecasts, and each line is what the command says.
#[test]
fn table_of_forecasts() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers/benches/README.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let (_, table) = page.split_once("| pages | hosts | job |").expect("the table");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    assert!(rows.len() >= 4, "{rows:?}");
    for row in rows {
        let pages = row[0].replace(',', "");
        let job = format!("jobs/{}", row[2].trim_matches('`'));
        let (code, estimated) = estimate(&[
            &job,
            "--pages",
            &pages,
            "--bytes",
            "4000",
            "--hosts",
            row[1],
            "--threads",
            "8",
        ]);
        assert_eq!(code, Some(0), "{estimated}");
        let [time, alone, memory, store, until_the_commit, sent] = row[3..] else {
            panic!("{row:?} has other columns")
        };
        for line in [
            format!("time       {time}, of which {alone} one process alone"),
            format!("memory     {memory} on the first host, "),
            format!("disk       {store} of store, {until_the_commit} beside it until the commit, "),
            format!("network    {sent} leave each host"),
        ] {
            let is_said = estimated.lines().any(|said| said.starts_with(&line));
            assert!(is_said, "{line:?} of {row:?} is not what the command says:\n{estimated}");
        }
    }
}
