use crate::texts::crawl;
use crate::watch::{service, without_proxies};
use crate::workbench::{Bench, demo_inputs, failure, free_port, signal};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const RANKS: usize = 3;

/// Addresses for processes that no other test uses: loopback addresses made of this process's id.
fn hosts() -> Vec<String> {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let (id, n) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let host = |rank| {
        format!("127.{}.{}.{}", 64 + (id >> 8) % 128, id % 256, 1 + (n * RANKS + rank) % 250)
    };
    (0..RANKS).map(host).collect()
}

/// A bench whose job is done by three processes that a scheduler would start.
struct Scene {
    bench: Bench,
    peers: String,
    /// The address to listen on, if not their own.
    bind: Option<&'static str>,
}

impl Scene {
    fn new(inputs: &Path) -> Scene {
        let bench =
            Bench::new(inputs, "[features]\nunit = \"characters\"\n[confirm]\nfacts = \"off\"\n");
        key(&bench.at("key"), 0o600);
        let hosts = hosts();
        let port = free_port(&hosts);
        let peers: Vec<String> = hosts.iter().map(|host| format!("{host}:{port}")).collect();
        Scene { bench, peers: peers.join(","), bind: None }
    }

    /// The same with addresses that may be beyond loopback, so that data is encrypted.
    fn on_all_addresses(inputs: &Path) -> Scene {
        // All are held until the last is chosen, so that they differ.
        let ports: Vec<TcpListener> =
            (0..RANKS).map(|_| TcpListener::bind("0.0.0.0:0").expect("a port")).collect();
        let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
        let peers: Vec<String> =
            ports.iter().map(|listener| format!("localhost:{}", port(listener))).collect();
        Scene { peers: peers.join(","), bind: Some("0.0.0.0"), ..Scene::new(inputs) }
    }

    fn command(&self, rank: usize, arguments: &[&str]) -> Command {
        let mut command = Command::new(crate::workbench::pagefold());
        command
            .args(["worker", "job.toml"])
            .args(arguments)
            .current_dir(self.bench.at(""))
            .env_remove("RUST_LOG");
        command.env("PAGEFOLD_RANK", rank.to_string()).env("PAGEFOLD_PEERS", &self.peers);
        command.env("PAGEFOLD_KEY_FILE", self.bench.at("key")).env("PAGEFOLD_WORKERS", "1");
        command.envs(self.bind.map(|bind| ("PAGEFOLD_BIND", bind)));
        command.env("PAGEFOLD_SILENCE_TIMEOUT_S", "3").env("PAGEFOLD_START_TIMEOUT_S", "60");
        command
    }

    fn start(&self, rank: usize, arguments: &[&str]) -> Child {
        let mut command = self.command(rank, arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
    }

    fn start_all(&self) -> Vec<Child> {
        (0..RANKS).map(|rank| self.start(rank, &[])).collect()
    }

    /// The number of finished splits of the store's attempts.
    fn splits(&self) -> usize {
        let attempts =
            std::fs::read_dir(self.bench.at("store/attempt")).into_iter().flatten().flatten();
        let splits = attempts.flat_map(|attempt| std::fs::read_dir(attempt.path().join("split")));
        let splits = splits.flatten().flatten().map(|split| split.path());
        splits
            .filter(|split| split.extension().is_some_and(|extension| extension == "json"))
            .count()
    }
}

fn key(path: &Path, mode: u32) {
    std::fs::write(path, "5e".repeat(32)).expect("written");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("set");
}

/// What each process wrote, by rank. All are waited for before any is checked.
fn ended(children: Vec<Child>) -> Vec<Output> {
    children.into_iter().map(|child| child.wait_with_output().expect("waited")).collect()
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned()).concat()
}

fn all_ended_with(code: i32, outputs: &[Output], what: &str) {
    for (rank, output) in outputs.iter().enumerate() {
        assert_eq!(output.status.code(), Some(code), "{what}: rank {rank}: {}", said(output));
    }
}

