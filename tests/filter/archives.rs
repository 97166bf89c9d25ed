//! Archives of all kinds are sound after a filter.

use super::scene::{crawl, gzip, records, warc, zstd};
use super::{assert_rows_are_members, decoded, files, filter, rows, word};
use crate::containers::{lz4, zip};
use crate::texts::text;
use crate::workbench::{Bench, copy_folder, demo_inputs, failure, fixture, has_python, skip};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

/// The fields of the records of a sound WARC, by their names.
pub fn headers(archive: &[u8]) -> Vec<BTreeMap<String, String>> {
    let (text, mut records) = (decoded(archive), Vec::new());
    let mut rest = &text[..];
    while !rest.is_empty() {
        let end = rest.windows(4).position(|part| part == b"\r\n\r\n").expect("a header") + 4;
        let header = std::str::from_utf8(&rest[..end]).expect("UTF-8");
        let fields = header.lines().filter_map(|line| line.split_once(": "));
        let fields: BTreeMap<String, String> =
            fields.map(|(name, value)| (name.into(), value.into())).collect();
        let body: usize = fields["Content-Length"].parse().expect("a length");
        rest = rest[end + body..].strip_prefix(b"\r\n\r\n").expect("the end of a record");
        records.push(fields);
    }
    records
}

/// warcio, which replays archives and makes their indexes, accepts every archive that a filter
/// writes of one that it accepts, with and without revisits, and finds as many records as we do.
#[test]
fn archives_are_sound_for_warcio() {
    if !has_python("warcio") {
        return skip("python3 with warcio");
    }
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    crawl(&bench.at("in"));
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let warcio = |command: &str, path: &Path| {
        let mut python = std::process::Command::new("python3");
        python.args(["-m", "warcio.cli", command]).arg(path).output().expect("started")
    };
    // It wants one record in each member, and knows neither zstd nor lz4.
    let names = ["d.warc", "e.warc.gz"];
    for (dir, more) in [("plain", &[][..]), ("with", &["--revisits"])] {
        let [kept, removed] = ["kept", "removed"].map(|name| format!("{dir}/{name}"));
        filter(&bench, &[&["--to", &kept, "--removed", &removed], more].concat());
        for name in names {
            let originals = headers(&files(&bench.at("in"))[Path::new(name)]).len();
            let mut found = 0;
            for part in [&kept, &removed] {
                let path = bench.at(part).join(name);
                let records = headers(&std::fs::read(&path).expect("written"));
                found +=
                    records.iter().filter(|fields| !fields.contains_key("WARC-Refers-To")).count();
                let (index, check) = (warcio("index", &path), warcio("check", &path));
                for output in [&index, &check] {
                    assert!(
                        output.status.success(),
                        "{name}: {}",
                        String::from_utf8_lossy(&output.stdout)
                    );
                }
                assert_eq!(
                    String::from_utf8(index.stdout).expect("UTF-8").lines().count(),
                    records.len(),
                    "{name}"
                );
            }
            assert_eq!(found, originals, "{name}");
        }
    }
}

/// Archives of public tools, sound and damaged, and the demo: every record has one row, and what is
/// kept and removed gives the originals again.
#[test]
fn archives_are_undone() {
    let mut folders = vec![demo_inputs()];
    folders.extend(fixture("warc"));
    for folder in folders {
        let bench = Bench::new(Path::new("in"), "");
        copy_folder(&folder, &bench.at("in"));
        bench.run_well(&["--set", "read.rejects_max=1"]);
        let arguments = ["--to", "kept", "--removed", "removed", "--records", "records"];
        let report = filter(&bench, &arguments);
        let rows = rows(&bench.at("records"));
        let copied = rows.iter().filter(|row| word(row, "reason") == "copy").count();
        println!("{}: {} files, {copied} records of copies", folder.display(), report["files"]);
        assert_rows_are_members(&bench, &rows, rows.len() as u64);
        filter(&bench, &["--to", "kept", "--removed", "removed", "--undo", "again"]);
        let (originals, again) = (files(&bench.at("in")), files(&bench.at("again")));
        assert_eq!(again.len() as u64, report["files"].as_u64().expect("a count"));
        for (name, bytes) in &again {
            let is_equal = bytes == &originals[name];
            assert!(is_equal || decoded(bytes) == decoded(&originals[name]), "{}", name.display());
        }
    }
}

