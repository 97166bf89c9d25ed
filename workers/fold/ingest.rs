//! Reads the splits of the input files, and writes the visits and the evidence of their records.
//!
//! Workers exchange nothing here. Each takes the next split when it is done with the last, so large
//! splits delay only one worker. A record is finished before the next is read, so memory does not
//! grow with the input. A finished split is made durable and is never read again.

use crate::error::Result;
use crate::fold::epoch::Epoch;
use crate::fold::spans::Volume;
use crate::fold::split_writer::SplitWriter;
use crate::fold::splits;
use crate::locks::lock;
use crate::plan::division::by_size;
use crate::plan::inputs::Input;
use crate::plan::time::FUTURE_SECONDS_MAX;
use crate::plan::{Plan, PlannedSplit};
use crate::read::record::{EMPTY_FILE, Entry, Item, Mirror, Record};
use crate::read::{Reader, Split};
use crate::tables::Visit;
use crate::visit::{self, VisitMaker};
use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use timely::container::CapacityContainerBuilder;
use timely::dataflow::Scope;
use timely::dataflow::operators::generic::operator::source;
use timely::dataflow::operators::probe::{Handle, Probe};

/// The most records that a worker reads before it returns to the dataflow.
const TURN_RECORDS: usize = 256;
/// The longest time that it reads before it returns, except that it finishes a record. A worker
/// that does not return for long counts as stuck, and a record may take a second.
const TURN_TIME: Duration = Duration::from_millis(100);

/// A split that is being read.
struct SplitReader {
    id: usize,
    planned: PlannedSplit,
    /// The number of the part that is being read, if `part` has its reader, or of the part that is
    /// next.
    at: usize,
    part: Option<PartReader>,
    writer: SplitWriter,
    /// The inputs that changed. They are not in `writer`.
    left: BTreeSet<usize>,
    reported_bytes: u64,
}

/// One part of a split that is being read.
struct PartReader {
    reader: Box<dyn Reader>,
    /// The file when it was opened.
    opened: Input,
    /// [`Input::key`].
    key: u64,
    bytes: u64,
    /// The bytes of the parts before this one.
    before: u64,
}

impl SplitReader {
    fn start(epoch: &Epoch, id: usize) -> SplitReader {
        let planned = epoch.shared.plan.splits[id].clone();
        SplitReader {
            id,
            planned,
            at: 0,
            part: None,
            writer: SplitWriter::new(id),
            left: BTreeSet::new(),
            reported_bytes: 0,
        }
    }

    /// Reads some records. Returns whether the split may have more.
    ///
    /// An input that changes while it is read is left to a later epoch: its records would not
    /// belong to its digest. The split is then read again without it. A complete snapshot fails,
    /// and so does an epoch of a rebuild.
    fn turn(&mut self, epoch: &Epoch, maker: &mut VisitMaker) -> Result<bool> {
        let Some(part) = self.planned.parts.get(self.at) else { return Ok(false) };
        let input = part.input;
        if self.left.contains(&input) {
            self.at += 1;
            return Ok(true);
        }
        let planned = &epoch.shared.plan.inputs[input];
        match self.read(epoch, maker) {
            Ok(true) => return Ok(true),
            Ok(false) if self.is_as_opened(epoch, input)? => {
                self.end_part();
                return Ok(true);
            }
            Ok(false) => {}
            // An error of a reader does not count if the file changed meanwhile.
            Err(_) if epoch.has_changed(input)? => {}
            Err(error) => return Err(error),
        }
        if epoch.shared.plan.complete || epoch.shared.plan.replays {
            return planned.check_unchanged().and(Ok(true));
        }
        self.left.insert(input);
        if self.part.is_none() {
            // Nothing of it was read.
            self.at += 1;
            return Ok(true);
        }
        (self.at, self.part, self.writer) = (0, None, SplitWriter::new(self.id));
        Ok(true)
    }

