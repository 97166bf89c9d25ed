use crate::labelled::Labelled;
use crate::perturb;
use crate::templates;
use crate::workbench::Bench;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

const SEED: u64 = 7;
/// Pages of a template.
const PAGES: usize = 6;

/// The texts of every fourth article of the sample, as its first site has them.
fn texts() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/news.jsonl.gz");
    let mut lines = String::new();
    GzDecoder::new(std::fs::File::open(path).expect("there"))
        .read_to_string(&mut lines)
        .expect("UTF-8");
    let rows = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let first = rows.filter(|row| row["site"] == "one.example").step_by(4);
    first.map(|row| row["text"].as_str().expect("text").to_owned()).collect()
}

fn pairs(texts: &[String]) -> Labelled {
    let mut pairs = Labelled::default();
    pairs.perturb(None, texts, SEED);
    pairs.templates(PAGES, SEED);
    pairs
}

fn write(bench: &Bench, name: &str, rows: &[Value]) {
    let lines: String = rows.iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(bench.at(name), lines).expect("written");
}

fn eval(bench: &Bench, arguments: &[&str]) -> String {
    let output = bench.pagefold("eval", &[&["--labels", "labels.jsonl"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Anyone can make the table of perturbations and templates on texts of their own: the generator's
/// documents are folded, and `eval` says for each kind of pair what the exported pairs and members
/// say.
#[test]
fn table_of_perturbations() {
    let texts = texts();
    assert!(texts.len() > 8);
    let pairs = pairs(&texts);
    assert_eq!(pairs.documents, self::pairs(&texts).documents, "the same seed, other pages");
    let bench = Bench::new(Path::new("in.jsonl"), "");
    write(&bench, "in.jsonl", &pairs.documents);
    write(&bench, "labels.jsonl", &pairs.labels);
    bench.run_well(&[]);
    let report: Value = serde_json::from_str(&eval(&bench, &["--json"])).expect("JSON");
    let kinds = report["kinds"].as_array().expect("kinds");
    let names: Vec<&str> = kinds.iter().map(|of| of["kind"].as_str().expect("a name")).collect();
    let perturbations = perturb::ALL.iter().map(|perturbation| perturbation.name.to_owned());
    let controls = templates::ALL.iter().map(|template| format!("template: {}", template.name));
    assert!(perturbations.chain(controls).eq(names.iter().copied()), "{names:?}");

    let members: BTreeMap<String, Value> = bench
        .lines("members")
        .into_iter()
        .map(|row| (row["url"].as_str().expect("a URL").to_owned(), row))
        .collect();
    let accepted: BTreeSet<[String; 2]> = bench
        .lines("pairs")
        .iter()
        .filter(|pair| pair["accepted"] == true)
        .map(|pair| ["a", "b"].map(|side| pair[side].as_str().expect("a content").to_owned()))
        .collect();
    for of in kinds {
        let (mut same, mut differ, mut joined, mut clusters) = (0, 0, [0; 2], [0; 2]);
        for row in pairs.labels.iter().filter(|row| row["kind"] == of["kind"]) {
            let [a, b] = ["a", "b"].map(|side| &members[row[side].as_str().expect("a URL")]);
            let [x, y] = [a, b].map(|page| page["content"].as_str().expect("a content").to_owned());
            let is_joined =
                x == y || accepted.contains(&[x.clone(), y.clone()]) || accepted.contains(&[y, x]);
            let is_same = row["same"] == true;
            *if is_same { &mut same } else { &mut differ } += 1;
            joined[usize::from(is_same)] += u64::from(is_joined);
            clusters[usize::from(is_same)] += u64::from(a["cluster"] == b["cluster"]);
        }
        let measure = |[wrong, right]: [u64; 2]| [same, wrong + right, right].map(Value::from);
        let found = |level: &str| ["same", "joined", "right"].map(|key| of[level][key].clone());
        assert_eq!([found("pair"), found("cluster")], [measure(joined), measure(clusters)], "{of}");
        assert_eq!(of["differ"], differ, "{of}");
        let wrong: u64 =
            of["wrong"].as_object().expect("rules").values().filter_map(Value::as_u64).sum();
        assert_eq!(wrong, same - joined[1] + joined[0], "{of}");
        // Differences that are never a fact: all pairs of these kinds are joined.
        let kind = of["kind"].as_str().expect("a name");
        if ["counter differs", "clock differs", "full width", "punctuation in ASCII"]
            .contains(&kind)
        {
            assert_eq!(joined[1], same, "{of}");
        }
        if kind.starts_with("template: ") {
            assert!(20 * joined[0] <= differ, "{of}");
        }
    }
    let table = eval(&bench, &[]);
    assert!(table.contains("clock differs ") && table.contains("what differs "), "{table}");
}

/// Each verdict is counted with what refused it or what it forgave, and whether the labels agree.
#[test]
fn differences_are_counted() {
    let meeting = |number: &str, place: &str, reads: u32| {
        format!(
            "第{number}次会议昨天在{place}闭幕，会议表决通过了有关法律，并听取了有关工作报告。会后举行了新闻发布会，\
             有关负责人回答了大家关心的问题。 阅读 {reads}"
        )
    };
    let texts = [
        meeting("三", "北京", 12),
        meeting("三", "北京", 907),
        meeting("五", "北京", 12),
        meeting("三", "上海", 12),
    ];
    let bench = Bench::new(Path::new("in.jsonl"), "");
    let url = |n: usize| format!("http://site{n}.example/{n}");
    let pages: Vec<Value> =
        texts.iter().enumerate().map(|(n, text)| json!({ "url": url(n), "text": text })).collect();
    write(&bench, "in.jsonl", &pages);
    let judged = |a: usize, b: usize, same: bool| json!({ "a": url(a), "b": url(b), "same": same });
    // A person may take another place for a slip.
    write(&bench, "labels.jsonl", &[judged(0, 1, true), judged(0, 2, false), judged(0, 3, true)]);
    bench.run_well(&[]);
    let report: Value = serde_json::from_str(&eval(&bench, &["--json"])).expect("JSON");
    let row = |difference: &str, accepted: bool, right: u64| {
        json!({
            "difference": difference, "accepted": accepted, "text_pairs": 1, "page_pairs": 1, "right": right,
        })
    };
    let rows = [row("ordinal", false, 1), row("name", false, 0), row("counter", true, 1)];
    assert_eq!(
        report["differences"],
        json!({ "text_pairs": 3, "read": 3, "not_aligned": 0, "rows": rows })
    );
}
