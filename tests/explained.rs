use crate::texts::text;
use crate::workbench::{Bench, demo_inputs};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// What `explain` says, for people to read beside this test.
const RECORDED: &str = "tests/data/explained.txt";

/// Appends what `explain` says of one page or two.
fn explain(out: &mut String, bench: &Bench, title: &str, urls: &[&str]) {
    let output = bench.pagefold("explain", urls);
    assert!(output.status.success(), "{title}: {}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    writeln!(out, "## {title}\n\n$ pagefold explain job.toml {}\n{said}", urls.join(" "))
        .expect("a string");
}

fn field<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap_or_default()
}

/// One pair of the demo for each rule that decided one, then pairs that no rule decided, then
/// pages.
fn of_the_demo(out: &mut String) {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&["--now", "1700000000"]);
    let (pairs, members) = (bench.lines("pairs"), bench.lines("members"));
    let mut by_rule: BTreeMap<(bool, &str), &Value> = BTreeMap::new();
    let is_accepted = |pair: &Value| pair["accepted"] == true;
    pairs.iter().for_each(|pair| {
        _ = by_rule.entry((!is_accepted(pair), field(pair, "reason"))).or_insert(pair)
    });
    assert!(by_rule.len() >= 6, "{:?}", by_rule.keys());
    for ((is_refused, rule), pair) in by_rule {
        let title = format!("{} by {rule}", if is_refused { "refused" } else { "accepted" });
        explain(out, &bench, &title, &[field(pair, "a_url"), field(pair, "b_url")]);
    }
    let near: BTreeSet<[&str; 2]> = pairs
        .iter()
        .filter(|pair| is_accepted(pair))
        .flat_map(|pair| {
            [[field(pair, "a"), field(pair, "b")], [field(pair, "b"), field(pair, "a")]]
        })
        .collect();
    let mut clusters: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
    members.iter().for_each(|page| clusters.entry(field(page, "cluster")).or_default().push(page));
    let find = |title: &str, is_it: &dyn Fn(&Value, &Value) -> bool| {
        let two = clusters
            .values()
            .flat_map(|pages| pages.iter().flat_map(move |a| pages.iter().map(move |b| (*a, *b))));
        let found = two.into_iter().find(|(a, b)| is_it(a, b));
        let (a, b) = found.unwrap_or_else(|| panic!("the demo has no pair: {title}"));
        [a, b].map(|page| field(page, "url").to_owned())
    };
    let [a, b] = find("identical", &|a, b| {
        field(a, "url") < field(b, "url") && a["content"] == b["content"]
    });
    explain(out, &bench, "identical texts", &[&a, &b]);
    let [a, b] = find("chained", &|a, b| {
        a["content"] != b["content"] && !near.contains(&[field(a, "content"), field(b, "content")])
    });
    explain(out, &bench, "joined by others", &[&a, &b]);
    let two_hosts = ["https://mirror.example/t/1956", "https://tw.example/story/3278"];
    explain(out, &bench, "nothing in common", &two_hosts);
    let little = field(&bench.summary()["little"]["largest"][0], "url").to_owned();
    let of_little = members
        .iter()
        .filter(|page| page["content"] == bench.summary()["little"]["largest"][0]["content"]);
    let pages: Vec<&str> = of_little.map(|page| field(page, "url")).collect();
    explain(out, &bench, "identical texts that say too little", &pages[..2]);
    explain(out, &bench, "a text that says too little", &[&little]);
    explain(out, &bench, "a page that represents its cluster", &[two_hosts[0]]);
    let folded =
        members.iter().find(|page| page["is_representative"] == false).expect("a folded page");
    explain(out, &bench, "a page that folds", &[field(folded, "url")]);
}

/// A removed page whose text lives on, one whose text is gone, and another spelling of a URL.
fn of_pages_that_are_gone(out: &mut String) {
    let bench = Bench::new(Path::new("in"), "");
    let base =
        "the harvest was good this year and the barns of the whole valley are full of corn and hay";
    let rows = [
        ("https://a.example/x", base.to_owned()),
        ("http://b.example/x", base.to_owned()),
        ("http://a.example/longer", base.replace("whole ", "")),
        (
            "http://c.example/other",
            "nobody in the harbour had seen such a ship since the lighthouse was built".into(),
        ),
    ];
    deliver(&bench, "1.jsonl", &rows.map(|(url, text)| json!({ "url": url, "text": text })));
    bench.run_well(&["--now", "1700000000"]);
    explain(out, &bench, "the other spelling of a URL", &["http://a.example/x/"]);
    let gone = ["https://a.example/x", "http://c.example/other"];
    deliver(&bench, "2.jsonl", &gone.map(|url| json!({ "url": url, "deleted": true })));
    bench.run_well(&["--now", "1700086400"]);
    explain(out, &bench, "a removed page whose text lives on", &[gone[0]]);
    explain(out, &bench, "a removed page whose text is gone", &[gone[1]]);
}

/// Five texts of which each is near the next, in one cluster, then with a radius.
fn of_a_chain(out: &mut String) {
    let url = |n: u64| format!("http://h{n}.example/{n}");
    let rows = [0, 3, 6, 9, 12].map(|n| json!({ "url": url(n), "text": text(7, n) }));
    for (title, radius) in [("a chain of five", 0), ("a chain of five that the radius cuts", 1)] {
        let bench = Bench::new(
            Path::new("in"),
            &format!("[confirm]\nfacts = \"off\"\n[clusters]\nradius = {radius}\n"),
        );
        deliver(&bench, "1.jsonl", &rows);
        bench.run_well(&["--now", "1700000000"]);
        explain(out, &bench, title, &[&url(0), &url(12)]);
    }
}

/// Two texts so long that another number in them refuses nothing.
fn of_long_texts(out: &mut String) {
    let bench = Bench::new(Path::new("in"), "");
    let url = |day: u32| format!("http://d{day}.example/");
    let body: String = (0..1000).map(|n| format!("word{n} ")).collect();
    let rows =
        [5, 9].map(|day| json!({ "url": url(day), "text": format!("{body} on {day} march") }));
    deliver(&bench, "1.jsonl", &rows);
    bench.run_well(&["--now", "1700000000"]);
    explain(out, &bench, "long texts with another number", &[&url(5), &url(9)]);
}

fn deliver(bench: &Bench, name: &str, rows: &[Value]) {
    std::fs::create_dir_all(bench.at("in")).expect("made");
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(bench.at("in").join(name), lines).expect("written");
}

/// What `explain` says of every kind of pair and page is as recorded, so that a change of it is
/// read by a person. `PAGEFOLD_RECORD=1` records it anew.
#[test]
fn transcripts() {
    let mut out = String::new();
    of_the_demo(&mut out);
    of_pages_that_are_gone(&mut out);
    of_a_chain(&mut out);
    of_long_texts(&mut out);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORDED);
    if std::env::var_os("PAGEFOLD_RECORD").is_some() {
        return std::fs::write(path, out).expect("written");
    }
    let recorded = std::fs::read_to_string(path).expect(RECORDED);
    let differs =
        recorded.lines().zip(out.lines()).enumerate().find(|(_, (before, now))| before != now);
    assert!(
        recorded == out,
        "{RECORDED} has {} lines, now there are {}; the first that differs: {differs:#?}\n\
         PAGEFOLD_RECORD=1 records them anew",
        recorded.lines().count(),
        out.lines().count()
    );
}
