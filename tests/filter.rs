use crate::filter::scene::{crawl, line};
use crate::texts::text;
use crate::workbench::{Bench, copy_folder, failure};
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use lz4_flex::frame::FrameDecoder;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use workers::page_url::canonical_url;

/// A filter that is interrupted continues; restored inputs are right.
mod again;
/// Archives of all kinds are sound after a filter.
mod archives;
/// What a filter counts, and in which measure.
mod counts;
/// Files that grow much, and files that are damaged.
mod damage;
/// What a filter says, and with which exit code it ends.
mod messages;
/// A crawler's own revisit of another URL counts as a mirror.
mod mirrors;
/// No record is left out in favour of one that no input has.
mod promoted;
/// Outputs of inputs that are gone are deleted with `--prune`.
mod pruned;
/// With `--revisits` a record of an archive that folds leaves a revisit.
mod revisits;
/// A crawl in every format and container.
mod scene;
/// Rows get their cluster, and tables of records are written where they are missing.
mod tables;

/// All files below `folder`, without what the filter notes for itself.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_note = path.file_name().is_some_and(|name| name == "_pagefold");
            if path.is_dir() && !is_note {
                folders.push(path);
            } else if path.is_file() {
                let name = path.strip_prefix(folder).expect("below").to_owned();
                found.insert(name, std::fs::read(&path).expect("readable"));
            }
        }
    }
    found
}

/// The rows of the tables of records below `folder`, in order.
fn rows(folder: &Path) -> Vec<Value> {
    let mut rows = Vec::new();
    for name in files(folder).into_keys() {
        let file = std::fs::File::open(folder.join(&name)).expect("there");
        let reader = ParquetRecordBatchReaderBuilder::try_new(file)
            .expect("Parquet")
            .build()
            .expect("readable");
        for batch in reader {
            let batch = batch.expect("readable");
            for row in 0..batch.num_rows() {
                let mut object = serde_json::Map::new();
                for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                    let text = column.as_string_opt::<i32>().map(|of| json!(of.value(row)));
                    let long =
                        column.as_primitive_opt::<UInt64Type>().map(|of| json!(of.value(row)));
                    let short =
                        column.as_primitive_opt::<UInt32Type>().map(|of| json!(of.value(row)));
                    let value = text
                        .or(long)
                        .or(short)
                        .filter(|_| !column.is_null(row))
                        .unwrap_or(Value::Null);
                    object.insert(field.name().clone(), value);
                }
                rows.push(Value::Object(object));
            }
        }
    }
    rows
}

fn word<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap_or_default()
}

