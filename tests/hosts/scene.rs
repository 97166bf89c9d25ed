//! In come a network and inputs, out comes a run over it that can be watched and disturbed, and the promises that must hold at its end.

use super::{alone, lan::Lan};
use crate::workbench::Bench;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

/// No dictionary, whose loading would be most of so small a run.
pub const JOB: &str = "[features]\nunit = \"characters\"\n";
/// Silence after which a process is lost, in these tests.
pub const SILENCE: Duration = Duration::from_secs(3);
/// The bound on everything that waits for silence.
pub const GENEROUS: Duration = Duration::from_secs(3 + 10);
/// Far beyond what a run takes.
const RUN: Duration = Duration::from_secs(120);
/// Splits, one a file.
pub const FILES: u64 = 40;
const PAGES: u64 = 160;

/// A crawl of which every fourth page is near to three others; made once for all tests.
fn crawl() -> PathBuf {
    static CRAWL: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = CRAWL.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        for file in 0..FILES {
            let mut lines = String::new();
            for n in file * PAGES..(file + 1) * PAGES {
                let article = n / 4;
                let mut text: String = (0..200).map(|w| format!("w{} ", (article * 131 + w * 17) % 9973)).collect();
                write!(text, "edition {}", n % 4).expect("a string");
                writeln!(lines, "{{\"url\":\"http://h{}.example/{n}\",\"text\":\"{text}\"}}", n % 7).expect("a string");
            }
            std::fs::write(folder.path().join(format!("{file:02}.jsonl")), lines).expect("written");
        }
        folder
    });
    folder.path().to_owned()
}

/// The tables that one process exports of these inputs; made once.
fn expected(inputs: &Path) -> BTreeMap<String, Vec<u8>> {
    static EXPECTED: Mutex<BTreeMap<PathBuf, BTreeMap<String, Vec<u8>>>> = Mutex::new(BTreeMap::new());
    let mut known = EXPECTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    known.entry(inputs.to_owned()).or_insert_with(|| alone(inputs).tables()).clone()
}

/// A job, and a cluster file of all hosts of a network.
pub struct Scene<'a> {
    /// The network.
    pub lan: &'a Lan,
    /// The job.
    pub bench: Bench,
    inputs: PathBuf,
}

/// Port that every process listens on.
pub const PORT: u16 = 7400;

impl<'a> Scene<'a> {
    /// A job over `inputs`, or a crawl that takes seconds, on the first three hosts; `more` is for the cluster file.
    pub fn new(lan: &'a Lan, inputs: Option<PathBuf>, more: &str) -> Scene<'a> {
        let inputs = inputs.unwrap_or_else(crawl);
        let bench = Bench::new(&inputs, JOB);
        let start = if more.contains("ssh_command") { "" } else { "ssh_command = [\"ip\", \"netns\", \"exec\"]\n" };
        let mut cluster = format!(
            "launch = \"ssh\"\nworkers = 1\nport = {PORT}\nbackoff_s = 0.01\nsilence_timeout_s = {}\n{start}{more}\n",
            SILENCE.as_secs()
        );
        for host in 0..3 {
            let name = if more.contains("\"ssh\"") { lan.address(host) } else { lan.host(host) };
            write!(cluster, "[[hosts]]\naddress = \"{}\"\nssh = \"{name}\"\n", lan.address(host)).expect("a string");
        }
        std::fs::write(bench.at("hosts.toml"), cluster).expect("written");
        Scene { lan, bench, inputs }
    }

    /// Starts the run.
    pub fn start(&self) -> Run {
        Run::of(self.bench.command(&["--cluster", "hosts.toml"]))
    }

    /// What `run.json` tells.
    pub fn told(&self) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.bench.at("out/run.json")).expect("written")).expect("JSON")
    }

    /// The results are those of one process alone.
    pub fn same_bytes(&self, what: &str) {
        let (mine, expected) = (self.bench.tables(), expected(&self.inputs));
        let differ: Vec<&String> = mine.keys().filter(|name| mine.get(*name) != expected.get(*name)).collect();
        assert!(differ.is_empty(), "{what}: {differ:?} differ");
    }

    /// Splits that are finished.
    pub fn splits(&self) -> u64 {
        let attempts = std::fs::read_dir(self.bench.at("store/attempt")).into_iter().flatten().flatten();
        let splits = attempts
            .flat_map(|attempt| std::fs::read_dir(attempt.path().join("split")).into_iter().flatten().flatten());
        splits.filter(|split| split.path().extension().is_some_and(|extension| extension == "json")).count() as u64
    }

    /// The worker on `host`, once so many splits are finished by any; none if the run ends before.
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

/// A run, and what it says as it says it.
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

    /// When a line with `word` was said, at most `within` from now.
    pub fn says(&mut self, word: &str, within: Duration) -> Option<Instant> {
        let deadline = Instant::now() + within;
        let mut looked_at = 0;
        loop {
            if let Some((at, _)) = self.heard[looked_at..].iter().find(|(_, line)| line.contains(word)) {
                return Some(*at);
            }
            looked_at = self.heard.len();
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(heard) => self.heard.push(heard),
                Err(_) => return None,
            }
        }
    }

    /// All that it said so far.
    pub fn log(&mut self) -> String {
        self.heard.extend(self.lines.try_iter());
        self.heard.iter().map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> ExitStatus {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("asked") {
                // The end of stderr is that of all its workers, too.
                let _ = self.says("\u{0}", GENEROUS);
                return status;
            }
            if began.elapsed() > RUN {
                panic!("the run does not end: {}", self.log());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// It succeeds in so many attempts, with the bytes of one process, and leaves nobody behind.
    pub fn succeeded(mut self, scene: &Scene<'_>, attempts: usize) -> serde_json::Value {
        let status = self.ended();
        assert!(status.success(), "{status}: {}", self.log());
        let told = scene.told();
        assert_eq!(told["attempts"].as_array().map(Vec::len), Some(attempts), "{told}\n{}", self.log());
        scene.same_bytes("the run");
        scene.lan.nobody_left(GENEROUS, "the run");
        told
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // One that has ended needs no killing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