/// Three processes that a scheduler starts in any order, seconds apart, on loopback or beyond,
/// export the bytes of a single process. Rank 0 reports it and the others print nothing; with
/// nothing due all of them succeed again.
#[test]
fn ranks_are_one_run() {
    let calm = Bench::new(
        &demo_inputs(),
        "[features]\nunit = \"characters\"\n[confirm]\nfacts = \"off\"\n",
    );
    calm.run_well(&["--threads", "1"]);
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        let on_loopback = order[0] != 1;
        let make = if on_loopback { Scene::new } else { Scene::on_all_addresses };
        let scene = make(&demo_inputs());
        let mut children: Vec<(usize, Child)> = Vec::new();
        for rank in order {
            children.push((rank, scene.start(rank, &[])));
            std::thread::sleep(Duration::from_millis(700));
        }
        children.sort_by_key(|(rank, _)| *rank);
        let outputs = ended(children.into_iter().map(|(_, child)| child).collect());
        all_ended_with(0, &outputs, &format!("{order:?}"));
        scene.bench.assert_same_tables(&calm, "ranks");
        assert_eq!(scene.bench.multisets(), calm.multisets());
        assert!(
            String::from_utf8_lossy(&outputs[0].stdout).contains("3 x 1 worker"),
            "{}",
            said(&outputs[0])
        );
        assert!(outputs[1..].iter().all(|output| output.stdout.is_empty()));
        let run: serde_json::Value = serde_json::from_slice(
            &std::fs::read(scene.bench.at("out/run.json")).expect("written"),
        )
        .expect("JSON");
        let records = |process: &serde_json::Value| process["records"].as_u64().expect("a number");
        let each: Vec<u64> =
            run["process"].as_array().expect("a list").iter().map(records).collect();
        assert!(each.len() == RANKS && each.iter().sum::<u64>() == run["records"], "{run}");
        let outputs = ended(scene.start_all());
        all_ended_with(0, &outputs, "nothing due");
        assert!(said(&outputs[0]).contains("nothing due"), "{}", said(&outputs[0]));
    }
    let [host, ..] = &hosts()[..] else { unreachable!("three hosts") };
    let peers = format!("{host}:{}", free_port(std::slice::from_ref(host)));
    let alone = Scene { peers, ..Scene::new(&demo_inputs()) };
    all_ended_with(0, &ended(vec![alone.start(0, &[])]), "alone");
    alone.bench.assert_same_tables(&calm, "alone");
}

/// When any rank is killed or stopped, all others end with 75; finished splits are kept, and the
/// next start of all gives the bytes of an undisturbed run. Metrics and ping of the first rank
/// report a failure. Once the metrics said that a signal had stopped the run, and there was no
/// ping.
#[test]
fn a_lost_rank_ends_all() {
    let inputs = crawl(24, 1500, 120);
    let scene = Scene::new(inputs.path());
    let (mut kept, mut failures) = (0, 0);
    let (url, heard) = service(&["200 OK"]);
    let sets = [format!("output.ping='{url}'"), "output.metrics='ranks.prom'".to_owned()];
    let start = |rank: usize| {
        let mut command = scene.command(rank, &["--set", &sets[0], "--set", &sets[1]]);
        without_proxies(&mut command);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
    };
    for (lost, how) in [(2, "KILL"), (0, "KILL"), (1, "STOP")] {
        let mut children: Vec<Child> = (0..RANKS).map(start).collect();
        let mut tries = 0;
        while scene.splits() <= kept {
            tries += 1;
            assert!(tries < 6000, "no split was finished");
            std::thread::sleep(Duration::from_millis(10));
        }
        signal(how, &children[lost].id().to_string());
        let mut dead = children.remove(lost);
        let outputs = ended(children);
        signal("KILL", &dead.id().to_string());
        dead.wait().expect("waited");
        all_ended_with(75, &outputs, &format!("{how} {lost}"));
        assert!(heard.recv().expect("a start").0.starts_with("GET /id-of-secret/start "));
        if lost > 0 {
            failures += 1;
            let (first, body) = heard.recv().expect("a failure");
            assert!(first.starts_with("POST /id-of-secret/fail ") && body.contains("75"), "{body}");
            let metrics = std::fs::read_to_string(scene.bench.at("ranks.prom")).expect("written");
            let line = metrics.lines().rfind(|line| line.contains("\"failure\""));
            assert!(line.is_some_and(|line| line.ends_with(&format!(" {failures}"))), "{metrics}");
        }
        assert!(scene.splits() > kept && !scene.bench.at("out/summary.json").exists());
        kept = scene.splits();
    }
    // A new input is an epoch of its own in the same start.
    let more = "{\"url\":\"http://new.example/\",\"text\":\"a page of eight words that is new today indeed\"}\n";
    std::fs::write(inputs.path().join("more.jsonl"), more).expect("written");
    all_ended_with(0, &ended(scene.start_all()), "the last start");
    assert_eq!(scene.bench.head().manifest.epoch, 2);
    let calm = Bench::new(
        inputs.path(),
        "[features]\nunit = \"characters\"\n[confirm]\nfacts = \"off\"\n",
    );
    calm.run_well(&["--threads", "1"]);
    scene.bench.assert_same_tables(&calm, "after losses");
    assert_eq!(scene.bench.multisets(), calm.multisets());
}

