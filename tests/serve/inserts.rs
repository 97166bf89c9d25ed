//! What is inserted: decided in one order, durable, and taken by the next epoch.

use super::client::{Server, send};
use super::{asked, bench, problem, row};
use crate::random::Random;
use crate::texts::text;
use crate::workbench::{Bench, number};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;

pub(super) const INBOX: &str = "[serve]\ninbox = \"inbox\"\n";

pub(super) fn text_of(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

/// A text that has no word in common with others.
pub(super) fn unlike(number: u64) -> String {
    let mut random = Random::of(number, 7);
    (0..40).map(|_| format!("{:x} ", random.next() >> 24)).collect()
}

/// The exported pages by URL.
pub(super) fn members(bench: &Bench) -> BTreeMap<String, Value> {
    bench.lines("members").into_iter().map(|row| (text_of(&row, "url"), row)).collect()
}

/// The texts that an epoch accepts with a text, and by what.
fn accepted(bench: &Bench) -> BTreeMap<String, Vec<(String, f64, String)>> {
    let mut accepted: BTreeMap<String, Vec<(String, f64, String)>> = BTreeMap::new();
    for pair in bench.lines("pairs").into_iter().filter(|pair| pair["accepted"] == true) {
        let similarity = pair["similarity"].as_f64().expect("a share");
        for (one, other) in [("a", "b"), ("b", "a")] {
            let verdict = (text_of(&pair, other), similarity, text_of(&pair, "reason"));
            accepted.entry(text_of(&pair, one)).or_default().push(verdict);
        }
    }
    accepted
}

/// What is answered about `PAGEFOLD_ASKED` records, each of which is inserted, is what the next
/// epoch decides over the store and the records before it: whether a text is identical, near or
/// new, how similar and by which rule. An answer after the last of them that is not provisional has
/// the cluster and the representative of the epoch, too.
#[test]
fn answers_are_those_of_the_next_epoch() {
    for radius in [0, 1] {
        let bench = bench(120, &format!("[clusters]\nradius = {radius}\n{INBOX}"));
        let mut before: BTreeSet<String> =
            bench.lines("members").iter().map(|row| text_of(row, "content")).collect();
        let server = Server::start(&bench, &[]);
        // The first stored texts are left alone.
        let (alone, rows) = (asked(60), asked(60 + number("PAGEFOLD_ASKED", 260)).split_off(60));
        let answers: Vec<Value> =
            rows.chunks(40).flat_map(|rows| server.batch("/insert?always=true", rows)).collect();
        let last: Vec<Value> = [&rows[..], &alone]
            .concat()
            .chunks(1000)
            .flat_map(|rows| server.batch("/check", rows))
            .collect();
        assert!(server.stop().success());
        bench.run_well(&[]);
        let (members, accepted) = (members(&bench), accepted(&bench));
        let (mut verdicts, mut provisional) =
            (BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
        for (answer, row) in answers.iter().zip(&rows) {
            let member = members
                .get(&text_of(row, "url"))
                .unwrap_or_else(|| panic!("{row} is not in the store"));
            let content = text_of(answer, "content");
            assert_eq!(
                (&answer["inserted"], &member["content"]),
                (&json!(true), &answer["content"]),
                "{answer}"
            );
            let best = accepted
                .get(&content)
                .into_iter()
                .flatten()
                .filter(|(other, ..)| before.contains(other));
            let best = best.max_by(|a, b| a.1.total_cmp(&b.1).then_with(|| b.0.cmp(&a.0)));
            let expected = match best {
                _ if before.contains(&content) => ("identical".to_owned(), json!(1.0), Value::Null),
                Some((_, similarity, reason)) => {
                    ("near".to_owned(), json!(similarity), json!(reason))
                }
                None => ("new".to_owned(), Value::Null, Value::Null),
            };
            let verdict = (
                text_of(answer, "verdict"),
                answer["similarity"].clone(),
                answer["reason"].clone(),
            );
            assert_eq!(verdict, expected, "radius {radius}: {answer}");
            if answer["provisional"] == true {
                answer["because"].as_array().expect("words").iter().for_each(|why| {
                    *provisional.entry(why.to_string()).or_default() += 1;
                });
            }
            *verdicts.entry(format!("{} {}", verdict.0, answer["provisional"])).or_default() += 1;
            before.insert(content);
        }
        let clusters: BTreeMap<String, String> = members
            .values()
            .map(|row| (text_of(row, "cluster"), text_of(row, "representative")))
            .collect();
        let held = last
            .iter()
            .filter(|answer| answer["provisional"] == false && answer["verdict"] != "new");
        for answer in held.clone() {
            if let Some(page) = members.values().find(|row| row["content"] == answer["content"]) {
                let of = |row: &Value| [text_of(row, "cluster"), text_of(row, "representative")];
                assert_eq!(of(answer), of(page), "{answer}");
            }
            assert_eq!(
                clusters.get(&text_of(answer, "cluster")),
                Some(&text_of(answer, "representative")),
                "{answer}"
            );
        }
        let held = held.count();
        assert!(held > 0, "all are provisional");
        println!("{held} answers after the last record are not provisional");
        println!("radius {radius}: {verdicts:?}, provisional because of {provisional:?}");
        assert!(
            ["identical", "near", "new"]
                .iter()
                .all(|of| verdicts.keys().any(|key| key.starts_with(of)))
        );
    }
}

/// Only what is new is inserted, the others are found in the store, and the overlay is left when an
/// epoch has taken the inbox. A server that is started again knows what was inserted before.
#[test]
fn what_is_not_new_is_not_inserted() {
    let bench = bench(40, INBOX);
    let server = Server::start(&bench, &["--seal-seconds", "1"]);
    let fresh = row("http://fresh.example/", &text(700, 0));
    let near = row("http://near.example/", &text(700, 1));
    let same = row("http://same.example/", &text(700, 0));
    let first = server.post("/insert", &fresh).json();
    assert_eq!(
        (text_of(&first, "verdict"), &first["inserted"]),
        ("new".into(), &json!(true)),
        "{first}"
    );
    let first_page = server.post("/check", &fresh).json()["cluster"].clone();
    for (row, verdict) in [(&near, "near"), (&same, "identical"), (&fresh, "identical")] {
        for target in ["/check", "/insert"] {
            let answer = server.post(target, row).json();
            assert_eq!(
                (text_of(&answer, "verdict").as_str(), &answer["inserted"]),
                (verdict, &json!(false)),
                "{answer}"
            );
            assert_eq!(text_of(&answer, "representative"), "http://fresh.example/", "{answer}");
            assert_eq!(
                (&answer["cluster"], &answer["provisional"]),
                (&first_page, &json!(true)),
                "{answer}"
            );
        }
    }
    let html = format!("<html><body><p>{}</p></body></html>", text(701, 0));
    let page = server
        .send("POST", "/insert?url=http://page.example/", "text/html", html.as_bytes())
        .json();
    assert_eq!(
        (text_of(&page, "verdict"), &page["inserted"]),
        ("new".into(), &json!(true)),
        "{page}"
    );
    let nameless = server.send("POST", "/insert", "text/plain", b"some text");
    assert_eq!(problem(&nameless, 422)["reason"], "no_url");
    server.kill();
    let server = Server::start(&bench, &["--seal-seconds", "1"]);
    assert_eq!(text_of(&server.post("/insert", &same).json(), "verdict"), "identical");
    assert_eq!(
        text_of(
            &server.post("/insert", &row("http://x.example/", &text(701, 0))).json(),
            "verdict"
        ),
        "identical"
    );
    bench.run_well(&[]);
    server.wait("the new head", || server.get("/readyz").json()["epoch"] == 2);
    let answer = server.post("/check", &same).json();
    let of_inbox = |answer: &Value| {
        answer["because"].as_array().is_some_and(|why| why.contains(&json!("inbox")))
    };
    assert_eq!(
        (text_of(&answer, "verdict"), of_inbox(&answer)),
        ("identical".into(), false),
        "{answer}"
    );
    let urls: BTreeSet<String> =
        members(&bench).into_keys().filter(|url| !url.starts_with("http://h")).collect();
    assert_eq!(
        urls,
        BTreeSet::from(["http://fresh.example/".into(), "http://page.example/".into()])
    );
    assert!(server.stop().success());
    assert!(String::from_utf8_lossy(&bench.run(&[]).stdout).contains("nothing due"));
}

/// Of records of one URL the last that was sent holds, though they come within a second and have no
/// date. A text whose pages are all removed is no copy of anything.
#[test]
fn the_last_record_of_a_page_holds() {
    let bench = bench(8, INBOX);
    let server = Server::start(&bench, &[]);
    let url = "http://changes.example/";
    for article in 800..806 {
        let answer = server.post("/insert", &row(url, &text(article, 0))).json();
        assert_eq!(
            (text_of(&answer, "verdict"), &answer["inserted"]),
            ("new".into(), &json!(true)),
            "{answer}"
        );
    }
    // The texts that the page had before are no page's.
    assert_eq!(
        text_of(&server.post("/check", &row("http://x.example/", &text(800, 0))).json(), "verdict"),
        "new"
    );
    assert_eq!(
        text_of(&server.post("/check", &row("http://x.example/", &text(805, 0))).json(), "verdict"),
        "identical"
    );
    assert_eq!(server.post("/remove", &json!({ "url": url })).json()["removed"], true);
    assert_eq!(server.post("/remove", &json!({ "url": url })).json()["removed"], false);
    assert_eq!(
        text_of(&server.post("/check", &row("http://x.example/", &text(805, 0))).json(), "verdict"),
        "new"
    );
    // A page that was removed has no text to replace.
    let replaces = |url: &str| {
        let answer = server.post("/check", &row(url, &text(808, 0))).json();
        answer["because"].as_array().is_some_and(|why| why.contains(&json!("replaces")))
    };
    assert!(!replaces(url));
    assert_eq!(server.post("/insert", &row(url, &text(806, 0))).json()["inserted"], true);
    assert!(replaces(url));
    // The only page of a stored text goes, by its URL alone, and another page gets the text.
    let stored = "http://h1.example/1";
    assert_eq!(
        text_of(&server.post("/check", &row(url, &text(0, 3))).json(), "verdict"),
        "identical"
    );
    // Some clients call a body that is not there a text.
    let gone = format!("/remove?url={stored}");
    assert!(replaces(stored));
    assert_eq!(server.send("POST", &gone, "text/plain;charset=UTF-8", b"").json()["removed"], true);
    assert!(!replaces(stored));
    assert_eq!(server.send("POST", &gone, "", b"").json()["removed"], false);
    let moved =
        server.post("/insert?always=true", &row("http://moved.example/", &text(0, 3))).json();
    assert_ne!(text_of(&moved, "verdict"), "identical", "{moved}");
    // An older record than what is known does not hold, and the answer says so.
    let old = json!({ "url": "http://moved.example/", "text": text(807, 0), "date": "2001-01-01" });
    let outdated = server.post("/insert", &old).json();
    assert!(
        outdated["because"].as_array().is_some_and(|why| why.contains(&json!("outdated"))),
        "{outdated}"
    );
    assert!(server.stop().success());
    bench.run_well(&[]);
    let (members, content) = (members(&bench), |value: &Value| text_of(value, "content"));
    assert!(!members.contains_key(stored));
    assert_eq!(content(&members["http://moved.example/"]), content(&moved));
    let server = Server::start(&bench, &[]);
    let last = server.post("/check", &row("http://x.example/", &text(806, 0))).json();
    assert_eq!(
        (text_of(&last, "verdict"), content(&last)),
        ("identical".into(), content(&members[url])),
        "{last}"
    );
    let outdated = server.post("/check", &old).json();
    assert_eq!(
        (&outdated["provisional"], &outdated["because"]),
        (&json!(true), &json!(["replaces", "outdated"]))
    );
}

/// A page that changed to a text that is known was not inserted, and the store kept its old text
/// for ever. It is inserted, unless its record is older; a page whose text is as it was is not.
#[test]
fn a_page_that_changes_is_inserted() {
    let bench = bench(8, INBOX);
    let server = Server::start(&bench, &[]);
    let url = "http://h1.example/1";
    let insert = |row: Value| {
        let answer = server.post("/insert", &row).json();
        assert_eq!(answer["url"], url, "{answer}");
        (text_of(&answer, "verdict"), answer["inserted"] == true, text_of(&answer, "content"))
    };
    let mut last = String::new();
    for (article, edition, verdict, changes) in [
        (0, 3, "identical", false),
        (1, 0, "identical", true),
        (1, 0, "identical", false),
        (0, 1, "near", true),
        (0, 1, "identical", false),
        (0, 3, "near", true),
        (1, 3, "identical", true),
    ] {
        let (said, inserted, content) = insert(row(url, &text(article, edition)));
        assert_eq!((said.as_str(), inserted), (verdict, changes), "{article} {edition}");
        last = content;
    }
    let old = json!({ "url": url, "text": text(1, 6), "date": "2001-01-01" });
    assert!(!insert(old).1, "an older record");
    assert!(server.stop().success());
    bench.run_well(&[]);
    assert_eq!(text_of(&members(&bench)[url], "content"), last);
}

/// Answers had the URL as it was sent, though the same page was their representative by another
/// spelling, and they named representatives that the inbox had removed or given another text.
#[test]
fn answers_name_pages_that_are_there() {
    let bench = bench(8, INBOX);
    let copies: Vec<Value> =
        (0..3).map(|n| row(&format!("http://copy{n}.example/"), &text(900, 0))).collect();
    std::fs::write(bench.at("in/2.jsonl"), super::lines(&copies)).expect("written");
    bench.run_well(&[]);
    let server = Server::start(&bench, &[]);
    let always = |url: &str, text: &str| server.post("/insert?always=true", &row(url, text)).json();
    for url in ["http://c.example/b", "HTTP://C.Example:80/a/../b#top"] {
        let answer = always(url, &text(910, 0));
        assert_eq!(answer["url"], "http://c.example/b", "{answer}");
        if answer["verdict"] == "identical" {
            assert_eq!(answer["representative"], answer["url"], "{answer}");
        }
    }
    let spelled = json!({ "url": "HTTP://C.Example:80/b" });
    assert_eq!(server.post("/remove", &spelled).json()["url"], "http://c.example/b");
    for (url, edition) in [("one", 0), ("two", 1), ("three", 1)] {
        always(&format!("http://{url}.example/"), &text(920, edition));
    }
    // Several pages of one stored text, of near stored texts, and pages of the inbox.
    for (asked, pages) in [(text(900, 0), 3..4), (text(0, 1), 2..5), (text(920, 1), 3..4)] {
        let mut gone = BTreeSet::new();
        loop {
            let answer = server.post("/check", &row("http://asked.example/", &asked)).json();
            if answer["verdict"] == "new" {
                break;
            }
            let named = text_of(&answer, "representative");
            assert!(!named.is_empty() && gone.insert(named.clone()), "{gone:?} {answer}");
            // It goes, or has another text.
            match gone.len() % 2 {
                0 => always(&named, &unlike(gone.len() as u64)),
                _ => server.post("/remove", &json!({ "url": named })).json(),
            };
        }
        assert!(pages.contains(&gone.len()), "{gone:?}");
    }
    assert!(server.stop().success());
}

/// A text that extraction had only gathered from whole pages is compared once a page has it as its
/// main text, so an answer about it is provisional.
#[test]
fn a_gathered_text_is_compared_now() {
    let bench = bench(4, INBOX);
    let gathered = text(820, 0);
    let html = format!("<html><body><nav><ul><li>{gathered}</li></ul></nav></body></html>");
    let page = json!({ "url": "http://gathered.example/", "html": html });
    std::fs::write(bench.at("in/2.jsonl"), format!("{page}\n")).expect("written");
    bench.run_well(&[]);
    let server = Server::start(&bench, &[]);
    let answer = server.post("/check", &row("http://main.example/", &gathered)).json();
    assert_eq!(text_of(&answer, "verdict"), "identical", "{answer}");
    assert!(
        answer["because"].as_array().is_some_and(|why| why.contains(&json!("gathered"))),
        "{answer}"
    );
    let same =
        server.post("/check", &json!({ "url": "http://other.example/", "html": html })).json();
    assert!(
        !same["because"].as_array().is_some_and(|why| why.contains(&json!("gathered"))),
        "{same}"
    );
}

/// Sixteen clients send the same text at once, or texts that are all near each other, each under a
/// URL of its own: exactly one is inserted, in each of `PAGEFOLD_ROUNDS` rounds.
#[test]
fn one_of_many_is_inserted() {
    let bench = bench(8, INBOX);
    let server = Server::start(&bench, &[]);
    const CLIENTS: u64 = 16;
    let rounds = number("PAGEFOLD_ROUNDS", 50);
    for round in 0..rounds {
        for near in [false, true] {
            let gate = Barrier::new(CLIENTS as usize);
            let send = |client: u64| {
                let words = unlike(1_000_000 + 2 * round + u64::from(near));
                let more = if near { format!(" variant{client}") } else { String::new() };
                let row = row(
                    &format!("http://c{client}.example/{round}/{near}"),
                    &format!("{words}{more} the end"),
                );
                gate.wait();
                server.post("/insert", &row).json()
            };
            let answers: Vec<Value> = thread::scope(|scope| {
                let clients: Vec<_> =
                    (0..CLIENTS).map(|client| scope.spawn(move || send(client))).collect();
                clients.into_iter().map(|client| client.join().expect("no panic")).collect()
            });
            let inserted = answers.iter().filter(|answer| answer["inserted"] == true).count();
            let others = if near { "near" } else { "identical" };
            let rest = answers
                .iter()
                .filter(|answer| answer["verdict"] == others && answer["inserted"] == false)
                .count();
            assert_eq!((inserted, rest), (1, CLIENTS as usize - 1), "round {round}: {answers:#?}");
            let first = answers.iter().find(|answer| answer["inserted"] == true).expect("one");
            for answer in answers.iter().filter(|answer| answer["inserted"] == false) {
                assert_eq!(answer["representative"], first["url"], "{answer}");
            }
        }
    }
    assert!(server.stop().success());
    bench.run_well(&[]);
    assert_eq!(members(&bench).len() as u64, 8 + 2 * rounds);
}

/// The server is killed, `PAGEFOLD_KILLS` times, while clients insert and send again what was not
/// answered, and runs go on beside it. Every insert that was answered is in the store, once.
#[test]
fn what_was_answered_survives() {
    const CLIENTS: usize = 4;
    const ANSWERS: usize = 25;
    let kills = number("PAGEFOLD_KILLS", 10);
    let bench = bench(8, INBOX);
    let arguments = ["--seal-seconds", "1"];
    let first = Server::start(&bench, &arguments);
    let (at, stops, answered) = (Mutex::new(first.at), AtomicBool::new(false), AtomicUsize::new(0));
    let inserted: Vec<Vec<String>> = thread::scope(|scope| {
        let client = |client: usize| -> Vec<String> {
            let mut inserted = Vec::new();
            for n in 0.. {
                let url = format!("http://c{client}.example/{n}");
                let row = row(&url, &unlike((100_000 * client + n) as u64)).to_string();
                loop {
                    if stops.load(Ordering::SeqCst) {
                        return inserted;
                    }
                    let to: SocketAddr = *at.lock().expect("no panic");
                    match send(to, "POST", "/insert", "", "application/json", row.as_bytes()) {
                        // It was inserted now, or by an earlier request that was not answered.
                        Ok(reply) if reply.status == 200 => break,
                        _ => thread::yield_now(),
                    }
                }
                inserted.push(url);
                answered.fetch_add(1, Ordering::SeqCst);
            }
            inserted
        };
        let clients: Vec<_> =
            (0..CLIENTS).map(|number| scope.spawn(move || client(number))).collect();
        let mut server = Some(first);
        for kill in 0..kills {
            let running = server.take().expect("a server");
            let begun = answered.load(Ordering::SeqCst);
            running.wait("answers", || answered.load(Ordering::SeqCst) >= begun + ANSWERS);
            if kill % 4 == 2 {
                bench.run_well(&[]);
            }
            running.kill();
            let next = Server::start(&bench, &arguments);
            *at.lock().expect("no panic") = next.at;
            server = Some(next);
        }
        stops.store(true, Ordering::SeqCst);
        let inserted = clients.into_iter().map(|client| client.join().expect("no panic")).collect();
        assert!(server.expect("a server").stop().success());
        inserted
    });
    bench.run_well(&[]);
    let urls: Vec<String> = bench.lines("members").iter().map(|row| text_of(row, "url")).collect();
    for url in inserted.iter().flatten() {
        assert_eq!(urls.iter().filter(|of| *of == url).count(), 1, "{url}");
    }
    println!("{} inserts were answered", inserted.iter().map(Vec::len).sum::<usize>());
    assert!(inserted.iter().map(Vec::len).sum::<usize>() >= kills as usize * ANSWERS);
    let contents: BTreeSet<String> =
        bench.lines("members").iter().map(|row| text_of(row, "content")).collect();
    assert_eq!(contents.len(), urls.len(), "no text is there twice");
}
