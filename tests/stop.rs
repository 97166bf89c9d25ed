use crate::random::Random;
use crate::texts::crawl;
use crate::workbench::{Bench, failure, signal};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Many small inputs give many splits. No dictionary is loaded, so that most of the time is work.
const JOB: &str = "[features]\nunit = \"characters\"\n[confirm]\nfacts = \"off\"\n";
const FILES: u64 = 24;
const PAGES: u64 = 500;
const LINE: &str = "stopped; run again to go on";

/// The number of finished splits of the bench's attempts.
fn splits(bench: &Bench) -> usize {
    let attempts = std::fs::read_dir(bench.at("store/attempt")).into_iter().flatten().flatten();
    let splits = attempts.flat_map(|attempt| {
        std::fs::read_dir(attempt.path().join("split")).into_iter().flatten().flatten()
    });
    splits
        .filter(|split| split.path().extension().is_some_and(|extension| extension == "json"))
        .count()
}

/// The files in the folder of results that an unfinished export leaves.
fn left_aside(bench: &Bench) -> Vec<String> {
    let entries = std::fs::read_dir(bench.at("out")).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".writing")).collect()
}

/// A run that is stopped at any moment ends with 75 and one line, keeps every finished split and
/// leaves nothing half visible; the last run exports the bytes of an undisturbed one.
///
/// It is stopped by any of three signals, sent to one process or to all processes at once.
#[test]
fn stopped_at_any_moment() {
    let inputs = crawl(FILES, PAGES, 120);
    let reference = Bench::in_memory(inputs.path(), JOB);
    let started = Instant::now();
    reference.run_well(&["--threads", "2", "--quiet"]);
    let undisturbed_us = started.elapsed().as_micros() as u64;
    let mut random = Random::seeded();
    let (mut stopped, mut in_export) = (0, 0);
    for round in 0..6 {
        let bench = Bench::in_memory(inputs.path(), JOB);
        let cluster = bench.cluster(2, 1);
        let mut kept = 0;
        for attempt in 0..4 {
            let name = ["TERM", "INT", "HUP"][random.below(3) as usize];
            let arguments =
                if round % 2 == 0 { ["--threads", "2"] } else { ["--cluster", &cluster] };
            let delay_us = random.below(undisturbed_us * 11 / 10);
            let to_all = random.below(2) == 0;
            let what = format!(
                "round {round}, attempt {attempt}: {name} after {delay_us} us, to all: {to_all}"
            );
            let mut command = bench.command(&arguments);
            command.arg("--quiet").stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
            let mut child = command.spawn().expect("started");
            until_it_heeds(&child);
            std::thread::sleep(Duration::from_micros(delay_us));
            signal(name, &if to_all { format!("-{}", child.id()) } else { child.id().to_string() });
            // stderr ends when the last worker has ended.
            let mut stderr = String::new();
            child.stderr.take().expect("a pipe").read_to_string(&mut stderr).expect("UTF-8");
            match child.wait().expect("ended").code() {
                Some(75) => {
                    assert_eq!(
                        (failure(&stderr).as_str(), stderr.lines().count()),
                        (LINE, 1),
                        "{what}"
                    );
                    stopped += 1;
                }
                Some(0) => {
                    assert_eq!(stderr, "", "{what}");
                    break;
                }
                code => panic!("{what}: {code:?}: {stderr}"),
            }
            assert_eq!(left_aside(&bench), [""; 0], "{what}");
            if bench.at("store/manifest/00000000000000000001.json").exists() {
                in_export += usize::from(!bench.at("out/summary.json").exists());
                continue;
            }
            assert!(
                splits(&bench) >= kept,
                "{what}: of {kept} finished splits {} are left",
                splits(&bench)
            );
            kept = splits(&bench);
        }
        bench.run_well(&["--threads", "2"]);
        bench.assert_same_tables(&reference, &format!("round {round}"));
        assert!(bench.pagefold("verify", &["--full"]).status.success());
    }
    println!("{stopped} runs stopped, {in_export} of them between commit and summary");
    assert!(stopped > 0, "no run was stopped");
}

