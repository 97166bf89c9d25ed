//! Writes the inputs again without what folds: same tree, same formats, every byte of a record as
//! it was. And says of each record what became of it.
//!
//! An input is read once more by its reader, which finds its records and what they say; a judge
//! looks their pages up in the store; a copier copies the bytes. Memory holds a portion of records,
//! however large a file is. A file gets its name only when it is complete, and a note then records
//! that. A run that follows an interrupted one handles the files without a note. Several processes
//! may work on one folder: each takes files that no other one has locked.

mod annotate;
mod copy;
mod inputs;
mod labels;
mod left_over;
mod note;
mod order;
mod parquet;
mod part;
mod promotions;
mod revisit;
mod rows;
mod totals;
mod undo;
mod verdict;

use crate::document::{Id, own_key};
use crate::error::{Error, Kind, Result};
use crate::filter::copy::{Copier, Parts, Spot};
pub use crate::filter::inputs::{Original, originals};
use crate::filter::labels::Labels;
pub use crate::filter::labels::Names;
use crate::filter::note::{Manner, Note};
use crate::filter::order::Fate;
use crate::filter::part::Part;
use crate::filter::revisit::{Target, revisit};
pub use crate::filter::totals::{Saved, TOP_HOSTS, Totals};
pub use crate::filter::undo::{Undone, undo};
pub use crate::filter::verdict::Verdict;
use crate::filter::verdict::{Judge, REMOVAL, REVISIT, Record};
use crate::fold::ingest;
use crate::fold::progress::Progress;
use crate::job::{Job, collide};
use crate::plan::inputs::Input;
use crate::read::codec::Codec;
use crate::read::fields::removers;
use crate::read::record::Item;
use crate::read::source::BOMB;
use crate::read::{self, BAD_FILE, Format, Reader, Split};
use crate::store::manifest::Head;
use crate::store::{Lock, Store, damage};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Records that are judged at once.
const PORTION_RECORDS: usize = 1 << 13;
/// Bytes of their URLs and ids.
const PORTION_BYTES: usize = 1 << 24;

/// What a filter writes. At least one of `to` and `records` is there.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The folder of the inputs without what folds.
    pub to: Option<PathBuf>,
    /// The folder of what was removed, by which the inputs can be made again.
    pub removed: Option<PathBuf>,
    /// The folder of the tables of records.
    pub records: Option<PathBuf>,
    /// The names of the fields that say the cluster of each row, if they are wanted. Nothing is
    /// left out then.
    pub annotate: Option<Names>,
    /// Whether a revisit is written in an archive in place of each record that folds.
    pub revisits: bool,
    /// Whether files of inputs that are gone are deleted.
    pub prune: bool,
    /// Threads.
    pub threads: usize,
    /// What is read so far.
    pub progress: Arc<Progress>,
}

impl Options {
    /// Where the notes of finished files lie.
    fn notes(&self) -> PathBuf {
        let dir = self.removed.as_ref().or(self.to.as_ref()).or(self.records.as_ref());
        dir.map_or_else(PathBuf::new, |dir| dir.join(note::FOLDER))
    }

    /// The folders.
    fn dirs(&self) -> [Option<&PathBuf>; 3] {
        [self.to.as_ref(), self.removed.as_ref(), self.records.as_ref()]
    }

    /// The files of the input `name`: what is kept of it, what is removed, and its records.
    fn places(&self, name: &Path) -> [Option<PathBuf>; 3] {
        let mut table = name.as_os_str().to_owned();
        table.push(".parquet");
        let [to, removed, records] = self.dirs();
        [(to, name), (removed, name), (records, Path::new(&table))]
            .map(|(dir, name)| dir.map(|dir| dir.join(name)))
    }
}

/// What a filter did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The epoch whose answer it is.
    pub epoch: u64,
    /// The files.
    pub files: usize,
    /// Those of them that were finished before.
    pub files_before: usize,
    /// Files that were copied whole, each with the reason.
    pub whole: Vec<(String, String)>,
    /// Files of earlier filters whose inputs are not there any more.
    pub left_over: Vec<PathBuf>,
    /// Those of them that are deleted.
    pub pruned: Vec<PathBuf>,
    /// Files of which something was compressed anew.
    pub recoded: usize,
    /// The sums.
    pub totals: Totals,
    /// Pages of the store whose records are in no input as it is now.
    pub pages_elsewhere: u64,
}

