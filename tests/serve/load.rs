//! Trials of load: a window of posts with epochs beside the server, and answers over a large store.
//! Numbers come from the environment. Figures of time and memory are printed and not asserted.

use super::client::Server;
use crate::random::Random;
use crate::workbench::{Bench, number};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, BufWriter, Read as _, Write as _};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

const INBOX: &str = "[serve]\ninbox = \"inbox\"\n";
const SOURCES: u64 = 4;
const HOUR: u64 = 3600;
/// What Linux calls a second in `/proc/PID/stat`.
const TICKS: f64 = 100.0;
/// Records that are asked about have URLs from this number on, which no stored page has.
const ASKED: u64 = u64::MAX / 2;
/// A million questions an hour.
const PACE: Duration = Duration::from_micros(3600);
/// Connections of the window. Answers wait for the disk there.
const CONNECTIONS: u32 = 8;

/// One of 50,000 words, of 3 to 9 letters.
fn word(number: u64) -> String {
    let mut random = Random::of(number, 1);
    (0..3 + random.below(7u32)).map(|_| char::from(b'a' + random.below(26u8))).collect()
}

/// This many words, of which some come more often than others.
fn words(number: u64, count: u64) -> String {
    let mut random = Random::of(number, 2);
    let drawn = |_| {
        let most = 1 + random.below(50_000u64);
        word(random.below(most)) + " "
    };
    (0..count).map(drawn).collect()
}

/// A short post. Of six one copies an earlier one, and one copies it with a word more.
fn post(number: u64) -> String {
    let mut random = Random::of(number, 3);
    let (kind, back) = (random.below(6u64), 1 + random.below(1000u64));
    let own = |number: u64| words(number, 12 + number % 20);
    match number.checked_sub(back).filter(|_| kind < 2) {
        Some(earlier) if kind == 0 => own(earlier),
        Some(earlier) => own(earlier) + "again",
        None => own(number),
    }
}

/// A text of about 1 KB, unlike all others. Its editions differ in a word.
fn article(number: u64, edition: u64) -> String {
    words(u64::MAX - number, 150) + &word(edition)
}

fn record(number: u64, text: &str, date: u64) -> Value {
    json!({ "url": format!("http://s{}.example/{number}", number % SOURCES), "text": text, "date": date.to_string() })
}

/// The memory of a process without mapped files, and the most with them, in MiB.
fn memory(id: u32) -> [u64; 2] {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap_or_default();
    ["RssAnon:", "VmHWM:"].map(|name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().next().map_or(0, |kib| kib.parse::<u64>().expect("a number") >> 10)
    })
}

/// The seconds of processor time that a process has had.
fn processor_seconds(id: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    fields[11..13].iter().map(|ticks| ticks.parse::<f64>().expect("ticks") / TICKS).sum()
}

/// The bytes of a folder.
fn bytes(folder: &Path) -> u64 {
    let of = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        // A run deletes what it needed for a while.
        Err(_) => 0,
    };
    std::fs::read_dir(folder)
        .map_or(0, |entries| entries.map(|entry| of(entry.expect("an entry"))).sum())
}

/// Asks, on one connection and at the steady `pace`, until `ends`. Returns what was answered, and
/// the microseconds of each answer: from when it was due, if the one before it came late.
fn ask(
    server: &Server,
    pace: Duration,
    mut question: impl FnMut(u64) -> Value,
    mut ends: impl FnMut(u64) -> bool,
) -> Asked {
    let mut stream = server.connect().expect("accepted");
    stream.set_nodelay(true).expect("set");
    let mut reader = BufReader::new(stream.try_clone().expect("cloned"));
    let (mut asked, begun) = (Asked::default(), Instant::now());
    for n in 0.. {
        if ends(n) {
            break;
        }
        let body = question(n).to_string();
        let request = format!(
            "POST /check HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            server.at,
            body.len()
        );
        let due = begun + pace * u32::try_from(n).expect("few");
        let wait = due.checked_duration_since(Instant::now());
        if let Some(wait) = wait {
            thread::sleep(wait);
        }
        let from = if wait.is_some() { Instant::now() } else { due };
        stream.write_all(request.as_bytes()).expect("written");
        let (mut line, mut length) = (String::new(), 0);
        while line != "\r\n" {
            line.clear();
            assert!(reader.read_line(&mut line).expect("an answer") > 0, "the connection ended");
            length = line
                .strip_prefix("content-length: ")
                .map_or(length, |of| of.trim().parse().expect("a number"));
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).expect("an answer");
        asked.micros.push(u64::try_from(from.elapsed().as_micros()).expect("short"));
        let answer: Value = serde_json::from_slice(&body).expect("JSON");
        asked.verdicts.push(answer["verdict"].as_str().expect("a verdict").to_owned());
    }
    asked
}