/// `export` and `verify` were killed by a signal, and so was each command in its first moments: now
/// all end with the code of a stopped one. Here none has read more than the name of its job.
#[test]
fn stopped_before_any_work() {
    let bench = Bench::new(Path::new("in"), JOB);
    std::fs::remove_file(bench.at("job.toml")).expect("removed");
    // Who opens it to read waits for a writer.
    let made = Command::new("mkfifo").arg(bench.at("job.toml")).status();
    assert!(made.expect("started").success());
    let commands = [
        "run", "rebuild", "export", "verify", "rollback", "gc", "filter", "check", "eval",
        "lexicon", "status", "report",
    ];
    for (at, name) in commands.into_iter().enumerate() {
        let more: &[&str] = match name {
            "rollback" => &["1"],
            "eval" => &["--labels", "truth.jsonl"],
            "lexicon" => &["--out", "words.tsv"],
            "report" => &["--out", "report.html"],
            _ => &["--json"],
        };
        let mut command = bench.other(name, more);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
        until_it_heeds(&child);
        signal(["TERM", "INT", "HUP"][at % 3], &child.id().to_string());
        let output = child.wait_with_output().expect("ended");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(75), "{name}: {stderr}");
        assert_eq!(failure(&output.stderr), LINE, "{name}");
        let answer = serde_json::from_slice::<serde_json::Value>(&output.stdout);
        assert_eq!(
            answer.is_ok_and(|answer| answer["exit_code"] == 75),
            more == ["--json"],
            "{name}"
        );
    }
}

/// The bits of SIGTERM, SIGINT and SIGHUP in the masks of `/proc/PID/status`.
const SIGNALS: u64 = 1 << 14 | 1 << 1 | 1;

