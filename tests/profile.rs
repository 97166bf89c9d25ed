use crate::workbench::{Bench, demo_inputs, failure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("written")).expect("JSON")
}

fn texts(of: impl Iterator<Item = String>) -> BTreeSet<String> {
    of.collect()
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// Asserts that spans `(began, ended)` of one thread nest or follow each other, as a profiler must
/// draw them.
fn assert_nested(mut spans: Vec<(u64, u64)>, what: &str) {
    spans.sort_unstable_by_key(|&(began, ended)| (began, std::cmp::Reverse(ended)));
    let mut open: Vec<u64> = Vec::new();
    for (began, ended) in spans {
        while open.last().is_some_and(|&end| end <= began) {
            open.pop();
        }
        assert!(
            open.last().is_none_or(|&end| ended <= end),
            "{what}: {began} to {ended} ends after what it is in"
        );
        open.push(ended);
    }
}

/// The trace has the operators, the stages and the seconds that `run.json` has, a thread for each
/// worker of each process, and spans that nest or follow each other. The rows and bytes that stages
/// took in and gave out are the same from any number of processes and workers, except those of
/// segments.
#[test]
fn trace_and_figures_agree() {
    let mut volumes = Vec::new();
    for (processes, workers) in [(1, 1), (1, 3), (2, 2)] {
        let bench = Bench::new(&demo_inputs(), "");
        let (cluster, threads) = (bench.cluster(processes, workers), workers.to_string());
        let place = if processes > 1 { ["--cluster", &cluster] } else { ["--threads", &threads] };
        let printed = bench.run_well(&[place[0], place[1], "--profile=trace.json"]);
        let (trace, run) = (json(&bench.at("trace.json")), json(&bench.at("out/run.json")));
        let events = trace["traceEvents"].as_array().expect("a list");
        for event in events {
            assert!(["M", "X"].contains(&event["ph"].as_str().expect("a phase")), "{event}");
            assert!(
                event["name"].is_string() && event["pid"].is_u64() && event["tid"].is_u64(),
                "{event}"
            );
            assert!(event["ts"].is_u64(), "{event}");
        }
        // What the launcher did is process 0.
        let spans = || events.iter().filter(|event| event["ph"] == "X");
        let work = || spans().filter(|event| event["pid"] != 0);
        let mut threads: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
        for span in spans() {
            let (began, took) = (number(&span["ts"]), number(&span["dur"]));
            let thread = (number(&span["pid"]), number(&span["tid"]));
            threads.entry(thread).or_default().push((began, began + took));
        }
        assert_eq!(threads.len(), 1 + processes * workers);
        for (thread, spans) in threads {
            assert_nested(spans, &format!("{processes} x {workers}, thread {thread:?}"));
        }
        let named = |what: &str| events.iter().filter(|event| event["name"] == what).count();
        assert_eq!(
            (named("process_name"), named("thread_name")),
            (processes + 1, processes * workers + 1)
        );

        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let stages = run["stages"].as_array().expect("a list");
        assert_eq!(
            texts(work().map(|span| text(&span["cat"]))),
            texts(stages.iter().map(|stage| text(&stage["stage"])))
        );
        let ended = run["stage_ended_ms_first_last"].as_object().expect("an object");
        assert_eq!(texts(work().map(|span| text(&span["name"]))), texts(ended.keys().cloned()));
        let laps = run["laps_ms"].as_object().expect("an object");
        let launcher = spans().filter(|event| event["pid"] == 0);
        assert_eq!(texts(launcher.map(|span| text(&span["name"]))), texts(laps.keys().cloned()));

        for stage in stages {
            let mut us: BTreeMap<(u64, u64), u64> = BTreeMap::new();
            let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
            for span in work().filter(|span| span["cat"] == stage["stage"]) {
                *us.entry((number(&span["pid"]), number(&span["tid"]))).or_default() +=
                    number(&span["dur"]);
                for what in ["rows_in", "rows_out", "bytes_in", "bytes_written"] {
                    *sums.entry(what).or_default() += number(&span["args"][what]);
                }
            }
            for (what, sum) in sums {
                assert_eq!(number(&stage[what]), sum, "{what} of {stage}");
            }
            assert_eq!(us.len(), processes * workers);
            let (slowest, sum) = (us.values().max().expect("workers"), us.values().sum::<u64>());
            let mean = sum as f64 / us.len() as f64;
            let skew = if sum == 0 { 1.0 } else { *slowest as f64 / mean };
            let close =
                |of: &str, to: f64| (stage[of].as_f64().expect("a number") - to).abs() < 0.001;
            assert!(
                close("seconds", *slowest as f64 / 1e6) && close("seconds_mean", mean / 1e6),
                "{stage}"
            );
            assert!(close("skew", skew), "{stage}, not {skew}");
            assert!(printed.contains(&format!("\n{:<10} ", text(&stage["stage"]))), "{printed}");
        }
        let figures = |stage: &str, what: &str| {
            number(&stages.iter().find(|one| one["stage"] == stage).expect("there")[what])
        };
        assert_eq!(figures("ingest", "rows_in"), number(&run["records"]));
        assert_eq!(figures("ingest", "bytes_in"), number(&run["input_bytes"]));
        let same =
            ["pages", "contents", "groups", "buckets", "resolve", "keys", "pairs", "leaders"];
        volumes.push(same.map(|stage| (figures(stage, "rows_out"), stage)));
        assert_eq!(volumes[0], volumes[volumes.len() - 1], "{processes} x {workers}");
    }
}

/// Without a name the trace lies beside the results, and only where it is asked for. The figures
/// are in `run.json` of every run. A place where no trace can be written is reported before
/// anything is done.
#[test]
fn a_trace_is_written_where_asked() {
    let bench = Bench::new(&demo_inputs(), "");
    let refused = bench.run(&["--profile=nowhere/trace.json"]);
    assert_eq!(refused.status.code(), Some(64));
    let message = failure(&refused.stderr);
    assert!(
        message.contains("--profile nowhere/trace.json: name a file in a folder that exists"),
        "{message}"
    );
    assert!(!bench.at("store").exists());
    let printed = bench.run_well(&[]);
    assert!(!printed.contains("skew") && !bench.at("out/profile.json").exists(), "{printed}");
    assert_eq!(json(&bench.at("out/run.json"))["stages"].as_array().map(Vec::len), Some(13));
    let decided = ["--set", "confirm.facts=off", "--profile", "--quiet"];
    assert_eq!(bench.run_well(&decided), "");
    assert!(json(&bench.at("out/profile.json"))["traceEvents"].is_array());
}
