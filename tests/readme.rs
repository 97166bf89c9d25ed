use crate::workbench::{Bench, demo_inputs, pagefold};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

fn page() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md"))
        .expect("readable")
}

/// The blocks of the page that begin with a line of three quotes and `kind`.
fn blocks(page: &str, kind: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(of) = line.strip_prefix("```") {
            let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            if of == kind {
                found.push(block.iter().map(|line| format!("{line}\n")).collect());
            }
        }
    }
    found
}

/// Runs a command of the page in `folder`, which must succeed, and returns its stdout.
fn run(folder: &Path, line: &str) -> String {
    let shell = format!("pagefold() {{ {:?} \"$@\"; }}; {line}", pagefold());
    let output =
        Command::new("sh").args(["-c", &shell]).current_dir(folder).output().expect("a shell");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("written");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The page shows the report of the demo as it is, but for time and paths, and claims the quality
/// that is measured.
#[test]
fn the_demo_is_as_shown() {
    let bench = Bench::new(&demo_inputs(), "");
    let report = bench.run_well(&[]);
    let page = page();
    let shown =
        blocks(&page, "").into_iter().find(|block| block.starts_with("epoch")).expect("a report");
    let real: Vec<&str> = report.lines().collect();
    for line in shown.lines().filter(|line| {
        !line.starts_with("epoch") && !line.starts_with("took") && line.trim() != "..."
    }) {
        assert!(real.contains(&line), "README.md shows {line:?}, which is not in\n{report}");
    }
    for line in real.iter().filter(|line| !line.starts_with(' ') && !line.starts_with("output")) {
        let head = &line[..10];
        assert!(
            shown.lines().any(|shown| shown.starts_with(head)),
            "README.md does not show {line:?}"
        );
    }
    let truth = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/demo_truth.jsonl");
    let output = bench.pagefold("eval", &["--labels", truth.to_str().expect("UTF-8"), "--json"]);
    let scored: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let pair = &scored["all"]["pair"];
    let [same, right] = ["same", "right"].map(|key| pair[key].as_u64().expect("a count"));
    let recall = format!("{:.3}", right as f64 / same as f64);
    let recall = recall.trim_start_matches('0');
    let missed = same - right;
    let claim = format!("Precision 1, recall {recall}: {missed} of {same} pairs are missed");
    assert!(page.contains(&claim) && pair["precision"] == 1.0, "README.md does not say {claim:?}");
    assert!(page.contains(&format!("| default | 1.000/{recall} |")));
}

/// The recipe for every night reads a folder, then only what is new, and prints a line for cron.
#[test]
fn the_recipe_for_every_night() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let page = page();
    std::fs::write(at.join("crawl.toml"), &blocks(&page, "toml")[0]).expect("written");
    std::fs::create_dir(at.join("crawl")).expect("made");
    let copy = |name: &str| {
        std::fs::copy(demo_inputs().join(name), at.join("crawl").join(name)).expect("copied");
    };
    let mut names: Vec<String> = std::fs::read_dir(demo_inputs())
        .expect("readable")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .filter(|name| name.ends_with(".gz"))
        .collect();
    names.sort();
    let (last, first) = names.split_last().expect("files");
    first.iter().for_each(|name| copy(name));
    let command = "pagefold run crawl.toml";
    assert!(page.contains(&format!("`{command}`")));
    assert!(run(at, command).contains("epoch      1 committed"));
    assert!(run(at, command).contains("nothing due"));
    copy(last);
    assert!(run(at, command).contains("of 1 file, "));
    let cron = "pagefold schedule crawl.toml --cron";
    assert!(page.contains(&format!("`{cron}`")));
    assert!(run(at, cron).contains("15 3 * * * "));
}