/// Asks at the same pace on several connections until `ended`. Each has numbers of its own.
fn ask_on_many(
    server: &Server,
    question: impl Fn(u64) -> Value + Sync,
    ended: &AtomicBool,
) -> Asked {
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CONNECTIONS)
            .map(|client| {
                let question = &question;
                scope.spawn(move || {
                    let number = |n| question(n * u64::from(CONNECTIONS) + u64::from(client));
                    ask(server, PACE * CONNECTIONS, number, |_| ended.load(Ordering::SeqCst))
                })
            })
            .collect();
        let mut all = Asked::default();
        for client in clients {
            let asked = client.join().expect("no panic");
            all.micros.extend(asked.micros);
            all.verdicts.extend(asked.verdicts);
        }
        all
    })
}

/// The questions that the server answered by its own clock: all, and within a millisecond.
fn answered(server: &Server) -> [f64; 2] {
    ["count{path=\"/check\"}", "bucket{path=\"/check\",le=\"0.001\"}"]
        .map(|name| server.figure(&format!("pagefold_serve_request_seconds_{name}")))
}

/// The share that it answered within a millisecond since `before`.
fn within(server: &Server, before: [f64; 2]) -> f64 {
    let now = answered(server);
    (now[1] - before[1]) / (now[0] - before[0])
}

/// Answers.
#[derive(Default)]
struct Asked {
    micros: Vec<u64>,
    verdicts: Vec<String>,
}

impl Asked {
    /// Which times the answers took.
    fn times(&self) -> String {
        let mut micros = self.micros.clone();
        micros.sort_unstable();
        let at = |of_1000: usize| {
            micros.get((micros.len() * of_1000).div_ceil(1000).max(1) - 1).copied().unwrap_or(0)
        };
        format!(
            "{} answers, us: p50 {}, p99 {}, p99.9 {}, most {}",
            micros.len(),
            at(500),
            at(990),
            at(999),
            at(1000)
        )
    }
}

/// Runs the job while `beside` learns whether the run has ended. Returns what that returned, the
/// seconds, and the most memory without mapped files and with them, in MiB.
fn run_beside<T: Send>(
    bench: &Bench,
    arguments: &[&str],
    beside: impl FnOnce(&AtomicBool) -> T + Send,
) -> (T, f64, [u64; 2]) {
    let (ended, begun, mut most) = (AtomicBool::new(false), Instant::now(), [0, 0]);
    let mut child = bench.command(arguments).stdout(Stdio::null()).spawn().expect("started");
    let (outcome, seconds) = thread::scope(|scope| {
        let beside = scope.spawn(|| beside(&ended));
        let status = loop {
            let now = memory(child.id());
            most = [most[0].max(now[0]), most[1].max(now[1])];
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            thread::sleep(Duration::from_millis(5));
        };
        let seconds = begun.elapsed().as_secs_f64();
        ended.store(true, Ordering::SeqCst);
        assert!(status.success(), "{status}");
        (beside.join().expect("no panic"), seconds)
    });
    (outcome, seconds, most)
}

/// Writes the posts that are not inserted: for each source a file of rows in `in`.
fn write_rows(bench: &Bench, epoch: u64, numbers: std::ops::Range<u64>, now: u64) {
    thread::scope(|scope| {
        for source in 0..SOURCES {
            let numbers = numbers.clone();
            scope.spawn(move || {
                let name = bench.at("in").join(format!("{epoch:03}-{source}.jsonl"));
                let mut file = BufWriter::new(std::fs::File::create(name).expect("created"));
                for n in numbers.filter(|n| n % SOURCES == source) {
                    writeln!(file, "{}", record(n, &post(n), now)).expect("written");
                }
                file.flush().expect("written");
            });
        }
    });
}

