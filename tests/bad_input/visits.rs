use super::{account, add, counts, crawl, html, line, page, response, text, warc};
use crate::workbench::{Bench, failure};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// A second crawl updates known pages: 404, 410, 301, 308 and rows that say so remove a page; a
/// revisit of its own URL, 304 and 5xx keep it; rejected and skipped records change nothing; and a
/// page that returns is a page again.
#[test]
fn what_a_visit_does() {
    let url = |n: u64| format!("http://a.example/{n}");
    let first: String = (0..14).map(|n| line(&url(n), json!({ "text": text(n) }))).collect();
    let bench = crawl(&[("1.jsonl", first.as_bytes())], "");
    let before = account(&bench);
    let status = |n: u64, status: &str| response(&url(n), status, "", b"<p>gone</p>");
    let second = [
        status(0, "404 Not Found"),
        status(1, "410 Gone"),
        status(2, "301 Moved"),
        status(3, "308 Moved"),
        status(4, "304 Not Modified"),
        status(5, "503 Busy"),
        status(6, "302 Found"),
        status(7, "403 Forbidden"),
        warc("revisit", &url(8), "", b""),
        warc("revisit", &url(9), "WARC-Refers-To-Target-URI: http://b.example/\r\n", b""),
        response(&url(10), "banana", "", html(90).as_bytes()),
        status(99, "404 Not Found"),
        warc("revisit", &url(98), "", b""),
    ];
    let rows = [
        (11, json!({ "deleted": true })),
        (12, json!({ "op": "remove" })),
        (13, json!({ "text": 7 })),
    ];
    let rows: String = rows.into_iter().map(|(n, more)| line(&url(n), more)).collect();
    add(&bench, &[("2.warc", &second.concat()), ("3.jsonl", rows.as_bytes())]);
    let after = account(&bench);
    let kept = BTreeSet::from([4, 5, 6, 7, 8, 9, 10, 13].map(url));
    assert_eq!(after.pages.keys().cloned().collect::<BTreeSet<_>>(), kept);
    kept.iter().for_each(|url| assert_eq!(after.content(url), before.content(url)));
    assert_eq!(after.skipped, counts(&[("revisit_other", 1), ("status", 2)]));
    assert_eq!(after.rejects_of("2.warc"), [(second[..10].concat().len() as u64, "bad_http")]);
    assert_eq!(after.rejects_of("3.jsonl").len(), 1);
    add(&bench, &[("4.warc", &page("a", 0))]);
    assert_eq!(account(&bench).content(&url(0)), before.content(&url(0)));
}

/// A status that says nothing about a page, such as that of a page that was asked for too often,
/// removed the page from a complete snapshot, where 503 kept it. What the snapshot has under no
/// status goes, and so does a page that also has a record of its removal.
#[test]
fn a_status_that_says_nothing_keeps_its_page() {
    let url = |n: usize| format!("http://a.example/{n}");
    let statuses = ["302", "303", "307", "401", "403", "408", "429", "451", "503"];
    let first: String =
        (0..statuses.len() + 2).map(|n| line(&url(n), json!({ "text": text(n as u64) }))).collect();
    let bench = crawl(&[("1.jsonl", first.as_bytes())], "");
    let before = account(&bench);
    let asked = |n: usize, status: &str| response(&url(n), status, "Location: /login\r\n", b"x");
    let mut second: Vec<u8> =
        statuses.iter().enumerate().flat_map(|(n, status)| asked(n, status)).collect();
    for status in ["403", "410"] {
        second.extend(asked(statuses.len(), status));
    }
    std::fs::remove_file(bench.at("in/1.jsonl")).expect("removed");
    add(&bench, &[("2.warc", &second)]);
    bench.run_well(&["--set", "read.complete=true"]);
    let after = account(&bench);
    let kept: BTreeSet<String> = (0..statuses.len()).map(url).collect();
    assert_eq!(after.pages.keys().cloned().collect::<BTreeSet<_>>(), kept);
    kept.iter().for_each(|url| assert_eq!(after.content(url), before.content(url)));
    assert_eq!(after.skipped, counts(&[("status", 9)]));
    assert!(bench.pagefold("verify", &["--deep"]).status.success());
}

