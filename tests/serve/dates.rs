//! Dates of what is inserted, and windows in which pages expire.

use super::client::Server;
use super::inserts::{INBOX, members, told, unlike};
use super::{bench, problem, row};
use crate::texts::text;
use crate::workbench::Bench;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

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

/// A date that is not understood was dropped without a word, where a run notes it.
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

/// A text whose pages expire with the next epoch is answered as what it is now, says so, and is
/// inserted: with its last page the text would be gone. A page that is sent again stays.
#[test]
fn what_expires_is_inserted() {
    let bench = bench(8, &format!("[pages]\nretain_epochs = 1\n{INBOX}"));
    let contents = |bench: &Bench| {
        members(bench).into_values().map(|row| told(&row, "content")).collect::<BTreeSet<_>>()
    };
    let stored = contents(&bench);
    let server = Server::start(&bench, &[]);
    let expires = |answer: &Value| {
        answer["because"].as_array().is_some_and(|why| why.contains(&json!("expires")))
    };
    let copy = server.post("/insert", &row("http://copy.example/", &text(0, 0))).json();
    assert_eq!((told(&copy, "verdict"), expires(&copy)), ("identical".into(), true), "{copy}");
    assert_eq!((&copy["provisional"], &copy["inserted"]), (&json!(true), &json!(true)));
    // Now the text has a page that stays.
    let second = server.post("/insert", &row("http://second.example/", &text(0, 0))).json();
    assert_eq!(
        (told(&second, "verdict"), &second["inserted"]),
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
        (told(&answer, "verdict"), expires, answer["inserted"] == true)
    };
    // A run can see at once what this one takes.
    let server = Server::start(&bench, &["--seal-seconds", "1"]);
    assert_eq!(insert(&server, page("copy", 1)), ("identical".into(), false, false));
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
