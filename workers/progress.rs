//! Counts what the workers of a process have done so far.
//!
//! The progress bar shows the counts. The supervisor finds a worker that is stuck by its turns.

use crate::locks::lock;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// The progress of a process, written by its workers and read by the progress bar.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of input consumed, on disk.
    pub bytes: AtomicU64,
    /// Records read.
    pub records: AtomicU64,
    /// Splits that this process finished.
    pub splits_done: AtomicU64,
    /// Splits that an earlier attempt or run had finished.
    pub splits_resumed: AtomicU64,
    /// The position among the stages of an epoch of the latest one that some worker has reached.
    pub stage: AtomicU64,
    /// The turns of each worker, by index. The count of a worker that is stuck does not change.
    turns: Mutex<BTreeMap<usize, Arc<Turns>>>,
}

/// The turns of one worker.
#[derive(Debug, Default)]
pub struct Turns {
    /// Returns from the operators without work.
    pub idle: AtomicU64,
    /// Returns with work, and portions of work within an operator: an operator works on all rows of
    /// a stage in one call, which may last hours.
    pub busy: Arc<AtomicU64>,
}

impl Progress {
    /// The turns so far of all workers that have started.
    pub fn turns(&self) -> Vec<(usize, u64)> {
        let all =
            |turns: &Turns| turns.idle.load(Ordering::Relaxed) + turns.busy.load(Ordering::Relaxed);
        lock(&self.turns).iter().map(|(worker, turns)| (*worker, all(turns))).collect()
    }

    /// The turns so far in which a worker had work. The sum does not change while all workers wait
    /// for each other.
    pub fn busy_turns(&self) -> u64 {
        lock(&self.turns).values().map(|turns| turns.busy.load(Ordering::Relaxed)).sum()
    }

    /// Begins to count the turns of `worker`.
    pub fn begin(&self, worker: usize) -> Arc<Turns> {
        let turns: Arc<Turns> = Arc::default();
        lock(&self.turns).insert(worker, turns.clone());
        turns
    }

    /// Adds a split that an earlier attempt finished.
    pub fn resumed(&self, bytes: u64, records: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.records.fetch_add(records, Ordering::Relaxed);
        self.splits_resumed.fetch_add(1, Ordering::Relaxed);
    }
}
