//! What the stages of one epoch share on one worker: where it stands among its peers, the tables before and after, the receipt that it will
//! hand in, and the first failure. A stage that fails leaves its error here and goes on with empty hands, so that every worker
//! still builds the same dataflows; nothing of such an epoch is committed.

use crate::document::{Id, owner, range_start};
use crate::error::{Error, Result};
use crate::fold::counters::{Counter, Counters};
use crate::job::Job;
use crate::locks::lock;
use crate::plan::Plan;
use crate::store::durable;
use crate::store::lookup::Lookup;
use crate::store::manifest::TableState;
use crate::store::runs::Table;
use crate::store::segment::{self, Segment, SegmentRef, SegmentWriter};
use crate::store::table::Row;
use crate::tables::snapshot::Snapshot;
use crate::tables::{BandRow, band_table};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The first error of a process, where its workers, its progress bar and its launcher find it.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<Mutex<Option<Error>>>);

impl Failure {
    /// Remembers `error` if it is the first.
    pub fn report(&self, error: Error) {
        let mut slot = lock(&self.0);
        slot.get_or_insert(error);
    }

    /// Whether something failed.
    pub fn is_set(&self) -> bool {
        lock(&self.0).is_some()
    }

    /// Takes the error out.
    pub fn take(&self) -> Option<Error> {
        lock(&self.0).take()
    }
}

/// How far a process is; written by its workers, read by whoever draws the bar.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of input consumed, as they lie on disk.
    pub bytes: AtomicU64,
    /// Records read.
    pub records: AtomicU64,
    /// Splits that this process finished, and those that it found finished by an earlier attempt or run.
    pub splits_done: AtomicU64,
    /// See `splits_done`.
    pub splits_resumed: AtomicU64,
    /// Number of the stage in [`STAGES`] that some worker has reached.
    pub stage: AtomicU64,
    /// For each worker by its index how often it has come back from its operators: of one that is lost in an operator it stands still.
    pub turns: Mutex<BTreeMap<usize, Arc<AtomicU64>>>,
    /// Turns in which some worker had something to do: stands still when all wait for each other.
    pub busy_turns: AtomicU64,
}

impl Progress {
    /// The turns so far, of all workers that have begun.
    pub fn turns(&self) -> Vec<(usize, u64)> {
        let turns = lock(&self.turns);
        turns.iter().map(|(worker, turns)| (*worker, turns.load(Ordering::Relaxed))).collect()
    }

    /// Takes in a split that an earlier attempt finished.
    pub fn resumed(&self, bytes: u64, records: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.records.fetch_add(records, Ordering::Relaxed);
        self.splits_resumed.fetch_add(1, Ordering::Relaxed);
    }
}

/// The stages that a progress bar names, in order.
pub const STAGES: [&str; 12] = [
    "ingest",
    "pages",
    "contents",
    "evidence",
    "groups",
    "buckets",
    "resolve",
    "keys",
    "pairs",
    "components",
    "clusters",
    "leaders",
];

/// What one worker did, handed to the launcher, which checks and commits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The worker.
    pub worker: usize,
    /// The segment that it wrote for each table that it had rows for.
    pub segments: BTreeMap<String, SegmentRef>,
    /// Its counts; the launcher adds them up.
    pub counters: Counters,
    /// Milliseconds after the start at which each stage ended here; for `run.json` alone.
    pub stage_ms: BTreeMap<String, u64>,
    /// Rows that stages looked up in each table, likewise.
    pub rows_read: BTreeMap<String, u64>,
}

/// What all workers of a process share.
pub struct SharedEpoch {
    /// What is to be done.
    pub plan: Plan,
    /// How.
    pub job: Job,
    /// Where finished splits lie.
    pub attempt: PathBuf,
    /// The tables that the epoch builds on.
    pub before: BTreeMap<String, TableState>,
    /// How far the process is.
    pub progress: Arc<Progress>,
    /// What went wrong first.
    pub failure: Failure,
}

/// One worker's view of the epoch.
pub struct Epoch {
    /// This worker, 0 and up.
    pub index: usize,
    /// All workers.
    pub peers: usize,
    /// The store's tables.
    pub data: PathBuf,
    /// What it shares with the other workers of its process.
    pub shared: Arc<SharedEpoch>,
    fresh: RefCell<BTreeMap<String, SegmentRef>>,
    receipt: RefCell<Receipt>,
    rows_read: RefCell<BTreeMap<String, Arc<AtomicU64>>>,
    turns: Arc<AtomicU64>,
    started: Instant,
}

impl Epoch {
    /// The view of worker `index` of `peers`.
    pub fn new(index: usize, peers: usize, shared: Arc<SharedEpoch>) -> Rc<Epoch> {
        let data = shared.job.store.join("data");
        let receipt = RefCell::new(Receipt { worker: index, ..Receipt::default() });
        let (fresh, rows_read) = (RefCell::default(), RefCell::default());
        let turns: Arc<AtomicU64> = Arc::default();
        let mut all = lock(&shared.progress.turns);
        all.insert(index, turns.clone());
        drop(all);
        Rc::new(Epoch { index, peers, data, shared, fresh, receipt, rows_read, turns, started: Instant::now() })
    }

    /// The worker that owns a key whose evenly spread leading bits are `top`.
    pub fn owner(&self, top: u64) -> u64 {
        owner(top, self.peers)
    }

    /// The leading bits of the keys that this worker owns, `[from, to)`; no `to` is the end.
    pub fn range(&self) -> (u64, Option<u64>) {
        let end = (self.index + 1 < self.peers).then(|| range_start(self.index + 1, self.peers));
        (range_start(self.index, self.peers), end)
    }

