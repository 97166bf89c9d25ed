//! The inbox: the folder of what is inserted, until a run takes it.

use super::client::Server;
use super::inserts::{INBOX, members, text_of, unlike};
use super::{asked, bench, problem, row};
use crate::crash::scene::Mount;
use crate::texts::text;
use crate::workbench::{Bench, failure};
use serde_json::{Value, json};
use std::path::Path;

/// Whether a run finds a file in the inbox.
fn has_sealed(bench: &Bench) -> bool {
    let names = std::fs::read_dir(bench.at("inbox"))
        .expect("there")
        .map(|entry| entry.expect("an entry").file_name());
    names
        .map(|name| name.to_string_lossy().into_owned())
        .any(|name| name.ends_with("jsonl") && !name.starts_with('.'))
}

/// A sealed file of the inbox that was deleted before a run took it was never missed: its texts
/// were answered as known, and were nowhere. They are new again, and those of other files are not.
#[test]
fn files_that_vanish_are_missed() {
    let bench = bench(4, INBOX);
    let server = Server::start(&bench, &["--seal-seconds", "1"]);
    let rows = [0, 1].map(|n| row(&format!("http://fresh.example/{n}"), &unlike(n)));
    let sealed = || {
        let names = std::fs::read_dir(bench.at("inbox")).expect("there").flatten();
        let paths = names.map(|entry| entry.path());
        let is_sealed = |path: &std::path::PathBuf| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('0'))
        };
        paths.filter(is_sealed).collect::<Vec<_>>()
    };
    server.post("/insert", &rows[0]);
    server.wait("a sealed file", || sealed().len() == 1);
    let first = sealed().remove(0);
    server.post("/insert", &rows[1]);
    server.wait("another sealed file", || sealed().len() == 2);
    std::fs::remove_file(first).expect("removed");
    let verdict = |row| text_of(&server.post("/check", row).json(), "verdict");
    server.wait("that it is missed", || verdict(&rows[0]) == "new");
    assert_eq!(verdict(&rows[1]), "identical");
    assert_eq!(server.post("/insert", &rows[0]).json()["inserted"], json!(true));
    assert!(server.stop().success());
    bench.run_well(&[]);
    assert_eq!(members(&bench).len(), 4 + 2);
}

/// A full disk of the inbox ended the server, and after each start the next insert ended it again.
/// Now it answers that the record must be sent again, and all other requests as before.
#[test]
fn a_full_disk_is_waited_for() {
    let bench = bench(4, INBOX);
    let Some(mount) =
        Mount::new(bench.at("inbox"), &["-t", "tmpfs", "-o", "size=64k", "pagefold-test"])
    else {
        return;
    };
    let server = Server::start(&bench, &["--seal-seconds", "3600"]);
    let (known, fresh) = (asked(1).remove(0), row("http://fresh.example/", &unlike(7)));
    server.post("/insert", &row("http://fresh.example/first", &unlike(8)));
    let filler = std::fs::File::create(bench.at("inbox/.fill")).expect("made");
    let mut full = &filler;
    while std::io::Write::write(&mut full, &[0; 512]).is_ok_and(|written| written > 0) {}
    let mut sent = 0;
    let refused = loop {
        let reply = server
            .post("/insert", &row(&format!("http://more.example/{sent}"), &unlike(100 + sent)));
        sent += 1;
        if reply.status != 200 {
            break reply;
        }
    };
    assert!(problem(&refused, 503)["detail"].to_string().contains("disk"), "{refused:?}");
    assert_eq!(server.post("/insert", &fresh).status, 503);
    assert_eq!(server.post("/check", &known).status, 200);
    filler.set_len(0).expect("emptied");
    server.wait("room", || server.post("/insert", &fresh).status == 200);
    assert!(server.stop().success());
    bench.run_well(&[]);
    assert_eq!(members(&bench).len() as u64, 4 + 2 + sent);
    drop(mount);
}