/// Filters the bench's job and returns its report.
fn filter(bench: &Bench, arguments: &[&str]) -> Value {
    let arguments = [&["--json"], arguments].concat();
    let output = bench.pagefold("filter", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Asserts that every record of all inputs has one row, and that the rows of records that hold are
/// the members: each page once, kept if it is a representative, with the cluster it has there.
fn assert_rows_are_members(bench: &Bench, rows: &[Value], read: u64) {
    assert_eq!(rows.len() as u64, read, "a row a record");
    let members = bench.lines("members");
    let mut members: BTreeMap<&str, &Value> =
        members.iter().map(|member| (word(member, "url"), member)).collect();
    for row in rows {
        let holds = ["kept", "folded"].contains(&word(row, "verdict"));
        assert_eq!(holds, row["cluster"].is_string(), "{row}");
        // The page of a revisit of another URL is none of the members.
        if !holds || word(row, "reason") == "revisit" {
            continue;
        }
        let url = canonical_url(word(row, "url")).canonical;
        let member =
            members.remove(url.as_str()).unwrap_or_else(|| panic!("{row}: no page, or one twice"));
        assert_eq!(word(row, "verdict") == "kept", member["is_representative"] == true, "{row}");
        for column in ["cluster", "cluster_size", "representative", "doc"] {
            assert_eq!(row[column], member[column], "{row}");
        }
        assert_eq!(row["relation"].is_null(), word(row, "verdict") == "kept", "{row}");
    }
    assert!(members.is_empty(), "pages without a record: {members:?}");
}

/// What is compressed in `bytes`. Their head tells, since archives have names of all kinds.
fn decoded(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    match bytes {
        [0x1f, 0x8b, ..] => {
            _ = flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut plain).expect("sound");
        }
        [0x28, 0xb5, 0x2f, 0xfd, ..] => plain = zstd::decode_all(bytes).expect("sound"),
        [0x04, 0x22, 0x4d, 0x18, ..] => {
            let mut rest = bytes;
            while !rest.is_empty() {
                FrameDecoder::new(&mut rest).read_to_end(&mut plain).expect("sound");
            }
        }
        _ => plain = bytes.to_vec(),
    }
    plain
}

/// Schema, metadata, row groups and rows of a Parquet file.
fn content(path: &Path) -> (String, Vec<i64>, Vec<RecordBatch>) {
    let file = std::fs::File::open(path).expect("there");
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
    let metadata = builder.metadata().clone();
    let file = metadata.file_metadata();
    let head =
        format!("{:?} {:?} {:?}", file.schema(), file.key_value_metadata(), builder.schema());
    let groups = metadata.row_groups();
    let codecs: Vec<String> = groups
        .iter()
        .flat_map(|group| group.columns())
        .map(|of| format!("{:?}", of.compression()))
        .collect();
    let rows = groups.iter().map(|group| group.num_rows()).collect();
    let batches = builder
        .with_batch_size(1 << 16)
        .build()
        .expect("readable")
        .map(|batch| batch.expect("readable"));
    (format!("{head} {codecs:?}"), rows, batches.collect())
}

/// A filter writes each record once, to what is kept or to what is removed; what is kept are the
/// representatives and what is no page; and both give the originals: byte for byte where records
/// and members agree, else the same decoded bytes, and in Parquet equal tables.
#[test]
fn filtered_and_undone() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    crawl(&bench.at("in"));
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let arguments = ["--to", "kept", "--removed", "removed", "--records", "records"];
    let report = filter(&bench, &arguments);
    let rows = rows(&bench.at("records"));
    let count =
        |verdict: &str| rows.iter().filter(|row| word(row, "verdict") == verdict).count() as u64;
    for verdict in ["kept", "folded", "superseded", "seen", "removed", "skipped", "rejected"] {
        assert!(count(verdict) > 0, "no record is {verdict}");
        assert_eq!(report["records"][verdict], count(verdict), "{verdict}");
    }
    // The copy of a file was not read: its records are reported, too.
    let copied =
        rows.iter().filter(|row| word(row, "warc_filename").starts_with("copy")).count() as u64;
    let read = bench.summary()["counters"]["read"].as_u64().expect("a count");
    assert_rows_are_members(&bench, &rows, read + copied);
    assert_eq!(report["pages_elsewhere"], 0);

    let (originals, kept, removed) =
        (files(&bench.at("in")), files(&bench.at("kept")), files(&bench.at("removed")));
    assert!(!kept.contains_key(Path::new("README.md")), "no crawl");
    assert_eq!(kept.len() + 1, originals.len());
    // Kept lines are those of the rows, as they were, in their order.
    let stays = |row: &&Value| ["kept", "skipped", "rejected"].contains(&word(row, "verdict"));
    for name in
        ["a.jsonl", "deep/b.jsonl.gz", "deep/er/c.jsonl.zst", "m.jsonl.lz4", "copy of a.jsonl"]
    {
        let whole = decoded(&originals[Path::new(name)]);
        let of_file: Vec<&Value> =
            rows.iter().filter(|row| word(row, "warc_filename") == name).collect();
        let mut expected = b"\xef\xbb\xbf".to_vec();
        for (at, row) in of_file.iter().enumerate().filter(|(_, row)| stays(row)) {
            let start = row["position"].as_u64().expect("a place") as usize;
            let end = of_file
                .get(at + 1)
                .map_or(whole.len(), |next| next["position"].as_u64().expect("a place") as usize);
            expected.extend_from_slice(&whole[start..end]);
        }
        assert_eq!(decoded(&kept[Path::new(name)]), expected, "{name}");
    }
    // An offset and a length lead to the record.
    for row in rows
        .iter()
        .filter(|row| row["warc_record_id"].is_string() && row["warc_record_offset"].is_u64())
    {
        let name = Path::new(word(row, "warc_filename"));
        let [offset, length] = ["warc_record_offset", "warc_record_length"]
            .map(|n| row[n].as_u64().expect("n") as usize);
        let record = decoded(&originals[name][offset..offset + length]);
        let record = String::from_utf8_lossy(&record);
        assert!(
            record.starts_with("WARC/1.0") && record.contains(word(row, "warc_record_id")),
            "{row}: {record}"
        );
    }
    assert!(removed.values().map(Vec::len).sum::<usize>() > 0);

    assert_eq!(assert_undone(&bench), kept.len());

    // What is filtered is a crawl that folds no more: the same pages represent, each alone.
    assert_folds_no_more(&bench);
}

