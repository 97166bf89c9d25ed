// Each kind of bad input and the tests that guard it: here, in `files` and `visits` below, or in
// other files.
//
// gzip member truncated, trailer missing                archives, read/frames/tests.rs::truncated
// CRC error, junk between members                       archives, read/frames/tests.rs::damage,
//                                                       read/jsonl.rs::members
// zero padding, one member, LF, WARC/0.18               archives,
//                                                       read/frames/tests.rs::zero_padding,
//                                                       members_do_not_matter,
//                                                       read/warc.rs::headers
// ARC                                                   formats.rs::one_page_in_every_form,
//                                                       read/arc.rs
// gzip and zstd bombs, window of zstd                   archives, read/frames/tests.rs::bombs,
//                                                       read/jsonl.rs::bombs, read/http.rs::bombs
// Content-Length off by one, negative, huge, no number  archives,
//                                                       read/frames/tests.rs::lengths_in_members,
//                                                       lengths_in_streams
// chunked and Content-Encoding that lie                 archives, read/http.rs::chunked,
//                                                       lying_headers
// a PDF or a picture that HTTP calls HTML               read/http.rs::binary_bodies, read/binary.rs
// WARC-Truncated, request, metadata, other types        archives, read/warc.rs::types,
//                                                       truncated_by_the_crawler
// revisit, 304, 5xx, 301, 404, 410, deleted rows        visits::what_a_visit_does,
//                                                       read/http.rs::statuses,
//                                                       fold/winner.rs::a_seen_page_is_kept
// long line, nan, depth, surrogate, twice a field       lines, read/json/tests.rs::bad_lines,
//                                                       read/jsonl.rs::long_lines
// invalid UTF-8, NUL, byte order mark                   lines, odd_bytes, read/jsonl.rs::line_ends
// wrong charset, GBK ... Shift-JIS                      odd_bytes, visits::flags_have_no_history,
//                                                       extract/charset.rs,
//                                                       formats.rs::one_page_in_every_form
// deep HTML, many attributes, giant inline data         hostile_pages,
//                                                    extract/tests/mod.rs::hostile_pages_are_linear
// empty, one word, chrome only                          visits::short_texts
// one document many times                               visits::one_text_many_times
// hot bucket, crafted collisions                        oracle.rs, hamming/mod.rs
// a URL twice in an epoch                               visits::twice_in_an_epoch,
//                                                       fold/winner.rs::the_winner_of_a_url
// dates in 1970, in the future, invalid                 visits::twice_in_an_epoch, dates_ahead,
//                                                       read/date.rs
// an input that changes or vanishes                     files::changed_inputs,
//                                                       read/mod.rs::unreadable
// the same file under another name                      files::same_bytes
// path traversal, symlinks, FIFOs                       files::no_regular_files,
//                                                       no_regular_files_by_pattern,
//                                                       listing.rs::finds_each_regular_file_once
// a file that is no crawl                               files::unfit_files, named_files
// Parquet: footer, schema, nulls, huge row group        files::unfit_files, files::rows,
//                                                       files::a_table_that_does_not_fit,
//                                                       read/parquet/tests/damage.rs::no_footer,
//                                                       absurd_groups, damaged_group
// control characters, over-long URLs                    lines, archives,
//                                                       read/record.rs::urls_become_one_line
// too many rejects                                      files::the_first_reject_is_named,
//                                                       a_corrected_job_reads_again,
//                                                       mistakes.rs::too_many_rejects

use crate::workbench::Bench;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

/// Files that cannot be read as they are, and entries that are not files.
mod files;
/// Several records of one page, and pages that say little or the same.
mod visits;

/// The run continues with any number of rejects.
const TOLERANT: [&str; 2] = ["--set", "read.rejects_max=1"];

/// The text of article `n`, unlike any other's.
fn text(n: u64) -> String {
    (0..40).map(|w| format!("word{}", (n * 977 + w * w * 31) % 4093)).collect::<Vec<_>>().join(" ")
}

fn html(n: u64) -> String {
    format!("<html><body><p>{}</p></body></html>", text(n))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).expect("in memory");
    encoder.finish().expect("in memory")
}

