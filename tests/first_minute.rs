use crate::workbench::{demo_inputs, failure, pagefold};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(pagefold());
    command.args(arguments).current_dir(folder).env_remove("RUST_LOG").output().expect("started")
}

/// Runs, which must end with `code`, and returns what it said.
fn says(folder: &Path, arguments: &[&str], code: i32) -> String {
    let output = run(folder, arguments);
    let text = String::from_utf8(output.stdout).expect("UTF-8") + &failure(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    text
}

fn members(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("result/members.jsonl")).expect("exported");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// A text of its own for each number.
fn text(number: u64) -> String {
    let words: Vec<String> =
        (0..20).map(|w| format!("w{}", (number * 7919 + w * 104_729) % 1_000_003)).collect();
    words.join(" ")
}

fn lines(rows: impl IntoIterator<Item = Value>) -> String {
    rows.into_iter().map(|row| format!("{row}\n")).collect()
}

/// Files are folded without a job: the job that was used is beside store and results, and does the
/// same when it is run itself. A job with another text is never replaced.
#[test]
fn files_without_a_job() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let demo = demo_inputs();
    let demo = demo.to_str().expect("UTF-8");
    let said = says(at, &["run", demo, "--to", "dir", "--set", "confirm.facts=off"], 0);
    assert!(said.contains("pages"), "{said}");
    let job = std::fs::read_to_string(at.join("dir/job.toml")).expect("written");
    assert!(
        job.contains("confirm.facts = \"off\"") && job.contains(demo) && job.contains("WARC"),
        "{job}"
    );
    assert!(!members(&at.join("dir")).is_empty() && at.join("dir/store").is_dir());
    for again in
        [&["run", "dir/job.toml"][..], &["run", demo, "--to", "dir", "--set", "confirm.facts=off"]]
    {
        assert!(says(at, again, 0).contains("nothing due"), "{again:?}");
    }
    let said = says(at, &["run", demo, "--to", "dir"], 73);
    assert!(said.contains("pagefold run dir/job.toml"), "{said}");
    assert!(says(at, &["run", "dir/job.toml", "--to", "other"], 64).contains("without --to"));
    assert!(says(at, &["run", "gone.warc", "--to", "other"], 66).contains("gone.warc"));
    assert!(!at.join("other").exists(), "nothing is written for nothing");
    says(at, &["run", demo, demo], 64);
}

/// A job was written before anything was checked: a dry run left it, and with a slip in `--set` or
/// a place among the inputs it stayed, so that the right command found another job there.
#[test]
fn a_job_is_written_only_if_it_is_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::create_dir(at.join("in")).expect("made");
    std::fs::write(at.join("in/a.jsonl"), lines((0..3).map(|n| json!({ "text": text(n) }))))
        .expect("written");
    let run = ["run", "in", "--to", "dir", "--set", "read.source=2026"];
    let with = |more: &[&'static str]| [&run[..], more].concat();
    assert!(says(at, &with(&["--dry-run"]), 0).contains("would make epoch 1"));
    let said = says(at, &with(&["--set", "confirm.factz=off"]), 78);
    assert!(said.contains("--set confirm.factz=off: [confirm] factz: no such key"), "{said}");
    for within in [["run", "in", "--to", "in/dir"], ["init", "in", "--to", "in/job.toml"]] {
        assert!(says(at, &within, 78).contains("lies in [read] inputs"), "{within:?}");
    }
    assert!(!at.join("dir").exists() && !at.join("in/dir").exists());
    assert!(!at.join("in/job.toml").exists());
    says(at, &run, 0);
    let job = std::fs::read_to_string(at.join("dir/job.toml")).expect("written");
    assert!(job.contains("read.source = \"2026\""), "{job}");
}

