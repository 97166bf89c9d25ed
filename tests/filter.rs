use crate::containers::{lz4, zip};
use crate::random::Random;
use crate::texts::text;
use crate::workbench::{Bench, copy_folder, demo_inputs, fixture, has_python, number, skip};
use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use lz4_flex::frame::FrameDecoder;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workers::document::canonical_url;

/// What one record says: URL, date, text. Without a text the page is removed.
type Item = (String, &'static str, Option<String>);

/// Records of one file: pages that are identical, near and alone, other spellings and versions of
/// their URLs, and removals.
fn items(file: u64) -> Vec<Item> {
    let mut items = Vec::new();
    for n in 0..30 {
        let url = format!("http://h{}.example/{}", n % 3, (file * 17 + n) % 40);
        items.push((url.clone(), "2024-01-01", Some(text(n % 9, n % 4))));
        match n % 5 {
            0 => items.push((url.replace(".example/", ".example:80/") + "#top", "2024-01-02", Some(text(n % 9, 0)))),
            1 => items.push((url, "2023-01-01", Some(text(n, 9)))),
            2 => items.push((format!("http://h{}.example/x{n}", n % 3), "2024-02-01", None)),
            _ => {}
        }
    }
    items
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).expect("in memory")
}

fn line((url, date, text): &Item) -> String {
    let more = json!({ "kept": [1, { "as": "it is" }], "é": "\u{1F600}" });
    let line = match text {
        Some(text) => json!({ "url": url, "date": date, "text": text, "meta": more }),
        None => json!({ "url": url, "date": date, "deleted": true }),
    };
    format!("{line}\n")
}

fn lines(file: u64) -> String {
    // A mark in front, an empty line, one that is no JSON, and no newline at the end.
    let all: Vec<String> = items(file).iter().map(line).collect();
    let (first, rest) = all.split_at(9);
    format!("\u{feff}{}\n{{\"odd\": \n{}", first.concat(), rest.concat().trim_end())
}

fn warc(kind: &str, url: &str, date: &str, id: u64, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\nWARC-Date: {date}T00:00:00Z\r\n\
         WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-{id:012}>\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body, b"\r\n\r\n"].concat()
}

/// The records of an archive: each page with its request, behind a record about the file.
fn records(file: u64) -> Vec<Vec<u8>> {
    let mut all = vec![warc("warcinfo", "urn:x:y", "2024-01-01", 0, b"software: a test")];
    for (n, (url, date, text)) in (1..).zip(items(file)) {
        let response = match text {
            Some(text) => format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{text}"),
            None => "HTTP/1.1 404 Not Found\r\n\r\n".into(),
        };
        all.push(warc("response", &url, date, file * 1000 + n, response.as_bytes()));
        all.push(warc("request", &url, date, file * 1000 + 500 + n, b"GET / HTTP/1.1\r\n\r\n"));
    }
    all.push(warc("revisit", "http://h0.example/0", "2024-05-01", file * 1000 + 999, b""));
    all
}

fn arc(file: u64) -> Vec<Vec<u8>> {
    let page = |(url, date, text): Item| {
        let text = text.unwrap_or_default();
        let body = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n{text}");
        let date = date.replace('-', "") + "000000";
        format!("{url} 192.0.2.1 {date} text/plain {}\n{body}\n", body.len()).into_bytes()
    };
    let head = b"filedesc://x.arc 0.0.0.0 20200101000000 text/plain 14\n1 0 Somebody\n\n\n".to_vec();
    std::iter::once(head).chain(items(file).into_iter().filter(|item| item.2.is_some()).map(page)).collect()
}

/// A table with nested columns and nulls, in row groups of seven rows.
fn table(file: u64, compression: Compression) -> Vec<u8> {
    let items = items(file);
    let texts = |of: fn(&Item) -> Option<&str>| Arc::new(items.iter().map(of).collect::<StringArray>()) as ArrayRef;
    let mut tags = ListBuilder::new(StringBuilder::new());
    for n in 0..items.len() {
        (0..n % 4).for_each(|tag| tags.values().append_option((tag != 2).then(|| format!("tag {tag} of {n}"))));
        tags.append(n % 5 != 0);
    }
    let deleted = items.iter().map(|item| Some(i64::from(item.2.is_none()))).collect::<Int64Array>();
    let scores = (0..items.len()).map(|n| (n % 3 != 0).then_some(n as i64)).collect::<Int64Array>();
    let inner = [("tags", Arc::new(tags.finish()) as ArrayRef), ("score", Arc::new(scores) as ArrayRef)];
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
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).expect("in memory");
    writer.write(&batch).expect("in memory");
    writer.into_inner().expect("in memory")
}