/// A rank with another job or another key is refused with 76, and nothing is written.
#[test]
fn strangers_are_refused() {
    let scene = Scene::new(&demo_inputs());
    key(&scene.bench.at("other"), 0o600);
    std::fs::write(scene.bench.at("other"), "5f".repeat(32)).expect("written");
    // A rank is refused for good after 3 s.
    let quick = |command: &mut Command| {
        command.env("PAGEFOLD_START_TIMEOUT_S", "7").stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("started")
    };
    for other_key in [false, true] {
        let others: Vec<Child> = (0..2).map(|rank| quick(&mut scene.command(rank, &[]))).collect();
        let mut stranger = match other_key {
            true => scene.command(2, &[]),
            false => scene.command(2, &["--set", "simhash.k=2"]),
        };
        if other_key {
            stranger.env("PAGEFOLD_KEY_FILE", scene.bench.at("other"));
        }
        let refused = quick(&mut stranger).wait_with_output().expect("waited");
        assert_eq!(refused.status.code(), Some(76), "{}", said(&refused));
        all_ended_with(75, &ended(others), "without the third");
        assert!(!scene.bench.at("store").exists());
    }
}

/// Each rank reads the file of words on its own host. If one has other words, all end with the
/// reason; no rank cuts texts by other words than those of the store.
#[test]
fn a_rank_with_other_words_is_refused() {
    let scene = Scene::new(&demo_inputs());
    let other = tempfile::tempdir().expect("a folder");
    std::fs::copy(scene.bench.at("job.toml"), other.path().join("job.toml")).expect("copied");
    let store = format!("store={:?}", scene.bench.at("store"));
    let start = |words: &str| {
        std::fs::write(scene.bench.at("words.txt"), "蓝月谷 ns\n").expect("written");
        std::fs::write(other.path().join("words.txt"), words).expect("written");
        let start = |rank: usize| {
            let mut command =
                scene.command(rank, &["--set", "features.dictionary=words.txt", "--set", &store]);
            if rank == 2 {
                command.current_dir(other.path());
            }
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started")
        };
        ended((0..RANKS).map(start).collect())
    };
    let outputs = start("蓝月谷 nr\n");
    all_ended_with(78, &outputs, "other words");
    for output in [&outputs[0], &outputs[2]] {
        assert!(
            said(output).contains("built with features.dictionary = a file of digest "),
            "{}",
            said(output)
        );
    }
    all_ended_with(0, &start("蓝月谷 ns\n"), "the same words");
}

/// A failure of one rank ends all ranks with its exit code.
#[test]
fn one_exit_code() {
    let scene = Scene::new(&demo_inputs());
    let strict: Vec<Child> =
        (0..RANKS).map(|rank| scene.start(rank, &["--set", "read.rejects_max=0.0"])).collect();
    let outputs = ended(strict);
    all_ended_with(65, &outputs, "a guard");
    assert!(failure(&outputs[2].stderr).contains("rank 0 says: "), "{}", said(&outputs[2]));
    let lock = workers::store::Store::lock(&scene.bench.at("store")).expect("free");
    all_ended_with(75, &ended(scene.start_all()), "another run at work");
    drop(lock);
    all_ended_with(0, &ended(scene.start_all()), "at last");
}

