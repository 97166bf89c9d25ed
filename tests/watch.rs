use crate::workbench::{Bench, failure};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

const JOB: &str = "[features]\nunit = \"characters\"\n[confirm]\nfacts = \"off\"\n";
const GOOD: &str = "{\"url\":\"http://a.example/1\",\"text\":\"some words that say nothing of note to anyone at all\"}\n";

/// A bench of one good page, whose input a test extends.
fn bench(more: &str) -> Bench {
    let bench = Bench::new(Path::new("in"), &format!("{more}{JOB}"));
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/1.jsonl"), GOOD).expect("written");
    bench
}

/// Runs without the proxies of the tests' environment.
fn run(bench: &Bench, arguments: &[&str]) -> Output {
    let mut command = bench.command(arguments);
    without_proxies(&mut command);
    command.output().expect("started")
}

/// Requests of `command` go where they are meant to go.
pub fn without_proxies(command: &mut Command) {
    for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"]
    {
        command.env_remove(name);
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Reads a sample's labels: `name="value"` between commas, with `\\`, `\"` and `\n` in values.
fn labels(text: &str) -> Option<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"")?;
        assert!(is_name(name), "{name}");
        let (mut value, mut chars) = (String::new(), after.char_indices());
        let end = loop {
            match chars.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(match chars.next()?.1 {
                    'n' => '\n',
                    c @ ('\\' | '"') => c,
                    _ => return None,
                }),
                (_, c) => value.push(c),
            }
        };
        labels.insert(name.to_owned(), value).map_or(Some(()), |_| None)?;
        rest = &after[end + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    Some(labels)
}

fn is_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter) && name.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

/// Reads a file in Prometheus's text format by its grammar: values by metric, job and other label.
///
/// Help and type stand once, before their samples; all samples of a metric stand together; the file
/// ends with a line end.
fn parse(text: &str) -> BTreeMap<(String, String), f64> {
    assert!(text.ends_with('\n'));
    let (mut samples, mut seen, mut now) = (BTreeMap::new(), Vec::new(), (String::new(), false));
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect("a help");
            assert!(
                is_name(name) && !words.is_empty() && !seen.contains(&name.to_owned()),
                "{line}"
            );
            seen.push(name.to_owned());
            now = (name.to_owned(), false);
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a type");
            assert!(name == now.0 && !now.1 && ["counter", "gauge"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            now.1 = true;
        } else {
            let (name, rest) = line.split_once('{').expect("labels");
            let (inside, value) = rest.rsplit_once("} ").expect("a value");
            assert!(name == now.0 && now.1, "{line} is not of {now:?}");
            let mut labels = labels(inside).expect(line);
            assert_eq!(labels.remove("job").as_deref(), Some("job"));
            assert!(labels.len() < 2);
            let value = value.parse().expect("a number");
            let other = labels.into_values().next().unwrap_or_default();
            assert!(samples.insert((name.to_owned(), other), value).is_none(), "{line} twice");
        }
    }
    samples
}