/// A WARC record with these further fields, each with its line end.
fn warc(kind: &str, url: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n{fields}Content-Length: {length}\r\n\r\n"
    );
    [head.as_bytes(), body, b"\r\n\r\n"].concat()
}

/// A response with these HTTP fields, each with its line end.
fn response(url: &str, status: &str, fields: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{fields}\r\n");
    warc("response", url, "", &[head.as_bytes(), body].concat())
}

fn page(host: &str, n: u64) -> Vec<u8> {
    response(&format!("http://{host}.example/{n}"), "200 OK", "", html(n).as_bytes())
}

/// Page `n`, whose WARC header claims to be `claim` bytes long.
fn claims(host: &str, n: u64, claim: impl Fn(usize) -> String) -> Vec<u8> {
    let record = String::from_utf8(page(host, n)).expect("UTF-8");
    let (head, rest) = record.split_once("Content-Length: ").expect("a length");
    let (length, rest) = rest.split_once("\r\n").expect("a line");
    format!("{head}Content-Length: {}\r\n{rest}", claim(length.parse().expect("a number")))
        .into_bytes()
}

fn line(url: &str, more: Value) -> String {
    let mut line = json!({ "url": url });
    line.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    format!("{line}\n")
}

/// A bench that reads the folder `in` with these files.
fn crawl(files: &[(&str, &[u8])], more: &str) -> Bench {
    let bench = Bench::new(Path::new("in"), more);
    std::fs::create_dir(bench.at("in")).expect("made");
    add(&bench, files);
    bench
}

fn add(bench: &Bench, files: &[(&str, &[u8])]) {
    files.iter().for_each(|(name, bytes)| {
        std::fs::write(bench.at("in").join(name), bytes).expect("written")
    });
}

/// The last epoch's records and what became of them.
struct Account {
    read: u64,
    skipped: BTreeMap<String, u64>,
    noted: BTreeMap<String, u64>,
    /// Offsets and reasons by file, in the file's order.
    rejects: BTreeMap<String, Vec<(u64, String)>>,
    /// Rows of `members` by URL.
    pages: BTreeMap<String, Value>,
}

impl Account {
    fn content(&self, url: &str) -> &str {
        let page = self.pages.get(url).unwrap_or_else(|| panic!("{url} is no page"));
        page["content"].as_str().unwrap_or_default()
    }

    fn rejects_of(&self, file: &str) -> Vec<(u64, &str)> {
        self.rejects
            .get(file)
            .into_iter()
            .flatten()
            .map(|(at, reason)| (*at, reason.as_str()))
            .collect()
    }
}

/// Runs, which must succeed. Asserts what holds for every run: all records are accounted for, and
/// each reject has its file, its place and a reason.
fn account(bench: &Bench) -> Account {
    bench.run_well(&TOLERANT);
    let summary = bench.summary();
    let counters = summary["counters"].as_object().expect("an object");
    let group = |prefix: &str| -> BTreeMap<String, u64> {
        let of = |(name, n): (&String, &Value)| {
            Some((name.strip_prefix(prefix)?.to_owned(), n.as_u64()?))
        };
        counters.iter().filter_map(of).collect()
    };
    let (skipped, rejected, noted) = (group("skipped."), group("rejected."), group("noted."));
    let (read, accepted) = (group("read")[""], group("accepted")[""]);
    assert_eq!(read, accepted + skipped.values().sum::<u64>() + rejected.values().sum::<u64>());
    let mut rejects: BTreeMap<String, Vec<(u64, String)>> = BTreeMap::new();
    let mut by_reason: BTreeMap<String, u64> = BTreeMap::new();
    for line in bench.lines("rejects") {
        let field = |name: &str| line[name].as_str().expect("a string").to_owned();
        assert!(bench.at(&field("file")).is_file() && line["detail"].is_string(), "{line}");
        let file = field("file").strip_prefix("in/").expect("below in").to_owned();
        rejects
            .entry(file)
            .or_default()
            .push((line["offset"].as_u64().expect("an offset"), field("reason")));
        *by_reason.entry(field("reason")).or_default() += 1;
    }
    assert_eq!(by_reason, rejected);
    let url = |page: &Value| page["url"].as_str().expect("a url").to_owned();
    let pages = bench.lines("members").into_iter().map(|page| (url(&page), page)).collect();
    Account { read, skipped, noted, rejects, pages }
}

