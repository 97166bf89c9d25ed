//! What runs report: on a terminal, in the log and with `--json`.

use super::{GOOD, run, says, scene, write};

/// The report counts records that another one of their URL replaced, speaks of one page as one, and
/// says why an epoch had no input; a run that takes up an epoch and finds no more ends with one
/// report.
#[test]
fn of_reports() {
    let folder = scene("\"in.jsonl\"", "");
    let at = folder.path();
    let report = |more: &[&str]| {
        let output = run(at, &[&["run", "job.toml"], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    write(
        at,
        "in.jsonl",
        &[GOOD, &GOOD.replace("note", "use"), &GOOD.replace("note", "worth")].concat(),
    );
    let first = report(&["--threads", "1"]);
    for line in [
        "read       3 records of 1 file, 0.0 MB\n",
        "superseded 2        by another record of the same URL, 2 with another text\n",
        "pages      1        1 distinct text\n",
        "clusters   0\n",
        " 1 x 1 worker\n",
    ] {
        assert!(first.contains(line), "{line:?} is not in\n{first}");
    }
    let again = report(&["--set", "confirm.facts=off"]);
    assert!(
        again.contains(
            "read       nothing new; [confirm] changed, so every pair was decided again\n"
        ),
        "{again}"
    );
    assert!(!again.contains("records"), "{again}");
    // An epoch that a guard refused becomes one that was not finished.
    write(at, "more.jsonl", &[GOOD, "{broken\n", "{broken\n"].concat());
    let both = ["--set", "confirm.facts=off", "--set", "read.inputs=[\"in.jsonl\",\"more.jsonl\"]"];
    says(at, &[&["run", "job.toml"], &both[..]].concat(), 65, &["2 of 3 records were rejected"]);
    let attempt = std::fs::read_dir(at.join("store/attempt"))
        .expect("attempts")
        .next()
        .expect("one")
        .expect("readable");
    std::fs::remove_file(attempt.path().join("refused")).expect("removed");
    let resumed = report(&[&both[..], &["--allow", "rejects"]].concat());
    assert_eq!(
        (resumed.matches("committed to").count(), resumed.contains("nothing due")),
        (1, false),
        "{resumed}"
    );
    assert!(report(&both).contains("nothing due"));
}

/// What the report says of a job with one signature, and of a file that only one worker can read,
/// is said by `--json` and by a dry run as well.
#[test]
fn of_runs_without_a_report() {
    let folder = scene("\"in.jsonl.gz\"", "");
    let at = folder.path();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    let lines = GOOD.repeat(8000);
    std::io::Write::write_all(&mut encoder, lines.as_bytes()).expect("in memory");
    std::fs::write(at.join("in.jsonl.gz"), encoder.finish().expect("in memory")).expect("written");
    let dry = run(at, &["run", "job.toml", "--threads", "2", "--dry-run"]);
    let said = String::from_utf8_lossy(&dry.stdout);
    assert!(said.contains("cannot be divided: one of 2 workers reads it"), "{said}");
    let sets = ["--set", "minhash=false", "--set", "sentences=false"];
    let plain = run(at, &[&["run", "job.toml", "--threads", "2"], &sets[..]].concat());
    let said = String::from_utf8_lossy(&plain.stdout);
    assert!(said.contains("cannot be divided: one of 2 workers read it"), "{said}");
    write(at, "new.jsonl", GOOD);
    let more = ["--set", "read.inputs=new.jsonl", "--json"];
    let json = run(at, &[&["run", "job.toml"], &sets[..], &more].concat());
    let said = String::from_utf8_lossy(&json.stderr);
    assert!(said.contains("simhash alone proposes pairs"), "{said}");
}

/// Off a terminal the error is one line of the log, with or without `--json`, however many mistakes
/// it tells; it was plain text without `--json`.
#[test]
fn in_the_log() {
    let folder = scene("\"in.jsonl\"", "[simhash]\nk = 9\nbnads = \"4\"\n");
    for words in
        [&["run", "job.toml"][..], &["status", "job.toml"], &["status", "job.toml", "--json"]]
    {
        let output = run(folder.path(), words);
        let line: serde_json::Value =
            serde_json::from_slice(&output.stderr).expect("one line of JSON");
        let keys: Vec<&str> =
            line.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(keys, ["exit_code", "guard", "level", "message", "timestamp"], "{line}");
        assert_eq!((&line["level"], &line["exit_code"]), (&"ERROR".into(), &78.into()));
        assert!(
            line["timestamp"]
                .as_str()
                .is_some_and(|time| time.starts_with("20") && time.ends_with('Z')),
            "{line}"
        );
        let mistakes: Vec<&str> = line["message"].as_str().expect("text").lines().collect();
        assert!(
            mistakes[0].starts_with("job.toml:7: [simhash] k = 9") && mistakes.len() == 2,
            "{line}"
        );
        assert!(mistakes[1].starts_with("job.toml:8: [simhash] bnads: no such key"), "{line}");
    }
}
