//! Inputs as they are in the folders of a crawler that is at work: they change, vanish, are
//! touched, small and many, or large and few.

use crate::workbench::{Bench, failure};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};
use workers::fold::failure::Failure;
use workers::fold::{self, ProcessTask, splits};
use workers::job::Job;
use workers::plan::{self, Plan};
use workers::store::Store;

/// `n` pages of a host, as JSON lines.
fn pages(host: &str, n: u64) -> String {
    let text = |n: u64| {
        (0..30)
            .map(|w| format!("word{}", (n * 977 + w * w * 31) % 4093))
            .collect::<Vec<_>>()
            .join(" ")
    };
    (0..n)
        .map(|n| {
            format!("{}\n", json!({ "url": format!("http://{host}.example/{n}"), "text": text(n) }))
        })
        .collect()
}

/// A bench that reads the folder `in` with these files.
fn bench(files: &[(&str, &str)]) -> Bench {
    let bench = Bench::new(Path::new("in"), "");
    std::fs::create_dir(bench.at("in")).expect("made");
    files.iter().for_each(|(name, text)| put(&bench, name, text));
    bench
}

fn put(bench: &Bench, name: &str, text: &str) {
    std::fs::write(bench.at("in").join(name), text).expect("written");
}

fn run_json(bench: &Bench) -> Value {
    serde_json::from_slice(&std::fs::read(bench.at("out/run.json")).expect("written"))
        .expect("JSON")
}

fn urls(bench: &Bench) -> Vec<String> {
    bench.lines("members").iter().filter_map(|row| row["url"].as_str().map(str::to_owned)).collect()
}

/// The job of the bench, its store, and a frozen plan of all its inputs.
fn planned(bench: &Bench) -> (Job, Store, Plan) {
    let job = json!({
        "store": bench.at("store"), "read": { "inputs": [bench.at("in")] }, "output": { "dir": bench.at("out") },
    });
    let job: Job = serde_json::from_value(job).expect("a job");
    let store =
        Store::open_or_create(&job.store, &job.identity().expect("an identity")).expect("made");
    let plan = plan::plan(&job, &store, None, 0).expect("planned").expect("something new");
    let plan = plan.freeze(&job.store, 1).expect("frozen");
    (job, store, plan)
}

/// Does the work of `plan`, but does not commit it.
fn work(job: &Job, plan: &Plan) -> Vec<fold::receipt::Receipt> {
    let task = ProcessTask {
        job: job.clone(),
        plan: plan.clone(),
        attempt: plan.attempt(&job.store),
        before: Default::default(),
        threads: 1,
        process: 0,
        processes: 1,
        mesh: None,
    };
    fold::run(task, Default::default(), Failure::default(), |_| {}).expect("done")
}

/// A pattern with a mistake named no file, and every run said only "nothing due"; `check` found no
/// fault. Both name it now.
#[test]
fn patterns_without_a_file() {
    let bench = bench(&[("a.jsonl", &pages("a", 3))]);
    std::fs::create_dir(bench.at("empty")).expect("made");
    let warned = |command: &str, inputs: &str| {
        let inputs = format!("read.inputs=[{inputs}]");
        let output = bench.pagefold(command, &["--set", &inputs]);
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8"));
        assert!(output.status.success(), "{err}");
        (out, err)
    };
    assert!(!warned("run", "\"in\"").1.contains("no file matches"));
    for command in ["run", "check"] {
        for inputs in ["\"im/*.jsonl\"", "\"in/\", \"im/*.jsonl\"", "\"empty\""] {
            let (out, err) = warned(command, inputs);
            let name = if inputs.contains("im") { "im/*.jsonl" } else { "empty" };
            let line = format!("{name}: no file matches");
            assert!(err.contains(&line), "{command} {inputs}: {err}");
            assert!(command == "run" || out.contains("WARNING: "), "{out}");
        }
        let (_, err) = warned(command, "\"in\"");
        assert!(!err.contains("no file matches"), "{err}");
    }
}