/// A folder of files in every format and container.
fn crawl(folder: &Path) {
    let put = |name: &str, bytes: Vec<u8>| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, bytes).expect("written");
    };
    put("a.jsonl", lines(0).into_bytes());
    put("deep/b.jsonl.gz", gzip(lines(1).as_bytes()));
    put("deep/er/c.jsonl.zst", zstd(lines(2).as_bytes()));
    put("copy of a.jsonl", lines(0).into_bytes());
    let each = |pack: fn(&[u8]) -> Vec<u8>, records: Vec<Vec<u8>>| records.iter().flat_map(|of| pack(of)).collect();
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

/// All files below `folder`, without what the filter notes for itself.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in std::fs::read_dir(at).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_note = path.file_name().is_some_and(|name| name == "_pagefold");
            if path.is_dir() && !is_note {
                folders.push(path);
            } else if path.is_file() {
                let name = path.strip_prefix(folder).expect("below").to_owned();
                found.insert(name, std::fs::read(&path).expect("readable"));
            }
        }
    }
    found
}

/// The rows of the tables of records below `folder`, in order.
fn rows(folder: &Path) -> Vec<Value> {
    let mut rows = Vec::new();
    for name in files(folder).into_keys() {
        let file = std::fs::File::open(folder.join(&name)).expect("there");
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet").build().expect("readable");
        for batch in reader {
            let batch = batch.expect("readable");
            for row in 0..batch.num_rows() {
                let mut object = serde_json::Map::new();
                for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
                    let text = column.as_string_opt::<i32>().map(|of| json!(of.value(row)));
                    let long = column.as_primitive_opt::<UInt64Type>().map(|of| json!(of.value(row)));
                    let short = column.as_primitive_opt::<UInt32Type>().map(|of| json!(of.value(row)));
                    let value = text.or(long).or(short).filter(|_| !column.is_null(row)).unwrap_or(Value::Null);
                    object.insert(field.name().clone(), value);
                }
                rows.push(Value::Object(object));
            }
        }
    }
    rows
}

fn word<'a>(row: &'a Value, name: &str) -> &'a str {
    row[name].as_str().unwrap_or_default()
}

