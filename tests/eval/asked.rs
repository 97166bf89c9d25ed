//! `pagefold eval --ask`: questions about pairs of pages, and what the answers say of all pairs.

use super::{bench, crawl, text};
use crate::workbench::{Bench, failure};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// A number that depends on all three, by SplitMix64's finalizer.
fn mixed(article: u64, at: u64, copy: u64) -> u64 {
    let mut z = article.wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ at.wrapping_mul(0xd1b5_4a32_d192_ed03)
        ^ (copy << 60);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Articles of 80 made-up words, each with a copy of which up to 32 words in a row are others. The
/// more differ, the rarer the two are the same, but of any number some are and some are not: the
/// store accepts wrong pairs and refuses true ones. Returns the pages and the labels.
fn doubtful(articles: u64) -> (String, String) {
    let word = |article: u64, at: u64, copy: u64| -> String {
        let bits = mixed(article, at, copy);
        (0..5).map(|n| char::from(b'a' + (bits >> (8 * n)) as u8 % 26)).collect()
    };
    let (mut pages, mut labels) = (String::new(), String::new());
    for article in 0..articles {
        let changed = 1 + mixed(article, 1 << 32, 0) % 32;
        let from = mixed(article, 1 << 33, 0) % (80 - changed);
        let is_same = mixed(article, 1 << 34, 0) % 40 > changed;
        for copy in 0..2 {
            let words = (0..80).map(|at| {
                word(article, at, u64::from(copy == 1 && (from..from + changed).contains(&at)))
            });
            let text = words.collect::<Vec<_>>().join(" ");
            let url = format!("http://h{copy}.example/{article}");
            let label = if is_same { format!("{article}") } else { format!("{article} {copy}") };
            let _ = writeln!(pages, "{}", json!({ "url": url, "text": text }));
            let _ = writeln!(labels, "{}", json!({ "url": url, "label": label }));
        }
    }
    (pages, labels)
}

/// A bench with a store of doubtful pairs and `truth.jsonl`.
fn doubtful_bench() -> Bench {
    let bench = Bench::new(Path::new("in.jsonl"), "");
    let (pages, labels) = doubtful(1200);
    std::fs::write(bench.at("in.jsonl"), pages).expect("written");
    std::fs::write(bench.at("truth.jsonl"), labels).expect("written");
    bench.run_well(&["--allow", "source_folded"]);
    bench
}

/// The label of each URL.
fn labelled(bench: &Bench) -> BTreeMap<String, String> {
    let labels = std::fs::read_to_string(bench.at("truth.jsonl")).expect("written");
    let row = |line: &str| -> (String, String) {
        let row: Value = serde_json::from_str(line).expect("JSON");
        (row["url"].as_str().expect("text").to_owned(), row["label"].to_string())
    };
    labels.lines().map(row).collect()
}

/// What `eval --ask` says when labels answer every question.
fn surveyed(bench: &Bench, answers: &str, seed: u64) -> Value {
    let seed = seed.to_string();
    let arguments = ["--labels", "truth.jsonl", "--json", "--ask", answers, "--seed", &seed];
    let output = bench.pagefold("eval", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one line of JSON: no question")
}

/// Of 20 samples of 200 answers at least 19 have intervals that hold the true precision, and at
/// least 19 such that hold the true recall. The true values are those of answers about every pair,
/// which are counted here again from the exported pairs.
#[test]
fn estimates_hold_the_truth() {
    let bench = doubtful_bench();
    let all = surveyed(&bench, "1000000", 0);
    let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no number in {all}"));
    let truth = labelled(&bench);
    let label = |url: &Value| truth[url.as_str().expect("a URL")].clone();
    let pairs = bench.lines("pairs");
    let of = |accepted: bool| pairs.iter().filter(move |pair| pair["accepted"] == accepted);
    let same = |accepted: bool| {
        of(accepted).filter(|pair| label(&pair["a_url"]) == label(&pair["b_url"])).count() as f64
    };
    let (right, missed, accepted) = (same(true), same(false), of(true).count() as f64);
    let (precision, recall) = (right / accepted, right / (right + missed));
    for (name, truth) in [("precision", precision), ("recall", recall)] {
        for end in ["value", "low", "high"] {
            assert!(
                (number(&all[name][end]) - truth).abs() < 1e-9,
                "{name} {end}: {} {truth}",
                all[name]
            );
        }
        // Trials of a store that is always right, or always wrong, would show nothing.
        assert!((0.1..0.95).contains(&truth), "{name} {truth}");
    }
    let (mut inside, mut widths) = ([0, 0], [0.0, 0.0]);
    for seed in 1..=20 {
        println!("PAGEFOLD_SEED={seed}");
        let of = surveyed(&bench, "200", seed);
        assert_eq!(of["answers"], 200);
        for (at, (name, truth)) in
            [("precision", precision), ("recall", recall)].into_iter().enumerate()
        {
            let (low, high) = (number(&of[name]["low"]), number(&of[name]["high"]));
            inside[at] += i32::from(low - 1e-9 <= truth && truth <= high + 1e-9);
            widths[at] += (high - low) / 20.0;
        }
    }
    assert!(inside.iter().all(|inside| *inside >= 19), "{inside:?} of 20");
    // An interval of everything would hold the truth, too.
    assert!(widths.iter().all(|width| *width < 0.25), "{widths:?}");
}

/// Answers are kept as labels and not asked for again; a skipped pair is asked again, and another
/// takes its place; the estimates are the same with and without a stop in between. Off a terminal
/// questions and answers are lines.
#[test]
fn answers_are_kept() {
    use std::io::{BufRead, BufReader, Write};
    let bench = doubtful_bench();
    let truth = labelled(&bench);
    // Answers `answers` questions, then `last`; returns the findings and the number of questions.
    let session = |answers: usize, last: &str| -> (Value, usize) {
        let mut command = bench
            .other("eval", &["--labels", "answers.jsonl", "--json", "--ask", "60", "--seed", "5"]);
        let mut child = command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("started");
        let (mut stdin, stdout) =
            (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (mut asked, mut findings) = (0, Value::Null);
        for line in BufReader::new(stdout).lines() {
            let row: Value = serde_json::from_str(&line.expect("UTF-8")).expect("JSON");
            if row["question"].is_null() {
                findings = row;
                break;
            }
            assert!(row["begins"][0].as_str().is_some_and(|text| !text.is_empty()), "{row}");
            assert!(row["parts"].as_array().is_some() || row["parts"].is_null(), "{row}");
            let of = |side: &str| truth[row[side].as_str().expect("a URL")].clone();
            let answer = match asked < answers {
                true if of("a") == of("b") => "y",
                true => "n",
                false => last,
            };
            asked += 1;
            writeln!(stdin, "{answer}").expect("read");
        }
        drop(stdin);
        assert!(child.wait().expect("ended").success());
        (findings, asked)
    };
    let (findings, asked) = session(25, "q");
    assert_eq!((findings["answers"].as_u64(), asked), (Some(25), 26));
    let kept = std::fs::read_to_string(bench.at("answers.jsonl")).expect("kept");
    assert_eq!(kept.lines().count(), 25);
    // What is kept is a file of labels.
    let output = bench.pagefold("eval", &["--labels", "answers.jsonl", "--json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // A last line without its end does not swallow the next answer.
    std::fs::write(bench.at("answers.jsonl"), kept.trim_end()).expect("written");
    let (findings, asked) = session(99, "q");
    assert_eq!((findings["answers"].as_u64(), asked), (Some(60), 35));
    assert_eq!(findings, surveyed(&bench, "60", 5));
    let (again, asked) = session(0, "q");
    assert_eq!((again, asked), (findings, 0));

    std::fs::remove_file(bench.at("answers.jsonl")).expect("removed");
    std::fs::write(bench.at("lines"), "s\ny\nmaybe\n").expect("written");
    let mut skipped = bench.other("eval", &["--labels", "answers.jsonl", "--ask", "60"]);
    let output = skipped
        .stdin(std::fs::File::open(bench.at("lines")).expect("written"))
        .output()
        .expect("started");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), failure(&output.stderr));
    assert_eq!(output.status.code(), Some(64), "{out}");
    assert!(err.contains("\"maybe\" is neither y, n, s nor q"), "{err}");
    assert!(out.matches("(1 of 60)").count() == 2 && out.contains("(2 of 60)"), "{out}");
    assert_eq!(
        std::fs::read_to_string(bench.at("answers.jsonl")).expect("kept").lines().count(),
        1
    );
    // Labels of pages have no place for an answer about a pair.
    let first = truth.keys().next().expect("a page");
    std::fs::write(bench.at("some.jsonl"), format!("{}\n", json!({ "url": first, "label": "x" })))
        .expect("written");
    let output = bench.pagefold("eval", &["--labels", "some.jsonl", "--ask", "60"]);
    let err = failure(&output.stderr);
    assert_eq!(output.status.code(), Some(64), "{err}");
    assert!(err.contains("some.jsonl") && err.contains("or a new file"), "{err}");
}

/// The pairs that `eval --ask` asks about while `answers` are read, and its findings.
fn asked(bench: &Bench, answers: &str, more: &[&str]) -> (Vec<[String; 2]>, Value) {
    std::fs::write(bench.at("lines"), answers).expect("written");
    let arguments = [&["--labels", "answers.jsonl", "--json", "--ask", "9"], more].concat();
    let mut command = bench.other("eval", &arguments);
    let lines = std::fs::File::open(bench.at("lines")).expect("written");
    let output = command.stdin(lines).output().expect("started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let rows: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (findings, questions) = rows.split_last().expect("findings");
    let page = |row: &Value, side: &str| row[side].as_str().expect("a URL").to_owned();
    (questions.iter().map(|row| [page(row, "a"), page(row, "b")]).collect(), findings.clone())
}

/// An answer about two texts was taken for an answer about the texts that the pages had later. A
/// pair is asked again when a text changed, and the new answer may be the opposite.
#[test]
fn answers_are_about_texts() {
    let bench = bench("");
    bench.run_well(&[]);
    let (questions, findings) = asked(&bench, "y\ny\n", &[]);
    assert_eq!((questions.len(), findings["answers"].as_u64()), (2, Some(2)));
    assert_eq!(asked(&bench, "", &[]), (vec![], findings));
    let kept = std::fs::read_to_string(bench.at("answers.jsonl")).expect("kept");
    let changed = crawl().replace(&text(3, |at| at == 40), &text(3, |at| at == 50));
    assert!(changed != crawl());
    std::fs::write(bench.at("in.jsonl"), changed).expect("written");
    bench.run_well(&[]);
    // An answer of an earlier build names no contents, and holds for any texts.
    let of_any_texts = kept.lines().fold(String::new(), |mut rows, line| {
        let row: Value = serde_json::from_str(line).expect("JSON");
        let _ = writeln!(rows, "{}", json!({ "a": row["a"], "b": row["b"], "same": row["same"] }));
        rows
    });
    std::fs::write(bench.at("answers.jsonl"), of_any_texts).expect("written");
    assert_eq!(asked(&bench, "", &[]).0.len(), 0);
    let measured = |bench: &Bench| -> Value {
        let output = bench.pagefold("eval", &["--labels", "answers.jsonl", "--json"]);
        serde_json::from_slice::<Value>(&output.stdout).expect("JSON")["labels"]["unknown"].clone()
    };
    assert_eq!(measured(&bench)["outdated"], 0);
    std::fs::write(bench.at("answers.jsonl"), kept).expect("written");
    assert_eq!(measured(&bench)["outdated"], 1, "an answer about a text that is gone is no truth");
    let (questions, findings) = asked(&bench, "n\n", &[]);
    let pages: BTreeSet<&str> = questions.iter().flatten().map(String::as_str).collect();
    assert_eq!(pages, BTreeSet::from(["http://one.example/c1", "http://one.example/d1"]));
    assert_eq!(findings["answers"].as_u64(), Some(2));
    assert_eq!(asked(&bench, "", &[]), (vec![], findings));
    let output = bench.pagefold("eval", &["--labels", "answers.jsonl"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Pairs of texts that say too little were asked about and counted, though they fold with nothing.
#[test]
fn texts_that_say_too_little_are_not_asked_about() {
    let bench = bench("");
    bench.run_well(&[]);
    assert_eq!(asked(&bench, "q\n", &[]).0.len(), 1);
    let all_little = ["--set", "clusters.letters_min=100000"];
    bench.run_well(&all_little);
    let arguments = [&["--labels", "answers.jsonl", "--ask", "9"], all_little.as_slice()].concat();
    let output = bench.pagefold("eval", &arguments);
    assert_eq!(output.status.code(), Some(65), "{output:?}");
    assert!(failure(&output.stderr).contains("no decided pair to ask about"), "{output:?}");
}
