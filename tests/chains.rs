use crate::texts;
use crate::workbench::{Bench, demo_inputs};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn page(number: u64, text: &str) -> String {
    format!("{{\"url\":\"http://a.example/{number}\",\"text\":\"{text}\"}}\n")
}

/// A bench of 40 pages of 30 editions; those of more than 20 pages are large clusters.
fn chain() -> Bench {
    let bench = Bench::new(
        Path::new("in"),
        "[confirm]\nfacts = \"off\"\n[clusters]\nradius = 0\npages_warn = 20\n",
    );
    std::fs::create_dir(bench.at("in")).expect("made");
    let lines: String = (0..40).map(|n| page(n, &texts::text(0, n % 30))).collect();
    std::fs::write(bench.at("in/1.jsonl"), lines).expect("written");
    bench
}

fn text(row: &Value, name: &str) -> String {
    row[name].as_str().expect("text").to_owned()
}

/// The pages that fold into a page whose text they neither share nor have an accepted pair with.
pub fn strangers(bench: &Bench) -> usize {
    let pairs: BTreeSet<(String, String)> = bench
        .lines("pairs")
        .iter()
        .filter(|pair| pair["accepted"] == true)
        .flat_map(|pair| [(text(pair, "a"), text(pair, "b")), (text(pair, "b"), text(pair, "a"))])
        .collect();
    let members = bench.lines("members");
    let of = |row: &Value| row["content"].as_str().unwrap_or_default().to_owned();
    let contents: BTreeMap<String, String> =
        members.iter().map(|row| (text(row, "url"), of(row))).collect();
    let folded =
        members.iter().map(|row| (of(row), contents[&text(row, "representative")].clone()));
    folded
        .filter(|(content, shown)| {
            content != shown && !pairs.contains(&(content.clone(), shown.clone()))
        })
        .count()
}

/// A run warns of a large cluster, a quiet one too; its summary agrees with the exported tables,
/// and the warning says what would split it.
#[test]
fn a_large_cluster_is_reported() {
    let bench = chain();
    let output = bench.run(&["--threads", "2"]);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("a cluster of 40 pages, 30 texts, all of a.example"), "{stderr}");
    assert!(stderr.contains("[clusters] radius = 1 would part it"), "{stderr}");

    let large = &bench.summary()["large"];
    assert_eq!((&large["pages_warn"], &large["found"]), (&20.into(), &1.into()));
    let cluster = &large["clusters"][0];
    let clusters = bench.lines("clusters");
    for name in ["cluster", "pages", "contents", "hosts", "diameter", "representative"] {
        assert_eq!(cluster[name], clusters[0][name], "{name}");
    }
    assert_eq!(cluster["host"], "a.example");
    let members = bench.lines("members");
    let chars: BTreeMap<String, u64> = members
        .iter()
        .map(|row| (text(row, "content"), row["chars"].as_u64().expect("a number")))
        .collect();
    let spread = |mut numbers: Vec<u64>| {
        numbers.sort_unstable();
        serde_json::json!({
            "least": numbers[0], "median": numbers[(numbers.len() - 1) / 2], "greatest": numbers[numbers.len() - 1],
        })
    };
    assert_eq!(cluster["chars"], spread(chars.into_values().collect()));
    let pairs: Vec<Value> =
        bench.lines("pairs").into_iter().filter(|pair| pair["accepted"] == true).collect();
    assert_eq!(cluster["pairs"], pairs.len());
    let similarity =
        |pair: &Value| (pair["similarity"].as_f64().expect("a number") * 10_000.0).round() as u64;
    assert_eq!(cluster["similarity"], spread(pairs.iter().map(similarity).collect()));
    let shares = |name: &str| -> BTreeMap<String, u64> {
        let list = cluster[name].as_array().expect("a list");
        list.iter()
            .map(|share| (text(share, "name"), share["pairs"].as_u64().expect("a number")))
            .collect()
    };
    let mut counted: [BTreeMap<String, u64>; 2] = Default::default();
    for pair in &pairs {
        *counted[0].entry(text(pair, "reason")).or_default() += 1;
        text(pair, "signature")
            .split('+')
            .for_each(|name| *counted[1].entry(name.to_owned()).or_default() += 1);
    }
    assert_eq!([shares("reasons"), shares("signatures")], counted);

    // Jobs of a crontab are quiet: nobody would hear of it.
    let quiet = chain().run(&["--quiet"]);
    assert!(quiet.status.success() && quiet.stdout.is_empty(), "{quiet:?}");
    let stderr = String::from_utf8_lossy(&quiet.stderr);
    assert!(stderr.lines().count() == 1 && stderr.contains("a cluster of 40 pages"), "{stderr}");
}

