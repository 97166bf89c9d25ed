//! Dates of what is inserted, and windows in which pages expire.

use super::client::Server;
use super::inserts::{INBOX, members, text_of, unlike};
use super::{bench, problem, row};
use crate::texts::text;
use crate::workbench::Bench;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use workers::id::Id;

/// A date in the future would be cut by the epoch, so that an older record could hold and a newer
/// one would be lost. Such a record is not taken.
#[test]
fn a_date_in_the_future_is_refused() {
    let bench = bench(4, INBOX);
    let server = Server::start(&bench, &[]);
    let url = "http://future.example/";
    let late = json!({ "url": url, "text": text(810, 0), "date": "2100-01-01" });
    assert_eq!(problem(&server.post("/insert", &late), 422)["reason"], "future_date");
    assert_eq!(problem(&server.post("/remove", &late), 422)["reason"], "future_date");
    assert_eq!(server.post("/insert", &row(url, &text(811, 0))).json()["inserted"], true);
    assert!(server.stop().success());
    bench.run_well(&[]);
    assert!(members(&bench).contains_key(url));
}

/// A date that is not understood was dropped without a message, although a run notes it.
#[test]
fn a_date_that_is_not_understood_is_noted() {
    let bench = bench(4, INBOX);
    let server = Server::start(&bench, &[]);
    for (number, date, expected) in [
        (815, "18.05.2024", json!(["bad_date"])),
        (816, "2024-05-18", json!([])),
        (817, "", json!([])),
    ] {
        let url = format!("http://dated.example/{number}");
        let row = json!({ "url": url, "text": text(number, 0), "date": date });
        assert_eq!(server.post("/check", &row).json()["notes"], expected, "{date}");
        assert_eq!(server.batch("/insert", &[row])[0]["notes"], expected, "{date}");
    }
    assert!(server.stop().success());
}

/// A text whose pages expire with the next epoch gets today's answer, which says that they expire,
/// and is inserted: with its last page the text would be gone. A page that is sent again stays.
#[test]
fn what_expires_is_inserted() {
    let bench = bench(8, &format!("[pages]\nretain_epochs = 1\n{INBOX}"));
    let contents = |bench: &Bench| {
        members(bench).into_values().map(|row| text_of(&row, "content")).collect::<BTreeSet<_>>()
    };
    let stored = contents(&bench);
    let server = Server::start(&bench, &[]);
    let expires = |answer: &Value| {
        answer["because"].as_array().is_some_and(|why| why.contains(&json!("expires")))
    };
    let copy = server.post("/insert", &row("http://copy.example/", &text(0, 0))).json();
    assert_eq!((text_of(&copy, "verdict"), expires(&copy)), ("identical".into(), true), "{copy}");
    assert_eq!((&copy["provisional"], &copy["inserted"]), (&json!(true), &json!(true)));
    // Now the text has a page that stays.
    let second = server.post("/insert", &row("http://second.example/", &text(0, 0))).json();
    assert_eq!(
        (text_of(&second, "verdict"), &second["inserted"]),
        ("identical".into(), &json!(false)),
        "{second}"
    );
    let again = server.post("/insert", &row("http://h4.example/4", &text(1, 0))).json();
    assert_eq!(again["inserted"], true, "{again}");
    assert!(server.stop().success());
    bench.run_well(&[]);
    let left = members(&bench);
    assert_eq!(left.keys().collect::<Vec<_>>(), ["http://copy.example/", "http://h4.example/4"]);
    assert!(contents(&bench).is_subset(&stored));
}

