use crate::workbench::Bench;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// A bench that reads a folder without files.
fn bench(more: &str) -> Bench {
    let bench = Bench::new(Path::new("in"), more);
    std::fs::create_dir(bench.at("in")).expect("made");
    bench
}

fn write(bench: &Bench, name: &str, rows: impl IntoIterator<Item = Value>) {
    let lines: String = rows.into_iter().map(|row| format!("{row}\n")).collect();
    std::fs::write(bench.at("in").join(name), lines).expect("written");
}

/// The pages that fold, with those that they fold into.
fn redirects(bench: &Bench) -> Vec<(String, String)> {
    let text = |row: &Value, name: &str| row[name].as_str().expect("text").to_owned();
    let mut rows: Vec<_> = bench
        .lines("redirects")
        .iter()
        .map(|row| (text(row, "url"), text(row, "representative")))
        .collect();
    rows.sort();
    rows
}

fn assert_sound(bench: &Bench, more: &[&str]) {
    let output = bench.pagefold("verify", &[&["--deep"], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// A headline that is the whole text of many pages, and an error page, folded hundreds of pages
/// that have nothing in common. They stay apart, and are reported; `letters_min = 0` folds them,
/// from the store alone, and gives what a run from scratch gives.
#[test]
fn texts_that_say_too_little_fold_no_pages() {
    let lines = || {
        let headline = (0..30)
            .map(|n| json!({ "url": format!("http://a.example/{n}"), "text": "国际联播快讯" }));
        let wall = "Sorry, the page you are looking for does not exist or has been removed. Please log in to continue.";
        let walls = (0..5).map(|n| json!({ "url": format!("http://b.example/{n}"), "text": wall }));
        let post = "今天早上的雨下得很大，路上一个人也没有。";
        let posts = (0..3).map(|n| json!({ "url": format!("http://c.example/{n}"), "text": post }));
        let alone = json!({ "url": "http://d.example/", "text": "早安" });
        headline.chain(walls).chain(posts).chain([alone]).collect::<Vec<_>>()
    };
    let of = |more: &[&str]| {
        let bench = bench("");
        write(&bench, "1.jsonl", lines());
        (bench.run_well(more), bench)
    };
    let (report, apart) = of(&[]);
    let found = redirects(&apart);
    assert!(
        found.len() == 2 && found.iter().all(|(url, _)| url.starts_with("http://c.example/")),
        "{found:?}"
    );
    let little = apart.summary()["little"].clone();
    assert_eq!(
        (&little["letters_min"], &little["texts"], &little["pages"]),
        (&10.into(), &2.into(), &35.into())
    );
    let largest = |n: usize, key: &str| little["largest"][n][key].clone();
    assert_eq!(
        (largest(0, "pages"), largest(0, "letters"), largest(0, "notice")),
        (30.into(), 6.into(), false.into())
    );
    assert_eq!((largest(1, "pages"), largest(1, "notice")), (5.into(), true.into()));
    assert!(largest(0, "url").as_str().is_some_and(|url| url.starts_with("http://a.example/")));
    assert!(
        report.contains("little     35 pages of 2 texts that say too little stay apart"),
        "{report}"
    );
    assert_sound(&apart, &[]);

    let all = ["--set", "clusters.letters_min=0"];
    let (report, folded) = of(&all);
    assert_eq!(redirects(&folded).len(), 29 + 4 + 2);
    assert!(!report.contains("little"), "{report}");
    assert_sound(&folded, &all);
    let (tables, multisets) = (apart.tables(), apart.multisets());
    apart.run_well(&all);
    apart.assert_same_tables(&folded, "letters_min set later");
    assert_eq!(apart.multisets(), folded.multisets());
    apart.run_well(&[]);
    assert!(apart.tables() == tables && apart.multisets() == multisets);
}

/// A stub whose menu became its text joined all stubs of its site. It folds only with the identical
/// text, until a page has that text as its main text; when that page is gone, it is alone again.
/// After each step the store equals a run from scratch.
#[test]
fn text_gathered_from_a_whole_page_folds_with_identical_text_alone() {
    let entry = |n: u64| format!("entry{n} of the menu");
    let menu = |last: u64| (0..30).chain([last]).map(entry).collect::<Vec<_>>();
    let stub = |url: &str, last: u64| {
        let mut html = String::from("<ul>");
        menu(last)
            .iter()
            .for_each(|entry| write!(html, "<li><a href=/x>{entry}</a></li>").expect("a string"));
        json!({ "url": url, "html": html + "</ul>" })
    };
    let main = |url: &str, last: u64| json!({ "url": url, "text": menu(last).join("\n") });
    let gone = |url: &str| json!({ "url": url, "deleted": true });
    let [a, b, c, d] = ["a", "b/1", "c/22", "d/333"].map(|page| format!("http://h.example/{page}"));
    let stubs = vec![stub(&a, 101), stub(&b, 102), stub(&c, 101)];
    let near = vec![main(&d, 103)];
    let twin = "http://twin.example/another/page";
    let nights = [
        // Identical texts fold, near ones do not.
        (stubs.clone(), stubs.clone(), vec![(&c, &a)]),
        // A near main text changes nothing.
        (near.clone(), [stubs.clone(), near.clone()].concat(), vec![(&c, &a)]),
        // The text of a and c is the main text of a page now.
        (
            vec![main(twin, 101)],
            [stubs.clone(), near.clone(), vec![main(twin, 101)]].concat(),
            vec![(&c, &a), (&d, &a)],
        ),
        (vec![gone(twin)], [stubs, near].concat(), vec![(&c, &a)]),
    ];
    let bench = bench("[confirm]\nfacts = \"off\"\n");
    for (night, (new, live, expected)) in nights.into_iter().enumerate() {
        write(&bench, &format!("{night}.jsonl"), new);
        bench.run_well(&[]);
        if night == 0 {
            assert_eq!(
                bench.summary()["counters"]["noted.extracted_by_fallback"],
                3,
                "the stubs have no main text"
            );
        }
        let mut found = redirects(&bench);
        found.retain(|(url, _)| url != twin);
        let expected: Vec<_> =
            expected.into_iter().map(|(url, into)| (url.clone(), into.clone())).collect();
        assert_eq!(found, expected, "night {night}");
        assert_sound(&bench, &[]);
        let scratch = self::bench("[confirm]\nfacts = \"off\"\n");
        write(&scratch, "all.jsonl", live);
        scratch.run_well(&[]);
        bench.assert_same_tables(&scratch, &format!("night {night}"));
        assert_eq!(bench.multisets(), scratch.multisets(), "night {night}");
    }
}

/// Two forums that keep their chrome in plain text carry the same posts. The chrome keeps the
/// copies apart. Without the lines that each site repeats they fold, as JSON lines and as WET. The
/// file is a function of the set of pages, and another file is another identity.
#[test]
fn lines_that_hosts_repeat_are_taken_off() {
    let post = |n: u64| {
        let word = |w: u64| {
            char::from_u32(0x4e00 + ((n * 7919 + w * 104_729) % 5000) as u32).expect("a character")
        };
        let line = |from: u64| (from..from + 60).map(word).collect::<String>();
        format!("{}\n{}\n{}", line(0), line(100), line(200))
    };
    let chrome = |site: &str, n: u64| {
        let lines = |part: &str| {
            (0..8).map(|l| format!("{site} {part} link {l}")).collect::<Vec<_>>().join("\n")
        };
        format!(
            "{}\n{}\n阅读 {}\n{}",
            lines("top"),
            post(n),
            n * 37 + site.len() as u64,
            lines("bottom")
        )
    };
    let bench = bench("");
    write(
        &bench,
        "one.jsonl",
        (0..20)
            .map(|n| json!({ "url": format!("http://one.example/{n}"), "text": chrome("one", n) })),
    );
    let mut wet = String::new();
    for n in 0..20 {
        let text = chrome("second", n);
        write!(
            wet,
            "WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Target-URI: http://two.example/{n}\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n\
             WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{n:012}>\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n\
             {text}\r\n\r\n",
            text.len()
        )
        .expect("a string");
    }
    std::fs::write(bench.at("in/two.warc.wet"), wet).expect("written");
    bench.run_well(&[]);
    assert_eq!(redirects(&bench), [], "the chrome keeps the copies apart");

    let make = |out: &str, threads: &str| {
        let arguments = ["--kind", "furniture", "--out", out, "--threads", threads, "--json"];
        let output = bench.pagefold("lexicon", &arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read_to_string(bench.at(out)).expect("written")
    };
    let file = make("furniture.tsv", "1");
    assert_eq!(file, make("again.tsv", "4"), "threads change no byte");
    let lines: Vec<&str> = file.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 32, "{file}");
    assert!(lines.contains(&"one.example\t20\tone top link 3"), "{file}");

    let with = ["--set", "extract.furniture=\"furniture.tsv\""];
    let refused = bench.run(&with);
    assert_eq!(refused.status.code(), Some(78), "{}", String::from_utf8_lossy(&refused.stderr));
    let rebuilt = bench.pagefold("rebuild", &with);
    assert!(rebuilt.status.success(), "{}", String::from_utf8_lossy(&rebuilt.stderr));
    bench.run_well(&with);
    let of_post = |url: &str| url.rsplit('/').next().map(str::to_owned);
    let found = redirects(&bench);
    assert!(
        found.len() == 20 && found.iter().all(|(url, into)| of_post(url) == of_post(into)),
        "{found:?}"
    );
    assert_sound(&bench, &with);
}

/// A text without a URL was answered as certain where the job removes the lines of a host, though a
/// run removes them from the page. The answer is provisional and says why; a row with its URL is
/// read as a run reads it.
#[test]
fn a_text_without_a_host_is_provisional() {
    let bench = bench("");
    let chrome = "the menu of this site and its shop";
    let text = |n: u64| {
        // Different pages have other letters in their longest lines.
        let letter = |c: char| c.to_digit(10).map_or(c, |digit| char::from(b'a' + digit as u8));
        let article: String = crate::texts::text(n, 0).chars().map(letter).collect();
        let lines: Vec<String> =
            article.split(' ').collect::<Vec<_>>().chunks(15).map(|line| line.join(" ")).collect();
        format!("{chrome}\n{}", lines.join("\n"))
    };
    let row = |n: u64| json!({ "url": format!("http://one.example/{n}"), "text": text(n) });
    write(&bench, "one.jsonl", (0..20).map(row));
    bench.run_well(&[]);
    let with = ["--set", "extract.furniture=\"furniture.tsv\""];
    let make = ["--kind", "furniture", "--out", "furniture.tsv"];
    for (command, arguments) in [("lexicon", &make[..]), ("rebuild", &with[..])] {
        let output = bench.pagefold(command, arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(std::fs::read_to_string(bench.at("furniture.tsv")).expect("made").contains(chrome));
    let ask = |name: &str, bytes: String| -> Value {
        std::fs::write(bench.at(name), bytes).expect("written");
        let output = bench.pagefold("query", &[&[name, "--json"], &with[..]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let nameless = ask("page.txt", text(3));
    assert_eq!(nameless["provisional"], true, "{nameless}");
    assert!(nameless["because"].as_array().expect("a list").contains(&json!("no_host")));
    let named = ask("page.jsonl", row(3).to_string());
    assert_eq!(
        (&named["verdict"], &named["because"]),
        (&json!("identical"), &json!([])),
        "{named}"
    );
}

/// Two texts that differ only behind the compared part were taken for identical, and one of them
/// was lost. Such texts fold only with the same text, and `explain` says so.
#[test]
fn texts_too_long_to_be_compared_fold_with_the_same_text_alone() {
    let begin: String = (0..230_000).fold(String::new(), |mut text, n| {
        write!(text, "line {n}. ").expect("a string");
        text
    });
    assert!(begin.len() > 2 << 20, "{}", begin.len());
    let row = |name: &str, end: &str| json!({ "url": format!("http://{name}.example/"), "text": format!("{begin}{end}") });
    let short = json!({ "url": "http://e.example/", "text": &begin[..(2 << 20) - 8] });
    let bench = bench("");
    write(&bench, "1.jsonl", [row("a", "the first volume"), row("b", "the second volume")]);
    write(&bench, "2.jsonl", [row("c", "the first volume"), short]);
    bench.run_well(&[]);
    let into = |from: &str, into: &str| (from.to_owned(), into.to_owned());
    assert_eq!(redirects(&bench), [into("http://c.example/", "http://a.example/")]);
    assert_eq!(bench.summary()["counters"]["noted.text_cut"], 3);
    let explained = bench.pagefold("explain", &["http://a.example/", "http://b.example/"]);
    let explained = String::from_utf8_lossy(&explained.stdout);
    assert!(explained.contains("longer than what is compared"), "{explained}");
    assert_sound(&bench, &[]);
}
