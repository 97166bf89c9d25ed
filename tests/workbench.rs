//! A workbench: a temporary folder with a job file, in which the command runs.

use arrow_array::cast::AsArray;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use workers::store::table::Row as _;
use workers::tables::{GoneRow, SuccessorRow};

/// The error with which a command off a terminal ended, as a terminal shows it but without
/// `pagefold: `; nothing if it succeeded. In the log on stderr it is the only line of JSON with an
/// exit code; a mistake in the command line is plain text.
pub fn failure(stderr: impl AsRef<[u8]>) -> String {
    let stderr = String::from_utf8_lossy(stderr.as_ref());
    let message = |line: &str| match serde_json::from_str::<serde_json::Value>(line) {
        Ok(log) if log["exit_code"].is_u64() => {
            Some(log["message"].as_str().expect("a message").to_owned())
        }
        Ok(_) => None,
        Err(_) => Some(line.to_owned()),
    };
    stderr.lines().filter_map(message).collect::<Vec<_>>().join("\n")
}

/// The binary under test: the one that `PAGEFOLD_BINARY` names, else the one that cargo built for
/// the tests. CI names the release that it has built already.
pub fn pagefold() -> String {
    match std::env::var("PAGEFOLD_BINARY") {
        Ok(path) => {
            std::fs::canonicalize(path).expect("PAGEFOLD_BINARY names a file").display().to_string()
        }
        Err(_) => env!("CARGO_BIN_EXE_pagefold").to_owned(),
    }
}

/// The columns of `members` that tell history: a run from scratch has others.
const HISTORY: [&str; 3] = ["source", "first_epoch", "last_epoch"];

/// The Parquet file at `path` without these columns, and without rows about pages that are gone,
/// which stand last; written anew.
fn without_history(path: &Path) -> Vec<u8> {
    let file = std::fs::File::open(path).expect("exported");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("Parquet");
    let schema = reader.schema().clone();
    let kept: Vec<usize> = (0..schema.fields().len())
        .filter(|&at| !HISTORY.contains(&schema.field(at).name().as_str()))
        .collect();
    let projected = schema.project(&kept).expect("columns");
    let mut writer = ArrowWriter::try_new(Vec::new(), projected.into(), None).expect("a writer");
    for batch in reader.build().expect("a reader") {
        let batch = batch.expect("a batch").project(&kept).expect("columns");
        let relations = batch.column_by_name("relation").map(|column| column.as_string::<i32>());
        let is_gone = |relation: Option<&str>| relation == Some("gone");
        let live = relations
            .and_then(|column| column.iter().position(is_gone))
            .unwrap_or(batch.num_rows());
        if live > 0 {
            writer.write(&batch.slice(0, live)).expect("in memory");
        }
    }
    writer.into_inner().expect("in memory")
}

/// A folder with `job.toml`, whose store is `store` and whose results go to `out`.
pub struct Bench {
    folder: tempfile::TempDir,
}

/// The demo crawl.
pub fn demo_inputs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/demo")
}

impl Bench {
    /// A bench whose job reads `inputs` and has `more` lines of TOML. It exports every decided
    /// pair.
    pub fn new(inputs: &Path, more: &str) -> Bench {
        Bench::within(tempfile::tempdir().expect("a folder"), inputs, more)
    }

    fn within(folder: tempfile::TempDir, inputs: &Path, more: &str) -> Bench {
        let bench = Bench { folder };
        let inputs = toml::Value::String(inputs.to_str().expect("UTF-8").to_owned());
        let job = format!(
            "store = \"store\"\n[read]\ninputs = [{inputs}]\n\
             [output]\ndir = \"out\"\nrefused_similarity_min = 0\n{more}"
        );
        std::fs::write(bench.at("job.toml"), job).expect("written");
        bench
    }

    /// The same in memory where the system allows, for tests of many short runs. What a killed
    /// process leaves is the same.
    pub fn in_memory(inputs: &Path, more: &str) -> Bench {
        let memory = Path::new("/dev/shm");
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
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

    /// Another command of the job, ready to start.
    pub fn other(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(pagefold());
        command
            .arg(name)
            .arg("job.toml")
            .args(arguments)
            .current_dir(self.folder.path())
            .env_remove("RUST_LOG");
        command
    }

    /// `pagefold serve job.toml`, ready to start.
    pub fn serve(&self) -> Command {
        self.other("serve", &[])
    }

    /// Runs another command on the job.
    pub fn pagefold(&self, name: &str, arguments: &[&str]) -> Output {
        self.other(name, arguments).output().expect("started")
    }

    /// Runs the job.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("started")
    }