/// Filters the bench's job and returns its report.
fn filter(bench: &Bench, arguments: &[&str]) -> Value {
    let arguments = [&["--json"], arguments].concat();
    let output = bench.pagefold("filter", &arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Asserts that every record of all inputs has one row, and that the rows of records that hold are
/// the members: each page once, kept if it is a representative, with the cluster it has there.
fn assert_rows_are_members(bench: &Bench, rows: &[Value], read: u64) {
    assert_eq!(rows.len() as u64, read, "a row a record");
    let members = bench.lines("members");
    let mut members: BTreeMap<&str, &Value> = members.iter().map(|member| (word(member, "url"), member)).collect();
    for row in rows {
        let holds = ["kept", "folded"].contains(&word(row, "verdict"));
        assert_eq!(holds, row["cluster"].is_string(), "{row}");
        if !holds {
            continue;
        }
        let url = canonical_url(word(row, "url")).canonical;
        let member = members.remove(url.as_str()).unwrap_or_else(|| panic!("{row}: no page, or one twice"));
        assert_eq!(word(row, "verdict") == "kept", member["is_representative"] == true, "{row}");
        for column in ["cluster", "cluster_size", "representative", "doc"] {
            assert_eq!(row[column], member[column], "{row}");
        }
        assert_eq!(row["relation"].is_null(), word(row, "verdict") == "kept", "{row}");
    }
    assert!(members.is_empty(), "pages without a record: {members:?}");
}

/// What is compressed in `bytes`. Their head tells, since archives have names of all kinds.
fn decoded(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    match bytes {
        [0x1f, 0x8b, ..] => drop(flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut plain).expect("sound")),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => plain = zstd::decode_all(bytes).expect("sound"),
        [0x04, 0x22, 0x4d, 0x18, ..] => {
            let mut rest = bytes;
            while !rest.is_empty() {
                FrameDecoder::new(&mut rest).read_to_end(&mut plain).expect("sound");
            }
        }
        _ => plain = bytes.to_vec(),
    }
    plain
}

/// Schema, metadata, row groups and rows of a Parquet file.
fn content(path: &Path) -> (String, Vec<i64>, Vec<RecordBatch>) {
    let file = std::fs::File::open(path).expect("there");
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
    let metadata = builder.metadata().clone();
    let file = metadata.file_metadata();
    let head = format!("{:?} {:?} {:?}", file.schema(), file.key_value_metadata(), builder.schema());
    let groups = metadata.row_groups();
    let codecs: Vec<String> =
        groups.iter().flat_map(|group| group.columns()).map(|of| format!("{:?}", of.compression())).collect();
    let rows = groups.iter().map(|group| group.num_rows()).collect();
    let batches = builder.with_batch_size(1 << 16).build().expect("readable").map(|batch| batch.expect("readable"));
    (format!("{head} {codecs:?}"), rows, batches.collect())
}

/// A filter writes each record once, to what is kept or to what is removed; what is kept are the
/// representatives and what is no page; and both give the originals: byte for byte where records and
/// members agree, else the same decoded bytes, and in Parquet equal tables.
#[test]
fn filtered_and_undone() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    crawl(&bench.at("in"));
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let arguments = ["--to", "kept", "--removed", "removed", "--records", "records"];
    let report = filter(&bench, &arguments);
    let rows = rows(&bench.at("records"));
    let count = |verdict: &str| rows.iter().filter(|row| word(row, "verdict") == verdict).count() as u64;
    for verdict in ["kept", "folded", "superseded", "seen", "removed", "skipped", "rejected"] {
        assert!(count(verdict) > 0, "no record is {verdict}");
        assert_eq!(report["records"][verdict], count(verdict), "{verdict}");
    }
    // The copy of a file was not read: its records are told, too.
    let copied = rows.iter().filter(|row| word(row, "warc_filename").starts_with("copy")).count() as u64;
    let read = bench.summary()["counters"]["read"].as_u64().expect("a count");
    assert_rows_are_members(&bench, &rows, read + copied);
    assert_eq!(report["pages_elsewhere"], 0);

    let (originals, kept, removed) = (files(&bench.at("in")), files(&bench.at("kept")), files(&bench.at("removed")));
    assert!(!kept.contains_key(Path::new("README.md")), "no crawl");
    assert_eq!(kept.len() + 1, originals.len());
    // Kept lines are those of the rows, as they were, in their order.
    let stays = |row: &&Value| ["kept", "skipped", "rejected"].contains(&word(row, "verdict"));
    for name in ["a.jsonl", "deep/b.jsonl.gz", "deep/er/c.jsonl.zst", "m.jsonl.lz4", "copy of a.jsonl"] {
        let whole = decoded(&originals[Path::new(name)]);
        let of_file: Vec<&Value> = rows.iter().filter(|row| word(row, "warc_filename") == name).collect();
        let mut expected = b"\xef\xbb\xbf".to_vec();
        for (at, row) in of_file.iter().enumerate().filter(|(_, row)| stays(row)) {
            let start = row["position"].as_u64().expect("a place") as usize;
            let end =
                of_file.get(at + 1).map_or(whole.len(), |next| next["position"].as_u64().expect("a place") as usize);
            expected.extend_from_slice(&whole[start..end]);
        }
        assert_eq!(decoded(&kept[Path::new(name)]), expected, "{name}");
    }
    // An offset and a length lead to the record.
    for row in rows.iter().filter(|row| row["warc_record_id"].is_string() && row["warc_record_offset"].is_u64()) {
        let name = Path::new(word(row, "warc_filename"));
        let [offset, length] =
            ["warc_record_offset", "warc_record_length"].map(|n| row[n].as_u64().expect("n") as usize);
        let record = decoded(&originals[name][offset..offset + length]);
        let record = String::from_utf8_lossy(&record);
        assert!(record.starts_with("WARC/1.0") && record.contains(word(row, "warc_record_id")), "{row}: {record}");
    }
    assert!(removed.values().map(Vec::len).sum::<usize>() > 0);

    assert_eq!(assert_undone(&bench), kept.len());

    // What is filtered is a crawl that folds no more: the same pages represent, each alone.
    assert_folds_no_more(&bench);
}