/// A text whose pages expired before a run could see the file of the inbox was answered as one that
/// stays, and not inserted, so it was lost. It is inserted when it is sent, also if the inbox
/// removes the page that would have stayed. Dates of records do not count.
#[test]
fn what_expires_before_a_run_can_see_it_is_inserted() {
    let bench = Bench::new(Path::new("in"), &format!("[pages]\nretain_days = 1\n{INBOX}"));
    std::fs::create_dir_all(bench.at("in")).expect("made");
    let page = |name: &str, number: u64| row(&format!("http://{name}.example/"), &unlike(number));
    let write = |file: &str, rows: &[Value]| {
        std::fs::write(bench.at(file), super::lines(rows)).expect("written");
    };
    let now = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
    // The pages of this epoch expire in five minutes, those of the next one in a day.
    write("in/1.jsonl", &[page("a", 1), page("b", 2), page("c", 3)]);
    bench.run_well(&["--now", &(now - 86_400 + 300).to_string()]);
    write("in/2.jsonl", &[page("stays", 3)]);
    bench.run_well(&["--now", &now.to_string()]);
    let insert = |server: &Server, row: Value| {
        let answer = server.post("/insert", &row).json();
        let why = answer["because"].as_array().expect("words");
        let expires = why.contains(&json!("expires"));
        (text_of(&answer, "verdict"), expires, answer["inserted"] == true)
    };
    // A run can see at once what this one takes.
    let server = Server::start(&bench, &["--seal-seconds", "1"]);
    let checked = server.post("/check", &page("copy", 1)).json();
    assert!(!checked["because"].as_array().expect("words").contains(&json!("expires")));
    assert!(server.stop().success());
    let server = Server::start(&bench, &["--seal-seconds", "3600"]);
    let checked = server.post("/check", &page("copy", 1)).json();
    assert!(checked["because"].as_array().expect("words").contains(&json!("expires")));
    assert_eq!(insert(&server, page("copy", 1)), ("identical".into(), true, true));
    assert_eq!(insert(&server, page("b", 2)), ("identical".into(), true, true), "seen again");
    assert!(!insert(&server, page("late", 3)).2, "it has a page that stays");
    let removal = json!({ "url": "http://stays.example/" });
    assert_eq!(server.post("/remove", &removal).json()["removed"], true);
    assert_eq!(insert(&server, page("late", 3)), ("identical".into(), true, true));
    let mut old = page("old", 4);
    old["date"] = json!("2001-01-01");
    assert_eq!(insert(&server, old), ("new".into(), false, true));
    assert!(server.stop().success());
    bench.run_well(&["--now", &(now + 600).to_string()]);
    let urls: Vec<String> = members(&bench).into_keys().collect();
    let expected = ["b", "copy", "late", "old"].map(|name| format!("http://{name}.example/"));
    assert_eq!(urls, expected);
}

/// Pages that were sent every day expired, because a record of a known text is not inserted, and a
/// run saw none of them. A record is inserted if its page, or each page by which its text is known,
/// was not seen for half of the time; a younger page takes no row of the inbox.
#[test]
fn what_is_sent_again_does_not_expire() {
    let bench = Bench::new(Path::new("in"), &format!("[pages]\nretain_days = 10\n{INBOX}"));
    std::fs::create_dir_all(bench.at("in")).expect("made");
    let page = |name: &str, number: u64| row(&format!("http://{name}.example/"), &unlike(number));
    let now = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
    let epochs = [
        (9, vec![page("old", 1), page("silent", 2), page("known", 3)]),
        (4, vec![page("young", 4)]),
    ];
    for (days, rows) in epochs {
        std::fs::write(bench.at(&format!("in/{days}.jsonl")), super::lines(&rows))
            .expect("written");
        bench.run_well(&["--now", &(now - days * 86_400).to_string()]);
    }
    let server = Server::start(&bench, &[]);
    let insert = |row: Value| {
        let answer = server.post("/insert", &row).json();
        assert_eq!((text_of(&answer, "verdict"), expires(&answer)), ("identical".into(), false));
        answer["inserted"] == true
    };
    assert!(insert(page("old", 1)), "its page is old");
    assert!(!insert(page("old", 1)), "the inbox has it");
    assert!(insert(page("copy", 3)), "the only page with its text is old");
    assert!(!insert(page("third", 3)), "the inbox has its text");
    assert!(!insert(page("young", 4)), "its page was seen four days ago");
    assert!(!insert(page("other", 4)), "a page with its text was seen four days ago");
    assert!(server.stop().success());
    bench.run_well(&[]);
    bench.run_well(&["--now", &(now + 40 * 3_600).to_string()]);
    let urls: Vec<String> = members(&bench).into_keys().collect();
    assert_eq!(urls, ["copy", "old", "young"].map(|name| format!("http://{name}.example/")));
}

fn expires(answer: &Value) -> bool {
    let expires = answer["because"].as_array().is_some_and(|why| why.contains(&json!("expires")));
    assert!(!expires || answer["provisional"] == true, "{answer}");
    expires
}

/// A bench where pages expire that were not seen by two epochs that read something, after two
/// epochs: the first one with all `pages`, the second one with those that `stay`.
fn window(more: &str, pages: &[Value], stay: impl Fn(&str) -> bool) -> Bench {
    let more = format!("[confirm]\nfacts = \"off\"\n[pages]\nretain_epochs = 2\n{more}{INBOX}");
    let bench = Bench::new(Path::new("in"), &more);
    std::fs::create_dir_all(bench.at("in")).expect("made");
    let seen: Vec<Value> = pages.iter().filter(|row| stay(&text_of(row, "url"))).cloned().collect();
    for (file, rows) in [("in/1.jsonl", pages), ("in/2.jsonl", &seen)] {
        std::fs::write(bench.at(file), super::lines(rows)).expect("written");
        bench.run_well(&[]);
    }
    bench
}