/// A revisit that refers to its own URL in another spelling was skipped as one of another URL. So a
/// complete snapshot removed its page.
#[test]
fn a_revisit_in_another_spelling_keeps_its_page() {
    let spellings = [
        ("http://a.example/caf%C3%A9", "http://a.example/caf%c3%a9"),
        ("http://a.example/port", "http://A.example:80/port"),
        ("http://a.example/part", "http://a.example/part#x"),
    ];
    let pages = spellings
        .iter()
        .zip(0..)
        .flat_map(|((url, _), n)| response(url, "200 OK", "", html(n).as_bytes()));
    let bench = crawl(&[("1.warc", &pages.collect::<Vec<_>>())], "");
    let before = account(&bench);
    let revisits = spellings.iter().flat_map(|(url, other)| {
        warc("revisit", other, &format!("WARC-Refers-To-Target-URI: {url}\r\n"), b"")
    });
    std::fs::remove_file(bench.at("in/1.warc")).expect("removed");
    add(&bench, &[("2.warc", &revisits.collect::<Vec<_>>())]);
    bench.run_well(&["--set", "read.complete=true"]);
    let after = account(&bench);
    assert!(after.pages.keys().eq(before.pages.keys()), "{:?}", after.pages);
    assert_eq!(after.skipped, counts(&[]));
}

/// What is stored for a text depends on the text and not on the page that brought it first: rows
/// are the same from any history.
#[test]
fn flags_have_no_history() {
    let broken = "gut \u{fffd}\u{fffd} ".repeat(60);
    let row = line("http://a.example/1", json!({ "text": broken }));
    let served =
        response("http://a.example/2", "200 OK", "", format!("<p>{broken}</p>").as_bytes());
    let bench = crawl(&[("1.jsonl", row.as_bytes())], "");
    bench.run_well(&[]);
    add(&bench, &[("2.warc", &served)]);
    bench.run_well(&[]);
    add(&bench, &[("3.jsonl", line("http://a.example/1", json!({ "deleted": true })).as_bytes())]);
    bench.run_well(&[]);
    let scratch = crawl(&[("2.warc", &served)], "");
    scratch.run_well(&[]);
    assert_eq!(bench.tables(), scratch.tables());
    let rows = |bench: &Bench| {
        bench.multisets().into_iter().filter(|(_, (rows, _))| *rows > 0).collect::<Vec<_>>()
    };
    assert_eq!(rows(&bench), rows(&scratch));
}

/// One text at 20,000 addresses is one content, which is compared with none, and one cluster. The
/// guard against a source that folds into few clusters speaks, and passes when it is allowed.
#[test]
fn one_text_many_times() {
    let mirror =
        |n: u64| line(&format!("http://h{}.example/{n}", n % 10), json!({ "text": text(1) }));
    let lines: String = (0..20_000).map(mirror).collect();
    let bench = crawl(&[("a.jsonl", lines.as_bytes())], "");
    let refused = bench.run(&[]);
    assert_eq!(refused.status.code(), Some(65));
    let said = failure(&refused.stderr);
    assert!(said.contains("20,000 of 20,000 pages of source"), "{said}");
    bench.run_well(&["--allow", "source_folded"]);
    let (summary, clusters) = (bench.summary(), bench.lines("clusters"));
    let count = |name: &str| summary[name].as_u64();
    assert_eq!(
        (count("pages"), count("contents"), count("pairs")),
        (Some(20_000), Some(1), Some(0))
    );
    assert_eq!((count("kept"), count("folded_identical")), (Some(1), Some(19_999)));
    assert_eq!(clusters.len(), 1);
    for (name, n) in [("pages", 20_000), ("contents", 1), ("hosts", 10), ("diameter", 0)] {
        assert_eq!(clusters[0][name], n, "{name}");
    }
}

