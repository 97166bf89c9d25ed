//! Answers that are not provisional are what the next epoch says.

use super::client::Server;
use super::inserts::unlike;
use super::{bench, problem, row};
use crate::texts::text;
use crate::workbench::{Bench, copy_folder};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use workers::job::Job;
use workers::online::decision::CheckInput;
use workers::online::{Inserts, Online};
use workers::store::manifest;

const INBOX: &str = "[serve]\ninbox = \"inbox\"\n";

fn because(answer: &Value, why: &str) -> bool {
    let says = answer["because"].as_array().is_some_and(|words| words.contains(&json!(why)));
    assert!(!says || answer["provisional"] == true, "{answer}");
    says
}

/// Who represents the page at `url` after a run.
fn representative(bench: &Bench, url: &str) -> Value {
    bench.run_well(&[]);
    let member = bench.lines("members").into_iter().find(|row| row["url"] == url);
    member.unwrap_or_else(|| panic!("no {url}"))["representative"].clone()
}

/// A server that cannot answer by the newest epoch, because another job made it, gave firm answers
/// by the old one. They are provisional until the server is started again, as it says.
#[test]
fn a_server_that_is_behind_is_not_sure() {
    let bench = bench(8, INBOX);
    let server = Server::start(&bench, &[]);
    let asked = row("http://new.example/", &text(900, 0));
    assert!(!because(&server.post("/check", &asked).json(), "behind"));
    let job = std::fs::read_to_string(bench.at("job.toml")).expect("a job");
    assert!(job.contains("facts = \"off\""), "{job}");
    std::fs::write(bench.at("job.toml"), job.replace("facts = \"off\"", "facts = \"numbers\""))
        .expect("written");
    bench.run_well(&[]);
    server.wait("the newest epoch to be noticed", || server.get("/readyz").status == 503);
    problem(&server.get("/readyz"), 503);
    assert!(because(&server.post("/check", &asked).json(), "behind"));
    assert!(because(&server.post("/insert", &asked).json(), "behind"));
    assert!(because(&server.post("/insert", &asked).json(), "behind"));
    assert!(server.stop().success());
    let server = Server::start(&bench, &[]);
    assert!(!because(&server.post("/check", &asked).json(), "behind"));
    assert_eq!(server.get("/readyz").json()["epoch"], 2);
}

/// Pages of a text that says too little fold with none, but an answer about that text named the
/// representative and the cluster of another page that has it, and the page was not inserted,
/// though a run keeps it.
#[test]
fn what_says_little_is_in_no_cluster() {
    let bench = Bench::new(Path::new("in/*.jsonl"), INBOX);
    let server = Server::start(&bench, &["--seal-seconds", "1"]);
    let page = |name: &str| row(&format!("http://{name}.example/"), "Short note.");
    let is_apart = |answer: Value| {
        assert_eq!(answer["notes"], json!(["says_little"]), "{answer}");
        assert!(answer["representative"].is_null() && answer["cluster"].is_null(), "{answer}");
        answer["verdict"].clone()
    };
    assert_eq!(is_apart(server.post("/insert", &page("one")).json()), "new");
    let inserted = |server: &Server, name: &str| {
        let answer = server.post("/insert", &page(name)).json();
        assert_eq!(is_apart(answer.clone()), "identical");
        answer["inserted"].clone()
    };
    assert_eq!(inserted(&server, "two"), true);
    assert_eq!(inserted(&server, "two"), false, "it is there");
    assert!(server.stop().success());
    assert_eq!(representative(&bench, "http://two.example/"), "http://two.example/");
    let server = Server::start(&bench, &[]);
    assert_eq!(inserted(&server, "three"), true);
    assert_eq!(inserted(&server, "one"), false, "it is there");
    assert!(server.stop().success());
    assert_eq!(representative(&bench, "http://three.example/"), "http://three.example/");
}

/// A crawl begins with a server and a timer. Before the first file of the inbox was sealed, each
/// run failed, and the messages of other commands advised to run.
#[test]
fn a_run_before_the_first_file_of_the_inbox() {
    let bench = Bench::new(Path::new("in/*.jsonl"), INBOX);
    assert_eq!(bench.run(&[]).status.code(), Some(66));
    let server = Server::start(&bench, &["--seal-seconds", "3600"]);
    assert_eq!(server.post("/insert", &row("http://a.example/", &text(1, 0))).status, 200);
    assert!(bench.run_well(&[]).contains("nothing due: the inbox has no file yet"));
    assert!(bench.run_well(&["--dry-run"]).contains("nothing due"));
    assert!(server.stop().success());
    bench.run_well(&[]);
    assert_eq!(bench.head().manifest.epoch, 1);
}