/// Of the pages of a text the first ten were looked at, so a text of which these expire was taken
/// for one that goes, and a copy of it was inserted though other pages stay.
#[test]
fn a_text_stays_with_its_last_page() {
    let url = |n: u64| format!("http://a{n}.example/");
    let pages: Vec<Value> = (0..40).map(|n| row(&url(n), &text(5, 0))).collect();
    let mut docs: Vec<Id> = (0..40).map(|n| Id::of(url(n).as_bytes())).collect();
    docs.sort_unstable();
    let bench = window("", &pages, |url| !docs[..11].contains(&Id::of(url.as_bytes())));
    let server = Server::start(&bench, &[]);
    let copy = server.post("/insert", &row("http://copy.example/", &text(5, 0))).json();
    assert_eq!((text_of(&copy, "verdict"), &copy["inserted"]), ("identical".into(), &json!(false)));
}

/// A page that names its cluster expired, and the answer named that cluster for sure, as the
/// representative stayed.
#[test]
fn a_cluster_may_lose_its_name() {
    let url = |n: u64| format!("http://a{n}.example/");
    let mut pages: Vec<Value> = (0..8).map(|n| row(&url(n), &text(5, 0))).collect();
    pages.push(row("https://s.example/", &text(5, 0)));
    let least =
        pages.iter().map(|row| text_of(row, "url")).min_by_key(|url| Id::of(url.as_bytes()));
    let least = least.expect("pages");
    assert_ne!(least, "https://s.example/");
    let bench = window("", &pages, |url| url != least);
    let server = Server::start(&bench, &[]);
    let asked = row("http://zz.example/", &text(5, 0));
    let answer = server.post("/check", &asked).json();
    assert_eq!(answer["representative"], "https://s.example/", "{answer}");
    assert!(expires(&answer), "{answer}");
    assert_eq!(server.post("/insert?always=true", &asked).json()["inserted"], true);
    assert!(server.stop().success());
    bench.run_well(&[]);
    let after = members(&bench);
    assert_ne!(text_of(&after["http://zz.example/"], "cluster"), text_of(&answer, "cluster"));
}

/// A text that joined two others expired, and the answer named their cluster for sure. An answer
/// about a cluster of which no page expires is sure.
#[test]
fn a_component_may_fall_apart() {
    for radius in [0, 1] {
        let pages = [
            row("http://x.example/", &text(7, 0)),
            row("http://bridge.example/", &text(7, 3)),
            row("https://r.example/", &text(7, 6)),
            row("http://y.example/", &text(8, 0)),
            row("http://z.example/", &text(8, 1)),
        ];
        let more = format!("[clusters]\nradius = {radius}\n");
        let bench = window(&more, &pages, |url| url != "http://bridge.example/");
        let server = Server::start(&bench, &[]);
        let copy = row("http://zz.example/", &text(7, 0));
        let answer = server.post("/check", &copy).json();
        assert!(radius == 1 || answer["representative"] == "https://r.example/", "{answer}");
        assert!(expires(&answer), "{answer}");
        for asked in [text(8, 0), text(8, 2)] {
            let answer = server.post("/check", &row("http://zzz.example/", &asked)).json();
            assert!(text_of(&answer, "verdict") != "new" && !expires(&answer), "{answer}");
        }
        assert_eq!(server.post("/insert?always=true", &copy).json()["inserted"], true);
        assert!(server.stop().success());
        bench.run_well(&[]);
        let after = members(&bench);
        assert_ne!(after["http://zz.example/"]["representative"], "https://r.example/");
    }
}

/// All pages of a component were taken to stay if the representative does. So many are looked at
/// for one that expires; of a component with more it is not known, and the answer says so.
#[test]
fn a_large_component_is_not_sure() {
    for (count, is_sure) in [(255, true), (256, false)] {
        let page = |n: u64| row(&format!("http://a{n}.example/"), &text(5, u64::from(n == 0)));
        let pages: Vec<Value> = (0..=count).map(page).collect();
        let bench = window("", &pages, |_| true);
        let server = Server::start(&bench, &[]);
        let answer = server.post("/check", &row("http://zz.example/", &text(5, 0))).json();
        assert_eq!(text_of(&answer, "verdict"), "identical", "{answer}");
        assert_eq!(expires(&answer), !is_sure, "{count}: {answer}");
    }
}