/// Names of fields with line breaks wrote keys into the job: its run then did what the data said. A
/// job of the user in another charset was replaced. A table of keys named a line of no file.
#[test]
fn data_writes_no_keys() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let row = |n| json!({ "a\nclusters.radius = 5 #.id": n % 2, "text": text(n) });
    std::fs::write(at.join("evil.jsonl"), lines((0..3).map(row))).expect("written");
    std::fs::write(at.join("b\nclusters.radius = 5 #.csv"), "a,b\n").expect("written");
    for job in [says(at, &["init", "."], 0), says(at, &["init", "evil.jsonl"], 0)] {
        assert!(!job.lines().any(|line| line.starts_with("clusters.radius")), "{job}");
    }
    let to = ["run", "evil.jsonl", "--to", "out"];
    let table = [&to[..], &["--set", "read={complete=true}"]].concat();
    assert!(says(at, &table, 64).contains("--set read=...: name single keys"));
    says(at, &to, 0);
    let path = at.join("out/job.toml");
    let mut own = std::fs::read(&path).expect("written");
    own.extend(b"# r\xe9sum\xe9\nclusters.radius = 2\n");
    std::fs::write(&path, &own).expect("written");
    assert!(says(at, &to, 73).contains("another job is there already"));
    assert_eq!(std::fs::read(&path).expect("there"), own);
}

/// The job that is made names fields and key by what the rows have: an id that each row has for
/// itself, else a URL, else the row; so nothing of a corpus is lost.
#[test]
fn jobs_fit_their_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let ids =
        (0..40).map(|n| json!({ "id": format!("{n}"), "url": format!("http://a.example/{}", n / 2), "body": text(n) }));
    let urls =
        (0..40).map(|n| json!({ "id": 1, "metadata": { "url": format!("http://a.example/{n}") }, "text": text(n) }));
    let neither =
        (0..40).map(|n| json!({ "url": format!("http://a.example/{}", n / 2), "text": text(n) }));
    let bare = (0..40).map(|n| json!({ "text": text(n) }));
    for (name, lines, expected) in [
        ("ids", lines(ids), &["read.key = \"id\"", "read.fields.text = \"body\""][..]),
        (
            "urls",
            lines(urls),
            &["read.key = \"url\"", "of 40 rows looked at, 39 repeat that of another"],
        ),
        ("neither", lines(neither), &["read.key = \"row\"", "20 of 40 rows share a URL"]),
        ("bare", lines(bare), &["read.key = \"row\""]),
    ] {
        let file = format!("{name}.jsonl");
        std::fs::write(at.join(&file), &lines).expect("written");
        let printed = says(at, &["init", &file], 0);
        for expected in expected {
            assert!(printed.contains(expected), "{expected} in {printed}");
        }
        let said = says(at, &["run", &file, "--to", name], 0);
        assert!(!said.contains("superseded"), "{said}");
        assert_eq!(members(&at.join(name)).len(), 40, "{name}");
    }
}

/// Of an id that no row repeats and one row lacks, `init` said that it would keep one row of each.
/// It would reject the row that lacks it.
#[test]
fn ids_that_a_row_lacks() {
    let folder = tempfile::tempdir().expect("a folder");
    let row = |n: u64| match n {
        7 => json!({ "text": text(n) }),
        _ => json!({ "id": n, "text": text(n) }),
    };
    std::fs::write(folder.path().join("a.jsonl"), lines((0..40).map(row))).expect("written");
    let printed = says(folder.path(), &["init", "a.jsonl"], 0);
    let expected = "0 repeat that of another and 1 lack it; read.key = \"id\" would reject those";
    assert!(printed.contains(expected), "{printed}");
}

/// A key that was unique in the first 200 rows of a file was taken, although another data set with
/// the same ids followed: half of the rows were lost.
#[test]
fn keys_fit_whole_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let row = |set: u64, id: u64| json!({ "id": id, "text": text(1000 * set + id) });
    let rows = (1..3).flat_map(|set| (0..500).map(move |id| row(set, id)));
    std::fs::write(at.join("a.jsonl"), lines(rows)).expect("written");
    let printed = says(at, &["init", "a.jsonl"], 0);
    assert!(printed.contains("read.key = \"row\"") && printed.contains("500 repeat"), "{printed}");
    says(at, &["run", "a.jsonl", "--to", "dir"], 0);
    assert_eq!(members(&at.join("dir")).len(), 1000);
}

