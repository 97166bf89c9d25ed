use super::{TOLERANT, account, add, counts, crawl, gzip, line, page, text};
use crate::workbench::{Bench, failure};
use arrow_array::{ArrayRef, Float32Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use workers::error::Kind;
use workers::plan::inputs::Input;

/// A crawl of `n` sound pages.
fn sound(host: &str, n: u64) -> String {
    (0..n)
        .map(|n| line(&format!("http://{host}.example/{n}"), json!({ "text": text(n) })))
        .collect()
}

/// A Parquet file of these columns.
fn parquet(columns: &[(&str, &[Option<&str>])]) -> Vec<u8> {
    let column = |values: &[Option<&str>]| Arc::new(StringArray::from(values.to_vec())) as ArrayRef;
    let columns = columns.iter().map(|(name, values)| (*name, column(values), true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).expect("a batch");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("in memory");
    writer.write(&batch).expect("in memory");
    writer.into_inner().expect("in memory")
}

/// Runs and waits; a run that hangs fails the test.
fn run_or_hang(bench: &Bench, arguments: &[&str]) -> Output {
    let mut command = bench.command(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let started = Instant::now();
    while child.try_wait().expect("waited").is_none() {
        if started.elapsed() > Duration::from_secs(120) {
            child.kill().expect("killed");
            panic!("the run hangs");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.wait_with_output().expect("ended")
}

/// Runs, which must fail with `code`, and returns what it printed.
fn fails(bench: &Bench, arguments: &[&str], code: i32) -> String {
    let output = run_or_hang(bench, arguments);
    let stderr = failure(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    stderr
}

/// Rows without a URL are rejected by their number, and the others are read. One whose text is null
/// is an empty page.
#[test]
fn rows() {
    let words = text(1);
    let urls = [Some("http://a.example/0"), None, Some("http://a.example/2"), Some("")];
    let bytes =
        parquet(&[("url", &urls), ("text", &[Some(&words), Some(&words), None, Some(&words)])]);
    let account = account(&crawl(&[("a.parquet", &bytes)], ""));
    assert_eq!(account.rejects_of("a.parquet"), [(1, "no_url"), (3, "no_url")]);
    assert_eq!(account.pages.len(), 2);
}

/// A file in a folder that is not a crawl, or is damaged as a whole, is one reject; the files
/// around it are read.
#[test]
fn unfit_files() {
    let words = text(7);
    let table = parquet(&[("url", &[Some("http://p.example/")]), ("text", &[Some(&words)])]);
    let other = parquet(&[("address", &[Some("http://p.example/")]), ("text", &[Some(&words)])]);
    let lines = sound("a", 20);
    let files: [(&str, &[u8]); 7] = [
        ("a.jsonl", lines.as_bytes()),
        ("checksums.md5", b"d41d8cd98f00b204e9800998ecf8427e  a.jsonl\n"),
        ("cut.parquet", &table[..table.len() - 3]),
        ("empty.warc.gz", b""),
        ("index.gz", &gzip(b"a sorted index\n")),
        ("other.parquet", &other),
        ("packed.parquet.gz", &gzip(&table)),
    ];
    let bench = crawl(&files, "");
    let account = account(&bench);
    assert_eq!(account.pages.len(), 20);
    for name in ["cut.parquet", "index.gz", "other.parquet", "packed.parquet.gz"] {
        assert_eq!(account.rejects_of(name), [(0, "bad_file")], "{name}");
    }
    assert_eq!(account.read, 24);
    assert!(bench.run_well(&[]).contains("nothing due"));
    // Mended, it has other bytes and is read.
    add(&bench, &[("cut.parquet", &table)]);
    assert_eq!(self::account(&bench).pages.len(), 21);
}

/// A table whose key column has another type was one bad record, however many rows it had: the run
/// succeeded, and no command said which column it was.
#[test]
fn a_table_that_does_not_fit() {
    let words = text(7);
    let texts = vec![words.as_str(); 300];
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(Float32Array::from_iter_values((0..300).map(|n| n as f32))) as ArrayRef),
        ("text", Arc::new(StringArray::from(texts)) as ArrayRef),
    ]);
    let batch = batch.expect("a batch");
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("in memory");
    writer.write(&batch).expect("in memory");
    let table = writer.into_inner().expect("in memory");
    let lines: String =
        (0..20).map(|n| format!("{}\n", json!({ "id": n, "text": text(n) }))).collect();
    let bench = crawl(&[("a.jsonl", lines.as_bytes()), ("table.parquet", &table)], "");
    let key = ["--set", "read.key=id"];
    let names_it = |said: &str| {
        assert!(
            ["table.parquet", "`id`", "[read] key", "Float32"]
                .iter()
                .all(|part| said.contains(part)),
            "{said}"
        );
    };

    names_it(&fails(&bench, &key, 65));
    let dry = bench.pagefold("run", &[&key[..], &["--dry-run"]].concat());
    names_it(&String::from_utf8_lossy(&dry.stdout));
    names_it(&bench.run_well(&[&key[..], &TOLERANT].concat()));
    assert_eq!(bench.summary()["counters"]["rejected.bad_file"], 300);
    assert_eq!(bench.lines("members").len(), 20);
    for (command, more) in [("status", vec![]), ("check", vec![]), ("filter", vec!["--to", "kept"])]
    {
        let output = bench.pagefold(command, &[&key[..], &more].concat());
        names_it(&String::from_utf8_lossy(&output.stdout));
    }
    assert_eq!(std::fs::read(bench.at("kept/table.parquet")).expect("copied"), table);
}

/// A table without rows and without the columns was one bad record: a complete snapshot that had it
/// removed no page, and a filter ended as for a file that nobody could read.
#[test]
fn a_table_without_rows() {
    let lines = |rows: u64| -> String {
        (0..rows).map(|n| format!("{}\n", json!({ "id": n, "text": text(n) }))).collect()
    };
    let none = parquet(&[("other", &[])]);
    let bench = crawl(&[("a.jsonl", lines(20).as_bytes()), ("none.parquet", &none)], "");
    let options = ["--set", "read.key=id", "--set", "read.complete=true"];
    bench.run_well(&options);
    add(&bench, &[("a.jsonl", lines(19).as_bytes())]);
    bench.run_well(&options);
    assert_eq!(bench.lines("members").len(), 19);
    let output = bench.pagefold("filter", &[&options[..], &["--to", "kept"]].concat());
    assert!(output.status.success(), "{}", failure(&output.stderr));
    assert!(bench.at("kept/none.parquet").exists());
}

/// Each other file beside a crawl was one bad record, and enough of them stopped the run. In a
/// folder such a file is passed by, named in the report and not counted. If the job names it, it is
/// refused with the command that makes a readable file of it.
#[test]
fn companions() {
    let lines = sound("a", 20);
    let zip = [&b"PK\x03\x04"[..], &[0; 26], b"a.warc.gz"].concat();
    let pages = "{\"format\":\"json-pages-1.0\",\"id\":\"pages\"}\n{\"url\":\"http://a.example/0\",\"text\":\"t\"}\n";
    let files: [(&str, &[u8]); 9] = [
        ("a.jsonl", lines.as_bytes()),
        ("README.md", b"# A crawl"),
        ("a.cdx", b" CDX N b a m s k r M S V g\n"),
        ("a.cdxj.gz", &gzip(b"example,a)/ 20240101000000 {}\n")),
        ("b.cdx", b" CDX N b a m s k r M S V g\n"),
        ("a.zip", &zip),
        ("a.warc.lz4", b"\x02\x21\x4c\x18"),
        ("pages.jsonl", pages.as_bytes()),
        ("table.csv", b"url,text\n"),
    ];
    let bench = crawl(&files, "");
    let report = bench.run_well(&[]);
    let account = account(&bench);
    assert_eq!((account.read, account.pages.len(), account.rejects.len()), (20, 20, 0));
    for (name, remedy) in [
        ("a.cdx and 2 more", "index"),
        ("a.zip", "unzip"),
        ("a.warc.lz4", "lz4 -d"),
        ("csv", "python3"),
        ("pages.jsonl", "list of pages"),
    ] {
        let line = report
            .lines()
            .find(|line| line.contains(name))
            .unwrap_or_else(|| panic!("{name}: {report}"));
        assert!(line.contains(remedy), "{line}");
    }
    assert!(bench.run_well(&[]).contains("nothing due"));
    // What is filtered lacks these files as well, and a check of the job says so before any run.
    for (command, of) in [("check", &[][..]), ("filter", &["--to", "kept"])] {
        let output = bench.other(command, of).output().expect("started");
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("in/table.csv: a table"), "{said}");
    }
    let stderr = fails(&bench, &["--set", "read.inputs=[\"in/a.zip\"]"], 65);
    assert!(
        stderr.contains("in/a.zip is a zip archive") && stderr.contains("run unzip"),
        "{stderr}"
    );
}

/// A named file that is not a crawl stops the run with a message, and nothing is committed.
#[test]
fn named_files() {
    for name in ["notes.txt", "cut.parquet"] {
        let bench = Bench::new(&Path::new("in").join(name), "");
        std::fs::create_dir(bench.at("in")).expect("made");
        add(&bench, &[("notes.txt", b"some notes"), ("cut.parquet", b"PAR1PAR")]);
        let stderr = fails(&bench, &TOLERANT, 65);
        assert!(stderr.contains(name), "{stderr}");
        assert!(workers::store::manifest::head(&bench.at("store")).expect("readable").is_none());
    }
}

/// A named file that cannot be read stops the run. The corrected job, which no longer names it,
/// nevertheless read it, because it resumed the plan of the first run.
#[test]
fn a_file_taken_out_of_the_job_is_not_read() {
    let bench = Bench::new(Path::new("in/a.jsonl"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    add(&bench, &[("a.jsonl", sound("a", 3).as_bytes()), ("b.Z", b"\x1f\x9d\x90aaaaaaaaaaaa")]);
    let stderr = fails(&bench, &["--set", "read.inputs=[\"in/a.jsonl\", \"in/b.Z\"]"], 65);
    assert!(stderr.contains("b.Z"), "{stderr}");
    bench.run_well(&[]);
    assert_eq!(bench.summary()["counters"]["read"], 3);
}

/// A run that stops because of rejects names the first one, because there is no `rejects.jsonl`
/// yet.
#[test]
fn the_first_reject_is_named() {
    let lines = sound("a", 1) + "{broken\n{broken\n";
    let bench = crawl(&[("a.jsonl", lines.as_bytes())], "");
    let stderr = fails(&bench, &[], 65);
    let place = format!("in/a.jsonl at {}", sound("a", 1).len());
    assert!(stderr.contains(&place) && stderr.contains("bad_json"), "{stderr}");
    assert!(!bench.at("out").exists());
}

/// Splits of a stopped run are not used again when the job reads differently: other fields or
/// limits give other records.
#[test]
fn a_corrected_job_reads_again() {
    let lines: String = (0..5)
        .map(|n| {
            format!("{}\n", json!({ "link": format!("http://a.example/{n}"), "text": text(n) }))
        })
        .collect();
    let bench = crawl(&[("a.jsonl", lines.as_bytes())], "");
    fails(&bench, &[], 65);
    bench.run_well(&["--set", "read.fields.url=[\"link\"]"]);
    assert_eq!(bench.lines("members").len(), 5);
    let long = line("http://a.example/", json!({ "text": text(1) }));
    let bench = crawl(&[("a.jsonl", long.as_bytes())], "");
    fails(&bench, &["--set", "read.limits.line_bytes_max=50"], 65);
    bench.run_well(&[]);
    assert_eq!(bench.lines("members").len(), 1);
}

/// An input that has changed its size or time since it was planned, or is gone, fails its split;
/// what a stopped run read of other bytes is never used.
#[test]
fn changed_inputs() {
    let bench = crawl(&[("a.jsonl", sound("a", 2).as_bytes())], "");
    let path = bench.at("in/a.jsonl");
    let planned = Input::stat(&path).and_then(Input::digest).expect("readable");
    planned.check_unchanged().expect("as it was");
    let set_time = |seconds: u64| {
        let time = std::time::UNIX_EPOCH + Duration::from_secs(seconds);
        std::fs::File::options()
            .append(true)
            .open(&path)
            .and_then(|file| file.set_modified(time))
            .expect("set");
    };
    set_time(1_000_000);
    assert_eq!(planned.check_unchanged().expect_err("another time").kind(), Kind::TryAgain);
    let planned = Input::stat(&path).expect("readable");
    add(&bench, &[("a.jsonl", (sound("a", 2) + "{broken\n").as_bytes())]);
    set_time(1_000_000);
    assert_eq!(planned.check_unchanged().expect_err("another size").kind(), Kind::TryAgain);
    std::fs::remove_file(&path).expect("removed");
    assert_eq!(planned.check_unchanged().expect_err("gone").kind(), Kind::TryAgain);

    add(&bench, &[("a.jsonl", (sound("a", 2) + &"{broken\n".repeat(3)).as_bytes())]);
    fails(&bench, &[], 65);
    add(&bench, &[("a.jsonl", sound("b", 3).as_bytes())]);
    let account = account(&bench);
    assert!(
        account.pages.len() == 3 && account.pages.keys().all(|url| url.starts_with("http://b.")),
        "{:?}",
        account.pages
    );
}

/// The same bytes are read once in an epoch, and again in a later one under another name, as a
/// delta may repeat. A file that was renamed is not read again.
#[test]
fn same_bytes() {
    let lines = sound("a", 3);
    let bench = crawl(&[("a.jsonl", lines.as_bytes()), ("b.jsonl", lines.as_bytes())], "");
    assert_eq!(account(&bench).read, 3);
    add(&bench, &[("c.jsonl", lines.as_bytes())]);
    let again = account(&bench);
    assert_eq!((again.read, again.pages.len()), (3, 3));
    std::fs::rename(bench.at("in/a.jsonl"), bench.at("in/z.jsonl")).expect("renamed");
    assert!(bench.run_well(&[]).contains("nothing due"));
    add(&bench, &[("d.jsonl", lines.as_bytes()), ("e.jsonl", sound("e", 2).as_bytes())]);
    let after = account(&bench);
    assert_eq!((after.read, after.pages.len()), (5, 5));
    assert_eq!(bench.head().manifest.epoch, 3);
}

/// Only regular files below the named folder are read. Links to elsewhere, pipes, sockets and
/// hidden files are passed over, and nothing waits for a pipe. A pipe that the job names is
/// refused.
#[test]
fn no_regular_files() {
    let bench = crawl(&[("a.warc", &page("a", 1))], "");
    std::fs::create_dir(bench.at("outside")).expect("made");
    std::fs::write(bench.at("outside/b.warc"), page("b", 2)).expect("written");
    symlink(bench.at("outside/b.warc"), bench.at("in/link.warc")).expect("linked");
    symlink(bench.at("outside"), bench.at("in/folder")).expect("linked");
    symlink(bench.at("in"), bench.at("in/again")).expect("linked");
    symlink(bench.at("nowhere"), bench.at("in/dangling.warc")).expect("linked");
    add(&bench, &[(".c.warc", &page("c", 3)), ("_d.warc", &page("d", 4))]);
    let _socket = UnixListener::bind(bench.at("in/socket")).expect("bound");
    let pipe = Command::new("mkfifo").arg(bench.at("in/pipe.warc")).status().expect("started");
    assert!(pipe.success());
    let output = run_or_hang(&bench, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let urls: BTreeSet<String> = account(&bench).pages.keys().cloned().collect();
    assert_eq!(urls, BTreeSet::from(["http://a.example/1".to_owned()]));
    // Links were passed by without a word.
    let links = "4 symbolic links in folders are not followed; if they are inputs, name them";
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(report.contains(&format!("links      {links}")), "{report}");
    let nothing_due = bench.run_well(&[]);
    assert!(
        nothing_due.starts_with("nothing due: ") && nothing_due.contains(links),
        "{nothing_due}"
    );
    let run: Value =
        serde_json::from_slice(&std::fs::read(bench.at("out/run.json")).expect("written"))
            .expect("JSON");
    let left_out = json!({ "hidden": 2, "open": 0, "links": 4, "special": 2, "deep": 0 });
    assert_eq!(run["inputs_left_out"], left_out);
    fails(&bench, &["--set", "read.inputs=[\"in/pipe.warc\"]"], 66);
}

/// A pipe, a socket or a dangling link that only matches a pattern is passed over, as in a folder.
#[test]
fn no_regular_files_by_pattern() {
    let bench = Bench::new(Path::new("in/*"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    add(&bench, &[("a.warc", &page("a", 1))]);
    symlink(bench.at("nowhere"), bench.at("in/dangling.warc")).expect("linked");
    let _socket = UnixListener::bind(bench.at("in/socket")).expect("bound");
    let pipe = Command::new("mkfifo").arg(bench.at("in/pipe.warc")).status().expect("started");
    assert!(pipe.success());
    let output = run_or_hang(&bench, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(bench.lines("members").len(), 1);
    assert_eq!(account(&bench).skipped, counts(&[]));
}

/// The list of bad records is the same however inputs are divided: 100,000 of each file are named,
/// and the others are counted, where a file is read by one worker or by several.
#[test]
fn very_many_bad_records() {
    let lists = ["1", "4"].map(|threads| {
        let bench = crawl(
            &[("a.jsonl", &b"no record\n".repeat(130_000)), ("b.jsonl", b"none either\n")],
            "",
        );
        bench.run_well(&[&TOLERANT[..], &["--threads", threads]].concat());
        assert_eq!(bench.summary()["counters"]["noted.rejects_unnamed"], 30_000);
        assert_eq!(bench.summary()["counters"]["rejected.bad_json"], 130_001);
        assert_eq!(bench.head().manifest.rejects.map(|file| file.lines), Some(100_001));
        std::fs::read(bench.at("out/rejects.jsonl")).expect("written")
    });
    assert_eq!(lists[0].iter().filter(|byte| **byte == b'\n').count(), 100_001);
    // The folders of the two benches differ.
    let [one, other] = lists.map(|list| {
        let lines = String::from_utf8(list).expect("UTF-8");
        let part = |line: &str| line.rsplit_once('/').map(|(_, rest)| rest.to_owned());
        lines.lines().map(part).collect::<Vec<_>>()
    });
    assert!(one == other);
}