/// Makes the originals again of what was kept and removed: byte for byte where records and members
/// agree, else the same decoded bytes, and in Parquet equal tables. Returns how many there are.
fn assert_undone(bench: &Bench) -> usize {
    let originals = files(&bench.at("in"));
    filter(bench, &["--to", "kept", "--removed", "removed", "--undo", "again"]);
    let again = files(&bench.at("again"));
    for (name, bytes) in &again {
        let original = &originals[name];
        match name.to_str().expect("UTF-8") {
            "j.parquet" | "k.parquet" => {
                assert!(content(&bench.at("again").join(name)) == content(&bench.at("in").join(name)), "{name:?}");
            }
            "deep/b.jsonl.gz" | "deep/er/c.jsonl.zst" | "m.jsonl.lz4" | "f.warc.gz" | "g.warc.gz" => {
                assert!(decoded(bytes) == decoded(original), "{name:?}");
            }
            _ => assert!(bytes == original, "{name:?}"),
        }
    }
    again.len()
}

/// Asserts that what was kept has the pages that represent, and each is alone.
fn assert_folds_no_more(bench: &Bench) {
    let other = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    copy_folder(&bench.at("kept"), &other.at("in"));
    other.run_well(&["--set", "read.rejects_max=1"]);
    let urls = |bench: &Bench, only: bool| {
        let members = bench.lines("members");
        let of = members.iter().filter(|member| !only || member["is_representative"] == true);
        of.map(|member| word(member, "url").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(urls(&other, false), urls(bench, true));
}

/// The fields of the records of a sound WARC, by their names.
fn headers(archive: &[u8]) -> Vec<BTreeMap<String, String>> {
    let (text, mut records) = (decoded(archive), Vec::new());
    let mut rest = &text[..];
    while !rest.is_empty() {
        let end = rest.windows(4).position(|part| part == b"\r\n\r\n").expect("a header") + 4;
        let header = std::str::from_utf8(&rest[..end]).expect("UTF-8");
        let fields = header.lines().filter_map(|line| line.split_once(": "));
        let fields: BTreeMap<String, String> = fields.map(|(name, value)| (name.into(), value.into())).collect();
        let body: usize = fields["Content-Length"].parse().expect("a length");
        rest = rest[end + body..].strip_prefix(b"\r\n\r\n").expect("the end of a record");
        records.push(fields);
    }
    records
}

/// With `--revisits` a record of a WARC that folds into another one of a WARC leaves a revisit in its
/// place, which has its URL and its date and names a record that is kept; no other does. The
/// originals are made of what is kept and removed as without revisits, and what is kept folds no
/// more.
#[test]
fn revisits_stand_for_what_folds() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    crawl(&bench.at("in"));
    // Archives alone, so that most clusters are represented by one of their records.
    for name in files(&bench.at("in")).into_keys().filter(|name| !name.to_string_lossy().contains(".warc")) {
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
            Some(["warc_filename", "url"].map(|name| word(row, name).to_owned()))
                .map(|[file, url]| [file, url, word(of, "url").into(), word(of, "warc_record_id").into()])
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
                assert!(fields["WARC-Profile"].starts_with("urn:pagefold:"), "no digest says that it is identical");
                assert_eq!(fields["Content-Type"], "application/http; msgtype=response");
                assert_eq!(fields["WARC-Date"].len(), fields["WARC-Refers-To-Date"].len());
                let name = name.to_str().expect("UTF-8").to_owned();
                found.push([name, field("WARC-Target-URI"), field("WARC-Refers-To-Target-URI"), of.clone()]);
            }
        }
    }
    assert!(found.iter().all(|[.., of]| ids.get(of) == Some(&1)), "a revisit refers to a record that is kept");
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

/// Nine rows, of which some share a URL or differ only in its spelling: with the URL as key a join
/// lost four of them and kept two copies. By the places of records each page has one row, and no
/// text is kept twice.
#[test]
fn rows_of_one_url() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let texts = ["harvest was good and the barns are full again", "bridge over the river is closed until late may"];
    let urls = ["http://a.example/1", "http://a.example/1#top", "http://a.example:80/1", "http://a.example/a b"];
    let mut lines = String::new();
    for (n, url) in urls.iter().chain(&["http://b.example/图书馆", "http://c.example/", urls[0]]).enumerate() {
        let text =
            format!("the {} says the paper of the town this week {}", texts[n % 2], if n == 5 { "only" } else { "" });
        lines.push_str(&line(&((*url).to_owned(), "2024-01-01", Some(text))));
    }
    std::fs::write(bench.at("in/a.jsonl"), &lines).expect("written");
    std::fs::write(bench.at("in/b.jsonl"), lines.lines().take(2).map(|line| format!("{line}\n")).collect::<String>())
        .expect("written");
    bench.run_well(&[]);
    filter(&bench, &["--to", "kept", "--records", "records"]);
    let rows = rows(&bench.at("records"));
    assert_rows_are_members(&bench, &rows, 9);
    let kept: Vec<u8> = files(&bench.at("kept")).into_values().flatten().collect();
    let kept: Vec<Value> =
        String::from_utf8(kept).expect("UTF-8").lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let representatives = bench.lines("members").into_iter().filter(|member| member["is_representative"] == true);
    assert_eq!(kept.len(), representatives.count());
    let mut texts: Vec<&str> = kept.iter().map(|row| word(row, "text")).collect();
    texts.sort_unstable();
    texts.dedup();
    assert_eq!(texts.len(), kept.len(), "a text is kept twice");
}

