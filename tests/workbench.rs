//! A workbench: a temporary folder with a job file, and the command run on it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A folder with `job.toml`, whose results go to `out` and whose store is `store`.
pub struct Bench {
    folder: tempfile::TempDir,
}

/// The demo crawl.
pub fn demo_inputs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/demo")
}

impl Bench {
    /// A bench whose job reads `inputs` and has `more` lines of TOML.
    pub fn new(inputs: &Path, more: &str) -> Bench {
        Bench::within(tempfile::tempdir().expect("a folder"), inputs, more)
    }

    fn within(folder: tempfile::TempDir, inputs: &Path, more: &str) -> Bench {
        let bench = Bench { folder };
        let inputs = toml::Value::String(inputs.to_str().expect("UTF-8").to_owned());
        let job = format!("store = \"store\"\n[read]\ninputs = [{inputs}]\n[output]\ndir = \"out\"\n{more}");
        std::fs::write(bench.at("job.toml"), job).expect("written");
        bench
    }

    /// The same in memory where the system has a place for that, for tests of many short runs: what a killed process leaves is the same there.
    pub fn in_memory(inputs: &Path, more: &str) -> Bench {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        Bench::within(folder.expect("a folder"), inputs, more)
    }

    /// A path in the folder.
    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `pagefold run job.toml` with more arguments, ready to start.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.other("run", arguments)
    }

    fn other(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pagefold"));
        command.arg(name).arg("job.toml").args(arguments).current_dir(self.folder.path()).env_remove("RUST_LOG");
        command
    }

    /// Runs another command on the job and returns what it said.
    pub fn pagefold(&self, name: &str, arguments: &[&str]) -> Output {
        self.other(name, arguments).output().expect("started")
    }

    /// Runs it and returns what it said.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("started")
    }

    /// Runs it, which must succeed, and returns its stdout.
    pub fn run_well(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// A cluster file of so many processes and workers; its name.
    pub fn cluster(&self, processes: usize, workers: usize) -> String {
        let name = format!("cluster-{processes}x{workers}.toml");
        let text = format!("launch = \"local\"\nprocesses = {processes}\nworkers = {workers}\n");
        std::fs::write(self.at(&name), text).expect("written");
        name
    }

    /// A cluster file of two hosts that are both this machine, started without a launcher's hold on them; its name.
    pub fn hosts(&self) -> String {
        let start = "launch = \"ssh\"\nworkers = 1\nssh_command = [\"sh\", \"-c\", \"exec \\\"$@\\\"\"]\n";
        let hosts = "[[hosts]]\naddress = \"127.0.0.1\"\n[[hosts]]\naddress = \"127.0.0.2\"\n";
        std::fs::write(self.at("hosts.toml"), [start, hosts].concat()).expect("written");
        "hosts.toml".into()
    }

    /// The exported tables of a state, file by file. `rejects` name their inputs and are no part of the promise.
    pub fn tables(&self) -> BTreeMap<String, Vec<u8>> {
        self.files(&["members", "pairs", "redirects", "clusters"])
    }

    /// What the last epoch changed, file by file; a run from scratch has others.
    pub fn changes(&self) -> BTreeMap<String, Vec<u8>> {
        self.files(&["changes"])
    }

    fn files(&self, names: &[&str]) -> BTreeMap<String, Vec<u8>> {
        let mut tables = BTreeMap::new();
        for table in names {
            for form in ["jsonl", "parquet"] {
                let name = format!("{table}.{form}");
                let bytes = std::fs::read(self.at("out").join(&name)).expect("exported");
                tables.insert(name, bytes);
            }
        }
        tables
    }

    /// Asserts that another bench exported the same bytes; else tells the first lines that differ.
    pub fn assert_same_tables(&self, other: &Bench, what: &str) {
        let (mine, others) = (self.tables(), other.tables());
        for (name, bytes) in &mine {
            let (mine, theirs) = (String::from_utf8_lossy(bytes), String::from_utf8_lossy(&others[name]));
            if name.ends_with("jsonl") && mine != theirs {
                let first = mine.lines().zip(theirs.lines()).find(|(a, b)| a != b);
                let counts = (mine.lines().count(), theirs.lines().count());
                panic!("{what}: {name}: {counts:?} lines, the first that differ: {first:#?}");
            }
        }
        assert!(mine == others, "{what}: Parquet differs");
    }

    /// Every exported file by name: what is the same from every run over the same inputs. `run.json` differs, and what was to become it may
    /// be left behind.
    pub fn results(&self) -> BTreeMap<String, Vec<u8>> {
        let mut results = BTreeMap::new();
        for entry in std::fs::read_dir(self.at("out")).expect("exported") {
            let entry = entry.expect("an entry");
            let name = entry.file_name().into_string().expect("UTF-8");
            if !name.starts_with("run.") {
                results.insert(name, std::fs::read(entry.path()).expect("readable"));
            }
        }
        results
    }

    /// Lines of an exported table.
    pub fn lines(&self, table: &str) -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(self.at("out").join(format!("{table}.jsonl"))).expect("exported");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// The summary.
    pub fn summary(&self) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.at("out/summary.json")).expect("exported")).expect("JSON")
    }

    /// The store's head.
    pub fn head(&self) -> workers::store::manifest::Head {
        workers::store::manifest::head(&self.at("store")).expect("readable").expect("committed")
    }

    /// Rows and multiset hash of every table of the store's head that has rows.
    pub fn multisets(&self) -> BTreeMap<String, (u64, String)> {
        let mut sums = BTreeMap::new();
        for (name, table) in self.head().manifest.tables {
            if table.rows > 0 {
                sums.insert(name, (table.rows, table.multiset.to_string()));
            } else {
                assert_eq!(table.multiset, workers::store::table::MultisetHash::default(), "{name}: no rows");
            }
        }
        sums
    }
}

/// Sends `signal` to a process, or to a group of them by its number's negative; one that has ended needs none.
pub fn signal(signal: &str, id: &str) {
    let sent = Command::new("kill").args(["-s", signal, "--", id]).stderr(Stdio::null()).status();
    sent.expect("started");
}

/// Copies all files and folders in `from` to the folder `to`, which is made unless it is there.
pub fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("made");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// A small linear congruential generator; whoever uses it prints its seed.
pub struct Random(pub u64);

impl Random {
    /// A generator whose seed no other run has, printed; or the seed in the variable `PAGEFOLD_SEED`.
    pub fn seeded() -> Random {
        let given = std::env::var("PAGEFOLD_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or(std::process::id().into());
        println!("PAGEFOLD_SEED={seed}");
        Random(seed)
    }

    /// A number less than `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}