/// A row that removes its page was answered as a new text, by `/insert` as one that was inserted.
/// It is answered as a removal, and by `/check` as it would be inserted.
#[test]
fn a_removal_is_no_new_text() {
    let bench = bench(4, INBOX);
    let server = Server::start(&bench, &[]);
    let removal = json!({ "url": "http://h1.example/1", "deleted": true });
    for (there, why) in [(true, json!([])), (false, json!(["inbox"]))] {
        for (target, inserted) in [("/check", false), ("/insert", true)] {
            let expected = json!({
                "url": "http://h1.example/1", "removed": there, "provisional": why != json!([]),
                "because": why, "inserted": inserted,
            });
            assert_eq!(server.post(target, &removal).json(), expected);
        }
    }
    let late = json!({ "url": "http://a.example/", "deleted": true, "date": "2999-01-01" });
    assert_eq!(problem(&server.post("/check", &late), 422)["reason"], "future_date");
    assert!(server.stop().success());
    bench.run_well(&[]);
    assert!(bench.lines("members").iter().all(|row| row["url"] != "http://h1.example/1"));
    // Where nothing is inserted, a removal without a date is checked as a run takes it.
    let server = Server::start(&bench, &["--read-only"]);
    for (url, there) in [("http://h1.example/1", false), ("http://h2.example/2", true)] {
        let said = server.post("/check", &json!({ "url": url, "deleted": true })).json();
        assert_eq!((&said["removed"], &said["because"]), (&json!(there), &json!([])), "{said}");
    }
    assert!(server.stop().success());
}

/// A removal that is older than what is known of its page was answered as if it removed it. The
/// next epoch keeps the page, and the answer says `outdated`, as to an older record.
#[test]
fn an_old_removal_is_outdated() {
    let bench = bench(0, INBOX);
    let dated = |url: &str, date: &str, more: Value| {
        let mut row = json!({ "url": url, "date": date });
        row.as_object_mut().expect("an object").extend(more.as_object().expect("one").clone());
        row
    };
    let page = |n: u64| format!("http://dated.example/{n}");
    let server = Server::start(&bench, &[]);
    let insert = |server: &Server, n: u64| {
        let row = dated(&page(n), "2020-05-10", json!({ "text": text(700 + n, 0) }));
        assert_eq!(server.post("/insert", &row).json()["inserted"], true);
    };
    insert(&server, 0);
    assert!(server.stop().success());
    bench.run_well(&[]);
    // The first page is in the store, the second one in the inbox.
    let server = Server::start(&bench, &[]);
    insert(&server, 1);
    for n in [0, 1] {
        for (date, removes) in [("2020-05-09", false), ("2020-05-11", true)] {
            let removal = dated(&page(n), date, json!({ "deleted": true }));
            let targets =
                if removes { vec!["/check"] } else { vec!["/check", "/insert", "/remove"] };
            for target in targets {
                let said = server.post(target, &removal).json();
                assert_eq!(said["removed"], removes, "{target} {said}");
                assert_eq!(because(&said, "outdated"), !removes, "{target} {said}");
                assert_eq!(said["inserted"], target != "/check", "{said}");
            }
        }
    }
    assert!(server.stop().success());
    bench.run_well(&[]);
    let urls: Vec<Value> = bench.lines("members").iter().map(|row| row["url"].clone()).collect();
    assert!(urls.contains(&json!(page(0))) && urls.contains(&json!(page(1))), "{urls:?}");
}

/// A record without a date is inserted with that of its arrival, but it was checked without one: a
/// rule that prefers new pages then answered otherwise.
#[test]
fn a_record_is_checked_as_it_would_be_inserted() {
    let bench = bench(0, &format!("{INBOX}[keep]\nby = [\"newest\"]\n"));
    let old = json!({ "url": "http://old.example/", "text": text(1, 0), "date": "2020-01-01" });
    let server = Server::start(&bench, &[]);
    assert_eq!(server.post("/insert", &old).json()["inserted"], true);
    assert!(server.stop().success());
    bench.run_well(&[]);
    let server = Server::start(&bench, &[]);
    let new = row("http://new.example/", &text(1, 0));
    let checked = server.post("/check", &new).json();
    let inserted = server.post("/insert?always=true", &new).json();
    assert!(because(&checked, "represents"), "{checked}");
    assert_eq!(checked["because"], inserted["because"]);
    let late = json!({ "url": "http://late.example/", "text": text(2, 0), "date": "2999-01-01" });
    for target in ["/check", "/insert"] {
        assert_eq!(problem(&server.post(target, &late), 422)["reason"], "future_date");
    }
    assert!(server.stop().success());
    assert_eq!(representative(&bench, "http://old.example/"), "http://new.example/");
}

