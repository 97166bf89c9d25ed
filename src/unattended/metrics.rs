//! The metrics file of a job, in Prometheus's text format for node_exporter's textfile collector.
//!
//! It is written under another name and renamed, so that no reader sees an incomplete file. A
//! failed run changes only the figures about runs and keeps those of the last success, which it
//! reads back from the file. A failure here never fails a run. Each job needs a file of its own.

use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Instant;
use workers::error::{Error, Result};
use workers::export::ours;
use workers::job::Job;
use workers::plan::time::now;
use workers::store::Store;

/// The name, type and help of a metric.
type Family = (&'static str, &'static str, &'static str);

const LAST_RUN: &str = "pagefold_last_run_timestamp_seconds";
const DURATION: &str = "pagefold_last_run_duration_seconds";
const EXIT_CODE: &str = "pagefold_last_run_exit_code";
const RUNS: &str = "pagefold_runs_total";
const LAST_SUCCESS: &str = "pagefold_last_success_timestamp_seconds";
const EPOCH: &str = "pagefold_epoch";
const EPOCH_TIME: &str = "pagefold_epoch_timestamp_seconds";
const DOCUMENTS: &str = "pagefold_documents";
const CLUSTERS: &str = "pagefold_clusters";
const STORE: &str = "pagefold_store_bytes";
const READ: &str = "pagefold_epoch_records_read";
const RECORDS: &str = "pagefold_epoch_records";
const INPUT: &str = "pagefold_epoch_input_bytes";
const MEMORY: &str = "pagefold_epoch_memory_max_bytes";
const STAGE: &str = "pagefold_epoch_stage_seconds";

/// All metrics in the order of the file: four about runs, then those of the last success.
const FAMILIES: [Family; 15] = [
    (LAST_RUN, "gauge", "When the last run ended, in seconds since 1970."),
    (DURATION, "gauge", "How long the last run took."),
    (EXIT_CODE, "gauge", "Exit code of the last run; 0 is success, 75 try again."),
    (RUNS, "counter", "Runs by how they ended: success, failure, or stopped by a signal."),
    (LAST_SUCCESS, "gauge", "When the last run ended that succeeded, in seconds since 1970."),
    (EPOCH, "gauge", "The last epoch."),
    (EPOCH_TIME, "gauge", "The time by which the last epoch counts, in seconds since 1970."),
    (DOCUMENTS, "gauge", "Live pages."),
    (CLUSTERS, "gauge", "Clusters of two pages or more."),
    (STORE, "gauge", "Bytes of the tables of the store."),
    (READ, "gauge", "Records that the last epoch read."),
    (
        RECORDS,
        "gauge",
        "What became of the records that the last epoch read: accepted, skipped or rejected.",
    ),
    (INPUT, "gauge", "Bytes of the inputs of the last epoch."),
    (MEMORY, "gauge", "Greatest resident memory in the last epoch, summed over its processes."),
    (STAGE, "gauge", "How long each stage of the last epoch took, on its slowest worker."),
];

/// How a run ended.
pub struct Ended {
    job: String,
    at: i64,
    duration_s: f64,
    code: u8,
    how: &'static str,
}

impl Ended {
    /// A run of `job` that began at `started` and ends now with this exit code.
    pub fn with_code(job: &str, started: Instant, code: u8) -> Ended {
        let how = if code == 0 { "success" } else { "failure" };
        Ended {
            job: job.to_owned(),
            at: now(),
            duration_s: started.elapsed().as_secs_f64(),
            code,
            how,
        }
    }

    /// A run that a signal ends now.
    pub fn stopped(job: &str, started: Instant) -> Ended {
        let code = workers::error::Kind::TryAgain.exit_code();
        Ended { how: "stopped", ..Ended::with_code(job, started, code) }
    }
}

/// A value and its label, besides the label `job`.
type Sample = (Option<(&'static str, String)>, f64);
/// The values of each metric.
type Samples = BTreeMap<&'static str, Vec<Sample>>;

/// The figures of the last success.
fn facts(job: &Job) -> Result<Samples> {
    let store = Store::open(&job.store, None)?;
    let Some(head) = store.head()? else { return Ok(Samples::new()) };
    let manifest = head.manifest;
    let counters = |group: &str| -> f64 {
        let prefix = format!("{group}.");
        manifest
            .counters
            .iter()
            .filter(|(name, _)| name.starts_with(&prefix))
            .map(|(_, n)| *n)
            .sum::<u64>() as f64
    };
    let counter = |name: &str| manifest.counters.get(name).copied().unwrap_or(0) as f64;
    let rows = |table: &str| manifest.tables.get(table).map_or(0, |table| table.rows) as f64;
    let record = |what: &str, n: f64| (Some(("result", what.to_owned())), n);
    let mut samples = Samples::from([
        (EPOCH, vec![(None, manifest.epoch as f64)]),
        (EPOCH_TIME, vec![(None, manifest.logical_time as f64)]),
        (DOCUMENTS, vec![(None, rows("pages"))]),
        (CLUSTERS, vec![(None, rows("clusters"))]),
        (STORE, vec![(None, manifest.tables.values().map(|table| table.bytes() as f64).sum())]),
        (READ, vec![(None, counter("read"))]),
        (
            RECORDS,
            vec![
                record("accepted", counter("accepted")),
                record("skipped", counters("skipped")),
                record("rejected", counters("rejected")),
            ],
        ),
    ]);
    // The store holds no times and no memory. `run.json` belongs to the last epoch; a run that
    // found nothing due does not change it.
    let run = std::fs::read(job.output.dir.join("run.json")).ok();
    let run = run.and_then(|text| serde_json::from_slice::<Value>(&text).ok()).unwrap_or_default();
    if run["epoch"].as_u64() == Some(manifest.epoch) {
        samples.extend(times(&run));
    }
    Ok(samples)
}

/// The figures of `run.json`: laps of the launcher, and the stages of the workers in place of the
/// lap "work".
fn times(run: &Value) -> Samples {
    let mut samples = Samples::new();
    for (name, key) in [(INPUT, "input_bytes"), (MEMORY, "memory_bytes_max")] {
        samples.extend(run[key].as_f64().map(|value| (name, vec![(None, value)])));
    }
    let mut stages: Vec<(String, f64)> = Vec::new();
    let lap = |name: &str| Some((name.to_owned(), run["laps_ms"][name].as_f64()? / 1000.0));
    stages.extend(lap("plan"));
    // The ends of stages cannot be subtracted: a stage may end before a stage that is above it in
    // the list.
    stages.extend(
        run["stages"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|of| Some((of["stage"].as_str()?.to_owned(), of["seconds"].as_f64()?))),
    );
    stages.extend(["commit", "export", "merge"].into_iter().filter_map(lap));
    let sample = |(stage, seconds): (String, f64)| (Some(("stage", stage)), seconds);
    samples.insert(STAGE, stages.into_iter().map(sample).collect());
    samples
}

/// Escapes a label's value.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn line(name: &str, job: &str, label: Option<(&str, &str)>, value: f64) -> String {
    let label =
        label.map_or(String::new(), |(name, value)| format!(",{name}=\"{}\"", escaped(value)));
    format!("{name}{{job=\"{}\"{label}}} {value}", escaped(job))
}

/// The lines of `before` with values of the metric `name`.
fn lines_of<'a>(before: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    before
        .lines()
        .filter(move |line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{')))
}

/// The text of the file after a run; `facts` are given if it succeeded, and `before` is the
/// previous text.
fn text(before: &str, ended: &Ended, facts: Option<&Samples>) -> String {
    let job = ended.job.as_str();
    let one = |name: &str, value: f64| vec![line(name, job, None, value)];
    let mut out = String::new();
    for (name, kind, help) in FAMILIES {
        let lines = match (name, facts) {
            (LAST_RUN, _) | (LAST_SUCCESS, Some(_)) => one(name, ended.at as f64),
            (DURATION, _) => one(name, ended.duration_s),
            (EXIT_CODE, _) => one(name, ended.code.into()),
            (RUNS, _) => {
                ["success", "failure", "stopped"].map(|how| runs(before, ended, how)).to_vec()
            }
            (_, Some(facts)) => {
                let samples = facts.get(name).into_iter().flatten();
                let text = |(label, value): &Sample| {
                    line(
                        name,
                        job,
                        label.as_ref().map(|(name, value)| (*name, value.as_str())),
                        *value,
                    )
                };
                samples.map(text).collect()
            }
            (_, None) => lines_of(before, name).map(str::to_owned).collect(),
        };
        if !lines.is_empty() {
            // Writing to a string cannot fail.
            let _ =
                writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{}", lines.join("\n"));
        }
    }
    out
}

/// The number of runs that ended as `how`, including this one.
fn runs(before: &str, ended: &Ended, how: &str) -> String {
    let label = Some(("result", how));
    let zero = line(RUNS, &ended.job, label, 0.0);
    let head = zero.trim_end_matches('0');
    let so_far = lines_of(before, RUNS)
        .find_map(|line| line.strip_prefix(head)?.parse::<u32>().ok())
        .unwrap_or(0);
    line(RUNS, &ended.job, label, f64::from(so_far.saturating_add(u32::from(how == ended.how))))
}

/// Updates the file at `path`. `succeeded` is the job, if its run succeeded.
pub fn update(path: &Path, ended: &Ended, succeeded: Option<&Job>) {
    let written = succeeded.map(facts).transpose().and_then(|facts| {
        let before = before(path)?;
        write(path, &text(&before, ended, facts.as_ref()))
    });
    if let Err(error) = written {
        tracing::warn!(%error, "cannot write metrics; the run stands");
    }
}

/// The beginning of each file of metrics.
pub const MARK: &str = "# HELP pagefold_";

/// The most bytes of a file that is read back.
const FILE_BYTES_MAX: u64 = 1 << 20;

fn before(path: &Path) -> Result<String> {
    match path.metadata() {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Ok(of) if !of.is_file() || of.len() > FILE_BYTES_MAX => {
            Err(Error::config(path, "no file of metrics"))
        }
        _ => {
            ours::check(path, MARK, "or name another file")?;
            std::fs::read_to_string(path).map_err(|e| Error::io("read", path, e))
        }
    }
}

/// Writes under another name and renames. The file is readable by all for any umask, because the
/// collector runs as another user. No fsync: after a power cut the next run writes the file again.
fn write(path: &Path, text: &str) -> Result<()> {
    let mut aside = path.file_name().unwrap_or_default().to_owned();
    // The collector reads only files that end in `.prom`.
    aside.push(format!(".{}.writing", std::process::id()));
    let aside = path.with_file_name(aside);
    let write = || {
        // A link with this name is not followed.
        let _ = std::fs::remove_file(&aside);
        let mut file = File::create_new(&aside)?;
        file.write_all(text.as_bytes())?;
        file.set_permissions(Permissions::from_mode(0o644))?;
        std::fs::rename(&aside, path)
    };
    write().map_err(|e| {
        // The file may not exist.
        let _ = std::fs::remove_file(&aside);
        Error::io("write", path, e)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ended(code: u8, at: i64) -> Ended {
        let how = if code == 0 { "success" } else { "failure" };
        Ended { job: "a \"b\"\\c".into(), at, duration_s: 1.5, code, how }
    }

    fn value(text: &str, name: &str, label: &str) -> f64 {
        let line = lines_of(text, name).find(|line| line.contains(label)).expect(name);
        line.rsplit_once(' ').expect("a value").1.parse().expect("a number")
    }

    /// A failure changes the figures about runs and keeps those of the last success, line by line;
    /// counters count.
    #[test]
    fn failures_keep_the_last_success() {
        let facts = Samples::from([
            (EPOCH, vec![(None, 7.0)]),
            (STAGE, vec![(Some(("stage", "plan".into())), 0.25)]),
        ]);
        let first = text("", &ended(0, 100), Some(&facts));
        let second = text(&first, &ended(74, 200), None);
        let third = text(&second, &ended(74, 300), None);
        for (name, ..) in &FAMILIES[4..] {
            let lines = |of| lines_of(of, name).map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(lines(&first), lines(&third), "{name}");
        }
        assert_eq!(value(&third, LAST_SUCCESS, ""), 100.0);
        assert_eq!(value(&third, LAST_RUN, ""), 300.0);
        assert_eq!(value(&third, EXIT_CODE, ""), 74.0);
        assert_eq!(value(&third, EPOCH, ""), 7.0);
        assert_eq!([value(&third, RUNS, "success"), value(&third, RUNS, "failure")], [1.0, 2.0]);
        assert!(
            third.contains(r#"pagefold_epoch_stage_seconds{job="a \"b\"\\c",stage="plan"} 0.25"#)
        );
        assert!(!text("", &ended(74, 1), None).contains(LAST_SUCCESS));
    }

    /// `keys` ends before `resolve`, which is above it in the list: the time between their ends was
    /// taken for the time of a stage, and was negative.
    #[test]
    fn stages_have_their_own_seconds() {
        let stage = |stage: &str, seconds: f64| json!({ "stage": stage, "seconds": seconds });
        let run = json!({
            "laps_ms": { "plan": 20, "work": 90, "commit": 4 },
            "stages": [stage("resolve", 0.004), stage("keys", 0.001)],
            "stage_ended_ms_first_last": { "resolve": [50, 60], "keys": [40, 51] },
        });
        let of = |name: &str, seconds: f64| (Some(("stage", name.to_owned())), seconds);
        let expected =
            [of("plan", 0.02), of("resolve", 0.004), of("keys", 0.001), of("commit", 0.004)];
        assert_eq!(times(&run)[STAGE], expected);
    }
}
