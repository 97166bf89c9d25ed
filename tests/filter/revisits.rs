//! With `--revisits` a record of an archive that folds leaves a revisit.

use super::archives::headers;
use super::scene::{crawl, lines};
use super::{assert_folds_no_more, assert_undone, files, filter, rows, word};
use crate::workbench::Bench;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use workers::page_url::canonical_url;

/// With `--revisits` a record of a WARC that folds into another one of a WARC leaves a revisit in
/// its place, which has its URL and its date and names a record that is kept; no other does. The
/// originals are restored from the kept and removed parts as without revisits, and kept records do
/// not fold with one another.
#[test]
fn revisits_stand_for_what_folds() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    crawl(&bench.at("in"));
    // Archives alone, so that most clusters are represented by one of their records.
    for name in
        files(&bench.at("in")).into_keys().filter(|name| !name.to_string_lossy().contains(".warc"))
    {
        std::fs::remove_file(bench.at("in").join(name)).expect("there");
    }
    std::fs::write(bench.at("in/z.jsonl"), lines(20)).expect("written");
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let arguments = ["--to", "kept", "--removed", "removed", "--records", "records", "--revisits"];
    let report = filter(&bench, &arguments);
    let (rows, kept) = (rows(&bench.at("records")), files(&bench.at("kept")));
    let is_warc = |row: &&Value| word(row, "warc_filename").contains(".warc");
    let shown: BTreeMap<String, &Value> = rows
        .iter()
        .filter(|row| is_warc(row) && word(row, "verdict") == "kept")
        .map(|row| (canonical_url(word(row, "url")).canonical, row))
        .collect();
    let mut expected: Vec<[String; 4]> = rows
        .iter()
        .filter(|row| is_warc(row) && word(row, "verdict") == "folded")
        .filter_map(|row| {
            let of = shown.get(word(row, "representative"))?;
            Some(["warc_filename", "url"].map(|name| word(row, name).to_owned())).map(
                |[file, url]| {
                    [file, url, word(of, "url").into(), word(of, "warc_record_id").into()]
                },
            )
        })
        .collect();
    let mut found = Vec::new();
    let mut ids = BTreeMap::new();
    for (name, bytes) in kept.iter().filter(|(name, _)| name.to_string_lossy().contains(".warc")) {
        for fields in headers(bytes) {
            *ids.entry(fields["WARC-Record-ID"].clone()).or_insert(0) += 1;
            if let Some(of) = fields.get("WARC-Refers-To") {
                let field = |name: &str| fields[name].clone();
                assert_eq!(fields["WARC-Type"], "revisit");
                assert!(
                    fields["WARC-Profile"].starts_with("urn:pagefold:"),
                    "no digest says that it is identical"
                );
                assert_eq!(fields["Content-Type"], "application/http; msgtype=response");
                assert_eq!(fields["WARC-Date"].len(), fields["WARC-Refers-To-Date"].len());
                let name = name.to_str().expect("UTF-8").to_owned();
                found.push([
                    name,
                    field("WARC-Target-URI"),
                    field("WARC-Refers-To-Target-URI"),
                    of.clone(),
                ]);
            }
        }
    }
    assert!(
        found.iter().all(|[.., of]| ids.get(of) == Some(&1)),
        "a revisit refers to a record that is kept"
    );
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    assert!(found.len() > 20 && report["revisits"] == found.len(), "{}", report["revisits"]);
    for name in ["d.warc", "e.warc.gz", "f.warc.gz", "g.warc.gz", "h.warc.zst", "l.warc.lz4"] {
        assert!(found.iter().any(|[file, ..]| file == name), "{name} has a revisit");
    }
    assert_eq!(assert_undone(&bench), kept.len());
    assert_folds_no_more(&bench);
    // Without the option there are none, and the files are made anew.
    let report = filter(&bench, &["--to", "kept", "--removed", "removed"]);
    assert_eq!((&report["revisits"], &report["files_before"]), (&json!(0), &json!(0)));
}
