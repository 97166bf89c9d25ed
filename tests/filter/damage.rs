//! Files that grow much, and files that are damaged.

use super::scene::{gzip, line, warc, zstd};
use super::{decoded, files, filter};
use crate::containers::lz4;
use crate::texts::text;
use crate::workbench::Bench;
use serde_json::json;
use std::path::Path;

type Pack = fn(&[u8]) -> Vec<u8>;
type Damage = fn(&mut Vec<u8>);

/// A line of a page on `host`, whose text is long and compresses well.
fn page(host: &str, n: u64, article: u64) -> String {
    line(&(format!("http://{host}.example/{n}"), "2024-01-01", Some(text(article, 0).repeat(12))))
}

/// Makes the originals again, and asserts that they decode to the same bytes. Those of `whole` are
/// the same bytes, as they were kept.
fn assert_undone(bench: &Bench, whole: &[&str]) {
    filter(bench, &["--to", "kept", "--removed", "removed", "--undo", "again"]);
    let (originals, again) = (files(&bench.at("in")), files(&bench.at("again")));
    assert_eq!(originals.len(), again.len());
    for (name, bytes) in &originals {
        if whole.contains(&name.to_str().expect("UTF-8")) {
            let kept = std::fs::read(bench.at("kept").join(name)).expect("kept");
            assert!(kept == *bytes && again[name] == *bytes, "{name:?}");
        } else {
            assert!(decoded(&again[name]) == decoded(bytes), "{name:?}");
        }
    }
}

/// The copier took a file for a bomb that the reader had read, because it counted all bytes of
/// sound records as growth: the rest of a file of one page at many URLs was dropped without a
/// message. Files that are bombs for the reader are copied whole; such a file, which may be sound,
/// was called damaged.
#[test]
fn files_that_grow_much() {
    let bench =
        Bench::new(Path::new("in"), "[read.limits]\nratio_max = 16\nratio_bytes_min = 262144\n");
    std::fs::create_dir(bench.at("in")).expect("made");
    let put = |name: &str, members: [Vec<u8>; 2]| {
        std::fs::write(bench.at("in").join(name), members.concat()).expect("written");
    };
    let packs: [(&str, Pack); 3] = [("gz", gzip), ("zst", zstd), ("lz4", lz4)];
    for (at, (suffix, pack)) in (1..).zip(packs) {
        let many: String = (0..150).map(|n| page(suffix, n, 0)).collect();
        let last = page(suffix, 150, at);
        put(&format!("a.jsonl.{suffix}"), [pack(many.as_bytes()), pack(last.as_bytes())]);
        let record = |n: u64, article: u64| {
            let text = text(article, 0).repeat(12);
            let body = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{text}");
            let url = format!("http://{suffix}-archive.example/{n}");
            warc("response", &url, "2024-01-01", 1000 * at + n, "", body.as_bytes())
        };
        // One page in the middle stays, so each record becomes a member.
        let many = |n: u64| record(n, if n == 75 { at + 20 } else { 0 });
        let many: Vec<u8> = (0..150).flat_map(many).collect();
        put(&format!("b.warc.{suffix}"), [pack(&many), pack(&record(150, at + 10))]);
    }
    let bomb = "{\"other\":\"no page\"}\n".repeat(20_000);
    put("bomb.jsonl.gz", [gzip(bomb.as_bytes()), gzip(page("bomb", 1, 0).as_bytes())]);
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let arguments = ["--to", "kept", "--removed", "removed", "--allow-whole"];
    let report = filter(&bench, &arguments);
    let (kept, removed) = (files(&bench.at("kept")), files(&bench.at("removed")));
    for (name, bytes) in &kept {
        let Some(removed) = removed.get(name) else { continue };
        let text = |bytes: &[u8]| String::from_utf8(decoded(bytes)).expect("UTF-8");
        let [kept, removed] = [text(bytes), text(removed)];
        let pages = |of: &str| of.matches("example/").count();
        assert_eq!(pages(&kept) + pages(&removed), 151, "{name:?}");
        assert!(kept.contains("example/150"), "{name:?}");
    }
    assert_eq!(removed.len(), 6);
    assert_eq!(report["files_whole"], json!(["in/bomb.jsonl.gz"]), "{report}");
    let said = bench.pagefold("filter", &["--to", "told", "--allow-whole"]).stdout;
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("ratio_max") && !said.contains("damaged"), "{said}");
    assert_eq!(said.matches("bomb.jsonl.gz").count(), 1, "{said}");
    assert_undone(&bench, &["bomb.jsonl.gz"]);
}

/// The rest of a line in a damaged member was kept without a line end, and the next line, a sound
/// one, behind it on the same line. Such a file is copied whole, and so is an archive with records
/// of both kinds in a member that ends too early.
#[test]
fn damaged_members() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    // The members of each file have three pages. Of the third ones each is folded.
    let lines = |file: &str, member: u64| -> String {
        (0..3).map(|n| page(file, member * 3 + n, (member * 3 + n) % 4)).collect()
    };
    let damaged: [(&str, Damage); 3] = [
        ("bad.jsonl.gz", |member| *member.last_mut().expect("bytes") ^= 1),
        ("torn.jsonl.gz", |member| member.truncate(member.len() * 3 / 4)),
        ("junk.jsonl.gz", |member| member.extend_from_slice(b"junk")),
    ];
    for (name, damage) in damaged {
        let mut members: Vec<Vec<u8>> =
            (0..3).map(|member| gzip(lines(&name[..3], member).as_bytes())).collect();
        damage(&mut members[1]);
        std::fs::write(bench.at("in").join(name), members.concat()).expect("written");
    }
    // Nothing follows that could be joined to the last line.
    let tail: Vec<u8> = (0..3).flat_map(|member| gzip(lines("end", member).as_bytes())).collect();
    std::fs::write(bench.at("in/tail.jsonl.gz"), [&tail[..], b"x"].concat()).expect("written");
    let records: Vec<u8> = (0..4)
        .flat_map(|n| {
            let body = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{}",
                text(n % 2 * 9, 0).repeat(12)
            );
            let url = format!("http://warc.example/{n}");
            warc("response", &url, "2024-01-01", n, "", body.as_bytes())
        })
        .collect();
    let mut torn = gzip(&records);
    torn.truncate(torn.len() - 20);
    std::fs::write(bench.at("in/torn.warc.gz"), &torn).expect("written");
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let arguments = ["--to", "kept", "--removed", "removed", "--allow-whole"];
    let report = filter(&bench, &arguments);
    let names = ["bad.jsonl.gz", "junk.jsonl.gz", "torn.jsonl.gz", "torn.warc.gz"];
    assert_eq!(report["files_whole"], json!(names.map(|name| format!("in/{name}"))), "{report}");
    let [kept, removed] = ["kept", "removed"].map(|folder| {
        let bytes = std::fs::read(bench.at(folder).join("tail.jsonl.gz")).expect("written");
        decoded(&bytes).iter().filter(|byte| **byte == b'\n').count()
    });
    assert!(kept < 9 && kept + removed == 9, "{kept} {removed}");
    // The stray byte is not made again.
    std::fs::write(bench.at("in/tail.jsonl.gz"), &tail).expect("written");
    assert_undone(&bench, &names);
}