/// Over epochs the record that decided a page is the one that is kept, in whichever file it came,
/// after a rename, too. A file that the store has not read is refused by name.
#[test]
fn the_record_that_holds() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let put = |name: &str, items: &[(&str, &'static str, u64)]| {
        let lines: String =
            items.iter().map(|(url, date, of)| line(&((*url).to_owned(), date, Some(text(*of, 0))))).collect();
        std::fs::write(bench.at("in").join(name), lines).expect("written");
    };
    let (one, two) = ("http://a.example/1", "http://a.example/2");
    put("1.jsonl", &[(one, "2024-01-01", 1), (two, "2024-01-01", 2)]);
    bench.run_well(&[]);
    put("2.jsonl", &[(one, "2024-02-01", 3), (two, "2023-01-01", 4)]);
    bench.run_well(&[]);
    std::fs::rename(bench.at("in/1.jsonl"), bench.at("in/0.jsonl")).expect("renamed");
    filter(&bench, &["--to", "kept", "--removed", "removed", "--records", "records"]);
    let rows = rows(&bench.at("records"));
    assert_rows_are_members(&bench, &rows, 4);
    let verdicts: Vec<&str> = rows.iter().map(|row| word(row, "verdict")).collect();
    assert_eq!(verdicts, ["superseded", "kept", "kept", "superseded"]);
    let kept = files(&bench.at("kept"));
    assert!(kept[Path::new("0.jsonl")].len() < 700 && kept[Path::new("2.jsonl")].len() < 700);

    put("3.jsonl", &[(one, "2024-03-01", 5)]);
    let refused = bench.pagefold("filter", &["--to", "kept"]);
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(66) && stderr.contains("3.jsonl: is new, or changed"), "{stderr}");
    // Removed pages have no record that is kept.
    bench.run_well(&[]);
    std::fs::write(bench.at("in/4.jsonl"), line(&(two.to_owned(), "2024-04-01", None))).expect("written");
    bench.run_well(&[]);
    let report = filter(&bench, &["--to", "kept", "--removed", "removed", "--records", "records"]);
    assert_eq!(report["records"], json!({ "kept": 1, "removed": 3, "superseded": 2 }));
    let all: Vec<u8> = files(&bench.at("kept")).into_values().flatten().collect();
    assert_eq!(String::from_utf8(all).expect("UTF-8"), line(&(one.to_owned(), "2024-03-01", Some(text(5, 0)))));
}

/// A filter that was interrupted goes on where it was, and gives the bytes of one that was not,
/// from any number of threads and processes. It never replaces a file of somebody else.
#[test]
fn it_goes_on_where_it_was() {
    let bench = Bench::new(Path::new("in"), "");
    crawl(&bench.at("in"));
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let arguments =
        |dir: &str| ["--to".to_owned(), format!("{dir}/kept"), "--removed".into(), format!("{dir}/removed")];
    let run = |dir: &str, more: &[&str]| {
        let arguments = arguments(dir);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
        filter(&bench, &arguments)
    };
    let first = run("one", &["--threads", "1"]);
    let whole = files(&bench.at("one"));
    // What a killed filter leaves: files without a note, and files that are not whole.
    for name in ["removed/_pagefold/a.jsonl.json", "kept/e.warc.gz"] {
        std::fs::remove_file(bench.at("one").join(name)).expect("there");
    }
    std::fs::remove_file(bench.at("one/removed/_pagefold/d.warc.json")).expect("there");
    std::fs::remove_file(bench.at("one/kept/d.warc")).expect("there");
    let refused = bench.pagefold("filter", &["--to", "one/kept", "--removed", "one/removed"]);
    assert_eq!(refused.status.code(), Some(73), "a file without a note is not ours");
    std::fs::remove_file(bench.at("one/kept/a.jsonl")).expect("there");
    for dir in ["one/removed/a.jsonl", "one/removed/d.warc"] {
        std::fs::remove_file(bench.at(dir)).expect("there");
    }
    let second = run("one", &[]);
    assert_eq!(second["files_before"], first["files"].as_u64().expect("a count") - 3);
    assert!(files(&bench.at("one")) == whole);
    assert_eq!(second["records"], first["records"]);
    // Several processes at once share the files.
    let mut children: Vec<_> = (0..3)
        .map(|_| {
            let mut command = std::process::Command::new(crate::workbench::pagefold());
            command.args(["filter", "job.toml"]).args(arguments("two")).args(["--threads", "2"]);
            command.current_dir(bench.at("")).stdout(std::process::Stdio::null());
            command.spawn().expect("started")
        })
        .collect();
    assert!(children.iter_mut().all(|child| child.wait().expect("ended").success()));
    assert!(files(&bench.at("two")) == whole);
}