/// A compressed archive of which every page folds was written as no bytes, which `gzip -t` and
/// `zstd -t` call damaged. It is one empty member: a run reads it, and `--undo` passes it by.
#[test]
fn archives_of_which_nothing_stays() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    let body = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{}", text(1, 0));
    let page = |host: &str| {
        warc("response", &format!("http://{host}/"), "2024-01-01", 1, "", body.as_bytes())
    };
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/a.warc"), page("a.example")).expect("written");
    bench.run_well(&[]);
    type Pack = fn(&[u8]) -> Vec<u8>;
    let packs: [(&str, Pack); 3] = [("b.warc.gz", gzip), ("c.warc.zst", zstd), ("d.warc.lz4", lz4)];
    for (name, pack) in packs {
        std::fs::write(bench.at("in").join(name), pack(&page(name))).expect("written");
    }
    bench.run_well(&[]);
    filter(&bench, &["--to", "kept", "--removed", "removed"]);
    for (name, _) in packs {
        let kept = std::fs::read(bench.at("kept").join(name)).expect("written");
        assert!(!kept.is_empty() && decoded(&kept).is_empty(), "{name}: {kept:?}");
    }
    filter(&bench, &["--to", "kept", "--removed", "removed", "--undo", "again"]);
    assert!(files(&bench.at("again")) == files(&bench.at("in")));
    let other = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    copy_folder(&bench.at("kept"), &other.at("in"));
    other.run_well(&[]);
    assert_eq!((other.lines("members").len(), other.assert_accounted()), (1, 0));
}

/// The records of a WACZ are reported with the bytes that they take in it, which are those of a
/// WARC file. It is not written again: its indexes would be wrong.
#[test]
fn records_of_a_wacz() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    let members = |file| records(file).iter().flat_map(|record| gzip(record)).collect::<Vec<u8>>();
    let (a, b, c) = (members(3), records(4).concat(), gzip(&records(5).concat()));
    let bytes =
        zip(&[("archive/a.warc.gz", &a), ("archive/b.warc", &b), ("archive/c.warc.gz", &c)]);
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/x.wacz"), &bytes).expect("written");
    bench.run_well(&[]);
    let refused = bench.pagefold("filter", &["--to", "kept", "--records", "records"]);
    let stderr = failure(&refused.stderr);
    assert!(refused.status.code() == Some(64) && stderr.contains("x.wacz is a WACZ"), "{stderr}");
    assert!(!bench.at("kept").exists() && !bench.at("records").exists());
    filter(&bench, &["--records", "records"]);
    let rows = rows(&bench.at("records"));
    assert_rows_are_members(&bench, &rows, (3..6).map(|file| records(file).len() as u64).sum());
    let mut alone = 0;
    for row in rows.iter().filter(|row| row["warc_record_offset"].is_u64()) {
        let [offset, length] = ["warc_record_offset", "warc_record_length"]
            .map(|n| row[n].as_u64().expect("n") as usize);
        let record = String::from_utf8(decoded(&bytes[offset..offset + length])).expect("UTF-8");
        assert!(
            record.starts_with("WARC/1.0") && record.contains(word(row, "warc_record_id")),
            "{row}: {record}"
        );
        assert_eq!(record.matches("WARC/1.0").count(), 1, "{row}");
        alone += 1;
    }
    assert_eq!(alone, records(3).len() + records(4).len());
}