/// Of several records of one URL in an epoch the latest date wins; a missing or invalid date comes
/// before 1970, and so does one far ahead of the epoch. Of equal dates the greater digest wins, and
/// a removal wins over a page. The order of lines and files never matters.
#[test]
fn twice_in_an_epoch() {
    let at = |date: &str, n: u64| json!({ "date": date, "text": text(n) });
    let cases = [
        (json!({ "text": text(1) }), at("1970-01-01T00:00:00Z", 2)),
        (at("2025-02-31", 3), at("1970-01-01T00:00:00Z", 4)),
        (at("1970-01-01T00:00:00Z", 5), at("2025-01-01T00:00:00Z", 6)),
        (at("2025-01-01T00:00:00Z", 7), at("20250101000001", 8)),
        (at("2025-01-01T00:00:00Z", 9), json!({ "date": "2025-01-01T00:00:00Z", "deleted": true })),
        (json!({ "deleted": true }), at("1969-12-31", 10)),
        (at("2999-01-01T00:00:00Z", 11), at("2025-01-01T00:00:00Z", 12)),
    ];
    let (mut one, mut other) = (String::new(), String::new());
    for (n, (older, newer)) in cases.iter().enumerate() {
        let (a, b) = (format!("http://a.example/{n}"), format!("http://b.example/{n}"));
        one += &(line(&a, older.clone()) + &line(&b, newer.clone()));
        other += &(line(&a, newer.clone()) + &line(&b, older.clone()));
    }
    for (host, n, m) in [("a", 20, 21), ("b", 21, 20)] {
        // Both at one moment, ahead of time, so the digest decides.
        one += &line(&format!("http://{host}.example/tie"), at("2998-01-01", n));
        other += &line(&format!("http://{host}.example/tie"), at("2998-01-01", m));
    }
    let wins: String = cases
        .iter()
        .enumerate()
        .filter(|(_, (_, newer))| newer["deleted"].is_null())
        .map(|(n, (_, newer))| {
            line(&format!("http://c.example/{n}"), json!({ "text": newer["text"] }))
        })
        .collect();
    let files =
        [("1.jsonl", one.as_bytes()), ("2.jsonl", other.as_bytes()), ("3.jsonl", wins.as_bytes())];
    let account = account(&crawl(&files, ""));
    for n in [0, 1, 2, 3, 5, 6] {
        let content = |host: &str| account.content(&format!("http://{host}.example/{n}"));
        assert_eq!((content("a"), content("b")), (content("c"), content("c")), "{n}");
    }
    assert!(
        !account.pages.contains_key("http://a.example/4")
            && !account.pages.contains_key("http://b.example/4")
    );
    assert_eq!(account.content("http://a.example/tie"), account.content("http://b.example/tie"));
}

/// A date more than a day in the future is flagged, and does not keep a later crawl from updating
/// the page.
#[test]
fn dates_ahead() {
    let row =
        |date: &str, n: u64| line("http://a.example/", json!({ "date": date, "text": text(n) }));
    let bench = crawl(&[("1.jsonl", row("2999-01-01", 1).as_bytes())], "");
    let first = account(&bench);
    assert_eq!(first.noted.get("future_date"), Some(&1), "{:?}", first.noted);
    add(&bench, &[("2.jsonl", row("2025-01-01", 2).as_bytes())]);
    let second = account(&bench);
    assert_ne!(first.content("http://a.example/"), second.content("http://a.example/"));
    assert!(!second.noted.contains_key("future_date"));
}

/// Texts of a word or two fold only when they are identical, empty ones never: fingerprint 0 would
/// join them all. One without any word is too short to be compared.
#[test]
fn short_texts() {
    let texts =
        ["", " \n\u{200b}", "", "alpha", "beta", "gamma", "alpha beta gamma", "Alpha", "!?", "一"];
    let url = |n: usize| format!("http://a.example/{n}");
    let lines: String =
        texts.iter().enumerate().map(|(n, text)| line(&url(n), json!({ "text": text }))).collect();
    let empty = [
        response("http://b.example/0", "200 OK", "", b""),
        response(
            "http://b.example/1",
            "200 OK",
            "",
            b"<html><head><title>t</title></head><body></body></html>",
        ),
        response(
            "http://b.example/2",
            "200 OK",
            "",
            b"<html><body><script>load()</script><img src=x></body></html>",
        ),
    ];
    let menu =
        |items: &str| format!("<html><body><div class=nav><ul>{items}</ul></div></body></html>");
    let item = |n: u64| {
        format!("<li><a href=/{n}>{}</a></li>", text(n).split(' ').next().unwrap_or_default())
    };
    let menus = [(3, 0..5), (4, 1..6)].map(|(n, range): (u64, std::ops::Range<u64>)| {
        let items: String = range.map(item).collect();
        response(&format!("http://b.example/{n}"), "200 OK", "", menu(&items).as_bytes())
    });
    let files: [(&str, &[u8]); 2] =
        [("a.jsonl", lines.as_bytes()), ("b.warc", &[empty.concat(), menus.concat()].concat())];
    let bench = crawl(&files, "[clusters]\nletters_min = 0\n");
    let account = account(&bench);
    assert_eq!(account.pages.len(), texts.len() + 5);
    for (address, page) in &account.pages {
        let identical = [url(3), url(7)].contains(address);
        assert_eq!(page["cluster_size"], if identical { 2 } else { 1 }, "{page}");
    }
    let pairs = bench.lines("pairs");
    assert!(pairs.iter().all(|pair| pair["accepted"] == false));
    let is_of_menus = |pair: &Value| {
        ["a_url", "b_url"].iter().any(|side| pair[side].to_string().contains("//b.example/"))
    };
    assert!(!pairs.iter().any(is_of_menus), "gathered menus are not compared");
    assert_eq!((account.noted["empty"], account.noted["too_short"]), (6, 1));
}