/// A complete snapshot of which one folder was not mounted, or a link led to a disk that was not,
/// removed the pages of that folder without a message. It stops the epoch, unless this is allowed.
#[test]
fn a_snapshot_with_an_absent_input() {
    let bench = bench(&[("a.jsonl", &pages("a", 30))]);
    std::fs::create_dir(bench.at("disk")).expect("made");
    std::fs::write(bench.at("disk/b.jsonl"), pages("b", 3)).expect("written");
    std::os::unix::fs::symlink(bench.at("disk/b.jsonl"), bench.at("in/b.jsonl")).expect("linked");
    for (inputs, said) in
        [("\"in/a.jsonl\", \"disk/\"", "disk: no file"), ("\"in/*.jsonl\"", "in/b.jsonl: a link")]
    {
        let inputs = format!("read.inputs=[{inputs}]");
        let with = ["--quiet", "--set", "read.complete=true", "--set", &inputs];
        bench.run_well(&with);
        assert_eq!(urls(&bench).len(), 33);
        std::fs::rename(bench.at("disk/b.jsonl"), bench.at("b.jsonl")).expect("moved");
        let output = bench.run(&with);
        let err = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(66), "{err}");
        let line = failure(&err);
        assert!(line.contains(said) && line.contains("--allow missing"), "{line}");
        assert!(err.contains("\"WARN\""), "quiet runs warn: {err}");
        // `check` said ok where the first run is refused.
        let first = [&with[1..], &["--set", "store=new"]].concat();
        for command in ["run", "check"] {
            let output = bench.pagefold(command, &first);
            assert_eq!(output.status.code(), Some(66), "{command}: {output:?}");
        }
        let dry = bench.run(&[&with[1..], &["--dry-run"]].concat());
        let dry = String::from_utf8(dry.stdout).expect("UTF-8");
        assert!(dry.contains("the run would stop") && dry.contains(said), "{dry}");
        bench.run_well(&[&with[..], &["--allow", "missing"]].concat());
        assert_eq!(urls(&bench).len(), 30);
        // It is the last snapshot now, so nothing is due.
        bench.run_well(&with);
        std::fs::rename(bench.at("b.jsonl"), bench.at("disk/b.jsonl")).expect("moved back");
    }
}

/// One file to which a crawler appends stopped every run, as long as it did. Now it is left to a
/// later run and named, and the others are read and committed.
#[test]
fn a_file_that_changes_is_left_to_a_later_run() {
    let (before, others) = (pages("a", 3), pages("b", 4));
    let bench = bench(&[("a.jsonl", &before), ("b.jsonl", &others)]);
    let (job, store, plan) = planned(&bench);
    put(&bench, "a.jsonl", &pages("a", 5));
    let receipts = work(&job, &plan);
    let committed =
        workers::commit::commit(&job, &store, None, &plan, receipts, 1, &[]).expect("committed");
    assert_eq!(committed.left, [bench.at("in/a.jsonl").display().to_string()]);
    assert_eq!((committed.counts.read, committed.head.manifest.counters["inputs_left"]), (4, 1));
    bench.run_well(&[]);
    assert_eq!(urls(&bench).len(), 9);
}

/// When every input changes there is nothing to commit. The run asks for another one, and that one
/// reads them.
#[test]
fn nothing_is_committed_if_all_inputs_change() {
    let bench = bench(&[("a.jsonl", &pages("a", 3))]);
    let (job, store, plan) = planned(&bench);
    put(&bench, "a.jsonl", &pages("a", 5));
    let receipts = work(&job, &plan);
    let error = workers::commit::commit(&job, &store, None, &plan, receipts, 1, &[])
        .err()
        .expect("refused");
    assert!(
        error.kind() == workers::error::Kind::TryAgain && error.to_string().contains("a.jsonl"),
        "{error}"
    );
    bench.run_well(&[]);
    assert_eq!((urls(&bench).len(), run_json(&bench)["epoch"].clone()), (5, 1.into()));
}