/// With a radius of 1, the default, every folded text has an accepted pair with its representative,
/// which is not so without a radius. Setting it and removing it decides no pair again, and gives
/// what a run from scratch gives.
#[test]
fn a_radius_parts_a_chain() {
    let bench = chain();
    bench.run_well(&[]);
    let (whole, rows) = (bench.tables(), bench.multisets());
    assert!(strangers(&bench) > 0);

    let one = ["--set", "clusters.radius=1"];
    bench.run_well(&one);
    assert_eq!(strangers(&bench), 0);
    assert!(bench.lines("clusters").len() > 1);
    let is_near = |row: &Value| row["diameter"].as_u64().is_some_and(|most| most <= 2);
    assert!(bench.lines("clusters").iter().all(is_near));
    assert_eq!(bench.summary()["large"]["found"], 0);
    let counters = bench.summary()["counters"].clone();
    assert!(
        counters.get("pairs_redecided").is_none() && counters.get("pairs_new").is_none(),
        "{counters}"
    );
    let changes: BTreeSet<String> =
        bench.lines("changes").iter().map(|row| text(row, "change")).collect();
    assert!(changes.contains("split") && changes.contains("moved"), "{changes:?}");
    let output = bench.pagefold("verify", &[&["--deep"], &one[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let scratch = chain();
    scratch.run_well(&one);
    bench.assert_same_tables(&scratch, "a radius set later");
    assert_eq!(bench.multisets(), scratch.multisets());

    bench.run_well(&[]);
    assert!(bench.tables() == whole);
    assert_eq!(bench.multisets(), rows);
}

/// By default whatever folds in the demo has an accepted pair with the page that it folds into, or
/// its text. A radius of 0 decides no pair otherwise and folds no
/// fewer pages.
#[test]
fn whatever_folds_in_the_demo_is_near_what_it_folds_into() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    assert_eq!(strangers(&bench), 0);
    let (folded, pairs) = (bench.lines("redirects").len(), bench.lines("pairs"));
    bench.run_well(&["--set", "clusters.radius=0"]);
    assert!(bench.lines("pairs") == pairs && bench.lines("redirects").len() >= folded);
}

/// Of pairs of pages that are not in `pairs`, how many `explain` calls left out by the pivot rule.
/// None may be called lost.
fn left_out_by_the_rule(bench: &Bench) -> usize {
    let key = |a: String, b: String| if a < b { [a, b] } else { [b, a] };
    let compared: BTreeSet<[String; 2]> = bench
        .lines("pairs")
        .iter()
        .map(|pair| key(text(pair, "a_url"), text(pair, "b_url")))
        .collect();
    let urls: Vec<String> = bench.lines("members").iter().map(|row| text(row, "url")).collect();
    let all = urls.iter().flat_map(|a| urls.iter().map(|b| key(a.clone(), b.clone())));
    let missing: BTreeSet<[String; 2]> =
        all.filter(|pair| pair[0] != pair[1] && !compared.contains(pair)).collect();
    let mut left_out = 0;
    for pair in missing.iter().take(40) {
        let output = bench.pagefold("explain", &[&*pair[0], &*pair[1], "--json"]);
        let explained: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let why = text(&explained, "not_compared");
        let words = ["pivot_rule", "near_groups", "near_rule", "not_proposed"];
        assert!(words.contains(&&*why), "{explained}");
        left_out += usize::from(why == "pivot_rule");
    }
    left_out
}

/// What the pivot rule leaves unexamined is reported by the run, its summary and `status`, in every
/// epoch, and equals what `status --pivots` counts in the whole store. The report names the largest
/// bucket.
#[test]
fn what_is_unexamined_is_reported() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nby = \"fingerprint\"\n");
    std::fs::create_dir(bench.at("in")).expect("made");
    let template: String = (0..400).map(|word| format!("word{} ", word * 7919 % 1009)).collect();
    let status = |more: &[&str]| -> Value {
        let output = bench.pagefold("status", &[&["--json"], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let deleted = |n: u64| format!("{{\"url\":\"http://a.example/{n}\",\"deleted\":true}}\n");
    let nights: [(String, bool); 3] = [
        ((0..90).map(|n| page(n, &format!("{template}variant{n}"))).collect(), true),
        (
            (0..20)
                .map(deleted)
                .chain((90..110).map(|n| page(n, &format!("{template}variant{n}"))))
                .collect(),
            true,
        ),
        ((20..80).map(deleted).collect(), false),
    ];
    for (night, (lines, left)) in nights.into_iter().enumerate() {
        std::fs::write(bench.at(&format!("in/{night}.jsonl")), lines).expect("written");
        let said = bench.run_well(&[]);
        let (shown, scanned) = (status(&[]), status(&["--pivots"]));
        assert_eq!(shown["unexamined"], scanned["unexamined"], "night {night}");
        assert_eq!(shown["unexamined"], bench.summary()["unexamined"], "night {night}");
        assert_eq!(said.contains("\npivots "), left, "night {night}: {said}");
        assert_eq!(
            scanned["unexamined"]["minhash"]["pairs"].as_u64() > Some(0),
            left,
            "night {night}"
        );
        if left {
            let largest = &scanned["largest_buckets"]["minhash"];
            assert!(largest["contents"].as_u64() > Some(64), "{largest}");
            let urls: BTreeSet<String> =
                bench.lines("members").iter().map(|row| text(row, "url")).collect();
            assert!(urls.contains(&text(largest, "url")), "{largest}");
        }
        if night == 0 {
            assert!(left_out_by_the_rule(&bench) > 0, "no pair is left out by the pivot rule");
        }
    }
    let output = bench.pagefold("verify", &["--deep"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