fn counts(of: &[(&str, u64)]) -> BTreeMap<String, u64> {
    of.iter().map(|(name, n)| (name.to_string(), *n)).collect()
}

/// Damaged archives and false headers cost only the records that they hit: what is read equals the
/// sound page, and what was lost is listed with its place.
#[test]
fn archives() {
    type Case = (&'static str, Vec<u8>, &'static [u64], Vec<(usize, &'static str)>);
    let member = |host: &str, n: u64| gzip(&page(host, n));
    let mut cases: Vec<Case> = Vec::new();
    let records = [0, 1, 2].map(|n| page("cut-whole", n));
    let whole = gzip(&records.concat());
    let last = records[0].len() + records[1].len();
    cases.push((
        "cut-whole.warc.gz",
        whole[..whole.len() - 8].to_vec(),
        &[0, 1],
        vec![(last, "truncated")],
    ));
    let [a, b] = [0, 1].map(|n| member("cut-last", n));
    cases.push((
        "cut-last.warc.gz",
        [&a, &b[..b.len() - 1]].concat(),
        &[0],
        vec![(a.len(), "truncated")],
    ));
    let [a, mut b, c] = [0, 1, 2].map(|n| member("checksum", n));
    let checksum = b.len() - 8;
    b[checksum] ^= 1;
    cases.push((
        "checksum.warc.gz",
        [&a[..], &b, &c].concat(),
        &[0, 2],
        vec![(a.len(), "bad_member")],
    ));
    let [a, b] = [0, 1].map(|n| member("junk", n));
    let junk = b"junk\x1f\x8b\x08\0more junk".as_slice();
    cases.push(("junk.warc.gz", [&a, junk, &b].concat(), &[0, 1], vec![(a.len(), "junk")]));
    let [a, b] = [0, 1].map(|n| member("zeros", n));
    cases.push(("zeros.warc.gz", [&a[..], &[0; 9000], &b, &[0; 9000]].concat(), &[0, 1], vec![]));
    cases.push((
        "one.warc.gz",
        gzip(&[0, 1, 2].map(|n| page("one", n)).concat()),
        &[0, 1, 2],
        vec![],
    ));
    let unix = String::from_utf8(page("lf", 0)).expect("UTF-8");
    let (head, rest) = unix.split_once("\r\n\r\n").expect("a header");
    cases.push((
        "lf.warc",
        format!("{}\n\n{rest}", head.replace('\r', "")).into_bytes(),
        &[0],
        vec![],
    ));
    let old =
        String::from_utf8(page("old", 0)).expect("UTF-8").replacen("WARC/1.0", "WARC/0.18", 1);
    cases.push(("old.warc", old.into_bytes(), &[0], vec![]));

    let [a, b] = [0, 1].map(|n| member("bomb", n));
    let huge = warc("response", "http://bomb.example/9", "", &vec![0; 8 << 20]);
    let bomb = gzip(&huge);
    cases.push(("bomb.warc.gz", [&a[..], &bomb, &b].concat(), &[0, 1], vec![(a.len(), "bomb")]));
    let [a, b] = [0, 1].map(|n| zstd::encode_all(&page("zbomb", n)[..], 1).expect("in memory"));
    let bomb = zstd::encode_all(&huge[..], 1).expect("in memory");
    cases.push(("zbomb.warc.zst", [&a[..], &bomb, &b].concat(), &[0, 1], vec![(a.len(), "bomb")]));
    // A frame of one raw block; the byte after the flags asks for a window of 2^(10 + byte / 8)
    // bytes.
    let frame = |window: u8, bytes: &[u8]| {
        let size = ((bytes.len() as u32) << 3 | 1).to_le_bytes();
        [&[0x28, 0xb5, 0x2f, 0xfd, 0, window], &size[..3], bytes].concat()
    };
    let [a, b] = [(17 << 3, 0), (18 << 3, 1)].map(|(window, n)| frame(window, &page("window", n)));
    cases.push(("window.warc.zst", [&a[..], &b].concat(), &[0], vec![(a.len(), "bad_member")]));
    let packed = response(
        "http://inner.example/1",
        "200 OK",
        "Content-Encoding: gzip\r\n",
        &gzip(&vec![b'x'; 300_000]),
    );
    cases.push((
        "inner.warc",
        [page("inner", 0), packed, page("inner", 2)].concat(),
        &[0, 2],
        vec![(page("inner", 0).len(), "too_long")],
    ));
    let long = response("http://long.example/1", "200 OK", "", &vec![b'x'; 300_000]);
    cases.push((
        "long.warc",
        [page("long", 0), long, page("long", 2)].concat(),
        &[0, 2],
        vec![(page("long", 0).len(), "too_long")],
    ));

    let wrong: [fn(usize) -> String; 6] = [
        |n| (n - 1).to_string(),
        |n| (n + 1).to_string(),
        |_| "-1".into(),
        |_| u64::MAX.to_string(),
        |_| "many".into(),
        |_| "9".repeat(30),
    ];
    let each = [0, 1, 2, 3, 4, 5].map(|n: u64| gzip(&claims("lengths", n, wrong[n as usize])));
    cases.push(("lengths.warc.gz", each.concat(), &[0, 1, 2, 3, 4, 5], vec![]));
    let stream = [
        page("stream", 0),
        claims("stream", 1, wrong[2]),
        page("stream", 2),
        claims("stream", 3, wrong[3]),
    ];
    let at = |n: usize| stream[..n].concat().len();
    let lost = vec![(at(1), "bad_length"), (at(3), "truncated")];
    cases.push(("stream.warc", stream.concat(), &[0, 2], lost));

    let lies = |n: u64, fields: &str, body: &str| {
        response(&format!("http://lies.example/{n}"), "200 OK", fields, body.as_bytes())
    };
    let padded = format!("{:x}\r\n{}\r\n0000000000000000000\r\n\r\n", html(3).len(), html(3));
    let lies = [
        lies(0, "Transfer-Encoding: chunked\r\n", &html(0)),
        lies(1, "Content-Encoding: gzip\r\n", &html(1)),
        lies(2, "Content-Encoding: br\r\n", &html(2)),
        lies(3, "Transfer-Encoding: chunked\r\n", &padded),
        lies(4, "Content-Length: 7\r\n", &html(4)),
    ];
    cases.push(("lies.warc", lies.concat(), &[0, 1, 2, 3, 4], vec![]));
    let kinds = [
        warc("warcinfo", "", "", b""),
        warc("request", "http://kinds.example/0", "", b"GET / HTTP/1.1\r\n\r\n"),
        warc("metadata", "http://kinds.example/0", "", b"x: y"),
        warc("resource", "http://kinds.example/1", "Content-Type: image/png\r\n", b"x"),
        warc("response", "dns:kinds.example", "Content-Type: text/dns\r\n", b"x"),
        response("http://kinds.example/2", "302 Found", "Location: /0\r\n", b""),
        warc(
            "resource",
            "http://kinds.example/0",
            "Content-Type: text/html\r\nWARC-Truncated: length\r\n",
            html(0).as_bytes(),
        ),
    ];
    let lost = kinds.concat().len();
    let urls = [
        page(&"x".repeat(70_000), 0),
        response("http://kinds.example/\u{1}", "200 OK", "", html(1).as_bytes()),
    ];
    cases.push((
        "kinds.warc",
        [kinds.concat(), urls.concat()].concat(),
        &[0],
        vec![(lost, "long_url")],
    ));

    let files: Vec<(&str, &[u8])> =
        cases.iter().map(|(name, bytes, ..)| (*name, &bytes[..])).collect();
    let limits = "[read.limits]\nratio_bytes_min = 1048576\nrecord_bytes_max = 200000\n";
    let account = account(&crawl(&files, limits));
    let mut expected = BTreeSet::from(["http://kinds.example/%01".to_owned()]);
    for (name, _, pages, rejects) in &cases {
        let found = account.rejects_of(name);
        let rejects: Vec<(u64, &str)> =
            rejects.iter().map(|(at, reason)| (*at as u64, *reason)).collect();
        assert_eq!(found, rejects, "{name}");
        let host = name.split('.').next().unwrap_or_default();
        for n in *pages {
            let url = format!("http://{host}.example/{n}");
            assert_eq!(
                account.content(&url),
                account.content(&format!("http://lengths.example/{n}")),
                "{url}"
            );
            expected.insert(url);
        }
    }
    assert_eq!(account.pages.keys().cloned().collect::<BTreeSet<_>>(), expected);
    let skipped = [
        ("metadata", 1),
        ("not_text", 1),
        ("request", 1),
        ("scheme", 1),
        ("status", 1),
        ("warcinfo", 1),
    ];
    assert_eq!(account.skipped, counts(&skipped));
    let noted = [
        ("length_too_short", 1),
        ("length_wrong", 4),
        ("lf_header", 1),
        ("raw_body", 3),
        ("warc_0", 1),
        ("warc_truncated", 1),
        ("zero_padding", 1),
    ];
    assert_eq!(account.noted, counts(&noted));
}

/// Each kind of bad line is rejected with its place and reason, plain and compressed, and the lines
/// around it are read.
#[test]
fn lines() {
    let good = |n: u64| line(&format!("http://a.example/{n}"), json!({ "text": text(n) }));
    let raw = |middle: &str| format!("{{\"url\":\"http://bad.example/\",{middle}}}\n");
    let bad: [(Vec<u8>, &str); 14] = [
        ("x".repeat(6000).into_bytes(), "long_line"),
        (raw(&format!("\"text\":\"{}\"", "y".repeat(90_000))).into_bytes(), "long_line"),
        (raw("\"text\":\"t\",\"x\":nan").into_bytes(), "bad_json"),
        (raw("\"text\":\"t").into_bytes(), "bad_json"),
        (b"[1, 2]".to_vec(), "bad_json"),
        (
            raw(&format!("\"text\":{}{}", "[".repeat(2000), "]".repeat(2000))).into_bytes(),
            "bad_field",
        ),
        (raw("\"text\":\"\\ud800 \"").into_bytes(), "bad_escape"),
        (raw("\"text\":\"a\",\"text\":\"b\"").into_bytes(), "duplicate_field"),
        (b"{\"url\":\"http://bad.example/\",\"text\":\"\xff\xfe\"}".to_vec(), "bad_utf8"),
        (raw("\"text\":\"a\0b\"").into_bytes(), "nul"),
        (raw("\"text\":3").into_bytes(), "bad_field"),
        (raw("\"x\":1").into_bytes(), "no_text"),
        (b"{\"text\":\"no url\"}".to_vec(), "no_url"),
        (b"{\"url\":\"\",\"text\":\"no url\"}".to_vec(), "no_url"),
    ];
    let mut file = b"\xef\xbb\xbf".to_vec();
    let mut rejects = Vec::new();
    for (n, (bytes, reason)) in bad.iter().enumerate() {
        file.extend(good(n as u64).bytes());
        rejects.push((file.len() as u64, *reason));
        file.extend(bytes.strip_suffix(b"\n").unwrap_or(bytes));
        file.extend(b"\r\n\n");
    }
    file.extend(good(14).trim_end().bytes());
    let odd = line("http://b.example/a\u{1}b\nc", json!({ "text": text(50) }))
        + &line(&format!("http://b.example/{}", "x".repeat(4000)), json!({ "text": text(51) }));
    let files: [(&str, &[u8]); 3] =
        [("a.jsonl", &file), ("b.jsonl.gz", &gzip(&file)), ("c.jsonl", odd.as_bytes())];
    let bench = crawl(&files, "[read.limits]\nline_bytes_max = 5000\n");
    let account = account(&bench);
    assert_eq!(account.rejects_of("a.jsonl"), rejects);
    assert_eq!(account.rejects_of("b.jsonl.gz"), rejects);
    assert_eq!((account.read, account.pages.len()), (2 * (14 + 15) + 2, 15 + 2));
    assert!(account.pages.contains_key("http://b.example/a%01b%0Ac"));
    let bench = crawl(
        &[("long.jsonl", line(&"u".repeat(70_000), json!({ "text": text(1) })).as_bytes())],
        "",
    );
    assert_eq!(self::account(&bench).rejects_of("long.jsonl"), [(0, "long_url")]);
}

/// A page with a NUL, a mark, a false charset or a damaged byte gives nearly the text of the sound
/// one. A page of which more than a tenth cannot be read is flagged, in any format.
#[test]
fn odd_bytes() {
    let served = |n: u64, charset: &str, body: &[u8]| {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html{charset}\r\n\r\n");
        warc("response", &format!("http://a.example/{n}"), "", &[head.as_bytes(), body].concat())
    };
    let chinese = "图书馆今天起延长开放时间，周一至周五开到晚上九点，周末照常。馆长说，新增的座位都在二楼阅览室。";
    let sound = format!("<html><body><p>{chinese}</p></body></html>");
    let (gbk, ..) = encoding_rs::GBK.encode(&sound);
    let broken = "gut \u{fffd}\u{fffd} ".repeat(60);
    let records = [
        served(0, "", sound.as_bytes()),
        served(1, "", sound.replacen("今天", "今\0天", 1).as_bytes()),
        served(2, "; charset=gbk", &[b"\xef\xbb\xbf", sound.as_bytes()].concat()),
        served(3, "; charset=iso-8859-1", sound.as_bytes()),
        served(4, "; charset=utf-8", &gbk),
        served(5, "; charset=no-such-thing", &gbk),
        served(6, "; charset=utf-16le", sound.as_bytes()),
        served(7, "", &[&sound.as_bytes()[..40], b"\xff", &sound.as_bytes()[40..]].concat()),
    ];
    let conversion = warc("conversion", "http://a.example/9", "", broken.as_bytes());
    let rows = line("http://a.example/10", json!({ "text": broken }));
    let bench = crawl(&[("a.warc", &records.concat())], "");
    let sane = account(&bench);
    for n in 0..7 {
        assert_eq!(
            sane.content(&format!("http://a.example/{n}")),
            sane.content("http://a.example/0"),
            "{n}"
        );
    }
    assert!(sane.pages.contains_key("http://a.example/7"));
    assert!(!sane.noted.contains_key("replaced_characters"), "{:?}", sane.noted);
    let served = served(8, "", format!("<p>{broken}</p>").as_bytes());
    for (name, bytes) in
        [("b.warc", &served[..]), ("c.warc", &conversion), ("d.jsonl", rows.as_bytes())]
    {
        add(&bench, &[(name, bytes)]);
        assert_eq!(account(&bench).noted.get("replaced_characters"), Some(&1), "{name}");
    }
}

/// Hostile pages do not stop a run: their text is the text of the plain page.
#[test]
fn hostile_pages() {
    let body = html(1);
    let attributes: String = (0..20_000).map(|n| format!(" a{n}=\"{n}\"")).collect();
    let bodies = [
        body.clone(),
        format!("{}{body}", "<div>".repeat(20_000)),
        format!("<div{attributes}></div>{body}"),
        format!("<img src=\"data:image/png;base64,{}\">{body}", "QUJD".repeat(500_000)),
        format!("<style>{}</style>{body}", "a{b:c}".repeat(100_000)),
        format!("{body}<!--{}", "-- ".repeat(10_000)),
        format!("{body}<script>{}", "</".repeat(10_000)),
        format!("{body}{}", "<!-- -->".repeat(1_200_000)),
    ];
    let page = |(n, body): (usize, &String)| {
        response(&format!("http://a.example/{n}"), "200 OK", "", body.as_bytes())
    };
    let file: Vec<u8> = bodies.iter().enumerate().flat_map(page).collect();
    let account = account(&crawl(&[("a.warc.gz", &gzip(&file))], ""));
    assert_eq!(account.pages.len(), bodies.len());
    for url in account.pages.keys() {
        assert_eq!(account.content(url), account.content("http://a.example/0"), "{url}");
    }
    assert_eq!(account.noted.get("page_cut"), Some(&1), "the last one has more than 8 MiB");
}