/// An unfinished epoch was abandoned, with everything that it had read, when one of its inputs was
/// touched. Now it is resumed, and a later change of an input belongs to the next epoch.
#[test]
fn a_touched_input_costs_nothing() {
    let bench = bench(&[("a.jsonl", &pages("a", 3)), ("b.jsonl", &pages("b", 4))]);
    let (job, _, plan) = planned(&bench);
    work(&job, &plan);
    let touch = |name: &str| {
        let file =
            std::fs::File::options().append(true).open(bench.at("in").join(name)).expect("opened");
        file.set_modified(SystemTime::now() + Duration::from_secs(7)).expect("touched");
    };
    touch("a.jsonl");
    bench.run_well(&[]);
    let run = run_json(&bench);
    assert_eq!((&run["splits_resumed"], &run["splits_done"]), (&1.into(), &0.into()));
    assert!(bench.run_well(&[]).contains("nothing due"));
    put(&bench, "b.jsonl", &pages("b", 6));
    bench.run_well(&[]);
    assert_eq!(urls(&bench).len(), 9);
}

/// A process looked through all that it had finished before it met the others. If this took longer
/// than they wait at the start, an epoch could not be resumed for ever. Here the first process can
/// look through its finished split only when the second has read another.
#[test]
fn what_is_finished_delays_no_start() {
    let bench = bench(&[("a.jsonl", &pages("a", 1000)), ("b.jsonl", &pages("b", 1000))]);
    let (job, _, plan) = planned(&bench);
    assert_eq!(plan.splits.len(), 2);
    work(&job, &plan);
    let attempt = plan.attempt(&job.store);
    let second = splits::split_path(&attempt, 1, "json");
    std::fs::remove_file(&second).expect("removed");
    let done = splits::done(&attempt, 0).expect("finished");
    let (visits, aside) = (done.visits[0].path(&attempt.join("visits")), attempt.join("aside"));
    std::fs::rename(&visits, &aside).expect("renamed");
    assert!(Command::new("mkfifo").arg(&visits).status().expect("started").success());
    let limits = "start_timeout_s = 20\nattempts_max = 1\n";
    let cluster = ["launch = \"local\"\nprocesses = 2\nworkers = 1\n", limits].concat();
    std::fs::write(bench.at("cluster.toml"), cluster).expect("written");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut pipe = File::options().write(true).open(&visits).expect("opened");
            let bytes = std::fs::read(&aside).expect("readable");
            std::fs::rename(&aside, &visits).expect("renamed");
            while !second.exists() && !is_over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
            // Nobody reads it if the run has failed.
            let _ = pipe.write_all(&bytes);
        });
        let output = bench.run(&["--cluster", "cluster.toml"]);
        is_over.store(true, Ordering::SeqCst);
        // If nobody has opened the pipe, this lets its writer end.
        drop(File::options().read(true).write(true).open(&visits));
        assert!(output.status.success(), "{}", failure(&output.stderr));
    });
    let run = run_json(&bench);
    assert_eq!((&run["splits_resumed"], &run["splits_done"]), (&1.into(), &1.into()));
}

/// How inputs are divided changes nothing that is exported, rejects included: they are named by
/// file and offset, and repeated records are counted once, whichever split has them.
#[test]
fn division_changes_no_result() {
    let large = (0..6).map(|_| pages("a", 1500)).collect::<String>().replace("1499\"", "1499\"}{");
    let files: Vec<(String, String)> =
        (0..30).map(|n| (format!("{n:02}.jsonl"), pages("b", n * 7) + "{\n")).collect();
    let mut files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    files.push(("large.jsonl", &large));
    let results = |threads: &str| {
        let bench = bench(&files);
        bench.run_well(&["--threads", threads, "--now", "1000", "--allow", "rejects"]);
        let (results, run) = (bench.results(), run_json(&bench));
        let name = bench.at("").display().to_string();
        let rejects = std::fs::read_to_string(bench.at("out/rejects.jsonl"))
            .expect("exported")
            .replace(&name, "");
        let mut summary: Value = serde_json::from_slice(&results["summary.json"]).expect("JSON");
        // Digests of files that have the names of the inputs.
        summary
            .as_object_mut()
            .expect("an object")
            .retain(|key, _| key != "files" && key != "store");
        (summary, rejects, bench.tables(), run["splits_done"].as_u64().expect("a number"))
    };
    let (one, many) = (results("1"), results("16"));
    assert!(one.3 < many.3, "{} and {} splits", one.3, many.3);
    assert_eq!((one.0, one.1), (many.0, many.1));
    assert!(one.2 == many.2, "exported tables differ");
}