    /// Whether the file of `input` that was read is still as it was opened, or has the planned
    /// bytes.
    fn is_as_opened(&self, epoch: &Epoch, input: usize) -> Result<bool> {
        let Some(part) = &self.part else { return Ok(false) };
        let now = Input::stat(&epoch.shared.plan.inputs[input].file());
        Ok(now.is_ok_and(|now| now.looks_like(&part.opened)) || !epoch.has_changed(input)?)
    }

    /// Reads some records of the current part. Returns whether it may have more. If its input has
    /// changed since it was planned, it has no reader and no more records.
    fn read(&mut self, epoch: &Epoch, maker: &mut VisitMaker) -> Result<bool> {
        let part = match self.part.take() {
            Some(part) => Some(part),
            None => self.open_part(epoch)?,
        };
        let Some(mut part) = part else { return Ok(false) };
        let outcome = read_turn(&mut part, &mut self.writer, epoch, maker);
        let part = self.part.insert(part);
        let more = outcome?;
        let consumed = part.before + part.reader.consumed_bytes().min(part.bytes);
        self.report_bytes(epoch, consumed);
        Ok(more)
    }

    /// Opens the current part; `None` if its input has changed since it was planned.
    fn open_part(&mut self, epoch: &Epoch) -> Result<Option<PartReader>> {
        let part = &self.planned.parts[self.at];
        let planned = &epoch.shared.plan.inputs[part.input];
        let opened = Input::stat(&planned.file())?;
        if epoch.has_changed(part.input)? {
            return Ok(None);
        }
        let split = Split { path: planned.file(), start: part.start, end: part.end };
        let reader = visit::open(&epoch.shared.job, &split, planned)?;
        self.writer.begin(part.input, planned.shown());
        let before = self.writer.counts.bytes;
        let (key, bytes) = (planned.key(), part.end - part.start);
        Ok(Some(PartReader { reader, opened, key, bytes, before }))
    }

    /// Adds what is known at the end of the current part.
    fn end_part(&mut self) {
        if let Some(part) = self.part.take() {
            for (word, n) in part.reader.notes().iter() {
                self.writer.counts.note(word, n);
                // Nobody knows which pages it had, as of a bad record without a URL.
                self.writer.counts.unreadable += if word == EMPTY_FILE { n } else { 0 };
            }
            self.writer.counts.bytes += part.bytes;
        }
        self.at += 1;
    }

    fn report_bytes(&mut self, epoch: &Epoch, consumed: u64) {
        let more = consumed.saturating_sub(self.reported_bytes);
        epoch.shared.progress.bytes.fetch_add(more, Ordering::Relaxed);
        epoch.add_volume(Volume { bytes_in: more, ..Volume::default() });
        self.reported_bytes += more;
    }

