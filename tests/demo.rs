use crate::workbench::{Bench, demo_inputs};
use std::collections::{BTreeMap, BTreeSet};

/// The label of each page that the generator knows, by canonical URL.
fn truth() -> BTreeMap<String, String> {
    let path = demo_inputs().with_file_name("demo_truth.jsonl");
    let text = std::fs::read_to_string(path).expect("the truth lies beside the demo");
    let line = |line: &str| {
        let value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let field = |name: &str| value[name].as_str().expect("a string").to_owned();
        (workers::page_url::canonical_url(&field("url")).canonical, field("label"))
    };
    text.lines().map(line).collect()
}

/// The demo folds rightly: no cluster joins two articles, and the copies of an article are found.
#[test]
fn folds_are_true() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    let truth = truth();
    let mut clusters: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for member in bench.lines("members") {
        let field = |name: &str| member[name].as_str().expect("a string").to_owned();
        clusters.entry(field("cluster")).or_default().push(field("url"));
    }
    let (mut right, mut wrong, mut possible) = (0u64, 0u64, 0u64);
    let pairs = |n: usize| (n * n.saturating_sub(1) / 2) as u64;
    for urls in clusters.values() {
        let labels: Vec<&String> = urls.iter().filter_map(|url| truth.get(url)).collect();
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        labels.iter().for_each(|label| *counts.entry(label).or_default() += 1);
        let same: u64 = counts.values().map(|n| pairs(*n)).sum();
        right += same;
        wrong += pairs(labels.len()) - same;
    }
    let mut sizes: BTreeMap<&String, usize> = BTreeMap::new();
    truth.values().for_each(|label| *sizes.entry(label).or_default() += 1);
    possible += sizes.values().map(|n| pairs(*n)).sum::<u64>();
    println!("pairs of pages: {right} right, {wrong} wrong, of {possible}");
    assert_eq!(wrong, 0, "pairs of different articles");
    // 545 of 622 as of today: most of the others are copies with another figure. The same pages
    // fold on every machine, so the bound may be close.
    assert!(right * 1000 >= possible * 870, "{right} of {possible} pairs");
}

/// Every record is accounted for: read = accepted + skipped + rejected, and each rejected one is
/// listed with file, offset and reason.
#[test]
fn everything_is_accounted_for() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    assert_eq!(bench.assert_accounted(), 5);
    let summary = bench.summary();
    let count = |name: &str| summary[name].as_u64().expect("a count");
    assert_eq!(count("pages"), count("kept") + count("folded_identical") + count("folded_near"));
    assert_eq!(bench.lines("members").len() as u64, count("pages"));
    assert_eq!(
        bench.lines("redirects").len() as u64,
        count("folded_identical") + count("folded_near")
    );
}

/// The exports agree with each other on each cluster's size, representative and redirects.
#[test]
fn exports_agree() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    let members = bench.lines("members");
    assert!(members.len() > 300, "{} members", members.len());
    let clusters: BTreeMap<String, serde_json::Value> = bench
        .lines("clusters")
        .into_iter()
        .map(|c| (c["cluster"].as_str().expect("an id").to_owned(), c))
        .collect();
    let mut pages: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for member in &members {
        pages
            .entry(member["cluster"].as_str().expect("an id"))
            .or_default()
            .insert(member["doc"].as_str().expect("an id"));
    }
    for (cluster, docs) in &pages {
        // The least DocId names a cluster.
        assert_eq!(docs.first(), Some(cluster));
        match clusters.get(*cluster) {
            Some(row) => assert_eq!(row["pages"].as_u64(), Some(docs.len() as u64)),
            None => assert_eq!(docs.len(), 1),
        }
    }
    let redirects: BTreeMap<String, String> = bench
        .lines("redirects")
        .iter()
        .map(|r| {
            (
                r["url"].as_str().expect("a url").to_owned(),
                r["representative"].as_str().expect("a url").to_owned(),
            )
        })
        .collect();
    for member in &members {
        let (url, representative) = (
            member["url"].as_str().expect("a url"),
            member["representative"].as_str().expect("a url"),
        );
        assert_eq!(member["is_representative"].as_bool(), Some(url == representative));
        assert_eq!(
            redirects.get(url).map(String::as_str),
            (url != representative).then_some(representative)
        );
    }
}

