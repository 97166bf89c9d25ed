//! Says what a store holds and what the next run finds, for operators.
//!
//! Of inputs that are not consumed the beginning is read, to see whether they are files beside a
//! crawl; those of an unfinished epoch may be digested. Of the tables only the columns that say
//! when pages were last seen are read, and only if the job lets pages expire.

use crate::candidates::pivots::BySignature;
use crate::error::Result;
use crate::job::Job;
use crate::plan::attempts;
use crate::plan::consumed::History;
use crate::plan::inputs::{self, Input};
use crate::read;
use crate::store::manifest::{Head, Op};
use crate::store::table::Row;
use crate::store::{Store, bytes_below};
use crate::tables::pages::seen;
use crate::tables::snapshot::Snapshot;
use crate::tables::{ClusterRow, ContentRow, PageRow};
use crate::upkeep::gc;
use serde::Serialize;
use std::collections::BTreeMap;

/// The state of a store.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct State {
    /// The live pages.
    pub pages: u64,
    /// The distinct texts.
    pub contents: u64,
    /// The clusters; each has at least two pages.
    pub clusters: u64,
    /// The pages that fold into another.
    pub folded: u64,
    /// The last epoch.
    pub last: Last,
    /// The inputs; `None` if they cannot be listed.
    pub inputs: Option<Waiting>,
    /// Why they cannot be listed.
    pub inputs_error: Option<String>,
    /// Work that a run left: see [`Attempts`].
    pub attempts: Attempts,
    /// The bytes of all files in the store's folder.
    pub disk_bytes: u64,
    /// The pages that expire next; `None` if pages do not expire.
    pub expiry: Option<Expiry>,
    /// The pairs that the pivot rule and the near rule leave unexamined.
    pub unexamined: BySignature,
    /// The bytes that `gc` would free by its defaults; `None` if an old commit cannot be read.
    pub gc_bytes: Option<u64>,
}

/// What the last epoch did. A rollback reads nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Last {
    /// Its number.
    pub epoch: u64,
    /// `epoch`, `merge` of its runs, or `rollback` to it.
    pub op: Op,
    /// The time of its plan, seconds since 1970.
    pub logical_time: i64,
    /// The records that it read.
    pub read: u64,
    /// The records that it accepted.
    pub accepted: u64,
    /// The records that it rejected.
    pub rejected: u64,
    /// Pages that it added.
    pub pages_new: u64,
    /// Pages with another text than before.
    pub pages_changed: u64,
    /// Pages that went: removed, expired, or missing in a snapshot.
    pub pages_gone: u64,
}

/// The inputs of the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// The files that the job names and a run does not pass by.
    pub files: u64,
    /// The files that are new or have changed since they were consumed. A run reads them, unless
    /// their bytes are known.
    pub waiting: u64,
    /// The bytes of these files.
    pub waiting_bytes: u64,
}

/// Work that runs left in the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Attempts {
    /// Attempts that the next run resumes.
    pub unfinished: u64,
    /// Attempts that a guard refused.
    pub refused: u64,
}

/// The pages that expire next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Expiry {
    /// When the first of them expires by `[pages] retain_days`, seconds since 1970.
    pub next: Option<i64>,
    /// The pages that expire then.
    pub next_pages: u64,
    /// The pages that expire if the next run reads something and does not see them, by `[pages]
    /// retain_epochs`.
    pub next_reading_pages: u64,
}

/// The state of `store` with this `head`, at the time `now`.
pub fn state(job: &Job, store: &Store, head: &Head, now: i64) -> Result<State> {
    let manifest = &head.manifest;
    let rows = |name: &str| manifest.tables.get(name).map_or(0, |table| table.rows);
    let (inputs, inputs_error) = match waiting(job, store, head) {
        Ok(inputs) => (Some(inputs), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let mut attempts = Attempts::default();
    for attempt in attempts::all(store.root())? {
        // One that cannot be read now may be resumed later.
        let resumed = attempts::resumed(&attempt, job, store, Some(head));
        attempts.unfinished += u64::from(!matches!(resumed, Ok(None)));
        attempts.refused += u64::from(attempts::is_refused(&attempt));
    }
    let keep = gc::Keep::last(gc::KEEP_EPOCHS, gc::KEEP_DAYS, now);
    Ok(State {
        pages: rows(PageRow::NAME),
        contents: rows(ContentRow::NAME),
        clusters: rows(ClusterRow::NAME),
        folded: manifest.folded,
        last: last(head),
        inputs,
        inputs_error,
        attempts,
        disk_bytes: bytes_below(store.root()),
        expiry: expiry(job, store, head)?,
        unexamined: manifest.unexamined.clone(),
        gc_bytes: gc::find(store, Some(head), &keep, false).ok().map(|garbage| garbage.bytes),
    })
}

fn last(head: &Head) -> Last {
    // The counters in the manifest of a rollback are those of the epoch that it restores.
    let none = BTreeMap::new();
    let is_rollback = head.manifest.op == Op::Rollback;
    let counters = if is_rollback { &none } else { &head.manifest.counters };
    let count = |name: &str| counters.get(name).copied().unwrap_or(0);
    let sum = |prefix: &str| {
        counters.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(_, n)| n).sum()
    };
    Last {
        epoch: head.manifest.epoch,
        op: head.manifest.op,
        logical_time: head.manifest.logical_time,
        read: count("read"),
        accepted: count("accepted"),
        rejected: sum("rejected."),
        pages_new: count("pages_new"),
        pages_changed: count("pages_changed"),
        pages_gone: ["pages_removed", "pages_expired", "pages_missing"].map(count).iter().sum(),
    }
}

/// The inputs that are not consumed in their present state, by their size, times and inode. Files
/// that a run passes by, such as indexes of a crawl, are not counted, and renamed files do not
/// wait.
fn waiting(job: &Job, store: &Store, head: &Head) -> Result<Waiting> {
    let history = History::read(job, store, Some(head))?;
    let is_renamed = history.renames();
    let mut waiting = Waiting::default();
    for path in inputs::find(&job.read.inputs)? {
        // A file that vanishes while the folder is listed does not count.
        let Ok(input) = Input::stat(&path) else { continue };
        let is_consumed = history.is_as_it_was(&input) || is_renamed(&input);
        if !is_consumed && matches!(read::companion(&path, input.bytes), Ok(Some(_))) {
            continue;
        }
        waiting.files += 1;
        if !is_consumed {
            waiting.waiting += 1;
            waiting.waiting_bytes += input.bytes;
        }
    }
    Ok(waiting)
}

fn expiry(job: &Job, store: &Store, head: &Head) -> Result<Option<Expiry>> {
    if job.pages.retain_days.is_none() && job.pages.retain_epochs.is_none() {
        return Ok(None);
    }
    let seen = seen(&Snapshot::of(store, head).table()?);
    let mut expiry = Expiry { next: None, next_pages: 0, next_reading_pages: 0 };
    if let (Some(days), Some(first)) =
        (job.pages.retain_days, seen.keys().map(|(_, time)| *time).min())
    {
        expiry.next = Some(first.saturating_add(86_400 * i64::from(days) + 1));
        expiry.next_pages =
            seen.iter().filter(|((_, time), _)| *time == first).map(|(_, pages)| pages).sum();
    }
    let reading: Vec<u64> = head.manifest.reading().chain([head.manifest.epoch + 1]).collect();
    let bound = job.pages.retention(&reading, head.manifest.logical_time).epoch_min;
    expiry.next_reading_pages =
        seen.iter().filter(|((epoch, _), _)| *epoch < bound).map(|(_, pages)| pages).sum();
    Ok(Some(expiry))
}
