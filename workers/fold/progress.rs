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
    /// The position in [`crate::fold::operators::STAGES`] of the latest stage that some worker has
    /// reached.
    pub stage: AtomicU64,
    /// The turns of each worker, by index. The count of a worker that is stuck does not change.
    turns: Mutex<BTreeMap<usize, Arc<Turns>>>,
    /// Turns in which some worker had work. The count does not change while all workers wait for
    /// each other. The launcher's copy; a worker's process sums [`Progress::busy_turns`].
    pub busy_turns: AtomicU64,
}

/// The turns of one worker.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Returns from the operators without work.
    pub(super) idle: AtomicU64,
    /// Returns with work, and portions of work within an operator: an operator works on all rows of
    /// a stage in one call, which may last hours.
    pub(super) busy: Arc<AtomicU64>,
}

impl Progress {
    /// The turns so far of all workers that have started.
    pub fn turns(&self) -> Vec<(usize, u64)> {
        let all =
            |turns: &Turns| turns.idle.load(Ordering::Relaxed) + turns.busy.load(Ordering::Relaxed);
        lock(&self.turns).iter().map(|(worker, turns)| (*worker, all(turns))).collect()
    }

    /// The turns so far in which a worker had work.
    pub fn busy_turns(&self) -> u64 {
        lock(&self.turns).values().map(|turns| turns.busy.load(Ordering::Relaxed)).sum()
    }

    /// Begins to count the turns of `worker`.
    pub(super) fn begin(&self, worker: usize) -> Arc<Turns> {
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