/// A key that others may read is refused before anything else, and so are a rank out of range and a
/// cluster file.
#[test]
fn mistakes() {
    let scene = Scene::new(&demo_inputs());
    let one = |rank, arguments: &[&str]| scene.command(rank, arguments).output().expect("started");
    key(&scene.bench.at("key"), 0o644);
    let output = one(0, &[]);
    assert!(
        output.status.code() == Some(78) && failure(&output.stderr).contains("chmod 600"),
        "{}",
        said(&output)
    );
    key(&scene.bench.at("key"), 0o600);
    let output = one(RANKS, &[]);
    assert!(
        output.status.code() == Some(64) && failure(&output.stderr).contains("PAGEFOLD_RANK"),
        "{}",
        said(&output)
    );
    let output = one(0, &["--threads", "2"]);
    assert!(
        output.status.code() == Some(64) && failure(&output.stderr).contains("PAGEFOLD_WORKERS"),
        "{}",
        said(&output)
    );
    // It waited for the other ranks first.
    let output = one(1, &["--dry-run"]);
    assert!(
        output.status.code() == Some(64) && failure(&output.stderr).contains("run --dry-run"),
        "{}",
        said(&output)
    );
    assert!(!scene.bench.at("store").exists());
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("jobs").join(name)
}

fn write_program(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("set");
}

/// Starts the tasks as srun does, each with its number, and exits with the highest of their exit
/// codes. The file `kill` makes the first start lose one task.
const SRUN: &str = r#"#!/bin/bash
while [[ $1 == --* ]]; do shift; done
pids=()
for n in 0 1 2; do SLURM_PROCID=$n "$@" & pids+=($!); done
if [ -e "$SCENE/kill" ]; then rm "$SCENE/kill"; kill -9 "${pids[1]}"; fi
worst=0
for pid in "${pids[@]}"; do wait "$pid"; code=$?; [ $code -gt $worst ] && worst=$code; done
exit $worst
"#;
const SCONTROL: &str = r#"#!/bin/bash
case "$1 $2" in
"show hostnames") [ "$3" = "$SLURM_JOB_NODELIST" ] && cat "$SCENE/hosts" ;;
requeue*) echo "$2" >>"$SCENE/requeued" ;;
esac
"#;

/// The sbatch script is valid, gives the bytes of a single process and leaves no key behind. When a
/// task is lost it requeues itself, but not for ever, and not for a failure that another start
/// cannot repair.
#[test]
fn the_sbatch_script() {
    let script = example("slurm.sbatch");
    let valid = Command::new("bash").arg("-n").arg(&script).output().expect("started");
    assert!(valid.status.success() && valid.stderr.is_empty(), "{}", said(&valid));
    let scene = Scene::new(&demo_inputs());
    let at = |name: &str| scene.bench.at(name);
    std::fs::create_dir(at("bin")).expect("made");
    write_program(&at("bin"), "srun", SRUN);
    write_program(&at("bin"), "scontrol", SCONTROL);
    std::fs::write(at("hosts"), hosts().join("\n") + "\n").expect("written");
    let path = format!("{}:{}", at("bin").display(), std::env::var("PATH").unwrap_or_default());
    let submit = |restarts: &str, job: &str| {
        let mut command = Command::new("bash");
        command.arg(&script).arg(job).arg(crate::workbench::pagefold()).current_dir(at(""));
        command
            .env("PATH", &path)
            .env("SCENE", at(""))
            .env("HOME", at(""))
            .env("SLURM_JOB_NODELIST", "node[1-3]");
        command
            .env("SLURM_JOB_ID", "4711")
            .env("SLURM_CPUS_PER_TASK", "1")
            .env("SLURM_PROCID", "0");
        command.env("SLURM_RESTART_COUNT", restarts).env("PAGEFOLD_START_TIMEOUT_S", "10");
        command.output().expect("started")
    };
    let requeued = || std::fs::read_to_string(at("requeued")).unwrap_or_default();
    let failed = submit("0", "missing.toml");
    assert!(failed.status.code() == Some(78) && requeued().is_empty(), "{}", said(&failed));
    for (restarts, expected) in [("0", "4711\n"), ("5", "4711\n")] {
        std::fs::write(at("kill"), "").expect("written");
        let lost = submit(restarts, "job.toml");
        assert_eq!(lost.status.code(), Some(137), "{}", said(&lost));
        assert_eq!(requeued(), expected);
    }
    let output = submit("1", "job.toml");
    assert!(output.status.success(), "{}", said(&output));
    let calm = Bench::new(
        &demo_inputs(),
        "[features]\nunit = \"characters\"\n[confirm]\nfacts = \"off\"\n",
    );
    calm.run_well(&["--threads", "1"]);
    scene.bench.assert_same_tables(&calm, "sbatch");
    assert_eq!(std::fs::read_dir(at(".pagefold")).expect("a folder").count(), 0);
}