/// A source that the store does not know yet was taken for the last one of all, so a page of it was
/// no representative, though the job prefers that source and the next epoch obeys it.
#[test]
fn a_new_source_has_its_rank() {
    let keep = "[keep]\nby = [\"sources\"]\nsources = [\"curated\", \"crawl\"]\n";
    let bench = bench(0, &format!("{keep}{INBOX}"));
    let rows = [row("http://a.example/", &text(1, 0)), row("http://b.example/", &text(2, 0))];
    std::fs::write(bench.at("in/2.jsonl"), super::lines(&rows)).expect("written");
    bench.run_well(&["--set", "read.source=crawl"]);
    let job = std::fs::read_to_string(bench.at("job.toml")).expect("readable");
    let job = job.replace("[read]\n", "[read]\nsource = \"curated\"\n");
    std::fs::write(bench.at("job.toml"), job).expect("written");
    let server = Server::start(&bench, &[]);
    let copy = row("http://zz.example/", &text(1, 0));
    let answer = server.post("/insert?always=true", &copy).json();
    assert!(because(&answer, "represents"), "{answer}");
    assert!(server.stop().success());
    assert_eq!(representative(&bench, "http://a.example/"), "http://zz.example/");
}

/// A page had a text as its main text, and its new record has the text gathered from the whole
/// page. The text is compared no more then, and the answer was sure of its cluster.
#[test]
fn a_text_that_is_gathered_now() {
    let bench = bench(0, INBOX);
    let page = |text: &str, form: [&str; 2]| {
        let html = format!("<html><body>{}{text}{}</body></html>", form[0], form[1]);
        json!({ "url": "http://p.example/", "html": html })
    };
    let main = |text: &str| page(text, ["<article><p>", "</p></article>"]);
    let gathered = |text: &str| page(text, ["<nav><ul><li>", "</li></ul></nav>"]);
    let near = row("https://near.example/", &text(1, 1));
    std::fs::write(bench.at("in/2.jsonl"), super::lines(&[main(&text(1, 0)), near]))
        .expect("written");
    assert_eq!(representative(&bench, "http://p.example/"), "https://near.example/");
    let server = Server::start(&bench, &[]);
    assert!(!because(&server.post("/check", &main(&text(1, 0))).json(), "gathered"));
    let answer = server.post("/insert?always=true", &gathered(&text(1, 0))).json();
    assert_eq!(answer["representative"], "https://near.example/", "{answer}");
    assert!(because(&answer, "gathered"), "{answer}");
    assert!(server.stop().success());
    assert_eq!(representative(&bench, "http://p.example/"), "http://p.example/");
}

/// `/check` was sure of an empty record that is older than what is known of its page; `/insert`
/// said that it is outdated. So it was with an older record of a page of the inbox.
#[test]
fn old_records_are_checked_as_they_are_inserted() {
    let bench = bench(4, INBOX);
    let dated = |text: &str, date: &str| json!({ "url": "http://dated.example/", "text": text, "date": date });
    let server = Server::start(&bench, &[]);
    assert_eq!(server.post("/insert", &dated(&text(3, 0), "2020-05-10")).json()["inserted"], true);
    for restarts in [false, true] {
        for text in ["", &text(4, 0)] {
            let old = dated(text, "2020-05-09");
            let checked = server.post("/check", &old).json();
            assert!(because(&checked, "outdated") && because(&checked, "replaces"), "{checked}");
            if restarts {
                continue;
            }
            let inserted = server.post("/insert", &old).json();
            assert_eq!(checked["because"], inserted["because"]);
        }
        if !restarts {
            bench.run_well(&[]);
        }
    }
    assert!(server.stop().success());
    bench.run_well(&[]);
    let server = Server::start(&bench, &[]);
    let checked = server.post("/check", &dated("", "2020-05-09")).json();
    assert_eq!(checked["because"], json!(["replaces", "outdated"]), "{checked}");
}

