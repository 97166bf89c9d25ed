use crate::texts::text;
use crate::workbench::{Bench, has_python, skip};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// The block of the page of recipes that begins so.
fn recipe(language: &str, beginning: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("workers/export/RECIPES.md");
    let page = std::fs::read_to_string(page).expect("a page");
    let fence = format!("```{language}\n");
    let mut blocks = page.split(&fence).filter_map(|block| block.split("```").next());
    blocks.find(|block| block.starts_with(beginning)).expect("a recipe").to_owned()
}

/// The recipes for DuckDB, pandas and polars keep the rows of a corpus that represent by `members`,
/// each once and with all its columns.
#[test]
fn one_row_of_each_cluster() {
    keeps_one_row(&|n| {
        Arc::new(n.iter().map(|n| Some(format!("row-{n}"))).collect::<StringArray>())
    });
}

/// Ids that are numbers are found: pandas and polars refused to compare them with texts. They are
/// beyond what a float holds, and some rows have none.
#[test]
fn ids_that_are_numbers() {
    keeps_one_row(&|n| {
        let id = |n: &u64| (*n % 20 != 13).then_some(*n as i64 + (1 << 60));
        Arc::new(n.iter().map(id).collect::<Int64Array>())
    });
}

/// What a `script` of Python with these `modules` prints in the folder of `bench`.
fn printed(bench: &Bench, script: &str, modules: &str) -> String {
    let output = Command::new("python3")
        .args(["-c", script])
        .current_dir(bench.at(""))
        .output()
        .expect("started");
    assert!(output.status.success(), "{modules}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Runs the recipes over a corpus with `ids` of the rows with these numbers.
fn keeps_one_row(ids: &dyn Fn(&[u64]) -> ArrayRef) {
    let bench = Bench::new(Path::new("in"), "\n[confirm]\nfacts = \"off\"\n");
    std::fs::create_dir(bench.at("in")).expect("made");
    for file in 0..2 {
        let rows: Vec<u64> = (file * 20..file * 20 + 20).collect();
        let column = |of: &dyn Fn(u64) -> String| {
            Arc::new(rows.iter().map(|n| Some(of(*n))).collect::<StringArray>()) as ArrayRef
        };
        // Each file has a column that the other one lacks.
        let batch = RecordBatch::try_from_iter([
            ("id", ids(&rows)),
            ("url", column(&|n| format!("http://a.example/{}", n % 7))),
            (["first", "second"][file as usize], column(&|n| n.to_string())),
            ("text", column(&|n| text(n % 11, n % 2))),
        ]);
        let batch = batch.expect("a batch");
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("in memory");
        writer.write(&batch).expect("in memory");
        let bytes = writer.into_inner().expect("in memory");
        std::fs::write(bench.at(&format!("in/{file}.parquet")), bytes).expect("written");
    }
    let sets = ["read.key=id", "output.dir=result", "read.rejects_max=0.1"];
    bench.run_well(&sets.map(|set| ["--set", set]).concat());
    let members = std::fs::read_to_string(bench.at("result/members.jsonl")).expect("exported");
    let members =
        members.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let kept: BTreeSet<String> = members
        .filter(|row| row["is_representative"] == true)
        .map(|row| row["url"].as_str().expect("an id").to_owned())
        .collect();
    assert!(kept.len() > 5 && kept.len() < 40, "{kept:?}");
    let sql = recipe("sql", "select i.*");
    let end = |ids: &str, columns: &str| {
        let all = "{'id', 'url', 'text', 'first', 'second'}";
        format!("\nprint(*{ids})\nassert {all} <= set({columns}), {columns}\n")
    };
    for (modules, script) in [
        (
            "duckdb",
            format!("import duckdb\nkept = duckdb.sql(\"\"\"{sql}\"\"\")")
                + &end("[row[0] for row in kept.fetchall()]", "kept.columns"),
        ),
        ("pandas, pyarrow", recipe("python", "import pandas") + &end("kept.id", "kept.columns")),
        ("polars", recipe("python", "import pathlib, polars") + &end("kept['id']", "kept.columns")),
    ] {
        if !has_python(modules) {
            skip(&format!("python3 with {modules}"));
            continue;
        }
        let printed = printed(&bench, &script, modules);
        let found: Vec<&str> = printed.split_whitespace().collect();
        assert_eq!(found.len(), kept.len(), "{modules}: no row twice");
        assert_eq!(
            found.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(),
            kept,
            "{modules}"
        );
    }
}

/// The recipe against a benchmark takes out the documents that are near one of its texts, and the
/// identical ones, and no others.
#[test]
fn without_a_benchmark() {
    let bench = Bench::new(Path::new("in"), "\n[confirm]\nfacts = \"off\"\n");
    std::fs::create_dir(bench.at("in")).expect("made");
    // The last one has no text.
    let rows: Vec<u64> = (0..21).collect();
    let column = |of: &dyn Fn(u64) -> Option<String>| {
        Arc::new(rows.iter().map(|n| of(*n)).collect::<StringArray>()) as ArrayRef
    };
    let batch = RecordBatch::try_from_iter_with_nullable([
        ("id", column(&|n| Some(format!("row-{n}"))), false),
        ("text", column(&|n| (n < 20).then(|| text(n / 2, n % 2))), true),
    ]);
    let batch = batch.expect("a batch");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("in memory");
    writer.write(&batch).expect("in memory");
    std::fs::write(bench.at("in/1.parquet"), writer.into_inner().expect("in memory"))
        .expect("written");
    let sets = ["read.key=id", "output.dir=result"];
    let sets = sets.map(|set| ["--set", set]).concat();
    bench.run_well(&sets);
    // One text is that of a row and near another, one is near two rows, one is near none.
    let asked: String = [text(3, 0), text(5, 2), text(77, 0)]
        .iter()
        .zip(0..)
        .map(|(text, n)| {
            format!("{}\n", serde_json::json!({ "id": format!("q{n}"), "text": text }))
        })
        .collect();
    if !has_python("duckdb") {
        return skip("python3 with duckdb");
    }
    let sql = recipe("sql", "with answers as");
    let script = format!(
        "import duckdb\nprint(*sorted(row[0] for row in duckdb.sql(\"\"\"{sql}\"\"\").fetchall()))"
    );
    // Of answers without any match DuckDB cannot guess what a match is.
    let none = format!("{}\n", serde_json::json!({ "id": "q", "text": text(78, 0) }));
    for (asked, found) in [(asked, &[6, 7, 10, 11][..]), (none, &[])] {
        std::fs::write(bench.at("benchmark.jsonl"), asked).expect("written");
        let arguments = [&["benchmark.jsonl", "--json", "--all"], &sets[..]].concat();
        let answers = bench.pagefold("query", &arguments);
        assert!(answers.status.success(), "{answers:?}");
        std::fs::write(bench.at("matches.jsonl"), answers.stdout).expect("written");
        let printed = printed(&bench, &script, "duckdb");
        let mut kept: Vec<String> =
            rows.iter().filter(|n| !found.contains(*n)).map(|n| format!("row-{n}")).collect();
        kept.sort();
        assert_eq!(printed.split_whitespace().collect::<Vec<_>>(), kept);
    }
}