/// The manifest for Kubernetes sets the variables that pagefold needs and no unknown one, has as
/// many peers as pods, and agrees with itself on peers, port and key.
#[test]
fn the_kubernetes_manifest() {
    let text = std::fs::read_to_string(example("kubernetes.yaml")).expect("there");
    assert!(text.starts_with("# UNTESTED ON A REAL CLUSTER"));
    let value = |key: &str| {
        let of = |line: &str| {
            line.trim()
                .trim_start_matches("- ")
                .strip_prefix(key)?
                .strip_prefix(": ")
                .map(str::to_owned)
        };
        let found = text.lines().find_map(of).unwrap_or_else(|| panic!("no {key}"));
        found.split(" #").next().unwrap_or_default().trim().trim_matches('"').to_owned()
    };
    let mut variables = Vec::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if let Some(name) = line.strip_prefix("- name: PAGEFOLD_") {
            let value =
                lines.next().and_then(|line| line.strip_prefix("value: ")).expect("a value");
            let value = value.split(" #").next().unwrap_or_default().trim().trim_matches('"');
            variables.push((format!("PAGEFOLD_{name}"), value.to_owned()));
        }
    }
    let of = |name: &str| {
        &variables.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name}")).1
    };
    let peers: Vec<&str> = of("PAGEFOLD_PEERS").split(',').collect();
    let (service, port) = (value("subdomain"), value("port"));
    let expected: Vec<String> =
        (0..RANKS).map(|n| format!("{service}-{n}.{service}:{port}")).collect();
    assert_eq!(peers, expected);
    assert_eq!(
        [value("completions"), value("parallelism")],
        [RANKS.to_string(), RANKS.to_string()]
    );
    assert_eq!(of("PAGEFOLD_KEY_FILE"), &format!("{}/{}", "/run/pagefold", value("path")));
    assert!(text.contains("mountPath: /run/pagefold\n") && value("completionMode") == "Indexed");
    // The variables of a pod, except the key, which does not exist: any other mistake would be
    // reported first.
    let scene = Scene::new(&demo_inputs());
    let mut command = Command::new(crate::workbench::pagefold());
    command
        .args(["worker", "job.toml"])
        .current_dir(scene.bench.at(""))
        .envs(variables.iter().cloned());
    command.env("PAGEFOLD_KEY_FILE", scene.bench.at("gone")).env("JOB_COMPLETION_INDEX", "2");
    let output = command.output().expect("started");
    assert!(failure(&output.stderr).contains("cannot read"), "{}", said(&output));
    assert!(failure(&output.stderr).contains("/gone"), "{}", said(&output));
    let known = include_str!("../src/cluster/allocation.rs");
    assert!(
        variables.iter().all(|(name, _)| known.contains(&format!("\"{name}\""))),
        "{variables:?}"
    );
    let script = std::fs::read_to_string(example("slurm.sbatch")).expect("there");
    for name in ["PAGEFOLD_PEERS", "PAGEFOLD_WORKERS", "PAGEFOLD_KEY_FILE"] {
        assert!(
            script.contains(&format!("{name}=")) && variables.iter().any(|(n, _)| n == name),
            "{name}"
        );
    }
}