/// A run with nothing new makes no epoch and no error, and it makes up for an export that a crash
/// prevented.
#[test]
fn nothing_new() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    let tables = bench.tables();
    assert!(bench.run_well(&[]).contains("nothing due"));
    std::fs::remove_dir_all(bench.at("out")).expect("removed");
    assert!(bench.run_well(&[]).contains("nothing due"));
    assert_eq!(tables, bench.tables());
    assert_eq!(std::fs::read_dir(bench.at("store/manifest")).expect("a folder").count(), 1);
}

/// By default `pairs` has all accepted pairs, and the refused ones that are somewhat alike. Another
/// limit makes other results of the same store.
#[test]
fn refused_pairs_that_are_not_alike_are_left_out() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    let all = bench.lines("pairs");
    for (limit, least) in [(&["--set", "output.refused_similarity_min=7000"][..], 0.7), (&[], 0.0)]
    {
        assert!(bench.run_well(limit).contains("nothing due"));
        let listed = |pair: &&serde_json::Value| {
            pair["accepted"] == true || pair["similarity"].as_f64() >= Some(least)
        };
        let expected: Vec<_> = all.iter().filter(listed).cloned().collect();
        assert!(expected.iter().any(|pair| pair["accepted"] == false));
        assert_eq!(expected.len() < all.len(), least > 0.0, "all pairs are alike");
        assert_eq!(bench.lines("pairs"), expected);
        assert_eq!(bench.summary()["pairs"], expected.len());
    }
    let default: workers::job::Output =
        serde_json::from_value(serde_json::json!({ "dir": "out" })).expect("options");
    assert_eq!(default.refused_similarity_min, 7000);
}

/// With any signatures and any kept texts the store is sound, exports name the signatures that
/// propose a pair, and another decision from stored evidence equals a run from scratch with it.
#[test]
fn any_signatures_any_texts() {
    let all =
        "signatures=[{kind=\"minhash\",bins=15},{kind=\"super_shingles\"},{kind=\"spotsigs\"}]";
    let none = "minhash=false";
    for (signatures, text) in [(all, "all"), (all, "short"), (all, "none"), (none, "all")] {
        let kept = format!("contents.text={text:?}");
        let sentences = format!("sentences={}", signatures == all);
        let identity = ["--set", signatures, "--set", &sentences, "--set", &kept];
        let bench = Bench::new(&demo_inputs(), "");
        bench.run_well(&[&identity[..], &["--threads", "2"]].concat());
        let output = bench.pagefold("verify", &[&identity[..], &["--deep"]].concat());
        assert!(
            output.status.success(),
            "{signatures}, {text}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
        let named: BTreeSet<String> = bench
            .lines("pairs")
            .iter()
            .map(|pair| pair["signature"].as_str().expect("names").to_owned())
            .collect();
        println!("{text}: {named:?}");
        assert!(named.iter().all(|names| !names.is_empty()));
        if signatures == all {
            for name in ["simhash", "minhash", "super_shingles", "spotsigs", "sentences"] {
                assert!(
                    named.iter().any(|names| names.split('+').any(|one| one == name)),
                    "{name} proposes no pair: {named:?}"
                );
            }
        } else {
            assert_eq!(named, BTreeSet::from(["simhash".to_owned()]));
        }
        let other = [
            &identity[..],
            &["--set", "confirm.similarity_min=9000", "--set", "confirm.facts=\"off\""],
        ]
        .concat();
        bench.run_well(&[&other[..], &["--threads", "3"]].concat());
        let scratch = Bench::new(&demo_inputs(), "");
        scratch.run_well(&other);
        bench.assert_same_tables(&scratch, text);
        assert_eq!(bench.multisets(), scratch.multisets(), "{signatures}, {text}");
    }
}
