//! A crawler's own revisit of another URL counts as a mirror of what it refers to.

use super::scene::warc;
use super::{assert_undone, files, filter, rows, word};
use crate::texts::text;
use crate::workbench::Bench;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

const FRONT: &str = "http://front.example/";

/// A page that was crawled on `date`.
fn page(url: &str, date: &str, text: &str) -> Vec<u8> {
    let body = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{text}");
    warc("response", url, date, 1, "", body.as_bytes())
}

/// The record of a crawler for which `url` had the bytes that `of` had on `of_date`.
fn mirror(url: &str, of: &str, of_date: Option<&str>) -> Vec<u8> {
    let date = of_date
        .map(|date| format!("WARC-Refers-To-Date: {date}T00:00:00Z\r\n"))
        .unwrap_or_default();
    let fields = format!("WARC-Refers-To-Target-URI: {of}\r\n{date}");
    warc("revisit", url, "2024-03-01", 2, &fields, b"")
}

/// The rows of all records by their URLs, with verdict and reason.
fn verdicts(rows: &[Value]) -> BTreeMap<&str, (&str, &str)> {
    rows.iter().map(|row| (word(row, "url"), (word(row, "verdict"), word(row, "reason")))).collect()
}

/// A revisit folds into the page that it refers to while the record that it names holds there. It
/// stays in the archive, and is skipped if it names another capture, none, a page that is not
/// there, or if its own page has a record. A revisit of its own URL, spelled otherwise, is seen.
#[test]
fn revisits_of_other_urls_are_mirrors() {
    let bench = Bench::new(Path::new("in"), "");
    let records = [
        page(FRONT, "2024-01-01", &text(1, 0)),
        page("http://copy.example/", "2024-01-02", &text(1, 0)),
        page("http://own.example/", "2024-01-03", &text(2, 0)),
        mirror("http://mirror.example/", FRONT, Some("2024-01-01")),
        mirror("http://copied.example/", "http://COPY.example:80/#top", Some("2024-01-02")),
        mirror("http://older.example/", FRONT, Some("2023-01-01")),
        mirror("http://undated.example/", FRONT, None),
        mirror("http://absent.example/", "http://nowhere.example/", Some("2024-01-01")),
        mirror("http://own.example/", FRONT, Some("2024-01-01")),
        mirror("http://self.example/", "http://self.example:80/", Some("2024-01-01")),
    ];
    std::fs::create_dir_all(bench.at("in")).expect("created");
    std::fs::write(bench.at("in/1.warc"), records.concat()).expect("written");
    bench.run_well(&[]);
    let arguments = ["--to", "kept", "--removed", "removed", "--records", "records"];
    filter(&bench, &arguments);
    let found = rows(&bench.at("records"));
    let skipped = ("skipped", "revisit_other");
    let mut expected = BTreeMap::from([
        ("http://mirror.example/", ("folded", "revisit")),
        ("http://copied.example/", ("folded", "revisit")),
        ("http://older.example/", skipped),
        ("http://undated.example/", skipped),
        ("http://absent.example/", skipped),
        ("http://own.example/", skipped),
        ("http://self.example/", ("seen", "")),
    ]);
    let members = bench.lines("members");
    let member =
        |url: &str| members.iter().find(|member| word(member, "url") == url).expect("a member");
    for url in [FRONT, "http://copy.example/"] {
        let is_shown = member(url)["is_representative"] == true;
        expected.insert(url, (if is_shown { "kept" } else { "folded" }, ""));
    }
    assert_eq!(verdicts(&found), expected);
    for row in found.iter().filter(|row| word(row, "reason") == "revisit") {
        assert_eq!(word(row, "relation"), "identical");
        for column in ["cluster", "cluster_size", "representative"] {
            assert_eq!(row[column], member(FRONT)[column], "{row}");
        }
    }
    // One page folds; no revisit leaves the archive.
    let kept = &files(&bench.at("kept"))[Path::new("1.warc")];
    let of = |index: usize| kept.windows(records[index].len()).any(|part| part == records[index]);
    assert_eq!((0..records.len()).filter(|index| !of(*index)).count(), 1);
    assert!((3..records.len()).all(of));
    assert_undone(&bench);

    // With another record at the page that it refers to it says nothing any more.
    std::fs::write(bench.at("in/2.warc"), page(FRONT, "2024-06-01", &text(5, 0))).expect("written");
    bench.run_well(&[]);
    filter(&bench, &arguments);
    let found = rows(&bench.at("records"));
    let verdicts = verdicts(&found);
    assert_eq!(verdicts["http://mirror.example/"], skipped);
    assert_eq!(verdicts["http://copied.example/"], ("folded", "revisit"));
}

/// Revisits counted as pages that were found, so that as many pages were missing from the count of
/// those whose records are in files that are gone.
#[test]
fn mirrors_are_no_pages() {
    let bench = Bench::new(Path::new("in"), "");
    let mirrors: Vec<u8> = (0..3)
        .flat_map(|n| mirror(&format!("http://m{n}.example/"), FRONT, Some("2024-01-01")))
        .collect();
    let front = page(FRONT, "2024-01-01", &text(1, 0));
    std::fs::create_dir_all(bench.at("in")).expect("created");
    std::fs::write(bench.at("in/1.warc"), [front, mirrors].concat()).expect("written");
    let other = page("http://other.example/", "2024-01-01", &text(2, 0));
    std::fs::write(bench.at("in/2.warc"), other).expect("written");
    bench.run_well(&[]);
    let report = filter(&bench, &["--records", "all"]);
    assert_eq!((&report["records"]["folded"], &report["pages_elsewhere"]), (&json!(3), &json!(0)));
    std::fs::remove_file(bench.at("in/2.warc")).expect("there");
    assert_eq!(filter(&bench, &["--records", "left"])["pages_elsewhere"], 1);
}