/// A job that read nothing, or removed rows, was printed without a message. `init` names the rows
/// that are rejected, and those that remove their page; it fails if it could read none; and the
/// field that `--set` names is taken in place of a guess.
#[test]
fn init_says_what_it_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let gaps = (0..40).map(|n| match n % 10 {
        0 => json!({ "id": n }),
        _ => json!({ "id": n, "text": text(n) }),
    });
    let deleted = (0..40).map(|n| json!({ "id": n, "text": text(n), "deleted": n % 2 == 0 }));
    let one = (0..40).map(|n| json!({ "id": n, "text": text(n), "deleted": n == 7 }));
    let bare = (0..40).map(|n| json!({ "text": text(n) }));
    let nested = (0..40).map(|n| json!({ "doc": { "Text": text(n), "id": n } }));
    let floats = (0..40).map(|n| json!({ "id": n as f64 + 0.5, "text": text(n) }));
    for (name, lines, expected) in [
        ("gaps", lines(gaps), &["4 of 40 records are rejected, no_text", "no `text`"][..]),
        ("deleted", lines(deleted), &["20 of 40 rows are removed by `deleted`"]),
        ("one", lines(one), &["1 of 40 rows is removed by `deleted`"]),
        (
            "broken",
            lines(bare) + "{broken\n",
            &["# read.complete = true  # left out, as 1 of 41 records is rejected"],
        ),
        ("nested", lines(nested), &["read.fields.text = \"doc.Text\"", "read.key = \"doc.id\""]),
        ("floats", lines(floats), &["`id` is not the key: `id` is no text and no whole number"]),
    ] {
        let file = format!("{name}.jsonl");
        std::fs::write(at.join(&file), &lines).expect("written");
        let printed = says(at, &["init", &file], 0);
        for expected in expected {
            assert!(printed.contains(expected), "{expected} in {printed}");
        }
    }
    let kept = ["run", "deleted.jsonl", "--to", "all", "--set", "read.fields.deleted="];
    says(at, &kept, 0);
    assert_eq!(members(&at.join("all")).len(), 40);
    let other =
        (0..40).map(|n| json!({ "id": n, "says": text(n), "messages": [{ "content": "a" }] }));
    std::fs::write(at.join("other.jsonl"), lines(other)).expect("written");
    let said = says(at, &["init", "other.jsonl"], 65);
    for part in ["40 of 40 records are rejected", "no `text`", "To make one text of the list"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert!(!says(at, &["run", "other.jsonl", "--to", "no"], 65).contains("no `url`"));
    let named = ["run", "other.jsonl", "--to", "named", "--set", "read.fields.text=says"];
    says(at, &named, 0);
    assert_eq!(members(&at.join("named")).len(), 40);
    std::fs::write(at.join("no-rows.jsonl"), "").expect("written");
    assert!(says(at, &["init", "no-rows.jsonl"], 0).contains("looked at 0 records"));
}

/// A file whose name is not UTF-8 was written into the job under another name, so that the run did
/// not find it. In a folder that is named it is read.
#[test]
fn names_that_are_not_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::create_dir(at.join("in")).expect("made");
    let name = std::ffi::OsStr::from_bytes(b"in/a\xff.jsonl");
    std::fs::write(at.join(name), lines([json!({ "text": text(1) })])).expect("written");
    let mut command = Command::new(pagefold());
    let output = command.arg("init").arg(name).current_dir(at).output().expect("started");
    let said = failure(&output.stderr);
    assert_eq!(output.status.code(), Some(66), "{said}");
    assert!(said.contains("name the folder"), "{said}");
    says(at, &["run", "in", "--to", "dir"], 0);
    assert_eq!(members(&at.join("dir")).len(), 1);
}