/// Makes the originals again of what was kept and removed: byte for byte where records and members
/// agree, else the same decoded bytes, and in Parquet equal tables. Returns how many there are.
fn assert_undone(bench: &Bench) -> usize {
    let originals = files(&bench.at("in"));
    filter(bench, &["--to", "kept", "--removed", "removed", "--undo", "again"]);
    let again = files(&bench.at("again"));
    for (name, bytes) in &again {
        let original = &originals[name];
        match name.to_str().expect("UTF-8") {
            "j.parquet" | "k.parquet" => {
                assert!(
                    content(&bench.at("again").join(name)) == content(&bench.at("in").join(name)),
                    "{name:?}"
                );
            }
            "deep/b.jsonl.gz"
            | "deep/er/c.jsonl.zst"
            | "m.jsonl.lz4"
            | "f.warc.gz"
            | "g.warc.gz" => {
                assert!(decoded(bytes) == decoded(original), "{name:?}");
            }
            _ => assert!(bytes == original, "{name:?}"),
        }
    }
    again.len()
}

/// Asserts that what was kept has the pages that represent, and each is alone.
fn assert_folds_no_more(bench: &Bench) {
    let other = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    copy_folder(&bench.at("kept"), &other.at("in"));
    other.run_well(&["--set", "read.rejects_max=1"]);
    let urls = |bench: &Bench, only: bool| {
        let members = bench.lines("members");
        let of = members.iter().filter(|member| !only || member["is_representative"] == true);
        of.map(|member| word(member, "url").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(urls(&other, false), urls(bench, true));
}

/// Nine rows, of which some share a URL or differ only in its spelling: with the URL as key a join
/// lost four of them and kept two copies. By the places of records each page has one row, and no
/// text is kept twice.
#[test]
fn rows_of_one_url() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let texts = [
        "harvest was good and the barns are full again",
        "bridge over the river is closed until late may",
    ];
    let urls = [
        "http://a.example/1",
        "http://a.example/1#top",
        "http://a.example:80/1",
        "http://a.example/a b",
    ];
    let mut lines = String::new();
    for (n, url) in
        urls.iter().chain(&["http://b.example/图书馆", "http://c.example/", urls[0]]).enumerate()
    {
        let text = format!(
            "the {} says the paper of the town this week {}",
            texts[n % 2],
            if n == 5 { "only" } else { "" }
        );
        lines.push_str(&line(&((*url).to_owned(), "2024-01-01", Some(text))));
    }
    std::fs::write(bench.at("in/a.jsonl"), &lines).expect("written");
    std::fs::write(
        bench.at("in/b.jsonl"),
        lines.lines().take(2).map(|line| format!("{line}\n")).collect::<String>(),
    )
    .expect("written");
    bench.run_well(&[]);
    filter(&bench, &["--to", "kept", "--records", "records"]);
    let rows = rows(&bench.at("records"));
    assert_rows_are_members(&bench, &rows, 9);
    let kept: Vec<u8> = files(&bench.at("kept")).into_values().flatten().collect();
    let kept: Vec<Value> = String::from_utf8(kept)
        .expect("UTF-8")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let representatives =
        bench.lines("members").into_iter().filter(|member| member["is_representative"] == true);
    assert_eq!(kept.len(), representatives.count());
    let mut texts: Vec<&str> = kept.iter().map(|row| word(row, "text")).collect();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), kept.len(), "a text is kept twice");
}