/// A filter that is killed at any moment and run again gives the bytes of one that was not, and
/// leaves no parts of files.
#[test]
fn killed_at_any_moment() {
    let bench = Bench::new(Path::new("in"), "");
    crawl(&bench.at("in"));
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let arguments = |dir: &str| {
        let [to, removed, records] = ["kept", "removed", "records"].map(|name| format!("{dir}/{name}"));
        ["--to".into(), to, "--removed".into(), removed, "--records".into(), records, "--revisits".into()]
    };
    let undisturbed = arguments("whole");
    let started = std::time::Instant::now();
    filter(&bench, &undisturbed.each_ref().map(String::as_str));
    let took_us = started.elapsed().as_micros() as u64;
    let whole = files(&bench.at("whole"));
    let (mut random, mut killed) = (Random::seeded(), 0);
    for round in 0..number("PAGEFOLD_KILLS", 25).div_ceil(5) {
        let dir = format!("round{round}");
        let arguments = arguments(&dir);
        for _ in 0..5 {
            let mut command = std::process::Command::new(crate::workbench::pagefold());
            command.args(["filter", "job.toml"]).args(&arguments).current_dir(bench.at(""));
            let mut child = command.stdout(std::process::Stdio::null()).spawn().expect("started");
            std::thread::sleep(std::time::Duration::from_micros(random.below(took_us)));
            // A process that has ended already is not killed.
            let _ = child.kill();
            let code = child.wait().expect("waited").code();
            assert!(code.is_none_or(|code| code == 0), "{code:?}");
            killed += u64::from(code.is_none());
        }
        filter(&bench, &arguments.each_ref().map(String::as_str));
        assert!(files(&bench.at(&dir)) == whole, "round {round}");
    }
    println!("{killed} filters were killed");
    assert!(killed > 0, "no filter was killed");
}

/// A table of records is written wherever it is missing, also in another folder, and no file of
/// somebody else is replaced by it.
#[test]
fn tables_of_records_in_any_folder() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/a.jsonl"), lines(0)).expect("written");
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let run = |records: &str| filter(&bench, &["--to", "kept", "--records", records])["files_before"].clone();
    assert_eq!((run("one"), run("two")), (json!(0), json!(0)));
    let whole = files(&bench.at("one"));
    assert!(!whole.is_empty() && files(&bench.at("two")) == whole);
    std::fs::remove_file(bench.at("two/a.jsonl.parquet")).expect("there");
    assert_eq!((run("two"), run("two")), (json!(0), json!(1)));
    assert!(files(&bench.at("two")) == whole);
    std::fs::create_dir(bench.at("three")).expect("made");
    std::fs::write(bench.at("three/a.jsonl.parquet"), "not ours").expect("written");
    for to in ["kept", "new"] {
        let refused = bench.pagefold("filter", &["--to", to, "--records", "three"]);
        let stderr = String::from_utf8_lossy(&refused.stderr);
        assert!(refused.status.code() == Some(73) && stderr.contains("not written by this filter"), "{stderr}");
        assert_eq!(std::fs::read(bench.at("three/a.jsonl.parquet")).expect("there"), b"not ours");
    }
}