/// A row was added to a file whose rows are the pages, so that all its keys were new: the pages of
/// the file as it was stayed, each beside its copy. The job that is made reads a complete snapshot,
/// and the guard against one that lacks pages does not take new keys for lost rows.
#[test]
fn rows_of_a_file_that_grows() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let bare = |rows: std::ops::Range<u64>| lines(rows.map(|n| json!({ "text": text(n) })));
    std::fs::write(at.join("a.jsonl"), bare(0..1100)).expect("written");
    says(at, &["run", "a.jsonl", "--to", "dir"], 0);
    let job = std::fs::read_to_string(at.join("dir/job.toml")).expect("written");
    assert!(job.contains("looked at 1,100 records in all parts of 1 file"), "{job}");
    assert!(job.contains("read.complete = true  # "), "{job}");
    std::fs::write(at.join("a.jsonl"), bare(0..1101)).expect("written");
    says(at, &["run", "dir/job.toml"], 0);
    assert_eq!(members(&at.join("dir")).len(), 1101);
    // Half of a file is an accident.
    std::fs::write(at.join("a.jsonl"), bare(0..550)).expect("written");
    assert!(says(at, &["run", "dir/job.toml"], 65).contains("--allow missing"));
    says(at, &["run", "dir/job.toml", "--allow", "missing"], 0);
    assert_eq!(members(&at.join("dir")).len(), 550);
    let other = ["init", "a.jsonl", "--to", "other.toml"];
    says(at, &other, 0);
    let set = ["run", "a.jsonl", "--to", "set", "--set", "read.complete=false", "--limit", "9"];
    says(at, &set, 0);
    assert!(
        std::fs::read_to_string(at.join("set/job.toml"))
            .expect("written")
            .contains("complete = false")
    );
}

/// `init` prints what a run would use, with the charsets of pages; it replaces a file only if it is
/// told to, and refuses what is no crawl with the line that helps.
#[test]
fn init_writes_a_job() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let demo = demo_inputs();
    let demo = demo.to_str().expect("UTF-8");
    let printed = says(at, &["init", demo], 0);
    assert!(
        printed.contains("# Charsets of their pages: ") && printed.contains("UTF-8"),
        "{printed}"
    );
    assert!(printed.contains("JSON lines"), "{printed}");
    assert!(
        says(at, &["init", demo, "--to", "jobs/a.toml"], 0).contains("pagefold run jobs/a.toml")
    );
    assert_eq!(std::fs::read_to_string(at.join("jobs/a.toml")).expect("written"), printed);
    assert!(says(at, &["init", demo, "--to", "jobs/a.toml"], 73).contains("--force"));
    says(at, &["init", demo, "--to", "jobs/a.toml", "--force"], 0);
    says(at, &["run", "jobs/a.toml"], 0);
    assert!(!members(&at.join("jobs")).is_empty());
    std::fs::write(at.join("x.csv"), "a,b\n1,2\n").expect("written");
    assert!(says(at, &["init", "x.csv"], 65).contains("x.csv"));
}

/// A sample reads the first records of each input, says so, and can never be taken for the whole:
/// its store refuses a run of all, and a store of all refuses a sample. A rebuild makes it whole.
#[test]
fn samples() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    for file in ["a", "b"] {
        let rows = (0..40)
            .map(|n| json!({ "url": format!("http://{file}.example/{n}"), "text": text(n) }));
        std::fs::write(at.join(format!("{file}.jsonl")), lines(rows)).expect("written");
    }
    let said = says(at, &["run", "a.jsonl", "b.jsonl", "--to", "dir", "--limit", "7"], 0);
    assert!(said.contains("at most 7 records of each input"), "{said}");
    let urls: Vec<String> =
        members(&at.join("dir")).iter().map(|row| row["url"].to_string()).collect();
    assert_eq!(urls.len(), 14);
    assert!(urls.iter().any(|url| url.contains("//b.example/6\"")), "{urls:?}");
    let job = "dir/job.toml";
    let whole =
        std::fs::read_to_string(at.join(job)).expect("written").replace("read.records_max = 7", "");
    std::fs::write(at.join("dir/whole.toml"), whole).expect("written");
    let refused = says(at, &["run", "dir/whole.toml"], 78);
    assert!(refused.contains("read.records_max = 7, the job says no limit"), "{refused}");
    says(at, &["rebuild", "dir/whole.toml"], 0);
    assert_eq!(members(&at.join("dir")).len(), 80);
    assert!(says(at, &["run", "dir/whole.toml", "--limit", "7"], 78).contains("read.records_max"));
}
