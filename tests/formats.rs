use crate::containers::{lz4, zip};
use crate::workbench::Bench;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use encoding_rs::{BIG5, EUC_KR, Encoding, GB18030, GBK, SHIFT_JIS, UTF_8};
use parquet::arrow::ArrowWriter;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

const SIMPLIFIED: &str = "图书馆今天起延长开放时间，周一至周五开到晚上九点，周末照常。馆长说，新增的座位都在二楼阅览室，读者可以带自己的电脑来，也可以借用。";
const TRADITIONAL: &str = "圖書館今天起延長開放時間，週一至週五開到晚上九點，週末照常。館長說，新增的座位都在二樓閱覽室，讀者可以帶自己的電腦來，也可以借用。";
const JAPANESE: &str = "図書館は今日から開館時間を延長し、平日は夜九時まで利用できるようになりました。二階の閲覧室には新しい席が用意され、自分のパソコンを持ち込むこともできます。";
const KOREAN: &str = "도서관은 오늘부터 운영 시간을 연장하여 평일에는 밤 아홉 시까지 이용할 수 있습니다. 이 층 열람실에는 새 좌석이 마련되어 개인 컴퓨터를 가져와 사용할 수도 있습니다.";

fn html(text: &str, charset: &str) -> String {
    let meta =
        if charset.is_empty() { String::new() } else { format!("<meta charset=\"{charset}\">") };
    format!(
        "<html><head>{meta}</head><body><div class=nav><a href=/>.</a></div><article><p>{text}</p></article></body></html>"
    )
}

/// The page as a server sends it, with its charset in HTTP, in `meta`, as a byte order mark, or
/// nowhere.
fn served() -> Vec<(String, &'static str, Vec<u8>, String)> {
    let mut pages = Vec::new();
    type Charset = (&'static str, &'static Encoding);
    let texts: [(&str, &str, Vec<Charset>); 4] = [
        (
            "zh",
            SIMPLIFIED,
            vec![("utf-8", UTF_8), ("gbk", GBK), ("gb2312", GBK), ("gb18030", GB18030)],
        ),
        ("zh", TRADITIONAL, vec![("utf-8", UTF_8), ("big5", BIG5)]),
        ("ja", JAPANESE, vec![("utf-8", UTF_8), ("shift_jis", SHIFT_JIS)]),
        ("ko", KOREAN, vec![("utf-8", UTF_8), ("euc-kr", EUC_KR)]),
    ];
    for (language, text, charsets) in texts {
        let script = if text == TRADITIONAL { "-traditional" } else { "" };
        for (name, encoding) in charsets {
            for named_by in ["http", "meta", "nothing"] {
                let page = html(text, if named_by == "meta" { name } else { "" });
                let (bytes, _, lost) = encoding.encode(&page);
                assert!(!lost, "{name} cannot write the text");
                let http =
                    if named_by == "http" { format!("; charset={name}") } else { String::new() };
                pages.push((
                    format!("{language}{script}-{name}-{named_by}"),
                    language,
                    bytes.into_owned(),
                    http,
                ));
            }
        }
        let utf16: Vec<u8> = "\u{feff}"
            .chars()
            .chain(html(text, "").chars())
            .collect::<String>()
            .encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect();
        pages.push((format!("{language}{script}-utf-16-mark"), language, utf16, String::new()));
    }
    pages
}

fn warc(url: &str, http: &str, page: &[u8]) -> Vec<u8> {
    let mut block =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/html{http}\r\n\r\n").into_bytes();
    block.extend_from_slice(page);
    let mut record = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2025-01-02T03:04:05Z\r\n\
         WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\nContent-Type: application/http; msgtype=response\r\n\
         Content-Length: {}\r\n\r\n",
        block.len()
    )
    .into_bytes();
    record.extend_from_slice(&block);
    record.extend_from_slice(b"\r\n\r\n");
    record
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

fn put(folder: &Path, name: &str, bytes: &[u8]) {
    std::fs::write(folder.join(name), bytes).expect("written");
}