/// The recipe for a corpus keeps one row of each text and loses no row, although two rows share a
/// URL and ids have no special form.
#[test]
fn the_recipe_for_a_corpus() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let page = page();
    assert!(page.contains("`corpus.toml`"));
    std::fs::write(at.join("corpus.toml"), &blocks(&page, "toml")[1]).expect("written");
    std::fs::create_dir(at.join("corpus")).expect("made");
    let rows = [
        (
            "<urn:uuid:1>",
            "http://a.example/x",
            "the first text says that the harvest was good and the barns are full",
        ),
        (
            "<urn:uuid:2>",
            "http://a.example/x",
            "another text says that the bridge over the river is closed until may",
        ),
        (
            "<urn:uuid:3>",
            "http://a.example:80/x#top",
            "the first text says that the harvest was good and the barns are full",
        ),
        (
            "cc/2024 10/4",
            "http://b.example/é",
            "a third text on how the council voted about the new library roof",
        ),
        (
            "row-5",
            "http://c.example/",
            "another text says that the bridge over the river is closed until may",
        ),
        (
            "6",
            "http://c.example/",
            "the last text has nothing to do with any of the others in this file",
        ),
    ];
    let column = |of: fn(&(&'static str, &'static str, &'static str)) -> &'static str| -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(of)))
    };
    let batch = RecordBatch::try_from_iter([
        ("id", column(|row| row.0)),
        ("url", column(|row| row.1)),
        ("text", column(|row| row.2)),
    ]);
    let batch = batch.expect("a batch");
    let file = std::fs::File::create(at.join("corpus/a.parquet")).expect("created");
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("written");
    writer.close().expect("written");
    let recipe = blocks(&page, "sh")
        .into_iter()
        .find(|block| block.contains("deduplicated"))
        .expect("commands");
    run(at, &recipe);
    let members = lines(&at.join("corpus-result/members.jsonl"));
    assert_eq!(members.len(), rows.len(), "every row has its line");
    let representatives: BTreeSet<&str> = members
        .iter()
        .filter(|row| row["is_representative"] == true)
        .filter_map(|row| row["url"].as_str())
        .collect();
    let ids = |folder: &str| {
        let file = std::fs::File::open(at.join(folder).join("a.parquet")).expect("written");
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .and_then(|of| of.build())
            .expect("Parquet");
        let batches: Vec<RecordBatch> = reader.map(|batch| batch.expect("readable")).collect();
        assert!(batches.iter().all(|of| of.schema() == batch.schema()), "every column stays");
        let ids = batches.iter().flat_map(|batch| batch["id"].as_string::<i32>().iter().flatten());
        ids.map(str::to_owned).collect::<Vec<String>>()
    };
    let kept = ids("deduplicated");
    assert_eq!(kept.len() + ids("duplicates").len(), rows.len());
    let kept: BTreeSet<&str> = kept.iter().map(String::as_str).collect();
    assert_eq!(kept, representatives);
    let texts: Vec<&str> =
        rows.iter().filter(|row| kept.contains(row.0)).map(|row| row.2).collect();
    let all: BTreeSet<&str> = rows.iter().map(|row| row.2).collect();
    assert_eq!(
        (texts.len(), BTreeSet::from_iter(texts.iter().copied())),
        (all.len(), all),
        "{kept:?}"
    );
}

/// The recipe for two snapshots says what is new, changed and gone.
#[test]
fn the_recipe_for_two_snapshots() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let page = page();
    let job = blocks(&page, "toml")[0].replace("[read]\n", "[read]\ncomplete = true\n");
    assert!(page.contains("Add `complete = true` under `[read]`"));
    std::fs::write(at.join("crawl.toml"), job).expect("written");
    let write = |month: &str, pages: &[(&str, &str)]| {
        std::fs::create_dir(at.join(month)).expect("made");
        let lines: String = pages
            .iter()
            .map(|(name, text)| {
                format!("{{\"url\":\"http://a.example/{name}\",\"text\":\"{text}\"}}\n")
            })
            .collect();
        std::fs::write(at.join(month).join("a.jsonl"), lines).expect("written");
    };
    write(
        "2026-05",
        &[
            ("stays", "one text that stays as it is"),
            ("changes", "one text before"),
            ("goes", "one that goes"),
        ],
    );
    write(
        "2026-06",
        &[
            ("stays", "one text that stays as it is"),
            ("changes", "a text after it"),
            ("comes", "one that comes"),
        ],
    );
    let recipe =
        blocks(&page, "sh").into_iter().find(|block| block.contains("2026-05")).expect("commands");
    run(at, &recipe);
    let changes = lines(&at.join("result/changes.jsonl"));
    let pages: BTreeSet<&str> = changes.iter().filter_map(|row| row["url"].as_str()).collect();
    assert_eq!(
        pages,
        BTreeSet::from([
            "http://a.example/changes",
            "http://a.example/comes",
            "http://a.example/goes"
        ])
    );
}