/// Filters all inputs of `job` by what `head` says. Calls `begin` with their bytes before they are
/// read, and keeps what it returns until they are.
pub fn filter<T>(
    job: &Job,
    store: &Store,
    head: &Head,
    options: &Options,
    begin: impl FnOnce(u64) -> T,
) -> Result<Outcome> {
    let dirs: Vec<&PathBuf> = options.dirs().into_iter().flatten().collect();
    for (at, dir) in dirs.iter().enumerate() {
        let why = job
            .spoils(dir)
            .or_else(|| dirs[..at].iter().find_map(|other| Some(collide(dir, other)?.into())));
        if let Some(why) = why {
            return Err(Error::new(Kind::Usage, format!("{}: {why}", dir.display())));
        }
    }
    if job.read.records_max.is_some() {
        let why =
            "[read] records_max: the store is of a sample, so what is beyond it would be lost";
        return Err(Error::new(Kind::Usage, why));
    }
    if options.prune {
        left_over::check_inputs(job)?;
    }
    let mut originals = originals(job, store, head)?;
    if options.to.is_some() {
        originals.iter().try_for_each(can_be_written)?;
    }
    if options.annotate.is_some() {
        originals.iter().try_for_each(has_rows)?;
    }
    let _shown = begin(originals.iter().map(|original| original.input.bytes).sum());
    let judge = Judge::new(job, store, head, &originals, options.threads)?;
    let pages_elsewhere = judge.promotions().pages_elsewhere;
    // The largest first, so that no thread begins a large one when the others are done.
    originals.sort_by_key(|original| std::cmp::Reverse(original.input.bytes));
    let manner = Manner::of(job, store, head, options, judge.promotions());
    let mut work = Work { job, judge, options, manner, targets: HashMap::new() };
    if options.revisits {
        let found = in_threads(&originals, options.threads, |original| work.targets_in(original))?;
        work.targets = found.into_iter().flatten().collect();
    }
    let done = |original: &Original, is_patient: bool| work.file(original, is_patient);
    let all = in_threads(&originals, options.threads, |original| done(original, false))?;
    let (epoch, files) = (head.manifest.epoch, originals.len());
    let mut outcome = Outcome { epoch, files, pages_elsewhere, ..Outcome::default() };
    for (original, file) in originals.iter().zip(all) {
        // What another process has locked is waited for.
        let file = file.map_or_else(|| done(original, true), |file| Ok(Some(file)))?;
        let Some(Finished { note, was_there }) = file else {
            return Err(Error::internal("a lock was not waited for"));
        };
        outcome.files_before += usize::from(was_there);
        outcome.recoded += usize::from(note.is_recoded);
        if note.is_whole {
            outcome.whole.push((original.input.shown(), note.whole_because.clone()));
        }
        outcome.totals.add(&note.totals);
    }
    outcome.whole.sort();
    outcome.left_over = left_over::find(options, &originals)?;
    if options.prune {
        outcome.pruned = left_over::prune(options, &work.manner, &outcome.left_over)?;
        outcome.left_over.retain(|name| !outcome.pruned.contains(name));
    }
    Ok(outcome)
}

/// Does `work` on each item in some threads; what came of each, in their order. The error is that
/// of the first item that failed, however many threads there are.
fn in_threads<I: Sync, T: Send>(
    items: &[I],
    threads: usize,
    work: impl Fn(&I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let thread = || {
        let mut finished = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            let done = work(item);
            failed.fetch_or(done.is_err(), Ordering::Relaxed);
            finished.push((at, done));
        }
        finished
    };
    let all = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(thread)).collect();
        let joined = threads.into_iter().map(|thread| match thread.join() {
            Ok(finished) => Ok(finished),
            Err(payload) => Err(damage::of_thread(payload, "a filter")),
        });
        // All threads are joined before the first failure is told.
        joined.collect::<Vec<_>>().into_iter().collect::<Result<Vec<_>>>()
    })?;
    let mut all: Vec<(usize, Result<T>)> = all.into_iter().flatten().collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, done)| done).collect()
}

/// Fails if a file has indexes of its records: those of a filtered one would have to be new.
fn can_be_written(original: &Original) -> Result<()> {
    match read::shape(&original.input.file(), original.input.bytes)? {
        Some((Format::Wacz, _)) => {
            let why = "is a WACZ, whose indexes would name records that are left out: unpack it and filter its WARC \
                       files; --records DIR alone has what became of each record";
            Err(Error::new(Kind::Usage, format!("--to: {} {why}", original.input.shown())))
        }
        _ => Ok(()),
    }
}

