use crate::random::Random;
use crate::workbench::Bench;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// A bench that reads the folder `in`.
fn bench(more: &str) -> Bench {
    let bench = Bench::new(Path::new("in"), more);
    std::fs::create_dir(bench.at("in")).expect("made");
    bench
}

/// Lines of pages with unrelated texts under the fields `url` and `text`; `more` is JSON of other
/// fields, each with a comma behind it.
fn pages(numbers: std::ops::Range<u64>, edition: u64, url: &str, text: &str, more: &str) -> String {
    let mut lines = String::new();
    for page in numbers {
        let word =
            |w: u64| format!("w{}", (page * 7919 + edition * 5003 + w * 104_729) % 1_000_003);
        let words: Vec<String> = (0..20).map(word).collect();
        let words = words.join(" ");
        writeln!(lines, "{{{more}\"{url}\":\"http://a.example/{page}\",\"{text}\":\"{words}\"}}")
            .expect("a string");
    }
    lines
}

/// Runs with more arguments, and returns exit code, stdout and stderr.
fn run(bench: &Bench, more: &[&str]) -> (Option<i32>, String, String) {
    let output = bench.run(more);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn urls(bench: &Bench) -> BTreeSet<String> {
    bench
        .lines("members")
        .iter()
        .map(|row| row["url"].as_str().expect("a URL").to_owned())
        .collect()
}

/// A file that got its former bytes, size and time again, as `cp -p` does it, was taken for a file
/// that nobody had touched, and its pages stayed as between.
#[test]
fn a_file_that_is_back_is_read() {
    let bench = bench("");
    for (name, edition) in [("old", 0), ("new", 1)] {
        std::fs::write(bench.at(name), pages(0..3, edition, "url", "text", "")).expect("written");
    }
    let deliver = |name: &str| {
        let paths = [bench.at(name), bench.at("in/a.jsonl")];
        let copied = Command::new("cp").arg("-p").args(paths).status();
        assert!(copied.expect("started").success());
        bench.run_well(&[]);
        bench.lines("members").iter().map(|row| row["content"].to_string()).collect::<Vec<_>>()
    };
    let (old, new) = (deliver("old"), deliver("new"));
    assert_ne!(old, new);
    assert_eq!(deliver("old"), old);
    assert!(bench.run_well(&[]).contains("nothing due"));
}

/// Inputs of which a wrong mapping accepted nothing were consumed, so that the corrected job had
/// nothing to do and only a rebuild helped. Now they stay due, each run says so, and the corrected
/// job reads them in the order of their arrival.
#[test]
fn a_corrected_mapping_needs_no_rebuild() {
    let (wrong, right) = (bench(""), bench(""));
    let fields = ["--set", "read.fields.url=[\"id\"]", "--set", "read.fields.text=\"body\""];
    let removal = "{\"id\":\"http://a.example/3\",\"deleted\":true}\n";
    for (night, lines) in [
        pages(0..6, 0, "id", "body", ""),
        pages(4..9, 1, "id", "body", "") + removal,
        pages(2..4, 2, "id", "body", ""),
    ]
    .into_iter()
    .enumerate()
    {
        for bench in [&wrong, &right] {
            std::fs::write(bench.at(&format!("in/{night}.jsonl")), &lines).expect("written");
        }
        let (code, _, err) = run(&wrong, &[]);
        assert_eq!(code, Some(65), "{err}");
        let (code, out, err) = run(&wrong, &["--allow", "rejects"]);
        assert_eq!(code, Some(0), "{err}");
        assert!(
            out.contains(&format!("{night}.jsonl")),
            "the run names what it did not consume: {out}"
        );
        assert_eq!(run(&right, &fields).0, Some(0));
    }
    let (code, out, _) = run(&wrong, &[]);
    assert_eq!(code, Some(0));
    assert!(
        out.contains("nothing due")
            && out.contains("0.jsonl")
            && !out.contains("every input is consumed"),
        "{out}"
    );
    let (code, out, err) = run(&wrong, &fields);
    assert_eq!(code, Some(0), "{out}{err}");
    wrong.assert_same_tables(&right, "corrected");
    assert_eq!(wrong.multisets(), right.multisets());
    assert_eq!(urls(&wrong).len(), 9);
    assert!(run(&wrong, &fields).1.contains("nothing due: every input is consumed"));
}

/// A bad file that one run passed by stopped every later run after a change of fields or limits: it
/// was read again first, and alone it was too bad. It gives nothing again, also in a rebuild, and
/// what is due after it is read.
#[test]
fn a_bad_file_is_passed_by_again() {
    let bench = bench("");
    let bad = "{\"url\":\"http://a.example/bad\"}\n".repeat(3);
    std::fs::write(bench.at("in/a.jsonl"), pages(0..100, 0, "url", "text", "")).expect("written");
    std::fs::write(bench.at("in/b.jsonl"), bad).expect("written");
    assert_eq!(run(&bench, &[]).0, Some(0));
    for (name, first, set) in
        [("c", 100, "read.fields.score=\"quality\""), ("d", 130, "read.limits.line_bytes_max=9000")]
    {
        let lines = pages(first..first + 30, 0, "url", "text", "");
        std::fs::write(bench.at(&format!("in/{name}.jsonl")), lines).expect("written");
        let (code, out, err) = run(&bench, &["--set", set]);
        assert_eq!(code, Some(0), "{err}");
        assert!(out.contains("b.jsonl"), "{out}");
        assert_eq!(urls(&bench).len() as u64, first + 30);
    }
    let last = ["--set", "read.limits.line_bytes_max=9000"];
    let rebuilt = bench.pagefold("rebuild", &last);
    assert!(rebuilt.status.success(), "{}", String::from_utf8_lossy(&rebuilt.stderr));
    assert_eq!(urls(&bench).len(), 160);
    assert!(run(&bench, &last).1.contains("nothing due"));
}

/// A raised limit or another field made consumed inputs due again; they were read after newer
/// deliveries and replaced their pages. Now they stay as they were read, and each run names one;
/// archives have no fields. A rebuild reads each in its turn: the store is then as if the options
/// had always been the same.
#[test]
fn other_options_of_reading_wait_for_a_rebuild() {
    let short = ["--set", "read.limits.line_bytes_max=300", "--set", "read.fields.text=\"title\""];
    let lax = ["--set", "read.rejects_max=0.9"];
    let line = |url: u64, text: &str| {
        format!(
            "{{\"url\":\"http://a.example/{url}\",\"title\":\"of {url}\",\"text\":\"{text}\"}}\n"
        )
    };
    for seed in 1..=4 {
        println!("seed {seed}");
        let mut random = Random(seed);
        let (changed, right) = (bench(""), bench(""));
        let body = "<p>an archive has no fields</p>";
        let http = format!("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n{body}");
        let warc = format!(
            "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/1\r\n\
             WARC-Date: 2024-01-01T00:00:00Z\r\nContent-Type: application/http;msgtype=response\r\n\
             Content-Length: {}\r\n\r\n{http}\r\n\r\n",
            http.len()
        );
        for night in 1..=4 {
            let mut lines = line(9, "is read with all options");
            for url in 0..6 {
                lines += &match random.below(4) {
                    0 => String::new(),
                    1 => format!("{{\"url\":\"http://a.example/{url}\",\"deleted\":true}}\n"),
                    2 => line(url, &format!("of night {night} {}", "long ".repeat(60))),
                    _ => line(url, &format!("of night {night} and short")),
                };
            }
            for bench in [&changed, &right] {
                std::fs::write(bench.at(&format!("in/{night}.jsonl")), &lines).expect("written");
                let archive = bench.at(&format!("in/{night}.warc"));
                std::fs::write(archive, &warc).expect("written");
            }
            let more = if night < 4 { [&short[..], &lax].concat() } else { lax.to_vec() };
            let (code, out, err) = run(&changed, &more);
            assert_eq!(code, Some(0), "{err}");
            assert_eq!(out.contains("1.jsonl was read with other"), night == 4, "{out}");
            assert_eq!(run(&right, &lax).0, Some(0));
        }
        let (epoch, tables) = (changed.head().manifest.epoch, changed.tables());
        let (code, out, _) = run(&changed, &lax);
        assert!(code == Some(0) && out.contains("nothing due"), "{out}");
        assert!(
            out.contains("1.jsonl was read with other")
                && out.contains("`pagefold rebuild job.toml"),
            "{out}"
        );
        assert_eq!((changed.head().manifest.epoch, changed.tables()), (epoch, tables));
        assert!(changed.pagefold("rebuild", &lax).status.success());
        changed.assert_same_tables(&right, &format!("seed {seed}"));
        assert_eq!(changed.multisets(), right.multisets(), "seed {seed}");
        assert!(run(&changed, &lax).1.contains("nothing due: every input is consumed; the store"));
    }
}

/// A delta with the bytes of an earlier one was skipped, so that a page that was back stayed gone,
/// and a page that was removed again stayed. A renamed file is the same delivery.
#[test]
fn repeated_bytes_are_read_again() {
    let bench = bench("");
    let page = pages(0..1, 0, "url", "text", "");
    let removal = "{\"url\":\"http://a.example/0\",\"deleted\":true}\n";
    let deliveries = [(&*page, 1), (removal, 0), (&*page, 1), (&*page, 1), (removal, 0)];
    for (day, (lines, left)) in deliveries.into_iter().enumerate() {
        std::fs::write(bench.at(&format!("in/day{day}.jsonl")), lines).expect("written");
        let (code, out, err) = run(&bench, &[]);
        assert_eq!((code, urls(&bench).len()), (Some(0), left), "day {day}: {out}{err}");
        assert!(!out.contains("nothing due"), "day {day}");
    }
    std::fs::rename(bench.at("in/day0.jsonl"), bench.at("in/old.jsonl")).expect("renamed");
    assert!(run(&bench, &[]).1.contains("nothing due"));
    // The next epoch notes the new name; a copy is another delivery.
    std::fs::copy(bench.at("in/old.jsonl"), bench.at("in/copy.jsonl")).expect("copied");
    assert_eq!((run(&bench, &[]).0, urls(&bench).len()), (Some(0), 1));
    assert!(run(&bench, &[]).1.contains("nothing due"));
}

/// A rotated file, whose old name has new bytes, was read again if a limit of inputs kept the run
/// from seeing its new name in the same epoch: its old rows won over newer ones.
#[test]
fn a_rotated_file_is_not_read_again() {
    let bench = bench("");
    let write = |name: &str, edition: u64| {
        let lines = pages(0..1, edition, "url", "text", "");
        std::fs::write(bench.at(name), lines).expect("written");
    };
    write("in/a.jsonl", 1);
    assert_eq!(run(&bench, &[]).0, Some(0));
    std::fs::rename(bench.at("in/a.jsonl"), bench.at("in/b.jsonl")).expect("renamed");
    write("in/a.jsonl", 2);
    assert_eq!(run(&bench, &["--max-inputs", "1"]).0, Some(0));
    let newest = bench.lines("members");
    assert!(run(&bench, &[]).1.contains("nothing due"));
    assert_eq!(bench.lines("members"), newest);
}

/// An archive that arrived late replaced a newer page, and brought a removed page back. A dated
/// record never loses to an older dated one, and removals are remembered.
#[test]
fn late_archives_change_nothing_newer() {
    let bench = bench("");
    let write = |name: &str, lines: String| std::fs::write(bench.at(name), lines).expect("written");
    let day = |day: u64| format!("\"date\":\"2024-05-{day:02}\",");
    write("in/1.jsonl", pages(0..3, 1, "url", "text", &day(10)));
    assert_eq!(run(&bench, &[]).0, Some(0));
    let removal = |page: u64, day: &str| {
        format!("{{{day}\"url\":\"http://a.example/{page}\",\"deleted\":true}}\n")
    };
    write("in/2.jsonl", removal(1, "") + &removal(2, &day(12)) + &removal(7, &day(12)));
    assert_eq!(run(&bench, &[]).0, Some(0));
    let tables = bench.tables();
    let late = pages(0..2, 2, "url", "text", &day(9)) + &pages(2..3, 2, "url", "text", &day(11));
    write("in/3.jsonl", late + &pages(7..8, 2, "url", "text", &day(11)));
    let (code, said, _) = run(&bench, &[]);
    assert!(code == Some(0) && said.contains("outdated   4 "), "{said}");
    assert!(bench.tables() == tables, "a late archive changes nothing newer");
    assert_eq!(bench.summary()["counters"]["visits_outdated"], 4);
    write("in/4.jsonl", pages(1..3, 3, "url", "text", &day(13)));
    assert_eq!((run(&bench, &[]).0, urls(&bench).len()), (Some(0), 3));
    assert!(bench.pagefold("verify", &["--deep"]).status.success());
}

/// A bad record in a complete snapshot removed its page. Now the old page stays. If the record does
/// not say which page it is about, no page is removed because it is absent, and the run says so.
#[test]
fn a_bad_record_of_a_snapshot_removes_nothing() {
    let bench = bench("");
    let complete = ["--set", "read.complete=true", "--set", "read.rejects_max=0.5"];
    let snapshot = |bad: &str| {
        std::fs::write(bench.at("in/all.jsonl"), pages(0..4, 0, "url", "text", "") + bad)
            .expect("written");
        let (code, out, err) = run(&bench, &complete);
        assert_eq!(code, Some(0), "{err}");
        (out, urls(&bench).len())
    };
    assert_eq!(snapshot(&pages(4..7, 0, "url", "text", "")).1, 7);
    assert_eq!(
        snapshot("{\"url\":\"http://a.example/5\",\"text\":7}\n").1,
        5,
        "4 and 6 are gone, 5 is kept"
    );
    let (out, left) = snapshot("what is this\n");
    assert_eq!(left, 5);
    assert!(out.contains("1 page that the snapshot lacks"), "{out}");
    assert_eq!(snapshot("").1, 4);
}

/// Results of a deleted store, of other formats, or with a missing file were taken for those of the
/// head, because only the number of the epoch was compared. A run that has nothing to do exports
/// them again.
#[test]
fn stale_results_are_exported_again() {
    let bench = bench("");
    std::fs::write(bench.at("in/1.jsonl"), pages(0..3, 0, "url", "text", "")).expect("written");
    assert_eq!(run(&bench, &[]).0, Some(0));
    let modified = || {
        bench.at("out/pairs.jsonl").metadata().and_then(|found| found.modified()).expect("exported")
    };
    let before = modified();
    assert!(run(&bench, &[]).1.contains("nothing due"));
    assert_eq!(modified(), before, "current results are left alone");
    for name in ["members.jsonl", "clusters.parquet"] {
        std::fs::remove_file(bench.at("out").join(name)).expect("removed");
        assert!(run(&bench, &[]).1.contains("nothing due"));
        assert!(bench.at("out").join(name).exists(), "{name}");
    }
    std::fs::remove_file(bench.at("out/members.parquet")).expect("removed");
    let lines = ["--set", "output.formats=[\"jsonl\"]"];
    assert!(
        run(&bench, &lines).1.contains("nothing due") && run(&bench, &[]).1.contains("nothing due")
    );
    assert!(bench.at("out/members.parquet").exists(), "another format");
    // A new store of the same epoch, whose run ends between commit and export.
    std::fs::remove_dir_all(bench.at("store")).expect("removed");
    std::fs::write(bench.at("in/1.jsonl"), pages(5..9, 0, "url", "text", "")).expect("written");
    assert_eq!(run(&bench, &["--set", "output.export=\"on-demand\""]).0, Some(0));
    assert_eq!(urls(&bench).len(), 3);
    assert!(run(&bench, &[]).1.contains("nothing due"));
    assert_eq!(urls(&bench).len(), 4, "the results of a deleted store");
}

/// With `export = "on-demand"` the JSON of a run had only its epoch, where its text has the counts
/// of records.
#[test]
fn a_run_without_results_tells_its_counts() {
    let bench = bench("");
    let lines = pages(0..3, 0, "url", "text", "") + "no row\n";
    std::fs::write(bench.at("in/1.jsonl"), lines).expect("written");
    let (code, out, err) = run(&bench, &["--set", "output.export=on-demand", "--json"]);
    assert_eq!(code, Some(0), "{err}");
    let shown: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((&shown["epoch"], &shown["exported"]), (&1.into(), &false.into()));
    let count = |name: &str| shown["counters"][name].as_u64();
    assert_eq!(["read", "accepted", "rejected.bad_json"].map(count), [Some(4), Some(3), Some(1)]);
}

/// A job file that was reached through a link to its folder named other inputs, so each input was
/// read again, and older texts and expired pages came back. The same file by another path is not
/// due. A copy of it is another delivery.
#[test]
fn a_job_reached_through_a_link() {
    let bench = bench("");
    for (night, edition) in [(1, 0), (2, 1)] {
        let lines = pages(0..6, edition, "url", "text", "");
        std::fs::write(bench.at(&format!("in/{night}.jsonl")), lines).expect("written");
        bench.run_well(&[]);
    }
    let members = bench.lines("members");
    let elsewhere = tempfile::tempdir().expect("a folder");
    let link = elsewhere.path().join("link");
    std::os::unix::fs::symlink(bench.at(""), &link).expect("linked");
    let through = |more: &[&str]| {
        let mut command = std::process::Command::new(crate::workbench::pagefold());
        let output = command.arg("run").arg(link.join("job.toml")).args(more).output();
        let output = output.expect("started");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    };
    let said = through(&[]);
    assert!(said.contains("nothing due"), "{said}");
    assert_eq!((bench.head().manifest.epoch, bench.lines("members")), (2, members));
    let waiting = bench.pagefold("status", &["--json"]).stdout;
    assert!(String::from_utf8_lossy(&waiting).contains("\"epoch\":2"));
    std::fs::write(bench.at("in/3.jsonl"), pages(6..9, 0, "url", "text", "")).expect("written");
    assert!(through(&[]).contains("read       3 records of 1 file"));
    assert!(run(&bench, &[]).1.contains("nothing due"), "in either direction");
    std::fs::copy(bench.at("in/1.jsonl"), bench.at("in/4.jsonl")).expect("copied");
    assert!(through(&[]).contains("read       6 records of 1 file"));
}
