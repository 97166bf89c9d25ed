use crate::workbench::{Bench, demo_inputs};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Word `n` of a language of letters alone: texts without numbers are never decided by numbers.
fn word(n: usize) -> String {
    let letter = |n: usize| char::from(b'a' + (n % 26) as u8);
    [n, n / 26, n / 7 + 3, n / 3 + 11].map(letter).iter().collect()
}

/// A text of 80 words of its own, except those numbered `changed`.
fn text(article: usize, changed: impl Fn(usize) -> bool) -> String {
    let number = |at: usize| if changed(at) { 5000 + 97 * article + at } else { 80 * article + at };
    (0..80).map(|at| word(number(at) * 31)).collect::<Vec<_>>().join(" ")
}

/// Pages whose truth is known: `a` three times, two of them identical; `b` twice, half of it
/// changed; `c` and `d`, which are nearly the same text and labelled as different; `e` alone. `f`
/// has no text.
fn crawl() -> String {
    let one = |at: usize| at == 40;
    let none = |_: usize| false;
    let pages = [
        ("http://one.example/a1", text(1, none)),
        ("http://one.example/a2", text(1, none)),
        ("http://two.example/a3", text(1, one)),
        ("http://one.example/b1", text(2, none)),
        ("http://two.example/b2", text(2, |at| at % 2 == 0)),
        ("http://one.example/c1", text(3, none)),
        ("http://one.example/d1", text(3, one)),
        ("http://one.example/e1", text(4, none)),
        ("http://one.example/f1", String::new()),
    ];
    pages.iter().fold(String::new(), |mut lines, (url, text)| {
        let _ = writeln!(lines, "{}", json!({ "url": url, "text": text }));
        lines
    })
}

fn bench(more: &str) -> Bench {
    let bench = Bench::new(Path::new("in.jsonl"), more);
    std::fs::write(bench.at("in.jsonl"), crawl()).expect("written");
    bench
}