    /// Runs the job, which must succeed, and returns its stdout.
    pub fn run_well(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// Writes a cluster file of this many processes and workers, and returns its name.
    pub fn cluster(&self, processes: usize, workers: usize) -> String {
        let name = format!("cluster-{processes}x{workers}.toml");
        let text = format!("launch = \"local\"\nprocesses = {processes}\nworkers = {workers}\n");
        std::fs::write(self.at(&name), text).expect("written");
        name
    }

    /// Writes a cluster file of two hosts that are both this machine, and returns its name. Their
    /// workers are not child processes that end with the launcher.
    pub fn hosts(&self) -> String {
        let start =
            "launch = \"ssh\"\nworkers = 1\nssh_command = [\"sh\", \"-c\", \"exec \\\"$@\\\"\"]\n";
        let hosts = "[[hosts]]\naddress = \"127.0.0.1\"\n[[hosts]]\naddress = \"127.0.0.2\"\n";
        std::fs::write(self.at("hosts.toml"), [start, hosts].concat()).expect("written");
        "hosts.toml".into()
    }

    /// The exported tables of a state by file name, `members` without the columns, and `redirects`
    /// without the rows, that tell history. `rejects` name their inputs, so no promise covers them.
    pub fn tables(&self) -> BTreeMap<String, Vec<u8>> {
        let mut tables = self.files(&["pairs", "clusters"]);
        let mut lines = Vec::new();
        for row in self.lines("members") {
            let serde_json::Value::Object(mut row) = row else { panic!("no object: {row}") };
            HISTORY
                .iter()
                .for_each(|name| assert!(row.remove(*name).is_some(), "no column {name}"));
            lines.extend(serde_json::to_vec(&row).expect("JSON"));
            lines.push(b'\n');
        }
        tables.insert("members.jsonl".into(), lines);
        let redirects = std::fs::read_to_string(self.at("out/redirects.jsonl")).expect("exported");
        let live = redirects
            .split_inclusive('\n')
            .take_while(|line| !line.contains("\"relation\":\"gone\""));
        tables.insert("redirects.jsonl".into(), live.collect::<String>().into_bytes());
        for name in ["members.parquet", "redirects.parquet"] {
            tables.insert(name.into(), without_history(&self.at("out").join(name)));
        }
        tables
    }

    /// `members` with all columns and `redirects` with all rows: runs with the same history have
    /// the same.
    pub fn history(&self) -> BTreeMap<String, Vec<u8>> {
        self.files(&["members", "redirects"])
    }

    /// The export of the last epoch's changes by file name; a run from scratch has others.
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

    /// Asserts that another bench exported the same bytes; a failure shows the first lines that
    /// differ.
    pub fn assert_same_tables(&self, other: &Bench, what: &str) {
        let (mine, others) = (self.tables(), other.tables());
        for (name, bytes) in &mine {
            let (mine, theirs) =
                (String::from_utf8_lossy(bytes), String::from_utf8_lossy(&others[name]));
            if name.ends_with("jsonl") && mine != theirs {
                let first = mine.lines().zip(theirs.lines()).find(|(a, b)| a != b);
                let counts = (mine.lines().count(), theirs.lines().count());
                panic!("{what}: {name}: {counts:?} lines, the first that differ: {first:#?}");
            }
        }
        assert!(mine == others, "{what}: Parquet differs");
    }

    /// Every exported file by name: what is the same from every run over the same inputs.
    /// `run.json` differs, and an unfinished one may be left.
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
        let text = std::fs::read_to_string(self.at("out").join(format!("{table}.jsonl")))
            .expect("exported");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// The summary.
    pub fn summary(&self) -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(self.at("out/summary.json")).expect("exported"))
            .expect("JSON")
    }

    /// Asserts that every record of the last epoch is accounted for: read = accepted + skipped +
    /// rejected, and each reject names its file, its place and a reason. Returns how many were
    /// rejected.
    pub fn assert_accounted(&self) -> u64 {
        let summary = self.summary();
        let counters = summary["counters"].as_object().expect("an object");
        let sum = |prefix: &str| -> u64 {
            counters
                .iter()
                .filter(|(name, _)| name.starts_with(prefix))
                .filter_map(|(_, n)| n.as_u64())
                .sum()
        };
        assert!(sum("read") > 0, "{summary}");
        assert_eq!(sum("read"), sum("accepted") + sum("skipped.") + sum("rejected."), "{summary}");
        let rejects = self.lines("rejects");
        assert_eq!(rejects.len() as u64, sum("rejected."));
        for line in &rejects {
            assert!(
                line["offset"].is_u64() && line["file"].is_string() && line["reason"].is_string(),
                "{line}"
            );
        }
        sum("rejected.")
    }

    /// The store's head.
    pub fn head(&self) -> workers::store::manifest::Head {
        workers::store::manifest::head(&self.at("store")).expect("readable").expect("committed")
    }

    /// Rows and multiset hash of every table of the store's head that has rows, except for what is
    /// only remembered.
    pub fn multisets(&self) -> BTreeMap<String, (u64, String)> {
        let mut sums = BTreeMap::new();
        for (name, table) in self.head().manifest.tables {
            if [GoneRow::NAME, SuccessorRow::NAME].contains(&name.as_str()) {
                continue;
            }
            if table.rows > 0 {
                sums.insert(name, (table.rows, table.multiset.to_string()));
            } else {
                assert_eq!(
                    table.multiset,
                    workers::store::table::MultisetHash::default(),
                    "{name}: no rows"
                );
            }
        }
        sums
    }
}