/// The blanks with which a member begins were written twice if records of the member before went to
/// both files: with its last record, and with the member. They are written with the member; and
/// where that has records of both kinds, any number of them with its first record.
#[test]
fn members_that_begin_with_blanks() {
    let record = |name: &str, article: u64| {
        let url = format!("http://{name}.example/");
        warc("conversion", &url, "2024-01-01", 1, "", text(article, 0).as_bytes())
    };
    let records = [("a", 0), ("b", 0), ("c", 1), ("d", 1), ("e", 2)].map(|(n, of)| record(n, of));
    let [a, b, c, d, e] = &records;
    type Pack = fn(&[u8]) -> Vec<u8>;
    let packs: [(&str, Pack); 3] = [("gz", gzip), ("zst", zstd), ("lz4", lz4)];
    let (ends, zeros) = (b"\r\n\r\n", vec![0; 300_000]);
    for (extension, pack) in packs {
        for blanks in [&ends[..], &zeros[..3], &zeros] {
            let bench = Bench::new(Path::new("in"), "");
            let open = b.strip_suffix(ends).filter(|_| blanks == ends).unwrap_or(b);
            let members = [[a, open].concat(), [blanks, c, d].concat(), [blanks, e].concat()];
            std::fs::create_dir(bench.at("in")).expect("made");
            let name = format!("x.warc.{extension}");
            let bytes = members.map(|member| pack(&member)).concat();
            std::fs::write(bench.at("in").join(&name), &bytes).expect("written");
            bench.run_well(&[]);
            let report = filter(&bench, &["--to", "kept", "--removed", "removed"]);
            assert_eq!(report["files_whole"], json!([]));
            filter(&bench, &["--to", "kept", "--removed", "removed", "--undo", "again"]);
            let [kept, removed, again] = ["kept", "removed", "again"].map(|folder| {
                decoded(&std::fs::read(bench.at(folder).join(&name)).expect("there"))
            });
            assert!(again == decoded(&bytes), "{name}: {} blanks", blanks.len());
            let find = |part: &[u8], record: &Vec<u8>| {
                let record = record.trim_ascii_end();
                part.windows(record.len()).any(|bytes| bytes == record)
            };
            for (pair, in_both) in [([a, b], false), ([c, d], false), ([e, e], true)] {
                let found = pair.map(|record| (find(&kept, record), find(&removed, record)));
                assert!(found.iter().all(|(kept, removed)| kept != removed), "{name}: {found:?}");
                assert_eq!(found[0] == found[1], in_both, "{name}: {found:?}");
            }
        }
    }
}

/// The dictionary by which the members of an archive are compressed was in what is kept alone, so
/// that what is removed could not be read. It is in both, and in the original once.
#[test]
fn archives_with_a_dictionary() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    let all = records(7);
    let dictionary = &all[1];
    let pack = |record: &Vec<u8>| {
        let mut encoder =
            zstd::stream::write::Encoder::with_dictionary(Vec::new(), 3, dictionary).expect("made");
        encoder.write_all(record).expect("in memory");
        encoder.finish().expect("in memory")
    };
    let length = (dictionary.len() as u32).to_le_bytes();
    let head = [&[0x5d, 0x2a, 0x4d, 0x18][..], &length, dictionary].concat();
    let members: Vec<u8> = all.iter().flat_map(pack).collect();
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/a.warc.zst"), [head, members].concat()).expect("written");
    bench.run_well(&[]);
    filter(&bench, &["--to", "kept", "--removed", "removed"]);
    for part in ["kept", "removed"] {
        let other = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
        copy_folder(&bench.at(part), &other.at("in"));
        other.run_well(&[]);
        let counters = &other.summary()["counters"];
        assert!(counters["accepted"].as_u64() > Some(5), "{part}: {counters}");
        assert_eq!(other.assert_accounted(), 0, "{part}: {counters}");
    }
    filter(&bench, &["--to", "kept", "--removed", "removed", "--undo", "again"]);
    assert!(files(&bench.at("again")) == files(&bench.at("in")));
}