    /// The ids that this worker owns, `[from, to)`; no `to` is the end.
    pub fn id_range(&self) -> (Id, Option<Id>) {
        let first = |high| Id { high, low: 0 };
        let (from, to) = self.range();
        (first(from), to.map(first))
    }

    /// Whether something failed in this process.
    pub fn has_failed(&self) -> bool {
        self.shared.failure.is_set()
    }

    /// Runs `step`; if it fails the error is kept and the stage has nothing to give. After a failure nothing runs any more.
    pub fn attempt<T: Default>(&self, step: impl FnOnce() -> Result<T>) -> T {
        if self.has_failed() {
            return T::default();
        }
        step().unwrap_or_else(|error| {
            self.shared.failure.report(error);
            T::default()
        })
    }

    /// The table of `R` before the epoch.
    pub fn before<R: Row>(&self) -> Result<Table<R>> {
        Ok(self.snapshot().table()?.counted(self.rows_read(R::NAME)))
    }

    /// The table of `band` before the epoch.
    pub fn band_before(&self, band: usize) -> Result<Table<BandRow>> {
        Ok(self.snapshot().band(band)?.counted(self.rows_read(&band_table(band))))
    }

    /// The table of `R` before the epoch, for looking up few large rows.
    pub fn lookup<R: Row>(&self) -> Result<Lookup<R>> {
        self.snapshot().lookup(self.rows_read(R::NAME))
    }

    /// The table of `R` after the epoch, complete for the keys that this worker owns.
    pub fn after<R: Row>(&self) -> Result<Table<R>> {
        let mut table = self.before()?;
        if let Some(written) = self.fresh()? {
            table.push(written);
        }
        Ok(table)
    }

    /// The segment of the table of `R` that this worker wrote in this epoch.
    pub fn written<R: Row>(&self) -> Option<SegmentRef> {
        self.fresh.borrow().get(R::NAME).cloned()
    }

    /// The same, mapped.
    pub fn fresh<R: Row>(&self) -> Result<Option<Segment<R>>> {
        self.written::<R>().map(|segment| Segment::open(&self.folder(R::NAME), &segment)).transpose()
    }

    /// Writes this worker's segment of the table of `R`: the sorted net changes `rows`.
    pub fn write<R: Row>(&self, rows: impl IntoIterator<Item = R>) -> Result<()> {
        self.write_named(R::NAME, rows)
    }

    /// Writes this worker's segment of the table of `band`.
    pub fn write_band(&self, band: usize, rows: impl IntoIterator<Item = BandRow>) -> Result<()> {
        self.write_named(&band_table(band), rows)
    }

    fn write_named<R: Row>(&self, name: &str, rows: impl IntoIterator<Item = R>) -> Result<()> {
        self.record(name, segment::write(&self.folder(name), &self.tag(), rows)?);
        Ok(())
    }

    /// A writer of this worker's segment of the table of `R`, for rows that do not fit in memory; [`Epoch::finish`] ends it.
    pub fn writer<R: Row>(&self) -> Result<SegmentWriter<R>> {
        SegmentWriter::create(&self.folder(R::NAME), &self.tag())
    }

    /// Finishes a segment that [`Epoch::writer`] began.
    pub fn finish<R: Row>(&self, writer: SegmentWriter<R>) -> Result<()> {
        self.record(R::NAME, writer.finish()?);
        Ok(())
    }

    /// The folder of a table.
    pub fn folder(&self, table: &str) -> PathBuf {
        self.data.join(table)
    }

    fn snapshot(&self) -> Snapshot<'_> {
        Snapshot::new(self.data.clone(), &self.shared.before)
    }

    fn rows_read(&self, table: &str) -> Arc<AtomicU64> {
        self.rows_read.borrow_mut().entry(table.to_owned()).or_default().clone()
    }

    /// A file tag that no other worker of any attempt uses at the same time, not even one that has lost its launcher and not noticed.
    pub fn tag(&self) -> String {
        format!("{}-{}.{}", self.shared.plan.digest, self.index, durable::tag())
    }

    fn record(&self, name: &str, written: Option<SegmentRef>) {
        if let Some(segment) = written {
            self.fresh.borrow_mut().insert(name.to_owned(), segment.clone());
            self.receipt.borrow_mut().segments.insert(name.to_owned(), segment);
        }
    }

    /// Adds `n` to a counter of the receipt.
    pub fn count(&self, counter: Counter, n: u64) {
        self.receipt.borrow_mut().counters.count(counter, n);
    }

    /// Counts the change of a bucket of `signature` from `before` contents to `after`.
    pub fn count_bucket(&self, signature: u8, before: usize, after: usize) {
        self.receipt.borrow_mut().counters.bucket(signature, before, after);
    }

    /// Notes that this worker came back from its operators; `idle` if there was nothing for them to do.
    pub fn turned(&self, idle: bool) {
        self.turns.fetch_add(1, Ordering::Relaxed);
        if !idle {
            self.shared.progress.busy_turns.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Notes that this worker's part of `stage` ended.
    pub fn ended(&self, stage: &str) {
        let at = self.started.elapsed().as_millis() as u64;
        self.receipt.borrow_mut().stage_ms.insert(stage.to_owned(), at);
        if let Some(n) = STAGES.iter().position(|known| *known == stage) {
            self.shared.progress.stage.fetch_max(n as u64 + 1, Ordering::Relaxed);
        }
        tracing::debug!(worker = self.index, stage, ms = at, "stage ended");
    }

    /// The receipt.
    pub fn receipt(&self) -> Receipt {
        let mut receipt = self.receipt.borrow().clone();
        let rows_read = self.rows_read.borrow();
        receipt.rows_read = rows_read.iter().map(|(name, n)| (name.clone(), n.load(Ordering::Relaxed))).collect();
        receipt
    }
}
