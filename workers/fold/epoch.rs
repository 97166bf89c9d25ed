//! The state that the stages of one epoch share on one worker.
//!
//! It has the worker's range of keys, the tables before and after the epoch, the receipt, and the
//! first failure of the process. A stage that fails records its error here and emits nothing, and
//! later stages do nothing, so that every worker still builds the same dataflows. An epoch with a
//! failure is not committed.

use crate::error::{Error, Result};
use crate::fold::accepted::AcceptedChanges;
use crate::fold::counters::Counter;
use crate::fold::failure::Failure;
use crate::fold::operators::{OPERATORS, STAGES};
use crate::fold::origins::OriginPages;
use crate::fold::owner::{owner, range_start};
use crate::fold::receipt::{CHANGED_INPUTS_MAX, OVERWRITTEN_NAMED_MAX, Receipt};
use crate::fold::spans::{OperatorSpan, Volume};
use crate::fold::splits::{SharedSplits, SplitEvidence, SplitVisits};
use crate::fold::winner::Lost;
use crate::job::Job;
use crate::keep::KeepRule;
use crate::plan::Plan;
use crate::plan::inputs::Looks;
use crate::progress::{Progress, Turns};
use crate::store::column::KeyRange;
use crate::store::damage::caught;
use crate::store::durable;
use crate::store::fsyncs::Fsyncs;
use crate::store::lookup::Lookup;
use crate::store::manifest::TableState;
use crate::store::open::OpenSegments;
use crate::store::runs::Table;
use crate::store::segment::{self, Segment, SegmentRef, SegmentWriter};
use crate::store::table::Row;
use crate::tables::snapshot::Snapshot;
use crate::tables::{BandRow, GroupRow, band_table};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The part of an epoch that all workers of a process share.
pub struct SharedEpoch {
    /// The frozen plan.
    pub plan: Plan,
    /// The job.
    pub job: Job,
    /// The folder of finished splits.
    pub attempt: PathBuf,
    /// The tables that the epoch builds on.
    pub before: BTreeMap<String, TableState>,
    /// The progress of the process.
    pub progress: Arc<Progress>,
    /// The first failure of the process.
    pub failure: Failure,
    /// The finished splits that the workers read together.
    pub splits: SharedSplits,
    /// What the workers found when they looked at the inputs of the plan.
    pub looks: Looks,
    /// The segments that the process has mapped.
    pub open: OpenSegments,
    /// Makes the files that the workers write durable.
    pub fsyncs: Fsyncs,
}

/// One worker's view of the epoch.
pub struct Epoch {
    /// The number of this worker, from 0.
    pub index: usize,
    /// The number of workers of all processes.
    pub peers: usize,
    /// The folder of the store's tables.
    pub data: PathBuf,
    /// The part that the workers of this process share.
    pub shared: Arc<SharedEpoch>,
    fresh: RefCell<BTreeMap<String, SegmentRef>>,
    receipt: RefCell<Receipt>,
    rows_read: RefCell<BTreeMap<String, Arc<AtomicU64>>>,
    turns: Arc<Turns>,
    accepted: OnceCell<AcceptedChanges>,
    /// The rows and bytes that the running operator has received and written so far.
    volume: Cell<Volume>,
    /// When this worker began.
    pub started: Instant,
}

impl Epoch {
    /// The view of worker `index` of `peers` workers.
    pub fn new(index: usize, peers: usize, shared: Arc<SharedEpoch>) -> Rc<Epoch> {
        let data = shared.job.store.join("data");
        let receipt = RefCell::new(Receipt { worker: index, ..Receipt::default() });
        let (fresh, rows_read, accepted) =
            (RefCell::default(), RefCell::default(), OnceCell::new());
        let turns = shared.progress.begin(index);
        Rc::new(Epoch {
            index,
            peers,
            data,
            shared,
            fresh,
            receipt,
            rows_read,
            turns,
            accepted,
            volume: Cell::default(),
            started: Instant::now(),
        })
    }

    /// The worker that owns a key with the leading bits `top`, which are evenly distributed.
    pub fn owner(&self, top: u64) -> u64 {
        owner(top, self.peers)
    }

    /// The keys that this worker owns.
    pub fn range(&self) -> KeyRange {
        let start = |worker| range_start(worker, self.peers);
        let next = self.index + 1;
        KeyRange { from: start(self.index), to: (next < self.peers).then(|| start(next)) }
    }

    /// For each worker the leading bits of the first key that it owns, to send it a row.
    pub fn all_workers(&self) -> impl Iterator<Item = u64> {
        let peers = self.peers;
        (0..peers).map(move |worker| range_start(worker, peers))
    }

    /// Whether a worker of this process failed.
    pub fn has_failed(&self) -> bool {
        self.shared.failure.is_set()
    }

    /// Runs `step`. Returns the default if it fails or finds a damaged row, and does not run it
    /// after a failure of any worker of this process.
    pub fn attempt<T: Default>(&self, step: impl FnOnce() -> Result<T>) -> T {
        if self.has_failed() {
            return T::default();
        }
        caught(step).unwrap_or_else(|error| {
            self.shared.failure.report(error);
            T::default()
        })
    }