/// Over epochs the record that decided a page is the one that is kept, in whichever file it came,
/// after a rename, too. A file that the store has not read is refused by name.
#[test]
fn the_record_that_holds() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let put = |name: &str, items: &[(&str, &'static str, u64)]| {
        let lines: String = items
            .iter()
            .map(|(url, date, of)| line(&((*url).to_owned(), date, Some(text(*of, 0)))))
            .collect();
        std::fs::write(bench.at("in").join(name), lines).expect("written");
    };
    let (one, two) = ("http://a.example/1", "http://a.example/2");
    put("1.jsonl", &[(one, "2024-01-01", 1), (two, "2024-01-01", 2)]);
    bench.run_well(&[]);
    put("2.jsonl", &[(one, "2024-02-01", 3), (two, "2023-01-01", 4)]);
    bench.run_well(&[]);
    std::fs::rename(bench.at("in/1.jsonl"), bench.at("in/0.jsonl")).expect("renamed");
    filter(&bench, &["--to", "kept", "--removed", "removed", "--records", "records"]);
    let rows = rows(&bench.at("records"));
    assert_rows_are_members(&bench, &rows, 4);
    let verdicts: Vec<&str> = rows.iter().map(|row| word(row, "verdict")).collect();
    assert_eq!(verdicts, ["superseded", "kept", "kept", "superseded"]);
    let kept = files(&bench.at("kept"));
    assert!(kept[Path::new("0.jsonl")].len() < 700 && kept[Path::new("2.jsonl")].len() < 700);

    put("3.jsonl", &[(one, "2024-03-01", 5)]);
    let refused = bench.pagefold("filter", &["--to", "kept"]);
    let stderr = failure(&refused.stderr);
    assert!(
        refused.status.code() == Some(66) && stderr.contains("3.jsonl: is new, or changed"),
        "{stderr}"
    );
    // Removed pages have no record that is kept.
    bench.run_well(&[]);
    std::fs::write(bench.at("in/4.jsonl"), line(&(two.to_owned(), "2024-04-01", None)))
        .expect("written");
    bench.run_well(&[]);
    let report = filter(&bench, &["--to", "kept", "--removed", "removed", "--records", "records"]);
    assert_eq!(report["records"], json!({ "kept": 1, "removed": 3, "superseded": 2 }));
    let all: Vec<u8> = files(&bench.at("kept")).into_values().flatten().collect();
    assert_eq!(
        String::from_utf8(all).expect("UTF-8"),
        line(&(one.to_owned(), "2024-03-01", Some(text(5, 0))))
    );
}

/// A file of an epoch that a rollback undid counted as read, also under another name, and its pages
/// were written nowhere. It is refused until its bytes are read again, and the error names the
/// rollback for it.
#[test]
fn inputs_of_undone_epochs() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let put = |name: &str, n: u64| {
        let page = (format!("http://a.example/{n}"), "2024-01-01", Some(text(n, 0)));
        std::fs::write(bench.at("in").join(name), line(&page)).expect("written");
    };
    let rollback = |arguments: &[&str]| {
        let output = bench.pagefold("rollback", arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let assert_refused = |name: &str| {
        let output = bench.pagefold("filter", &["--to", "kept"]);
        let stderr = failure(&output.stderr);
        assert_eq!(output.status.code(), Some(66), "{stderr}");
        assert!(stderr.contains(name) && stderr.contains("by epoch 2, which a"), "{stderr}");
        assert!(stderr.contains("`pagefold rollback job.toml 1 --forget-inputs`"), "{stderr}");
    };
    let kept = || filter(&bench, &["--to", "kept"])["records"]["kept"].clone();
    put("1.jsonl", 1);
    bench.run_well(&[]);
    put("2.jsonl", 2);
    bench.run_well(&[]);
    rollback(&["1"]);
    assert_refused("in/2.jsonl");
    std::fs::rename(bench.at("in/2.jsonl"), bench.at("in/3.jsonl")).expect("renamed");
    bench.run_well(&[]);
    assert_refused("in/3.jsonl");
    // The same bytes under another name are another delivery, which is read.
    put("4.jsonl", 2);
    bench.run_well(&[]);
    assert_eq!(kept(), 2);
    std::fs::remove_file(bench.at("in/4.jsonl")).expect("there");
    rollback(&["1"]);
    assert_refused("in/3.jsonl");
    rollback(&["1", "--forget-inputs"]);
    bench.run_well(&[]);
    assert_eq!(kept(), 2);
}

/// Outputs of inputs that were gone stayed beside the others without a message, and a corpus made
/// from the folder had their pages twice.
#[test]
fn files_of_inputs_that_are_gone() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let put = |name: &str, n: u64| {
        let page = (format!("http://a.example/{n}"), "2024-01-01", Some(text(n, 0)));
        std::fs::write(bench.at("in").join(name), line(&page)).expect("written");
    };
    let left_over = || filter(&bench, &["--to", "kept"])["files_left_over"].clone();
    put("1.jsonl", 1);
    put("2.jsonl", 2);
    bench.run_well(&[]);
    assert_eq!(left_over(), json!([]));
    std::fs::rename(bench.at("in/1.jsonl"), bench.at("in/one.jsonl")).expect("renamed");
    bench.run_well(&[]);
    assert_eq!(left_over(), json!(["1.jsonl"]));
    assert!(bench.at("kept/1.jsonl").exists() && bench.at("kept/one.jsonl").exists());
    let output = bench.pagefold("filter", &["--to", "kept"]);
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(said.contains("left over  1 file") && said.contains("1.jsonl"), "{said}");
    std::fs::remove_file(bench.at("kept/1.jsonl")).expect("there");
    assert_eq!(left_over(), json!([]));
}

