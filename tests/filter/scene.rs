//! A crawl in every format and container.

use crate::containers::lz4;
use crate::texts::text;
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// What one record says: URL, date, text. Without a text the page is removed.
pub type Item = (String, &'static str, Option<String>);

/// Records of one file: pages that are identical, near and alone, other spellings and versions of
/// their URLs, and removals.
fn items(file: u64) -> Vec<Item> {
    let mut items = Vec::new();
    for n in 0..30 {
        let url = format!("http://h{}.example/{}", n % 3, (file * 17 + n) % 40);
        items.push((url.clone(), "2024-01-01", Some(text(n % 9, n % 4))));
        match n % 5 {
            0 => items.push((
                url.replace(".example/", ".example:80/") + "#top",
                "2024-01-02",
                Some(text(n % 9, 0)),
            )),
            1 => items.push((url, "2023-01-01", Some(text(n, 9)))),
            2 => items.push((format!("http://h{}.example/x{n}", n % 3), "2024-02-01", None)),
            _ => {}
        }
    }
    items
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

pub fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).expect("in memory")
}

pub fn line((url, date, text): &Item) -> String {
    let more = json!({ "kept": [1, { "as": "it is" }], "é": "\u{1F600}" });
    let line = match text {
        Some(text) => json!({ "url": url, "date": date, "text": text, "meta": more }),
        None => json!({ "url": url, "date": date, "deleted": true }),
    };
    format!("{line}\n")
}

pub fn lines(file: u64) -> String {
    // A mark in front, an empty line, one that is no JSON, and no newline at the end.
    let all: Vec<String> = items(file).iter().map(line).collect();
    let (first, rest) = all.split_at(9);
    format!("\u{feff}{}\n{{\"odd\": \n{}", first.concat(), rest.concat().trim_end())
}

/// A record of an archive, of the first second of `date`, with more `fields`.
pub fn warc(kind: &str, url: &str, date: &str, id: u64, fields: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}T00:00:00Z\r\n{fields}\
         WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{id:012}>\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body, b"\r\n\r\n"].concat()
}

/// The records of an archive: each page with its request, behind a record about the file.
pub fn records(file: u64) -> Vec<Vec<u8>> {
    let mut all = vec![warc("warcinfo", "urn:x:y", "2024-01-01", 0, "", b"software: a test")];
    for (n, (url, date, text)) in (1..).zip(items(file)) {
        let response = match text {
            Some(text) => format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{text}"),
            None => "HTTP/1.1 404 Not Found\r\n\r\n".into(),
        };
        all.push(warc("response", &url, date, file * 1000 + n, "", response.as_bytes()));
        all.push(warc("request", &url, date, file * 1000 + 500 + n, "", b"GET / HTTP/1.1\r\n\r\n"));
    }
    all.push(warc("revisit", "http://h0.example/0", "2024-05-01", file * 1000 + 999, "", b""));
    all
}

fn arc(file: u64) -> Vec<Vec<u8>> {
    let page = |(url, date, text): Item| {
        let text = text.unwrap_or_default();
        let body = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{text}");
        let date = date.replace('-', "") + "000000";
        format!("{url} 192.0.2.1 {date} text/plain {}\n{body}\n", body.len()).into_bytes()
    };
    let head =
        b"filedesc://x.arc 0.0.0.0 20200101000000 text/plain 14\n1 0 Somebody\n\n\n".to_vec();
    std::iter::once(head)
        .chain(items(file).into_iter().filter(|item| item.2.is_some()).map(page))
        .collect()
}

/// A table with nested columns and nulls, in row groups of seven rows.
fn table(file: u64, compression: Compression) -> Vec<u8> {
    let items = items(file);
    let texts = |of: fn(&Item) -> Option<&str>| {
        Arc::new(items.iter().map(of).collect::<StringArray>()) as ArrayRef
    };
    let mut tags = ListBuilder::new(StringBuilder::new());
    for n in 0..items.len() {
        (0..n % 4).for_each(|tag| {
            tags.values().append_option((tag != 2).then(|| format!("tag {tag} of {n}")))
        });
        tags.append(n % 5 != 0);
    }
    let deleted =
        items.iter().map(|item| Some(i64::from(item.2.is_none()))).collect::<Int64Array>();
    let scores = (0..items.len()).map(|n| (n % 3 != 0).then_some(n as i64)).collect::<Int64Array>();
    let inner =
        [("tags", Arc::new(tags.finish()) as ArrayRef), ("score", Arc::new(scores) as ArrayRef)];
    let meta = StructArray::try_from(inner.to_vec()).expect("a struct");
    let batch = RecordBatch::try_from_iter([
        ("url", texts(|item| Some(&item.0))),
        ("meta", Arc::new(meta) as ArrayRef),
        ("text", texts(|item| item.2.as_deref())),
        ("date", texts(|item| Some(item.1))),
        ("deleted", Arc::new(deleted) as ArrayRef),
    ]);
    let batch = batch.expect("a batch");
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(7))
        .set_key_value_metadata(Some(vec![KeyValue::new("owner".to_owned(), "a test".to_owned())]))
        .build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).expect("in memory");
    writer.write(&batch).expect("in memory");
    writer.into_inner().expect("in memory")
}

/// A table of this many rows that is not compressed.
pub fn plain_table(
    rows: u64,
    url: impl Fn(u64) -> String,
    text: impl Fn(u64) -> String,
) -> Vec<u8> {
    let column = |of: &dyn Fn(u64) -> String| {
        Arc::new((0..rows).map(|n| Some(of(n))).collect::<StringArray>()) as ArrayRef
    };
    let batch = RecordBatch::try_from_iter([("url", column(&url)), ("text", column(&text))]);
    let batch = batch.expect("a batch");
    let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
    let mut writer =
        ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).expect("in memory");
    writer.write(&batch).expect("in memory");
    writer.into_inner().expect("in memory")
}

/// A folder of files in every format and container.
pub fn crawl(folder: &Path) {
    let put = |name: &str, bytes: Vec<u8>| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, bytes).expect("written");
    };
    put("a.jsonl", lines(0).into_bytes());
    put("deep/b.jsonl.gz", gzip(lines(1).as_bytes()));
    put("deep/er/c.jsonl.zst", zstd(lines(2).as_bytes()));
    put("copy of a.jsonl", lines(0).into_bytes());
    let each = |pack: fn(&[u8]) -> Vec<u8>, records: Vec<Vec<u8>>| {
        records.iter().flat_map(|of| pack(of)).collect()
    };
    put("d.warc", records(3).concat());
    put("e.warc.gz", each(gzip, records(4)));
    put("f.warc.gz", gzip(&records(5).concat()));
    put("g.warc.gz", records(6).chunks(3).flat_map(|some| gzip(&some.concat())).collect());
    put("h.warc.zst", each(zstd, records(7)));
    put("i.arc.gz", each(gzip, arc(8)));
    put("l.warc.lz4", each(lz4, records(11)));
    put("m.jsonl.lz4", lz4(lines(12).as_bytes()));
    put("j.parquet", table(9, Compression::SNAPPY));
    put("k.parquet", table(10, Compression::ZSTD(ZstdLevel::default())));
    put("empty.jsonl", Vec::new());
    put("README.md", b"what this is".to_vec());
}
