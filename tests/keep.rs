use crate::texts::text;
use crate::workbench::Bench;
use arrow_array::{ArrayRef, Float32Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// A bench whose job keeps pages by these keys of `[keep]`, and reads scores.
fn bench(keep: &str) -> Bench {
    let bench = Bench::new(
        Path::new("in"),
        &format!("[read.fields]\nscore = \"quality\"\n[keep]\n{keep}\n"),
    );
    std::fs::create_dir(bench.at("in")).expect("made");
    bench
}

/// The row of a page of one text, with more fields.
fn row(url: &str, more: &Value) -> String {
    let mut row = json!({ "url": url, "text": text(1, 0) });
    more.as_object().into_iter().flatten().for_each(|(name, value)| row[name] = value.clone());
    format!("{row}\n")
}

/// Runs an epoch from `source` over these pages of one text, each with the other fields of its row,
/// and returns the page that represents them.
fn epoch(bench: &Bench, number: usize, source: &str, pages: &[(&str, Value)]) -> String {
    let lines: String = pages.iter().map(|(url, more)| row(url, more)).collect();
    std::fs::write(bench.at(&format!("in/{number}.jsonl")), lines).expect("written");
    bench.run_well(&["--set", &format!("read.source={source:?}")]);
    let sound = bench.pagefold("verify", &["--deep"]);
    assert!(sound.status.success(), "{}", String::from_utf8_lossy(&sound.stdout));
    shown(bench)
}

fn shown(bench: &Bench) -> String {
    let clusters = bench.lines("clusters");
    assert_eq!(clusters.len(), 1, "{clusters:?}");
    clusters[0]["representative"].as_str().expect("a URL").to_owned()
}

/// Which step of the rule decided for the representative, and by what.
fn because(bench: &Bench) -> [String; 3] {
    let explained = bench.pagefold("explain", &[&shown(bench), "--json"]).stdout;
    let explained: Value = serde_json::from_slice(&explained).expect("JSON");
    ["by", "value", "other"]
        .map(|name| explained["kept"][name].as_str().expect("a word").to_owned())
}

/// Whether `query` says that a page with this row would represent the cluster.
fn would_represent(bench: &Bench, url: &str, more: &Value) -> bool {
    let answer = crate::ask::query(bench, &["--json"], &row(url, more)).stdout;
    let answer: Value = serde_json::from_slice(&answer).expect("JSON");
    assert_eq!(answer["verdict"], "identical");
    answer["because"].as_array().expect("a list").contains(&json!("represents"))
}

const A: &str = "https://a.example/1";
const B: &str = "https://b.example/page/2";
const C: &str = "https://www.c.example/another/page/3";

/// A new mirror with a shorter URL became the representative. By default the page that was known
/// first stays until it is gone, and does not replace the next one when it comes back.
#[test]
fn what_was_known_first_stays() {
    let bench = bench("");
    assert_eq!(epoch(&bench, 1, "crawl", &[(B, json!({})), (C, json!({}))]), B);
    assert_eq!(epoch(&bench, 2, "crawl", &[(A, json!({}))]), B);
    assert_eq!(because(&bench), ["shortest_url", "24 bytes", "36 bytes"]);
    assert_eq!(epoch(&bench, 3, "crawl", &[(B, json!({ "deleted": true }))]), C);
    assert_eq!(because(&bench), ["first_seen", "epoch 1", "epoch 2"]);
    assert_eq!(epoch(&bench, 4, "crawl", &[(B, json!({}))]), C);
    assert_eq!(
        epoch(&bench, 5, "crawl", &[(C, json!({ "deleted": true }))]),
        A,
        "known before B came back"
    );
}

/// The page with the highest score represents, and ceases to when its score falls, even if no text
/// changes. A score that is no number is noted and does not count; a page that is only seen keeps
/// its score.
#[test]
fn the_highest_score_represents() {
    let bench = bench("by = [\"score\"]");
    let [low, high, bad, none] = [json!(0.2), json!("0.75"), json!("very good"), Value::Null];
    let of = |score: &Value| json!({ "quality": score });
    assert_eq!(epoch(&bench, 1, "crawl", &[(A, of(&low)), (B, of(&high)), (C, of(&bad))]), B);
    assert_eq!(because(&bench), ["score", "0.75", "0.2"]);
    assert_eq!(bench.summary()["counters"]["noted.bad_score"], 1);
    assert_eq!(epoch(&bench, 2, "crawl", &[(B, of(&json!(-1e-1)))]), A);
    assert!(bench.summary()["counters"].get("noted.bad_score").is_none());
    assert_eq!(epoch(&bench, 3, "crawl", &[(A, of(&none)), (C, of(&json!(-1)))]), B);
    assert_eq!(because(&bench), ["score", "-0.1", "-1"]);
}

/// A score means the same in Parquet as in JSON lines, whatever the width of the column.
#[test]
fn scores_of_parquet() {
    let bench = bench("by = [\"score\"]");
    let texts = |of: [&str; 2]| Arc::new(StringArray::from(of.to_vec())) as ArrayRef;
    let same = text(1, 0);
    let batch = RecordBatch::try_from_iter([
        ("url", texts([A, B])),
        ("text", texts([&same, &same])),
        ("quality", Arc::new(Float32Array::from(vec![Some(0.3), None])) as ArrayRef),
    ])
    .expect("columns");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("in memory");
    writer.write(&batch).expect("in memory");
    std::fs::write(bench.at("in/0.parquet"), writer.into_inner().expect("in memory"))
        .expect("written");
    assert_eq!(epoch(&bench, 1, "crawl", &[(C, json!({ "quality": 0.300_001 }))]), C);
    assert_eq!(because(&bench), ["score", "0.300001", "0.3"]);
}

/// The source that saw a page last decides, in the order of the job; a page that another source
/// sees moves with it, though its text and its date stay.
#[test]
fn the_preferred_source_represents() {
    let bench = bench(
        "by = [\"sources\", \"first_seen\", \"shortest_url\"]\nsources = [\"curated\", \"crawl\"]",
    );
    let dated = || json!({ "date": "2024-05-01" });
    assert_eq!(epoch(&bench, 1, "other", &[(A, dated()), (B, dated())]), A);
    assert_eq!(epoch(&bench, 2, "curated", &[(C, dated())]), C);
    assert_eq!(
        because(&bench),
        ["sources", "curated, number 1 of the order", "other, not in the order"]
    );
    assert_eq!(epoch(&bench, 3, "crawl", &[(B, dated()), (C, dated())]), B, "known before C");
    assert_eq!(epoch(&bench, 4, "curated", &[(A, dated())]), A);
}

/// `*.example.org` prefers all hosts below, in exports and answers alike.
#[test]
fn hosts_below_a_domain() {
    let bench = bench("hosts = [\"*.c.example\", \"b.example\"]");
    assert_eq!(epoch(&bench, 1, "crawl", &[(A, json!({})), (B, json!({}))]), B);
    assert_eq!(because(&bench), ["hosts", "number 2 of the list", "not in the list"]);
    assert_eq!(epoch(&bench, 2, "crawl", &[(C, json!({}))]), C);
    assert_eq!(because(&bench), ["hosts", "number 1 of the list", "number 2 of the list"]);
}

/// With `incumbent` as the first criterion no new mirror replaces the representative, whatever its
/// rank; a page that was alone before its mirror came stays, too. When the incumbent is gone, the
/// next best page takes its place, and keeps it when the earlier one comes back.
#[test]
fn the_incumbent_stays() {
    let bench = bench("by = [\"incumbent\", \"shortest_url\"]");
    std::fs::write(bench.at("in/0.jsonl"), row(C, &json!({}))).expect("written");
    bench.run_well(&[]);
    assert_eq!(epoch(&bench, 1, "crawl", &[(B, json!({}))]), C, "it stood alone");
    assert_eq!(because(&bench), ["incumbent", "most of these pages", "fewer or none"]);
    assert_eq!(epoch(&bench, 2, "crawl", &[(A, json!({})), (C, json!({ "quality": 1 }))]), C);
    let explained = String::from_utf8(bench.pagefold("explain", &[A]).stdout).expect("UTF-8");
    let line = "it represented before: most of these pages, against fewer or none of this page";
    assert!(explained.contains(line), "{explained}");
    assert!(!would_represent(&bench, "https://d.example/", &json!({})));
    assert_eq!(epoch(&bench, 3, "crawl", &[(C, json!({ "deleted": true }))]), A);
    assert_eq!(because(&bench), ["shortest_url", "19 bytes", "24 bytes"]);
    assert_eq!(
        epoch(&bench, 4, "crawl", &[(A, json!({ "deleted": true })), (C, json!({}))]),
        B,
        "C is new now"
    );
    assert_eq!(epoch(&bench, 5, "crawl", &[(A, json!({}))]), B);
    // A rollback restores who represented.
    let output = bench.pagefold("rollback", &["3"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(shown(&bench), C);
    assert_eq!(epoch(&bench, 6, "crawl", &[(A, json!({ "quality": 2 }))]), C);
}

/// Criteria before `incumbent` may replace a representative, and criteria after it may not. When a
/// rule is changed to `incumbent`, the present representatives stay.
#[test]
fn only_equals_are_held() {
    let bench = bench("by = [\"score\", \"incumbent\", \"shortest_url\"]");
    assert_eq!(epoch(&bench, 1, "crawl", &[(B, json!({})), (C, json!({}))]), B);
    assert_eq!(because(&bench), ["shortest_url", "24 bytes", "36 bytes"], "nothing was before");
    assert_eq!(epoch(&bench, 2, "crawl", &[(A, json!({}))]), B);
    assert_eq!(epoch(&bench, 3, "crawl", &[(C, json!({ "quality": 1 }))]), C);
    assert_eq!(because(&bench), ["score", "1", "no score"]);
    assert!(!would_represent(&bench, A, &json!({ "quality": 1 })));
    assert!(would_represent(&bench, A, &json!({ "quality": 2 })));
    assert_eq!(epoch(&bench, 4, "crawl", &[(A, json!({ "quality": 1 }))]), C);
    let by = ["--set", "keep.by=[\"incumbent\", \"longest_text\", \"oldest\"]"];
    bench.run_well(&by);
    assert_eq!(shown(&bench), C);
    let sound = bench.pagefold("verify", &[&["--deep"], &by[..]].concat());
    assert!(sound.status.success(), "{}", String::from_utf8_lossy(&sound.stdout));
}

/// A page that got the text of another cluster took it over, because it brought along the pages of
/// the cluster that it had left. If its text joins both clusters, it still represents its own.
#[test]
fn a_page_leaves_its_pages_behind() {
    let rule = "by = [\"incumbent\", \"shortest_url\"]";
    let keep = format!("{rule}\n[confirm]\nfacts = \"off\"\n[clusters]\nradius = 0");
    let (d, e) = ("https://d.example/four", "https://e.example/another/5");
    let [ours, between, theirs] = [0, 3, 6].map(|edition| json!({ "text": text(7, edition) }));
    for (next, shown) in [(theirs.clone(), vec![B, d]), (between, vec![A])] {
        let bench = bench(&keep);
        let lines = [A, C, d].map(|url| row(url, &ours)).concat();
        let others = [B, e].map(|url| row(url, &theirs)).concat();
        std::fs::write(bench.at("in/0.jsonl"), lines + &others).expect("written");
        bench.run_well(&[]);
        assert!(next != theirs || !would_represent(&bench, A, &next));
        std::fs::write(bench.at("in/1.jsonl"), row(A, &next)).expect("written");
        bench.run_well(&[]);
        let clusters = bench.lines("clusters");
        let mut found: Vec<&str> =
            clusters.iter().filter_map(|row| row["representative"].as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, shown);
    }
}

/// Of several incumbents that meet, the one that represented most pages stays, so that the fewest
/// redirects change; of equals the rest of the rule names one.
#[test]
fn the_larger_cluster_keeps_its_page() {
    let bench = bench("by = [\"incumbent\", \"shortest_url\"]");
    let other = || json!({ "text": text(2, 0) });
    let lines = [row(B, &json!({})), row(C, &json!({})), row(A, &other())].concat();
    std::fs::write(bench.at("in/0.jsonl"), lines).expect("written");
    bench.run_well(&[]);
    assert_eq!(epoch(&bench, 1, "crawl", &[(A, json!({}))]), B, "A stood alone, B represented two");
    assert_eq!(because(&bench), ["incumbent", "most of these pages", "fewer or none"]);
    let apart = [row(A, &other()), row(B, &json!({ "deleted": true }))].concat();
    std::fs::write(bench.at("in/2.jsonl"), apart).expect("written");
    bench.run_well(&[]);
    assert_eq!(epoch(&bench, 3, "crawl", &[(A, json!({}))]), A, "both stood alone");
}
