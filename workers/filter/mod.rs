//! Writes the inputs again without the records that fold, with the same tree, the same formats and
//! every byte of a record unchanged. Also says of each record what became of it.
//!
//! An input is read once more by its reader, which finds its records and what they say; a lookup
//! finds their pages in the store; a copier copies the bytes. Memory holds a portion of records,
//! and 8 bytes for each record of one compressed member, however large a file is. A file gets its
//! name only when it is complete, and a note then records this. A run after an interrupted one
//! filters the files without a note. Several processes may work on one folder: each takes files
//! that no other process has locked.

mod annotate;
mod became;
mod copy;
mod inputs;
mod labels;
mod left_over;
mod note;
mod options;
mod order;
mod parquet;
mod part;
mod portions;
mod promotions;
mod revisit;
mod rows;
mod totals;
mod undo;
mod work;

use crate::error::{Error, Kind, Result};
pub use crate::filter::became::Became;
use crate::filter::became::Lookup;
pub use crate::filter::inputs::{Original, Originals, originals};
pub use crate::filter::labels::Names;
use crate::filter::note::Manner;
pub use crate::filter::options::Options;
pub use crate::filter::totals::{Saved, TOP_HOSTS, Totals};
pub use crate::filter::undo::{Undone, undo};
use crate::filter::work::{Finished, IfLocked, Work};
use crate::job::{Job, collide};
use crate::plan::examine::Passed;
use crate::read::{self, Format, Shape};
use crate::store::Store;
use crate::store::manifest::Head;
use crate::store::threads::in_threads;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a filter did.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The epoch by which the inputs were filtered.
    pub epoch: u64,
    /// The number of files.
    pub files: usize,
    /// The number of files that were finished before.
    pub files_before: usize,
    /// Files that were copied whole, each with the reason.
    pub whole: Vec<(String, String)>,
    /// Those of them of which no record could be read.
    pub unread: Vec<String>,
    /// Files in the folders of the job that are no crawl, and so are not in the output.
    pub passed: Vec<Passed>,
    /// Files of earlier filters whose inputs are not there any more.
    pub left_over: Vec<PathBuf>,
    /// The files of `left_over` that were deleted.
    pub pruned: Vec<PathBuf>,
    /// The number of files of which a part was compressed anew.
    pub recoded: usize,
    /// The sums.
    pub totals: Totals,
    /// Pages of the store whose records are in no input as it is now.
    pub pages_elsewhere: u64,
}

impl Outcome {
    /// Adds a finished file.
    fn add(&mut self, original: &Original, file: &Finished) {
        let Finished { note, was_there } = file;
        self.files_before += usize::from(*was_there);
        self.recoded += usize::from(note.is_recoded);
        if note.is_whole {
            self.whole.push((original.input.shown(), note.whole_because.clone()));
            // An empty file has nothing that anybody could miss.
            let is_unread = original.input.bytes > 0 && note.totals.is_unread();
            self.unread.extend(is_unread.then(|| original.input.shown()));
        }
        self.totals.add(&note.totals);
    }
}

/// Fails if a file would be written where the next run reads it as crawl.
fn check_places(job: &Job, options: &Options, originals: &[Original]) -> Result<()> {
    let mut names: BTreeMap<PathBuf, Vec<OsString>> = BTreeMap::new();
    for original in originals {
        for place in options.places(&original.name).iter() {
            if let (Some(folder), Some(name)) = (place.parent(), place.file_name()) {
                names.entry(folder.to_owned()).or_default().push(name.to_owned());
            }
        }
    }
    for (folder, names) in &names {
        if let Some(why) = job.spoils_files(folder, names) {
            return Err(Error::new(Kind::Usage, format!("{}: {why}", folder.display())));
        }
    }
    Ok(())
}

/// The longest name of a file that is filtered, in bytes. File systems allow 255, and temporary
/// files beside its note have up to 54 more.
const NAME_BYTES_MAX: usize = 201;

/// Fails if a file beside that of an input would have the name of a folder of inputs, before any
/// file is written.
fn check_folders(options: &Options, originals: &[Original]) -> Result<()> {
    let folders: BTreeSet<&Path> =
        originals.iter().flat_map(|original| original.name.ancestors().skip(1)).collect();
    let endings = note::ENDINGS.iter().chain(options.records.is_some().then_some(&"parquet"));
    for (original, ending) in
        originals.iter().flat_map(|of| endings.clone().map(move |to| (of, to)))
    {
        let mut beside = original.name.clone().into_os_string();
        beside.push(format!(".{ending}"));
        if folders.contains(Path::new(&beside)) {
            let line = format!(
                "{}: a filter needs the name {} for a file, and that is a folder of inputs: rename one, \
                 which does not make it new to the store",
                original.input.shown(),
                Path::new(&beside).display()
            );
            return Err(Error::new(Kind::Output, line));
        }
    }
    Ok(())
}