/// After a success the metrics file is complete, follows the format's grammar and is readable by
/// all for any umask. A failure is counted and keeps what the last success wrote. A run with
/// nothing due is a success.
#[test]
fn metrics() {
    let bench = bench("metrics = \"job.prom\"\n");
    let script = "umask 077; exec \"$0\" run job.toml --quiet";
    let ran = Command::new("/bin/sh")
        .args(["-c", script, &crate::workbench::pagefold()])
        .current_dir(bench.at(""))
        .output();
    let ran = ran.expect("started");
    assert!(ran.status.success() && stderr(&ran).is_empty(), "{}", stderr(&ran));
    let file = bench.at("job.prom");
    assert_eq!(file.metadata().expect("there").permissions().mode() & 0o777, 0o644);
    let read = || parse(&std::fs::read_to_string(&file).expect("readable"));
    let of = |samples: &BTreeMap<(String, String), f64>, name: &str, label: &str| {
        *samples
            .get(&(format!("pagefold_{name}"), label.to_owned()))
            .unwrap_or_else(|| panic!("no {name} {label}"))
    };
    let first = read();
    let facts =
        [("epoch", 1.0), ("documents", 1.0), ("clusters", 0.0), ("epoch_records_read", 1.0)];
    for (name, value) in facts {
        assert_eq!(of(&first, name, ""), value, "{name}");
    }
    assert_eq!(of(&first, "epoch_records", "accepted"), 1.0);
    assert_eq!(of(&first, "epoch_input_bytes", ""), GOOD.len() as f64);
    assert!(of(&first, "epoch_memory_max_bytes", "") > 0.0 && of(&first, "store_bytes", "") > 0.0);
    for stage in ["plan", "ingest", "pages", "pairs", "clusters", "commit", "export"] {
        assert!(of(&first, "epoch_stage_seconds", stage) >= 0.0);
    }
    assert_eq!(
        of(&first, "last_success_timestamp_seconds", ""),
        of(&first, "last_run_timestamp_seconds", "")
    );

    std::fs::write(bench.at("in/2.jsonl"), "{broken\n").expect("written");
    assert_eq!(bench.run(&["--quiet"]).status.code(), Some(65));
    let second = read();
    assert_eq!(of(&second, "last_run_exit_code", ""), 65.0);
    assert_eq!(
        [of(&second, "runs_total", "success"), of(&second, "runs_total", "failure")],
        [1.0, 1.0]
    );
    let stay = |samples: &BTreeMap<(String, String), f64>| {
        let is_of_run = |name: &str| name.contains("_last_run_") || name.contains("_runs_");
        samples
            .iter()
            .filter(|((name, _), _)| !is_of_run(name))
            .map(|(k, v)| (k.clone(), *v))
            .collect::<Vec<_>>()
    };
    assert_eq!(stay(&first), stay(&second));

    std::fs::remove_file(bench.at("in/2.jsonl")).expect("removed");
    bench.run_well(&["--quiet"]);
    let third = read();
    assert_eq!([of(&third, "last_run_exit_code", ""), of(&third, "epoch", "")], [0.0, 1.0]);
    assert_eq!(
        [of(&third, "runs_total", "success"), of(&third, "runs_total", "failure")],
        [2.0, 1.0]
    );
    // The job cannot be read; the metrics file of the command line is written all the same.
    std::fs::write(bench.at("job.toml"), "store = ").expect("written");
    assert_eq!(bench.run(&["--metrics", "job.prom"]).status.code(), Some(78));
    assert_eq!(of(&read(), "last_run_exit_code", ""), 78.0);
    assert!(
        !std::fs::read_dir(bench.at(""))
            .expect("listed")
            .any(|e| { e.expect("an entry").file_name().to_string_lossy().ends_with(".writing") })
    );
}

/// Metrics that cannot be written are a warning, and the run's result stays the same.
#[test]
fn metrics_that_cannot_be_written() {
    let bench = bench("");
    std::fs::create_dir(bench.at("folder.prom")).expect("made");
    for file in ["gone/job.prom", "folder.prom"] {
        let ran = bench.run(&["--metrics", file]);
        assert_eq!(ran.status.code(), Some(0));
        assert!(stderr(&ran).contains("cannot write metrics"), "{}", stderr(&ran));
    }
}