/// Fails if a file has no rows that could get labels.
fn has_rows(original: &Original) -> Result<()> {
    match read::shape(&original.input.file(), original.input.bytes)? {
        Some((Format::Warc | Format::Arc, _)) => {
            let why = "is an archive, whose records get no fields: --records DIR has the cluster of each record";
            Err(Error::new(Kind::Usage, format!("--annotate: {} {why}", original.input.shown())))
        }
        _ => Ok(()),
    }
}

/// A file that is finished.
struct Finished {
    note: Note,
    /// Whether an earlier run finished it.
    was_there: bool,
}

/// What all threads share.
struct Work<'a> {
    job: &'a Job,
    judge: Judge,
    options: &'a Options,
    manner: Manner,
    /// The records that revisits refer to, by their pages.
    targets: HashMap<Id, Target>,
}

impl Work<'_> {
    /// The records of an archive that represent clusters of several pages.
    fn targets_in(&self, original: &Original) -> Result<Vec<(Id, Target)>> {
        let (path, size) = (original.input.file(), original.input.bytes);
        let shape = read::shape(&path, size)?;
        let mut targets = Vec::new();
        if !matches!(shape, Some((Format::Warc, _))) || original.is_copy {
            return Ok(targets);
        }
        let mut reader =
            ingest::open(self.job, &Split { path, start: 0, end: size }, &original.input)?;
        reader.keep_heads();
        let mut file = Portions { reader: &mut *reader, shape, size, open: None, is_done: false };
        while let Some((mut portion, _)) = file.next()? {
            self.judge.judge(original, &mut portion);
            let shown = portion.iter().filter(|record| {
                record.verdict == Verdict::Kept
                    && record.membership.as_ref().is_some_and(|of| of.size > 1)
            });
            targets.extend(
                shown.filter_map(|record| Some((record.doc?, Target::of(record.head.as_ref()?)?))),
            );
        }
        Ok(targets)
    }

    /// The revisit that stands for `record`, if it folds into a record of an archive.
    fn revisit(&self, record: &Record) -> Option<Vec<u8>> {
        let of = record.membership.as_ref().filter(|_| record.verdict == Verdict::Folded)?;
        let target = self.targets.get(&own_key(&of.representative).doc)?;
        Some(revisit(record.head.as_ref()?, target))
    }

    /// Filters one file, unless it is finished. None if another process is at work on it; a patient
    /// caller waits for that one.
    fn file(&self, original: &Original, is_patient: bool) -> Result<Option<Finished>> {
        let notes = self.options.notes();
        let path = note::path(&notes, &original.name);
        let lock = Lock::take(&path.with_extension("lock"), is_patient)
            .map_err(|e| e.with_kind(Kind::Output))?;
        let Some(_claim) = lock else { return Ok(None) };
        let (before, has_note) = (Note::read(&path)?, path.exists());
        if before.as_ref().is_some_and(|note| note.manner.is_later_than(&self.manner)) {
            // Of one epoch each text is kept once; of two it may be kept in none of the files.
            let why =
                "a later epoch is being filtered to this folder; run again, or name another folder";
            return Err(Error::new(Kind::TryAgain, format!("{}: {why}", path.display())));
        }
        if let Some(note) =
            before.as_ref().filter(|note| note.is_of(&self.manner, original, self.options))
        {
            self.options.progress.bytes.fetch_add(original.input.bytes, Ordering::Relaxed);
            return Ok(Some(Finished { note: note.clone(), was_there: true }));
        }
        let places = self.options.places(&original.name);
        self.check_places(original, &places, has_note, before.as_ref())?;
        if has_note && !before.as_ref().is_some_and(Note::is_finished) {
            // Only a process that was killed leaves parts.
            let order = path.with_extension("order");
            places.iter().flatten().chain([&order]).try_for_each(|path| part::sweep(path))?;
        }
        Note::begin(&self.manner, original, self.options, before.as_ref(), &path)?;
        let mut note = match self.copy(original, false) {
            // A damaged file is told as such in the sidecar; none of its bytes is lost.
            Err(error) if error.kind() == Kind::Data => {
                tracing::warn!(%error, "copied whole, with what folds");
                let path = format!("{}: ", original.input.shown());
                let why = error.to_string();
                let whole_because = why.strip_prefix(&path).map_or(why.clone(), str::to_owned);
                Note { whole_because, ..self.copy(original, true)? }
            }
            copied => copied?,
        };
        if note.is_whole && note.whole_because.is_empty() {
            note.whole_because = self.complaint(original);
        }
        // A table of an earlier filter stays ours.
        note.records = note.records.or(before.and_then(|before| before.records));
        note.write(&path)?;
        Ok(Some(Finished { note, was_there: false }))
    }

    /// Fails if a file would be replaced that no filter has written.
    fn check_places(
        &self,
        original: &Original,
        places: &[Option<PathBuf>; 3],
        has_note: bool,
        note: Option<&Note>,
    ) -> Result<()> {
        // A later state of the same input is filtered anew, by a rebuilt store, too.
        let is_other = |note: &&Note| {
            note.is_finished()
                && note.manner.store != self.manner.store
                && note.digest != original.input.digest
        };
        if note.filter(is_other).is_some() {
            let line = format!(
                "{}: the folder has what was filtered of another store; name another folder, or move \
                 this one away",
                original.name.display()
            );
            return Err(Error::new(Kind::Output, line));
        }
        let foreign = match note {
            Some(note) => note.foreign(self.options, places),
            None => places.iter().flatten().find(|path| !has_note && path.exists()),
        };
        match foreign {
            Some(path) => {
                // The notes of one that wrote to more folders are in another one of them.
                let why = match note {
                    None => {
                        "is there and was not written by this filter, or its notes are in another \
                         folder: name all folders that were named then (--removed, --records), or \
                         others, or move it away"
                    }
                    Some(_) => {
                        "is there and was not written by this filter; move it away, or name another \
                         folder"
                    }
                };
                Err(Error::new(Kind::Output, format!("{} {why}", path.display())))
            }
            None => Ok(()),
        }
    }

    /// What the reader says of `original`, which it refuses.
    fn complaint(&self, original: &Original) -> String {
        let found = ingest::complaint(self.job, &original.input);
        found.unwrap_or_else(|| "its reader refuses it".into())
    }

    /// Reads `original` and writes its files. A whole copy keeps everything.
    fn copy(&self, original: &Original, is_whole: bool) -> Result<Note> {
        let Original { input, name, .. } = original;
        let (path, size) = (input.file(), input.bytes);
        let shape = read::shape(&path, size)?;
        let mut reader =
            ingest::open(self.job, &Split { path: path.clone(), start: 0, end: size }, input)?;
        let is_whole = is_whole || shape.is_none();
        if self.options.revisits && matches!(shape, Some((Format::Warc, _))) {
            reader.keep_heads();
        }
        let mut copier = match &self.options.to {
            Some(to) => Some(self.copier(original, shape.filter(|_| !is_whole), &to.join(name))?),
            None => None,
        };
        let [.., table] = self.options.places(name);
        let mut records = table.map(|table| rows::Rows::create(&table, name)).transpose()?;
        let (mut totals, mut measured) = (Totals::new(&original.source), 0u64);
        let mut file = Portions { reader: &mut *reader, shape, size, open: None, is_done: false };
        let mut told = 0;
        while let Some((mut portion, ranges)) = file.next()? {
            let consumed = file.reader.consumed_bytes().max(told);
            self.options.progress.bytes.fetch_add(consumed - told, Ordering::Relaxed);
            self.options.progress.records.fetch_add(portion.len() as u64, Ordering::Relaxed);
            told = consumed;
            self.judge.judge(original, &mut portion);
            for (record, range) in portion.iter().zip(ranges) {
                if !is_whole && record.reason == Some(BAD_FILE) {
                    let why = self.complaint(original);
                    return Err(Error::new(Kind::Data, format!("{}: {why}", input.shown())));
                }
                let keeps_all = self.options.to.is_none() || self.options.annotate.is_some();
                let goes = !stays(record, shape) && !keeps_all;
                let stays = is_whole || self.options.annotate.is_some() || stays(record, shape);
                totals.stay += if is_whole && goes { record.records } else { 0 };
                totals.count(record, stays, range.bytes);
                measured += range.bytes;
                if let Some(rows) = &mut records {
                    rows.push(record, range.alone)?;
                }
                if let Some(copier) = &mut copier {
                    let fate = if stays { Fate::Kept } else { Fate::Removed };
                    let labels =
                        record.membership.as_ref().filter(|_| self.options.annotate.is_some());
                    let labels = labels.map(|of| Labels {
                        cluster: of.cluster.to_string(),
                        size: of.size,
                        representative: of.representative.clone(),
                    });
                    let Record { position, member, .. } = *record;
                    let is_bomb = record.reason == Some(BOMB);
                    let instead = self.revisit(record).filter(|_| !stays);
                    totals.revisits += u64::from(instead.is_some());
                    copier.push(Spot {
                        position,
                        member,
                        fate,
                        instead,
                        labels,
                        is_row: record.may_be_object(),
                        is_bomb,
                    })?;
                }
            }
        }
        if !is_whole && totals.rejected() > original.rejected {
            let line = format!(
                "{}: {} records are rejected now and {} were when the store read it; put [read.limits] \
                 back as they were then",
                input.shown(),
                totals.rejected(),
                original.rejected
            );
            return Err(Error::new(Kind::NoInput, line));
        }
        let noted = reader.notes().iter().map(|(word, n)| (word.to_owned(), n)).collect();
        let removers = removers(&self.job.read.fields, &noted);
        totals.removers = removers.into_iter().map(|(name, n)| (name.to_owned(), n)).collect();
        let copied = copier.map(Copier::finish).transpose()?;
        if !Input::stat(&path)?.looks_like(input) && input.has_changed()? {
            let line = format!("{}: changed while it was read; run again", input.shown());
            return Err(Error::new(Kind::TryAgain, line));
        }
        totals.bytes_in = size;
        // Decoded records have more bytes than the file. What is copied as it lies there has no
        // more than that.
        if matches!(shape, Some((Format::Parquet, _))) || measured > size {
            totals.scale(size, measured);
        }
        let mut note = Note::new(&self.manner, original, shape, totals, is_whole);
        note.records = records.map(|rows| rows.finish().and_then(Part::place)).transpose()?;
        if let Some(copied) = copied {
            note.is_recoded = copied.is_recoded;
            note.decoded = copied.decoded;
            note.groups = copied.groups;
            note.removed_head = copied.removed_head;
            note.digests = [copied.kept.digest(), copied.removed.as_ref().and_then(Part::digest)];
            note.totals.bytes_kept = copied.kept.place()?;
            note.kept = Some(note.totals.bytes_kept);
            let removed = copied.removed.map(Part::place).transpose()?;
            note.totals.bytes_removed = removed.unwrap_or(0);
            note.removed = removed;
            if let (None, Some(dir)) = (removed, &self.options.removed) {
                // What an earlier epoch removed is in the filtered file now.
                part::remove(&dir.join(name))?;
            }
            copied.order.map(Part::place).transpose()?;
        }
        Ok(note)
    }

    fn copier(
        &self,
        original: &Original,
        shape: Option<(Format, Codec)>,
        to: &Path,
    ) -> Result<Box<dyn Copier>> {
        let Original { input, name, .. } = original;
        let order = note::path(&self.options.notes(), name).with_extension("order");
        let removed = self.options.removed.as_ref().map(|dir| dir.join(name));
        let parts = Parts::create(to, removed.as_deref().map(|removed| (removed, &*order)))?;
        let (path, size) = (input.file(), input.bytes);
        Ok(match shape {
            None => Box::new(copy::Whole::open(&path, size, parts)?),
            Some((Format::Wacz, _)) => return Err(Error::internal("a WACZ cannot be written")),
            Some((Format::Parquet, _)) => match self.options.annotate {
                Some(names) => Box::new(annotate::Labelled::open(&path, names, parts)?),
                None => Box::new(parquet::Rows::open(&path, parts)?),
            },
            Some((Format::Jsonl, codec))
                if codec != Codec::Plain || self.options.annotate.is_some() =>
            {
                Box::new(copy::Lines::open(&path, size, self.options.annotate, parts)?)
            }
            Some((Format::Jsonl, _) | (_, Codec::Plain)) => {
                Box::new(copy::Plain::open(&path, size, parts)?)
            }
            Some((Format::Warc | Format::Arc, codec)) => {
                Box::new(copy::Members::open(&path, size, codec, parts)?)
            }
        })
    }
}