    /// Whether input number `at` of the plan has changed since it was planned.
    pub fn has_changed(&self, at: usize) -> Result<bool> {
        self.shared.looks.has_changed(&self.shared.plan.inputs[at], at)
    }

    /// The visits of all splits.
    pub fn split_visits(&self) -> Result<Arc<SplitVisits>> {
        self.shared.splits.visits(&self.shared.plan, &self.shared.attempt)
    }

    /// The evidence of all splits.
    pub fn split_evidence(&self) -> Result<Arc<SplitEvidence>> {
        self.shared.splits.evidence(&self.shared.plan, &self.shared.attempt)
    }

    /// The table of `R` before the epoch, complete for the keys that this worker owns.
    pub fn before<R: Row>(&self) -> Result<Table<R>> {
        self.owned(R::NAME, if R::NAME == GroupRow::NAME { Some(0) } else { None })
    }

    /// The table of `band` before the epoch, complete for the keys that this worker owns.
    pub fn band_before(&self, band: usize) -> Result<Table<BandRow>> {
        self.owned(&band_table(band), Some(band))
    }

    /// The table `name` before the epoch, with the segments that may have keys of this worker. Keys
    /// of a `band` are owned by buckets, and the last bucket may end beyond the worker's range.
    fn owned<R: Row>(&self, name: &str, band: Option<usize>) -> Result<Table<R>> {
        let mut range = self.range();
        if let Some(band) = band {
            let bucket = self.shared.job.bands()?.key_fixed(band);
            range.to = range.to.and_then(|to| (to | !bucket).checked_add(1));
        }
        let table = self.snapshot().shared(&self.shared.open, name, range)?;
        Ok(table.counted(self.rows_read(name), self.turns.busy.clone()))
    }

    /// The table of `R` before the epoch, for few lookups of large rows.
    pub fn lookup<R: Row>(&self) -> Result<Lookup<R>> {
        self.snapshot().lookup(&self.shared.open, self.rows_read(R::NAME))
    }

    /// The table of `R` after the epoch, complete for the keys that this worker owns.
    pub fn after<R: Row>(&self) -> Result<Table<R>> {
        let mut table = self.before()?;
        if let Some(written) = self.fresh()? {
            table.push(written);
        }
        Ok(table)
    }

    /// Keeps what the epoch changed in accepted pairs.
    ///
    /// # Errors
    ///
    /// `Internal` if it is kept already, or [`Epoch::accepted`] was called before.
    pub fn set_accepted(&self, accepted: AcceptedChanges) -> Result<()> {
        let twice = |_| Error::internal("the changes of accepted pairs came twice, or too late");
        self.accepted.set(accepted).map_err(twice)
    }

    /// What the epoch changed in accepted pairs; nothing after a failure.
    pub fn accepted(&self) -> &AcceptedChanges {
        self.accepted.get_or_init(AcceptedChanges::default)
    }

    /// The segment that this worker wrote of the table of `R` in this epoch.
    pub fn written<R: Row>(&self) -> Option<SegmentRef> {
        self.fresh.borrow().get(R::NAME).cloned()
    }

    /// The same segment, mapped.
    pub fn fresh<R: Row>(&self) -> Result<Option<Arc<Segment<R>>>> {
        let folder = self.folder(R::NAME);
        let open =
            |segment| self.shared.open.get(&folder, &segment, || Segment::open(&folder, &segment));
        self.written::<R>().map(open).transpose()
    }

    /// Writes this worker's segment of the table of `R`. `rows` are net changes and ascend.
    pub fn write<R: Row>(&self, rows: impl IntoIterator<Item = R>) -> Result<()> {
        self.write_named(R::NAME, rows)
    }

    /// Writes this worker's segment of the table of `band`. `rows` are net changes and ascend.
    pub fn write_band(&self, band: usize, rows: impl IntoIterator<Item = BandRow>) -> Result<()> {
        self.write_named(&band_table(band), rows)
    }

    fn write_named<R: Row>(&self, name: &str, rows: impl IntoIterator<Item = R>) -> Result<()> {
        let rows = rows.into_iter().inspect(|_| self.record_progress());
        let fsyncs = &self.shared.fsyncs;
        self.record(name, segment::write_by(fsyncs, &self.folder(name), &self.tag(), rows)?);
        Ok(())
    }

    /// A writer of this worker's segment of the table of `R`, for rows that do not fit in memory.
    /// Must be finished with [`Epoch::finish`].
    pub fn writer<R: Row>(&self) -> Result<SegmentWriter<R>> {
        SegmentWriter::create(&self.folder(R::NAME), &self.tag())
    }

