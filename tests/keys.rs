use crate::workbench::Bench;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;

/// A text of its own for each number.
fn text(number: u64) -> String {
    let words: Vec<String> = (0..20).map(|w| format!("w{}", (number * 7919 + w * 104_729) % 1_000_003)).collect();
    words.join(" ")
}

/// Nine rows as two dumps of a crawl have them: ids, URLs that stand twice or are spelled in several
/// ways, and texts of which some are the same.
fn nine() -> Vec<(&'static str, &'static str, u64)> {
    vec![
        ("<urn:uuid:1>", "http://a.example/one", 1),
        ("<urn:uuid:2>", "http://a.example/one", 2),
        ("<urn:uuid:3>", "http://a.example/one#part", 3),
        ("s3://bucket/x.warc.gz/<urn:uuid:4>", "http://a.example:80/two", 4),
        ("<urn:uuid:5>", "http://a.example/two", 4),
        ("<urn:uuid:6>", "http://b.example/a b", 1),
        ("<urn:uuid:7>", "http://b.example/%E4%B8%AD", 5),
        ("<urn:uuid:8>", "http://b.example/中", 6),
        ("<urn:uuid:9>", "http://c.example/", 5),
    ]
}

fn lines() -> String {
    let row = |(id, url, number): (&str, &str, u64)| json!({ "id": id, "url": url, "text": text(number) });
    nine().into_iter().map(|nine| format!("{}\n", row(nine))).collect()
}

fn bench(more: &str) -> Bench {
    let bench = Bench::new(Path::new("in"), more);
    std::fs::create_dir(bench.at("in")).expect("made");
    bench
}

fn written(bench: &Bench, name: &str, text: &str) {
    std::fs::write(bench.at("in").join(name), text).expect("written");
}

/// The keys of all pages, and of those that are kept.
fn keys(bench: &Bench) -> (BTreeSet<String>, BTreeSet<String>) {
    let members = bench.lines("members");
    let key = |row: &serde_json::Value| row["url"].as_str().expect("a key").to_owned();
    let kept = members.iter().filter(|row| row["is_representative"] == true);
    (members.iter().map(key).collect(), kept.map(key).collect())
}

/// In a corpus rows of one URL are documents of their own: a join on the URL lost four of nine rows
/// and kept two exact duplicates. With the row, or an id, as key none is lost and one row of each
/// text is kept; with a crawl's key the rows of a URL are one page, and the report says how many
/// lost.
#[test]
fn nine_rows() {
    let texts = nine().iter().map(|row| row.2).collect::<BTreeSet<_>>().len();
    for (key, form) in [("row", "jsonl"), ("id", "jsonl"), ("row", "gz"), ("id", "gz")] {
        let bench = bench("");
        match form {
            "gz" => {
                let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
                std::io::Write::write_all(&mut encoder, lines().as_bytes()).expect("in memory");
                std::fs::write(bench.at("in/a.jsonl.gz"), encoder.finish().expect("in memory")).expect("written");
            }
            _ => written(&bench, "a.jsonl", &lines()),
        }
        let said = bench.run_well(&["--set", &format!("read.key={key}")]);
        assert!(!said.contains("superseded"), "{said}");
        let (all, kept) = keys(&bench);
        assert_eq!((all.len(), kept.len()), (9, texts), "key {key}");
        if key == "id" {
            assert_eq!(all, nine().iter().map(|row| row.0.to_owned()).collect());
        }
        let deep = bench.pagefold("verify", &["--deep", "--set", &format!("read.key={key}")]);
        assert!(deep.status.success(), "{}", String::from_utf8_lossy(&deep.stdout));
    }
    let crawl = bench("");
    written(&crawl, "a.jsonl", &lines());
    let said = crawl.run_well(&[]);
    assert!(said.contains("superseded 3        by another record of the same URL"), "{said}");
    let (all, _) = keys(&crawl);
    assert_eq!(all.len(), 5, "{all:?}");
}

/// The key of a row is made of the bytes of its file and its place there: the same file read again,
/// renamed, in another store or cut for more workers gives the same pages.
#[test]
fn row_keys_are_stable() {
    let (one, two) = (bench("[read.fields]\n"), bench(""));
    written(&one, "a.jsonl", &lines());
    written(&two, "b.jsonl", &lines());
    one.run_well(&["--set", "read.key=row"]);
    two.run_well(&["--set", "read.key=row", "--threads", "3"]);
    assert_eq!(keys(&one), keys(&two));
    // A renamed file is consumed already, a copy has the same pages.
    std::fs::rename(one.at("in/a.jsonl"), one.at("in/c.jsonl")).expect("renamed");
    one.run_well(&["--set", "read.key=row"]);
    written(&one, "d.jsonl", &lines());
    one.run_well(&["--set", "read.key=row"]);
    assert_eq!(keys(&one), keys(&two));
    // A file with one byte more has rows of its own.
    written(&one, "e.jsonl", &format!("\n{}", lines()));
    one.run_well(&["--set", "read.key=row"]);
    assert_eq!(keys(&one).0.len(), 18);
}

/// What a page is cannot change under a store that has pages, as the old ones would stay beside the
/// new; a store of which nothing was committed takes the corrected key, as the refusal advises it.
#[test]
fn the_key_is_identity() {
    let bench = bench("");
    written(&bench, "a.jsonl", &lines().replace("\"url\"", "\"address\""));
    let refused = bench.run(&[]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(65) && said.contains("[read] key = \"id\""), "{said}");
    bench.run_well(&["--set", "read.key=id"]);
    let refused = bench.run(&["--set", "read.key=row"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(78) && said.contains("read.key = \"id\", the job says \"row\""), "{said}");
    let rebuilt = bench.pagefold("rebuild", &["--set", "read.key=row"]);
    assert!(rebuilt.status.success(), "{}", String::from_utf8_lossy(&rebuilt.stderr));
    assert_eq!(keys(&bench).0.len(), 9);
}

/// The files that datatrove, dolma and OSCAR write are read with no field named, and the report says
/// where their URLs were.
#[test]
fn known_corpora() {
    let rows = [
        (
            "datatrove",
            json!({ "text": text(1), "id": "1", "metadata": { "url": "http://a.example/1", "date": "2020-01-01T00:00:00Z" } }),
        ),
        (
            "dolma",
            json!({ "id": "2", "text": text(2), "source": "cc", "created": "2020-01-01", "metadata": { "url": "http://a.example/2" } }),
        ),
        (
            "oscar",
            json!({ "content": text(3), "warc_headers": { "warc-target-uri": "http://a.example/3" }, "metadata": {} }),
        ),
    ];
    let bench = bench("");
    for (name, row) in &rows {
        written(&bench, &format!("{name}.jsonl"), &format!("{row}\n"));
    }
    let said = bench.run_well(&[]);
    assert!(said.contains("url_in_metadata.url 2") && said.contains("text_in_content 1"), "{said}");
    let urls = ["http://a.example/1", "http://a.example/2", "http://a.example/3"];
    assert_eq!(keys(&bench).0, urls.map(str::to_owned).into_iter().collect());
}