/// An answer that depended on the removal of a page did not wait until the removal was durable:
/// after a power cut the page would exist again. An answer waits for the records that it depends
/// on, and for no others.
#[test]
fn an_answer_waits_for_removals() {
    let bench = bench(8, INBOX);
    let job = std::fs::read_to_string(bench.at("job.toml")).expect("readable");
    let job: Job = toml::from_str(&job).expect("a job");
    let job = job.relative_to(&bench.at("")).settled().expect("a good one");
    let inserts = Inserts { seal_after: Duration::from_secs(60), overlay_bytes_max: 1 << 30 };
    let online = Online::open(job, Some(inserts)).expect("opened");
    let parsed = |row: &Value| online.rows().parse(row.to_string().as_bytes()).expect("a row");
    let check = |row: &Value| {
        let answer = online.check(&CheckInput::Record(parsed(row).record)).expect("an answer");
        (answer.answer.verdict.name(), answer.after.0)
    };
    let remove = |url: &str| {
        let row = json!({ "url": url, "deleted": true });
        online.remove(&parsed(&row)).expect("taken").after.0
    };
    let copy = |article: u64, edition: u64| row("http://copy.example/", &text(article, edition));
    assert_eq!(check(&copy(0, 3)), ("identical", 0));
    // The only page of a stored text goes: that text is not there, and what was near it is new.
    for n in 0..4 {
        assert_eq!(remove(&format!("http://h{n}.example/{n}")), n + 1);
    }
    // That of its own page is the second one, and that of the next edition the third.
    assert_eq!(check(&copy(0, 3)), ("new", 3));
    assert_eq!(check(&copy(1, 0)), ("identical", 0), "it does not rest on them");
    // A page of the inbox goes: any text may have been near its text.
    let put = |row: &Value| online.insert(&parsed(row), true).expect("taken").after.0;
    assert_eq!(put(&row("http://gone.example/", &text(30, 0))), 5);
    assert_eq!(check(&copy(30, 1)), ("near", 5));
    assert_eq!(remove("http://gone.example/"), 6);
    assert_eq!(check(&copy(30, 1)), ("new", 6));
}

/// If a row of a batch failed, the answers to earlier, inserted rows were lost, so a client sent
/// these rows again, and the answer was that they are copies of themselves.
#[test]
fn a_row_that_fails_hides_no_other() {
    let bench = bench(4, INBOX);
    let urls = std::fs::read_dir(bench.at("store/data/urls")).expect("a table");
    let segment = urls.map(|entry| entry.expect("an entry").path()).next().expect("a segment");
    let mut bytes = std::fs::read(&segment).expect("readable");
    let at = bytes.windows(4).position(|four| four == b"http").expect("a URL");
    bytes[at] ^= 1;
    std::fs::write(&segment, bytes).expect("written");
    let server = Server::start(&bench, &[]);
    // The answer about a stored text names a URL.
    let rows = [
        row("http://a.example/", &text(800, 0)),
        row("http://b.example/", &text(0, 0)),
        row("http://c.example/", &text(801, 0)),
    ];
    let answers = server.batch("/insert", &rows);
    let inserted: Vec<&Value> = answers.iter().map(|answer| &answer["inserted"]).collect();
    assert_eq!(inserted, [&json!(true), &Value::Null, &json!(true)], "{answers:?}");
    assert_eq!((&answers[1]["reason"], &answers[1]["line"]), (&json!("failed"), &json!(2)));
}