/// Of the files of a folder only the first was compared with the patterns of the job, so that the
/// next run read another one as crawl.
#[test]
fn a_file_that_a_pattern_would_match() {
    let bench = Bench::new(Path::new("in/*.jsonl"), "");
    std::fs::create_dir_all(bench.at("in/kept")).expect("made");
    for (n, name) in (0..).zip(["a.jsonl", "b2.jsonl", "kept/b1.jsonl"]) {
        let page = (format!("http://a.example/{n}"), "2024-01-01", Some(text(n, 0)));
        std::fs::write(bench.at("in").join(name), line(&page)).expect("written");
    }
    let inputs = ["--set", "read.inputs=['in/*.jsonl', 'in/kept/b*.jsonl']"];
    bench.run_well(&inputs);
    let refused = bench.pagefold("filter", &[&["--to", "in/kept"], &inputs[..]].concat());
    let stderr = failure(&refused.stderr);
    assert!(refused.status.code() == Some(64) && stderr.contains("in/kept/b*.jsonl"), "{stderr}");
    assert!(!bench.at("in/kept/b2.jsonl").exists());
}

/// Folders that would be read as a crawl, or hold the store, are refused before anything is read.
/// One folder with two names is refused, too: removed records replaced kept ones there.
#[test]
fn places_that_would_do_harm() {
    let bench = Bench::new(Path::new("in"), "");
    crawl(&bench.at("in"));
    bench.run_well(&["--set", "read.rejects_max=1"]);
    std::fs::create_dir(bench.at("real")).expect("made");
    std::os::unix::fs::symlink("real", bench.at("link")).expect("linked");
    for (arguments, code, why) in [
        (&["--to", "in/kept"][..], 64, "lies in [read] inputs"),
        (&["--to", "store/kept"], 64, "is in the store"),
        (&["--to", "out"], 64, "is [output] dir"),
        (&["--to", "x", "--removed", "x"], 64, "is named twice"),
        (&["--to", "real", "--removed", "link"], 64, "is named twice"),
        (&["--to", "x", "--records", "link/../x"], 64, "is named twice"),
        (&["--to", "link", "--removed", "real/removed"], 64, "is inside another named folder"),
        (&["--to", "x", "--removed", "link", "--undo", "real"], 64, "is named twice"),
        (&["--to", "x", "--removed", "y", "--undo", "x/z"], 64, "is inside another named folder"),
        (&["--to", "x", "--removed", "y", "--undo", "store/data"], 64, "is in the store"),
        (&[], 64, "--to DIR"),
        (&["--to", "x", "--removed", "y", "--undo", "z"], 66, "nothing to undo"),
    ] {
        let output = bench.pagefold("filter", arguments);
        let stderr = failure(&output.stderr);
        assert!(
            output.status.code() == Some(code) && stderr.contains(why),
            "{arguments:?}: {stderr}"
        );
    }
}
