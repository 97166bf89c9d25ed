//! Commands, options and paths of the command line that are wrong.

use super::{run, says, scene, write};

/// A path of the command line that no shell has expanded, or that is a URL, is refused as in a job
/// file: it became a folder named `~` or `s3:`, and the command succeeded.
#[test]
fn of_paths_of_the_command_line() {
    let folder = scene("[\"in.jsonl\"]", "");
    for (words, expected) in [
        (&["filter", "job.toml", "--to=~/f"][..], "--to <DIR>': ~ is not expanded here"),
        (&["filter", "job.toml", "--to=s3://b/f"], "only local files are written; name a local"),
        (&["filter", "job.toml", "--to=$HOME/f"], "variables are not expanded here; write the"),
        (&["filter", "job.toml", "--to=f", "--removed=~/r"], "--removed <DIR>': ~ is not"),
        (&["filter", "job.toml", "--records=gs://b/r"], "--records <DIR>': only local files"),
        (&["run", "in.jsonl", "--to=~/o"], "~ is not expanded here"),
        (&["run", "s3://b/x.gz", "--to", "o"], "only local files are read; copy it first (aws s3"),
        (&["run", "in.jsonl", "https://a.example/x.gz", "--to", "o"], "(curl -O)"),
        (&["run", "job.toml", "--metrics=~/x.prom"], "--metrics <FILE>': ~ is not"),
        (&["run", "job.toml", "--profile=~/x.json"], "~ is not expanded here"),
        (&["report", "job.toml", "--out=s3://b/x.html"], "only local files are written"),
        (&["lexicon", "job.toml", "--out=~/x.tsv"], "~ is not expanded here"),
        (&["init", "in.jsonl", "--to=~/x.toml"], "~ is not expanded here"),
        (&["init", "hf://datasets/x"], "copy it first (hf download)"),
        (&["status", "~/job.toml"], "~ is not expanded here"),
    ] {
        says(folder.path(), words, 64, &[expected]);
        let there = std::fs::read_dir(folder.path()).expect("readable").count();
        assert_eq!(there, 2, "{words:?} made something");
    }
}

/// For a wrong value of an option the message says which values are allowed, without words of the
/// program.
#[test]
fn of_values_of_the_command_line() {
    let folder = scene("[\"in.jsonl\"]", "");
    for (words, expected) in [
        (&["run", "job.toml", "--threads", "many"][..], "a whole number from 1 to 1024 is wanted"),
        (&["run", "job.toml", "--threads=0"], "a whole number from 1 to 1024 is wanted"),
        (&["run", "job.toml", "--limit", "0"], "a whole number from 1 up is wanted"),
        (&["run", "job.toml", "--now=soon"], "a whole number is wanted"),
        (&["run", "job.toml", "--wait=x"], "a whole number is wanted"),
        (&["rollback", "job.toml", "x"], "a whole number is wanted"),
        (&["gc", "job.toml", "--keep-days=x"], "a whole number is wanted"),
        (&["serve", "job.toml", "--bind", "localhost"], "such as 127.0.0.1:7311"),
        (&["status", "job.toml", "--max-age", "7"], "a number with s, m, h or d"),
    ] {
        says(folder.path(), words, 64, &[expected]);
    }
}