    fn finish(mut self, epoch: &Epoch) -> Result<()> {
        self.report_bytes(epoch, self.planned.bytes());
        self.writer.finish(epoch, self.left)?;
        epoch.shared.progress.splits_done.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}

/// Reads records of `part` until the turn is over. Returns whether it may have more.
fn read_turn(
    part: &mut PartReader,
    writer: &mut SplitWriter,
    epoch: &Epoch,
    maker: &mut VisitMaker,
) -> Result<bool> {
    let began = Instant::now();
    let mut records = 0;
    let more = loop {
        let Some(entry) = part.reader.next()? else { break false };
        take(entry, part, writer, epoch, maker)?;
        records += 1;
        if records == TURN_RECORDS || began.elapsed() >= TURN_TIME {
            break true;
        }
    };
    epoch.shared.progress.records.fetch_add(records as u64, Ordering::Relaxed);
    epoch.add_volume(Volume { rows_in: records as u64, ..Volume::default() });
    Ok(more)
}

/// Writes what an entry of `part` says, and counts it.
fn take(
    entry: Entry,
    part: &PartReader,
    writer: &mut SplitWriter,
    epoch: &Epoch,
    maker: &mut VisitMaker,
) -> Result<()> {
    let naming = part.reader.naming();
    let Entry { item, offset, position, .. } = entry;
    writer.counts.read += item.records();
    match item {
        Item::Record(record) => {
            writer.accept();
            note_dates(&record, writer, epoch);
            let mut notes = Vec::new();
            let has_evidence = |content| writer.has_evidence(content);
            let (visit, evidence) =
                maker.visit(record, naming, has_evidence, |word| notes.push(word.to_owned()))?;
            let evidence = evidence.filter(|_| epoch.shared.job.contents.evidence);
            notes.iter().for_each(|word| writer.counts.note(word, 1));
            writer.push(epoch, Visit { input: part.key, position, ..visit }, evidence)?;
        }
        Item::Skip(reason) => writer.counts.skip(reason),
        Item::Status { url } => {
            writer.counts.skip(Item::STATUS);
            // A complete snapshot has this page, only without its text, so it must not be removed.
            if let Some(url) = url.filter(|_| epoch.shared.plan.complete) {
                writer.push(epoch, maker.seen(&url, naming), None)?;
            }
        }
        Item::Mirror(mirror) => {
            writer.counts.skip(Mirror::REASON);
            // It says that the page is there, with the text of another page.
            if epoch.shared.plan.complete {
                writer.push(epoch, maker.seen(&mirror.url, naming), None)?;
            }
        }
        Item::Reject { reason, detail, url, records } => {
            // In a complete snapshot a bad record must not remove the page that it is about.
            if epoch.shared.plan.complete {
                match url {
                    Some(url) => writer.push(epoch, maker.seen(&url, naming), None)?,
                    None => writer.counts.unreadable += 1,
                }
            }
            writer.reject(epoch, offset, records, reason, detail)?;
        }
    }
    Ok(())
}

/// Notes a date that is impossible, or that is no date.
fn note_dates(record: &Record, writer: &mut SplitWriter, epoch: &Epoch) {
    let latest = epoch.shared.plan.logical_time.saturating_add(FUTURE_SECONDS_MAX);
    if record.date.is_some_and(|date| date > latest) {
        writer.counts.note("future_date", 1);
    }
    if record.bad_date {
        writer.counts.note("bad_date", 1);
    }
}

/// The splits that the workers of one process still have to read, or to find finished.
pub type Queue = Arc<Mutex<VecDeque<usize>>>;

/// The splits of this process. The largest are first, so that no worker begins a large split when
/// the others are done. Finished ones are among them: workers look at them, because to hash what a
/// process has finished may take longer than the others wait for it at the start.
pub fn queue(plan: &Plan, process: usize, processes: usize) -> Queue {
    let mine = by_size(&plan.splits).into_iter().skip(process).step_by(processes);
    Arc::new(Mutex::new(mine.collect()))
}

/// Whether split `id` was finished by an earlier attempt.
fn is_resumed(epoch: &Epoch, id: usize) -> bool {
    let Some(done) = splits::finished(&epoch.shared.attempt, id) else { return false };
    epoch.shared.progress.resumed(done.counts.bytes, done.counts.read);
    epoch.record_progress();
    true
}

/// Builds the operator that reads splits from `queue` until none is left. `maker` is `None` after a
/// failure.
pub fn ingest(
    scope: Scope<'_, ()>,
    epoch: &Rc<Epoch>,
    queue: Queue,
    maker: Option<VisitMaker>,
    probe: &Handle<()>,
) {
    let epoch = epoch.clone();
    let mut maker = maker;
    source::<_, CapacityContainerBuilder<Vec<()>>, _, _>(
        scope,
        "ingest",
        move |capability, info| {
            let activator = scope.activator_for(info.address);
            // Held until the queue is empty. The dataflow is complete when all workers have
            // released their capability.
            let mut capability = Some(capability);
            let mut reading: Option<SplitReader> = None;
            move |_output| {
                let more = epoch.attempt(|| {
                    if reading.is_none() {
                        let next = lock(&queue).pop_front();
                        let Some(id) = next else { return Ok(false) };
                        if is_resumed(&epoch, id) {
                            return Ok(true);
                        }
                        reading = Some(SplitReader::start(&epoch, id));
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
                } else if let Some(capability) = capability.take() {
                    reading = None;
                    epoch.record_span("ingest", epoch.started);
                    drop(capability);
                }
            }
        },
    )
    .probe_with(probe);
}
