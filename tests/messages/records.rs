//! Records that are rejected, and what of them may be printed.

use super::{GOOD, run, says, scene, write};
use std::process::Command;

/// If nothing was accepted, the refusal says which fields the records have and which line of the
/// job to change, lists the records in a file, and never advises to allow them.
#[test]
fn of_rejected_records() {
    let refused = |name: &str, text: &str, expected: &[&str]| {
        let folder = scene(&format!("{name:?}"), "");
        write(folder.path(), name, text);
        let said = says(folder.path(), &["run", "job.toml"], 65, expected);
        assert!(!said.contains("--allow"), "{said}");
        let list = said.trim_end().rsplit_once("Rejected records: ").expect("a list").1;
        assert!(
            std::fs::read_to_string(folder.path().join(list)).expect("written").ends_with("}\n")
        );
    };
    let nested = "{\"text\":\"t\",\"id\":\"7\",\"metadata\":{\"address\":\"http://a.example/\"}}\n"
        .repeat(46);
    refused(
        "nested.jsonl",
        &nested,
        &[
            "46 of 46 records were rejected (no_url 46; such as nested.jsonl at 0, no_url: no `url`; it has text, id, metadata)",
            "[read] key = \"id\"",
        ],
    );
    refused(
        "a.jsonl",
        "{\"url\":\"http://a.example/\",\"body\":\"t\"}\n",
        &["[read.fields] text = \"body\""],
    );
    refused(
        "a.json",
        &format!("[{}]\n", GOOD.trim()),
        &["a JSON array", "jq -c '.[]' < a.json > _a.jsonl && mv _a.jsonl a.jsonl"],
    );
    refused(
        "a.json",
        "{\n  \"url\": \"http://a.example/\",\n  \"text\": \"t\"\n}\n",
        &["jq -c . < a.json > _a.jsonl && mv _a.jsonl a.jsonl"],
    );
    refused(
        "a.jsonl",
        &[GOOD.trim(), GOOD].concat(),
        &["jq -c . < a.jsonl > _a-2.jsonl && mv _a-2.jsonl a-2.jsonl"],
    );
    refused(
        "a.jsonl",
        &GOOD.replace("\"some", "7, \"x\": \"some"),
        &["`text` has a value of another type", "Name the right one in [read.fields]"],
    );
    refused("a.jsonl", "\"abc\"\n", &["bad_json: no JSON object: \"abc\""]);
    refused("a.jsonl", "{\"url\":\"u\",\n", &["the line ends within its object"]);
    // Of bad lines in any order an array is one, and no document.
    refused("a.jsonl", "[1]\n{broken\n{broken\n", &["Almost all records were rejected"]);
    let folder = scene("\"in.jsonl\"", "[read.limits]\nline_bytes_max = 20\n");
    says(folder.path(), &["run", "job.toml"], 65, &["raise [read.limits] line_bytes_max"]);
    // The store of a refused first run has no epoch.
    let folder = scene("\"in.jsonl\"", "");
    write(folder.path(), "in.jsonl", "{broken\n");
    says(folder.path(), &["run", "job.toml"], 65, &["Almost all records were rejected"]);
    let looked = run(folder.path(), &["verify", "job.toml"]);
    assert!(
        String::from_utf8_lossy(&looked.stdout)
            .contains("no epoch yet: `pagefold run job.toml` commits the first")
    );
    says(
        folder.path(),
        &["status", "job.toml"],
        66,
        &["store: no epoch yet; `pagefold run job.toml` commits the first"],
    );
    // Among good records, a few bad ones may pass.
    let folder = scene("\"in.jsonl\"", "");
    write(folder.path(), "in.jsonl", &[GOOD.repeat(40), "{broken\n".repeat(21)].concat());
    let said = says(
        folder.path(),
        &["run", "job.toml"],
        65,
        &["21 of 61 records were rejected (bad_json 21; such as"],
    );
    assert!(
        said.contains("To let it pass once: --allow rejects, or raise [read] rejects_max = 0.05"),
        "{said}"
    );
}