/// For a word that is no job and no command the message names the command that was meant.
#[test]
fn of_commands() {
    let folder = scene("\"in.jsonl\"", "");
    let at = folder.path();
    says(
        at,
        &["run", "in.jsonl"],
        78,
        &[
            "in.jsonl: JSON, no job file; `pagefold run in.jsonl --to DIR` makes one",
            "`pagefold init in.jsonl`",
        ],
    );
    write(at, "x.parquet", "PAR1");
    std::fs::write(at.join("x.gz"), [0x1f, 0x8b, 8, 0, 255]).expect("written");
    std::fs::create_dir(at.join("a b")).expect("made");
    std::fs::copy(at.join("in.jsonl"), at.join("a b/x;y.jsonl")).expect("copied");
    says(at, &["run", "a b/x;y.jsonl"], 78, &["`pagefold run 'a b/x;y.jsonl' --to DIR`"]);
    says(at, &["run", "x.parquet"], 78, &["x.parquet: a Parquet file, no job file"]);
    says(at, &["run", "x.gz"], 78, &["x.gz: a compressed file, no job file"]);
    says(at, &["run", "."], 78, &[".: a folder, no job file; `pagefold run . --to DIR`"]);
    says(at, &["run", "gone.toml"], 78, &["gone.toml: no such file"]);
    says(at, &["job.toml"], 64, &["did you mean `pagefold run job.toml`?"]);
    says(
        at,
        &["in.jsonl"],
        64,
        &["in.jsonl: no command; `pagefold run in.jsonl --to DIR` folds it"],
    );
    says(at, &["stauts", "job.toml"], 64, &["did you mean `pagefold status`?"]);
    let said = says(
        at,
        &["frobnicate", "job.toml"],
        64,
        &["frobnicate: no such command; there are run, init, check, "],
    );
    assert!(!said.contains("did you mean"), "{said}");
    for words in
        [&["status"][..], &["verify"], &["export"], &["gc"], &["rollback", "1"], &["rebuild"]]
    {
        let words = [&words[..1], &["job.toml"], &words[1..]].concat();
        says(at, &words, 66, &["no store at store yet; `pagefold run job.toml` makes it"]);
    }
    assert!(!at.join("store").exists(), "a command that only looks makes no store");
    // A job that would fail each night is not scheduled.
    write(at, "bad.toml", "[simhash]\nk = 9\n");
    says(at, &["schedule", "bad.toml", "--cron"], 78, &["bad.toml:2: [simhash] k = 9"]);
    says(at, &["schedule", "gone.toml", "--cron"], 0, &[]);
    let early = run(at, &["schedule", "gone.toml", "--cron"]);
    let warning: serde_json::Value =
        serde_json::from_slice(&early.stderr).expect("a line of the log");
    assert_eq!(warning["level"], "WARN");
    assert!(
        warning["message"]
            .as_str()
            .is_some_and(|message| message.contains("gone.toml: no such job yet"))
    );
}

/// What is missing or of another kind is named with its key or its option.
#[test]
fn of_places() {
    let folder = scene("\"in.jsonl\"", "");
    let at = folder.path();
    std::fs::create_dir(at.join("fold")).expect("made");
    let set = ["run", "job.toml", "--set", "features.dictionary=fold"];
    says(at, &set, 78, &["fold: a folder, where [features] dictionary wants a file"]);
    let units = ["schedule", "job.toml", "--systemd", "--to", "gone"];
    says(at, &units, 73, &["--to gone: no such folder; make it first"]);
    let ping = ["run", "job.toml", "--set", "output.ping=x"];
    says(at, &ping, 78, &["[output] ping: no URL, such as https://a.example/ping"]);
    // Without `http://` the host was taken for a scheme, and refused after a minute.
    for url in ["x", "127.0.0.1:7311/insert", "localhost:7311/insert", "ftp://localhost/insert"] {
        let wanted = format!("{url}: no URL; wanted is such as http://127");
        says(at, &["send", url, "in.jsonl"], 64, &[&wanted]);
    }
    let key = ["run", "job.toml", "--set", "read.key="];
    says(at, &key, 78, &["--set read.key=: [read] key: it names nothing"]);
    says(at, &["run", "job.toml"], 0, &[]);
    let key = ["run", "job.toml", "--set", "read.key=id"];
    says(at, &key, 78, &["read.key = \"url\", the job says \"id\""]);
    let tables = run(at, &["status", "job.toml", "--tables"]);
    assert!(String::from_utf8_lossy(&tables.stdout).contains(" 1 row  "));
}

/// The message about a file of no known format had its path twice. A cron line whose log has no
/// folder ran nothing, without a message, and `--bytes` did not say that it counts for one page.
#[test]
fn of_small_things() {
    let folder = scene("[\"in.jsonl\", \"odd.bin\"]", "");
    let at = folder.path();
    write(at, "odd.bin", "\u{1}\u{2}\u{3} no crawl");
    let output = run(at, &["run", "job.toml", "--dry-run"]);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("odd.bin: is neither WARC nor"), "{out}");
    says(at, &["estimate", "job.toml", "--pages", "5"], 64, &["--bytes <BYTES-PER-PAGE>"]);
    let scheduled = |log: &str| {
        let output = run(at, &["schedule", "job.toml", "--cron", "--log", log]);
        assert!(output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(scheduled("no such/x.log").contains("no such folder yet"));
    assert!(scheduled("no such/x.log").contains("mkdir -p '"));
    assert_eq!(scheduled("x.log"), "");
    let words = ["lexicon", "job.toml", "--kind", "furniture", "--out", "f.tsv"];
    let words = [&words[..], &["--set", "read.inputs=[\"in.jsonl\"]"]].concat();
    says(at, &words, 65, &["no line stands on at least 8 pages of one host"]);
}
