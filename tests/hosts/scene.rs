//! A run on a network of hosts that a test can watch and disturb, and the promises that must hold
//! at its end.

use super::{alone, lan::Lan};
use crate::texts;
use crate::workbench::{Bench, free_port};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Loads no dictionary, which would take most of the time of so small a run: neither words nor
/// facts.
pub const JOB: &str = "[features]\nunit = \"characters\"\n[confirm]\nfacts = \"off\"\n";
/// The silence timeout of these tests.
pub const SILENCE: Duration = Duration::from_secs(3);
/// The longest that a test waits for a timeout.
pub const GENEROUS: Duration = Duration::from_secs(3 + 10);
/// Much longer than any run takes.
const RUN: Duration = Duration::from_secs(120);
/// The number of files. Each is a split, since there are four for each worker.
pub const FILES: u64 = 12;
const PAGES: u64 = 540;

/// A crawl that takes seconds; made once for all tests.
fn crawl() -> PathBuf {
    static CRAWL: OnceLock<tempfile::TempDir> = OnceLock::new();
    CRAWL.get_or_init(|| texts::crawl(FILES, PAGES, 200)).path().to_owned()
}

/// The tables that one process exports for these inputs; made once.
fn expected(inputs: &Path) -> BTreeMap<String, Vec<u8>> {
    static EXPECTED: Mutex<BTreeMap<PathBuf, BTreeMap<String, Vec<u8>>>> =
        Mutex::new(BTreeMap::new());
    let mut known = EXPECTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    known.entry(inputs.to_owned()).or_insert_with(|| alone(inputs).tables()).clone()
}

/// A job, and a cluster file of all hosts of the network.
pub struct Scene<'a> {
    /// The network.
    pub lan: &'a Lan,
    /// The job.
    pub bench: Bench,
    /// The port that every process listens on.
    pub port: u16,
    inputs: PathBuf,
}

impl<'a> Scene<'a> {
    /// Makes a job over `inputs`, or over a crawl that takes seconds, on the first three hosts;
    /// `more` goes to the cluster file.
    pub fn new(lan: &'a Lan, inputs: Option<PathBuf>, more: &str) -> Scene<'a> {
        let inputs = inputs.unwrap_or_else(crawl);
        let bench = Bench::new(&inputs, JOB);
        let port = free_port(&["127.0.0.1".to_owned()]);
        let start = if more.contains("ssh_command") {
            ""
        } else {
            "ssh_command = [\"ip\", \"netns\", \"exec\"]\n"
        };
        let mut cluster = format!(
            "launch = \"ssh\"\nworkers = 1\nport = {port}\nbackoff_s = 0.01\nsilence_timeout_s = {}\n{start}{more}\n",
            SILENCE.as_secs()
        );
        for host in 0..3 {
            let name = if more.contains("\"ssh\"") { lan.address(host) } else { lan.host(host) };
            write!(cluster, "[[hosts]]\naddress = \"{}\"\nssh = \"{name}\"\n", lan.address(host))
                .expect("a string");
        }
        std::fs::write(bench.at("hosts.toml"), cluster).expect("written");
        Scene { lan, bench, port, inputs }
    }

    /// Starts the run.
    pub fn start(&self) -> Run {
        Run::of(self.bench.command(&["--cluster", "hosts.toml"]))
    }

    /// The content of `run.json`.
    pub fn run_json(&self) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.bench.at("out/run.json")).expect("written"))
            .expect("JSON")
    }

    /// Asserts that the results are those of one process.
    pub fn same_bytes(&self, what: &str) {
        let (mine, expected) = (self.bench.tables(), expected(&self.inputs));
        let differ: Vec<&String> =
            mine.keys().filter(|name| mine.get(*name) != expected.get(*name)).collect();
        assert!(differ.is_empty(), "{what}: {differ:?} differ");
    }

    /// The number of finished splits.
    pub fn splits(&self) -> u64 {
        let attempts =
            std::fs::read_dir(self.bench.at("store/attempt")).into_iter().flatten().flatten();
        let splits = attempts.flat_map(|attempt| {
            std::fs::read_dir(attempt.path().join("split")).into_iter().flatten().flatten()
        });
        splits
            .filter(|split| split.path().extension().is_some_and(|extension| extension == "json"))
            .count() as u64
    }

    /// Waits until this many splits are finished, and returns the worker on `host`; none if the run
    /// ends before.
    pub fn at_work(&self, host: usize, splits: u64, run: &mut Run) -> Option<u32> {
        let began = Instant::now();
        while self.splits() < splits || self.lan.workers(host).is_empty() {
            if run.child.try_wait().expect("asked").is_some() {
                return None;
            }
            assert!(began.elapsed() < RUN, "{}", run.log());
            std::thread::sleep(Duration::from_millis(5));
        }
        self.lan.workers(host).pop()
    }
}

/// A run and its log.
pub struct Run {
    /// The launcher.
    pub child: Child,
    lines: Receiver<(Instant, String)>,
    heard: Vec<(Instant, String)>,
}

impl Run {
    /// Starts `command`.
    pub fn of(mut command: Command) -> Run {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("started");
        let stderr = child.stderr.take().expect("a pipe");
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if tell.send((Instant::now(), line)).is_err() {
                    return;
                }
            }
        });
        Run { child, lines, heard: Vec::new() }
    }

    /// Waits for a log line with `word`, at most `within`, and returns when it was written.
    pub fn says(&mut self, word: &str, within: Duration) -> Option<Instant> {
        let deadline = Instant::now() + within;
        let mut looked_at = 0;
        loop {
            if let Some((at, _)) =
                self.heard[looked_at..].iter().find(|(_, line)| line.contains(word))
            {
                return Some(*at);
            }
            looked_at = self.heard.len();
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(heard) => self.heard.push(heard),
                Err(_) => return None,
            }
        }
    }

    /// The log so far.
    pub fn log(&mut self) -> String {
        self.heard.extend(self.lines.try_iter());
        self.heard.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("asked") {
                // stderr ends when the last worker has ended.
                let _ = self.says("\u{0}", GENEROUS);
                return status;
            }
            if began.elapsed() > RUN {
                panic!("the run does not end: {}", self.log());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Asserts that it succeeds in this many attempts, gives the bytes of one process and leaves no
    /// process behind.
    pub fn succeeded(mut self, scene: &Scene<'_>, attempts: usize) -> serde_json::Value {
        let status = self.ended();
        assert!(status.success(), "{status}: {}", self.log());
        let ended = scene.run_json();
        assert_eq!(
            ended["attempts"].as_array().map(Vec::len),
            Some(attempts),
            "{ended}\n{}",
            self.log()
        );
        scene.same_bytes("the run");
        scene.lan.no_worker_left(GENEROUS, "the run");
        ended
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // A run that has ended needs no killing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
