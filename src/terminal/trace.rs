//! The trace that `run --profile` writes: Trace Event Format, which chrome://tracing, Perfetto and
//! the profiler of Firefox open.
//!
//! A process of the trace is a process of the run, after the launcher; a thread is a worker. The
//! clocks of hosts differ, so no clock is read: the workers begin together, when all processes have
//! connected, and the last worker is assumed to end when the launcher's lap `work` ends.

use crate::cli;
use crate::terminal::profile::{Lap, Times, WorkerSpans};
use serde_json::{Value, json};
use std::path::Path;
use workers::error::{Error, Kind, Result};
use workers::export::ours;
use workers::job::Job;
use workers::store::durable;

/// The name of the file in `[output] dir`.
pub const FILE: &str = "profile.json";

/// The beginning of each trace.
const MARK: &str = "{\"displayTimeUnit\":";

/// Checks before the run of `job` that the folder of the trace is there, and that the trace
/// replaces no file of another program.
pub fn check_place(arguments: &cli::Run, job: &Job) -> Result<()> {
    let Some(Some(path)) = &arguments.profile else { return Ok(()) };
    if durable::folder_of(path).is_dir() && !path.is_dir() {
        return ours::check_named("--profile", path, MARK, job);
    }
    let line = format!("--profile {}: name a file in a folder that exists", path.display());
    Err(Error::new(Kind::Usage, line))
}

/// Writes `trace` to `path`.
pub fn write(path: &Path, trace: &Value) -> Result<()> {
    let text = serde_json::to_vec(trace)
        .map_err(|e| Error::internal("cannot write the profile").caused_by(e))?;
    durable::write(path, &text).map_err(Error::as_output)
}

/// The trace of a run whose processes are `hosts`, with this many `threads` each.
pub fn trace(workers: &[WorkerSpans], threads: usize, hosts: &[&str], times: &Times) -> Value {
    let threads = threads.max(1);
    let mut events =
        vec![name("process_name", 0, 0, "launcher"), name("thread_name", 0, 0, "launcher")];
    for (process, host) in hosts.iter().enumerate() {
        events.push(name("process_name", process + 1, 0, host));
    }
    for worker in workers {
        let (process, thread) = (worker.worker / threads + 1, worker.worker % threads);
        events.push(name("thread_name", process, thread, &format!("worker {}", worker.worker)));
    }
    for Lap { name, began_us, ended_us } in times.laps() {
        let dur = ended_us - began_us;
        events.push(json!({
            "name": name, "cat": "launcher", "ph": "X", "ts": began_us, "dur": dur, "pid": 0, "tid": 0, "args": {},
        }));
    }
    let offset_us = offset_us(workers, times);
    for worker in workers {
        let (process, thread) = (worker.worker / threads + 1, worker.worker % threads);
        for span in &worker.spans {
            events.push(json!({
                "name": span.operator, "cat": span.stage(), "ph": "X",
                "ts": offset_us + span.began_us, "dur": span.us(), "pid": process, "tid": thread,
                "args": span.volume,
            }));
        }
    }
    json!({ "displayTimeUnit": "ms", "traceEvents": events })
}

/// When the workers began, by the launcher's clock.
fn offset_us(workers: &[WorkerSpans], times: &Times) -> u64 {
    let ended = workers
        .iter()
        .flat_map(|worker| &worker.spans)
        .map(|span| span.ended_us)
        .max()
        .unwrap_or(0);
    let work = times.laps().iter().find(|lap| lap.name == "work");
    work.map_or(0, |lap| lap.ended_us.saturating_sub(ended).max(lap.began_us))
}

/// The event that names a process or a thread. Firefox's profiler needs a time in each event.
fn name(what: &str, process: usize, thread: usize, name: &str) -> Value {
    json!({
        "name": what, "cat": "__metadata", "ph": "M", "ts": 0, "pid": process, "tid": thread, "args": { "name": name },
    })
}
