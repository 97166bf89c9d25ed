use crate::random::Random;
use crate::workbench::{Bench, failure};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Replaces ssh: records the process under the host's name, runs the file `first-NAME` on the first
/// start, and then becomes the worker.
const FAKE_SSH: &str = "#!/bin/sh
folder=$1; name=$2; shift 2
echo $$ >> \"$folder/pids-$name\"
if [ -e \"$folder/always-$name\" ]; then . \"$folder/always-$name\"; fi
if [ -e \"$folder/first-$name\" ]; then mv \"$folder/first-$name\" \"$folder/done-$name\"; . \"$folder/done-$name\"; fi
exec \"$@\"
";

/// A bench with a crawl that takes a while to read, and a cluster of two hosts that are both this
/// machine.
struct Scene {
    bench: Bench,
    crawl: tempfile::TempDir,
}

/// Enough documents to keep a debug build busy for seconds.
const FILES: usize = 10;
const LINES: usize = 1000;

impl Scene {
    fn new(more: &str) -> Scene {
        let crawl = tempfile::tempdir().expect("a folder");
        let mut random = Random(7);
        for file in 0..FILES {
            let mut lines = String::new();
            for n in 0..LINES {
                let words: Vec<String> =
                    (0..60).map(|_| format!("word{}", random.below(3000))).collect();
                let text = words.join(" ");
                for copy in 0..1 + n % 2 {
                    lines.push_str(&format!(
                        "{{\"url\":\"http://h{copy}.example/{file}/{n}\",\"text\":\"{text} {copy}\"}}\n"
                    ));
                }
            }
            std::fs::write(crawl.path().join(format!("{file}.jsonl")), lines).expect("written");
        }
        let bench = Bench::new(crawl.path(), "");
        let scene = Scene { bench, crawl };
        scene.write("ssh.sh", FAKE_SSH);
        let folder = scene.bench.at("");
        let folder = folder.display();
        let cluster = format!(
            "launch = \"ssh\"\nworkers = 1\nssh_command = [\"sh\", \"{folder}/ssh.sh\", \"{folder}\"]\nbackoff_s = 0.01\n\
             silence_timeout_s = 2\n{more}\n[[hosts]]\naddress = \"127.0.0.1\"\n[[hosts]]\naddress = \"127.0.0.2\"\n"
        );
        scene.write("hosts.toml", &cluster);
        scene
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.bench.at(name), text).expect("written");
    }

    fn start(&self) -> Child {
        let mut command = self.bench.command(&["--cluster", "hosts.toml"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
    }

    /// The worker on the second host, once one split is finished and most are not.
    fn second_at_work(&self) -> String {
        for _ in 0..6000 {
            let attempts =
                std::fs::read_dir(self.bench.at("store/attempt")).into_iter().flatten().flatten();
            let mut splits = attempts
                .flat_map(|attempt| std::fs::read_dir(attempt.path().join("split")))
                .flatten()
                .flatten();
            if splits
                .any(|split| split.path().extension().is_some_and(|extension| extension == "json"))
            {
                return self.pids("127.0.0.2").pop().expect("started");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("no split was ever finished");
    }

    fn pids(&self, name: &str) -> Vec<String> {
        let text =
            std::fs::read_to_string(self.bench.at(&format!("pids-{name}"))).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Asserts that the run succeeded in this many attempts, that the failed ones were blamed on
    /// the second host for `reason`, that the results are those of an undisturbed run, and that no
    /// process is left.
    fn succeeded(&self, output: &Output, attempts: usize, reason: &str) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        let run: serde_json::Value =
            serde_json::from_slice(&std::fs::read(self.bench.at("out/run.json")).expect("written"))
                .expect("JSON");
        let attempted = run["attempts"].as_array().expect("a list");
        assert_eq!(attempted.len(), attempts, "{run}");
        for attempt in &attempted[..attempts - 1] {
            assert_eq!(attempt["blamed"], "127.0.0.2", "{attempt}");
            assert!(
                attempt["failure"].as_str().expect("a line").contains(reason),
                "{attempt} is not {reason}"
            );
        }
        let calm = Bench::new(self.crawl.path(), "");
        calm.run_well(&["--threads", "1"]);
        self.bench.assert_same_tables(&calm, reason);
        assert_eq!(self.bench.multisets(), calm.multisets());
        self.no_worker_left();
    }

    fn no_worker_left(&self) {
        let pids: Vec<String> =
            ["127.0.0.1", "127.0.0.2"].iter().flat_map(|name| self.pids(name)).collect();
        assert!(!pids.is_empty(), "no worker was ever started");
        let is_worker = |pid: &&String| {
            let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.contains("pagefold") && line.contains("worker")
        };
        let left = || pids.iter().filter(is_worker).count();
        for _ in 0..500 {
            if left() == 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{} of {pids:?} are left", left());
    }
}

fn signal(signal: &str, pid: &str) {
    assert!(Command::new("kill").args([signal, pid]).status().expect("started").success());
}

/// A worker that is killed while it works costs one attempt and not the run: the next attempt gives
/// the bytes of an undisturbed run.
#[test]
fn a_killed_worker() {
    let scene = Scene::new("");
    let run = scene.start();
    signal("-KILL", &scene.second_at_work());
    scene.succeeded(&run.wait_with_output().expect("waited"), 2, "was killed by signal 9");
}

/// A worker that is stopped costs one attempt: its silence shows it, and its process does not stay
/// behind.
#[test]
fn a_stopped_worker() {
    let scene = Scene::new("");
    let run = scene.start();
    signal("-STOP", &scene.second_at_work());
    scene.succeeded(&run.wait_with_output().expect("waited"), 2, "silent for");
}

/// A host on which the started worker answers nothing costs one attempt.
#[test]
fn a_mute_host() {
    let scene = Scene::new("start_timeout_s = 2");
    scene.write("first-127.0.0.2", "exec sleep 60\n");
    scene.succeeded(&scene.start().wait_with_output().expect("waited"), 2, "missing after 2 s");
}

/// A host that fails twice is left out if enough hosts remain; otherwise the run ends with exit
/// code 75 and names it.
#[test]
fn a_host_that_fails_for_good() {
    let fails = "echo no route to that host >&2; exit 255\n";
    let scene = Scene::new("hosts_min = 1");
    scene.write("always-127.0.0.2", fails);
    scene.succeeded(&scene.start().wait_with_output().expect("waited"), 3, "no route to that host");
    let scene = Scene::new("attempts_max = 2");
    scene.write("always-127.0.0.2", fails);
    let output = scene.start().wait_with_output().expect("waited");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(75), "{stderr}");
    let last = failure(&output.stderr);
    assert!(
        last.contains("127.0.0.2: ended with exit code 255: no route to that host (attempt 2)"),
        "{last}"
    );
    scene.no_worker_left();
}

/// When the launcher is killed its workers end, too.
#[test]
fn a_killed_launcher() {
    let scene = Scene::new("");
    let mut run = scene.start();
    scene.second_at_work();
    run.kill().expect("killed");
    run.wait().expect("waited");
    scene.no_worker_left();
    scene.bench.run_well(&["--cluster", "hosts.toml"]);
}

/// A launcher that stops before it has given tasks leaves no worker behind: workers know the
/// silence limit from their start. They waited a minute, whatever the cluster file said.
#[test]
fn a_launcher_that_stops_at_the_start() {
    let scene = Scene::new("");
    scene.write("first-127.0.0.2", "sleep 1; kill -STOP $PPID\n");
    let mut run = scene.start();
    let status = format!("/proc/{}/status", run.id());
    let is_stopped =
        || std::fs::read_to_string(&status).is_ok_and(|status| status.contains("State:\tT"));
    for _ in 0..6000 {
        if is_stopped() {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(is_stopped(), "the launcher was not stopped");
    scene.no_worker_left();
    run.kill().expect("killed");
    run.wait().expect("waited");
}

/// `check` accepts a working cluster, names a host with another binary with exit code 76 and an
/// unreachable one with 75, and leaves nothing behind. Without a cluster it checks the job alone.
#[test]
fn check() {
    let scene = Scene::new("");
    let check = |arguments: &[&str]| {
        let output = scene.bench.pagefold("check", arguments);
        let text = [output.stdout, output.stderr]
            .map(|text| String::from_utf8(text).expect("UTF-8"))
            .concat();
        (output.status.code(), text)
    };
    let before = names(&scene.bench.at(""));
    let (code, text) = check(&[]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(names(&scene.bench.at("")), before);
    let (code, text) = check(&["--cluster", "hosts.toml"]);
    assert_eq!(code, Some(0), "{text}");
    for line in [
        "ok    127.0.0.2  start",
        "ok    127.0.0.2  shared",
        "ok    127.0.0.1  peers     1 others reached",
    ] {
        assert!(text.contains(line), "{text}\nlacks {line}");
    }
    scene.write(
        "always-127.0.0.2",
        "echo '{\"hello\":{\"digest\":\"of another build\",\"pid\":1}}'; exec cat\n",
    );
    let (code, text) = check(&["--cluster", "hosts.toml"]);
    assert!(code == Some(76) && text.contains("FAIL  127.0.0.2  start"), "{text}");
    scene.write("always-127.0.0.2", "exit 255\n");
    let (code, text) = check(&["--cluster", "hosts.toml", "--json"]);
    assert!(code == Some(75) && text.contains("\"ok\":false"), "{text}");
    let left = names(&scene.bench.at(""));
    let left: Vec<_> = left
        .iter()
        .filter(|name| !before.contains(name) && !name.starts_with(['p', 'a']))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    scene.no_worker_left();
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

/// The example cluster file runs as it is.
#[test]
fn the_example_runs() {
    let bench = Bench::new(&crate::workbench::demo_inputs(), "");
    let cluster = Path::new(env!("CARGO_MANIFEST_DIR")).join("cluster.toml");
    bench.run_well(&["--cluster", cluster.to_str().expect("UTF-8")]);
    assert!(!bench.lines("members").is_empty());
}