/// Beyond its memory nothing is inserted, and the answer says what to do; after a run there is
/// room.
///
/// The open file of a full inbox was sealed only when its time had come, so a run found nothing,
/// and nothing could be inserted for a minute.
#[test]
fn memory_is_bounded() {
    let bench = bench(8, INBOX);
    let server = Server::start(&bench, &["--inbox-mib", "1", "--seal-seconds", "3600"]);
    let rows: Vec<Value> =
        (0..1200).map(|n| row(&format!("http://many.example/{n}"), &unlike(n))).collect();
    let answers: Vec<Value> =
        rows.chunks(300).flat_map(|rows| server.batch("/insert", rows)).collect();
    let taken = answers.iter().filter(|answer| answer["inserted"] == true).count();
    let full = answers.iter().filter(|answer| answer["reason"] == "inbox_full").count();
    assert!(taken > 100 && full > 100 && taken + full == rows.len(), "{taken} and {full}");
    let refused = server.post("/insert", rows.last().expect("a row"));
    let said = problem(&refused, 503);
    assert!(
        text_of(&said, "detail").contains("pagefold run") && refused.head.contains("retry-after"),
        "{refused:?}"
    );
    assert_eq!(text_of(&server.post("/check", &rows[0]).json(), "verdict"), "identical");
    server.wait("the sealed file", || has_sealed(&bench));
    bench.run_well(&[]);
    server.wait("room", || server.post("/insert", rows.last().expect("a row")).status == 200);
    assert!(server.stop().success());
}

/// Only a quarter of the inbox's memory was counted: neither keys nor the earlier records of a page
/// counted. So a server took four times the memory that it was given.
#[test]
fn the_memory_of_the_inbox_is_counted() {
    let bench = bench(0, INBOX);
    let server = Server::start(&bench, &["--threads", "1"]);
    let insert = |numbers: std::ops::Range<u64>| {
        let rows: Vec<Value> = numbers
            .map(|n| row(&format!("http://many.example/of/these/{n}"), &unlike(n)))
            .collect();
        server.batch("/insert", &rows);
    };
    let resident = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", server.id()));
        let status = status.expect("readable");
        let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("there");
        1024.0 * line.trim_end_matches("kB").trim().parse::<f64>().expect("a number")
    };
    let counted = || server.figure("pagefold_serve_inbox_bytes");
    // What the server takes for itself comes with the first requests.
    (0..4).for_each(|part| insert(1000 * part..1000 * (part + 1)));
    let before = (resident(), counted());
    (4..16).for_each(|part| insert(1000 * part..1000 * (part + 1)));
    let grown = (resident() - before.0, counted() - before.1);
    println!("{} bytes a record, of which {} are counted", grown.0 / 12e3, grown.1 / 12e3);
    assert!(grown.1 > 0.75 * grown.0 && grown.1 < 1.5 * grown.0, "{grown:?}");
}

/// One server has the inbox. Another one answers questions only if it is asked to.
#[test]
fn one_server_has_the_inbox() {
    let bench = bench(8, INBOX);
    let _server = Server::start(&bench, &[]);
    let output = bench.pagefold("serve", &["--bind", "127.0.0.1:0"]);
    assert_eq!(output.status.code(), Some(75), "{output:?}");
    assert!(failure(&output.stderr).contains("--read-only"), "{output:?}");
    let other = Server::start(&bench, &["--read-only"]);
    assert_eq!(problem(&other.post("/insert", &asked(1)[0]), 409)["reason"], "no_inbox");
    assert_eq!(text_of(&other.post("/check", &asked(1)[0]).json(), "verdict"), "identical");
    let output = bench.pagefold("serve", &["--bind", "127.0.0.1:0", "--set", "read.complete=true"]);
    assert_eq!(output.status.code(), Some(78), "{output:?}");
    assert!(failure(&output.stderr).contains("[serve] inbox: not with"), "{output:?}");
}

/// A crawl may begin with a server: records are inserted into a store that is not there yet, and a
/// run takes them as its first epoch.
#[test]
fn a_store_begins_with_a_server() {
    let bench = Bench::new(Path::new("in"), INBOX);
    let job = std::fs::read_to_string(bench.at("job.toml")).expect("readable");
    std::fs::write(bench.at("job.toml"), job.replace("inputs = [\"in\"]", "inputs = []"))
        .expect("written");
    let server = Server::start(&bench, &["--seal-seconds", "1"]);
    let rows: Vec<Value> =
        (0..40).map(|n| row(&format!("http://a.example/{n}"), &unlike(n / 2))).collect();
    let answers = server.batch("/insert", &rows);
    assert_eq!(
        answers.iter().filter(|answer| answer["inserted"] == true).count(),
        20,
        "{answers:#?}"
    );
    server.wait("the sealed file", || has_sealed(&bench));
    bench.run_well(&[]);
    server.wait("the first epoch", || server.get("/readyz").json()["epoch"] == 1);
    assert_eq!(text_of(&server.post("/check", &rows[1]).json(), "verdict"), "identical");
    assert!(server.stop().success());
    assert_eq!(members(&bench).len(), 20);
}