/// Reports that a test cannot run here and what it lacks. Fails instead if `PAGEFOLD_REQUIRE=all`.
pub fn skip(lacks: &str) {
    match std::env::var("PAGEFOLD_REQUIRE").as_deref() {
        Err(_) | Ok("") => println!("skipped: {lacks}"),
        Ok("all") => panic!("PAGEFOLD_REQUIRE=all, but this test lacks what it needs: {lacks}"),
        Ok(other) => panic!("PAGEFOLD_REQUIRE={other}: only `all` is known"),
    }
}

/// Whether `python3` has this module.
pub fn has_python(module: &str) -> bool {
    let output = Command::new("python3").args(["-c", &format!("import {module}")]).output();
    output.is_ok_and(|output| output.status.success())
}

/// The number in the variable `name`, by default `usual`.
pub fn number(name: &str, usual: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|error| panic!("{name}={text}: {error}")),
        Err(_) => usual,
    }
}

/// A file or folder of real data in the folder `PAGEFOLD_FIXTURES`, by default `../shared/fixtures`
/// beside the checkout.
///
/// Real data is an addition to the samples in `tests/data`, and most machines have none of it:
/// `PAGEFOLD_FIXTURES=none` says so, and leaves it out even if `PAGEFOLD_REQUIRE=all`.
pub fn fixture(name: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::var("PAGEFOLD_FIXTURES").unwrap_or("../shared/fixtures".into());
    if folder == "none" {
        println!("left out: PAGEFOLD_FIXTURES=none");
        return None;
    }
    let path = root.join(folder).join(name);
    if !path.exists() {
        skip(&format!("{} does not exist", path.display()));
        return None;
    }
    Some(path)
}

/// A port that is free on all of these addresses, chosen by the system. Every call gives another
/// one, since the process that will listen on it starts later.
pub fn free_port(addresses: &[String]) -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let is_free = |address: &String, port| TcpListener::bind((address.as_str(), port)).is_ok();
    for _ in 0..100 {
        let first = TcpListener::bind((addresses[0].as_str(), 0)).expect("a port");
        let port = first.local_addr().expect("an address").port();
        let free = addresses[1..].iter().all(|address| is_free(address, port));
        if free && GIVEN.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).insert(port) {
            return port;
        }
    }
    panic!("no port is free on all of {addresses:?}");
}

/// Sends `signal` to a process, or to a group of processes by its negative number. One that has
/// ended needs none.
pub fn signal(signal: &str, id: &str) {
    let sent = Command::new("kill").args(["-s", signal, "--", id]).stderr(Stdio::null()).status();
    sent.expect("started");
}

/// Copies the content of the folder `from` to the folder `to`, which is made if it does not exist.
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