/// In a large bucket a text is compared only with the first others by digest. If one of them went,
/// the next epoch compared it with others, but the answer before that was firm.
#[test]
fn a_removal_moves_ranks() {
    let bench = Bench::new(Path::new("in"), &format!("[confirm]\nfacts = \"off\"\n{INBOX}"));
    let like = |n: u64| format!("{}. {}", text(1, 0), unlike(n).replace(' ', " . ").trim());
    let stored = |n: u64| row(&format!("http://stored.example/{n}"), &like(n));
    std::fs::create_dir_all(bench.at("in")).expect("made");
    let lines: String = (0..70).map(|n| format!("{}\n", stored(n))).collect();
    std::fs::write(bench.at("in/1.jsonl"), lines).expect("written");
    bench.run_well(&[]);
    let server = Server::start(&bench, &[]);
    let firm = |rows: &[Value]| -> Vec<bool> {
        let answers = server.batch("/check", rows);
        answers.iter().map(|answer| answer["provisional"] == false).collect()
    };
    // Only a text behind all others by digest moves no rank: one of 71.
    let new: Vec<Value> =
        (0..700).map(|n| row(&format!("http://new.example/{n}"), &like(1000 + n))).collect();
    let last: Vec<Value> =
        new.iter().zip(firm(&new)).filter(|(_, firm)| *firm).map(|(row, _)| row.clone()).collect();
    assert!((1..100).contains(&last.len()), "{} firm answers", last.len());
    let known: Vec<Value> =
        (2..70).map(|n| row(&format!("http://copy.example/{n}"), &like(n))).collect();
    let before = firm(&known);
    println!(
        "{} of {} copies have a firm answer",
        before.iter().filter(|firm| **firm).count(),
        known.len()
    );
    let other = [row("http://other.example/", &text(9, 0))];
    let gone = json!({ "url": "http://stored.example/1" });
    assert_eq!(server.post("/remove", &gone).json()["removed"], true);
    assert!(firm(&last).iter().all(|firm| !firm), "{:?}", firm(&last));
    // The pairs of most others do not change.
    let moved = before.iter().zip(firm(&known)).filter(|(before, now)| **before && !now).count();
    assert!((1..30).contains(&moved), "{moved} of {}", known.len());
    assert_eq!(firm(&other), [true]);
    assert!(server.stop().success());
}

/// After a backup was restored while a server ran, a run committed a manifest of the number that
/// the server had. The server went on with the lost epoch, and its answers were firm.
#[test]
fn a_manifest_of_the_same_number() {
    let bench = Bench::new(Path::new("in"), INBOX);
    std::fs::create_dir_all(bench.at("in")).expect("made");
    let put = |name: &str, article: u64| {
        let line = format!("{}\n", row(&format!("http://{name}.example/"), &text(article, 0)));
        std::fs::write(bench.at("in").join(name), line).expect("written");
    };
    put("1.jsonl", 1);
    bench.run_well(&[]);
    copy_folder(&bench.at("store"), &bench.at("backup"));
    put("2.jsonl", 2);
    bench.run_well(&[]);
    let lost = bench.head().manifest.version;
    let server = Server::start(&bench, &[]);
    let verdict = |article: u64| {
        let rows = [row("http://new.example/", &text(article, 0))];
        server.batch("/check", &rows)[0]["verdict"].clone()
    };
    assert_eq!(verdict(2), "identical");
    // The manifest is replaced before the server looks again.
    put("2.jsonl", 3);
    let path = |bench: &Bench, version| manifest::path(&bench.at("store"), version);
    let other = Bench::new(Path::new("in"), INBOX);
    copy_folder(&bench.at("in"), &other.at("in"));
    copy_folder(&bench.at("backup"), &other.at("store"));
    other.run_well(&[]);
    // Files that the server has mapped stay.
    let mut copy = std::process::Command::new("cp");
    copy.arg("-rn").arg(other.at("store/data")).arg(bench.at("store"));
    assert!(copy.status().expect("started").success());
    let [from, to] = [&other, &bench].map(|bench| path(bench, lost));
    std::fs::copy(from, bench.at("manifest")).expect("copied");
    std::fs::rename(bench.at("manifest"), to).expect("replaced");
    let since = Instant::now();
    while verdict(2) != "new" && since.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!((verdict(2), verdict(3)), (json!("new"), json!("identical")));
    assert!(server.stop().success());
}

/// `?url=` is a key as it is if the pages have keys of the job's own: to remove `a ` removed `a`.
#[test]
fn keys_are_taken_as_they_are() {
    let bench = Bench::new(Path::new("in"), INBOX);
    let job = std::fs::read_to_string(bench.at("job.toml")).expect("a job");
    std::fs::write(bench.at("job.toml"), job.replace("[read]", "[read]\nkey = \"id\""))
        .expect("written");
    std::fs::create_dir_all(bench.at("in")).expect("made");
    let page = |id: &str, n| json!({ "id": id, "text": text(n, 0) });
    std::fs::write(bench.at("in/1.jsonl"), format!("{}\n{}\n", page("a", 1), page("a ", 2)))
        .expect("written");
    bench.run_well(&[]);
    let server = Server::start(&bench, &[]);
    assert_eq!(server.send("POST", "/remove?url=a%20", "", b"").json()["url"], "a ");
    problem(&server.send("POST", "/remove?url=%20", "", b""), 422);
    assert!(server.stop().success());
    bench.run_well(&[]);
    let left: Vec<Value> = bench.lines("members").iter().map(|row| row["url"].clone()).collect();
    assert_eq!(left, ["a"]);
}
