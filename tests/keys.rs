use crate::containers::zip;
use crate::workbench::{Bench, failure};
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, StructArray};
use parquet::arrow::ArrowWriter;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use workers::id::Id;

/// A text of its own for each number.
fn text(number: u64) -> String {
    let words: Vec<String> =
        (0..20).map(|w| format!("w{}", (number * 7919 + w * 104_729) % 1_000_003)).collect();
    words.join(" ")
}

/// Nine rows of two dumps of a crawl: ids, URLs that occur twice or are spelled in several ways,
/// and texts of which some are the same.
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
            "gz" => std::fs::write(bench.at("in/a.jsonl.gz"), gzip(lines().as_bytes()))
                .expect("written"),
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

/// The rows that a filter keeps of a corpus are those that represent, each as it was: with the row,
/// or an id, as key rows of one URL stay if their texts differ, and one row of each text is kept.
#[test]
fn nine_rows_filtered() {
    for key in ["row", "id"] {
        let bench = bench("");
        written(&bench, "a.jsonl", &lines());
        let key = format!("read.key={key}");
        bench.run_well(&["--set", &key]);
        let filter = |more: &[&str]| {
            let arguments =
                [&["--to", "kept", "--removed", "removed", "--set", &key], more].concat();
            let output = bench.pagefold("filter", &arguments);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        filter(&["--records", "records"]);
        let read =
            |dir: &str| std::fs::read_to_string(bench.at(dir).join("a.jsonl")).expect("written");
        let (kept, removed) = (read("kept"), read("removed"));
        let representatives = keys(&bench).1;
        let position = |line: &str| lines().find(line).expect("a line as it was");
        let is_kept = |line: &&str| match key.as_str() {
            "read.key=id" => representatives.iter().any(|id| line.contains(&json!(id).to_string())),
            _ => representatives.iter().any(|row| row.ends_with(&format!("/{}", position(line)))),
        };
        let (stay, go): (Vec<String>, Vec<String>) = lines()
            .lines()
            .map(|line| format!("{line}\n"))
            .partition(|line| is_kept(&line.as_str()));
        assert_eq!((kept, removed), (stay.concat(), go.concat()), "{key}");
        assert_eq!(
            stay.len(),
            nine().iter().map(|row| row.2).collect::<BTreeSet<_>>().len(),
            "{key}"
        );
        filter(&["--undo", "again"]);
        assert_eq!(read("again"), lines());
    }
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

/// The key cannot change for a store that has pages, because the old pages would stay beside the
/// new ones. A store without a commit takes the corrected key, as the refusal advises.
#[test]
fn the_key_is_identity() {
    let bench = bench("");
    written(&bench, "a.jsonl", &lines().replace("\"url\"", "\"address\""));
    let refused = bench.run(&[]);
    let said = failure(&refused.stderr);
    assert!(refused.status.code() == Some(65) && said.contains("[read] key = \"id\""), "{said}");
    bench.run_well(&["--set", "read.key=id"]);
    let refused = bench.run(&["--set", "read.key=row"]);
    let said = failure(&refused.stderr);
    assert!(
        refused.status.code() == Some(78)
            && said.contains("read.key = \"id\", the job says \"row\""),
        "{said}"
    );
    let rebuilt = bench.pagefold("rebuild", &["--set", "read.key=row"]);
    assert!(rebuilt.status.success(), "{}", String::from_utf8_lossy(&rebuilt.stderr));
    assert_eq!(keys(&bench).0.len(), 9);
}

/// The files that datatrove, dolma and OSCAR write are read with no field named, and the report
/// says where their URLs were.
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

/// The tables that datatrove and FineWeb write are read with no field named: URL and date lie in a
/// struct of other values, or beside one, and lists and numbers are passed by.
#[test]
fn known_corpora_in_parquet() {
    let texts = |values: &[String]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
    let urls = |host: &str| [1, 2].map(|n| format!("http://{host}.example/{n}"));
    let dates = texts(&["2024-01-01T00:00:00Z", "2024-01-02T00:00:00Z"].map(str::to_owned));
    let scores = Arc::new(Float64Array::from(vec![0.5, 0.7])) as ArrayRef;
    let counts = Arc::new(Int64Array::from(vec![3, 4])) as ArrayRef;
    let mut tags = ListBuilder::new(StringBuilder::new());
    (0..2).for_each(|_| {
        tags.values().append_value("tag");
        tags.append(true);
    });
    let tags = Arc::new(tags.finish()) as ArrayRef;
    let inside = |url: &[String]| {
        let warc =
            [("offset", counts.clone()), ("file", texts(&["a".into(), "b".into()]))].to_vec();
        let warc = Arc::new(StructArray::try_from(warc).expect("a struct")) as ArrayRef;
        let fields = [
            ("url", texts(url)),
            ("date", dates.clone()),
            ("warc", warc),
            ("tags", tags.clone()),
            ("language_score", scores.clone()),
        ];
        Arc::new(StructArray::try_from(fields.to_vec()).expect("a struct")) as ArrayRef
    };
    let ids = texts(&["<urn:uuid:1>".into(), "<urn:uuid:2>".into()]);
    // `datatrove.pipeline.writers.ParquetWriter`, and FineWeb with what else is known in a struct.
    let datatrove = RecordBatch::try_from_iter([
        ("text", texts(&[text(1), text(2)])),
        ("id", ids.clone()),
        ("metadata", inside(&urls("datatrove"))),
    ]);
    let fineweb = RecordBatch::try_from_iter([
        ("text", texts(&[text(3), text(4)])),
        ("id", ids),
        ("dump", texts(&["CC-MAIN-2024-10".into(), "CC-MAIN-2024-10".into()])),
        ("url", texts(&urls("fineweb"))),
        ("date", dates.clone()),
        ("file_path", texts(&["s3://x".into(), "s3://x".into()])),
        ("language_score", scores.clone()),
        ("token_count", counts.clone()),
        ("metadata", inside(&urls("other"))),
    ]);
    let bench = bench("");
    for (name, batch) in [("datatrove", datatrove), ("fineweb", fineweb)] {
        let batch = batch.expect("a batch");
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("in memory");
        writer.write(&batch).expect("in memory");
        std::fs::write(
            bench.at("in").join(format!("{name}.parquet")),
            writer.into_inner().expect("in memory"),
        )
        .expect("written");
    }
    let said = bench.run_well(&["--set", "read.rejects_max=0"]);
    assert!(
        said.contains("url_in_metadata.url 2") && said.contains("date_in_metadata.date 2"),
        "{said}"
    );
    assert_eq!(keys(&bench).0, [urls("datatrove"), urls("fineweb")].concat().into_iter().collect());
    assert!(
        bench.lines("members").iter().all(|row| row["date"].is_string() || row["date"].is_number()),
        "{said}"
    );
}

/// The folder of a browser crawler is read as it is: its archives are read, but not its list of the
/// same pages, nor its index, logs and screenshots. The WACZ that it makes of everything has the
/// same pages.
#[test]
fn a_browser_crawlers_folder() {
    let record = |kind: &str, url: &str, media: &str, body: &str| {
        let block = format!("HTTP/1.1 200 OK\r\nContent-Type: {media}\r\n\r\n{body}");
        let record = format!(
            "WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2024-05-01T10:00:00.123Z\r\n\
             WARC-Record-ID: <urn:uuid:{}>\r\nContent-Type: application/http; msgtype=response\r\n\
             Content-Length: {}\r\n\r\n{block}\r\n\r\n",
            Id::of(url.as_bytes()),
            block.len()
        );
        gzip(record.as_bytes())
    };
    let html = |n: u64| format!("<html><body><article><p>{}</p></article></body></html>", text(n));
    let data = [
        record("response", "http://a.example/1", "text/html", &html(1)),
        record("response", "http://a.example/style.css", "text/css", "p { color: red }"),
        record("response", "http://a.example/2", "text/html; charset=utf-8", &html(2)),
        record("resource", "urn:thumbnail:http://a.example/1", "image/png", "PNG"),
    ]
    .concat();
    let pages = format!(
        "{}\n{}\n",
        json!({ "format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": true }),
        json!({ "id": "1", "url": "http://a.example/1", "title": "One", "text": text(9), "ts": "2024-05-01T10:00:00Z" })
    );
    let cdx = "example,a)/1 20240501100000 {\"url\": \"http://a.example/1\"}\n";
    let files: [(&str, &[u8]); 8] = [
        ("archive/rec-0-20240501.warc.gz", &data),
        ("pages/pages.jsonl", pages.as_bytes()),
        ("pages/extraPages.jsonl", pages.as_bytes()),
        ("indexes/index.cdxj", cdx.as_bytes()),
        (
            "logs/crawl-20240501.log",
            b"{\"timestamp\":\"2024-05-01\",\"logLevel\":\"info\",\"context\":\"general\"}\n",
        ),
        ("crawls/crawl.yaml", b"state: done\n"),
        ("datapackage.json", b"{\n  \"profile\": \"data-package\",\n  \"resources\": []\n}\n"),
        ("warc-cdx/rec-0.cdx", b" CDX N b a m s k r M S V g\n"),
    ];
    let expected: BTreeSet<String> =
        ["http://a.example/1", "http://a.example/2"].map(str::to_owned).into();
    let folder = bench("");
    for (name, bytes) in files {
        let path = folder.at("in").join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, bytes).expect("written");
    }
    let said = folder.run_well(&["--set", "read.rejects_max=0"]);
    assert_eq!(keys(&folder).0, expected, "{said}");
    assert!(said.contains("ages.jsonl and 1 more"), "{said}");
    let wacz = bench("");
    std::fs::write(wacz.at("in/crawl.wacz"), zip(&files)).expect("written");
    wacz.run_well(&["--set", "read.rejects_max=0"]);
    assert_eq!(keys(&wacz).0, expected);
    let content = |bench: &Bench| {
        bench.lines("members").iter().map(|row| row["content"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(content(&wacz), content(&folder));
}

/// Of two data sets that number their rows from 0 half of the rows were lost without a message. Now
/// the run stops before it commits and names the keys, and each remedy that it names works. A row
/// of a later date is a newer version.
#[test]
fn two_sets_with_the_same_ids() {
    let bench = bench("");
    let row = |set: u64, id: u64| json!({ "id": id, "text": text(set * 1000 + id) });
    for set in [1, 2] {
        let lines: String = (0..40).map(|id| format!("{}\n", row(set, id))).collect();
        written(&bench, &format!("{set}.jsonl"), &lines);
    }
    let refused = bench.pagefold("run", &["--set", "read.key=id"]);
    let said = failure(&refused.stderr);
    assert_eq!(refused.status.code(), Some(65), "{said}");
    for part in ["40 of 80 rows would be lost", "the same `id`", "--allow overwritten"] {
        assert!(said.contains(part), "{part} in {said}");
    }
    assert!(said.contains("[read] key = \"row\""), "{said}");
    bench.run_well(&["--set", "read.key=row"]);
    assert_eq!(keys(&bench).0.len(), 80);
    let crawl = bench_of_dates();
    crawl.run_well(&[]);
    for set in ["guards.overwritten_max=1", "guards.overwritten_max=0.5"] {
        let bench = bench_of_dates();
        let said = bench.run_well(&["--set", "read.key=url", "--set", set]);
        assert!(said.contains("superseded 40"), "{said}");
    }
    let said = bench_of_dates().run_well(&["--set", "read.key=link"]);
    assert!(
        said.contains(
            "superseded 40       by another record of the same `link`, 40 with another text\n"
        ),
        "{said}"
    );
}

/// Forty URLs, each in two rows of two dates and texts.
fn bench_of_dates() -> Bench {
    let bench = bench("");
    let lines = (0..80).map(|n| {
        let url = format!("http://a.example/{}", n % 40);
        json!({ "url": url, "link": url, "date": format!("2024-01-0{}", 1 + n / 40), "text": text(n) })
    });
    written(&bench, "a.jsonl", &lines.map(|line| format!("{line}\n")).collect::<String>());
    bench
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, bytes).expect("in memory");
    encoder.finish().expect("in memory")
}