/// A service on loopback that answers requests with `answers` in order, the last one repeatedly.
/// Returns its URL and the first lines and bodies of requests.
pub fn service(answers: &'static [&'static str]) -> (String, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (tell, hear) = channel();
    let answer = move |stream: TcpStream, answer: &str| -> std::io::Result<(String, String)> {
        let mut reader = BufReader::new(stream);
        let (mut first, mut length) = (String::new(), 0);
        reader.read_line(&mut first)?;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let line = line.trim().to_lowercase();
            if let Some(n) = line.strip_prefix("content-length:") {
                length = n.trim().parse().unwrap_or(0);
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let head = format!("HTTP/1.1 {answer}\r\ncontent-length: 2\r\nconnection: close\r\n\r\nOK");
        reader.get_mut().write_all(head.as_bytes())?;
        Ok((first.trim().to_owned(), String::from_utf8_lossy(&body).into_owned()))
    };
    thread::spawn(move || {
        for (at, stream) in listener.incoming().enumerate() {
            let said = stream.and_then(|stream| answer(stream, answers[at.min(answers.len() - 1)]));
            // The test may have ended.
            let _ = said.map(|said| tell.send(said));
        }
    });
    (format!("http://{address}/id-of-secret"), hear)
}

/// A service is pinged at a run's start and at its success, or at its failure with exit code and
/// line; a run that may not begin pings nothing.
#[test]
fn pings() {
    let (url, heard) = service(&["200 OK"]);
    let bench = bench("");
    assert!(run(&bench, &["--ping", &url, "--quiet"]).status.success());
    let so_far = |n: usize| heard.iter().take(n).collect::<Vec<_>>();
    let get = |path: &str| (format!("GET {path} HTTP/1.1"), String::new());
    assert_eq!(so_far(2), [get("/id-of-secret/start"), get("/id-of-secret")]);
    std::fs::write(bench.at("in/2.jsonl"), "{broken\n").expect("written");
    let job = std::fs::read_to_string(bench.at("job.toml")).expect("readable");
    let in_job = job.replace("dir = \"out\"\n", &format!("dir = \"out\"\nping = \"{url}?x=1\"\n"));
    std::fs::write(bench.at("job.toml"), in_job).expect("written");
    let failed = run(&bench, &["--quiet"]);
    assert_eq!(failed.status.code(), Some(65));
    let said = so_far(2);
    assert_eq!(said[0], get("/id-of-secret/start?x=1"));
    assert_eq!(said[1].0, "POST /id-of-secret/fail?x=1 HTTP/1.1");
    assert_eq!(said[1].1, format!("exit code 65: {}", failure(&failed.stderr)));
    let lock = workers::store::Store::lock(&bench.at("store")).expect("free");
    assert_eq!(run(&bench, &["--skip-if-running"]).status.code(), Some(0));
    assert_eq!(run(&bench, &[]).status.code(), Some(75));
    drop(lock);
    assert!(heard.try_recv().is_err());
    for wrong in ["ftp://a.example/", "a.example", "http://", "http://a.example/ b"] {
        assert_eq!(run(&bench, &["--ping", wrong]).status.code(), Some(64), "{wrong}");
        let set = format!("output.ping='{wrong}'");
        assert_eq!(run(&bench, &["--set", &set]).status.code(), Some(78), "{wrong}");
    }
}

/// A failing service is asked up to three times, a refusing one once, and one that is silent or
/// gone is given up. The run's result stays the same, and its warning does not contain the secret
/// in the URL.
#[test]
fn pings_that_fail() {
    let bench = bench("");
    let (url, heard) = service(&["500 Oh", "503 No", "200 OK", "404 Gone"]);
    let ran = run(&bench, &["--ping", &url]);
    assert!(ran.status.success());
    let paths: Vec<String> = heard.iter().take(4).map(|(line, _)| line).collect();
    let start = "GET /id-of-secret/start HTTP/1.1";
    assert_eq!(paths, [start, start, start, "GET /id-of-secret HTTP/1.1"]);
    assert!(stderr(&ran).contains("404"), "{}", stderr(&ran));
    assert!(!stderr(&ran).contains("id-of"), "{}", stderr(&ran));
    assert!(heard.try_recv().is_err());
    let mute = TcpListener::bind("127.0.0.1:0").expect("a port");
    let gone = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let urls = [
        format!("http://{}/secret", mute.local_addr().expect("an address")),
        format!("http://{gone}/secret"),
    ];
    for url in urls {
        let ran = run(&bench, &["--ping", &url]);
        assert!(ran.status.success() && !ran.stdout.is_empty(), "{}", stderr(&ran));
        assert!(
            stderr(&ran).contains("cannot ping") && !stderr(&ran).contains("secret"),
            "{}",
            stderr(&ran)
        );
    }
}