/// Whether a record is in the filtered file. Pages that fold or are superseded are left out.
/// Revisits and removals stay in archives, where replay needs them, and are left out of tables.
fn stays(record: &Record, shape: Option<(Format, Codec)>) -> bool {
    let is_archive = matches!(shape, Some((Format::Warc | Format::Wacz | Format::Arc, _)));
    match record.verdict {
        Verdict::Kept | Verdict::Skipped | Verdict::Rejected => true,
        Verdict::Folded => record.reason == Some(REVISIT),
        Verdict::Superseded => false,
        Verdict::Seen => is_archive,
        Verdict::Removed => is_archive && record.reason == Some(REMOVAL),
    }
}

/// Where a record lies.
#[derive(Clone, Copy)]
struct Range {
    /// Its bytes in the file, if it lies there alone.
    alone: Option<(u64, u64)>,
    /// How many there are, in the file or else decoded; 0 where it is not known. A row of Parquet
    /// has no place of its own, and counts as 1.
    bytes: u64,
}

/// The records of a file, in portions.
struct Portions<'a> {
    reader: &'a mut dyn Reader,
    shape: Option<(Format, Codec)>,
    size: u64,
    /// The first record of the next portion.
    open: Option<Record>,
    is_done: bool,
}

impl Portions<'_> {
    fn record(&mut self) -> Result<Option<Record>> {
        let Some(entry) = self.reader.next()? else { return Ok(None) };
        // Only a page is replaced by a revisit.
        let is_page = matches!(entry.item, Item::Record(_));
        let id = self.reader.record_id();
        let mut record = Record::of(entry, id, self.reader.has_keys());
        record.file_end = self.reader.file_end();
        record.head = self.reader.take_head().filter(|_| is_page);
        Ok(Some(record))
    }

    /// The next records and where they lie. A record ends where the next one begins.
    fn next(&mut self) -> Result<Option<(Vec<Record>, Vec<Range>)>> {
        if self.is_done {
            return Ok(None);
        }
        let (mut records, mut ranges, mut bytes) = (Vec::new(), Vec::new(), 0);
        let first = match self.open.take() {
            Some(open) => Some(open),
            None => self.record()?,
        };
        let Some(mut open) = first else {
            self.is_done = true;
            return Ok(None);
        };
        while records.len() < PORTION_RECORDS && bytes < PORTION_BYTES {
            let next = self.record()?;
            ranges.push(self.range(&open, next.as_ref()));
            bytes += open.bytes();
            records.push(open);
            match next {
                Some(next) => open = next,
                None => {
                    self.is_done = true;
                    return Ok(Some((records, ranges)));
                }
            }
        }
        self.open = Some(open);
        Ok(Some((records, ranges)))
    }

    fn range(&self, record: &Record, next: Option<&Record>) -> Range {
        let to = |end: u64, start: u64| end.saturating_sub(start);
        let alone = match self.shape {
            Some((Format::Parquet, _)) => return Range { alone: None, bytes: 1 },
            None => return Range { alone: None, bytes: 0 },
            Some((format, Codec::Plain)) if format != Format::Wacz => {
                Some((record.position, next.map_or(self.size, |next| next.position)))
            }
            Some(_) => {
                match (
                    record.member,
                    next.filter(|next| next.file_end == record.file_end).map(|of| of.member),
                ) {
                    (Some(start), None) => Some((start, record.file_end.unwrap_or(self.size))),
                    (Some(start), Some(Some(end))) => Some((start, end)),
                    _ => None,
                }
            }
        };
        let decoded = match next {
            Some(next) if next.file_end == record.file_end => to(next.position, record.position),
            _ => 0,
        };
        Range { alone, bytes: alone.map_or(decoded, |(start, end)| to(end, start)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    /// Of two items that fail at once the error is that of the first, and without an error each
    /// outcome stands in the place of its item: what threads take which item changes no report.
    #[test]
    fn the_order_of_items() {
        for _ in 0..50 {
            let both = Barrier::new(2);
            let fails = |n: &u32| -> Result<()> {
                both.wait();
                Err(Error::internal(format!("item {n}")))
            };
            let error = in_threads(&[1, 2], 2, fails).expect_err("both fail");
            assert!(error.to_string().contains("item 1"), "{error}");
            let numbers: Vec<u32> = (0..40).collect();
            assert_eq!(in_threads(&numbers, 4, |n| Ok(*n)).expect("done"), numbers);
        }
    }
}