    /// Finishes a segment that [`Epoch::writer`] began.
    pub fn finish<R: Row>(&self, writer: SegmentWriter<R>) -> Result<()> {
        self.record(R::NAME, writer.finish(&self.shared.fsyncs)?);
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

    /// A tag for temporary files that no other worker uses at the same time, not even a worker of
    /// an earlier attempt that still runs after it lost its launcher.
    pub fn tag(&self) -> String {
        format!("{}-{}.{}", self.shared.plan.digest, self.index, durable::tag())
    }

    fn record(&self, name: &str, written: Option<SegmentRef>) {
        if let Some(segment) = written {
            self.add_volume(Volume { bytes_written: segment.bytes, ..Volume::default() });
            self.fresh.borrow_mut().insert(name.to_owned(), segment.clone());
            self.receipt.borrow_mut().segments.insert(name.to_owned(), segment);
        }
    }

    /// The keep rule.
    pub fn keep_rule(&self) -> KeepRule {
        KeepRule::new(&self.shared.job.keep, &self.shared.plan.sources)
    }

    /// Adds `n` to a counter of the receipt.
    pub fn count(&self, counter: Counter, n: u64) {
        self.receipt.borrow_mut().counters.count(counter, n);
    }

    /// Adds `n` to a counter of the receipt, unless `n` is 0. For stages that add up their own
    /// counts.
    pub fn count_any(&self, counter: Counter, n: u64) {
        if n > 0 {
            self.count(counter, n);
        }
    }

    /// Counts the rows of `key` that a row which says something else replaced. The receipt names
    /// the first keys with another text.
    pub fn count_lost(&self, key: &[u8], lost: Lost) {
        let Lost { overwritten, replaced, replaced_elsewhere, undated_elsewhere } = lost;
        self.count_any(Counter::VisitsOverwritten, overwritten as u64);
        self.count_any(Counter::VisitsReplaced, replaced as u64);
        self.count_any(Counter::VisitsReplacedElsewhere, replaced_elsewhere as u64);
        self.count_any(Counter::VisitsUndatedElsewhere, undated_elsewhere as u64);
        let receipt = &mut *self.receipt.borrow_mut();
        for (n, named) in [
            (overwritten, &mut receipt.overwritten),
            (replaced_elsewhere, &mut receipt.replaced_elsewhere),
        ] {
            if n > 0 && named.len() < OVERWRITTEN_NAMED_MAX {
                named.push(String::from_utf8_lossy(key).into_owned());
            }
        }
    }

    /// Counts a page that has another text now, under the key of the input of its former record.
    /// Its present record is in another input.
    pub fn count_changed(&self, input: u64) {
        let changed = &mut self.receipt.borrow_mut().changed;
        if changed.len() < CHANGED_INPUTS_MAX / self.peers || changed.contains_key(&input) {
            *changed.entry(input).or_default() += 1;
        }
    }

    /// Keeps the counts of sources and hosts. Called once.
    pub fn keep_origin_pages(&self, pages: OriginPages) {
        self.receipt.borrow_mut().origin_pages = pages.most();
    }

    /// Counts the change of a fingerprint from `before` earlier fingerprints, by the near rule, to
    /// `after`.
    pub fn count_near(&self, before: usize, after: usize) {
        self.receipt.borrow_mut().counters.near(before, after);
    }

    /// Counts the change of a bucket of `signature` from `before` contents to `after`.
    pub fn count_bucket(&self, signature: u8, before: usize, after: usize) {
        self.receipt.borrow_mut().counters.bucket(signature, before, after);
    }

    /// Records that this worker returned from its operators; `idle` if they had no work.
    pub fn record_turn(&self, idle: bool) {
        let turns = if idle { &self.turns.idle } else { &*self.turns.busy };
        turns.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that this worker did a portion of its work within an operator.
    #[inline]
    pub fn record_progress(&self) {
        self.turns.busy.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds to the rows and bytes that the running operator has received and written.
    pub fn add_volume(&self, more: Volume) {
        let mut volume = self.volume.get();
        volume.add(more);
        self.volume.set(volume);
    }

    /// Records that this worker's part of `operator`, which is one of [`OPERATORS`], ended. It had
    /// all its rows at `since`.
    pub fn record_span(&self, operator: &str, since: Instant) {
        debug_assert!(OPERATORS.contains(&operator), "operator {operator} is not listed");
        let us = |at: Instant| at.saturating_duration_since(self.started).as_micros() as u64;
        let (began_us, ended_us, volume) = (us(since), us(Instant::now()), self.volume.take());
        let span = OperatorSpan { operator: operator.to_owned(), began_us, ended_us, volume };
        self.receipt.borrow_mut().spans.push(span);
        tracing::debug!(worker = self.index, stage = operator, ms = ended_us / 1000, "stage ended");
    }

    /// Shows in the progress that the stage that ends with `operator` is over.
    pub fn show_stage(&self, operator: &str) {
        if let Some(n) = STAGES.iter().position(|stage| *stage == operator) {
            self.shared.progress.stage.fetch_max(n as u64 + 1, Ordering::Relaxed);
        }
    }

    /// The receipt of this worker so far.
    pub fn receipt(&self) -> Receipt {
        let mut receipt = self.receipt.borrow().clone();
        let rows_read = self.rows_read.borrow();
        receipt.rows_read =
            rows_read.iter().map(|(name, n)| (name.clone(), n.load(Ordering::Relaxed))).collect();
        receipt
    }
}
