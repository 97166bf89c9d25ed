//! Facts about the processes of a run: while they work, for the progress bar and the log, and at
//! the end, for `run.json`.

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use workers::fold::receipt::Receipt;
use workers::locks::lock;
use workers::progress::Progress;

/// A process as the launcher sees it.
pub struct ObservedProcess {
    /// The host, or another name for the process.
    pub name: String,
    /// Its progress.
    pub progress: Arc<Progress>,
    /// The turns in which a worker of it had work: [`Progress::busy_turns`] of that process.
    pub busy_turns: AtomicU64,
    /// Its greatest resident memory.
    pub memory_bytes: AtomicU64,
    /// Connections that it refused while it started, by reason; known once it has finished.
    pub refused: Mutex<BTreeMap<String, u64>>,
}

impl ObservedProcess {
    /// A process that has not started yet.
    pub fn new(name: &str) -> ObservedProcess {
        ObservedProcess {
            name: name.to_owned(),
            progress: Arc::default(),
            busy_turns: AtomicU64::new(0),
            memory_bytes: AtomicU64::new(0),
            refused: Mutex::default(),
        }
    }
}

/// A function that is called with the processes that work from now on.
pub type Observer<'a> = &'a dyn Fn(Vec<Arc<ObservedProcess>>);

/// What one process did, for `run.json`.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessSummary {
    /// The host that it ran on.
    pub host: String,
    /// Records that it read.
    pub records: u64,
    /// Bytes of input that it read.
    pub bytes: u64,
    /// Its greatest resident memory.
    pub memory_bytes: u64,
    /// Splits that it finished.
    pub splits_done: u64,
    /// Splits that an earlier attempt or run had finished.
    pub splits_resumed: u64,
    /// Connections that it refused while it started, by reason.
    pub refused: BTreeMap<String, u64>,
    /// When each stage ended on its last worker, in seconds after the start of the work.
    pub stage_ended_s: BTreeMap<String, f64>,
}

impl ProcessSummary {
    /// Summarises the `observed` process and the receipts of its workers.
    pub fn of(observed: &ObservedProcess, receipts: &[Receipt]) -> ProcessSummary {
        let mut stage_ended_s: BTreeMap<String, f64> = BTreeMap::new();
        for span in receipts.iter().flat_map(|receipt| &receipt.spans) {
            let at = stage_ended_s.entry(span.operator.clone()).or_default();
            *at = at.max((span.ended_us / 1000) as f64 / 1000.0);
        }
        ProcessSummary {
            host: observed.name.clone(),
            records: observed.progress.records.load(Ordering::Relaxed),
            bytes: observed.progress.bytes.load(Ordering::Relaxed),
            memory_bytes: observed.memory_bytes.load(Ordering::Relaxed),
            splits_done: observed.progress.splits_done.load(Ordering::Relaxed),
            splits_resumed: observed.progress.splits_resumed.load(Ordering::Relaxed),
            refused: lock(&observed.refused).clone(),
            stage_ended_s,
        }
    }
}

/// One attempt, for `run.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Attempt {
    /// The names of the hosts.
    pub hosts: Vec<String>,
    /// How long the attempt took.
    pub seconds: f64,
    /// Why the attempt failed, if it did.
    pub failure: Option<String>,
    /// The host that is blamed for the failure.
    pub blamed: Option<String>,
}
