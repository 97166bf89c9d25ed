use crate::workbench::{Bench, demo_inputs, fixture};
use std::collections::BTreeMap;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};

/// The path of a sample that is kept with the tests; the example `samples` makes them.
fn sample(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Folds the news at `path`, in which pages with equal labels belong together. Returns pairs of
/// pages: those rightly in one cluster, all in one cluster, and all that should be in one.
fn pairs_of_news(path: &Path) -> [usize; 3] {
    let bench = Bench::new(path, "[read.fields]\nurl = [\"site\", \"label\"]\n");
    bench.run_well(&[]);
    let label = |url: &str| url.rsplit('/').next().expect("a label").to_owned();
    let mut clusters: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut labels: BTreeMap<String, usize> = BTreeMap::new();
    for member in bench.lines("members") {
        let label = label(member["url"].as_str().expect("a url"));
        *labels.entry(label.clone()).or_default() += 1;
        clusters
            .entry(member["cluster"].as_str().expect("an id").to_owned())
            .or_default()
            .push(label);
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
    [right, found, possible]
}

/// Copies of articles with small changes fold with their originals, and no two articles fold.
#[test]
fn news_of_three_sites() {
    let [right, found, possible] = pairs_of_news(&sample("news.jsonl.gz"));
    assert_eq!((right, possible), (found, 3 * 44), "precision");
    assert!(right * 100 >= possible * 98, "recall: {right} of {possible}");
}

/// In real news of three scrapers nearly all folded pairs are the same article, and nearly all
/// copies of an article fold.
#[test]
fn news_of_three_scrapers() {
    let Some(path) = fixture("cctv2022_cross_site.jsonl.gz") else { return };
    let [right, found, possible] = pairs_of_news(&path);
    assert!(
        possible > 1000 && right * 1000 >= found * 995 && right * 100 >= possible * 98,
        "{right} right of {found} found, {possible} possible"
    );
}

/// Folds the archives in `folder`, which must succeed with every record accounted for. Returns
/// pages and rejects.
fn archives(folder: &Path) -> [u64; 2] {
    let bench = Bench::new(folder, "");
    println!("{}", bench.run_well(&["--set", "read.rejects_max=1"]));
    let rejected = bench.assert_accounted();
    [bench.summary()["pages"].as_u64().expect("a count"), rejected]
}

/// Archives that are sound, cut short anywhere, damaged, joined, padded or empty do not stop a run,
/// and every record is accounted for.
#[test]
fn archives_of_any_condition() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut number = 0;
    let mut write = |ending: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(format!("{number:02}{ending}")), bytes).expect("written");
        number += 1;
    };
    let packed = ["crawl-00.warc.gz", "crawl-01.warc.gz", "crawl-03.warc.wet.gz"]
        .map(|name| std::fs::read(demo_inputs().join(name)).expect("readable"));
    for packed in &packed {
        write(".warc.gz", packed);
        let mut plain = Vec::new();
        // The demo holds a damaged member: what comes before it is a sound file.
        let _ = flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut plain);
        write(".warc", &plain);
        for (ending, bytes) in [(".warc.gz", packed), (".warc", &plain)] {
            for seventh in 1..7 {
                let at = bytes.len() * seventh / 7;
                write(ending, &bytes[..at]);
                let mut damaged = bytes.clone();
                damaged[at] ^= 0x40;
                write(ending, &damaged);
            }
            write(ending, &[&bytes[..], bytes].concat());
            write(ending, &[&bytes[..], &[0; 1000]].concat());
        }
    }
    write(".warc", b"");
    let arc = "filedesc://x.arc 0.0.0.0 20250102030405 text/plain 77\n1 0 Test\n\
               URL IP-address Archive-date Content-type Archive-length\n\n\n";
    let page = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><body><p>A page of an old archive.</body></html>";
    let line =
        format!("http://old.example/ 192.0.2.1 20250102030405 text/html {}\n{page}\n", page.len());
    write(".arc", [arc, &line].concat().as_bytes());
    let [pages, rejected] = archives(folder.path());
    assert!(pages > 150 && rejected > 50, "{pages} pages, {rejected} rejects");
}

/// No WARC, WET or ARC that public tools test with stops a run, sound or broken, and every record
/// is accounted for. Files of other formats are left out.
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
    let [pages, rejected] = archives(folder.path());
    assert!(pages > 100 && rejected > 0, "{pages} pages, {rejected} rejects");
}

/// Folds twelve epochs one by one. Asserts that after each, exports and tables equal those of a
/// store from scratch over the live pages, in the order in which they were first seen.
fn twelve_epochs(folder: &Path) {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let mut live: BTreeMap<String, (usize, serde_json::Value)> = BTreeMap::new();
    let mut removed = 0;
    for epoch in 0..12 {
        let name = format!("e{epoch:02}.jsonl.gz");
        std::fs::copy(folder.join(&name), bench.at("in").join(&name)).expect("copied");
        let file = std::fs::File::open(folder.join(&name)).expect("opened");
        for line in std::io::BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines() {
            let record: serde_json::Value =
                serde_json::from_str(&line.expect("a line")).expect("JSON");
            let url =
                workers::page_url::canonical_url(record["url"].as_str().expect("a URL")).canonical;
            match record["op"].as_str() {
                Some("remove") => removed += usize::from(live.remove(&url).is_some()),
                _ => {
                    let first = live.get(&url).map_or(epoch, |(first, _)| *first);
                    live.insert(url, (first, record));
                }
            }
        }
        bench.run_well(&["--threads", &(1 + epoch % 3).to_string(), "--allow", "folds"]);
        let scratch = Bench::new(Path::new("in"), "");
        std::fs::create_dir(scratch.at("in")).expect("made");
        for number in 0..=epoch {
            let of = live.values().filter(|(first, _)| *first == number);
            let lines: String = of.map(|(_, record)| format!("{record}\n")).collect();
            if !lines.is_empty() {
                std::fs::write(scratch.at(&format!("in/{number}.jsonl")), lines).expect("written");
                scratch.run_well(&["--allow", "folds"]);
            }
        }
        bench.assert_same_tables(&scratch, &name);
        assert_eq!(bench.multisets(), scratch.multisets(), "{name}");
        assert_eq!(bench.lines("members").len(), live.len(), "{name}");
        println!("{name}: {} pages, as from scratch", live.len());
    }
    assert!(removed > 10 && live.len() > 20, "{removed} pages were removed, {} live", live.len());
}

/// Twelve epochs of pages that appear, change, move and disappear each give the answer of a run
/// from scratch.
#[test]
fn twelve_epochs_of_a_site() {
    twelve_epochs(&sample("epochs"));
}

/// Twelve real half-yearly epochs of three documentation sites each give the answer of a run from
/// scratch.
#[test]
fn twelve_epochs_of_documentation() {
    let Some(path) = fixture("epochs_delta") else { return };
    twelve_epochs(&path);
}
