use crate::workbench::{Bench, demo_inputs, failure};
use std::path::Path;

/// Runs the bench's job. Asserts one line on stderr that contains `expected`, the exit code, and a
/// folder without store and results.
fn fails(bench: &Bench, arguments: &[&str], code: i32, expected: &str) {
    let output = bench.run(arguments);
    let stderr = failure(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains(expected), "{stderr} does not name {expected}");
    assert!(output.stdout.is_empty());
    assert!(
        !bench.at("store").exists() && !bench.at("out").exists(),
        "{expected}: something was written"
    );
}

/// A bad job file, an unknown key, a missing input and a bad cluster file each give one line with
/// file and key and the right exit code, and nothing is written.
#[test]
fn one_clear_line() {
    let bench = Bench::new(&demo_inputs(), "[simhash]\nkk = 3\n");
    fails(&bench, &[], 78, "job.toml:8: [simhash] kk: no such key; did you mean `k`?");
    let bench = Bench::new(&demo_inputs(), "[simhash]\nk = 9\n");
    fails(&bench, &[], 78, "[simhash] k");
    let bench = Bench::new(&demo_inputs(), "= nonsense\n");
    fails(&bench, &[], 78, "job.toml:7");
    let bench = Bench::new(Path::new("gone.warc.gz"), "");
    fails(&bench, &[], 66, "gone.warc.gz");
    let bench = Bench::new(Path::new("gone-*.warc.gz"), "");
    fails(&bench, &[], 66, "gone-*.warc.gz");
    let bench = Bench::new(&demo_inputs(), "[features]\nidf = \"gone.tsv\"\n");
    fails(&bench, &[], 66, "gone.tsv");
    let bench = Bench::new(&demo_inputs(), "");
    fails(&bench, &["--set", "read.rejects_max=2"], 78, "[read] rejects_max");
    fails(&bench, &["--cluster", "gone.toml"], 78, "gone.toml");
    std::fs::write(bench.at("bad.toml"), "launch = \"local\"\nprocesses = 0\nworkers = 1\n")
        .expect("written");
    fails(&bench, &["--cluster", "bad.toml"], 78, "bad.toml:2: processes = 0");
    std::fs::remove_file(bench.at("job.toml")).expect("removed");
    fails(&bench, &[], 78, "job.toml");
}

/// A wrong command line is a usage error, and asking for help is none.
#[test]
fn usage() {
    let pagefold = |arguments: &[&str]| {
        let output = std::process::Command::new(crate::workbench::pagefold())
            .args(arguments)
            .output()
            .expect("started");
        output.status.code()
    };
    assert_eq!(pagefold(&["run"]), Some(64));
    assert_eq!(pagefold(&["fold", "x"]), Some(64));
    assert_eq!(pagefold(&["run", "job.toml", "--threads", "0"]), Some(64));
    assert_eq!(pagefold(&["--help"]), Some(0));
    assert_eq!(pagefold(&["--version"]), Some(0));
}

/// More bad records than the job allows stop the run before it commits; with a higher bound the
/// same run commits.
#[test]
fn too_many_rejects() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("in.jsonl");
    let good = "{\"url\":\"http://a.example/1\",\"text\":\"some words that say nothing of note to anyone at all\"}\n";
    std::fs::write(&file, format!("{good}{{broken\n{{\"text\":\"no address\"}}\n"))
        .expect("written");
    let bench = Bench::new(&file, "");
    let output = bench.run(&[]);
    assert_eq!(output.status.code(), Some(65));
    assert!(
        failure(&output.stderr)
            .contains("2 of 3 records were rejected (bad_json 1, no_url 1; such as ")
    );
    assert!(workers::store::manifest::head(&bench.at("store")).expect("readable").is_none());
    bench.run_well(&["--set", "read.rejects_max=1"]);
    assert_eq!(bench.lines("members").len(), 1);
}

/// A store that was built with another identity is refused with the name of the key, and stays as
/// it was.
#[test]
fn another_identity() {
    let bench = Bench::new(&demo_inputs(), "");
    bench.run_well(&[]);
    let before = bench.multisets();
    let output = bench.run(&["--set", "simhash.k=2"]);
    assert_eq!(output.status.code(), Some(78));
    assert!(failure(&output.stderr).contains("built with simhash.k = 3, the job says 2;"));
    assert_eq!(bench.multisets(), before);
}

/// The second of two runs on one store does not wait, says so, and exits with the code for trying
/// again.
#[test]
fn locked() {
    let bench = Bench::new(&demo_inputs(), "");
    let lock = workers::store::Store::lock(&bench.at("store")).expect("free");
    let output = bench.run(&[]);
    assert_eq!(output.status.code(), Some(75));
    assert!(failure(&output.stderr).contains("LOCK"));
    drop(lock);
    bench.run_well(&[]);
}