/// One page in every format and charset is one content with one fingerprint.
///
/// Formats are WARC, WET, ARC, WACZ, JSON lines and Parquet; plain, one gzip member for each record
/// or for the file, zstd and lz4. Charsets stand in HTTP, in `meta`, as a mark, or nowhere. Both
/// Chinese scripts count as one.
#[test]
fn one_page_in_every_form() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    let (mut languages, mut members, mut whole) = (BTreeMap::new(), Vec::new(), Vec::new());
    for (name, language, page, http) in served() {
        for form in ["members", "whole"] {
            languages.insert(format!("http://{form}.example/{name}"), language);
        }
        members.extend(gzip(&warc(&format!("http://members.example/{name}"), &http, &page)));
        whole.extend(warc(&format!("http://whole.example/{name}"), &http, &page));
    }
    put(at, "members.warc.gz", &members);
    put(at, "whole.warc.gz", &gzip(&whole));
    let page = html(SIMPLIFIED, "");
    let mut one = |form: &str| {
        let url = format!("http://{form}.example/");
        languages.insert(url.clone(), "zh");
        url
    };
    put(at, "plain.warc", &warc(&one("plain"), "", page.as_bytes()));
    put(
        at,
        "zstd.warc.zst",
        &zstd::encode_all(&warc(&one("zstd"), "", page.as_bytes())[..], 3).expect("in memory"),
    );
    let conversion = format!(
        "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: {}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{SIMPLIFIED}\r\n\r\n",
        one("wet"),
        SIMPLIFIED.len()
    );
    put(at, "text.warc.wet.gz", &gzip(conversion.as_bytes()));
    let response = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{page}");
    let arc = format!(
        "filedesc://test.arc 0.0.0.0 20250102030405 text/plain 76\n1 0 Test\nURL IP-address Archive-date Content-type Archive-length\n          \n\n\
         {} 127.0.0.1 20250102030405 text/html {}\n{response}\n",
        one("arc"),
        response.len()
    );
    put(at, "old.arc", arc.as_bytes());
    put(at, "old2.arc.gz", &gzip(arc.replace("http://arc.example/", &one("arcgz")).as_bytes()));
    let served = |url: &str| warc(url, "", page.as_bytes());
    put(at, "lz4.warc.lz4", &lz4(&served(&one("lz4"))));
    let files = [
        ("archive/a.warc.gz", gzip(&served(&one("wacz")))),
        ("archive/b.warc", served(&one("wacz2"))),
        (
            "pages/pages.jsonl",
            b"{\"url\":\"http://other.example/\",\"text\":\"another text\"}".to_vec(),
        ),
    ];
    put(at, "crawl.wacz", &zip(&files.each_ref().map(|(name, bytes)| (*name, &bytes[..]))));
    let json = |form: String, field: &str, value: &str| {
        format!("{}\n", serde_json::json!({ "url": form, field: value }))
    };
    put(at, "a.jsonl", json(one("jsonl"), "text", SIMPLIFIED).as_bytes());
    put(at, "b.jsonl.gz", &gzip(json(one("jsonlgz"), "html", &page).as_bytes()));
    put(
        at,
        "c.jsonl.zst",
        &zstd::encode_all(json(one("jsonlzst"), "text", TRADITIONAL).as_bytes(), 3)
            .expect("in memory"),
    );
    put(at, "e.jsonl.lz4", &lz4(json(one("jsonllz4"), "html", &page).as_bytes()));
    let column = |value: &str| Arc::new(StringArray::from(vec![value])) as ArrayRef;
    let batch = RecordBatch::try_from_iter([
        ("url", column(&one("parquet"))),
        ("text", column(SIMPLIFIED)),
    ])
    .expect("a batch");
    let mut parquet = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("in memory");
    parquet.write(&batch).expect("in memory");
    put(at, "d.parquet", &parquet.into_inner().expect("in memory"));

    let bench = Bench::new(at, "");
    bench.run_well(&["--set", "read.rejects_max=0"]);
    let mut seen: BTreeMap<&str, BTreeSet<(String, String)>> = BTreeMap::new();
    let members = bench.lines("members");
    assert_eq!(members.len(), languages.len());
    for member in &members {
        let field = |name: &str| member[name].as_str().unwrap_or_default().to_owned();
        let language = languages[&field("url")];
        seen.entry(language).or_default().insert((field("content"), field("fingerprint")));
    }
    for (language, contents) in &seen {
        let urls = || {
            members
                .iter()
                .map(|m| format!("{} {}", m["fingerprint"], m["url"]))
                .collect::<Vec<_>>()
                .join("\n")
        };
        assert_eq!(contents.len(), 1, "{language}: more than one content\n{}", urls());
    }
    assert_eq!(seen.len(), 3);
}