/// Fails if the note of a file could not be written, before any file is.
fn check_names(originals: &[Original]) -> Result<()> {
    let bytes = |original: &Original| original.name.file_name().map_or(0, |name| name.len());
    let Some(long) = originals.iter().find(|original| bytes(original) > NAME_BYTES_MAX) else {
        return Ok(());
    };
    let line = format!(
        "{}: a name of {} bytes; a filter needs names of at most {NAME_BYTES_MAX}, as it keeps files \
         with longer names beside its own: rename it, which does not make it new to the store",
        long.input.shown(),
        bytes(long)
    );
    Err(Error::new(Kind::Output, line))
}

/// Fails if a folder of `options` has another use, or if the store is of a sample.
fn check_job(job: &Job, options: &Options) -> Result<()> {
    let dirs: Vec<&PathBuf> = options.dirs().collect();
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
    Ok(())
}

/// Filters all inputs of `job` by what `head` says. Calls `begin` with their bytes before they are
/// read, and keeps its result until all are read.
pub fn filter<T>(
    job: &Job,
    store: &Store,
    head: &Head,
    options: &Options,
    begin: impl FnOnce(u64) -> T,
) -> Result<Outcome> {
    check_job(job, options)?;
    if options.prune {
        left_over::check_inputs(job, options)?;
    }
    let Originals { files: mut originals, passed } = originals(job, store, head)?;
    check_places(job, options, &originals)?;
    check_names(&originals)?;
    check_folders(options, &originals)?;
    if options.to.is_some() {
        originals.iter().try_for_each(can_be_written)?;
    }
    if options.annotate.is_some() {
        originals.iter().try_for_each(has_rows)?;
    }
    let _shown = begin(originals.iter().map(|original| original.input.bytes).sum());
    let lookup = Lookup::new(job, store, head, &originals, options.threads)?;
    let pages_elsewhere = lookup.promotions().pages_elsewhere;
    // The largest first, so that no thread begins a large file when the others are done.
    originals.sort_by_key(|original| std::cmp::Reverse(original.input.bytes));
    let manner = Manner::of(job, store, head, options, lookup.promotions());
    let mut work = Work { job, lookup, options, manner, targets: HashMap::new() };
    if options.revisits {
        let found = in_threads("a filter", &originals, options.threads, |original| {
            work.targets_in(original)
        })?;
        work.targets = found.into_iter().flatten().collect();
    }
    let all = in_threads("a filter", &originals, options.threads, |original| {
        work.file(original, IfLocked::Skip)
    })?;
    let (epoch, files) = (head.manifest.epoch, originals.len());
    let mut outcome = Outcome { epoch, files, passed, pages_elsewhere, ..Outcome::default() };
    for (original, file) in originals.iter().zip(all) {
        // Waits for files that another process has locked.
        let file =
            file.map_or_else(|| work.file(original, IfLocked::Wait), |file| Ok(Some(file)))?;
        let file = file.ok_or_else(|| Error::internal("a lock was not waited for"))?;
        outcome.add(original, &file);
    }
    outcome.totals.cut();
    outcome.whole.sort();
    outcome.unread.sort();
    outcome.left_over = left_over::find(options, &originals)?;
    if options.prune {
        outcome.pruned = left_over::prune(options, &work.manner, &outcome.left_over)?;
        outcome.left_over.retain(|name| !outcome.pruned.contains(name));
    }
    Ok(outcome)
}

/// Fails if a file has indexes of its records, because a filtered file would need new ones.
fn can_be_written(original: &Original) -> Result<()> {
    match read::shape(&original.input.file(), original.input.bytes)? {
        Some(Shape { format: Format::Wacz, .. }) => {
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
        Some(Shape { format: Format::Warc | Format::Arc, .. }) => {
            let why = "is an archive, whose records get no fields: --records DIR has the cluster of each record";
            Err(Error::new(Kind::Usage, format!("--annotate: {} {why}", original.input.shown())))
        }
        _ => Ok(()),
    }
}