/// Runs `pagefold eval` over `labels` with more arguments, and returns its JSON.
fn report(bench: &Bench, labels: &[Value], arguments: &[&str]) -> Value {
    let lines: String = labels.iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(bench.at("labels.jsonl"), lines).expect("written");
    let arguments = [&["--labels", "labels.jsonl", "--json"], arguments].concat();
    let output = bench.pagefold("eval", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let again = bench.pagefold("eval", &arguments);
    assert_eq!(output.stdout, again.stdout, "the same numbers in the same order");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// `same`, `joined` and `right` of a measure.
fn counts(measure: &Value) -> [u64; 3] {
    ["same", "joined", "right"].map(|key| measure[key].as_u64().expect("a count"))
}

fn url(page: &str) -> String {
    let host = if ["a3", "b2"].contains(&page) { "two" } else { "one" };
    format!("HTTP://{host}.example:80/{page}#top")
}

fn labels() -> Vec<Value> {
    let pages = ["a1", "a2", "a3", "b1", "b2", "c1", "d1", "f1"];
    let mut rows: Vec<Value> = pages.iter().map(|page| json!({ "url": url(page), "label": &page[..1] })).collect();
    rows.push(json!({ "url": "http://one.example/gone", "label": "a" }));
    rows
}

/// The numbers over a crawl of known truth are those counted by hand, for every form of labels;
/// errors are listed with their rule, and unknown pages are named.
#[test]
fn counted_by_hand() {
    let bench = bench("");
    bench.run_well(&[]);
    let of = report(&bench, &labels(), &["--list", "9"]);
    // Same: three of a, one of b. Joined: three of a, and c1 with d1.
    assert_eq!([counts(&of["all"]["pair"]), counts(&of["all"]["cluster"])], [[4, 4, 3]; 2]);
    assert_eq!(of["all"]["pair"]["precision"], 0.75);
    assert_eq!(counts(&of["distinct"]["pair"]), [3, 3, 2]);
    assert_eq!([counts(&of["same_host"]["pair"]), counts(&of["other_host"]["pair"])], [[1, 2, 1], [3, 2, 2]]);
    let by_length: Vec<[u64; 3]> =
        of["by_length"].as_array().expect("classes").iter().map(|class| counts(&class["pair"])).collect();
    assert_eq!(by_length, [[0, 0, 0], [0, 0, 0], [4, 4, 3], [0, 0, 0], [0, 0, 0], [0, 0, 0]]);
    assert_eq!(
        (of["pages"].as_u64(), of["texts"].as_u64(), of["true_text_pairs"].as_u64()),
        (Some(8), Some(7), Some(2))
    );
    assert_eq!(of["labels"]["unknown"], json!({ "urls": 1, "pairs": 0, "first": ["http://one.example/gone"] }));
    let wrong = |list: &str| -> Vec<[String; 3]> {
        let list = of[list].as_array().expect("a list").iter();
        list.map(|row| ["a", "b", "reason"].map(|key| row[key].as_str().expect("text").to_owned())).collect()
    };
    let row = |a: &str, b: &str, reason: &str| [a, b, reason].map(str::to_owned);
    assert_eq!(wrong("false_accepts"), [row("http://one.example/c1", "http://one.example/d1", "coverage")]);
    assert_eq!(wrong("misses"), [row("http://one.example/b1", "http://two.example/b2", "not_proposed")]);
    let reasons: u64 = of["reasons"].as_array().expect("rules").iter().filter_map(|of| of["text_pairs"].as_u64()).sum();
    let all = of["signatures"].as_array().and_then(|all| all.last()).expect("all");
    assert_eq!((all["signature"].as_str(), all["verified"].as_u64()), (Some("all"), Some(reasons)));
    assert_eq!(all["confirmed"], of["all"]["pair"]);

    let pair = |a: &str, b: &str| json!({ "a": url(a), "b": url(b) });
    let judged = |a: &str, b: &str, same: bool| json!({ "a": url(a), "b": url(b), "same": same });
    let rows =
        [judged("a3", "a1", true), judged("b1", "b2", true), judged("c1", "d1", false), judged("a1", "a2", true)];
    let of = report(&bench, &rows, &[]);
    assert_eq!([counts(&of["all"]["pair"]), counts(&of["all"]["cluster"])], [[3, 3, 2]; 2]);
    let listed = [pair("a1", "a2"), pair("a3", "a1"), pair("a2", "a3"), pair("b1", "b2"), pair("a1", "gone")];
    let of = report(&bench, &listed, &[]);
    assert_eq!([counts(&of["all"]["pair"]), counts(&of["all"]["cluster"])], [[4, 4, 3]; 2]);
    assert_eq!((of["pages"].as_u64(), of["labels"]["unknown"]["pairs"].as_u64()), (Some(9), Some(1)));
}

/// Over the demo, the numbers at both levels are those of its exported tables, pair by pair.
#[test]
fn equals_the_exports() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    let truth = std::fs::read_to_string(demo_inputs().with_file_name("demo_truth.jsonl")).expect("there");
    let rows: Vec<Value> = truth.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of = report(&bench, &rows, &[]);
    let label = |row: &Value| {
        let url = workers::document::canonical_url(row["url"].as_str().expect("a URL")).canonical;
        (url, row["label"].to_string())
    };
    let labels: BTreeMap<String, String> = rows.iter().map(label).collect();
    let mut members = bench.lines("members");
    members.retain(|member| labels.contains_key(member["url"].as_str().expect("a URL")));
    let accepted: Vec<(Value, Value)> = bench
        .lines("pairs")
        .iter()
        .filter(|pair| pair["accepted"] == true)
        .map(|pair| (pair["a"].clone(), pair["b"].clone()))
        .collect();
    // The pages of a text that says too little stay apart.
    let little = bench.summary()["little"]["largest"].as_array().expect("a list").clone();
    let apart = |content: &Value| little.iter().any(|text| text["content"] == *content);
    let (mut pair, mut cluster) = ([0; 3], [0; 3]);
    for (at, x) in members.iter().enumerate() {
        for y in &members[..at] {
            let of = |page: &Value| labels[page["url"].as_str().expect("a URL")].clone();
            let (same, text) = (of(x) == of(y), [&x["content"], &y["content"]]);
            let near = accepted.iter().any(|(a, b)| text == [a, b] || text == [b, a]);
            let joined = near || text[0] == text[1] && !text[0].is_null() && !apart(text[0]);
            for (counts, joined) in [(&mut pair, joined), (&mut cluster, x["cluster"] == y["cluster"])] {
                counts[0] += u64::from(same);
                counts[1] += u64::from(joined);
                counts[2] += u64::from(same && joined);
            }
        }
    }
    assert!(pair[2] > 100, "{pair:?}");
    assert_eq!([counts(&of["all"]["pair"]), counts(&of["all"]["cluster"])], [pair, cluster]);
}

/// The sweep tries other settings from the store alone: the job's own give the stored answers
/// again, a stricter threshold joins no more, and a plot is drawn. Where texts are not kept,
/// MinHash is left out with a note.
#[test]
fn settings_are_tried() {
    let kept = Bench::new(&demo_inputs(), "");
    let bare = bench("[contents]\ntext = \"none\"\n");
    for (bench, minhash) in [(&kept, true), (&bare, false)] {
        bench.run_well(&[]);
        let members = bench.lines("members");
        let rows: Vec<Value> =
            members.iter().map(|page| json!({ "url": page["url"], "label": page["cluster"] })).collect();
        let before = bench.multisets();
        let of = report(bench, &rows, &["--sweep", "--plot", "plot.svg"]);
        assert_eq!(bench.multisets(), before);
        let sweep = &of["sweep"];
        assert_eq!(sweep["stored"]["confirmed"], of["all"]["pair"]);
        let knobs: BTreeMap<&str, &Vec<Value>> = sweep["knobs"]
            .as_array()
            .expect("knobs")
            .iter()
            .map(|knob| (knob["key"].as_str().expect("a key"), knob["rows"].as_array().expect("rows")))
            .collect();
        assert_eq!(knobs.contains_key("minhash.bins x bins_per_key"), minhash);
        assert_eq!(sweep["notes"].as_array().expect("notes").is_empty(), minhash, "{}", sweep["notes"]);
        for (key, rows) in &knobs {
            let own: Vec<&Value> = rows.iter().filter(|row| row["is_job"] == true).collect();
            assert_eq!(own.len(), 1, "{key}");
            let signature = match *key {
                "simhash.k" => &of["signatures"][0],
                "minhash.bins x bins_per_key" => &of["signatures"][1],
                _ => &sweep["stored"],
            };
            // All pages are labelled, so the pivot rule chooses as the epoch did.
            for column in ["verified", "proposed", "confirmed"] {
                assert_eq!(own[0][column], signature[column], "{key} {column}");
            }
        }
        let joined: Vec<u64> = knobs["confirm.similarity_min"].iter().map(|row| counts(&row["confirmed"])[1]).collect();
        assert!(joined.is_sorted_by(|lax, strict| lax >= strict), "{joined:?}");
        let verified: Vec<u64> = knobs["simhash.k"].iter().filter_map(|row| row["verified"].as_u64()).collect();
        assert!(verified.len() == 9 && verified.is_sorted(), "{verified:?}");
        let svg = std::fs::read_to_string(bench.at("plot.svg")).expect("drawn");
        assert!(svg.starts_with("<svg") && svg.contains("as stored") && svg.contains("simhash.k"));
        let table = bench.pagefold("eval", &["--labels", "labels.jsonl", "--sweep", "--list", "3"]).stdout;
        let table = String::from_utf8(table).expect("UTF-8");
        assert!(table.contains("confirm.leading_tokens_max") && table.contains("precision"), "{table}");
    }
}

/// Every mistake gives one line that names it and the right exit code; a plot that cannot be
/// written is an output error.
#[test]
fn mistakes_are_named() {
    let bench = bench("");
    let fails = |arguments: &[&str], code: i32, expected: &str| {
        let output = bench.pagefold("eval", arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected) && (code == 64 || stderr.lines().count() == 1), "{stderr}");
    };
    let write = |name: &str, text: &str| std::fs::write(bench.at(name), text).expect("written");
    write("good.jsonl", "{\"url\":\"http://one.example/a1\",\"label\":\"a\"}\n");
    fails(&["--labels", "good.jsonl"], 66, "store");
    // An epoch that found no page.
    std::fs::write(bench.at("in.jsonl"), "{\"url\":\"http://one.example/x\",\"deleted\":true}\n").expect("written");
    bench.run_well(&[]);
    fails(&["--labels", "good.jsonl"], 66, "no page");
    std::fs::write(bench.at("in.jsonl"), crawl()).expect("written");
    bench.run_well(&[]);
    fails(&["--labels", "gone.jsonl"], 66, "gone.jsonl");
    write("bad.jsonl", "{\"url\":\"http://one.example/a1\",\"label\":\"a\"}\n{\"url\":\n");
    fails(&["--labels", "bad.jsonl"], 65, "bad.jsonl: line 2: ");
    write("mixed.jsonl", "{\"a\":\"p\",\"b\":\"q\"}\n{\"a\":\"p\",\"b\":\"r\",\"same\":true}\n");
    fails(&["--labels", "mixed.jsonl"], 65, "mixed.jsonl: line 2: ");
    write("none.jsonl", "\n");
    fails(&["--labels", "none.jsonl"], 65, "none.jsonl: ");
    write("other.jsonl", "{\"url\":\"http://else.example/\",\"label\":\"a\"}\n");
    fails(&["--labels", "other.jsonl"], 65, "http://else.example/");
    fails(
        &["--labels", "good.jsonl", "--set", "confirm.similarity_min=9000"],
        78,
        "confirm.similarity_min = 0.8, the job says 0.9",
    );
    fails(&["--labels", "good.jsonl", "--set", "simhash.k=2"], 78, "simhash.k = 3, the job says 2");
    fails(&["--labels", "good.jsonl", "--plot", "plot.svg"], 64, "--sweep");
    fails(&[], 64, "--labels");
    fails(&["--labels", "good.jsonl", "--sweep", "--plot", "no/folder/plot.svg"], 73, "plot");
}