/// The fields of a row were sorted on their way to the inbox, and a row that its date made longer
/// than a line of a run was no body that is too large. It is kept byte for byte, or refused by 413.
#[test]
fn a_row_of_the_inbox_is_as_it_came() {
    let bench = bench(0, &format!("[read.limits]\nline_bytes_max = 1000\n{INBOX}"));
    let server = Server::start(&bench, &[]);
    let sent = |url: &str, text: &str| {
        let page =
            format!(r#""url": "http://{url}.example/", "text": "{text}", "date": 1600000000"#);
        format!(r#"{{"z": 1.0, {page}, "id": 12345678901234567890, "a\u0062": 1, "ab": [1e2]}}"#)
    };
    let (one, two) = (sent("one", &unlike(1)), sent("two", &unlike(2)));
    let taken = server.send("POST", "/insert", "application/json", one.as_bytes());
    assert_eq!(taken.json()["inserted"], true, "{taken:?}");
    let in_lines = two.replace(", ", ",\n ");
    let taken = server.send("POST", "/insert", "application/json", in_lines.as_bytes());
    assert_eq!(taken.json()["inserted"], true, "{taken:?}");
    // With its date it would have more bytes than a run reads.
    let long = row("http://long.example/", "");
    let text = "x".repeat(1000 - long.to_string().len());
    let long = row("http://long.example/", &text);
    assert_eq!(problem(&server.post("/insert", &long), 413)["reason"], "long_line");
    let plain = server.send("POST", "/insert?url=http://q.example/", "text/plain", &[b'"'; 600]);
    assert_eq!(problem(&plain, 413)["reason"], "long_line");
    let batch = server.send("POST", "/insert", super::NDJSON, long.to_string().as_bytes());
    assert_eq!(batch.lines()[0]["reason"], "long_line", "{batch:?}");
    assert!(server.stop().success());
    let files = std::fs::read_dir(bench.at("inbox")).expect("there");
    let files = files.map(|entry| entry.expect("an entry").path());
    let kept: String = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .map(|path| std::fs::read_to_string(path).expect("UTF-8"))
        .collect();
    assert_eq!(kept, format!("{one}\n{}\n", two.replace(", ", ",  ")));
    bench.run_well(&[]);
    assert_eq!(members(&bench).len(), 2);
}

/// After kill -9 of a server `run` said that every input is consumed, though records that were
/// acknowledged lay in the inbox, where no run finds them. `run` and `status` say so, until a
/// server is there, which seals them.
#[test]
fn what_a_killed_server_left_is_reported() {
    let bench = bench(4, INBOX);
    let said = || {
        let status = bench.pagefold("status", &[]);
        let quiet = bench.run(&["--quiet"]);
        let said = [bench.run_well(&[]).into_bytes(), status.stdout, quiet.stderr];
        said.map(|said| {
            String::from_utf8_lossy(&said).contains(
                "records of a server that has ended wait there; `pagefold serve job.toml` seals",
            )
        })
    };
    let server = Server::start(&bench, &[]);
    server.post("/insert", &row("http://fresh.example/", &unlike(7)));
    assert_eq!(said(), [false; 3]);
    server.kill();
    assert_eq!(said(), [true; 3]);
    assert!(Server::start(&bench, &[]).stop().success());
    assert_eq!(said(), [false; 3]);
    assert_eq!(members(&bench).len(), 4 + 1);
}

/// A page that was just inserted was reported as unknown, as if its insertion were lost.
#[test]
fn a_page_in_the_inbox_is_reported_as_such() {
    let bench = bench(4, INBOX);
    let server = Server::start(&bench, &[]);
    let url = "http://inserted.example/";
    let asked = format!("/pages?url={url}");
    let detail = |server: &Server| problem(&server.get(&asked), 404)["detail"].to_string();
    assert!(!detail(&server).contains("inbox"));
    assert_eq!(server.post("/insert", &row(url, &text(830, 0))).json()["inserted"], true);
    assert!(detail(&server).contains("it is in the inbox"), "{}", detail(&server));
    assert!(server.stop().success());
    bench.run_well(&[]);
    let server = Server::start(&bench, &[]);
    assert_eq!(server.get(&asked).json()["url"], url);
}