/// Waits until the process handles SIGTERM, SIGINT and SIGHUP, except those that it ignores, and
/// returns the mask of all signals that it handles. A process registers them one by one.
pub fn until_it_heeds(child: &Child) -> u64 {
    loop {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("Linux");
        assert!(!status.contains("\nState:\tZ"), "it ended before it handled signals");
        let mask = |name: &str| {
            let mask = status.lines().find_map(|line| line.strip_prefix(name));
            mask.map_or(0, |mask| u64::from_str_radix(mask.trim(), 16).expect("a mask"))
        };
        let (caught, ignored) = (mask("SigCgt:"), mask("SigIgn:"));
        if caught != 0 && (caught | ignored) & SIGNALS == SIGNALS {
            return caught;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A run that waits for another one can be stopped, too, and reports it to scripts; metrics do not
/// change, because it had not begun.
#[test]
fn stopped_while_waiting() {
    let bench = Bench::new(Path::new("in"), JOB);
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/1.jsonl"), "{}\n").expect("written");
    let _lock = workers::store::Store::lock(&bench.at("store")).expect("free");
    let mut command = bench.command(&["--wait", "--json", "--metrics", "m.prom"]);
    let child = command
        .env("RUST_LOG", "error")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    until_it_heeds(&child);
    signal("TERM", &child.id().to_string());
    let output = child.wait_with_output().expect("ended");
    assert_eq!(output.status.code(), Some(75));
    assert_eq!(failure(&output.stderr), LINE);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(answer["exit_code"], 75);
    assert!(!bench.at("m.prom").exists());
}

/// Metrics count a stopped run as stopped. A run may end before the signal comes.
#[test]
fn metrics_of_a_stopped_run() {
    let inputs = crawl(FILES, PAGES, 120);
    assert!((0..8).any(|_| counts_its_stop(&inputs)), "no run was stopped");
}

/// Whether a run was stopped. Its metrics say so.
fn counts_its_stop(inputs: &tempfile::TempDir) -> bool {
    let bench = Bench::in_memory(inputs.path(), JOB);
    let mut command = bench.command(&["--threads", "1", "--quiet", "--metrics", "m.prom"]);
    let mut child = command.stderr(Stdio::null()).spawn().expect("started");
    while splits(&bench) == 0 && child.try_wait().expect("asked").is_none() {
        std::thread::sleep(Duration::from_millis(1));
    }
    signal("TERM", &child.id().to_string());
    let code = child.wait().expect("ended").code();
    let metrics = std::fs::read_to_string(bench.at("m.prom")).expect("written");
    let expected = if code == Some(75) { ["0", "1"] } else { ["1", "0"] };
    for (result, n) in ["success", "stopped"].into_iter().zip(expected) {
        let line = format!("pagefold_runs_total{{job=\"job\",result=\"{result}\"}} {n}");
        assert!(metrics.contains(&line), "{code:?}: {metrics}");
    }
    code == Some(75)
}

/// `timeout` sends a signal to a run and to its group, and the second one ended it before its line
/// and its metrics were written.
#[test]
fn a_signal_that_comes_twice() {
    let inputs = crawl(FILES, PAGES, 120);
    let mut stopped = 0;
    for _ in 0..8 {
        let bench = Bench::in_memory(inputs.path(), JOB);
        let mut command = bench.command(&["--threads", "1", "--quiet", "--metrics", "m.prom"]);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("started");
        while splits(&bench) == 0 && child.try_wait().expect("asked").is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let id = child.id().to_string();
        let _ = Command::new("kill").args(["-s", "TERM", "--", &id, &id]).status();
        let output = child.wait_with_output().expect("ended");
        if output.status.code() != Some(0) {
            assert_eq!(output.status.code(), Some(75));
            assert_eq!(failure(&output.stderr), LINE);
            stopped += 1;
        }
        assert!(bench.at("m.prom").exists());
    }
    assert!(stopped > 0, "no run was stopped");
}

/// A second signal ends the process at once when the first one cannot finish, here because its
/// output is not read.
#[test]
fn a_second_signal() {
    let bench = Bench::new(Path::new("in"), JOB);
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/1.jsonl"), "{}\n").expect("written");
    let _lock = workers::store::Store::lock(&bench.at("store")).expect("free");
    let (_unread, full) = std::io::pipe().expect("a pipe");
    let mut filler = full.try_clone().expect("another end");
    // Stays in its last write until the pipe is gone.
    std::thread::spawn(move || while filler.write_all(&[b'.'; 4096]).is_ok() {});
    let mut command = bench.command(&["--wait", "--quiet"]);
    let mut child = command.stderr(full).spawn().expect("started");
    drop(command);
    until_it_heeds(&child);
    std::thread::sleep(Duration::from_millis(100));
    let sent = Instant::now();
    signal("TERM", &child.id().to_string());
    std::thread::sleep(Duration::from_millis(300));
    // The process gives up its line after a second. On a busy machine that may be over.
    let has_ended = child.try_wait().expect("asked").is_some();
    assert!(
        !has_ended || sent.elapsed() > Duration::from_millis(900),
        "the first signal had room to say its line"
    );
    let code = loop {
        if let Some(status) = child.try_wait().expect("asked") {
            break status.code();
        }
        signal("TERM", &child.id().to_string());
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(code, Some(75));
}

/// A signal that is ignored at the start, as `nohup` arranges, stays ignored.
#[test]
fn ignored_signals() {
    let bench = Bench::new(Path::new("in"), JOB);
    std::fs::create_dir(bench.at("in")).expect("made");
    std::fs::write(bench.at("in/1.jsonl"), "{}\n").expect("written");
    let _lock = workers::store::Store::lock(&bench.at("store")).expect("free");
    let script = "trap '' HUP; exec \"$0\" run job.toml --wait --quiet";
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", script, &crate::workbench::pagefold()])
        .current_dir(bench.at(""))
        .stderr(Stdio::null());
    let mut child = shell.spawn().expect("started");
    assert_eq!(until_it_heeds(&child) & 1, 0, "it has a handler for SIGHUP");
    signal("HUP", &child.id().to_string());
    signal("TERM", &child.id().to_string());
    assert_eq!(child.wait().expect("ended").code(), Some(75));
}
