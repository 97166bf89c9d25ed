//! Reads the splits of the input files, and writes the visits and the evidence of their records.
//!
//! Workers exchange nothing here. Each takes the next split when it is done with the last, so large
//! splits delay only one worker. A record is finished before the next is read, so memory does not
//! grow with the input. A finished split is durable and is never read again.

use crate::document::FUTURE_SECONDS_MAX;
use crate::error::Result;
use crate::fold::epoch::{Epoch, Progress};
use crate::fold::split_writer::SplitWriter;
use crate::fold::splits;
use crate::fold::visit_maker::VisitMaker;
use crate::job::Job;
use crate::locks::lock;
use crate::plan::{Plan, PlannedSplit};
use crate::read::record::Item;
use crate::read::{self, Reader, Split};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Scope;
use timely::dataflow::operators::generic::operator::source;
use timely::dataflow::operators::probe::{Handle, Probe};

/// Records that a worker reads before it returns to the dataflow.
const TURN_RECORDS: usize = 256;

/// Opens the reader of a split of one of the job's inputs.
pub fn open(job: &Job, split: &Split) -> Result<Box<dyn Reader>> {
    // A file that the job names must be readable; a file found in a folder may be anything.
    let is_named = job.read.inputs.contains(&split.path);
    let open = if is_named { read::open } else { read::open_or_reject };
    open(split, &job.read.options())
}

/// A split that is being read.
struct SplitReader {
    planned: PlannedSplit,
    reader: Box<dyn Reader>,
    writer: SplitWriter,
    reported_bytes: u64,
}

impl SplitReader {
    fn start(epoch: &Epoch, id: usize) -> Result<SplitReader> {
        let planned = epoch.shared.plan.splits[id].clone();
        let input = &epoch.shared.plan.inputs[planned.input];
        input.check_unchanged()?;
        let split = Split { path: PathBuf::from(&input.path), start: planned.start, end: planned.end };
        let reader = open(&epoch.shared.job, &split)?;
        let writer = SplitWriter::new(id, planned.input, input.path.clone(), planned.end - planned.start);
        Ok(SplitReader { planned, reader, writer, reported_bytes: 0 })
    }

    /// Reads some records. Returns whether the split may have more.
    fn turn(&mut self, epoch: &Epoch, maker: &mut VisitMaker) -> Result<bool> {
        let writer = &mut self.writer;
        for _ in 0..TURN_RECORDS {
            let Some(entry) = self.reader.next()? else { return Ok(false) };
            writer.counts.read += 1;
            match entry.item {
                Item::Record(record) => {
                    writer.counts.accepted += 1;
                    let latest = epoch.shared.plan.logical_time.saturating_add(FUTURE_SECONDS_MAX);
                    if record.date.is_some_and(|date| date > latest) {
                        writer.counts.note("future_date", 1);
                    }
                    if record.bad_date {
                        writer.counts.note("bad_date", 1);
                    }
                    let mut notes = Vec::new();
                    let has_evidence = |content| writer.has_evidence(content);
                    let (visit, evidence) = maker.visit(record, has_evidence, |word| notes.push(word.to_owned()))?;
                    notes.iter().for_each(|word| writer.counts.note(word, 1));
                    writer.push(epoch, visit, evidence)?;
                }
                Item::Skip(reason) => *writer.counts.skipped.entry(reason.to_owned()).or_default() += 1,
                Item::Reject { reason, detail, url } => {
                    // In a complete snapshot a bad record must not remove the page that it is about.
                    if let Some(url) = url.filter(|_| epoch.shared.plan.complete) {
                        writer.push(epoch, maker.seen(&url), None)?;
                    } else {
                        writer.counts.unreadable += 1;
                    }
                    writer.reject(entry.offset, reason, detail)?;
                }
            }
            epoch.shared.progress.records.fetch_add(1, Ordering::Relaxed);
        }
        self.report_bytes(epoch, self.reader.consumed_bytes());
        Ok(true)
    }

    fn report_bytes(&mut self, epoch: &Epoch, consumed: u64) {
        let consumed = consumed.min(self.planned.end - self.planned.start);
        let more = consumed.saturating_sub(self.reported_bytes);
        epoch.shared.progress.bytes.fetch_add(more, Ordering::Relaxed);
        self.reported_bytes += more;
    }

    fn finish(mut self, epoch: &Epoch) -> Result<()> {
        epoch.shared.plan.inputs[self.planned.input].check_unchanged()?;
        self.report_bytes(epoch, u64::MAX);
        for (word, n) in self.reader.notes().iter() {
            self.writer.counts.note(word, n);
        }
        self.writer.finish(epoch)?;
        epoch.shared.progress.splits_done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// The splits that the workers of one process still have to read.
pub type Queue = Arc<Mutex<VecDeque<usize>>>;

/// The unfinished splits of this process. The largest are first, so that no worker starts a large
/// one when the others are done.
pub fn queue(plan: &Plan, attempt: &Path, process: usize, processes: usize, progress: &Progress) -> Queue {
    let size = |id: usize| plan.splits[id].end - plan.splits[id].start;
    let mut ids: Vec<usize> = (0..plan.splits.len()).collect();
    ids.sort_by_key(|&id| (Reverse(size(id)), id));
    let mine = ids.into_iter().skip(process).step_by(processes);
    let unfinished = mine.filter(|&id| match splits::finished(attempt, id) {
        Some(done) => {
            progress.resumed(done.counts.bytes, done.counts.read);
            false
        }
        None => true,
    });
    Arc::new(Mutex::new(unfinished.collect()))
}

/// Builds the operator that reads splits from `queue` until none is left. `maker` is none after a
/// failure.
pub fn ingest(scope: Scope<'_, ()>, epoch: &Rc<Epoch>, queue: Queue, maker: Option<VisitMaker>, probe: &Handle<()>) {
    let epoch = epoch.clone();
    let mut maker = maker;
    source::<_, CapacityContainerBuilder<Vec<()>>, _, _>(scope, "ingest", move |capability, info| {
        let activator = scope.activator_for(info.address);
        // Held until the queue is empty. The dataflow is complete when all workers released theirs.
        let mut capability = Some(capability);
        let mut reading: Option<SplitReader> = None;
        move |_output| {
            let more = epoch.attempt(|| {
                if reading.is_none() {
                    let next = lock(&queue).pop_front();
                    let Some(id) = next else { return Ok(false) };
                    reading = Some(SplitReader::start(&epoch, id)?);
                }
                if let Some(split) = &mut reading
                    && let Some(maker) = &mut maker
                    && !split.turn(&epoch, maker)?
                    && let Some(split) = reading.take()
                {
                    split.finish(&epoch)?;
                }
                Ok(true)
            });
            if more {
                activator.activate();
            } else {
                reading = None;
                drop(capability.take());
            }
        }
    })
    .probe_with(probe);
}