/// One record that was cut off in a small delivery stopped the run, and all later runs. It is
/// counted, and the others are folded; a job may still allow none.
#[test]
fn of_few_rejected_records() {
    let folder = scene("\"in\"", "");
    let at = folder.path();
    let record = |n: u32| {
        let body = format!("the text of page {n}, which is like no other page of the crawl {n}");
        format!(
            "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://a.example/{n}\r\n\
             Content-Length: {}\r\n\r\n{body}\r\n\r\n",
            body.len()
        )
    };
    let cut: String = (1..=4).map(record).collect();
    write(at, "in/a.warc", &cut[..cut.len() - 20]);
    says(
        at,
        &["run", "job.toml", "--set", "read.rejects_max=0"],
        65,
        &["1 of 4 records was rejected (truncated 1;"],
    );
    let output = run(at, &["run", "job.toml"]);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && out.contains("accepted   3\n"), "{out}");
    assert!(out.contains("rejected   1        truncated 1\n"), "{out}");
    assert!(String::from_utf8_lossy(&run(at, &["run", "job.toml"]).stdout).contains("nothing due"));
}

/// A JSON document, compressed and in a folder of good files, is refused with a command that makes
/// lines of it, after which the run succeeds; no advice allows the document.
#[test]
fn of_json_documents() {
    let folder = scene("\"in\"", "");
    let at = folder.path();
    write(at, "in/a.jsonl", &GOOD.repeat(9));
    let array = format!("[{}]\n", GOOD.trim().replace("/1", "/2"));
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, array.as_bytes()).expect("in memory");
    std::fs::write(at.join("in/b c.json.gz"), encoder.finish().expect("in memory"))
        .expect("written");
    let command = "gzip -dc < 'in/b c.json.gz' | jq -c '.[]' > 'in/_b c.jsonl' && \
        mv 'in/_b c.jsonl' 'in/b c.jsonl' && mv 'in/b c.json.gz' 'in/_b c.json.gz'";
    let said = says(at, &["run", "job.toml"], 65, &[command]);
    assert!(!said.contains("--allow"), "{said}");
    let bash = |command: &str| {
        Command::new("bash").args(["-c", command]).current_dir(at).status().expect("started")
    };
    // Without jq, what it would write.
    if bash("jq --version").success() {
        assert!(bash(command).success());
    } else {
        write(at, "in/b c.jsonl", array.trim().trim_matches(['[', ']']));
        std::fs::rename(at.join("in/b c.json.gz"), at.join("in/_b c.json.gz")).expect("renamed");
    }
    says(at, &["run", "job.toml"], 0, &[]);
}

/// A bad record of a crawl, and a file's name, reached the terminal with escape sequences and line
/// breaks, by which a page could forge a report. No command that names them prints more than one
/// line of text for them.
#[test]
fn of_hostile_records() {
    let folder = scene("\"in\"", "");
    let at = folder.path();
    write(at, "in/good.jsonl", GOOD);
    let line = "BAD \u{1b}[31mred\u{1b}]0;title\u{7}\r\nkept       9\r\n\u{202e}x";
    let length = line.len();
    let record = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://b.example/\r\n\
         Content-Length: {length}\r\n\r\n{line}\r\n\r\n"
    );
    write(at, "in/a\u{1b}[32m\nkept       9.warc", &record);
    let is_plain = |text: &str| {
        let is_odd = |c: char| c.is_control() && c != '\n' || c == '\u{202e}';
        assert!(!text.contains(is_odd), "{text:?}");
        assert!(!text.lines().any(|line| line.starts_with("kept       9")), "{text}");
    };
    let none = says(at, &["run", "job.toml", "--set", "read.rejects_max=0"], 65, &["BAD "]);
    is_plain(&none);
    assert!(!none.contains('\n'), "{none}");
    for (words, has_detail) in [
        (&["check", "job.toml"][..], false),
        (&["run", "job.toml", "--dry-run"], false),
        (&["run", "job.toml"], true),
        (&["run", "job.toml"], true),
        (&["status", "job.toml"], true),
        (&["status", "job.toml", "--json"], false),
    ] {
        let output = run(at, words);
        let [out, err] = [&output.stdout, &output.stderr].map(|of| String::from_utf8_lossy(of));
        assert!(output.status.success(), "{words:?} {err}");
        is_plain(&out);
        is_plain(&err);
        assert_eq!(out.contains("bad_http, BAD "), has_detail, "{words:?} {out}");
    }
}
