use crate::workbench::Bench;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// Real data beside the checkout; tests that want it say so and pass when it is not there.
fn fixture(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/fixtures").join(name);
    if !path.exists() {
        println!("skipped: no {name}");
        return None;
    }
    Some(path)
}

/// News of three scrapers: pages that fold are the same article, nearly always, and nearly all of the same fold.
#[test]
fn news_of_three_scrapers() {
    let Some(path) = fixture("cctv2022_cross_site.jsonl.gz") else { return };
    let bench = Bench::new(&path, "[read.fields]\nurl = [\"site\", \"label\"]\n");
    bench.run_well(&[]);
    let label = |url: &str| url.rsplit('/').next().expect("a label").to_owned();
    let mut clusters: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut labels: BTreeMap<String, usize> = BTreeMap::new();
    for member in bench.lines("members") {
        let label = label(member["url"].as_str().expect("a url"));
        *labels.entry(label.clone()).or_default() += 1;
        clusters.entry(member["cluster"].as_str().expect("an id").to_owned()).or_default().push(label);
    }
    let pairs = |n: usize| n * n.saturating_sub(1) / 2;
    let possible: usize = labels.values().map(|n| pairs(*n)).sum();
    let (mut right, mut found) = (0, 0);
    for of_cluster in clusters.values() {
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        of_cluster.iter().for_each(|label| *counts.entry(label).or_default() += 1);
        right += counts.values().map(|n| pairs(*n)).sum::<usize>();
        found += pairs(of_cluster.len());
    }
    println!("precision {right}/{found}, recall {right}/{possible}");
    assert!(
        right * 1000 >= found * 995 && right * 100 >= possible * 98,
        "{right} right of {found} found, {possible} possible"
    );
}

/// Every WARC, WET and ARC that public tools test with runs through, sound or broken, and every record is accounted for. Files that
/// are of no known format are refused by name.
#[test]
fn archives_of_public_tools() {
    let Some(path) = fixture("warc") else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let known = [".warc", ".warc.gz", ".arc", ".arc.gz", ".wet", ".wet.gz", ".wat", ".wat.gz"];
    for entry in std::fs::read_dir(path).expect("a folder") {
        let file = entry.expect("an entry").path();
        let name = file.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        if known.iter().any(|ending| name.ends_with(ending)) {
            std::fs::copy(&file, folder.path().join(name)).expect("copied");
        }
    }
    let bench = Bench::new(folder.path(), "");
    println!("{}", bench.run_well(&["--set", "read.rejects_max=1"]));
    let summary = bench.summary();
    assert!(summary["pages"].as_u64() > Some(100));
}

/// Twelve half-yearly epochs of three documentation sites, one by one: after each, exports and tables equal a run from scratch over what lives.
#[test]
fn epochs_of_documentation() {
    let Some(path) = fixture("epochs_delta") else { return };
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let mut live: BTreeMap<String, serde_json::Value> = BTreeMap::new();
    for epoch in 0..12 {
        let name = format!("e{epoch:02}.jsonl.gz");
        std::fs::copy(path.join(&name), bench.at("in").join(&name)).expect("copied");
        let file = std::fs::File::open(path.join(&name)).expect("opened");
        for line in std::io::BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines() {
            let record: serde_json::Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
            let url = workers::document::canonical_url(record["url"].as_str().expect("a URL")).canonical;
            match record["op"].as_str() {
                Some("remove") => drop(live.remove(&url)),
                _ => drop(live.insert(url, record)),
            }
        }
        bench.run_well(&["--threads", &(1 + epoch % 3).to_string(), "--allow", "folds"]);
        let scratch = Bench::new(Path::new("in.jsonl"), "");
        let lines: String = live.values().map(|record| format!("{record}\n")).collect();
        std::fs::write(scratch.at("in.jsonl"), lines).expect("written");
        scratch.run_well(&[]);
        bench.assert_same_tables(&scratch, &name);
        assert_eq!(bench.multisets(), scratch.multisets(), "{name}");
        println!("{name}: {} pages, as from scratch", live.len());
    }
}