/// An original gets its name only if its bytes are right, and one that is there and right is not in
/// the way.
#[test]
fn originals_are_right_or_not_there() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/a.jsonl"), lines(0)).expect("written");
    bench.run_well(&["--set", "read.rejects_max=1"]);
    let arguments = ["--to", "kept", "--removed", "removed"];
    filter(&bench, &arguments);
    let undo = [&arguments[..], &["--undo", "again"]].concat();
    let original = std::fs::read(bench.at("kept/a.jsonl")).expect("kept");
    let mut wrong = original.clone();
    wrong[20] ^= 1;
    std::fs::write(bench.at("kept/a.jsonl"), wrong).expect("written");
    let refused = bench.pagefold("filter", &undo);
    assert_eq!(refused.status.code(), Some(65), "{}", String::from_utf8_lossy(&refused.stderr));
    assert!(files(&bench.at("again")).is_empty());
    std::fs::write(bench.at("kept/a.jsonl"), original).expect("written");
    // What a process leaves that is killed after it placed the file and before it said so.
    std::fs::write(bench.at("again/a.jsonl"), lines(0)).expect("written");
    assert_eq!(filter(&bench, &undo)["equal"], 1);
    std::fs::remove_file(bench.at("again/a.jsonl")).expect("there");
    assert_eq!(filter(&bench, &undo)["equal"], 1);
    assert_eq!(std::fs::read(bench.at("again/a.jsonl")).expect("made"), lines(0).into_bytes());
}

/// A table that its reader refuses, as it states more rows than its bytes can hold, is copied whole:
/// each of these rows got a label in memory.
#[test]
fn refused_tables_are_copied_whole() {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    let nulls = || Arc::new(StringArray::new_null(200_000)) as ArrayRef;
    let batch = RecordBatch::try_from_iter([("url", nulls()), ("text", nulls())]).expect("a batch");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("in memory");
    writer.write(&batch).expect("in memory");
    std::fs::write(bench.at("in/a.parquet"), writer.into_inner().expect("in memory")).expect("written");
    std::fs::write(bench.at("in/b.jsonl"), lines(0)).expect("written");
    bench.run_well(&["--set", "read.rejects_max=1"]);
    for (dir, more) in [("kept", &[][..]), ("labelled", &["--annotate"])] {
        let report = filter(&bench, &[&["--to", dir], more].concat());
        assert_eq!(report["files_whole"].as_array().map(Vec::len), Some(1), "{report}");
        let copied = std::fs::read(bench.at(dir).join("a.parquet")).expect("copied");
        assert!(copied == std::fs::read(bench.at("in/a.parquet")).expect("there"));
    }
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
                found += records.iter().filter(|fields| !fields.contains_key("WARC-Refers-To")).count();
                let (index, check) = (warcio("index", &path), warcio("check", &path));
                for output in [&index, &check] {
                    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stdout));
                }
                assert_eq!(String::from_utf8(index.stdout).expect("UTF-8").lines().count(), records.len(), "{name}");
            }
            assert_eq!(found, originals, "{name}");
        }
    }
}

/// With `--annotate` every row of JSON lines and Parquet stays, as it was but for its cluster, which
/// is that of `members`; names that a row has already and archives are refused.
#[test]
fn rows_get_their_cluster() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    crawl(&bench.at("in"));
    for name in ["d.warc", "e.warc.gz", "f.warc.gz", "g.warc.gz", "h.warc.zst", "i.arc.gz", "l.warc.lz4"] {
        std::fs::remove_file(bench.at("in").join(name)).expect("there");
    }
    bench.run_well(&["--set", "read.rejects_max=1"]);
    filter(&bench, &["--to", "labelled", "--annotate", "--records", "records"]);
    filter(&bench, &["--to", "others", "--annotate", "--names", "minhash"]);
    let rows = rows(&bench.at("records"));
    for (dir, cluster) in [("labelled", "cluster"), ("others", "minhash_cluster_id")] {
        let (originals, labelled) = (files(&bench.at("in")), files(&bench.at(dir)));
        for (name, bytes) in &labelled {
            let shown = name.to_str().expect("UTF-8");
            let clusters: Vec<&Value> =
                rows.iter().filter(|row| word(row, "warc_filename") == shown).map(|row| &row["cluster"]).collect();
            if shown.ends_with(".parquet") {
                let before = content(&bench.at("in").join(name)).2;
                let after = content(&bench.at(dir).join(name)).2;
                let columns = before[0].num_columns();
                assert_eq!(after[0].schema().field(columns).name(), cluster);
                assert_eq!(after[0].num_columns(), columns + 3);
                let found: Vec<Value> =
                    after.iter().flat_map(|batch| batch[cluster].as_string::<i32>().iter()).map(|c| json!(c)).collect();
                assert!(found.iter().collect::<Vec<_>>() == clusters, "{shown}");
                let left: Vec<RecordBatch> = after
                    .iter()
                    .map(|batch| batch.project(&(0..columns).collect::<Vec<_>>()).expect("columns"))
                    .collect();
                assert!(left.iter().zip(&before).all(|(a, b)| a.columns() == b.columns()), "{shown}");
                continue;
            }
            let text = |bytes: &[u8]| String::from_utf8(decoded(bytes)).expect("UTF-8");
            let (before, after) = (text(&originals[name]), text(bytes));
            assert_eq!(before.lines().count(), after.lines().count(), "{shown}");
            let pairs = before.lines().zip(after.lines()).filter(|(before, _)| !before.is_empty());
            for ((before, after), of) in pairs.zip(&clusters) {
                let Ok(row) = serde_json::from_str::<Value>(after.trim_start_matches('\u{feff}')) else {
                    assert_eq!(before, after, "what is no row stays as it is");
                    continue;
                };
                assert_eq!(&&row[cluster], of, "{shown}: {row}");
                assert!(row.as_object().expect("an object").contains_key("representative"));
                assert!(after.starts_with(before.trim_end_matches('}')), "{before} {after}");
            }
        }
    }
    let refused = |arguments: &[&str], why: &str| {
        let output = bench.pagefold("filter", arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(64) && stderr.contains(why), "{stderr}");
    };
    let row = json!({ "url": "http://z.example/", "text": "one text of its own", "cluster": 1 });
    std::fs::write(bench.at("in/z.jsonl"), format!("{row}\n")).expect("written");
    bench.run_well(&["--set", "read.rejects_max=1"]);
    refused(&["--to", "labelled", "--annotate"], "z.jsonl: has a field `cluster` already");
    std::fs::write(bench.at("in/z.jsonl"), records(3).concat()).expect("written");
    bench.run_well(&["--set", "read.rejects_max=1"]);
    refused(&["--to", "labelled", "--annotate"], "z.jsonl is an archive");
}