/// A page leaves the index two days after it came, and not before: posts of four sources are
/// inserted or written as files, and an epoch takes each hour's while questions are asked.
/// `PAGEFOLD_EPOCHS` epochs of `PAGEFOLD_POSTS` posts, of which `PAGEFOLD_INSERTED` are inserted,
/// are an hour apart if they are more than 48, and else 16 hours.
#[test]
fn a_window_of_posts() {
    let (epochs, posts) = (number("PAGEFOLD_EPOCHS", 6), number("PAGEFOLD_POSTS", 120));
    let sent = number("PAGEFOLD_INSERTED", posts.div_ceil(2)).min(posts);
    let step = if epochs > 48 { HOUR } else { 16 * HOUR };
    let job = "[pages]\nretain_days = 2\ngone_days = 2\n[guards]\nexpired_max = 0.5\n[confirm]\nfacts = \"off\"\n";
    let bench = Bench::new(Path::new("in"), &format!("export = \"on-demand\"\n{job}{INBOX}"));
    std::fs::create_dir_all(bench.at("in")).expect("made");
    let server = Server::start(&bench, &["--seal-seconds", "1", "--threads", "8", "--warm"]);
    let first = UNIX_EPOCH.elapsed().expect("after 1970").as_secs() - epochs * step;
    let mut all = Asked::default();
    for epoch in 0..epochs {
        let now = first + epoch * step;
        let inserted = Instant::now();
        thread::scope(|scope| {
            for source in 0..SOURCES {
                let server = &server;
                scope.spawn(move || {
                    let numbers: Vec<u64> = (epoch * posts..epoch * posts + sent)
                        .filter(|n| n % SOURCES == source)
                        .collect();
                    for numbers in numbers.chunks(500) {
                        let rows: Vec<Value> =
                            numbers.iter().map(|n| record(*n, &post(*n), now)).collect();
                        let answers = server.batch("/insert?always=true", &rows);
                        assert!(
                            answers.iter().all(|answer| answer["inserted"] == true),
                            "{answers:?}"
                        );
                    }
                });
            }
        });
        // One article an epoch tells which epochs are in the index.
        let answer =
            server.post("/insert", &record(u64::MAX - epoch, &article(epoch, 0), now)).json();
        assert_eq!(answer["verdict"], "new", "{answer}");
        let inserted = inserted.elapsed().as_secs_f64();
        write_rows(&bench, epoch, epoch * posts + sent..(epoch + 1) * posts, now);
        server.wait("the sealed files", || {
            let names = std::fs::read_dir(bench.at("inbox"))
                .expect("there")
                .map(|of| of.expect("an entry").file_name());
            !names
                .map(|name| name.to_string_lossy().into_owned())
                .any(|of| of.starts_with('.') && of.ends_with("jsonl"))
        });
        let (asked, seconds, memory_of_run) =
            run_beside(&bench, &["--now", &now.to_string()], |ended| {
                ask_on_many(
                    &server,
                    |n| {
                        record(
                            ASKED + n,
                            &post((epoch * posts + n * 7) % ((epoch + 1) * posts)),
                            now,
                        )
                    },
                    ended,
                )
            });
        server.wait("the new head", || server.get("/readyz").json()["epoch"] == epoch + 1);
        let window = (48 * HOUR / step + 1).min(epoch + 1);
        assert_eq!(
            server.figure("pagefold_serve_documents"),
            (window * (posts + 1)) as f64,
            "after epoch {epoch}"
        );
        for earlier in 0..=epoch {
            let answer = server.post("/check", &record(ASKED, &article(earlier, 0), now)).json();
            let expected = if earlier + window > epoch { "identical" } else { "new" };
            assert_eq!(answer["verdict"], expected, "{earlier} after epoch {epoch}: {answer}");
        }
        let collected =
            bench.pagefold("gc", &["--delete", "--keep-epochs", "1", "--keep-days", "0"]);
        assert!(collected.status.success(), "{collected:?}");
        println!(
            "epoch {epoch}: {sent} of {posts} posts inserted in {inserted:.1} s, run {seconds:.1} s with {memory_of_run:?} MiB, store {} MiB; {}",
            bytes(&bench.at("store")) >> 20,
            asked.times()
        );
        all.micros.extend(asked.micros);
    }
    println!("beside all epochs: {}", all.times());
    println!(
        "the server has {:?} MiB, without mapped files and most with them",
        memory(server.id())
    );
    assert!(server.stop().success());
}