/// The date of a text or a page was written to the inbox as a bare number, and of few digits a run
/// reads a number as a day: a date in 1970 became one in 2020.
#[test]
fn the_date_of_a_text_is_that_of_its_page() {
    let bench = bench(0, INBOX);
    let server = Server::start(&bench, &[]);
    let dates = ["1970-08-22T19:35:18Z", "1970-01-01T00:33:00Z", "2020-01-01T00:00:00Z"];
    let url = |n: usize| format!("http://a.example/{n}");
    for (n, date) in dates.iter().enumerate() {
        let target = format!("/insert?url={}&date={date}", url(n));
        let taken = server.send("POST", &target, "text/plain", unlike(n as u64).as_bytes());
        assert_eq!(taken.json()["inserted"], true, "{taken:?}");
    }
    assert!(server.stop().success());
    bench.run_well(&[]);
    let members = members(&bench);
    for (n, date) in dates.iter().enumerate() {
        assert_eq!(members[&url(n)]["date"], *date, "{:?}", members[&url(n)]);
    }
}

/// The removal of a page won over an older record that was inserted, though the next epoch forgets
/// that removal. So the text of that record was answered as new to the next client, for sure, and
/// the epoch had both. Where the epoch may forget it or not, answers are provisional: also those
/// about texts that are near such a record, and about pages that it would join.
#[test]
fn a_removal_may_be_forgotten() {
    const DAY: u64 = 86_400;
    let now = std::time::UNIX_EPOCH.elapsed().expect("after 1970").as_secs();
    let page = |name: &str, text: &str| row(&format!("http://{name}.example/"), text);
    for (gone_at, is_forgotten) in [(now - 2 * DAY, true), (now - DAY + 600, false)] {
        let more = format!("[confirm]\nfacts = \"off\"\n[pages]\ngone_days = 1\n{INBOX}");
        let bench = Bench::new(Path::new("in"), &more);
        std::fs::create_dir_all(bench.at("in")).expect("made");
        let names = ["x", "z", "s", "t"];
        let rows = names.map(|name| page(name, &text(3, if name == "s" { 6 } else { 30 })));
        let gone = ["x", "z"].map(|name| {
            let url = format!("http://{name}.example/");
            json!({ "url": url, "deleted": true, "date": "2024-02-01" })
        });
        for (file, rows) in [("in/1.jsonl", &rows[..]), ("in/2.jsonl", &gone)] {
            std::fs::write(bench.at(file), super::lines(rows)).expect("written");
            bench.run_well(&["--now", &gone_at.to_string()]);
        }
        let server = Server::start(&bench, &[]);
        let answer_to = |target: &str, row: Value| {
            let answer = server.post(target, &row).json();
            let why = answer["because"].as_array().expect("words");
            let [is_outdated, is_inbox] =
                ["outdated", "inbox"].map(|word| why.contains(&json!(word)));
            assert_eq!(answer["provisional"] == true, !why.is_empty(), "{answer}");
            assert_eq!(is_outdated, row["date"].is_string() && !is_forgotten, "{answer}");
            (text_of(&answer, "verdict"), is_inbox, answer["inserted"] == true)
        };
        let old = |name: &str, text: String| {
            let mut row = page(name, &text);
            row["date"] = json!("2024-01-15");
            assert!(answer_to("/insert?always=true", row).2);
        };
        old("x", text(3, 3));
        old("z", text(5, 0));
        let expected = |verdict: &str, is_inbox| (verdict.to_owned(), is_inbox, false);
        let near = if is_forgotten { "near" } else { "new" };
        assert_eq!(answer_to("/check", page("n", &text(5, 1))), expected(near, true));
        assert_eq!(answer_to("/check", page("s2", &text(3, 6))), expected("identical", true));
        assert_eq!(answer_to("/check", page("t2", &text(3, 30))), expected("identical", false));
        let same = if is_forgotten { "identical" } else { "new" };
        let inserted = answer_to("/insert", page("y", &text(5, 0)));
        assert_eq!(inserted, (same.into(), true, !is_forgotten));
        assert!(server.stop().success());
        bench.run_well(&["--now", &(now + 1200).to_string()]);
        let mut expected = vec!["s", "t", "x", "y", "z"];
        expected.retain(|name| *name != "y" || !is_forgotten);
        let urls = expected.iter().map(|name| format!("http://{name}.example/"));
        assert!(members(&bench).into_keys().eq(urls), "{:?}", members(&bench));
    }
}