/// The records of a WACZ are told with the bytes that they take in it, which are those of a WARC
/// file. It is not written again: its indexes would be wrong.
#[test]
fn records_of_a_wacz() {
    let bench = Bench::new(Path::new("in"), "[confirm]\nfacts = \"off\"\n");
    let members = |file| records(file).iter().flat_map(|record| gzip(record)).collect::<Vec<u8>>();
    let (a, b, c) = (members(3), records(4).concat(), gzip(&records(5).concat()));
    let bytes = zip(&[("archive/a.warc.gz", &a), ("archive/b.warc", &b), ("archive/c.warc.gz", &c)]);
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/x.wacz"), &bytes).expect("written");
    bench.run_well(&[]);
    let refused = bench.pagefold("filter", &["--to", "kept", "--records", "records"]);
    let stderr = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(64) && stderr.contains("x.wacz is a WACZ"), "{stderr}");
    assert!(!bench.at("kept").exists() && !bench.at("records").exists());
    filter(&bench, &["--records", "records"]);
    let rows = rows(&bench.at("records"));
    assert_rows_are_members(&bench, &rows, (3..6).map(|file| records(file).len() as u64).sum());
    let mut alone = 0;
    for row in rows.iter().filter(|row| row["warc_record_offset"].is_u64()) {
        let [offset, length] =
            ["warc_record_offset", "warc_record_length"].map(|n| row[n].as_u64().expect("n") as usize);
        let record = String::from_utf8(decoded(&bytes[offset..offset + length])).expect("UTF-8");
        assert!(record.starts_with("WARC/1.0") && record.contains(word(row, "warc_record_id")), "{row}: {record}");
        assert_eq!(record.matches("WARC/1.0").count(), 1, "{row}");
        alone += 1;
    }
    assert_eq!(alone, records(3).len() + records(4).len());
}

/// Folders that would be read as crawl, or hold the store, are refused before anything is read.
#[test]
fn places_that_would_do_harm() {
    let bench = Bench::new(Path::new("in"), "");
    crawl(&bench.at("in"));
    bench.run_well(&["--set", "read.rejects_max=1"]);
    for (arguments, code, why) in [
        (&["--to", "in/kept"][..], 64, "lies in [read] inputs"),
        (&["--to", "store/kept"], 64, "lies in the store"),
        (&["--to", "out"], 64, "is [output] dir"),
        (&["--to", "x", "--removed", "x"], 64, "is named twice"),
        (&[], 64, "--to DIR"),
        (&["--to", "x", "--removed", "y", "--undo", "z"], 66, "nothing to undo"),
    ] {
        let output = bench.pagefold("filter", arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && stderr.contains(why), "{arguments:?}: {stderr}");
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