/// Of a store of `PAGEFOLD_STORED` posts and articles, questions of 1 KB at the pace of a million
/// an hour are answered right, alone and while an epoch runs beside them.
#[test]
fn answers_beside_an_epoch() {
    let (stored, asked) = (number("PAGEFOLD_STORED", 1000), number("PAGEFOLD_ASKED", 260));
    let articles = stored.div_ceil(10);
    let bench = Bench::new(
        Path::new("in"),
        &format!("export = \"on-demand\"\n[confirm]\nfacts = \"off\"\n{INBOX}"),
    );
    let write = |name: &str, posts: std::ops::Range<u64>, articles: std::ops::Range<u64>| {
        std::fs::create_dir_all(bench.at("in")).expect("made");
        let mut file =
            BufWriter::new(std::fs::File::create(bench.at("in").join(name)).expect("created"));
        for row in articles
            .map(|n| record(u64::MAX - n, &article(n, 0), 0))
            .chain(posts.map(|n| record(n, &post(n), 0)))
        {
            writeln!(file, "{row}").expect("written");
        }
        file.flush().expect("written");
    };
    write("1.jsonl", articles..stored, 0..articles);
    let ((), seconds, memory_of_run) = run_beside(&bench, &[], |_| ());
    println!(
        "{stored} stored in {seconds:.0} s with {memory_of_run:?} MiB, {} MiB of store",
        bytes(&bench.at("store")) >> 20
    );
    let begun = Instant::now();
    let server = Server::start(&bench, &[]);
    // A third each is stored, near what is stored, and new.
    let question = |n: u64| {
        record(
            ASKED + n,
            &article(n * 7919 % articles + if n % 3 == 2 { stored } else { 0 }, n % 3 % 2),
            0,
        )
    };
    let is_right = |asked: &Asked| {
        let expected = ["identical", "near", "new"];
        asked
            .verdicts
            .iter()
            .enumerate()
            .for_each(|(n, verdict)| assert_eq!(verdict, expected[n % 3], "question {n}"));
        assert!(!asked.verdicts.is_empty());
    };
    let first = ask(&server, PACE, question, |n| n == 1);
    println!("the first answer {:.3} s after the start", begun.elapsed().as_secs_f64());
    is_right(&first);
    // What is hot lies in memory then.
    is_right(&ask(&server, PACE, question, |n| n == asked));
    let (begun, before, earlier) =
        (Instant::now(), processor_seconds(server.id()), answered(&server));
    let alone = ask(&server, PACE, question, |n| n == asked);
    is_right(&alone);
    let share = (processor_seconds(server.id()) - before) / begun.elapsed().as_secs_f64();
    let within_ms = within(&server, earlier);
    println!(
        "alone: {}; {within_ms:.4} within 1 ms in the server, {share:.3} of a core",
        alone.times()
    );
    write("2.jsonl", stored..stored + articles, 0..0);
    let earlier = answered(&server);
    let (beside, seconds, memory_of_run) = run_beside(&bench, &[], |ended| {
        ask(&server, PACE, question, |_| ended.load(Ordering::SeqCst))
    });
    is_right(&beside);
    let within_ms = within(&server, earlier);
    println!(
        "beside an epoch of {seconds:.1} s with {memory_of_run:?} MiB: {}; {within_ms:.4} within 1 ms in the server",
        beside.times()
    );
    server.wait("the new head", || server.get("/readyz").json()["epoch"] == 2);
    is_right(&ask(&server, PACE, question, |n| n == asked));
    println!(
        "the server has {:?} MiB, without mapped files and most with them",
        memory(server.id())
    );
    assert!(server.stop().success());
}
